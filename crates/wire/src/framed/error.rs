//! The ways in which a peer can break the framing.

/// The ways in which a peer can break the framing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PeerError {
    /// The connection ended inside a frame.
    #[error("the connection ended {len} bytes into a frame")]
    FrameCutOff {
        /// The bytes that arrived, with the length field.
        len: usize,
    },
    /// A frame is longer than the limit.
    #[error("frame of {len} bytes, limit is {max}")]
    OverLimit {
        /// The length it announced.
        len: u32,
        /// The limit.
        max: u32,
    },
    /// A frame is shorter than any can be.
    #[error("frame of {len} bytes, the minimum is {min}")]
    TooShort {
        /// The length it announced.
        len: u32,
        /// The least.
        min: u32,
    },
}
