//! Properties that hold for any input of a client that holds a conversation, and of its finder of ids.

use super::learnt::Learnt;
use super::rules::{Heard, Hits, Rules};
use super::sample::{asked, conversation, json_rpc, matcher, push, socket_io, step};
use super::{Compiled, Talk};
use crate::connection::Connection;
use crate::contract::{Input, Kind, Message, Protocol, Side};
use crate::transcript::check_splits_of_replies;
use crate::websocket::{Limits, WebSocket};
use spec::Conversation;
use spec::conversation::{ByteOrder, Cue, Frame, LengthWidth, Speaks};
use std::sync::Arc;
use units::{Bytes, Nanos};

/// Frames of WebSocket that come to a client while it opens, and when it is open and awaits three replies; and bytes
/// that come to one on a stream.
pub(crate) fn fuzz_conversation(bytes: &[u8]) {
    for conversation in [json_rpc(), socket_io(), on_rs()] {
        let compiled = compiled(&conversation);
        check_splits_of_replies(bytes, &|| awaiting(&compiled));
    }
    let length = Frame::Length {
        width: LengthWidth::Varint,
        order: ByteOrder::Big,
        includes_itself: true,
        max: Bytes(64),
    };
    for frame in [Frame::Nul, Frame::Lines, length] {
        let compiled = compiled(&on_stream(frame));
        check_splits_of_replies(bytes, &|| awaiting(&compiled));
    }
}

/// Messages, one a line, in which an id is looked for: what was learnt from those before never says anything else than
/// a look at the message, if that is JSON in which no name comes twice.
pub(crate) fn fuzz_conversation_matcher(bytes: &[u8]) {
    let mut rules = Rules::default();
    for (index, words) in RULES.iter().enumerate() {
        rules.add(&matcher(words), index).expect("there are few rules");
    }
    let mut learnt = Learnt::default();
    for message in bytes.split(|byte| *byte == b'\n') {
        let decide = |learnt: &mut Learnt| {
            let heard = Heard { bytes: message, status: None };
            rules.decide(heard, learnt, &mut Hits::default(), |rule, id| Some((*rule, id)))
        };
        let (known, anew) = (decide(&mut learnt), decide(&mut Learnt::default()));
        if is_plain_json(message) {
            assert_eq!(known, anew, "{}", message.escape_ascii());
        }
    }
}

/// True for JSON that is the same when it is written again, white space apart: so no name comes twice in it.
fn is_plain_json(bytes: &[u8]) -> bool {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
    let length = |bytes: &[u8]| bytes.iter().filter(|byte| !is_space(byte)).count();
    serde_json::from_slice::<serde_json::Value>(bytes)
        .is_ok_and(|value| length(value.to_string().as_bytes()) == length(bytes))
}

const RULES: [&[&str]; 4] = [
    &["$.type=3", "lacks $.error", "id $.id"],
    &["has $.result", "id $.id"],
    &["$[0]=\"r\"", "id $[1]"],
    &["has $.error", "id $.id"],
];

fn compiled(conversation: &Conversation) -> Arc<Compiled> {
    Compiled::new(conversation).expect("it can be held")
}

fn on_rs() -> Conversation {
    Conversation {
        open: vec![step("hello", &["is {}"])],
        pushes: vec![push(&["has $.push"], Some("$.push"))],
        frame: Frame::Rs,
        ..json_rpc()
    }
}

fn on_stream(frame: Frame) -> Conversation {
    Conversation {
        requests: vec![asked("${id}", &["starts r", "id r|"], &["starts e"])],
        pushes: vec![push(&["contains push"], None)],
        ..conversation(Speaks::Tcp, frame)
    }
}

/// A client that has sent three requests, if it is open by itself.
fn awaiting(compiled: &Arc<Compiled>) -> Talk<Connection> {
    let inner: Connection = match compiled.speaks() {
        Speaks::Tcp => compiled.stream(64).into(),
        Speaks::Ws | Speaks::Http | Speaks::Sse => {
            WebSocket::established(Side::Client, Limits::default(), 7).into()
        }
    };
    let mut talk = Talk::new(inner, compiled, 0, 7, 64);
    talk.open(&mut Vec::new());
    while let Ok(Some(_)) = talk.receive(&mut Input::new(&mut []), &mut Vec::new()) {}
    for sequence in 0..3 {
        let mut cue = [0; Cue::LEN];
        Cue { sequence, exchange: 0, due: Nanos(0) }.write(&mut cue);
        // Before it is open nothing is sent.
        let _sent: Result<_, _> =
            talk.send(Message { kind: Kind::Text, payload: &cue }, &mut Vec::new());
    }
    talk
}
