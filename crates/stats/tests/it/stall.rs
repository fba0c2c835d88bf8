//! The stalled server: METHOD's numbers, and a simulation of the queue, message by message.

use stats::Stall;
use units::Nanos;

const METHOD: Stall = Stall {
    rate: rate(1000),
    measured: Nanos::from_secs(20),
    stopped: Nanos::from_secs(2),
    drain_rate: rate(20_000),
};

#[test]
fn a_stall_of_two_seconds_is_what_method_says() {
    assert_eq!(METHOD.count(), 20_000);
    let millis = |time: Nanos| (time.as_secs_f64() * 1e3).round();
    assert_eq!([0.95, 0.99, 0.999].map(|q| millis(METHOD.quantile(q))), [1050.0, 1810.0, 1981.0]);
    assert_eq!(millis(METHOD.mean()), 105.0);
    assert_eq!(METHOD.quantile(0.5), Nanos::ZERO, "half of all messages do not wait");
    // The stop and the work on its backlog last 2.105 s.
    assert_eq!(METHOD.samples_over(Nanos::ZERO).round(), 2105.0);
    assert_eq!(METHOD.samples_over(Nanos::from_secs(1)).round(), 1053.0);
    assert_eq!(METHOD.samples_over(Nanos::from_secs(3)), 0.0);
}

#[test]
fn the_formula_is_what_a_queue_does() {
    let seconds = Nanos::from_secs;
    let millis = Nanos::from_millis;
    let table = [
        METHOD,
        Stall {
            rate: rate(1000),
            measured: seconds(10),
            stopped: seconds(1),
            drain_rate: rate(1500),
        },
        Stall {
            rate: rate(3000),
            measured: seconds(5),
            stopped: millis(500),
            drain_rate: rate(50_000),
        },
        Stall {
            rate: rate(700),
            measured: seconds(30),
            stopped: seconds(3),
            drain_rate: rate(2000),
        },
    ];
    for stall in table {
        let response = queue(&stall);
        let count = u32::try_from(response.len()).unwrap();
        assert_eq!(stall.count(), u64::from(count));
        // A message is answered after one service time at best, and quantiles lie between two messages.
        let service = 1.0 / stall.drain_rate.per_second();
        let step = 1.0 / stall.rate.per_second();
        let near = |found: Nanos, expected: f64| {
            let off = (found.as_secs_f64() - expected).abs();
            assert!(off <= service + step, "{found:#} is not {expected} s: {stall:?}");
        };
        for per_mille in [900, 950, 990, 999] {
            let within = (response.len() * per_mille).div_ceil(1000);
            let q = f64::from(u32::try_from(per_mille).unwrap()) / 1000.0;
            near(stall.quantile(q), response[within - 1]);
        }
        near(stall.mean(), response.iter().sum::<f64>() / f64::from(count));
        for part in [2, 4, 10] {
            let bound = Nanos(stall.stopped.0 / part);
            let over = response.iter().filter(|time| **time > bound.as_secs_f64()).count();
            let off = stall.samples_over(bound) - f64::from(u32::try_from(over).unwrap());
            assert!(off.abs() <= 2.0, "{off} off over {bound}: {stall:?}");
        }
    }
}

/// All response times in seconds, sorted, of a server that stands still after a quarter of the measurement and answers
/// one message at a time.
fn queue(stall: &Stall) -> Vec<f64> {
    let begin = stall.measured.as_secs_f64() / 4.0;
    let end = begin + stall.stopped.as_secs_f64();
    let mut free_at = 0.0_f64;
    let mut response: Vec<f64> = (0..)
        .map(|index| stall.rate.due(index))
        .take_while(|due| *due < stall.measured)
        .map(|due| {
            let due = due.as_secs_f64();
            let from = free_at.max(due);
            let from = if (begin..end).contains(&from) { end } else { from };
            free_at = from + 1.0 / stall.drain_rate.per_second();
            free_at - due
        })
        .collect();
    response.sort_unstable_by(f64::total_cmp);
    response
}

const fn rate(per_second: u32) -> units::Rate {
    let count = std::num::NonZeroU32::new(per_second).expect("it is not zero");
    units::Rate::new(count, Nanos::from_secs(1)).expect("a second is not zero")
}
