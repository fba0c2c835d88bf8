//! The search for a knee: the next load to measure, and the answer so far.
//!
//! The search goes up by a factor until the knee is below the largest load, or down while nothing is kept, and then
//! measures where the fit to all measurements is least certain, until the interval is 2 % wide. No measurement is
//! discarded: every step decides from all measurements of all loads, so a single bad one makes no knee, and a load that
//! is kept above one that was not moves the knee up.

use super::fit::{Fit, Trial, float};
use std::collections::BTreeMap;

/// Looks for the largest load that is kept.
#[derive(Clone, Debug)]
pub struct Search {
    range: Range,
    repeats: u32,
    trials: Vec<Trial>,
    /// The load from which on none can be offered, for whatever reason.
    ceiling: Option<u64>,
}

/// The bounds of the search, and its factor upwards.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// The first load; at least 1.
    pub from: u64,
    /// The largest load.
    pub to: u64,
    /// The factor from one load to the next, above 1.
    pub factor: f64,
}

/// The next thing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Measure this load once.
    Measure(u64),
    /// Nothing: the interval is narrow enough, or will not get narrower.
    Done,
}

/// The interval that contains the knee with a probability of 95 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Its lower end; 0 if no load was kept.
    pub low: f64,
    /// The median: the knee is as probably below it as above.
    pub middle: f64,
    /// Its upper end.
    pub high: f64,
    /// True if the ends are at most 5 % apart and both were measured; otherwise the knee is only known to be somewhere
    /// between.
    pub is_confirmed: bool,
}

impl Search {
    /// A search that measures each load at least `repeats` times.
    pub fn new(range: Range, repeats: u32) -> Self {
        let from = range.from.max(1);
        let range = Range { from, to: range.to.max(from), factor: range.factor.max(FACTOR_MIN) };
        Self { range, repeats: repeats.max(1), trials: Vec::new(), ceiling: None }
    }

    /// Takes one measurement.
    pub fn add(&mut self, trial: Trial) {
        self.trials.push(trial);
    }

    /// Notes that nothing can be offered from `load` on: a limit of the machine.
    pub fn limit(&mut self, load: u64) {
        self.ceiling = Some(self.ceiling.map_or(load, |ceiling| ceiling.min(load)));
    }

    /// The next thing to do, from all measurements so far.
    pub fn next(&self) -> Next {
        let counts = self.counts();
        let Some((&largest, _)) = counts.last_key_value() else {
            return Next::Measure(self.range.from.min(self.top()));
        };
        if let Some(load) = counts.iter().find(|(_, count)| **count < self.repeats) {
            return Next::Measure(*load.0);
        }
        if self.trials.len() >= TRIALS_MAX {
            return Next::Done;
        }
        if self.largest_kept().is_none() {
            return self.below(&counts);
        }
        let fit = self.fit();
        if fit.above(float(largest)) > BEYOND_MAX {
            return self.above(largest, &counts);
        }
        let interval = self.of_fit(&fit);
        let Interval { low, high, .. } = interval;
        if high / low > WIDTH_MAX {
            return self.between(interval, &counts);
        }
        let unmeasured = self.unmeasured_end(low, high).map(|end| multiple(end, 1.0));
        unmeasured.map_or(Next::Done, |end| Next::Measure(end.clamp(1, self.top())))
    }

    /// The interval so far; `None` if the knee may just as well be above all measured loads.
    pub fn interval(&self) -> Option<Interval> {
        let largest = self.trials.iter().map(|trial| trial.load).max()?;
        let smallest = self.trials.iter().map(|trial| trial.load).min()?;
        if self.largest_kept().is_none() {
            let (middle, high) = (float(smallest), float(smallest));
            return Some(Interval { low: 0.0, middle, high, is_confirmed: false });
        }
        let fit = self.fit();
        (fit.above(float(largest)) <= BEYOND_MAX).then(|| self.of_fit(&fit))
    }

    /// All loads that were measured, in ascending order.
    pub fn loads(&self) -> impl Iterator<Item = u64> {
        self.counts().into_keys()
    }

    fn counts(&self) -> BTreeMap<u64, u32> {
        let mut counts = BTreeMap::new();
        for trial in &self.trials {
            *counts.entry(trial.load).or_default() += 1;
        }
        counts
    }

