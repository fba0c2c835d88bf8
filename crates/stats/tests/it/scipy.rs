//! Against SciPy 1.17.1: every number here was printed by `tests/golden.py`, which says how to run it.

use stats::{
    Bootstrap, Estimate, MannWhitney, Pair, Ratio, SampleError, Sides, hodges_lehmann, holm,
    mann_whitney, median, quantile, smallest_detectable,
};

const SUBJECT: [f64; 10] = [106.1, 104.9, 108.2, 103.7, 105.5, 107.3, 106.8, 104.1, 109.9, 105.0];
const BASELINE: [f64; 10] = [100.3, 99.1, 101.7, 98.4, 100.9, 102.2, 99.8, 97.9, 103.5, 100.0];

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

#[test]
fn intervals_of_medians_are_bias_corrected_and_accelerated() {
    let ten = Bootstrap::new(7).median(&SUBJECT).unwrap();
    estimate(ten, [105.8, 104.55, 107.3]);
    let nine = Bootstrap::new(7).median(&SUBJECT[..9]).unwrap();
    estimate(nine, [106.1, 104.1, 108.2]);
}

#[test]
fn intervals_of_ratios_draw_whole_rounds() {
    let ten = Bootstrap::new(7).ratio(&rounds(10)).unwrap();
    ratio(ten, [1.056415376934598, 1.0477597242737566, 1.0674662668665666]);
    let nine = Bootstrap::new(7).ratio(&rounds(9)).unwrap();
    ratio(nine, [1.0578265204386839, 1.0455896927651138, 1.0701402805611222]);
}

#[test]
fn intervals_of_differences_draw_whole_rounds() {
    let ten = Bootstrap::new(7).difference(&rounds(10)).unwrap();
    estimate(ten, [5.6499999999999915, 4.799999999999997, 6.799999999999997]);
    let nine = Bootstrap::new(7).difference(&rounds(9)).unwrap();
    estimate(nine, [5.799999999999997, 4.599999999999994, 7.0]);
    let turned: Vec<Pair> = rounds(10)
        .into_iter()
        .map(|Pair { subject, baseline }| Pair { subject: baseline, baseline: subject })
        .collect();
    let below_zero = Bootstrap::new(7).difference(&turned).unwrap();
    estimate(below_zero, [-5.6499999999999915, -6.799999999999997, -4.799999999999997]);
    // What all blocks of a round share is in no difference.
    let shifted: Vec<Pair> = (0..10)
        .map(|round| Pair { subject: f64::from(round * 100 + 3), baseline: f64::from(round * 100) })
        .collect();
    estimate(Bootstrap::new(7).difference(&shifted).unwrap(), [3.0, 3.0, 3.0]);
    let few = Bootstrap::new(7).difference(&rounds(5)).unwrap_err();
    assert_eq!(few, SampleError::TooFew { count: 5, min: 6 });
}

#[test]
fn intervals_of_unpaired_ratios_draw_each_side() {
    let sides = Sides { subject: &SUBJECT, baseline: &BASELINE[..7] };
    let unpaired = Bootstrap::new(7).ratio_unpaired(sides).unwrap();
    ratio(unpaired, [1.0548354935194417, 1.0349065880039332, 1.0771543086172346]);
}

#[test]
fn mann_whitney_is_exact_for_few_and_corrected_for_ties() {
    let shifted: Vec<f64> = BASELINE[..9].iter().map(|value| value + 5.031_25).collect();
    let even: Vec<f64> = (0..45).map(|index| f64::from(2 * index)).collect();
    let odd: Vec<f64> = (0..45).map(|index| f64::from(2 * index + 7)).collect();
    #[rustfmt::skip]
    let table: [(&[f64], &[f64], f64, f64); 4] = [
        (&SUBJECT[..8], &BASELINE, 80.0, 4.570592805886923e-05),
        (&SUBJECT, &shifted, 55.0, 0.4469678927883263),
        (&[1.0, 2.0, 2.0, 3.0, 5.0], &[2.0, 3.0, 3.0, 4.0, 6.0, 7.0, 7.0], 7.0, 0.09890866085596386),
        (&even, &odd, 861.0, 0.2230246193602422),
    ];
    for (subject, baseline, u, p_value) in table {
        let outcome = mann_whitney(Sides { subject, baseline }).unwrap();
        close(outcome.u, u);
        close(outcome.p_value, p_value);
    }
}

