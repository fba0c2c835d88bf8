//! Rooms: what is published goes through a relay to its receivers, and every delivery that is owed is accounted for.

use crate::world::{DELAY, Play, Played, Speech, TIME_MAX, World, ms, worker};
use drive::Control;
use engine::Engine as _;
use engine::sim::{Conditions, Cuts, Network, Outcome as Ended, Party, Split};
use load::{Arrival, Content, Expect, Header, Pick, Requests, RoomShare, Schedule, Spacing};
use record::{DeliveryCounts, DeliveryEnds, ErrorClass, Merge, Outcome};
use serve::relay::Fault;
use spec::conversation::{Cue, READY_MADE};
use spec::{Conduct, Conversation, Rooms};
use std::num::NonZeroU32;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use units::{Instant, Nanos, Random};
use wire::ClientOptions;
use wire::ServerOptions;
use wire::conversation::Compiled;

#[test]
fn each_receiver_of_a_room_gets_each_message_of_it_once() {
    let played = publish(3, 2, 4, "20/s").duration(ms(2000)).against(&mut relay());
    assert_eq!(played.errors(), []);
    let all = DeliveryCounts { published: 120, owed: 480, delivered: 480, ..counts(&played) };
    assert_eq!(counts(&played), all);
    assert_eq!(counts(&played).missing(), 0);
    // To the relay, and from there to each receiver.
    let deliveries = played.outcome.deliveries.as_ref().unwrap();
    let way = Nanos(2 * DELAY.0);
    assert_eq!(played.notes.response.count(), 480);
    for times in [&played.notes.response, &deliveries.first, &deliveries.median, &deliveries.last] {
        let times = [times.min().unwrap(), times.max().unwrap()];
        // To the precision of histograms.
        assert!(times.iter().all(|time| time.0.abs_diff(way.0) < way.0 / 1000), "{times:?}");
    }
    assert_eq!([&deliveries.first, &deliveries.spread].map(|times| times.count()), [120, 120]);
    assert_eq!(deliveries.spread.max(), Some(Nanos::ZERO));
    // The acknowledgement comes back to the publisher, and is no delivery.
    assert_eq!(played.outcome.measured.ok, 120);
    assert_eq!(played.outcome.exchanges[&0].service.count(), 120);
    assert_eq!(played.replies_of_window(), 480);
}

#[test]
fn messages_of_the_warm_up_and_those_that_prove_subscriptions_are_not_counted() {
    let play = publish(1, 1, 3, "10/s").warm_up(ms(1000)).duration(ms(1000));
    let played = play.against(&mut relay());
    assert_eq!((counts(&played).published, counts(&played).delivered), (10, 30));
    assert_eq!(counts(&played).early, 0);
    // One proves that all receivers hear.
    assert_eq!(played.outcome.warm_up.sent, 11);
    assert_eq!(played.outcome.pushes[&0].count, 30);
}

#[test]
fn a_receiver_that_hears_nothing_is_given_up_before_anything_is_timed() {
    let mut conversation = room();
    let join = &mut conversation.open[0];
    join.send = None;
    join.expect = None;
    join.refused = None;
    let rooms = rooms(1, 1, 2);
    let played = hold(conversation, rooms, "10/s").duration(ms(500)).against(&mut relay());
    let unproved = played.outcome.errors.get(&ErrorClass::HandshakeTimedOut).unwrap();
    assert!(unproved.example.contains("its subscription is not proved"), "{}", unproved.example);
    assert!(played.outcome.connections.lost >= 2);
    let DeliveryCounts { published, owed, .. } = counts(&played);
    assert_eq!((published, owed), (5, 0));
}

#[test]
fn what_a_relay_drops_and_doubles_is_found_exactly() {
    for seed in 0..50 {
        let (dropped, doubled) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let told = [&dropped, &doubled].map(Arc::clone);
        let play = publish(2, 1, 5, "20/s").duration(ms(1000));
        let played = play.against(&mut relay().with_faults(faults(seed, told)));
        let DeliveryCounts { owed, lost, in_flight_at_end, duplicate, foreign, .. } =
            counts(&played);
        let known = [&dropped, &doubled].map(|count| count.load(Ordering::Relaxed));
        assert_eq!([lost, duplicate], known, "seed {seed}");
        assert_eq!((owed, in_flight_at_end, foreign), (200, 0, 0), "seed {seed}");
        // A lost delivery counts with at least the time-out of replies.
        assert_eq!(played.notes.response.count(), owed);
        assert_eq!(played.notes.response.max() >= Some(ms(300)), lost > 0, "seed {seed}");
    }
}

