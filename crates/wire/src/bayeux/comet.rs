//! The client of Bayeux.

use super::error::{PeerError, Which};
use super::message::{
    self, Advice, CONNECT, Channels, DISCONNECT, Envelope, HANDSHAKE, LONG_POLLING, Reconnect,
    SERVICE, SUBSCRIBE, Writer,
};
use crate::contract::{
    self, Closed, Event, Input, Kind, Layers, Message, MisuseError, Opening, Protocol, Secured,
    TwoSockets,
};
use crate::excerpt::Excerpt;
use serde_json::value::RawValue;
use std::collections::VecDeque;

/// The client's end of a Bayeux session: two HTTP connections to the same server.
///
/// A message is the JSON of one packet. Method, target and fields are those of the requests that the two HTTP machines
/// inside were made with.
///
/// ```text
/// first:   handshake -> subscribe -> Open -> connect, held by the server -> connect -> …
/// second:                            publish -> publish, with all that came to wait meanwhile -> … -> disconnect
/// ```
///
/// **Publishing.** One request of publishes is in flight at a time; publishes that are sent meanwhile wait and go
/// together in the next one. So a slow answer makes batches longer, not the queue of the server. At the end all that
/// wait go out at once, followed by the disconnect.
///
/// **Deliveries** arrive with the answer to any request on either connection; each is an [`Event::Message`].
///
/// **Advice.** `retry` is the rule. `none` with a successful connect is the server's proper end of the session
/// ([`Event::Closed`]), as is its own disconnect; anywhere else `none` and `handshake` are errors.
#[derive(Debug)]
pub struct Comet<C> {
    first: C,
    second: C,
    second_is_open: bool,
    /// The bytes that wait to be sent on the second connection.
    second_tx: Vec<u8>,
    /// True while a request on the second connection has no answer.
    is_publishing: bool,
    session: Session,
    state: State,
    /// Publishes that wait for their turn, as a batch without its end.
    waiting: Vec<u8>,
}

/// The limits of what a client keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The limits of one response.
    pub batch: message::Limits,
    /// The longest batch of waiting publishes, in bytes.
    pub waiting_len_max: usize,
}

/// The next thing that is awaited on the first connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    AwaitConnection,
    AwaitHandshake,
    AwaitSubscribe,
    /// Every answer but the last is followed by the next connect.
    AwaitConnect,
    /// The server ended the session. The messages that it delivered before are handed out first, then the end with this
    /// reason.
    Ended(&'static str),
    Over,
}

/// The known state of the session, and the messages that it delivered.
#[derive(Debug)]
struct Session {
    client_id: Box<str>,
    delivered: Delivered,
    last_id: u64,
    limits: Limits,
}

/// Deliveries that have yet to be handed out. Holds no memory when there are none.
#[derive(Debug, Default)]
struct Delivered {
    bytes: Vec<u8>,
    /// The end of each of them.
    ends: VecDeque<usize>,
    /// The start of the next one.
    start: usize,
}

/// The content of a response, apart from the messages that it delivered.
#[derive(Default)]
struct Answer {
    advice: Advice,
    client_id: Option<Box<str>>,
    /// The server disconnected.
    is_end: bool,
}

impl<C: Protocol> Comet<C> {
    /// A client on two connections, each an HTTP client or one inside TLS.
    pub fn new(first: C, second: C, limits: Limits) -> Self {
        Self {
            first,
            second,
            second_is_open: false,
            second_tx: Vec::new(),
            is_publishing: false,
            session: Session {
                client_id: "".into(),
                delivered: Delivered::default(),
                last_id: 0,
                limits,
            },
            state: State::AwaitConnection,
            waiting: Vec::new(),
        }
    }
}

impl Default for Limits {
    /// A waiting batch of 1 MiB, and the batches of [`message::Limits`].
    fn default() -> Self {
        Self { batch: message::Limits::default(), waiting_len_max: 1 << 20 }
    }
}

impl<C: Protocol> Protocol for Comet<C> {
    fn open(&mut self, tx: &mut Vec<u8>) -> Opening {
        self.second_is_open = self.second.open(&mut self.second_tx) == Opening::Done;
        if self.first.open(tx) == Opening::Done && self.handshake(tx).is_err() {
            self.state = State::Ended("the first connection does not take requests");
        }
        Opening::Awaited
    }

