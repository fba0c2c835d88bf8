//! Properties that hold for any input: a client answers the same however its input is cut, what a server has read and
//! writes again reads the same, and a client that upgrades sends each message once and in order.

use super::server::{self, Packet, Said};
use super::{Packets, Returning, SocketIo, Upgrading, session, websocket_target};
use crate::connection::Connection;
use crate::contract::{Event, First, Input, Kind, Message, Protocol, TwoSockets};
use crate::http1::{Http1, Maker};
use crate::over_http::{Limits, SEPARATOR};
use crate::sockjs::server::write_text;
use crate::transcript::{HTTP_LIMITS, On, check_splits_of_replies, cuts, describe, over_http};
use crate::websocket::handshake::{Request, ServerOptions};
use crate::websocket::{self, WebSocket};
use std::sync::Arc;

/// Feeds WebSocket frames to a client, and packets, with a NUL between them, to one that then comes back: a server must
/// understand what it says.
pub(crate) fn fuzz_socketio(bytes: &[u8]) {
    crate::envelope::fuzz::fuzz::<Packets>(bytes, &["0{}", "40{}"]);
    let mut client = Returning::default();
    client.say(0, &mut b"40".to_vec());
    for packet in bytes.split(|byte| *byte == 0) {
        client.heard(Kind::of(packet), packet);
    }
    let Some(ticket) = client.ticket() else { return };
    let (mut client, mut said) = (Returning::default(), b"40".to_vec());
    client.come_back(ticket);
    client.say(0, &mut said);
    let said = String::from_utf8_lossy(&said);
    let Some(Said::Inside { packet, .. }) = Said::read(&said) else { panic!("{said}") };
    let is_numbered = matches!(packet, Packet::Return { .. });
    assert!(is_numbered || packet == Packet::Connect, "{said}: {packet:?}");
}

/// Feeds bytes to a client on the connection that polls, to one that posts on the connection for that, and to a server
/// as a post.
pub(crate) fn fuzz_socketio_http(bytes: &[u8]) {
    for said in server::packets(bytes).into_iter().flatten() {
        let (written, expected) = match said {
            Said::Attachment(bytes) => (server::attachment(&bytes), Said::Attachment(bytes)),
            Said::Inside { namespace, packet: Packet::Message { text, .. }, .. } => {
                let mut json = String::new();
                write_text(&text, &mut json);
                let written = server::message(&namespace, &json, None);
                let packet = Packet::Message { text, ack: None };
                (written, Said::Inside { namespace, packet, attachments: 0 })
            }
            Said::Inside { namespace, packet: Packet::Binary { .. }, .. } => {
                let packet = Packet::Binary { ack: None };
                let written = server::binary_message(&namespace, None);
                (written, Said::Inside { namespace, packet, attachments: 1 })
            }
            Said::Close | Said::Inside { .. } | Said::Nothing | Said::Pong => continue,
        };
        assert_eq!(server::packets(written.as_bytes()), Some(vec![expected]));
    }
    check_splits_of_replies(bytes, &|| On::<First, _>::new(client()));
    check_splits_of_replies(bytes, &|| On::posting(client(), OPENING));
}

/// Feeds bytes to a client that upgrades: first on its HTTP connection, and after each NUL on the other of the two.
/// Messages are sent back, each with a number, every second one in binary.
pub(crate) fn fuzz_socketio_upgrading(bytes: &[u8]) {
    let whole = Both::play(bytes, &|_| false);
    assert_eq!(Both::play(bytes, &|_| true), whole, "byte by byte");
    for cut in cuts(bytes) {
        assert_eq!(Both::play(bytes, &|at| at == cut), whole, "cut at {cut}");
    }
    let went = whole.went();
    assert!(whole.sent.starts_with(&went), "sent {:?}, and {went:?} went", whole.sent);
}

/// Both connections of a client that upgrades, and all that it said.
#[derive(Debug, Default, PartialEq, Eq)]
struct Both {
    events: Vec<String>,
    /// The bytes that it sent on its WebSocket, and on its connection of HTTP.
    first: Vec<u8>,
    second: Vec<u8>,
    /// The packets of the messages that it accepted.
    sent: Vec<String>,
}

