//! Numbers of all rounds together, with the 95 % interval that the differences between rounds leave.
//!
//! A percentile is that of the messages of all blocks as one distribution, a rate or a cost is one sum by another: so
//! percentiles are never averaged, a block counts by what happened in it, and one that failed counts too. The interval
//! leaves out one *round* at a time (the jackknife of Tukey, with Student's t), because messages of one block are not
//! independent, and because blocks of one round share what the machine did meanwhile. [`crate::noise`] tries it out on
//! machines that are disturbed.
//!
//! Left out: intervals of fewer than [`Pooled::ROUNDS_MIN`] rounds, and of percentiles that hang on few of them
//! ([`Pooled::EVENNESS_MIN`]).
//!
//! Start reading at [`Pooled::interval`].

use crate::Histogram;
use crate::normal;
use crate::sample::float;
use crate::student;

/// A number of all rounds together, and the same number without each one of them.
///
/// Ratios and sums of two such numbers ([`Pooled::over`], [`Pooled::plus`]) are again one, in which what both have of
/// a round is left out together.
#[derive(Clone, Debug, PartialEq)]
pub struct Pooled {
    value: f64,
    /// One for each round; `None` for a round without a block, which is no round of this number.
    without: Vec<Option<f64>>,
    /// The number of blocks that it hangs on, as a share of all: 1 if all have the same part in it.
    evenness: f64,
    /// The half of an interval that is due to the digits of histograms alone, as a share of the number.
    resolution: f64,
    scale: Scale,
}

/// The scale on which a number is about as far above the truth as below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scale {
    /// Differences.
    Linear,
    /// Times, rates, costs and ratios: all that is above zero.
    Logarithmic,
}

/// The part that a round has in a quotient of two sums.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Part {
    /// The dividend, e.g. replies.
    pub of: f64,
    /// The divisor, e.g. seconds.
    pub by: f64,
}

impl Pooled {
    /// Fewer rounds give no interval: Student's t is over 2.6 then, and what one round does is all that is known.
    pub const ROUNDS_MIN: usize = 6;
    /// The confidence of intervals, where no other is named.
    pub const CONFIDENCE: f64 = 0.95;
    /// The least share of blocks that a percentile must hang on to have an interval: a fifth. If the slowest 1 % of the
    /// messages came from fewer, the next run may as well have none of these blocks, or twice as many.
    pub const EVENNESS_MIN: f64 = 0.2;

    /// The sum of all that is divided by the sum of all that it is divided by; `None` if that is nothing. A round
    /// without a block is `None`.
    pub fn quotient(rounds: &[Option<Part>]) -> Option<Self> {
        let [of, by] = [|part: Part| part.of, |part: Part| part.by]
            .map(|side| rounds.iter().flatten().map(|part| side(*part)).sum::<f64>());
        let without = rounds.iter().map(|round| round.map(|part| (of - part.of) / (by - part.by)));
        let pooled = Self {
            value: of / by,
            without: without.collect(),
            evenness: 1.0,
            resolution: 0.0,
            scale: Scale::Logarithmic,
        };
        (by > 0.0).then_some(pooled)
    }

    /// The quantiles `qs` of the times of all rounds together, each `None` if these are too few for it
    /// ([`Histogram::quantile`]). A round without a block is `None`.
    pub fn quantiles<const N: usize>(
        rounds: &[Option<&Histogram>],
        qs: [f64; N],
    ) -> [Option<Self>; N] {
        let mut all = Histogram::new();
        rounds.iter().flatten().for_each(|times| all.add(times));
        let steps = Steps::of(&all, rounds);
        qs.map(|q| {
            let value = all.quantile(q).ok()?;
            Some(Self {
                value: whole(value.0),
                without: steps
                    .rounds
                    .iter()
                    .map(|round| Some(steps.quantile(q, round.as_ref()?)))
                    .collect(),
                evenness: steps.evenness(q),
                resolution: Histogram::RESOLUTION,
                scale: Scale::Logarithmic,
            })
        })
    }

    /// The number of all rounds together.
    pub fn value(&self) -> f64 {
        self.value
    }

    /// This number by that of `base`, which has the same rounds.
    #[must_use]
    pub fn over(&self, base: &Self) -> Self {
        Self { scale: Scale::Logarithmic, ..self.with(base, |one, other| one / other) }
    }

    /// This number less that of `base`, which has the same rounds.
    #[must_use]
    pub fn less(&self, base: &Self) -> Self {
        Self { scale: Scale::Linear, ..self.with(base, |one, other| one - other) }
    }

