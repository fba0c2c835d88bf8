//! Failures, counted by class.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::Merge;

/// The classes of failures, in the order of a connection's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ErrorClass {
    /// The connection could not be established.
    ConnectFailed,
    /// The connection was not established in time.
    ConnectTimedOut,
    /// TLS failed: a certificate was refused, by us or by the peer; the two have nothing in common; or a record is
    /// malformed.
    Tls,
    /// The TLS handshake was not completed in time.
    TlsTimedOut,
    /// The opening handshake was not completed in time.
    HandshakeTimedOut,
    /// The peer broke its protocol.
    Protocol,
    /// Our own side of the protocol refused to send a message that breaks one of its rules or limits.
    Unsendable,
    /// The peer answered a message with no: these messages are counted as refused, not as errors.
    Refused,
    /// A message arrived that matches no rule of the conversation, or answers a message that nobody sent. It fails no
    /// message of ours.
    Unexpected,
    /// The reply was not the expected one.
    WrongReply,
    /// No reply arrived in time.
    ReplyTimedOut,
    /// The peer ended the connection.
    ClosedByPeer,
    /// The connection was cut.
    Cut,
    /// The proper end was not completed in time.
    CloseTimedOut,
    /// A client subject reported it.
    Client,
}

/// Errors of one class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorCount {
    /// The name of the class, e.g. `connect_failed`: stable, for programs ([`ErrorClass::name`]).
    pub class: String,
    /// The number of errors.
    pub count: u64,
    /// The words of one of them, escaped and cut to a line: the first one of its worker.
    pub example: String,
}

/// The errors of one class, while they are counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// The number of errors.
    pub count: u64,
    /// The text of the first one, with the peer's bytes escaped; of several workers, the text that sorts first.
    pub example: String,
    /// The cause of that one.
    #[serde(skip)]
    pub cause: Cause,
}

/// The facts of an error that decide the advice about it. Records do not keep them, only its text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Cause {
    /// An exchange before the connection was answered with this status.
    Before {
        /// The status.
        code: u16,
    },
    /// The peer announced the end of a WebSocket, with this code if it named one.
    Closed(Option<u16>),
    /// The peer does not agree to the compression that was offered.
    Compression,
    /// A WebSocket ended without a Close frame.
    NoClose,
    /// These bytes arrived instead of the right reply.
    Said(Said),
    /// A response arrived instead of a reply or an upgrade.
    Status {
        /// Its status.
        code: u16,
        /// True if it says when to retry.
        is_later: bool,
        /// Its body, or the location that it points to; empty if it was not examined.
        said: Said,
    },
    /// These bytes arrived unasked.
    Unasked(Said),
    /// Nothing is known but the text.
    #[default]
    Unknown,
}

/// The beginning of what a peer sent: at most [`Said::LEN_MAX`] bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    bytes: Box<[u8]>,
    is_whole: bool,
}

impl Said {
    /// The most bytes that are kept.
    pub const LEN_MAX: usize = 256;

    /// The beginning of `bytes`.
    pub fn new(bytes: &[u8]) -> Self {
        let len = bytes.len().min(Self::LEN_MAX);
        Self { bytes: bytes[..len].into(), is_whole: len == bytes.len() }
    }

    /// The bytes that are kept.
    pub fn beginning(&self) -> &[u8] {
        &self.bytes
    }

    /// All bytes, if none were cut off.
    pub fn whole(&self) -> Option<&[u8]> {
        self.is_whole.then_some(&self.bytes)
    }
}

impl ErrorClass {
    /// The stable name, as written in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ConnectFailed => "connect_failed",
            Self::ConnectTimedOut => "connect_timed_out",
            Self::Tls => "tls_failed",
            Self::TlsTimedOut => "tls_handshake_timed_out",
            Self::HandshakeTimedOut => "handshake_timed_out",
            Self::Protocol => "protocol_broken",
            Self::Unsendable => "unsendable",
            Self::Refused => "refused",
            Self::Unexpected => "unexpected",
            Self::WrongReply => "wrong_reply",
            Self::ReplyTimedOut => "reply_timed_out",
            Self::ClosedByPeer => "closed_by_peer",
            Self::Cut => "connection_cut",
            Self::CloseTimedOut => "close_timed_out",
            Self::Client => "client",
        }
    }
}

impl Merge for Tally {
    fn merge(&mut self, other: &Self) {
        if self.count == 0 || (other.count > 0 && other.example < self.example) {
            self.example.clone_from(&other.example);
            self.cause.clone_from(&other.cause);
        }
        self.count.merge(&other.count);
    }
}
