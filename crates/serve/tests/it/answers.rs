//! The answers and the counters of the servers.

use crate::world::{
    HANDSHAKE, SWITCHED, Speaks, Talking, World, address, calm, frame, framed, http, lines, ms,
    raw, raw_messages, styx, websocket,
};
use engine::sim::{Conditions, Outcome, Party, Split};
use engine::{Engine, UNSENT_LEN_MAX};
use serve::Totals;
use spec::Protocol;
use units::{Instant, Nanos};

#[test]
fn every_server_answers_with_what_it_got_in_whatever_pieces_it_came() {
    let post = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello";
    let last = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbye";
    let hello = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Type: application/octet-stream\r\n\r\nhello";
    let bye = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Type: application/octet-stream\r\n\
        Connection: close\r\n\r\nbye";
    let text = frame(0x81, "grüß".as_bytes());
    let binary = frame(0x82, b"\0\xff");
    let close = frame(0x88, b"\x03\xe8");
    let frames: [&[u8]; 4] =
        [b"\x81\x06", "grüß".as_bytes(), b"\x82\x02\0\xff", b"\x88\x02\x03\xe8"];
    let table: [(Speaks, u64, Vec<u8>, Vec<u8>); 7] = [
        (framed(), 2, b"\0\0\0\x02hi\0\0\0\0".into(), b"\0\0\0\x02hi\0\0\0\0".into()),
        (styx(), 2, b"\0\0\0\x05\x12\0\0\0\x06hi".into(), b"\0\0\0\x05\x12\0\0\0\x06hi".into()),
        (lines(), 3, "hi\n\ngrüß\r\n".into(), "hi\n\ngrüß\r\n".into()),
        (http(), 3, [&post[..], post, last].concat(), [&hello[..], hello, bye].concat()),
        (raw(), 0, b"whatever".into(), b"whatever".into()),
        (raw_messages(3), 2, b"whatever".into(), b"whatev".into()),
        (
            websocket(),
            2,
            [HANDSHAKE, &text, &binary, &close].concat(),
            [SWITCHED, &frames.concat()].concat(),
        ),
    ];
    for (speaks, messages, said, expected) in table {
        for split in [Split::Never, Split::ByteByByte, Split::Random { chunk_len_max: 9 }] {
            let mut world = World::new(speaks.clone(), Conditions { split, ..calm() });
            let mut client = Talking::new(&[&said]);
            client.ends = !matches!(speaks.protocol(), Protocol::Http | Protocol::WebSocket);
            assert_eq!(world.run(&mut client, Instant(10_000_000_000)), Outcome::Done);
            assert_eq!(client.heard.properly_ended(), expected, "{speaks:?} {split:?}");
            let totals = world.totals();
            assert_eq!((totals.connections, totals.broken), (1, 0));
            assert_eq!(totals.bytes_received, said.len() as u64);
            assert_eq!(totals.bytes_sent, expected.len() as u64);
            if messages == 0 {
                assert!((1..=8).contains(&totals.messages), "reads: {totals:?}");
            } else {
                assert_eq!(totals.messages, messages, "{speaks:?} {split:?}");
            }
        }
    }
}

#[test]
fn work_keeps_the_server_busy_for_each_message() {
    let ended_at = |work: Nanos| {
        let mut world = World::working(framed(), work);
        let mut client = Talking::new(&[b"\0\0\0\x02hi\0\0\0\x02ho\0\0\0\x01!"]);
        client.ends = true;
        assert_eq!(world.run(&mut client, Instant(10_000_000_000)), Outcome::Done);
        assert_eq!(world.totals().messages, 3);
        client.heard_end_at.unwrap()
    };
    assert_eq!(ended_at(ms(5)).since(ended_at(Nanos::ZERO)), ms(15));
}

#[test]
fn a_ping_is_answered_between_the_fragments_of_a_message() {
    let mut world = World::new(websocket(), calm());
    let lines = [
        frame(0x01, b"Hel"),
        frame(0x89, b"are you there?"),
        frame(0x80, b"lo"),
        frame(0x88, b"\x03\xe9going"),
    ];
    let heard = world.talk(&[HANDSHAKE, &lines.concat()]).properly_ended();
    let answers = b"\x8a\x0eare you there?\x81\x05Hello\x88\x02\x03\xe9";
    assert_eq!(heard, [SWITCHED, answers].concat());
    assert_eq!((world.totals().messages, world.totals().broken), (1, 0));
}

