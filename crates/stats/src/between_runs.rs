//! Comparison of two runs made at different times, by what both measured unchanged.
//!
//! The interval of a run covers what varies between its rounds, but not what varies between two runs: another placement
//! on cores, another clock rate, another neighbour. So the same program differs when it is measured twice. A row that
//! is unchanged in both, the *baseline*, moves with the machine, and everything else is divided by it. The interval
//! also covers the rest: the drift of the ratio within each run, and the fact that a slower machine does not affect all
//! rows equally.
//!
//! Left out: a judgement of runs without a common row. Nothing separates their machine from their change.
//!
//! Start reading at [`changed`].

use crate::pooled::Pooled;
use crate::{normal, student};

/// A number of one run divided by that of another, with the effect of the machine removed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Between {
    /// The ratio of the numbers, each divided by its run's baseline.
    pub value: f64,
    /// The lower end of its 95 % interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The smallest difference from 1 that a ratio this noisy shows four times out of five, as a share.
    pub smallest_detectable: f64,
}

/// Compares a number in `base`, divided by the baseline's in the same rounds, with the same in `record`, which ran at
/// another time; between them the baseline has become `machine` times as large. `None` if one of them has no interval.
///
/// The variance of the logarithm is the sum of those of both runs, of the drift within each, and of the square of a
/// tenth of the machine's own change.
pub fn between(base: &Pooled, record: &Pooled, machine: f64) -> Option<Between> {
    let [one, other] = [base, record].map(Pooled::standard_error);
    let (one, other) = (one?.powi(2), other?.powi(2));
    let unlike = (UNLIKE * machine.ln()).powi(2);
    let error = (one + other + drift(base, one) + drift(record, other) + unlike).sqrt();
    // Welch and Satterthwaite, for both runs together.
    let share = |variance: f64, run: &Pooled| variance.powi(2) / f64::from(run.freedom());
    let freedom = (one + other).powi(2) / (share(one, base) + share(other, record));
    let reach = student::quantile(0.975, at_least_one(freedom));
    let blur = base.blur() + record.blur();
    let half = error * reach + blur;
    let value = record.value() / base.value();
    let is_known = value.is_finite() && half.is_finite();
    is_known.then(|| Between {
        value,
        low: value * (-half).exp(),
        high: value * half.exp(),
        smallest_detectable: (error * (reach + normal::quantile(0.8)) + blur).exp_m1(),
    })
}

/// Compares a number of `base` with the same of `record`, each divided by the number of a row that is unchanged in both
/// runs; without such a row (`unchanged` is `None`) the ratio includes what the machine did between the runs. `None` if
/// one of them has no interval.
pub fn changed(base: &Pooled, record: &Pooled, unchanged: Option<[&Pooled; 2]>) -> Option<Between> {
    match unchanged {
        None => between(base, record, 1.0),
        Some([before, after]) => {
            between(&base.over(before), &record.over(after), after.value() / before.value())
        }
    }
}

/// The variance of a drift within the run: each half is off by half of their difference, less what rounds of this
/// variance explain.
fn drift(run: &Pooled, variance: f64) -> f64 {
    ((run.halves() / 2.0).powi(2) - variance).max(0.0)
}

/// The part of the machine's change by which a row may move more or less than the baseline (one standard deviation).
const UNLIKE: f64 = 0.1;

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of rounds")]
fn at_least_one(freedom: f64) -> u32 {
    freedom.max(1.0) as u32
}
