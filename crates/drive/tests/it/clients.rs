//! Short-lived clients: a given number in all, a given number at a time, each phase timed separately.

use crate::peers::{Answering, Heard, Once, Scripted, Then, Watched};
use crate::world::{
    DELAY, Play, ROUND_TRIP, Speech, TIME_MAX, World, address, always, headers, ms,
};
use engine::sim::{Conditions, Cut, Cuts, Outcome as Ended, Party, Sim};
use engine::{Address, Engine};
use load::{Closing, Stop};
use record::{Connections, Counts, ErrorClass};
use std::collections::BTreeSet;
use std::num::NonZeroU64;
use std::sync::Arc;
use units::{Instant, Nanos};

#[test]
fn each_phase_of_a_client_is_timed_apart_and_exactly() {
    for speech in Speech::ALL {
        for round_trips in [1, 5] {
            let play = Play::new(speech).connections(4).clients(30, round_trips);
            let mut server = Watched::new(speech);
            let played = play.against(&mut server);
            played.assert_all_ok(30 * u64::from(round_trips));
            assert_eq!(played.outcome.clients_served, 30);
            assert_eq!(server.census().open_max, 4);

            let handshakes = u64::from(speech.shakes_hands());
            let times = &played.outcome.times;
            assert_eq!(times.connect, always(ROUND_TRIP, 30));
            assert_eq!(times.handshake, always(ROUND_TRIP, 30 * handshakes));
            assert_eq!(times.first_reply, always(ROUND_TRIP, 30));
            let life = ROUND_TRIP.0 * (1 + handshakes + u64::from(round_trips));
            assert_eq!(times.life, always(Nanos(life), 30), "{speech:?} {round_trips}");
            assert_eq!(times.close, always(Nanos(ROUND_TRIP.0 * handshakes), 30));
        }
    }
}

#[test]
fn a_client_that_closes_at_once_does_not_await_the_answer() {
    let mut play = Play::new(Speech::WebSocket).connections(4).clients(30, 5);
    play.workload.closing = Closing::AtOnce;
    let mut server = Watched::new(Speech::WebSocket);
    let played = play.against(&mut server);
    played.assert_all_ok(150);
    assert_eq!(played.outcome.times.close, always(Nanos::ZERO, 30));
    assert_eq!(played.outcome.times.life, always(Nanos(ROUND_TRIP.0 * 7), 30));
}

#[test]
fn no_more_clients_exist_at_a_time_than_asked_for() {
    for (at_a_time, all) in [(1, 10), (3, 10), (10, 10), (10, 3)] {
        for in_flight_max in [None, Some(1), Some(2), Some(5)] {
            let play = Play::new(Speech::WebSocket).connections(at_a_time).clients(all, 4);
            let mut server = Watched::new(Speech::WebSocket);
            let played = play.in_flight(2, in_flight_max).against(&mut server);
            played.assert_all_ok(all * 4);
            assert_eq!(played.outcome.clients_served, all);
            let open_max = u64::from(at_a_time).min(all);
            assert_eq!(server.census().open_max as u64, open_max, "{at_a_time} {in_flight_max:?}");
        }
    }
}

#[test]
fn clients_that_are_refused_leave_their_messages_unsent() {
    let nobody = Address::Tcp(([10, 0, 0, 2], 80).into());
    let play = Play::new(Speech::WebSocket).connections(4).clients(10, 3);
    let play = Play { target: nobody, ..play };
    let played = play.against(&mut Watched::new(Speech::WebSocket));
    assert_eq!((played.outcome.planned, played.outcome.measured), (30, Counts::default()));
    assert_eq!(played.errors(), [(ErrorClass::ConnectFailed, 10, "connection refused")]);
    let counts = Connections { started: 10, failed: 10, ..Connections::default() };
    assert_eq!(played.outcome.connections, counts);
    assert_eq!(played.outcome.clients_served, 0);
    // Three batches of four, four and two, each refused after 2 ms, with pauses of 10 ms between them.
    assert_eq!(played.ended, Instant::START + ms(3 * 2 + 2 * 10));
}

