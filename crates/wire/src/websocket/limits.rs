//! Limits of the data that is accepted from a peer and buffered.

use super::PeerError;

/// The limits of one connection; each is the largest value that passes.
///
/// They bound what an open connection buffers: one message, and one control frame of 125 bytes. The head of the opening
/// handshake has a limit of its own, [`HEAD_LEN_MAX`](super::handshake::HEAD_LEN_MAX). Sent messages have none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest number of frames in one message.
    pub fragments_max: u32,
    /// The longest payload of one data frame in bytes; a compressed one may be longer by an eighth and 64 bytes, the
    /// most that DEFLATE adds.
    pub frame_len_max: usize,
    /// The longest payload of one message in bytes, all its fragments together, inflated.
    pub message_len_max: usize,
}

impl Default for Limits {
    /// Frames and messages of 1 MiB; 131 072 fragments, enough for fragments of 8 bytes or for many empty ones.
    fn default() -> Self {
        Self { fragments_max: 1 << 17, frame_len_max: 1 << 20, message_len_max: 1 << 20 }
    }
}

impl Limits {
    /// Admits a data frame of `frame_len` bytes to a message of which `held_len` bytes arrived before.
    ///
    /// # Errors
    ///
    /// `LongFrame` or `LongMessage`.
    #[inline]
    pub(super) fn admit(&self, frame_len: u64, held_len: u64) -> Result<(), PeerError> {
        let message_len = frame_len.saturating_add(held_len);
        if frame_len > self.frame_len_max as u64 {
            return Err(PeerError::LongFrame { len: frame_len, max: self.frame_len_max });
        }
        if message_len > self.message_len_max as u64 {
            return Err(PeerError::LongMessage { len: message_len, max: self.message_len_max });
        }
        Ok(())
    }

    /// Admits a frame of a compressed message: `frame_len` bytes of it, whatever they inflate to.
    ///
    /// # Errors
    ///
    /// `LongFrame`.
    pub(super) fn admit_compressed(&self, frame_len: u64) -> Result<(), PeerError> {
        let max = self.frame_len_max;
        let max = max.saturating_add(max / 8).saturating_add(64);
        if frame_len > max as u64 {
            return Err(PeerError::LongFrame { len: frame_len, max });
        }
        Ok(())
    }
}
