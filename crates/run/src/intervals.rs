//! The sum of the intervals of a block: its traffic, and its series of seconds.

use drive::{Interval, Phase, RawTime};
use record::{Merge, Second, Traffic};
use std::collections::VecDeque;
use units::{Instant, Nanos};

/// Adds the intervals of all workers up.
#[derive(Default)]
pub(crate) struct Intervals {
    /// All traffic except that of open seconds. Replies of the drain count in its distributions, but in none of its
    /// rates.
    traffic: Traffic,
    measured_from: Option<Instant>,
    /// The last seconds, for which a worker may still hand intervals over.
    open: VecDeque<OpenSecond>,
    series: Vec<Second>,
    raw_times: RawTimes,
}

/// The individual times of a block, in no particular order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawTimes {
    /// The times; at most [`RawTimes::MAX`].
    pub kept: Vec<RawTime>,
    /// The number of times left out for lack of room.
    pub left_out: u64,
}

impl RawTimes {
    /// The most times that are kept: those of 1.4 million open-loop messages, 64 MiB.
    pub const MAX: usize = 1 << 22;

    fn take(&mut self, times: &mut Vec<RawTime>) {
        let room = Self::MAX - self.kept.len();
        self.left_out += times.len().saturating_sub(room) as u64;
        times.truncate(room);
        self.kept.append(times);
    }
}

/// A second of the series that is not complete.
struct OpenSecond {
    at: Nanos,
    duration: Nanos,
    traffic: Traffic,
}

impl Intervals {
    /// Adds an interval of a worker; in an interval of the drain, the rates are cleared.
    pub(crate) fn add(&mut self, interval: &mut Interval) {
        match interval.phase {
            Phase::Measure => {
                let from = *self.measured_from.get_or_insert(interval.start);
                self.add_to_series(interval, interval.start.since(from));
            }
            Phase::Drain => {
                interval.traffic.forget_rates();
                self.traffic.merge(&interval.traffic);
            }
            Phase::Connect | Phase::AwaitStart | Phase::WarmUp | Phase::Close | Phase::Done => {
                return;
            }
        }
        self.raw_times.take(&mut interval.raw_times);
    }

    /// The start of the first measured interval.
    pub(crate) fn measured_from(&self) -> Option<Instant> {
        self.measured_from
    }

    /// The traffic of the block, its seconds, and its individual times, if workers keep them.
    pub(crate) fn finish(mut self) -> (Traffic, Vec<Second>, RawTimes) {
        while self.close_first() {}
        (self.traffic, self.series, self.raw_times)
    }

    fn add_to_series(&mut self, interval: &Interval, at: Nanos) {
        let begin = Nanos(at.0 / SECOND.0 * SECOND.0);
        if !self.open.iter().any(|second| second.at == begin) {
            let (duration, traffic) = (Nanos::ZERO, Traffic::default());
            self.open.push_back(OpenSecond { at: begin, duration, traffic });
            if self.open.len() > SECONDS_OPEN {
                self.close_first();
            }
        }
        let Some(second) = self.open.iter_mut().find(|second| second.at == begin) else {
            return self.traffic.merge(&interval.traffic);
        };
        let end = at + interval.end.since(interval.start);
        second.duration = second.duration.max(Nanos(end.0 - begin.0));
        second.traffic.merge(&interval.traffic);
    }

    /// Closes the first open second; false if none is open.
    fn close_first(&mut self) -> bool {
        let Some(second) = self.open.pop_front() else { return false };
        self.traffic.merge(&second.traffic);
        self.series.push(second.finish());
        true
    }
}

impl OpenSecond {
    fn finish(self) -> Second {
        Second::of(self.at, self.duration, &self.traffic)
    }
}

const SECOND: Nanos = Nanos::from_secs(1);

/// The number of seconds that are open at once; workers are never that far apart.
const SECONDS_OPEN: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use load::Arrival;
    use std::num::NonZeroU32;

    #[test]
    fn replies_of_the_drain_are_in_the_distribution_and_in_no_rate() {
        let arrival = Arrival::Closed { in_flight: NonZeroU32::MIN, in_flight_max: None };
        let mut intervals = Intervals::default();
        for (phase, ms) in [(Phase::WarmUp, 5), (Phase::Measure, 1), (Phase::Drain, 900)] {
            let mut interval = Interval { phase, ..Interval::new(&arrival) };
            interval.traffic.replies = 1;
            interval.traffic.round_trips.record(Nanos::from_millis(ms));
            intervals.add(&mut interval);
        }
        let (traffic, series, _) = intervals.finish();
        assert_eq!((traffic.round_trips.count(), traffic.replies, series.len()), (2, 1, 1));
        let longest = traffic.round_trips.max().unwrap();
        assert!(longest >= Nanos::from_millis(899), "the slowest come last: {longest}");
    }

    #[test]
    fn every_interval_is_in_one_second_and_in_the_whole() {
        let arrival = Arrival::Closed { in_flight: NonZeroU32::MIN, in_flight_max: None };
        let mut intervals = Intervals::default();
        // Two workers, one of them a second behind.
        for tenth in 0..50 {
            for (start, replies) in [(tenth, 1), (tenth + 10, 100)] {
                let at = |tenth: u64| Instant::START + Nanos::from_millis(100 * tenth);
                let (start, end) = (at(start), at(start + 1));
                let phase = Phase::Measure;
                let mut interval = Interval { phase, start, end, ..Interval::new(&arrival) };
                interval.traffic.replies = replies;
                interval.traffic.round_trips.record(Nanos::from_millis(replies));
                intervals.add(&mut interval);
            }
        }
        let (traffic, series, _) = intervals.finish();
        assert_eq!((traffic.replies, traffic.round_trips.count(), series.len()), (5050, 100, 6));
    }
}
