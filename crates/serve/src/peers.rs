//! The connections of a server, from accept to close; used by all servers.
//!
//! Whoever accepts a connection chooses its protocol. TLS is a layer around its machine, with limited time for its
//! handshake: a peer whose handshake is not done [`HANDSHAKE_MAX`] after the accept is closed.

use engine::{ConnectionId, Engine};
use std::collections::VecDeque;
use units::{Instant, Nanos};
use wire::{Connection, Stack};

/// All connections of a server, each with what the server knows of it beside (`T`).
#[derive(Debug)]
pub(crate) struct Peers<T> {
    /// At the index of their ids.
    all: Vec<Option<Peer<T>>>,
    /// Connections that we ended and their peers have not; earliest first.
    lingering: VecDeque<Lingering>,
    /// Connections accepted with TLS, each with the instant at which its handshake must be done; earliest first.
    handshaking: VecDeque<(Instant, ConnectionId)>,
    handshakes: Handshakes,
}

#[derive(Debug)]
pub(crate) struct Peer<T> {
    pub(crate) id: ConnectionId,
    pub(crate) machine: Connection,
    /// True if we have ended it; further input is dropped.
    pub(crate) over: bool,
    /// True while its TLS handshake is neither complete nor given up.
    is_handshaking: bool,
    pub(crate) state: T,
}

/// A connection that is closed at an instant if its peer does not end it before, or has read meanwhile.
#[derive(Clone, Copy, Debug)]
struct Lingering {
    id: ConnectionId,
    until: Instant,
    unsent: usize,
}

/// TLS handshakes of a server, each counted when it came to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Handshakes {
    /// Completed in full.
    pub full: u64,
    /// Completed by resumption.
    pub resumed: u64,
    /// Not completed: the peer broke the protocol or would not agree, went away, or took longer than 10 s. Those that
    /// broke the protocol are also among [`Totals::broken`](crate::Totals::broken).
    pub failed: u64,
}

impl<T: Default> Peers<T> {
    pub(crate) fn new() -> Self {
        Self {
            all: Vec::new(),
            lingering: VecDeque::new(),
            handshaking: VecDeque::new(),
            handshakes: Handshakes::default(),
        }
    }

    /// A connection of `stack` was accepted.
    pub(crate) fn accept(&mut self, id: ConnectionId, stack: &Stack, now: Instant) {
        self.accept_with(id, stack.connection(0, 0), stack.is_secured(), now);
    }

    /// A connection was accepted that `machine` speaks on; its TLS handshake has a time if it has one.
    pub(crate) fn accept_with(
        &mut self,
        id: ConnectionId,
        machine: Connection,
        is_handshaking: bool,
        now: Instant,
    ) {
        if self.all.len() <= id.index() {
            self.all.resize_with(id.index() + 1, || None);
        }
        if is_handshaking {
            self.handshaking.push_back((now + HANDSHAKE_MAX, id));
        }
        let state = T::default();
        self.all[id.index()] = Some(Peer { id, machine, over: false, is_handshaking, state });
    }

    /// Notes that the TLS handshake of a connection is complete.
    pub(crate) fn secured(&mut self, id: ConnectionId, is_resumed: bool) {
        if let Some(peer) = self.find(id) {
            peer.is_handshaking = false;
            self.handshakes.full += u64::from(!is_resumed);
            self.handshakes.resumed += u64::from(is_resumed);
        }
    }

    /// All TLS handshakes so far.
    pub(crate) fn handshakes(&self) -> Handshakes {
        self.handshakes
    }

    /// The connection, unless it is closed.
    #[inline]
    pub(crate) fn find(&mut self, id: ConnectionId) -> Option<&mut Peer<T>> {
        self.all.get_mut(id.index())?.as_mut().filter(|peer| peer.id == id)
    }

    /// All connections that are not closed.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Peer<T>> {
        self.all.iter().flatten()
    }

    /// Forgets a connection that is closed already.
    pub(crate) fn forget(&mut self, id: ConnectionId) {
        self.give_up_handshake(id);
        self.all[id.index()] = None;
    }

    /// Handles the end of a peer whose messages are all answered: closes once everything is written.
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
        self.give_up_handshake(id);
        engine.shutdown(id);
        let (until, unsent) = (engine.now() + LINGER, engine.unsent(id));
        self.lingering.push_back(Lingering { id, until, unsent });
    }

    /// Closes the connections whose time is over.
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
        while let Some((until, id)) = self.handshaking.front().copied() {
            let is_handshaking = self.find(id).is_some_and(|peer| peer.is_handshaking);
            if is_handshaking && now < until {
                break;
            }
            self.handshaking.pop_front();
            if is_handshaking {
                self.close(engine, id);
            }
        }
    }

    /// Counts a handshake as failed if it is not complete.
    fn give_up_handshake(&mut self, id: ConnectionId) {
        if let Some(peer) = self.find(id)
            && std::mem::take(&mut peer.is_handshaking)
        {
            self.handshakes.failed += 1;
        }
    }

    /// Closes at once; unsent bytes are dropped.
    pub(crate) fn close<E: Engine>(&mut self, engine: &mut E, id: ConnectionId) {
        if self.find(id).is_some() {
            self.forget(id);
            engine.close(id);
        }
    }
}

/// Sends the bytes in `tx`, counts them in `bytes_sent`, and frees what is more than the usual room.
#[inline]
pub(crate) fn flush<E: Engine>(
    engine: &mut E,
    id: ConnectionId,
    tx: &mut Vec<u8>,
    bytes_sent: &mut u64,
) {
    if !tx.is_empty() {
        *bytes_sent += tx.len() as u64;
        engine.send(id, tx);
        tx.clear();
    }
    tx.shrink_to(TX_LEN);
}

/// Longest time from the accept of a connection to the end of its TLS handshake.
const HANDSHAKE_MAX: Nanos = Nanos::from_secs(10);

/// Longest time from our end of a connection to its peer's, and longest time in which the peer reads none of the unsent
/// bytes.
const LINGER: Nanos = Nanos::from_secs(5);

/// Bytes that are read at once.
pub(crate) const RX_LEN: usize = 64 * 1024;

/// Bytes of answers that are gathered before they are written; also the capacity of a buffer that is kept for later.
pub(crate) const TX_LEN: usize = 256 * 1024;

/// Time between two looks at the wish to stop.
pub(crate) const STOP_POLL: Nanos = Nanos::from_millis(100);
