//! Numbers of all rounds together.

use stats::{Histogram, Part, Pooled};
use units::Nanos;

const SUBJECT: [f64; 10] = [106.1, 104.9, 108.2, 103.7, 105.5, 107.3, 106.8, 104.1, 109.9, 105.0];
const BASELINE: [f64; 10] = [100.3, 99.1, 101.7, 98.4, 100.9, 102.2, 99.8, 97.9, 103.5, 100.0];

#[test]
fn the_interval_of_a_mean_is_that_of_the_t_test() {
    let difference = mean(&SUBJECT).less(&mean(&BASELINE));
    close(difference.value(), 5.769999999999999);
    // scipy.stats.ttest_rel(SUBJECT, BASELINE).confidence_interval()
    let (low, high) = difference.interval().unwrap();
    close(low, 5.223065057624101);
    close(high, 6.316934942375896);
    assert_eq!(difference.rounds(), 10);
}

#[test]
fn a_ratio_is_that_of_the_two_numbers_whose_rounds_go_together() {
    let (subject, baseline) = (mean(&SUBJECT), mean(&BASELINE));
    let ratio = subject.over(&baseline);
    close(ratio.value(), subject.value() / baseline.value());
    let (low, high) = ratio.interval().unwrap();
    assert!(low > 1.05 && high < 1.07 && low < ratio.value() && ratio.value() < high);
    let smallest = ratio.smallest_detectable().unwrap();
    assert!(smallest > high / ratio.value() - 1.0, "it is found in four of five cases, not half");
    // An effect of a round on both sides alike cancels in the ratio.
    let drift = |values: &[f64]| {
        let factor = (1..).map(f64::from);
        mean(&values.iter().zip(factor).map(|(value, by)| value * by).collect::<Vec<f64>>())
    };
    let constant = drift(&[106.0; 10]).over(&drift(&[100.0; 10]));
    let (low, high) = constant.interval().unwrap();
    close(low, 1.06);
    close(high, 1.06);
}

#[test]
fn one_round_that_moves_everything_is_said() {
    let mut values = SUBJECT;
    values[3] = 10_000.0;
    let wild = mean(&values);
    assert!((0.89..0.91).contains(&wild.moved_most()), "{}", wild.moved_most());
    let (low, high) = wild.over(&mean(&BASELINE)).interval().unwrap();
    assert!(low < 1.0 && high > 100.0, "{low} to {high}");
    // All replies are of one round: without it there is no number, and no interval.
    let mut alone = [0.0; 10];
    alone[2] = 100.0;
    assert_eq!(mean(&alone).interval(), None);
    assert_eq!(mean(&alone).value(), 10.0);
}

#[test]
fn few_rounds_give_a_number_and_no_interval() {
    let few = mean(&SUBJECT[..Pooled::ROUNDS_MIN - 1]);
    assert_eq!((few.interval(), few.smallest_detectable()), (None, None));
    assert!(few.value() > 100.0);
    assert!(mean(&SUBJECT[..Pooled::ROUNDS_MIN]).interval().is_some());
    assert_eq!(Pooled::quotient(&[]), None);
    assert_eq!(Pooled::quotient(&[Some(Part { of: 3.0, by: 0.0 })]), None);
}

#[test]
fn percentiles_are_those_of_all_messages_and_never_out_of_order() {
    let rounds: Vec<Histogram> = (1..=8).map(|round| times(round * 100, 1000)).collect();
    let rounds: Vec<Option<&Histogram>> = rounds.iter().map(Some).collect();
    let [p50, p90, p99] = Pooled::quantiles(&rounds, [0.5, 0.9, 0.99]).map(Option::unwrap);
    assert!(p50.value() < p90.value() && p90.value() < p99.value());
    // Half of 8000 messages are in the first four rounds.
    assert!((400_000.0..450_000.0).contains(&p50.value()), "{}", p50.value());
    // The slowest 1 % are in one round of eight, the slower half in four.
    assert!(p99.evenness() < 0.2 && p99.interval().is_none());
    assert!(p50.evenness() > 0.49 && p50.interval().is_some(), "{}", p50.evenness());
    // A round without a block is not a round of zeros.
    let mut missing = rounds.clone();
    missing[7] = None;
    let [p50, p90] = Pooled::quantiles(&missing, [0.5, 0.9]).map(Option::unwrap);
    assert!(p50.value() < 410_000.0 && p90.value() < 790_000.0);
    assert_eq!((p50.rounds(), p50.over(&p50).rounds()), (7, 7));
    // Too few messages for the percentile, whatever the rounds.
    assert_eq!(Pooled::quantiles(&rounds[..1], [0.999]), [None]);
    assert_eq!(Pooled::quantiles(&[None; 8], [0.5]), [None]);
}

#[test]
fn no_difference_is_claimed_that_the_histogram_does_not_resolve() {
    let same: Vec<Histogram> = (0..8).map(|_| times(100, 1000)).collect();
    let same: Vec<Option<&Histogram>> = same.iter().map(Some).collect();
    let [p50] = Pooled::quantiles(&same, [0.5]).map(Option::unwrap);
    let (low, high) = p50.over(&p50).interval().unwrap();
    close(low, (-Histogram::RESOLUTION).exp());
    close(high, Histogram::RESOLUTION.exp());
}

/// The mean over rounds of equal length.
fn mean(values: &[f64]) -> Pooled {
    let rounds: Vec<_> = values.iter().map(|of| Some(Part { of: *of, by: 1.0 })).collect();
    Pooled::quotient(&rounds).expect("it is divided by the number of rounds")
}

/// `count` times that start at `micros` microseconds and grow by 10 ns each.
fn times(micros: u64, count: u64) -> Histogram {
    let mut times = Histogram::new();
    (0..count).for_each(|index| times.record(Nanos(micros * 1000 + 10 * index)));
    times
}

#[track_caller]
fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-9 * expected.abs(), "{found}, expected {expected}");
}
