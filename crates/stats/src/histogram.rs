//! The distribution of times of one kind.

use units::Nanos;

/// A distribution of times: an HdrHistogram of nanoseconds with three significant digits.
///
/// From 1 ns to [`Histogram::MAX`], in 264 KiB that never grow; a value is at most 0.1 % off. Longer times count as
/// that bound ([`Histogram::saturated`]).
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    pub(crate) counts: hdrhistogram::Histogram<u64>,
}

impl Histogram {
    /// The longest time that is distinguished from longer ones: an hour.
    pub const MAX: Nanos = Nanos::from_secs(3600);
    /// The share of a time by which its value may be off.
    pub const RESOLUTION: f64 = 1e-3;

    /// An empty histogram.
    pub fn new() -> Self {
        let counts = hdrhistogram::Histogram::new_with_bounds(1, Self::MAX.0, DIGITS);
        Self { counts: counts.expect("these bounds and digits are allowed") }
    }

    /// Counts `time`. Neither allocates nor fails, and takes a few nanoseconds.
    #[inline]
    pub fn record(&mut self, time: Nanos) {
        self.counts.saturating_record(time.0.min(Self::MAX.0));
    }

    /// Counts `time` `count` times.
    pub fn record_all(&mut self, time: Nanos, count: u64) {
        self.counts.saturating_record_n(time.0.min(Self::MAX.0), count);
    }

    /// Counts everything that `other` has counted.
    pub fn add(&mut self, other: &Self) {
        if !other.is_empty() {
            self.counts.add(&other.counts).expect("all histograms have the same bounds");
        }
    }

    /// Forgets everything; keeps the memory.
    pub fn reset(&mut self) {
        if !self.is_empty() {
            self.counts.reset();
        }
    }

    /// The number of counted times.
    pub fn count(&self) -> u64 {
        self.counts.len()
    }

    /// True if no time was counted.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// The number of times of [`Histogram::MAX`] or longer, to the 0.1 % that the histogram resolves.
    pub fn saturated(&self) -> u64 {
        self.counts.count_at(Self::MAX.0)
    }

    /// The number of times between `first` and `last`, both included, to the 0.1 % that the histogram resolves.
    pub fn count_between(&self, first: Nanos, last: Nanos) -> u64 {
        self.counts.count_between(first.0.min(Self::MAX.0), last.0.min(Self::MAX.0))
    }

    /// The number of times from each of `edges`, in ascending order, up to the next; for the last, of all from there
    /// on. Times below the first are left out. A time is at most 0.1 % on the wrong side of an edge, and counts once.
    pub fn counts_from<const N: usize>(&self, edges: [Nanos; N]) -> [u64; N] {
        let mut counts = [0; N];
        for step in self.counts.iter_recorded() {
            let below = edges.partition_point(|edge| edge.0 <= step.value_iterated_to());
            if let Some(count) = below.checked_sub(1).and_then(|index| counts.get_mut(index)) {
                *count += step.count_since_last_iteration();
            }
        }
        counts
    }

    /// The shortest time; `None` if there is none.
    pub fn min(&self) -> Option<Nanos> {
        (!self.is_empty()).then(|| Nanos(self.counts.min()))
    }

    /// The longest time; `None` if there is none.
    pub fn max(&self) -> Option<Nanos> {
        (!self.is_empty()).then(|| Nanos(self.counts.max()))
    }

    /// The mean in nanoseconds; `None` if the histogram is empty.
    pub fn mean_ns(&self) -> Option<f64> {
        (!self.is_empty()).then(|| self.counts.mean())
    }

    /// The standard deviation (of these times as the population, not a sample) in nanoseconds; `None` like the mean.
    pub fn stddev_ns(&self) -> Option<f64> {
        (!self.is_empty()).then(|| self.counts.stdev())
    }

    /// The time within which the share `q` of all times stayed; `q` from 0 to 1.
    ///
    /// # Errors
    ///
    /// [`TooFewSamples`] below `10 / (1 - q)` times, where the answer would depend on a handful of them.
    pub fn quantile(&self, q: f64) -> Result<Nanos, TooFewSamples> {
        let needed = samples_min(q);
        if self.count() < needed {
            return Err(TooFewSamples { count: self.count(), needed });
        }
        Ok(Nanos(self.counts.value_at_quantile(q)))
    }

    /// The time at this place in ascending order, counted from 1; `None` if there are fewer times.
    pub fn at_place(&self, place: u64) -> Option<Nanos> {
        let mut below = 0;
        let mut steps = self.counts.iter_recorded();
        let step = steps.find(|step| {
            below += step.count_since_last_iteration();
            place > 0 && below >= place
        })?;
        Some(Nanos(step.value_iterated_to().min(self.counts.max())))
    }

    /// The quantiles of [`PERCENTILES`], in that order.
    pub fn percentiles(&self) -> [Result<Nanos, TooFewSamples>; PERCENTILES.len()] {
        PERCENTILES.map(|(_, q)| self.quantile(q))
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

/// The reason why a quantile is not shown: too few samples are beyond it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{count} samples, at least {needed} are needed")]
pub struct TooFewSamples {
    /// The number of samples.
    pub count: u64,
    /// The least number.
    pub needed: u64,
}

/// The percentiles that are shown, each with its name.
pub const PERCENTILES: [(&str, f64); 5] =
    [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("p99.99", 0.9999)];

/// The number of samples that the quantile `q` needs: ten of them beyond it.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "saturates, and `q` <= 1"
)]
fn samples_min(q: f64) -> u64 {
    // A millionth off, so that 0.9 needs 100 and not the 101 that its binary neighbour would.
    (10.0 / (1.0 - q) - 1e-6).ceil() as u64
}

/// Significant digits.
pub(crate) const DIGITS: u8 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_is_counted_from_one_edge() {
        let mut histogram = Histogram::new();
        for time in [1, 9_999, 10_000, 49_999, 50_000, 50_001, u64::MAX] {
            histogram.record(Nanos(time));
        }
        // 49 999 shares its bucket with 50 000.
        assert_eq!(histogram.counts_from([Nanos(10_000), Nanos(50_000)]), [1, 4]);
        assert_eq!(histogram.counts_from([Nanos::ZERO]), [7]);
        assert_eq!(Histogram::new().counts_from([Nanos::ZERO]), [0]);
    }

    #[test]
    fn each_time_has_its_place() {
        let mut histogram = Histogram::new();
        for time in [300, 100, 200, 100] {
            histogram.record(Nanos(time));
        }
        let places = [0, 1, 2, 3, 4, 5].map(|place| histogram.at_place(place).map(|time| time.0));
        assert_eq!(places, [None, Some(100), Some(100), Some(200), Some(300), None]);
    }

    #[test]
    fn it_has_a_fixed_size_whatever_is_recorded() {
        let mut histogram = Histogram::new();
        let before = histogram.counts.distinct_values();
        for time in [0, 1, 1_000_000, u64::MAX] {
            histogram.record(Nanos(time));
        }
        assert_eq!((before, histogram.counts.distinct_values()), (33_792, 33_792));
        assert!(!histogram.counts.is_auto_resize());
    }
}