#[test]
fn the_sums_close_while_connections_are_cut_and_come_again() {
    let mut seen = DeliveryCounts::default();
    for seed in 0..300 {
        let play = publish(2, 2, 4, "30/s").duration(ms(1500)).warm_up(ms(100));
        let (played, counts) = play_with_cuts(play, seed, 0.5);
        let given_up = counts.delivered + counts.lost + counts.cut;
        assert_eq!(played.notes.response.count(), given_up, "seed {seed}");
        seen.merge(&counts);
    }
    assert!(
        seen.cut > 0 && seen.edge.delivered > 0 && seen.away.lost > 0 && seen.delivered > seen.cut,
        "{seen:?}"
    );
}

#[test]
fn receivers_that_do_not_read_as_fast_as_is_published_are_dropped() {
    let mut relay = relay().with_queue_max(2000);
    // Four publishers send over four connections what each receiver gets over one.
    let mut play = publish(1, 4, 3, "200/s").duration(ms(1000));
    play.conditions.buffer_len_max = 400;
    play.conditions.delay = ms(50);
    let played = play.against(&mut relay);
    let counts = counts(&played);
    assert_eq!(counts.check(), Ok(()));
    assert!(relay.totals().slow > 0, "{:?}", relay.totals());
    assert!(counts.cut > 0, "{counts:?}");
}

#[test]
fn publishers_that_hold_a_conversation_of_their_own_reach_the_receivers_of_another() {
    let (mut receivers, mut publishers) = (room(), room());
    publishers.pushes.clear();
    publishers.open.clear();
    receivers.requests.clear();
    receivers.publishers = Some(Box::new(publishers));
    receivers.check().unwrap();
    for seed in 0..50 {
        let play = hold(receivers.clone(), rooms(3, 2, 4), "20/s").duration(ms(1500));
        let (_, counts) = play_with_cuts(play, seed, 0.3);
        assert!(counts.delivered > 0, "seed {seed}");
    }
    let played = hold(receivers, rooms(3, 2, 4), "20/s").duration(ms(2000)).against(&mut relay());
    assert_eq!(played.errors(), []);
    let all = DeliveryCounts { published: 120, owed: 480, delivered: 480, ..counts(&played) };
    assert_eq!(counts(&played), all);
    assert_eq!(played.outcome.measured.ok, 120);
    assert_eq!(played.outcome.exchanges[&0].name, "publish");
    assert_eq!(played.outcome.pushes[&0].name, "message");
}

#[test]
fn workers_divide_the_rooms_and_their_counts_add_up() {
    let whole = publish(4, 1, 3, "10/s").duration(ms(1000));
    let parts = whole.workload.split(NonZeroU32::new(2).unwrap());
    assert_eq!(parts.len(), 2);
    let mut all = Outcome::default();
    for workload in parts {
        let part = Play { workload, ..whole.clone() };
        let played = part.against(&mut relay());
        assert_eq!(counts(&played).delivered, 60);
        all.merge(&played.outcome);
    }
    let counts = all.deliveries.unwrap().counts;
    assert_eq!((counts.published, counts.owed, counts.delivered), (40, 120, 120));
    // Three workers have no even shares of four rooms: two of them work.
    assert_eq!(whole.workload.split(NonZeroU32::new(3).unwrap()).len(), 2);
}

#[test]
fn machines_that_share_rooms_count_together_what_one_counts() {
    for (seed, weights) in (0..).zip([&[1, 1][..], &[1, 2], &[3, 1, 2], &[1, 1, 1, 1]]) {
        let play = publish(3, 2, 8, "20/s").warm_up(ms(200)).duration(ms(1000));
        let whole = play.against(&mut relay());
        let parts = share(&play, weights, &mut relay());
        let all = Outcome::merged(parts.iter().map(|part| &part.outcome));
        assert!(parts.iter().all(|part| part.errors().is_empty()), "{seed}");
        let deliveries = all.deliveries.unwrap();
        assert_eq!(deliveries.counts, counts(&whole), "{weights:?}");
        assert_eq!(deliveries.counts.owed, 60 * 8);
        assert_eq!(deliveries.clock_bound, Some(Nanos::ZERO));
        assert_eq!(whole.outcome.deliveries.as_ref().unwrap().clock_bound, None);
        let times = record::Histogram::merged(parts.iter().map(|part| &part.notes.response));
        assert_eq!(times, whole.notes.response, "{weights:?}");
        assert_eq!((all.planned, all.measured), (whole.outcome.planned, whole.outcome.measured));
        assert_eq!(all.pushes, whole.outcome.pushes, "{weights:?}");
        // Each machine has a first receiver of each message.
        let machines = weights.len() as u64;
        assert_eq!(deliveries.first.count(), 60 * machines);
    }
}

