//! Responses, read in order: the half that all clients share, whoever writes their requests.

use super::error::PeerError;
use super::fields::Fields;
use super::head;
use super::limits::Limits;
use super::reader::{Body, Head, Reader};
use super::retry_after::RetryAfter;
use crate::contract::{Input, MisuseError, Response};
use crate::sse;

/// The responses that arrive on a connection, in the order of the requests.
///
/// Requests in flight at the same time are alike, all of them `HEAD` or none, so it is enough to count them.
#[derive(Debug)]
pub(super) struct Responses {
    /// The number of requests without a response.
    awaited: u32,
    delivery: Delivery,
    reader: Reader<Facts>,
    request: Asked,
    state: State,
}

/// The ways in which the body of a response is handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// The body in parts, each as soon as it arrives, however long the body gets.
    AsItArrives,
    /// Whole.
    Whole,
}

/// The facts about a request that decide how its response is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Asked {
    /// True if the request says `Connection: close`.
    pub(super) closes: bool,
    /// True for `HEAD`: the response has no body, whatever its head says (RFC 9112 §6.3).
    pub(super) is_head: bool,
    /// True if the bytes of every head are handed out, not only those of redirects.
    pub(super) keeps_heads: bool,
}

/// The next thing that is awaited.
#[derive(Clone, Copy, Debug)]
enum State {
    AwaitHead,
    AwaitBody {
        response: Facts,
        body: Body,
        /// True if a part of the body was handed out.
        has_begun: bool,
    },
    /// The last response was handed out; the end of the conversation has yet to be reported.
    AwaitClosed,
    Over,
}

/// The facts from the head of a response.
#[derive(Clone, Copy, Debug)]
struct Facts {
    /// True if the connection stays open after it.
    persists: bool,
    /// The time at which a server that refuses wants a retry.
    retry_after: Option<RetryAfter>,
    /// True if its type is that of a stream of events.
    is_stream: bool,
    status: u16,
}

/// The facts about a response that only its head has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Says {
    /// The time at which a server that refuses wants a retry.
    pub(super) retry_after: Option<RetryAfter>,
    /// True if its type is that of a stream of events.
    pub(super) is_stream: bool,
}

/// Something that arrived.
#[derive(Debug)]
pub(super) enum Arrived<'a> {
    /// The connection is at its proper end.
    Closed,
    /// A response, or a part of one.
    Response(Response<'a>, Says),
}

impl Responses {
    pub(super) fn new(delivery: Delivery, limits: Limits) -> Self {
        let limits = match delivery {
            // No part of a body is buffered.
            Delivery::AsItArrives => Limits { body_len_max: usize::MAX, ..limits },
            Delivery::Whole => limits,
        };
        Self {
            awaited: 0,
            delivery,
            reader: Reader::new(limits),
            request: Asked::default(),
            state: State::AwaitHead,
        }
    }

    /// Counts a request that is about to be written.
    ///
    /// # Errors
    ///
    /// It would get no response: the connection is at its end, or a request that waits is of another kind.
    #[inline]
    pub(super) fn asked(&mut self, request: Asked) -> Result<(), MisuseError> {
        let was_last = self.awaited > 0 && (self.request.closes || self.request != request);
        if was_last || matches!(self.state, State::AwaitClosed | State::Over) {
            return Err(MisuseError::NotOpen);
        }
        if self.request != request {
            // The same head means something else for another request: after `HEAD` it announces no body.
            self.reader.forget_head();
            self.request = request;
        }
        self.awaited = self.awaited.saturating_add(1);
        Ok(())
    }

