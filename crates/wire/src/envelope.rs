//! A layer for protocols that put messages into texts of their own, each a text message of the connection inside:
//! [`SockJs`](crate::sockjs::SockJs) and [`SocketIo`](crate::socketio::SocketIo).
//!
//! [`Enveloped`] is the layer, for the client alone; a [`Dialect`] defines the form and the meaning of such a text. A
//! binary message is sent on its own, after a text that announces it; if a dialect has no such text, binary messages
//! are refused in both directions.
//!
//! Left out: the servers' halves, and the transports of these protocols, which carry such texts.

mod error;

pub use error::PeerError;

use crate::contract::{
    self, Closed, Event, First, Input, Kind, Layers, Message, MisuseError, Opening, Protocol, Push,
    Pushed, Second, Secured, Socket, TwoSockets, growth,
};
use crate::excerpt::Excerpt;
use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;

/// The texts of a protocol: their form, and their meaning to a client.
pub trait Dialect: Default + fmt::Debug {
    /// The name of the protocol.
    const NAME: &'static str;

    /// The text that the server must send next: before the connection is open, or for a message that has begun.
    fn awaited(&self) -> Option<&'static str>;

    /// Appends a message to `packet`, as the text that carries it.
    fn write(&self, message: &str, packet: &mut Vec<u8>);

    /// Appends the text that announces a binary message, which follows on its own; false if there are none.
    fn announce(&self, _packet: &mut Vec<u8>) -> bool {
        false
    }

    /// Appends the text that a client sends before it ends the connection, if there is one.
    fn write_farewell(&self, packet: &mut Vec<u8>);

    /// Reads a text of the server: its messages go to `messages`, and an answer that it requires to `answer`.
    ///
    /// # Errors
    ///
    /// It has no meaning, or none at this time.
    fn read(
        &mut self,
        packet: &str,
        messages: &mut Messages,
        answer: &mut Vec<u8>,
    ) -> Result<Heard, PeerError>;

    /// Reads a binary message of the server, in the same way.
    ///
    /// # Errors
    ///
    /// The dialect has none, or no text has announced it.
    fn read_binary(
        &mut self,
        payload: &[u8],
        _messages: &mut Messages,
        _answer: &mut Vec<u8>,
    ) -> Result<Heard, PeerError> {
        Err(PeerError::Binary { protocol: Self::NAME, len: payload.len() })
    }

    /// The error for a `packet` that is not the awaited one.
    fn unexpected(packet: &str, awaited: &'static str) -> PeerError {
        PeerError::Unexpected {
            protocol: Self::NAME,
            awaited,
            said: Excerpt::new(packet.as_bytes()),
        }
    }

    /// The error for a `packet` whose JSON is broken.
    fn broken(packet: &str, error: &serde_json::Error) -> PeerError {
        PeerError::Json {
            protocol: Self::NAME,
            reason: error.to_string(),
            said: Excerpt::new(packet.as_bytes()),
        }
    }
}

/// The meaning of a text from the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// A sign of life.
    Alive,
    /// A text that announces a message.
    Announced,
    /// The server ends the connection.
    Closed {
        /// The protocol's code for the end.
        code: Option<u16>,
        /// The reason, in the server's words.
        reason: String,
    },
    /// Messages; their number was given to `messages`.
    Messages,
    /// A text that only the dialect needs.
    Nothing,
    /// A message that answers none of ours.
    Notice,
    /// The connection is open: messages may be sent.
    Open,
}

/// A client's end of a connection that carries messages in texts.
///
/// **Encoding** ([`Layers`]) is the growth of messages into texts, in both directions; texts without a message are
/// framing.
#[derive(Debug)]
pub struct Enveloped<C, D> {
    dialect: D,
    encoding_sent: i64,
    encoding_received: i64,
    inner: C,
    messages: Messages,
    packet: Vec<u8>,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The connection inside is not open, or the greeting of the server is not complete.
    AwaitOpen,
    Open,
    /// Our end was sent, the server's is awaited.
    AwaitClose,
    Over,
}

