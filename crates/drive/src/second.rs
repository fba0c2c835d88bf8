//! Protocols that use two connections to the same server (Comet): the second is opened when the first is established,
//! the conversation begins when both are, and the end or failure of either is that of both. Everything but this file
//! knows them as one. For other protocols all of it is empty.

use crate::Worker;
use crate::connections::Connection;
use crate::lifecycle::End;
use crate::recorder::Observer;
use engine::{Completion, ConnectionId, Metered};
use std::net::IpAddr;
use wire::{Event, Input, PeerError, Protocol, TwoSockets};

/// The second connections.
#[derive(Debug, Default)]
pub(crate) struct Seconds {
    /// At the index of the second: its id, and that of the first.
    firsts: Vec<Option<(ConnectionId, ConnectionId)>>,
    /// At the index of the first: the address that both come from, and the second once it is there.
    seconds: Vec<Option<(Option<IpAddr>, Option<ConnectionId>)>>,
}

/// The socket of a connection on which bytes arrive: its only one, or the first of two.
pub(crate) enum First {}

/// The second socket of a connection.
pub(crate) enum Second {}

/// The way from a socket into a protocol machine.
pub(crate) trait Socket {
    /// See [`Protocol::receive`].
    fn receive<'a, 'b: 'a>(
        machine: &'a mut wire::Connection,
        input: &mut Input<'b>,
        tx: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, PeerError>;
}

impl Socket for First {
    #[inline]
    fn receive<'a, 'b: 'a>(
        machine: &'a mut wire::Connection,
        input: &mut Input<'b>,
        tx: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, PeerError> {
        machine.receive(input, tx)
    }
}

impl Socket for Second {
    fn receive<'a, 'b: 'a>(
        machine: &'a mut wire::Connection,
        input: &mut Input<'b>,
        tx: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, PeerError> {
        machine.receive_second(input, tx)
    }
}

impl Seconds {
    /// True for protocols that use one connection.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.seconds.is_empty()
    }

    /// A connection is being opened from `source` that will have a second.
    pub(crate) fn expect(&mut self, first: ConnectionId, source: Option<IpAddr>) {
        put(&mut self.seconds, first.index(), (source, None));
    }

    /// True for a connection that has a second, or will have.
    #[inline]
    pub(crate) fn is_expected(&self, first: ConnectionId) -> bool {
        matches!(self.seconds.get(first.index()), Some(Some(_)))
    }

    /// The second connection of `first` is being opened.
    fn opened(&mut self, first: ConnectionId, second: ConnectionId) {
        if let Some(Some((_, of_first))) = self.seconds.get_mut(first.index()) {
            *of_first = Some(second);
        }
        put(&mut self.firsts, second.index(), (second, first));
    }

    /// The second connection of `first`, if it is there.
    pub(crate) fn of(&self, first: ConnectionId) -> Option<ConnectionId> {
        self.seconds.get(first.index())?.and_then(|(_, second)| second)
    }

    /// The connection of which `id` is the second.
    #[inline]
    pub(crate) fn first_of(&self, id: ConnectionId) -> Option<ConnectionId> {
        let (second, first) = (*self.firsts.get(id.index())?)?;
        (second == id).then_some(first)
    }

    /// Forgets the second connection of `first`, and returns its id.
    pub(crate) fn remove(&mut self, first: ConnectionId) -> Option<ConnectionId> {
        let (_, second) = self.seconds.get_mut(first.index())?.take()?;
        let second = second?;
        self.firsts[second.index()] = None;
        Some(second)
    }
}

fn put<T: Clone>(slots: &mut Vec<Option<T>>, index: usize, value: T) {
    if slots.len() <= index {
        slots.resize(index + 1, None);
    }
    slots[index] = Some(value);
}

impl<O: Observer> Worker<O> {
    /// Something happened on the second connection of `first`.
    #[cold]
    pub(crate) fn second<E: Metered>(
        &mut self,
        engine: &mut E,
        first: ConnectionId,
        completion: Completion,
    ) {
        match completion {
            Completion::Received { len, .. } => self.received::<Second, E>(engine, first, len),
            Completion::Connected(_) => self.established(engine, first),
            Completion::Ended(_) => {
                self.peer_ended(engine, first, End::Closed(SECOND_CLOSED.to_owned().into()));
            }
            Completion::Failed(_, error) => self.failed(engine, first, error),
            Completion::Accepted(id) => engine.close(id),
        }
    }

    /// The first connection is established, and the second begins.
    pub(crate) fn connect_second<E: Metered>(&mut self, engine: &mut E, first: ConnectionId) {
        let Some(Some((source, _))) = self.seconds.seconds.get(first.index()) else { return };
        let source = *source;
        let Some(connection) = self.connections.find(first) else { return };
        let place = connection.place;
        let id = engine.connect(&self.target_at(place).address, source);
        self.seconds.opened(first, id);
    }
}

/// Hands `tx` to the engine, and on the second connection what waits for that; returns the number of bytes in both.
#[inline]
pub(crate) fn hand_over<E: Metered>(
    engine: &mut E,
    seconds: &Seconds,
    connection: &mut Connection,
    tx: &[u8],
) -> usize {
    if seconds.is_empty() {
        engine.send(connection.id, tx);
        return tx.len();
    }
    hand_over_both(engine, seconds, connection, tx)
}

fn hand_over_both<E: Metered>(
    engine: &mut E,
    seconds: &Seconds,
    connection: &mut Connection,
    tx: &[u8],
) -> usize {
    if !tx.is_empty() {
        engine.send(connection.id, tx);
    }
    let Some(second) = seconds.of(connection.id) else { return tx.len() };
    let waits = connection.machine.take_second();
    if !waits.is_empty() {
        engine.send(second, &waits);
    }
    tx.len() + waits.len()
}

/// A reason for a connection to end.
const SECOND_CLOSED: &str = "closed by the server: the second of its two connections";
