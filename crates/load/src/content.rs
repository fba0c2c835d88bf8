//! The content of messages, and the replies expected for them.

use crate::payload::{payload, printable};
use sha2::Digest as _;
use spec::stamp::{Header, TrueDelay};
use spec::{PayloadKind, Sha256};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;
use units::{Bytes, Random};

/// The payloads of a workload: one for every message, or a ring that the messages of a connection cycle through. All
/// payloads of a ring have the same size. Copies share them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// The payloads, one after the other.
    payloads: Arc<[u8]>,
    /// The length of each of them, in bytes.
    size: usize,
    /// Their number, at least one.
    count: u32,
    text: bool,
    /// True if a header may overwrite the beginning: the bytes are generated, and are not JSON.
    may_be_overwritten: bool,
}

impl Content {
    /// `size` random bytes, determined by `seed`.
    ///
    /// # Panics
    ///
    /// If `size` exceeds the memory.
    pub fn binary(size: Bytes, seed: u64) -> Self {
        Self::generated(PayloadKind::Random, size, seed)
    }

    /// `size` random printable ASCII characters, determined by `seed`. Each is one byte, so that text and binary of the
    /// same size differ only in the UTF-8 check.
    ///
    /// # Panics
    ///
    /// If `size` exceeds the memory.
    pub fn text(size: Bytes, seed: u64) -> Self {
        Self::binary(size, seed).as_text()
    }

    /// `size` bytes of this kind, determined by `seed` and the same for every message. JSON and text are sent as text.
    ///
    /// # Panics
    ///
    /// If `size` exceeds the memory.
    pub fn generated(kind: PayloadKind, size: Bytes, seed: u64) -> Self {
        Self::made(kind, size, seed, 1)
    }

    /// Like [`Content::generated`], with a ring of different payloads: at least 64 KiB and one message together, but at
    /// most 4096 payloads, so that a compressor with a window (deflate: up to 32 KiB) never sees a message again. There
    /// are fewer if no more exist of this size: there is only one of zeros.
    ///
    /// # Panics
    ///
    /// If they exceed the memory.
    pub fn varied(kind: PayloadKind, size: Bytes, seed: u64) -> Self {
        let count = match kind {
            PayloadKind::Zero => 1,
            PayloadKind::Json | PayloadKind::Text | PayloadKind::Random => {
                RING_LEN_MIN.div_ceil(size.0.max(1)).saturating_add(1).min(RING_COUNT_MAX)
            }
        };
        Self::made(kind, size, seed, count)
    }

    /// Exactly these bytes; `text` says whether they are sent as text; they must then be UTF-8. They carry no header.
    pub fn exactly(payload: &[u8], text: bool) -> Self {
        Self {
            payloads: payload.into(),
            size: payload.len(),
            count: 1,
            text,
            may_be_overwritten: false,
        }
    }

    fn made(kind: PayloadKind, size: Bytes, seed: u64, count: u64) -> Self {
        let size = usize::try_from(size.0).expect("a payload fits into memory");
        let mut random = Random::new(seed);
        let mut seen = BTreeSet::new();
        let (mut payloads, mut misses) = (Vec::new(), 0);
        while (seen.len() as u64) < count && misses < MISSES_MAX {
            let next = payload(kind, size, &mut random);
            if seen.contains(&next) {
                misses += 1;
                continue;
            }
            misses = 0;
            payloads.extend_from_slice(&next);
            seen.insert(next);
        }
        Self {
            payloads: payloads.into(),
            size,
            count: u32::try_from(seen.len()).expect("a ring has at most RING_COUNT_MAX"),
            text: kind.is_text(),
            may_be_overwritten: kind != PayloadKind::Json,
        }
    }

    /// The same content, sent as binary.
    #[must_use]
    pub fn as_binary(self) -> Self {
        Self { text: false, ..self }
    }

    /// The same content, sent as text. If the bytes are not UTF-8, each becomes a printable character.
    #[must_use]
    pub fn as_text(self) -> Self {
        let is_text = std::str::from_utf8(&self.payloads).is_ok();
        let printed = || self.payloads.iter().map(|byte| printable(*byte)).collect();
        let payloads = if is_text { Arc::clone(&self.payloads) } else { printed() };
        Self { payloads, text: true, ..self }
    }

