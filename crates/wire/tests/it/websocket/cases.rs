//! The cases of the Autobahn suite, groups 1 to 7, under its numbers: in both roles, whole, byte by byte, and cut at
//! every position.

use super::peer::{BINARY, CLOSE, CONTINUATION, FIN, PING, PONG, TEXT, frame, header, other, play};
use wire::Side;
use wire::websocket::Limits;

/// A name, the frames that the peer sends, and the events that follow.
type Case<'a> = (&'a str, &'a [(u8, &'a [u8])], &'a [&'a str]);

/// The end of every conversation that nobody closes.
const NO_CLOSE: &str = "end connection ended without a Close frame (RFC 6455 §7.1.5, code 1006)";
const CLOSED: &str = "end closed None \"\"";

#[test]
fn messages_of_every_length_encoding_arrive() {
    let lens = [0, 1, 125, 126, 127, 128, 300, 65_535, 65_536, 70_000];
    for (len, kind) in lens.into_iter().flat_map(|len| [(len, TEXT), (len, BINARY)]) {
        let payload: Vec<u8> = (b'a'..=b'z').cycle().take(len).collect();
        for role in [Side::Client, Side::Server] {
            let bytes = frame(other(role), kind, &payload);
            let whole = play(role, Limits::default(), [&*bytes]);
            assert_eq!(whole.len(), 2, "{whole:?}");
            assert!(
                whole[0].starts_with(if kind == TEXT { "text " } else { "binary " }),
                "{whole:?}"
            );
            for piece_len in [1, 2, 7, 997] {
                assert_eq!(
                    play(role, Limits::default(), bytes.chunks(piece_len)),
                    whole,
                    "{len} bytes by {piece_len}"
                );
            }
        }
    }
}

#[test]
fn pings_are_answered_and_pongs_are_not() {
    let long = [b'*'; 125];
    let shown = "*".repeat(125);
    check(&[
        ("2.1", &[(PING, b"")], &["ping ", "> pong ", NO_CLOSE]),
        ("2.2", &[(PING, b"Hello")], &["ping Hello", "> pong Hello", NO_CLOSE]),
        (
            "2.3",
            &[(PING, b"\x00\xff\xfe\xfd\xfc\xfb\x00\xff")],
            &[
                r"ping \x00\xff\xfe\xfd\xfc\xfb\x00\xff",
                r"> pong \x00\xff\xfe\xfd\xfc\xfb\x00\xff",
                NO_CLOSE,
            ],
        ),
        (
            "2.4",
            &[(PING, &long)],
            &[&format!("ping {shown}"), &format!("> pong {shown}"), NO_CLOSE],
        ),
        (
            "2.5",
            &[(PING, &[b'*'; 126])],
            &[
                "error control frame of 126 bytes, at most 125 allowed (RFC 6455 §5.5)",
                "> close 1002 ",
            ],
        ),
        ("2.7", &[(PONG, b"")], &["pong ", NO_CLOSE]),
        ("2.8", &[(PONG, b"unsolicited")], &["pong unsolicited", NO_CLOSE]),
        (
            "2.9",
            &[(PONG, b"unsolicited"), (PING, b"ping")],
            &["pong unsolicited", "ping ping", "> pong ping", NO_CLOSE],
        ),
        (
            "2.10",
            &[(PING, b"1"), (PING, b"2"), (PING, b"3")],
            &["ping 1", "ping 2", "ping 3", "> pong 1", "> pong 2", "> pong 3", NO_CLOSE],
        ),
    ]);
}

#[test]
fn reserved_bits_are_refused_wherever_they_are() {
    let refused =
        |bits| format!("error reserved bits {bits} are set without an extension (RFC 6455 §5.2)");
    for (bits, shown) in (1..8).zip(["0b001", "0b010", "0b011", "0b100", "0b101", "0b110", "0b111"])
    {
        for opcode in [TEXT, BINARY, CLOSE, PING, PONG] {
            check(&[(
                "3.1 to 3.7",
                &[(TEXT, b"before"), (opcode | bits << 4, b"")],
                &["text before", &refused(shown), "> close 1002 "],
            )]);
        }
    }
}

#[test]
fn reserved_opcodes_are_refused() {
    for opcode in (0x3..=0x7).chain(0xB..=0xF) {
        let error = format!("error reserved opcode {opcode:#x} (RFC 6455 §5.2)");
        check(&[
            ("4.1, 4.2", &[(FIN | opcode, b"")], &[&error, "> close 1002 "]),
            (
                "4.1, 4.2 after a message",
                &[(TEXT, b"before"), (FIN | opcode, b"x"), (PING, b"")],
                &["text before", &error, "> close 1002 "],
            ),
        ]);
    }
}