#[test]
fn the_subprotocol_that_both_speak_is_chosen() {
    let subprotocols = vec!["b".to_owned(), "c".to_owned()];
    let mut speaks = websocket();
    speaks.options.handshake.subprotocols = subprotocols;
    let mut world = World::new(speaks, calm());
    let said = String::from_utf8(HANDSHAKE.to_vec()).unwrap();
    let said = said.replace(
        "Sec-WebSocket-Version",
        "Sec-WebSocket-Protocol: a, c, b\r\nSec-WebSocket-Version",
    );
    let heard = world.talk(&[said.as_bytes(), &frame(0x88, b"")]).properly_ended();
    let heard = String::from_utf8_lossy(&heard).into_owned();
    assert!(heard.contains("\r\nSec-WebSocket-Protocol: c\r\n"), "{heard}");
}

#[test]
fn a_message_of_16_mib_is_answered_where_the_limits_allow_it() {
    let payload: Vec<u8> = (0..LARGE).map(|at| u8::try_from(at % 251).unwrap()).collect();
    let message = frame(0x82, &payload);
    let mut world = World::new(websocket(), calm());
    let close = frame(0x88, b"");
    let said = [&message[..], &close].concat();
    let heard = world.talk(&[HANDSHAKE, &said]).properly_ended();
    let header = [&[0x82, 127], &(LARGE as u64).to_be_bytes()[..]].concat();
    assert!(heard == [SWITCHED, &header, &payload, b"\x88\0"].concat(), "{} bytes", heard.len());
    let Totals { messages, bytes_sent, .. } = world.totals();
    assert_eq!((messages, bytes_sent), (1, heard.len() as u64));
}

const LARGE: usize = 16 << 20;

#[test]
fn a_message_above_the_limit_is_refused_with_1009_before_it_arrives() {
    for (len, code) in [(LARGE as u64 + 1, 1009_u16), (u64::MAX >> 1, 1009), (u64::MAX, 1002)] {
        let mut world = World::new(websocket(), calm());
        let said = [&[0x82, 0xff], &len.to_be_bytes()[..], b"keys", b"the beginning"].concat();
        let heard = world.talk(&[HANDSHAKE, &said]).properly_ended();
        let close = [&[0x88, 2], &code.to_be_bytes()[..]].concat();
        assert_eq!(heard, [SWITCHED, &close].concat());
        assert_eq!((world.totals().messages, world.totals().broken), (0, 1));
    }
}

#[test]
fn a_client_that_does_not_read_is_not_read_from_without_bound() {
    // It sends 16 MiB and reads nothing: the server keeps a bounded part of the answers, and takes no more.
    let mut world = World::new(raw(), calm());
    let id = world.client.connect(&address(), None);
    world.client.send(id, &vec![b'x'; 16 << 20]);
    world.run_alone(Instant(5_000_000_000));
    let Totals { bytes_received, bytes_sent, .. } = world.totals();
    assert_eq!(bytes_received, bytes_sent);
    let kernels = Conditions::default().buffer_len_max; // Those of both ends, for one direction.
    assert!(bytes_sent > kernels as u64, "{bytes_sent}");
    assert!(bytes_sent <= (UNSENT_LEN_MAX + kernels + (64 << 10)) as u64, "{bytes_sent}");
}

#[test]
fn a_wish_to_stop_is_granted_within_a_tenth_of_a_second() {
    let mut world = World::new(framed(), calm());
    world.run_alone(Instant(1_234_000_000));
    world.ask_to_stop();
    let mut parties = [Party::awaited(&mut world.server, &mut world.serving)];
    let asked = world.network.now();
    assert_eq!(world.network.run(&mut parties, Instant::NEVER), Outcome::Done);
    assert!(world.network.now().since(asked) <= ms(100));
}

#[test]
fn a_busy_server_looks_at_the_wish_to_stop_too() {
    let mut world = World::new(framed(), calm());
    let mut client = Talking::new(&[b"\0\0\0\x01a", b"\0\0\0\x01b"]);
    assert_eq!(world.run(&mut client, Instant(50_000_000)), Outcome::TimeUp);
    assert_eq!(world.totals().messages, 2);
    world.ask_to_stop();
    let mut parties = [Party::awaited(&mut world.server, &mut world.serving)];
    assert_eq!(world.network.run(&mut parties, Instant::NEVER), Outcome::Done);
    assert_eq!(world.network.now().since(Instant(50_000_000)), Nanos::ZERO);
}