impl<C: TwoSockets, D: Dialect> Enveloped<C, D> {
    /// The client's end, over a connection that carries text messages.
    pub fn client(inner: C) -> Self {
        Self::speaking(D::default(), inner)
    }

    /// The same, with a dialect that is not the default one.
    pub fn speaking(dialect: D, inner: C) -> Self {
        Self {
            dialect,
            encoding_sent: 0,
            encoding_received: 0,
            inner,
            messages: Messages::default(),
            packet: Vec::new(),
            state: State::AwaitOpen,
        }
    }
}

impl<C: TwoSockets, D: Dialect> Protocol for Enveloped<C, D> {
    fn open(&mut self, tx: &mut Vec<u8>) -> Opening {
        self.inner.open(tx);
        Opening::Awaited
    }

    #[inline]
    fn send(&mut self, message: Message<'_>, tx: &mut Vec<u8>) -> Result<(), MisuseError> {
        if self.state != State::Open {
            return Err(MisuseError::NotOpen);
        }
        self.packet.clear();
        let growth = match message.kind {
            Kind::Binary if !self.dialect.announce(&mut self.packet) => {
                return Err(MisuseError::Malformed { expected: "text" });
            }
            Kind::Binary => growth(0, self.packet.len()),
            Kind::Text => {
                let text =
                    std::str::from_utf8(message.payload).map_err(|_| MisuseError::NotUtf8)?;
                self.dialect.write(text, &mut self.packet);
                growth(text.len(), self.packet.len())
            }
        };
        self.say(tx)?;
        if message.kind == Kind::Binary {
            self.inner.send(message, tx)?;
        }
        self.encoding_sent += growth;
        Ok(())
    }

    #[inline]
    fn receive<'a, 'b: 'a>(
        &'a mut self,
        input: &mut Input<'b>,
        tx: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, contract::PeerError> {
        self.receive_on::<First>(input, tx)
    }

    fn close(&mut self, tx: &mut Vec<u8>) -> bool {
        if self.state == State::Open {
            self.packet.clear();
            self.dialect.write_farewell(&mut self.packet);
            if !self.packet.is_empty() {
                // If nothing can be sent any more, the client ends without a farewell.
                let _said: Result<_, _> = self.say(tx);
            }
        }
        let is_answered = self.inner.close(tx);
        self.state = if is_answered { State::AwaitClose } else { State::Over };
        is_answered
    }

    /// The peer will send no more bytes.
    ///
    /// # Errors
    ///
    /// The connection was not open yet, or the error of the connection inside.
    fn end(&mut self) -> Result<Event<'_>, contract::PeerError> {
        let state = std::mem::replace(&mut self.state, State::Over);
        if state == State::Over {
            return Ok(Event::Closed(Closed::default()));
        }
        let event = self.inner.end()?;
        match self.dialect.awaited().filter(|_| state != State::AwaitClose) {
            None => Ok(event),
            Some(awaited) => Err(PeerError::Cut { protocol: D::NAME, awaited }.into()),
        }
    }

    fn layers(&self) -> Layers {
        let inside = self.inner.layers();
        Layers {
            encoding_sent: inside.encoding_sent + self.encoding_sent,
            encoding_received: inside.encoding_received + self.encoding_received,
            ..inside
        }
    }
}

impl<C: TwoSockets, D: Dialect> TwoSockets for Enveloped<C, D> {
    fn inside(&mut self) -> Option<&mut dyn TwoSockets> {
        Some(&mut self.inner)
    }

    fn receive_second<'a, 'b: 'a>(
        &'a mut self,
        input: &mut Input<'b>,
        tx: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, contract::PeerError> {
        self.receive_on::<Second>(input, tx)
    }
}

