//! Properties that hold for any input to a client that holds a conversation, and to its finder of ids.

use super::learnt::Learnt;
use super::rules::{Heard, Hits, Rules};
use super::sample::{
    asked, conversation, json_rpc, matcher, one_stream, over_http, push, resumable, socket_io,
    step, stream,
};
use super::template::{self, Filling, Member};
use super::{Calls, Compiled, Site, Talk};
use crate::connection::Connection;
use crate::contract::{Event, Input, Kind, Message, Protocol, Side};
use crate::http1::redirect::Origin;
use crate::http1::{Http1, Maker};
use crate::over_http::{self, OverHttp};
use crate::socketio::Ticket;
use crate::transcript::{HTTP_LIMITS, check_splits_of_replies};
use crate::websocket::{Limits, WebSocket};
use serde_json::Value;
use spec::Conversation;
use spec::conversation::{ByteOrder, Cue, Frame, LengthWidth, Medium, Separator, Speaks, Template};
use std::sync::Arc;
use units::{Bytes, Nanos, Random};

/// WebSocket frames received by a client while it opens, and once it is open and awaits three replies; by a Socket.IO
/// client that comes back; and bytes received by a client on a stream.
pub(crate) fn fuzz_conversation(bytes: &[u8]) {
    for conversation in [json_rpc(), socket_io(), on_rs()] {
        let compiled = compiled(&conversation);
        check_splits_of_replies(bytes, &|| awaiting(&compiled));
    }
    let socket_io = compiled(&socket_io());
    check_splits_of_replies(bytes, &|| {
        let mut talk = Talk::new(websocket(), &socket_io, 0, 7, 64).over_socketio(true);
        talk.come_back(Ticket::new("p", b"7"));
        talk.open(&mut Vec::new());
        talk
    });
    let length = Frame::Length {
        width: LengthWidth::Varint,
        order: ByteOrder::Big,
        includes_itself: true,
        max: Bytes(64),
    };
    let separator = Separator::new("\r\n\r\n").expect("it is short");
    let separator = Frame::Separator { separator, max: Bytes(64) };
    for frame in [Frame::Nul, Frame::Lines, Frame::Resp, separator, length] {
        let compiled = compiled(&on_stream(frame));
        check_splits_of_replies(bytes, &|| awaiting(&compiled));
    }
    for (speaks, frame) in [(Speaks::Tcp, length), (Speaks::Ws, Frame::Message)] {
        let compiled = compiled(&of_bytes(speaks, frame));
        check_splits_of_replies(bytes, &|| awaiting(&compiled));
    }
}

/// Responses to a client that has made two requests over HTTP: whole ones, and streams of events with and without an
/// event that ends them. Then responses to a client whose stream is resumed, with a byte 0x1E between the bytes of one
/// connection and those of the next. Last, responses to receivers of a single stream of events, parts or chunks, and to
/// one that polls.
pub(crate) fn fuzz_conversation_http(bytes: &[u8]) {
    let streams =
        [stream(&["has $.a"], &[], Some(&["is [DONE]"])), stream(&[], &["id $.id"], None)];
    for conversation in [over_http()].into_iter().chain(streams) {
        let compiled = compiled(&conversation);
        check_splits_of_replies(bytes, &|| calling(&compiled, 2));
    }
    let tokens = stream(&[], &["has $.a"], Some(&["is [DONE]"]));
    let resumed = resumable(tokens, RESUMES_MAX, Nanos(1));
    check_resumed(bytes, &mut calling(&compiled(&resumed), 1));
    let one = compiled(&one_stream());
    let sessions = [
        over_http::Session::of_events,
        over_http::Session::of_polls,
        over_http::Session::of_parts,
        over_http::Session::of_chunks,
    ];
    for session in sessions {
        check_splits_of_replies(bytes, &|| receiving(session("h", "/", &[]), &one));
    }
}

/// Checks that a stream is resumed no more often than allowed, each time by a request with the id of its last event,
/// and that it is answered at most once.
fn check_resumed(bytes: &[u8], calls: &mut Calls<Connection>) {
    let (mut answers, mut resumes) = (0, 0);
    for piece in bytes.split(|byte| *byte == RECORD_SEPARATOR) {
        let mut received = piece.to_vec();
        let mut input = Input::new(&mut received);
        let mut is_over = false;
        while !is_over {
            match calls.receive(&mut input, &mut Vec::new()) {
                Ok(Some(Event::Answer(_))) => answers += 1,
                Ok(Some(Event::Closed(_))) | Err(_) => is_over = true,
                Ok(Some(_)) => {}
                Ok(None) => {
                    is_over = true;
                    answers += u32::from(matches!(calls.end(), Ok(Event::Answer(_))));
                }
            }
        }
        assert!(answers <= 1, "one request is answered {answers} times");
        if calls.go_on().is_none() {
            break;
        }
        resumes += 1;
        assert!(resumes <= RESUMES_MAX, "{resumes} connections for the rest of one stream");
        let mut tx = Vec::new();
        calls.open(&mut tx);
        let request = tx.escape_ascii().to_string();
        assert_eq!(request.matches("\\r\\nLast-Event-ID: ").count(), 1, "{request}");
    }
}

