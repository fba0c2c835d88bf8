//! The answers of a pace: messages to send, and the fate of those that are due.

use units::Instant;

/// Messages to send on one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The place of the connection.
    pub place: u32,
    /// The number of messages, at least one; exactly one if it has an instant at which it is due.
    pub count: u32,
    /// The instant at which the message was due; `None` in a closed loop, where it is due when it is sent.
    pub due: Option<Instant>,
    /// The instant from which on it could have been sent: time before that is not our lag.
    pub possible: Instant,
}

/// The answer to something that happened on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// This connection has nothing to do; others may have their turn ([`next_send`](crate::Pace::next_send)).
    Others,
    /// Send on this connection.
    Send(Batch),
    /// All messages of this connection have their replies: close it.
    Served {
        /// The instant at which the session was due, if it is one.
        session: Option<Instant>,
    },
    /// Its next message is due at this instant.
    Thinks(Instant),
}

/// The fate of messages that have become due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// Held back, because it was due in the gap that ended at this instant.
    Held(Instant),
    /// A batch to be sent now.
    Send(Batch),
    /// A session is due.
    Session {
        /// The instant at which it was due, and its first message.
        due: Instant,
        /// True if there is room for it: connect. Otherwise its first message is unsent.
        begins: bool,
    },
    /// Never sent, because too many are outstanding or the connection is gone.
    Unsent {
        /// The instant at which the first of them was due.
        due: Instant,
        /// The number of messages.
        count: u64,
        /// The end of the gap in the worker's loop in which they were due, if any.
        gap: Option<Instant>,
    },
    /// Waits for its turn on a connection, or belonged to a bot that is gone.
    Waits,
}
