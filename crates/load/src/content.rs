//! What a message holds, and what its reply must be.

use crate::header::{Header, TrueDelay};
use std::ops::Range;
use std::sync::Arc;
use units::{Bytes, Random};

/// The payload of every message of a workload. Copies share it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    payload: Arc<[u8]>,
    text: bool,
    /// Somebody wrote these bytes, and they mean something: nothing may be written over them.
    given: bool,
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
        Self { payload: payload.into(), text: false, given: false }
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
        Self { payload: payload.into(), text: true, given: false }
    }

    /// Exactly these bytes; `text` says whether they are sent as text, which they must then be. They carry no header.
    pub fn exactly(payload: &[u8], text: bool) -> Self {
        Self { payload: payload.into(), text, given: true }
    }

    /// The same with zeros where an oracle server writes its true delay ([`Expect::Oracle`]); `None` if there is no
    /// room for it behind a header.
    #[must_use]
    pub fn for_oracle(&self) -> Option<Self> {
        if self.given || self.payload.len() < TrueDelay::span(self.text).end {
            return None;
        }
        let mut payload = self.payload.to_vec();
        TrueDelay::ask(&mut payload, self.text);
        Some(Self { payload: payload.into(), ..self.clone() })
    }

    /// The payload.
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// Whether it is sent as text.
    pub fn is_text(&self) -> bool {
        self.text
    }

    /// Whether a [`Header`] may be written over its beginning: there is room, and the bytes were made by us.
    pub fn carries_header(&self) -> bool {
        !self.given && self.payload.len() >= Header::len(self.text)
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
    /// An echo in which the server has written how long it kept the message: the bytes of [`TrueDelay`] may be any.
    /// What is sent is made by [`Content::for_oracle`].
    Oracle,
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
    /// Holds a reply against what it must be, where messages are sent as [`Content`] has them.
    ///
    /// # Errors
    ///
    /// The first difference.
    #[inline]
    pub fn check(&self, sent: &Content, payload: &[u8], text: bool) -> Result<(), Mismatch> {
        match self {
            Self::Anything => Ok(()),
            Self::Echo | Self::Oracle if text != sent.text => Err(Mismatch::Kind { text }),
            Self::Echo => compare(payload, &sent.payload, 0..0),
            Self::Exactly(expected) => compare(payload, expected, 0..0),
            Self::Oracle => compare(payload, &sent.payload, TrueDelay::span(text)),
        }
    }

    /// The same where each message carries a [`Header`]: the bytes of an echo in its place are left to the caller, who
    /// knows which header was sent.
    ///
    /// # Errors
    ///
    /// The first difference.
    #[inline]
    pub fn check_body(&self, sent: &Content, payload: &[u8], text: bool) -> Result<(), Mismatch> {
        match self {
            Self::Anything | Self::Exactly(_) => self.check(sent, payload, text),
            Self::Echo | Self::Oracle if text != sent.text => Err(Mismatch::Kind { text }),
            Self::Echo => compare(payload, &sent.payload, 0..Header::len(text)),
            Self::Oracle => compare(payload, &sent.payload, 0..TrueDelay::span(text).end),
        }
    }
}

/// That `got` is `expected`, whatever it has in `left_out`.
#[inline]
fn compare(got: &[u8], expected: &[u8], left_out: Range<usize>) -> Result<(), Mismatch> {
    let (before, after) = (left_out.start.min(got.len()), left_out.end.min(got.len()));
    let is_same = got.len() == expected.len()
        && got[..before] == expected[..before]
        && got[after..] == expected[after..];
    if is_same { Ok(()) } else { Err(difference(got, expected, left_out)) }
}

#[cold]
fn difference(got: &[u8], expected: &[u8], left_out: Range<usize>) -> Mismatch {
    if got.len() != expected.len() {
        return Mismatch::Length { got: got.len(), expected: expected.len() };
    }
    let differs = |at: &usize| !left_out.contains(at) && got[*at] != expected[*at];
    let at = (0..got.len()).find(differs).unwrap_or(0);
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

    #[test]
    fn the_bytes_of_a_header_are_left_to_the_caller_and_no_others() {
        for (sent, text) in
            [(Content::binary(Bytes(40), 7), false), (Content::text(Bytes(40), 7), true)]
        {
            for at in 0..40 {
                let mut reply = sent.payload().to_vec();
                reply[at] ^= 1;
                let outcome = Expect::Echo.check_body(&sent, &reply, text);
                assert_eq!(outcome.is_ok(), at < Header::len(text), "{at}: {outcome:?}");
                assert!(Expect::Echo.check(&sent, &reply, text).is_err(), "{at}");
            }
        }
    }

    #[test]
    fn an_oracle_may_write_its_true_delay_and_nothing_else() {
        for (sent, text) in
            [(Content::binary(Bytes(64), 7), false), (Content::text(Bytes(64), 7), true)]
        {
            let sent = sent.for_oracle().unwrap();
            let mut reply = sent.payload().to_vec();
            assert!(TrueDelay(units::Nanos(u64::MAX)).answer(&mut reply, text));
            assert_eq!(Expect::Oracle.check(&sent, &reply, text), Ok(()));
            assert!(Expect::Echo.check(&sent, &reply, text).is_err());
            for at in 0..64 {
                let mut reply = reply.clone();
                reply[at] ^= 1;
                let in_delay = TrueDelay::span(text).contains(&at);
                let whole = Expect::Oracle.check(&sent, &reply, text);
                assert_eq!(whole.is_ok(), in_delay, "{at}: {whole:?}");
                let body = Expect::Oracle.check_body(&sent, &reply, text);
                assert_eq!(body.is_ok(), in_delay || at < Header::len(text), "{at}: {body:?}");
            }
            assert!(matches!(
                Expect::Oracle.check_body(&sent, &reply[1..], text),
                Err(Mismatch::Length { got: 63, expected: 64 })
            ));
            assert_eq!(
                Expect::Oracle.check(&sent, &reply, !text),
                Err(Mismatch::Kind { text: !text })
            );
        }
    }

    #[test]
    fn nothing_is_written_where_there_is_no_room_or_over_what_somebody_gave() {
        let table = [
            (Content::binary(Bytes(15), 7), false, false),
            (Content::binary(Bytes(16), 7), true, false),
            (Content::binary(Bytes(23), 7), true, false),
            (Content::binary(Bytes(24), 7), true, true),
            (Content::text(Bytes(31), 7), false, false),
            (Content::text(Bytes(47), 7), true, false),
            (Content::text(Bytes(48), 7), true, true),
            (Content::exactly(&[7; 100], false), false, false),
        ];
        for (content, header, true_delay) in table {
            assert_eq!(content.carries_header(), header, "{content:?}");
            assert_eq!(content.for_oracle().is_some(), true_delay, "{content:?}");
        }
    }
}
