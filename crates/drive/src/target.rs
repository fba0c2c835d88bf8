//! The other end of a worker's connections.

use engine::Address;
use spec::Carries;
use std::net::IpAddr;

/// The other end of every connection of a worker. In rooms, that of the receivers, and of the publishers too unless
/// [`publishers`](Self::publishers) is set.
#[derive(Clone, Debug)]
pub struct Target {
    /// The address that it listens on.
    pub address: Address,
    /// The source addresses that connections use in turn; empty: the system chooses.
    pub sources: Vec<IpAddr>,
    /// The protocol to speak with it.
    pub stack: wire::Stack,
    /// In rooms, the other end of the connections that publish, if it is a different one.
    pub publishers: Option<Box<Self>>,
    /// True if it is not what a restart kills (the server, or a part of it), so that it lives on.
    pub lives_on: bool,
}

impl Target {
    /// The other end of a connection that publishes in a room, or does not.
    pub(crate) fn of(&self, publishes: bool) -> &Self {
        self.publishers.as_deref().filter(|_| publishes).unwrap_or(self)
    }

    /// The other end of the connections whose messages a schedule or a reply makes due.
    pub(crate) fn of_senders(&self) -> &Self {
        self.of(true)
    }

    /// True if a layer (TLS, compression, an envelope) counts its own bytes.
    pub(crate) fn has_layers(&self) -> bool {
        self.stack.has_layers() || self.of_senders().stack.has_layers()
    }

    /// The source address at this index of the list; `None`: the system chooses.
    pub(crate) fn source(&self, turn: u16) -> Option<IpAddr> {
        self.sources.get(usize::from(turn)).copied()
    }

    /// True if it takes two connections to the same server.
    pub(crate) fn uses_two(&self) -> bool {
        self.stack.sockets() == 2
    }

    /// True if the server answers a message of one connection on others too.
    pub(crate) fn pushes(&self) -> bool {
        self.stack.facts().carries == Carries::Events
    }

    /// True if a connection carries one request at a time, and the peer may end it after any response; it is then
    /// opened anew.
    pub(crate) fn takes_requests(&self) -> bool {
        self.stack.facts().carries == Carries::Requests
    }
}
