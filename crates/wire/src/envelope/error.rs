//! The ways in which a server can break such a protocol, or refuse a client.

use crate::excerpt::Excerpt;
use crate::misuse::MisuseError;

/// A violation of the protocol by a server, or its refusal of a client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PeerError {
    /// The server sent a binary message, but the protocol has none.
    #[error("{protocol}: binary message of {len} bytes, only text is allowed")]
    Binary {
        /// The protocol.
        protocol: &'static str,
        /// The length of the message.
        len: usize,
    },
    /// The connection ended before it was open.
    #[error("{protocol}: the connection ended before {awaited}")]
    Cut {
        /// The protocol.
        protocol: &'static str,
        /// The awaited text.
        awaited: &'static str,
    },
    /// A text whose content is not what its first characters announce.
    #[error("{protocol}: {reason}: {said}")]
    Json {
        /// The protocol.
        protocol: &'static str,
        /// The fault.
        reason: String,
        /// The beginning of the text.
        said: Excerpt,
    },
    /// The connection inside refused a packet of ours.
    #[error("{protocol}: cannot send to the server: {error}")]
    Mute {
        /// The protocol.
        protocol: &'static str,
        /// The reason.
        error: MisuseError,
    },
    /// The server refuses the connection.
    #[error("{protocol}: refused: {said}")]
    Refused {
        /// The protocol.
        protocol: &'static str,
        /// The reason, in the server's words, escaped.
        said: String,
    },
    /// The server sent a binary message that no text announced.
    #[error("{protocol}: binary message of {len} bytes that no event has announced")]
    Unannounced {
        /// The protocol.
        protocol: &'static str,
        /// The length of the message.
        len: usize,
    },
    /// A text that is not allowed, or not allowed now.
    #[error("{protocol}: got {said}, expected {awaited}")]
    Unexpected {
        /// The protocol.
        protocol: &'static str,
        /// The texts that were possible.
        awaited: &'static str,
        /// The beginning of the text.
        said: Excerpt,
    },
}
