//! The ways in which a game server can break its protocol, or refuse a bot.

use crate::excerpt::Excerpt;
use crate::misuse::MisuseError;
use crate::styx::{DecodeError, JsonError};

/// A violation of the protocol by a game server, or its refusal of a bot.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PeerError {
    /// The server refused a packet of ours.
    #[error("BadPacket: cmd {cmd}, error {error}")]
    BadPacket {
        /// The class id of that packet.
        cmd: i8,
        /// The server's code.
        error: i8,
    },
    /// The connection ended before the bot sat.
    #[error("the connection ended before {awaited}")]
    Cut {
        /// The awaited packet.
        awaited: &'static str,
    },
    /// Bytes that are not a packet, in the binary packing.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// Text that is not a packet, in JSON.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// The connection inside refused a packet of the bot.
    #[error("cannot send to the server: {0}")]
    Mute(MisuseError),
    /// An answer to one of our events arrived out of order.
    #[error("out of sequence: got the answer to event {came} (next: {awaited}, sent: {sent})")]
    OutOfSequence {
        /// The event whose answer is awaited.
        awaited: i32,
        /// The event whose answer arrived.
        came: i32,
        /// The number of events that were sent.
        sent: i32,
    },
    /// The server refused the log-in or the seat.
    #[error("{packet}: status {status}, code {code}, {said}")]
    Refused {
        /// The packet that refused it.
        packet: &'static str,
        /// Its status.
        status: &'static str,
        /// Its code; 0 in packets that have none.
        code: i32,
        /// The text of the refusal.
        said: Excerpt,
    },
    /// HTTP refused a request.
    #[error("HTTP status {code}: {said}")]
    Status {
        /// The status.
        code: u16,
        /// The beginning of the body.
        said: Excerpt,
    },
}