    fn largest_kept(&self) -> Option<u64> {
        self.trials.iter().filter(|trial| trial.is_kept).map(|trial| trial.load).max()
    }

    fn fit(&self) -> Fit {
        let largest = self.trials.iter().map(|trial| trial.load).max().unwrap_or(self.range.from);
        let kept = self.largest_kept().map_or(0.0, float);
        let least = float(self.floor()).max(kept / BEYOND);
        Fit::of(&self.trials, [least, float(largest) * BEYOND])
    }

    /// The interval of a fit. A load that was kept is within it or below it; so is everything that was ever carried, if
    /// the interval is too wide to distinguish a knee from what other programs on the machine left of it.
    fn of_fit(&self, fit: &Fit) -> Interval {
        let [low, middle, high] = [TAIL, 0.5, 1.0 - TAIL].map(|below| fit.quantile(below));
        let high = self.largest_kept().map_or(high, |kept| high.max(float(kept)));
        let is_narrow = high / low <= CONFIRMED_WIDTH_MAX;
        let carried = self.trials.iter().filter(|trial| !trial.is_kept).map(|trial| trial.carried);
        let high = if is_narrow { high } else { carried.fold(high, f64::max) };
        let is_confirmed = is_narrow && self.unmeasured_end(low, high).is_none();
        Interval { low, middle, high, is_confirmed }
    }

    /// The end of the interval that no measurement shows: at the lower end a load that was kept, at the upper end one
    /// that was not.
    fn unmeasured_end(&self, low: f64, high: f64) -> Option<f64> {
        let (from, to) = (low / WIDTH_MAX, high * WIDTH_MAX);
        let is_shown = |is_kept, from, to| {
            let mut of_result = self.trials.iter().filter(|trial| trial.is_kept == is_kept);
            of_result.any(|trial| (from..=to).contains(&float(trial.load)))
        };
        match (is_shown(true, from, high), is_shown(false, low, to)) {
            (false, _) => Some(low),
            (true, false) => Some(high),
            (true, true) => None,
        }
    }

    /// The next load above all others, unless none can be offered.
    fn above(&self, largest: u64, counts: &BTreeMap<u64, u32>) -> Next {
        if largest >= self.top() {
            let is_confirmed = counts.get(&largest).is_some_and(|count| *count >= TOP_COUNT);
            return if is_confirmed { Next::Done } else { Next::Measure(largest) };
        }
        // The second load that is not kept need not be far above the first.
        let is_kept = self.trials.iter().any(|trial| trial.load == largest && trial.is_kept);
        let factor = if is_kept { self.range.factor } else { self.range.factor.min(NEAR) };
        Next::Measure(multiple(float(largest), factor).max(largest + 1).min(self.top()))
    }

    /// A load below all others, none of which was kept.
    fn below(&self, counts: &BTreeMap<u64, u32>) -> Next {
        let Some((&smallest, &count)) = counts.first_key_value() else { return Next::Done };
        let next = multiple(float(smallest), 1.0 / self.range.factor).min(smallest - 1);
        match next >= self.floor() {
            true => Next::Measure(next),
            false if count >= TOP_COUNT => Next::Done,
            false => Next::Measure(smallest),
        }
    }

    /// A load in the middle of the lower or the upper half of the interval, alternately, so that a period in which
    /// nothing is kept is not mistaken for a knee.
    fn between(
        &self,
        Interval { low, middle, high, .. }: Interval,
        counts: &BTreeMap<u64, u32>,
    ) -> Next {
        let total: u32 = counts.values().sum();
        let is_lower = (total / self.repeats).is_multiple_of(2);
        let wanted = (middle * if is_lower { low } else { high }).sqrt();
        let width = libm::log(high / low);
        let apart = |load: u64| (float(load) / wanted - 1.0).abs();
        let near =
            counts.keys().copied().filter(|load| apart(*load) < (width * SAME).min(SAME_MAX));
        let nearest = near.min_by(|one, other| apart(*one).total_cmp(&apart(*other)));
        Next::Measure(nearest.unwrap_or_else(|| multiple(wanted, 1.0).clamp(1, self.top())))
    }

