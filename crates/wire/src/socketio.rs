//! Socket.IO 5 over Engine.IO 4 (the packets of Socket.IO 3 and 4), over WebSocket and over HTTP polling.
//!
//! ```text
//! server: 0{"sid":…}           Engine.IO is open        client: 40   join the default namespace
//! server: 40{"sid":…}          joined: Event::Open
//! client: 42["message",text]   a message                server: 42["message",text]
//! server: 2                    a ping                    client: 3
//! server: 41 or 1              the end                   client: 41   the same
//! ```
//!
//! A message is an event called `message` with one text, or with one binary attachment; every other packet is a notice.
//! Attachments are binary messages of their own, sent after the packet that announces them:
//!
//! ```text
//! 451-["message",{"_placeholder":true,"num":0}], and the bytes: over WebSocket as they are, over HTTP `b` and Base64
//! ```
//!
//! [`SocketIo`] is the client's half. Over WebSocket a packet is a text message ([`websocket_target`] makes the path);
//! over HTTP packets are polled for and posted, several in one body, by [`OverHttp`](crate::over_http::OverHttp)
//! ([`session()`] has its requests). [`server`] reads those requests and packets, and writes those responses; the
//! caller manages the sessions and the upgrade from polling to WebSocket:
//!
//! ```text
//! client, over the WebSocket of a session that polls: 2probe      server: 3probe, and 6 to a poll that waits
//! client, once it has stopped polling: 5                          from here on all packets go over WebSocket
//! ```
//!
//! [`Upgrading`] is a client that does so.
//!
//! A namespace other than the default one, which is `/`, follows the kind of each packet: `40/a,`, and
//! `42/a,["message",…]`.
//!
//! An event that asks for an acknowledgement gets an empty one: `427["news"]` is answered by `437[]`.
//!
//! Clients that hold a conversation come back after a lost connection ([`Ticket`]); one that echoes starts over.
//!
//! Left out: several namespaces in one client, requests for acknowledgements, messages with several attachments, and
//! ending a connection whose server has not pinged for long.

mod address;
#[cfg(any(test, feature = "fuzzing"))]
mod fuzz;
mod returning;
pub mod server;
mod upgrade;
mod upgrading;

use crate::contract::Kind;
use crate::envelope::{Dialect, Enveloped, Heard, Messages, PeerError};
use crate::excerpt::Excerpt;
use crate::http1::request::path_and_query;
use crate::over_http::{Body, Form, Post, Session, head_of};
use crate::styx::write_text;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::Value;
use std::borrow::Cow;
use std::fmt;

pub use address::Entry;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use fuzz::{fuzz_socketio, fuzz_socketio_http, fuzz_socketio_upgrading};
pub(crate) use returning::Returning;
pub use returning::Ticket;
pub use upgrading::{MakeWebSocket, Upgrading};

/// A client's end of a connection.
pub type SocketIo<C> = Enveloped<C, Packets>;

/// Packets of Socket.IO in packets of Engine.IO.
#[derive(Debug, Default)]
pub struct Packets {
    /// The namespace as written in packets, with its leading slash and a trailing comma; empty for the default one.
    namespace: Box<str>,
    state: State,
    /// The packet whose attachments are arriving.
    announced: Option<Announced>,
    /// True if an offset may follow what an event carries: the server lets clients come back.
    has_offsets: bool,
}

/// A packet whose attachments have not all arrived.
#[derive(Debug)]
struct Announced {
    attachments: usize,
    /// The packet, if it is not a message.
    notice: Option<Box<str>>,
    /// The number under which the server wants an acknowledgement; empty if it wants none.
    ack: Box<str>,
}

impl Packets {
    /// The packets of the namespace that `target` names after `/socket.io`, as in `/chat/socket.io/admin`.
    pub fn at(target: &str) -> Self {
        let namespace = match parts_of(target).1 {
            "" => String::new(),
            name => format!("/{name},"),
        };
        Self { namespace: namespace.into(), ..Self::default() }
    }

