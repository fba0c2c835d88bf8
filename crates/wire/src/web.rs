//! The server's end of a connection at a web address: WebSocket or HTTP, depending on its first request.
//!
//! A request at the WebSocket path that asks for an upgrade is an opening handshake ([`Event::Open`] follows); any
//! other begins HTTP as [`Http1::server_at`] speaks it, or [`Http1::whole_requests`] if there is no site. HTTP messages
//! arrive without [`Event::Open`].
//!
//! Left out: what the messages mean, and HTTP/2.

use crate::contract::{
    Closed, Event, Input, Layers, Message, MisuseError, Opening, PeerError, Protocol,
};
use crate::http1::head::{self, HeadError, HeadLimits};
use crate::http1::{self, Http1, Site, StreamPiece};
use crate::socketio::Entry;
use crate::sockjs;
use crate::websocket::handshake::ServerOptions;
use crate::websocket::{self, WebSocket};
use std::sync::Arc;

/// The protocols at a web address; shared by all its connections.
#[derive(Clone, Debug)]
pub struct Options {
    /// The paths of the address. Without them WebSocket is at every path, and other requests are handed out whole.
    pub site: Option<Arc<Site>>,
    /// The limits of HTTP.
    pub http: http1::Limits,
    /// The WebSocket options that are agreed to.
    pub handshake: Arc<ServerOptions>,
    /// The limits of WebSocket.
    pub websocket: websocket::Limits,
}

/// The server's end of a connection whose protocol depends on its first request.
#[derive(Debug)]
pub struct Web {
    options: Arc<Options>,
    spoken: Spoken,
    state: State,
}

/// The kind of messages on a WebSocket, by the address at which it was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Spoken {
    /// Messages of its owner, as they are.
    #[default]
    Messages,
    /// SockJS frames: the WebSocket is a session.
    Frames,
    /// Socket.IO packets, in this session.
    Packets(Entry),
}

impl Spoken {
    fn at(target: &str) -> Self {
        match Entry::at(target) {
            Some(entry) => Self::Packets(entry),
            None if sockjs::is_websocket_of_session(target) => Self::Frames,
            None => Self::Messages,
        }
    }
}

#[derive(Debug)]
enum State {
    /// The first head is awaited; these bytes of it have arrived.
    AwaitHead(Vec<u8>),
    /// The rest of the first head was refused, or the peer is gone.
    Over,
    Http(Http1),
    WebSocket(WebSocket),
}

impl Web {
    /// A connection that was just accepted.
    pub fn new(options: Arc<Options>) -> Self {
        Self { options, spoken: Spoken::default(), state: State::AwaitHead(Vec::new()) }
    }

    /// The kind of its messages, if it speaks WebSocket.
    pub(crate) fn spoken(&self) -> Spoken {
        self.spoken.clone()
    }

    /// Chooses the protocol once the head is complete; `false` if the head goes on after `input`.
    fn choose(&mut self, input: &mut Input<'_>, tx: &mut Vec<u8>) -> Result<bool, PeerError> {
        let State::AwaitHead(held) = &mut self.state else { return Ok(true) };
        if input.is_empty() {
            return Ok(false);
        }
        let before = held.len();
        let max = self.options.http.head_len_max as usize;
        let joined;
        let bytes = if before == 0 {
            input.peek()
        } else {
            let more = &input.peek()[..input.len().min(max.saturating_sub(before))];
            joined = [held.as_slice(), more].concat();
            &joined
        };
        let choice = self.options.choice(bytes);
        if choice == Choice::Later {
            held.extend_from_slice(input.take_all());
            return Ok(false);
        }
        let mut held = std::mem::take(held);
        let options = &self.options;
        self.state = if let Choice::WebSocket(spoken) = choice {
            self.spoken = spoken;
            let handshake = Arc::clone(&options.handshake);
            State::WebSocket(WebSocket::server_with(handshake, options.websocket))
        } else {
            State::Http(match &options.site {
                Some(site) => Http1::server_at(Arc::clone(site), options.http),
                None => Http1::whole_requests(options.http),
            })
        };
        if !held.is_empty() {
            // A part of a head gives no event: this ends with `None`.
            let _: Option<Event<'_>> = self.receive_chosen(&mut Input::new(&mut held), tx)?;
        }
        Ok(true)
    }

    /// Sends a piece of a response.
    ///
    /// # Errors
    ///
    /// As [`crate::Connection::stream`].
    pub(crate) fn stream(
        &mut self,
        piece: StreamPiece<'_>,
        tx: &mut Vec<u8>,
    ) -> Result<(), MisuseError> {
        match &mut self.state {
            State::Http(http) => http.stream(piece, tx),
            State::AwaitHead(_) | State::Over | State::WebSocket(_) => Err(MisuseError::NotOpen),
        }
    }

    /// As [`crate::Connection::begun`].
    pub(crate) fn begun(&self) -> Option<&[u8]> {
        match &self.state {
            State::Http(http) => http.begun(),
            State::AwaitHead(_) | State::Over | State::WebSocket(_) => None,
        }
    }

