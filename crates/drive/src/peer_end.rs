//! The end of a connection that its peer brought about, in words.

use crate::text::{Words, excerpt};
use record::{Cause, ErrorClass, Said};
use wire::PeerError;

/// The way in which a peer ended a connection.
#[derive(Debug)]
pub(crate) enum End {
    /// It broke the protocol, or TLS around it.
    Broken(ErrorClass, Words),
    /// It ended properly.
    Closed(Words),
}

impl End {
    #[cold]
    pub(crate) fn broken(error: &PeerError) -> Self {
        let class =
            if matches!(error, PeerError::Tls(_)) { ErrorClass::Tls } else { ErrorClass::Protocol };
        Self::Broken(class, error.into())
    }

    #[cold]
    pub(crate) fn unasked(payload: &[u8]) -> Self {
        let len = payload.len();
        let text = format!(
            "received {len} bytes while no message awaited a reply: \"{}\"",
            excerpt(payload)
        );
        Self::Broken(
            ErrorClass::Protocol,
            Words { text, cause: Cause::Unasked(Said::new(payload)) },
        )
    }

    /// The proper end of a connection when nothing else is known.
    #[cold]
    pub(crate) fn closed() -> Self {
        Self::Closed(CLOSED.to_owned().into())
    }

    /// The end that the peer announced; without a description if we asked for it.
    #[cold]
    pub(crate) fn announced(closed: &wire::Closed<'_>, is_asked: bool) -> Self {
        if is_asked {
            return Self::Closed(String::new().into());
        }
        let reason = excerpt(closed.reason.as_bytes());
        let text = match closed.code {
            Some(code) if reason.is_empty() => format!("{CLOSED} with code {code}"),
            Some(code) => format!("{CLOSED} with code {code}: \"{reason}\""),
            None => CLOSED.to_owned(),
        };
        Self::Closed(Words { text, cause: Cause::Closed(closed.code) })
    }
}

/// The description of an end when nothing else is known.
const CLOSED: &str = "closed by the server";
