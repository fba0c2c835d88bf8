//! The deadlines of a world, the earliest first.

use super::outbox::SessionId;
use super::slab::Key;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use units::Instant;

/// A deadline. It is not removed when it no longer applies, but checked again when it is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Deadline {
    /// A connection may have been silent for too long.
    Session(SessionId),
    /// A player may have been away, or a seat been reserved, for too long.
    Player(Key),
    /// The delay of an event is over.
    Event(DelayedEvent),
}

/// An event whose response is due later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct DelayedEvent {
    pub(super) table: u32,
    pub(super) seat: u8,
    pub(super) is_resent: bool,
    /// The ticket of the sitter who sent it.
    pub(super) ticket: u32,
    pub(super) sequence: i32,
}

/// A heap of deadlines; those of the same instant keep their order.
#[derive(Debug)]
pub(super) struct Deadlines {
    heap: BinaryHeap<Reverse<(Instant, u64, Deadline)>>,
    pushed: u64,
}

impl Deadlines {
    pub(super) const fn new() -> Self {
        Self { heap: BinaryHeap::new(), pushed: 0 }
    }

    pub(super) fn push(&mut self, at: Instant, deadline: Deadline) {
        self.pushed += 1;
        self.heap.push(Reverse((at, self.pushed, deadline)));
    }

    /// Takes the earliest deadline that is due.
    pub(super) fn pop(&mut self, now: Instant) -> Option<(Instant, Deadline)> {
        if self.next() > now {
            return None;
        }
        self.heap.pop().map(|Reverse((at, _, deadline))| (at, deadline))
    }

    /// The instant at which the next deadline is due.
    pub(super) fn next(&self) -> Instant {
        self.heap.peek().map_or(Instant::NEVER, |Reverse((at, _, _))| *at)
    }
}
