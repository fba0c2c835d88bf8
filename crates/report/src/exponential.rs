//! Distributions in the exponential buckets that OTLP and Prometheus' native histograms share.
//!
//! Our cells are at most 0.1 % wide and these buckets 9 %, so each cell is counted entirely in the bucket of its upper
//! end: every time is counted once, and at most 0.1 % on the wrong side of an edge.

use stats::Histogram;
use std::array;
use units::Nanos;

/// The scale of OTLP and the schema of Prometheus: a factor of two has 2^`SCALE` buckets.
pub(crate) const SCALE: i32 = 3;

/// Times in buckets: bucket i has those above 2^(i/8) s up to 2^((i+1)/8) s.
#[derive(Debug, PartialEq)]
pub(crate) struct Buckets {
    /// Times of 0 ns.
    pub(crate) zero: u64,
    /// The index of the first bucket.
    pub(crate) first: i32,
    /// The counts from that bucket on, up to the last that has any.
    pub(crate) counts: Vec<u64>,
}

impl Buckets {
    pub(crate) fn of(times: &Histogram) -> Self {
        let all = times.counts_from(edges());
        let zero = times.count() - all.iter().sum::<u64>();
        let is_used = |count: &u64| *count > 0;
        let Some(first) = all.iter().position(is_used) else {
            return Self { zero, first: 0, counts: Vec::new() };
        };
        let last = all.iter().rposition(is_used).unwrap_or(first);
        Self { zero, first: index(first), counts: all[first..=last].to_vec() }
    }
}

/// The least time of each bucket, in whole nanoseconds.
fn edges() -> [Nanos; BUCKETS] {
    array::from_fn(|place| {
        let below_s = (f64::from(index(place)) / f64::from(1 << SCALE)).exp2();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "an hour at most"
        )]
        Nanos((below_s * 1e9).floor() as u64 + 1)
    })
}

/// The index of the bucket at this place of [`edges`].
fn index(place: usize) -> i32 {
    i32::try_from(place).expect("there are some hundreds") + INDEX_MIN
}

/// The bucket of 1 ns: 2^(-239/8) s is the first end that is not below it.
const INDEX_MIN: i32 = -240;
/// The number of buckets up to [`Histogram::MAX`], an hour, which is between 2^(94/8) and 2^(95/8) s.
const BUCKETS: usize = 335;

#[cfg(test)]
mod tests {
    use super::*;

    fn of(times: &[u64]) -> Buckets {
        let mut histogram = Histogram::new();
        times.iter().for_each(|time| histogram.record(Nanos(*time)));
        Buckets::of(&histogram)
    }

    #[test]
    fn the_buckets_reach_from_a_nanosecond_to_an_hour() {
        let edges = edges();
        assert_eq!(edges[0], Nanos(1));
        assert!(edges[1] > Nanos(1) && edges[BUCKETS - 1] < Histogram::MAX);
        assert!(edges.is_sorted(), "{edges:?}");
        assert!((95.0_f64 / 8.0).exp2() > Histogram::MAX.as_secs_f64());
        assert_eq!(of(&[1]).first, INDEX_MIN);
        assert_eq!(of(&[u64::MAX]), Buckets { zero: 0, first: 94, counts: vec![1] });
    }

    #[test]
    fn a_power_of_two_is_the_upper_end_of_its_bucket() {
        // 0.5, 1 and 2 s; our cell of each ends at most 0.1 % above it.
        let second = 1_000_000_000;
        for (time, index) in
            [(second / 2 - second / 1000, -9), (second * 999 / 1000, -1), (second * 1001 / 1000, 0)]
        {
            assert_eq!(of(&[time]).first, index, "{time}");
        }
    }

    #[test]
    fn every_time_is_counted_once() {
        let times: Vec<u64> = (0..2_000).map(|step| step * step * 977).collect();
        let Buckets { zero, counts, .. } = of(&times);
        assert_eq!((zero, counts.iter().sum::<u64>()), (1, 1_999));
        assert_eq!(of(&[]), Buckets { zero: 0, first: 0, counts: Vec::new() });
    }
}