    fn send(&mut self, message: Message<'_>, _tx: &mut Vec<u8>) -> Result<(), MisuseError> {
        if self.state != State::AwaitConnect {
            return Err(MisuseError::NotOpen);
        }
        let data: &RawValue = serde_json::from_slice(message.payload)
            .map_err(|_| MisuseError::Malformed { expected: "JSON" })?;
        let (before, max) = (self.waiting.len(), self.session.limits.waiting_len_max);
        let publish = Envelope { data: Some(data), ..self.session.request(SERVICE) };
        enqueue(&publish, &mut self.waiting);
        let len = self.waiting.len();
        if len > max {
            self.waiting.truncate(before);
            return Err(MisuseError::TooLong { len: len as u64, max: max as u64 });
        }
        self.publish()
    }

    fn receive<'a, 'b: 'a>(
        &'a mut self,
        input: &mut Input<'b>,
        tx: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, contract::PeerError> {
        self.session.delivered.release();
        loop {
            if self.has_event(input) {
                return Ok(self.next_event());
            }
            let body = match self.first.receive(input, tx)? {
                None => return Ok(None),
                Some(Event::Message(response)) => response.payload,
                Some(Event::Secured(secured)) => {
                    if secured.opening == Opening::Done {
                        self.handshake(tx)?;
                    }
                    return Ok(Some(Event::Secured(Secured {
                        opening: Opening::Awaited,
                        ..secured
                    })));
                }
                Some(Event::Open) => {
                    self.handshake(tx)?;
                    continue;
                }
                Some(Event::Refused { code, body, .. }) => return Err(refused(code, body).into()),
                Some(Event::Closed(_)) => {
                    return Err(PeerError::Ended { which: Which::First }.into());
                }
                Some(
                    Event::Answer(_)
                    | Event::Part(_)
                    | Event::Ping(_)
                    | Event::Pong(_)
                    | Event::Pushed(_)
                    | Event::Redirected
                    | Event::Response(_),
                ) => continue,
            };
            let answer = self.session.read(body, Some(self.state.channel()))?;
            if self.answered(answer, tx)? {
                return Ok(Some(Event::Open));
            }
        }
    }

    fn close(&mut self, tx: &mut Vec<u8>) -> bool {
        self.state = State::Over;
        if self.second_is_open && !self.session.client_id.is_empty() {
            enqueue(&self.session.request(DISCONNECT), &mut self.waiting);
            self.is_publishing = false; // The last request does not wait for the answer to the previous one.
            // If the second connection takes no more bytes, the session ends without a disconnect.
            let _ended: Result<_, _> = self.publish();
        }
        self.second.close(&mut self.second_tx);
        self.first.close(tx);
        false
    }

    /// Handles the end of one of the two connections.
    ///
    /// # Errors
    ///
    /// The session has not ended: it awaits an answer at all times.
    fn end(&mut self) -> Result<Event<'_>, contract::PeerError> {
        match std::mem::replace(&mut self.state, State::Over) {
            State::Over => Ok(Event::Closed(Closed::default())),
            State::Ended(reason) => Ok(ended(reason)),
            State::AwaitConnection
            | State::AwaitHandshake
            | State::AwaitSubscribe
            | State::AwaitConnect => {
                self.first.end()?;
                Err(PeerError::Ended { which: Which::First }.into())
            }
        }
    }

    fn layers(&self) -> Layers {
        self.first.layers() + self.second.layers()
    }
}

impl<C: Protocol> TwoSockets for Comet<C> {
    fn wants_second(&mut self) -> bool {
        !self.second_is_open
    }

