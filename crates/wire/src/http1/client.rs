//! The client's half: sends requests, and hands out the bodies of the responses as replies.

use super::error::PeerError;
use super::fields::Fields;
use super::head;
use super::limits::Limits;
use super::reader::{Body, Head, Reader};
use super::request::Request;
use super::retry_after::RetryAfter;
use crate::contract::{Closed, Event, Input, Kind, Message, MisuseError};
use std::sync::Arc;

/// The client's end of a connection.
///
/// Every message is the same request with another body, so only the number of requests in flight has to be known:
/// responses come in their order.
#[derive(Debug)]
pub(super) struct Client {
    /// The number of requests without a response.
    awaited: u32,
    reader: Reader<Response>,
    request: Arc<Request>,
    state: State,
}

/// The next thing that is awaited.
#[derive(Clone, Copy, Debug)]
enum State {
    AwaitHead,
    AwaitBody(Response, Body),
    /// The last response was handed out; the end of the conversation has yet to be told.
    AwaitClosed,
    Over,
}

/// The facts from the head of a response.
#[derive(Clone, Copy, Debug)]
struct Response {
    /// True if the connection stays open after it.
    persists: bool,
    /// The time at which a server that refuses wants to be asked again.
    retry_after: Option<RetryAfter>,
    status: u16,
}

impl Client {
    pub(super) fn new(request: Arc<Request>, limits: Limits) -> Self {
        Self { awaited: 0, reader: Reader::new(limits), request, state: State::AwaitHead }
    }

    #[inline]
    pub(super) fn send(
        &mut self,
        message: Message<'_>,
        tx: &mut Vec<u8>,
    ) -> Result<(), MisuseError> {
        let was_last = self.request.closes && self.awaited > 0;
        if was_last || matches!(self.state, State::AwaitClosed | State::Over) {
            return Err(MisuseError::NotOpen);
        }
        self.request.write(message.payload, tx);
        self.awaited = self.awaited.saturating_add(1);
        Ok(())
    }

    #[inline]
    pub(super) fn receive<'a, 'b: 'a>(
        &'a mut self,
        input: &mut Input<'b>,
    ) -> Result<Option<Event<'a>>, PeerError> {
        self.reader.release();
        if matches!(self.state, State::AwaitHead)
            && let Some(head) = self.head(input)?
        {
            self.state = State::AwaitBody(head.says, head.body);
        }
        match self.state {
            State::AwaitHead => Ok(None),
            State::AwaitBody(response, body) => {
                let Some(body) = self.reader.body(body, input)? else { return Ok(None) };
                self.awaited -= 1;
                self.state = if response.persists { State::AwaitHead } else { State::AwaitClosed };
                Ok(Some(response.event(body)))
            }
            State::AwaitClosed => {
                input.take_all();
                self.state = State::Over;
                Ok(Some(Event::Closed(Closed::default())))
            }
            State::Over => {
                input.take_all();
                Ok(None)
            }
        }
    }

    pub(super) fn close(&mut self) {
        self.state = State::Over;
    }

    pub(super) fn end(&mut self) -> Result<Event<'_>, PeerError> {
        self.reader.release();
        match std::mem::replace(&mut self.state, State::Over) {
            State::AwaitHead => match (self.reader.unfinished(), self.awaited) {
                ([], 0) => Ok(Event::Closed(Closed::default())),
                ([], count) => Err(PeerError::Unanswered { count }),
                (head, _) => Err(head::cut_off_response(head).into()),
            },
            State::AwaitBody(response, Body::UntilEnd) => {
                Ok(response.event(self.reader.ended_body()))
            }
            State::AwaitBody(_, Body::Chunked | Body::Sized(_)) => {
                Err(PeerError::BodyCutOff { len: self.reader.unfinished().len() })
            }
            State::AwaitClosed | State::Over => Ok(Event::Closed(Closed::default())),
        }
    }

    /// The next head of a final response; interim ones are skipped (RFC 9110 §15.2).
    #[inline]
    fn head(&mut self, input: &mut Input<'_>) -> Result<Option<Head<Response>>, PeerError> {
        if self.awaited == 0 {
            // RFC 9112 §9.2: bytes that answer no request are no response, but line ends may be skipped.
            let rest = head::without_empty_lines(input.peek()).len();
            input.take(input.len() - rest);
            return if rest == 0 { Ok(None) } else { Err(PeerError::Unsolicited) };
        }
        let request = &*self.request;
        loop {
            let found =
                self.reader.head(input, |bytes, limits| Response::read(bytes, request, limits))?;
            match found.map(|head| head.says.status) {
                Some(101) => return Err(PeerError::SwitchedProtocols),
                Some(100..200) => {}
                _ => return Ok(found),
            }
        }
    }
}

impl Response {
    /// Reads a head from the front of `bytes`; `None` if it goes on after them. Which body follows is decided by
    /// RFC 9112 §6.3, the rules for responses.
    #[inline]
    fn read(
        bytes: &[u8],
        request: &Request,
        limits: &Limits,
    ) -> Result<Option<Head<Self>>, PeerError> {
        let mut slots = head::slots();
        let Some(head) = head::response(bytes, &mut slots, limits.head())? else { return Ok(None) };
        let fields = Fields::read(head.headers, head.minor_version)?;
        let body = match head.status {
            100..=199 | 204 | 304 => Body::Sized(0),
            _ if request.is_head() => Body::Sized(0),
            _ => Body::announced(&fields, limits)?.unwrap_or(Body::UntilEnd),
        };
        let persists =
            fields.persists(head.minor_version) && !request.closes && body != Body::UntilEnd;
        let status = head.status;
        let is_refusal = !(200..300).contains(&status);
        let retry_after = if is_refusal { RetryAfter::of(head.headers) } else { None };
        Ok(Some(Head { body, len: head.len, says: Self { persists, retry_after, status } }))
    }

    fn event(self, body: &[u8]) -> Event<'_> {
        match self.status {
            200..=299 => Event::Message(Message { kind: Kind::Binary, payload: body }),
            code => Event::Refused { code, body, retry_after: self.retry_after },
        }
    }
}
