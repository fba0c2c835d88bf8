//! Punctual waking: a worker sleeps until a little before a message is due, then looks at the clock without sleeping.
//!
//! Timers end sleeps late, by some tens of microseconds and occasionally by many more. [`Punctual`] learns the
//! overshoot from the worker's own sleeps, and asks to be woken that much before the next message is due. What remains
//! of that time is spent looking: the worker polls the engine without sleeping, so that replies are taken as always.
//!
//! Looking costs CPU time. A credit that grows as time passes ([`LOOKED_SHARE`]) pays for it, so its share of a core is
//! bounded whatever the rate and the machine. Without credit the worker sleeps until the due instant itself and is as
//! late as its timer.

use units::{Instant, Nanos};

/// Decides until when a worker sleeps.
#[derive(Debug)]
pub(crate) struct Punctual {
    /// False if there is no CPU to spare, or the user turned it off: the worker then sleeps until the due instant
    /// itself.
    is_on: bool,
    /// The ring of the newest overshoots of sleeps, and the number of all overshoots so far.
    overshoots: [Nanos; KEPT],
    learnt: usize,
    /// The time before a due instant at which to be woken for it.
    lead: Nanos,
    /// The nanoseconds that may be spent looking, negative if the last look took longer; and the instant up to which
    /// this credit has grown.
    credit: i64,
    grown: Instant,
    rest: Rest,
    /// Time spent looking that was not taken yet ([`Punctual::looked`]).
    looked: Nanos,
}

/// The way in which the worker waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    Awake,
    Asleep {
        until: Instant,
    },
    /// Polls without sleeping for a message that is due at `due`; the time since `since` is not charged yet.
    Looking {
        due: Instant,
        since: Instant,
    },
}

impl Punctual {
    pub(crate) const fn new(is_on: bool) -> Self {
        Self {
            is_on,
            overshoots: [Nanos::ZERO; KEPT],
            learnt: 0,
            lead: Nanos::ZERO,
            credit: 0,
            grown: Instant::START,
            rest: Rest::Awake,
            looked: Nanos::ZERO,
        }
    }

    /// Notes that the worker went on at `now`, after the wait that [`Punctual::rest`] decided.
    #[inline]
    pub(crate) fn woken(&mut self, now: Instant) {
        match &mut self.rest {
            Rest::Awake => {}
            Rest::Asleep { until } => {
                let until = *until;
                self.rest = Rest::Awake;
                if now >= until {
                    self.learn(now.since(until));
                }
            }
            Rest::Looking { since, .. } => {
                let from = std::mem::replace(since, now);
                self.spend(now.since(from));
            }
        }
    }

    /// Returns the instant until which to wait at `now`, with nothing to do before `until` and the next message due at
    /// `due` ([`Instant::NEVER`]: none); `now` itself means to look without sleeping. `was_idle`: the step just ended
    /// found nothing to do, so its time counts as looking.
    #[inline]
    pub(crate) fn rest(
        &mut self,
        now: Instant,
        due: Instant,
        until: Instant,
        was_idle: bool,
    ) -> Instant {
        let was_looking = std::mem::replace(&mut self.rest, Rest::Awake);
        let until = until.min(due);
        if !self.is_on || until <= now {
            return until;
        }
        self.grow(now);
        let (is_same, since) = match was_looking {
            Rest::Looking { due: before, since } => (due <= before, since),
            Rest::Awake | Rest::Asleep { .. } => (false, now),
        };
        let lead = self.lead.min(Nanos(u64::try_from(self.credit).unwrap_or(0)));
        if is_same || lead > Nanos::ZERO && due.since(now) <= lead {
            self.rest = Rest::Looking { due, since: if was_idle { since } else { now } };
            return now;
        }
        let until = until.min(due - lead);
        self.rest = Rest::Asleep { until };
        until
    }

    /// Takes the time spent looking since the last call.
    #[inline]
    pub(crate) fn looked(&mut self) -> Nanos {
        std::mem::take(&mut self.looked)
    }

    fn grow(&mut self, now: Instant) {
        let grown = now.since(self.grown).0 / LOOKED_SHARE;
        self.credit = self.credit.saturating_add_unsigned(grown).min(LEAD_MAX.0.cast_signed());
        // The remainder of the division is kept for the next time.
        self.grown = self.grown + Nanos(grown * LOOKED_SHARE);
    }

    fn spend(&mut self, time: Nanos) {
        self.credit = self.credit.saturating_sub_unsigned(time.0);
        self.looked += time;
    }

    /// Learns that one more sleep ended late by `overshoot`.
    fn learn(&mut self, overshoot: Nanos) {
        self.overshoots[self.learnt % KEPT] = overshoot;
        self.learnt += 1;
        if self.learnt < KEPT || self.learnt.is_multiple_of(LEARN_EVERY) {
            let mut sorted = self.overshoots;
            let known = &mut sorted[..self.learnt.min(KEPT)];
            known.sort_unstable();
            self.lead = known[(known.len() * LEAD_PERCENT).div_ceil(100) - 1].min(LEAD_MAX);
        }
    }
}

