//! The state that the workers of one run share: the common start, the request to stop, a new rate, and kills of the
//! server.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use units::{Instant, Nanos, Rate};

/// Lets workers begin together and end early. Sending and receiving messages does not touch it.
#[derive(Debug)]
pub struct Control {
    workers: u32,
    ready: AtomicU32,
    start: AtomicU64,
    stop: AtomicBool,
    /// True if the start comes from outside ([`Control::begin`]).
    waits: bool,
    /// The time in which nothing is sent once every worker has its connections.
    silence: Nanos,
    /// The latest start: a worker that wakes up after this instant does not begin.
    latest: AtomicU64,
    /// The newest change of the rate, and the number of changes so far, which workers look at ten times a second.
    change: Mutex<Option<RateChange>>,
    changes: AtomicU32,
    /// The instant at which the server, or a part of it, was killed, and the instant at which it was ready again;
    /// [`Instant::NEVER`] before.
    killed: AtomicU64,
    back: AtomicU64,
    /// The instant by which a killed part was gone, if the whole server was not killed; [`Instant::NEVER`] before.
    part_gone: AtomicU64,
}

/// A new rate of an open loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateChange {
    /// The instant from which messages are due at this rate.
    pub at: Instant,
    /// The rate of all workers together.
    pub rate: Rate,
}

impl Control {
    /// Controls `workers` workers.
    pub fn new(workers: u32) -> Self {
        Self {
            workers,
            ready: AtomicU32::new(0),
            start: AtomicU64::new(Instant::NEVER.0),
            stop: AtomicBool::new(false),
            waits: false,
            silence: Nanos::ZERO,
            latest: AtomicU64::new(Instant::NEVER.0),
            change: Mutex::default(),
            changes: AtomicU32::new(0),
            killed: AtomicU64::new(Instant::NEVER.0),
            back: AtomicU64::new(Instant::NEVER.0),
            part_gone: AtomicU64::new(Instant::NEVER.0),
        }
    }

    /// Controls `workers` workers, which begin only at the instant that [`Control::begin`] sets.
    pub fn waiting(workers: u32) -> Self {
        Self { waits: true, ..Self::new(workers) }
    }

    /// Controls one worker, which listens for `silence` before it begins: messages that arrive in that time count as
    /// unasked.
    pub fn listening(silence: Nanos) -> Self {
        Self { silence, ..Self::new(1) }
    }

    /// True if the start comes from outside ([`Control::begin`]).
    pub(crate) fn waits(&self) -> bool {
        self.waits
    }

    /// True once every worker has its connections.
    pub fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire) == self.workers
    }

    /// Sets the start of waiting workers to `at`. They check for it every millisecond; one that wakes up after `latest`
    /// ends all of them instead.
    pub fn begin(&self, at: Instant, latest: Instant) {
        self.latest.store(latest.0, Ordering::Release);
        self.start.store(at.0, Ordering::Release);
    }

    /// Changes the rate of an open loop. Workers see the change within a tenth of a second; one that sees it after
    /// `change.at` has sent at the old rate until then.
    pub fn change_rate(&self, change: RateChange) {
        *self.change.lock().unwrap_or_else(PoisonError::into_inner) = Some(change);
        self.changes.fetch_add(1, Ordering::Release);
    }

    /// Returns the newest change if more than `seen` changes have been made, and updates `seen`.
    pub(crate) fn changed_since(&self, seen: &mut u32) -> Option<RateChange> {
        let changes = self.changes.load(Ordering::Acquire);
        if std::mem::replace(seen, changes) == changes {
            return None;
        }
        *self.change.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks all workers to end within a tenth of a second, keeping what they have measured.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// True if [`Control::stop`] was called.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Announces that the caller kills the server, or a part of it, at `now`: connections that this cuts are not
    /// errors. To be called just before the kill.
    pub fn killed(&self, now: Instant) {
        self.killed.store(now.0, Ordering::Release);
    }

    /// Announces that a killed part of the server, which receivers are not connected to, is gone by `now`: messages due
    /// from then on reach them through its replacement.
    pub fn part_is_gone(&self, now: Instant) {
        self.part_gone.store(now.0, Ordering::Release);
    }

    /// The instant at which a part of the server was killed, and the instant by which it was gone; `None` until it is
    /// gone.
    pub(crate) fn part_killed(&self) -> Option<(Instant, Instant)> {
        let gone = Instant(self.part_gone.load(Ordering::Acquire));
        (gone != Instant::NEVER).then(|| (Instant(self.killed.load(Ordering::Acquire)), gone))
    }

    /// Announces that the server, or its killed part, is ready again since `now`.
    pub fn is_back(&self, now: Instant) {
        self.back.store(now.0, Ordering::Release);
    }

    /// Returns the instant at which the server was killed, if that may be why a connection ended that began at `began`
    /// and has ended by `now`: it began before the server was ready again, and ended soon after that at the latest.
    pub(crate) fn killed_under(&self, began: Instant, now: Instant) -> Option<Instant> {
        let [killed, back] =
            [&self.killed, &self.back].map(|instant| Instant(instant.load(Ordering::Acquire)));
        let is_under = killed != Instant::NEVER && began < back && now < back + SEEN_LATE;
        is_under.then_some(killed)
    }

    /// Reports that one more worker has its connections. The last to do so starts them all: `lead` later if other
    /// workers have to see it.
    pub(crate) fn arrive(&self, now: Instant, lead: Nanos) {
        if self.ready.fetch_add(1, Ordering::AcqRel) + 1 == self.workers && !self.waits {
            let start = now + if self.workers > 1 { lead } else { self.silence };
            self.start.store(start.0, Ordering::Release);
        }
    }

    /// True if it is too late to begin.
    pub(crate) fn is_too_late(&self, now: Instant) -> bool {
        now > Instant(self.latest.load(Ordering::Acquire))
    }

    /// The instant at which all workers begin; [`Instant::NEVER`] until all are ready.
    pub fn started_at(&self) -> Instant {
        Instant(self.start.load(Ordering::Acquire))
    }
}

/// The longest time until we see the end of a connection that the kill of a server cut. A connection that lives longer
/// was made to the new server.
const SEEN_LATE: Nanos = Nanos::from_millis(250);