#[test]
fn fragments_become_messages_and_control_frames_go_between_them() {
    let first = TEXT & !FIN;
    let middle = CONTINUATION & !FIN;
    let lone = "error continuation frame without a message to continue (RFC 6455 §5.4)";
    let fragmented = |opcode: u8| {
        format!("error control frame with opcode {opcode:#x} is fragmented (RFC 6455 §5.5)")
    };
    check(&[
        ("5.1", &[(PING & !FIN, b"1"), (CONTINUATION, b"2")], &[&fragmented(0x9), "> close 1002 "]),
        ("5.2", &[(PONG & !FIN, b"1"), (CONTINUATION, b"2")], &[&fragmented(0xA), "> close 1002 "]),
        ("a fragmented Close", &[(CLOSE & !FIN, b"")], &[&fragmented(0x8), "> close 1002 "]),
        ("5.3", &[(first, b"one"), (CONTINUATION, b"two")], &["text onetwo", NO_CLOSE]),
        (
            "5.6",
            &[(first, b"one"), (PING, b"ping"), (CONTINUATION, b"two")],
            &["ping ping", "text onetwo", "> pong ping", NO_CLOSE],
        ),
        ("5.9", &[(CONTINUATION, b"alone"), (TEXT, b"x")], &[lone, "> close 1002 "]),
        ("5.12", &[(middle, b"alone"), (TEXT, b"x")], &[lone, "> close 1002 "]),
        (
            "5.15",
            &[(first, b"1"), (CONTINUATION, b"2"), (middle, b"3"), (TEXT, b"4")],
            &["text 12", lone, "> close 1002 "],
        ),
        (
            "5.18",
            &[(first, b"1"), (TEXT, b"2")],
            &[
                "error new message after fragment 1 of an unfinished one (RFC 6455 §5.4)",
                "> close 1002 ",
            ],
        ),
        (
            "5.19",
            &[
                (first, b"1"),
                (middle, b"2"),
                (PING, b"pongme 1"),
                (middle, b"3"),
                (middle, b"4"),
                (PING, b"pongme 2"),
                (CONTINUATION, b"5"),
            ],
            &[
                "ping pongme 1",
                "ping pongme 2",
                "text 12345",
                "> pong pongme 1",
                "> pong pongme 2",
                NO_CLOSE,
            ],
        ),
        (
            "a Close between fragments",
            &[(first, b"1"), (CLOSE, b""), (CONTINUATION, b"2")],
            &["closed None \"\"", "> close", CLOSED],
        ),
        (
            "the end between fragments",
            &[(BINARY & !FIN, b"1"), (middle, b"2")],
            &["end connection ended in the middle of a message, after fragment 2 (RFC 6455 §5.4)"],
        ),
        ("6.1.2", &[(first, b""), (middle, b""), (CONTINUATION, b"")], &["text ", NO_CLOSE]),
        (
            "6.1.3",
            &[(first, b""), (middle, b"middle"), (CONTINUATION, b"")],
            &["text middle", NO_CLOSE],
        ),
    ]);
}

#[test]
fn a_close_is_answered_once_and_nothing_after_it_is_understood() {
    let bye = "closed Some(1000) \"bye\"";
    let longest = [b"\x03\xe8".as_slice(), &[b'*'; 123]].concat();
    check(&[
        (
            "7.1.1",
            &[(TEXT, b"Hello"), (CLOSE, b"\x03\xe8")],
            &["text Hello", "closed Some(1000) \"\"", "> close 1000 ", CLOSED],
        ),
        (
            "7.1.2",
            &[(CLOSE, b"\x03\xe8bye"), (CLOSE, b"\x03\xe8")],
            &[bye, "> close 1000 ", CLOSED],
        ),
        ("7.1.3", &[(CLOSE, b"\x03\xe8bye"), (PING, b"")], &[bye, "> close 1000 ", CLOSED]),
        ("7.1.4", &[(CLOSE, b"\x03\xe8bye"), (TEXT, b"x")], &[bye, "> close 1000 ", CLOSED]),
        ("7.3.1", &[(CLOSE, b"")], &["closed None \"\"", "> close", CLOSED]),
        (
            "7.3.2",
            &[(CLOSE, b"a")],
            &[
                "error Close frame of 1 byte, 0 or at least 2 expected (RFC 6455 §5.5.1)",
                "> close 1002 ",
            ],
        ),
        (
            "7.3.5",
            &[(CLOSE, &longest)],
            &[&format!("closed Some(1000) {:?}", "*".repeat(123)), "> close 1000 ", CLOSED],
        ),
        (
            "7.3.6",
            &[(CLOSE, &[longest.as_slice(), b"*"].concat())],
            &[
                "error control frame of 126 bytes, at most 125 allowed (RFC 6455 §5.5)",
                "> close 1002 ",
            ],
        ),
        (
            "7.5.1",
            &[(CLOSE, b"\x03\xe8ok\xce\xba\xe1\xbd\xb9\xed\xa0\x80edited")],
            &["error close reason is not UTF-8 from byte 7 on (RFC 6455 §5.5.1)", "> close 1007 "],
        ),
    ]);
}

