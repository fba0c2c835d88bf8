//! Medians, ratios and differences of medians with a 95 % interval, by drawing blocks again and again (Efron).
//!
//! The interval is bias-corrected and accelerated (BCa; Efron and Tibshirani, 1993, chapter 14), computed as SciPy
//! does. [`Bootstrap::ratio`] and [`Bootstrap::difference`] draw whole rounds, so that what a round's blocks share
//! (drift, a flip of the machine between two placements) stays shared and cancels; [`Bootstrap::ratio_unpaired`] is for
//! blocks that have no rounds.

use crate::normal;
use crate::sample::{Pair, SampleError, Sides, check, check_positive, float, quantile_of_sorted};
use std::fmt;
use units::Random;

/// The way to draw blocks: the same values and options give the same interval, always.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bootstrap {
    /// The number of draws.
    pub resamples: usize,
    /// The seed that determines the draws.
    pub seed: u64,
}

impl Bootstrap {
    /// The usual number of draws.
    pub fn new(seed: u64) -> Self {
        Self { resamples: 2000, seed }
    }

    /// The median of `values` with its interval.
    ///
    /// # Errors
    ///
    /// Fewer than [`Bootstrap::BLOCKS_MIN`] values, or one that is not finite.
    pub fn median(&self, values: &[f64]) -> Result<Estimate, SampleError> {
        check(values, Self::BLOCKS_MIN)?;
        let mut scratch = Vec::new();
        Ok(self.interval(&[values.len()], |picks| median_of(values, &picks[0], &mut scratch)))
    }

    /// The median of the subject by the median of the baseline, drawing whole rounds.
    ///
    /// # Errors
    ///
    /// Fewer than [`Bootstrap::BLOCKS_MIN`] rounds, or a value that is not finite and above zero.
    pub fn ratio(&self, rounds: &[Pair]) -> Result<Ratio, SampleError> {
        let subject: Vec<f64> = rounds.iter().map(|round| round.subject).collect();
        let baseline: Vec<f64> = rounds.iter().map(|round| round.baseline).collect();
        check_positive(&subject, Self::BLOCKS_MIN)?;
        check_positive(&baseline, Self::BLOCKS_MIN)?;
        let mut scratch = Vec::new();
        let Estimate { value, low, high } = self.interval(&[rounds.len()], |picks| {
            median_of(&subject, &picks[0], &mut scratch)
                / median_of(&baseline, &picks[0], &mut scratch)
        });
        Ok(Ratio { value, low, high })
    }

    /// The median of the subject less the median of the baseline, drawing whole rounds.
    ///
    /// # Errors
    ///
    /// Fewer than [`Bootstrap::BLOCKS_MIN`] rounds, or a value that is not finite.
    pub fn difference(&self, rounds: &[Pair]) -> Result<Estimate, SampleError> {
        let subject: Vec<f64> = rounds.iter().map(|round| round.subject).collect();
        let baseline: Vec<f64> = rounds.iter().map(|round| round.baseline).collect();
        check(&subject, Self::BLOCKS_MIN)?;
        check(&baseline, Self::BLOCKS_MIN)?;
        let mut scratch = Vec::new();
        Ok(self.interval(&[rounds.len()], |picks| {
            median_of(&subject, &picks[0], &mut scratch)
                - median_of(&baseline, &picks[0], &mut scratch)
        }))
    }

    /// The median of the subject by the median of the baseline, drawing the blocks of each for themselves.
    ///
    /// # Errors
    ///
    /// Fewer than [`Bootstrap::BLOCKS_MIN`] blocks of either, or a value that is not finite and above zero.
    pub fn ratio_unpaired(&self, sides: Sides<'_>) -> Result<Ratio, SampleError> {
        let Sides { subject, baseline } = sides;
        check_positive(subject, Self::BLOCKS_MIN)?;
        check_positive(baseline, Self::BLOCKS_MIN)?;
        let mut scratch = Vec::new();
        let Estimate { value, low, high } =
            self.interval(&[subject.len(), baseline.len()], |picks| {
                median_of(subject, &picks[0], &mut scratch)
                    / median_of(baseline, &picks[1], &mut scratch)
            });
        Ok(Ratio { value, low, high })
    }

    /// Fewer blocks give no interval: of five, even the whole range misses the median in 6 % of cases.
    pub const BLOCKS_MIN: usize = 6;

