//! The circuit breaker of a block: a load under which nothing succeeds any more ends, whatever is still to come.

use drive::{Interval, Phase};
use units::{Instant, Nanos};

/// The successes and failures of a block, as far as they decide whether its load goes on.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Breaker {
    /// The end of the last interval in which anything succeeded; before that the start of the first.
    succeeded: Option<Instant>,
    /// Everything that failed since.
    failures: u64,
}

impl Breaker {
    /// Takes what a worker handed over. True if the load is to end: nothing has succeeded for [`PATIENCE`], and
    /// failures go on. A server that is only silent fails nothing until its time-outs are over.
    pub(crate) fn add(&mut self, interval: &Interval) -> bool {
        let opens = interval.phase == Phase::Connect && interval.opened > 0;
        if opens || interval.traffic.replies > 0 {
            *self = Self { succeeded: Some(interval.end), failures: 0 };
            return false;
        }
        let succeeded = *self.succeeded.get_or_insert(interval.start);
        self.failures += interval.failures;
        let is_over = interval.phase < Phase::Close && interval.end.since(succeeded) >= PATIENCE;
        is_over && interval.failures > 0 && self.failures >= FAILURES_MIN
    }
}

/// The longest time in which nothing succeeds and a load still goes on.
pub(crate) const PATIENCE: Nanos = Nanos::from_secs(5);
/// Fewer failures than this end no load: one refused connection is an error like others.
const FAILURES_MIN: u64 = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use load::Arrival;
    use std::num::NonZeroU32;

    /// The tenth of a second after which the load ends, if in each so many connections are opened, replies come, and
    /// attempts fail.
    fn ended(phase: Phase, tenths: impl Fn(u64) -> [u64; 3]) -> Option<u64> {
        let arrival = Arrival::Closed { in_flight: NonZeroU32::MIN, in_flight_max: None };
        let at = |tenth: u64| Instant::START + Nanos::from_millis(100 * tenth);
        let mut breaker = Breaker::default();
        (1..=200).find(|&tenth| {
            let [opened, replies, failures] = tenths(tenth);
            let (start, end) = (at(tenth - 1), at(tenth));
            let mut interval =
                Interval { phase, start, end, opened, failures, ..Interval::new(&arrival) };
            interval.traffic.replies = replies;
            breaker.add(&interval)
        })
    }

    #[test]
    fn a_load_ends_when_nothing_has_succeeded_for_5_s() {
        let dies = |tenth: u64| if tenth <= 30 { [0, 100, 0] } else { [0, 0, 10] };
        assert_eq!(ended(Phase::Measure, dies), Some(80));
        assert_eq!(ended(Phase::Connect, |_| [0, 0, 10]), Some(50), "nobody listens");
        let accepts = |_| [1, 0, 10];
        assert_eq!(ended(Phase::Measure, accepts), Some(50), "it accepts and answers nothing");
    }

    #[test]
    fn what_is_slow_or_fails_now_and_then_goes_on() {
        assert_eq!(ended(Phase::Measure, |_| [0, 0, 0]), None, "silence is no failure");
        let one = |tenth| [0, 0, u64::from(tenth == 60)];
        assert_eq!(ended(Phase::Measure, one), None, "one refused connection");
        let rarely = |tenth: u64| [0, u64::from(tenth.is_multiple_of(40)), 10];
        assert_eq!(ended(Phase::Measure, rarely), None, "a reply every 4 s");
        assert_eq!(ended(Phase::Connect, |_| [1, 0, 10]), None, "connections are being opened");
        let early = |tenth: u64| [0, 0, if tenth < 10 { 100 } else { 0 }];
        assert_eq!(ended(Phase::Measure, early), None, "a full backlog, and bots that are not due");
    }
}
