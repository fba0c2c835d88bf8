//! The one contract of all protocol machines.
//!
//! A machine owns no socket, clock or thread. Its owner feeds it one thing at a time, a command ([`Protocol::open`],
//! [`Protocol::send`], [`Protocol::close`]) or bytes that arrived ([`Protocol::receive`]), and is handed bytes to send
//! (appended to `tx`) and [`Event`]s whose payloads borrow from the input wherever they can. Needing more bytes is a
//! result (`None`), not an error. A machine buffers only what it cannot yet understand, up to the limits in its
//! options; a quiet connection holds no buffer.
//!
//! Left out: time. No protocol here has a timer of its own; timeouts belong to the owner. The first protocol that needs
//! one adds `handle_timeout(now)`.

pub use crate::misuse::MisuseError;

use crate::http1::RetryAfter;
use spec::stamp::Header;
use std::borrow::Cow;
use units::Nanos;

/// The end of a connection that a machine plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The end that opened the connection.
    Client,
    /// The end that accepted it.
    Server,
}

/// The kind of a message's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Any bytes.
    Binary,
    /// UTF-8.
    Text,
}

impl Kind {
    /// The kind of a payload that does not state it: text if it is UTF-8.
    pub fn of(payload: &[u8]) -> Self {
        if std::str::from_utf8(payload).is_ok() { Self::Text } else { Self::Binary }
    }
}

/// One application message: sent, and echoed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// The kind of the payload; protocols without a distinction have [`Kind::Binary`].
    pub kind: Kind,
    /// The payload alone, without any framing.
    pub payload: &'a [u8],
}

/// An event that a machine found in the bytes it was fed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// The reply of a conversation to one of our messages.
    Answer(Answer<'a>),
    /// The peer is done: no message follows, and none is accepted any more. The protocol's answer, if it has one, is in
    /// `tx`; once that is written, the connection can be closed.
    Closed(Closed<'a>),
    /// A whole message.
    Message(Message<'a>),
    /// The opening handshake is complete; messages may be sent. Never occurs in a protocol without one.
    Open,
    /// An event of a stream that answers one of our messages and has not ended; its end is the [`Event::Answer`].
    Part(Part<'a>),
    /// A ping of the peer, or another sign of life; the answer, if the protocol has one, is in `tx` already.
    Ping(&'a [u8]),
    /// A pong of the peer.
    Pong(&'a [u8]),
    /// The peer sent something that answers none of our messages.
    Pushed(Pushed<'a>),
    /// HTTP: the answer to the next message in line was a redirect, and its location is requested next: the message
    /// waits for that response.
    Redirected,
    /// The peer refused the next message in line and keeps the connection open (HTTP: the status was not 2xx).
    Refused {
        /// The protocol's code for it, e.g. the HTTP status.
        code: u16,
        /// The peer's description, unescaped.
        body: &'a [u8],
        /// The time at which it wants a retry.
        retry_after: Option<RetryAfter>,
    },
    /// HTTP: a response, or a part of one, to a request that the owner wrote ([`crate::http1::Http1::exchanges`]).
    Response(Response<'a>),
    /// The TLS handshake is complete, and the protocol inside has begun. Occurs once, first, in a stack with TLS.
    Secured(Secured),
}

/// The reply of a conversation to one of our messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer<'a> {
    /// The number of the message that it answers: messages of a connection are numbered from 0.
    pub sequence: u32,
    /// The exchange that the message belongs to, as an index into the conversation's list.
    pub exchange: u16,
    /// The outcome of the message.
    pub verdict: Verdict,
    /// The reply, without framing.
    pub payload: &'a [u8],
}

/// The outcomes that a reply can give a message of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is the reply that was asked for.
    Good,
    /// The server says no.
    Refused,
    /// The conversation does not expect it; the reason.
    Wrong(&'static str),
}

/// An event of a stream that answers one of our messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part<'a> {
    /// The number of the message that it answers, as in [`Answer`].
    pub sequence: u32,
    /// The exchange that the message belongs to, as in [`Answer`].
    pub exchange: u16,
    /// True for the first event of the stream.
    pub first: bool,
    /// The event, without framing.
    pub payload: &'a [u8],
}

/// An HTTP response, or its newly arrived part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response<'a> {
    /// The status, e.g. 200.
    pub status: u16,
    /// The head as it arrived: the status line, the fields, and the empty line after them.
    pub head: &'a [u8],
    /// The decoded body, or its newly arrived part if it is handed out as it arrives.
    pub body: &'a [u8],
    /// True if the body begins with this.
    pub is_first: bool,
    /// True if a chunk of the chunked transfer coding ends with this (RFC 9112 §7.1) and the body is handed out as it
    /// arrives: data of two chunks is never handed out together.
    pub ends_chunk: bool,
    /// True if the body ends with this.
    pub is_last: bool,
}

impl<'a> Response<'a> {
    /// The location that it points to, if it is a redirect.
    pub fn location(&self) -> Option<&'a [u8]> {
        self.field("location").filter(|_| matches!(self.status, 300..=399))
    }

    /// The value of the first field of this name, compared case-insensitively.
    pub fn field(&self, name: &str) -> Option<&'a [u8]> {
        self.fields(name).next()
    }

    /// The values of all fields of this name, in order.
    pub fn fields(&self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        let lines = self.head.split(|byte| *byte == b'\n').skip(1);
        lines.filter_map(move |line| {
            let colon = line.iter().position(|byte| *byte == b':')?;
            let (found, value) = (&line[..colon], line[colon + 1..].trim_ascii());
            found.eq_ignore_ascii_case(name.as_bytes()).then_some(value)
        })
    }
}

/// A message that a peer sends unasked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pushed<'a> {
    /// The reason why it was sent.
    pub kind: Push,
    /// The rule of the conversation that it follows, as an index into its list; `None` if there is no such rule.
    pub rule: Option<u16>,
    /// The instant at which the message that this one delivers was due, if it carries our stamp.
    pub sent: Option<Nanos>,
    /// The header of the message that this one delivers, if it carries one.
    pub header: Option<Header>,
    /// The message as its protocol has it.
    pub payload: &'a [u8],
}

/// The reasons why a message is sent unasked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Push {
    /// Another client's message was answered or published, and everybody gets it.
    Delivery,
    /// Anything else that the protocol knows: players who come and go, a list that changed.
    Notice,
    /// A message that no rule of the conversation matches.
    Unexpected,
}