    /// The rest of a packet of this namespace, where `rest` follows the kind of the packet; `None` for a packet of
    /// another namespace.
    fn own<'p>(&self, rest: &'p str) -> Option<&'p str> {
        let rest = rest.strip_prefix(&*self.namespace)?;
        (!rest.starts_with('/')).then_some(rest)
    }

    /// Reads a packet that announces attachments.
    fn announced(&self, packet: &str) -> Result<Announced, PeerError> {
        let rest = packet.get(2..).unwrap_or_default();
        let (attachments, rest) = announcement_of(packet, rest)?;
        let own = self.own(rest);
        let data = match own {
            Some(own) => own,
            None if rest.starts_with('/') => rest.split_once(',').map_or("", |(_, data)| data),
            None => rest,
        };
        let (ack, data) = data.split_at(digits_of(data));
        let is_event = packet.starts_with("45");
        let is_message = is_binary_message(packet, data, attachments, self.has_offsets)?
            && is_event
            && own.is_some();
        let ack = if is_event && own.is_some() { ack } else { "" };
        let notice = (!is_message).then(|| packet.into());
        Ok(Announced { attachments, notice, ack: ack.into() })
    }

    /// Reports a packet whose attachments have all arrived, `attachment` being the last.
    fn complete(
        &self,
        announced: &Announced,
        attachment: &[u8],
        messages: &mut Messages,
        answer: &mut Vec<u8>,
    ) -> Heard {
        self.acknowledge(&announced.ack, answer);
        match &announced.notice {
            Some(packet) => notice(packet, messages),
            None => {
                messages.add(Kind::Binary, attachment);
                Heard::Messages
            }
        }
    }

    /// Acknowledges an event, if the server wants that under a number.
    fn acknowledge(&self, ack: &str, answer: &mut Vec<u8>) {
        if ack.is_empty() {
            return;
        }
        answer.extend_from_slice(b"43");
        answer.extend_from_slice(self.namespace.as_bytes());
        answer.extend_from_slice(ack.as_bytes());
        answer.extend_from_slice(b"[]");
    }
}

/// The length of the number at the beginning of a text.
fn digits_of(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

/// The number of attachments that a packet announces, and what follows it; `rest` is what follows the kind.
fn announcement_of<'p>(packet: &str, rest: &'p str) -> Result<(usize, &'p str), PeerError> {
    let (count, behind) = rest.split_at(digits_of(rest));
    let behind = behind.strip_prefix('-').filter(|_| !count.bytes().all(|digit| digit == b'0'));
    let behind = behind.ok_or_else(|| Packets::unexpected(packet, "a number of attachments"))?;
    let count = count.parse().ok().filter(|count| *count <= ATTACHMENTS_MAX);
    let count = count.ok_or_else(|| Packets::unexpected(packet, "at most 10 attachments"))?;
    Ok((count, behind))
}

/// True if what a `packet` carries, given as JSON, is a message: its name, its only attachment, and perhaps an offset.
fn is_binary_message(
    packet: &str,
    data: &str,
    attachments: usize,
    has_offset: bool,
) -> Result<bool, PeerError> {
    if data == ATTACHED && attachments == 1 {
        return Ok(true);
    }
    let data: Vec<Value> =
        serde_json::from_str(data).map_err(|error| Packets::broken(packet, &error))?;
    if !data.iter().all(|value| has_its_attachments(value, attachments)) {
        return Err(Packets::unexpected(packet, "placeholders for the announced attachments"));
    }
    let (name, of) = match &data[..] {
        [Value::String(name), of] => (name, of),
        [Value::String(name), of, Value::String(_)] if has_offset => (name, of),
        _ => return Ok(false),
    };
    Ok(name == MESSAGE && attachments == 1 && is_placeholder(of))
}

