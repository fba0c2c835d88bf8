//! The ways in which a peer can break HTTP, and the answer that it gets.

use super::head::HeadError;
use super::redirect::RedirectError;
use crate::excerpt::Excerpt;

/// A violation of HTTP by a peer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PeerError {
    /// The connection ended inside a body of known length, or inside a chunked one.
    #[error("the connection ended {len} bytes into a body")]
    BodyCutOff {
        /// The bytes of the body that arrived, decoded.
        len: usize,
    },
    /// A body is longer than [`super::Limits::body_len_max`].
    #[error("body of {len} bytes, limit is {max}")]
    BodyOverLimit {
        /// Its announced length; one more than the limit if none was announced.
        len: u64,
        /// The limit.
        max: usize,
    },
    /// A message has both `Content-Length` and `Transfer-Encoding` (RFC 9112 §6.1): two readers may disagree about its
    /// end.
    #[error("both Content-Length and Transfer-Encoding")]
    BothLengths,
    /// A chunked body is malformed (RFC 9112 §7.1).
    #[error("unexpected byte {byte:#04x} {part} of a chunked body")]
    Chunk {
        /// The first byte that is not allowed.
        byte: u8,
        /// The part of the body in which it occurs.
        part: ChunkPart,
    },
    /// The extensions of the chunks are longer than [`super::Limits::chunk_extensions_len_max`].
    #[error("chunk extensions of more than {max} bytes")]
    ChunkExtensionsOverLimit {
        /// The limit.
        max: u32,
    },
    /// `Content-Length` is not one number.
    #[error("Content-Length {value} is not one number")]
    ContentLength {
        /// The value; if there are several, the one that differs.
        value: Excerpt,
    },
    /// The bytes are not an HTTP head.
    #[error(transparent)]
    Head(#[from] HeadError),
    /// A request of HTTP/1.1 does not have exactly one `Host` (RFC 9112 §3.2).
    #[error("{count} Host fields in a request, not one")]
    Host {
        /// The number of fields.
        count: usize,
    },
    /// More requests arrived than may wait for their answers at once.
    #[error("more than {max} requests without an answer")]
    Pipelined {
        /// The limit.
        max: u32,
    },
    /// A redirect cannot be followed.
    #[error(transparent)]
    Redirect(#[from] RedirectError),
    /// The server switched to another protocol without being asked.
    #[error("the server switched to another protocol unasked")]
    SwitchedProtocols,
    /// The trailer section is longer than [`super::Limits::trailers_len_max`].
    #[error("trailers of more than {max} bytes")]
    TrailersOverLimit {
        /// The limit.
        max: u32,
    },
    /// The body has a coding other than `chunked` alone, or any coding at all in HTTP/1.0.
    #[error("Transfer-Encoding {value} is not understood")]
    TransferEncoding {
        /// The value.
        value: Excerpt,
    },
    /// The connection ended while requests waited for their answers.
    #[error("the connection ended; unanswered requests: {count}")]
    Unanswered {
        /// The number of them.
        count: u32,
    },
    /// The server sent something that answers no request.
    #[error("received bytes that answer no request")]
    Unsolicited,
}

/// A part of a chunked body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkPart {
    /// The end of a line or of a chunk.
    End,
    /// The extension after a size.
    Extension,
    /// The size of a chunk.
    Size,
    /// The fields after the last chunk.
    Trailer,
}

impl std::fmt::Display for ChunkPart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::End => "at the end of a line",
            Self::Extension => "in an extension",
            Self::Size => "in a size",
            Self::Trailer => "in a trailer",
        })
    }
}

impl PeerError {
    /// The status line of a server's answer to this error.
    pub(super) fn status(&self) -> &'static str {
        match self {
            Self::BodyOverLimit { .. } => "413 Content Too Large",
            Self::Head(HeadError::OverLimit { .. } | HeadError::TooManyHeaders { .. })
            | Self::TrailersOverLimit { .. } => "431 Request Header Fields Too Large",
            Self::Head(HeadError::Version) => "505 HTTP Version Not Supported",
            Self::BodyCutOff { .. }
            | Self::BothLengths
            | Self::Chunk { .. }
            | Self::ChunkExtensionsOverLimit { .. }
            | Self::ContentLength { .. }
            | Self::Head(_)
            | Self::Host { .. }
            | Self::Pipelined { .. }
            | Self::Redirect(_)
            | Self::SwitchedProtocols
            | Self::TransferEncoding { .. }
            | Self::Unanswered { .. }
            | Self::Unsolicited => "400 Bad Request",
        }
    }
}
