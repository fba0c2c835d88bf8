//! Two servers that took turns: what is claimed about them, and how limits are answered.

use crate::good;
use record::{
    Block, Change, Cpu, Difference, Level, Number, Regression, Required, RowVerdict, RunRecord,
    Sides, Summary, Verdict, sides,
};
use spec::{Experiment, Metric, Server, Started};
use stats::Histogram;
use units::{Nanos, Random};

#[test]
fn a_number_that_is_worse_beyond_noise_is_claimed_and_noise_is_not() {
    let found = compared(&record(24, 1.05, 7), None);
    let change = |metric| found.differences.iter().find(|it| it.metric == metric).unwrap();
    assert_eq!(change(Metric::CpuPerMessage).change, Change::Worse);
    assert_eq!(change(Metric::P50).change, Change::NotShown, "{found:?}");
    let cpu = change(Metric::CpuPerMessage);
    assert!(cpu.low < Some(1.05) && Some(1.05) < cpu.high, "{cpu:?}");
    assert!(cpu.smallest_detectable_fraction < Some(0.03), "{cpu:?}");
    // Five numbers are known.
    assert!((found.confidence - 0.996).abs() < 1e-9, "{}", found.confidence);
    assert_eq!(found.claimed().count(), 1);
    // A higher rate is better, and a lower one worse.
    let mut faster = record(24, 1.0, 7);
    faster.blocks.iter_mut().filter(|it| it.workload == 1).for_each(|it| it.messages_per_s *= 1.5);
    let found = compared(&faster, None);
    let rate = found.claimed().next().unwrap();
    assert_eq!((rate.metric, rate.change), (Metric::MessagesPerS, Change::Better));
    assert!(rate.ratio > 1.4, "{rate:?}");
}

#[test]
fn a_limit_is_answered_beyond_noise_or_said_to_be_finer_than_it() {
    let regression = |factor: f64, allowed: &str, rounds| {
        let found = compared(&record(rounds, factor, 3), Some(allowed));
        let cpu = found.differences.iter().find(|it| it.metric == Metric::CpuPerMessage).cloned();
        (cpu.unwrap().regression.unwrap(), found.required(false), found.required(true))
    };
    assert_eq!(
        regression(1.08, "2%", 24),
        (Regression::Found, Required::Regressed, Required::Regressed)
    );
    assert_eq!(regression(1.05, "10%", 24), (Regression::NotFound, Required::Met, Required::Met));
    assert_eq!(regression(1.05, "5%", 24), (Regression::TooNoisy, Required::Met, Required::NotMet));
    // Without an interval nothing is known.
    assert_eq!(regression(2.0, "5%", 5), (Regression::Unknown, Required::NotMet, Required::NotMet));
    let found = compared(&record(5, 2.0, 3), None);
    assert!(found.differences.iter().all(|it| it.change == Change::Unknown), "{found:?}");
}

#[test]
fn nothing_is_claimed_of_a_number_that_is_no_result_and_it_fails_no_limit() {
    let judged = |level, numbers: &[(Number, Level)]| {
        let mut found = compared(&record(24, 1.08, 3), Some("2%"));
        let head = RowVerdict { level, numbers: numbers.iter().copied().collect() };
        let rows = vec![RowVerdict::default(), head];
        found.without_invalid(&Verdict { rows, ..Verdict::default() });
        let is_unknown = |it: &&Difference| (it.change, it.low) == (Change::Unknown, None);
        let unknown = found.differences.iter().filter(is_unknown).map(|it| it.metric);
        (unknown.collect::<Vec<Metric>>(), found.required(false), found.claimed().count())
    };
    use Level::{Invalid, Trusted};
    let p99 = vec![Metric::P99];
    assert_eq!(judged(Trusted, &[]), (vec![], Required::Regressed, 1));
    assert_eq!(judged(Trusted, &[(Number::P99, Invalid)]), (p99, Required::Regressed, 1));
    let (unknown, required, claimed) = judged(Invalid, &[]);
    assert_eq!((unknown.len(), required, claimed), (5, Required::NotMet, 0));
}

