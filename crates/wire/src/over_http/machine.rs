//! The client's end of a session.

use super::binary::announces;
use super::cutter::Cutter;
use super::error::PeerError;
use super::parts;
use super::session::{Body, Form, Session};
use crate::contract::{
    self, Closed, Event, InPlace, Input, Kind, Layers, Message, MisuseError, Opening, Protocol,
    Response, Secured, TwoSockets, growth,
};
use crate::excerpt::Excerpt;
use crate::http1::{Delivery, Maker};
use crate::sse;

/// A client's end of a session over two HTTP connections. Frames are its messages; it is given arrays of texts, or
/// packets, to send. It is open once it has asked: a server may have nothing to say for a long time.
///
/// ```text
/// first:   ask -> frames, the response ends -> ask -> …
/// second:  post -> post, with everything that waited meanwhile -> …
/// ```
///
/// **Receiving.** The next response is requested once the last one has ended and all of its frames were handed out. The
/// owner has to end the session: the content of frames is not looked at here, except for the first one if the server
/// names the session in it (Engine.IO). A client that only receives has one connection. A client of a stream of events
/// ends with the response; an event that this end cuts off is lost, as it is in browsers. A client that polls takes the
/// statuses 204 and 304 for a poll without a message, and asks again.
///
/// **Sending.** One post is under way at a time; texts sent meanwhile wait and go together in the next one. The second
/// connection is opened when there is something to post. A server may end it while it is idle, as many do after a few
/// seconds; it is then reopened for the next post.
#[derive(Debug)]
pub struct OverHttp<C> {
    cutter: Cutter,
    /// The bytes by which binary packets to be posted grew.
    encoding_sent: i64,
    first: C,
    /// True once all of a response has arrived.
    has_response: bool,
    /// The layers of second connections that are gone.
    past: Layers,
    /// The body with which the server refuses a request, as far as it is kept.
    refusal: Vec<u8>,
    /// The number of requests sent.
    requests: u64,
    second: Option<(C, Second)>,
    second_tx: Vec<u8>,
    session: Session,
    state: State,
    /// Texts that wait to be posted: a body without its end.
    waiting: Vec<u8>,
    waiting_len_max: usize,
    http: Maker<C>,
}

/// The limits of what a client keeps, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest frame.
    pub frame_len_max: usize,
    /// The longest body of waiting texts.
    pub waiting_len_max: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    AwaitConnection,
    Open,
    Over,
}

/// The state of the connection that posts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Second {
    /// Its TLS handshake is under way.
    AwaitSecured,
    /// It can take a post.
    Idle,
    /// A post is not answered yet.
    Posting,
    /// It takes no more posts, and ends.
    Over,
}

impl<C: InPlace> OverHttp<C> {
    /// A client of `session`, whose connections `http` makes.
    pub fn new(session: Session, http: Maker<C>, limits: Limits) -> Self {
        Self {
            cutter: Cutter::new(session.form, limits.frame_len_max),
            encoding_sent: 0,
            first: http.make(Delivery::AsItArrives),
            has_response: false,
            past: Layers::default(),
            refusal: Vec::new(),
            requests: 0,
            second: None,
            second_tx: Vec::new(),
            session,
            state: State::AwaitConnection,
            waiting: Vec::new(),
            waiting_len_max: limits.waiting_len_max,
            http,
        }
    }

    /// Asks for frames.
    fn ask(&mut self, tx: &mut Vec<u8>) -> Result<(), MisuseError> {
        self.state = State::Open;
        let session = &self.session;
        let write = &mut |tx: &mut Vec<u8>| session.write_receive(tx);
        self.first.send_in_place(Kind::Binary, session.receive.len(), tx, write)?;
        self.requests += 1;
        Ok(())
    }

    /// Posts the texts that wait, unless a post is under way. If the connection takes no more, they keep waiting.
    fn post(&mut self) {
        if let Some((_, Second::Idle)) = self.second {
            self.post_now();
        }
    }

    /// Posts the texts that wait, even after a post that is not answered yet.
    fn post_now(&mut self) {
        let (Some((second, state)), Some(post)) = (&mut self.second, &self.session.post) else {
            return;
        };
        if self.waiting.is_empty() {
            return;
        }
        let len = self.waiting.len();
        self.waiting.extend_from_slice(post.body.end());
        let (session, body) = (&self.session, &self.waiting);
        let write = &mut |tx: &mut Vec<u8>| session.write_post(body, tx);
        if second.send_in_place(Kind::Binary, body.len(), &mut self.second_tx, write).is_ok() {
            self.waiting = Vec::new();
            self.requests += 1;
            *state = Second::Posting;
        } else {
            self.waiting.truncate(len);
            *state = Second::Over;
        }
    }
}

