//! Checks of a client subject's report of a block against what was observed from outside.
//!
//! Pure arithmetic. A contradiction fails the block: its numbers cannot be trusted.

use lab::Report;
use stats::Histogram;
use units::Nanos;

/// A block as observed from outside.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    /// The time from its line that announces the start of the window to the line that announces its end.
    pub(crate) window: Nanos,
    /// CPU time of all its processes in that time; `None` if they have ended.
    pub(crate) cpu: Option<Nanos>,
    /// The time that its threads and ours waited for a CPU, from the order to the end; zero if the kernel does not
    /// count it.
    pub(crate) waited: Nanos,
}

/// The order that the client was given.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    /// The number of concurrent connections.
    pub(crate) connections: u64,
    /// The most round trips, if they are counted.
    pub(crate) messages: Option<u64>,
    /// The most clients, if they are counted.
    pub(crate) clients: Option<u64>,
    /// True if each message follows the reply to the one before on its connection.
    pub(crate) is_closed: bool,
}

/// The reason why a report cannot be true; `None` if it can.
pub(crate) fn contradiction(report: &Report, seen: Seen, asked: Asked) -> Option<String> {
    let times = report.round_trips.count();
    if times != report.ok {
        return Some(format!("it reports {} round trips, but the times of {times}", report.ok));
    }
    if report.round_trips.min() == Some(Nanos::ZERO) {
        return Some("it gives a round trip of 0 ns".to_owned());
    }
    window(report.wall, seen)
        .or_else(|| report.cpu.zip(seen.cpu).and_then(|(said, seen)| cpu(said, seen)))
        .or_else(|| counts(report, asked))
        .or_else(|| asked.is_closed.then(|| in_flight(report, asked.connections)).flatten())
}

/// True if the CPU time that a client reports leaves out some that was observed, such as that of a browser started by
/// its driver.
pub(crate) fn is_less(said: Nanos, seen: Nanos) -> bool {
    float(said.0) * (1.0 + CPU_MORE_MAX) + float(CPU_SLACK.0) < float(seen.0)
}

fn window(said: Nanos, Seen { window, waited, .. }: Seen) -> Option<String> {
    let off = float(said.0.abs_diff(window.0));
    let slack = WINDOW_SLACK + waited.min(WAITED_MAX);
    let allowed = float(window.0) * WINDOW_OFF_MAX + float(slack.0);
    (said == Nanos::ZERO || off > allowed)
        .then(|| format!("it reports a window of {said}, and we saw {window}"))
}

fn cpu(said: Nanos, seen: Nanos) -> Option<String> {
    let allowed = float(seen.0) * (1.0 + CPU_MORE_MAX) + float(CPU_SLACK.0);
    (float(said.0) > allowed).then(|| format!("it reports {said} of CPU time, and we saw {seen}"))
}

fn counts(report: &Report, asked: Asked) -> Option<String> {
    let lives = report.lives.count();
    if let Some(clients) = asked.clients.filter(|clients| lives > *clients) {
        return Some(format!("it reports {lives} lives, but {clients} clients were asked for"));
    }
    let messages = asked.messages.filter(|messages| report.ok > *messages)?;
    Some(format!("it reports {} round trips, but {messages} were asked for", report.ok))
}

/// On a connection with one message in flight, round trips follow one another: their sum is no longer than the window,
/// except for the one that began before it.
fn in_flight(report: &Report, connections: u64) -> Option<String> {
    let sum = sum_ns(&report.round_trips);
    let mean = report.round_trips.mean_ns()?;
    let possible = float(report.wall.0) * float(connections);
    let allowed = possible * (1.0 + SUM_MORE_MAX) + mean * float(connections);
    (sum > allowed).then(|| {
        format!(
            "its round trips add up to {:.3} s, but {connections} connections have only {:.3} s in its window",
            sum / 1e9,
            possible / 1e9
        )
    })
}

fn sum_ns(times: &Histogram) -> f64 {
    times.mean_ns().unwrap_or(0.0) * float(times.count())
}

#[expect(clippy::cast_precision_loss, reason = "exact below 2^53")]
fn float(count: u64) -> f64 {
    count as f64
}

/// The most by which the window may be off, as a share: two processes of one machine have the same clock.
const WINDOW_OFF_MAX: f64 = 0.05;
/// The additional slack in time: its lines reach us through a pipe.
const WINDOW_SLACK: Nanos = Nanos::from_millis(50);
/// The most wait for a CPU, of its threads and ours, that is added to the slack: next to busy programs one line was 80
/// ms late.
const WAITED_MAX: Nanos = Nanos::from_millis(70);
/// The most CPU time beyond the observed time that it may report, as a share.
const CPU_MORE_MAX: f64 = 0.2;
/// The additional slack in time: it may count in ticks.
const CPU_SLACK: Nanos = Nanos::from_millis(20);
/// The share by which all round trips together may exceed the time of all connections.
const SUM_MORE_MAX: f64 = 0.05;