    /// The same content, with zeros where an oracle server writes its true delay ([`Expect::Oracle`]); `None` if there
    /// is no room for it after a header, or the bytes may not be overwritten.
    #[must_use]
    pub fn for_oracle(&self) -> Option<Self> {
        if !self.may_be_overwritten || self.size < TrueDelay::span(self.text).end {
            return None;
        }
        let mut payloads = self.payloads.to_vec();
        for payload in payloads.chunks_exact_mut(self.size) {
            TrueDelay::ask(payload, self.text);
        }
        Some(Self { payloads: payloads.into(), ..self.clone() })
    }

    /// The payload of the first message of a connection, or of every message if there is no ring.
    #[inline]
    pub fn payload(&self) -> &[u8] {
        &self.payloads[..self.size]
    }

    /// The payload of the message with this number on its connection, from 0.
    #[inline]
    pub fn payload_of(&self, sequence: u32) -> &[u8] {
        &self.payloads[self.span_of(sequence)]
    }

    /// Its place in [`Content::payloads`].
    #[inline]
    pub fn span_of(&self, sequence: u32) -> Range<usize> {
        if self.count == 1 {
            return 0..self.size;
        }
        let begin = (sequence % self.count) as usize * self.size;
        begin..begin + self.size
    }

    /// All payloads of the ring, one after the other.
    pub fn payloads(&self) -> &[u8] {
        &self.payloads
    }

    /// The number of different payloads.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// True if it is sent as text.
    #[inline]
    pub fn is_text(&self) -> bool {
        self.text
    }

    /// True if a [`Header`] may be written over its beginning: there is room, and the bytes are generated and not JSON,
    /// which would become invalid.
    pub fn carries_header(&self) -> bool {
        self.may_be_overwritten && self.size >= Header::len(self.text)
    }
}

/// The minimum size of a ring without one of its messages: twice the window of deflate.
const RING_LEN_MIN: u64 = 64 << 10;

/// The most payloads of a ring.
const RING_COUNT_MAX: u64 = 4096;

/// The number of duplicate payloads in a row after which a ring is complete.
const MISSES_MAX: u32 = 256;

/// The reply expected for a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expect {
    /// Anything that the protocol calls a success (HTTP: a 2xx status), whatever its payload.
    Anything,
    /// The message itself, byte for byte and of the same kind.
    Echo,
    /// Any payload that contains these bytes.
    Contains(Arc<[u8]>),
    /// Any payload with this digest.
    Sha256(Sha256),
    /// Always this payload.
    Exactly(Arc<[u8]>),
    /// Any reply that the protocol accepts: it numbers messages, and accepts only the reply to the next number.
    InSequence,
    /// An echo in which the server has written how long it kept the message: the bytes of [`TrueDelay`] may be
    /// anything. [`Content::for_oracle`] makes its messages.
    Oracle,
}

