//! A trend over the blocks of a long run: does a number rise or fall, and how fast?
//!
//! The answer comes from ranks (Mann, 1945; Kendall, 1975): S is the number of pairs of blocks in which the later one
//! has the larger value, minus the number of those in which it has the smaller one. No shape of noise is assumed.
//! Consecutive blocks are often alike, which makes S vary more; so its variance is corrected by the autocorrelation of
//! the ranks of the residuals after the trend is removed (Hamed and Rao, 1998, Journal of Hydrology 204). They add up
//! every lag at which it is significant, which with few values can by chance make the variance smaller, and even
//! negative; here lags count up to the first at which it is not positive (Geyer, 1992, Statistical Science 7). The
//! tests cover the remaining false alarms. A trend ten times as large as the range of the residuals is not corrected:
//! the residuals could not have put the values in that order, however alike neighbours are (of 1500 random walks none
//! exceeds 5.8 times).
//!
//! The slope is the median of the slopes of all pairs (Theil, 1950; Sen, 1968), which even a third of wild blocks
//! hardly moves. Its interval is Sen's, with the corrected variance.
//!
//! Left out: change points.
//!
//! Start reading at [`Trend::of`].

use crate::normal;
use crate::sample::{SampleError, check, float, median, ranks};

/// The trend of values over time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// The slope, in the unit of the values per unit of the times.
    pub slope: f64,
    /// The lower end of its 95 % interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The probability of a trend at least as clear, in either direction, if there is none.
    pub p_value: f64,
    /// The slope of the first half of the values, and that of the second.
    pub halves: [f64; 2],
}

impl Trend {
    /// The least number of values for a trend: the autocorrelation of fewer says little.
    pub const VALUES_MIN: usize = 20;
    /// The most values; with more, neighbours are combined to their means.
    const VALUES_MAX: usize = 400;

    /// The trend of `points`, each a time and a value, in order of time.
    ///
    /// The cost grows with the square of the number of points, up to 400 of them.
    ///
    /// # Errors
    ///
    /// Fewer than [`Trend::VALUES_MIN`] points, or a number that is not finite.
    pub fn of(points: &[(f64, f64)]) -> Result<Self, SampleError> {
        let each = points.len().div_ceil(Self::VALUES_MAX).max(1);
        let points: Vec<(f64, f64)> = points.chunks(each).map(mean).collect();
        check(&points.iter().map(|(at, _)| *at).collect::<Vec<f64>>(), Self::VALUES_MIN)?;
        let values: Vec<f64> = points.iter().map(|(_, value)| *value).collect();
        check(&values, Self::VALUES_MIN)?;
        let slopes = slopes(&points);
        let slope = median(&slopes)?;
        let without: Vec<f64> = points.iter().map(|(at, value)| value - slope * at).collect();
        let independent = variance(&values);
        let corrected = independent * correction(&ranks(&without));
        let (low, high) = interval(&slopes, corrected.sqrt());
        let span = points[points.len() - 1].0 - points[0].0;
        let stands_out = (slope * span).abs() >= STANDS_OUT * range(&without);
        let variance = if stands_out { independent } else { corrected };
        let (first, second) = points.split_at(points.len() / 2);
        let halves = [median(&self::slopes(first))?, median(&self::slopes(second))?];
        Ok(Self { slope, low, high, p_value: p_value(score(&values), variance), halves })
    }

    /// True if there is a trend, when `numbers` numbers of one run are tested, and if it continues: a number that
    /// jumped once, or that rose until a cache was full, does not rise in both halves.
    ///
    /// A run in which nothing drifts shows a trend in any of these numbers in 0.5 % of cases, and in at most 5 % if
    /// half of a block's noise is that of the previous block.
    pub fn is_shown(&self, numbers: usize) -> bool {
        self.p_value < FALSE_ALARMS / float(numbers.max(1))
            && self.halves.iter().all(|half| half / self.slope >= HALF_MIN)
    }
}