/// True if every placeholder in a value stands for one of that many attachments.
fn has_its_attachments(value: &Value, attachments: usize) -> bool {
    match value {
        Value::Object(fields) if is_placeholder(value) => {
            let number = fields.get("num").and_then(Value::as_u64);
            number.is_some_and(|number| number < attachments as u64)
        }
        Value::Object(fields) => fields.values().all(|it| has_its_attachments(it, attachments)),
        Value::Array(values) => values.iter().all(|it| has_its_attachments(it, attachments)),
        Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) => true,
    }
}

/// True for the placeholder of an attachment.
fn is_placeholder(value: &Value) -> bool {
    value.get("_placeholder") == Some(&Value::Bool(true))
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    AwaitOpen,
    AwaitConnect,
    Connected,
}

/// The path and query of Socket.IO over WebSocket at a server that has it under `target`.
pub fn websocket_target(target: &str) -> String {
    target_of(target, "websocket")
}

/// A new session of Socket.IO over HTTP polling at a server that has it under `target`. Every request has `host` and
/// `headers` as they are: the caller has checked them.
pub fn session(host: &str, target: &str, headers: &[(String, String)]) -> Session {
    let target = target_of(target, "polling");
    let request = |method: &str, more: &str| -> Box<[u8]> {
        [&*head_of(method, &target, host, headers), more.as_bytes()].concat().into()
    };
    let more = "Content-Type: text/plain;charset=UTF-8\r\nContent-Length: ";
    let post = Post { head: request("POST", more), body: Body::Packets };
    Session {
        form: Form::Packets,
        receive: request("GET", "\r\n"),
        conditions: None,
        post: Some(post),
        awaits_name: true,
    }
}

/// The path under which a server has Socket.IO, the name of the namespace without its slash, and the query.
fn parts_of(target: &str) -> (&str, &str, &str) {
    let (path, query) = path_and_query(target);
    let (path, namespace) = match path.split_once("/socket.io/") {
        Some(parts) => parts,
        None => (path.strip_suffix("/socket.io").unwrap_or(path), ""),
    };
    (path, namespace, query)
}

fn target_of(target: &str, transport: &str) -> String {
    let (path, _, query) = parts_of(target);
    let is_own = |pair: &&str| pair.starts_with("EIO=") || pair.starts_with("transport=");
    let pairs = query.trim_start_matches('?').split('&').filter(|pair| !pair.is_empty());
    let query: String = pairs.filter(|pair| !is_own(pair)).map(|pair| format!("&{pair}")).collect();
    format!("{path}/socket.io/?EIO=4&transport={transport}{query}")
}

impl Dialect for Packets {
    const NAME: &'static str = "Socket.IO";