/// The difference between a reply and the expected one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    /// The first difference is at this byte.
    #[error("byte {at} of {len} is 0x{got:02x}, expected 0x{expected:02x}")]
    Byte {
        /// Its position, from 0.
        at: usize,
        /// The length of the payload.
        len: usize,
        /// The received byte.
        got: u8,
        /// The expected byte.
        expected: u8,
    },
    /// It has another digest.
    #[error("the digest of the {len} bytes in the reply differs: sha256:{got}")]
    Digest {
        /// Its length.
        len: usize,
        /// Its digest.
        got: Sha256,
    },
    /// It does not contain the expected bytes.
    #[error("the expected text is not in the {len} bytes that came back")]
    Lacks {
        /// Its length.
        len: usize,
    },
    /// The reply was text for binary, or binary for text.
    #[error("{} came back for {}", kind(*text), kind(!text))]
    Kind {
        /// True if the reply was text.
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
    /// Compares the reply to the message with this number on its connection with what it must be, if messages are sent
    /// exactly as in [`Content`].
    ///
    /// # Errors
    ///
    /// The first difference.
    #[inline]
    pub fn check(
        &self,
        sent: &Content,
        sequence: u32,
        payload: &[u8],
        text: bool,
    ) -> Result<(), Mismatch> {
        if matches!(self, Self::Echo) && text == sent.text {
            return compare(payload, sent.payload_of(sequence), 0..0);
        }
        self.check_all(sent, sequence, payload, text)
    }

    /// [`Expect::check`], of which only the right kind of echo is inlined.
    #[inline(never)]
    fn check_all(
        &self,
        sent: &Content,
        sequence: u32,
        payload: &[u8],
        text: bool,
    ) -> Result<(), Mismatch> {
        let right = sent.payload_of(sequence);
        match self {
            Self::Anything | Self::InSequence => Ok(()),
            Self::Echo | Self::Oracle if text != sent.text => Err(Mismatch::Kind { text }),
            Self::Echo => compare(payload, right, 0..0),
            Self::Contains(part) if memchr::memmem::find(payload, part).is_some() => Ok(()),
            Self::Contains(_) => Err(Mismatch::Lacks { len: payload.len() }),
            Self::Sha256(expected) => match Sha256(sha2::Sha256::digest(payload).into()) {
                got if got == *expected => Ok(()),
                got => Err(Mismatch::Digest { len: payload.len(), got }),
            },
            Self::Exactly(expected) => compare(payload, expected, 0..0),
            Self::Oracle => compare(payload, right, TrueDelay::span(text)),
        }
    }

    /// Like [`Expect::check`], if each message carries a [`Header`]: leaves the header of an echo to the caller, who
    /// knows which one was sent.
    ///
    /// # Errors
    ///
    /// The first difference.
    #[inline]
    pub fn check_body(
        &self,
        sent: &Content,
        sequence: u32,
        payload: &[u8],
        text: bool,
    ) -> Result<(), Mismatch> {
        let right = sent.payload_of(sequence);
        match self {
            Self::Anything
            | Self::Contains(_)
            | Self::Exactly(_)
            | Self::InSequence
            | Self::Sha256(_) => self.check(sent, sequence, payload, text),
            Self::Echo | Self::Oracle if text != sent.text => Err(Mismatch::Kind { text }),
            Self::Echo => compare(payload, right, 0..Header::len(text)),
            Self::Oracle => compare(payload, right, 0..TrueDelay::span(text).end),
        }
    }
}