#[test]
fn sides_that_are_all_alike_do_not_differ() {
    let alike = Sides { subject: &[5.0; 12], baseline: &[5.0; 9] };
    assert_eq!(mann_whitney(alike), Ok(MannWhitney { u: 54.0, p_value: 1.0 }));
    assert_eq!(hodges_lehmann(alike), Ok(0.0));
    let same = Bootstrap::new(7).ratio_unpaired(alike).unwrap();
    assert_eq!(same, Ratio { value: 1.0, low: 1.0, high: 1.0 });
    assert!(!same.differs());
}

#[test]
fn the_shift_is_the_median_of_all_differences() {
    close(hodges_lehmann(Sides { subject: &SUBJECT, baseline: &BASELINE }).unwrap(), 5.75);
}

#[test]
fn holm_corrects_step_by_step() {
    for (corrected, expected) in
        holm(&[0.01, 0.04, 0.03, 0.005, 0.8]).into_iter().zip([0.04, 0.09, 0.09, 0.025, 0.8])
    {
        close(corrected, expected);
    }
    assert_eq!(holm(&[]), [0.0; 0]);
    assert_eq!(holm(&[0.9, 0.9]), [1.0, 1.0]);
}

#[test]
fn what_could_have_been_seen_follows_from_the_spread_of_rounds() {
    close(smallest_detectable(&rounds(10)).unwrap(), 0.008043887030338523);
    assert_eq!(smallest_detectable(&rounds(1)), Err(SampleError::TooFew { count: 1, min: 2 }));
}

#[test]
fn blocks_that_cannot_be_judged_say_why() {
    let bootstrap = Bootstrap::new(7);
    let few = bootstrap.ratio(&rounds(5)).unwrap_err();
    assert_eq!(few.to_string(), "5 blocks, at least 6 are needed");
    let zero = bootstrap.ratio(&[Pair { subject: 1.0, baseline: 0.0 }; 6]).unwrap_err();
    assert_eq!(zero.to_string(), "value 0 is not above zero");
    assert!(bootstrap.median(&[f64::INFINITY; 6]).is_err());
    assert!(mann_whitney(Sides { subject: &[], baseline: &[1.0] }).is_err());
}

#[test]
fn the_same_seed_gives_the_same_interval_and_another_one_hardly_another() {
    let [first, again, other] =
        [7, 7, 8].map(|seed| Bootstrap::new(seed).ratio(&rounds(10)).unwrap());
    assert_eq!(first, again);
    assert_ne!(first, other);
    assert!(
        (first.low - other.low).abs() < 0.003 && (first.high - other.high).abs() < 0.003,
        "{first} {other}"
    );
}

#[test]
fn ratios_are_shown_with_their_interval() {
    let show = |value: f64| Ratio { value, low: value * 0.98, high: value * 1.02 }.to_string();
    let table = [
        (1.06, "1.06x [1.04, 1.08]"),
        (0.34, "0.34x [0.33, 0.35]"),
        (12.34, "12.3x [12.1, 12.6]"),
        (362.0, "362x [355, 369]"),
        (0.0123, "0.012x [0.012, 0.013]"),
    ];
    for (value, expected) in table {
        assert_eq!(show(value), expected);
    }
    assert!(Ratio { value: 1.06, low: 1.04, high: 1.08 }.differs());
    assert!(!Ratio { value: 1.06, low: 0.99, high: 1.13 }.differs());
}

fn rounds(count: usize) -> Vec<Pair> {
    SUBJECT
        .into_iter()
        .zip(BASELINE)
        .take(count)
        .map(|(subject, baseline)| Pair { subject, baseline })
        .collect()
}

fn estimate(found: Estimate, expected: [f64; 3]) {
    for (found, expected) in [found.value, found.low, found.high].into_iter().zip(expected) {
        close(found, expected);
    }
}

fn ratio(found: Ratio, expected: [f64; 3]) {
    estimate(Estimate { value: found.value, low: found.low, high: found.high }, expected);
}

/// Equal but for the last digits.
fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-9 * expected.abs(), "{found} is not {expected}");
}