/// The mean time and the mean value of neighbours.
fn mean(points: &[(f64, f64)]) -> (f64, f64) {
    let count = float(points.len());
    let sum = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    (sum(|point| point.0), sum(|point| point.1))
}

/// The slopes of all pairs of different times, the smallest first.
fn slopes(points: &[(f64, f64)]) -> Vec<f64> {
    let mut slopes = Vec::with_capacity(points.len() * points.len() / 2);
    for (index, (at, value)) in points.iter().enumerate() {
        let later = points[index + 1..].iter().filter(|(later, _)| later > at);
        slopes.extend(later.map(|(later, other)| (other - value) / (later - at)));
    }
    slopes.sort_unstable_by(f64::total_cmp);
    slopes
}

/// The difference between the largest and the smallest value.
fn range(values: &[f64]) -> f64 {
    let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    largest - values.iter().copied().fold(f64::INFINITY, f64::min)
}

/// S: the number of pairs that rise minus that of pairs that fall.
fn score(values: &[f64]) -> f64 {
    let mut score = 0.0;
    for (index, value) in values.iter().enumerate() {
        for later in &values[index + 1..] {
            score += f64::from(u8::from(later > value)) - f64::from(u8::from(later < value));
        }
    }
    score
}

/// The variance of S if values are independent; some may be equal.
fn variance(values: &[f64]) -> f64 {
    let of = |count: f64| count * (count - 1.0) * (2.0 * count + 5.0) / 18.0;
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let ties = sorted.chunk_by(|one, other| one == other).map(|equal| of(float(equal.len())));
    of(float(values.len())) - ties.sum::<f64>()
}

/// The factor by which S varies more than with independent values: that of Hamed and Rao, by the autocorrelation of
/// ranks up to the first lag at which it is not positive. At least 1.
fn correction(ranks: &[f64]) -> f64 {
    let count = float(ranks.len());
    let mean = ranks.iter().sum::<f64>() / count;
    let product = |lag: usize| {
        let pairs = ranks.iter().zip(&ranks[lag..]);
        pairs.map(|(one, other)| (one - mean) * (other - mean)).sum::<f64>()
    };
    let all = product(0);
    let sum: f64 = (1..ranks.len())
        .map(|lag| (float(ranks.len() - lag), product(lag) / all))
        .take_while(|(_, correlation)| *correlation > 0.0)
        .map(|(pairs, correlation)| pairs * (pairs - 1.0) * (pairs - 2.0) * correlation)
        .sum();
    1.0 + 2.0 * sum / (count * (count - 1.0) * (count - 2.0))
}

/// The probability of an S at least this far from zero; S is an integer, so half a step of 2 is subtracted.
fn p_value(score: f64, variance: f64) -> f64 {
    if score == 0.0 || variance <= 0.0 {
        return 1.0;
    }
    2.0 * normal::below(-(score.abs() - 1.0) / variance.sqrt())
}

/// The ends of the 95 % interval: slopes as far from the median as S may be from zero.
#[expect(clippy::cast_possible_truncation, reason = "below the number of slopes")]
#[expect(clippy::cast_sign_loss, reason = "at least 0")]
fn interval(slopes: &[f64], deviation: f64) -> (f64, f64) {
    let (count, reach) = (float(slopes.len()), normal::quantile(0.975) * deviation);
    let place = |place: f64| slopes[place.clamp(0.0, count - 1.0) as usize];
    let low = ((count - reach) / 2.0).round_ties_even() - 1.0;
    let high = ((count + reach) / 2.0).round_ties_even();
    (place(low), place(high))
}

/// The share of runs without a trend in which one is claimed for any of their numbers, if blocks are independent.
const FALSE_ALARMS: f64 = 0.005;
/// The least rise or fall that needs no correction, as a multiple of the range of the residuals.
const STANDS_OUT: f64 = 10.0;
/// The least slope of each half of a continuing trend, as a share of the overall slope.
const HALF_MIN: f64 = 0.25;
