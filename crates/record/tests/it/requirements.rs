//! Required limits: met, not met, unknown, and invalid, for the rows that they are about.

use crate::good;
use record::{
    Counts, Deliveries, DeliveryCounts, Finding, RequirementCheck, RunRecord, Summary, Verdict,
    checks, results,
};
use spec::Experiment;
use stats::Histogram;
use units::Nanos;

#[test]
fn a_number_is_held_against_its_limit_in_its_own_unit() {
    let mut record = good::open();
    record.blocks[0].counts = Counts { ok: 19_960, error: 30, refused: 10, ..counts(20_000) };
    record.verdict = Some(Verdict::default());
    #[rustfmt::skip]
    let table = [
        ("p50 < 2ms",                 Finding::Met),
        ("p50 < 1ms",                 Finding::NotMet),
        ("p99 > 1ms",                 Finding::Met),
        ("p99.9 <= 1.5ms",            Finding::Met),
        ("p99.9 <= 1ms",              Finding::NotMet),
        ("messages/s >= 1999/s",      Finding::Met),
        ("messages/s > 2k/s",         Finding::NotMet),
        ("cpu/message < 5100ns",      Finding::Met),
        ("cpu/message < 4900ns",      Finding::NotMet),
        ("generator_cpu/message <= 1us", Finding::NotMet),
        ("error_rate < 0.21%",        Finding::Met),
        ("error_rate < 0.19%",        Finding::NotMet),
        ("refused_rate < 0.06%",      Finding::Met),
        ("refused_rate <= 0%",        Finding::NotMet),
        ("achieved/offered >= 99%",   Finding::Met),
    ];
    let checks = checked(record, &table.map(|(text, _)| text));
    assert_eq!(checks.len(), table.len());
    for (check, (text, finding)) in checks.iter().zip(table) {
        assert_eq!((check.finding, &check.reason), (finding, &None), "{text}: {check:?}");
        assert_eq!(text.parse(), Ok(check.requirement));
    }
    assert!((checks[10].number.unwrap().value - 0.002).abs() < 1e-12, "{:?}", checks[10]);
}

#[test]
fn the_error_rate_has_all_ends_but_good_ones_and_those_in_flight() {
    let all = Counts { planned: 1000, sent: 940, unsent: 60, ..Counts::default() };
    let (timed_out, in_flight_at_end) = (30, 100);
    let ends = Counts { ok: 780, error: 20, refused: 10, timed_out, in_flight_at_end, ..all };
    ends.check().unwrap();
    let mut record = good::open();
    record.verdict = Some(Verdict::default());
    record.blocks[0].counts = ends;
    let blocks: Vec<&record::Block> = record.blocks.iter().collect();
    // (20 + 10 + 30 + 60) / 1000, and 10 / 1000.
    assert_eq!(record::failure_rates(&blocks), Some((0.12, 0.01)));
    let checks =
        checked(record.clone(), &["error_rate <= 12%", "error_rate < 12%", "refused_rate <= 1%"]);
    let findings = checks.iter().map(|check| check.finding);
    assert!(findings.eq([Finding::Met, Finding::NotMet, Finding::Met]), "{checks:?}");

    // Deliveries that were owed and did not arrive are errors too, as a share of those that were owed.
    let counts =
        DeliveryCounts { owed: 10_000, delivered: 9880, lost: 120, ..DeliveryCounts::default() };
    record.blocks[0].deliveries = Some(Deliveries { counts, ..Deliveries::default() });
    let blocks: Vec<&record::Block> = record.blocks.iter().collect();
    assert_eq!(record::failure_rates(&blocks), Some((0.024, 0.001)));
    assert_eq!(record::failure_rates(&[]), None);
}

