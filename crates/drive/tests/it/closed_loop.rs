//! The closed loop in numbers: warm-up, turns, the rate of connecting, Little's law; and a seed decides everything.

use crate::peers::{Answering, Then, Watched};
use crate::world::{
    DELAY, Play, Played, ROUND_TRIP, Speech, TIME_MAX, World, after_delays, always, ms, worker,
};
use drive::Phase;
use engine::sim::{Conditions, Cuts, Outcome as Ended, Party, Split};
use record::Counts;
use stats::{ClosedLoop, Little, little};
use units::{Instant, Nanos};

#[test]
fn messages_of_the_warm_up_do_not_count() {
    for speech in Speech::ALL {
        let play = Play::new(speech).connections(3).in_flight(2, None);
        let play = play.warm_up(Nanos(ROUND_TRIP.0 * 10)).duration(Nanos(ROUND_TRIP.0 * 20));
        let played = play.against(&mut Watched::new(speech));
        // The warm-up ends with a reply and the message sent on it, which is answered in the measurement.
        let slots = 3 * 2;
        let warm_up = Counts { sent: slots * 11, ok: slots * 11, ..Counts::default() };
        assert_eq!(played.outcome.warm_up, warm_up, "{speech:?}");
        played.assert_all_ok(slots * 20);
        assert_eq!(played.notes.round_trips, always(ROUND_TRIP, slots * 20));

        let in_phase =
            |phase| played.notes.intervals.iter().filter(move |kept| kept.phase == phase);
        let replies = |phase| in_phase(phase).map(|kept| kept.replies).sum::<u64>();
        assert_eq!(replies(Phase::WarmUp), slots * 10);
        assert_eq!(replies(Phase::Measure), slots * 20, "with those sent in the warm-up");
        assert_eq!(replies(Phase::Drain), slots);
        let begin = after_delays(if speech.shakes_hands() { 4 + 20 } else { 2 + 20 });
        assert_eq!(played.outcome.window, Some((begin, begin + Nanos(ROUND_TRIP.0 * 20))));
    }
}

#[test]
fn a_warm_up_that_ends_between_replies_counts_what_is_sent_after_it() {
    let play = Play::new(Speech::Framed).warm_up(ms(7)).messages(10);
    let played = play.against(&mut Watched::new(Speech::Framed));
    assert_eq!(played.outcome.warm_up, Counts { sent: 4, ok: 4, ..Counts::default() });
    played.assert_all_ok(10);
}

#[test]
fn connections_take_turns_when_few_messages_may_be_in_flight() {
    for (in_flight, max) in [(1, 1), (1, 3), (4, 3), (4, 6), (4, 27), (4, 28), (4, 100)] {
        let play = Play::new(Speech::Framed).connections(7).in_flight(in_flight, Some(max));
        let mut server = Watched::new(Speech::Framed);
        let rounds = 7 * TURN_LEN * 2;
        let played = play.duration(Nanos(ROUND_TRIP.0 * rounds)).against(&mut server);
        let slots = u64::from(max.min(7 * in_flight));
        let sent = slots * (rounds + 1);
        played.assert_all_ok(sent);
        assert_eq!(played.notes.round_trips, always(ROUND_TRIP, sent), "{in_flight} {max}");
        let bytes = server.census().bytes;
        let (least, most) = (bytes.iter().min().unwrap(), bytes.iter().max().unwrap());
        // A message is 20 bytes; nobody may be more than a turn or two behind.
        let turn = 20 * TURN_LEN * u64::from(in_flight);
        assert!(most - least <= 2 * turn, "{in_flight} {max}: {bytes:?}");
        assert!(*least > 0, "{in_flight} {max}: {bytes:?}");
    }
}

/// The number of replies that a turn lasts.
const TURN_LEN: u64 = 32;

#[test]
fn a_number_of_messages_is_sent_in_turns_too() {
    for max in [1, 5, 12, 13] {
        let play = Play::new(Speech::WebSocket).connections(3).in_flight(4, Some(max));
        play.messages(100).against(&mut Watched::new(Speech::WebSocket)).assert_all_ok(100);
    }
}