#[test]
fn clients_that_are_cut_count_their_messages_as_error_and_unsent() {
    // Connected after 2 ms, open after 4 ms, the first reply after 6 ms: the second message is on its way.
    let cuts = Cuts::Scheduled(vec![Cut { connection: 2, after: Nanos::from_micros(4500) }]);
    let conditions = Conditions { delay: DELAY, cuts, ..Conditions::default() };
    let play = Play::new(Speech::WebSocket).connections(2).clients(6, 3);
    let mut server = Watched::new(Speech::WebSocket);
    let played = Play { conditions, ..play }.against(&mut server);
    assert_eq!(played.outcome.planned, 18);
    assert_eq!(
        played.outcome.measured,
        Counts { sent: 17, ok: 16, error: 1, timed_out: 0, unsent: 0, ..Counts::default() }
    );
    assert_eq!(played.errors(), [(ErrorClass::Cut, 1, "connection reset by peer")]);
    let counts = Connections { started: 6, opened: 6, lost: 1, ..Connections::default() };
    assert_eq!(played.outcome.connections, counts);
    assert_eq!(played.outcome.clients_served, 5);
    assert_eq!(played.outcome.times.life.count(), 5);
}

#[test]
fn clients_of_a_time_that_began_in_it_are_timed() {
    let play = Play::new(Speech::Framed).connections(3).clients(1, 2).duration(ms(60));
    let played = play.warm_up(ms(30)).against(&mut Watched::new(Speech::Framed));
    // A client takes 2 ms to connect and 2 ms for each of two round trips: five generations, then ten, each of which
    // begins at the instant the previous one ends; the eleventh begins just before the time is up.
    let Counts { sent, ok, error, timed_out, .. } = played.outcome.measured;
    assert_eq!((sent, ok, error, timed_out), (66, 66, 0, 0));
    assert_eq!(played.outcome.warm_up, Counts { sent: 30, ok: 30, ..Counts::default() });
    assert_eq!(played.outcome.clients_served, 33);
    assert_eq!(played.outcome.times.life, always(Nanos(ROUND_TRIP.0 * 3), 33));
    assert_eq!(played.outcome.times.connect, always(ROUND_TRIP, 33));
    assert_eq!(played.outcome.times.first_reply, always(ROUND_TRIP, 33));
    assert_eq!(played.errors(), []);
}

#[test]
fn clients_that_began_in_the_measurement_are_followed_to_their_end() {
    for speech in Speech::ALL {
        let play = Play::new(speech).connections(3).clients(1, 2).duration(ms(61));
        let played = play.against(&mut Watched::new(speech));
        let outcome = &played.outcome;
        // A client that is in the middle of its handshake when the time is up makes its round trips afterwards.
        assert_eq!(outcome.clients_served, outcome.connections.started, "{speech:?}");
        played.assert_all_ok(outcome.clients_served * 2);
        let life = ROUND_TRIP.0 * (3 + u64::from(speech.shakes_hands()));
        assert_eq!(outcome.times.life, always(Nanos(life), outcome.clients_served));
    }
}

#[test]
fn http_clients_with_a_connection_for_each_request_end_as_the_server_ends() {
    for fields in [&[("Connection", "close")][..], &[]] {
        let mut play = Play::new(Speech::Http).connections(2).clients(10, 1);
        play.options.headers = headers(fields);
        let played = play.against(&mut Watched::new(Speech::Http));
        played.assert_all_ok(10);
        let counts = Connections { started: 10, opened: 10, ..Connections::default() };
        assert_eq!(played.outcome.connections, counts);
        assert_eq!(played.outcome.clients_served, 10);
        assert_eq!(played.outcome.times.life, always(Nanos(ROUND_TRIP.0 * 2), 10));
    }
}

#[test]
fn a_client_that_the_server_ends_too_early_fails() {
    let mut play = Play::new(Speech::Http).connections(1).clients(4, 2);
    play.options.headers = headers(&[("Connection", "close")]);
    let played = play.against(&mut Watched::new(Speech::Http));
    assert_eq!(played.outcome.planned, 8);
    assert_eq!(played.outcome.measured, Counts { sent: 4, ok: 4, ..Counts::default() });
    assert_eq!(played.errors(), [(ErrorClass::ClosedByPeer, 4, "closed by the server")]);
    assert_eq!(played.outcome.connections.lost, 4);
    assert_eq!(played.outcome.clients_served, 0);
}

#[test]
fn a_number_of_messages_by_short_lived_clients_ends_though_every_client_fails() {
    let nobody = Address::Tcp(([10, 0, 0, 2], 80).into());
    for (target, sent) in [(address(), 10), (nobody, 0)] {
        let mut play = Play::new(Speech::Framed).connections(2).clients(1, 4);
        play.workload.phases.stop = Stop::Messages(NonZeroU64::new(10).unwrap());
        let played = Play { target, ..play }.against(&mut Watched::new(Speech::Framed));
        assert_eq!(played.outcome.planned, 10);
        assert_eq!(played.outcome.measured, Counts { sent, ok: sent, ..Counts::default() });
        assert!(
            played.ended < Instant::START + ms(100),
            "nothing waits for a client without a message"
        );
    }
}

