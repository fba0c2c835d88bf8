//! Partly open: sessions begin by a schedule, whatever becomes of earlier ones; inside a session, each message waits
//! for a reply.

use crate::peers::{Answering, Heard, Scripted, Then, Watched};
use crate::world::{DELAY, Play, ROUND_TRIP, Speech, TIME_MAX, World, always, ms};
use engine::Address;
use engine::sim::{Outcome as Ended, Sim};
use load::{Arrival, Lifetime, Schedule, Spacing};
use record::{Connections, Counts, ErrorClass, Sessions};
use std::num::NonZeroU32;
use units::{Instant, Nanos};

#[test]
fn a_session_connects_when_it_is_due_and_thinks_after_each_reply() {
    for speech in Speech::ALL {
        // Ten a second, three messages each, 40 ms of thought between them: the last is due before the end.
        let play = sessions(Play::new(speech).connections(100), "10/s", 3, ms(40));
        let played = play.duration(ms(1000)).against(&mut Watched::new(speech));
        let handshakes = u64::from(speech.shakes_hands());
        let opening = Nanos(ROUND_TRIP.0 * (1 + handshakes));
        played.assert_all_ok(30);
        let expected = Sessions { planned: 10, started: 10, completed: 10 };
        assert_eq!(played.outcome.sessions, Some(expected), "{speech:?}");
        // The first message of a session is due when the session is: its response time includes the connect.
        let mut response = always(ROUND_TRIP, 20);
        response.add(&always(opening + ROUND_TRIP, 10));
        assert_eq!(played.notes.response, response, "{speech:?}");
        assert_eq!(played.notes.round_trips, always(ROUND_TRIP, 30), "which no service time has");
        assert_eq!(played.notes.lag, always(Nanos::ZERO, 30), "and which is not our lag");
        assert_eq!(played.outcome.times.connect, always(ROUND_TRIP, 10), "and timed apart");
        assert_eq!(played.outcome.times.handshake, always(ROUND_TRIP, 10 * handshakes));
        let life = Nanos(opening.0 + 3 * ROUND_TRIP.0 + 2 * ms(40).0);
        assert_eq!(played.outcome.times.life, always(life, 10));
        let counts = Connections { started: 10, opened: 10, ..Connections::default() };
        assert_eq!(played.outcome.connections, counts);
    }
}

#[test]
fn sessions_begin_when_they_are_due_whatever_the_server_does() {
    let mut server = Watched::new(Speech::Framed);
    let play = sessions(Play::new(Speech::Framed).connections(100), "100/s", 2, ms(10));
    let mut world = World::new(&play.duration(ms(500)));
    world.server.freeze(Instant(100_500_000), Instant(300_500_000));
    assert_eq!(world.run(&mut server, TIME_MAX), Ended::Done);
    let played = world.finish();
    let Counts { sent, ok, unsent, .. } = played.outcome.measured;
    assert_eq!((unsent, sent), (0, ok));
    let expected = Sessions { planned: 50, started: 50, completed: sent - 50 };
    assert_eq!(played.outcome.sessions, Some(expected));
    // Connections are made by the kernel while the process stands still; it answers after that.
    assert!(played.notes.response.max().unwrap() > ms(199));
    assert_eq!(played.notes.lag.max(), Some(Nanos::ZERO));
}

#[test]
fn a_session_beyond_the_connections_does_not_begin_and_its_first_message_is_unsent() {
    // A session lasts for 204 ms, three exist at a time, and twenty begin in a second.
    let play = sessions(Play::new(Speech::Framed).connections(3), "20/s", 2, ms(198));
    let mut server = Watched::new(Speech::Framed);
    let played = play.duration(ms(1000)).against(&mut server);
    let Sessions { planned, started, completed } = played.outcome.sessions.unwrap();
    assert_eq!((planned, started), (20, 12), "three of every five");
    let Counts { sent, ok, unsent, .. } = played.outcome.measured;
    assert_eq!((unsent, sent), (8, ok));
    assert_eq!((played.outcome.planned, ok), (sent + unsent, started + completed));
    assert_eq!(server.census().open_max, 3);
}

#[test]
fn the_end_of_the_measurement_cuts_sessions_but_what_was_due_gets_its_reply() {
    let play = sessions(Play::new(Speech::WebSocket).connections(50), "10/s", 100, ms(95));
    let played = play.duration(ms(1000)).against(&mut Watched::new(Speech::WebSocket));
    // Session k is due after k tenths, its second message 101 ms later, and then one every 97 ms.
    let later = |session: u64| 899_u64.saturating_sub(session * 100).div_ceil(97);
    let due: u64 = (0..10).map(|session| 1 + later(session)).sum();
    played.assert_all_ok(due);
    let cut = Sessions { planned: 10, started: 10, completed: 0 };
    assert_eq!(played.outcome.sessions, Some(cut));
    assert!(played.ended < Instant(1_050_000_000), "no session thinks on: {:?}", played.ended);
}

