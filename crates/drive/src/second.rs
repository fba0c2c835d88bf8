//! Protocols that use two connections to the same server (Comet): the second is opened when the first is established,
//! the conversation begins when both are, and the end or failure of either is that of both. Everything but that knows
//! them as one.

use crate::Worker;
use crate::connection::{Connection, find};
use crate::recorder::Observer;
use engine::{ConnectionId, Engine};
use wire::Protocol;

impl<O: Observer> Worker<O> {
    /// The connection by whose id everything else is known, and whether `id` is the second of it.
    #[inline]
    pub(crate) fn whose(&self, id: ConnectionId) -> (ConnectionId, bool) {
        match self.seconds.get(id.index()) {
            Some(Some((second, first))) if *second == id => (*first, true),
            Some(_) | None => (id, false),
        }
    }

    /// The first connection is established.
    pub(crate) fn connect_second<E: Engine>(&mut self, engine: &mut E, id: ConnectionId) {
        let Some(connection) = find(&mut self.connections, id) else { return };
        let second = engine.connect(&self.target.address, connection.source);
        connection.second = Some(second);
        if self.seconds.len() <= second.index() {
            self.seconds.resize(second.index() + 1, None);
        }
        self.seconds[second.index()] = Some((second, id));
    }
}

/// Hands `tx` to the engine, and on the second connection what waits for that; says how many bytes both were.
#[inline]
pub(crate) fn hand_over<E: Engine>(
    engine: &mut E,
    connection: &mut Connection,
    tx: &[u8],
) -> usize {
    let Some(second) = connection.second else {
        engine.send(connection.id, tx);
        return tx.len();
    };
    if !tx.is_empty() {
        engine.send(connection.id, tx);
    }
    let waits = connection.machine.take_second();
    if !waits.is_empty() {
        engine.send(second, &waits);
    }
    tx.len() + waits.len()
}
