//! The messages of one connection that await a reply, and the search for the one that a reply answers.
//!
//! Messages of a connection are numbered in the order in which they were sent, so a reply that names its message finds
//! it by index. A message that has ended stays while an older one is awaited, so that a duplicate or late reply is
//! recognized.

use std::collections::VecDeque;
use units::Instant;

/// A message that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flight {
    /// The instant at which it was due; in a closed loop, at which it was sent.
    pub(crate) due: Instant,
    pub(crate) sent: Instant,
    /// Its kind, where it is a request of a conversation; else 0.
    pub(crate) exchange: u16,
}

/// The messages of one connection that await a reply, oldest first, and some that no longer do.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    slots: VecDeque<Slot>,
    /// The number of slots that are not awaited.
    ended: usize,
    /// The number of messages of the connection that are older than all slots: the sequence number of the first slot.
    first: u64,
    /// The number of slots up to and including the newest answered one.
    overtaken: usize,
    /// The number of measured messages that were forgotten and got no reply although a later one did.
    lost: u64,
    /// The messages whose reply has begun and not ended, each with the instant of the reply's last part; `None` before
    /// the first.
    #[expect(
        clippy::box_collection,
        reason = "most connections have none, and an idle one is to be small"
    )]
    streams: Option<Box<Vec<(u32, Instant)>>>,
}

/// A [`Flight`] with its state, packed.
#[derive(Clone, Copy, Debug)]
struct Slot {
    due: Instant,
    sent: Instant,
    exchange: u16,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Awaited,
    Answered,
    /// Given up; `measured` is true if it was due in the measurement.
    GivenUp {
        measured: bool,
    },
}

/// The relation of a reply to the message that it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    /// The first one.
    First(Flight),
    /// The first one, after the reply to a later message.
    Reordered(Flight),
    /// One more.
    Duplicate,
    /// A reply after the message was given up.
    Late,
    /// There was no such message.
    Unknown,
}

impl InFlight {
    #[inline]
    pub(crate) fn push(&mut self, flight: Flight) {
        self.slots.push_back(Slot::new(flight, State::Awaited));
    }

    /// Adds a message that was sent and gets no reply: it has ended already.
    pub(crate) fn push_ended(&mut self, flight: Flight) {
        if self.slots.is_empty() {
            self.first += 1;
        } else {
            self.slots.push_back(Slot::new(flight, State::Answered));
            self.ended += 1;
        }
    }

    pub(crate) fn reserve(&mut self, count: usize) {
        self.slots.reserve_exact(count);
    }

    /// Takes the oldest awaited message, which the next reply answers if replies arrive in the order of their messages.
    /// Returns its number with it.
    #[inline]
    pub(crate) fn take_oldest(&mut self) -> Option<(u32, Flight)> {
        if self.ended > 0 {
            return self.take_oldest_among_ended();
        }
        let slot = self.slots.pop_front()?;
        let sequence = wrapped(self.first);
        self.first += 1;
        self.overtaken = self.overtaken.saturating_sub(1);
        Some((sequence, slot.flight()))
    }

    #[inline(never)]
    fn take_oldest_among_ended(&mut self) -> Option<(u32, Flight)> {
        let index = self.slots.iter().position(|slot| slot.state == State::Awaited)?;
        let sequence = wrapped(self.first + index as u64);
        Some((sequence, self.answer(index)))
    }

    /// Takes a reply to the message with this number that was due at `due`, without checking the reply's content.
    pub(crate) fn take_named(&mut self, sequence: u32, due: Instant) -> Named {
        let Some(index) = self.index(sequence) else {
            let is_older = self.slots.front().is_none_or(|slot| due <= slot.due);
            return if is_older && self.was_sent(sequence) {
                Named::Duplicate
            } else {
                Named::Unknown
            };
        };
        let slot = &mut self.slots[index];
        match slot.state {
            _ if slot.due != due => Named::Unknown,
            State::Awaited | State::Answered | State::GivenUp { .. } => self.take_at(index),
        }
    }

    /// Takes a reply to the message with this number, if the reply names nothing but the number.
    pub(crate) fn take_numbered(&mut self, sequence: u32) -> Named {
        self.streams.iter_mut().for_each(|streams| streams.retain(|(of, _)| *of != sequence));
        match self.index(sequence) {
            Some(index) => self.take_at(index),
            None if self.was_sent(sequence) => Named::Duplicate,
            None => Named::Unknown,
        }
    }

    /// Takes a part, received at `now`, of the reply to the message with this number. Returns the message and the
    /// instant of the previous part; `None` if the message is not awaited.
    pub(crate) fn part(
        &mut self,
        sequence: u32,
        now: Instant,
    ) -> Option<(Flight, Option<Instant>)> {
        let slot = self.slots[self.index(sequence)?];
        if slot.state != State::Awaited {
            return None;
        }
        let streams = self.streams.get_or_insert_default();
        let before = match streams.iter_mut().find(|(of, _)| *of == sequence) {
            Some((_, last)) => Some(std::mem::replace(last, now)),
            None => {
                streams.push((sequence, now));
                None
            }
        };
        Some((slot.flight(), before))
    }

