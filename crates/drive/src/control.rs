//! What the workers of one run share: the common start, and the wish to stop.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use units::Instant;

/// Lets workers begin together and end early. None of it is touched for a message.
#[derive(Debug)]
pub struct Control {
    workers: u32,
    ready: AtomicU32,
    start: AtomicU64,
    stop: AtomicBool,
}

impl Control {
    /// For so many workers.
    pub fn new(workers: u32) -> Self {
        Self {
            workers,
            ready: AtomicU32::new(0),
            start: AtomicU64::new(Instant::NEVER.0),
            stop: AtomicBool::new(false),
        }
    }

    /// Asks all workers to end within a tenth of a second, keeping what they have measured.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether [`Control::stop`] was called.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// One more worker has its connections; the last one to say so starts them all.
    pub(crate) fn arrive(&self, now: Instant) {
        if self.ready.fetch_add(1, Ordering::AcqRel) + 1 == self.workers {
            self.start.store(now.0, Ordering::Release);
        }
    }

    /// When all workers were ready; [`Instant::NEVER`] before that.
    pub(crate) fn started_at(&self) -> Instant {
        Instant(self.start.load(Ordering::Acquire))
    }
}