impl Both {
    /// Plays `bytes`, cut after each position for which `is_cut` is true.
    fn play(bytes: &[u8], is_cut: &dyn Fn(usize) -> bool) -> Self {
        let (mut told, mut client) = (Self::default(), upgrading());
        client.open(&mut told.first);
        assert!(client.wants_second());
        client.open_second();
        told.second.extend(client.take_second());
        let (mut is_first, mut start) = (false, 0);
        for (at, byte) in bytes.iter().enumerate() {
            let is_last = at + 1 == bytes.len();
            if *byte != 0 && !is_last && !is_cut(at) {
                continue;
            }
            let end = if *byte == 0 { at } else { at + 1 };
            if !told.feed(&mut client, is_first, &bytes[start..end]) {
                return told;
            }
            start = at + 1;
            is_first ^= *byte == 0;
        }
        told.events.push(match client.end() {
            Ok(event) => format!("end: {}", describe(&event)),
            Err(error) => format!("end: error: {error}"),
        });
        told
    }

    /// Feeds a piece; true if the client may be fed more.
    fn feed(&mut self, client: &mut SocketIo<Connection>, is_first: bool, piece: &[u8]) -> bool {
        let mut bytes = piece.to_vec();
        let mut input = Input::new(&mut bytes);
        loop {
            let received = match is_first {
                true => client.receive(&mut input, &mut self.first),
                false => client.receive_second(&mut input, &mut self.first),
            };
            let echo = match received {
                Ok(None) => break,
                Ok(Some(event)) => {
                    self.events.push(describe(&event));
                    matches!(event, Event::Open | Event::Message(_))
                }
                Err(error) => {
                    self.events.push(format!("error: {error}"));
                    self.second.extend(client.take_second());
                    return false;
                }
            };
            if echo {
                let number = self.events.len();
                let (kind, packets) = match (number % 2, number.to_string()) {
                    (0, text) => {
                        let attachment = server::attachment(text.as_bytes());
                        (Kind::Binary, vec![server::binary_message("", None), attachment])
                    }
                    (_, text) => {
                        (Kind::Text, vec![server::message("", &format!("\"{text}\""), None)])
                    }
                };
                let text = number.to_string();
                match client.send(Message { kind, payload: text.as_bytes() }, &mut self.first) {
                    Ok(()) => self.sent.extend(packets),
                    Err(error) => self.events.push(error.to_string()),
                }
            }
            self.second.extend(client.take_second());
        }
        self.second.extend(client.take_second());
        assert!(input.is_empty(), "a machine that needs more has taken all");
        true
    }

    /// The packets of the messages that were sent, those that were posted first.
    fn went(&self) -> Vec<String> {
        let options = ServerOptions::default();
        let limits = websocket::Limits::default();
        let posts = Http1::server(crate::http1::Limits::default()).into();
        let frames = WebSocket::server_with(Arc::new(options), limits).into();
        let mut went = Vec::new();
        for (mut server, bytes, is_framed) in
            [(posts, &self.second, false), (frames, &self.first, true)]
        {
            let server: &mut Connection = &mut server;
            let mut bytes = bytes.clone();
            let mut input = Input::new(&mut bytes);
            while let Some(event) =
                server.receive(&mut input, &mut Vec::new()).expect("a client keeps the rules")
            {
                let Event::Message(message) = event else { continue };
                if is_framed && message.kind == Kind::Binary {
                    went.push(server::attachment(message.payload));
                    continue;
                }
                let packets = message.payload.split(|byte| *byte == SEPARATOR);
                let packets = packets.filter(|packet| {
                    [&b"42["[..], b"451-", b"b"].iter().any(|begin| packet.starts_with(begin))
                });
                went.extend(packets.map(|packet| String::from_utf8_lossy(packet).into_owned()));
                let answer = Message { kind: Kind::Binary, payload: b"" };
                server.send(answer, &mut Vec::new()).expect("the message awaits it");
            }
        }
        went
    }
}

/// A client that upgrades, with small limits.
fn upgrading() -> SocketIo<Connection> {
    let http = Maker::new(|delivery| Connection::from(Http1::exchanges(delivery, HTTP_LIMITS)));
    let websocket = Arc::new(|name: &str| {
        let request = Request {
            host: "h".to_owned(),
            target: websocket_target("/") + name,
            subprotocols: Vec::new(),
            headers: Vec::new(),
            deflate: None,
        };
        let limits = websocket::Limits { fragments_max: 4, frame_len_max: 64, message_len_max: 64 };
        Connection::from(WebSocket::client(Arc::new(request), limits, 7))
    });
    let limits = Limits { frame_len_max: 64, waiting_len_max: 64 };
    SocketIo::client(Upgrading::new(session("h", "/", &[]), &http, websocket, limits).into())
}

/// A client whose first connection is open.
fn client() -> SocketIo<Connection> {
    let mut client = SocketIo::client(over_http(session("h", "/", &[])).into());
    client.open(&mut Vec::new());
    client
}

/// Responses that open a session and join the default namespace.
const OPENING: &str = concat!(
    "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n0{\"sid\":\"a\"}",
    "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n40{}",
);
