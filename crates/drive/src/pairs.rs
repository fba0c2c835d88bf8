//! Pairs of connections to the same server, for protocols that use two: the second connection of each first one, and
//! the bytes handed to either.

use crate::connections::Connection;
use crate::target::Target;
use engine::{ConnectionId, Metered};
use std::net::IpAddr;
use wire::TwoSockets;

/// The second connections.
#[derive(Debug, Default)]
pub(crate) struct Seconds {
    /// The second connections: the id of each and of its first, at the index of the second.
    firsts: Vec<Option<(ConnectionId, ConnectionId)>>,
    /// The pairs, each at the index of its first connection.
    seconds: Vec<Option<Pair>>,
}

/// Two connections.
#[derive(Clone, Copy, Debug)]
struct Pair {
    /// The address that both come from.
    source: Option<IpAddr>,
    /// True if they publish in a room: then they may have another target than the others.
    publishes: bool,
    /// The second, while it is open or being opened.
    second: Option<ConnectionId>,
}

impl Seconds {
    /// True for protocols that use one connection.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.seconds.is_empty()
    }

    /// True for a connection that has a second, or may have.
    #[inline]
    pub(crate) fn is_expected(&self, first: ConnectionId) -> bool {
        matches!(self.seconds.get(first.index()), Some(Some(_)))
    }

    /// The second connection of `first`, if it has one.
    pub(crate) fn of(&self, first: ConnectionId) -> Option<ConnectionId> {
        self.seconds.get(first.index())?.and_then(|pair| pair.second)
    }

    /// The first connection of the pair whose second is `id`.
    #[inline]
    pub(crate) fn first_of(&self, id: ConnectionId) -> Option<ConnectionId> {
        let (second, first) = (*self.firsts.get(id.index())?)?;
        (second == id).then_some(first)
    }

    /// Forgets `first` and its second connection. Returns the id of the second.
    pub(crate) fn remove(&mut self, first: ConnectionId) -> Option<ConnectionId> {
        let second = self.lose(first);
        *self.seconds.get_mut(first.index())? = None;
        second
    }

    /// Registers `first`, which is being opened from `source` and may have a second; `publishes` if it publishes in a
    /// room.
    pub(crate) fn expect(&mut self, first: ConnectionId, source: Option<IpAddr>, publishes: bool) {
        put(&mut self.seconds, first.index(), Pair { source, publishes, second: None });
    }

    /// Forgets the second connection of `first`, which may have another later. Returns its id.
    pub(crate) fn lose(&mut self, first: ConnectionId) -> Option<ConnectionId> {
        let second = self.seconds.get_mut(first.index())?.as_mut()?.second.take()?;
        self.firsts[second.index()] = None;
        Some(second)
    }

    /// Starts the second connection of `first`, unless it exists.
    pub(crate) fn connect<E: Metered>(
        &mut self,
        engine: &mut E,
        first: ConnectionId,
        target: &Target,
    ) {
        let Some(Some(pair)) = self.seconds.get_mut(first.index()) else { return };
        if pair.second.is_none() {
            let id = engine.connect(&target.of(pair.publishes).address, pair.source);
            pair.second = Some(id);
            put(&mut self.firsts, id.index(), (id, first));
        }
    }
}

fn put<T: Clone>(slots: &mut Vec<Option<T>>, index: usize, value: T) {
    if slots.len() <= index {
        slots.resize(index + 1, None);
    }
    slots[index] = Some(value);
}

/// Hands `tx` to the engine, and the bytes waiting for the second connection, which is started if it is wanted. Returns
/// the number of bytes on both.
#[inline]
pub(crate) fn hand_over<E: Metered>(
    engine: &mut E,
    seconds: &mut Seconds,
    target: &Target,
    connection: &mut Connection,
    tx: &[u8],
) -> usize {
    if seconds.is_empty() {
        engine.send(connection.id, tx);
        return tx.len();
    }
    hand_over_both(engine, seconds, target, connection, tx)
}

fn hand_over_both<E: Metered>(
    engine: &mut E,
    seconds: &mut Seconds,
    target: &Target,
    connection: &mut Connection,
    tx: &[u8],
) -> usize {
    if !tx.is_empty() {
        engine.send(connection.id, tx);
    }
    if connection.machine.wants_second() {
        seconds.connect(engine, connection.id, target);
    }
    let Some(second) = seconds.of(connection.id) else { return tx.len() };
    let waits = connection.machine.take_second();
    if !waits.is_empty() {
        engine.send(second, &waits);
    }
    tx.len() + waits.len()
}