#[test]
fn connections_are_opened_at_the_instants_of_the_rate() {
    let mut play = Play::new(Speech::WebSocket).connections(7);
    play.workload.connect_rate = Some("300/s".parse().unwrap());
    let mut server = Watched::new(Speech::WebSocket);
    let played = play.messages(7).against(&mut server);
    played.assert_all_ok(7);
    let due = [0, 3_333_333, 6_666_666, 10_000_000, 13_333_333, 16_666_666, 20_000_000];
    assert_eq!(server.census().accepted, due.map(|due| Instant(due) + DELAY));
    assert_eq!(played.outcome.times.connect, always(ROUND_TRIP, 7));
    assert_eq!(played.outcome.times.handshake, always(ROUND_TRIP, 7));
    assert_eq!(played.outcome.times.first_reply, always(ROUND_TRIP, 7));
}

#[test]
fn more_connections_than_are_opened_at_once_are_opened_after_one_another() {
    // The backlog is smaller than the number of connections asked for, and equal to the number opened at the same time.
    let conditions = Conditions { delay: DELAY, backlog: 256, ..Conditions::default() };
    let play = Play { conditions, ..Play::new(Speech::WebSocket).connections(600) };
    let played = play.messages(600).against(&mut Watched::new(Speech::WebSocket));
    played.assert_all_ok(600);
    assert_eq!(played.outcome.connections.opened, 600);
    // Three batches, each with a connect and a handshake.
    assert_eq!(played.outcome.window.map(|(begin, _)| begin), Some(after_delays(3 * 4)));
}

#[test]
fn workers_begin_together() {
    // One has a single connection, the other seven that take their time.
    let quick = Play::new(Speech::Framed).messages(50);
    let mut slow = Play::new(Speech::Framed).connections(7).messages(70);
    slow.workload.connect_rate = Some("100/s".parse().unwrap());
    let mut world = World::of_workers(&quick, 2);
    let mut other = worker(&slow, &world.control);
    let mut other_engine = world.network.engine();
    let mut server = Watched::new(Speech::Framed);
    let mut parties = [
        Party::awaited(&mut world.client, &mut world.worker),
        Party::awaited(&mut other_engine, &mut other),
        Party::background(&mut world.server, &mut server),
    ];
    assert_eq!(world.network.run(&mut parties, TIME_MAX), Ended::Done);
    let [(first, _), (second, _)] =
        [world.worker.finish(), other.finish()].map(|(outcome, _)| outcome.window.unwrap());
    let ready = Instant::START + ms(60) + ROUND_TRIP;
    assert_eq!(second, ready, "when the last of all connections is open");
    assert!(first >= ready && first.since(ready) <= ms(1), "{first:?}");
    assert_eq!(server.totals().messages, 120);
}

#[test]
fn what_arrived_while_the_worker_was_stopped_is_not_late() {
    // The worker looks at the replies almost half a second after they arrived, when their time-out is long over.
    let mut world = World::new(&Play::new(Speech::Framed).connections(3).messages(30));
    world.client.freeze(Instant(10_500_000), Instant(460_500_000));
    assert_eq!(world.run(&mut Watched::new(Speech::Framed), TIME_MAX), Ended::Done);
    let played = world.finish();
    played.assert_all_ok(30);
    let mut expected = always(ROUND_TRIP, 27);
    (0..3).for_each(|_| expected.record(ms(450) + Nanos::from_micros(500)));
    assert_eq!(
        played.notes.round_trips, expected,
        "the distribution has them with the time that they took"
    );
}

#[test]
fn intervals_are_a_tenth_of_a_second_long() {
    let play = Play::new(Speech::Framed).warm_up(ms(250)).duration(ms(1050));
    let played = play.against(&mut Watched::new(Speech::Framed));
    let lengths = |phase| -> Vec<u64> {
        let kept = played.notes.intervals.iter().filter(|kept| kept.phase == phase);
        kept.map(|kept| kept.end.since(kept.start).0 / 1_000_000).collect()
    };
    assert_eq!(lengths(Phase::WarmUp), [100, 100, 50]);
    assert_eq!(lengths(Phase::Measure), [&[100; 10][..], &[50]].concat());
}

