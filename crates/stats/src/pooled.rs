//! Numbers of all rounds together, with the 95 % interval that follows from the differences between rounds.
//!
//! A percentile is that of the messages of all blocks as one distribution; a rate or a cost is one sum divided by
//! another. So percentiles are never averaged, a block counts by what happened in it, and a failed one counts too. The
//! interval leaves out one *round* at a time (Tukey's jackknife, with Student's t), because messages of one block are
//! not independent, and because blocks of one round share what the machine did meanwhile. The interval of a percentile
//! reaches at least as far as the share of the times within it may shift (Woodruff, Confidence intervals for medians
//! and other position measures, 1952), which accounts for gaps between times. [`crate::noise`] tests it on disturbed
//! machines.
//!
//! Left out: intervals of fewer than [`Pooled::ROUNDS_MIN`] rounds, and of percentiles that depend on few of them
//! ([`Pooled::EVENNESS_MIN`]).
//!
//! Start reading at [`Pooled::interval`].

use crate::Histogram;
use crate::normal;
use crate::sample::float;
use crate::student;
use std::rc::Rc;

/// A number of all rounds together, and the same number without each one of them.
///
/// Ratios and sums of two such numbers ([`Pooled::over`], [`Pooled::plus`]) are again such a number, which leaves out a
/// round of both together.
#[derive(Clone, Debug, PartialEq)]
pub struct Pooled {
    value: f64,
    /// The number without each round; `None` for a round without a block, which does not count as a round of this
    /// number.
    without: Vec<Option<f64>>,
    /// For percentiles, the share of the times within them without each round, less the share for all rounds.
    shares: Vec<f64>,
    /// The distributions whose percentiles are part of the number.
    curves: Vec<Curve>,
    /// The effective number of blocks, as a share of all: 1 if all contribute equally.
    evenness: f64,
    /// The half of an interval that is due only to the digits of histograms, as a share of the number.
    resolution: f64,
    scale: Scale,
}

/// The scale on which a number is about as far above the truth as below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scale {
    /// Differences.
    Linear,
    /// Times, rates, costs and ratios: everything above zero.
    Logarithmic,
}

/// A distribution of times, one of whose percentiles is part of a number.
#[derive(Clone, Debug, PartialEq)]
struct Curve {
    q: f64,
    steps: Rc<Steps>,
    /// The variance of the share of the times within the percentile.
    variance: f64,
    /// The change of the number, on its own scale, per change of the percentile's logarithm.
    weight: f64,
}

impl Curve {
    /// The change of the number, on its own scale, if a share `shift` more of the times is within the percentile, up to
    /// all of them.
    fn moved_by(&self, shift: f64) -> f64 {
        let none = vec![0.0; self.steps.all.len()];
        let at = |q: f64| self.steps.quantile(q, &none).ln();
        self.weight * (at((self.q + shift).clamp(0.0, 1.0)) - at(self.q))
    }
}

/// A round's part of a quotient of two sums.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Part {
    /// The dividend, e.g. replies.
    pub of: f64,
    /// The divisor, e.g. seconds.
    pub by: f64,
}

impl Pooled {
    /// The least number of rounds for an interval: with fewer, Student's t exceeds 2.6, and a single round decides.
    pub const ROUNDS_MIN: usize = 6;
    /// The confidence of intervals, unless another is given.
    pub const CONFIDENCE: f64 = 0.95;
    /// The least effective share of blocks for which a percentile has an interval: a fifth. If the slowest 1 % of the
    /// messages came from fewer, the next run may just as well have none of these blocks, or twice as many.
    pub const EVENNESS_MIN: f64 = 0.2;

    /// The sum of all dividends divided by the sum of all divisors; `None` if the latter is zero. A round without a
    /// block is `None`.
    pub fn quotient(rounds: &[Option<Part>]) -> Option<Self> {
        let [of, by] = [|part: Part| part.of, |part: Part| part.by]
            .map(|side| rounds.iter().flatten().map(|part| side(*part)).sum::<f64>());
        let without = rounds.iter().map(|round| round.map(|part| (of - part.of) / (by - part.by)));
        let pooled = Self {
            value: of / by,
            without: without.collect(),
            shares: vec![0.0; rounds.len()],
            curves: Vec::new(),
            evenness: 1.0,
            resolution: 0.0,
            scale: Scale::Logarithmic,
        };
        (by > 0.0).then_some(pooled)
    }

