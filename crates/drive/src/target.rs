//! To whom a worker talks, and in which protocol.

use engine::Address;
use std::net::IpAddr;
use std::sync::Arc;
use wire::{framed, http1, raw, tls, websocket};

/// The other end of every connection of a worker.
#[derive(Clone, Debug)]
pub struct Target {
    /// Where it listens.
    pub address: Address,
    /// The source addresses that connections take turns with; none: the system chooses.
    pub sources: Vec<IpAddr>,
    /// How it is talked to.
    pub transport: Transport,
    /// What is around that, if anything. Connections share its tickets, so that handshakes after the first may resume.
    pub tls: Option<tls::Client>,
}

impl Target {
    /// The client end of one connection. `seed` determines its mask keys and handshake key; the keys of TLS are drawn
    /// from the system.
    pub(crate) fn client(&self, seed: u64) -> wire::Connection {
        let inner = self.transport.client(seed);
        match &self.tls {
            None => inner,
            Some(tls) => tls::Tls::client(tls, inner).into(),
        }
    }

    /// Whether there is anything but framing around payloads.
    pub(crate) fn has_layers(&self) -> bool {
        let compresses = match &self.transport {
            Transport::WebSocket(request, _) => request.deflate.is_some(),
            Transport::Framed(_) | Transport::Http(..) | Transport::Raw { .. } => false,
        };
        self.tls.is_some() || compresses
    }
}

/// A protocol and all that a client needs to know to speak it. Copies share what is large.
#[derive(Clone, Debug)]
pub enum Transport {
    /// Length-prefixed messages.
    Framed(framed::Limits),
    /// HTTP/1.1: a request for each message, its response is the reply. A server may end the connection after any
    /// response; it is then opened anew.
    Http(Arc<http1::Request>, http1::Limits),
    /// Bytes without framing: so many bytes are a reply.
    Raw {
        /// How many.
        reply_len: usize,
    },
    /// WebSocket.
    WebSocket(Arc<websocket::handshake::Request>, websocket::Limits),
}

impl Transport {
    fn client(&self, seed: u64) -> wire::Connection {
        match self {
            Self::Framed(limits) => framed::Framed::new(*limits).into(),
            Self::Http(request, limits) => {
                http1::Http1::client(Arc::clone(request), *limits).into()
            }
            Self::Raw { reply_len } => raw::Raw::client(*reply_len).into(),
            Self::WebSocket(request, limits) => {
                websocket::WebSocket::client(Arc::clone(request), *limits, seed).into()
            }
        }
    }

    /// Whether a proper end by the peer is part of the protocol's normal course, so that the connection is opened anew.
    pub(crate) fn reopens(&self) -> bool {
        matches!(self, Self::Http(..))
    }
}
