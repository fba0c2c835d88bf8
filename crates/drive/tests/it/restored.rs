//! Receivers over Socket.IO whose server restores them when they come back: what it has kept for them is owed to them,
//! and delivered late, as if they had stayed.

use crate::rooms::{behaving, closed, counts, cutting, over, relay, rough};
use crate::world::{Play, Played, ms};
use record::{DeliveryCounts, DeliveryEnds, Merge};
use serve::relay::Totals;
use spec::Conduct;
use std::ops::Range;
use units::Nanos;

#[test]
fn nobody_misses_anything_in_a_storm_if_the_server_restores_all() {
    for seed in 0..100 {
        let transport = transport(seed);
        let (mut play, each) = storm_over(transport);
        (play.seed, play.workload.seed) = (seed, seed);
        play.conditions = cutting(0.0);
        let (played, totals) = play_restored(&play, LONG);
        let name = format!("{transport}, seed {seed}");
        assert_eq!(played.errors(), [], "{name}");
        let found = counts(&played);
        let all = 10 * each;
        let expected = DeliveryCounts {
            published: each,
            owed: all,
            delivered: all,
            torn_off: 20,
            recovered: 20,
            attempts: 20,
            restored: 20,
            caught_up: found.caught_up,
            ..DeliveryCounts::default()
        };
        assert_eq!(found, expected, "{name}");
        // Nothing but messages of the measurement was published meanwhile.
        assert_eq!(found.caught_up, totals.recovered, "{name}");
        // A receiver that is away for at least half a second misses what is due meanwhile.
        let least = if transport == POLLING { 20 } else { 20 * 10 };
        assert!(found.caught_up >= least, "{name}: {found:?}");
        let times = played.outcome.deliveries.as_ref().unwrap();
        assert_eq!(times.replayed.count(), found.caught_up, "{name}");
        // Late deliveries are among the times of all, measured from due.
        assert_eq!((played.notes.response.count(), times.last.count()), (all, each), "{name}");
        assert_eq!(played.notes.response.max(), times.replayed.max(), "{name}");
        assert!(times.replayed.max() > Some(ms(500)), "{name}: {:?}", times.replayed.max());
        assert!(times.recovered.min() >= Some(ms(499)), "{name}: {:?}", times.recovered.min());
    }
}

#[test]
fn receivers_that_come_and_go_are_owed_what_the_server_restores() {
    for transport in SOCKETIO {
        let conduct =
            Conduct { away: Some("every 1s for 200ms".parse().unwrap()), ..Conduct::default() };
        let play = over(transport, 3, 1, 4, "20/s").duration(ms(4000)).warm_up(ms(100));
        let (played, _) = play_restored(&behaving(play, conduct), LONG);
        assert_eq!(played.errors(), [], "{transport}");
        let counts = counts(&played);
        assert_eq!((counts.check(), counts.missing()), (Ok(()), 0), "{transport}: {counts:?}");
        assert_eq!((counts.published, counts.whole()), (240, 960), "{transport}: {counts:?}");
        assert_eq!((counts.absences, counts.attempts), (48, 48), "{transport}: {counts:?}");
        assert_eq!((counts.duplicate, counts.foreign), (0, 0), "{transport}: {counts:?}");
        let apart = [counts.away, counts.edge];
        if transport == POLLING {
            // A server does not notice that a receiver is gone if it has no poll under way at that instant.
            assert!((40..=48).contains(&counts.restored), "{counts:?}");
            let is_none = apart.iter().all(DeliveryEnds::is_none);
            assert_eq!(is_none, counts.restored == 48, "{counts:?}");
        } else {
            assert_eq!((counts.restored, apart), (48, [DeliveryEnds::default(); 2]), "{transport}");
            // Four messages each, fewer for those that the end of the measurement called back.
            assert!((144..=192 + 48).contains(&counts.caught_up), "{transport}: {counts:?}");
        }
    }
}

#[test]
fn whoever_comes_back_too_late_has_missed_what_was_published_meanwhile() {
    for transport in SOCKETIO {
        let (play, _) = storm_over(transport);
        let (late, totals) = play_restored(&play, ms(100));
        let (never, _) = play_restored(&play, Nanos::ZERO);
        assert_eq!(late.errors(), [], "{transport}");
        let (late, never) = (counts(&late), counts(&never));
        assert_eq!((late, totals.recovered), (never, 0), "{transport}");
        assert_eq!((late.check(), late.restored, late.caught_up), (Ok(()), 0, 0), "{transport}");
        assert!(late.away.lost > 0 && late.away.lost == late.away.owed, "{transport}: {late:?}");
    }
}

#[test]
fn the_sums_close_while_receivers_are_restored_and_connections_are_cut() {
    let seen = with_cuts(0..102);
    let DeliveryCounts { cut, away, edge, restored, caught_up, attempts, .. } = seen;
    assert!(restored > 0 && caught_up > restored && attempts > restored, "{seen:?}");
    assert!(cut + away.lost + edge.lost > 0, "{seen:?}");
}

#[test]
#[ignore = "takes a minute: cargo test -p drive --test it -- --ignored restored::a_thousand"]
fn a_thousand_seeds_of_receivers_that_are_restored_leave_sums_that_close() {
    println!("{:?}", with_cuts(0..1002));
}

/// Runs each seed, over every transport in turn, with a server that keeps everything or forgets soon: receivers leave
/// or are torn off, bytes arrive late and in pieces, and connections are cut. Checks that the sums of each run close
/// and that nothing arrives twice, and returns the counts of all runs together.
fn with_cuts(seeds: Range<u64>) -> DeliveryCounts {
    let mut seen = DeliveryCounts::default();
    for seed in seeds {
        let transport = transport(seed);
        let away = (seed / 3 % 2 == 0).then(|| "every 700ms for 150ms".parse().unwrap());
        let storm = away.is_none().then_some(ms(400));
        let conduct = Conduct { away, storm, ..Conduct::default() };
        let play = rough(transport, seed, 0.3).drain(ms(5000));
        let time = if seed % 5 == 0 { ms(700) } else { LONG };
        let (played, _) = play_restored(&behaving(play, conduct), time);
        let counts = closed(transport, seed, &played);
        assert_eq!(counts.duplicate, 0, "{transport}, seed {seed}: {counts:?}");
        seen.merge(&counts);
    }
    seen
}

/// Two rooms of ten receivers that are torn off, and the number of messages published in both. Over polling, the storm
/// comes when all polls are under way.
fn storm_over(transport: &str) -> (Play, u64) {
    let (rate, each, at) = match transport {
        POLLING => ("2/s", 2 * 2 * 4, ms(1125)),
        _ => ("20/s", 2 * 20 * 4, ms(1000)),
    };
    let conduct = Conduct { storm: Some(at), ..Conduct::default() };
    let play = over(transport, 2, 1, 10, rate).duration(ms(4000)).warm_up(ms(100));
    (behaving(play, conduct), each)
}

/// Plays against a relay that keeps everything for `time`.
fn play_restored(play: &Play, time: Nanos) -> (Played, Totals) {
    let mut relay = relay().with_recovery(time);
    let played = play.against(&mut relay);
    (played, relay.totals())
}

fn transport(seed: u64) -> &'static str {
    SOCKETIO[usize::try_from(seed).unwrap() % SOCKETIO.len()]
}

const POLLING: &str = "socketio+polling";

pub(crate) const SOCKETIO: [&str; 3] = ["socketio", POLLING, "socketio+upgrade"];

const LONG: Nanos = Nanos::from_secs(60);
