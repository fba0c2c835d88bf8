//! Rooms whose server is killed and started again: what the kill cuts is not an error, and every delivery is accounted
//! for.

use crate::peers::{Heard, Scripted};
use crate::restored::SOCKETIO;
use crate::rooms::{TRANSPORTS, behaving, closed, counts, over, relay, rough};
use crate::world::{Play, Played, TIME_MAX, World, address, ms};
use engine::sim::{Outcome as Ended, Sim};
use engine::{ConnectionId, Engine as _};
use record::{DeliveryCounts, ErrorClass, Merge};
use serve::Relay;
use serve::relay::Fault;
use spec::Conduct;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use units::{Instant, Nanos, Random};

#[test]
fn receivers_of_a_server_that_is_killed_come_back_and_no_error_is_its_own() {
    for transport in TRANSPORTS {
        for (down, attempts) in [(ms(200), 20..=20), (ms(2000), 40..=60)] {
            let play = over(transport, 2, 1, 10, "20/s").duration(ms(10_000)).warm_up(ms(100));
            let played = restarted(&restarting(play), ms(1500), down);
            let name = format!("{transport}, down for {down}");
            assert_eq!(played.errors(), [], "{name}");
            let connections = played.outcome.connections;
            assert_eq!((connections.lost, connections.failed), (0, 0), "{name}");
            let counts = counts(&played);
            assert_eq!((counts.check(), counts.missing()), (Ok(()), 0), "{name}: {counts:?}");
            assert_eq!((counts.published, counts.whole()), (400, 4000), "{name}: {counts:?}");
            assert_eq!((counts.torn_off, counts.recovered), (20, 20), "{name}: {counts:?}");
            assert!(attempts.contains(&counts.attempts), "{name}: {counts:?}");
            assert_eq!((counts.duplicate, counts.foreign), (0, 0), "{name}: {counts:?}");
            assert!(counts.away.owed > 0 && counts.away.lost == counts.away.owed, "{name}");
            let times = &played.outcome.deliveries.as_ref().unwrap().recovered;
            let [first, last] = [times.min(), times.max()].map(Option::unwrap);
            // The back-off is between 0.5 and 1.5 s at first, then between 1 and 3 s, then between 2 and 5 s.
            let (least, most) = if down == ms(200) { (500, 1700) } else { (2000, 7200) };
            assert!(first > ms(least) && last < ms(most), "{name}: {first:?} to {last:?}");
        }
    }
}

#[test]
fn what_was_handed_to_a_server_that_is_killed_is_nobodys_debt() {
    // Everything takes 40 ms each way: what is published in the last 40 ms before the kill, and what is on its way
    // then, does not arrive.
    let mut play = over("ws", 1, 1, 5, "100/s").duration(ms(6000)).warm_up(ms(100));
    play.conditions.delay = ms(40);
    let played = restarted(&restarting(play), ms(1500), ms(100));
    assert_eq!(played.errors(), []);
    let counts = counts(&played);
    assert_eq!((counts.check(), counts.missing()), (Ok(()), 0), "{counts:?}");
    assert!(counts.unacknowledged >= 4 && counts.edge.lost >= 20, "{counts:?}");
    let waiting = played.outcome.measured;
    let unanswered = waiting.sent - waiting.ok - waiting.failed();
    assert_eq!(unanswered, counts.unacknowledged, "{waiting:?}");
    // Each of them waited for an acknowledgement until the connection was cut, which takes less than the way there and
    // back.
    let most = Nanos(ms(2 * 40).0 * unanswered);
    assert!(played.outcome.unanswered <= most, "{}", played.outcome.unanswered);
}

