//! Splits a workload into parts, for machines that load a server together.
//!
//! Whatever is counted (arrivals of a schedule, connections, bots, clients, messages) is numbered from 0, and number n
//! belongs to the part whose turn n is. Turns go by weight and are spread evenly (smooth weighted round robin): with
//! equal weights number n belongs to part n mod N. So parts add up to the whole by construction: nothing is missing and
//! nothing is counted twice.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;

/// One of several parts of a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// The number of this part, from 0.
    pub index: u32,
    /// The weights of all parts.
    pub weights: Vec<NonZeroU32>,
}

/// The numbers that belong to a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turns {
    /// The numbers of one cycle, the lowest first; at least one.
    own: Box<[u32]>,
    /// The turns of all parts together, after which they repeat.
    cycle: u32,
}

/// The reason why a workload cannot be split into parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PartError {
    /// There is no part of that number.
    #[error("part {index} of {parts} parts; they are numbered from 0")]
    NoSuchPart {
        /// The number.
        index: u32,
        /// The parts.
        parts: usize,
    },
    /// The weights have too long a cycle.
    #[error(
        "weights whose sum is {sum} in lowest terms; at most {} are possible: use rounder ones",
        Part::SUM_MAX
    )]
    TooFine {
        /// The sum.
        sum: u64,
    },
}

impl Part {
    /// The largest sum of weights, once they have no common divisor.
    pub const SUM_MAX: u64 = 4096;

    /// The whole, as its only part.
    pub fn whole() -> Self {
        Self { index: 0, weights: vec![NonZeroU32::MIN] }
    }

    /// The numbers that belong to it.
    ///
    /// # Errors
    ///
    /// There is no such part, or the weights are too fine.
    pub fn turns(&self) -> Result<Turns, PartError> {
        let own = self.index as usize;
        if own >= self.weights.len() {
            return Err(PartError::NoSuchPart { index: self.index, parts: self.weights.len() });
        }
        let common = self.weights.iter().fold(0, |common, weight| divisor(weight.get(), common));
        let weights: Vec<i64> =
            self.weights.iter().map(|weight| i64::from(weight.get() / common)).collect();
        let sum: i64 = weights.iter().sum();
        let cycle = u32::try_from(sum).ok().filter(|sum| u64::from(*sum) <= Self::SUM_MAX);
        let Some(cycle) = cycle else {
            return Err(PartError::TooFine { sum: sum.unsigned_abs() });
        };
        let mut waiting = vec![0_i64; weights.len()];
        let mut numbers = Vec::new();
        for number in 0..cycle {
            waiting.iter_mut().zip(&weights).for_each(|(waiting, weight)| *waiting += weight);
            // The first of several that have waited equally.
            let most = waiting.iter().copied().max().unwrap_or(0);
            let turn = waiting.iter().position(|waiting| *waiting == most).unwrap_or(0);
            waiting[turn] -= sum;
            if turn == own {
                numbers.push(number);
            }
        }
        Ok(Turns { own: numbers.into(), cycle })
    }
}

impl Turns {
    /// The number of its `index`th one, from 0; saturates at `u64::MAX`.
    #[inline]
    pub fn number(&self, index: u64) -> u64 {
        let len = self.own.len() as u64;
        let place = usize::try_from(index % len).expect("a cycle is short");
        (index / len).saturating_mul(self.cycle.into()).saturating_add(self.own[place].into())
    }

    /// The count of its numbers that are below `total`.
    pub fn count(&self, total: u64) -> u64 {
        let cycle = u64::from(self.cycle);
        let begun = self.own.partition_point(|number| u64::from(*number) < total % cycle);
        total / cycle * self.own.len() as u64 + begun as u64
    }

    /// Its share of the whole, as a fraction: its own turns in a cycle, and all turns of the cycle.
    pub fn share(&self) -> (u32, u32) {
        (u32::try_from(self.own.len()).expect("a cycle is short"), self.cycle)
    }
}

/// The greatest common divisor (Euclid); if one number is zero, the other one.
const fn divisor(mut larger: u32, mut smaller: u32) -> u32 {
    while smaller > 0 {
        (larger, smaller) = (smaller, larger % smaller);
    }
    larger
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Random;

    fn parts(weights: &[u32]) -> Vec<Turns> {
        let weights: Vec<NonZeroU32> =
            weights.iter().map(|weight| NonZeroU32::new(*weight).unwrap()).collect();
        let of = |index| Part { index, weights: weights.clone() }.turns().unwrap();
        (0..u32::try_from(weights.len()).unwrap()).map(of).collect()
    }

    #[test]
    fn every_number_belongs_to_one_part_and_counts_add_up() {
        let mut random = Random::new(20);
        for _ in 0..300 {
            let weights: Vec<u32> =
                (0..=random.below(8)).map(|_| 1 + random.next_u32() % 9).collect();
            let parts = parts(&weights);
            let total = random.below(500) as u64;
            let mut numbers: Vec<u64> = parts
                .iter()
                .flat_map(|part| (0..part.count(total)).map(|index| part.number(index)))
                .collect();
            numbers.sort_unstable();
            assert_eq!(numbers, (0..total).collect::<Vec<_>>(), "{weights:?}");
        }
    }

    #[test]
    fn equal_parts_take_turns_and_heavy_ones_are_spread() {
        let three = parts(&[7, 7, 7]);
        assert_eq!((0..4).map(|index| three[1].number(index)).collect::<Vec<_>>(), [1, 4, 7, 10]);
        let uneven = parts(&[5, 1, 1]);
        assert_eq!(
            (0..6).map(|index| uneven[0].number(index)).collect::<Vec<_>>(),
            [0, 1, 3, 5, 6, 7]
        );
        assert_eq!(uneven[0].share(), (5, 7));
        assert_eq!(uneven[0].number(u64::MAX), u64::MAX);
    }

    #[test]
    fn parts_that_are_none_are_refused() {
        let weights = |all: &[u32]| all.iter().map(|one| NonZeroU32::new(*one).unwrap()).collect();
        let error = |index, all: &[u32]| Part { index, weights: weights(all) }.turns().unwrap_err();
        assert_eq!(error(2, &[1, 1]), PartError::NoSuchPart { index: 2, parts: 2 });
        assert_eq!(error(0, &[]), PartError::NoSuchPart { index: 0, parts: 0 });
        assert_eq!(error(0, &[4096, 1]), PartError::TooFine { sum: 4097 });
        let large = Part { index: 0, weights: weights(&[u32::MAX, u32::MAX]) };
        assert_eq!(large.turns().unwrap().share(), (1, 2));
    }
}
