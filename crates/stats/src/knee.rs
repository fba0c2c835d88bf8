//! The search for the load at which a server bends: the load to measure next, and the interval that is left.
//!
//! A load is a number of units: messages a second, or bots. Each measurement of it says whether the load was kept. What
//! is kept is the caller's rule: for the knee that 99 % of what was offered was achieved, for a capacity that an
//! objective was met besides.
//!
//! The search goes up by a factor until loads are not kept (from the first of these on by a small one, which spares the
//! server), halves the interval in which that begins until its ends
//! are 2 % apart, and measures both ends again. A load is judged by the majority of its measurements; with as many for
//! as against, it is measured once more. Nothing is thrown away: all measurements together decide, at every step anew,
//! so an end that the confirmation overturns moves the interval, and one bad measurement makes no knee.
//!
//! Left out: what a measurement is, and who makes it.
//!
//! Start reading at [`Search::next`].

use std::collections::BTreeMap;

/// Looks for the smallest load that is not kept in two steps running, as the published rule has it: one step that is
/// not kept by itself, and the next above it is, says nothing.
#[derive(Clone, Debug)]
pub struct Search {
    range: Range,
    repeats: u32,
    loads: BTreeMap<u64, Tally>,
    /// From here on nothing can be offered, for whatever reason.
    ceiling: Option<u64>,
}

/// Between which loads to look, and how fast to go up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// The first load; at least 1.
    pub from: u64,
    /// The largest one.
    pub to: u64,
    /// From one load to the next, above 1.
    pub factor: f64,
}

/// The next thing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Measure this load once.
    Measure(u64),
    /// Nothing: the interval is as small as it gets, and confirmed.
    Done,
}

/// Between which loads it lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interval {
    /// The largest load below [`Interval::high`] that was kept; `None` if none was.
    pub low: Option<u64>,
    /// The smallest load that was not kept, nor the next one above it; `None` if there is none.
    pub high: Option<u64>,
}

/// The measurements of a load, by their result: kept, and not.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    kept: u32,
    not_kept: u32,
}

impl Search {
    /// A search in which each load is measured `repeats` times at least.
    pub fn new(range: Range, repeats: u32) -> Self {
        let from = range.from.max(1);
        let range = Range { from, to: range.to.max(from), factor: range.factor.max(FACTOR_MIN) };
        Self { range, repeats: repeats.max(1), loads: BTreeMap::new(), ceiling: None }
    }

    /// Takes one measurement.
    pub fn add(&mut self, load: u64, is_kept: bool) {
        let tally = self.loads.entry(load).or_default();
        if is_kept { tally.kept += 1 } else { tally.not_kept += 1 }
    }

    /// From `load` on nothing can be offered: a limit of the machine.
    pub fn limit(&mut self, load: u64) {
        self.ceiling = Some(self.ceiling.map_or(load, |ceiling| ceiling.min(load)));
    }

    /// The next thing to do, from all measurements so far.
    pub fn next(&self) -> Next {
        if let Some((load, _)) = self.loads.iter().find(|(_, tally)| !self.is_settled(tally)) {
            return Next::Measure(*load);
        }
        let Interval { low, high } = self.interval();
        match (low, high) {
            (low, None) => self.above(low),
            (None, Some(high)) => self.below(high),
            (Some(low), Some(high)) => {
                let middle = middle(low, high);
                if is_wide(low, high) && (low + 1..high).contains(&middle) {
                    return Next::Measure(middle);
                }
                let confirm = [high, low].into_iter().find(|load| !self.is_confirmed(*load));
                confirm.map_or(Next::Done, Next::Measure)
            }
        }
    }

    /// Between which loads it lies, as far as that is known.
    pub fn interval(&self) -> Interval {
        let loads: Vec<(u64, bool)> =
            self.loads.iter().map(|(load, tally)| (*load, tally.is_kept())).collect();
        let top = self.top();
        // Above the largest possible load there is no second one.
        let breaks = |at: usize| match loads.get(at + 1) {
            Some((_, is_next_kept)) => !loads[at].1 && !is_next_kept,
            None => !loads[at].1 && loads[at].0 >= top,
        };
        let high = (0..loads.len()).find(|at| breaks(*at));
        let below = &loads[..high.unwrap_or(loads.len())];
        Interval {
            low: below.iter().rev().find(|(_, is_kept)| *is_kept).map(|(load, _)| *load),
            high: high.map(|at| loads[at].0),
        }
    }

    /// True if the load was measured again after it had become an end of the interval.
    pub fn is_confirmed(&self, load: u64) -> bool {
        self.loads.get(&load).is_some_and(|tally| tally.count() >= self.confirmed_count())
    }

