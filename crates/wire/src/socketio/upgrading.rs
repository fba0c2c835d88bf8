//! The client's end of a session that begins over HTTP polling and continues over WebSocket.

use crate::contract::{
    self, Closed, Event, InPlace, Input, Kind, Layers, Message, MisuseError, Opening, Protocol,
    TwoSockets, growth,
};
use crate::excerpt::Excerpt;
use crate::http1::{Delivery, Maker};
use crate::over_http::{
    Body, Cutter, Limits, PeerError, SEPARATOR, Session, binary_packet, bytes_in,
};
use crate::socketio::upgrade::{NOOP, PROBE, PROBED, UPGRADE};
use std::fmt;
use std::sync::Arc;

/// A client's end of an Engine.IO session that is upgraded, as browsers do: packets are its text messages. Its first
/// connection becomes the WebSocket, the second carries the HTTP requests until then.
///
/// ```text
/// second:  poll: 0{"sid":…}   post, if something waits; else poll; and again        6 ends the last poll
/// first:                       GET …&sid=… -> 101, 2probe -> 3probe                                      5, packets
/// ```
///
/// The upgrade begins as soon as the session has a name. Meanwhile, waiting packets are posted, one request at a time;
/// once the probe and the last request are answered, all waiting and later packets go over WebSocket. A server that
/// refuses the upgrade breaks the session: to measure polling instead would be another measurement.
///
/// The second connection is idle from then on, and its end is no loss.
pub struct Upgrading<C> {
    /// The WebSocket, once the session has a name.
    first: Option<C>,
    second: C,
    second_tx: Vec<u8>,
    has_second: bool,
    session: Session,
    state: State,
    asked: Asked,
    /// True if the last request has been answered and no other was sent since.
    is_answered: bool,
    /// The packets of the last poll.
    cutter: Cutter,
    /// Bytes that binary packets grew by that wait for a post or were posted.
    encoding_sent: i64,
    /// The text of a server that refuses a request.
    refusal: Vec<u8>,
    /// Requests that were sent.
    requests: u64,
    /// Waiting packets, as the body of a post.
    waiting: Vec<u8>,
    waiting_len_max: usize,
    websocket: MakeWebSocket<C>,
}

/// Makes the client's end of a WebSocket from what is appended to the query of its address: the name of the session.
pub type MakeWebSocket<C> = Arc<dyn Fn(&str) -> C + Send + Sync>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    AwaitConnection,
    /// The session is being opened, or polls and posts.
    Polling,
    /// The server has answered the probe; the last request may be on its way.
    Probed,
    /// Everything goes over WebSocket.
    Upgraded,
    Over,
}

/// The last request of HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Poll,
    Post,
}

impl<C: InPlace> Upgrading<C> {
    /// A client of `session`, whose connection of HTTP `http` makes.
    pub fn new(
        session: Session,
        http: &Maker<C>,
        websocket: MakeWebSocket<C>,
        limits: Limits,
    ) -> Self {
        Self {
            first: None,
            second: http.make(Delivery::Whole),
            second_tx: Vec::new(),
            has_second: false,
            cutter: Cutter::new(session.form, limits.frame_len_max),
            encoding_sent: 0,
            refusal: Vec::new(),
            session,
            state: State::AwaitConnection,
            asked: Asked::Poll,
            is_answered: false,
            requests: 0,
            waiting: Vec::new(),
            waiting_len_max: limits.waiting_len_max,
            websocket,
        }
    }

    /// Sends the next request: posts what waits, or else polls. If the connection takes no request, its end is reported
    /// next.
    fn ask(&mut self) {
        let waiting = std::mem::take(&mut self.waiting);
        self.asked = if waiting.is_empty() { Asked::Poll } else { Asked::Post };
        let session = &self.session;
        let write = &mut |tx: &mut Vec<u8>| match waiting.is_empty() {
            true => session.write_receive(tx),
            false => session.write_post(&waiting, tx),
        };
        let len = session.receive.len() + waiting.len();
        let _asked: Result<_, _> =
            self.second.send_in_place(Kind::Binary, len, &mut self.second_tx, write);
        self.requests += 1;
    }

