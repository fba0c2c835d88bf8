//! Conversations in bytes: a game's own framing, over WebSocket and over TCP.

use super::*;
use crate::connection::Connection;
use crate::contract::Side;
use crate::conversation::sample::*;
use crate::transcript::check_splits_of_replies;
use crate::websocket::{Limits, WebSocket};
use spec::Conversation;
use spec::conversation::{ByteOrder, Cue, LengthWidth, Speaks, Step};
use units::Bytes;

type Talk = super::Talk<Connection>;

/// A hello that is answered by a token, moves with an id, and moves of others with their instant.
fn game(speaks: Speaks, frame: Frame) -> Conversation {
    let hello = step("0x 01 ${client:u16be} 6869", &["@0 02"]);
    let takes = vec![take("token", "@1:4"), take("level", "@5:i16le")];
    Conversation {
        open: vec![Step { take: takes, ..hello }],
        requests: vec![asked(
            "0x 10 ${id:u32le} ${now:u64be} ${level:i8} ${token}",
            &["@0 11", "id @1:u32le"],
            &["@0 12", "id @1:u32le"],
        )],
        pushes: vec![push(&["@0 20"], Some("@1:u64be"))],
        answers: vec![answer(&["@0 30"], "0x31")],
        ..conversation(speaks, frame)
    }
}

const WELCOME: &[u8] = b"\x02\xffkey\xfe\xff";

const MOVES: [&[u8]; 3] = [
    b"\x10\x80\x96\x98\0\0\0\0\0\0\x0f\x42\x40\xfe\xffkey",
    b"\x10\x81\x96\x98\0\0\0\0\0\0\x0f\x42\x41\xfe\xffkey",
    b"\x10\x82\x96\x98\0\0\0\0\0\0\x0f\x42\x42\xfe\xffkey",
];

/// Every way in which a message of bytes ends.
fn ways() -> Vec<(Speaks, Frame)> {
    let length = |width, order, includes_itself| Frame::Length {
        width,
        order,
        includes_itself,
        max: Bytes(64),
    };
    vec![
        (Speaks::Ws, Frame::Message),
        (Speaks::Ws, length(LengthWidth::Two, ByteOrder::Big, false)),
        (Speaks::Tcp, length(LengthWidth::Two, ByteOrder::Big, true)),
        (Speaks::Tcp, length(LengthWidth::Four, ByteOrder::Little, false)),
    ]
}

/// The messages as `side` sends them.
fn framed(side: Side, speaks: Speaks, frame: Frame, messages: &[&[u8]]) -> Vec<u8> {
    let mut sent = Vec::new();
    let mut machine = WebSocket::established(side, Limits::default(), 7);
    for message in messages {
        let mut bytes = message.to_vec();
        Cut::new(frame, 1 << 10).finish(0, &mut bytes).unwrap();
        if speaks == Speaks::Tcp {
            sent.extend(bytes);
        } else {
            let message = Message { kind: Kind::Binary, payload: &bytes };
            machine.send(message, &mut sent).unwrap();
        }
    }
    sent
}

/// The client after the server's hello, and what it sent.
fn greeted(speaks: Speaks, frame: Frame, welcome: &[u8]) -> Result<(Talk, Vec<u8>), String> {
    let compiled = Compiled::new(&game(speaks, frame)).unwrap();
    let inner: Connection = if speaks == Speaks::Tcp {
        compiled.stream(1 << 10).into()
    } else {
        WebSocket::established(Side::Client, Limits::default(), 7).into()
    };
    let mut talk = Talk::new(inner, &compiled, 0x102, 7, 1 << 10);
    let mut tx = Vec::new();
    talk.open(&mut tx);
    let mut bytes = framed(Side::Server, speaks, frame, &[welcome]);
    let mut input = Input::new(&mut bytes);
    loop {
        match talk.receive(&mut input, &mut tx) {
            Ok(Some(_)) => {}
            Ok(None) => return Ok((talk, tx)),
            Err(error) => return Err(error.to_string()),
        }
    }
}

/// Sends three moves.
fn ask(talk: &mut Talk, tx: &mut Vec<u8>) -> Result<(), MisuseError> {
    (0..3).try_for_each(|sequence| {
        let mut cue = [0; Cue::LEN];
        let due = Nanos(1_000_000 + u64::from(sequence));
        Cue { sequence, exchange: 0, due }.write(&mut cue);
        talk.send(Message { kind: Kind::Binary, payload: &cue }, tx)
    })
}

