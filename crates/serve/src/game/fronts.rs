//! The fronts of a server, and their connections from the view of the world's thread.

use super::link::{self, Guest};
use super::sessions::Link;
use super::totals::Totals;
use super::world::SessionId;
use engine::ConnectionId;
use wire::framed::Framed;

/// All fronts so far, at the index by which routes name them.
#[derive(Debug, Default)]
pub(super) struct Fronts {
    pub(super) all: Vec<Front>,
}

/// A front.
#[derive(Debug)]
pub(super) struct Front {
    /// `None` once the front has left.
    pub(super) connection: Option<ConnectionId>,
    pub(super) machine: Framed,
    /// The front's connections, at the index of their names.
    pub(super) visitors: Vec<Option<Visitor>>,
    /// The last totals that the front reported.
    pub(super) totals: Totals,
}

/// A connection of a front.
#[derive(Clone, Copy, Debug)]
pub(super) struct Visitor {
    pub(super) guest: Guest,
    pub(super) link: Link,
    /// The session whose packets were in the last answer to a held connect.
    pub(super) rode: Option<SessionId>,
}

impl Fronts {
    /// The front at the other end of a connection, if there is one.
    #[inline]
    pub(super) fn find(&self, id: ConnectionId) -> Option<usize> {
        self.all.iter().position(|front| front.connection == Some(id))
    }

    pub(super) fn link_of(&mut self, front: usize, guest: Guest) -> Option<Link> {
        self.visitor(front, guest).map(|visitor| visitor.link)
    }

    pub(super) fn link(&mut self, front: usize, guest: Guest, link: Link) {
        if let Some(visitor) = self.visitor(front, guest) {
            visitor.link = link;
        }
    }

    /// Notes that the packets of a session were in the answer that was just sent to a connection.
    pub(super) fn ride(&mut self, front: usize, guest: Guest, session: SessionId) {
        if let Some(visitor) = self.visitor(front, guest) {
            visitor.rode = Some(session);
        }
    }

    pub(super) fn visitor(&mut self, front: usize, guest: Guest) -> Option<&mut Visitor> {
        self.all[front].visitor(guest)
    }

    pub(super) fn forget(&mut self, front: usize, guest: Guest) -> Option<Visitor> {
        let places = &mut self.all[front].visitors;
        places.get_mut(guest.index())?.take_if(|visitor| visitor.guest == guest)
    }
}

impl Front {
    /// A front that has just connected.
    pub(super) fn new(connection: ConnectionId) -> Self {
        Self {
            connection: Some(connection),
            machine: link::machine(),
            visitors: Vec::new(),
            totals: Totals::default(),
        }
    }

    #[inline]
    fn visitor(&mut self, guest: Guest) -> Option<&mut Visitor> {
        self.visitors.get_mut(guest.index())?.as_mut().filter(|visitor| visitor.guest == guest)
    }

    /// Returns the visitor with this name; adds it if there is none.
    pub(super) fn greet(&mut self, guest: Guest) -> &mut Visitor {
        if self.visitors.len() <= guest.index() {
            self.visitors.resize(guest.index() + 1, None);
        }
        let place = &mut self.visitors[guest.index()];
        match place {
            Some(visitor) if visitor.guest == guest => {}
            Some(_) | None => *place = None,
        }
        place.get_or_insert(Visitor { guest, link: Link::Done, rode: None })
    }
}