impl<C: InPlace> Protocol for OverHttp<C> {
    fn open(&mut self, tx: &mut Vec<u8>) -> Opening {
        if self.first.open(tx) == Opening::Awaited {
            return Opening::Awaited;
        }
        if self.ask(tx).is_err() {
            self.state = State::Over;
        }
        Opening::Done
    }

    fn send(&mut self, message: Message<'_>, _tx: &mut Vec<u8>) -> Result<(), MisuseError> {
        let Some(post) = self.session.post.as_ref().filter(|_| self.state == State::Open) else {
            return Err(MisuseError::NotOpen);
        };
        let texts = post.body.texts(message);
        let texts = texts.ok_or(MisuseError::Malformed { expected: "an array, or a packet" })?;
        let (before, max) = (self.waiting.len(), self.waiting_len_max);
        let is_alone = post.body.waits_alone(&self.waiting);
        post.body.add(&texts, &mut self.waiting);
        let len = self.waiting.len();
        // A message that waits alone is no longer than messages are anyway.
        if len > max && !is_alone {
            post.body.take_back(before, &mut self.waiting);
            return Err(MisuseError::TooLong { len: len as u64, max: max as u64 });
        }
        if message.kind == Kind::Binary {
            self.encoding_sent += growth(message.payload.len(), texts.len());
        }
        if post.body != Body::Packets || !announces(&texts) {
            self.post();
        }
        Ok(())
    }

    fn receive<'a, 'b: 'a>(
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
                let payload = self.cutter.frame();
                if let Some(named) = self.session.name(payload)? {
                    self.waiting_len_max = self.waiting_len_max.min(named.body_len_max);
                }
                let kind = self.cutter.kind();
                return Ok(Some(Event::Message(Message { kind, payload })));
            }
            if std::mem::take(&mut self.has_response) {
                if self.session.is_one_response() {
                    self.state = State::Over;
                    return Ok(Some(Event::Closed(Closed::default())));
                }
                self.cutter.end()?;
                // If the server ends the connection after the response, its end is reported next.
                let _asked: Result<_, _> = self.ask(tx);
            }
            match self.first.receive(input, tx)? {
                None => return Ok(None),
                Some(Event::Response(response)) if !self.session.form.takes(response.status) => {
                    let room = REFUSAL_LEN_MAX.saturating_sub(self.refusal.len());
                    let came = &response.body[..response.body.len().min(room)];
                    self.refusal.extend_from_slice(came);
                    if response.is_last {
                        let (code, body) = (response.status, &*self.refusal);
                        return Ok(Some(Event::Refused { code, body, retry_after: None }));
                    }
                }
                Some(Event::Response(response)) => {
                    if response.is_first {
                        let boundary = self.session.form.check(&response)?;
                        self.session.follow(&response);
                        self.cutter.begin(self.session.form);
                        self.cutter.end_parts_by(&boundary);
                    }
                    self.cutter.extend(response.body);
                    if response.ends_chunk {
                        self.cutter.end_chunk();
                    }
                    self.has_response = response.is_last;
                    if self.has_response && response.status == 200 {
                        self.cutter.finish();
                    }
                }
                Some(Event::Secured(secured)) => {
                    if secured.opening == Opening::Done && self.ask(tx).is_err() {
                        self.state = State::Over;
                    }
                    return Ok(Some(Event::Secured(secured)));
                }
                Some(Event::Closed(_)) => {
                    self.state = State::Over;
                    return Ok(Some(Event::Closed(Closed::default())));
                }
                Some(
                    Event::Answer(_)
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

    /// Ends both connections; texts that wait are posted at once, if they may be. The session ends with the response
    /// that is cut off.
    fn close(&mut self, tx: &mut Vec<u8>) -> bool {
        self.state = State::Over;
        if let Some((_, Second::Idle | Second::Posting)) = self.second {
            // The last post does not wait for the answer to the one before. If it cannot be sent, it is lost.
            match &self.session.post {
                Some(post) if post.body.may_overlap() => self.post_now(),
                Some(_) | None => self.post(),
            }
            if let Some((second, state)) = &mut self.second {
                second.close(&mut self.second_tx);
                *state = Second::Over;
            }
        }
        self.waiting.clear();
        self.first.close(tx);
        false
    }

    fn end(&mut self) -> Result<Event<'_>, contract::PeerError> {
        match std::mem::replace(&mut self.state, State::Over) {
            State::Over => Ok(Event::Closed(Closed::default())),
            State::AwaitConnection | State::Open => {
                self.first.end()?; // This also ends a response without a length.
                Ok(Event::Closed(Closed::default()))
            }
        }
    }

    fn layers(&self) -> Layers {
        let second = self.second.as_ref().map(|(second, _)| second.layers()).unwrap_or_default();
        let own = Layers {
            encoding_sent: self.encoding_sent,
            encoding_received: self.cutter.growth(),
            requests: self.requests,
            ..Layers::default()
        };
        self.first.layers() + second + self.past + own
    }
}

