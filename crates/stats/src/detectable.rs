//! The smallest difference that a comparison could have shown.

use crate::normal;
use crate::sample::{Pair, SampleError, check_positive, float};
use std::f64::consts::FRAC_PI_2;

/// The smallest difference, as a share of the baseline, that rounds this noisy show four times of five.
///
/// From how the ratio of subject to baseline varies from round to round, which is what an A/A comparison (the same on
/// both sides) varies by as well: with `s` the standard deviation of its logarithm over `n` rounds, the median of it
/// has the standard error `e = s * sqrt(pi / 2 / n)`, and a true difference of `(1.96 + 0.84) e` leaves 1 outside the
/// 95 % interval with a power of 80 %.
///
/// # Errors
///
/// Fewer than two rounds, or a value that is not finite and above zero.
pub fn smallest_detectable(rounds: &[Pair]) -> Result<f64, SampleError> {
    let values: Vec<f64> =
        rounds.iter().flat_map(|round| [round.subject, round.baseline]).collect();
    check_positive(&values, 0)?;
    let count = rounds.len();
    if count < 2 {
        return Err(SampleError::TooFew { count, min: 2 });
    }
    let ratios: Vec<f64> =
        rounds.iter().map(|round| (round.subject / round.baseline).ln()).collect();
    let mean = ratios.iter().sum::<f64>() / float(count);
    let variance =
        ratios.iter().map(|ratio| (ratio - mean).powi(2)).sum::<f64>() / (float(count) - 1.0);
    let error = (variance * FRAC_PI_2 / float(count)).sqrt();
    Ok(((normal::quantile(0.975) + normal::quantile(0.8)) * error).exp_m1())
}
