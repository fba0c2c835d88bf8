//! The replies that wait for their turn.

use super::json_rpc::Said;
use super::lot::Lot;
use crate::behaviour::Stall;
use engine::ConnectionId;
use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};
use units::{Instant, Rate};
use wire::Kind;

/// Keeps each reply from the decoding of its message to its turn: first its delay passes, then it queues for the cap.
#[derive(Debug, Default)]
pub(super) struct Line {
    /// Replies whose delay is not over, the earliest on top.
    delayed: BinaryHeap<Reply>,
    /// Replies whose delay is over, in the order of their turns.
    queued: VecDeque<(Instant, Reply)>,
    stalls: Stalls,
    turns: Turns,
    /// The number of replies that have joined so far.
    count: u64,
    /// The approximate memory of the waiting replies, in bytes.
    held_len: usize,
    /// The limit on that memory: beyond it, further input waits in the kernels until some replies have left.
    held_len_max: usize,
}

/// A reply that waits.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Reply {
    /// The end of its delay.
    ready: Instant,
    /// Its number among all replies that have joined.
    pub(super) number: u64,
    pub(super) to: ConnectionId,
    pub(super) decoded: Instant,
    pub(super) kind: Kind,
    pub(super) said: Said,
    pub(super) lot: Lot,
}

impl Line {
    pub(super) fn new(stalls: Vec<Stall>, cap: Option<Rate>) -> Self {
        let stalls = Stalls { planned: stalls, first_message: None };
        Self {
            stalls,
            turns: Turns { cap, ..Turns::default() },
            held_len_max: HELD_LEN_MAX,
            ..Self::default()
        }
    }

    /// Limits replies to half of `bytes` bytes of memory, if that is less than usual; the other half is for incomplete
    /// messages and unread replies.
    pub(super) fn set_memory_max(&mut self, bytes: usize) {
        self.held_len_max = HELD_LEN_MAX.min(bytes / 2);
    }

    /// The approximate memory of the waiting replies, in bytes.
    pub(super) fn held_len(&self) -> usize {
        self.held_len
    }

    /// Adds a reply, whose turn comes no earlier than `after`: replies of a connection keep their order. Returns the
    /// instant at which it will be ready.
    pub(super) fn join(&mut self, reply: Waiting, after: Instant) -> Instant {
        let Waiting { to, decoded, kind, said, lot } = reply;
        let ready = self.stalls.over_from((decoded + lot.delay).max(after));
        let number = self.count;
        let reply = Reply { ready, number, to, decoded, kind, said, lot };
        self.held_len += reply.held_len();
        self.count += 1;
        self.delayed.push(reply);
        ready
    }

    /// Takes the next reply whose turn has come.
    pub(super) fn next(&mut self, now: Instant) -> Option<Reply> {
        while self.delayed.peek().is_some_and(|reply| reply.ready <= now)
            && let Some(reply) = self.delayed.pop()
        {
            self.queued.push_back((self.turns.take(reply.ready, &self.stalls), reply));
        }
        self.queued.front().filter(|(turn, _)| *turn <= now)?;
        let (_, reply) = self.queued.pop_front()?;
        self.held_len -= reply.held_len();
        Some(reply)
    }

    /// The instant at which [`Line::next`] may return another reply.
    pub(super) fn wake(&self) -> Instant {
        let ready = self.delayed.peek().map_or(Instant::NEVER, |reply| reply.ready);
        self.queued.front().map_or(Instant::NEVER, |(turn, _)| *turn).min(ready)
    }

    /// True if so much is waiting that no more should be read.
    pub(super) fn is_full(&self) -> bool {
        self.held_len >= self.held_len_max
    }

    /// Notes that a message was decoded: the first one starts the time of the stalls.
    pub(super) fn note_message(&mut self, decoded: Instant) {
        self.stalls.first_message.get_or_insert(decoded);
    }

    /// Returns `at`, or the end of the stall that it is in.
    pub(super) fn over_from(&self, at: Instant) -> Instant {
        self.stalls.over_from(at)
    }
}

/// The parts of a reply.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) to: ConnectionId,
    pub(super) decoded: Instant,
    pub(super) kind: Kind,
    pub(super) said: Said,
    pub(super) lot: Lot,
}

impl Reply {
    fn held_len(&self) -> usize {
        size_of::<Self>() + self.said.len()
    }
}

