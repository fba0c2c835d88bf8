//! The recovery of connections, as in Socket.IO 4.6: a client that lost its connection and comes back in time has its
//! old ids, is in its rooms again, and gets what was published there meanwhile.
//!
//! ```text
//! 40{"sid":…,"pid":…}                      each event ends with an offset:  42["message",text,"7"]
//! 40{"pid":…,"offset":"7"} ->              what was missed, and then 40{"sid":…,"pid":…}, both as before
//! ```
//!
//! Messages are kept for all rooms together, and so are lost clients: both for the requested time, and at most
//! [`LEN_MAX`] bytes of both together. A client that is no longer kept, or whose messages are not, begins anew.

use super::late::Words;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use units::{Instant, Nanos};

/// The messages and clients kept for recovery.
#[derive(Debug, Default)]
pub(super) struct Recovery {
    /// The time for which they are kept; zero: nothing is kept.
    time: Nanos,
    /// The offset of the last published message.
    last: u64,
    /// The offset of the last forgotten message.
    forgotten: u64,
    messages: VecDeque<Kept>,
    /// Lost clients, by the ids with which they come back.
    lost: HashMap<Box<str>, Lost>,
    /// The instants at which clients were lost, with these ids, including clients that have come back.
    order: VecDeque<(Instant, Box<str>)>,
    /// The memory of all this, in bytes.
    len: usize,
}

/// A message that was published in a room.
#[derive(Debug)]
struct Kept {
    at: Instant,
    room: Box<[u8]>,
    words: Arc<Words>,
}

/// A client that was lost, in one of its namespaces.
#[derive(Debug)]
pub(super) struct Lost {
    pub(super) namespace: Box<str>,
    pub(super) sid: Box<str>,
    pub(super) rooms: Vec<Box<[u8]>>,
    /// The instant at which it was lost.
    pub(super) at: Instant,
}

/// A client that has come back.
#[derive(Debug)]
pub(super) struct Recovered {
    pub(super) lost: Lost,
    pub(super) missed: Vec<Arc<Words>>,
}

impl Recovery {
    /// Keeps everything for `time`.
    pub(super) fn over(time: Nanos) -> Self {
        Self { time, ..Self::default() }
    }

    /// True if anything is kept.
    pub(super) fn is_on(&self) -> bool {
        self.time > Nanos::ZERO
    }

    /// The offset for an event that is not a message of a room, so that every event has one.
    pub(super) fn offset(&self) -> Option<u64> {
        self.is_on().then_some(self.last)
    }

    /// The offset of the next published message.
    pub(super) fn next_offset(&mut self) -> Option<u64> {
        self.last += u64::from(self.is_on());
        self.offset()
    }

    /// Keeps the last published message, at `now`.
    pub(super) fn keep(&mut self, room: &[u8], words: &Arc<Words>, now: Instant) {
        if !self.is_on() {
            return;
        }
        self.forget(now);
        let kept = Kept { at: now, room: room.into(), words: Arc::clone(words) };
        self.len += kept.len();
        self.messages.push_back(kept);
        while self.len > LEN_MAX && self.forget_first() {}
    }

    /// Keeps a lost client, which comes back with `pid`, if there is room for it.
    pub(super) fn lose(&mut self, pid: Box<str>, lost: Lost) {
        self.forget(lost.at);
        let len = lost.len() + len_of(&pid);
        if self.len + len <= LEN_MAX {
            self.len += len;
            self.order.push_back((lost.at, pid.clone()));
            self.lost.insert(pid, lost);
        }
    }

    /// Takes the client that comes back to a namespace at `now` with `pid` and has seen everything up to `offset`;
    /// `None` if it, or a message that it may have missed, is no longer kept.
    pub(super) fn take(
        &mut self,
        pid: &str,
        namespace: &str,
        offset: u64,
        now: Instant,
    ) -> Option<Recovered> {
        self.forget(now);
        let is_its = self.lost.get(pid).is_some_and(|lost| *lost.namespace == *namespace);
        if !is_its || !(self.forgotten..=self.last).contains(&offset) {
            return None;
        }
        let lost = self.lost.remove(pid)?;
        self.len -= lost.len();
        let seen = usize::try_from(offset - self.forgotten).unwrap_or(usize::MAX);
        let rooms: HashSet<&[u8]> = lost.rooms.iter().map(|room| &**room).collect();
        let missed = self.messages.iter().skip(seen).filter(|kept| rooms.contains(&*kept.room));
        let missed = missed.map(|kept| Arc::clone(&kept.words)).collect();
        Some(Recovered { lost, missed })
    }

    /// Forgets what has expired at `now`.
    fn forget(&mut self, now: Instant) {
        while self.messages.front().is_some_and(|kept| now.since(kept.at) >= self.time) {
            self.forget_first();
        }
        while self.order.front().is_some_and(|(at, _)| now.since(*at) >= self.time)
            && let Some((at, pid)) = self.order.pop_front()
        {
            self.len -= len_of(&pid);
            if self.lost.get(&pid).is_some_and(|lost| lost.at == at)
                && let Some(lost) = self.lost.remove(&pid)
            {
                self.len -= lost.len();
            }
        }
    }

    /// Forgets the oldest message; false if there is none.
    fn forget_first(&mut self) -> bool {
        let Some(kept) = self.messages.pop_front() else { return false };
        self.len -= kept.len();
        self.forgotten += 1;
        true
    }
}