#[test]
fn what_a_relay_drops_and_doubles_is_found_exactly_by_machines_that_share_rooms() {
    for seed in 0..50 {
        let (dropped, doubled) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let told = [&dropped, &doubled].map(Arc::clone);
        let play = publish(2, 1, 5, "20/s").duration(ms(1000));
        let parts = share(&play, &[2, 1, 2], &mut relay().with_faults(faults(seed, told)));
        let all = Outcome::merged(parts.iter().map(|part| &part.outcome));
        let counts = all.deliveries.unwrap().counts;
        let known = [&dropped, &doubled].map(|count| count.load(Ordering::Relaxed));
        assert_eq!([counts.lost, counts.duplicate], known, "seed {seed}");
        let DeliveryCounts { published, owed, in_flight_at_end, foreign, .. } = counts;
        assert_eq!((published, owed, in_flight_at_end, foreign), (40, 200, 0, 0), "seed {seed}");
        assert_eq!(counts.check(), Ok(()), "seed {seed}");
    }
}

#[test]
fn the_sums_of_machines_that_share_rooms_close_while_connections_are_cut() {
    let mut seen = DeliveryCounts::default();
    for seed in 0..100 {
        let mut play = publish(1, 2, 7, "30/s").duration(ms(1500)).warm_up(ms(100));
        play.seed = seed;
        play.conditions = cutting(0.5);
        for part in share(&play, &[1, 1], &mut relay()) {
            let counts = counts(&part);
            assert_eq!(counts.check(), Ok(()), "seed {seed}: {counts:?}");
            assert_eq!(counts.published, part.outcome.measured.sent, "seed {seed}");
            assert_eq!((counts.foreign, counts.duplicate), (0, 0), "seed {seed}");
            let given_up = counts.delivered + counts.lost + counts.cut;
            assert_eq!(part.notes.response.count(), given_up, "seed {seed}");
            seen.merge(&counts);
        }
    }
    assert!(
        seen.cut > 0 && seen.edge.delivered > 0 && seen.away.lost > 0 && seen.delivered > seen.cut,
        "{seen:?}"
    );
}

#[test]
fn a_run_that_is_stopped_keeps_its_sums() {
    let play = publish(1, 1, 3, "100/s").duration(ms(2000));
    let mut world = World::new(&play);
    let mut relay = relay();
    assert_eq!(world.run(&mut relay, Instant(1_000_500_000)), Ended::TimeUp);
    world.control.stop();
    assert_eq!(world.run(&mut relay, Instant(2_000_000_000)), Ended::Done);
    let counts = counts(&world.finish());
    assert_eq!(counts.check(), Ok(()));
    assert!(counts.published > 90 && counts.lost == 0, "{counts:?}");
}

#[test]
fn each_receiver_gets_each_message_over_every_transport() {
    for transport in TRANSPORTS {
        let play = over(transport, 3, 2, 4, "20/s").duration(ms(2000)).warm_up(ms(100));
        let mut relay = relay();
        let played = play.against(&mut relay);
        assert_eq!(played.errors(), [], "{transport}");
        let counts = counts(&played);
        let all = DeliveryCounts { published: 120, owed: 480, delivered: 480, ..counts };
        assert_eq!((counts, counts.missing()), (all, 0), "{transport}");
        assert_eq!((counts.duplicate, counts.reordered, counts.foreign), (0, 0, 0), "{transport}");
        // Each publication was acknowledged.
        assert_eq!(played.outcome.exchanges[&0].service.count(), 120, "{transport}");
        // One socket receives; a second one is for those that have something to say, which all do: they join or
        // publish.
        let is_one =
            ["ws", "sockjs", "socketio"].contains(&transport) || transport.starts_with("room");
        let sockets = if is_one { 18 } else { 36 };
        assert_eq!(relay.totals().connections, sockets, "{transport}");
        // Requests of the window, except those that its edges cut off: deliveries, and what is published and answered.
        let is_poll = ["sockjs+xhr", "sockjs+jsonp", "socketio+polling"].contains(&transport);
        let requests = match transport {
            _ if is_poll => 480 + 120 + 120,
            "room-longpoll" => 480,
            _ if is_one || transport == "socketio+upgrade" => 0,
            _ => 120,
        };
        let found = played.outcome.requests;
        assert!(found.abs_diff(requests) <= sockets, "{transport}: {found}, not {requests}");
    }
}

