//! The ways in which a broker can refuse a subscriber, or turn out not to be a broker.

use super::kind::Broker;
use crate::excerpt::Excerpt;

/// A broker that refuses a subscriber, or breaks its protocol.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PeerError {
    /// It wants a user and a password.
    #[error("{broker} requires a login, and none was given")]
    NeedsLogin {
        /// The broker.
        broker: Broker,
    },
    /// It wants TLS.
    #[error("{broker} requires TLS, which wirebench does not support for it")]
    NeedsTls {
        /// The broker.
        broker: Broker,
    },
    /// A message is longer than the limit.
    #[error("{broker}: a message of more than {max} bytes")]
    OverLimit {
        /// The broker.
        broker: Broker,
        /// The limit.
        max: usize,
    },
    /// It refuses a command or the connection.
    #[error("{broker} refuses: {said}")]
    Refused {
        /// The broker.
        broker: Broker,
        /// Its reason.
        said: Excerpt,
    },
    /// It says something that its protocol does not allow there.
    #[error("{broker}: got {said}, expected {awaited}")]
    Unexpected {
        /// The broker.
        broker: Broker,
        /// The beginning of what it said.
        said: Excerpt,
        /// The thing that was awaited.
        awaited: &'static str,
    },
}