impl Ord for Reply {
    /// Orders the earlier reply as the greater, as the max-heap requires.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.ready, other.number).cmp(&(self.ready, self.number))
    }
}

impl PartialOrd for Reply {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The times in which the server stands still.
#[derive(Debug, Default)]
struct Stalls {
    planned: Vec<Stall>,
    first_message: Option<Instant>,
}

impl Stalls {
    /// Returns `at`, or the end of the stall that it is in; stalls that touch or overlap count as one.
    fn over_from(&self, mut at: Instant) -> Instant {
        let Some(first) = self.first_message else { return at };
        let end_of_one = |at: Instant| {
            let spans = self.planned.iter().map(|stall| {
                let begin = first + stall.after;
                (begin, begin + stall.length)
            });
            spans.filter(|(begin, end)| *begin <= at && at < *end).map(|(_, end)| end).max()
        };
        while let Some(end) = end_of_one(at) {
            at = end;
        }
        at
    }
}

/// The instants at which replies leave under a cap.
#[derive(Debug, Default)]
struct Turns {
    cap: Option<Rate>,
    /// The start of the busy period.
    busy_since: Instant,
    /// The number of turns in the busy period so far.
    count: u64,
}

impl Turns {
    /// Returns the turn of a reply that is ready at `ready`, no earlier than the replies before it.
    fn take(&mut self, ready: Instant, stalls: &Stalls) -> Instant {
        let Some(cap) = self.cap else { return ready };
        let next = self.busy_since + cap.due(self.count);
        let turn = stalls.over_from(next.max(ready));
        if turn > next {
            self.busy_since = turn;
            self.count = 0;
        }
        self.count += 1;
        turn
    }
}

/// The most memory for replies, in bytes, even if more is available.
const HELD_LEN_MAX: usize = 64 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn turns(cap: &str, stalls: &[&str], ready: &[u64]) -> Vec<u64> {
        let planned = stalls.iter().map(|stall| stall.parse().unwrap()).collect();
        let stalls = Stalls { planned, first_message: Some(Instant::START) };
        let mut turns = Turns { cap: Some(cap.parse().unwrap()), ..Turns::default() };
        ready.iter().map(|ready| turns.take(stalls.over_from(Instant(*ready)), &stalls).0).collect()
    }

    #[test]
    fn turns_of_a_busy_period_follow_from_their_number() {
        let third = |number: u64| number * 1_000_000_000 / 3;
        let all: Vec<u64> = (0..1000).map(third).collect();
        assert_eq!(turns("3/s", &[], &[0; 1000]), all);
        // Always at the exact instant: rounding errors do not add up.
        assert_eq!(turns("3/s", &[], &all), all);
    }

    #[test]
    fn a_busy_period_ends_when_nobody_is_ready_at_his_turn() {
        #[rustfmt::skip]
        let table: [(&[u64], &[u64]); _] = [
            (&[5, 5, 5],        &[5, 105, 205]),
            (&[5, 105, 206],    &[5, 105, 206]),
            (&[5, 90, 100, 299, 400], &[5, 105, 205, 305, 405]),
            (&[5, 300, 310],    &[5, 300, 400]),
        ];
        for (ready, expected) in table {
            assert_eq!(turns("1/100ns", &[], ready), expected, "{ready:?}");
        }
    }

    #[test]
    fn a_cap_begins_anew_after_a_stall() {
        // The third turn is in the stall, and so are the last two replies' instants of being ready.
        let expected = [0, 100, 250, 350, 450];
        assert_eq!(turns("1/100ns", &["100ns@150ns"], &[0, 0, 0, 160, 240]), expected);
    }

    #[test]
    fn stalls_that_touch_are_one() {
        let stalls = ["10ns@20ns", "5ns@30ns", "2ns@22ns", "1ns@40ns"];
        let planned = stalls.iter().map(|stall| stall.parse().unwrap()).collect();
        let mut stalls = Stalls { planned, first_message: None };
        assert_eq!(stalls.over_from(Instant(125)), Instant(125));
        stalls.first_message = Some(Instant(100));
        for (at, expected) in [(119, 119), (120, 135), (122, 135), (135, 135), (140, 141)] {
            assert_eq!(stalls.over_from(Instant(at)), Instant(expected), "{at}");
        }
    }
}