    /// Takes a reply to the message in the slot at `index`.
    fn take_at(&mut self, index: usize) -> Named {
        let slot = &mut self.slots[index];
        match slot.state {
            State::Answered => Named::Duplicate,
            State::GivenUp { .. } => {
                slot.state = State::Answered;
                self.overtaken = self.overtaken.max(index + 1);
                self.trim();
                Named::Late
            }
            State::Awaited if index < self.overtaken => Named::Reordered(self.answer(index)),
            State::Awaited => Named::First(self.answer(index)),
        }
    }

    /// The number of awaited messages that were due at `since` or later.
    pub(crate) fn due_since(&self, since: Instant) -> u64 {
        let awaited = |slot: &&Slot| slot.state == State::Awaited && slot.due >= since;
        self.slots.iter().filter(awaited).count() as u64
    }

    /// Gives up the oldest awaited message if it was sent at or before `sent_max`. One that was due before
    /// `measured_from` never counts as lost.
    pub(crate) fn give_up(&mut self, sent_max: Instant, measured_from: Instant) -> Option<Flight> {
        let awaited = |slot: &&mut Slot| slot.state == State::Awaited;
        let slot = self.slots.iter_mut().find(awaited)?;
        if slot.sent > sent_max {
            return None;
        }
        slot.state = State::GivenUp { measured: slot.due >= measured_from };
        let flight = slot.flight();
        self.ended += 1;
        self.trim();
        Some(flight)
    }

    /// Forgets everything. Calls `each` for every message without a reply that is still known, with true if a later one
    /// was answered. Returns the number of measured messages that were lost and are no longer known.
    pub(crate) fn end(&mut self, mut each: impl FnMut(Flight, bool)) -> u64 {
        for (index, slot) in self.slots.drain(..).enumerate() {
            if slot.state != State::Answered {
                each(slot.flight(), index < self.overtaken);
            }
        }
        (self.ended, self.overtaken) = (0, 0);
        self.streams = None;
        std::mem::take(&mut self.lost)
    }

    /// The awaited messages, oldest first.
    pub(crate) fn awaited(&self) -> impl Iterator<Item = Flight> + '_ {
        let awaited = self.slots.iter().filter(|slot| slot.state == State::Awaited);
        awaited.map(Slot::flight)
    }

    /// The number of awaited messages.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.ended
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The oldest that is awaited.
    pub(crate) fn oldest(&self) -> Option<Flight> {
        self.awaited().next()
    }

    /// The newest of all.
    pub(crate) fn newest(&self) -> Option<Flight> {
        self.slots.back().map(Slot::flight)
    }

    /// The number that the next message gets.
    #[inline]
    pub(crate) fn next_sequence(&self) -> u32 {
        wrapped(self.first + self.slots.len() as u64)
    }

    fn answer(&mut self, index: usize) -> Flight {
        self.slots[index].state = State::Answered;
        self.ended += 1;
        self.overtaken = self.overtaken.max(index + 1);
        let flight = self.slots[index].flight();
        self.trim();
        flight
    }

    /// Forgets the oldest ended messages; a given-up one only if too many would stay because of it.
    fn trim(&mut self) {
        while let Some(slot) = self.slots.front() {
            match slot.state {
                State::Awaited => return,
                State::GivenUp { .. } if self.ended <= ENDED_MAX => return,
                State::GivenUp { measured } => {
                    self.lost += u64::from(measured && self.overtaken > 0);
                }
                State::Answered => {}
            }
            self.slots.pop_front();
            self.ended -= 1;
            self.first += 1;
            self.overtaken = self.overtaken.saturating_sub(1);
        }
    }

    /// The index of the message with this number, if it is still known.
    fn index(&self, sequence: u32) -> Option<usize> {
        let index = sequence.wrapping_sub(wrapped(self.first)) as usize;
        (index < self.slots.len()).then_some(index)
    }

    /// True if a message had this number and is no longer known.
    fn was_sent(&self, sequence: u32) -> bool {
        (1..=self.first).contains(&wrapped(self.first).wrapping_sub(sequence).into())
    }
}

impl Slot {
    fn new(Flight { due, sent, exchange }: Flight, state: State) -> Self {
        Self { due, sent, exchange, state }
    }

    fn flight(&self) -> Flight {
        Flight { due: self.due, sent: self.sent, exchange: self.exchange }
    }
}

/// The most ended messages that are kept because an older one was given up and may still be answered.
const ENDED_MAX: usize = 1024;

/// Sequence numbers wrap around after 2^32 messages of a connection.
#[expect(clippy::cast_possible_truncation, reason = "that is meant")]
const fn wrapped(sequence: u64) -> u32 {
    sequence as u32
}
