//! The one contract that every protocol machine answers to.
//!
//! A machine owns no socket, clock or thread. Its owner feeds it one thing at a time, a command
//! ([`Protocol::open`], [`Protocol::send`], [`Protocol::close`]) or bytes that arrived
//! ([`Protocol::receive`]), and is handed bytes to send (appended to `tx`) and [`Event`]s whose payloads borrow from
//! the input wherever they can. Needing more bytes is an answer (`None`), not an error. A machine keeps back only what
//! it cannot yet understand, at most the limits that its options name; a quiet connection holds no buffer.
//!
//! Left out: time. None of the protocols here has a timer of its own; time-outs belong to the owner. The first
//! protocol that needs one adds `handle_timeout(now)`.

use std::borrow::Cow;

/// Which end of a connection a machine plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Opened the connection.
    Client,
    /// Accepted it.
    Server,
}

/// What a message holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Any bytes.
    Binary,
    /// UTF-8.
    Text,
}

/// One application message: what is sent, and what is echoed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// What the payload holds; protocols that do not tell the two apart say [`Kind::Binary`].
    pub kind: Kind,
    /// The payload alone, without any framing.
    pub payload: &'a [u8],
}

/// What a machine understood from the bytes it was fed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// The peer is done: no message follows, and none is accepted any more. What the protocol wants sent in answer is
    /// in `tx`; once that is written the connection can be closed.
    Closed(Closed<'a>),
    /// A whole message.
    Message(Message<'a>),
    /// The opening handshake is complete; messages may be sent. Never comes from a protocol without one.
    Open,
    /// A ping of the peer, or another sign that it lives; the answer, where it wants one, is in `tx` already.
    Ping(&'a [u8]),
    /// A pong of the peer.
    Pong(&'a [u8]),
    /// The peer sent what answers none of our messages.
    Pushed(Pushed<'a>),
    /// The peer refused the message that is next in line and keeps the connection open (HTTP: the status was not 2xx).
    Refused {
        /// The protocol's code for it, e.g. the HTTP status.
        code: u16,
        /// What the peer said about it, unescaped.
        body: &'a [u8],
    },
    /// The TLS handshake is complete, and the protocol inside began. Comes once, first, from a stack with TLS.
    Secured(Secured),
}

/// What a peer sends unasked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pushed<'a> {
    /// Why it came.
    pub kind: Push,
    /// The message as its protocol has it.
    pub payload: &'a [u8],
}

/// Why something came that nobody here asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Push {
    /// Another client's message had an answer, and everybody hears it.
    Delivery,
    /// Anything else: who came and went, a list that changed.
    Notice,
}

/// What a TLS handshake agreed on, and what follows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secured {
    /// What was agreed on.
    pub facts: crate::tls::Facts,
    /// Whether the protocol inside has an opening handshake of its own: then [`Event::Open`] follows.
    pub opening: Opening,
}

/// What the layers of a stack other than framing have added to its bytes so far. Framing is what remains of the bytes
/// of the transport's stream when the payloads and these are taken off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layers {
    /// Sent: TLS records and handshake messages, but for what is protected in them.
    pub tls_sent: u64,
    /// Received, likewise.
    pub tls_received: u64,
    /// Sent: by how much messages grew when they were encoded; negative where they were compressed.
    pub encoding_sent: i64,
    /// Received, likewise.
    pub encoding_received: i64,
}

/// How a peer ended the conversation, if it ended it properly.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Closed<'a> {
    /// The protocol's code for it, e.g. 1000 on WebSocket; `None` where the protocol has none or none was given.
    pub code: Option<u16>,
    /// What the peer said about it, unescaped; empty if it said nothing.
    pub reason: Cow<'a, str>,
}

/// Whether a connection is ready for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// An opening handshake has to be completed first; [`Event::Open`] will say so.
    Awaited,
    /// Messages may be sent at once.
    Done,
}

/// Bytes that arrived and were not looked at yet; what is understood is taken off the front.
///
/// The bytes are mutable because some protocols (WebSocket masking, later TLS) decode in place.
#[derive(Debug)]
pub struct Input<'b> {
    bytes: &'b mut [u8],
}

impl<'b> Input<'b> {
    /// Nothing of `bytes` has been looked at.
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

    /// Takes all that is left.
    pub fn take_all(&mut self) -> &'b mut [u8] {
        std::mem::take(&mut self.bytes)
    }

    /// Looks at what is left without taking it.
    pub fn peek(&self) -> &[u8] {
        self.bytes
    }

    /// How many bytes are left.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

/// One end of one connection of some protocol.
pub trait Protocol {
    /// Starts the conversation: a client with an opening handshake appends it to `tx`. Called once, first.
    fn open(&mut self, tx: &mut Vec<u8>) -> Opening;

