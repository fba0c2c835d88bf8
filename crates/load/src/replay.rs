//! Messages that were due while the worker's own loop stalled: they are sent later, at the pace of the schedule.
//!
//! The schedule of a gap is replayed beside the current one, so a stall of ours never makes a server see more than
//! twice the rate.

use std::collections::VecDeque;
use units::{Instant, Nanos};

/// Messages that are held back, each with a `T` that describes it.
#[derive(Debug)]
pub(crate) struct Replay<T> {
    /// The held messages, by the instant at which they were due.
    held: VecDeque<(Instant, T)>,
    /// The gaps in which held messages were due, and those in which arrivals not taken yet may be due.
    gaps: VecDeque<Gap>,
}

/// A gap in the worker's loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Gap {
    from: Instant,
    until: Instant,
    /// The time from when its messages were due until they are sent.
    shift: Nanos,
}

impl<T> Replay<T> {
    pub(crate) const fn new() -> Self {
        Self { held: VecDeque::new(), gaps: VecDeque::new() }
    }

    /// Adds a gap, which is replayed after the previous one. The replay stands still during a gap.
    pub(crate) fn stalled(&mut self, from: Instant, until: Instant) {
        let length = until.since(from);
        self.gaps.iter_mut().for_each(|gap| gap.shift += length);
        let free = self.gaps.back().map_or(until, |gap| until.max(gap.until + gap.shift));
        self.gaps.push_back(Gap { from, until, shift: free.since(from) });
    }

    /// Holds back a message that is due now; no message held so far is due later.
    pub(crate) fn hold(&mut self, due: Instant, what: T) {
        self.held.push_back((due, what));
    }

    /// Takes the next message, if it should be sent by `now`.
    pub(crate) fn release(&mut self, now: Instant) -> Option<(Instant, T)> {
        if self.next() <= now { self.held.pop_front() } else { None }
    }

    /// Takes all messages, with the instants at which they were due.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Instant> {
        self.held.drain(..).map(|(due, _)| due)
    }

    /// Forgets gaps in which no message remains to be taken: all before `due`, except those of held messages.
    pub(crate) fn forget_before(&mut self, due: Instant) {
        let oldest = self.held.front().map_or(due, |(held, _)| due.min(*held));
        while self.gaps.front().is_some_and(|gap| gap.until <= oldest) {
            self.gaps.pop_front();
        }
    }

    /// The instant at which the next message should be sent; [`Instant::NEVER`] if none is held.
    pub(crate) fn next(&self) -> Instant {
        self.held.front().map_or(Instant::NEVER, |(due, _)| {
            self.gap_of(*due).map_or(*due, |gap| *due + gap.shift)
        })
    }

    /// The end of the gap that contains `due`.
    pub(crate) fn gap_end(&self, due: Instant) -> Option<Instant> {
        self.gap_of(due).map(|gap| gap.until)
    }

    /// The number of messages that are held.
    pub(crate) fn len(&self) -> u64 {
        self.held.len() as u64
    }

    fn gap_of(&self, due: Instant) -> Option<&Gap> {
        self.gaps.iter().find(|gap| gap.from <= due && due < gap.until)
    }
}
