//! What a message says of itself in its first bytes, so that its reply can be told from every other.

use units::Nanos;

/// The first 16 bytes of the payload of a message: connection, sequence and due time, little-endian. In a text they are
/// 32 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The connection's number within its run.
    pub connection: u32,
    /// The message's number on its connection, from 0.
    pub sequence: u32,
    /// When it was due, on the generator's clock.
    pub due: Nanos,
}

impl Header {
    /// How many bytes of a payload it takes; a shorter payload carries none.
    pub const fn len(text: bool) -> usize {
        if text { 32 } else { 16 }
    }

    /// Writes it over the beginning of `payload`.
    ///
    /// # Panics
    ///
    /// If `payload` is shorter than [`Header::len`].
    #[inline]
    pub fn write(self, payload: &mut [u8], text: bool) {
        let bytes = self.bytes();
        if text {
            for (pair, byte) in payload[..Self::len(true)].chunks_exact_mut(2).zip(bytes) {
                pair[0] = DIGITS[usize::from(byte >> 4)];
                pair[1] = DIGITS[usize::from(byte & 0xf)];
            }
        } else {
            payload[..Self::len(false)].copy_from_slice(&bytes);
        }
    }

    /// Reads it from the beginning of `payload`; `None` if that is too short, or of a text no digits.
    #[inline]
    pub fn read(payload: &[u8], text: bool) -> Option<Self> {
        let start = payload.get(..Self::len(text))?;
        let mut bytes = [0; 16];
        if text {
            for (byte, pair) in bytes.iter_mut().zip(start.chunks_exact(2)) {
                *byte = digit(pair[0])? << 4 | digit(pair[1])?;
            }
        } else {
            bytes.copy_from_slice(start);
        }
        let [connection, sequence] =
            [0, 4].map(|at| u32::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte])));
        let due = u64::from_le_bytes(std::array::from_fn(|byte| bytes[8 + byte]));
        Some(Self { connection, sequence, due: Nanos(due) })
    }

    fn bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&self.connection.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[8..].copy_from_slice(&self.due.0.to_le_bytes());
        bytes
    }
}

const DIGITS: &[u8; 16] = b"0123456789abcdef";

fn digit(letter: u8) -> Option<u8> {
    match letter {
        b'0'..=b'9' => Some(letter - b'0'),
        b'a'..=b'f' => Some(letter - b'a' + 10),
        _ => None,
    }
}

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
        payload[31] = b'G';
        assert_eq!(Header::read(&payload, true), None);
    }
}
