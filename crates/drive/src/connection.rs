//! What a worker knows of one of its connections.

use crate::in_flight::InFlight;
use crate::stream::Sampled;
use engine::ConnectionId;
use load::Timeouts;
use std::net::IpAddr;
use units::{Instant, Nanos};

/// One connection, from the connect to the close.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) id: ConnectionId,
    /// The second connection of a protocol that uses two, once the first is established. Its end is that of both.
    pub(crate) second: Option<ConnectionId>,
    /// Where both come from; `None`: the system chooses.
    pub(crate) source: Option<IpAddr>,
    pub(crate) machine: wire::Connection,
    pub(crate) state: State,
    /// When the current state began.
    pub(crate) since: Instant,
    /// When the connect began.
    pub(crate) began: Instant,
    pub(crate) in_flight: InFlight,
    /// How many messages it may still send.
    pub(crate) quota: u32,
    /// Whether a reply has come.
    pub(crate) replied: bool,
    /// How many have come in this phase.
    pub(crate) replies: u64,
    /// How many replies its turn still lasts, where connections take turns.
    pub(crate) turn: u32,
    /// Whether it stands in the queue of those that wait for their turn.
    pub(crate) queued: bool,
    /// Open loops: which connection of its part of the schedule it is, and its number among those of all workers.
    pub(crate) place: u32,
    pub(crate) number: u32,
    /// Open loops: since when it could send, had a message been due.
    pub(crate) free_since: Instant,
    /// Sessions: when it was to begin.
    pub(crate) due: Instant,
    /// Its segments are counted, and those of others are taken to be as many.
    pub(crate) sampled: Option<Box<Sampled>>,
}

/// What is awaited on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    AwaitConnect,
    AwaitTls,
    AwaitHandshake,
    /// Messages flow.
    Open,
    /// Our proper end was sent.
    AwaitClose,
}

impl Connection {
    /// When its peer will be given up if nothing happens; [`Instant::NEVER`] if nothing is awaited.
    pub(crate) fn deadline(&self, timeouts: &Timeouts) -> Instant {
        match self.state {
            State::AwaitConnect => self.since + timeouts.connect,
            State::AwaitTls | State::AwaitHandshake => self.since + timeouts.handshake,
            State::Open => self
                .in_flight
                .oldest()
                .map_or(Instant::NEVER, |flight| flight.sent + timeouts.reply),
            State::AwaitClose => self.since + timeouts.close,
        }
    }

    /// Whether it is a short-lived client that has had all its replies.
    #[inline]
    pub(crate) fn is_served(&self) -> bool {
        self.quota == 0 && self.in_flight.is_empty()
    }

    /// Whether it has more to send, and fewer than `in_flight_each` messages in flight.
    pub(crate) fn may_send(&self, in_flight_each: u32) -> bool {
        self.state == State::Open
            && self.quota > 0
            && self.in_flight.len() < in_flight_each as usize
    }
}

/// The connection that `id` names, if it still exists; another one may have its index.
#[inline]
pub(crate) fn find(
    connections: &mut [Option<Connection>],
    id: ConnectionId,
) -> Option<&mut Connection> {
    connections.get_mut(id.index())?.as_mut().filter(|connection| connection.id == id)
}

/// The shortest of them: no deadline that arises from now on is nearer.
pub(crate) fn shortest(timeouts: &Timeouts) -> Nanos {
    timeouts.connect.min(timeouts.handshake).min(timeouts.reply).min(timeouts.close)
}
