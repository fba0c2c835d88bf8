//! The ways in which a server can break the transports over HTTP.

/// A violation of a transport over HTTP by a server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PeerError {
    /// A response ended in the middle of a frame.
    #[error("SockJS: a response ended in the middle of a frame")]
    CutFrame,
    /// A response brought nothing: the next one would be asked for without end.
    #[error("SockJS: a response without a frame")]
    Empty,
    /// A frame is not UTF-8.
    #[error("SockJS: a frame of {len} bytes that is not UTF-8")]
    NotUtf8 {
        /// The length of the frame.
        len: usize,
    },
    /// A frame is longer than [`Limits::frame_len_max`](super::Limits::frame_len_max).
    #[error("SockJS: a frame of more than {max} bytes, which is the limit")]
    OverLimit {
        /// The limit.
        max: usize,
    },
}