    /// Starts a proper end; as [`crate::Connection::go_away`].
    pub(crate) fn go_away(&mut self, tx: &mut Vec<u8>) -> bool {
        match &mut self.state {
            State::WebSocket(websocket) => websocket.go_away(tx),
            State::AwaitHead(_) | State::Http(_) | State::Over => self.close(tx),
        }
    }

    #[inline]
    fn receive_chosen<'a, 'b: 'a>(
        &'a mut self,
        input: &mut Input<'b>,
        tx: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, PeerError> {
        match &mut self.state {
            State::Http(http) => http.receive(input, tx),
            State::WebSocket(websocket) => websocket.receive(input, tx),
            State::AwaitHead(_) | State::Over => {
                input.take_all();
                Ok(None)
            }
        }
    }
}

/// The protocol that a first head asks for.
#[derive(PartialEq, Eq)]
enum Choice {
    /// HTTP: any other head, even a broken one, which HTTP has an answer to.
    Http,
    /// The head is incomplete.
    Later,
    WebSocket(Spoken),
}

impl Options {
    fn choice(&self, bytes: &[u8]) -> Choice {
        let mut slots = head::slots();
        let limits = HeadLimits {
            head_len_max: self.http.head_len_max as usize,
            headers_max: self.http.headers_max as usize,
        };
        match head::request(bytes, &mut slots, limits) {
            Ok(None) => Choice::Later,
            Ok(Some(head)) if self.site.as_ref().is_none_or(|it| it.is_socket(head.target)) => {
                let asks = head.headers.iter().any(|header| {
                    header.name.eq_ignore_ascii_case("upgrade")
                        && head::has_member(header.value, "websocket")
                });
                if asks { Choice::WebSocket(Spoken::at(head.target)) } else { Choice::Http }
            }
            Ok(Some(_)) | Err(_) => Choice::Http,
        }
    }
}

impl Protocol for Web {
    fn open(&mut self, _tx: &mut Vec<u8>) -> Opening {
        Opening::Done
    }

    #[inline]
    fn send(&mut self, message: Message<'_>, tx: &mut Vec<u8>) -> Result<(), MisuseError> {
        match &mut self.state {
            State::Http(http) => http.send(message, tx),
            State::WebSocket(websocket) => websocket.send(message, tx),
            State::AwaitHead(_) | State::Over => Err(MisuseError::NotOpen),
        }
    }

    #[inline]
    fn receive<'a, 'b: 'a>(
        &'a mut self,
        input: &mut Input<'b>,
        tx: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, PeerError> {
        if !self.choose(input, tx)? {
            return Ok(None);
        }
        self.receive_chosen(input, tx)
    }

    fn close(&mut self, tx: &mut Vec<u8>) -> bool {
        match &mut self.state {
            State::Http(http) => http.close(tx),
            State::WebSocket(websocket) => websocket.close(tx),
            State::AwaitHead(_) | State::Over => {
                self.state = State::Over;
                false
            }
        }
    }

