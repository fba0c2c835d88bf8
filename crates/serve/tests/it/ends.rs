//! Ends of conversations: proper, with everything sent, and no later than required.

use crate::world::{
    HANDSHAKE, SWITCHED, Talking, World, calm, frame, framed, http, ms, raw, websocket,
};
use engine::sim::{Conditions, Outcome};
use serve::Patience;
use units::{Instant, Nanos};

#[test]
fn a_websocket_close_is_answered_with_its_code_and_the_connection_ends() {
    #[rustfmt::skip]
    let table: [(&[u8], &[u8]); _] = [
        (b"",                b"\x88\x00"),
        (b"\x03\xe8",        b"\x88\x02\x03\xe8"),
        (b"\x0f\xa0my code", b"\x88\x02\x0f\xa0"),
    ];
    for (payload, answer) in table {
        let mut world = World::new(websocket(), calm());
        let heard = world.talk(&[HANDSHAKE, &frame(0x88, payload)]).properly_ended();
        assert_eq!(heard, [SWITCHED, answer].concat());
        assert_eq!((world.totals().broken, world.totals().messages), (0, 0));
    }
}

#[test]
fn nothing_behind_a_close_is_answered() {
    let mut world = World::new(websocket(), calm());
    let said = [frame(0x88, b"\x03\xe8"), frame(0x82, b"too late"), frame(0x89, b"")].concat();
    let heard = world.talk(&[HANDSHAKE, &said]).properly_ended();
    assert_eq!(heard, [SWITCHED, b"\x88\x02\x03\xe8"].concat());
    assert_eq!((world.totals().broken, world.totals().messages), (0, 0));
}

#[test]
fn http_keeps_the_connection_unless_it_is_asked_to_close() {
    let keep = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx";
    let close = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx";
    let old = b"POST / HTTP/1.0\r\nContent-Length: 1\r\n\r\nx";
    for last in [&close[..], old] {
        let mut world = World::new(http(), calm());
        let heard = world.talk(&[keep, keep, last]).text();
        let heads: Vec<&str> = heard.split("HTTP/1.1 200 OK\r\n").skip(1).collect();
        let closes: Vec<bool> =
            heads.iter().map(|head| head.contains("Connection: close")).collect();
        assert_eq!(closes, [false, false, true], "{heard}");
        assert_eq!(world.totals().messages, 3);
    }
}

#[test]
fn a_peer_that_ends_its_side_gets_every_byte_before_the_end() {
    // More than the kernels hold, so that most of the answer is unsent when the peer's end arrives.
    for (pause, split) in [(0, 64 << 10), (1000, 64 << 10), (1000, 1000)] {
        let conditions = Conditions { buffer_len_max: split, ..calm() };
        let mut world = World::new(raw(), conditions);
        let said: Vec<u8> = (0..700_000_u32).map(|at| at.to_le_bytes()[0]).collect();
        world.client.freeze(Instant(3_000_000), Instant(3_000_000) + ms(pause));
        let mut client = Talking::new(&[&said]);
        client.ends = true;
        assert_eq!(world.run(&mut client, Instant(60_000_000_000)), Outcome::Done);
        let heard = client.heard.properly_ended();
        assert!(heard == said, "{} of {} bytes, {split}", heard.len(), said.len());
        let totals = world.totals();
        assert_eq!((totals.bytes_received, totals.bytes_sent), (700_000, 700_000));
    }
}

#[test]
fn a_slow_reader_gets_every_byte_as_long_as_it_reads() {
    // 100 KB through a hole of 10 bytes at a time, a round trip of 2 ms for each: 20 s in each direction.
    let conditions = Conditions { buffer_len_max: 10, ..calm() };
    let mut world = World::patient(http(), Patience::ENDLESS, conditions);
    let body = "x".repeat(100_000);
    let said = format!(
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\nConnection: close\r\n\r\n{body}"
    );
    let heard = world.talk(&[said.as_bytes()]).text();
    assert!(heard.ends_with(&body), "{} bytes", heard.len());
    assert!(world.network.now() > Instant(40_000_000_000));
}

#[test]
fn a_connection_that_we_ended_is_closed_after_its_time() {
    let mut world = World::new(websocket(), calm());
    let close = frame(0x88, b"");
    let mut client = Talking::new(&[HANDSHAKE, &close]);
    client.stays = true;
    assert_eq!(world.run(&mut client, Instant(20_000_000_000)), Outcome::TimeUp);
    // The close is answered 5 ms after the start and heard a delay later.
    assert_eq!(client.heard_end_at, Some(Instant(6_000_000)));
    assert_eq!(world.serving.closed, [Instant(5_000_000) + LINGER]);
}

#[test]
fn a_connection_whose_peer_ends_too_is_closed_at_once() {
    let mut world = World::new(websocket(), calm());
    world.talk(&[HANDSHAKE, &frame(0x88, b"")]);
    world.run_alone(Instant(10_000_000));
    assert_eq!(world.serving.closed, [Instant(7_000_000)]);
    world.run_alone(Instant(20_000_000_000));
    assert_eq!(world.serving.closed.len(), 1, "and not again after its time");
}

#[test]
fn a_peer_that_ends_and_reads_nothing_is_closed_after_its_time() {
    let conditions = Conditions { buffer_len_max: 1000, ..calm() };
    let mut world = World::new(raw(), conditions);
    let said = vec![b'x'; 100_000];
    let mut client = Talking::new(&[&said]);
    client.ends = true;
    world.client.freeze(Instant(150_000_000), Instant::NEVER);
    assert_eq!(world.run(&mut client, Instant(30_000_000_000)), Outcome::TimeUp);
    assert!(world.serving.closed.len() == 1, "{:?}", world.serving.closed);
    assert!(client.heard.end.is_none());
}

#[test]
fn an_index_that_is_used_again_keeps_its_new_connection() {
    // We end the first connection and its peer closes it; another one has its index when its time is over.
    let mut world = World::new(framed(), calm());
    let over = [0xff; 4];
    world.talk(&[&over]);
    let mut second = Talking::new(&[b"\0\0\0\x01a"]);
    assert_eq!(world.run(&mut second, Instant(30_000_000_000)), Outcome::TimeUp);
    assert_eq!(second.heard.bytes, b"\0\0\0\x01a");
    assert_eq!(second.heard.end, None, "it is not closed instead of the other one");
    assert_eq!((world.totals().connections, world.totals().broken), (2, 1));
}

/// The time for which the server waits for the peer's end after its own.
const LINGER: Nanos = Nanos::from_secs(5);
