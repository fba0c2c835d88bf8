//! Limits of what a peer may send.

use super::error::PeerError;
use super::head::HeadLimits;

/// The largest sizes that are accepted, in bytes; `headers_max` is a number of fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest body, decoded.
    pub body_len_max: usize,
    /// The most that the extensions of all chunks of a body may take in total.
    pub chunk_extensions_len_max: u32,
    /// The longest head, with the empty line that ends it.
    pub head_len_max: u32,
    /// The most field lines in a head; more than 128 are never allowed.
    pub headers_max: u32,
    /// The longest trailer section, without the empty line that ends it.
    pub trailers_len_max: u32,
}

impl Limits {
    /// Refuses a body of `len` bytes, exactly or at least, if that is over the limit.
    pub(super) fn check_body_len(&self, len: u64) -> Result<(), PeerError> {
        let max = self.body_len_max;
        if len > max as u64 { Err(PeerError::BodyOverLimit { len, max }) } else { Ok(()) }
    }

    pub(super) fn head(&self) -> HeadLimits {
        HeadLimits {
            head_len_max: self.head_len_max as usize,
            headers_max: self.headers_max as usize,
        }
    }
}

impl Default for Limits {
    /// Bodies of 16 MiB; heads of 16 KiB and 100 lines, as common servers allow; little for parts that nobody uses.
    fn default() -> Self {
        Self {
            body_len_max: 16 << 20,
            chunk_extensions_len_max: 4 << 10,
            head_len_max: 16 << 10,
            headers_max: 100,
            trailers_len_max: 8 << 10,
        }
    }
}
