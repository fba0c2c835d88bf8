//! The connections of a server, from accept to close; shared by all servers.

use crate::Speaks;
use engine::{ConnectionId, Engine};
use std::collections::VecDeque;
use units::{Instant, Nanos};
use wire::Connection;

/// All connections of a server, each with what the server knows of it beside (`T`).
#[derive(Debug)]
pub(crate) struct Peers<T> {
    speaks: Speaks,
    /// At the index of their id.
    all: Vec<Option<Peer<T>>>,
    /// Connections that we ended and their peers did not; earliest first.
    lingering: VecDeque<Lingering>,
}

#[derive(Debug)]
pub(crate) struct Peer<T> {
    id: ConnectionId,
    pub(crate) machine: Connection,
    /// We have ended it; what still arrives is dropped.
    pub(crate) over: bool,
    pub(crate) state: T,
}

/// A connection that is closed at an instant if its peer does not end it before, or has read meanwhile.
#[derive(Clone, Copy, Debug)]
struct Lingering {
    id: ConnectionId,
    until: Instant,
    unsent: usize,
}

impl<T: Default> Peers<T> {
    pub(crate) fn new(speaks: Speaks) -> Self {
        Self { speaks, all: Vec::new(), lingering: VecDeque::new() }
    }

    pub(crate) fn accept(&mut self, id: ConnectionId) {
        if self.all.len() <= id.index() {
            self.all.resize_with(id.index() + 1, || None);
        }
        let machine = self.speaks.machine();
        self.all[id.index()] = Some(Peer { id, machine, over: false, state: T::default() });
    }

    /// The connection, unless it is closed.
    #[inline]
    pub(crate) fn find(&mut self, id: ConnectionId) -> Option<&mut Peer<T>> {
        self.all.get_mut(id.index())?.as_mut().filter(|peer| peer.id == id)
    }

    /// The connection is closed already.
    pub(crate) fn forget(&mut self, id: ConnectionId) {
        self.all[id.index()] = None;
    }

    /// The peer will send no more, and nothing will be answered any more: close once everything is written.
    pub(crate) fn ended<E: Engine>(&mut self, engine: &mut E, id: ConnectionId) {
        if engine.unsent(id) == 0 {
            self.close(engine, id);
        } else {
            self.linger(engine, id);
        }
    }

    /// Ends our side. Closing at once, with bytes of the peer unread, would make the kernel cut the connection before
    /// the peer has read our last words.
    pub(crate) fn linger<E: Engine>(&mut self, engine: &mut E, id: ConnectionId) {
        engine.shutdown(id);
        let (until, unsent) = (engine.now() + LINGER, engine.unsent(id));
        self.lingering.push_back(Lingering { id, until, unsent });
    }

    /// Closes those whose time is over.
    pub(crate) fn close_late<E: Engine>(&mut self, engine: &mut E, now: Instant) {
        while let Some(late) = self.lingering.front().copied()
            && late.until <= now
        {
            self.lingering.pop_front();
            if engine.unsent(late.id) < late.unsent {
                self.linger(engine, late.id); // It is slow, but it reads.
            } else {
                self.close(engine, late.id);
            }
        }
    }

    fn close<E: Engine>(&mut self, engine: &mut E, id: ConnectionId) {
        if self.find(id).is_some() {
            self.forget(id);
            engine.close(id);
        }
    }
}

/// How long a connection that we ended may take to be ended by its peer, or to read more of what is unsent.
const LINGER: Nanos = Nanos::from_secs(5);