    fn take_second(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.second_tx)
    }

    fn receive_second<'a, 'b: 'a>(
        &'a mut self,
        input: &mut Input<'b>,
        _tx: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, contract::PeerError> {
        self.session.delivered.release();
        loop {
            if self.has_event(input) {
                return Ok(self.next_event());
            }
            match self.second.receive(input, &mut self.second_tx)? {
                None => return Ok(None),
                Some(Event::Message(response)) => {
                    let answer = self.session.read(response.payload, None)?;
                    self.is_publishing = false;
                    if answer.is_end {
                        self.state = State::Ended(DISCONNECTED);
                    }
                }
                Some(Event::Secured(Secured { opening: Opening::Done, .. }) | Event::Open) => {
                    self.second_is_open = true;
                }
                Some(Event::Refused { code, body, .. }) => return Err(refused(code, body).into()),
                Some(Event::Closed(_)) => {
                    return Err(PeerError::Ended { which: Which::Second }.into());
                }
                Some(
                    Event::Answer(_)
                    | Event::Part(_)
                    | Event::Ping(_)
                    | Event::Pong(_)
                    | Event::Pushed(_)
                    | Event::Redirected
                    | Event::Response(_)
                    | Event::Secured(_),
                ) => {}
            }
            self.publish().map_err(|_| PeerError::Ended { which: Which::Second })?;
        }
    }
}

/// The session, step by step.
impl<C: Protocol> Comet<C> {
    /// Asks the server for a session.
    fn handshake(&mut self, tx: &mut Vec<u8>) -> Result<(), PeerError> {
        self.state = State::AwaitHandshake;
        let handshake = Envelope {
            version: Some("1.0".into()),
            minimum_version: Some("1.0".into()),
            supported_connection_types: Some(vec![LONG_POLLING.into()]),
            ..self.session.request(HANDSHAKE)
        };
        ask(&mut self.first, &handshake, tx)
    }

    /// Takes an answer from the first connection and sends the next request; true if the opening is over.
    fn answered(&mut self, answer: Answer, tx: &mut Vec<u8>) -> Result<bool, PeerError> {
        if answer.is_end {
            self.state = State::Ended(DISCONNECTED);
            return Ok(false);
        }
        let Advice { reconnect, interval, .. } = answer.advice;
        let awaited = self.state;
        match reconnect {
            Some(Reconnect::None) if awaited == State::AwaitConnect => {
                self.state = State::Ended(NOT_AGAIN);
                return Ok(false);
            }
            Some(reconnect @ (Reconnect::Handshake | Reconnect::None)) => {
                return Err(PeerError::Advised { channel: awaited.channel(), reconnect });
            }
            Some(Reconnect::Retry) | None => {}
        }
        if let Some(interval_ms) = interval.filter(|interval| *interval > 0) {
            return Err(PeerError::Interval { interval_ms });
        }
        if awaited == State::AwaitHandshake {
            self.session.client_id = answer.client_id.ok_or(PeerError::NoClientId)?;
            self.state = State::AwaitSubscribe;
            let subscription = Some(Channels(vec![SERVICE.into()]));
            let subscribe = Envelope { subscription, ..self.session.request(SUBSCRIBE) };
            ask(&mut self.first, &subscribe, tx)?;
            return Ok(false);
        }
        self.state = State::AwaitConnect;
        let connection_type = Some(LONG_POLLING.into());
        let connect = Envelope { connection_type, ..self.session.request(CONNECT) };
        ask(&mut self.first, &connect, tx)?;
        Ok(awaited == State::AwaitSubscribe)
    }

    /// Sends the waiting publishes on the second connection, unless a request is in flight there.
    fn publish(&mut self) -> Result<(), MisuseError> {
        if self.is_publishing || !self.second_is_open || self.waiting.is_empty() {
            return Ok(());
        }
        let mut batch = std::mem::take(&mut self.waiting);
        batch.push(b']');
        let batch = Message { kind: Kind::Text, payload: &batch };
        self.second.send(batch, &mut self.second_tx)?;
        self.is_publishing = true;
        Ok(())
    }

    /// True if something must be handed out before any input is read. After the end no input is read.
    fn has_event(&self, input: &mut Input<'_>) -> bool {
        let has_event = !self.session.delivered.ends.is_empty();
        match self.state {
            State::Ended(_) => true,
            State::Over => {
                input.take_all();
                true
            }
            State::AwaitConnection
            | State::AwaitHandshake
            | State::AwaitSubscribe
            | State::AwaitConnect => has_event,
        }
    }

    fn next_event(&mut self) -> Option<Event<'_>> {
        match (self.state, self.session.delivered.ends.is_empty()) {
            (State::Over, _) => None,
            (State::Ended(reason), true) => {
                self.state = State::Over;
                Some(ended(reason))
            }
            _ => {
                let payload = self.session.delivered.next();
                Some(Event::Message(Message { kind: Kind::Text, payload }))
            }
        }
    }
}

