//! What a message holds, and what its reply must be.

use std::sync::Arc;
use units::{Bytes, Random};

/// The payload of every message of a workload. Copies share it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    payload: Arc<[u8]>,
    text: bool,
}

impl Content {
    /// `size` random bytes, determined by `seed`.
    ///
    /// # Panics
    ///
    /// If `size` is more than memory can hold.
    pub fn binary(size: Bytes, seed: u64) -> Self {
        let mut payload = vec![0; usize::try_from(size.0).expect("a payload fits into memory")];
        Random::new(seed).fill(&mut payload);
        Self { payload: payload.into(), text: false }
    }

    /// `size` random printable ASCII characters, determined by `seed`. One byte each, so that text and binary of one
    /// size differ in nothing but the check that it is UTF-8.
    ///
    /// # Panics
    ///
    /// If `size` is more than memory can hold.
    pub fn text(size: Bytes, seed: u64) -> Self {
        let mut payload = vec![0; usize::try_from(size.0).expect("a payload fits into memory")];
        let mut random = Random::new(seed);
        payload.fill_with(|| ALPHABET[random.below(ALPHABET.len())]);
        Self { payload: payload.into(), text: true }
    }

    /// Exactly these bytes; `text` says whether they are sent as text, which they must then be.
    pub fn exactly(payload: &[u8], text: bool) -> Self {
        Self { payload: payload.into(), text }
    }

    /// The payload.
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// Whether it is sent as text.
    pub fn is_text(&self) -> bool {
        self.text
    }
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 .";

/// What a reply must be to count as one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expect {
    /// Anything that the protocol calls a success (HTTP: a 2xx status), whatever its payload.
    Anything,
    /// What was sent, byte for byte and of the same kind.
    Echo,
    /// Always this payload.
    Exactly(Arc<[u8]>),
}

/// How a reply differs from what it must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    /// The first difference is at this byte.
    #[error("byte {at} of {len} is 0x{got:02x}, expected 0x{expected:02x}")]
    Byte {
        /// Its position, from 0.
        at: usize,
        /// The length of the payload.
        len: usize,
        /// What it is.
        got: u8,
        /// What it should be.
        expected: u8,
    },
    /// Text came back for binary, or binary for text.
    #[error("{} came back for {}", kind(*text), kind(!text))]
    Kind {
        /// Whether text came back.
        text: bool,
    },
    /// It has another length.
    #[error("{got} bytes came back, expected {expected}")]
    Length {
        /// Its length.
        got: usize,
        /// The length that it should have.
        expected: usize,
    },
}

impl Expect {
    /// Holds a reply against what it must be.
    ///
    /// # Errors
    ///
    /// The first difference.
    #[inline]
    pub fn check(&self, sent: &Content, payload: &[u8], text: bool) -> Result<(), Mismatch> {
        let expected = match self {
            Self::Anything => return Ok(()),
            Self::Echo if text != sent.text => return Err(Mismatch::Kind { text }),
            Self::Echo => &sent.payload,
            Self::Exactly(expected) => expected,
        };
        if payload == &expected[..] { Ok(()) } else { Err(difference(payload, expected)) }
    }
}

#[cold]
fn difference(got: &[u8], expected: &[u8]) -> Mismatch {
    if got.len() != expected.len() {
        return Mismatch::Length { got: got.len(), expected: expected.len() };
    }
    let at = got.iter().zip(expected).position(|(got, expected)| got != expected).unwrap_or(0);
    Mismatch::Byte { at, len: got.len(), got: got[at], expected: expected[at] }
}

fn kind(text: bool) -> &'static str {
    if text { "text" } else { "binary" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_determines_the_payload() {
        assert_eq!(Content::binary(Bytes(100), 7), Content::binary(Bytes(100), 7));
        assert_ne!(Content::binary(Bytes(100), 7), Content::binary(Bytes(100), 8));
        assert_ne!(Content::text(Bytes(100), 7), Content::text(Bytes(100), 8));
    }

    #[test]
    fn text_is_ascii_of_the_asked_size() {
        let content = Content::text(Bytes(1000), 7);
        assert_eq!(content.payload().len(), 1000);
        assert!(content.payload().is_ascii() && content.is_text());
    }

    #[test]
    fn an_echo_must_be_the_same_in_length_content_and_kind() {
        let sent = Content::exactly(b"Ping", false);
        let table: [(&[u8], bool, Result<(), Mismatch>); 5] = [
            (b"Ping", false, Ok(())),
            (b"Ping", true, Err(Mismatch::Kind { text: true })),
            (b"Pong", false, Err(Mismatch::Byte { at: 1, len: 4, got: b'o', expected: b'i' })),
            (b"Pin", false, Err(Mismatch::Length { got: 3, expected: 4 })),
            (b"", false, Err(Mismatch::Length { got: 0, expected: 4 })),
        ];
        for (payload, text, expected) in table {
            assert_eq!(Expect::Echo.check(&sent, payload, text), expected, "{payload:?} {text}");
        }
    }

    #[test]
    fn a_fixed_reply_must_be_that_reply_and_anything_may_be_anything() {
        let sent = Content::exactly(b"Ping", false);
        let pong = Expect::Exactly(b"Pong".as_slice().into());
        assert_eq!(pong.check(&sent, b"Pong", false), Ok(()));
        assert!(pong.check(&sent, b"Ping", false).is_err());
        assert_eq!(Expect::Anything.check(&sent, b"", true), Ok(()));
    }
}
