//! The ratio of the medians of blocks, with a 95 % interval by drawing rounds again and again: the former method of
//! wirebench, which the noise bench compares with the current one.
//!
//! The interval is bias-corrected and accelerated (BCa; Efron and Tibshirani, 1993, chapter 14), computed as SciPy
//! does.

use crate::normal;
use crate::sample::{float, quantile_of_sorted};
use units::Random;

/// The blocks of two workloads in the same round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pair {
    /// The figure of the block that is judged.
    pub(super) subject: f64,
    /// The figure of the block that it is compared with.
    pub(super) baseline: f64,
}

/// The ends of the interval of the subject's median divided by the baseline's, from this many draws; `None` with fewer
/// than six rounds.
pub(super) fn interval(rounds: &[Pair], draws: usize, seed: u64) -> Option<(f64, f64)> {
    if rounds.len() < BLOCKS_MIN {
        return None;
    }
    let all: Vec<usize> = (0..rounds.len()).collect();
    let mut random = Random::new(seed);
    let mut picks = all.clone();
    let mut drawn: Vec<f64> = (0..draws)
        .map(|_| {
            picks.fill_with(|| random.below(rounds.len()));
            ratio(rounds, &picks)
        })
        .collect();
    drawn.sort_unstable_by(f64::total_cmp);
    let [low, high] = accelerated(&drawn, ratio(rounds, &all), acceleration(rounds))
        .map(|probability| quantile_of_sorted(&drawn, probability));
    Some((low, high))
}

/// The probabilities at which the sorted draws are cut: 2.5 % and 97.5 %, moved for bias and acceleration.
fn accelerated(drawn: &[f64], value: f64, acceleration: f64) -> [f64; 2] {
    // Draws that equal the value count half: medians of blocks are often equal.
    let below = drawn.partition_point(|draw| *draw < value);
    let up_to = drawn.partition_point(|draw| *draw <= value);
    let bias = normal::quantile(float(below + up_to) / float(2 * drawn.len()));
    TAILS.map(|tail| {
        let shifted = bias + normal::quantile(tail);
        let probability = normal::below(bias + shifted / (1.0 - acceleration * shifted));
        // Bias is infinite if the value is outside all draws; then nothing is known about it.
        if bias.is_finite() { probability } else { tail }
    })
}

/// The speed at which the ratio's spread changes with its value: the skewness of the effects of leaving out each round.
fn acceleration(rounds: &[Pair]) -> f64 {
    let count = rounds.len();
    let without: Vec<f64> = (0..count)
        .map(|left_out| {
            let picks: Vec<usize> = (0..count).filter(|index| *index != left_out).collect();
            ratio(rounds, &picks)
        })
        .collect();
    let mean = without.iter().sum::<f64>() / float(count);
    let influences =
        without.iter().map(|value| (float(count) - 1.0) * (mean - value) / float(count));
    let (cubes, squares) = influences.fold((0.0, 0.0), |(cubes, squares), influence| {
        (cubes + influence.powi(3), squares + influence.powi(2))
    });
    // Identical rounds have no spread that could change.
    if squares > 0.0 { cubes / squares.powf(1.5) / 6.0 } else { 0.0 }
}

/// The ratio of the medians of the picked rounds.
fn ratio(rounds: &[Pair], picks: &[usize]) -> f64 {
    let median = |of: fn(&Pair) -> f64| {
        let mut values: Vec<f64> = picks.iter().map(|index| of(&rounds[*index])).collect();
        values.sort_unstable_by(f64::total_cmp);
        quantile_of_sorted(&values, 0.5)
    };
    median(|pair| pair.subject) / median(|pair| pair.baseline)
}

/// The least number of rounds for an interval: with five, even the full range misses the median in 6 % of cases.
const BLOCKS_MIN: usize = 6;
/// Both ends of a 95 % interval.
const TAILS: [f64; 2] = [0.025, 0.975];

#[cfg(test)]
mod tests {
    use super::*;

    const SUBJECT: [f64; 10] =
        [106.1, 104.9, 108.2, 103.7, 105.5, 107.3, 106.8, 104.1, 109.9, 105.0];
    const BASELINE: [f64; 10] = [100.3, 99.1, 101.7, 98.4, 100.9, 102.2, 99.8, 97.9, 103.5, 100.0];

    /// Against SciPy 1.17.1, by `tests/golden.py`.
    #[test]
    fn intervals_of_ratios_draw_whole_rounds() {
        let rounds: Vec<Pair> = SUBJECT
            .into_iter()
            .zip(BASELINE)
            .map(|(subject, baseline)| Pair { subject, baseline })
            .collect();
        let expected = [
            (10, 1.0477597242737566, 1.0674662668665666),
            (9, 1.0455896927651138, 1.0701402805611222),
        ];
        for (count, low, high) in expected {
            let found = interval(&rounds[..count], 2000, 7).unwrap();
            assert!((found.0 - low).abs() < 1e-9 && (found.1 - high).abs() < 1e-9, "{found:?}");
        }
        assert_eq!(interval(&rounds[..5], 2000, 7), None);
    }
}
