//! Descriptions of errors, and excerpts of a peer's bytes in messages to users.

use record::{Cause, Said};
use wire::PeerError;
use wire::conversation::PeerError as OfConversation;
use wire::websocket::PeerError as OfWebSocket;
use wire::websocket::handshake::HandshakeError;

/// The description of an error, and its cause.
#[derive(Debug)]
pub(crate) struct Words {
    pub(crate) text: String,
    pub(crate) cause: Cause,
}

impl From<String> for Words {
    fn from(text: String) -> Self {
        Self { text, cause: Cause::Unknown }
    }
}

impl From<&PeerError> for Words {
    fn from(error: &PeerError) -> Self {
        Self { text: error.to_string(), cause: cause(error) }
    }
}

/// The facts of a violation that decide what to advise.
fn cause(error: &PeerError) -> Cause {
    if let PeerError::Conversation(OfConversation::Status { code, .. }) = error {
        return Cause::Before { code: *code };
    }
    let PeerError::WebSocket(error) = error else { return Cause::Unknown };
    if *error == OfWebSocket::NoClose {
        return Cause::NoClose;
    }
    let OfWebSocket::Handshake(error) = error else { return Cause::Unknown };
    if let HandshakeError::Status { code, retry_after, .. } = error {
        let is_later = retry_after.is_some();
        return Cause::Status { code: *code, is_later, said: Said::default() };
    }
    let declines =
        matches!(error, HandshakeError::DeflateAnswer(_) | HandshakeError::DeflateDeclined);
    if declines { Cause::Compression } else { Cause::Unknown }
}

/// The beginning of a peer's bytes, escaped so that a terminal takes them as text only.
pub(crate) fn excerpt(bytes: &[u8]) -> String {
    let shown = &bytes[..bytes.len().min(EXCERPT_LEN_MAX)];
    let rest = if shown.len() < bytes.len() { "…" } else { "" };
    format!("{}{rest}", shown.escape_ascii())
}

const EXCERPT_LEN_MAX: usize = 48;
