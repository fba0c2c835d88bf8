//! Each check with numbers that must pass, and with each kind of number that must not.

use super::*;
use units::{Random, Rate};

fn histogram(times: impl IntoIterator<Item = Nanos>) -> Histogram {
    let mut histogram = Histogram::new();
    times.into_iter().for_each(|time| histogram.record(time));
    histogram
}

fn micros(micros: u64) -> Nanos {
    Nanos::from_micros(micros)
}

/// Asserts that the check passed, or failed in the part that begins with `fails`.
fn expect(check: &Check, fails: Option<&str>) {
    assert_eq!(check.passed, fails.is_none(), "{check:?}");
    let failures: Vec<&str> =
        check.evidence.split(", ").filter_map(|part| part.strip_prefix("FAILS: ")).collect();
    match fails {
        None => assert!(failures.is_empty(), "{check:?}"),
        Some(begin) => assert!(failures.iter().all(|part| part.starts_with(begin)), "{check:?}"),
    }
}

#[test]
fn a_null_subject_has_a_floor_and_a_ceiling() {
    let good = Null { floor: micros(20), messages_per_s: 200_000, failed: 0 };
    #[rustfmt::skip]
    let table = [
        (good.clone(),                                  None),
        (Null { floor: FLOOR_MAX, ..good.clone() },      None),
        (Null { floor: micros(1001), ..good.clone() },   Some("a round trip")),
        (Null { floor: Nanos::ZERO, ..good.clone() },    Some("a round trip")),
        (Null { messages_per_s: 9_999, ..good.clone() }, Some("one thread carries 9999")),
        (Null { failed: 1, ..good },                     Some("messages without")),
    ];
    for (null, fails) in table {
        expect(&null.judge(), fails);
    }
}

#[test]
fn send_lag_is_held_against_the_timer_floor() {
    let floor = TimerFloor { asked_ns: 50_000, overshoot_p50_ns: 24_000, overshoot_p99_ns: 70_000 };
    // p50 may be 2 x 24 + 50 us, p99 2 x 70 + 250 us.
    let lags = |p50: u64, p99: u64| {
        histogram((0..2000).map(|index| micros(if index < 1900 { p50 } else { p99 })))
    };
    #[rustfmt::skip]
    let table = [
        (lags(30, 90),   Some(floor), 0, None),
        (lags(97, 389),  Some(floor), 0, None),
        (lags(99, 389),  Some(floor), 0, Some("p50")),
        (lags(97, 392),  Some(floor), 0, Some("p99")),
        (lags(30, 90),   None,        0, Some("the timer floor")),
        (lags(30, 90),   Some(floor), 2, Some("messages without")),
    ];
    for (lag, timer_floor, failed, fails) in table {
        expect(&SendLag { lag, timer_floor, failed }.judge(), fails);
    }
    let nothing = SendLag { lag: Histogram::new(), timer_floor: Some(floor), failed: 0 };
    assert!(!nothing.judge().passed);
}

#[test]
fn known_delays_are_measured_within_the_floor() {
    let exponential = |add: u64| {
        let mut random = Random::new(1);
        let delays = (0..4000).map(move |_| -(1.0 - random.unit_f64()).ln() * 1e6);
        histogram(delays.map(move |delay| whole(delay) + micros(add)))
    };
    let fixed = |add: u64| histogram((0..4000).map(move |_| micros(1000 + add)));
    // One of `of` is 50 ms long.
    let bimodal = |of: u64, add: u64| {
        let delay = move |index: u64| if index.is_multiple_of(of) { 50_000 } else { 1000 };
        histogram((0..4000).map(move |index| micros(delay(index) + add)))
    };
    #[rustfmt::skip]
    let table = [
        // truth,         measured,          fails
        (fixed(0),        fixed(60),         None),
        (fixed(0),        fixed(99),         None),
        (fixed(0),        fixed(110),        Some("p50")), // and by more than 100 us for all
        (fixed(110),      fixed(0),          Some("p50")), // faster than the truth is just as wrong
        (exponential(0),  exponential(50),   None),
        (exponential(0),  fixed(0),          Some("p50")),
        (bimodal(10, 0),  bimodal(10, 60),   None),
        (bimodal(10, 0),  bimodal(7, 60),    None),        // 4.3 % differ
        (bimodal(10, 0),  bimodal(6, 60),    Some("Kolmogorov-Smirnov 0.067")),
        (bimodal(10, 0),  bimodal(1000, 60), Some("p99")), // the long ones are left out
    ];
    for (truth, measured, fails) in table {
        let check = Delays { measured, truth, failed: 0 }.judge("delay");
        assert_eq!(check.passed, fails.is_none(), "{check:?}");
        if let Some(part) = fails {
            assert!(check.evidence.contains(&format!("FAILS: {part}")), "{check:?}");
        }
    }
    let lost = Delays { measured: fixed(0), truth: fixed(0), failed: 3 };
    expect(&lost.judge("delay"), Some("messages without"));
    let fewer = Delays { measured: fixed(0), truth: histogram([micros(1000); 3000]), failed: 0 };
    expect(&fewer.judge("delay"), Some("4000 of 3000 replies"));
    let none = Delays { measured: fixed(0), truth: Histogram::new(), failed: 0 };
    assert!(!none.judge("delay").passed);
}