#[test]
fn a_server_against_itself_gives_a_false_alarm_in_two_of_forty_runs_at_most() {
    let claims = |factor: f64, seed: u64, metric: &dyn Fn(Metric) -> bool| {
        let found = compared(&record(24, factor, seed), None);
        found.claimed().any(|it| metric(it.metric))
    };
    let alarms = (0..40).filter(|seed| claims(1.0, *seed, &|_| true)).count();
    // Fewer than one is expected; with a separate 95 % interval for each number there would be eight.
    assert!(alarms <= 2, "{alarms} of 40");
    // The wider intervals do not hide 5 % of CPU time.
    let is_cpu = |metric| metric == Metric::CpuPerMessage;
    let found = (0..20).filter(|seed| claims(1.05, *seed, &is_cpu)).count();
    assert!(found >= 18, "{found} of 20");
}

#[test]
fn both_sides_are_the_same_where_one_url_or_one_command_is_measured_twice() {
    let started = |row: &str, command: &str| {
        Server::Started(Started {
            row: row.to_owned(),
            url: "ws://127.0.0.1:9".parse().expect("a URL"),
            command: command.to_owned(),
            folder: None,
            ready_line: None,
            start_timeout: Started::START_TIMEOUT,
        })
    };
    let given = |url: &str| Server::Given(url.parse().expect("a URL"));
    let table = [
        (started("base", "x {port}"), started("head", "x {port}"), true),
        (started("base", "x {port}"), started("head", "y {port}"), false),
        (given("ws://127.0.0.1:1"), given("ws://127.0.0.1:1"), true),
        (given("ws://127.0.0.1:1"), given("ws://127.0.0.1:2"), false),
    ];
    for (base, head, expected) in table {
        let record = record(6, 1.0, 1);
        let mut asked = asked(&record);
        (asked.workloads[0].server, asked.workloads[1].server) = (base, head);
        let found = sides(&asked, &record.plan, &record.blocks).unwrap();
        assert_eq!(found.is_same, expected, "{asked:?}");
    }
    // With a third row there are no two sides.
    let record = record(6, 1.0, 1);
    let mut three = asked(&record);
    three.workloads.push(three.workloads[0].clone());
    assert_eq!(sides(&three, &record.plan, &record.blocks), None);
}

fn compared(record: &RunRecord, allowed: Option<&str>) -> Sides {
    let asked = Experiment {
        regression_max: allowed.map(|share| share.parse().expect("a share")),
        ..asked(record)
    };
    sides(&asked, &record.plan, &record.blocks).expect("two sides")
}

fn asked(record: &RunRecord) -> Experiment {
    let mut workloads: Vec<_> = record.plan.workloads.iter().map(|it| it.spec.clone()).collect();
    for (index, workload) in workloads.iter_mut().enumerate() {
        workload.server =
            Server::Given(format!("ws://127.0.0.1:{}", index + 1).parse().expect("a URL"));
    }
    Experiment { workloads, baseline: Some(0), ..Experiment::default() }
}

/// Rounds of two servers that differ by noise of 2 %; the CPU time of the second is `factor` times that of the first.
fn record(rounds: usize, factor: f64, seed: u64) -> RunRecord {
    let mut record = good::ladder();
    let template = record.blocks[0].clone();
    let mut random = Random::new(seed);
    record.plan.rounds = vec![vec![0, 1]; rounds];
    let mut noisy = |value: f64| value * (0.96 + 0.00008 * f64::from(thousandth(&mut random)));
    let mut block = |round: usize, workload: usize| Block {
        workload,
        round,
        round_trip: times(noisy(100_000.0)),
        messages_per_s: noisy(50_000.0),
        cpu: Cpu {
            server_us_per_message: Some(noisy([5.0, 5.0 * factor][workload])),
            ..Cpu::default()
        },
        ..template.clone()
    };
    record.blocks = (0..rounds).flat_map(|round| [block(round, 0), block(round, 1)]).collect();
    record
}

fn thousandth(random: &mut Random) -> u16 {
    u16::try_from(random.below(1000)).expect("it is below")
}

/// Times of an exponential distribution above `ns`.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some microseconds")]
fn times(ns: f64) -> Option<Summary> {
    let mut times = Histogram::new();
    for step in 0..200 {
        let share = (f64::from(step) + 0.5) / 200.0;
        times.record_all(Nanos((ns * (1.0 - share.ln() / 5.0)) as u64), 5);
    }
    Summary::of(&times)
}