#[test]
fn messages_of_bytes_go_out_as_they_are_described_and_in_binary_frames() {
    for (speaks, frame) in ways() {
        let (mut talk, mut tx) = greeted(speaks, frame, WELCOME).unwrap();
        ask(&mut talk, &mut tx).unwrap();
        let said = [&[&b"\x01\x01\x02hi"[..]], &MOVES[..]].concat();
        assert_eq!(
            tx.escape_ascii().to_string(),
            framed(Side::Client, speaks, frame, &said).escape_ascii().to_string(),
            "{speaks:?} {frame:?}"
        );
    }
}

#[test]
fn replies_in_bytes_are_matched_by_kind_and_id_in_any_order() {
    let heard: [&[u8]; 9] = [
        b"\x11\x82\x96\x98\0 and more",
        b"\x20\0\0\0\0\0\0\0\x07",
        b"\x12\x80\x96\x98\0",
        b"\x30",
        // An unknown id, an unknown kind, and messages that end within the id and the instant.
        b"\x11\x83\x96\x98\0",
        b"\x13\x81\x96\x98\0",
        b"\x11\x81\x96\x98",
        b"\x20\0",
        b"\x11\x81\x96\x98\0",
    ];
    let events = [
        r#"answered 0#2 "\x11\x82\x96\x98\x00 and more""#,
        r#"Delivery 0 sent 7 " \x00\x00\x00\x00\x00\x00\x00\x07""#,
        r#"refused 0#0 "\x12\x80\x96\x98\x00""#,
        r#"Unexpected "\x11\x83\x96\x98\x00""#,
        r#"Unexpected "\x13\x81\x96\x98\x00""#,
        r#"Unexpected "\x11\x81\x96\x98""#,
        r#"Notice 0 " \x00""#,
        r#"answered 0#1 "\x11\x81\x96\x98\x00""#,
    ];
    for (speaks, frame) in ways() {
        let machine = || {
            let (mut talk, _) = greeted(speaks, frame, WELCOME).unwrap();
            ask(&mut talk, &mut Vec::new()).unwrap();
            talk
        };
        let bytes = framed(Side::Server, speaks, frame, &heard);
        let mut transcript = check_splits_of_replies(&bytes, &machine);
        transcript.events.retain(|event| event != "ping \"\"" && !event.starts_with("end: "));
        assert_eq!(transcript.events, events, "{speaks:?} {frame:?}");
        let (mut talk, _) = greeted(speaks, frame, WELCOME).unwrap();
        ask(&mut talk, &mut Vec::new()).unwrap();
        let mut rest = framed(Side::Server, speaks, frame, &[b"\x30"]);
        let (mut input, mut tx) = (Input::new(&mut rest), Vec::new());
        while talk.receive(&mut input, &mut tx).unwrap().is_some() {}
        let pong = framed(Side::Client, speaks, frame, &[b"\x31"]);
        assert_eq!(tx.len(), pong.len(), "a message of bytes is answered by one");
    }
}

#[test]
fn another_hello_and_values_that_do_not_fit_are_named() {
    let (speaks, frame) = ways()[2];
    #[rustfmt::skip]
    let table: [(&[u8], &str); _] = [
        (b"\x03",      "step 1 of 1 of opening: got \"\\x03\", expected the bytes 02 at @0"),
        (b"\x02abc",   "step 1 of 1 of opening: no value for `token` at @1:4 in \"\\x02abc\""),
        (b"\x02\xffkey\xfe", "no value for `level` at @5:i16le in"),
    ];
    for (welcome, message) in table {
        let error = greeted(speaks, frame, welcome).map(|_| ()).unwrap_err();
        assert!(error.contains(message), "{error}");
    }
    let (mut talk, mut tx) = greeted(speaks, frame, b"\x02token\x02").unwrap();
    let sent = tx.len();
    let error = ask(&mut talk, &mut tx).unwrap_err().to_string();
    assert_eq!(error, "the value of `${level:i8}` is not a whole number from -128 to 127");
    assert_eq!(tx.len(), sent, "nothing goes out");
}