#[test]
fn what_a_relay_drops_and_doubles_is_found_over_every_transport() {
    for transport in TRANSPORTS {
        for seed in 0..20 {
            let (dropped, doubled) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
            let told = [&dropped, &doubled].map(Arc::clone);
            let play = over(transport, 2, 1, 5, "20/s").duration(ms(1000));
            let played = play.against(&mut relay().with_faults(faults(seed, told)));
            let DeliveryCounts { owed, lost, in_flight_at_end, duplicate, foreign, .. } =
                counts(&played);
            let known = [&dropped, &doubled].map(|count| count.load(Ordering::Relaxed));
            assert_eq!([lost, duplicate], known, "{transport}, seed {seed}");
            assert_eq!((owed, in_flight_at_end, foreign), (200, 0, 0), "{transport}, seed {seed}");
        }
    }
}

#[test]
fn the_sums_close_over_every_transport_while_connections_are_cut_and_come_again() {
    for transport in TRANSPORTS {
        let mut seen = DeliveryCounts::default();
        for seed in 0..100 {
            let play = over(transport, 2, 2, 4, "30/s").duration(ms(1500)).warm_up(ms(100));
            let (_, counts) = play_with_cuts(play, seed, 0.5);
            seen.merge(&counts);
        }
        assert!(seen.cut > 0 && seen.delivered > seen.cut, "{transport}: {seen:?}");
    }
}

#[test]
fn the_sums_close_over_every_transport_while_all_goes_wrong_at_once() {
    for transport in TRANSPORTS {
        let seen = all_goes_wrong(transport, 0..8);
        let DeliveryCounts { cut, lost, duplicate, away, slow, .. } = seen;
        assert!(
            [cut, lost, duplicate, away.lost, slow.owed].iter().all(|count| *count > 0),
            "{seen:?}"
        );
        assert!(seen.delivered > lost + cut, "{transport}: {seen:?}");
    }
}

#[test]
#[ignore = "takes minutes: cargo test -p drive --test it -- --ignored a_thousand_seeds"]
fn a_thousand_seeds_of_all_that_goes_wrong_leave_sums_that_close_over_every_transport() {
    for transport in TRANSPORTS {
        let seen = all_goes_wrong(transport, 0..1000);
        println!("{transport}: {seen:?}");
    }
}

#[test]
fn the_delay_of_each_receiver_is_found_as_exactly_as_histograms_have_it() {
    let mut last = Vec::new();
    let mut turn = 0;
    // The relay asks for each receiver of a room in turn: 10 ms for the first, 50 ms for the last.
    let delay = move |data: &[u8]| {
        if data != last {
            (last, turn) = (data.to_vec(), 0);
        }
        turn += 1;
        Fault { delay: Nanos(turn * ms(10).0), ..Fault::default() }
    };
    let play = publish(3, 1, 5, "20/s").duration(ms(2000));
    let played = play.against(&mut relay().with_faults(delay));
    assert_eq!(played.errors(), []);
    let all = DeliveryCounts { published: 120, owed: 600, delivered: 600, ..counts(&played) };
    assert_eq!((counts(&played), counts(&played).missing()), (all, 0));
    assert_eq!(counts(&played).reordered, 0);
    let way = 2 * DELAY.0;
    let deliveries = played.outcome.deliveries.as_ref().unwrap();
    #[rustfmt::skip]
    let table = [
        ("first",    &deliveries.first,       way + ms(10).0, way + ms(10).0),
        ("median",   &deliveries.median,      way + ms(30).0, way + ms(30).0),
        ("last",     &deliveries.last,        way + ms(50).0, way + ms(50).0),
        ("spread",   &deliveries.spread,      ms(40).0,       ms(40).0),
        ("delivery", &played.notes.response,  way + ms(10).0, way + ms(50).0),
    ];
    for (name, times, min, max) in table {
        let found = [times.min(), times.max()].map(Option::unwrap);
        // To the precision of histograms.
        let is_near = |found: Nanos, known: u64| found.0.abs_diff(known) < known / 1000;
        assert!(is_near(found[0], min) && is_near(found[1], max), "{name}: {found:?}");
    }
}

