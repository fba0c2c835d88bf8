//! One `run` line: how long it warms up and measures, and where it is in that.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

pub(crate) struct Block {
    pub(crate) warm_up: Duration,
    length: Length,
    /// A life that has begun is followed to its end.
    followed: bool,
    /// Messages or clients that may still begin.
    left: AtomicI64,
    epoch: Instant,
    /// The instant at which the window begins; [`u64::MAX`]: not yet.
    start: AtomicU64,
    gate: (Mutex<bool>, Condvar),
}

#[derive(Clone, Copy, PartialEq)]
enum Length {
    Time(u64),
    Messages,
    Clients,
}

impl Block {
    /// An error says in words what is not supported.
    pub(crate) fn read(line: &str, short_lived: bool) -> Result<Self, String> {
        let mut warm_up = 0;
        let mut lengths = Vec::new();
        for word in line.split_whitespace().skip_while(|word| *word == "run") {
            let (key, value) = word.split_once('=').ok_or(word)?;
            let value: u64 = value.parse().map_err(|_| word)?;
            match key {
                "warm_up_ns" => warm_up = value,
                "time_ns" => lengths.push((Length::Time(value), 0)),
                "messages" => lengths.push((Length::Messages, value)),
                "clients" if short_lived => lengths.push((Length::Clients, value)),
                _ => return Err(key.to_owned()),
            }
        }
        let [(length, left)] = lengths[..] else {
            return Err("not exactly one of time_ns, messages and clients".to_owned());
        };
        let warm_up = if length == Length::Clients { 0 } else { warm_up };
        Ok(Self {
            warm_up: Duration::from_nanos(warm_up),
            length,
            followed: short_lived && length != Length::Messages,
            left: AtomicI64::new(left.try_into().map_err(|_| "so large a number")?),
            epoch: Instant::now(),
            start: AtomicU64::new(u64::MAX),
            gate: (Mutex::new(false), Condvar::new()),
        })
    }

    /// Nanoseconds since this block was read.
    pub(crate) fn now(&self) -> u64 {
        self.epoch.elapsed().as_nanos() as u64
    }

    /// The window begins.
    pub(crate) fn measure(&self) -> u64 {
        let now = self.now();
        self.start.store(now, Ordering::Release);
        now
    }

    /// All set off together.
    pub(crate) fn open_gate(&self) {
        *self.gate.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.gate.1.notify_all();
    }

    pub(crate) fn wait_at_gate(&self) {
        let open = self.gate.0.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.gate.1.wait_while(open, |open| !*open));
    }

    /// True if what begins at this instant is of the window.
    pub(crate) fn counts(&self, now: u64) -> bool {
        now >= self.start.load(Ordering::Acquire)
    }

    /// True if one more message may be sent; takes one of those that are left.
    pub(crate) fn may_send(&self, now: u64) -> bool {
        self.followed || self.goes_on(now, 1)
    }

    /// True if one more short-lived client may begin.
    pub(crate) fn may_live(&self, now: u64) -> bool {
        self.goes_on(now, if self.length == Length::Messages { 0 } else { 1 })
    }

    /// Takes the place of a message that could not be sent, so that a server that is gone ends the block.
    pub(crate) fn spend(&self, now: u64) {
        if !self.followed {
            self.goes_on(now, 1);
        }
    }

    fn goes_on(&self, now: u64, taken: i64) -> bool {
        let start = self.start.load(Ordering::Acquire);
        match self.length {
            _ if now < start => true,
            Length::Time(length) => now - start < length,
            Length::Messages | Length::Clients => self.left.fetch_sub(taken, Ordering::Relaxed) > 0,
        }
    }
}
