//! permessage-deflate from outside: the examples of RFC 7692 §7.2.3, its rules, and a seeded conversation with another
//! implementation of DEFLATE.
//!
//! Attacks on our memory are in [`super::inflated`].

use super::peer::{
    BINARY, CONTINUATION, FIN, PING, TEXT, feed, frame, header, other, play_on, take_frame,
};
use miniz_oxide::deflate::core::CompressorOxide;
use miniz_oxide::inflate::stream::InflateState;
use miniz_oxide::{DataFormat, MZFlush, MZStatus};
use units::Random;
use wire::contract::Layers;
use wire::websocket::deflate::{Agreed, Direction};
use wire::websocket::{Limits, WebSocket};
use wire::{Kind, Message, Protocol, Side};

/// A name, payloads of messages, what they inflate to.
type Example = (&'static str, &'static [&'static [u8]], &'static [&'static str]);

/// The examples of RFC 7692 §7.2.3, and others that its rules allow.
const EXAMPLES: &[Example] = &[
    ("§7.2.3.1, one block", &[HELLO], &["Hello"]),
    ("§7.2.3.2, sharing the window", &[HELLO, b"\xf2\x00\x11\x00\x00"], &["Hello", "Hello"]),
    ("§7.2.3.3, a block without compression", &[b"\x00\x05\x00\xfa\xffHello\x00"], &["Hello"]),
    ("§7.2.3.4, BFINAL", &[b"\xf3\x48\xcd\xc9\xc9\x07\x00\x00", HELLO], &["Hello", "Hello"]),
    (
        "§7.2.3.5, two blocks",
        &[b"\xf2\x48\x05\x00\x00\x00\xff\xff\xca\xc9\xc9\x07\x00"],
        &["Hello"],
    ),
    ("§7.2.3.6, empty", &[b"\x00", HELLO, b"\x00"], &["", "Hello", ""]),
    ("an empty block of fixed codes", &[b"\x02\x00", HELLO], &["", "Hello"]),
    (
        "BFINAL without what follows it",
        &[b"\xf3\x48\xcd\xc9\xc9\x07\x00", HELLO],
        &["Hello", "Hello"],
    ),
    (
        "a block after BFINAL",
        &[b"\xf3\x48\xcd\xc9\xc9\x07\x00\xf2\x48\xcd\xc9\xc9\x07\x00"],
        &["HelloHello"],
    ),
];

#[test]
fn the_examples_of_the_rfc_are_understood_however_they_are_cut() {
    for (name, payloads, texts) in EXAMPLES {
        let mut expected: Vec<String> = texts.iter().map(|text| format!("text {text}")).collect();
        expected.push(
            "end connection ended without a Close frame (RFC 6455 §7.1.5, code 1006)".to_owned(),
        );
        for role in [Side::Client, Side::Server] {
            let whole: Vec<u8> = payloads
                .iter()
                .flat_map(|payload| frame(other(role), COMPRESSED | TEXT, payload))
                .collect();
            for len in [1, 2, 3, whole.len()] {
                let said = play_on(connection(role, SHARED), role, whole.chunks(len));
                assert_eq!(said, expected, "{name}, {role:?} by {len}");
            }
            for cut in 0..8 {
                let fragments: Vec<u8> = payloads
                    .iter()
                    .flat_map(|payload| {
                        let (left, right) = payload.split_at(cut.min(payload.len()));
                        [
                            frame(other(role), (COMPRESSED | TEXT) & !FIN, left),
                            frame(other(role), CONTINUATION, right),
                        ]
                        .concat()
                    })
                    .collect();
                let said = play_on(connection(role, SHARED), role, [&*fragments]);
                assert_eq!(said, expected, "{name}, {role:?} in fragments cut at {cut}");
            }
        }
    }
}

#[test]
fn we_send_the_examples_of_the_rfc() {
    let sent = |agreed| {
        let mut server = connection(Side::Server, agreed);
        let mut tx = Vec::new();
        for payload in [&b"Hello"[..], b"Hello", b"", b"Hello"] {
            server.send(Message { kind: Kind::Text, payload }, &mut tx).unwrap();
        }
        tx
    };
    let first = b"\xc1\x07\xf2\x48\xcd\xc9\xc9\x07\x00";
    let empty = b"\xc1\x01\x00";
    let shared = sent(SHARED);
    let [second, third] = [&shared[first.len()..][..7], &shared[first.len() + 7 + empty.len()..]];
    assert_eq!(shared[..first.len()], *first);
    assert_eq!(second, b"\xc1\x05\xf2\x00\x11\x00\x00");
    assert!(third.len() <= second.len(), "the window is still there");
    assert_eq!(sent(FORGOTTEN), [&first[..], first, empty, first].concat());
}

#[test]
fn rsv1_belongs_to_the_first_frame_of_a_message_alone() {
    let misplaced = |opcode| {
        format!(
            "error RSV1 is set on a frame with opcode {opcode:#x}, which begins no message (RFC 7692 §6.1)"
        )
    };
    let reserved = |bits| {
        format!("error reserved bits {bits:#05b} are set without an extension (RFC 6455 §5.2)")
    };
    let first = (COMPRESSED | TEXT) & !FIN;
    #[rustfmt::skip]
    let table = [
        (vec![(first, &HELLO[..3]), (COMPRESSED | CONTINUATION, &HELLO[3..])], misplaced(0)),
        (vec![(TEXT & !FIN, b"Hel"), (COMPRESSED | CONTINUATION, b"lo")],      misplaced(0)),
        (vec![(COMPRESSED | CONTINUATION, b"lo")],                             misplaced(0)),
        (vec![(COMPRESSED | PING, b"")],                                       misplaced(9)),
        (vec![(COMPRESSED | 0x88, b"")],                                       misplaced(8)),
        (vec![(COMPRESSED | 0x83, b"")], "error reserved opcode 0x3 (RFC 6455 §5.2)".to_owned()),
        (vec![(0x20 | TEXT, b"")],                                             reserved(0b010)),
        (vec![(0x10 | TEXT, b"")],                                             reserved(0b001)),
        (vec![(COMPRESSED | 0x20 | TEXT, HELLO)],                              reserved(0b010)),
    ];
    for (frames, error) in table {
        for role in [Side::Client, Side::Server] {
            let bytes: Vec<u8> = frames
                .iter()
                .flat_map(|(first, payload)| frame(other(role), *first, payload))
                .collect();
            for len in [1, bytes.len()] {
                let said = play_on(connection(role, SHARED), role, bytes.chunks(len));
                assert_eq!(said, [&error, "> close 1002 "], "{frames:x?}, {role:?} by {len}");
            }
        }
    }
}

#[test]
fn messages_that_are_not_compressed_are_understood_beside_those_that_are() {
    for role in [Side::Client, Side::Server] {
        let from = other(role);
        let bytes = [
            frame(from, TEXT, b"plain"),
            frame(from, COMPRESSED | TEXT, HELLO),
            frame(from, TEXT & !FIN, b"in "),
            frame(from, PING, b"p"),
            frame(from, CONTINUATION, b"parts"),
            frame(from, (COMPRESSED | BINARY) & !FIN, b"\xf2\x00"),
            frame(from, PING, b"q"),
            frame(from, CONTINUATION & !FIN, b""),
            frame(from, CONTINUATION, b"\x11\x00\x00"),
        ]
        .concat();
        for len in [1, 5, bytes.len()] {
            let mut said = play_on(connection(role, SHARED), role, bytes.chunks(len));
            said.retain(|line| !line.starts_with('>'));
            said.pop();
            assert_eq!(
                said,
                ["text plain", "text Hello", "ping p", "text in parts", "ping q", "binary Hello"],
                "{role:?} by {len}"
            );
        }
    }
}

#[test]
fn what_cannot_be_inflated_is_a_bad_payload() {
    let error =
        |reason| format!("error compressed message cannot be inflated: {reason} (RFC 7692 §7.2.2)");
    #[rustfmt::skip]
    let table: [(&[&[u8]], &str, Agreed); 7] = [
        (&[b"\x07"],                                   CORRUPT, SHARED),
        (&[b"\x00\x05\x00\x00\x00Hello\x00"],          CORRUPT, SHARED),
        (&[b"\x04\xff\xff\xff\xff"],                   CORRUPT, SHARED),
        (&[b"\xf2\x00\x11\x00\x00"],                   CORRUPT, SHARED),
        (&[HELLO, b"\xf2\x00\x11\x00\x00"],            CORRUPT, FORGOTTEN),
        (&[HELLO, b""],                                "it is empty", SHARED),
        (&[b"\xf2\x48\xcd\xc9"],                       "it is cut off", SHARED),
    ];
    for (payloads, reason, agreed) in table {
        for role in [Side::Client, Side::Server] {
            let bytes: Vec<u8> = payloads
                .iter()
                .flat_map(|payload| frame(other(role), COMPRESSED | BINARY, payload))
                .collect();
            for len in [1, bytes.len()] {
                let mut said = play_on(connection(role, agreed), role, bytes.chunks(len));
                said.retain(|line| !line.starts_with("binary Hello"));
                assert_eq!(
                    said,
                    [&error(reason), "> close 1007 "],
                    "{payloads:x?}, {role:?} by {len}"
                );
            }
        }
    }
}

#[test]
fn text_is_checked_inflated_and_as_it_arrives() {
    let mut theirs = Theirs::new(FORGOTTEN);
    let role = Side::Server;
    let payload = theirs.deflate(&[b"caf\xe9", &b" au lait"[..]].concat());
    let error = "error text message is not UTF-8 from byte 3 on (RFC 6455 §8.1)";
    let fragment = frame(Side::Client, (COMPRESSED | TEXT) & !FIN, &payload[..payload.len() - 1]);
    let said = play_on(connection(role, FORGOTTEN), role, [&*fragment]);
    assert_eq!(said, [error, "> close 1007 "], "before its end");
    let binary = frame(Side::Client, COMPRESSED | BINARY, &payload);
    let said = play_on(connection(role, FORGOTTEN), role, [&*binary]);
    assert_eq!(said[0], "binary caf\\xe9 au lait");

    let ends_within = theirs.deflate(b"caf\xc3");
    let said = play_on(
        connection(role, FORGOTTEN),
        role,
        [&*frame(Side::Client, COMPRESSED | TEXT, &ends_within)],
    );
    assert_eq!(said, [error, "> close 1007 "]);
    let character = theirs.deflate("café".as_bytes());
    for cut in 1..character.len() {
        let bytes = [
            frame(Side::Client, (COMPRESSED | TEXT) & !FIN, &character[..cut]),
            frame(Side::Client, CONTINUATION, &character[cut..]),
        ]
        .concat();
        let said = play_on(connection(role, FORGOTTEN), role, [&*bytes]);
        assert_eq!(said[0], "text caf\\xc3\\xa9", "cut at {cut}");
    }
}

#[test]
fn every_message_is_one_compressed_frame_behind_what_was_there() {
    let mut random = Random::new(7);
    let mut noise = vec![0; 70_000];
    random.fill(&mut noise);
    let even = vec![b'x'; 70_000];
    for role in [Side::Client, Side::Server] {
        for agreed in [SHARED, FORGOTTEN] {
            let mut ours = connection(role, agreed);
            let mut theirs = Theirs::new(agreed);
            for len in [0, 1, 2, 119, 120, 125, 126, 130, 400, 65_500, 65_535, 65_536, 70_000] {
                for payload in [&noise[..len], &even[..len]] {
                    let mut tx = b"before".to_vec();
                    ours.send(Message { kind: Kind::Binary, payload }, &mut tx).unwrap();
                    let mut sent = tx.strip_prefix(b"before").unwrap();
                    let sent_len = sent.len();
                    let (first, compressed) = take_frame(role, &mut sent);
                    assert_eq!((first, sent), (COMPRESSED | BINARY, &b""[..]), "{role:?}, {len}");
                    let header = header(role, first, compressed.len() as u64);
                    assert_eq!(sent_len, header.len() + compressed.len(), "{role:?}, {len}");
                    assert!(theirs.inflate(&compressed) == payload, "{role:?}, {len} bytes");
                }
            }
        }
    }
}

#[test]
fn the_bytes_of_encoding_are_what_compression_took_off_exactly() {
    let payload = vec![b'x'; 1000];
    let mut server = connection(Side::Server, SHARED);
    let mut theirs = Theirs::new(SHARED);
    let mut expected = Layers::default();
    for round in 0..3 {
        let mut tx = Vec::new();
        server.send(Message { kind: Kind::Binary, payload: &payload }, &mut tx).unwrap();
        server.send(Message { kind: Kind::Binary, payload: b"" }, &mut tx).unwrap();
        expected.encoding_sent += tx.len() as i64 - 2 - 2 - 1000;

        let compressed = theirs.deflate(&payload);
        expected.encoding_received += compressed.len() as i64 - 1000;
        let bytes = [
            frame(Side::Client, BINARY, &payload), // this one is not compressed
            frame(Side::Client, (COMPRESSED | BINARY) & !FIN, &compressed[..3]),
            frame(Side::Client, PING, b"12345"),
            frame(Side::Client, CONTINUATION, &compressed[3..]),
        ]
        .concat();
        let before = server.layers();
        let (last, most) = bytes.split_last().unwrap();
        assert!(!feed(&mut server, most, &mut Vec::new(), &mut Vec::new()));
        assert_eq!(server.layers().encoding_received, before.encoding_received, "it is incomplete");
        assert!(!feed(&mut server, &[*last], &mut Vec::new(), &mut Vec::new()));
        assert_eq!(server.layers(), expected, "round {round}");
    }
    assert!(expected.encoding_sent < -2900 && expected.encoding_received < -2900, "{expected:?}");
}

/// Seeds decide what both sides send, how their messages to us are compressed, fragmented and cut, and what was agreed.
#[test]
fn another_implementation_of_deflate_understands_us_and_is_understood() {
    for seed in 0..SEEDS {
        let mut random = Random::new(seed);
        let role = [Side::Client, Side::Server][random.below(2)];
        let bits = |random: &mut Random| 9 + u8::try_from(random.below(7)).unwrap();
        let agreed = Agreed {
            level: 1 + u32::try_from(random.below(9)).unwrap(),
            received: Direction { takes_over: random.below(2) == 0, window_bits: 15 },
            sent: Direction { takes_over: random.below(2) == 0, window_bits: bits(&mut random) },
        };
        let mut ours = connection(role, agreed);
        let mut theirs = Theirs::new(agreed);
        for step in 0..30 {
            let payload = payload(&mut random);
            let mut tx = Vec::new();
            ours.send(Message { kind: Kind::Binary, payload: &payload }, &mut tx).unwrap();
            let (_, compressed) = take_frame(role, &mut &*tx);
            assert!(theirs.inflate(&compressed) == payload, "seed {seed}, step {step}: from us");

            let bytes = theirs.frames(other(role), &payload, &mut random);
            let mut lines = Vec::new();
            let mut rest = &*bytes;
            while !rest.is_empty() {
                let longest = [8, 1000, 100_000][random.below(3)];
                let (piece, after) = rest.split_at((1 + random.below(longest)).min(rest.len()));
                rest = after;
                assert!(
                    !feed(&mut ours, piece, &mut Vec::new(), &mut lines),
                    "{lines:?}, seed {seed}"
                );
            }
            let mut expected = Vec::new();
            let plain = frame(other(role), BINARY, &payload);
            feed(
                &mut WebSocket::established(role, LIMITS, 1),
                &plain,
                &mut Vec::new(),
                &mut expected,
            );
            assert_eq!(lines, expected, "seed {seed}, step {step}: from them");
        }
    }
}

/// Bytes with repetitions near and far, of a length at which something changes, or of any length.
fn payload(random: &mut Random) -> Vec<u8> {
    let edges = [0, 1, 2, 125, 126, 127, 512, 1024, 32_768, 65_535, 65_536];
    let len = match random.below(2) {
        0 => edges[random.below(edges.len())],
        _ => random.below(5000),
    };
    let mut payload = vec![0; len.min(16)];
    random.fill(&mut payload);
    while payload.len() < len {
        match random.below(3) {
            0 => payload.push(b"{}:,\"0123"[random.below(9)]),
            _ => {
                let start = random.below(payload.len());
                let end = (start + 1 + random.below(40)).min(payload.len());
                payload.extend_from_within(start..end);
            }
        }
    }
    payload.truncate(len);
    payload
}

/// The other end, with another implementation of DEFLATE.
pub(super) struct Theirs {
    agreed: Agreed,
    compressor: Box<CompressorOxide>,
    inflater: Box<InflateState>,
}

impl Theirs {
    /// `agreed` is seen from our side.
    pub(super) fn new(agreed: Agreed) -> Self {
        let mut compressor = Box::<CompressorOxide>::default();
        compressor.set_format_and_level(DataFormat::Raw, 9);
        Self { agreed, compressor, inflater: InflateState::new_boxed(DataFormat::Raw) }
    }

    /// The compressed payload of a message.
    pub(super) fn deflate(&mut self, payload: &[u8]) -> Vec<u8> {
        let mut compressed = self.flush(payload);
        if !self.agreed.received.takes_over {
            self.compressor.reset();
        }
        if compressed.is_empty() {
            return vec![0];
        }
        assert!(compressed.ends_with(&TAIL), "{}", compressed.escape_ascii());
        compressed.truncate(compressed.len() - TAIL.len());
        compressed
    }

    /// The inflated content of a payload.
    fn inflate(&mut self, compressed: &[u8]) -> Vec<u8> {
        if !self.agreed.sent.takes_over {
            self.inflater = InflateState::new_boxed(DataFormat::Raw);
        }
        let input = [compressed, &TAIL].concat();
        let mut rest = &*input;
        let mut inflated = Vec::new();
        let mut room = vec![0; 1 << 16];
        loop {
            let step = miniz_oxide::inflate::stream::inflate(
                &mut self.inflater,
                rest,
                &mut room,
                MZFlush::None,
            );
            rest = &rest[step.bytes_consumed..];
            inflated.extend_from_slice(&room[..step.bytes_written]);
            match step.status {
                Ok(MZStatus::Ok) if !rest.is_empty() || step.bytes_written == room.len() => {}
                Ok(MZStatus::Ok) => return inflated,
                Err(miniz_oxide::MZError::Buf) if rest.is_empty() => return inflated,
                status => panic!("{status:?}"),
            }
        }
    }

    /// A message as frames: compressed or not, in one block or several, in one fragment or several.
    fn frames(&mut self, from: Side, payload: &[u8], random: &mut Random) -> Vec<u8> {
        let (first, bytes) = match random.below(4) {
            0 => (BINARY, payload.to_vec()),
            1 => {
                let cut = random.below(payload.len() + 1);
                let mut bytes = self.flush(&payload[..cut]);
                let rest = self.deflate(&payload[cut..]);
                bytes.extend(rest);
                (COMPRESSED | BINARY, bytes)
            }
            _ => (COMPRESSED | BINARY, self.deflate(payload)),
        };
        let mut cuts: Vec<usize> =
            (0..random.below(4)).map(|_| random.below(bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let mut frames = Vec::new();
        for (index, cut) in cuts.windows(2).enumerate() {
            let first = if index == 0 { first } else { CONTINUATION };
            let first = if index + 2 == cuts.len() { first } else { first & !FIN };
            frames.extend(frame(from, first, &bytes[cut[0]..cut[1]]));
        }
        frames
    }

    fn flush(&mut self, payload: &[u8]) -> Vec<u8> {
        if payload.is_empty() {
            return Vec::new();
        }
        let mut compressed = Vec::new();
        let mut room = vec![0; 1 << 16];
        let mut rest = payload;
        loop {
            let step = miniz_oxide::deflate::stream::deflate(
                &mut self.compressor,
                rest,
                &mut room,
                MZFlush::Sync,
            );
            rest = &rest[step.bytes_consumed..];
            compressed.extend_from_slice(&room[..step.bytes_written]);
            if rest.is_empty() && step.bytes_written < room.len() {
                return compressed;
            }
        }
    }
}

/// A connection of `role` that agreed on compression.
pub(super) fn connection(role: Side, agreed: Agreed) -> WebSocket {
    WebSocket::established_with(agreed, role, LIMITS, 1)
}

const fn both(takes_over: bool) -> Agreed {
    let direction = Direction { takes_over, window_bits: 15 };
    Agreed { level: 6, received: direction, sent: direction }
}

/// With context takeover in both directions.
pub(super) const SHARED: Agreed = both(true);
/// Without context takeover.
pub(super) const FORGOTTEN: Agreed = both(false);

/// Our error for data that is not DEFLATE; zlib's own depends on how the data arrives.
const CORRUPT: &str = "it is not DEFLATE";

/// RSV1.
pub(super) const COMPRESSED: u8 = 0x40;

/// "Hello" (§7.2.3.1).
const HELLO: &[u8] = b"\xf2\x48\xcd\xc9\xc9\x07\x00";

const TAIL: [u8; 4] = [0, 0, 0xFF, 0xFF];

const LIMITS: Limits =
    Limits { fragments_max: 100, frame_len_max: 1 << 20, message_len_max: 1 << 20 };

const SEEDS: u64 = 40;