#[test]
fn deliveries_that_a_relay_swaps_are_found_over_every_transport() {
    for transport in TRANSPORTS {
        for seed in 0..20 {
            let mut chance = Random::new(seed);
            let swaps = move |data: &[u8]| {
                let is_overtaken = is_counted(data) && chance.below(5) == 0;
                Fault { is_overtaken, delay: ms(3), ..Fault::default() }
            };
            let play = over(transport, 2, 1, 5, "20/s").duration(ms(1000));
            let mut relay = relay().with_faults(swaps);
            let played = play.against(&mut relay);
            let found = counts(&played);
            let known = relay.totals().reordered;
            assert!(known > 0, "{transport}, seed {seed}");
            assert_eq!(found.reordered, known, "{transport}, seed {seed}");
            let all = DeliveryCounts { owed: 200, delivered: 200, ..found };
            assert_eq!((found, found.missing()), (all, 0), "{transport}, seed {seed}");
            assert_eq!((found.duplicate, found.foreign), (0, 0), "{transport}, seed {seed}");
        }
    }
}

#[test]
fn slow_receivers_are_counted_apart_and_cost_the_others_nothing() {
    for transport in TRANSPORTS {
        let play = over(transport, 2, 1, 5, "20/s").duration(ms(2000)).warm_up(ms(100));
        let conduct = Conduct { slow: 1, ..Conduct::default() };
        let played = behaving(play, conduct).against(&mut relay());
        assert_eq!(played.errors(), [], "{transport}");
        let counts = counts(&played);
        // Everything was kept for them, and they read it once the measurement was over.
        let slow = DeliveryEnds { owed: 80, delivered: 80, ..DeliveryEnds::default() };
        let all = DeliveryCounts { published: 80, owed: 320, delivered: 320, slow, ..counts };
        assert_eq!((counts, counts.missing()), (all, 0), "{transport}");
        assert_eq!((counts.duplicate, counts.reordered, counts.early), (0, 0, 0), "{transport}");
        assert_eq!(played.notes.response.count(), 320, "{transport}");
        assert!(played.notes.response.max() < Some(ms(100)), "{transport}: nobody waited for them");
        assert_eq!(played.replies_of_window(), 320, "{transport}");
    }
}

#[test]
fn what_a_relay_does_to_slow_receivers_follows_from_the_counts() {
    let conduct = Conduct { slow: 2, ..Conduct::default() };
    let mut play = behaving(publish(1, 1, 5, "50/s").duration(ms(2000)), conduct);
    play.conditions.buffer_len_max = 1000;
    let mut relay = relay().with_queue_max(2000);
    let played = play.against(&mut relay);
    let counts = counts(&played);
    assert_eq!(counts.check(), Ok(()));
    // It throws them out, and they read what had left the relay by then.
    assert_eq!(relay.totals().slow, 2);
    assert_eq!((counts.slow.owed, counts.slow.lost, counts.slow.in_flight_at_end), (200, 0, 0));
    assert!(counts.slow.delivered > 0 && counts.slow.cut > 100, "{counts:?}");
    let all = DeliveryCounts { owed: 300, delivered: 300, ..counts };
    assert_eq!((counts, counts.missing()), (all, 0));
}

#[test]
fn what_was_published_while_receivers_were_away_is_owed_apart() {
    let away = Some("every 1s for 200ms".parse().unwrap());
    for transport in TRANSPORTS {
        let conduct = Conduct { away, ..Conduct::default() };
        let play = over(transport, 3, 1, 4, "20/s").duration(ms(4000)).warm_up(ms(100));
        let played = behaving(play, conduct).against(&mut relay());
        assert_eq!(played.errors(), [], "{transport}");
        let counts = counts(&played);
        assert_eq!((counts.check(), counts.missing()), (Ok(()), 0), "{transport}: {counts:?}");
        assert_eq!((counts.published, counts.whole()), (240, 960), "{transport}: {counts:?}");
        // Each of twelve receivers leaves once a second.
        assert_eq!((counts.absences, counts.attempts, counts.torn_off), (48, 48, 0), "{transport}");
        // Four messages each, fewer for those that the end of the measurement called back.
        assert!((144..=192).contains(&counts.away.owed), "{transport}: {counts:?}");
        assert_eq!(counts.away.lost, counts.away.owed, "{transport}: it keeps nothing for them");
        assert_eq!((counts.duplicate, counts.foreign), (0, 0), "{transport}");
        let deliveries = played.outcome.deliveries.as_ref().unwrap();
        assert_eq!(
            (deliveries.returned.count(), deliveries.replayed.count()),
            (48, 0),
            "{transport}"
        );
        assert_eq!(played.outcome.connections.lost, 0, "{transport}");
    }
}