#[test]
fn a_close_code_is_echoed_or_refused() {
    for code in [
        1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 3999, 4000,
        4999_u16,
    ] {
        let (closed, sent) = (format!("closed Some({code}) \"\""), format!("> close {code} "));
        check(&[("7.7", &[(CLOSE, &code.to_be_bytes())], &[&closed, &sent, CLOSED])]);
    }
    for code in [0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65_535_u16] {
        let error = format!("error close code {code} must not be sent (RFC 6455 §7.4)");
        check(&[("7.9, 7.13", &[(CLOSE, &code.to_be_bytes())], &[&error, "> close 1002 "])]);
    }
}

#[test]
fn masks_of_the_wrong_side_are_refused() {
    for (role, error) in [
        (Side::Client, "error frame of the server is masked (RFC 6455 §5.1)"),
        (Side::Server, "error frame of the client is not masked (RFC 6455 §5.1)"),
    ] {
        let bytes = frame(role, TEXT, b"as if it were ours");
        check_splits("§5.1", role, &bytes, &[error, "> close 1002 "]);
    }
}

#[test]
fn lengths_that_are_not_minimal_or_too_long_for_the_rfc_are_refused() {
    #[rustfmt::skip]
    let table: &[(&[u8], &str)] = &[
        (b"\x82\x7e\x00\x7d",                    "error payload length 125 is not encoded in the minimal number of bytes (RFC 6455 §5.2)"),
        (b"\x82\x7f\0\0\0\0\0\0\xff\xff",        "error payload length 65535 is not encoded in the minimal number of bytes (RFC 6455 §5.2)"),
        (b"\x82\x7f\x80\0\0\0\0\0\0\x05",        "error payload length 0x8000000000000005 has its most significant bit set (RFC 6455 §5.2)"),
    ];
    for (bytes, error) in table {
        check_splits("§5.2", Side::Client, bytes, &[error, "> close 1002 "]);
    }
}

#[test]
fn an_end_in_the_middle_of_a_frame_is_told_from_one_between_messages() {
    for role in [Side::Client, Side::Server] {
        let bytes = frame(other(role), BINARY, b"12345678");
        let header_len = header(other(role), BINARY, 8).len();
        for len in 0..bytes.len() {
            let missing = if len < header_len { 1 } else { bytes.len() - len };
            let expected = match len {
                0 => NO_CLOSE.to_owned(),
                _ => format!(
                    "end connection ended in the middle of a frame, at least {missing} bytes before its end (RFC 6455 §7.1.5)"
                ),
            };
            check_splits("cut off", role, &bytes[..len], &[&expected]);
        }
    }
}

/// Plays `cases` in both roles and in all splits.
fn check(cases: &[Case<'_>]) {
    for (name, frames, expected) in cases {
        for role in [Side::Client, Side::Server] {
            let bytes: Vec<u8> = frames
                .iter()
                .flat_map(|(first, payload)| frame(other(role), *first, payload))
                .collect();
            check_splits(name, role, &bytes, expected);
        }
    }
}

/// Plays `bytes` whole, byte by byte, and cut at every position. The events must be the same, and so must the bytes
/// sent; bytes are sent as soon as possible, so that only the order between the two depends on the split.
fn check_splits(name: &str, role: Side, bytes: &[u8], expected: &[&str]) {
    let whole = play(role, Limits::default(), [bytes]);
    assert_eq!(whole, expected, "{name}, {role:?}");
    let sorted = |lines: Vec<String>| -> (Vec<String>, Vec<String>) {
        lines.into_iter().partition(|line| line.starts_with('>'))
    };
    let whole = sorted(whole);
    assert_eq!(
        sorted(play(role, Limits::default(), bytes.chunks(1))),
        whole,
        "{name}, {role:?}, byte by byte"
    );
    for cut in 0..=bytes.len() {
        let (left, right) = bytes.split_at(cut);
        assert_eq!(
            sorted(play(role, Limits::default(), [left, right])),
            whole,
            "{name}, {role:?}, cut at {cut}"
        );
    }
}
