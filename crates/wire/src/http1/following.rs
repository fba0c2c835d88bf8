//! A client that follows redirects: every message is the same request with another body.

use super::maker::Maker;
use super::redirect::{Hops, Origin};
use super::request::Request;
use super::responses::Delivery;
use super::retry_after::RetryAfter;
use crate::contract::{
    Event, InPlace, Input, Kind, Layers, Message, MisuseError, Opening, PeerError, Protocol,
    Response,
};
use crate::sse;
use std::sync::Arc;
use units::Nanos;

/// A client like that of [`Http1::client`](super::Http1::client), which follows redirects to the same server. The last
/// response answers the message; each redirect before it is an [`Event::Redirected`].
///
/// The next request uses the same connection or, if that ended with the redirect, another one: the owner then calls
/// [`crate::Connection::go_on`].
#[derive(Debug)]
pub struct Following<C> {
    site: Arc<Followed>,
    make: Maker<C>,
    inner: C,
    hops: Hops,
    /// The bytes that the layers of earlier connections have added.
    earlier: Layers,
}

/// The requests that are sent, and the redirects that are followed; shared by all connections.
#[derive(Debug)]
pub(crate) struct Followed {
    pub(crate) request: Arc<Request>,
    pub(crate) origin: Origin,
    /// The most redirects of one message.
    pub(crate) max: u8,
}

impl<C: InPlace> Following<C> {
    pub(crate) fn new(site: &Arc<Followed>, make: &Maker<C>) -> Self {
        Self {
            site: Arc::clone(site),
            inner: make.make(Delivery::Whole),
            make: make.clone(),
            hops: Hops::default(),
            earlier: Layers::default(),
        }
    }

    /// Continues on another connection if a redirect was the last response on this one, and returns the time to wait
    /// before connecting; `None` otherwise.
    pub(crate) fn go_on(&mut self) -> Option<Nanos> {
        if !self.hops.is_due() {
            return None;
        }
        self.earlier = self.earlier + self.inner.layers();
        self.inner = self.make.make(Delivery::Whole);
        Some(Nanos::ZERO)
    }

    fn event<'a>(
        site: &Followed,
        hops: &mut Hops,
        event: Event<'a>,
    ) -> Result<Event<'a>, PeerError> {
        let Event::Response(response) = event else { return Ok(event) };
        let Followed { request, origin, .. } = site;
        let is_reply =
            request.accepts(response.status) && !(request.takes_any() && is_stream(&response));
        if is_reply {
            return Ok(Event::Message(Message { kind: Kind::Binary, payload: response.body }));
        }
        if hops.follow(&response, origin, None).map_err(super::PeerError::from)? {
            return Ok(Event::Redirected);
        }
        Ok(super::client::refusal(response, RetryAfter::of_response(&response)))
    }
}

fn is_stream(response: &Response<'_>) -> bool {
    response.field("content-type").is_some_and(sse::is_type)
}

impl<C: InPlace> Protocol for Following<C> {
    fn open(&mut self, tx: &mut Vec<u8>) -> Opening {
        let opening = self.inner.open(tx);
        if opening == Opening::Done {
            self.hops.ask(&mut self.inner, tx);
        }
        opening
    }

    fn send(&mut self, message: Message<'_>, tx: &mut Vec<u8>) -> Result<(), MisuseError> {
        let mut request = Vec::new();
        self.site.request.write(message.payload, &mut request);
        self.inner.send(Message { kind: Kind::Binary, payload: &request }, tx)?;
        self.hops.begin(self.site.max, &request);
        Ok(())
    }

    fn receive<'a, 'b: 'a>(
        &'a mut self,
        input: &mut Input<'b>,
        tx: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, PeerError> {
        let Self { site, inner, hops, .. } = self;
        hops.ask(inner, tx);
        let event = inner.receive(input, tx)?;
        event.map(|event| Self::event(site, hops, event)).transpose()
    }

    fn close(&mut self, tx: &mut Vec<u8>) -> bool {
        self.inner.close(tx)
    }

    fn end(&mut self) -> Result<Event<'_>, PeerError> {
        let Self { site, inner, hops, .. } = self;
        Self::event(site, hops, inner.end()?)
    }

    fn layers(&self) -> Layers {
        self.inner.layers() + self.earlier
    }
}
