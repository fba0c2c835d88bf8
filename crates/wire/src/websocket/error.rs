//! The ways in which a WebSocket peer can break the protocol, and the close code for each.

use super::close_codes;
use super::handshake::HandshakeError;

/// A violation of the WebSocket protocol, or of one of our limits, by a peer.
///
/// Running out of bytes is not an error, because the machine waits for more. It is one only if the connection ends
/// there: `CutFrame`, `CutMessage`, or part of `Handshake`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PeerError {
    /// The code of a Close frame is one that must never be sent, or one that is not assigned (§7.4).
    #[error("close code {code} must not be sent (RFC 6455 §7.4)")]
    BadCloseCode {
        /// The code.
        code: u16,
    },
    /// The reason of a Close frame is not UTF-8 (§5.5.1).
    #[error("close reason is not UTF-8 from byte {at} on (RFC 6455 §5.5.1)")]
    BadCloseReason {
        /// The number of bytes of the reason that are UTF-8.
        at: usize,
    },
    /// A compressed message cannot be inflated (RFC 7692 §7.2.2).
    #[error("compressed message cannot be inflated: {reason} (RFC 7692 §7.2.2)")]
    BadDeflate {
        /// The fault.
        reason: &'static str,
    },
    /// The connection ended in the middle of a frame.
    #[error(
        "connection ended in the middle of a frame, at least {missing} bytes before its end (RFC 6455 §7.1.5)"
    )]
    CutFrame {
        /// The number of announced bytes that had not arrived.
        missing: u64,
    },
    /// The connection ended between two fragments of a message.
    #[error(
        "connection ended in the middle of a message, after fragment {fragments} (RFC 6455 §5.4)"
    )]
    CutMessage {
        /// The number of fragments that had arrived.
        fragments: u32,
    },
    /// A control frame is a fragment (§5.5).
    #[error("control frame with opcode {opcode:#x} is fragmented (RFC 6455 §5.5)")]
    FragmentedControl {
        /// Its opcode.
        opcode: u8,
    },
    /// The opening handshake failed (§4).
    #[error(transparent)]
    Handshake(#[from] HandshakeError),
    /// A new message began before the last fragment of the one before it (§5.4).
    #[error("new message after fragment {fragments} of an unfinished one (RFC 6455 §5.4)")]
    InterruptedMessage {
        /// The number of fragments of the unfinished message.
        fragments: u32,
    },
    /// A payload length is not in the shortest of the three encodings (§5.2).
    #[error("payload length {len} is not encoded in the minimal number of bytes (RFC 6455 §5.2)")]
    LengthNotMinimal {
        /// The length.
        len: u64,
    },
    /// The most significant bit of a 64-bit payload length is set (§5.2).
    #[error("payload length {len:#x} has its most significant bit set (RFC 6455 §5.2)")]
    LengthTopBit {
        /// The 64 bits.
        len: u64,
    },
    /// A continuation frame has nothing to continue (§5.4).
    #[error("continuation frame without a message to continue (RFC 6455 §5.4)")]
    LoneContinuation,
    /// A control frame is longer than 125 bytes (§5.5).
    #[error("control frame of {len} bytes, at most 125 allowed (RFC 6455 §5.5)")]
    LongControl {
        /// Its length in bytes.
        len: u64,
    },
    /// A frame is longer than [`Limits::frame_len_max`](super::Limits::frame_len_max); our limit, not the RFC's.
    #[error("frame of {len} bytes, limit is {max}")]
    LongFrame {
        /// Its length in bytes.
        len: u64,
        /// The limit in bytes.
        max: usize,
    },
    /// A compressed message inflates to more than [`Limits::message_len_max`](super::Limits::message_len_max); our
    /// limit, not the RFC's.
    #[error("compressed message inflates to {} bytes or more, limit is {max}", max.saturating_add(1))]
    LongInflated {
        /// The limit in bytes.
        max: usize,
    },
    /// A message is longer than [`Limits::message_len_max`](super::Limits::message_len_max); our limit, not the RFC's.
    #[error("message of {len} bytes or more, limit is {max}")]
    LongMessage {
        /// Its length in bytes, as far as its frames announced it.
        len: u64,
        /// The limit in bytes.
        max: usize,
    },
    /// A server masked a frame (§5.1).
    #[error("frame of the server is masked (RFC 6455 §5.1)")]
    Masked,
    /// RSV1, which marks a compressed message, is set on a frame that begins no message (RFC 7692 §6.1).
    #[error(
        "RSV1 is set on a frame with opcode {opcode:#x}, which begins no message (RFC 7692 §6.1)"
    )]
    MisplacedCompression {
        /// Its opcode.
        opcode: u8,
    },
    /// The connection ended without a Close frame: an abnormal closure, code 1006 (§7.1.5).
    #[error("connection ended without a Close frame (RFC 6455 §7.1.5, code 1006)")]
    NoClose,
    /// A text message is not UTF-8 (§8.1).
    #[error("text message is not UTF-8 from byte {at} on (RFC 6455 §8.1)")]
    NotUtf8 {
        /// The number of bytes of the message that are UTF-8.
        at: usize,
    },
    /// A reserved bit is set although no extension was negotiated (§5.2).
    #[error("reserved bits {bits:#05b} are set without an extension (RFC 6455 §5.2)")]
    ReservedBits {
        /// RSV1 to RSV3, RSV1 first.
        bits: u8,
    },
    /// The opcode has no meaning yet (§5.2).
    #[error("reserved opcode {opcode:#x} (RFC 6455 §5.2)")]
    ReservedOpcode {
        /// The opcode.
        opcode: u8,
    },
    /// The payload of a Close frame is one byte, half a code (§5.5.1).
    #[error("Close frame of 1 byte, 0 or at least 2 expected (RFC 6455 §5.5.1)")]
    ShortClose,
    /// A message has more fragments than [`Limits::fragments_max`](super::Limits::fragments_max); our limit, not the
    /// RFC's.
    #[error("message of {fragments} fragments or more, limit is {max}")]
    TooManyFragments {
        /// The number of fragments that have arrived.
        fragments: u32,
        /// The limit.
        max: u32,
    },
    /// A client did not mask a frame (§5.1).
    #[error("frame of the client is not masked (RFC 6455 §5.1)")]
    Unmasked,
}

impl PeerError {
    /// The code of the Close frame that reports the error to the peer (§7.4.1); `None` if no Close can be sent.
    pub(super) const fn close_code(&self) -> Option<u16> {
        match self {
            Self::BadCloseCode { .. }
            | Self::FragmentedControl { .. }
            | Self::InterruptedMessage { .. }
            | Self::LengthNotMinimal { .. }
            | Self::LengthTopBit { .. }
            | Self::LoneContinuation
            | Self::LongControl { .. }
            | Self::Masked
            | Self::MisplacedCompression { .. }
            | Self::ReservedBits { .. }
            | Self::ReservedOpcode { .. }
            | Self::ShortClose
            | Self::Unmasked => Some(close_codes::PROTOCOL_ERROR),
            Self::BadCloseReason { .. } | Self::BadDeflate { .. } | Self::NotUtf8 { .. } => {
                Some(close_codes::BAD_PAYLOAD)
            }
            Self::LongFrame { .. }
            | Self::LongInflated { .. }
            | Self::LongMessage { .. }
            | Self::TooManyFragments { .. } => Some(close_codes::TOO_BIG),
            Self::CutFrame { .. }
            | Self::CutMessage { .. }
            | Self::Handshake(_)
            | Self::NoClose => None,
        }
    }
}
