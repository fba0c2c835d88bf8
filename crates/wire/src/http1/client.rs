//! The client's half: sends requests, and hands out the bodies of the responses as replies.

use super::error::PeerError;
use super::limits::Limits;
use super::request::Request;
use super::responses::{Arrived, Asked, Delivery, Responses};
use super::retry_after::RetryAfter;
use crate::contract::{Closed, Event, Input, Kind, Message, MisuseError, Response};
use std::sync::Arc;

/// The client's end of a connection. A stream of events is not a reply, unless its status was named: the times of its
/// parts count, and it may never end.
///
/// Every message is the same request with another body, so only the number of requests in flight has to be known:
/// responses arrive in their order.
#[derive(Debug)]
pub(super) struct Client {
    request: Arc<Request>,
    responses: Responses,
}

impl Client {
    pub(super) fn new(request: Arc<Request>, limits: Limits) -> Self {
        Self { request, responses: Responses::new(Delivery::Whole, limits) }
    }

    #[inline]
    pub(super) fn send(
        &mut self,
        message: Message<'_>,
        tx: &mut Vec<u8>,
    ) -> Result<(), MisuseError> {
        self.responses.asked(Asked {
            closes: self.request.closes,
            is_head: self.request.is_head(),
            keeps_heads: false,
        })?;
        self.request.write(message.payload, tx);
        Ok(())
    }

    #[inline]
    pub(super) fn receive<'a, 'b: 'a>(
        &'a mut self,
        input: &mut Input<'b>,
    ) -> Result<Option<Event<'a>>, PeerError> {
        let request = &self.request;
        Ok(self.responses.receive(input)?.map(|arrived| event(request, arrived)))
    }

    pub(super) fn close(&mut self) {
        self.responses.close();
    }

    pub(super) fn end(&mut self) -> Result<Event<'_>, PeerError> {
        let request = &self.request;
        self.responses.end().map(|arrived| event(request, arrived))
    }
}

#[inline]
fn event<'a>(request: &Request, arrived: Arrived<'a>) -> Event<'a> {
    match arrived {
        Arrived::Closed => Event::Closed(Closed::default()),
        Arrived::Response(response, facts)
            if request.accepts(response.status) && !(facts.is_stream && request.takes_any()) =>
        {
            Event::Message(Message { kind: Kind::Binary, payload: response.body })
        }
        Arrived::Response(response, facts) => refusal(response, facts.retry_after),
    }
}

/// A refusal; that of a redirect has as its body the location that it points to.
#[cold]
pub(super) fn refusal(response: Response<'_>, retry_after: Option<RetryAfter>) -> Event<'_> {
    let body = response.location().unwrap_or(response.body);
    Event::Refused { code: response.status, body, retry_after }
}
