//! Text is checked as it arrives: the cases of group 6 of the Autobahn suite.

use super::peer::{CONTINUATION, FIN, TEXT, frame, header, other, play};
use wire::Side;
use wire::websocket::Limits;

/// A payload that is not UTF-8, cut where the Autobahn suite waits before it sends the rest, and the number of the
/// piece after which the machine must refuse it: one more than there are pieces if only the message's end shows it.
type Chops<'a> = (&'a str, &'a [&'a [u8]], usize);

const CASES: &[Chops<'_>] = &[
    ("6.3.1", &[b"\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5", b"\xed\xa0\x80", b"edited"], 2),
    (
        "6.4.1",
        &[b"\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5", b"\xf4\x90\x80\x80", b"edited"],
        2,
    ),
    (
        "6.4.2",
        &[b"\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5\xf4", b"\x90", b"\x80\x80edited"],
        2,
    ),
    ("a continuation byte alone", &[b"abc", b"\x80", b"def"], 2),
    ("an overlong start", &[b"abc\xc0", b"\xaf", b"def"], 1),
    ("a start after a start", &[b"abc\xe2", b"\xe2", b"\x82\xac"], 2),
    ("a character without its end", &[b"abc", b"\xe2\x82"], 3),
];

#[test]
fn text_is_refused_in_the_middle_of_a_frame_as_soon_as_it_cannot_become_utf8() {
    for (name, chops, refused_after) in CASES {
        for role in [Side::Client, Side::Server] {
            let bytes = frame(other(role), TEXT, &chops.concat());
            let mut cut = header(other(role), TEXT, chops.concat().len() as u64).len();
            let mut pieces = vec![&bytes[..cut]];
            for chop in *chops {
                pieces.push(&bytes[cut..cut + chop.len()]);
                cut += chop.len();
            }
            // The last byte of the frame is also the end of the message.
            let expected = (*refused_after).min(chops.len());
            assert_eq!(refusal(role, &pieces), Some(expected), "{name}, {role:?}");
            assert_eq!(refusal(role, &[&*bytes]), Some(0), "{name}, {role:?}, in one piece");
        }
    }
}

#[test]
fn text_is_refused_in_the_fragment_in_which_it_cannot_become_utf8() {
    for (name, chops, refused_after) in CASES {
        for role in [Side::Client, Side::Server] {
            let mut pieces: Vec<Vec<u8>> = chops
                .iter()
                .enumerate()
                .map(|(index, chop)| {
                    let first = if index == 0 { TEXT } else { CONTINUATION };
                    frame(other(role), first & !FIN, chop)
                })
                .collect();
            pieces.push(frame(other(role), CONTINUATION, b""));
            let pieces: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
            assert_eq!(refusal(role, &pieces), Some(refused_after - 1), "{name}, {role:?}");
        }
    }
}

#[test]
fn characters_may_be_cut_anywhere_by_fragments_and_by_reads() {
    let text = "Hello-µ@ßöäüàá-UTF-8!! κόσμε \u{7FF}\u{800}\u{FFFF}\u{10000}\u{10FFFF}";
    for role in [Side::Client, Side::Server] {
        let expected = play(role, Limits::default(), [&*frame(other(role), TEXT, text.as_bytes())]);
        for cut in 0..=text.len() {
            let (left, right) = text.as_bytes().split_at(cut);
            let bytes =
                [frame(other(role), TEXT & !FIN, left), frame(other(role), CONTINUATION, right)]
                    .concat();
            assert_eq!(
                play(role, Limits::default(), [&*bytes]),
                expected,
                "{role:?}, cut at {cut}"
            );
            assert_eq!(
                play(role, Limits::default(), bytes.chunks(1)),
                expected,
                "{role:?}, cut at {cut}, by bytes"
            );
        }
    }
}

/// The index of the piece after which a connection closes with 1007.
fn refusal(role: Side, pieces: &[&[u8]]) -> Option<usize> {
    (0..pieces.len()).find(|index| {
        let lines = play(role, Limits::default(), pieces[..=*index].iter().copied());
        lines.iter().any(|line| line.starts_with("error text message is not UTF-8"))
            && lines.last().is_some_and(|line| line == "> close 1007 ")
    })
}