    /// Takes one response, or a part of one, from the front of `input`; `None` if more bytes are needed.
    #[inline]
    pub(super) fn receive<'a, 'b: 'a>(
        &'a mut self,
        input: &mut Input<'b>,
    ) -> Result<Option<Arrived<'a>>, PeerError> {
        self.reader.release();
        if matches!(self.state, State::AwaitHead)
            && let Some(Head { body, says: response, .. }) = self.head(input)?
        {
            self.state = State::AwaitBody { response, body, has_begun: false };
        }
        match self.state {
            State::AwaitHead => Ok(None),
            State::AwaitBody { response, body, has_begun } => match self.delivery {
                Delivery::Whole => {
                    let Some(whole) = self.reader.whole(body, input)? else { return Ok(None) };
                    self.awaited -= 1;
                    self.state = response.next_state();
                    Ok(Some(response.whole(whole.head, whole.data)))
                }
                Delivery::AsItArrives => {
                    let mut left = body;
                    let Some(part) = self.reader.part(&mut left, input)? else { return Ok(None) };
                    self.state = State::AwaitBody { response, body: left, has_begun: true };
                    if part.is_last {
                        self.awaited -= 1;
                        self.state = response.next_state();
                    }
                    let came = Response {
                        status: response.status,
                        head: part.head,
                        body: part.data,
                        is_first: !has_begun,
                        ends_chunk: part.ends_chunk,
                        is_last: part.is_last,
                    };
                    Ok(Some(Arrived::Response(came, response.says())))
                }
            },
            State::AwaitClosed => {
                input.take_all();
                self.state = State::Over;
                Ok(Some(Arrived::Closed))
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

    pub(super) fn end(&mut self) -> Result<Arrived<'_>, PeerError> {
        self.reader.release();
        match std::mem::replace(&mut self.state, State::Over) {
            State::AwaitHead => match (self.reader.unfinished(), self.awaited) {
                ([], 0) => Ok(Arrived::Closed),
                ([], count) => Err(PeerError::Unanswered { count }),
                (head, _) => Err(head::cut_off_response(head).into()),
            },
            State::AwaitBody { response, body: Body::UntilEnd, has_begun } => {
                let (head, body) = self.reader.ended_body();
                let status = response.status;
                let is_first = !has_begun;
                let last =
                    Response { status, head, body, is_first, ends_chunk: false, is_last: true };
                Ok(Arrived::Response(last, response.says()))
            }
            State::AwaitBody { .. } => {
                Err(PeerError::BodyCutOff { len: self.reader.unfinished().len() })
            }
            State::AwaitClosed | State::Over => Ok(Arrived::Closed),
        }
    }

    /// The next head of a final response; interim ones are skipped (RFC 9110 §15.2).
    #[inline]
    fn head(&mut self, input: &mut Input<'_>) -> Result<Option<Head<Facts>>, PeerError> {
        if self.awaited == 0 {
            // RFC 9112 §9.2: bytes that answer no request are not a response, but line ends may be skipped.
            let rest = head::without_empty_lines(input.peek()).len();
            input.take(input.len() - rest);
            return if rest == 0 { Ok(None) } else { Err(PeerError::Unsolicited) };
        }
        let request = self.request;
        loop {
            let found =
                self.reader.head(input, |bytes, limits| Facts::read(bytes, request, limits))?;
            match found.map(|head| head.says.status) {
                Some(101) => return Err(PeerError::SwitchedProtocols),
                Some(100..200) => {}
                _ => return Ok(found),
            }
        }
    }
}

/// True if the connection stays open after the response with this head, as it came.
pub(crate) fn persists(head: &[u8]) -> bool {
    let read = Facts::read(head, Asked::default(), &Limits::default());
    read.is_ok_and(|head| head.is_some_and(|head| head.says.persists))
}

impl Facts {
    /// Reads a head from the front of `bytes`; `None` if it is not complete. RFC 9112 §6.3, the rules for responses,
    /// decides which body follows.
    #[inline]
    fn read(
        bytes: &[u8],
        request: Asked,
        limits: &Limits,
    ) -> Result<Option<Head<Self>>, PeerError> {
        let mut slots = head::slots();
        let Some(head) = head::response(bytes, &mut slots, limits.head())? else { return Ok(None) };
        let fields = Fields::read(head.headers, head.minor_version)?;
        let body = match head.status {
            100..=199 | 204 | 304 => Body::Sized(0),
            _ if request.is_head => Body::Sized(0),
            _ => Body::announced(&fields, limits)?.unwrap_or(Body::UntilEnd),
        };
        let persists =
            fields.persists(head.minor_version) && !request.closes && body != Body::UntilEnd;
        let is_kept = request.keeps_heads || matches!(head.status, 300..=399);
        let is_refusal = !(200..300).contains(&head.status);
        let retry_after = if is_refusal { RetryAfter::of(head.headers) } else { None };
        let is_stream = head.headers.iter().any(|header| {
            header.name.eq_ignore_ascii_case("content-type") && sse::is_type(header.value)
        });
        let says = Self { persists, retry_after, is_stream, status: head.status };
        Ok(Some(Head { body, is_kept, len: head.len, says }))
    }

    const fn says(self) -> Says {
        Says { retry_after: self.retry_after, is_stream: self.is_stream }
    }

    const fn next_state(self) -> State {
        if self.persists { State::AwaitHead } else { State::AwaitClosed }
    }

    fn whole<'a>(self, head: &'a [u8], body: &'a [u8]) -> Arrived<'a> {
        let status = self.status;
        let whole =
            Response { status, head, body, is_first: true, ends_chunk: false, is_last: true };
        Arrived::Response(whole, self.says())
    }
}