#[test]
fn connections_that_end_once_the_server_is_back_are_errors_again() {
    let play = over("ws", 1, 1, 20, "20/s").duration(ms(8000)).warm_up(ms(100));
    let play = restarting(play);
    let mut world = World::new(&play);
    assert_eq!(world.run(&mut relay(), Instant::START + ms(1500)), Ended::TimeUp);
    kill(&mut world);
    start_again(&mut world);
    assert_eq!(world.run(&mut relay(), Instant::START + ms(4500)), Ended::TimeUp);
    // It ends on its own this time, and nobody has announced it.
    world.server = world.network.engine();
    world.server.listen(&address()).unwrap();
    assert_eq!(world.run(&mut relay(), TIME_MAX), Ended::Done);
    let played = world.finish();
    let lost: u64 = played.errors().iter().map(|(_, count, _)| count).sum();
    assert_eq!((lost, played.outcome.connections.lost), (21, 21), "{:?}", played.errors());
    assert_eq!(counts(&played).check(), Ok(()));
    assert_eq!(counts(&played).torn_off, 20, "once");
}

#[test]
fn connections_to_the_new_server_are_excused_no_longer_than_ends_of_the_old_one_are_seen() {
    // It listens long before anybody knows that it is ready, so all connections to it begin before that is known.
    let listening = |known_at: Nanos| {
        let play = restarting(over("ws", 1, 1, 20, "20/s").duration(ms(8000)).warm_up(ms(100)));
        let mut world = World::new(&play);
        assert_eq!(world.run(&mut relay(), Instant::START + ms(1500)), Ended::TimeUp);
        kill(&mut world);
        world.server.listen(&address()).unwrap();
        let mut relay = relay();
        assert_eq!(world.run(&mut relay, Instant::START + known_at), Ended::TimeUp);
        world.control.is_back(world.network.now());
        (world, relay)
    };
    let ended_at = |(mut world, mut first): (World, _), at: Nanos| {
        assert_eq!(world.run(&mut first, Instant::START + at), Ended::TimeUp);
        world.server = world.network.engine();
        world.server.listen(&address()).unwrap();
        assert_eq!(world.run(&mut relay(), TIME_MAX), Ended::Done);
        world.finish()
    };
    let played = ended_at(listening(ms(3400)), ms(6400));
    let lost: u64 = played.errors().iter().map(|(_, count, _)| count).sum();
    assert_eq!((lost, played.outcome.connections.lost), (21, 21), "{:?}", played.errors());
    let it = counts(&played);
    assert_eq!((it.check(), it.torn_off, it.recovered), (Ok(()), 20, 20), "{it:?}");
    // An end that is seen soon may be that of the old server, but a receiver that has heard the new one is not torn off
    // a second time.
    let played = ended_at(listening(ms(3400)), ms(3500));
    let it = counts(&played);
    assert_eq!((played.errors(), it.check()), (vec![], Ok(())), "{it:?}");
    assert_eq!((it.torn_off, it.recovered), (20, 20), "{it:?}");
    let longest = played.outcome.deliveries.as_ref().unwrap().recovered.max();
    assert!(longest.is_some_and(|longest| longest < ms(1900)), "{longest:?}");
}

#[test]
fn publishers_of_another_server_are_not_excused() {
    for elsewhere in [false, true] {
        let play = over("room-events", 2, 1, 5, "20/s").duration(ms(6000)).warm_up(ms(100));
        let play = Play { publishers_live_on: elsewhere, ..play };
        // Both are killed here, and nobody announces it for one of them. What is under way then is cut.
        let at = ms(1500 + 5);
        let played = restarted(&restarting(play), at, ms(100));
        let errors = played.errors();
        assert_eq!(errors.is_empty(), !elsewhere, "{errors:?}");
        let failed = played.outcome.connections.failed + played.outcome.connections.lost;
        assert_eq!(failed > 0, elsewhere, "{:?}", played.outcome.connections);
        assert_eq!(counts(&played).torn_off, 10, "receivers were connected to the killed one");
    }
}

