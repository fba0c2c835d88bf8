//! The circuit breaker of a block: ends a load under which nearly everything fails, whatever is still to come.

use drive::{Interval, Phase};
use std::collections::VecDeque;
use std::fmt;
use units::{Instant, Nanos};

/// The successes and failures of a block in the last [`PATIENCE`], which decide whether its load goes on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Breaker {
    /// The start of the first interval.
    since: Option<Instant>,
    /// The successes and failures of the last intervals, by their ends.
    last: VecDeque<(Instant, Tried)>,
}

/// The successes and failures in some time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tried {
    succeeded: u64,
    failed: u64,
}

/// The reason why a load ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    /// The time from the start of the block to its end.
    after: Nanos,
    tried: Tried,
}

impl Breaker {
    /// Adds an interval of a worker. Returns the reason if the load is to end: at least [`FAILED_PERCENT`] of the
    /// attempts in the last [`PATIENCE`] failed, and failures continue. Replies are successes, and in the connect phase
    /// so are opened connections. A server that is only silent fails nothing until its time-outs are over. Once nothing
    /// more is sent there is no load to end: the drain has its own limit.
    pub(crate) fn add(&mut self, interval: &Interval) -> Option<Broken> {
        let since = *self.since.get_or_insert(interval.start);
        let counts = &interval.traffic.counts;
        let opened = if interval.phase == Phase::Connect { interval.opened } else { 0 };
        let tried = Tried {
            succeeded: interval.traffic.replies + opened,
            // A connection is lost with all its messages, which is one failure there.
            failed: interval.failures.max(counts.failed()),
        };
        self.last.push_back((interval.end, tried));
        let from = interval.end - PATIENCE;
        while self.last.front().is_some_and(|(end, _)| *end <= from) {
            self.last.pop_front();
        }
        let sum = |sum: Tried, (_, one): &(Instant, Tried)| Tried {
            succeeded: sum.succeeded + one.succeeded,
            failed: sum.failed + one.failed,
        };
        let tried = self.last.iter().fold(Tried::default(), sum);
        let after = interval.end.since(since);
        let goes_on = interval.failures > 0 && interval.phase < Phase::Drain;
        (after >= PATIENCE && goes_on && tried.is_hopeless()).then_some(Broken { after, tried })
    }
}

impl Tried {
    fn is_hopeless(self) -> bool {
        let all = self.succeeded.saturating_add(self.failed);
        self.failed >= FAILURES_MIN
            && self.failed.saturating_mul(100) >= all.saturating_mul(FAILED_PERCENT)
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { after, tried: Tried { succeeded, failed } } = self;
        match succeeded {
            0 => write!(f, "nothing succeeded for {PATIENCE}")?,
            _ => write!(
                f,
                "{failed} of {} failed in {PATIENCE}, {FAILED_PERCENT} % are too many",
                succeeded + failed
            )?,
        }
        write!(f, " (after {:.1} s; --keep-going goes on)", after.as_secs_f64())
    }
}

/// The time during which nearly everything has to fail for a load to end.
pub(crate) const PATIENCE: Nanos = Nanos::from_secs(5);
/// The percentage of failures that counts as nearly everything.
const FAILED_PERCENT: u64 = 95;
/// Fewer failures than this end no load: one refused connection is an error like others.
const FAILURES_MIN: u64 = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use load::Arrival;
    use std::num::NonZeroU32;

    /// The tenth of a second after which the load ends, given for each tenth the number of connections opened, of
    /// replies, and of failed attempts.
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
            breaker.add(&interval).is_some()
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
        assert_eq!(ended(Phase::Measure, |_| [0, 1, 18]), None, "one reply to 18 failures");
        let comes_back = |tenth: u64| [0, 100 * u64::from(!(60..=100).contains(&tenth)), 10];
        assert_eq!(ended(Phase::Measure, comes_back), None, "silent for less than 5 s");
        assert_eq!(ended(Phase::Connect, |_| [1, 0, 10]), None, "connections are being opened");
        assert_eq!(
            ended(Phase::Drain, |_| [0, 0, 1]),
            None,
            "the last time-outs of a load that is over"
        );
        let early = |tenth: u64| [0, 0, if tenth < 10 { 100 } else { 0 }];
        assert_eq!(ended(Phase::Measure, early), None, "a full backlog, and bots that are not due");
    }

    #[test]
    fn a_load_ends_when_nearly_everything_has_failed_for_5_s() {
        assert_eq!(ended(Phase::Measure, |_| [0, 1, 19]), Some(50), "95 %");
        let degrades = |tenth: u64| if tenth <= 30 { [0, 100, 0] } else { [0, 1, 99] };
        // Two good tenths of a second are left in the last 5 s.
        assert_eq!(ended(Phase::Measure, degrades), Some(78));
        let rarely = |tenth: u64| [0, u64::from(tenth.is_multiple_of(40)), 10];
        assert_eq!(ended(Phase::Measure, rarely), Some(50), "a reply every 4 s");
    }

    #[test]
    fn the_reason_says_what_failed_and_when() {
        let after = Nanos::from_millis(8040);
        let told =
            |succeeded, failed| Broken { after, tried: Tried { succeeded, failed } }.to_string();
        assert_eq!(told(0, 7), "nothing succeeded for 5 s (after 8.0 s; --keep-going goes on)");
        assert_eq!(
            told(3, 97),
            "97 of 100 failed in 5 s, 95 % are too many (after 8.0 s; --keep-going goes on)"
        );
    }
}