#[test]
fn littles_law_holds_exactly() {
    for (connections, in_flight, max) in
        [(1, 1, None), (7, 1, None), (7, 4, None), (7, 4, Some(10))]
    {
        for warm_up in [0, 10] {
            let play = Play::new(Speech::WebSocket).connections(connections);
            let play = play.in_flight(in_flight, max).warm_up(Nanos(ROUND_TRIP.0 * warm_up));
            let played = play
                .duration(Nanos(ROUND_TRIP.0 * 250))
                .against(&mut Watched::new(Speech::WebSocket));
            let law = law_of(&played, u64::from(max.unwrap_or(connections * in_flight)));
            let Little::Checked { deviation, holds, .. } = law else { panic!("{law:?}") };
            // The histogram resolves a thousandth.
            assert!(holds && deviation.abs() < 0.001, "{connections} {in_flight} {max:?}: {law:?}");
        }
    }
}

#[test]
fn littles_law_knows_of_connections_that_get_no_reply() {
    let play = Play::new(Speech::Framed).connections(10).warm_up(Nanos(ROUND_TRIP.0 * 10));
    let play = play.duration(Nanos(ROUND_TRIP.0 * 250)).reply_timeout(Nanos::from_secs(60));
    let silent_from = |first: u64| {
        let answer = move |number, answer| match (first..first + 2).contains(&number) {
            true => (Vec::new(), Then::GoOn),
            false => (answer, Then::GoOn),
        };
        let mut server = Answering::new(Speech::Framed, answer);
        let played = play.clone().drain(ms(100)).against(&mut server);
        let law = law_of(&played, 10);
        let Little::Checked { deviation, holds, .. } = law else { panic!("{law:?}") };
        assert!(holds && deviation.abs() < 0.002, "{first}: {law:?}");
        let counts = [played.outcome.warm_up_counts(), played.outcome.counts()];
        counts.map(|counts| (counts.check(), counts.in_flight_at_end))
    };
    assert_eq!(silent_from(0), [(Ok(()), 2), (Ok(()), 0)]);
    assert_eq!(silent_from(1200), [(Ok(()), 0), (Ok(()), 2)], "in the middle of the window");
}

fn law_of(played: &Played, in_flight: u64) -> Little {
    let measured = played.notes.intervals.iter().filter(|kept| kept.phase == Phase::Measure);
    let (begin, end) = played.outcome.window.unwrap();
    little(ClosedLoop {
        in_flight,
        replies: measured.map(|kept| kept.replies).sum(),
        measured: end.since(begin),
        round_trip_mean_ns: played.notes.round_trips.mean_ns().unwrap(),
        longest: Nanos::ZERO,
        unanswered: played.outcome.unanswered,
    })
}

#[test]
fn a_seed_decides_everything() {
    let run = |seed| {
        let conditions = Conditions {
            delay: DELAY,
            jitter: ms(3),
            split: Split::Random { chunk_len_max: 30 },
            cuts: Cuts::Random { probability: 0.3, within: ms(200) },
            ..Conditions::default()
        };
        let play = Play::new(Speech::WebSocket).connections(20).in_flight(4, Some(50));
        let play = Play { conditions, seed, ..play.warm_up(ms(50)).duration(ms(100)) };
        play.against(&mut Watched::new(Speech::WebSocket))
    };
    let first = run(1);
    assert!(first.outcome.measured.error > 0 && first.outcome.measured.ok > 100, "{first:?}");
    assert!(run(1) == first);
    assert!(run(2) != first);
}

#[test]
fn with_a_slow_server_the_loop_is_as_fast_as_it_is() {
    let play = Play::new(Speech::Framed).connections(4).messages(100);
    let mut world = World::new(&play);
    world.server.slow_down(ms(5));
    assert_eq!(world.run(&mut Watched::new(Speech::Framed), TIME_MAX), Ended::Done);
    let played = world.finish();
    played.assert_all_ok(100);
    // Four messages queue for a server that needs 5 ms for each: the 100th is answered 500 ms after the first is sent.
    let (begin, end) = played.outcome.window.unwrap();
    assert!(end.since(begin) >= ms(500) && end.since(begin) <= ms(530), "{begin:?} {end:?}");
}
