//! Peers that take too long are closed, in virtual time.

use crate::world::{
    HANDSHAKE, Speaks, World, address, calm, frame, framed, http, lines, raw_messages, websocket,
};
use engine::sim::{Outcome, Sim};
use engine::{Completion, ConnectionId, Engine, Node, Step};
use serve::{Behaviour, Patience};
use std::collections::VecDeque;
use units::{Instant, Nanos};

#[test]
fn a_peer_that_does_not_finish_what_it_began_is_closed_after_ten_seconds() {
    let fragment = frame(0x01, b"a");
    let (ping, half) = (frame(0x89, b""), &frame(0x82, b"hello")[..8]);
    let request = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nxPOST /";
    // The bytes sent at 2 s, those sent once a second from 3 s on, and the second that the ten are counted from.
    #[rustfmt::skip]
    let table: [(Speaks, &[u8], &[u8], u64); _] = [
        (http(),          b"P",                                                                 b"O", 2),
        (http(),          b"POST / HTTP/1.1\r\nHost: a\r\nX: ",                                 b"x", 2),
        (http(),          b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99\r\n\r\n",          b"x", 2),
        (http(),          b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",  b"1\r\nx\r\n", 2),
        (http(),          request,                                                              b"x", 2),
        (websocket(),     b"",                                                                  b"",  0),
        (websocket(),     b"GET / HTTP/1.1\r\nHost: a\r\nX: ",                                  b"x", 0),
        (websocket(),     &[HANDSHAKE, half].concat(),                                    b"",  2),
        (websocket(),     &[HANDSHAKE, &fragment].concat(),                                     &ping, 2),
        (framed(),        b"\0\0\0\x05he",                                                      b"",  2),
        (framed(),        b"\0\0\0\x05hello\0",                                                 b"",  2),
        (lines(),         b"no end",                                                            b"x", 2),
        (raw_messages(9), b"12345678",                                                          b"",  2),
    ];
    for (speaks, first, each, from) in table {
        let mut world = World::new(speaks.clone(), calm());
        let mut drips: Vec<_> = (3..20).map(|second| (second, each)).collect();
        drips.insert(0, (2, first));
        let closed = closed_at(&mut world, &drips);
        let (least, most) = (Instant((from + 10) * S), Instant((from + 10) * S + S / 5));
        assert!((least..most).contains(&closed), "{speaks:?} {closed:?}, {}", first.escape_ascii());
        assert_eq!(world.totals().timed_out, 1);
    }
}

#[test]
fn a_silent_connection_is_closed_after_ten_minutes() {
    let request = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx";
    for (speaks, drips, from) in [
        (http(), &[][..], 0),
        (http(), &[(300, &request[..])], 300),
        (http(), &[(2, &request[..]), (601, &request[..])], 601),
        (websocket(), &[(2, HANDSHAKE)], 2),
        (framed(), &[(5, b"\0\0\0\x01x\0\0"), (14, b"\0\x01x")], 14),
    ] {
        let mut world = World::new(speaks.clone(), calm());
        let closed = closed_at(&mut world, drips);
        let (least, most) = (Instant((from + 600) * S), Instant((from + 600) * S + S / 5));
        assert!((least..most).contains(&closed), "{speaks:?} {closed:?}");
    }
}

#[test]
fn the_limits_are_those_that_were_asked_for() {
    let of = |receive, idle| Patience {
        receive_max: Nanos::from_secs(receive),
        idle_max: Nanos::from_secs(idle),
    };
    for (patience, said, expected) in [
        (of(3, 50), &b"\0"[..], 1 + 3),
        (of(30, 50), b"\0", 1 + 30),
        (of(30, 7), b"\0", 1 + 30),
        (of(30, 7), b"\0\0\0\x01x", 1 + 7),
        (of(3, 50), b"\0\0\0\x01x", 1 + 50),
    ] {
        let mut world = World::patient(framed(), patience, calm());
        let closed = closed_at(&mut world, &[(1, said)]);
        assert_eq!(closed.0 / S, expected, "{patience:?}");
    }
    let mut world = World::patient(websocket(), Patience::ENDLESS, calm());
    let mut client = Dripping::new(&[(1, b"GET")]);
    assert_eq!(world.run(&mut client, Instant(100_000 * S)), Outcome::TimeUp);
}

#[test]
fn a_peer_that_finishes_one_message_after_the_other_stays() {
    let mut world = World::new(framed(), calm());
    let mut drips: Vec<(u64, &[u8])> = vec![(1, b"\0\0\0\x05he")];
    drips.extend((1..20).map(|turn| (1 + 9 * turn, &b"llo\0\0\0\x05he"[..])));
    drips.push((181, b"llo"));
    assert_eq!(closed_at(&mut world, &drips).0 / S, 781);
    assert_eq!(world.totals().messages, 20);
}

#[test]
fn time_in_which_the_server_stood_still_counts_against_nobody() {
    let stalls = vec!["60s@0s".parse().unwrap()];
    let mut world = World::oracle(framed(), Behaviour { stalls, ..Behaviour::default() });
    let mut client = Dripping::new(&[(2, b"\0\0\0\x05hello\0\0"), (66, b"\0\x05world")]);
    assert_eq!(world.run(&mut client, Instant(100 * S)), Outcome::TimeUp);
    assert_eq!((world.totals().messages, world.totals().timed_out), (2, 0));
}

#[test]
fn a_connection_in_the_place_of_an_earlier_one_has_its_own_time() {
    let mut world = World::new(framed(), calm());
    for _ in 0..3 {
        let begun = world.network.now();
        let mut client = Dripping::new(&[(0, b"\0")]);
        client.leaves_after = Some(Nanos::from_secs(7));
        assert_eq!(world.run(&mut client, Instant(begun.0 + 9 * S)), Outcome::Done);
    }
    let begun = world.network.now();
    let closed = closed_at(&mut world, &[(0, b"\0")]);
    assert_eq!(closed.since(begun).0 / S, 10);
    assert_eq!(world.totals().timed_out, 1);
}

/// The instant at which the server closed the connection of a client that sends each text at its second.
#[track_caller]
fn closed_at(world: &mut World, drips: &[(u64, &[u8])]) -> Instant {
    let before = world.serving.closed.len();
    let until = Instant(world.network.now().0 + 2000 * S);
    assert_eq!(world.run(&mut Dripping::new(drips), until), Outcome::Done);
    assert!(world.serving.closed.len() > before);
    world.serving.closed[world.serving.closed.len() - 1]
}

/// A client that sends each text at its second, and listens until the server ends the connection.
struct Dripping<'a> {
    drips: VecDeque<(u64, &'a [u8])>,
    connection: Option<(ConnectionId, Instant)>,
    /// The time after which it ends the connection itself.
    leaves_after: Option<Nanos>,
}

impl<'a> Dripping<'a> {
    fn new(drips: &[(u64, &'a [u8])]) -> Self {
        Self { drips: drips.to_vec().into(), connection: None, leaves_after: None }
    }
}

impl Node<Sim> for Dripping<'_> {
    fn step(&mut self, engine: &mut Sim) -> Step {
        let now = engine.now();
        let (id, since) =
            *self.connection.get_or_insert_with(|| (engine.connect(&address(), None), now));
        let mut rx = vec![0; 1 << 16];
        while let Some(completion) = engine.complete(&mut rx) {
            if let Completion::Ended(_) | Completion::Failed(..) = completion {
                engine.close(id);
                return Step::Done;
            }
        }
        while let Some((at, text)) = self.drips.front().copied()
            && since.0 + at * S <= now.0
        {
            self.drips.pop_front();
            engine.send(id, text);
        }
        let leave = self.leaves_after.map_or(Instant::NEVER, |after| since + after);
        if leave <= now {
            engine.close(id);
            return Step::Done;
        }
        let next = self.drips.front().map_or(Instant::NEVER, |(at, _)| Instant(since.0 + at * S));
        Step::Wait(next.min(leave))
    }
}

const S: u64 = 1_000_000_000;
