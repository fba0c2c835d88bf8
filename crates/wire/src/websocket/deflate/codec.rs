//! Compresses payloads, and inflates them within limits (RFC 7692 §7.2).
//!
//! A compressed payload is DEFLATE data that ends with an empty uncompressed block, less the last four bytes of that
//! block ([`TAIL`]). A block with BFINAL set ends a DEFLATE stream; what follows it, in the same message or in the
//! next, starts with an empty window, as zlib writes it.

use super::{Agreed, Direction};
use crate::contract::growth;
use crate::websocket::PeerError;
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

/// Both directions of one connection. Before the first message, it owns no further heap memory.
#[derive(Debug)]
pub(in crate::websocket) struct Codec {
    agreed: Agreed,
    /// Compresses with our window; `None` until there is something in it, and after a message without context takeover.
    compressor: Option<Compress>,
    /// Inflates with the peer's window; `None` likewise.
    decompressor: Option<Decompress>,
    /// True if the last inflated byte ended a DEFLATE stream.
    has_ended: bool,
    /// Bytes that received payloads grew by when they were compressed.
    pub(in crate::websocket) encoding_received: i64,
    /// Bytes that sent payloads grew by when they were compressed.
    pub(in crate::websocket) encoding_sent: i64,
}

impl Codec {
    /// A codec for the agreed parameters, with empty windows.
    pub(in crate::websocket) const fn new(agreed: Agreed) -> Self {
        Self {
            agreed,
            compressor: None,
            decompressor: None,
            has_ended: false,
            encoding_received: 0,
            encoding_sent: 0,
        }
    }

    /// Appends `payload` to `tx`, compressed.
    pub(in crate::websocket) fn compress(&mut self, payload: &[u8], tx: &mut Vec<u8>) {
        let start = tx.len();
        if payload.is_empty() {
            tx.push(EMPTY); // zlib does not flush twice without a byte between
        } else {
            let Agreed { level, sent, .. } = self.agreed;
            let compressor = self.compressor.get_or_insert_with(|| {
                let level = Compression::new(level.clamp(1, 9));
                Compress::new_with_window_bits(level, false, zlib_bits(sent))
            });
            append_compressed(compressor, payload, tx);
            if !sent.takes_over {
                self.compressor = None;
            }
        }
        self.encoding_sent += growth(payload.len(), tx.len() - start);
    }

    /// Appends `part` of a payload to `message`, inflated. `message` never gets longer than `len_max` plus one byte,
    /// and growing it never takes more than twice that.
    ///
    /// # Errors
    ///
    /// `BadDeflate` or `LongInflated`; what could be inflated before the error is in `message`.
    pub(in crate::websocket) fn inflate(
        &mut self,
        mut part: &[u8],
        message: &mut Vec<u8>,
        len_max: usize,
    ) -> Result<(), PeerError> {
        let decompressor = self.decompressor.get_or_insert_with(|| {
            Decompress::new_with_window_bits(false, zlib_bits(self.agreed.received))
        });
        // If the room is used up exactly, more may be waiting to come out.
        while !part.is_empty() || (message.len() == message.capacity() && !message.is_empty()) {
            make_room(message, part.len(), len_max);
            let before = (decompressor.total_in(), message.len());
            let status = decompressor.decompress_vec(part, message, FlushDecompress::None);
            // Earlier bytes are judged first, however the input is split.
            if message.len() > len_max {
                return Err(PeerError::LongInflated { max: len_max });
            }
            let status =
                status.map_err(|_| PeerError::BadDeflate { reason: "it is not DEFLATE" })?;
            let taken = usize::try_from(decompressor.total_in() - before.0).unwrap_or(part.len());
            part = &part[taken..];
            if taken > 0 {
                self.has_ended = status == Status::StreamEnd;
            }
            if status == Status::StreamEnd {
                decompressor.reset(false);
            } else if taken == 0 && message.len() == before.1 {
                break;
            }
        }
        Ok(())
    }

    /// Ends `message`, whose payload of `compressed_len` bytes has been inflated.
    ///
    /// # Errors
    ///
    /// `BadDeflate` if the payload is found to end inside a block; `LongInflated`.
    pub(in crate::websocket) fn finish(
        &mut self,
        compressed_len: u64,
        message: &mut Vec<u8>,
        len_max: usize,
    ) -> Result<(), PeerError> {
        if compressed_len == 0 {
            return Err(PeerError::BadDeflate { reason: "it is empty" }); // §7.2.3.6: at least one byte
        }
        // Some payloads end with BFINAL, and leave out the byte that would have to follow (§7.2.3.4).
        if !self.has_ended {
            let len = message.len();
            self.inflate(&TAIL, message, len_max)?;
            if message.len() > len {
                message.truncate(len);
                return Err(PeerError::BadDeflate { reason: "it is cut off" });
            }
        }
        self.has_ended = false;
        if !self.agreed.received.takes_over {
            self.decompressor = None;
        }
        let compressed_len = usize::try_from(compressed_len).unwrap_or(usize::MAX);
        self.encoding_received += growth(message.len(), compressed_len);
        Ok(())
    }

