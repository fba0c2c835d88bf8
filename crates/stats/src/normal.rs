//! The standard normal distribution.

use std::f64::consts::SQRT_2;

/// The probability of less than `z`.
pub(crate) fn below(z: f64) -> f64 {
    libm::erfc(-z / SQRT_2) / 2.0
}

/// What is undercut with `probability`: infinite at 0 and 1.
pub(crate) fn quantile(probability: f64) -> f64 {
    if probability <= 0.0 || probability >= 1.0 {
        return if probability < 0.5 { f64::NEG_INFINITY } else { f64::INFINITY };
    }
    // By halving: as exact as `below`, and it is asked for a few times in a comparison.
    let (mut low, mut high) = (-Z_MAX, Z_MAX);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if below(middle) < probability {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// Beyond this the probability is zero in an `f64`.
const Z_MAX: f64 = 40.0;
/// Enough to come from there to the last digit.
const HALVINGS: u32 = 60;