/// Response times falling linearly as after a stop: `count` in all, the first of which wait.
fn stopped(truth: &Stall, count: u64) -> Histogram {
    let affected = truth.samples_over(Nanos::ZERO);
    #[expect(clippy::cast_precision_loss, reason = "some thousands")]
    let wait = |index: u64| truth.stopped.0 as f64 * (1.0 - index as f64 / affected);
    histogram((0..count).map(|index| whole(wait(index).max(20_000.0))))
}

#[test]
fn a_stalled_server_is_measured_from_due() {
    let rate = |count: &str| count.parse::<Rate>().unwrap();
    let truth = |measured, stopped, drain| Stall {
        rate: rate("1000/s"),
        measured: Nanos::from_secs(measured),
        stopped: Nanos::from_millis(stopped),
        drain_rate: rate(drain),
    };
    let usual = truth(20, 2000, "20000/s");
    let good = |test: Stall| {
        let count = test.count();
        StalledServer { truth: test, response: stopped(&test, count), planned: count, ok: count }
    };
    expect(&good(usual).judge("s"), None);
    expect(&good(truth(10, 1000, "20000/s")).judge("s"), None);
    // A server that drains faster than the formula assumes is still within the windows.
    let fast = stopped(&truth(20, 2000, "200000/s"), 20_000);
    expect(&StalledServer { response: fast, ..good(usual) }.judge("s"), None);

    // A tool that measures from sent reports 5 ms, and for few messages.
    let from_sent = histogram((0..20_000).map(|index| micros(if index < 100 { 5000 } else { 50 })));
    let check = StalledServer { response: from_sent, ..good(usual) }.judge("s");
    for part in ["p95", "p99", "p99.9", "mean"] {
        assert!(check.evidence.contains(&format!("FAILS: {part} ")), "{check:?}");
    }
    #[rustfmt::skip]
    let table = [
        StalledServer { planned: 19_999, ..good(usual) },
        StalledServer { ok: 19_999, ..good(usual) },
        StalledServer { response: stopped(&usual, 19_999), ..good(usual) },
    ];
    for lost in table {
        expect(
            &lost.judge("s"),
            Some("19999 of 20000").filter(|_| lost.planned == 20_000).or(Some("20000 of 20000")),
        );
    }
    // Stopped for half as long as stated.
    let half = stopped(&truth(20, 1000, "20000/s"), 20_000);
    assert!(!StalledServer { response: half, ..good(usual) }.judge("s").passed);
}

#[test]
fn the_windows_of_the_full_stall_test_are_those_of_the_issue() {
    let truth = Stall {
        rate: "1000/s".parse().unwrap(),
        measured: Nanos::from_secs(20),
        stopped: Nanos::from_secs(2),
        drain_rate: "20000/s".parse().unwrap(),
    };
    let expected = [[950, 1200], [1700, 1950], [1930, 2100]];
    for ((_, q, bounds), expected) in QUANTILE_BOUNDS.into_iter().zip(expected) {
        let found = bounds.map(|bound| share(truth.quantile(q), bound).0.div_ceil(100_000) / 10);
        assert_eq!(found, expected, "{q}");
    }
    let mean = MEAN_BOUNDS.map(|bound| share(truth.mean(), bound).0.div_ceil(10_000) / 10);
    assert_eq!(mean, [950, 1300]);
}

#[test]
fn a_stalled_generator_finds_its_own_gap_and_blames_nobody() {
    let good = StalledGenerator {
        stopped: Nanos::from_millis(1001),
        due: 1001,
        longest: Nanos::from_millis(1000),
        affected: 1003,
        is_named: true,
        service_p99: Some(micros(300)),
        failed: 0,
    };
    #[rustfmt::skip]
    let table = [
        (good.clone(),                                                              None),
        (StalledGenerator { longest: Nanos::from_millis(951), ..good.clone() },      None),
        (StalledGenerator { longest: Nanos::from_millis(950), ..good.clone() },      Some("the gap")),
        (StalledGenerator { longest: Nanos::from_millis(1052), ..good.clone() },     Some("the gap")),
        (StalledGenerator { longest: Nanos::ZERO, ..good.clone() },                  Some("the gap")),
        (StalledGenerator { affected: 901, ..good.clone() },                         None),
        (StalledGenerator { affected: 900, ..good.clone() },                         Some("900 messages affected")),
        (StalledGenerator { affected: 1102, ..good.clone() },                        Some("1102 messages affected")),
        (StalledGenerator { is_named: false, ..good.clone() },                       Some("the verdict")),
        (StalledGenerator { service_p99: Some(Nanos::from_millis(900)), ..good.clone() }, Some("service p99")),
        (StalledGenerator { service_p99: None, ..good.clone() },                     Some("service p99")),
        (StalledGenerator { failed: 1, ..good },                                     Some("messages without")),
    ];
    for (found, fails) in table {
        expect(&found.judge(), fails);
    }
}