    /// Continues when a request is answered and everything in its response was handed out.
    fn go_on(&mut self, tx: &mut Vec<u8>) {
        match (self.state, &mut self.first) {
            (State::Polling, _) => self.ask(),
            (State::Probed, Some(first)) => {
                self.state = State::Upgraded;
                self.cutter.begin(self.session.form);
                let waiting = std::mem::take(&mut self.waiting);
                let packets = waiting.split(|byte| *byte == SEPARATOR).filter(|it| !it.is_empty());
                for packet in [UPGRADE].into_iter().chain(packets) {
                    let bytes = bytes_in(packet);
                    let message = match &bytes {
                        Some(payload) => Message { kind: Kind::Binary, payload },
                        None => Message { kind: Kind::Text, payload: packet },
                    };
                    if bytes.is_some() {
                        self.encoding_sent -= growth(message.payload.len(), packet.len());
                    }
                    // If the WebSocket takes no message, its end is reported next.
                    let _sent: Result<_, _> = first.send(message, tx);
                }
            }
            (State::AwaitConnection | State::Probed | State::Upgraded | State::Over, _) => {}
        }
    }

    /// Opens the WebSocket on which the session is to continue, if the last packet gives the session its name.
    fn begin_upgrade(&mut self, tx: &mut Vec<u8>) -> Result<(), PeerError> {
        let Some(named) = self.session.name(self.cutter.frame())? else { return Ok(()) };
        self.waiting_len_max = self.waiting_len_max.min(named.body_len_max);
        let mut first = (self.websocket)(&named.query);
        first.open(tx);
        self.first = Some(first);
        Ok(())
    }
}

impl<C: InPlace> Protocol for Upgrading<C> {
    fn open(&mut self, _tx: &mut Vec<u8>) -> Opening {
        self.state = State::Polling;
        let opening = self.second.open(&mut self.second_tx);
        if opening == Opening::Done {
            self.ask();
        }
        opening
    }

    #[inline]
    fn send(&mut self, message: Message<'_>, tx: &mut Vec<u8>) -> Result<(), MisuseError> {
        let Message { kind, payload } = message;
        self.send_in_place(kind, payload.len(), tx, &mut |out| out.extend_from_slice(payload))
    }

    #[inline]
    fn receive<'a, 'b: 'a>(
        &'a mut self,
        input: &mut Input<'b>,
        tx: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, contract::PeerError> {
        loop {
            if self.state == State::Upgraded {
                return match &mut self.first {
                    Some(first) => first.receive(input, tx),
                    None => Ok(None),
                };
            }
            let Some(first) = self.first.as_mut().filter(|_| self.state != State::Over) else {
                input.take_all();
                return Ok(None);
            };
            match first.receive(input, tx)? {
                None => return Ok(None),
                Some(Event::Open) => {
                    let probe = Message { kind: Kind::Text, payload: PROBE };
                    let _sent: Result<_, _> = first.send(probe, tx); // It is open.
                }
                Some(Event::Message(Message { kind: Kind::Text, payload }))
                    if payload == PROBED.as_bytes() && self.state == State::Polling =>
                {
                    self.state = State::Probed;
                }
                Some(Event::Message(message)) => {
                    let said = Excerpt::new(message.payload);
                    return Err(PeerError::Unexpected { awaited: AWAITED, said }.into());
                }
                Some(Event::Closed(Closed { code, reason })) => {
                    let reason = reason.into_owned().into();
                    self.state = State::Over;
                    return Ok(Some(Event::Closed(Closed { code, reason })));
                }
                Some(
                    Event::Answer(_)
                    | Event::Part(_)
                    | Event::Ping(_)
                    | Event::Pong(_)
                    | Event::Pushed(_)
                    | Event::Redirected
                    | Event::Refused { .. }
                    | Event::Response(_)
                    | Event::Secured(_),
                ) => {}
            }
        }
    }

    /// Ends both connections. What waits for the upgrade is lost.
    fn close(&mut self, tx: &mut Vec<u8>) -> bool {
        self.second.close(&mut self.second_tx);
        self.waiting.clear();
        let is_upgraded = self.state == State::Upgraded;
        if !is_upgraded {
            self.state = State::Over;
        }
        let is_answered = self.first.as_mut().is_some_and(|first| first.close(tx));
        is_answered && is_upgraded
    }

    fn end(&mut self) -> Result<Event<'_>, contract::PeerError> {
        match (std::mem::replace(&mut self.state, State::Over), &mut self.first) {
            (State::Over, _) | (_, None) => Ok(Event::Closed(Closed::default())),
            (_, Some(first)) => first.end(),
        }
    }

    fn layers(&self) -> Layers {
        let first = self.first.as_ref().map(Protocol::layers).unwrap_or_default();
        let own = Layers {
            encoding_sent: self.encoding_sent,
            encoding_received: self.cutter.growth(),
            requests: self.requests,
            ..Layers::default()
        };
        first + self.second.layers() + own
    }
}

