//! The bytes that separate two messages.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A text that ends each message, and belongs to none.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Separator {
    /// The bytes, and zeros behind them.
    bytes: [u8; Self::LEN_MAX],
    len: u8,
}

impl Separator {
    /// The maximum length, in bytes.
    pub const LEN_MAX: usize = 16;

    /// The separator in `text`; `None` if it is empty or too long.
    pub fn new(text: &str) -> Option<Self> {
        let mut bytes = [0; Self::LEN_MAX];
        bytes.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
        let len = u8::try_from(text.len()).ok().filter(|len| *len > 0)?;
        Some(Self { bytes, len })
    }

    /// Its bytes; at least one.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl TryFrom<String> for Separator {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::new(&text).ok_or_else(|| {
            format!("a separator has 1 to {} bytes, this one {}", Self::LEN_MAX, text.len())
        })
    }
}

impl From<Separator> for String {
    fn from(separator: Separator) -> Self {
        Self::from_utf8_lossy(separator.as_bytes()).into_owned()
    }
}

impl fmt::Debug for Separator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.as_bytes().escape_ascii())
    }
}