    fn end(&mut self) -> Result<Event<'_>, PeerError> {
        match &mut self.state {
            State::Http(http) => http.end(),
            State::WebSocket(websocket) => websocket.end(),
            State::AwaitHead(held) if !head::without_empty_lines(held).is_empty() => {
                Err(http1::PeerError::from(HeadError::CutOff { len: held.len() }).into())
            }
            State::AwaitHead(_) | State::Over => Ok(Event::Closed(Closed::default())),
        }
    }

    fn awaits_rest(&self) -> bool {
        match &self.state {
            State::AwaitHead(held) => !held.is_empty(),
            State::Http(http) => http.awaits_rest(),
            State::WebSocket(websocket) => websocket.awaits_rest(),
            State::Over => false,
        }
    }

    fn layers(&self) -> Layers {
        match &self.state {
            State::WebSocket(websocket) => websocket.layers(),
            State::AwaitHead(_) | State::Http(_) | State::Over => Layers::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http1::site::Route;
    use crate::transcript::{HTTP_LIMITS, check_splits};

    const HANDSHAKE: &str = "Host: h\r\nUpgrade: WebSocket\r\nConnection: Upgrade\r\n\
        Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
    const SWITCHED: &str = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
        Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";
    const END: &str = "end: closed None \"\"";
    const ALLOWED: &str = "Access-Control-Allow-Origin: http://a.example\r\n\
        Access-Control-Allow-Credentials: true\r\nVary: Origin\r\n";

    #[test]
    fn the_first_request_says_what_is_spoken() {
        let websocket = format!("GET /socket?x=1 HTTP/1.1\r\n{HANDSHAKE}\u{1}\u{1}a");
        let masked =
            [websocket.as_bytes().strip_suffix(b"\x01\x01a").unwrap(), b"\x81\x81\0\0\0\0a"];
        let answer = format!("{SWITCHED}\u{81}\u{1}a");
        let answer: Vec<u8> = answer.chars().map(|letter| letter as u8).collect();
        let transcript = check_splits(&masked.concat(), &web);
        assert_eq!(transcript.events[..2], ["open", "Text \"a\""]);
        assert_eq!(transcript.tx.escape_ascii().to_string(), answer.escape_ascii().to_string());
        assert_eq!(transcript.events.len(), 3, "{:?}", transcript.events);

        let message = ok("", "ab");
        let permitted = ok(ALLOWED, "");
        let preflight = format!("HTTP/1.1 {}{ALLOWED}\r\n", Route::Preflight.answer());
        let alone = |route: Route| format!("HTTP/1.1 {}\r\n", route.answer());
        let [not_found, not_allowed, upgrade] =
            [Route::NotFound, Route::NotAllowed, Route::UpgradeRequired].map(alone);
        let twice = format!("{not_found}{message}");
        let last = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        let refused = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        let upgrade_elsewhere = format!("GET /cometd HTTP/1.1\r\n{HANDSHAKE}");
        #[rustfmt::skip]
        let table: [(&str, &[&str], &str); _] = [
            ("POST /cometd HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nab", &["Binary \"ab\"", END], &message),
            ("POST /cometd/connect?x HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nab", &["Binary \"ab\"", END], &message),
            ("POST http://h/cometd/ HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nab", &["Binary \"ab\"", END], &message),
            ("POST /cometd HTTP/1.1\r\nHost: h\r\nOrigin: http://a.example\r\n\r\n", &["Binary \"\"", END], &permitted),
            ("OPTIONS /cometd/handshake HTTP/1.1\r\nHost: h\r\nOrigin: http://a.example\r\n\r\n", &[END], &preflight),
            ("GET /cometd HTTP/1.1\r\nHost: h\r\n\r\n", &[END], &not_allowed),
            (&upgrade_elsewhere, &[END], &not_allowed),
            ("GET /socket HTTP/1.1\r\nHost: h\r\n\r\n", &[END], &upgrade),
            ("POST /cometdx HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nab", &[END], &not_found),
            ("PUT /x HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\naPOST /cometd HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nab",
                &["Binary \"ab\"", END], &twice),
            ("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\nGET", &["closed None \"\"", END], last),
            ("GET / HTTP/1.1\r\n\r\n", &["error: 0 Host fields in a request, not one"], refused),
            ("\0\0\0\x05", &["error: malformed head: invalid token"], refused),
            ("", &[END], ""),
            ("GET /so", &["end: error: the connection ended 7 bytes into a head"], ""),
        ];
        for (input, events, answers) in table {
            let transcript = check_splits(input.as_bytes(), &web);
            assert_eq!(transcript.events, events, "{input:?}");
            assert_eq!(String::from_utf8_lossy(&transcript.tx), answers, "{input:?}");
        }
    }

    #[test]
    fn the_address_of_websocket_says_what_its_messages_are() {
        let entry = Spoken::Packets(Entry::Open);
        for (target, expected) in [
            ("/", Spoken::Messages),
            ("/echo/websocket", Spoken::Messages),
            ("/echo/000/abc/websocket", Spoken::Frames),
            ("/000/abc/websocket?x=1", Spoken::Frames),
            ("http://h/000/abc/websocket", Spoken::Frames),
            ("/000/abc/websocket/", Spoken::Messages),
            ("/000/a.c/websocket", Spoken::Messages),
            ("/000/abc/xhr", Spoken::Messages),
            ("/a/socket.io/?EIO=4&transport=websocket", entry),
        ] {
            let options = Options { site: None, ..(*web().options).clone() };
            let mut machine = Web::new(Arc::new(options));
            let mut bytes = format!("GET {target} HTTP/1.1\r\n{HANDSHAKE}").into_bytes();
            let opened = machine.receive(&mut Input::new(&mut bytes), &mut Vec::new());
            assert_eq!(opened, Ok(Some(Event::Open)), "{target}");
            assert_eq!(machine.spoken(), expected, "{target}");
        }
    }

    #[test]
    fn nothing_is_answered_before_what_was_asked_first() {
        let mut machine = web();
        let mut tx = Vec::new();
        let mut bytes =
            b"POST /cometd HTTP/1.1\r\nHost: h\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n".to_vec();
        let mut input = Input::new(&mut bytes);
        assert!(machine.receive(&mut input, &mut tx).unwrap().is_some());
        let error = machine.receive(&mut input, &mut tx).unwrap_err();
        assert_eq!(error, http1::PeerError::Pipelined { max: 1 }.into());
        assert_eq!(tx, b"");
    }

    fn ok(fields: &str, body: &str) -> String {
        let len = body.len();
        format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {len}\r\nContent-Type: application/json\r\n{fields}\r\n{body}"
        )
    }

    fn web() -> Web {
        let site = Site {
            posts: "/cometd".to_owned(),
            socket: "/socket".to_owned(),
            content_type: "application/json".to_owned(),
        };
        Web::new(Arc::new(Options {
            site: Some(Arc::new(site)),
            http: HTTP_LIMITS,
            handshake: Arc::default(),
            websocket: websocket::Limits::default(),
        }))
    }
}