    /// The quantiles `qs` of the times of all rounds together, each `None` if there are too few times for it
    /// ([`Histogram::quantile`]). A round without a block is `None`.
    pub fn quantiles<const N: usize>(
        rounds: &[Option<&Histogram>],
        qs: [f64; N],
    ) -> [Option<Self>; N] {
        let mut all = Histogram::new();
        rounds.iter().flatten().for_each(|times| all.add(times));
        let steps = Rc::new(Steps::of(&all, rounds));
        qs.map(|q| {
            let value = all.quantile(q).ok()?;
            let beyond = steps.beyond(q);
            let shares = steps.shares_without(&beyond);
            let variance = jackknife(&shares).powi(2);
            Some(Self {
                value: whole(value.0),
                without: steps
                    .rounds
                    .iter()
                    .map(|round| Some(steps.quantile(q, round.as_ref()?)))
                    .collect(),
                curves: vec![Curve { q, steps: Rc::clone(&steps), variance, weight: 1.0 }],
                shares,
                evenness: evenness(&beyond),
                resolution: Histogram::RESOLUTION,
                scale: Scale::Logarithmic,
            })
        })
    }

    /// The number of all rounds together.
    pub fn value(&self) -> f64 {
        self.value
    }

    /// This number divided by `base`, which has the same rounds.
    #[must_use]
    pub fn over(&self, base: &Self) -> Self {
        let ratio = self.with(base, |one, other| one / other, [1.0, -1.0]);
        Self { scale: Scale::Logarithmic, ..ratio }
    }

    /// This number minus `base`, which has the same rounds.
    #[must_use]
    pub fn less(&self, base: &Self) -> Self {
        let difference = self.with(base, |one, other| one - other, [self.value, -base.value]);
        Self { scale: Scale::Linear, ..difference }
    }