#[test]
fn receivers_of_a_server_are_not_excused_where_a_part_of_it_is_killed() {
    let play = over("room-events", 2, 1, 5, "20/s").duration(ms(6000)).warm_up(ms(100));
    let play = Play { receivers_live_on: true, ..play };
    // Everything is killed here, but only publishers are said to be connected to what is killed.
    let played = restarted(&restarting(play), ms(1500 + 5), ms(100));
    let connections = played.outcome.connections;
    assert_eq!((connections.lost, connections.failed), (10, 0), "{:?}", played.errors());
    let it = counts(&played);
    assert_eq!((it.check(), it.torn_off, it.attempts), (Ok(()), 0, 10), "{it:?}");
}

#[test]
fn receivers_stay_while_a_part_of_their_server_is_gone_and_what_it_takes_with_it_is_lost() {
    for transport in TRANSPORTS {
        let play = over(transport, 2, 1, 10, "20/s").duration(ms(6000)).warm_up(ms(100));
        // Messages are due every 50 ms in each room and every 25 ms in both together: after the kill, from 1525 ms on.
        let played = without_part(&play, ms(1510), Nanos::ZERO, ms(1705));
        let name = format!("{transport}: {:?}", counts(&played));
        assert_eq!(played.errors(), [], "{name}");
        let connections = played.outcome.connections;
        assert_eq!((connections.lost, connections.failed), (0, 0), "{name}");
        let it = counts(&played);
        let present = it.delivered + it.lost;
        assert_eq!((it.check(), it.owed, it.whole()), (Ok(()), present, present), "{name}");
        // Those due from 1525 to 1700 ms.
        assert_eq!((it.published, it.lost), (240, 8 * 10), "{name}");
        assert_eq!((it.torn_off, it.recovered, it.attempts), (20, 20, 0), "{name}");
        let times = &played.outcome.deliveries.as_ref().unwrap().recovered;
        let [first, last] = [times.min(), times.max()].map(Option::unwrap);
        // From 1510 ms to the messages that are due at 1725 and 1750 ms, and arrive a few milliseconds later.
        assert!(first >= ms(215) && first < ms(225), "{name}: {first}");
        assert!(last >= ms(240) && last < ms(250), "{name}: {last}");
    }
}

#[test]
fn what_was_due_before_a_part_was_gone_proves_nothing_of_the_new_one() {
    // Everything takes 40 ms each way, so messages that the old one carried still arrive for 80 ms after the kill. It
    // takes 30 ms to go, and the new one is ready at once.
    let mut play = over("ws", 1, 1, 5, "100/s").duration(ms(6000)).warm_up(ms(100));
    play.conditions.delay = ms(40);
    let at = ms(1505);
    let played = without_part(&play, at, ms(30), at);
    let it = counts(&played);
    assert_eq!((played.errors(), it.lost, it.recovered), (vec![], 0, 5), "{it:?}");
    let times = &played.outcome.deliveries.as_ref().unwrap().recovered;
    let [first, last] = [times.min(), times.max()].map(Option::unwrap);
    // The first message that was due after that.
    assert!(first >= ms(30 + 80) && last < ms(30 + 80 + 20), "{first} to {last}");
}

#[test]
fn a_part_that_does_not_come_back_leaves_sums_that_close_and_nobody_recovers() {
    let play = over("ws", 2, 1, 10, "20/s").duration(ms(3000)).warm_up(ms(100));
    let played = without_part(&play, ms(1510), ms(1), ms(60_000));
    let it = counts(&played);
    assert_eq!((it.check(), it.torn_off, it.recovered), (Ok(()), 20, 0), "{it:?}");
    // Nothing has arrived after it that would show that it is lost.
    let gone = it.in_flight_at_end;
    assert_eq!((it.lost, it.cut, it.owed), (0, 0, it.delivered + gone), "{it:?}");
    // Those due from 1525 to 3075 ms.
    assert_eq!(gone, 63 * 10, "{it:?}");
}

