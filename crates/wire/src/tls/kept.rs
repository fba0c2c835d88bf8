//! An event with memory of its own.

use crate::contract::{Answer, Closed, Event, Kind, Message, Part, Pushed, Response, Secured};
use crate::http1::RetryAfter;

/// A copy of an event, for the one place where it cannot borrow from the machine inside: see [`super::Tls`].
#[derive(Debug)]
pub(super) struct Kept {
    what: What,
    bytes: Vec<u8>,
}

#[derive(Debug)]
enum What {
    /// An answer without its payload, as [`Part`](Self::Part) and [`Pushed`](Self::Pushed) are.
    Answer(Answer<'static>),
    Closed(Closed<'static>),
    Message(Kind),
    Open,
    Part(Part<'static>),
    Ping,
    Pong,
    Pushed(Pushed<'static>),
    Redirected,
    Refused(u16, Option<RetryAfter>),
    /// The bytes are its head, which has this length, and its body.
    Response(Response<'static>, usize),
    Secured(Secured),
}

impl Kept {
    pub(super) fn of(event: Event<'_>) -> Self {
        let (what, bytes) = match event {
            Event::Answer(Answer { sequence, exchange, verdict, payload }) => {
                (What::Answer(Answer { sequence, exchange, verdict, payload: b"" }), payload)
            }
            Event::Closed(Closed { code, reason }) => {
                (What::Closed(Closed { code, reason: reason.into_owned().into() }), &[][..])
            }
            Event::Message(Message { kind, payload }) => (What::Message(kind), payload),
            Event::Open => (What::Open, &[][..]),
            Event::Part(Part { sequence, exchange, first, payload }) => {
                (What::Part(Part { sequence, exchange, first, payload: b"" }), payload)
            }
            Event::Ping(payload) => (What::Ping, payload),
            Event::Pong(payload) => (What::Pong, payload),
            Event::Pushed(Pushed { kind, rule, sent, header, payload }) => {
                (What::Pushed(Pushed { kind, rule, sent, header, payload: b"" }), payload)
            }
            Event::Redirected => (What::Redirected, &[][..]),
            Event::Refused { code, body, retry_after } => (What::Refused(code, retry_after), body),
            Event::Response(response) => return Self::of_response(response),
            Event::Secured(secured) => (What::Secured(secured), &[][..]),
        };
        Self { what, bytes: bytes.to_vec() }
    }

    fn of_response(response: Response<'_>) -> Self {
        let Response { status, head, body, is_first, ends_chunk, is_last } = response;
        let bare = Response { status, head: b"", body: b"", is_first, ends_chunk, is_last };
        Self { what: What::Response(bare, head.len()), bytes: [head, body].concat() }
    }

    pub(super) fn event(&self) -> Event<'_> {
        let payload = &self.bytes[..];
        match &self.what {
            What::Answer(answer) => Event::Answer(Answer { payload, ..*answer }),
            What::Closed(closed) => Event::Closed(closed.clone()),
            What::Message(kind) => Event::Message(Message { kind: *kind, payload }),
            What::Open => Event::Open,
            What::Part(part) => Event::Part(Part { payload, ..*part }),
            What::Ping => Event::Ping(payload),
            What::Pong => Event::Pong(payload),
            What::Pushed(pushed) => Event::Pushed(Pushed { payload, ..*pushed }),
            What::Redirected => Event::Redirected,
            What::Refused(code, retry_after) => {
                Event::Refused { code: *code, body: payload, retry_after: *retry_after }
            }
            What::Response(response, head_len) => {
                let (head, body) = payload.split_at(*head_len);
                Event::Response(Response { head, body, ..*response })
            }
            What::Secured(secured) => Event::Secured(secured.clone()),
        }
    }
}