#[test]
fn the_recovery_time_is_that_of_99_percent_of_receivers_in_each_block() {
    let mut record = good::open();
    record.verdict = Some(Verdict::default());
    // `recovered` of `torn_off` receivers come back: the first after `first` ms, each other 10 ms after the one before.
    let block = |round: usize, first: u64, torn_off: u64, recovered: u64| {
        let mut times = Histogram::new();
        (0..recovered).for_each(|nth| times.record(Nanos::from_millis(first + 10 * nth)));
        let counts = DeliveryCounts { torn_off, recovered, ..DeliveryCounts::default() };
        let recovered = Summary::of(&times);
        let deliveries = Some(Deliveries { counts, recovered, ..Deliveries::default() });
        record::Block { round, deliveries, ..record.blocks[0].clone() }
    };
    let of = |blocks: Vec<record::Block>, text: &str| {
        checked(RunRecord { blocks, ..record.clone() }, &[text]).remove(0)
    };
    // The 198th of 200 is back after 500 + 1970 ms.
    let one = of(vec![block(0, 500, 200, 200)], "recovery < 2.48s");
    assert_eq!(one.finding, Finding::Met, "{one:?}");
    let found = one.number.unwrap();
    assert!((found.value / 2.47e9 - 1.0).abs() < 1e-3 && found.low.is_none(), "{found:?}");
    let one = of(vec![block(0, 500, 200, 200)], "recovery < 2.46s");
    assert_eq!(one.finding, Finding::NotMet, "{one:?}");
    // The last 1 % of receivers need not be back.
    let late = of(vec![block(0, 500, 200, 198)], "recovery < 2.48s");
    assert_eq!(late.finding, Finding::Met, "{late:?}");

    let rounds: Vec<record::Block> =
        (0..8).map(|round| block(round, 500 + 20 * round as u64, 100, 100)).collect();
    let pooled = of(rounds.clone(), "recovery < 2s").number.unwrap();
    // From 1.48 to 1.62 s.
    assert!((pooled.value / 1.55e9 - 1.0).abs() < 1e-3, "{pooled:?}");
    let (low, high) = (pooled.low.unwrap(), pooled.high.unwrap());
    assert!(
        low > 1.48e9 && low < pooled.value && high < 1.62e9 && high > pooled.value,
        "{pooled:?}"
    );

    let unknown = |blocks: Vec<record::Block>| {
        let check = of(blocks, "recovery < 1h");
        assert_eq!((check.finding, check.number), (Finding::Unknown, None), "{check:?}");
        check.reason.unwrap()
    };
    let short = unknown(rounds.into_iter().chain([block(8, 500, 100, 98)]).collect());
    assert!(
        short.starts_with("98 of 100 receivers were back when the measurement was over"),
        "{short}"
    );
    assert_eq!(unknown(vec![block(0, 1, 0, 0)]), "nobody was torn off, and no server was killed");
    assert_eq!(unknown(record.blocks.clone()), "not known for this row");
}

#[test]
fn a_number_of_too_few_messages_is_unknown() {
    let mut record = good::open();
    record.verdict = Some(Verdict::default());
    record.blocks[0].counts = counts(500);
    record.blocks[0].messages_per_s = 50.0;
    record.blocks[0].cpu.server_us_per_message = None;
    record.blocks[0].open_loop.as_mut().unwrap().response = times(500, |_| 0);
    let unknown = |text: &str, record: &RunRecord| {
        let check = checked(record.clone(), &[text]).remove(0);
        assert_eq!((check.finding, check.number), (Finding::Unknown, None), "{check:?}");
        check.reason.unwrap()
    };
    assert_eq!(checked(record.clone(), &["p90 < 2ms"])[0].finding, Finding::Met);
    assert!(unknown("p99 < 1s", &record).contains("500"));
    assert!(unknown("p99.9 < 1s", &record).contains("500"));
    assert_eq!(unknown("cpu/message < 1s", &record), "not known for this row");
    // Among 500 messages an error of one in a thousand does not show.
    let reason = unknown("error_rate < 0.1%", &record);
    assert_eq!(reason, "500 messages, at least 10000 are needed");
    assert_eq!(checked(record.clone(), &["error_rate <= 0%"])[0].finding, Finding::Met);
    assert_eq!(checked(record.clone(), &["error_rate < 2%"])[0].finding, Finding::Met);

    let mut failed = record.blocks[0].clone();
    (failed.round, failed.failed) = (1, Some("the server died".to_owned()));
    let mut lost = record.clone();
    lost.blocks.push(failed);
    assert!(unknown("error_rate < 5%", &lost).starts_with("1 of 2 blocks failed"));

    record.blocks.clear();
    assert_eq!(unknown("p50 < 1s", &record), "not measured");
}