/// Checks that `got` equals `expected` outside of `left_out`.
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
    fn the_messages_of_a_connection_go_round_the_ring() {
        let content = Content::varied(PayloadKind::Random, Bytes(1024), 7);
        assert_eq!((content.count(), content.payloads().len()), (65, 65 << 10));
        for sequence in [0, 1, 64, 65, 66, 1000, u32::MAX] {
            let begin = sequence as usize % 65 * 1024;
            assert_eq!(content.payload_of(sequence), &content.payloads()[begin..begin + 1024]);
            let echo = content.payload_of(sequence);
            assert_eq!(Expect::Echo.check(&content, sequence, echo, false), Ok(()));
            let other = content.payload_of(sequence ^ 1);
            assert!(Expect::Echo.check(&content, sequence, other, false).is_err());
            assert!(Expect::Echo.check_body(&content, sequence, other, false).is_err());
        }
        let one = Content::binary(Bytes(1024), 7);
        assert_eq!(one.payload_of(u32::MAX), one.payload());
        assert_eq!(
            content.payload(),
            one.payload(),
            "the ring begins with what is sent without one"
        );
    }

    #[test]
    fn what_is_sent_as_text_is_text() {
        for kind in PayloadKind::ALL {
            let content = Content::varied(kind, Bytes(100), 7);
            assert_eq!(content.is_text(), kind.is_text());
            assert!(!content.clone().as_binary().is_text());
            let text = content.clone().as_text();
            assert!(text.is_text() && std::str::from_utf8(text.payloads()).is_ok());
            assert_eq!(text.count(), content.count());
            assert_eq!(text == content, kind.is_text(), "{kind}");
        }
    }

    #[test]
    fn an_oracle_is_asked_by_every_payload_of_the_ring() {
        let content = Content::varied(PayloadKind::Text, Bytes(1000), 7).for_oracle().unwrap();
        for sequence in 0..content.count() {
            let asked = TrueDelay::read(content.payload_of(sequence), true);
            assert_eq!(asked, Some(TrueDelay(units::Nanos::ZERO)));
        }
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
            assert_eq!(Expect::Echo.check(&sent, 0, payload, text), expected, "{payload:?} {text}");
        }
    }

    #[test]
    fn a_fixed_reply_must_be_that_reply_and_anything_may_be_anything() {
        let sent = Content::exactly(b"Ping", false);
        let pong = Expect::Exactly(b"Pong".as_slice().into());
        assert_eq!(pong.check(&sent, 0, b"Pong", false), Ok(()));
        assert!(pong.check(&sent, 0, b"Ping", false).is_err());
        assert_eq!(Expect::Anything.check(&sent, 0, b"", true), Ok(()));
    }

    #[test]
    fn a_reply_may_have_to_have_something_in_it() {
        let sent = Content::exactly(b"", false);
        let on = Expect::Contains(b"on".as_slice().into());
        for reply in ["on", "{\"status\": \"on\"}", "pong"] {
            assert_eq!(on.check(&sent, 0, reply.as_bytes(), false), Ok(()), "{reply}");
        }
        for reply in ["", "o", "o n", "ON"] {
            let lacks = Mismatch::Lacks { len: reply.len() };
            assert_eq!(on.check(&sent, 0, reply.as_bytes(), false), Err(lacks), "{reply}");
        }
    }

    #[test]
    fn a_reply_may_have_to_have_a_digest() {
        let sent = Content::exactly(b"", false);
        // FIPS 180-4, the example of one block.
        let abc: Sha256 =
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad".parse().unwrap();
        let expect = Expect::Sha256(abc);
        assert_eq!(expect.check(&sent, 0, b"abc", false), Ok(()));
        let wrong = expect.check(&sent, 0, b"", false).unwrap_err().to_string();
        let got = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(wrong, format!("the digest of the 0 bytes in the reply differs: sha256:{got}"));
    }

    #[test]
    fn the_bytes_of_a_header_are_left_to_the_caller_and_no_others() {
        for (sent, text) in
            [(Content::binary(Bytes(40), 7), false), (Content::text(Bytes(40), 7), true)]
        {
            for at in 0..40 {
                let mut reply = sent.payload().to_vec();
                reply[at] ^= 1;
                let outcome = Expect::Echo.check_body(&sent, 0, &reply, text);
                assert_eq!(outcome.is_ok(), at < Header::len(text), "{at}: {outcome:?}");
                assert!(Expect::Echo.check(&sent, 0, &reply, text).is_err(), "{at}");
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
            assert_eq!(Expect::Oracle.check(&sent, 0, &reply, text), Ok(()));
            assert!(Expect::Echo.check(&sent, 0, &reply, text).is_err());
            for at in 0..64 {
                let mut reply = reply.clone();
                reply[at] ^= 1;
                let in_delay = TrueDelay::span(text).contains(&at);
                let whole = Expect::Oracle.check(&sent, 0, &reply, text);
                assert_eq!(whole.is_ok(), in_delay, "{at}: {whole:?}");
                let body = Expect::Oracle.check_body(&sent, 0, &reply, text);
                assert_eq!(body.is_ok(), in_delay || at < Header::len(text), "{at}: {body:?}");
            }
            assert!(matches!(
                Expect::Oracle.check_body(&sent, 0, &reply[1..], text),
                Err(Mismatch::Length { got: 63, expected: 64 })
            ));
            assert_eq!(
                Expect::Oracle.check(&sent, 0, &reply, !text),
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
            (Content::generated(PayloadKind::Zero, Bytes(24), 7), true, true),
            (Content::generated(PayloadKind::Text, Bytes(48), 7), true, true),
            (Content::generated(PayloadKind::Json, Bytes(100), 7), false, false),
        ];
        for (content, header, true_delay) in table {
            assert_eq!(content.carries_header(), header, "{content:?}");
            assert_eq!(content.for_oracle().is_some(), true_delay, "{content:?}");
        }
    }
}