impl<'a> Pushed<'a> {
    /// A message of a protocol that has no rules and no stamps.
    pub const fn plain(kind: Push, payload: &'a [u8]) -> Self {
        Self { kind, rule: None, sent: None, header: None, payload }
    }
}

/// The result of a TLS handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secured {
    /// The parameters that were agreed on.
    pub facts: crate::tls::Facts,
    /// [`Opening::Awaited`] if the protocol inside has an opening handshake of its own: then [`Event::Open`] follows.
    pub opening: Opening,
}

/// The bytes that layers other than framing have added so far, and the requests that were made. Framing is the
/// transport's bytes without the payloads and these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layers {
    /// Sent: TLS records and handshake messages, without the plaintext in them.
    pub tls_sent: u64,
    /// Received: the same.
    pub tls_received: u64,
    /// Sent: bytes that messages grew by when they were encoded; negative if they were compressed.
    pub encoding_sent: i64,
    /// Received: the same.
    pub encoding_received: i64,
    /// HTTP requests of a session: polls, requests for streams, and posts.
    pub requests: u64,
}

/// The bytes of one connection after another, or of two side by side.
impl std::ops::Add for Layers {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            tls_sent: self.tls_sent + other.tls_sent,
            tls_received: self.tls_received + other.tls_received,
            encoding_sent: self.encoding_sent + other.encoding_sent,
            encoding_received: self.encoding_received + other.encoding_received,
            requests: self.requests + other.requests,
        }
    }
}

/// Bytes that something of `len` bytes grew by when it became `encoded_len` bytes; negative if it became fewer.
pub(crate) fn growth(len: usize, encoded_len: usize) -> i64 {
    let signed = |len: usize| i64::try_from(len).unwrap_or(i64::MAX);
    signed(encoded_len) - signed(len)
}

/// The proper end of a conversation by the peer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Closed<'a> {
    /// The protocol's code for it, e.g. 1000 on WebSocket; `None` if the protocol has none or none was given.
    pub code: Option<u16>,
    /// The peer's reason, unescaped; empty if it gave none.
    pub reason: Cow<'a, str>,
}