    /// All loads that were measured, in ascending order.
    pub fn loads(&self) -> impl Iterator<Item = u64> {
        self.loads.keys().copied()
    }

    /// The next load above all others, unless there can be none.
    fn above(&self, low: Option<u64>) -> Next {
        let Some(&largest) = self.loads.keys().next_back() else {
            return Next::Measure(self.range.from.min(self.top()));
        };
        if largest >= self.top() {
            let unconfirmed = low.filter(|low| !self.is_confirmed(*low));
            return unconfirmed.map_or(Next::Done, Next::Measure);
        }
        // The second step that is not kept needs not be far above the first.
        let is_kept = self.loads.get(&largest).is_some_and(|tally| tally.is_kept());
        let factor = if is_kept { self.range.factor } else { self.range.factor.min(NEAR) };
        Next::Measure(multiple(largest, factor).max(largest + 1).min(self.top()))
    }

    /// A load below `high`, which is not kept and the smallest that was measured.
    fn below(&self, high: u64) -> Next {
        let next = multiple(high, 1.0 / self.range.factor).min(high.saturating_sub(1));
        let floor = multiple(self.range.from, 1.0 / BELOW_FROM_MAX).max(1);
        if next >= floor {
            Next::Measure(next)
        } else if self.is_confirmed(high) {
            Next::Done
        } else {
            Next::Measure(high)
        }
    }

    /// The largest load that can be offered.
    fn top(&self) -> u64 {
        let ceiling = self.ceiling.map_or(u64::MAX, |ceiling| ceiling.saturating_sub(1).max(1));
        self.range.to.min(ceiling)
    }

    fn is_settled(&self, tally: &Tally) -> bool {
        tally.count() >= self.repeats && tally.kept != tally.not_kept
    }

    /// The next odd number of measurements, three at least.
    fn confirmed_count(&self) -> u32 {
        (self.repeats + 1 + self.repeats % 2).max(3)
    }
}

impl Tally {
    fn count(self) -> u32 {
        self.kept + self.not_kept
    }

    fn is_kept(self) -> bool {
        self.kept > self.not_kept
    }
}

/// True if the interval is wider than [`WIDTH_MAX`].
#[expect(clippy::cast_precision_loss, reason = "loads below 2^53")]
fn is_wide(low: u64, high: u64) -> bool {
    high as f64 / low as f64 > WIDTH_MAX
}

/// The geometric mean.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "loads below 2^53"
)]
fn middle(low: u64, high: u64) -> u64 {
    (low as f64 * high as f64).sqrt().round() as u64
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "loads below 2^53; saturates"
)]
fn multiple(load: u64, factor: f64) -> u64 {
    (load as f64 * factor).round() as u64
}

/// By how much the ends of the interval may be apart.
pub const WIDTH_MAX: f64 = 1.02;
/// From a load that is not kept to the next.
const NEAR: f64 = 1.25;
/// A smaller factor would not arrive.
const FACTOR_MIN: f64 = 1.01;
/// So far below the first load is looked, if that is not kept.
const BELOW_FROM_MAX: f64 = 16.0;

#[cfg(test)]
mod tests {
    use super::*;
    use units::Random;

    const RANGE: Range = Range { from: 100, to: 1_000_000, factor: 2.0 };

    /// Measures until the search is done; how many measurements that took.
    fn search(search: &mut Search, mut is_kept: impl FnMut(u64) -> bool) -> usize {
        for count in 0..1000 {
            match search.next() {
                Next::Done => return count,
                Next::Measure(load) => search.add(load, is_kept(load)),
            }
        }
        panic!("a thousand measurements, and no end: {search:?}");
    }

    /// A server of which so much can be had, measured with an error of `noise` at most.
    fn capped(cap: f64, noise: f64, seed: u64) -> impl FnMut(u64) -> bool {
        let mut random = Random::new(seed);
        move |load| {
            let offered = f64::from(u32::try_from(load).unwrap());
            let error = 1.0 + noise * (2.0 * random.unit_f64() - 1.0);
            (cap / offered).min(1.0) * error >= 0.99
        }
    }

    fn found(search: &Search) -> (u64, u64) {
        let Interval { low, high } = search.interval();
        (low.unwrap(), high.unwrap())
    }

    #[test]
    fn the_knee_of_a_cap_is_where_99_of_100_are_achieved_no_more() {
        for cap in [101.0, 150.0, 777.0, 1500.0, 20_000.0, 123_456.0] {
            let mut knee = Search::new(RANGE, 2);
            search(&mut knee, capped(cap, 0.0, 1));
            let (low, high) = found(&knee);
            let [low, high] = [low, high].map(|load| f64::from(u32::try_from(load).unwrap()));
            assert!(low <= cap / 0.99 && cap / 0.99 < high, "{cap}: {low} .. {high}");
            assert!(high / low <= WIDTH_MAX || high - low <= 1.0, "{cap}: {low} .. {high}");
        }
    }

