//! Goodness of fit: against SciPy (numbers printed by `tests/golden.py`), and on samples of known origin.

use stats::{
    Histogram, Mean, SampleError, anderson_darling, kolmogorov_smirnov, kolmogorov_smirnov_beyond,
    kolmogorov_smirnov_to,
};
use units::{Nanos, Random};

const GAPS: [f64; 12] = [0.03, 0.17, 2.9, 0.48, 1.1, 0.74, 0.09, 1.9, 0.33, 0.61, 4.2, 0.26];

#[test]
fn statistics_are_those_of_scipy() {
    let known = anderson_darling(&GAPS, Mean::Known(1.0)).unwrap();
    close(known.a_squared, 0.4007905450687126);
    let estimated = anderson_darling(&GAPS, Mean::Estimated).unwrap();
    close(estimated.a_squared, 0.47474641049194644);
    assert!(!known.rejects() && !estimated.rejects());
    close(kolmogorov_smirnov_to(&GAPS, exponential).unwrap(), 0.14378058218770107);
}

#[test]
fn the_distance_of_two_histograms_is_that_of_their_samples() {
    // Below 2048, a histogram of three digits distinguishes every number from the next.
    let subject = histogram(&[1061, 1049, 1082, 1037, 1055, 1073, 1068, 1041, 1099, 1050]);
    let like = histogram(&[1053, 1041, 1067, 1034, 1059, 1072, 1048, 1029, 1085, 1050]);
    let below = histogram(&[1033, 1021, 1047, 1014, 1039, 1052, 1028]);
    close(kolmogorov_smirnov(&subject, &like).unwrap(), 0.2);
    close(kolmogorov_smirnov(&subject, &below).unwrap(), 0.6571428571428571);
    close(kolmogorov_smirnov(&below, &subject).unwrap(), 0.6571428571428571);
    assert_eq!(kolmogorov_smirnov(&subject, &subject), Some(0.0));
    assert_eq!(kolmogorov_smirnov(&subject, &histogram(&[1, 3_600_000_000_000])), Some(0.5));
    assert_eq!(kolmogorov_smirnov(&subject, &Histogram::new()), None);
}

#[test]
fn exponential_gaps_are_rejected_once_in_a_hundred_times() {
    for (mean, is_known) in [(Mean::Known(3.0), true), (Mean::Estimated, false)] {
        let mut random = Random::new(11);
        let rejected = (0..2000)
            .filter(|_| {
                let gaps: Vec<f64> = (0..100).map(|_| 3.0 * gap(&mut random)).collect();
                anderson_darling(&gaps, mean).unwrap().rejects()
            })
            .count();
        // Binomial: 20 expected, and 8 to 34 in 998 of a thousand seeds.
        assert!((8..=34).contains(&rejected), "{rejected} of 2000, known: {is_known}");
    }
}

#[test]
fn gaps_of_other_kinds_are_rejected() {
    let mut random = Random::new(12);
    let mut draw = |make: fn(&mut Random) -> f64| -> Vec<f64> {
        (0..500).map(|_| make(&mut random)).collect()
    };
    let constant = draw(|_| 1.0);
    let uniform = draw(|random| 2.0 * (1.0 - random.unit_f64()));
    let clumped = draw(|random| gap(random) * if random.below(2) == 0 { 0.2 } else { 1.8 });
    for gaps in [&constant, &uniform, &clumped] {
        assert!(anderson_darling(gaps, Mean::Estimated).unwrap().rejects());
        assert!(anderson_darling(gaps, Mean::Known(1.0)).unwrap().rejects());
    }
    // 30 % too slow shows in the mean alone.
    let slow = draw(|random| 1.3 * gap(random));
    assert!(!anderson_darling(&slow, Mean::Estimated).unwrap().rejects());
    assert!(anderson_darling(&slow, Mean::Known(1.0)).unwrap().rejects());
}

#[test]
fn what_is_off_by_less_than_the_slack_is_no_difference() {
    #[rustfmt::skip]
    let table: [(&[u64], &[u64], u64, f64); 9] = [
        // one,             other,               slack, distance
        (&[1000; 10],       &[1100; 10],         0,     1.0),
        (&[1000; 10],       &[1100; 10],         99,    1.0),
        (&[1000; 10],       &[1100; 10],         100,   0.0),
        (&[1100; 10],       &[1000; 10],         100,   0.0),
        (&[1100; 10],       &[1000; 10],         99,    1.0),
        (&[1000, 1000, 1000, 1000], &[1050, 1050, 1050, 2000], 100, 0.25),
        (&[1050, 1050, 1050, 2000], &[1000, 1000, 1000, 1000], 100, 0.25),
        (&[1000, 1500],     &[1100, 1400],       100,   0.0),
        (&[1000],           &[1000, 1000, 1000], 0,     0.0),
    ];
    for row @ (one, other, slack, expected) in table {
        let found = kolmogorov_smirnov_beyond(&histogram(one), &histogram(other), Nanos(slack));
        assert_eq!(found, Some(expected), "{row:?}");
    }
    assert_eq!(kolmogorov_smirnov_beyond(&histogram(&[]), &histogram(&[1]), Nanos(5)), None);
}

#[test]
fn samples_that_cannot_be_judged_say_why() {
    assert_eq!(
        anderson_darling(&GAPS[..4], Mean::Estimated),
        Err(SampleError::TooFew { count: 4, min: 5 })
    );
    let zero = anderson_darling(&[1.0, 2.0, 3.0, 4.0, 0.0], Mean::Estimated);
    assert_eq!(zero, Err(SampleError::NotPositive { value: 0.0 }));
    assert_eq!(
        kolmogorov_smirnov_to(&[], exponential),
        Err(SampleError::TooFew { count: 0, min: 1 })
    );
}

fn histogram(times: &[u64]) -> Histogram {
    let mut histogram = Histogram::new();
    times.iter().for_each(|time| histogram.record(Nanos(*time)));
    histogram
}

/// An exponential number of mean 1.
fn gap(random: &mut Random) -> f64 {
    -(1.0 - random.unit_f64()).ln() + f64::MIN_POSITIVE
}

/// The share of exponential numbers of mean 1 that lie below `value`.
fn exponential(value: f64) -> f64 {
    1.0 - (-value).exp()
}

/// Equal but for the last digits.
fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-9 * expected.abs(), "{found} is not {expected}");
}