    /// Frees the windows: no message follows.
    pub(in crate::websocket) fn release(&mut self) {
        self.compressor = None;
        self.decompressor = None;
    }
}

fn append_compressed(compressor: &mut Compress, mut payload: &[u8], tx: &mut Vec<u8>) {
    // Enough for bytes that do not compress at all, with codes of 9 bits for each byte.
    tx.reserve(payload.len() + payload.len() / 8 + FLUSH_ROOM);
    loop {
        let before = compressor.total_in();
        compressor
            .compress_vec(payload, tx, FlushCompress::Sync)
            .expect("the parameters are zlib's, and the stream has no end");
        let taken = usize::try_from(compressor.total_in() - before).unwrap_or(payload.len());
        payload = &payload[taken..];
        if payload.is_empty() && tx.len() < tx.capacity() {
            break;
        }
        tx.reserve(payload.len() + FLUSH_ROOM);
    }
    debug_assert!(tx.ends_with(&TAIL), "a flush ends with an empty block");
    tx.truncate(tx.len() - TAIL.len());
}

/// Makes room in a full `message`: first for what `part_len` bytes usually inflate to, then for twice as much each
/// time, finally for `len_max` plus one byte. The step before the last is below `len_max`, so the source and
/// destination of a copy never take more than twice that in total.
fn make_room(message: &mut Vec<u8>, part_len: usize, len_max: usize) {
    if message.len() < message.capacity() {
        return;
    }
    let wanted = match message.capacity() {
        0 => part_len.saturating_mul(8).clamp(ROOM_MIN, ROOM_FIRST_MAX),
        capacity => capacity.saturating_mul(2),
    };
    let wanted = if wanted < len_max { wanted } else { len_max.saturating_add(1) };
    message.reserve_exact(wanted - message.len());
}

/// The window bits to pass to zlib, which inflates a window of 2^8 as one of 2^9, and never compresses with one of 2^8.
fn zlib_bits(direction: Direction) -> u8 {
    direction.window_bits.clamp(9, 15)
}

/// The end of every flush, which is left out of payloads (§7.2.1).
const TAIL: [u8; 4] = [0, 0, 0xFF, 0xFF];

/// An empty payload: the start of an empty block without compression (§7.2.3.6).
const EMPTY: u8 = 0;

/// Length of an empty block, and the bits before it.
const FLUSH_ROOM: usize = 16;

/// Smallest first capacity of an inflated message, in bytes.
const ROOM_MIN: usize = 128;
/// Largest first capacity of an inflated message, however long its first part is.
const ROOM_FIRST_MAX: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;
    use units::Random;

    /// With room for one byte at a time, only the window limits how far back a distance may reach.
    #[test]
    fn no_level_refers_to_more_than_its_window() {
        for level in 1..=9 {
            for window_bits in 9..=15 {
                let direction = Direction { takes_over: true, window_bits };
                let mut codec = Codec::new(Agreed { level, received: direction, sent: direction });
                let mut strict = Decompress::new_with_window_bits(false, window_bits);
                for payload in payloads(1 << (window_bits + 1)) {
                    let mut compressed = Vec::new();
                    codec.compress(&payload, &mut compressed);
                    compressed.extend(TAIL);
                    let mut inflated = Vec::new();
                    inflate_by_bytes(&mut strict, &compressed, &mut inflated);
                    assert!(inflated == payload, "level {level}, 2^{window_bits} bytes");
                }
            }
        }
    }

    /// Inflates one byte at a time: zlib checks a distance against the window only if it reaches back beyond the output
    /// of the current call.
    fn inflate_by_bytes(strict: &mut Decompress, mut compressed: &[u8], inflated: &mut Vec<u8>) {
        loop {
            let (before, mut byte) = ((strict.total_in(), strict.total_out()), [0]);
            strict
                .decompress(compressed, &mut byte, FlushDecompress::None)
                .expect("no distance is beyond the window");
            compressed = &compressed[usize::try_from(strict.total_in() - before.0).unwrap()..];
            if strict.total_out() > before.1 {
                inflated.extend(byte);
            } else if compressed.is_empty() {
                return;
            }
        }
    }

    /// Messages that repeat parts of earlier ones at any distance, at least `len` bytes in total.
    fn payloads(len: usize) -> Vec<Vec<u8>> {
        let mut random = Random::new(len as u64);
        let mut all = vec![0; 64];
        random.fill(&mut all);
        while all.len() < len {
            let start = random.below(all.len());
            let end = (start + 3 + random.below(60)).min(all.len());
            all.extend_from_within(start..end);
            all.push(u8::try_from(random.below(256)).unwrap());
        }
        all.chunks(700).map(<[u8]>::to_vec).collect()
    }

    #[test]
    fn a_window_of_2_to_the_8_is_not_for_zlib_to_compress_with() {
        let tried = std::panic::catch_unwind(|| {
            Compress::new_with_window_bits(Compression::new(6), false, 8)
        });
        assert!(tried.is_err(), "it can now: then offers of 8 need not be declined");
    }
}