    /// `statistic` of groups of so many blocks each, with its interval. It is handed the indexes that were drawn
    /// from each group.
    fn interval(
        &self,
        sizes: &[usize],
        mut statistic: impl FnMut(&[Vec<usize>]) -> f64,
    ) -> Estimate {
        let all: Vec<Vec<usize>> = sizes.iter().map(|size| (0..*size).collect()).collect();
        let value = statistic(&all);
        let mut random = Random::new(self.seed);
        let mut picks = all.clone();
        let mut drawn: Vec<f64> = (0..self.resamples.max(1))
            .map(|_| {
                for group in &mut picks {
                    let size = group.len();
                    group.fill_with(|| random.below(size));
                }
                statistic(&picks)
            })
            .collect();
        drawn.sort_unstable_by(f64::total_cmp);
        let [low, high] = accelerated(&drawn, value, acceleration(&all, statistic))
            .map(|probability| quantile_of_sorted(&drawn, probability));
        Estimate { value, low, high }
    }
}

impl Default for Bootstrap {
    fn default() -> Self {
        Self::new(0)
    }
}

/// A number with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The measured value.
    pub value: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// The ratio to the baseline, with its 95 % interval. Shown as `1.06x [1.04, 1.08]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// The measured ratio.
    pub value: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Ratio {
    /// True if the interval leaves out 1: a difference was shown.
    pub fn differs(&self) -> bool {
        self.low > 1.0 || self.high < 1.0
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Two decimals around 1, as many as three digits need elsewhere.
        let decimals = match self.value {
            100.0.. => 0,
            10.0.. => 1,
            0.1.. => 2,
            0.01.. => 3,
            _ => 4,
        };
        let Self { value, low, high } = self;
        f.pad(&format!("{value:.decimals$}x [{low:.decimals$}, {high:.decimals$}]"))
    }
}

/// The probabilities at which the sorted draws are cut: 2.5 % and 97.5 %, moved for bias and acceleration.
fn accelerated(drawn: &[f64], value: f64, acceleration: f64) -> [f64; 2] {
    // Draws that equal the value count half: medians of blocks often do.
    let below = drawn.partition_point(|draw| *draw < value);
    let up_to = drawn.partition_point(|draw| *draw <= value);
    let bias = normal::quantile(float(below + up_to) / float(2 * drawn.len()));
    TAILS.map(|tail| {
        let shifted = bias + normal::quantile(tail);
        let probability = normal::below(bias + shifted / (1.0 - acceleration * shifted));
        // Bias is infinite if the value lies outside all draws; then nothing is known of it.
        if bias.is_finite() { probability } else { tail }
    })
}

/// The speed at which the statistic's spread changes with its value: the skewness of what leaving out each block does
/// to it.
fn acceleration(all: &[Vec<usize>], mut statistic: impl FnMut(&[Vec<usize>]) -> f64) -> f64 {
    let (mut cubes, mut squares) = (0.0, 0.0);
    let mut picks = all.to_vec();
    for group in 0..all.len() {
        let size = all[group].len();
        let without: Vec<f64> = (0..size)
            .map(|left_out| {
                picks[group] = (0..size).filter(|index| *index != left_out).collect();
                statistic(&picks)
            })
            .collect();
        picks[group].clone_from(&all[group]);
        let mean = without.iter().sum::<f64>() / float(size);
        let influence = |value: &f64| (float(size) - 1.0) * (mean - value) / float(size);
        cubes += without.iter().map(|value| influence(value).powi(3)).sum::<f64>();
        squares += without.iter().map(|value| influence(value).powi(2)).sum::<f64>();
    }
    // Blocks that are all alike have no spread that could change.
    if squares > 0.0 { cubes / squares.powf(1.5) / 6.0 } else { 0.0 }
}

/// The median of the picked `values`.
fn median_of(values: &[f64], picks: &[usize], scratch: &mut Vec<f64>) -> f64 {
    scratch.clear();
    scratch.extend(picks.iter().map(|index| values[*index]));
    scratch.sort_unstable_by(f64::total_cmp);
    quantile_of_sorted(scratch, 0.5)
}

/// Both ends of a 95 % interval.
const TAILS: [f64; 2] = [0.025, 0.975];
