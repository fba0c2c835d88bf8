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
//! A message is an event called `message` with one text; every other packet is a notice. [`SocketIo`] is the client's
//! half. Over WebSocket a packet is a text message ([`websocket_target`] makes the path); over HTTP packets are polled
//! for and posted, several in one body, by [`OverHttp`](crate::over_http::OverHttp) ([`session()`] has its requests).
//! [`server`] reads those requests and packets, and writes those responses; sessions belong to whoever serves them, and
//! so does the upgrade from polling to WebSocket:
//!
//! ```text
//! client, over the WebSocket of a session that polls: 2probe      server: 3probe, and 6 to a poll that waits
//! client, once it has stopped polling: 5                          from here on all packets go over WebSocket
//! ```
//!
//! [`Upgrading`] is a client that does so.
//!
//! Another namespace than the default one, which is `/`, stands behind the kind of each packet: `40/a,`, and
//! `42/a,["message",…]`.
//!
//! An event that asks for an acknowledgement gets an empty one: `427["news"]` is answered by `437[]`.
//!
//! Left out: several namespaces in one client, requests for acknowledgements, binary events, and the end of a
//! connection whose server has not pinged for long.

mod address;
#[cfg(any(test, feature = "fuzzing"))]
mod fuzz;
pub mod server;
mod upgrade;
mod upgrading;

use crate::envelope::{Dialect, Enveloped, Heard, Messages, PeerError};
use crate::excerpt::Excerpt;
use crate::http1::request::path_and_query;
use crate::over_http::{Body, Form, Post, Session, head_of};
use crate::styx::write_text;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

pub use address::Entry;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use fuzz::{fuzz_socketio, fuzz_socketio_http, fuzz_socketio_upgrading};
pub use upgrading::{MakeWebSocket, Upgrading};

/// A client's end of a connection.
pub type SocketIo<C> = Enveloped<C, Packets>;

/// Packets of Socket.IO in packets of Engine.IO.
#[derive(Debug, Default)]
pub struct Packets {
    /// The namespace as it stands in packets, with its slash and a comma behind it; empty for the default one.
    namespace: Box<str>,
    state: State,
}

impl Packets {
    /// The packets of the namespace that `target` names behind `/socket.io`, as in `/chat/socket.io/admin`.
    pub fn at(target: &str) -> Self {
        let namespace = match parts_of(target).1 {
            "" => String::new(),
            name => format!("/{name},"),
        };
        Self { namespace: namespace.into(), ..Self::default() }
    }

    /// The rest of a packet of this namespace, behind its first two letters; `None` for that of another.
    fn own<'p>(&self, packet: &'p str) -> Option<&'p str> {
        let rest = packet.get(2..)?.strip_prefix(&*self.namespace)?;
        (!rest.starts_with('/')).then_some(rest)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    AwaitOpen,
    AwaitConnect,
    Connected,
}

/// The path and query of Socket.IO over WebSocket where a server has it under `target`.
pub fn websocket_target(target: &str) -> String {
    target_of(target, "websocket")
}

/// A new session of Socket.IO over HTTP polling where a server has it under `target`. Every request has `host` and
/// `headers` as they are: whoever gives them has checked them.
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

/// The path that a server has Socket.IO under, the name of the namespace without its slash, and the query.
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
            State::Connected => None,
        }
    }

    fn write(&self, message: &str, packet: &mut Vec<u8>) {
        packet.extend_from_slice(b"42");
        packet.extend_from_slice(self.namespace.as_bytes());
        packet.extend_from_slice(b"[\"message\",");
        write_text(message, packet);
        packet.push(b']');
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
        let own = self.own(packet).unwrap_or(OF_ANOTHER);
        let (ack, event) = own.split_at(own.bytes().take_while(u8::is_ascii_digit).count());
        match (self.state, packet.as_bytes()) {
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
                if !ack.is_empty() {
                    answer.extend_from_slice(b"43");
                    answer.extend_from_slice(self.namespace.as_bytes());
                    answer.extend_from_slice(ack.as_bytes());
                    answer.extend_from_slice(b"[]");
                }
                match message_of(event).map_err(|error| Self::broken(packet, &error))? {
                    Some(text) => {
                        messages.push(&text);
                        Ok(Heard::Messages)
                    }
                    None => Ok(notice(packet, messages)),
                }
            }
            (State::Connected, [b'4', b'0'..=b'4', ..]) => Ok(notice(packet, messages)),
            (State::Connected, [b'4', b'5' | b'6', ..]) => Err(unexpected("a packet of text")),
            (State::Connected, _) => Err(unexpected("a packet of Engine.IO")),
        }
    }
}

fn notice(packet: &str, messages: &mut Messages) -> Heard {
    messages.push(packet);
    Heard::Notice
}

/// The text of an event, given as JSON; `None` if it is no message.
fn message_of(event: &str) -> Result<Option<Cow<'_, str>>, serde_json::Error> {
    let mut json = serde_json::Deserializer::from_str(event);
    let message = json.deserialize_seq(EventVisitor)?;
    json.end()?;
    Ok(message)
}

/// An event: its text, if it is a message.
struct EventVisitor;

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
        let is_more = event.next_element::<IgnoredAny>()?.is_some();
        while event.next_element::<IgnoredAny>()?.is_some() {}
        Ok(text.map(|text| text.0).filter(|_| !is_more))
    }
}

/// A text, borrowed where it has no escapes.
#[derive(serde::Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// Stands for the rest of a packet of another namespace.
const OF_ANOTHER: &str = "/";

/// The name of the event that carries a message.
const MESSAGE: &str = "message";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Protocol;
    use crate::envelope::fuzz::{client, frame};
    use crate::transcript::{Transcript, check_splits};
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
            (OPEN,    &["42[\"message\",\"\\u0041\\n\"]"], "Text \"A\\n\"", &["42[\"message\",\"A\\\\n\"]"]),
            (OPEN,    &["42[\"news\",{}]"],     "Notice \"42[\\\"news\\\",{}]\"", &[]),
            (OPEN,    &["42[\"message\",\"a\",1]"], "Notice \"42[\\\"message\\\",\\\"a\\\",1]\"", &[]),
            (OPEN,    &["4213[\"message\",\"a\"]"], "Text \"a\"", &["4313[]", "42[\"message\",\"a\"]"]),
            (OPEN,    &["420[\"news\"]"],       "Notice \"420[\\\"news\\\"]\"", &["430[]"]),
            (OPEN,    &["4213[\"a\""],          "error: Socket.IO: EOF while parsing a list at line 1 column 4: \"4213[\\\"a\\\"\"", &[]),
            (OPEN,    &["4313[\"a\"]"],         "Notice \"4313[\\\"a\\\"]\"", &[]),
            (OPEN,    &["41", "42[\"message\",\"a\"]"], "closed None \"disconnected\"", &[]),
            (OPEN,    &["451-[\"message\"]"],   "error: Socket.IO: got \"451-[\\\"message\\\"]\", expected a packet of text", &[]),
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
        let binary = check_splits(b"\x82\x01a", &|| client::<Packets>(OPEN));
        let error = "error: Socket.IO: binary message of 1 bytes, only text is allowed";
        assert_eq!(binary.events, [error]);
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

    /// The texts that a client sent.
    fn said(tx: &[u8]) -> Vec<String> {
        let server = WebSocket::established(crate::contract::Side::Server, Limits::default(), 0);
        let events = Transcript::of(server, [tx]).events;
        let texts = events.iter().filter_map(|event| event.strip_prefix("Text \""));
        texts.map(|text| text.strip_suffix('"').unwrap().replace("\\\"", "\"")).collect()
    }
}