/// A text with holes, up to the first empty line, followed by the value of all its vars: a value never breaks out of
/// the place that the text gives it.
pub(crate) fn fuzz_conversation_template(bytes: &[u8]) {
    let Ok(input) = str::from_utf8(bytes) else { return };
    let (text, value) = input.split_once("\n\n").unwrap_or((input, "a\"\\\r\n\0 &/\u{e9}"));
    check_bytes(text, value);
    for medium in [Medium::Message, Medium::Url, Medium::Header, Medium::Plain] {
        let Ok(template) = Template::parse(text, medium) else { continue };
        let again = Template::parse(&template.to_string(), medium);
        assert_eq!(again.as_ref(), Ok(&template), "it is read as it is written");
        if template.len_min() > 1 << 16 {
            continue;
        }
        let (plain, filled) = (written(&template, "x"), written(&template, value));
        let count = |bytes: &[u8], of: &[u8]| bytes.iter().filter(|byte| of.contains(byte)).count();
        match medium {
            // Where a letter fits, which is inside a string, any text fits.
            Medium::Message if is_json(&plain) => {
                assert!(is_json(&filled), "{}", filled.escape_ascii());
            }
            Medium::Url => assert_eq!(count(&filled, b" /?#&\r\n"), count(&plain, b" /?#&\r\n")),
            Medium::Header => assert_eq!(count(&filled, b"\r\n\0"), count(&plain, b"\r\n\0")),
            Medium::Message | Medium::Plain => {}
        }
    }
}

/// Checks the same text as a template of bytes, if it is one: it is read as it is written, and what it writes is no
/// shorter than its minimum.
fn check_bytes(text: &str, value: &str) {
    let Ok(template) = Template::parse_bytes(text) else { return };
    assert_eq!(Template::parse_bytes(&template.to_string()).as_ref(), Ok(&template));
    if template.len_min() <= 1 << 16 {
        assert!(written(&template, value).len() as u64 >= template.len_min());
    }
}

/// Connection 5's first message of a template whose vars all have this value.
fn written(template: &Template, value: &str) -> Vec<u8> {
    let names: Vec<String> = template.vars().map(str::to_owned).collect();
    let values = vec![Box::from(value.as_bytes()); names.len()];
    let compiled = template::compile(template, &names).expect("all of them are given");
    let member = Member::new(5, None);
    let filling = Filling { id: 10_000_000, now: Nanos(7), member, values: &values };
    let mut out = Vec::new();
    compiled.write(filling, &mut Random::new(1), &mut out);
    out
}

fn is_json(bytes: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok()
}

/// Messages, one per line, in which an id is looked for: what was learnt from earlier ones never decides differently
/// from a look at the message itself, if that is JSON in which no name occurs twice.
pub(crate) fn fuzz_conversation_matcher(bytes: &[u8]) {
    let mut rules = Rules::default();
    for (index, words) in RULES.iter().enumerate() {
        rules.add(&matcher(words), index).expect("there are few rules");
    }
    let mut in_bytes = Rules::default();
    for (index, words) in RULES_IN_BYTES.iter().enumerate() {
        in_bytes.add(&matcher(words), index).expect("there are few rules");
    }
    let mut learnt = Learnt::default();
    for message in bytes.split(|byte| *byte == b'\n') {
        let heard = Heard { bytes: message, status: None };
        let found =
            in_bytes.decide(heard, &mut Learnt::default(), &mut Hits::default(), |rule, id| {
                Some((*rule, id))
            });
        assert_eq!(found, in_bytes_by_definition(message), "{}", message.escape_ascii());
        let decide = |learnt: &mut Learnt| {
            let heard = Heard { bytes: message, status: None };
            rules.decide(heard, learnt, &mut Hits::default(), |rule, id| Some((*rule, id)))
        };
        let (known, anew) = (decide(&mut learnt), decide(&mut Learnt::default()));
        if let Some(document) = plain_json(message) {
            assert_eq!(known, anew, "{}", message.escape_ascii());
            assert_eq!(anew, by_definition(&document), "{}", message.escape_ascii());
        }
    }
}

/// The document, if it has as many bytes when it is written again, white space aside: then no name occurs twice in it.
fn plain_json(bytes: &[u8]) -> Option<Value> {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
    let length = |bytes: &[u8]| bytes.iter().filter(|byte| !is_space(byte)).count();
    let document: Value = serde_json::from_slice(bytes).ok()?;
    (length(document.to_string().as_bytes()) == length(bytes)).then_some(document)
}

