//! The first bytes of something that a peer sent, for an error or an answer to carry.

use std::fmt;

/// The first bytes of something that a peer sent: at most [`Excerpt::LEN_MAX`], whatever its length.
///
/// Kept as bytes; shown in quotes, with everything but printable ASCII escaped, so that it cannot reach a terminal.
#[derive(Clone, PartialEq, Eq)]
pub struct Excerpt(Box<[u8]>);

impl Excerpt {
    /// The longest excerpt, in bytes.
    pub const LEN_MAX: usize = 64;

    /// The first bytes of `said`.
    pub fn new(said: &[u8]) -> Self {
        Self(said[..said.len().min(Self::LEN_MAX)].into())
    }

    /// The bytes as they arrived, unescaped.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.escape_ascii())
    }
}

impl fmt::Debug for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The first `len_max` bytes of text, or a few less: no character is cut in two.
pub(crate) fn cut(text: &str, len_max: usize) -> &str {
    let mut len = len_max.min(text.len());
    while !text.is_char_boundary(len) {
        len -= 1;
    }
    &text[..len]
}