#[test]
fn a_handshake_that_times_out_is_excused_until_the_server_is_ready() {
    let played = |is_said: bool| {
        let play = restarting(over("ws", 1, 1, 5, "20/s").duration(ms(12_000)).warm_up(ms(100)));
        let mut world = World::new(&play);
        assert_eq!(world.run(&mut relay(), Instant::START + ms(1500)), Ended::TimeUp);
        kill(&mut world);
        // It accepts connections, but answers nothing yet.
        world.server.listen(&address()).unwrap();
        let mut silent = Scripted(|_: &mut Sim, _: ConnectionId, _: Heard<'_>| {});
        if !is_said {
            world.control.is_back(world.network.now());
        }
        assert_eq!(world.run(&mut silent, Instant::START + ms(3500)), Ended::TimeUp);
        world.server = world.network.engine();
        world.server.listen(&address()).unwrap();
        if is_said {
            world.control.is_back(world.network.now());
        }
        assert_eq!(world.run(&mut relay(), TIME_MAX), Ended::Done, "it hangs");
        world.finish()
    };
    let it = played(true);
    assert_eq!(it.errors(), []);
    assert_eq!((counts(&it).check(), counts(&it).recovered), (Ok(()), 5), "{:?}", counts(&it));
    assert!(it.outcome.errors.is_empty() && counts(&it).attempts > 5, "{:?}", counts(&it));
    let late = played(false);
    assert!(late.outcome.errors.contains_key(&ErrorClass::HandshakeTimedOut));
}

#[test]
fn a_server_that_is_started_again_restores_nobody() {
    for transport in SOCKETIO {
        let play = over(transport, 2, 1, 10, "20/s").duration(ms(6000)).warm_up(ms(100));
        let play = restarting(play);
        let keeping = |seed| relay().with_names_from(seed).with_recovery(Nanos::from_secs(60));
        let all = restarted_by(&play, ms(1500), ms(200), keeping);
        let none = restarted(&play, ms(1500), ms(200));
        assert_eq!(all.errors(), [], "{transport}");
        // What it had kept is gone with it, and each receiver is proved anew.
        assert_eq!(counts(&all), counts(&none), "{transport}");
        assert_eq!((counts(&all).recovered, counts(&all).restored), (20, 0), "{transport}");
    }
}

#[test]
fn a_server_that_does_not_come_back_leaves_sums_that_close() {
    let play = restarting(over("ws", 1, 1, 5, "50/s").duration(ms(2000)).warm_up(ms(100)));
    let mut world = World::new(&play);
    assert_eq!(world.run(&mut relay(), Instant::START + ms(1000)), Ended::TimeUp);
    kill(&mut world);
    assert_eq!(world.run(&mut relay(), TIME_MAX), Ended::Done);
    let played = world.finish();
    let counts = counts(&played);
    assert_eq!((counts.check(), counts.recovered), (Ok(()), 0), "{counts:?}");
    assert_eq!(played.errors(), []);
}

#[test]
fn the_sums_close_over_every_transport_while_the_server_is_killed() {
    let seen = with_restarts(0..100);
    let DeliveryCounts { torn_off, recovered, away, edge, unacknowledged, cut, .. } = seen;
    assert!(torn_off > recovered && recovered > 0, "{seen:?}");
    let all = [away.lost, edge.lost, edge.delivered, unacknowledged, cut];
    assert!(all.iter().all(|count| *count > 0), "{seen:?}");
}

#[test]
#[ignore = "takes a minute: cargo test -p drive --test it -- --ignored a_thousand_seeds"]
fn a_thousand_seeds_of_servers_that_are_killed_leave_sums_that_close() {
    println!("{:?}", with_restarts(0..1000));
}

/// Runs each seed, over every transport in turn: the server is killed and comes back at random instants while bytes
/// arrive late and in pieces, and in half of the runs connections are cut and receivers leave. Checks that the sums of
/// each run close, and returns the counts of all runs together.
fn with_restarts(seeds: Range<u64>) -> DeliveryCounts {
    let mut seen = DeliveryCounts::default();
    for seed in seeds {
        let mut random = Random::new(seed);
        let mut between = |from: u64, to: usize| ms(from + random.below(to) as u64);
        let (at, down) = (between(500, 1300), between(1, 1500));
        let transport = TRANSPORTS[usize::try_from(seed).unwrap() % TRANSPORTS.len()];
        let is_rough = seed / 12 % 2 == 1;
        // A client that polls takes one message at a time of what waited for the server.
        let play = rough(transport, seed, if is_rough { 0.3 } else { 0.0 }).drain(ms(5000));
        let away = is_rough.then(|| "every 700ms for 150ms".parse().unwrap());
        let conduct = Conduct { away, restart: Some(at), ..Conduct::default() };
        let played = restarted(&behaving(play, conduct), at, down);
        let counts = closed(transport, seed, &played);
        let name = format!("{transport}, seed {seed}: {counts:?}");
        assert_eq!(counts.duplicate, 0, "{name}");
        if !is_rough {
            assert_eq!((played.errors(), counts.missing()), (vec![], 0), "{name}");
        }
        seen.merge(&counts);
    }
    seen
}

/// A play whose server may be killed, at an instant that the caller chooses.
fn restarting(play: Play) -> Play {
    behaving(play, Conduct { restart: Some(ms(1)), ..Conduct::default() })
}

/// Runs to the end against a relay of which a part is killed, takes some time to go, and is ready again, at times
/// counted from the start of the traffic. What is published meanwhile reaches nobody, and all connections stay.
fn without_part(play: &Play, at: Nanos, going: Nanos, back: Nanos) -> Played {
    let play = restarting(Play { receivers_live_on: true, ..play.clone() });
    let is_away = Arc::new(AtomicBool::new(false));
    let carries = Arc::clone(&is_away);
    let mut relay = relay().with_faults(move |_: &[u8]| {
        let copies = usize::from(!carries.load(Ordering::Relaxed));
        Fault { copies, ..Fault::default() }
    });
    let mut world = World::new(&play);
    assert_eq!(world.run(&mut relay, Instant::START + ms(500)), Ended::TimeUp);
    let begin = world.control.started_at();
    assert_eq!(world.run(&mut relay, begin + at), Ended::TimeUp);
    world.control.killed(world.network.now());
    is_away.store(back > at, Ordering::Relaxed);
    assert_eq!(world.run(&mut relay, begin + at + going), Ended::TimeUp);
    world.control.part_is_gone(world.network.now());
    if world.run(&mut relay, begin + back.max(at + going)) == Ended::TimeUp {
        is_away.store(false, Ordering::Relaxed);
        world.control.is_back(world.network.now());
        assert_eq!(world.run(&mut relay, TIME_MAX), Ended::Done, "it hangs");
    }
    world.finish()
}

/// Runs to the end against a relay that is killed at an instant, and ready again some time later.
fn restarted(play: &Play, at: Nanos, down: Nanos) -> Played {
    restarted_by(play, at, down, |_| relay())
}

/// The same with relays that draw their names from a seed.
fn restarted_by(play: &Play, at: Nanos, down: Nanos, relay: fn(u64) -> Relay) -> Played {
    let mut world = World::new(play);
    assert_eq!(world.run(&mut relay(0), Instant::START + at), Ended::TimeUp);
    kill(&mut world);
    let mut next = relay(1);
    if world.run(&mut next, Instant::START + at + down) == Ended::TimeUp {
        start_again(&mut world);
        assert_eq!(world.run(&mut next, TIME_MAX), Ended::Done, "it hangs");
    }
    world.finish()
}

/// Ends the server's process with all its connections; the one that replaces it does not listen.
fn kill(world: &mut World) {
    world.control.killed(world.network.now());
    world.server = world.network.engine();
}

/// Makes the server listen again, with no state from before.
fn start_again(world: &mut World) {
    world.server.listen(&address()).unwrap();
    world.control.is_back(world.network.now());
}