/// The first of [`RULES`] that holds for a document, and the id in it.
fn by_definition(document: &Value) -> Option<(usize, Option<u64>)> {
    let something = |name: &str| document.get(name).filter(|value| !value.is_null());
    // A number written in digits alone, or a string of such digits, as a request's id is written.
    let natural = |text: &str| {
        let number = text.parse::<u64>().ok()?;
        (number.to_string() == text && text.len() < 20).then_some(number)
    };
    let id = |place: Option<&Value>| match place? {
        Value::Number(number) => natural(&number.to_string()),
        Value::String(text) => natural(text),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    let root = id(document.get("id"));
    let is_third = document.get("type").is_some_and(|value| value.as_i64() == Some(3));
    let of_array = (document.get(0) == Some(&Value::from("r"))).then(|| id(document.get(1)));
    let rules = [
        root.filter(|_| is_third && something("error").is_none()),
        root.filter(|_| something("result").is_some()),
        of_array.flatten(),
        root.filter(|_| something("error").is_some()),
    ];
    let index = rules.iter().position(Option::is_some)?;
    Some((index, rules[index]))
}

const RULES: [&[&str]; 4] = [
    &["$.type=3", "lacks $.error", "id $.id"],
    &["has $.result", "id $.id"],
    &["$[0]=\"r\"", "id $[1]"],
    &["has $.error", "id $.id"],
];

/// The first of [`RULES_IN_BYTES`] that holds for a message, and the id in it.
fn in_bytes_by_definition(message: &[u8]) -> Option<(usize, Option<u64>)> {
    match message {
        [b'r', a, b, c, d, ..] => Some((0, Some(u32::from_le_bytes([*a, *b, *c, *d]).into()))),
        [_, _, b'*', b'*', ..] => Some((1, None)),
        _ => None,
    }
}

const RULES_IN_BYTES: [&[&str]; 2] = [&["@0 72", "id @1:u32le"], &["@2 2a 2a"]];

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

fn of_bytes(speaks: Speaks, frame: Frame) -> Conversation {
    Conversation {
        requests: vec![asked(
            "0x 61 ${id:u32le} ${now:u64be}",
            &["@0 72", "id @1:u32le"],
            &["@0 65", "id @1:u32le"],
        )],
        pushes: vec![push(&["@0 70"], Some("@1:u64be"))],
        ..conversation(speaks, frame)
    }
}

/// A client that has made HTTP requests, the second of another kind if there is one.
fn calling(compiled: &Arc<Compiled>, requests: u32) -> Calls<Connection> {
    let site = Arc::new(Site::new(Origin::new(false, "h"), &[]).expect("it is a host"));
    let make = Maker::new(|delivery| Connection::from(Http1::exchanges(delivery, HTTP_LIMITS)));
    let mut calls = Calls::new(&make, compiled, &site, compiled.start(5, 7), 64);
    calls.open(&mut Vec::new());
    for sequence in 0..requests {
        let exchange = u16::from(sequence == 1 && compiled.calls.len() > 1);
        let mut cue = [0; Cue::LEN];
        Cue { sequence, exchange, due: Nanos(0) }.write(&mut cue);
        let message = Message { kind: Kind::Binary, payload: &cue };
        calls.send(message, &mut Vec::new()).expect("the connection takes them");
    }
    calls
}

/// A client that has asked for its one stream, or polls.
fn receiving(session: over_http::Session, compiled: &Arc<Compiled>) -> Talk<Connection> {
    let make = Maker::new(|delivery| Connection::from(Http1::exchanges(delivery, HTTP_LIMITS)));
    let limits = over_http::Limits { frame_len_max: 64, waiting_len_max: 64 };
    let inner = OverHttp::new(session, make, limits);
    let mut talk = Talk::new(Connection::from(inner), compiled, 0, 7, 64);
    talk.open(&mut Vec::new());
    talk
}

/// A client that has sent three requests, if it opens without any input.
fn awaiting(compiled: &Arc<Compiled>) -> Talk<Connection> {
    let is_tcp = compiled.speaks() == Speaks::Tcp;
    let inner = if is_tcp { Connection::from(compiled.stream(64)) } else { websocket() };
    let mut talk = Talk::new(inner, compiled, 0, 7, 64);
    talk.open(&mut Vec::new());
    while let Ok(Some(_)) = talk.receive(&mut Input::new(&mut []), &mut Vec::new()) {}
    for sequence in 0..3 {
        let mut cue = [0; Cue::LEN];
        Cue { sequence, exchange: 0, due: Nanos(0) }.write(&mut cue);
        // Nothing is sent before it is open.
        let _sent: Result<_, _> =
            talk.send(Message { kind: Kind::Text, payload: &cue }, &mut Vec::new());
    }
    talk
}

fn websocket() -> Connection {
    WebSocket::established(Side::Client, Limits::default(), 7).into()
}

/// The most connections made for the rest of a stream.
const RESUMES_MAX: u32 = 2;

/// The byte that separates what two connections receive; responses rarely contain it.
const RECORD_SEPARATOR: u8 = 0x1e;
