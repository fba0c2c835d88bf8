//! The first bytes of a message, which distinguish its reply from every other.
//!
//! Numbers are little-endian; in a text each byte is two hexadecimal digits (`0-9a-f`), so that every number has
//! exactly one spelling, and what is read back equals what was sent if and only if the bytes do.
//!
//! | bytes | is | written by |
//! |---|---|---|
//! | 0 to 3 | connection | generator |
//! | 4 to 7 | sequence | generator |
//! | 8 to 15 | due | generator |
//! | 16 to 23 | true delay, zero in a message; only where an oracle server is expected | oracle server |

use std::ops::Range;
use units::Nanos;

/// The first 16 bytes of the payload of a message (32 in a text): connection, sequence and due time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The connection's number within its run.
    pub connection: u32,
    /// The message's number on its connection, from 0.
    pub sequence: u32,
    /// The instant at which it was due, on the generator's clock.
    pub due: Nanos,
}

impl Header {
    /// The number of bytes that it takes in a payload; a shorter payload carries none.
    #[inline]
    pub const fn len(text: bool) -> usize {
        written_len(SIZE, text)
    }

    /// Writes it over the beginning of `payload`.
    ///
    /// # Panics
    ///
    /// If `payload` is shorter than [`Header::len`].
    #[inline]
    pub fn write(self, payload: &mut [u8], text: bool) {
        let mut bytes = [0; SIZE];
        bytes[..4].copy_from_slice(&self.connection.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[8..].copy_from_slice(&self.due.0.to_le_bytes());
        write(&mut payload[..Self::len(text)], bytes, text);
    }

    /// Reads it from the beginning of `payload`; `None` if that is too short, or is text other than digits.
    #[inline]
    pub fn read(payload: &[u8], text: bool) -> Option<Self> {
        let bytes: [u8; SIZE] = read(payload.get(..Self::len(text))?, text)?;
        let number = |at: usize| u32::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]));
        let due = u64::from_le_bytes(std::array::from_fn(|byte| bytes[8 + byte]));
        Some(Self { connection: number(0), sequence: number(4), due: Nanos(due) })
    }
}

/// The time that an oracle server kept a message: from having decoded it to handing over its reply, on the server's
/// clock. 8 bytes after the header (16 in a text).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrueDelay(pub Nanos);

impl TrueDelay {
    /// Its place in a payload.
    pub const fn span(text: bool) -> Range<usize> {
        let start = Header::len(text);
        start..start + written_len(size_of::<u64>(), text)
    }

    /// Makes `payload` ask for it, by zeros in its place.
    ///
    /// # Panics
    ///
    /// If `payload` ends before [`TrueDelay::span`] does.
    pub fn ask(payload: &mut [u8], text: bool) {
        Self(Nanos::ZERO).write(payload, text);
    }

    /// Writes it into a `payload` that asks for it. Any other payload is unchanged, and the result is `false`: an
    /// oracle server is a true echo to those who do not ask.
    #[inline]
    pub fn answer(self, payload: &mut [u8], text: bool) -> bool {
        let asks = Self::read(payload, text) == Some(Self(Nanos::ZERO));
        if asks {
            self.write(payload, text);
        }
        asks
    }

    /// Reads it; `None` if `payload` is too short, or has text other than digits in its place.
    #[inline]
    pub fn read(payload: &[u8], text: bool) -> Option<Self> {
        let bytes = read(payload.get(Self::span(text))?, text)?;
        Some(Self(Nanos(u64::from_le_bytes(bytes))))
    }

    fn write(self, payload: &mut [u8], text: bool) {
        write(&mut payload[Self::span(text)], self.0.0.to_le_bytes(), text);
    }
}

/// Writes `bytes` over all of `place`, which is [`written_len`] long.
#[inline]
fn write<const SIZE: usize>(place: &mut [u8], bytes: [u8; SIZE], text: bool) {
    if !text {
        return place.copy_from_slice(&bytes);
    }
    for (pair, byte) in place.chunks_exact_mut(2).zip(bytes) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 0xf)];
    }
}

/// Reads all of `place`, which is [`written_len`] long; `None` if it is text other than digits.
#[inline]
fn read<const SIZE: usize>(place: &[u8], text: bool) -> Option<[u8; SIZE]> {
    let mut bytes = [0; SIZE];
    if !text {
        bytes.copy_from_slice(place);
        return Some(bytes);
    }
    let mut all = 0;
    for (byte, pair) in bytes.iter_mut().zip(place.chunks_exact(2)) {
        let [high, low] = [VALUES[usize::from(pair[0])], VALUES[usize::from(pair[1])]];
        *byte = high << 4 | low;
        all |= high | low;
    }
    (all <= 0xf).then_some(bytes)
}

/// The number of bytes that `size` bytes take in a payload.
#[inline]
const fn written_len(size: usize, text: bool) -> usize {
    if text { 2 * size } else { size }
}

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// The value of each letter that is a digit, and 255 for any other.
const VALUES: [u8; 256] = {
    let mut values = [u8::MAX; 256];
    let mut value: u8 = 0;
    while (value as usize) < DIGITS.len() {
        values[DIGITS[value as usize] as usize] = value;
        value += 1;
    }
    values
};

/// The size of a header in bytes.
const SIZE: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back_in_text_and_binary() {
        let header = Header { connection: 0x0102_0304, sequence: 7, due: Nanos(u64::MAX - 1) };
        for text in [false, true] {
            let mut payload = vec![b'x'; 40];
            header.write(&mut payload, text);
            assert_eq!(Header::read(&payload, text), Some(header));
            assert_eq!(payload[Header::len(text)..], [b'x'; 40][Header::len(text)..]);
            assert_eq!(Header::read(&payload[..Header::len(text) - 1], text), None);
        }
    }

    #[test]
    fn a_header_of_text_is_ascii_and_other_letters_are_none() {
        let mut payload = [0; 32];
        Header { connection: 1, sequence: 2, due: Nanos(3) }.write(&mut payload, true);
        assert_eq!(&payload, b"01000000020000000300000000000000");
        for other in *b"Gg/:AF`\0" {
            for at in 0..32 {
                let mut payload = payload;
                payload[at] = other;
                assert_eq!(Header::read(&payload, true), None, "{other} at {at}");
            }
        }
    }

    #[test]
    fn a_true_delay_is_written_where_it_is_asked_for() {
        let delay = TrueDelay(Nanos(0x0102_0304_0506_0708));
        for text in [false, true] {
            let mut payload = vec![b'x'; 50];
            assert!(!delay.answer(&mut payload, text));
            assert_eq!(payload, [b'x'; 50], "nobody asked");

            TrueDelay::ask(&mut payload, text);
            assert_eq!(TrueDelay::read(&payload, text), Some(TrueDelay(Nanos::ZERO)));
            assert!(delay.answer(&mut payload, text));
            assert_eq!(TrueDelay::read(&payload, text), Some(delay));
            let span = TrueDelay::span(text);
            assert!(
                payload.iter().enumerate().all(|(at, byte)| span.contains(&at) || *byte == b'x')
            );
            assert_eq!(TrueDelay::read(&payload[..span.end - 1], text), None);
            assert!(!delay.answer(&mut payload[..span.end - 1], text));
        }
        assert_eq!([false, true].map(TrueDelay::span), [16..24, 32..48]);
    }
}