    /// The largest load that can be offered.
    fn top(&self) -> u64 {
        let ceiling = self.ceiling.map_or(u64::MAX, |ceiling| ceiling.saturating_sub(1).max(1));
        self.range.to.min(ceiling)
    }

    /// The smallest load that is considered.
    fn floor(&self) -> u64 {
        multiple(float(self.range.from), 1.0 / BELOW_FROM_MAX).max(1)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "loads below 2^53; saturates"
)]
fn multiple(load: f64, factor: f64) -> u64 {
    (load * factor).round() as u64
}

/// The ratio of the interval's ends at which the search ends.
pub const WIDTH_MAX: f64 = 1.02;
/// The ratio of its ends above which an interval only bounds the knee.
const CONFIRMED_WIDTH_MAX: f64 = 1.05;
/// The most measurements, after which a search ends with what it has.
const TRIALS_MAX: usize = 60;
/// The probability on either side of the interval.
const TAIL: f64 = 0.025;
/// The knee counts as below the largest load if it is above with at most this probability.
const BEYOND_MAX: f64 = 0.02;
/// The factor by which the knee may be above the largest load, and below the largest that was kept.
const BEYOND: f64 = 4.0;
/// Loads that are closer to each other than this share of the interval are measured as one.
const SAME: f64 = 0.15;
/// The distance from which on loads are measured separately.
const SAME_MAX: f64 = 0.02;
/// Measurements of the largest load, or the smallest, before the search ends there.
const TOP_COUNT: u32 = 3;
/// The factor from a load that is not kept to the next.
const NEAR: f64 = 1.25;
/// The smallest factor: a smaller one would hardly make progress.
const FACTOR_MIN: f64 = 1.01;
/// The largest divisor of the first load, if it is not kept.
const BELOW_FROM_MAX: f64 = 16.0;

#[cfg(test)]
mod tests {
    use super::*;

    const RANGE: Range = Range { from: 100, to: 5000, factor: 2.0 };

    /// Measures a server with a cap until the search is done, and returns the loads in order.
    fn loads(search: &mut Search, cap: f64) -> Vec<u64> {
        let mut loads = Vec::new();
        while let Next::Measure(load) = search.next() {
            let achieved = cap.min(float(load));
            search.add(Trial {
                load,
                is_kept: achieved >= 0.99 * float(load),
                carried: achieved / 0.99,
            });
            loads.push(load);
        }
        loads
    }

    #[test]
    fn what_keeps_everything_has_no_knee_and_the_largest_load_is_measured_again() {
        let mut knee = Search::new(RANGE, 1);
        assert_eq!(loads(&mut knee, 1e9), [100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000]);
        assert_eq!(knee.interval(), None);
    }

    #[test]
    fn what_keeps_nothing_is_looked_for_down_to_a_sixteenth_and_has_no_lower_end() {
        let mut knee = Search::new(RANGE, 1);
        assert_eq!(loads(&mut knee, 0.0), [100, 50, 25, 13, 7, 7, 7]);
        let interval = knee.interval().unwrap();
        assert!(interval.low == 0.0 && interval.high <= 7.0 && !interval.is_confirmed);
    }

    #[test]
    fn a_limit_ends_the_way_up_and_the_last_load_below_it_is_measured() {
        let mut knee = Search::new(RANGE, 1);
        knee.limit(400);
        knee.limit(201);
        assert_eq!(loads(&mut knee, 1e9), [100, 200, 200, 200]);
    }

    #[test]
    fn both_ends_of_the_interval_are_measured_each_load_as_often_as_asked() {
        let mut knee = Search::new(RANGE, 2);
        let loads = loads(&mut knee, 777.0);
        assert_eq!(loads[..4], [100, 100, 200, 200], "each is repeated on the way up");
        let Interval { low, middle, high, is_confirmed } = knee.interval().unwrap();
        let truth = 777.0 / 0.99;
        assert!(low <= truth && truth <= high && low <= middle && middle <= high && is_confirmed);
        assert!(high / low <= WIDTH_MAX, "{low} {high}");
        let near =
            |from: f64, to: f64| loads.iter().any(|load| (from..=to).contains(&float(*load)));
        assert!(near(low / WIDTH_MAX, truth) && near(truth, high * WIDTH_MAX), "{loads:?}");
    }
}