#[cfg(test)]
mod tests {
    use super::*;

    const ASKED: Asked =
        Asked { connections: 10, messages: Some(10_000), clients: None, is_closed: true };
    const SEEN: Seen = Seen {
        window: Nanos::from_millis(1010),
        cpu: Some(Nanos::from_millis(500)),
        waited: Nanos::ZERO,
    };

    /// A second with 10 000 round trips of a millisecond on ten connections.
    fn honest() -> Report {
        let mut report = Report {
            wall: Nanos::from_secs(1),
            cpu: Some(Nanos::from_millis(490)),
            ok: 10_000,
            ..Report::default()
        };
        (0..10_000).for_each(|_| report.round_trips.record(Nanos::from_millis(1)));
        report
    }

    #[test]
    fn a_report_is_believed_where_it_can_be_true() {
        let short = |times: u64, wall: u64| {
            let mut report = Report { wall: Nanos(wall), ok: times, ..Report::default() };
            (0..times).for_each(|_| report.round_trips.record(Nanos(wall / 2)));
            report
        };
        let edges = short(29, 100_000_000);
        let seen = Seen { window: Nanos::from_millis(101), cpu: None, waited: Nanos::ZERO };
        assert_eq!(
            contradiction(&edges, seen, ASKED),
            None,
            "round trips that began before the window"
        );
        assert_eq!(contradiction(&honest(), SEEN, ASKED), None);
    }

    #[test]
    fn a_report_that_cannot_be_true_is_not() {
        type Lie = fn(&mut Report);
        #[rustfmt::skip]
        let table: [(Lie, &str); 8] = [
            (|report| report.wall = Nanos::from_millis(500), "it reports a window of 500 ms, and we saw 1.01 s"),
            (|report| report.wall = Nanos::from_secs(2),     "it reports a window of 2 s, and we saw 1.01 s"),
            (|report| report.wall = Nanos::ZERO,             "it reports a window of 0 ns, and we saw 1.01 s"),
            (|report| report.cpu = Some(Nanos::from_secs(1)), "it reports 1 s of CPU time, and we saw 500 ms"),
            (|report| report.ok = 20_000,                    "it reports 20000 round trips, but the times of 10000"),
            (|report| { report.round_trips.record(Nanos(1)); report.ok += 1; }, "it reports 10001 round trips, but 10000 were asked for"),
            (|report| { report.round_trips.record(Nanos(0)); report.ok += 1; }, "it gives a round trip of 0 ns"),
            (|report| { report.round_trips = Histogram::new(); (0..10_000).for_each(|_| report.round_trips.record(Nanos::from_millis(2))); },
             "its round trips add up to 20.004 s, but 10 connections have only 10.000 s in its window"),
        ];
        for (lie, expected) in table {
            let mut report = honest();
            lie(&mut report);
            let found = contradiction(&report, SEEN, ASKED).unwrap_or_default();
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_window_may_be_off_by_what_its_lines_waited_for_a_cpu() {
        let ms = Nanos::from_millis;
        #[rustfmt::skip]
        let table = [
            // said, seen, waited, believed
            (305,  360,    0,      true),
            (305,  385,    0,      false),
            (305,  385,    20,     true),
            (385,  305,    20,     true),
            (300,  500,    5000,   false), // a single line never waits that long
        ];
        for row @ (said, window, waited, is_believed) in table {
            let seen = Seen { window: ms(window), waited: ms(waited), ..SEEN };
            assert_eq!(super::window(ms(said), seen).is_none(), is_believed, "{row:?}");
        }
    }

    #[test]
    fn lives_are_no_more_than_clients() {
        let mut report = honest();
        (0..11).for_each(|_| report.lives.record(Nanos::from_millis(5)));
        let asked = Asked { clients: Some(10), ..ASKED };
        let found = contradiction(&report, SEEN, asked).unwrap();
        assert_eq!(found, "it reports 11 lives, but 10 clients were asked for");
    }

    #[test]
    fn cpu_time_that_leaves_processes_out_is_noticed() {
        let ms = Nanos::from_millis;
        assert!(is_less(ms(100), ms(500)));
        assert!(!is_less(ms(490), ms(500)));
        assert!(!is_less(ms(0), ms(20)));
    }
}
