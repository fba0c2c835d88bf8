//! Protocols that use two connections to the same server: the rest of the crate sees them as one, and the failure of
//! either fails both. Comet needs both from the beginning: the conversation begins when both are established. SockJS
//! and Socket.IO over HTTP need the second when they have something to send, and again after the server has ended an
//! idle one. For other protocols, nothing here does anything.

use crate::Worker;
use crate::connections::State;
use crate::peer_end::End;
use crate::recorder::Observer;
use engine::{Completion, ConnectionId, Metered};
use std::net::IpAddr;
use wire::TwoSockets;

impl<O: Observer> Worker<O> {
    /// Takes a completion of the second connection of `first`.
    #[cold]
    pub(crate) fn second<E: Metered>(
        &mut self,
        engine: &mut E,
        first: ConnectionId,
        completion: Completion,
    ) {
        let Some(connection) = self.connections.find(first) else { return };
        match completion {
            Completion::Received { len, .. } => {
                self.received::<wire::Second, E>(engine, first, len)
            }
            Completion::Connected(_) if connection.state == State::AwaitConnect => {
                self.established(engine, first);
            }
            Completion::Connected(_) => {
                connection.machine.open_second();
                self.flush(engine, first);
            }
            Completion::Ended(_) | Completion::Failed(..) if connection.machine.end_second() => {
                if let (Some(second), Completion::Ended(_)) = (self.seconds.lose(first), completion)
                {
                    engine.close(second);
                }
                self.flush(engine, first);
            }
            Completion::Ended(_) => {
                self.peer_ended(engine, first, End::Closed(SECOND_CLOSED.to_owned().into()));
            }
            Completion::Failed(_, error) => self.failed(engine, first, error),
            Completion::Accepted(id) => engine.close(id),
        }
    }

    /// Prepares for a second connection of `first`, which is being opened at a place from `source`.
    pub(crate) fn expect_second(
        &mut self,
        first: ConnectionId,
        place: u32,
        source: Option<IpAddr>,
    ) {
        let publishes = self.rooms.as_ref().is_some_and(|rooms| rooms.publishes(place));
        self.seconds.expect(first, source, publishes);
    }
}

/// The description of the end when the server closed the second connection.
const SECOND_CLOSED: &str = "the server closed the second of the two connections";