    fn awaited(&self) -> Option<&'static str> {
        match self.state {
            State::AwaitOpen => Some("the packet `0`"),
            State::AwaitConnect => Some("the packet `40`"),
            State::Connected => self.announced.as_ref().map(|_| "the attachments of a packet"),
        }
    }

    fn write(&self, message: &str, packet: &mut Vec<u8>) {
        packet.extend_from_slice(b"42");
        packet.extend_from_slice(self.namespace.as_bytes());
        packet.extend_from_slice(b"[\"message\",");
        write_text(message, packet);
        packet.push(b']');
    }

    fn announce(&self, packet: &mut Vec<u8>) -> bool {
        packet.extend_from_slice(b"451-");
        packet.extend_from_slice(self.namespace.as_bytes());
        packet.extend_from_slice(ATTACHED.as_bytes());
        true
    }

    fn write_farewell(&self, packet: &mut Vec<u8>) {
        packet.extend_from_slice(b"41");
        packet.extend_from_slice(self.namespace.as_bytes());
    }

    #[inline]
    fn read(
        &mut self,
        packet: &str,
        messages: &mut Messages,
        answer: &mut Vec<u8>,
    ) -> Result<Heard, PeerError> {
        let unexpected = |awaited| Self::unexpected(packet, awaited);
        let own = packet.get(2..).and_then(|rest| self.own(rest)).unwrap_or(OF_ANOTHER);
        let (ack, event) = own.split_at(digits_of(own));
        match (self.state, packet.as_bytes()) {
            (_, [b'4', ..]) if self.announced.is_some() => {
                Err(unexpected("the attachments of the previous packet"))
            }
            (_, [b'1', ..]) => Ok(Heard::Closed { code: None, reason: String::new() }),
            (_, [b'2', rest @ ..]) => {
                answer.push(b'3');
                answer.extend_from_slice(rest);
                Ok(Heard::Alive)
            }
            (_, [b'3' | b'6', ..]) => Ok(Heard::Nothing),
            (State::AwaitOpen, [b'0', ..]) => {
                self.state = State::AwaitConnect;
                answer.extend_from_slice(b"40");
                answer.extend_from_slice(self.namespace.as_bytes());
                Ok(Heard::Nothing)
            }
            (State::AwaitOpen, _) => Err(unexpected("the packet `0`")),
            (State::AwaitConnect, [b'4', b'0', ..]) if own != OF_ANOTHER => {
                self.state = State::Connected;
                self.has_offsets = returning::pid_of(own.as_bytes()).is_some();
                Ok(Heard::Open)
            }
            (State::AwaitConnect, [b'4', b'4', ..]) => {
                let said = Excerpt::new(packet.as_bytes()).to_string();
                Err(PeerError::Refused { protocol: Self::NAME, said })
            }
            (State::AwaitConnect, _) => Err(unexpected("the packet `40`")),
            (State::Connected, [b'4', b'1', ..]) if own.is_empty() => {
                Ok(Heard::Closed { code: None, reason: "disconnected".to_owned() })
            }
            (State::Connected, [b'4', b'2', ..]) if event.starts_with('[') => {
                self.acknowledge(ack, answer);
                let message = message_of(event, self.has_offsets);
                match message.map_err(|error| Self::broken(packet, &error))? {
                    Some(text) => {
                        messages.push(&text);
                        Ok(Heard::Messages)
                    }
                    None => Ok(notice(packet, messages)),
                }
            }
            (State::Connected, [b'4', b'0'..=b'4', ..]) => Ok(notice(packet, messages)),
            (State::Connected, [b'4', b'5' | b'6', ..]) => {
                let announced = self.announced(packet)?;
                let heard = match announced.notice {
                    Some(_) => Heard::Nothing,
                    None => Heard::Announced,
                };
                self.announced = Some(announced);
                Ok(heard)
            }
            (State::Connected, _) => Err(unexpected("a packet of Engine.IO")),
        }
    }

    #[inline]
    fn read_binary(
        &mut self,
        payload: &[u8],
        messages: &mut Messages,
        answer: &mut Vec<u8>,
    ) -> Result<Heard, PeerError> {
        let Some(announced) = &mut self.announced else {
            return Err(PeerError::Unannounced { protocol: Self::NAME, len: payload.len() });
        };
        announced.attachments -= 1;
        match self.announced.take_if(|announced| announced.attachments == 0) {
            Some(announced) => Ok(self.complete(&announced, payload, messages, answer)),
            None => Ok(Heard::Nothing),
        }
    }
}

fn notice(packet: &str, messages: &mut Messages) -> Heard {
    messages.push(packet);
    Heard::Notice
}

/// The text of an event, given as JSON, in which an offset may follow it; `None` if the event is not a message.
fn message_of(event: &str, has_offset: bool) -> Result<Option<Cow<'_, str>>, serde_json::Error> {
    let mut json = serde_json::Deserializer::from_str(event);
    let message = json.deserialize_seq(EventVisitor { has_offset })?;
    json.end()?;
    Ok(message)
}

/// An event: its text, if it is a message.
struct EventVisitor {
    has_offset: bool,
}

impl<'de> Visitor<'de> for EventVisitor {
    type Value = Option<Cow<'de, str>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an event: its name, and what it carries")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut event: A) -> Result<Self::Value, A::Error> {
        let Some(name) = event.next_element::<Text<'de>>()? else { return Ok(None) };
        if name.0 != MESSAGE {
            while event.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(None);
        }
        let text = event.next_element::<Text<'de>>()?;
        let mut more = 0;
        while event.next_element::<IgnoredAny>()?.is_some() {
            more += 1;
        }
        Ok(text.map(|text| text.0).filter(|_| more <= usize::from(self.has_offset)))
    }
}