impl<C: InPlace> TwoSockets for OverHttp<C> {
    fn wants_second(&mut self) -> bool {
        self.second.is_none() && !self.waiting.is_empty()
    }

    fn open_second(&mut self) {
        let mut second = self.http.make(Delivery::Whole);
        let state = match second.open(&mut self.second_tx) {
            Opening::Awaited => Second::AwaitSecured,
            Opening::Done => Second::Idle,
        };
        self.second = Some((second, state));
        self.post();
    }

    fn take_second(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.second_tx)
    }

    fn receive_second<'a, 'b: 'a>(
        &'a mut self,
        input: &mut Input<'b>,
        _tx: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, contract::PeerError> {
        loop {
            let Some((second, state)) = self.second.as_mut().filter(|_| self.state != State::Over)
            else {
                input.take_all();
                return Ok(None);
            };
            *state = match second.receive(input, &mut self.second_tx)? {
                None => return Ok(None),
                Some(Event::Response(response)) if !(200..300).contains(&response.status) => {
                    let code = response.status;
                    self.refusal = response.body.to_vec();
                    let body = &self.refusal;
                    return Ok(Some(Event::Refused { code, body, retry_after: None }));
                }
                Some(Event::Response(_)) => Second::Idle,
                Some(Event::Secured(Secured { opening: Opening::Done, .. })) => Second::Idle,
                Some(Event::Closed(_)) => Second::Over,
                Some(
                    Event::Answer(_)
                    | Event::Message(_)
                    | Event::Open
                    | Event::Part(_)
                    | Event::Ping(_)
                    | Event::Pong(_)
                    | Event::Pushed(_)
                    | Event::Redirected
                    | Event::Refused { .. }
                    | Event::Secured(_),
                ) => continue,
            };
            self.post();
        }
    }

    /// True unless a post is under way, which is then lost.
    fn end_second(&mut self) -> bool {
        let Some((second, _)) =
            self.second.take_if(|(_, state)| matches!(state, Second::Idle | Second::Over))
        else {
            return false;
        };
        self.past = self.past + second.layers();
        true
    }
}

impl Form {
    /// Refuses a response that cannot have such frames; returns the boundary of its parts, empty for other forms.
    fn check(self, response: &Response<'_>) -> Result<Vec<u8>, PeerError> {
        let content_type = response.field("content-type");
        let excerpt = || Excerpt::new(content_type.unwrap_or_default());
        match self {
            Self::Events if content_type.is_some_and(|it| !sse::is_type(it)) => {
                Err(PeerError::NoEvents { content_type: excerpt() })
            }
            // No other coding is read.
            Self::Chunks if response.field("transfer-encoding").is_none() => {
                Err(PeerError::NoChunks)
            }
            Self::Parts => content_type
                .and_then(parts::boundary)
                .ok_or_else(|| PeerError::NoParts { content_type: excerpt() }),
            Self::Call(_) | Self::Chunks | Self::Events | Self::Lines { .. } => Ok(Vec::new()),
            Self::Packets | Self::Page | Self::Whole => Ok(Vec::new()),
        }
    }

    /// True if a response of this status is not a refusal.
    fn takes(self, status: u16) -> bool {
        status == 200 || (self == Self::Whole && matches!(status, 204 | 304))
    }
}

/// The most bytes kept of the body with which a server refuses a request.
const REFUSAL_LEN_MAX: usize = 1024;