#[test]
fn receivers_that_were_torn_off_at_once_come_back_with_back_off_and_jitter() {
    for transport in TRANSPORTS {
        let storm = Some(ms(1000));
        let conduct = Conduct { storm, ..Conduct::default() };
        let play = over(transport, 2, 1, 50, "20/s").duration(ms(4000)).warm_up(ms(100));
        let played = behaving(play, conduct).against(&mut relay());
        assert_eq!(played.errors(), [], "{transport}");
        let counts = counts(&played);
        assert_eq!((counts.check(), counts.missing()), (Ok(()), 0), "{transport}: {counts:?}");
        assert_eq!((counts.published, counts.whole()), (160, 8000), "{transport}");
        let DeliveryCounts { torn_off, recovered, attempts, .. } = counts;
        assert_eq!((torn_off, recovered, attempts), (100, 100, 100), "{transport}");
        let times = &played.outcome.deliveries.as_ref().unwrap().recovered;
        let [first, last] = [times.min(), times.max()].map(Option::unwrap);
        assert!(first > ms(500) && first < ms(700), "{transport}: {first:?}");
        // The way there and the next message come on top.
        assert!(last > ms(1400) && last < ms(1700), "{transport}: {last:?}");
    }
}

#[test]
fn the_sums_close_while_receivers_come_and_go_and_connections_are_cut() {
    let (away, storm) = (Some("every 700ms for 150ms".parse().unwrap()), Some(ms(400)));
    let mut seen = DeliveryCounts::default();
    for seed in 0..300 {
        let storm = storm.filter(|_| seed % 2 == 0);
        let conduct = Conduct { away, storm, ..Conduct::default() };
        let mut play = publish(2, 2, 4, "30/s").duration(ms(2500)).warm_up(ms(100));
        play.workload.seed = seed;
        let (_, counts) = play_with_cuts(behaving(play, conduct), seed, 0.3);
        // A receiver that is cut off before its first proof is owed less.
        assert!(counts.whole() <= 4 * counts.published, "seed {seed}: {counts:?}");
        seen.merge(&counts);
    }
    let DeliveryCounts { cut, away, edge, absences, torn_off, attempts, .. } = seen;
    assert!(cut > 0 && away.lost > 0 && edge.delivered > 0 && edge.lost > 0, "{seen:?}");
    assert!(torn_off > 0 && attempts > absences + torn_off, "{seen:?}");
}

#[test]
fn what_a_stall_held_back_is_out_of_order_on_no_machine() {
    let play = publish(2, 1, 6, "200/s").duration(ms(2000)).warm_up(ms(200));
    let stall = (Instant::START + ms(900), Instant::START + ms(1100));
    let played = share_stalled(&play, &[1, 1, 1], &mut relay(), &[stall]);
    let late = played[0].notes.lag.max().unwrap();
    assert!(late > ms(200), "it is sent one gap later: {late:?}");
    for played in &played {
        let counts = counts(played);
        assert_eq!((counts.check(), counts.missing()), (Ok(()), 0), "{counts:?}");
        assert_eq!((counts.reordered, counts.foreign), (0, 0), "{counts:?}");
    }
}

/// The ways to speak to a relay: schemes, and conversations of receivers without a library, whose publishers post.
pub(crate) const TRANSPORTS: [&str; 14] = [
    "ws",
    "sockjs",
    "sockjs+xhr",
    "sockjs+xhr-streaming",
    "sockjs+eventsource",
    "sockjs+htmlfile",
    "sockjs+jsonp",
    "socketio",
    "socketio+polling",
    "socketio+upgrade",
    "room-events",
    "room-parts",
    "room-chunks",
    "room-longpoll",
];

/// Rooms whose receivers get what is published over `transport`, one of [`TRANSPORTS`].
pub(crate) fn over(
    transport: &str,
    count: u32,
    publishers: u32,
    receivers: u32,
    rate: &str,
) -> Play {
    let (conversation, endpoint) = match transport {
        _ if transport.starts_with("room-") => (transport, "http://server.example".to_owned()),
        _ => {
            let is_socketio = transport.starts_with("socketio");
            let name = if is_socketio { "room-socketio" } else { "room" };
            (name, format!("{transport}://server.example/rooms"))
        }
    };
    let mut play = hold(ready_made(conversation), rooms(count, publishers, receivers), rate);
    play.endpoint = endpoint.parse().unwrap();
    play
}

