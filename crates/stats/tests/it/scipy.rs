//! Against SciPy 1.17.1: every number here was printed by `tests/golden.py`, which says how to run it.

use stats::{SampleError, median, quantile};

const SUBJECT: [f64; 10] = [106.1, 104.9, 108.2, 103.7, 105.5, 107.3, 106.8, 104.1, 109.9, 105.0];

#[test]
fn quantiles_lie_between_values_in_proportion() {
    let expected = [
        (0.0, 103.7),
        (0.1, 104.06),
        (0.25, 104.925_000_000_000_01),
        (0.5, 105.8),
        (0.9, 108.37),
        (1.0, 109.9),
    ];
    for (q, expected) in expected {
        close(quantile(&SUBJECT, q).unwrap(), expected);
    }
    close(median(&[3.0]).unwrap(), 3.0);
    assert_eq!(median(&[]), Err(SampleError::TooFew { count: 0, min: 1 }));
    assert!(matches!(median(&[1.0, f64::NAN]), Err(SampleError::NotFinite { .. })));
}

/// Equal but for the last digits.
fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-9 * expected.abs(), "{found} is not {expected}");
}
