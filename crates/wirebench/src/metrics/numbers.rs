//! The sums of a run so far, which one thread adds up and the outputs read.

use report::Exposed;
use run::{Measured, Tick};
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The sums of a run so far.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    state: Mutex<State>,
    pub(super) over: Condvar,
}

/// The sums at one instant.
#[derive(Debug, Default)]
pub(super) struct State {
    measured: Measured,
    /// The messages that are due each second in the last block of each measurement.
    due_per_s: BTreeMap<Arc<str>, f64>,
    block: (usize, usize),
    pub(super) dropped: u64,
    pub(super) is_over: bool,
}

impl Numbers {
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_over(&self) -> bool {
        self.lock().is_over
    }

    /// Returns the metrics as `write` formats them.
    pub(super) fn written<T>(&self, write: impl FnOnce(&report::Metrics<'_>) -> T) -> T {
        write(&self.lock().metrics())
    }
}

impl State {
    pub(super) fn add(&mut self, tick: &Tick) {
        self.block = tick.block;
        self.measured.add(tick);
        if let Some(due) = tick.due_per_s {
            self.due_per_s.insert(Arc::clone(&tick.name), due);
        }
    }

    fn metrics(&self) -> report::Metrics<'_> {
        let exposed = |(name, traffic)| {
            let due_per_s = self.due_per_s.get(name).copied();
            Exposed { name, due_per_s, traffic }
        };
        let workloads = self.measured.iter().map(exposed).collect();
        report::Metrics { workloads, block: self.block, dropped: self.dropped }
    }
}
