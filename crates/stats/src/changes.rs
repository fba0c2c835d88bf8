//! Change points: the places at which a series of numbers shifts to another level.
//!
//! E-divisive (Matteson and James, "A nonparametric approach for multiple change point analysis of multivariate data",
//! Journal of the American Statistical Association 109, 2014, pages 334 to 345): the best place to divide a series is
//! the one whose two sides have the largest energy distance; it counts if hardly any random order of the same values
//! has a place that divides it as well; then each side is divided in the same way. Two things differ here. Values count
//! by their ranks, so that one run on a disturbed machine weighs no more than any other. And each place is searched
//! again, only between its neighbours: the first was found while others blurred it.
//!
//! Left out: trends without a step, and series with an hourly or daily period.
//!
//! Start reading at [`change_points`].

use crate::sample::{float, ranks};
use units::Random;

/// The indexes at which `values` shift to another level, in ascending order: each is that of the first value after a
/// change. The same values and `seed` give the same answer.
///
/// Each side of a change has at least [`SEGMENT_MIN`] values. The probability of finding a change in a series without
/// one is 0.2 %. All values must be finite.
pub fn change_points(values: &[f64], seed: u64) -> Vec<usize> {
    let mut random = Random::new(seed);
    let mut found = Vec::new();
    divide(values, 0, &mut random, &mut found);
    // Checks each change only between its neighbours; removes one that does not count there, and checks its neighbours
    // again.
    for _ in 0..ROUNDS_MAX {
        let before = found.clone();
        let mut index = 0;
        while index < found.len() {
            let start = if index == 0 { 0 } else { found[index - 1] };
            let end = found.get(index + 1).copied().unwrap_or(values.len());
            match change(&values[start..end], &mut random) {
                Some(at) => {
                    found[index] = start + at;
                    index += 1;
                }
                None => drop(found.remove(index)),
            }
        }
        if found == before {
            break;
        }
    }
    found
}

/// Adds the changes among `values`, which begin at index `start` of the series.
fn divide(values: &[f64], start: usize, random: &mut Random, found: &mut Vec<usize>) {
    let Some(at) = change(values, random) else { return };
    let (before, after) = values.split_at(at);
    divide(before, start, random, found);
    found.push(start + at);
    divide(after, start + at, random, found);
}

/// The index of the clearest change, unless chance alone explains it.
fn change(values: &[f64], random: &mut Random) -> Option<usize> {
    let mut ranks = ranks(values);
    let (at, distance) = best(&ranks)?;
    let mut as_far = 0;
    for _ in 0..PERMUTATIONS {
        random.shuffle(&mut ranks);
        // Rounding makes the same order differ in its last digits.
        as_far += usize::from(best(&ranks)?.1 >= distance * (1.0 - 1e-9));
        if as_far > AS_FAR_MAX {
            return None;
        }
    }
    Some(at)
}

/// The index that divides `ranks` best, and the energy distance of its sides, weighted by the sizes of both; `None` if
/// there are too few values for two sides.
fn best(ranks: &[f64]) -> Option<(usize, f64)> {
    let len = ranks.len();
    if len < 2 * SEGMENT_MIN {
        return None;
    }
    let distances = |of: f64, to: &[f64]| to.iter().map(|other| (of - other).abs()).sum::<f64>();
    // The summed distances of all pairs on the left side, on the right side, and across.
    let (mut left, mut right, mut between) = (0.0, 0.0, 0.0);
    for (index, rank) in ranks.iter().enumerate() {
        right += distances(*rank, &ranks[..index]);
    }
    let mut best: Option<(usize, f64)> = None;
    for at in 1..=len - SEGMENT_MIN {
        let (before, after) = (&ranks[..at - 1], &ranks[at..]);
        let (to_left, to_right) =
            (distances(ranks[at - 1], before), distances(ranks[at - 1], after));
        left += to_left;
        right -= to_right;
        between += to_right - to_left;
        if at < SEGMENT_MIN {
            continue;
        }
        let (one, other) = (float(at), float(len - at));
        let distance =
            2.0 * (between / (one * other) - left / (one * one) - right / (other * other));
        let distance = distance * one * other / (one + other);
        if best.is_none_or(|(_, most)| distance > most) {
            best = Some((at, distance));
        }
    }
    best
}

