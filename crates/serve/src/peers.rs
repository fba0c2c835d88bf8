//! The connections of a server, from accept to close; used by all servers.
//!
//! The server that accepts a connection chooses its protocol. A peer that does not finish in time what it began, or
//! sends nothing for long, is closed ([`Patience`]). Time in which the server itself stood still does not count.

use engine::{ConnectionId, Engine};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use units::{Instant, Nanos};
use wire::{Connection, Event, Input, Message, Protocol, Stack};

/// All connections of a server, each with the server's own state for it (`T`).
#[derive(Debug)]
pub(crate) struct Peers<T> {
    /// The slots, each at the index of its id.
    all: Vec<Slot<T>>,
    /// Connections that we have ended but their peers have not; earliest first.
    lingering: VecDeque<Lingering>,
    /// The slots to check, each at an instant no later than the deadline of its connection; earliest on top.
    looks: BinaryHeap<Reverse<(Instant, usize)>>,
    patience: Patience,
    /// Bytes that all connections together may hold.
    memory_max: usize,
    served: Served,
    timed_out: u64,
    handshakes: Handshakes,
}

/// The longest times that a server gives its peers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// Time from the first byte of a header, body or message to its last; for an opening handshake, from the accept
    /// (for that of WebSocket inside TLS, from the end of the TLS handshake).
    pub receive_max: Nanos,
    /// Time from one read of a connection to the next.
    pub idle_max: Nanos,
}

impl Patience {
    /// No peer is ever closed.
    pub const ENDLESS: Self = Self { receive_max: Nanos::MAX, idle_max: Nanos::MAX };

    /// Only handshakes have to be finished in time.
    pub(crate) const HANDSHAKES: Self = Self { receive_max: RECEIVE_MAX, idle_max: Nanos::MAX };

    fn shortest(self) -> Nanos {
        self.receive_max.min(self.idle_max)
    }
}

impl Default for Patience {
    /// Returns 10 s for what a peer began, and 10 minutes of silence.
    fn default() -> Self {
        Self { receive_max: RECEIVE_MAX, idle_max: IDLE_MAX }
    }
}

/// The time that a server has served: real time without the time in which it stood still.
#[derive(Clone, Copy, Debug, Default)]
struct Served {
    until: Instant,
    looked_at: Instant,
}

impl Served {
    fn at(self, now: Instant) -> Instant {
        self.until + now.since(self.looked_at).min(LOOKS_APART_MAX)
    }

    fn look(&mut self, now: Instant) -> Instant {
        *self = Self { until: self.at(now), looked_at: now };
        self.until
    }
}

#[derive(Debug)]
struct Slot<T> {
    peer: Option<Peer<T>>,
    /// True if [`Peers::looks`] has this slot.
    is_watched: bool,
}

/// The thing that a server waits for on a connection, with the instant in [`Served`] time at which the wait began.
#[derive(Clone, Copy, Debug)]
enum Awaits {
    /// Anything.
    Any(Instant),
    /// Nothing: we have ended our side, and [`Lingering`] has the deadline.
    End,
    /// The rest of what the peer began.
    Rest(Instant),
}

#[derive(Debug)]
pub(crate) struct Peer<T> {
    pub(crate) id: ConnectionId,
    pub(crate) machine: Connection,
    /// True if we have ended it; further input is dropped.
    pub(crate) over: bool,
    /// True while its TLS handshake is neither complete nor given up.
    is_handshaking: bool,
    awaits: Awaits,
    /// The bytes of an incomplete message.
    pub(crate) held: usize,
    pub(crate) state: T,
}

/// A connection to close at an instant unless its peer ends it before, or has read some of the unsent bytes meanwhile.
#[derive(Clone, Copy, Debug)]
struct Lingering {
    id: ConnectionId,
    until: Instant,
    unsent: usize,
}

/// TLS handshakes of a server, each counted at its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Handshakes {
    /// Completed in full.
    pub full: u64,
    /// Completed by resumption.
    pub resumed: u64,
    /// Handshakes that were not completed: the peer broke the protocol or would not agree, went away, or took too long.
    /// Those that broke the protocol are also among [`Totals::broken`](crate::Totals::broken).
    pub failed: u64,
}

impl<T: Default> Peers<T> {
    pub(crate) fn new(patience: Patience) -> Self {
        Self {
            all: Vec::new(),
            lingering: VecDeque::new(),
            looks: BinaryHeap::new(),
            patience,
            memory_max: usize::MAX,
            served: Served::default(),
            timed_out: 0,
            handshakes: Handshakes::default(),
        }
    }

    pub(crate) fn set_patience(&mut self, patience: Patience) {
        self.patience = patience;
    }

    pub(crate) fn set_memory_max(&mut self, bytes: usize) {
        self.memory_max = bytes;
    }

