//! Rooms that the machines of a fleet share: one machine publishes, and the others know from its schedule what is due.
//!
//! All machines begin at one instant, each by its own clock, and headers count from there ([`Clock`]); so the time of a
//! delivery is wrong by the difference of the two clocks. A message of another machine is owed from the instant at
//! which it is due ([`Elsewhere`]), whether or not its publisher manages to send it.
//!
//! Left out: the cut itself ([`load::RoomShare`]), and the bound of clocks (crate `fleet`).

use load::{Arrival, Arrivals, Pick, Stop, Workload};
use std::ops::Range;
use units::{Instant, Nanos};

/// Converts due instants between our clock and headers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// True if headers count from the common start instead of the start of our own clock.
    is_common: bool,
    /// The common start; [`Instant::NEVER`] before it.
    pub(super) begin: Instant,
    /// True from the end of the measurement on.
    pub(super) is_over: bool,
    /// True until all machines begin: before that, others may probe the server.
    pub(super) awaits_others: bool,
}

impl Clock {
    /// The due instants in headers of unscheduled messages: before the start, and after the end.
    pub(super) const CALL: Nanos = Nanos::ZERO;
    pub(super) const END: Nanos = Nanos::MAX;

    pub(super) fn new(is_common: bool) -> Self {
        Self { is_common, begin: Instant::NEVER, is_over: false, awaits_others: false }
    }

    /// The instant at which a message is due, as written in its header.
    pub(super) fn written(&self, due: Instant) -> Nanos {
        match due {
            _ if !self.is_common => Nanos(due.0),
            Instant::START if self.is_over => Self::END,
            Instant::START => Self::CALL,
            due => due.since(self.begin) + Nanos(1),
        }
    }

    /// The instant in a header, by our own clock.
    pub(super) fn read(&self, due: Nanos) -> Instant {
        match due {
            _ if !self.is_common => Instant(due.0),
            Self::CALL | Self::END => Instant::START,
            Nanos(due) => self.begin + Nanos(due - 1),
        }
    }
}

/// The messages that another machine publishes in our rooms.
#[derive(Debug)]
pub(super) struct Elsewhere {
    /// Its schedule, which takes the publishers of our rooms in turn, room by room.
    arrivals: Arrivals,
    begin: Instant,
    measured: Range<Instant>,
    /// The instant at which the first of these messages arrived; [`Instant::NEVER`] before.
    pub(super) heard_at: Instant,
}

/// A message that another machine publishes, from the instant at which it is due.
#[derive(Clone, Copy, Debug)]
pub(super) struct Published {
    pub(super) due: Instant,
    /// Its publisher, numbered in turn through our rooms.
    pub(super) publisher: u32,
    pub(super) is_measured: bool,
}

impl Elsewhere {
    /// The messages for the rooms of `workload`; `None` if they are published here.
    pub(super) fn of(workload: &Workload) -> Option<Self> {
        let Arrival::Open { schedule, pick: Pick::Elsewhere, .. } = &workload.arrival else {
            return None;
        };
        let schedule = schedule.after_warm_up(workload.phases.warm_up);
        let arrivals = schedule.arrivals(workload.seed);
        let measured = Instant::NEVER..Instant::NEVER;
        Some(Self { arrivals, begin: Instant::NEVER, measured, heard_at: Instant::NEVER })
    }

    /// Sets the instant at which all machines begin.
    pub(super) fn begin(&mut self, begin: Instant, workload: &Workload) {
        self.begin = begin;
        let from = begin + workload.phases.warm_up;
        if let Stop::After(time) = workload.phases.stop {
            self.measured = from..from + time;
        }
    }

    /// Takes the next message that is due by `now`.
    pub(super) fn take(&mut self, now: Instant) -> Option<Published> {
        let next = self.arrivals.next_due();
        let due = self.begin + next.at;
        if due > now || due >= self.measured.end {
            return None;
        }
        self.arrivals.advance();
        let is_measured = due >= self.measured.start;
        Some(Published { due, publisher: next.connection, is_measured })
    }
}