/// The least number of values on each side of a change; values that vary a lot need more.
pub const SEGMENT_MIN: usize = 5;
/// The number of random orders that a change is compared with.
const PERMUTATIONS: usize = 999;
/// The number of these that may divide as well: by chance, a fraction (1 + 1) / (1 + 999) of series without a change
/// passes.
const AS_FAR_MAX: usize = 1;
/// The most times that places are searched again. They settle after one or two.
const ROUNDS_MAX: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    /// A series of levels, each up to an index, with noise of 1 %; a share of the runs is disturbed, by up to half.
    fn series(levels: &[(usize, f64)], disturbed_share: f64, seed: u64) -> Vec<f64> {
        let mut random = Random::new(seed);
        let len = levels.last().map_or(0, |(end, _)| *end);
        let level = |index| levels.iter().find(|(end, _)| index < *end).map_or(1.0, |it| it.1);
        let value = |index| {
            let noise: f64 = (0..12).map(|_| random.unit_f64()).sum::<f64>() - 6.0;
            let is_disturbed = random.unit_f64() < disturbed_share;
            let disturbed = if is_disturbed { 1.0 + 0.5 * random.unit_f64() } else { 1.0 };
            level(index) * (1.0 + 0.01 * noise) * disturbed
        };
        (0..len).map(value).collect()
    }

    #[test]
    fn three_changes_of_300_are_found_within_two_of_their_places() {
        (0..5).for_each(|seed| check_three(0.0, 2, seed));
    }

    #[test]
    fn runs_that_were_disturbed_hide_no_change() {
        (0..5).for_each(|seed| check_three(0.05, 5, seed));
    }

    /// Checks that exactly three changes among 300 values are found, each at most `off_max` from its place.
    fn check_three(disturbed_share: f64, off_max: usize, seed: u64) {
        let levels = [(80, 1.0), (155, 1.04), (230, 1.0), (300, 1.06)];
        let found = change_points(&series(&levels, disturbed_share, seed), 7);
        assert_eq!(found.len(), 3, "seed {seed}: {found:?}");
        for (found, truth) in found.iter().zip([80, 155, 230]) {
            assert!(found.abs_diff(truth) <= off_max, "seed {seed}: {found} for {truth}");
        }
    }

    #[test]
    fn none_is_found_in_20_series_without() {
        for seed in 0..20 {
            let found = change_points(&series(&[(300, 1.0)], 0.05, 100 + seed), 7);
            assert_eq!(found, [0; 0], "seed {seed}");
        }
    }

    #[test]
    fn a_clear_change_is_seen_by_the_fifth_run_after_it() {
        let found =
            |after: usize| change_points(&series(&[(60, 1.0), (60 + after, 2.0)], 0.05, 3), 7);
        assert_eq!(found(SEGMENT_MIN), [60]);
        assert_eq!(found(SEGMENT_MIN - 1), [0; 0]);
    }

    #[test]
    fn few_values_and_equal_ones_have_no_change() {
        assert_eq!(change_points(&[], 7), [0; 0]);
        assert_eq!(change_points(&[1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0], 7), [0; 0]);
        assert_eq!(change_points(&[3.0; 50], 7), [0; 0]);
    }

    #[test]
    fn the_distance_of_two_sides_is_that_of_the_formula() {
        let ranks = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0];
        // The distances of pairs of five consecutive ranks add up to 20 on each side; those across to 125.
        let expected = 2.0 * (125.0 / 25.0 - 20.0 / 25.0 - 20.0 / 25.0) * 25.0 / 10.0;
        let (at, distance) = best(&ranks).unwrap();
        assert_eq!(at, 5);
        assert!((distance - expected).abs() < 1e-9, "{distance} for {expected}");
    }
}