/// The faults of a relay; counts in `told` what it drops and doubles.
fn faults(seed: u64, told: [Arc<AtomicU64>; 2]) -> impl FnMut(&[u8]) -> Fault + Send + 'static {
    let mut chance = Random::new(seed);
    move |data: &[u8]| {
        let copies = [0, 1, 1, 1, 1, 1, 1, 2][chance.below(8)];
        let copies = if is_counted(data) { copies } else { 1 };
        told[0].fetch_add(u64::from(copies == 0), Ordering::Relaxed);
        told[1].fetch_add(u64::from(copies == 2), Ordering::Relaxed);
        Fault { copies, ..Fault::default() }
    }
}

/// True for a message of the schedule; the others were due at the very beginning, or mark the end.
fn is_counted(data: &[u8]) -> bool {
    Header::read(data, true).is_some_and(|it| it.due > Nanos::ZERO && it.due < Nanos::MAX)
}

/// Conditions that cut connections with `probability`, each within 2.5 s of its beginning.
pub(crate) fn cutting(probability: f64) -> Conditions {
    Conditions {
        delay: DELAY,
        jitter: ms(20),
        cuts: Cuts::Random { probability, within: ms(2500) },
        ..Conditions::default()
    }
}

/// Plays on machines that share the rooms by weight, with two workers on every second machine.
fn share(play: &Play, weights: &[u32], relay: &mut serve::Relay) -> Vec<Played> {
    share_stalled(play, weights, relay, &[])
}

/// The same, with the machine that publishes standing still from one instant to another.
fn share_stalled(
    play: &Play,
    weights: &[u32],
    relay: &mut serve::Relay,
    stalls: &[(Instant, Instant)],
) -> Vec<Played> {
    let number = |number: u32| NonZeroU32::new(number).unwrap();
    let weights: Vec<NonZeroU32> = weights.iter().copied().map(number).collect();
    let machine = |index: u32| {
        let part = spec::Part { index, weights: weights.clone() };
        play.workload.cut(&part).unwrap().split(number(1 + index % 2))
    };
    let machines = (0..).zip(&weights).flat_map(|(index, _)| machine(index));
    let plays: Vec<Play> = machines.map(|workload| Play { workload, ..play.clone() }).collect();
    let mut network = Network::new(play.seed, play.conditions.clone());
    let mut server = network.engine();
    server.listen(&play.target).unwrap();
    let control = Arc::new(Control::new(u32::try_from(plays.len()).unwrap()));
    let mut workers: Vec<_> =
        plays.iter().map(|play| (network.engine(), worker(play, &control))).collect();
    stalls.iter().for_each(|(from, until)| workers[0].0.freeze(*from, *until));
    let mut parties: Vec<Party<'_>> =
        workers.iter_mut().map(|(engine, worker)| Party::awaited(engine, worker)).collect();
    parties.push(Party::background(&mut server, relay));
    assert_eq!(network.run(&mut parties, TIME_MAX), Ended::Done, "it hangs");
    drop(parties);
    let played = |(_, worker): (_, drive::Worker<_>)| {
        let (outcome, notes) = worker.finish();
        Played::new(outcome, notes, true)
    };
    workers.into_iter().map(played).collect()
}

/// Plays with connections cut with `probability`, each within 2.5 s of its beginning, and checks that the sums close.
fn play_with_cuts(mut play: Play, seed: u64, probability: f64) -> (Played, DeliveryCounts) {
    play.seed = seed;
    play.conditions = cutting(probability);
    let played = play.against(&mut relay());
    let counts = counts(&played);
    assert_eq!(counts.check(), Ok(()), "seed {seed}: {counts:?}");
    assert_eq!(counts.published, played.outcome.measured.sent, "seed {seed}");
    assert_eq!((counts.foreign, counts.duplicate, counts.reordered), (0, 0, 0), "seed {seed}");
    (played, counts)
}