#[test]
fn sessions_of_the_warm_up_go_on_in_the_measurement_and_are_not_counted() {
    let play = sessions(Play::new(Speech::Framed).connections(50), "10/s", 5, ms(98));
    let played =
        play.warm_up(ms(1000)).duration(ms(1000)).against(&mut Watched::new(Speech::Framed));
    let Sessions { planned, started, completed } = played.outcome.sessions.unwrap();
    assert_eq!((planned, started), (10, 10));
    // A session takes 4 * 100 + 4 ms: those that began in the last 400 ms are cut.
    assert_eq!(completed, 6);
    let Counts { sent, ok, .. } = played.outcome.measured;
    // In each tenth of a second, one message of each of five sessions is due, including those of the warm-up.
    assert_eq!((sent, ok), (50, 50));
}

#[test]
fn a_session_that_cannot_connect_leaves_its_first_message_unsent() {
    let nobody = Address::Tcp(([10, 0, 0, 2], 80).into());
    let play = sessions(Play::new(Speech::Framed).connections(50), "10/s", 5, ms(10));
    let play = Play { target: nobody, ..play.duration(ms(1000)) };
    let played = play.against(&mut Watched::new(Speech::Framed));
    let expected = Counts { unsent: 10, ..Counts::default() };
    assert_eq!((played.outcome.planned, played.outcome.measured), (10, expected));
    let expected = Sessions { planned: 10, started: 10, completed: 0 };
    assert_eq!(played.outcome.sessions, Some(expected));
    assert_eq!(played.errors(), [(ErrorClass::ConnectFailed, 10, "connection refused")]);
}

#[test]
fn a_session_whose_reply_is_missing_ends_there() {
    let mut server = Answering::new(Speech::Framed, |number, echo: Vec<u8>| {
        (if number % 3 == 2 { Vec::new() } else { echo }, Then::GoOn)
    });
    let play = sessions(Play::new(Speech::Framed).connections(50), "1/s", 5, ms(10));
    let played = play.duration(ms(3000)).against(&mut server);
    let expected = Counts { sent: 9, ok: 6, timed_out: 3, ..Counts::default() };
    assert_eq!(played.outcome.measured, expected);
    let expected = Sessions { planned: 3, started: 3, completed: 0 };
    assert_eq!(played.outcome.sessions, Some(expected));
    assert_eq!(played.outcome.connections.lost, 3);
}

#[test]
fn a_server_that_never_answers_the_handshake_leaves_first_messages_unsent() {
    let mut silent = Scripted(|_: &mut Sim, _, _: Heard<'_>| {});
    let play = sessions(Play::new(Speech::WebSocket).connections(50), "10/s", 5, ms(10));
    for drain in [ms(50), ms(900)] {
        let played = play.clone().duration(ms(1000)).drain(drain).against(&mut silent);
        let expected = Counts { unsent: 10, ..Counts::default() };
        assert_eq!((played.outcome.planned, played.outcome.measured), (10, expected));
    }
}

#[test]
fn a_number_of_messages_by_sessions_ends_the_measurement() {
    for messages in [1, 7, 100] {
        let play = sessions(Play::new(Speech::Framed).connections(50), "100/s", 3, ms(10));
        let played = play.messages(messages).against(&mut Watched::new(Speech::Framed));
        played.assert_all_ok(messages);
    }
}

#[test]
fn sessions_that_were_due_while_we_stood_still_begin_one_gap_later() {
    let play = sessions(Play::new(Speech::Framed).connections(500), "100/s", 2, ms(20));
    let mut world = World::new(&play.duration(ms(2000)));
    world.client.freeze(Instant(500_500_000), Instant(1_000_500_000));
    let mut server = Watched::new(Speech::Framed);
    assert_eq!(world.run(&mut server, TIME_MAX), Ended::Done);
    let played = world.finish();
    let Counts { sent, ok, unsent, .. } = played.outcome.measured;
    assert_eq!((sent, unsent), (ok, 0));
    assert_eq!(played.outcome.stalls.count, 1);
    assert_eq!(played.outcome.sessions.map(|sessions| sessions.started), Some(200));
    let accepted = server.census().accepted;
    let most = (0..300_u64).map(|tenth| {
        let from = Instant(tenth * 10_000_000) + DELAY;
        accepted.iter().filter(|at| **at >= from && at.since(from) < ms(10)).count()
    });
    assert!(most.max() <= Some(3), "two in 10 ms, give or take one");
}

#[test]
fn a_stop_keeps_the_count_of_sessions_and_messages() {
    for speech in [Speech::Framed, Speech::WebSocket] {
        let play = sessions(Play::new(speech).connections(5), "100/s", 10, ms(20));
        let mut world = World::new(&play.duration(ms(5000)));
        let mut server = Watched::new(speech);
        assert_eq!(world.run(&mut server, Instant(777_700_000)), Ended::TimeUp);
        world.control.stop();
        assert_eq!(world.run(&mut server, TIME_MAX), Ended::Done);
        let Counts { sent, ok, unsent, .. } = world.finish().outcome.measured;
        assert!(sent > 100 && sent - ok <= 5 && unsent > 0);
    }
}

/// Sessions that begin at `rate`, with `messages` messages each.
pub(crate) fn sessions(mut play: Play, rate: &str, messages: u32, think: Nanos) -> Play {
    let connections = play.workload.connections;
    let schedule = Schedule::new(rate.parse().unwrap(), Spacing::Uniform, connections);
    play.workload.arrival = Arrival::Sessions { schedule, think };
    play.workload.lifetime = Lifetime::RoundTrips(NonZeroU32::new(messages).unwrap());
    play
}
