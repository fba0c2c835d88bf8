//! The order in which a connection sends the kinds of requests.

use units::Random;

/// The kind of every message of every connection, by the weights of the kinds.
///
/// A turn is as many messages of a connection as the weights add up to. In each turn every kind is sent exactly as
/// often as its weight says, in an order that the seed shuffles. Connections begin at different places of the turn, so
/// that they do not all send the rare kind at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mix {
    turn: Vec<u16>,
}

impl Mix {
    /// The longest turn, after all weights were divided by their greatest common divisor.
    pub const TURN_MAX: u64 = 1 << 16;

    /// The mix of kinds with `weights`; kind `index` has the weight `weights[index]`.
    ///
    /// # Panics
    ///
    /// If all weights are zero, or [`Mix::turn_len`] is above [`Mix::TURN_MAX`], which the check of a conversation
    /// excludes.
    pub fn new(weights: &[u32], seed: u64) -> Self {
        let len = Self::turn_len(weights);
        assert!((1..=Self::TURN_MAX).contains(&len), "a turn of {len} messages");
        let common = weights.iter().copied().fold(0, common_divisor);
        let mut turn = Vec::new();
        for (kind, weight) in (0_u16..).zip(weights) {
            turn.extend(std::iter::repeat_n(kind, (weight / common) as usize));
        }
        Random::new(seed).shuffle(&mut turn);
        Self { turn }
    }

    /// The length of a turn: the sum of the weights, divided by their greatest common divisor.
    pub fn turn_len(weights: &[u32]) -> u64 {
        let common = u64::from(weights.iter().copied().fold(0, common_divisor)).max(1);
        weights.iter().map(|weight| u64::from(*weight) / common).sum()
    }

    /// The kind of message number `sequence` (from 0) of a connection.
    pub fn exchange(&self, connection: u32, sequence: u32) -> u16 {
        let place = (u64::from(connection) + u64::from(sequence)) % self.turn.len() as u64;
        self.turn[usize::try_from(place).expect("it is below the length of the turn")]
    }
}

/// The greatest common divisor; if one number is zero, the other one.
const fn common_divisor(a: u32, b: u32) -> u32 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_turn_of_every_connection_has_the_weights_exactly() {
        let mut random = Random::new(11);
        for seed in 0..50 {
            let kinds = 1 + random.below(6);
            let weights: Vec<u32> = (0..kinds).map(|_| 1 + random.next_u32() % 40).collect();
            let mix = Mix::new(&weights, seed);
            let turn = u32::try_from(Mix::turn_len(&weights)).unwrap();
            for connection in [0, 1, 7, u32::MAX] {
                let first = random.next_u32() % 1000 * turn;
                let mut counts = vec![0; kinds];
                for sequence in first..first + turn {
                    counts[usize::from(mix.exchange(connection, sequence))] += 1;
                }
                let whole: u32 = weights.iter().sum();
                let scaled: Vec<u32> = weights.iter().map(|weight| weight * turn / whole).collect();
                assert_eq!(counts, scaled, "{weights:?}, seed {seed}, connection {connection}");
            }
        }
    }

    #[test]
    fn connections_that_send_one_message_each_have_the_weights_together() {
        let mix = Mix::new(&[9, 1], 3);
        let rare = (0..1000).filter(|connection| mix.exchange(*connection, 0) == 1).count();
        assert_eq!(rare, 100);
    }

    #[test]
    fn the_order_is_shuffled_by_the_seed_and_by_nothing_else() {
        let order = |seed| -> Vec<u16> {
            let mix = Mix::new(&[3, 4, 5], seed);
            (0..12).map(|sequence| mix.exchange(0, sequence)).collect()
        };
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
        assert!(!order(1).is_sorted(), "a kind is not sent in one piece");
    }

    #[test]
    fn weights_with_a_common_divisor_have_a_short_turn() {
        #[rustfmt::skip]
        let table: [(&[u32], u64); 5] = [
            (&[1],                  1),
            (&[70, 30],            10),
            (&[u32::MAX],           1),
            (&[1 << 31, 1 << 30],   3),
            (&[u32::MAX, 1], 1 << 32),
        ];
        for (weights, len) in table {
            assert_eq!(Mix::turn_len(weights), len, "{weights:?}");
        }
        assert_eq!(Mix::new(&[u32::MAX], 0).exchange(u32::MAX, u32::MAX), 0);
    }

    #[test]
    #[should_panic(expected = "a turn of 65537 messages")]
    fn a_turn_that_is_too_long_is_refused() {
        Mix::new(&[65_536, 1], 0);
    }
}