    /// Adds an accepted connection of `stack`.
    pub(crate) fn accept(&mut self, id: ConnectionId, stack: &Stack, now: Instant) {
        self.accept_with(id, stack.connection(0, 0), stack.is_secured(), now);
    }

    /// Adds an accepted connection that `machine` serves; `is_handshaking` if it begins with a TLS handshake, which has
    /// a time limit.
    pub(crate) fn accept_with(
        &mut self,
        id: ConnectionId,
        machine: Connection,
        is_handshaking: bool,
        now: Instant,
    ) {
        if self.all.len() <= id.index() {
            self.all.resize_with(id.index() + 1, || Slot { peer: None, is_watched: false });
        }
        let since = self.served.at(now);
        let is_awaited = is_handshaking || machine.awaits_rest();
        let awaits = if is_awaited { Awaits::Rest(since) } else { Awaits::Any(since) };
        let state = T::default();
        let peer = Peer { id, machine, over: false, is_handshaking, awaits, held: 0, state };
        let slot = &mut self.all[id.index()];
        slot.peer = Some(peer);
        // An earlier check of the slot is in time for this connection too.
        if !slot.is_watched && self.patience != Patience::ENDLESS {
            slot.is_watched = true;
            self.looks.push(Reverse((since + self.patience.shortest(), id.index())));
        }
    }

    /// Notes that a connection was read. `is_progress` if the read completed something: then the time for what it began
    /// after that starts anew.
    #[inline]
    pub(crate) fn was_read(&mut self, id: ConnectionId, now: Instant, is_progress: bool) {
        let at = self.served.at(now);
        let Some(peer) = self.find(id) else { return };
        peer.awaits = match peer.awaits {
            Awaits::End => Awaits::End,
            Awaits::Any(_) | Awaits::Rest(_) if !peer.machine.awaits_rest() => Awaits::Any(at),
            Awaits::Rest(since) if !is_progress => Awaits::Rest(since),
            Awaits::Any(_) | Awaits::Rest(_) => Awaits::Rest(at),
        };
    }

    /// Connections that were closed because their peers took too long.
    pub(crate) fn timed_out(&self) -> u64 {
        self.timed_out
    }

    /// Notes that the TLS handshake of a connection is complete.
    pub(crate) fn secured(&mut self, id: ConnectionId, is_resumed: bool) {
        if let Some(peer) = self.find(id) {
            peer.is_handshaking = false;
            if let Awaits::Rest(since) = peer.awaits {
                peer.awaits = Awaits::Any(since);
            }
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
        self.all.get_mut(id.index())?.peer.as_mut().filter(|peer| peer.id == id)
    }

    /// All connections that are not closed.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Peer<T>> {
        self.all.iter().filter_map(|slot| slot.peer.as_ref())
    }

    /// Forgets a connection that is closed already.
    pub(crate) fn forget(&mut self, id: ConnectionId) {
        self.give_up_handshake(id);
        self.all[id.index()].peer = None;
    }

    /// Handles the end of a peer whose messages are all answered: closes the connection once everything is written.
    pub(crate) fn ended<E: Engine>(&mut self, engine: &mut E, id: ConnectionId) {
        if engine.unsent(id) == 0 {
            self.close(engine, id);
        } else {
            self.linger(engine, id);
        }
    }

    /// Ends our side. Closing at once, with bytes of the peer unread, would make the kernel cut the connection before
    /// the peer has read our last bytes.
    pub(crate) fn linger<E: Engine>(&mut self, engine: &mut E, id: ConnectionId) {
        self.give_up_handshake(id);
        if let Some(peer) = self.find(id) {
            peer.awaits = Awaits::End;
        }
        engine.shutdown(id);
        let (until, unsent) = (engine.now() + LINGER, engine.unsent(id));
        self.lingering.push_back(Lingering { id, until, unsent });
    }

    /// Closes the connections whose time is up.
    pub(crate) fn close_late<E: Engine>(&mut self, engine: &mut E, now: Instant) {
        for id in self.take_late(engine, now) {
            self.close(engine, id);
        }
    }

    /// Returns the connections whose time is up, for the caller to close, and counts those that took too long as timed
    /// out.
    pub(crate) fn take_late<E: Engine>(
        &mut self,
        engine: &mut E,
        now: Instant,
    ) -> Vec<ConnectionId> {
        let mut all = Vec::new();
        while let Some(late) = self.lingering.front().copied()
            && late.until <= now
        {
            self.lingering.pop_front();
            if engine.unsent(late.id) < late.unsent {
                self.linger(engine, late.id); // The peer is slow, but it reads.
            } else {
                all.push(late.id);
            }
        }
        let served = self.served.look(now);
        while let Some(Reverse((at, index))) = self.looks.peek().copied()
            && at <= served
        {
            self.looks.pop();
            let slot = &mut self.all[index];
            slot.is_watched = false;
            let Some(peer) = &slot.peer else { continue };
            let deadline = peer.deadline(self.patience);
            if deadline <= served {
                self.timed_out += 1;
                all.push(peer.id);
            } else {
                slot.is_watched = true;
                let next = deadline.min(served + self.patience.shortest());
                self.looks.push(Reverse((next, index)));
            }
        }
        all
    }

