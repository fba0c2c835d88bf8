//! Payloads that inflate to more than they should: limits at the exact byte, bombs, and the memory that they take.

use super::allocation::memory_of;
use super::deflate::{COMPRESSED, FORGOTTEN, SHARED, Theirs};
use super::peer::{BINARY, CONTINUATION, FIN, feed, frame, other, play_on};
use wire::websocket::deflate::Agreed;
use wire::websocket::{Limits, WebSocket};
use wire::{Kind, Message, Protocol, Side};

#[test]
fn a_message_may_inflate_to_its_limit_and_not_to_a_byte_more() {
    for len_max in [0, 1, 100, 127, 128, 1000, 4096, 65_536, 100_000] {
        let limits = Limits { message_len_max: len_max, ..Limits::default() };
        let error = format!(
            "error compressed message inflates to {} bytes or more, limit is {len_max}",
            len_max + 1
        );
        for role in [Side::Client, Side::Server] {
            let message = |len: usize| {
                let mut theirs = Theirs::new(SHARED);
                theirs.deflate(&vec![b'x'; len])
            };
            for piece_len in [1, 7, 1 << 20] {
                let exact = frame(other(role), COMPRESSED | BINARY, &message(len_max));
                let said = play_on(connection(role, limits), role, exact.chunks(piece_len));
                let line = said[0].as_str();
                assert!(line.starts_with("binary "), "{len_max} by {piece_len}: {said:?}");
                if len_max > 125 {
                    assert!(line.starts_with(&format!("binary {len_max} bytes")), "{said:?}");
                }
                let above = frame(other(role), COMPRESSED | BINARY, &message(len_max + 1));
                let said = play_on(connection(role, limits), role, above.chunks(piece_len));
                assert_eq!(said, [&error, "> close 1009 "], "{len_max} by {piece_len}");
            }
        }
    }
}

#[test]
fn the_fragments_of_a_message_inflate_to_its_limit_together() {
    let limits = Limits { message_len_max: 5000, ..Limits::default() };
    for (len, is_allowed) in [(5000, true), (5001, false)] {
        let payload = Theirs::new(SHARED).deflate(&vec![b'x'; len]);
        let mut bytes = Vec::new();
        for (index, byte) in payload.iter().enumerate() {
            let first = if index == 0 { COMPRESSED | BINARY } else { CONTINUATION };
            bytes.extend(frame(Side::Client, first & !FIN, &[*byte]));
        }
        bytes.extend(frame(Side::Client, CONTINUATION, b""));
        let said = play_on(connection(Side::Server, limits), Side::Server, [&*bytes]);
        assert_eq!(said[0].starts_with("binary 5000 bytes"), is_allowed, "{said:?}");
        assert_eq!(said[1] == "> close 1009 ", !is_allowed, "{said:?}");
    }
}

#[test]
fn what_does_not_compress_may_be_as_long_as_its_limit_too() {
    let limits = Limits { frame_len_max: 20_000, message_len_max: 20_000, ..Limits::default() };
    let mut payload = vec![0; 20_001];
    units::Random::new(1).fill(&mut payload);
    for level in 1..=9 {
        let agreed = Agreed { level, ..SHARED };
        let mut sender = WebSocket::established_with(agreed, Side::Client, limits, 1);
        let mut receiver = WebSocket::established_with(agreed, Side::Server, limits, 1);
        let mut arrives = |payload: &[u8]| {
            let (mut tx, mut lines) = (Vec::new(), Vec::new());
            sender.send(Message { kind: Kind::Binary, payload }, &mut tx).unwrap();
            feed(&mut receiver, &tx, &mut Vec::new(), &mut lines);
            lines.concat()
        };
        let said = arrives(&payload[..20_000]);
        assert!(said.starts_with("binary 20000 bytes"), "level {level}: {said}");
        let said = arrives(&payload);
        assert!(said.starts_with("error compressed message inflates"), "level {level}: {said}");
    }
}

#[test]
fn a_compressed_frame_has_a_limit_before_its_bytes_arrive() {
    let limits = Limits { frame_len_max: 800, message_len_max: 1 << 20, ..Limits::default() };
    for (len, is_allowed) in [(800 + 100 + 64, true), (800 + 100 + 64 + 1, false)] {
        for first in [
            &[(COMPRESSED | BINARY, len)][..],
            &[((COMPRESSED | BINARY) & !FIN, 0), (CONTINUATION, len)],
        ] {
            let bytes: Vec<u8> = first
                .iter()
                .flat_map(|(first, len)| super::peer::header(Side::Server, *first, *len))
                .collect();
            let said = play_on(connection(Side::Client, limits), Side::Client, [&*bytes]);
            let error = "error frame of 965 bytes, limit is 964";
            assert_eq!(said[0] == error, !is_allowed, "{len}: {said:?}");
        }
    }
}

