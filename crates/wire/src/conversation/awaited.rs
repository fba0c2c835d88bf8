//! The messages of a connection that await a reply, and their ids.
//!
//! The id of a message is [`FIRST_ID`] plus its number, so the id leads to the message without a search, and all ids
//! have the same length. Opening steps, heartbeats and the farewell take their ids from the other end ([`Ids`]).

use std::collections::VecDeque;

/// The id of message 0.
pub(super) const FIRST_ID: u32 = 10_000_000;

/// The largest id of the same length.
const LAST_ID: u32 = 99_999_999;

/// The messages that one connection has sent, starting with the oldest that awaits a reply.
#[derive(Debug, Default)]
pub(super) struct Awaited {
    /// The number of the first slot's message.
    first: u32,
    slots: VecDeque<Slot>,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    exchange: u16,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Awaited,
    /// The stream that answers it has begun.
    Begun,
    /// It was answered, or has no reply.
    Done,
}

impl Awaited {
    /// The most messages remembered after one that gets no reply.
    pub(super) const SLOTS_MAX: usize = 1 << 16;

    /// Adds the message `sequence`; `false` if it is not the next one, or its id would be too long.
    pub(super) fn push(&mut self, sequence: u32, exchange: u16, has_reply: bool) -> bool {
        if sequence != self.next() || sequence >= LAST_ID - FIRST_ID - Ids::COUNT_MAX {
            return false;
        }
        let state = if has_reply { State::Awaited } else { State::Done };
        self.slots.push_back(Slot { exchange, state });
        if self.slots.len() > Self::SLOTS_MAX {
            self.slots.pop_front();
            self.first += 1;
        }
        self.forget();
        true
    }

    /// The number of the next message.
    pub(super) fn next(&self) -> u32 {
        self.first + u32::try_from(self.slots.len()).expect("SLOTS_MAX fits")
    }

    /// The message with this id: its number, and its exchange unless it is forgotten; `None` if it was never sent.
    #[inline]
    pub(super) fn find(&self, id: u64) -> Option<(u32, Option<u16>)> {
        let id = u32::try_from(id).ok()?;
        let sequence = id.checked_sub(FIRST_ID).filter(|sequence| *sequence < self.next())?;
        let index = sequence.checked_sub(self.first);
        Some((sequence, index.map(|index| self.slots[index as usize].exchange)))
    }

    /// The number and the exchange of the oldest message that awaits a reply and whose exchange satisfies
    /// `is_in_order`.
    pub(super) fn oldest(&self, is_in_order: impl Fn(u16) -> bool) -> Option<(u32, u16)> {
        let waits = |slot: &Slot| slot.state != State::Done && is_in_order(slot.exchange);
        let index = self.slots.iter().position(waits)?;
        Some((self.first + u32::try_from(index).ok()?, self.slots[index].exchange))
    }

    /// Marks the stream that answers `sequence` as begun; `true` if it had not begun before.
    pub(super) fn begin(&mut self, sequence: u32) -> bool {
        let slot = self.slot(sequence).filter(|slot| slot.state == State::Awaited);
        slot.is_some_and(|slot| {
            slot.state = State::Begun;
            true
        })
    }

    /// Marks `sequence` as answered.
    #[inline]
    pub(super) fn end(&mut self, sequence: u32) {
        if let Some(slot) = self.slot(sequence) {
            slot.state = State::Done;
            self.forget();
        }
    }

    fn slot(&mut self, sequence: u32) -> Option<&mut Slot> {
        let index = sequence.checked_sub(self.first)?;
        self.slots.get_mut(index as usize)
    }

    /// Forgets answered messages, starting with the oldest. Keeps memory for a few, and frees more.
    #[inline]
    fn forget(&mut self) {
        while self.slots.front().is_some_and(|slot| slot.state == State::Done) {
            self.slots.pop_front();
            self.first += 1;
        }
        if self.slots.is_empty() && self.slots.capacity() > KEPT_COUNT_MAX {
            self.slots = VecDeque::new();
        }
    }
}

/// The ids of messages that are not requests, the largest first.
#[derive(Debug)]
pub(super) struct Ids {
    next: u32,
}

impl Ids {
    /// The most ids that one connection takes; after that they start over.
    const COUNT_MAX: u32 = 10_000_000;

    /// An id that no request had.
    pub(super) fn take(&mut self) -> u32 {
        let id = self.next;
        self.next = if id == LAST_ID - Self::COUNT_MAX + 1 { LAST_ID } else { id - 1 };
        id
    }
}

impl Default for Ids {
    fn default() -> Self {
        Self { next: LAST_ID }
    }
}

/// The most slots that an idle connection keeps memory for: 256 bytes.
const KEPT_COUNT_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_found_by_its_id_until_it_is_answered() {
        let mut awaited = Awaited::default();
        assert_eq!(awaited.find(10_000_000), None);
        for sequence in 0..4 {
            assert!(awaited.push(sequence, 7, sequence != 1));
        }
        assert!(!awaited.push(3, 7, true), "numbers follow each other");
        awaited.end(2);
        #[rustfmt::skip]
        let table = [
            (9_999_999,  None),
            (10_000_000, Some((0, Some(7)))),
            (10_000_001, Some((1, Some(7)))),
            (10_000_002, Some((2, Some(7)))),
            (10_000_003, Some((3, Some(7)))),
            (10_000_004, None),
            (u64::MAX,   None),
        ];
        for (id, expected) in table {
            assert_eq!(awaited.find(id), expected, "{id}");
        }
        awaited.end(0);
        assert_eq!((awaited.slots.len(), awaited.first), (1, 3));
        assert_eq!(awaited.find(10_000_000), Some((0, None)));
    }

    #[test]
    fn the_oldest_in_order_passes_over_those_that_are_found_by_id() {
        let mut awaited = Awaited::default();
        for (sequence, exchange) in (0..).zip([1, 2, 1, 2]) {
            awaited.push(sequence, exchange, true);
        }
        assert_eq!(awaited.oldest(|exchange| exchange == 2), Some((1, 2)));
        awaited.end(1);
        assert_eq!(awaited.oldest(|exchange| exchange == 2), Some((3, 2)));
        assert_eq!(awaited.oldest(|exchange| exchange == 3), None);
        assert!(awaited.begin(2) && !awaited.begin(2), "it begins once");
    }

    #[test]
    fn a_message_without_a_reply_costs_no_more_than_the_limit() {
        let mut awaited = Awaited::default();
        let max = u32::try_from(Awaited::SLOTS_MAX).unwrap();
        for sequence in 0..=max {
            assert!(awaited.push(sequence, 0, true));
            if sequence > 0 {
                awaited.end(sequence);
            }
        }
        assert_eq!(awaited.find(FIRST_ID.into()), Some((0, None)), "it was forgotten");
        assert_eq!((awaited.slots.len(), awaited.slots.capacity()), (0, 0));
    }

    #[test]
    fn ids_of_steps_are_none_of_requests_and_as_long() {
        let mut ids = Ids::default();
        let taken: Vec<_> = (0..=Ids::COUNT_MAX).map(|_| ids.take()).collect();
        assert_eq!((taken[0], taken[1]), (99_999_999, 99_999_998));
        assert_eq!(taken.iter().min(), Some(&90_000_000));
        assert_eq!(taken[Ids::COUNT_MAX as usize], 99_999_999);
        let mut awaited = Awaited { first: 79_999_998, slots: VecDeque::new() };
        assert!(awaited.push(79_999_998, 0, true));
        assert!(!awaited.push(79_999_999, 0, true));
    }
}