    /// Counts a handshake as failed if it is not complete.
    fn give_up_handshake(&mut self, id: ConnectionId) {
        if let Some(peer) = self.find(id)
            && std::mem::take(&mut peer.is_handshaking)
        {
            self.handshakes.failed += 1;
        }
    }

    /// True if a connection must be ended to limit memory: it holds a large incomplete message, or much that its peer
    /// does not read, while all connections together, with `besides`, hold more than they may.
    #[inline]
    pub(crate) fn holds_too_much<E: Engine>(
        &mut self,
        engine: &E,
        id: ConnectionId,
        besides: usize,
    ) -> bool {
        let Some(peer) = self.find(id) else { return false };
        peer.held.saturating_add(engine.unsent(id)) >= MUCH
            && self.is_over_memory(engine.kept().saturating_add(besides))
    }

    #[cold]
    fn is_over_memory(&self, besides: usize) -> bool {
        self.all().fold(besides, |sum, peer| sum.saturating_add(peer.held)) > self.memory_max
    }

    /// Closes at once; unsent bytes are dropped.
    pub(crate) fn close<E: Engine>(&mut self, engine: &mut E, id: ConnectionId) {
        if self.find(id).is_some() {
            self.forget(id);
            engine.close(id);
        }
    }
}

impl<T> Peer<T> {
    fn deadline(&self, patience: Patience) -> Instant {
        match self.awaits {
            Awaits::Any(since) => since + patience.idle_max,
            Awaits::End => Instant::NEVER,
            Awaits::Rest(since) => since + patience.receive_max,
        }
    }
}

/// An event on a connection, as far as it concerns a server.
#[derive(Debug)]
pub(crate) enum Heard<'a> {
    /// A complete message arrived.
    Message(Message<'a>),
    /// The opening handshake of the protocol is complete.
    Open,
    /// The TLS handshake is complete.
    Secured { is_resumed: bool },
    /// The peer asked for a proper end.
    Closed,
    /// The peer broke the protocol.
    Broken,
    /// The protocol itself has dealt with it.
    Nothing,
}

/// Takes the next event from `input`, and updates `held`, the bytes of an incomplete message; `None` once more bytes
/// are needed. Answers of the protocol itself go to `tx`.
#[inline]
pub(crate) fn hear<'a, 'b: 'a>(
    machine: &'a mut Connection,
    held: &mut usize,
    input: &mut Input<'b>,
    tx: &mut Vec<u8>,
) -> Option<Heard<'a>> {
    let received = machine.receive(input, tx);
    if !matches!(received, Ok(None)) {
        *held = input.len();
    }
    Some(match received {
        Ok(None) => return None,
        Ok(Some(Event::Message(message))) => Heard::Message(message),
        Ok(Some(Event::Open)) => Heard::Open,
        Ok(Some(Event::Secured(agreed))) => Heard::Secured { is_resumed: agreed.facts.resumed },
        Ok(Some(Event::Closed(_))) => Heard::Closed,
        Ok(Some(
            Event::Ping(_)
            | Event::Pong(_)
            | Event::Answer(_)
            | Event::Part(_)
            | Event::Pushed(_)
            | Event::Redirected
            | Event::Refused { .. }
            | Event::Response(_),
        )) => Heard::Nothing,
        Err(_) => Heard::Broken,
    })
}

/// Sends the bytes in `tx`, counts them in `bytes_sent`, and frees capacity beyond the usual.
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

/// The usual time for a handshake, a header and body, or a message.
const RECEIVE_MAX: Nanos = Nanos::from_secs(10);

/// The usual time in which a connection may be silent.
const IDLE_MAX: Nanos = Nanos::from_secs(600);

/// The longest time between two looks that counts as served; a server looks ten times a second unless it stands still.
const LOOKS_APART_MAX: Nanos = Nanos::from_secs(1);

/// The longest time from our end of a connection to its peer's; it begins again if the peer has read some of the unsent
/// bytes meanwhile.
const LINGER: Nanos = Nanos::from_secs(5);

/// The least bytes for which a connection is ended to limit memory: one that holds less is not what fills it.
const MUCH: usize = RX_LEN;

/// Bytes that are read at once.
pub(crate) const RX_LEN: usize = 64 * 1024;

/// Bytes of answers gathered before they are written; also the capacity of a buffer kept for later.
pub(crate) const TX_LEN: usize = 256 * 1024;

/// Time between two checks whether to stop.
pub(crate) const STOP_POLL: Nanos = Nanos::from_millis(100);