impl<C: InPlace> InPlace for Upgrading<C> {
    #[inline]
    fn send_in_place(
        &mut self,
        kind: Kind,
        len: usize,
        tx: &mut Vec<u8>,
        append: &mut dyn FnMut(&mut Vec<u8>),
    ) -> Result<(), MisuseError> {
        match (self.state, &mut self.first) {
            (State::Upgraded, Some(first)) => first.send_in_place(kind, len, tx, append),
            (State::Polling | State::Probed, _) => {
                let before = self.waiting.len();
                let is_alone = Body::Packets.waits_alone(&self.waiting);
                if before > 0 {
                    self.waiting.push(SEPARATOR);
                }
                let mut encoding = 0;
                match kind {
                    Kind::Binary => {
                        let mut bytes = Vec::new();
                        append(&mut bytes);
                        let packet = binary_packet(&bytes);
                        encoding = growth(bytes.len(), packet.len());
                        self.waiting.extend(packet);
                    }
                    Kind::Text => append(&mut self.waiting),
                }
                let (len, max) = (self.waiting.len(), self.waiting_len_max);
                // A packet that waits alone is no longer than messages are anyway.
                if len > max && !is_alone {
                    Body::Packets.take_back(before, &mut self.waiting);
                    return Err(MisuseError::TooLong { len: len as u64, max: max as u64 });
                }
                self.encoding_sent += encoding;
                Ok(())
            }
            (State::AwaitConnection | State::Upgraded | State::Over, _) => {
                Err(MisuseError::NotOpen)
            }
        }
    }
}

impl<C: InPlace> TwoSockets for Upgrading<C> {
    fn wants_second(&mut self) -> bool {
        self.state == State::Polling && !self.has_second
    }

    fn open_second(&mut self) {
        self.has_second = true;
    }

    fn take_second(&mut self) -> Vec<u8> {
        if self.has_second { std::mem::take(&mut self.second_tx) } else { Vec::new() }
    }

    fn receive_second<'a, 'b: 'a>(
        &'a mut self,
        input: &mut Input<'b>,
        tx: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, contract::PeerError> {
        loop {
            if self.state == State::Over {
                input.take_all();
                return Ok(None);
            }
            if self.cutter.advance()? {
                self.begin_upgrade(tx)?;
                let kind = self.cutter.kind();
                if kind == Kind::Text && self.cutter.frame() == NOOP.as_bytes() {
                    continue; // It only ends a poll.
                }
                let payload = self.cutter.frame();
                return Ok(Some(Event::Message(Message { kind, payload })));
            }
            if std::mem::take(&mut self.is_answered) {
                if self.asked == Asked::Poll {
                    self.cutter.end()?;
                }
                self.go_on(tx);
            }
            match self.second.receive(input, &mut self.second_tx)? {
                None => return Ok(None),
                Some(Event::Response(response)) if !(200..300).contains(&response.status) => {
                    let code = response.status;
                    self.refusal = response.body.to_vec();
                    self.state = State::Over;
                    let body = &self.refusal;
                    return Ok(Some(Event::Refused { code, body, retry_after: None }));
                }
                Some(Event::Response(response)) => {
                    self.is_answered = true;
                    if self.asked == Asked::Poll {
                        self.cutter.begin(self.session.form);
                        self.cutter.extend(response.body);
                        self.cutter.finish();
                    }
                }
                Some(Event::Secured(secured)) => {
                    if secured.opening == Opening::Done {
                        self.ask();
                    }
                    return Ok(Some(Event::Secured(secured)));
                }
                Some(
                    Event::Answer(_)
                    | Event::Closed(_)
                    | Event::Message(_)
                    | Event::Open
                    | Event::Part(_)
                    | Event::Ping(_)
                    | Event::Pong(_)
                    | Event::Pushed(_)
                    | Event::Redirected
                    | Event::Refused { .. },
                ) => {}
            }
        }
    }

    /// True once everything goes over WebSocket.
    fn end_second(&mut self) -> bool {
        self.state == State::Upgraded
    }
}

impl<C: fmt::Debug> fmt::Debug for Upgrading<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upgrading").field("state", &self.state).field("first", &self.first).finish()
    }
}

/// The packet that must arrive over the WebSocket before the session continues there.
const AWAITED: &str = "the packet `3probe`";