/// A text, borrowed where it has no escapes.
#[derive(serde::Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// Stands for the rest of a packet of another namespace.
const OF_ANOTHER: &str = "/";

/// The name of the event that carries a message.
const MESSAGE: &str = "message";

/// The event that carries a binary message, as JSON.
const ATTACHED: &str = r#"["message",{"_placeholder":true,"num":0}]"#;

/// The place of the only attachment of an event, as JSON.
const PLACE: &str = r#"{"_placeholder":true,"num":0}"#;

/// The most attachments of a packet, as with socket.io-parser.
const ATTACHMENTS_MAX: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{Event, Message, Protocol};
    use crate::envelope::fuzz::{client, frame};
    use crate::transcript::check_splits;
    use crate::websocket::{Limits, WebSocket};

    /// The greeting, texts from the server, or texts to it.
    type Texts = &'static [&'static str];

    #[test]
    fn it_is_found_below_the_path_of_the_server() {
        #[rustfmt::skip]
        let table = [
            ("/",       "/socket.io/?EIO=4&transport=websocket"),
            ("/a/b/",   "/a/b/socket.io/?EIO=4&transport=websocket"),
            ("/a?x=1",  "/a/socket.io/?EIO=4&transport=websocket&x=1"),
            ("/a/socket.io/", "/a/socket.io/?EIO=4&transport=websocket"),
            ("/socket.io/?EIO=4&transport=polling&x=1", "/socket.io/?EIO=4&transport=websocket&x=1"),
            ("/a/socket.io/b/c?x=1", "/a/socket.io/?EIO=4&transport=websocket&x=1"),
        ];
        for (of_server, expected) in table {
            assert_eq!(websocket_target(of_server), expected);
            assert_eq!(target_of(of_server, "polling"), expected.replace("websocket", "polling"));
        }
    }

    #[test]
    fn what_a_server_may_say_and_what_is_answered() {
        const NEW: &[&str] = &[];
        const GREETED: &[&str] = &["0{}"];
        const OPEN: &[&str] = &["0{}", "40{}"];
        #[rustfmt::skip]
        let table: [(Texts, Texts, &str, Texts); _] = [
            (NEW,     &["0{\"sid\":\"a\"}", "40{\"sid\":\"b\"}"], "open", &["40"]),
            (NEW,     &["40"],                  "error: Socket.IO: got \"40\", expected the packet `0`", &[]),
            (NEW,     &["1"],                   "closed None \"\"", &[]),
            (GREETED, &["44{\"message\":\"no\"}"], "error: Socket.IO: refused: \"44{\\\"message\\\":\\\"no\\\"}\"", &[]),
            (GREETED, &["42[\"message\",\"a\"]"], "error: Socket.IO: got \"42[\\\"message\\\",\\\"a\\\"]\", expected the packet `40`", &[]),
            (GREETED, &["2", "40"],             "ping \"\"; open", &["3"]),
            (OPEN,    &["2probe", "3", "6"],    "ping \"\"", &["3probe"]),
            (OPEN,    &["42[\"message\",\"Pong\"]"], "Text \"Pong\"", &["42[\"message\",\"Pong\"]"]),
            (OPEN,    &["42[\"message\",\"\\u0041\\n\"]"], "Text \"A\\n\"", &["42[\"message\",\"A\\n\"]"]),
            (OPEN,    &["42[\"news\",{}]"],     "Notice \"42[\\\"news\\\",{}]\"", &[]),
            (OPEN,    &["42[\"message\",\"a\",1]"], "Notice \"42[\\\"message\\\",\\\"a\\\",1]\"", &[]),
            (OPEN,    &["4213[\"message\",\"a\"]"], "Text \"a\"", &["4313[]", "42[\"message\",\"a\"]"]),
            (OPEN,    &["420[\"news\"]"],       "Notice \"420[\\\"news\\\"]\"", &["430[]"]),
            (OPEN,    &["4213[\"a\""],          "error: Socket.IO: EOF while parsing a list at line 1 column 4: \"4213[\\\"a\\\"\"", &[]),
            (OPEN,    &["4313[\"a\"]"],         "Notice \"4313[\\\"a\\\"]\"", &[]),
            (OPEN,    &["41", "42[\"message\",\"a\"]"], "closed None \"disconnected\"", &[]),
            (OPEN,    &["42[\"message\""],      "error: Socket.IO: EOF while parsing a list at line 1 column 10: \"42[\\\"message\\\"\"", &[]),
            (OPEN,    &["9"],                   "error: Socket.IO: got \"9\", expected a packet of Engine.IO", &[]),
        ];
        for (greeting, texts, expected, answers) in table {
            let bytes: Vec<u8> = texts.iter().flat_map(|text| frame(text)).collect();
            let transcript = check_splits(&bytes, &|| client::<Packets>(greeting));
            let mut events = transcript.events;
            events.retain(|event| !event.starts_with("end: "));
            assert_eq!(events.join("; "), expected, "{texts:?}");
            assert_eq!(said(&transcript.tx), answers, "{texts:?}");
        }
    }

    #[test]
    fn an_attachment_comes_behind_the_packet_that_announces_it() {
        const EVENT: &str = r#"51-["message",{"_placeholder":true,"num":0}]"#;
        let error = |packet: &str, expected: &str| {
            let said = Excerpt::new(packet.as_bytes());
            format!("error: Socket.IO: got {said}, expected {expected}")
        };
        let notice = |packet: &str| format!("Notice \"{}\"", packet.escape_default());
        let message = format!("4{EVENT}");
        let with_ack = message.replace("-[", "-7[");
        let spaced = r#"451-["message", {"num": 0, "_placeholder": true}]"#;
        let two = r#"452-["news",{"a":[{"_placeholder":true,"num":1}],"b":{"_placeholder":true,"num":0}}]"#;
        let wrong = r#"451-["news",{"_placeholder":true,"num":1}]"#;
        let (attachments, places) = (
            "the attachments of the previous packet",
            "placeholders for the announced attachments",
        );
        let of_another = "451-/a,7[\"x\",{\"_placeholder\":true,\"num\":0}]";
        #[rustfmt::skip]
        let table: [(&[&str], &[&str], &[&str]); _] = [
            // After a NUL they are bytes.
            (&[&message, "\0\u{1}a"],        &[r#"Binary "\x01a""#], &[&message, "\0\u{1}a"]),
            (&[&message, "2", "\0"],         &["ping \"\"", "Binary \"\""], &["3", &message, "\0"]),
            (&[&with_ack, "\0a"],            &["Binary \"a\""],       &["437[]", &message, "\0a"]),
            (&[spaced, "\0a"],               &["Binary \"a\""],       &[&message, "\0a"]),
            (&[two, "\0a", "\0b"],           &[&notice(two)],        &[]),
            (&["451-[\"news\"]", "\0a"],      &[&notice("451-[\"news\"]")], &[]),
            (&["461-7[{\"_placeholder\":true,\"num\":0}]", "\0a"], &[&notice("461-7[{\"_placeholder\":true,\"num\":0}]")], &[]),
            (&[of_another, "\0a"],           &[&notice(of_another)], &[]),
            (&[&message],                    &["end: error: connection ended without a Close frame (RFC 6455 §7.1.5, code 1006)"], &[]),
            (&[&message, "42[\"a\"]"],        &[&error("42[\"a\"]", attachments)], &[]),
            (&[&message, &message],          &[&error(&message, attachments)], &[]),
            (&[two, "\0a", "41"],            &[&error("41", attachments)], &[]),
            (&["\0a"],                       &["error: Socket.IO: binary message of 1 bytes that no event has announced"], &[]),
            (&[&message, "\0a", "\0b"],      &["Binary \"a\"", "error: Socket.IO: binary message of 1 bytes that no event has announced"], &[&message, "\0a"]),
            (&[wrong],                       &[&error(wrong, places)], &[]),
            (&["451-[\"a\",{\"_placeholder\":true}]"], &[&error("451-[\"a\",{\"_placeholder\":true}]", places)], &[]),
            (&["450-[\"news\"]"],             &[&error("450-[\"news\"]", "a number of attachments")], &[]),
            (&["45[\"a\"]"],                  &[&error("45[\"a\"]", "a number of attachments")], &[]),
            (&["45-[\"a\"]"],                 &[&error("45-[\"a\"]", "a number of attachments")], &[]),
            (&["4511-[\"a\"]"],               &[&error("4511-[\"a\"]", "at most 10 attachments")], &[]),
            (&["4599999999999999999999-[]"], &[&error("4599999999999999999999-[]", "at most 10 attachments")], &[]),
            (&["451-[\"a\""],                 &["error: Socket.IO: EOF while parsing a list at line 1 column 4: \"451-[\\\"a\\\"\""], &[]),
            (&["451-{}"],                    &["error: Socket.IO: invalid type: map, expected a sequence at line 1 column 0: \"451-{}\""], &[]),
        ];
        for (packets, expected, answers) in table {
            let bytes: Vec<u8> = packets.iter().flat_map(|packet| frame_of(packet)).collect();
            let transcript = check_splits(&bytes, &|| client::<Packets>(&["0{}", "40{}"]));
            let mut events = transcript.events;
            if expected.iter().all(|event| !event.starts_with("end: ")) {
                events.retain(|event| !event.starts_with("end: "));
            }
            assert_eq!(events, expected, "{packets:?}");
            assert_eq!(said(&transcript.tx), answers, "{packets:?}");
        }
        let returning: &[&str] = &["0{}", "40{\"sid\":\"s\",\"pid\":\"p\"}"];
        let with_offset = message.replace("}]", "},\"7\"]");
        #[rustfmt::skip]
        let table: [(&[&str], &[&str]); _] = [
            (&["42[\"message\",\"a\",\"7\"]", "42[\"message\",\"b\"]"], &["Text \"a\"", "Text \"b\""]),
            (&[&with_offset, "\0a", &message, "\0b"], &["Binary \"a\"", "Binary \"b\""]),
            (&["42[\"message\",\"a\",1,\"7\"]"], &[r#"Notice "42[\"message\",\"a\",1,\"7\"]""#]),
        ];
        for (packets, expected) in table {
            let bytes: Vec<u8> = packets.iter().flat_map(|packet| frame_of(packet)).collect();
            let mut events = check_splits(&bytes, &|| client::<Packets>(returning)).events;
            events.retain(|event| !event.starts_with("end: "));
            assert_eq!(events, expected, "{packets:?}");
        }
        let early = check_splits(&frame_of("\0a"), &|| client::<Packets>(&["0{}"]));
        let unannounced = "error: Socket.IO: binary message of 1 bytes that no event has announced";
        assert_eq!(early.events, [unannounced]);
        let inner = WebSocket::established(crate::contract::Side::Client, Limits::default(), 7);
        let mut client = SocketIo::speaking(Packets::at("/socket.io/a"), inner);
        let mut bytes = [frame("0{}"), frame("40/a,{}")].concat();
        let mut input = crate::contract::Input::new(&mut bytes);
        while let Ok(Some(_)) = client.receive(&mut input, &mut Vec::new()) {}
        let mut tx = Vec::new();
        client.send(Message { kind: Kind::Binary, payload: b"x" }, &mut tx).unwrap();
        let event = EVENT.replace("-[", "-/a,[");
        assert_eq!(said(&tx), [&*format!("4{event}"), "\0x"]);
        assert_eq!(client.layers().encoding_sent, "4".len() as i64 + event.len() as i64);
    }

    #[test]
    fn packets_of_another_namespace_than_the_default_one_name_it() {
        let client = |greeting: &[&str]| {
            let inner = WebSocket::established(crate::contract::Side::Client, Limits::default(), 7);
            let mut client = SocketIo::speaking(Packets::at("/chat/socket.io/a/b/"), inner);
            client.open(&mut Vec::new());
            let mut tx = Vec::new();
            for packet in greeting {
                let mut frame = frame(packet);
                let mut input = crate::contract::Input::new(&mut frame);
                while let Ok(Some(_)) = client.receive(&mut input, &mut tx) {}
            }
            (client, tx)
        };
        let open = ["0{}", "40/a/b,{\"sid\":\"b\"}"];
        let (mut opened, tx) = client(&open);
        assert_eq!(said(&tx), ["40/a/b,"]);
        let mut tx = Vec::new();
        assert!(opened.close(&mut tx));
        assert_eq!(said(&tx), ["41/a/b,"]);
        let error =
            |said: &str| format!("error: Socket.IO: got {said:?}, expected the packet `40`");
        #[rustfmt::skip]
        let table: [(&[&str], &str, &str, Texts); _] = [
            (&open[..1], "40{}",                    &error("40{}"), &[]),
            (&open[..1], "40/a/b/c,{}",             &error("40/a/b/c,{}"), &[]),
            (&open[..1], "44/a/b,{}",               "error: Socket.IO: refused: \"44/a/b,{}\"", &[]),
            (&open,      "42/a/b,[\"message\",\"x\"]", "Text \"x\"", &["42/a/b,[\"message\",\"x\"]"]),
            (&open,      "42[\"message\",\"x\"]",   "Notice \"42[\\\"message\\\",\\\"x\\\"]\"", &[]),
            (&open,      "42/c,[\"message\",\"x\"]", "Notice \"42/c,[\\\"message\\\",\\\"x\\\"]\"", &[]),
            (&open,      "41",                      "Notice \"41\"", &[]),
            (&open,      "41/a/b,",                 "closed None \"disconnected\"", &[]),
            (&open,      "42/a/b,7[\"x\"]",         "Notice \"42/a/b,7[\\\"x\\\"]\"", &["43/a/b,7[]"]),
            (&open,      "2",                       "ping \"\"", &["3"]),
        ];
        for (greeting, packet, expected, answers) in table {
            let transcript = check_splits(&frame(packet), &|| client(greeting).0);
            assert_eq!(transcript.events[0], expected, "{packet}");
            assert_eq!(said(&transcript.tx), answers, "{packet}");
        }
    }

    #[test]
    fn a_client_says_that_it_goes() {
        let mut client = client::<Packets>(&["0{}", "40{}"]);
        let mut tx = Vec::new();
        assert!(client.close(&mut tx));
        assert_eq!(said(&tx), ["41"]);
    }

    /// The messages that a client sent; a NUL precedes bytes.
    fn said(tx: &[u8]) -> Vec<String> {
        let mut server =
            WebSocket::established(crate::contract::Side::Server, Limits::default(), 0);
        let (mut tx, mut said) = (tx.to_vec(), Vec::new());
        let mut input = crate::contract::Input::new(&mut tx);
        while let Ok(Some(event)) = server.receive(&mut input, &mut Vec::new()) {
            let Event::Message(Message { kind, payload }) = event else { continue };
            let mark = if kind == Kind::Binary { "\0" } else { "" };
            said.push(format!("{mark}{}", str::from_utf8(payload).unwrap()));
        }
        said
    }

    /// A message as a server sends it; a binary one is written as a NUL and its bytes.
    fn frame_of(message: &str) -> Vec<u8> {
        let (kind, payload) = match message.strip_prefix('\0') {
            Some(bytes) => (Kind::Binary, bytes),
            None => (Kind::Text, message),
        };
        let mut frame = Vec::new();
        let message = Message { kind, payload: payload.as_bytes() };
        let mut server =
            WebSocket::established(crate::contract::Side::Server, Limits::default(), 0);
        server.send(message, &mut frame).unwrap();
        frame
    }
}
