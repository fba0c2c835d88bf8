//! The other end of a worker's connections.

use engine::Address;
use spec::Carries;
use std::net::IpAddr;

/// The other end of every connection of a worker.
#[derive(Clone, Debug)]
pub struct Target {
    /// The address that it listens at.
    pub address: Address,
    /// The source addresses that connections take turns with; none: the system chooses.
    pub sources: Vec<IpAddr>,
    /// The protocol that it is spoken to in.
    pub stack: wire::Stack,
}

impl Target {
    /// The source address at this place of the list; `None`: the system chooses.
    pub(crate) fn source(&self, turn: u16) -> Option<IpAddr> {
        self.sources.get(usize::from(turn)).copied()
    }

    /// True if it takes two connections to the same server.
    pub(crate) fn uses_two(&self) -> bool {
        self.stack.facts().sockets == 2
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