/// The state of a connection after its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// An opening handshake has to be completed first; [`Event::Open`] will follow.
    Awaited,
    /// Messages may be sent at once.
    Done,
}

/// Bytes that have arrived and were not read yet; a machine takes them off the front.
///
/// The bytes are mutable because some protocols (WebSocket's masking, TLS) decode in place.
#[derive(Debug)]
pub struct Input<'b> {
    bytes: &'b mut [u8],
}

impl<'b> Input<'b> {
    /// An input of which no byte has been read.
    pub fn new(bytes: &'b mut [u8]) -> Self {
        Self { bytes }
    }

    /// Takes the first `len` bytes.
    ///
    /// # Panics
    ///
    /// If there are fewer.
    pub fn take(&mut self, len: usize) -> &'b mut [u8] {
        let (taken, rest) = std::mem::take(&mut self.bytes).split_at_mut(len);
        self.bytes = rest;
        taken
    }

    /// Takes all bytes that are left.
    pub fn take_all(&mut self) -> &'b mut [u8] {
        std::mem::take(&mut self.bytes)
    }

    /// Looks at the bytes that are left without taking them.
    pub fn peek(&self) -> &[u8] {
        self.bytes
    }

    /// The number of bytes that are left.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// True if no byte is left.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

/// One end of one connection, of any protocol.
pub trait Protocol {
    /// Starts the conversation: a client with an opening handshake appends it to `tx`. Called once, first.
    fn open(&mut self, tx: &mut Vec<u8>) -> Opening;

    /// Appends `message` to `tx`, framed.
    ///
    /// # Errors
    ///
    /// The connection is not open, or the message breaks a rule of the protocol; `tx` is unchanged.
    fn send(&mut self, message: Message<'_>, tx: &mut Vec<u8>) -> Result<(), MisuseError>;

    /// Takes one event from the front of `input`, or takes all of it and returns `None`: more bytes are needed. Call it
    /// until it returns `None`, even if `input` is empty. Appends answers of the protocol itself (pongs, close frames)
    /// to `tx`.
    ///
    /// # Errors
    ///
    /// The peer broke the protocol. The answer to that is in `tx`; the connection must be closed after it is sent, and
    /// this machine must not be used again.
    fn receive<'a, 'b: 'a>(
        &'a mut self,
        input: &mut Input<'b>,
        tx: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, PeerError>;

    /// Starts a proper end: appends the protocol's own message for it to `tx`. `true` if the peer owes an answer
    /// ([`Event::Closed`] will follow), `false` if the connection can be closed once `tx` is written.
    fn close(&mut self, tx: &mut Vec<u8>) -> bool;

    /// The peer will send no more bytes. The result distinguishes a proper end from one in the middle of something.
    ///
    /// # Errors
    ///
    /// The part that was cut off: a handshake, a frame, a reply.
    fn end(&mut self) -> Result<Event<'_>, PeerError>;

    /// True while the peer owes the rest of what it began: an opening handshake, a head, a body, a frame, a message. A
    /// machine that only plays clients returns `false`.
    fn awaits_rest(&self) -> bool {
        false
    }

    /// Asks the peer for a sign of life: appends a ping with `payload` to `tx`, which [`Event::Pong`] answers.
    ///
    /// # Errors
    ///
    /// The protocol has no ping, or none of that length, or the connection is not open; `tx` is unchanged.
    fn ping(&mut self, _payload: &[u8], _tx: &mut Vec<u8>) -> Result<(), MisuseError> {
        Err(MisuseError::NoPing)
    }

    /// The bytes that layers other than framing have added in both directions.
    fn layers(&self) -> Layers {
        Layers::default()
    }
}

/// A protocol that can carry another's messages, which are written in place.
pub trait InPlace: Protocol {
    /// Sends a message of about `len` bytes that `append` appends: without a copy if the protocol can.
    ///
    /// # Errors
    ///
    /// As [`Protocol::send`].
    fn send_in_place(
        &mut self,
        kind: Kind,
        len: usize,
        tx: &mut Vec<u8>,
        append: &mut dyn FnMut(&mut Vec<u8>),
    ) -> Result<(), MisuseError>;
}

/// A protocol that uses two connections to the same server: one on which it waits for messages, and one on which it
/// sends.
pub trait TwoSockets: Protocol {
    /// The protocol inside this one that may use two connections. It gets all calls except
    /// [`receive_second`](TwoSockets::receive_second), unless this one handles them itself.
    fn inside(&mut self) -> Option<&mut dyn TwoSockets> {
        None
    }

