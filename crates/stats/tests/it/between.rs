//! Runs at different times, by simulation: blocks vary by 2.66 %, the machine is 5 to 30 % faster or slower from run to
//! run, and rows suffer from that by up to a fifth more or less than the baseline. The seed is fixed.

use stats::{Between, Part, Pooled, between};
use units::Random;

#[test]
fn the_same_program_measured_twice_shows_no_difference() {
    for change in [0.05, 0.1, 0.2, 0.3] {
        let claims = share(1.0, change, |found| found.low > 1.0 || found.high < 1.0);
        assert!(claims <= 0.07, "{claims} of the runs that are {change} apart");
    }
}

#[test]
fn ten_percent_are_found_and_never_with_the_wrong_sign() {
    for (change, least) in [(0.0, 0.95), (0.05, 0.95), (0.1, 0.95), (0.3, 0.75)] {
        let found = share(1.1, change, |found| found.low > 1.0);
        assert!(found >= least, "{found} of the runs that are {change} apart");
        assert!(share(1.1, change, |found| found.high < 1.0) < 0.001, "{change}");
    }
}

#[test]
fn without_the_baseline_every_run_would_differ() {
    let mut random = Random::new(3);
    let claims = (0..TRIALS).filter(|_| {
        let [base, record] = runs(&mut random, 1.0, 0.2);
        // As if the machine had not changed: the numbers alone.
        let found = between(&base.subject(), &record.subject(), 1.0).unwrap();
        found.low > 1.0 || found.high < 1.0
    });
    assert!(claims.count() * 2 > TRIALS, "this is what the baseline is for");
}

#[test]
fn a_ratio_that_drifts_within_a_run_is_known_less_well() {
    let half = |drift: f64| {
        let mut random = Random::new(4);
        let all = (0..100).map(|_| {
            let run = |random: &mut Random| Run::new(random, 1.0, 1.0, drift).ratio();
            let found = between(&run(&mut random), &run(&mut random), 1.0).unwrap();
            (found.high / found.low).ln() / 2.0
        });
        all.sum::<f64>() / 100.0
    };
    assert!(half(0.02) > 1.5 * half(0.0), "{} {}", half(0.02), half(0.0));
}

#[test]
fn too_few_rounds_say_nothing() {
    let rounds: Vec<_> = (0..5).map(|_| Some(Part { of: 1.0, by: 1.0 })).collect();
    let few = Pooled::quotient(&rounds).unwrap();
    assert_eq!(between(&few, &few, 1.0), None);
}

/// One run: the number of each round, of the baseline and of the subject.
struct Run {
    baseline: Vec<f64>,
    subject: Vec<f64>,
}

impl Run {
    /// A run on a machine that makes the baseline `machine` times as large, and the subject, which is `truth` times the
    /// baseline, somewhat more or less than that; their ratio drifts by `drift` from round to round.
    fn new(random: &mut Random, machine: f64, truth: f64, drift: f64) -> Self {
        let suffers = 1.0 + 0.2 * (2.0 * random.unit_f64() - 1.0);
        let mut side = |level: f64, drift: f64| -> Vec<f64> {
            (0..ROUNDS)
                .map(|round| level * (0.0266 * normal(random) + drift * f64::from(round)).exp())
                .collect()
        };
        let baseline = side(machine, 0.0);
        Self { subject: side(truth * machine.powf(suffers), drift), baseline }
    }

    fn ratio(&self) -> Pooled {
        self.subject().over(&pooled(&self.baseline))
    }

    fn subject(&self) -> Pooled {
        pooled(&self.subject)
    }
}

fn pooled(rounds: &[f64]) -> Pooled {
    let parts: Vec<_> = rounds.iter().map(|of| Some(Part { of: *of, by: 1.0 })).collect();
    Pooled::quotient(&parts).expect("there is something")
}

/// A run before and one after, whose subject is `truth` times as large and whose machine is faster or slower by up to
/// `change`.
fn runs(random: &mut Random, truth: f64, change: f64) -> [Run; 2] {
    let sign = if random.unit_f64() < 0.5 { -1.0 } else { 1.0 };
    let machine = f64::exp(sign * change * (0.5 + random.unit_f64() / 2.0));
    [Run::new(random, 1.0, 1.0, 0.0), Run::new(random, machine, truth, 0.0)]
}

/// The share of trials in which `holds` is true of the comparison.
#[expect(clippy::cast_precision_loss, reason = "a thousand trials")]
fn share(truth: f64, change: f64, holds: impl Fn(Between) -> bool) -> f64 {
    let mut random = Random::new(7);
    let held = (0..TRIALS).filter(|_| {
        let [base, record] = runs(&mut random, truth, change);
        let [before, after] = [&base, &record].map(|run| pooled(&run.baseline).value());
        holds(
            between(&base.ratio(), &record.ratio(), after / before).expect("there are ten rounds"),
        )
    });
    held.count() as f64 / TRIALS as f64
}

/// Box and Muller.
fn normal(random: &mut Random) -> f64 {
    let (one, other) = (1.0 - random.unit_f64(), random.unit_f64());
    (-2.0 * one.ln()).sqrt() * (std::f64::consts::TAU * other).cos()
}

const TRIALS: usize = 1000;
const ROUNDS: u32 = 10;