    /// Appends `message` to `tx`, framed.
    ///
    /// # Errors
    ///
    /// The connection is not open, or the message breaks a rule of the protocol; `tx` is unchanged.
    fn send(&mut self, message: Message<'_>, tx: &mut Vec<u8>) -> Result<(), MisuseError>;

    /// Understands one event from the front of `input`, or takes all of it and answers `None`: more bytes are needed.
    /// Call until it answers `None`, even when `input` is empty; answers of the protocol itself (pongs, close frames)
    /// are appended to `tx`.
    ///
    /// # Errors
    ///
    /// The peer broke the protocol. What it should be told is in `tx`; the connection is to be closed after that, and
    /// this machine is not to be used again.
    fn receive<'a, 'b: 'a>(
        &'a mut self,
        input: &mut Input<'b>,
        tx: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, PeerError>;

    /// Starts a proper end: appends what the protocol wants said to `tx`. `true` if the peer owes an answer
    /// ([`Event::Closed`] will come), `false` if the connection can be closed once `tx` is written.
    fn close(&mut self, tx: &mut Vec<u8>) -> bool;

    /// The peer will send no more bytes. The answer tells a proper end from one in the middle of something.
    ///
    /// # Errors
    ///
    /// What was cut off: a handshake, a frame, a reply.
    fn end(&mut self) -> Result<Event<'_>, PeerError>;

    /// Asks the peer for a sign of life: appends a ping with `payload` to `tx`, which [`Event::Pong`] answers.
    ///
    /// # Errors
    ///
    /// The protocol has no ping, or not of that length, or the connection is not open; `tx` is unchanged.
    fn ping(&mut self, _payload: &[u8], _tx: &mut Vec<u8>) -> Result<(), MisuseError> {
        Err(MisuseError::NoPing)
    }

    /// What has been added to the bytes in both directions by layers other than framing.
    fn layers(&self) -> Layers {
        Layers::default()
    }

    /// Takes the bytes that wait to be sent on the second connection, for a protocol that uses two to the same server:
    /// one on which it waits for news, and one on which it speaks. Look after every other call.
    fn take_second(&mut self) -> Vec<u8> {
        Vec::new()
    }

    /// Like [`Protocol::receive`], for bytes that arrived on the second connection; answers for it wait for
    /// [`Protocol::take_second`], those for the first are appended to `tx`.
    ///
    /// # Errors
    ///
    /// As there.
    fn receive_second<'a, 'b: 'a>(
        &'a mut self,
        input: &mut Input<'b>,
        _tx: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, PeerError> {
        input.take_all();
        Ok(None)
    }
}

/// How a peer broke its protocol; each protocol has its own list.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PeerError {
    /// Of Bayeux.
    #[error(transparent)]
    Bayeux(#[from] crate::bayeux::PeerError),
    /// Of SockJS or Socket.IO.
    #[error(transparent)]
    Envelope(#[from] crate::envelope::PeerError),
    /// Of the length before each message.
    #[error(transparent)]
    Framed(#[from] crate::framed::PeerError),
    /// Of a game.
    #[error(transparent)]
    Game(#[from] crate::game::PeerError),
    /// Of HTTP/1.1.
    #[error(transparent)]
    Http1(#[from] crate::http1::PeerError),
    /// Of no framing at all.
    #[error(transparent)]
    Raw(#[from] crate::raw::PeerError),
    /// Of Styx.
    #[error(transparent)]
    Styx(#[from] crate::styx::PeerError),
    /// Of TLS.
    #[error(transparent)]
    Tls(#[from] crate::tls::PeerError),
    /// Of WebSocket.
    #[error(transparent)]
    WebSocket(#[from] crate::websocket::PeerError),
}

/// How a caller misused a machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MisuseError {
    /// The protocol carries messages of a certain form only.
    #[error("the message is not {expected}")]
    Malformed {
        /// What it had to be.
        expected: &'static str,
    },
    /// The protocol has no ping that a client may send.
    #[error("the protocol has no ping")]
    NoPing,
    /// Messages cannot be sent before the opening handshake is complete, nor after the end began.
    #[error("the connection is not open")]
    NotOpen,
    /// A text message must be UTF-8.
    #[error("text message is not UTF-8")]
    NotUtf8,
    /// The message is longer than the protocol or our limit allows.
    #[error("message of {len} bytes, limit is {max}")]
    TooLong {
        /// Its length in bytes.
        len: u64,
        /// The limit in bytes.
        max: u64,
    },
    /// The message is shorter than anything the protocol has.
    #[error("message of {len} bytes, the shortest has {min}")]
    TooShort {
        /// Its length in bytes.
        len: u64,
        /// The least in bytes.
        min: u64,
    },
}
