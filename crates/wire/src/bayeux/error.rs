//! The ways in which a server can break Bayeux, or refuse a client.

use super::message::{ReadError, Reconnect};
use crate::excerpt::Excerpt;
use std::fmt;

/// A violation of Bayeux by a server, or its refusal of a client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PeerError {
    /// The server ends the session or refuses one, by its advice.
    #[error("the answer on {channel} advises reconnect: {reconnect}")]
    Advised {
        /// The channel that the answer names.
        channel: &'static str,
        /// The advice.
        reconnect: Reconnect,
    },
    /// The body of a response is not a batch of messages.
    #[error("not a batch of Bayeux messages: {error}: {said}")]
    Batch {
        /// The fault.
        error: ReadError,
        /// The beginning of the body.
        said: Excerpt,
    },
    /// The server ended a connection while the session continues.
    #[error("the server ended the {which} connection in the middle of the session")]
    Ended {
        /// The connection: the first or the second.
        which: Which,
    },
    /// The server wants the client to wait before its next connect, which this client cannot do.
    #[error("advice to wait {interval_ms} ms before the next connect, only 0 is supported")]
    Interval {
        /// The interval that the server asked for.
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
    /// The response contains no answer to the request that was sent.
    #[error("the response contains no answer on {channel}")]
    Unanswered {
        /// The channel of the request.
        channel: &'static str,
    },
    /// The server refused the request.
    #[error("unsuccessful on {channel}: {error}{}", Advice(*reconnect))]
    Unsuccessful {
        /// The channel of the request.
        channel: Excerpt,
        /// The reason; empty if the server gave none.
        error: Excerpt,
        /// The server's advice on how to continue.
        reconnect: Option<Reconnect>,
    },
}

/// One of the two connections of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The one on which it asks for news.
    First,
    /// The one on which it publishes.
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

/// Shows an advice after an error, if there is one.
struct Advice(Option<Reconnect>);

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |reconnect| write!(f, ", advice reconnect: {reconnect}"))
    }
}