    /// The sum of both numbers; `other` has the same rounds.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        let share = self.value / (self.value + other.value);
        self.with(other, |one, other| one + other, [share, 1.0 - share])
    }

    /// The ends of the 95 % interval; `None` if there are too few rounds, if the number depends on too few of them, or
    /// if leaving out one of them leaves nothing.
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.interval_of(Self::CONFIDENCE)
    }

    /// The same for another confidence: 0.99 for an interval of 99 %.
    pub fn interval_of(&self, confidence: f64) -> Option<(f64, f64)> {
        let reach = self.reach(confidence);
        let half = self.error(reach)? * reach + self.blur();
        Some(match self.scale {
            Scale::Linear => (self.value - half, self.value + half),
            Scale::Logarithmic => (self.value * (-half).exp(), self.value * half.exp()),
        })
    }

    /// The smallest difference from 1 that a ratio this noisy shows four times out of five, as a share.
    pub fn smallest_detectable(&self) -> Option<f64> {
        self.smallest_detectable_of(Self::CONFIDENCE)
    }

    /// The same, for intervals of another confidence.
    pub fn smallest_detectable_of(&self, confidence: f64) -> Option<f64> {
        let reach = self.reach(confidence);
        let power = reach + normal::quantile(0.8);
        Some((power * self.error(reach)? + self.blur()).exp_m1())
    }

    /// Half of an interval of `confidence`, in standard errors.
    fn reach(&self, confidence: f64) -> f64 {
        student::quantile(f64::midpoint(confidence, 1.0), self.freedom())
    }

    /// The most by which one round moves the number, as a share of it; infinite if there is no number without that
    /// round.
    pub fn moved_most(&self) -> f64 {
        let moved = self.without.iter().flatten().map(|without| (without / self.value - 1.0).abs());
        moved.fold(0.0, |most, moved| if moved > most || moved.is_nan() { moved } else { most })
    }

    /// The number of rounds that have a block.
    pub fn rounds(&self) -> usize {
        self.without.iter().flatten().count()
    }

    /// The effective share of blocks; below [`Pooled::EVENNESS_MIN`] the number has no interval.
    pub fn evenness(&self) -> f64 {
        self.evenness
    }

    /// The standard error on the number's own scale, for intervals of [`Pooled::CONFIDENCE`].
    pub(crate) fn standard_error(&self) -> Option<f64> {
        self.error(self.reach(Self::CONFIDENCE))
    }

    /// The standard error on the number's own scale, for an interval that extends `reach` of them to each side: the one
    /// that results from leaving out one round at a time. For percentiles it is at least the one that results from the
    /// share of the times within them (Woodruff, 1952): across a gap without times, that share changes and the
    /// percentile does not.
    fn error(&self, reach: f64) -> Option<f64> {
        if self.rounds() < Self::ROUNDS_MIN || self.evenness < Self::EVENNESS_MIN {
            return None;
        }
        let rounds = self.without.iter().zip(&self.shares);
        let known = rounds.filter_map(|(without, share)| Some((self.scaled((*without)?), *share)));
        let (without, shares): (Vec<f64>, Vec<f64>) = known.unzip();
        // The distributions divide the shift in proportion to their variances; if none varies, nothing is moved.
        let variance: f64 = self.curves.iter().map(|curve| curve.variance).sum();
        let shift = jackknife(&shares) * reach / variance;
        // Upwards or downwards.
        let moved = |side: f64| -> f64 {
            let by = |curve: &Curve| side * curve.weight.signum() * curve.variance * shift;
            self.curves.iter().map(|curve| curve.moved_by(by(curve)).abs() / reach).sum()
        };
        let larger = |error: f64, moved: f64| if moved > error { moved } else { error };
        let error = [moved(1.0), moved(-1.0)].into_iter().fold(jackknife(&without), larger);
        (error.is_finite() && self.scaled(self.value).is_finite()).then_some(error)
    }

    /// The number for the second half of the rounds minus that for the first, on the number's own scale, from
    /// pseudo-values: the contribution of each round, found by leaving it out.
    pub(crate) fn halves(&self) -> f64 {
        let without: Vec<f64> = self.without.iter().flatten().copied().collect();
        let rounds = float(without.len());
        let part = |without: &f64| {
            rounds * self.scaled(self.value) - (rounds - 1.0) * self.scaled(*without)
        };
        let mean = |half: &[f64]| half.iter().map(part).sum::<f64>() / float(half.len());
        let half = without.len() / 2;
        mean(&without[without.len() - half..]) - mean(&without[..half])
    }

    fn scaled(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => value,
            Scale::Logarithmic => value.ln(),
        }
    }

    pub(crate) fn blur(&self) -> f64 {
        match self.scale {
            Scale::Linear => self.resolution * self.value.abs(),
            Scale::Logarithmic => self.resolution,
        }
    }

    /// The degrees of freedom: those of the effective number of blocks, so there are fewer if the slowest messages came
    /// from few blocks.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at most the number of rounds"
    )]
    pub(crate) fn freedom(&self) -> u32 {
        (self.evenness * float(self.rounds())).round().max(2.0) as u32 - 1
    }

    /// Combines both numbers. `weights` are the changes of the result per change of the logarithms of the two.
    fn with(&self, other: &Self, combine: impl Fn(f64, f64) -> f64, weights: [f64; 2]) -> Self {
        let both = self.without.iter().zip(&other.without).map(|sides| match sides {
            (None, None) => None,
            (one, base) => Some(combine(one.unwrap_or(self.value), base.unwrap_or(other.value))),
        });
        let shares = self.shares.iter().zip(&other.shares);
        let shares =
            shares.map(|(one, base)| one * weights[0].signum() + base * weights[1].signum());
        let sides = [self, other].into_iter().zip(weights);
        let curves = sides.flat_map(|(side, weight)| {
            let weighed =
                move |curve: &Curve| Curve { weight: curve.weight * weight, ..curve.clone() };
            side.curves.iter().map(weighed)
        });
        Self {
            value: combine(self.value, other.value),
            without: both.collect(),
            shares: shares.collect(),
            curves: curves.collect(),
            evenness: self.evenness.min(other.evenness),
            resolution: self.resolution.max(other.resolution),
            scale: self.scale,
        }
    }
}

/// Distributions of several rounds, as counts up to every time that occurs in any of them.
#[derive(Debug, PartialEq)]
struct Steps {
    /// The shortest and the longest time of each step, in nanoseconds.
    bounds: Vec<(f64, f64)>,
    /// The number of times up to the end of each step, for all rounds together.
    all: Vec<f64>,
    /// The same for each round; `None` for one without a block.
    rounds: Vec<Option<Vec<f64>>>,
}

