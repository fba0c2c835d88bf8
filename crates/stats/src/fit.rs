//! The fit of a sample to a distribution, or to another sample.

use crate::Histogram;
use crate::sample::{SampleError, check, check_positive, float};
use units::Nanos;

/// The Anderson-Darling test of gaps against the exponential distribution: are arrivals as independent of each other as
/// they should be? It weighs both tails more than [`kolmogorov_smirnov`] does.
///
/// # Errors
///
/// Fewer than five gaps, or one that is not finite and above zero.
pub fn anderson_darling(gaps: &[f64], mean: Mean) -> Result<AndersonDarling, SampleError> {
    check_positive(gaps, AndersonDarling::GAPS_MIN)?;
    let count = float(gaps.len());
    let mut sorted = gaps.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let (mean, correction, critical) = match mean {
        Mean::Known(mean) => (mean, 1.0, CRITICAL_KNOWN),
        Mean::Estimated => {
            (sorted.iter().sum::<f64>() / count, 1.0 + 0.6 / count, CRITICAL_ESTIMATED)
        }
    };
    let weighted =
        sorted.iter().zip(sorted.iter().rev()).enumerate().map(|(index, (low, high))| {
            let (log_below, log_above) = (libm::log(-libm::expm1(-low / mean)), -high / mean);
            (2.0 * float(index) + 1.0) * (log_below + log_above)
        });
    let a_squared = -count - weighted.sum::<f64>() / count;
    Ok(AndersonDarling { a_squared: a_squared * correction, critical })
}

/// The mean of exponential gaps, if it is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mean {
    /// The mean must be this, too.
    Known(f64),
    /// The mean is unknown: only the shape is judged.
    Estimated,
}

/// The outcome of an Anderson-Darling test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AndersonDarling {
    /// The statistic A², times 1 + 0.6 / n if the mean is estimated.
    pub a_squared: f64,
    /// The value that exponential gaps exceed once in a hundred times.
    pub critical: f64,
}

impl AndersonDarling {
    /// The least number of gaps for which [`AndersonDarling::critical`] holds.
    pub const GAPS_MIN: usize = 5;

    /// True if the gaps are not exponential, at the level of 1 %.
    pub fn rejects(self) -> bool {
        self.a_squared > self.critical
    }
}

/// The largest difference, from 0 to 1, between the shares of `one` and of `other` below any time (Kolmogorov and
/// Smirnov). `None` if one of them is empty. Times within the 0.1 % that histograms resolve do not differ.
pub fn kolmogorov_smirnov(one: &Histogram, other: &Histogram) -> Option<f64> {
    kolmogorov_smirnov_beyond(one, other, Nanos::ZERO)
}

/// The same, if times may be off by `slack` without counting as different: the least share of samples that must be
/// moved by more than that to turn one into the other. Without slack, a fixed time measured with any error, however
/// small, would be at the largest distance from itself.
pub fn kolmogorov_smirnov_beyond(one: &Histogram, other: &Histogram, slack: Nanos) -> Option<f64> {
    if one.is_empty() || other.is_empty() {
        return None;
    }
    Some(lead(one, other, slack).max(lead(other, one, slack)))
}

/// The most by which the share of `ahead` below a time exceeds the share of `behind` below a time `slack` later.
#[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
fn lead(ahead: &Histogram, behind: &Histogram, slack: Nanos) -> f64 {
    let share = |below: u64, of: &Histogram| below as f64 / of.count() as f64;
    let mut later = behind.counts.iter_all().peekable();
    let (mut below_ahead, mut below_behind, mut lead) = (0, 0, 0.0_f64);
    for step in ahead.counts.iter_all() {
        below_ahead += step.count_at_value();
        let until = step.value_iterated_to().saturating_add(slack.0);
        while let Some(passed) = later.next_if(|step| step.value_iterated_to() <= until) {
            below_behind += passed.count_at_value();
        }
        lead = lead.max(share(below_ahead, ahead) - share(below_behind, behind));
    }
    lead
}

/// The same between `values` and a distribution, whose share below a value is `below`.
///
/// # Errors
///
/// No values, or one that is not finite.
pub fn kolmogorov_smirnov_to(
    values: &[f64],
    below: impl Fn(f64) -> f64,
) -> Result<f64, SampleError> {
    check(values, 1)?;
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let count = float(sorted.len());
    let distances = sorted.iter().enumerate().map(|(index, value)| {
        let below = below(*value);
        (below - float(index) / count).max(float(index + 1) / count - below)
    });
    Ok(distances.fold(0.0, f64::max))
}

/// The 99 % point of A² if the distribution is fully known (Marsaglia and Marsaglia, Evaluating the Anderson-Darling
/// Distribution, 2004).
const CRITICAL_KNOWN: f64 = 3.878;

/// The 99 % point of A² (1 + 0.6 / n) if the mean of exponential gaps is that of the sample (Stephens, EDF Statistics
/// for Goodness of Fit, 1974; SciPy has the same).
const CRITICAL_ESTIMATED: f64 = 1.957;
