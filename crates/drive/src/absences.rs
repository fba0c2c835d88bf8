//! Receivers of rooms that leave and come back: when each leaves, and when those that are gone connect again.
//!
//! Absences are drawn from the seed, so that the same run has the same absences. Left out: what is owed meanwhile
//! ([`crate::rooms`]), and connections ([`crate::lifecycle`]).

use spec::{Away, Conduct};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use units::{Instant, Nanos, Random};

/// The absences of all receivers of a worker.
#[derive(Debug)]
pub(crate) struct Absences {
    conduct: Conduct,
    random: Random,
    /// The places of receivers that leave, and of those that come back, by the instant.
    leaves: BinaryHeap<Reverse<(Instant, u32)>>,
    returns: BinaryHeap<Reverse<(Instant, u32)>>,
    /// The instant at which all are torn off; [`Instant::NEVER`] if that has happened or never will.
    storm_at: Instant,
    /// The number of connects that failed since the receiver left, by place.
    failed: Vec<u8>,
    /// The instant at which the receiver that leaves now comes back.
    leaving_until: Option<Instant>,
}

impl Absences {
    /// The absences that `conduct` asks for; `None` if it asks for none.
    pub(crate) fn new(conduct: Conduct, connections: u32, seed: u64) -> Option<Self> {
        let Conduct { away, storm, restart, slow: _ } = conduct;
        let leaves = away.is_some() || storm.is_some() || restart.is_some();
        leaves.then(|| Self {
            conduct,
            random: Random::new(seed),
            leaves: BinaryHeap::new(),
            returns: BinaryHeap::new(),
            storm_at: Instant::NEVER,
            failed: vec![0; connections as usize],
            leaving_until: None,
        })
    }

    /// Begins the measurement at `begin`, with receivers at these places.
    pub(crate) fn begin(&mut self, begin: Instant, receivers: Range<u32>) {
        self.storm_at = self.conduct.storm.map_or(Instant::NEVER, |after| begin + after);
        if let Some(Away { every, .. }) = self.conduct.away {
            let every = usize::try_from(every.0).unwrap_or(usize::MAX);
            for place in receivers {
                let phase = Nanos(self.random.below(every) as u64);
                self.leaves.push(Reverse((begin + phase, place)));
            }
        }
    }

    /// Ends the measurement at `now`: no receiver leaves any more, and all that are gone come back at once.
    pub(crate) fn end(&mut self, now: Instant) {
        self.leaves.clear();
        self.storm_at = Instant::NEVER;
        let all = std::mem::take(&mut self.returns).into_iter();
        self.returns = all.map(|Reverse((_, place))| Reverse((now, place))).collect();
    }

    /// The instant at which the next receiver leaves or comes back; [`Instant::NEVER`] without one.
    pub(crate) fn next(&self) -> Instant {
        let first = |queue: &BinaryHeap<Reverse<(Instant, u32)>>| {
            queue.peek().map_or(Instant::NEVER, |Reverse((at, _))| *at)
        };
        first(&self.leaves).min(first(&self.returns)).min(self.storm_at)
    }

    /// Takes a place whose receiver leaves by `now`, with the instant at which it comes back. It leaves again a period
    /// later.
    pub(crate) fn take_leave(&mut self, now: Instant) -> Option<(u32, Instant)> {
        let Away { every, time } = self.conduct.away?;
        let Reverse((at, place)) = *self.leaves.peek().filter(|Reverse((at, _))| *at <= now)?;
        self.leaves.pop();
        self.leaves.push(Reverse((at + every, place)));
        Some((place, at + time))
    }

    /// Returns true, once, when the instant at which all are torn off has come by `now`.
    pub(crate) fn take_storm(&mut self, now: Instant) -> bool {
        let is_due = self.storm_at <= now;
        if is_due {
            self.storm_at = Instant::NEVER;
        }
        is_due
    }

    /// Takes a place whose receiver comes back by `now`, with the instant at which it was to come back.
    pub(crate) fn take_return(&mut self, now: Instant) -> Option<(u32, Instant)> {
        let Reverse((at, place)) = *self.returns.peek().filter(|Reverse((at, _))| *at <= now)?;
        self.returns.pop();
        Some((place, at))
    }

