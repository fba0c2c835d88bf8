//! The open loop in numbers: messages are due by the schedule, and measured from due, whatever becomes of them.

use crate::peers::Watched;
use crate::world::{Play, Played, ROUND_TRIP, Speech, TIME_MAX, World, always, ms};
use drive::Counts;
use engine::sim::Outcome as Ended;
use stats::Stall;
use units::{Instant, Nanos};

#[test]
fn every_message_is_sent_when_it_is_due_and_answered_after_a_round_trip() {
    for speech in Speech::ALL {
        let play = Play::new(speech).connections(4).rate("1000/s").duration(ms(2000));
        let (poisson, own) = (play.clone().poisson(), play.clone().own());
        for play in [play, poisson, own] {
            let played = play.against(&mut Watched::new(speech));
            let Counts { sent, .. } = played.outcome.measured;
            played.assert_all_ok(sent);
            assert_eq!(played.notes.round_trips, always(ROUND_TRIP, sent));
            if speech != Speech::Http {
                assert_eq!(played.notes.response, always(ROUND_TRIP, sent), "{speech:?}");
                assert_eq!(played.notes.lag, always(Nanos::ZERO, sent));
            }
        }
    }
}

#[test]
fn a_stalled_server_shows_in_the_response_times_of_all_who_came_meanwhile() {
    // The formula of METHOD, with a server that works off in no time what has piled up.
    let law = Stall {
        rate: "1000/s".parse().unwrap(),
        measured: ms(20_000),
        stopped: ms(2000),
        drain_rate: "100M/s".parse().unwrap(),
    };
    for speech in Speech::ALL {
        let mut play = Play::new(speech).connections(100).rate("1000/s");
        play.conditions.delay = Nanos::from_micros(10);
        let played = stalled_server(speech, play);
        played.assert_all_ok(20_000);
        assert_eq!(played.notes.response.count(), law.count());
        for q in [0.95, 0.99, 0.999] {
            near(played.notes.response.quantile(q).unwrap(), law.quantile(q), ms(3));
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a test")]
        let mean = Nanos(played.notes.response.mean_ns().unwrap() as u64);
        near(mean, law.mean(), ms(1));
        assert_eq!(played.notes.lag.max(), Some(Nanos(0)), "we were not late: {speech:?}");
        assert_eq!(played.outcome.stalls.count, 0);
    }
}

#[test]
fn a_closed_loop_hardly_sees_a_stalled_server() {
    let closed = stalled_server(Speech::Framed, Play::new(Speech::Framed).connections(10));
    let p99 = closed.notes.round_trips.quantile(0.99).unwrap();
    assert!(p99 < ms(10), "one message in flight on each connection waits, and no other: {p99}");
}

/// 20 s in which the server stands still from the 5th to the 7th.
fn stalled_server(speech: Speech, play: Play) -> Played {
    let play = play.duration(ms(20_000)).reply_timeout(ms(10_000));
    let mut world = World::new(&play);
    world.server.freeze(Instant(5_000_000_000), Instant(7_000_000_000));
    assert_eq!(world.run(&mut Watched::new(speech), TIME_MAX), Ended::Done);
    world.finish()
}

#[test]
fn what_is_more_than_may_be_outstanding_is_counted_as_unsent() {
    for speech in Speech::ALL {
        let play = Play::new(speech).connections(3).rate("1000/s").outstanding_max(50);
        let play = play.duration(ms(2000)).reply_timeout(ms(10_000));
        let mut world = World::new(&play);
        world.server.freeze(Instant(1_000_500_000), Instant(1_500_500_000));
        assert_eq!(world.run(&mut Watched::new(speech), TIME_MAX), Ended::Done);
        let played = world.finish();
        let Counts { sent, ok, unsent, .. } = played.outcome.measured;
        // The first reply is missing at the freeze; 500 are due in it, of which 50 are outstanding at its end.
        assert_eq!((played.outcome.planned, sent, ok), (2000, 2000 - unsent, sent));
        assert!((449..=453).contains(&unsent), "{speech:?} {unsent}");
        assert_eq!(played.errors(), []);
    }
}

#[test]
fn a_rate_far_above_what_anybody_can_carry_ends_on_time_with_everything_counted() {
    for (rate, planned) in [("20k/s", 20_000), ("1G/s", 1_000_000_000)] {
        for own in [false, true] {
            let play = Play::new(Speech::Framed).connections(4).rate(rate).outstanding_max(100);
            let play = if own { play.own() } else { play };
            let play = play.duration(ms(1000)).reply_timeout(ms(200)).drain(ms(300));
            let mut world = World::new(&play);
            world.server.slow_down(ms(1));
            assert_eq!(world.run(&mut Watched::new(Speech::Framed), TIME_MAX), Ended::Done);
            let played = world.finish();
            assert_eq!(played.outcome.planned, planned);
            let counts = played.outcome.measured;
            assert!(counts.ok >= 700 && counts.unsent > planned / 5, "{counts:?}");
            assert!(played.ended <= Instant(1_350_000_000), "{:?}", played.ended);
        }
    }
}

#[track_caller]
fn near(got: Nanos, expected: Nanos, within: Nanos) {
    assert!(got.0.abs_diff(expected.0) <= within.0, "{got} is not near {expected}");
}
