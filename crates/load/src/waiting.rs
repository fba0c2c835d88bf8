//! Messages that are due and wait to be sent: queues without memory of their own.
//!
//! All messages share one pool, which grows to the most that ever waited at the same time, so that ten thousand mostly
//! empty queues cost eight bytes each.

use units::Instant;

/// Queues of messages, each represented by the instant at which it was due.
#[derive(Debug)]
pub(crate) struct Waiting {
    places: Vec<Place>,
    /// The first free place.
    free: u32,
    queues: Vec<Queue>,
    len: u64,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    due: Instant,
    /// The place after this one, in its queue or among the free ones.
    next: u32,
}

#[derive(Clone, Copy, Debug)]
struct Queue {
    first: u32,
    last: u32,
}

impl Waiting {
    /// Creates `queues` empty queues, with memory for `expected` messages.
    pub(crate) fn new(queues: usize, expected: usize) -> Self {
        let empty = Queue { first: NONE, last: NONE };
        Self {
            places: Vec::with_capacity(expected),
            free: NONE,
            queues: vec![empty; queues],
            len: 0,
        }
    }

    /// Appends a message to a queue. At most `u32::MAX` may wait at the same time.
    pub(crate) fn push(&mut self, queue: usize, due: Instant) {
        let place = Place { due, next: NONE };
        let index = if self.free == NONE {
            self.places.push(place);
            u32::try_from(self.places.len() - 1).expect("fewer wait than may be outstanding")
        } else {
            let index = self.free;
            self.free = std::mem::replace(&mut self.places[index as usize], place).next;
            index
        };
        let queue = &mut self.queues[queue];
        match queue.last {
            NONE => queue.first = index,
            last => self.places[last as usize].next = index,
        }
        queue.last = index;
        self.len += 1;
    }

    /// Takes the message that has waited longest in a queue.
    pub(crate) fn pop(&mut self, queue: usize) -> Option<Instant> {
        let queue = &mut self.queues[queue];
        if queue.first == NONE {
            return None;
        }
        let index = queue.first;
        let place = &mut self.places[index as usize];
        queue.first = std::mem::replace(&mut place.next, self.free);
        if queue.first == NONE {
            queue.last = NONE;
        }
        self.free = index;
        self.len -= 1;
        Some(place.due)
    }

    /// Takes all messages, queue by queue.
    pub(crate) fn drain(&mut self, mut each: impl FnMut(Instant)) {
        for queue in 0..self.queues.len() {
            while let Some(due) = self.pop(queue) {
                each(due);
            }
        }
    }

    /// The number of messages that were due at `since` or later.
    pub(crate) fn due_since(&self, since: Instant) -> u64 {
        let mut count = 0;
        for queue in &self.queues {
            let mut index = queue.first;
            while index != NONE {
                let place = &self.places[index as usize];
                count += u64::from(place.due >= since);
                index = place.next;
            }
        }
        count
    }

    /// The number of messages in all queues.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// True if this queue is empty.
    pub(crate) fn is_empty(&self, queue: usize) -> bool {
        self.queues[queue].first == NONE
    }
}

/// No place.
const NONE: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_queue_keeps_its_order_and_places_are_used_again() {
        let mut waiting = Waiting::new(3, 0);
        for round in 0..4 {
            for due in 0..6 {
                waiting.push(due % 3, Instant(round * 100 + due as u64));
            }
            assert_eq!(waiting.len(), 6);
            for due in 0..6 {
                assert_eq!(waiting.pop(due % 3), Some(Instant(round * 100 + due as u64)));
            }
            assert_eq!((waiting.pop(0), waiting.len()), (None, 0));
        }
        assert_eq!(waiting.places.len(), 6, "as many as ever waited at once");
    }

    #[test]
    fn draining_takes_everything() {
        let mut waiting = Waiting::new(2, 0);
        for (queue, due) in [(1, 7), (0, 8), (1, 9)] {
            waiting.push(queue, Instant(due));
        }
        assert!(!waiting.is_empty(0) && !waiting.is_empty(1));
        assert_eq!([0, 8, 9, 10].map(|since| waiting.due_since(Instant(since))), [3, 2, 1, 0]);
        let mut drained = Vec::new();
        waiting.drain(|due| drained.push(due.0));
        assert_eq!(drained, [8, 7, 9]);
        assert!(waiting.is_empty(0) && waiting.is_empty(1));
    }
}
