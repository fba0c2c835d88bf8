//! Deliveries of a relay with known faults: each waits for its turn in the line of its receiver.

use crate::behaviour::Behaviour;
use std::collections::VecDeque;
use std::sync::Arc;
use units::{Instant, Nanos};
use wire::Kind;

/// The faults of the delivery of a message to one receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The copies that the receiver gets; none if the delivery is dropped.
    pub copies: usize,
    /// Time from the publication to its turn. The deliveries to a receiver keep their order: the turn is never before
    /// that of an earlier delivery.
    pub delay: Nanos,
    /// True if the next delivery to the receiver is handed over before it. If none overtakes it within 2 s of its turn,
    /// it is handed over then.
    pub is_overtaken: bool,
}

impl Default for Fault {
    /// Returns no fault: one copy, at once.
    fn default() -> Self {
        Self { copies: 1, delay: Nanos::ZERO, is_overtaken: false }
    }
}

/// A message as it is delivered, the same for all receivers.
#[derive(Debug)]
pub(super) struct Words {
    pub(super) kind: Kind,
    pub(super) bytes: Box<[u8]>,
    /// The offset with which clients of Socket.IO get it, if they may come back.
    pub(super) offset: Option<u64>,
}

/// The deliveries to one receiver that are not handed over yet.
#[derive(Debug, Default)]
pub(super) struct Line {
    waiting: VecDeque<Waiting>,
    /// A delivery whose turn has come, and which the next one is to overtake.
    held_back: Option<Waiting>,
}

/// A delivery that waits.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) words: Arc<Words>,
    pub(super) copies: usize,
    /// Its turn; for a delivery that is held back, the latest instant at which to hand it over.
    ready: Instant,
    is_overtaken: bool,
}

/// A delivery whose turn has come.
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) delivery: Waiting,
    /// True if a later one was handed over before it.
    pub(super) was_overtaken: bool,
}

impl Line {
    /// Adds a delivery at `now`. Returns its turn; `None` if too many wait.
    pub(super) fn join(
        &mut self,
        words: &Arc<Words>,
        fault: Fault,
        now: Instant,
    ) -> Option<Instant> {
        if self.waiting.len() >= WAITING_MAX {
            return None;
        }
        let Fault { copies, delay, is_overtaken } = fault;
        let before = self.waiting.back().map_or(now, |last| last.ready);
        let ready = before.max(now + delay);
        let words = Arc::clone(words);
        self.waiting.push_back(Waiting { words, copies, ready, is_overtaken });
        Some(ready)
    }

    /// Takes the deliveries to hand over at `now`, in order.
    pub(super) fn take(&mut self, now: Instant) -> Vec<Turn> {
        let mut turns = Vec::new();
        while self.waiting.front().is_some_and(|next| next.ready <= now)
            && let Some(next) = self.waiting.pop_front()
        {
            let overtaken = self.held_back.take();
            if next.is_overtaken && overtaken.is_none() {
                let ready = next.ready + Behaviour::HELD_BACK_MAX;
                self.held_back = Some(Waiting { ready, ..next });
                continue;
            }
            turns.push(Turn { delivery: next, was_overtaken: false });
            turns.extend(overtaken.map(|delivery| Turn { delivery, was_overtaken: true }));
        }
        let late = self.held_back.take_if(|held| held.ready <= now);
        turns.extend(late.map(|delivery| Turn { delivery, was_overtaken: false }));
        turns
    }

    /// The instant until which a delivery is held back, if one is.
    pub(super) fn held_until(&self) -> Option<Instant> {
        self.held_back.as_ref().map(|held| held.ready)
    }
}

/// The most deliveries that may wait for one receiver.
const WAITING_MAX: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Arc<Words> {
        Arc::new(Words { kind: Kind::Text, bytes: text.as_bytes().into(), offset: None })
    }

    fn at(ms: u64) -> Instant {
        Instant::START + Nanos::from_millis(ms)
    }

    /// The deliveries that are handed over at an instant; overtaken ones have a star.
    fn taken(line: &mut Line, ms: u64) -> String {
        let turns = line.take(at(ms)).into_iter().map(|Turn { delivery, was_overtaken }| {
            let text = String::from_utf8(delivery.words.bytes.to_vec()).unwrap();
            if was_overtaken { format!("{text}*") } else { text }
        });
        turns.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn deliveries_wait_for_their_turns_and_keep_their_order() {
        let mut line = Line::default();
        let mut join = |text, delay, ms| {
            let fault = Fault { delay: Nanos::from_millis(delay), ..Fault::default() };
            line.join(&words(text), fault, at(ms))
        };
        assert_eq!(join("a", 10, 0), Some(at(10)));
        assert_eq!(join("b", 2, 1), Some(at(10)));
        assert_eq!(join("c", 10, 2), Some(at(12)));
        assert_eq!(taken(&mut line, 9), "");
        assert_eq!(taken(&mut line, 10), "a b");
        assert_eq!(taken(&mut line, 11), "");
        assert_eq!(taken(&mut line, 12), "c");
        assert_eq!(line.join(&words("d"), Fault::default(), at(20)), Some(at(20)));
        assert_eq!(taken(&mut line, 20), "d");
    }

    #[test]
    fn a_delivery_comes_behind_the_one_that_overtakes_it() {
        let mut line = Line::default();
        let mut join = |text, is_overtaken, ms| {
            let fault = Fault { is_overtaken, ..Fault::default() };
            line.join(&words(text), fault, at(ms)).unwrap();
        };
        join("a", true, 0);
        join("b", false, 0);
        join("c", true, 1);
        join("d", true, 2); // It overtakes, so it is not overtaken itself.
        join("e", true, 3);
        assert_eq!(taken(&mut line, 0), "b a*");
        assert_eq!(taken(&mut line, 1), "");
        assert_eq!(line.held_until(), Some(at(2001)));
        assert_eq!(taken(&mut line, 3), "d c*");
        assert_eq!(line.held_until(), Some(at(2003)));
        assert_eq!(taken(&mut line, 2002), "");
        assert_eq!(taken(&mut line, 2003), "e");
        assert_eq!(line.held_until(), None);
    }

    #[test]
    fn a_line_has_an_end() {
        let (mut line, words) = (Line::default(), words("a"));
        for _ in 0..WAITING_MAX {
            assert!(line.join(&words, Fault::default(), at(0)).is_some());
        }
        assert_eq!(line.join(&words, Fault::default(), at(0)), None);
        assert_eq!(line.take(at(0)).len(), WAITING_MAX);
        assert!(line.join(&words, Fault::default(), at(0)).is_some());
    }
}
