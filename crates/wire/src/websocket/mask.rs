//! Masking: the XOR of a client's payloads with a key for each frame (RFC 6455 §5.3).
//!
//! The RFC wants keys that nobody can predict, so that a web page cannot choose the bytes that a browser puts on the
//! wire. A load generator is not a browser: its keys come from a seed, so that a run can be repeated byte for byte.

use std::iter::zip;

/// The keys of one connection: splitmix64 (Steele, Lea and Flood, 2014), whose state is 8 bytes.
#[derive(Clone, Debug)]
pub(super) struct Keys {
    state: u64,
}

impl Keys {
    /// The keys that `seed` determines.
    pub(super) const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// A fresh key.
    #[inline]
    pub(super) const fn next(&mut self) -> Key {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        Key(((mixed ^ (mixed >> 31)) >> 32) as u32)
    }
}

/// The key of one frame, the first byte on the wire as the lowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key(u32);

impl Key {
    /// The key of these four bytes of a header.
    #[inline]
    pub(super) const fn from_bytes(bytes: [u8; 4]) -> Self {
        Self(u32::from_le_bytes(bytes))
    }

    /// The four bytes for a header.
    #[inline]
    pub(super) const fn to_bytes(self) -> [u8; 4] {
        self.0.to_le_bytes()
    }

    /// The key for the rest of a payload after `len` bytes.
    pub(super) const fn after(self, len: usize) -> Self {
        Self(self.0.rotate_right([0, 8, 16, 24][len % 4]))
    }

    /// Masks or unmasks `payload` in place.
    #[inline]
    pub(super) fn apply(self, payload: &mut [u8]) {
        let wide = self.wide();
        let (words, tail) = payload.as_chunks_mut::<8>();
        for word in words {
            *word = (u64::from_le_bytes(*word) ^ wide).to_le_bytes();
        }
        for (byte, key) in zip(tail, wide.to_le_bytes()) {
            *byte ^= key;
        }
    }

    /// Appends the masked `payload` to `tx`: full blocks go through registers, and each byte is written once.
    #[inline]
    pub(super) fn append(self, payload: &[u8], tx: &mut Vec<u8>) {
        let (blocks, tail) = payload.as_chunks::<64>();
        for block in blocks {
            let mut masked = *block;
            self.apply(&mut masked);
            tx.extend_from_slice(&masked);
        }
        let tail_start = tx.len();
        tx.extend_from_slice(tail);
        self.apply(&mut tx[tail_start..]);
    }

    /// Twice the key, for eight bytes at a time.
    #[inline]
    const fn wide(self) -> u64 {
        (self.0 as u64) << 32 | self.0 as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masking_is_the_xor_of_the_rfc_at_every_length_and_phase() {
        let key = [0x37, 0xfa, 0x21, 0x3d];
        for len in 0..200_u8 {
            let payload: Vec<u8> = (0..len).map(|index| index.wrapping_mul(7)).collect();
            let expected: Vec<u8> =
                payload.iter().enumerate().map(|(index, byte)| byte ^ key[index % 4]).collect();

            let mut tx = vec![0xEE];
            Key::from_bytes(key).append(&payload, &mut tx);
            assert_eq!(tx[1..], expected, "appended, {len} bytes");
            assert_eq!(tx[0], 0xEE, "what was there before is left alone");

            for cut in 0..=payload.len() {
                let mut bytes = payload.clone();
                let (front, back) = bytes.split_at_mut(cut);
                Key::from_bytes(key).apply(front);
                Key::from_bytes(key).after(cut).apply(back);
                assert_eq!(bytes, expected, "in place, {len} bytes cut at {cut}");
            }
        }
    }

    #[test]
    fn keys_are_fresh_and_determined_by_the_seed() {
        let keys = |seed| {
            let mut keys = Keys::new(seed);
            (0..1000).map(|_| keys.next().to_bytes()).collect::<Vec<_>>()
        };
        assert_eq!(keys(7), keys(7));
        let mut distinct = [keys(7), keys(8)].concat();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), 2000);
    }

    /// First outputs of splitmix64 with seed 1234567, from the table that its ports are checked with.
    #[test]
    fn keys_are_the_upper_halves_of_splitmix64() {
        let mut keys = Keys::new(1_234_567);
        let upper_halves =
            [6_457_827_717_110_365_317_u64, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
                .map(|output| output >> 32);
        assert_eq!(upper_halves.map(|_| u64::from(keys.next().0)), upper_halves);
    }
}