    #[test]
    fn ten_of_ten_noisy_servers_are_found_within_3_percent() {
        for cap in [1500.0, 4321.0, 60_000.0] {
            for repeats in [1, 2, 3] {
                for seed in 0..10 {
                    let mut knee = Search::new(RANGE, repeats);
                    let count = search(&mut knee, capped(cap, 0.005, seed));
                    let (low, high) = found(&knee);
                    let middle = f64::from(u32::try_from(low + high).unwrap()) / 2.0 / cap;
                    let case = format!("cap {cap}, repeats {repeats}, seed {seed}: {middle}");
                    assert!((0.97..=1.03).contains(&middle), "{case}");
                    assert!(count <= 80, "{case}: {count} measurements");
                }
            }
        }
    }

    #[test]
    fn a_step_that_fails_by_itself_is_no_knee() {
        let mut knee = Search::new(RANGE, 1);
        // 400 fails for good, and the next step is kept again.
        search(&mut knee, |load| load != 400 && load < 5000);
        let (low, high) = found(&knee);
        assert!((4800..5000).contains(&low) && (5000..5150).contains(&high), "{low} .. {high}");
    }

    #[test]
    fn one_bad_measurement_of_the_bisection_is_overturned_by_the_confirmation() {
        let mut knee = Search::new(RANGE, 1);
        let mut is_first = true;
        // 1131 is the first middle between 800 and 1600.
        search(&mut knee, |load| load < 1500 && !(load == 1131 && std::mem::take(&mut is_first)));
        let (low, high) = found(&knee);
        assert!((1470..1500).contains(&low) && (1500..1530).contains(&high), "{low} .. {high}");
    }

    #[test]
    fn as_many_for_as_against_are_decided_by_one_more() {
        let mut knee = Search::new(RANGE, 2);
        assert_eq!(knee.next(), Next::Measure(100));
        knee.add(100, true);
        assert_eq!(knee.next(), Next::Measure(100), "each is repeated");
        knee.add(100, false);
        assert_eq!(knee.next(), Next::Measure(100), "neither");
        knee.add(100, true);
        assert_eq!(knee.next(), Next::Measure(200));
    }

    #[test]
    fn what_keeps_everything_has_no_knee() {
        let mut knee = Search::new(Range { to: 5000, ..RANGE }, 1);
        search(&mut knee, |_| true);
        assert_eq!(knee.interval(), Interval { low: Some(5000), high: None });
        assert_eq!(knee.loads().collect::<Vec<_>>(), [100, 200, 400, 800, 1600, 3200, 5000]);
    }

    #[test]
    fn what_keeps_nothing_is_looked_for_below_the_first_load_and_has_no_lower_end() {
        let mut knee = Search::new(RANGE, 1);
        search(&mut knee, |load| load < 30);
        let (low, high) = found(&knee);
        assert_eq!((low, high), (29, 30));
        let mut knee = Search::new(RANGE, 1);
        search(&mut knee, |_| false);
        assert_eq!(knee.interval(), Interval { low: None, high: Some(7) });
    }

    #[test]
    fn a_limit_ends_the_way_up_and_the_last_load_below_it_is_measured() {
        let mut knee = Search::new(RANGE, 1);
        knee.add(100, true);
        knee.limit(201);
        knee.limit(400);
        assert_eq!(knee.next(), Next::Measure(200));
        for _ in 0..3 {
            assert_eq!(knee.next(), Next::Measure(200), "until it is confirmed");
            knee.add(200, true);
        }
        assert_eq!(knee.next(), Next::Done);
        // What breaks at the very top has nothing above it.
        (0..4).for_each(|_| knee.add(200, false));
        assert_eq!(knee.interval(), Interval { low: Some(100), high: Some(200) });
    }

    #[test]
    fn the_largest_load_is_confirmed_and_what_was_measured_before_is_taken_over() {
        let mut capacity = Search::new(RANGE, 1);
        for load in [100, 200, 400, 800] {
            capacity.add(load, load < 300);
        }
        search(&mut capacity, |load| load < 300);
        let (low, high) = found(&capacity);
        assert!((290..300).contains(&low) && (300..306).contains(&high), "{low} .. {high}");
        assert!(capacity.is_confirmed(low) && capacity.is_confirmed(high));
        assert!(!capacity.is_confirmed(100));

        let mut capacity = Search::new(Range { to: 200, ..RANGE }, 1);
        search(&mut capacity, |_| true);
        assert!(capacity.is_confirmed(200) && capacity.interval().high.is_none());
    }
}