#[test]
fn bombs_go_off_within_twice_the_limit() {
    let bomb = bomb();
    assert!(bomb.len() <= 64 << 10, "{} bytes", bomb.len());
    let fragments: Vec<u8> = bomb
        .chunks(8)
        .enumerate()
        .flat_map(|(index, part)| {
            let first = if index == 0 { COMPRESSED | BINARY } else { CONTINUATION };
            frame(Side::Client, first & !FIN, part)
        })
        .collect();
    let whole = frame(Side::Client, COMPRESSED | BINARY, &bomb);
    for agreed in [SHARED, FORGOTTEN] {
        for (name, bytes) in [("whole", &whole), ("fragments", &fragments)] {
            for len_max in [1 << 16, 1 << 20, 1_000_001, 16 << 20] {
                let limits = Limits { message_len_max: len_max, ..Limits::default() };
                let mut lines = Vec::new();
                let mut server = WebSocket::established_with(agreed, Side::Server, limits, 1);
                let mut tx = Vec::with_capacity(100);
                for piece in bytes.chunks(1000) {
                    let (is_broken, peak, _) =
                        memory_of(|| feed(&mut server, piece, &mut tx, &mut lines));
                    assert!(
                        peak <= 2 * len_max + WINDOW_MAX,
                        "{name}, limit {len_max}: {peak} bytes"
                    );
                    if is_broken {
                        break;
                    }
                }
                let error = format!(
                    "error compressed message inflates to {} bytes or more, limit is {len_max}",
                    len_max + 1
                );
                assert_eq!(lines, [error], "{name}");
                assert_eq!(tx, b"\x88\x02\x03\xf1", "{name}: close 1009");
            }
        }
    }
}

/// Each message is within the limit and short, because it refers to the one before: memory must not add up.
#[test]
fn messages_that_refer_to_those_before_add_nothing_up() {
    let limits = Limits { message_len_max: 1 << 20, ..Limits::default() };
    let mut theirs = Theirs::new(SHARED);
    let mut server = WebSocket::established_with(SHARED, Side::Server, limits, 1);
    let mut payload = vec![0; 1 << 20];
    units::Random::new(3).fill(&mut payload[..1000]);
    let ((), peak, held) = memory_of(|| {
        for _ in 0..20 {
            let bytes = frame(Side::Client, COMPRESSED | BINARY, &theirs.deflate(&payload));
            let mut lines = Vec::new();
            assert!(!feed(&mut server, &bytes, &mut Vec::new(), &mut lines));
            assert!(lines[0].starts_with("binary 1048576 bytes"), "{lines:?}");
        }
    });
    assert!(peak <= (2 << 20) + WINDOW_MAX + TEST_MAX, "{peak} bytes");
    assert!(held <= WINDOW_MAX + (1 << 20), "{held} bytes are held after 20 MiB");

    payload.push(0);
    let bytes = frame(Side::Client, COMPRESSED | BINARY, &theirs.deflate(&payload));
    let mut lines = Vec::new();
    assert!(feed(&mut server, &bytes, &mut Vec::new(), &mut lines));
    assert_eq!(
        lines,
        ["error compressed message inflates to 1048577 bytes or more, limit is 1048576"]
    );
}

#[test]
fn windows_exist_from_the_first_message_of_their_direction_on() {
    let message = Message { kind: Kind::Text, payload: b"a message" };
    for (agreed, is_kept) in [(SHARED, true), (FORGOTTEN, false)] {
        let (mut server, _, held) =
            memory_of(|| WebSocket::established_with(agreed, Side::Server, Limits::default(), 1));
        assert!(held <= 512, "{held} bytes before the first message");
        let mut tx = Vec::with_capacity(1000);
        let (_, peak, held) = memory_of(|| server.send(message, &mut tx).unwrap());
        assert!(peak > 256 << 10, "{peak} bytes to compress with");
        assert_eq!(held > 0, is_kept, "{held} bytes after the first message sent");
        let bytes =
            frame(Side::Client, COMPRESSED | BINARY, &Theirs::new(SHARED).deflate(b"hello"));
        let (_, peak, _) = memory_of(|| feed(&mut server, &bytes, &mut tx, &mut Vec::new()));
        assert!(peak > 32 << 10, "{peak} bytes to inflate with");
        let (_, _, held) = memory_of(move || {
            feed(&mut server, b"\x8a\x80\0\0\0\0", &mut tx, &mut Vec::new()); // what was handed out is freed
            server
        });
        assert!(held < 100, "{held} bytes came back");
    }
}

/// 64 MiB in less than 64 KiB.
fn bomb() -> Vec<u8> {
    let mut theirs = Theirs::new(SHARED);
    let payload = vec![0; 64 << 20];
    theirs.deflate(&payload)
}

fn connection(role: Side, limits: Limits) -> WebSocket {
    WebSocket::established_with(SHARED, role, limits, 1)
}

/// The memory for inflating one direction: the window and the state around it.
const WINDOW_MAX: usize = 64 << 10;

/// The most memory that the test itself holds for a message.
const TEST_MAX: usize = 4 << 20;