impl Steps {
    fn of(all: &Histogram, rounds: &[Option<&Histogram>]) -> Self {
        let recorded: Vec<u64> =
            all.counts.iter_recorded().map(|step| step.value_iterated_to()).collect();
        let up_to = |times: &Histogram| -> Vec<f64> {
            let mut sum = 0;
            recorded.iter().map(|time| add(&mut sum, times.counts.count_at(*time))).collect()
        };
        let bounds = recorded.iter().map(|time| {
            let (low, high) =
                (all.counts.lowest_equivalent(*time), all.counts.highest_equivalent(*time));
            (whole(low), whole(high))
        });
        Self {
            bounds: bounds.collect(),
            all: up_to(all),
            rounds: rounds.iter().map(|times| times.map(up_to)).collect(),
        }
    }

    /// The time within which the share `q` stayed, without one of the rounds: interpolated within its step, so that a
    /// round that moves it by less than a step is noticed. NaN if nothing is left.
    fn quantile(&self, q: f64, left_out: &[f64]) -> f64 {
        let count = |step: usize| self.all[step] - left_out[step];
        let Some(last) = self.all.len().checked_sub(1) else { return f64::NAN };
        let needed = q * count(last);
        let step = (0..last).find(|step| count(*step) >= needed).unwrap_or(last);
        let before = if step == 0 { 0.0 } else { count(step - 1) };
        let (low, high) = self.bounds[step];
        low + (high - low) * (needed - before) / (count(step) - before)
    }

    /// The number of times in each round beyond the quantile `q` of all.
    fn beyond(&self, q: f64) -> Vec<Option<f64>> {
        let Some(last) = self.all.len().checked_sub(1) else { return Vec::new() };
        let step = self.all.partition_point(|count| *count < q * self.all[last]).min(last);
        let before = |counts: &[f64]| if step == 0 { 0.0 } else { counts[step - 1] };
        let inside = self.all[step] - before(&self.all);
        let share = (q * self.all[last] - before(&self.all)) / inside;
        let beyond = |counts: &Vec<f64>| {
            counts[last] - before(counts) - share * (counts[step] - before(counts))
        };
        self.rounds.iter().map(|counts| counts.as_ref().map(beyond)).collect()
    }

    /// The share of the times beyond, less that share without each round, which has `beyond` of them.
    fn shares_without(&self, beyond: &[Option<f64>]) -> Vec<f64> {
        let count = |counts: &[f64]| counts.last().copied().unwrap_or(0.0);
        let (all, sum) = (count(&self.all), beyond.iter().flatten().sum::<f64>());
        let without = |(counts, beyond): (&Option<Vec<f64>>, &Option<f64>)| {
            let of_round = count(counts.as_deref().unwrap_or_default());
            sum / all - (sum - beyond.unwrap_or(0.0)) / (all - of_round)
        };
        self.rounds.iter().zip(beyond).map(without).collect()
    }
}

/// The effective number of rounds with the times `beyond` a percentile, as a share of all that have a block: one
/// divided by the sum of the squares of their parts, so that equal parts give 1.
fn evenness(beyond: &[Option<f64>]) -> f64 {
    let beyond: Vec<f64> = beyond.iter().flatten().copied().collect();
    let squares: f64 = beyond.iter().map(|part| part.powi(2)).sum();
    beyond.iter().sum::<f64>().powi(2) / squares / float(beyond.len())
}

/// The standard error of a number, from the numbers without each of the rounds (Tukey's jackknife).
fn jackknife(without: &[f64]) -> f64 {
    let count = float(without.len());
    let mean = without.iter().sum::<f64>() / count;
    let squares: f64 = without.iter().map(|value| (value - mean).powi(2)).sum();
    (squares * (count - 1.0) / count).sqrt()
}

/// Adds `count` to the sum so far, and returns it.
fn add(sum: &mut u64, count: u64) -> f64 {
    *sum = sum.saturating_add(count);
    whole(*sum)
}

#[expect(clippy::cast_precision_loss, reason = "counts, and times of up to an hour: below 2^53")]
fn whole(count: u64) -> f64 {
    count as f64
}