/// Runs each seed: connections are cut, bytes arrive late and in pieces, receivers leave, are torn off or read nothing,
/// and the relay drops and doubles. Checks that the sums of each run close, and returns the counts of all runs
/// together.
fn all_goes_wrong(transport: &str, seeds: Range<u64>) -> DeliveryCounts {
    let (away, storm) = (Some("every 700ms for 150ms".parse().unwrap()), Some(ms(400)));
    let mut seen = DeliveryCounts::default();
    for seed in seeds {
        let (dropped, doubled) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let told = [&dropped, &doubled].map(Arc::clone);
        // Receivers that leave and slow ones are two different tests.
        let conduct = match seed % 4 {
            0 => Conduct { slow: 1, ..Conduct::default() },
            1 => Conduct { away, ..Conduct::default() },
            2 => Conduct { storm, ..Conduct::default() },
            _ => Conduct { away, storm, ..Conduct::default() },
        };
        let play = behaving(rough(transport, seed, 0.3).duration(ms(1500)), conduct);
        let played = play.against(&mut relay().with_faults(faults(seed, told)));
        let counts = closed(transport, seed, &played);
        let doubled = doubled.load(Ordering::Relaxed);
        assert!(counts.duplicate <= doubled, "{transport}, seed {seed}: {counts:?}");
        seen.merge(&counts);
    }
    seen
}

/// Two rooms of two publishers and four receivers, whose bytes arrive late and in pieces, and whose connections are cut
/// with `probability`.
pub(crate) fn rough(transport: &str, seed: u64, probability: f64) -> Play {
    let mut play = over(transport, 2, 2, 4, "30/s").duration(ms(2500)).warm_up(ms(100));
    (play.seed, play.workload.seed) = (seed, seed);
    let split = Split::Random { chunk_len_max: 300 };
    play.conditions = Conditions { split, ..cutting(probability) };
    play
}

/// The counts of a [`rough`] play that is over; checks that its sums close and that nothing foreign or out of order
/// arrived.
pub(crate) fn closed(transport: &str, seed: u64, played: &Played) -> DeliveryCounts {
    let counts = counts(played);
    let name = format!("{transport}, seed {seed}: {counts:?}");
    assert_eq!(counts.check(), Ok(()), "{name}");
    assert_eq!(counts.published, played.outcome.measured.sent, "{name}");
    assert!(counts.whole() <= 4 * counts.published, "{name}");
    assert_eq!((counts.foreign, counts.reordered), (0, 0), "{name}");
    counts
}

pub(crate) fn counts(played: &Played) -> DeliveryCounts {
    played.outcome.deliveries.as_ref().unwrap().counts
}

pub(crate) fn relay() -> serve::Relay {
    let options = ServerOptions { takes_requests: true, ..ServerOptions::default() };
    let stack = Speech::WebSocketText.server_with(options);
    serve::Relay::new(stack, Arc::new(AtomicBool::new(false)))
}

fn room() -> Conversation {
    ready_made("room")
}

fn ready_made(name: &str) -> Conversation {
    let (name, text) = READY_MADE.iter().find(|(known, _)| *known == name).unwrap();
    Conversation::read(name, text).unwrap()
}

fn rooms(count: u32, publishers: u32, receivers: u32) -> Rooms {
    let [count, publishers, receivers] =
        [count, publishers, receivers].map(|number| NonZeroU32::new(number).unwrap());
    Rooms { count, publishers, receivers, conduct: Conduct::default() }
}

/// The play with receivers that behave as `conduct` says.
pub(crate) fn behaving(mut play: Play, conduct: Conduct) -> Play {
    let rooms = play.workload.rooms.unwrap().all();
    play.workload.rooms = Some(RoomShare::whole(Rooms { conduct, ..rooms }));
    play
}

/// Rooms with messages due at `rate` in each.
fn publish(count: u32, publishers: u32, receivers: u32, rate: &str) -> Play {
    hold(room(), rooms(count, publishers, receivers), rate)
}

fn hold(conversation: Conversation, rooms: Rooms, rate: &str) -> Play {
    let mut play = Play::new(Speech::WebSocketText).connections(rooms.connections().get());
    play.options.conversation = Some(Compiled::in_rooms(&conversation, Some(rooms), b"").unwrap());
    play.publishers = conversation.publishers.as_ref().map(|publishers| ClientOptions {
        conversation: Some(Compiled::in_rooms(publishers, Some(rooms), b"").unwrap()),
        ..play.options.clone()
    });
    play.workload.requests = Some(Requests::new(Arc::new(conversation), 7));
    let whole = rate.parse::<spec::Profile>().unwrap().times(rooms.count).unwrap();
    play.workload.rooms = Some(RoomShare::whole(rooms));
    play.workload.content = Content::exactly(&[0; Cue::LEN], false);
    play.workload.expect = Expect::Anything;
    play.workload.arrival = Arrival::Open {
        schedule: Schedule::new(whole, Spacing::Uniform, rooms.all_publishers()),
        pick: Pick::Own,
        in_flight_max: NonZeroU32::new(100_000).unwrap(),
    };
    play
}