    /// Both numbers together; `other` has the same rounds.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        self.with(other, |one, other| one + other)
    }

    /// The ends of the 95 % interval; `None` if there are too few rounds, if the number hangs on too few of them, or if
    /// leaving out one of them leaves nothing.
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.interval_of(Self::CONFIDENCE)
    }

    /// The same of another confidence: 0.99 for an interval of 99 %.
    pub fn interval_of(&self, confidence: f64) -> Option<(f64, f64)> {
        let half = self.standard_error()? * self.reach(confidence) + self.blur();
        Some(match self.scale {
            Scale::Linear => (self.value - half, self.value + half),
            Scale::Logarithmic => (self.value * (-half).exp(), self.value * half.exp()),
        })
    }

    /// The smallest difference from 1 that a ratio this noisy shows four times of five, as a share.
    pub fn smallest_detectable(&self) -> Option<f64> {
        self.smallest_detectable_of(Self::CONFIDENCE)
    }

    /// The same where what shows a difference is an interval of another confidence.
    pub fn smallest_detectable_of(&self, confidence: f64) -> Option<f64> {
        let power = self.reach(confidence) + normal::quantile(0.8);
        Some((power * self.standard_error()? + self.blur()).exp_m1())
    }

    /// The half of an interval of `confidence`, in standard errors.
    fn reach(&self, confidence: f64) -> f64 {
        student::quantile(f64::midpoint(confidence, 1.0), self.freedom())
    }

    /// The most by which one round moves the number, as a share of it; infinite if without that round there is none.
    pub fn moved_most(&self) -> f64 {
        let moved = self.without.iter().flatten().map(|without| (without / self.value - 1.0).abs());
        moved.fold(0.0, |most, moved| if moved > most || moved.is_nan() { moved } else { most })
    }

    /// The number of rounds that have a block.
    pub fn rounds(&self) -> usize {
        self.without.iter().flatten().count()
    }

    /// The share of blocks that the number hangs on; below [`Pooled::EVENNESS_MIN`] it has no interval.
    pub fn evenness(&self) -> f64 {
        self.evenness
    }

    /// The standard error that leaving out one round at a time shows, on the number's own scale.
    pub(crate) fn standard_error(&self) -> Option<f64> {
        let count = self.rounds();
        if count < Self::ROUNDS_MIN || self.evenness < Self::EVENNESS_MIN {
            return None;
        }
        let scaled: Vec<f64> =
            self.without.iter().flatten().map(|value| self.scaled(*value)).collect();
        let mean = scaled.iter().sum::<f64>() / float(count);
        let squares: f64 = scaled.iter().map(|value| (value - mean).powi(2)).sum();
        let error = (squares * (float(count) - 1.0) / float(count)).sqrt();
        (error.is_finite() && self.scaled(self.value).is_finite()).then_some(error)
    }

    /// The number of the second half of the rounds less that of the first, on the number's own scale: by the parts that
    /// leaving out each round shows (pseudo-values).
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

    /// The degrees of freedom: those of the blocks that the number hangs on, and so fewer where the slowest messages
    /// came from few of them.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at most the number of rounds"
    )]
    pub(crate) fn freedom(&self) -> u32 {
        (self.evenness * float(self.rounds())).round().max(2.0) as u32 - 1
    }

    fn with(&self, other: &Self, combine: impl Fn(f64, f64) -> f64) -> Self {
        let both = self.without.iter().zip(&other.without).map(|sides| match sides {
            (None, None) => None,
            (one, base) => Some(combine(one.unwrap_or(self.value), base.unwrap_or(other.value))),
        });
        Self {
            value: combine(self.value, other.value),
            without: both.collect(),
            evenness: self.evenness.min(other.evenness),
            resolution: self.resolution.max(other.resolution),
            scale: self.scale,
        }
    }
}

/// Distributions of several rounds as counts up to every time that any of them has.
struct Steps {
    /// The shortest and the longest time of each step, in nanoseconds.
    bounds: Vec<(f64, f64)>,
    /// For all rounds together: the number of times up to the end of each step.
    all: Vec<f64>,
    /// For each round the same; `None` for one without a block.
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

    /// The time that the share `q` stayed within, without one of the rounds: in its step in proportion, so that a
    /// round that moves it by less than a step is seen to. Not a number if nothing is left.
    fn quantile(&self, q: f64, left_out: &[f64]) -> f64 {
        let count = |step: usize| self.all[step] - left_out[step];
        let Some(last) = self.all.len().checked_sub(1) else { return f64::NAN };
        let needed = q * count(last);
        let step = (0..last).find(|step| count(*step) >= needed).unwrap_or(last);
        let before = if step == 0 { 0.0 } else { count(step - 1) };
        let (low, high) = self.bounds[step];
        low + (high - low) * (needed - before) / (count(step) - before)
    }

    /// The number of rounds that the times beyond the share `q` come from, as a share of all that have a block: one by
    /// the sum of the squares of their parts in it, so that equal parts give 1.
    fn evenness(&self, q: f64) -> f64 {
        let Some(last) = self.all.len().checked_sub(1) else { return 0.0 };
        let step = self.all.partition_point(|count| *count < q * self.all[last]).min(last);
        let before = |counts: &[f64]| if step == 0 { 0.0 } else { counts[step - 1] };
        let inside = self.all[step] - before(&self.all);
        let share = (q * self.all[last] - before(&self.all)) / inside;
        let beyond =
            self.rounds.iter().flatten().map(|counts| {
                counts[last] - before(counts) - share * (counts[step] - before(counts))
            });
        let beyond: Vec<f64> = beyond.collect();
        let squares: f64 = beyond.iter().map(|part| part.powi(2)).sum();
        beyond.iter().sum::<f64>().powi(2) / squares / float(beyond.len())
    }
}

/// The sum so far, `count` included.
fn add(sum: &mut u64, count: u64) -> f64 {
    *sum = sum.saturating_add(count);
    whole(*sum)
}

#[expect(clippy::cast_precision_loss, reason = "counts, and times of up to an hour: below 2^53")]
fn whole(count: u64) -> f64 {
    count as f64
}
