//! Little's law on closed loops of known numbers.

use stats::{ClosedLoop, Little, little};
use units::Nanos;

#[test]
fn it_holds_where_replies_and_round_trips_fit() {
    // 50 in flight, 100 us each: half a million a second.
    assert_eq!(check(50, 500_000, 100_000.0), Ok((50.0, 0.0, true)));
}

#[test]
fn it_breaks_beyond_five_percent() {
    #[rustfmt::skip]
    let table = [
        // round trip, in flight, off by,  holds
        (104_000.0,        52.0,    0.04,  true),
        ( 96_000.0,        48.0,   -0.04,  true),
        (106_000.0,        53.0,    0.06,  false),
        ( 94_000.0,        47.0,   -0.06,  false),
        ( 50_000.0,        25.0,   -0.5,   false), // every second message was never in flight
        (      0.0,         0.0,   -1.0,   false),
    ];
    for row @ (round_trip, in_flight, deviation, holds) in table {
        assert_eq!(check(50, 500_000, round_trip), Ok((in_flight, deviation, holds)), "{row:?}");
    }
}

#[test]
fn round_trips_that_lie_partly_in_the_window_explain_what_they_can() {
    let holds = |longest| {
        let law = little(ClosedLoop {
            in_flight: 10,
            replies: 10_000,
            measured: Nanos::from_millis(60),
            round_trip_mean_ns: 56_400.0,
            longest,
            unanswered: Nanos::ZERO,
        });
        let Little::Checked { deviation, holds, .. } = law else { panic!("{law:?}") };
        assert!((deviation + 0.06).abs() < 1e-9, "{deviation}");
        holds
    };
    assert!(holds(Nanos::from_millis(8)) && !holds(Nanos::from_micros(100)));
}

#[test]
fn a_mean_that_is_no_number_does_not_hold() {
    let (_, _, holds) = check(50, 500_000, f64::NAN).unwrap();
    assert!(!holds);
}

#[test]
fn too_few_replies_are_not_checked() {
    assert_eq!(check(50, 4999, 1.0), Err("4999 replies, at least 5000 are needed".to_owned()));
    assert!(check(50, 5000, 1.0).is_ok());
    assert_eq!(
        check(u64::MAX, 999, 1.0),
        Err(format!("999 replies, at least {} are needed", u64::MAX))
    );
    assert_eq!(check(0, 999, 1.0), Err("nothing was measured".to_owned()));
}

/// The result for a measurement of one second, rounded to six decimals: in flight, deviation, whether it holds.
fn check(
    in_flight: u64,
    replies: u64,
    round_trip_mean_ns: f64,
) -> Result<(f64, f64, bool), String> {
    let rounded = |number: f64| (number * 1e6).round() / 1e6;
    match little(ClosedLoop {
        in_flight,
        replies,
        measured: Nanos::from_secs(1),
        round_trip_mean_ns,
        longest: Nanos::ZERO,
        unanswered: Nanos::ZERO,
    }) {
        Little::Checked { measured_in_flight, deviation, holds, .. } => {
            Ok((rounded(measured_in_flight), rounded(deviation), holds))
        }
        Little::NotChecked { reason } => Err(reason.to_string()),
    }
}
