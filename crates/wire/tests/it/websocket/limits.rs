//! Every limit is reached: its value passes, one more does not. And group 9 of the Autobahn suite: long messages.

use super::peer::{BINARY, CONTINUATION, FIN, TEXT, frame, header, other, play};
use wire::Side;
use wire::websocket::Limits;

#[test]
fn a_frame_may_be_as_long_as_its_limit_and_no_longer() {
    let limits = Limits { frame_len_max: 1000, ..Limits::default() };
    check(limits, 1000, &[(BINARY, 1000)], None);
    check(limits, 1001, &[(BINARY, 1001)], Some("error frame of 1001 bytes, limit is 1000"));
    check(limits, 2000, &[(BINARY & !FIN, 1000), (CONTINUATION, 1000)], None);
    check(
        limits,
        2001,
        &[(BINARY & !FIN, 1000), (CONTINUATION, 1001)],
        Some("error frame of 1001 bytes, limit is 1000"),
    );
}

#[test]
fn a_message_may_be_as_long_as_its_limit_and_no_longer() {
    let limits = Limits { message_len_max: 1000, ..Limits::default() };
    check(limits, 1000, &[(TEXT, 1000)], None);
    check(
        limits,
        1001,
        &[(TEXT, 1001)],
        Some("error message of 1001 bytes or more, limit is 1000"),
    );
    check(limits, 1000, &[(TEXT & !FIN, 1000), (CONTINUATION, 0)], None);
    check(
        limits,
        1001,
        &[(TEXT & !FIN, 600), (CONTINUATION & !FIN, 400), (CONTINUATION, 1)],
        Some("error message of 1001 bytes or more, limit is 1000"),
    );
}

#[test]
fn a_message_may_have_as_many_fragments_as_its_limit_and_no_more() {
    let limits = Limits { fragments_max: 3, ..Limits::default() };
    let middle = CONTINUATION & !FIN;
    check(limits, 3, &[(BINARY & !FIN, 1), (middle, 1), (CONTINUATION, 1)], None);
    check(
        limits,
        3,
        &[(BINARY & !FIN, 1), (middle, 1), (middle, 1), (CONTINUATION, 0)],
        Some("error message of 4 fragments or more, limit is 3"),
    );
}

#[test]
fn a_length_over_the_limit_is_refused_before_its_bytes_arrive() {
    for role in [Side::Client, Side::Server] {
        for len in [(1 << 20) + 1, u64::MAX >> 1] {
            let header = header(other(role), BINARY, len);
            let error = format!("error frame of {len} bytes, limit is 1048576");
            assert_eq!(
                play(role, Limits::default(), [&*header]),
                [error.as_str(), "> close 1009 "]
            );
        }
    }
}

#[test]
fn without_limits_a_frame_of_any_length_is_awaited() {
    let limits =
        Limits { fragments_max: u32::MAX, frame_len_max: usize::MAX, message_len_max: usize::MAX };
    let header = header(Side::Server, BINARY, u64::MAX >> 1);
    let said = play(Side::Client, limits, [&*header]);
    assert!(said[0].starts_with("end connection ended in the middle of a frame"), "{said:?}");
}

#[test]
fn long_messages_arrive_in_whatever_fragments_and_reads() {
    let limits = Limits { frame_len_max: 16 << 20, message_len_max: 16 << 20, ..Limits::default() };
    #[rustfmt::skip]
    let table = [
        //  case     first   message    fragment   read
        ("9.1.6",  TEXT,   16 << 20,  16 << 20,  64 << 10),
        ("9.2.6",  BINARY, 16 << 20,  16 << 20,  64 << 10),
        ("9.3.1",  TEXT,    4 << 20,        64,  64 << 10),
        ("9.4.9",  BINARY,  4 << 20,   1 << 20,  64 << 10),
        ("9.5.1",  TEXT,    1 << 20,   1 << 20,        64),
        ("9.6.1",  BINARY,  1 << 20,   1 << 20,        64),
        ("10.1.1", TEXT,   65_536,        1300,  64 << 10),
    ];
    for (name, first, len, fragment_len, read_len) in table {
        let payload: Vec<u8> = (b'a'..=b'z').cycle().take(len).collect();
        let expected = play(Side::Server, limits, [&*frame(Side::Client, first, &payload)]);
        let mut bytes = frame(Side::Client, first & !FIN, b"");
        for fragment in payload.chunks(fragment_len) {
            bytes.extend(frame(Side::Client, CONTINUATION & !FIN, fragment));
        }
        bytes.extend(frame(Side::Client, CONTINUATION, b""));
        assert_eq!(play(Side::Server, limits, bytes.chunks(read_len)), expected, "{name}");
    }
}

/// Feeds both roles frames with payloads of these lengths: they yield a message of `len` bytes, or `error` and 1009.
fn check(limits: Limits, len: usize, frames: &[(u8, usize)], error: Option<&str>) {
    for role in [Side::Client, Side::Server] {
        let bytes: Vec<u8> = frames
            .iter()
            .flat_map(|(first, len)| frame(other(role), *first, &vec![b'x'; *len]))
            .collect();
        for piece_len in [1, 7, bytes.len()] {
            let said = play(role, limits, bytes.chunks(piece_len));
            match error {
                Some(error) => assert_eq!(
                    said,
                    [error, "> close 1009 "],
                    "{role:?}, {frames:?} by {piece_len}"
                ),
                None => {
                    let message = play(
                        role,
                        Limits::default(),
                        [&*frame(other(role), frames[0].0 | FIN, &vec![b'x'; len])],
                    );
                    assert_eq!(said, message, "{role:?}, {frames:?} by {piece_len}");
                }
            }
        }
    }
}
