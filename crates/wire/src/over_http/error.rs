//! The ways in which a server can break texts over HTTP.

use crate::excerpt::Excerpt;

/// A violation by a server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PeerError {
    /// A response ended in the middle of a frame.
    #[error("a response ended in the middle of a frame")]
    CutFrame,
    /// A response brought no frame: the client would ask for the next one endlessly.
    #[error("a response without a frame")]
    Empty,
    /// A response does not have the chunked transfer coding.
    #[error("the response is not chunked (no Transfer-Encoding: chunked)")]
    NoChunks,
    /// A response has a type other than that of a stream of events.
    #[error("the response is not an event stream (text/event-stream): its type is {content_type}")]
    NoEvents {
        /// Its type.
        content_type: Excerpt,
    },
    /// A response has no parts, or does not say where one ends.
    #[error("the response has no parts (multipart/mixed; boundary=…): its type is {content_type}")]
    NoParts {
        /// Its type.
        content_type: Excerpt,
    },
    /// A frame is not UTF-8.
    #[error("a frame of {len} bytes that is not UTF-8")]
    NotUtf8 {
        /// The length of the frame.
        len: usize,
    },
    /// A frame is longer than [`Limits::frame_len_max`](super::Limits::frame_len_max).
    #[error("a frame of more than {max} bytes, which is the limit")]
    OverLimit {
        /// The limit.
        max: usize,
    },
    /// A line is not what the transport expects there.
    #[error("got {said}, expected {awaited}")]
    Unexpected {
        /// The line that was awaited.
        awaited: &'static str,
        /// The beginning of the line.
        said: Excerpt,
    },
}
