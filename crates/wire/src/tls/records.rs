//! The ends of records (RFC 8446 §5.1), and the record that was cut.

use crate::contract::Input;
use crate::excerpt::Excerpt;

/// Bytes that wait for the rest of a record; in a handshake, they follow complete records that wait for the rest of a
/// message. Holds no memory unless something waits.
#[derive(Debug, Default)]
pub(super) struct Held {
    pub(super) bytes: Vec<u8>,
    /// Start of the record that was cut; everything before it has been read.
    record_at: usize,
}

impl Held {
    /// Keeps `rest`, whose first `looked_at` bytes are complete records.
    pub(super) fn keep(&mut self, rest: &[u8], looked_at: usize) {
        if !rest.is_empty() {
            self.bytes.extend_from_slice(rest);
        }
        self.record_at = looked_at;
    }

    /// Takes from `input` until the record that was cut is complete, and returns its length. Takes all of `input` and
    /// returns `None` if bytes of it are still missing.
    pub(super) fn fill(&mut self, input: &mut Input<'_>) -> Option<usize> {
        self.take_to(HEADER_LEN, input)?;
        let len = self.expected_len()?;
        self.take_to(len, input)?;
        Some(len)
    }

    /// Frees the first `used` bytes. The rest has been read.
    pub(super) fn release(&mut self, used: usize) {
        if used == self.bytes.len() {
            self.bytes = Vec::new();
        } else {
            self.bytes.drain(..used);
        }
        self.record_at = self.bytes.len();
    }

    /// Number of bytes of the record that was cut that have arrived.
    pub(super) fn cut_len(&self) -> usize {
        self.bytes.len() - self.record_at
    }

    /// Length of the record that was cut, if its header has arrived.
    pub(super) fn expected_len(&self) -> Option<usize> {
        record_len(&self.bytes[self.record_at..])
    }

    fn take_to(&mut self, len: usize, input: &mut Input<'_>) -> Option<()> {
        let missing = len.saturating_sub(self.cut_len());
        let arrived = missing.min(input.len());
        self.bytes.reserve_exact(missing);
        self.bytes.extend_from_slice(input.take(arrived));
        (arrived == missing).then_some(())
    }
}

/// Length of the complete records at the front of `bytes`.
pub(super) fn whole_len(bytes: &[u8]) -> usize {
    let mut whole = 0;
    while let Some(len) = record_len(&bytes[whole..])
        && len <= bytes.len() - whole
    {
        whole += len;
    }
    whole
}

/// Checks the first bytes of a peer, and returns them if they are not TLS: a record has one of a few types, and version
/// 3.something.
pub(super) fn not_tls(held: &[u8], arrived: &[u8]) -> Option<Excerpt> {
    let mut first = held.iter().chain(arrived);
    let is_type = first.next().is_none_or(|kind| KINDS.contains(kind));
    let is_version = first.next().is_none_or(|major| *major == MAJOR);
    if is_type && is_version {
        return None;
    }
    let said = held.iter().chain(arrived).take(Excerpt::LEN_MAX).copied().collect::<Vec<_>>();
    Some(Excerpt::new(&said))
}

/// The length of the record at the front of `bytes`, its header included. A header that is not a record's, or announces
/// a record that is too long, counts as a complete record: it will be refused, and nothing after it is worth waiting
/// for.
fn record_len(bytes: &[u8]) -> Option<usize> {
    let [kind, major, _, high, low] = *bytes.first_chunk::<HEADER_LEN>()?;
    let len = HEADER_LEN + usize::from(u16::from_be_bytes([high, low]));
    let is_record = KINDS.contains(&kind) && major == MAJOR && len < RECORD_LEN_MAX;
    Some(if is_record { len } else { HEADER_LEN })
}

/// The alert `unexpected_message` on a connection that has no keys yet: for a peer whose bytes are not records.
pub(super) const UNEXPECTED_MESSAGE: [u8; 7] = [21, 3, 3, 0, 2, 2, 10];

/// The types of records: from `change_cipher_spec` to `heartbeat` (RFC 6520).
const KINDS: std::ops::RangeInclusive<u8> = 20..=24;

/// First byte of all versions of TLS; the first version was SSL 3.1.
const MAJOR: u8 = 3;

/// Length of type, version and length.
const HEADER_LEN: usize = 5;

/// Longest record: 2^14 bytes of plaintext and 2048 of whatever TLS 1.2 may add (RFC 5246 §6.2.3); TLS 1.3 may add 256.
/// rustls refuses anything longer.
const RECORD_LEN_MAX: usize = HEADER_LEN + (1 << 14) + 2048;

/// Most bytes that are held for one peer: the longest handshake message that rustls accepts (65 535 bytes), cut into
/// records so small that each is half header, and one more record.
pub(super) const HELD_LEN_MAX: usize = 2 * 65_536 + RECORD_LEN_MAX;
