//! Small samples: one number per block.

use units::Nanos;

/// The median of `values`; the mean of the middle two if their number is even.
///
/// # Errors
///
/// No values, or one that is not finite.
pub fn median(values: &[f64]) -> Result<f64, SampleError> {
    quantile(values, 0.5)
}

/// The quantile `q` (0 to 1) of `values`, interpolated linearly between two of them (type 7 of Hyndman and Fan, 1996:
/// the default of R and NumPy).
///
/// # Errors
///
/// No values, or one that is not finite.
pub fn quantile(values: &[f64], q: f64) -> Result<f64, SampleError> {
    check(values, 1)?;
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    Ok(quantile_of_sorted(&sorted, q))
}

/// The ranks of values, from 1; equal values share the mean of their ranks.
pub(crate) fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|one, other| values[*one].total_cmp(&values[*other]));
    let mut ranks = vec![0.0; values.len()];
    let mut before = 0;
    for equal in order.chunk_by(|one, other| values[*one] == values[*other]) {
        let rank = float(before) + (float(equal.len()) + 1.0) / 2.0;
        equal.iter().for_each(|index| ranks[*index] = rank);
        before += equal.len();
    }
    ranks
}

/// `count` per second of `time`; 0 if `time` is zero.
#[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
pub fn per_second(count: u64, time: Nanos) -> f64 {
    if time == Nanos::ZERO { 0.0 } else { count as f64 / time.as_secs_f64() }
}

/// `total` divided by `messages`; `None` if there are none.
#[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
pub fn per_message(total: u64, messages: u64) -> Option<f64> {
    (messages > 0).then(|| total as f64 / messages as f64)
}

/// The reason why blocks cannot be judged.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SampleError {
    /// A value is infinite or not a number.
    #[error("value {value} is not finite")]
    NotFinite {
        /// The value.
        value: f64,
    },
    /// A ratio needs values above zero.
    #[error("value {value} is not above zero")]
    NotPositive {
        /// The value.
        value: f64,
    },
    /// There are too few blocks.
    #[error("{count} blocks, at least {min} are needed")]
    TooFew {
        /// The number of blocks.
        count: usize,
        /// The least number.
        min: usize,
    },
}

/// Checks that there are at least `min` values, all finite.
pub(crate) fn check(values: &[f64], min: usize) -> Result<(), SampleError> {
    if let Some(value) = values.iter().find(|value| !value.is_finite()) {
        return Err(SampleError::NotFinite { value: *value });
    }
    if values.len() < min {
        return Err(SampleError::TooFew { count: values.len(), min });
    }
    Ok(())
}

/// Checks that there are at least `min` values, all finite and above zero.
pub(crate) fn check_positive(values: &[f64], min: usize) -> Result<(), SampleError> {
    check(values, min)?;
    match values.iter().find(|value| **value <= 0.0) {
        Some(value) => Err(SampleError::NotPositive { value: *value }),
        None => Ok(()),
    }
}

/// [`quantile`] of at least one value, all finite and sorted.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between 0 and the length"
)]
pub(crate) fn quantile_of_sorted(sorted: &[f64], q: f64) -> f64 {
    let last = sorted.len() - 1;
    let position = q.clamp(0.0, 1.0) * float(last);
    let below = position.floor() as usize;
    let (low, high) = (sorted[below], sorted[last.min(below + 1)]);
    low + (high - low) * position.fract()
}

/// A count in a formula.
#[expect(clippy::cast_precision_loss, reason = "exact below 2^53")]
pub(crate) fn float(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_share_the_mean_of_their_ranks() {
        assert_eq!(ranks(&[5.0, 1.0, 5.0, 9.0]), [2.5, 1.0, 2.5, 4.0]);
        assert_eq!(ranks(&[]), [0.0; 0]);
    }
}