/// An event whose payload, if it has one, is still among the messages.
enum Found {
    Alive,
    Closed(Closed<'static>),
    Notice(Range<usize>),
    Open,
}

impl<C: TwoSockets, D: Dialect> Enveloped<C, D> {
    #[inline]
    fn receive_on<'a, 'b: 'a, S: Socket>(
        &'a mut self,
        input: &mut Input<'b>,
        tx: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, contract::PeerError> {
        loop {
            if self.state == State::Over {
                input.take_all();
                return Ok(None);
            }
            if let Some((kind, message)) = self.messages.next() {
                let payload = &self.messages.bytes[message];
                return Ok(Some(Event::Message(Message { kind, payload })));
            }
            self.messages.release();
            match S::receive(&mut self.inner, input, tx)? {
                None => return Ok(None),
                Some(Event::Message(_)) if self.state == State::AwaitClose => {}
                Some(Event::Message(Message { kind, payload })) => {
                    let Self { dialect, messages, packet: answer, .. } = self;
                    let len = payload.len();
                    answer.clear();
                    let heard = match kind {
                        Kind::Binary => dialect.read_binary(payload, messages, answer)?,
                        Kind::Text => {
                            // The connection inside has checked that the payload is UTF-8.
                            let packet = str::from_utf8(payload).unwrap_or_default();
                            dialect.read(packet, messages, answer)?
                        }
                    };
                    if matches!(heard, Heard::Announced | Heard::Messages) {
                        self.encoding_received += growth(self.messages.bytes.len(), len);
                    }
                    if let Some(event) = self.heard(heard, tx)? {
                        return Ok(Some(self.event(event)));
                    }
                }
                Some(Event::Secured(secured)) => {
                    let opening = Opening::Awaited;
                    return Ok(Some(Event::Secured(Secured { opening, ..secured })));
                }
                Some(Event::Closed(Closed { code, reason })) => {
                    self.state = State::Over;
                    let reason = reason.into_owned().into();
                    return Ok(Some(Event::Closed(Closed { code, reason })));
                }
                Some(Event::Refused { code, body, .. }) => {
                    let said = format!("status {code}, {}", Excerpt::new(body));
                    return Err(PeerError::Refused { protocol: D::NAME, said }.into());
                }
                Some(
                    Event::Answer(_)
                    | Event::Open
                    | Event::Part(_)
                    | Event::Ping(_)
                    | Event::Pong(_)
                    | Event::Pushed(_)
                    | Event::Redirected
                    | Event::Response(_),
                ) => {}
            }
        }
    }

    /// Sends the answer that the dialect requires, and returns the event of a text; `None` if there is none, or for
    /// messages.
    fn heard(
        &mut self,
        heard: Heard,
        tx: &mut Vec<u8>,
    ) -> Result<Option<Found>, contract::PeerError> {
        if !self.packet.is_empty() {
            let mute = |error| PeerError::Mute { protocol: D::NAME, error };
            self.say(tx).map_err(mute)?;
        }
        Ok(match heard {
            Heard::Alive => Some(Found::Alive),
            Heard::Closed { code, reason } => {
                self.state = State::Over;
                self.inner.close(tx);
                Some(Found::Closed(Closed { code, reason: reason.into() }))
            }
            Heard::Announced | Heard::Messages | Heard::Nothing => None,
            Heard::Notice => self.messages.next().map(|(_, notice)| Found::Notice(notice)),
            Heard::Open => {
                self.state = State::Open;
                Some(Found::Open)
            }
        })
    }

    fn event(&self, found: Found) -> Event<'_> {
        match found {
            Found::Alive => Event::Ping(b""),
            Found::Closed(closed) => Event::Closed(closed),
            Found::Notice(notice) => {
                let payload = &self.messages.bytes[notice];
                Event::Pushed(Pushed::plain(Push::Notice, payload))
            }
            Found::Open => Event::Open,
        }
    }

    /// Sends the packet that was written.
    fn say(&mut self, tx: &mut Vec<u8>) -> Result<(), MisuseError> {
        let sent = self.inner.send(Message { kind: Kind::Text, payload: &self.packet }, tx);
        if self.packet.capacity() > KEPT_LEN_MAX {
            self.packet = Vec::new();
        }
        sent
    }
}