#[test]
fn a_number_that_the_verdict_calls_invalid_never_passes() {
    // `count` of 20 000 messages are late by 5 ms because of us, which is most of their response time.
    let late = |count: u64| {
        let mut record = good::open();
        let lag = move |index| if index < count { 5_000_000 } else { 5_000 };
        let times_of = record.blocks[0].open_loop.as_mut().unwrap();
        times_of.send_lag = histogram(20_000, lag);
        times_of.response = times(20_000, lag);
        checked(record, &["p50 < 1s", "p99 < 1s", "p99.9 < 1s", "error_rate < 1%"])
            .iter()
            .map(|check| (check.finding, check.reason.is_some(), check.number.is_some()))
            .collect::<Vec<_>>()
    };
    let (met, invalid) = ((Finding::Met, false, true), (Finding::Invalid, true, true));
    assert_eq!(late(0), [met, met, met, met]);
    assert_eq!(late(300), [met, invalid, invalid, met]);
    assert_eq!(late(15_000), [invalid, invalid, invalid, invalid]);
}

#[test]
fn limits_are_about_every_row_but_the_one_that_others_are_compared_with() {
    let rows = |record: RunRecord| {
        let checks = checked(record, &["p50 < 1s", "p90 < 1ms"]);
        checks.iter().map(|check| (check.workload, check.finding)).collect::<Vec<_>>()
    };
    let mut record = good::ladder();
    assert_eq!(rows(record.clone()), [(1, Finding::Met), (1, Finding::NotMet)]);
    record.plan.baseline = None;
    record.plan.workloads.iter_mut().for_each(|workload| workload.spec.baseline = None);
    let both = [(0, Finding::Met), (0, Finding::NotMet), (1, Finding::Met), (1, Finding::NotMet)];
    assert_eq!(rows(record.clone()), both);
    // A record without its experiment has no limits.
    record.spec = None;
    assert_eq!(checks(&record, None), []);
}

#[test]
fn a_limit_within_the_interval_is_close() {
    let mut check = checked(good::open(), &["p50 < 2ms"]).remove(0);
    assert!(!check.is_close(), "there is no interval");
    for (low, high, is_close) in [(1.9e6, 2.1e6, true), (1.1e6, 1.9e6, false)] {
        let number = check.number.as_mut().unwrap();
        (number.low, number.high) = (Some(low), Some(high));
        assert_eq!(check.is_close(), is_close, "{check:?}");
    }
}

/// The checks of these limits, after the results were worked out.
fn checked(mut record: RunRecord, require: &[&str]) -> Vec<RequirementCheck> {
    record.results = results(&record.plan, &record.blocks);
    let require = require.iter().map(|text| text.parse().expect("a requirement")).collect();
    record.spec = Some(Experiment { require, ..Experiment::default() });
    checks(&record, None)
}

fn counts(all: u64) -> Counts {
    Counts { planned: all, sent: all, ok: all, ..Counts::default() }
}

/// Response times of 1.0 to 1.4 ms, plus `more`.
fn times(count: u64, more: impl Fn(u64) -> u64) -> Option<Summary> {
    histogram(count, |index| 1_000_000 + index * 400_000 / count + more(index))
}

fn histogram(count: u64, of: impl Fn(u64) -> u64) -> Option<Summary> {
    let mut all = Histogram::new();
    (0..count).for_each(|index| all.record(Nanos(of(index))));
    Summary::of(&all)
}