    /// True if the second connection is needed and missing: then the owner makes it. If that is so before
    /// [`Protocol::open`], both connections are made first.
    fn wants_second(&mut self) -> bool {
        self.inside().is_some_and(TwoSockets::wants_second)
    }

    /// Notes that the second connection exists, made after [`Protocol::open`].
    fn open_second(&mut self) {
        if let Some(inside) = self.inside() {
            inside.open_second();
        }
    }

    /// Notes that the second connection has ended. True if that is no loss: it may be made again later.
    fn end_second(&mut self) -> bool {
        self.inside().is_some_and(TwoSockets::end_second)
    }

    /// Takes the bytes that wait to be sent on the second connection. Called after every other method.
    fn take_second(&mut self) -> Vec<u8> {
        self.inside().map(TwoSockets::take_second).unwrap_or_default()
    }

    /// Like [`Protocol::receive`], for bytes that arrived on the second connection; answers for it wait for
    /// [`TwoSockets::take_second`], and those for the first are appended to `tx`.
    ///
    /// # Errors
    ///
    /// As there.
    fn receive_second<'a, 'b: 'a>(
        &'a mut self,
        input: &mut Input<'b>,
        tx: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, PeerError>;
}

/// One of the sockets of a protocol that may use two: each has its own method for bytes that arrive.
pub trait Socket {
    /// [`Protocol::receive`] or [`TwoSockets::receive_second`].
    ///
    /// # Errors
    ///
    /// As there.
    fn receive<'a, 'b: 'a, P: TwoSockets>(
        machine: &'a mut P,
        input: &mut Input<'b>,
        tx: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, PeerError>;
}

/// The only socket of a connection, or the first of two.
#[derive(Debug)]
pub enum First {}

/// The second socket of a connection.
#[derive(Debug)]
pub enum Second {}

impl Socket for First {
    #[inline]
    fn receive<'a, 'b: 'a, P: TwoSockets>(
        machine: &'a mut P,
        input: &mut Input<'b>,
        tx: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, PeerError> {
        machine.receive(input, tx)
    }
}

impl Socket for Second {
    fn receive<'a, 'b: 'a, P: TwoSockets>(
        machine: &'a mut P,
        input: &mut Input<'b>,
        tx: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, PeerError> {
        machine.receive_second(input, tx)
    }
}

/// A violation of a protocol by a peer; each protocol has its own list.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PeerError {
    /// A violation of Bayeux.
    #[error(transparent)]
    Bayeux(#[from] crate::bayeux::PeerError),
    /// A server that departs from its conversation.
    #[error(transparent)]
    Conversation(#[from] crate::conversation::PeerError),
    /// A violation of the frames of SockJS, or of Socket.IO.
    #[error(transparent)]
    Envelope(#[from] crate::envelope::PeerError),
    /// A violation of the framing by length.
    #[error(transparent)]
    Framed(#[from] crate::framed::PeerError),
    /// A violation of a game's protocol.
    #[error(transparent)]
    Game(#[from] crate::game::PeerError),
    /// A violation of HTTP/1.1.
    #[error(transparent)]
    Http1(#[from] crate::http1::PeerError),
    /// A violation of lines of text.
    #[error(transparent)]
    Lines(#[from] crate::lines::PeerError),
    /// A violation of MQTT.
    #[error(transparent)]
    Mqtt(#[from] crate::mqtt::PeerError),
    /// A violation of texts over HTTP.
    #[error(transparent)]
    OverHttp(#[from] crate::over_http::PeerError),
    /// A violation of a stream without framing.
    #[error(transparent)]
    Raw(#[from] crate::raw::PeerError),
    /// A violation of server-sent events.
    #[error(transparent)]
    Sse(#[from] crate::sse::PeerError),
    /// A violation of TLS.
    #[error(transparent)]
    Tls(#[from] crate::tls::PeerError),
    /// A violation of WebSocket.
    #[error(transparent)]
    WebSocket(#[from] crate::websocket::PeerError),
}
