//! The standard normal distribution.

use std::f64::consts::SQRT_2;

/// The probability of a value below `z`.
pub(crate) fn below(z: f64) -> f64 {
    libm::erfc(-z / SQRT_2) / 2.0
}

/// The quantile for `probability`: infinite at 0 and 1.
pub(crate) fn quantile(probability: f64) -> f64 {
    if probability <= 0.0 || probability >= 1.0 {
        return if probability < 0.5 { f64::NEG_INFINITY } else { f64::INFINITY };
    }
    // By bisection: as exact as `below`, and a comparison needs it only a few times.
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
/// Enough to get from there to the last digit.
const HALVINGS: u32 = 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_that_of_scipy() {
        // `tests/golden.py` prints these.
        let table = [
            (-8.0, 6.22096057427174e-16),
            (-1.959963984540054, 0.025),
            (0.0, 0.5),
            (1.0, 0.8413447460685429),
            (3.0, 0.9986501019683699),
        ];
        for (z, probability) in table {
            assert!((below(z) / probability - 1.0).abs() < 1e-12, "below {z}");
        }
        let table =
            [(1e-9, -5.9978070150076865), (0.025, -1.9599639845400545), (0.8, 0.8416212335729143)];
        for (probability, z) in table {
            assert!((quantile(probability) / z - 1.0).abs() < 1e-12, "quantile {probability}");
        }
        assert!(quantile(0.5).abs() < 1e-12);
        assert_eq!((quantile(0.0), quantile(1.0)), (f64::NEG_INFINITY, f64::INFINITY));
    }
}
