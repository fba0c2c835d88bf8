//! The other end of a worker's connections.

use engine::Address;
use spec::Carries;
use std::net::IpAddr;

/// The other end of every connection of a worker; in rooms of those that receive, and of the others too unless they
/// have [`publishers`](Self::publishers).
#[derive(Clone, Debug)]
pub struct Target {
    /// The address that it listens at.
    pub address: Address,
    /// The source addresses that connections take turns with; none: the system chooses.
    pub sources: Vec<IpAddr>,
    /// The protocol that it is spoken to in.
    pub stack: wire::Stack,
    /// Rooms: the other end of the connections that publish, if it is another.
    pub publishers: Option<Box<Self>>,
    /// True if it lives on when the server, or the part that the restart is of, is killed: because it is another one.
    pub lives_on: bool,
}

impl Target {
    /// The other end of a connection, by its part in a room.
    pub(crate) fn of(&self, publishes: bool) -> &Self {
        self.publishers.as_deref().filter(|_| publishes).unwrap_or(self)
    }

    /// The same of the connections whose messages are due by the schedule or by replies.
    pub(crate) fn of_senders(&self) -> &Self {
        self.of(true)
    }

    /// True if a layer (TLS, compression, an envelope) counts its own bytes.
    pub(crate) fn has_layers(&self) -> bool {
        self.stack.has_layers() || self.of_senders().stack.has_layers()
    }

    /// The source address at this place of the list; `None`: the system chooses.
    pub(crate) fn source(&self, turn: u16) -> Option<IpAddr> {
        self.sources.get(usize::from(turn)).copied()
    }

    /// True if it takes two connections to the same server.
    pub(crate) fn uses_two(&self) -> bool {
        self.stack.sockets() == 2
    }

    /// True if messages of one connection are answered on others too.
    pub(crate) fn pushes(&self) -> bool {
        self.stack.facts().carries == Carries::Events
    }

    /// True if a connection carries one request at a time, and the peer may end it after any response; it is then
    /// opened anew.
    pub(crate) fn takes_requests(&self) -> bool {
        self.stack.facts().carries == Carries::Requests
    }
}
