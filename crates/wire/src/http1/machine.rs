//! The machine of either role.

use super::client::Client;
use super::exchanges::Exchanges;
use super::limits::Limits;
use super::request::Request;
use super::responses::Delivery;
use super::server::{Server, StreamPiece};
use super::site::Site;
use crate::contract::{Event, Input, Kind, Message, MisuseError, Opening, PeerError, Protocol};
use std::sync::Arc;

/// One end of a connection that speaks HTTP/1.1.
///
/// **Client**: a message becomes a request with that body. The body of its response is a message if the status is 2xx,
/// and [`Event::Refused`] otherwise; they arrive in the order of the requests. A response that ends the connection (RFC
/// 9112 §9.3) is followed by [`Event::Closed`]. [`Protocol::end`] returns a body that only the end of the connection
/// ends.
///
/// **Server**: the body of every request, of whatever method and target, is a message, and the next message sent
/// answers it. Nothing can be sent before there is a request. The answer to the last request is followed by
/// [`Event::Closed`]. A request that is malformed or beyond the limits is refused with the status for its fault.
///
/// Besides incomplete input, either role keeps its peer's last head, if that has at most 512 bytes: the same head often
/// arrives again, and then need not be parsed again.
#[derive(Debug)]
pub struct Http1(Role);

#[derive(Debug)]
enum Role {
    Client(Client),
    Exchanges(Exchanges),
    Server(Server),
}

impl Http1 {
    /// A client that sends `request` with every message as its body.
    pub fn client(request: Arc<Request>, limits: Limits) -> Self {
        Self(Role::Client(Client::new(request, limits)))
    }

    /// A client that sends requests as its owner writes them: the payload of a message is a whole request, head and
    /// body. Every response is an [`Event::Response`] whatever its status, handed out as `delivery` says; a body that
    /// is handed out as it arrives has no limit. While a request waits for its response, no request of another kind can
    /// be sent: `HEAD` after another method, or the other way round, is [`MisuseError::NotOpen`].
    pub fn exchanges(delivery: Delivery, limits: Limits) -> Self {
        Self(Role::Exchanges(Exchanges::new(delivery, limits)))
    }

    /// A server.
    pub fn server(limits: Limits) -> Self {
        Self(Role::Server(Server::new(limits)))
    }

    /// A server whose messages are complete requests with their heads, and complete responses as its owner writes them.
    /// A response in chunks begins with [`StreamPiece::OwnHead`].
    pub fn whole_requests(limits: Limits) -> Self {
        Self(Role::Server(Server::whole(limits)))
    }

    /// A server for which only what is posted to a place of `site` is a message. It answers everything else on its own,
    /// but not while an earlier request is unanswered: that is [`super::PeerError::Pipelined`].
    pub fn server_at(site: Arc<Site>, limits: Limits) -> Self {
        Self(Role::Server(Server::at(site, limits)))
    }
}

impl Http1 {
    /// Sends a piece of a stream of events as the answer of a server.
    ///
    /// # Errors
    ///
    /// As [`crate::Connection::stream`].
    pub(crate) fn stream(
        &mut self,
        piece: StreamPiece<'_>,
        tx: &mut Vec<u8>,
    ) -> Result<(), MisuseError> {
        match &mut self.0 {
            Role::Server(server) => server.stream(piece, tx),
            Role::Client(_) | Role::Exchanges(_) => Err(MisuseError::NotOpen),
        }
    }

    /// As [`crate::Connection::begun`].
    pub(crate) fn begun(&self) -> Option<&[u8]> {
        match &self.0 {
            Role::Server(server) => server.begun(),
            Role::Client(_) | Role::Exchanges(_) => None,
        }
    }

    /// Sends the message that `append` appends; where it is a whole request, without a copy.
    ///
    /// # Errors
    ///
    /// As [`Protocol::send`].
    pub(crate) fn send_in_place(
        &mut self,
        kind: Kind,
        tx: &mut Vec<u8>,
        append: &mut dyn FnMut(&mut Vec<u8>),
    ) -> Result<(), MisuseError> {
        if let Role::Exchanges(exchanges) = &mut self.0 {
            return exchanges.send_in_place(tx, append);
        }
        let mut payload = Vec::new();
        append(&mut payload);
        self.send(Message { kind, payload: &payload }, tx)
    }
}

impl Protocol for Http1 {
    fn open(&mut self, _tx: &mut Vec<u8>) -> Opening {
        Opening::Done
    }

    #[inline]
    fn send(&mut self, message: Message<'_>, tx: &mut Vec<u8>) -> Result<(), MisuseError> {
        match &mut self.0 {
            Role::Client(client) => client.send(message, tx),
            Role::Exchanges(exchanges) => exchanges.send(message, tx),
            Role::Server(server) => server.send(message, tx),
        }
    }

    #[inline]
    fn receive<'a, 'b: 'a>(
        &'a mut self,
        input: &mut Input<'b>,
        tx: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, PeerError> {
        match &mut self.0 {
            Role::Client(client) => Ok(client.receive(input)?),
            Role::Exchanges(exchanges) => Ok(exchanges.receive(input)?),
            Role::Server(server) => Ok(server.receive(input, tx)?),
        }
    }

    fn close(&mut self, _tx: &mut Vec<u8>) -> bool {
        match &mut self.0 {
            Role::Client(client) => client.close(),
            Role::Exchanges(exchanges) => exchanges.close(),
            Role::Server(server) => server.close(),
        }
        false
    }

    fn end(&mut self) -> Result<Event<'_>, PeerError> {
        match &mut self.0 {
            Role::Client(client) => Ok(client.end()?),
            Role::Exchanges(exchanges) => Ok(exchanges.end()?),
            Role::Server(server) => Ok(server.end()?),
        }
    }

    fn awaits_rest(&self) -> bool {
        match &self.0 {
            Role::Client(_) | Role::Exchanges(_) => false,
            Role::Server(server) => server.awaits_rest(),
        }
    }
}
