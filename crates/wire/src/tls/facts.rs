//! The parameters that a handshake agreed on.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The parameters that a handshake agreed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The version of TLS.
    pub version: Version,
    /// The cipher suite, as [`suites`](super::suites) names it.
    pub suite: &'static str,
    /// The group of the key exchange, e.g. `X25519`; `None` if there was none, as when TLS 1.2 resumes.
    pub group: Option<&'static str>,
    /// The protocol that ALPN chose, if any.
    pub alpn: Option<Arc<str>>,
    /// True if a ticket of an earlier connection replaced certificates.
    pub resumed: bool,
}

/// A version of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// RFC 5246, with the extended master secret of RFC 7627.
    Tls12,
    /// RFC 8446.
    Tls13,
}

impl Version {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Tls12, Self::Tls13];
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tls12 => "1.2",
            Self::Tls13 => "1.3",
        })
    }
}

impl FromStr for Version {
    type Err = ParseVersionError;

    fn from_str(text: &str) -> Result<Self, ParseVersionError> {
        match text {
            "1.2" => Ok(Self::Tls12),
            "1.3" => Ok(Self::Tls13),
            _ => Err(ParseVersionError { text: text.to_owned() }),
        }
    }
}

/// A text that is not a version of TLS.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a version of TLS; use 1.2 or 1.3")]
pub struct ParseVersionError {
    /// The text that could not be read.
    pub text: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_they_are_shown() {
        for version in Version::ALL {
            assert_eq!(version.to_string().parse(), Ok(version));
        }
        assert_eq!(
            "1.1".parse::<Version>().unwrap_err().to_string(),
            "`1.1` is not a version of TLS; use 1.2 or 1.3"
        );
    }
}
