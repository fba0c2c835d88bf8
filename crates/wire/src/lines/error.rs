//! The ways in which a peer can break lines of text.

/// The ways in which a peer can break the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PeerError {
    /// The connection ended inside a line.
    #[error("the connection ended {len} bytes into a line")]
    LineCutOff {
        /// The bytes that arrived.
        len: usize,
    },
    /// A line is not text.
    #[error("line of {len} bytes is not UTF-8")]
    NotUtf8 {
        /// Its length.
        len: usize,
    },
    /// A line is longer than [`Limits::line_len_max`](super::Limits::line_len_max).
    #[error("no line feed within {max} bytes, the limit of a line")]
    OverLimit {
        /// The limit.
        max: usize,
    },
}