/// The share of a worker's time that looking may take: one part in this many, 8 %. Sending 2000/s takes a worker about
/// a tenth of a core, and must not take more than a fifth.
const LOOKED_SHARE: u64 = 12;

/// The number of overshoots kept: few enough to follow a machine that changes, enough for the percentile.
const KEPT: usize = 64;

/// Once [`KEPT`] overshoots are known, the lead is computed anew after this many more.
const LEARN_EVERY: usize = 8;

/// The percentage of sleeps that must end before the message is due. A longer lead costs CPU time for every message to
/// help a few.
const LEAD_PERCENT: usize = 90;

/// The longest lead, and the most credit. Sleeps that end later than that are stalls of the machine, not lateness of
/// timers.
const LEAD_MAX: Nanos = Nanos::from_millis(1);

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn it_wakes_early_by_the_overshoot_of_nine_sleeps_in_ten() {
        let mut punctual = Punctual::new(true);
        let mut now = Instant(SECOND);
        for index in 0..200 {
            let due = now + Nanos::from_millis(1);
            let asked = punctual.rest(now, due, Instant::NEVER, false);
            // Seven of eight sleeps end 20 us late, one ends 300 us late.
            now = asked + Nanos::from_micros(if index % 8 == 7 { 300 } else { 20 });
            punctual.woken(now);
            now = due.max(now);
            punctual.rest = Rest::Awake;
        }
        assert_eq!(punctual.lead, Nanos::from_micros(300), "one in eight is more than one in ten");
        for _ in 0..KEPT {
            punctual.learn(Nanos::from_micros(30));
        }
        let due = now + Nanos::from_millis(1);
        assert_eq!(punctual.rest(now, due, Instant::NEVER, false), due - Nanos::from_micros(30));
        assert_eq!(
            punctual.rest(now, Instant::NEVER, due, false),
            due,
            "for what is no message nobody gets up early"
        );
    }

    #[test]
    fn once_it_looks_it_looks_until_the_message_is_due() {
        let mut punctual = taught(Nanos::from_micros(50));
        let due = Instant(SECOND);
        let mut now = due - Nanos::from_micros(50);
        while now < due {
            assert_eq!(punctual.rest(now, due, Instant::NEVER, true), now);
            now = now + Nanos(700);
            punctual.woken(now);
        }
        assert_eq!(punctual.looked(), now.since(due - Nanos::from_micros(50)));
        assert_eq!(punctual.looked(), Nanos::ZERO);
    }

    #[test]
    fn work_that_is_done_while_it_looks_is_not_looking() {
        let mut punctual = taught(Nanos::from_micros(50));
        let due = Instant(SECOND);
        let now = due - Nanos::from_micros(50);
        punctual.rest(now, due, Instant::NEVER, false);
        punctual.woken(now + Nanos(1000));
        punctual.rest(now + Nanos(21_000), due, Instant::NEVER, false);
        punctual.woken(now + Nanos(22_000));
        assert_eq!(punctual.looked(), Nanos(2000));
    }

    #[test]
    fn its_share_of_a_core_is_bounded_where_the_rate_leaves_no_gaps() {
        for gap in [1_000, 10_000, 40_000, 100_000, 500_000] {
            let mut punctual = taught(Nanos::from_micros(60));
            let (mut now, mut looked) = (Instant::START, Nanos::ZERO);
            let mut due = now;
            while now < Instant(SECOND) {
                if due <= now {
                    due = due + Nanos(gap);
                    continue;
                }
                let asked = punctual.rest(now, due, Instant::NEVER, true);
                now = if asked > now { asked + Nanos(17_000) } else { now + Nanos(500) };
                punctual.woken(now);
                looked += punctual.looked();
            }
            assert!(looked.0 <= SECOND / LOOKED_SHARE + LEAD_MAX.0, "{gap}: {looked}");
            assert!(looked > Nanos::ZERO, "{gap}");
        }
    }

    #[test]
    fn where_no_cpu_is_to_spare_it_sleeps_to_the_instant_itself() {
        let mut punctual = taught(Nanos::from_micros(50));
        punctual.is_on = false;
        let (now, due) = (Instant(SECOND), Instant(SECOND + 1000));
        assert_eq!(punctual.rest(now, due, Instant::NEVER, false), due);
        assert_eq!(punctual.rest(now, due, now, false), now);
    }

    #[test]
    fn a_machine_that_stands_still_does_not_make_it_look_for_long() {
        assert_eq!(taught(Nanos::from_secs(3)).lead, LEAD_MAX);
    }

    /// A [`Punctual`] that knows sleeps to end `overshoot` late, and has all the credit there is.
    fn taught(overshoot: Nanos) -> Punctual {
        let mut punctual = Punctual::new(true);
        punctual.learn(overshoot);
        punctual.credit = LEAD_MAX.0.cast_signed();
        punctual
    }
}
