//! How a server can break Bayeux, or refuse a client.

use super::message::{ReadError, Reconnect};
use crate::excerpt::Excerpt;
use std::fmt;

/// How a server broke Bayeux, or refused a client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PeerError {
    /// The server takes the session back, or wants none.
    #[error("the answer on {channel} advises reconnect: {reconnect}")]
    Advised {
        /// What was answered.
        channel: &'static str,
        /// The advice.
        reconnect: Reconnect,
    },
    /// The body of a response is no batch of messages.
    #[error("not a batch of Bayeux messages: {error}: {said}")]
    Batch {
        /// Why not.
        error: ReadError,
        /// The beginning of the body.
        said: Excerpt,
    },
    /// The server ended a connection, and the session goes on.
    #[error("the server ended the {which} connection in the middle of the session")]
    Ended {
        /// Which of the two.
        which: Which,
    },
    /// The server wants the client to wait before it asks again, which this client cannot.
    #[error("advice to wait {interval_ms} ms before the next connect, only 0 is supported")]
    Interval {
        /// How long.
        interval_ms: i64,
    },
    /// The handshake succeeded without a session.
    #[error("the answer on /meta/handshake has no clientId")]
    NoClientId,
    /// HTTP refused a request.
    #[error("HTTP status {code}: {said}")]
    Status {
        /// The status.
        code: u16,
        /// The beginning of the body.
        said: Excerpt,
    },
    /// The response does not have the answer that it was for.
    #[error("a response without an answer on {channel}")]
    Unanswered {
        /// What was asked.
        channel: &'static str,
    },
    /// The server refused what was asked.
    #[error("unsuccessful on {channel}: {error}{}", Advice(*reconnect))]
    Unsuccessful {
        /// What was asked.
        channel: Excerpt,
        /// Why not; empty if it did not say.
        error: Excerpt,
        /// What it advises.
        reconnect: Option<Reconnect>,
    },
}

/// One of the two connections of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// That on which it asks for news.
    First,
    /// That on which it speaks.
    Second,
}

impl fmt::Display for Which {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::First => "first",
            Self::Second => "second",
        })
    }
}

/// Shows an advice behind an error, if there is one.
struct Advice(Option<Reconnect>);

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |reconnect| write!(f, ", advice reconnect: {reconnect}"))
    }
}
