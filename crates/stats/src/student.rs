//! Student's t distribution.

use std::f64::consts::{FRAC_2_PI, PI};

/// The quantile for `probability`, 0.5 or more, with `freedom` degrees of freedom, at least 1.
pub(crate) fn quantile(probability: f64, freedom: u32) -> f64 {
    // By bisection, as for the normal distribution, of the angle whose tangent is t divided by the root of the freedom.
    let (mut low, mut high) = (0.0, PI / 2.0);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if within(middle, freedom) < 2.0 * probability - 1.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high).tan() * f64::from(freedom.clamp(1, FREEDOM_MAX)).sqrt()
}

/// The probability of a value closer to zero than t (Abramowitz and Stegun, 26.7.3 and 26.7.4).
fn within(angle: f64, freedom: u32) -> f64 {
    let freedom = freedom.clamp(1, FREEDOM_MAX);
    let is_odd = freedom % 2 == 1;
    let (sin, cos) = angle.sin_cos();
    let mut term = if is_odd { sin * cos } else { sin };
    let mut sum = 0.0;
    // The factors are 2/3, 4/5, … for odd degrees of freedom, and 1/2, 3/4, … for even ones.
    for step in (if is_odd { 3 } else { 2 }..=freedom).step_by(2) {
        sum += term;
        term *= cos * cos * f64::from(step - 1) / f64::from(step);
    }
    if is_odd { FRAC_2_PI * (angle + sum) } else { sum }
}

/// Enough for the last digit.
const HALVINGS: u32 = 60;
/// The degrees of freedom from which on it is the normal distribution, to three digits.
const FREEDOM_MAX: u32 = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_that_of_the_tables() {
        let table = [
            (0.975, 1, 12.706_204_736_432_1),
            (0.975, 2, 4.302_652_729_911_3),
            (0.975, 5, 2.570_581_835_636_3),
            (0.975, 9, 2.262_157_162_740_99),
            (0.975, 10, 2.228_138_851_964_94),
            (0.95, 19, 1.729_132_811_521_37),
            (0.8, 4, 0.940_964_577_100_74),
        ];
        for (probability, freedom, t) in table {
            assert!((quantile(probability, freedom) / t - 1.0).abs() < 1e-9, "{freedom}");
        }
        assert!((quantile(0.975, u32::MAX) - 1.962).abs() < 1e-3);
        assert!(quantile(0.5, 3).abs() < 1e-9);
    }
}