    /// Announces that the receiver that is let go next leaves as planned, and comes back at `until`.
    pub(crate) fn leave_until(&mut self, until: Instant) {
        self.leaving_until = Some(until);
    }

    /// Notes that the receiver at a place is gone at `now`: it leaves as planned, or its connection or its attempt to
    /// connect failed, and it waits before it tries again.
    pub(crate) fn gone(&mut self, place: u32, now: Instant) {
        let at = self.leaving_until.take().unwrap_or_else(|| now + self.back_off(place));
        self.returns.push(Reverse((at, place)));
    }

    /// Notes that the receiver at a place has a connection again.
    pub(crate) fn is_back(&mut self, place: u32) {
        self.failed[place as usize] = 0;
    }

    /// The time that a client waits before it connects again, as in socket.io-client: doubled with each failed attempt,
    /// moved by up to half at random, and at most 5 s.
    pub(crate) fn back_off(&mut self, place: u32) -> Nanos {
        let failed = &mut self.failed[place as usize];
        let whole = BACK_OFF_MIN.0 << (*failed).min(DOUBLED_MAX);
        *failed = failed.saturating_add(1);
        let jitter = self.random.below(usize::try_from(whole).unwrap_or(usize::MAX)) as u64;
        Nanos(whole / 2 + jitter).min(BACK_OFF_MAX)
    }
}

/// `reconnectionDelay` and `reconnectionDelayMax` of socket.io-client 4, whose `randomizationFactor` is a half.
const BACK_OFF_MIN: Nanos = Nanos::from_secs(1);
const BACK_OFF_MAX: Nanos = Nanos::from_secs(5);
/// The number of doublings after which the wait exceeds [`BACK_OFF_MAX`], whatever is drawn.
const DOUBLED_MAX: u8 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    fn absences(conduct: Conduct) -> Absences {
        Absences::new(conduct, 100, 7).unwrap()
    }

    #[test]
    fn each_receiver_leaves_once_in_each_period() {
        let away: Away = "every 10s for 2s".parse().unwrap();
        let mut absences = absences(Conduct { away: Some(away), ..Conduct::default() });
        let begin = Instant(5_000);
        absences.begin(begin, 40..100);
        let mut last = vec![None; 100];
        for period in 1..4 {
            let end = begin + Nanos(period * away.every.0);
            let mut left = Vec::new();
            while absences.next() < end {
                let at = absences.next();
                let (place, back_at) = absences.take_leave(at).unwrap();
                assert_eq!(back_at, at + away.time);
                let since = last[place as usize].replace(at);
                assert!(since.is_none_or(|since: Instant| at.since(since) == away.every));
                left.push(place);
            }
            left.sort_unstable();
            assert!(left.into_iter().eq(40..100), "period {period}");
        }
        absences.end(begin);
        assert_eq!(absences.next(), Instant::NEVER);
    }

    #[test]
    fn whoever_is_torn_off_waits_longer_with_each_attempt_that_fails() {
        let storm = Some(Nanos::from_secs(3));
        let mut absences = absences(Conduct { storm, ..Conduct::default() });
        absences.begin(Instant(9), 0..100);
        assert_eq!(absences.next(), Instant(3_000_000_009));
        assert!(!absences.take_storm(Instant(3_000_000_008)));
        assert!(
            absences.take_storm(Instant(3_000_000_009))
                && !absences.take_storm(Instant(u64::MAX - 1))
        );
        #[rustfmt::skip]
        let table = [
            // at least, at most, in ms
            ( 500, 1500),
            (1000, 3000),
            (2000, 5000),
            (4000, 5000),
            (5000, 5000),
        ];
        for (least, most) in table {
            let waits: Vec<u64> =
                (0..100).map(|place| absences.back_off(place).0 / 1_000_000).collect();
            let [min, max] = [waits.iter().min(), waits.iter().max()].map(Option::unwrap);
            assert!(*min >= least && *max <= most, "{least}..{most}: {waits:?}");
            assert!(max - min >= (most - least) / 2, "they do not come back together: {waits:?}");
        }
        absences.is_back(3);
        assert!(absences.back_off(3) <= Nanos::from_millis(1500));
    }
}
