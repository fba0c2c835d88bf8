//! The route to each session of the world, and the use of each connection.

use super::link::Guest;
use super::mail::Chain;
use super::world::SessionId;
use engine::ConnectionId;
use units::Instant;

/// All sessions, at the index of their id.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    all: Vec<Option<Session>>,
}

/// A session, and the mail that waits for it.
#[derive(Debug)]
pub(super) struct Session {
    id: SessionId,
    pub(super) route: Route,
    pub(super) chain: Chain,
}

/// The route to a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// A connection of its own.
    Connection(ConnectionId, Packing),
    /// The client of Bayeux with this index.
    Comet(usize),
    /// A connection of its own that a front has accepted.
    Front(usize, Guest),
}

/// A connection: one of ours, or one of a front.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Here(ConnectionId),
    Front(usize, Guest),
}

/// The use of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Link {
    /// A connection that has sent nothing yet.
    New { since: Instant },
    /// A session of its own.
    Session(SessionId, Packing),
    /// Requests of Comet clients; a connect of one of them may be held.
    Http { heard_at: Instant, held_for: Option<usize> },
    /// A connection without further use.
    #[default]
    Done,
}

/// The forms in which packets are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packing {
    Binary,
    Json,
}

impl Sessions {
    pub(super) fn insert(&mut self, id: SessionId, route: Route) {
        if self.all.len() <= id.index() {
            self.all.resize_with(id.index() + 1, || None);
        }
        self.all[id.index()] = Some(Session { id, route, chain: Chain::EMPTY });
    }

    #[inline]
    pub(super) fn find(&mut self, id: SessionId) -> Option<&mut Session> {
        self.all.get_mut(id.index())?.as_mut().filter(|session| session.id == id)
    }

    /// Forgets the session. Its mail is dropped.
    pub(super) fn remove(&mut self, id: SessionId) {
        if self.find(id).is_some() {
            self.all[id.index()] = None;
        }
    }
}
