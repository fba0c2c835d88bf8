//! Messages that become due: taken from the schedule, from thinkers, and from those that were held back.

use super::{Batch, Load, Pace, Stage, Taken, Thinker, Whose};
use crate::Pick;
use units::{Instant, Nanos};

impl Pace {
    /// Takes a stall of the worker's loop: messages that were due meanwhile are held back, and those already held back
    /// are held back for longer.
    pub fn stalled(&mut self, from: Instant, until: Instant) {
        if self.is_timed() {
            self.replay.forget_before(self.next_due().0);
            self.replay.stalled(from, until);
        }
    }

    /// Takes the next message that is due by `now`. Returns those that will not be sent together, but those before the
    /// measurement apart from those in it.
    pub fn take(&mut self, now: Instant) -> Option<Taken> {
        if let Some((due, whose)) = self.replay.release(now) {
            return Some(self.line_up(due, whose));
        }
        let (due, thinker) = self.next_due();
        if due > now || due >= self.end || self.stage == Stage::AfterTraffic {
            return None;
        }
        self.replay.forget_before(due);
        let gap = self.replay.gap_end(due);
        if thinker.is_none() && self.is_full() {
            let limit = self.end.min(now + Nanos(1)).min(gap.unwrap_or(Instant::NEVER));
            let count = self.skip(due, limit.min(due + SKIPPED_MAX), self.quota);
            self.spend(due, count, now);
            return Some(Taken::Unsent { due, count, gap });
        }
        let whose = match (&mut self.load, thinker) {
            (
                Load::Sessions { thinkers, .. } | Load::ThinkingBots { thinkers, .. },
                Some(thinker),
            ) => {
                thinkers.queue.pop_front();
                Whose::Thinker(thinker)
            }
            (Load::Open { arrivals, .. } | Load::Sessions { arrivals, .. }, _) => {
                let connection = arrivals.next_due().connection;
                arrivals.advance();
                Whose::Schedule(connection)
            }
            (Load::Closed { .. } | Load::ThinkingBots { .. }, _) => return None,
        };
        self.spend(due, 1, now);
        if let Some(gap) = gap {
            self.replay.hold(due, whose);
            return Some(Taken::Held(gap));
        }
        Some(self.line_up(due, whose))
    }

    /// Handles a message that is due: it waits for a connection, begins a session, or continues one.
    fn line_up(&mut self, due: Instant, whose: Whose) -> Taken {
        match (whose, &mut self.load) {
            (Whose::Schedule(_), Load::Open { pick: Pick::Any, waiting, .. }) => {
                waiting.push(0, due);
                Taken::Waits
            }
            (Whose::Schedule(place), Load::Open { pick: Pick::Own, waiting, .. }) => {
                waiting.push(place as usize, due);
                if self.members[place as usize].is_open {
                    self.queue(place);
                }
                Taken::Waits
            }
            (Whose::Schedule(_), _) => Taken::Session { due, begins: !self.vacant.is_empty() },
            (Whose::Thinker(Thinker { place, generation }), load) => {
                let has_schedule = matches!(load, Load::Sessions { .. });
                let member = &self.members[place as usize];
                if member.generation == generation && member.may_send(1) {
                    self.count(place, 1);
                    Taken::Send(Batch { place, count: 1, due: Some(due), possible: due })
                } else if has_schedule {
                    Taken::Unsent { due, count: 1, gap: None } // Its connection was lost meanwhile.
                } else {
                    Taken::Waits
                }
            }
        }
    }

    /// Takes `count` messages that were due from `due` on out of the quota.
    fn spend(&mut self, due: Instant, count: u64, now: Instant) {
        if self.quota == u64::MAX || due < self.begin {
            return;
        }
        self.quota -= count;
        if self.quota == 0 {
            // The measurement continues until one more would be due.
            self.end = match &self.load {
                Load::Open { .. } => self.next_arrival(),
                Load::Closed { .. } | Load::Sessions { .. } | Load::ThinkingBots { .. } => now,
            };
        }
    }

    /// The next instant at which something is due, and its thinker if it is not the schedule's.
    #[inline]
    pub(super) fn next_due(&self) -> (Instant, Option<Thinker>) {
        let arrival = self.next_arrival();
        let thinkers = match &self.load {
            Load::Sessions { thinkers, .. } | Load::ThinkingBots { thinkers, .. } => thinkers,
            Load::Closed { .. } | Load::Open { .. } => return (arrival, None),
        };
        match thinkers.queue.front() {
            Some((due, thinker)) if *due < arrival => (*due, Some(*thinker)),
            _ => (arrival, None),
        }
    }

    /// The next arrival of the schedule.
    #[inline]
    fn next_arrival(&self) -> Instant {
        match &self.load {
            Load::Open { pick: Pick::Elsewhere, .. } => Instant::NEVER,
            Load::Open { arrivals, .. } | Load::Sessions { arrivals, .. } => {
                self.start + arrivals.next_due().at
            }
            Load::Closed { .. } | Load::ThinkingBots { .. } => Instant::NEVER,
        }
    }

    /// Leaves out the arrivals from `due` on that are due before `limit`, at most `count_max`; those before the
    /// measurement apart from those in it. Returns their number.
    fn skip(&mut self, due: Instant, limit: Instant, count_max: u64) -> u64 {
        let limit = if due < self.begin { limit.min(self.begin) } else { limit };
        let (Load::Open { arrivals, .. } | Load::Sessions { arrivals, .. }) = &mut self.load else {
            return 0;
        };
        if count_max == u64::MAX {
            return arrivals.skip_before(limit.since(self.start));
        }
        let mut count = 0;
        while count < count_max && self.start + arrivals.next_due().at < limit {
            arrivals.advance();
            count += 1;
        }
        count
    }

    /// Stops sending. Calls `each` for messages that were due and never sent, with the instant at which the first was
    /// due and their number.
    pub fn stop(&mut self, mut each: impl FnMut(Instant, u64)) {
        let was_measured = self.stage >= Stage::Measure;
        self.stage = Stage::AfterTraffic;
        if let Load::Open { waiting, .. } = &mut self.load {
            waiting.drain(|due| each(due, 1));
        }
        let held = self.replay.drain();
        if matches!(self.load, Load::Closed { .. } | Load::ThinkingBots { .. }) {
            return; // No schedule asked for more.
        }
        held.for_each(|due| each(due, 1));
        if self.quota != u64::MAX {
            if was_measured {
                each(self.begin, std::mem::take(&mut self.quota));
            }
            return;
        }
        if let Load::Sessions { thinkers, .. } = &mut self.load {
            while let Some((due, _)) = thinkers.queue.pop_front()
                && due < self.end
            {
                each(due, 1);
            }
        }
        loop {
            let due = self.next_arrival();
            if due >= self.end {
                return;
            }
            let count = self.skip(due, self.end, u64::MAX);
            each(due, count);
        }
    }
}

/// The longest time whose arrivals are left out in one step.
const SKIPPED_MAX: Nanos = Nanos::from_millis(1);