impl Kept {
    fn len(&self) -> usize {
        size_of::<Self>() + size_of::<Words>() + self.room.len() + self.words.bytes.len()
    }
}

impl Lost {
    fn len(&self) -> usize {
        let rooms = self.rooms.iter().map(|room| size_of::<Box<[u8]>>() + room.len());
        size_of::<Self>() + self.namespace.len() + self.sid.len() + rooms.sum::<usize>()
    }
}

/// The memory of the id of a lost client.
fn len_of(pid: &str) -> usize {
    2 * size_of::<(Instant, Box<str>)>() + 2 * pid.len()
}

/// The most memory for messages and lost clients together, in bytes.
const LEN_MAX: usize = 64 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use wire::Kind;

    fn at(ms: u64) -> Instant {
        Instant::START + Nanos::from_millis(ms)
    }

    fn publish(recovery: &mut Recovery, room: &str, len: usize, ms: u64) -> u64 {
        let offset = recovery.next_offset().unwrap();
        let bytes = vec![b'x'; len].into();
        let words = Arc::new(Words { kind: Kind::Text, bytes, offset: Some(offset) });
        recovery.keep(room.as_bytes(), &words, at(ms));
        offset
    }

    fn lose(recovery: &mut Recovery, pid: &str, rooms: &[&str], ms: u64) {
        let rooms = rooms.iter().map(|room| room.as_bytes().into()).collect();
        let lost = Lost { namespace: "/a,".into(), sid: "s".into(), rooms, at: at(ms) };
        recovery.lose(pid.into(), lost);
    }

    fn missed(recovery: &mut Recovery, pid: &str, offset: u64, ms: u64) -> Option<Vec<u64>> {
        let recovered = recovery.take(pid, "/a,", offset, at(ms))?;
        Some(recovered.missed.iter().map(|words| words.offset.unwrap()).collect())
    }

    #[test]
    fn a_client_that_comes_back_gets_what_it_has_missed_in_its_rooms() {
        let mut recovery = Recovery::over(Nanos::from_secs(10));
        for room in ["a", "b", "c"] {
            publish(&mut recovery, room, 1, 0);
        }
        lose(&mut recovery, "p", &["a", "c"], 1);
        for room in ["a", "b", "c", "a"] {
            publish(&mut recovery, room, 1, 2);
        }
        assert!(recovery.take("q", "/a,", 1, at(3)).is_none());
        assert!(recovery.take("p", "", 1, at(3)).is_none(), "another namespace");
        assert!(recovery.take("p", "/a,", 8, at(3)).is_none(), "an offset that was never given");
        assert_eq!(missed(&mut recovery, "p", 3, 3), Some(vec![4, 6, 7]));
        assert_eq!(missed(&mut recovery, "p", 3, 3), None, "it is taken");
        lose(&mut recovery, "p", &["a", "c"], 4);
        assert_eq!(missed(&mut recovery, "p", 7, 5), Some(vec![]));
    }

    #[test]
    fn clients_and_messages_are_kept_for_a_time() {
        let mut recovery = Recovery::over(Nanos::from_secs(10));
        publish(&mut recovery, "a", 1, 0);
        publish(&mut recovery, "a", 1, 5_000);
        for pid in ["p", "q", "r"] {
            lose(&mut recovery, pid, &["a"], 5_000);
        }
        assert_eq!(missed(&mut recovery, "p", 0, 9_999), Some(vec![1, 2]));
        assert_eq!(missed(&mut recovery, "q", 0, 10_000), None, "the first message is gone");
        assert_eq!(missed(&mut recovery, "q", 1, 10_000), Some(vec![2]));
        assert_eq!(missed(&mut recovery, "r", 2, 15_000), None);
        assert_eq!((recovery.len, recovery.order.len(), recovery.messages.len()), (0, 0, 0));
    }

    #[test]
    fn a_client_that_is_lost_again_is_kept_from_then_on() {
        let mut recovery = Recovery::over(Nanos::from_secs(10));
        lose(&mut recovery, "p", &["a"], 0);
        assert_eq!(missed(&mut recovery, "p", 0, 1), Some(vec![]));
        lose(&mut recovery, "p", &["a"], 9_000);
        assert_eq!(missed(&mut recovery, "p", 0, 18_999), Some(vec![]));
    }

    #[test]
    fn memory_has_a_limit() {
        let mut recovery = Recovery::over(Nanos::from_secs(10));
        lose(&mut recovery, "p", &["a"], 0);
        for _ in 0..9 {
            publish(&mut recovery, "a", LEN_MAX / 8, 1);
        }
        assert!(recovery.len <= LEN_MAX && recovery.messages.len() == 7, "{}", recovery.len);
        assert_eq!(missed(&mut recovery, "p", 1, 2), None);
        let room = "r".repeat(LEN_MAX / 8);
        lose(&mut recovery, "q", &[&room], 2);
        assert_eq!(missed(&mut recovery, "q", 9, 3), None, "there is no room for it");
        assert_eq!(missed(&mut recovery, "p", 2, 3), Some((3..=9).collect()));
    }

    #[test]
    fn nothing_is_kept_unless_it_is_asked_for() {
        let mut recovery = Recovery::default();
        assert_eq!((recovery.next_offset(), recovery.offset()), (None, None));
        let words = Arc::new(Words { kind: Kind::Text, bytes: [].into(), offset: None });
        recovery.keep(b"a", &words, at(0));
        assert_eq!(recovery.len, 0);
    }
}