#[test]
fn a_server_that_dies_fails_the_clients_that_are_left() {
    let play = Play::new(Speech::Framed).connections(2).clients(100, 2);
    let mut world = World::new(&play);
    let mut server = Watched::new(Speech::Framed);
    // Ten clients have been served after five generations of 6 ms; two more have just been accepted.
    assert_eq!(world.run(&mut server, Instant::START + ms(5 * 6 + 1)), Ended::TimeUp);
    drop(std::mem::replace(&mut world.server, world.network.engine()));
    let mut parties = [Party::awaited(&mut world.client, &mut world.worker)];
    assert_eq!(world.network.run(&mut parties, TIME_MAX), Ended::Done);
    let played = world.finish();
    assert_eq!(played.outcome.planned, 200);
    assert_eq!(played.outcome.clients_served, 10);
    assert_eq!((played.outcome.measured.ok, played.outcome.measured.in_flight()), (20, 0));
    let failed: u64 = played.errors().iter().map(|(_, count, _)| count).sum();
    assert_eq!(failed, 90, "{:?}", played.errors());
}

#[test]
fn a_close_that_is_not_answered_is_given_up_and_not_timed() {
    let play = Play::new(Speech::WebSocket).connections(1).clients(2, 1);
    let mut mute = Answering::new(Speech::WebSocket, |_, echo| (echo, Then::GoOn));
    mute.is_mute = true;
    let played = play.against(&mut mute);
    assert_eq!(played.outcome.measured, Counts { sent: 2, ok: 2, ..Counts::default() });
    assert_eq!(
        played.errors(),
        [(ErrorClass::CloseTimedOut, 2, "no answer to our close within 400 ms")]
    );
    assert_eq!((played.outcome.clients_served, played.outcome.connections.lost), (2, 0));
    assert!(played.outcome.times.close.is_empty());
}

#[test]
fn a_close_that_is_cut_is_no_error_and_not_timed() {
    // The only reply arrives after 6 ms, and the close goes out; the cut precedes its answer.
    let cuts = Cuts::Scheduled(vec![Cut { connection: 0, after: Nanos::from_micros(4500) }]);
    let conditions = Conditions { delay: DELAY, cuts, ..Conditions::default() };
    let play = Play { conditions, ..Play::new(Speech::WebSocket).clients(2, 1) };
    let played = play.against(&mut Watched::new(Speech::WebSocket));
    played.assert_all_ok(2);
    assert_eq!(played.outcome.clients_served, 2);
    assert_eq!(played.outcome.times.close, always(ROUND_TRIP, 1), "of the other one");
}

#[test]
fn every_client_has_keys_of_its_own() {
    let mut keys = BTreeSet::new();
    let mut server = Scripted(|engine: &mut Sim, id, heard: Heard<'_>| {
        if let Heard::Bytes(bytes) = heard {
            let head = String::from_utf8(bytes.to_vec()).unwrap();
            keys.extend(
                head.lines()
                    .find_map(|line| Some(line.strip_prefix("Sec-WebSocket-Key: ")?.to_owned())),
            );
            engine.shutdown(id);
        }
    });
    let played = Play::new(Speech::WebSocket).connections(3).clients(20, 1).against(&mut server);
    assert_eq!((keys.len(), played.outcome.connections.failed), (20, 20));
}

#[test]
fn a_stop_in_the_middle_keeps_what_was_served() {
    let play = Play::new(Speech::WebSocket).connections(3).clients(1000, 2);
    let mut world = World::new(&play);
    let mut stopping = world.network.engine();
    let control = Arc::clone(&world.control);
    let mut stopper = Once { at: Instant::START + ms(55), deed: move || control.stop() };
    let mut server = Watched::new(Speech::WebSocket);
    let mut parties = [
        Party::awaited(&mut world.client, &mut world.worker),
        Party::background(&mut world.server, &mut server),
        Party::background(&mut stopping, &mut stopper),
    ];
    assert_eq!(world.network.run(&mut parties, TIME_MAX), Ended::Done);
    assert!(world.client.now().0 <= ms(155).0);
    let played = world.finish();
    // A client takes 2 ms each to connect, to shake hands and to close, and for each of two round trips.
    assert_eq!(played.outcome.clients_served, played.ended.0 / ms(10).0 * 3);
    assert_eq!(played.outcome.planned, 2000);
}