/// Messages that arrived together, until all of them are handed out.
#[derive(Debug, Default)]
pub struct Messages {
    bytes: Vec<u8>,
    waiting: VecDeque<(Kind, Range<usize>)>,
}

impl Messages {
    /// Adds a text.
    pub fn push(&mut self, message: &str) {
        self.add(Kind::Text, message.as_bytes());
    }

    /// Adds a message.
    pub fn add(&mut self, kind: Kind, message: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(message);
        self.waiting.push_back((kind, start..self.bytes.len()));
    }

    #[inline]
    fn next(&mut self) -> Option<(Kind, Range<usize>)> {
        self.waiting.pop_front()
    }

    /// Drops the messages that were handed out. Keeps memory for a few short ones, and frees more.
    #[inline]
    fn release(&mut self) {
        if self.bytes.capacity() > KEPT_LEN_MAX || self.waiting.capacity() > KEPT_COUNT_MAX {
            *self = Self::default();
        }
        self.bytes.clear();
    }
}

/// Most memory that a quiet connection keeps for messages, in bytes and in messages.
const KEPT_LEN_MAX: usize = 256;
const KEPT_COUNT_MAX: usize = 8;

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzz {
    //! A property that holds for any input: a client answers the same however its input is cut.

    use super::{Dialect, Enveloped};
    use crate::contract::{Event, Input, Kind, Message, PeerError, Protocol, Side, TwoSockets};
    use crate::transcript::{Transcript, check_splits};
    use crate::websocket::{Limits, WebSocket};

    /// Feeds WebSocket frames to a client that awaits its greeting, and to one whose greeting is `greeting`; messages
    /// are sent back. All bytes that the client sends must be valid WebSocket.
    pub(crate) fn fuzz<D: Dialect>(bytes: &[u8], greeting: &[&str]) {
        check(bytes, &|| client::<D>(&[]));
        check(bytes, &|| client::<D>(greeting));
    }

    fn check<P: Protocol>(bytes: &[u8], client: &dyn Fn() -> P) {
        let transcript = check_splits(bytes, client);
        let server = WebSocket::established(Side::Server, Limits::default(), 0);
        let answer = Transcript::of(server, [&*transcript.tx]);
        let is_understood = answer.events.iter().all(|event| !event.starts_with("error"));
        assert!(is_understood, "the client was sent {}: {answer:?}", bytes.escape_ascii());
    }

    /// Enveloped messages may arrive over two connections. Here they do not.
    impl TwoSockets for WebSocket {
        fn receive_second<'a, 'b: 'a>(
            &'a mut self,
            _input: &mut Input<'b>,
            _tx: &mut Vec<u8>,
        ) -> Result<Option<Event<'a>>, PeerError> {
            unreachable!("there is one connection")
        }
    }

    /// A client over an established WebSocket that was greeted.
    pub(crate) fn client<D: Dialect>(greeting: &[&str]) -> Enveloped<WebSocket, D> {
        let mut client = Enveloped::client(WebSocket::established(Side::Client, LIMITS, 7));
        client.open(&mut Vec::new());
        for text in greeting {
            let mut frame = frame(text);
            let mut input = Input::new(&mut frame);
            while let Ok(Some(_)) = client.receive(&mut input, &mut Vec::new()) {}
        }
        client
    }

    /// A text as a server sends it.
    pub(crate) fn frame(text: &str) -> Vec<u8> {
        let mut frame = Vec::new();
        let message = Message { kind: Kind::Text, payload: text.as_bytes() };
        WebSocket::established(Side::Server, LIMITS, 0)
            .send(message, &mut frame)
            .expect("it is open");
        frame
    }

    /// Small, so that short inputs reach them.
    const LIMITS: Limits =
        Limits { fragments_max: 4, frame_len_max: 1 << 10, message_len_max: 1 << 10 };
}
