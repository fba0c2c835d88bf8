//! The placeholder that asks for a message of a conversation.

use units::Nanos;

/// A placeholder for a message until the conversation's machine renders it: the number of the message on its
/// connection, its kind, and when it was due.
///
/// It travels as the payload of a message, as [`Cue::LEN`] bytes, little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cue {
    /// The number of the message on its connection, from 0.
    pub sequence: u32,
    /// The kind of request, as an index into [`Conversation::requests`](super::Conversation::requests).
    pub exchange: u16,
    /// The instant at which it was due, from the start of the run.
    pub due: Nanos,
}

impl Cue {
    /// The number of bytes that it takes.
    pub const LEN: usize = size_of::<u32>() + size_of::<u16>() + size_of::<u64>();

    /// Writes it to the first [`Cue::LEN`] bytes of `bytes`.
    ///
    /// # Panics
    ///
    /// If there are fewer.
    pub fn write(self, bytes: &mut [u8]) {
        bytes[..4].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[4..6].copy_from_slice(&self.exchange.to_le_bytes());
        bytes[6..Self::LEN].copy_from_slice(&self.due.0.to_le_bytes());
    }

    /// Reads a cue that [`Cue::write`] wrote; `None` unless there are exactly [`Cue::LEN`] bytes.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; Self::LEN] = bytes.try_into().ok()?;
        let (sequence, rest) = bytes.split_first_chunk()?;
        let (exchange, due) = rest.split_first_chunk()?;
        Some(Self {
            sequence: u32::from_le_bytes(*sequence),
            exchange: u16::from_le_bytes(*exchange),
            due: Nanos(u64::from_le_bytes(due.try_into().ok()?)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Random;

    #[test]
    fn what_is_written_reads_back() {
        let mut random = Random::new(5);
        for _ in 0..1000 {
            let drawn = random.next_u64().to_le_bytes();
            let cue = Cue {
                sequence: random.next_u32(),
                exchange: u16::from_le_bytes([drawn[0], drawn[1]]),
                due: Nanos(random.next_u64()),
            };
            let mut bytes = [0; Cue::LEN];
            cue.write(&mut bytes);
            assert_eq!(Cue::read(&bytes), Some(cue));
        }
    }

    #[test]
    fn its_bytes_are_little_endian_and_no_other_length_is_read() {
        let cue =
            Cue { sequence: 0x0403_0201, exchange: 0x0605, due: Nanos(0x0e0d_0c0b_0a09_0807) };
        let mut bytes = [0; Cue::LEN + 1];
        cue.write(&mut bytes);
        assert_eq!(bytes, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0]);
        assert_eq!(Cue::read(&bytes), None);
        assert_eq!(Cue::read(&bytes[..Cue::LEN - 1]), None);
    }
}
