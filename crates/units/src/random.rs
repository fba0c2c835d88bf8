//! Seeded random numbers: xoshiro256++ (Blackman and Vigna, 2019), seeded through splitmix64.
//!
//! It is our own because schedules, payloads and mask keys must stay bit-equal across versions of every library. It is
//! not for secrets: whoever knows the seed knows every number.

/// A stream of random numbers, determined by its seed.
#[derive(Clone, Debug)]
pub struct Random {
    state: [u64; 4],
}

impl Random {
    /// The stream of `seed`; different seeds give unrelated streams.
    pub fn new(seed: u64) -> Self {
        let mut mix = seed;
        Self { state: std::array::from_fn(|_| splitmix64(&mut mix)) }
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        let [a, b, c, d] = &mut self.state;
        let result = a.wrapping_add(*d).rotate_left(23).wrapping_add(*a);
        let shifted = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= shifted;
        *d = d.rotate_left(45);
        result
    }

    /// The next 32 random bits: the upper half of [`Random::next_u64`].
    pub fn next_u32(&mut self) -> u32 {
        (self.next_u64() >> 32) as u32
    }

    /// A uniformly distributed number below `bound` (Lemire's multiplication; the bias is under 2^-32 for bounds below
    /// 2^32).
    ///
    /// # Panics
    ///
    /// If `bound` is zero.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the high half of the product is below `bound`"
    )]
    pub fn below(&mut self, bound: usize) -> usize {
        assert!(bound > 0, "there is no number below zero");
        ((u128::from(self.next_u64()) * bound as u128) >> 64) as usize
    }

    /// A number in `[0, 1)` with 53 random bits.
    #[expect(clippy::cast_precision_loss, reason = "53 bits are exact in an f64")]
    pub fn unit_f64(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Puts `items` into random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }

    /// Overwrites `bytes` with random bytes.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.next_u64().to_le_bytes()[..chunk.len()]);
        }
    }
}

fn splitmix64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seed_goes_through_splitmix64_as_published() {
        // First outputs of the authors' C code for the seed 1234567 (also on Rosetta Code).
        let mut state = 1_234_567;
        let expected = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        assert_eq!(std::array::from_fn(|_| splitmix64(&mut state)), expected);
    }

    #[test]
    fn numbers_are_those_of_xoshiro256_plus_plus_as_published() {
        // From the state 1, 2, 3, 4: the reference vector of the authors' C code, as in the tests of `rand_xoshiro`.
        let mut random = Random { state: [1, 2, 3, 4] };
        let expected = [
            41_943_041,
            58_720_359,
            3_588_806_011_781_223,
            3_591_011_842_654_386,
            9_228_616_714_210_784_205,
            9_973_669_472_204_895_162,
            14_011_001_112_246_962_877,
            12_406_186_145_184_390_807,
            15_849_039_046_786_891_736,
            10_450_023_813_501_588_000,
        ];
        assert_eq!(std::array::from_fn(|_| random.next_u64()), expected);
    }

    #[test]
    fn every_number_below_a_bound_is_as_likely() {
        const DRAWS: usize = 70_000;
        let mut random = Random::new(7);
        let mut counts = [0_usize; 7];
        for _ in 0..DRAWS {
            counts[random.below(7)] += 1;
        }
        assert_eq!(counts, [9883, 9900, 9947, 10129, 10009, 10133, 9999]);
        // Chi-square with 6 degrees of freedom: 22.5 is passed by a fair source once in a thousand seeds.
        let expected = DRAWS / 7;
        let square: usize = counts.iter().map(|count| count.abs_diff(expected).pow(2)).sum();
        assert!(square < expected * 22, "{counts:?}");
    }

    #[test]
    fn the_last_number_below_a_bound_is_reached_and_the_bound_is_not() {
        let mut random = Random::new(1);
        let mut highest = 0;
        for _ in 0..1000 {
            highest = highest.max(random.below(3));
            assert_eq!(random.below(1), 0);
        }
        assert_eq!(highest, 2);
    }

    #[test]
    fn shuffling_reaches_every_order_alike() {
        let mut random = Random::new(3);
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..6000 {
            let mut items = [0, 1, 2];
            random.shuffle(&mut items);
            *counts.entry(items).or_insert(0_u32) += 1;
        }
        assert_eq!(counts.len(), 6);
        assert!(counts.values().all(|count| (880..1120).contains(count)), "{counts:?}");
    }

    #[test]
    fn filling_leaves_no_byte_out_and_does_not_depend_on_where_it_is_cut() {
        let (mut whole, mut cut) = ([0; 21], [0; 16]);
        Random::new(9).fill(&mut whole);
        Random::new(9).fill(&mut cut);
        assert_eq!(whole[..16], cut);
        assert!(whole[16..].iter().any(|byte| *byte != 0));
    }
}