impl State {
    /// The channel of the answer that is awaited.
    fn channel(self) -> &'static str {
        match self {
            Self::AwaitConnection | Self::AwaitHandshake => HANDSHAKE,
            Self::AwaitSubscribe => SUBSCRIBE,
            Self::AwaitConnect | Self::Ended(_) | Self::Over => CONNECT,
        }
    }
}

impl Session {
    /// A message on `channel` with the next id, and with the session if there is one.
    fn request(&mut self, channel: &'static str) -> Envelope<'_> {
        self.last_id += 1;
        let client_id = Some(&*self.client_id).filter(|id| !id.is_empty());
        Envelope {
            channel: channel.into(),
            id: Some(self.last_id.to_string().into()),
            client_id: client_id.map(Into::into),
            ..Envelope::default()
        }
    }

    /// Reads a response: keeps the messages that it delivers, and returns the answer on the channel `awaited`.
    fn read(&mut self, body: &[u8], awaited: Option<&'static str>) -> Result<Answer, PeerError> {
        let batch = message::read(body, &self.limits.batch)
            .map_err(|error| PeerError::Batch { error, said: Excerpt::new(body) })?;
        let mut answer = None;
        let mut is_end = false;
        for envelope in batch {
            match (&*envelope.channel, envelope.successful) {
                (_, Some(false)) => return Err(unsuccessful(&envelope)),
                (DISCONNECT, _) => is_end = true,
                (SERVICE, None) => {
                    if let Some(data) = envelope.data {
                        self.delivered.push(data.get().as_bytes());
                    }
                }
                (channel, Some(true)) if Some(channel) == awaited => {
                    let client_id = envelope.client_id.map(|id| id.0.into());
                    let advice = envelope.advice.unwrap_or_default();
                    answer = Some(Answer { advice, client_id, is_end: false });
                }
                // The answer to a publish, or something unrequested.
                _ => {}
            }
        }
        match (answer, awaited) {
            (None, Some(channel)) if !is_end => Err(PeerError::Unanswered { channel }),
            (answer, _) => Ok(Answer { is_end, ..answer.unwrap_or_default() }),
        }
    }
}

impl Delivered {
    fn push(&mut self, data: &[u8]) {
        self.bytes.extend_from_slice(data);
        self.ends.push_back(self.bytes.len());
    }

    /// Takes the next delivery; empty if there is none.
    fn next(&mut self) -> &[u8] {
        let end = self.ends.pop_front().unwrap_or(self.start);
        &self.bytes[std::mem::replace(&mut self.start, end)..end]
    }

    /// Frees all memory, once everything was handed out.
    fn release(&mut self) {
        if self.ends.is_empty() {
            *self = Self::default();
        }
    }
}

/// Appends `message` to a batch without its end.
fn enqueue(message: &Envelope<'_>, waiting: &mut Vec<u8>) {
    waiting.push(if waiting.is_empty() { b'[' } else { b',' });
    message::append(message, waiting);
}

/// Sends `message` as the only one of its batch on the first connection.
fn ask(
    first: &mut impl Protocol,
    message: &Envelope<'_>,
    tx: &mut Vec<u8>,
) -> Result<(), PeerError> {
    let mut body = Vec::new();
    let mut batch = Writer::new(&mut body);
    batch.push(message);
    batch.finish();
    first
        .send(Message { kind: Kind::Text, payload: &body }, tx)
        .map_err(|_| PeerError::Ended { which: Which::First })
}

fn ended(reason: &'static str) -> Event<'static> {
    Event::Closed(Closed { code: None, reason: reason.into() })
}

fn refused(code: u16, body: &[u8]) -> PeerError {
    PeerError::Status { code, said: Excerpt::new(body) }
}

fn unsuccessful(envelope: &Envelope<'_>) -> PeerError {
    PeerError::Unsuccessful {
        channel: Excerpt::new(envelope.channel.as_bytes()),
        error: Excerpt::new(envelope.error.as_deref().unwrap_or_default().as_bytes()),
        reconnect: envelope.advice.and_then(|advice| advice.reconnect),
    }
}

const DISCONNECTED: &str = "the server disconnected";
const NOT_AGAIN: &str = "the server advises reconnect: none";
