//! The hand-over from workers to the collector: intervals, and CPU time read at phase boundaries.

use crate::children::processes::Processes;
use drive::{Control, Interval, Observer, Phase};
use engine::clock::{own_cpu, thread_cpu};
use load::Arrival;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use units::{Instant, Nanos};

/// A message from a worker.
#[derive(Debug)]
pub(crate) enum Told {
    /// A tenth of a second of work.
    Interval {
        /// The worker's index, to which the interval is returned.
        worker: usize,
        interval: Box<Interval>,
    },
    /// The measurement begins, or has ended, on the first worker.
    Boundary(Phase, CpuReading),
}

/// CPU time used so far, read by a worker exactly at the boundary of the measurement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CpuReading {
    pub(crate) at: Instant,
    pub(crate) generator: Nanos,
    pub(crate) server: Option<Nanos>,
}

/// Passes on what one worker hands over. Intervals are returned empty and reused.
#[derive(Debug)]
pub(crate) struct Watch {
    worker: usize,
    told: SyncSender<Told>,
    returned: Receiver<Box<Interval>>,
    /// The processes of the server, if they are known.
    server: Option<Processes>,
    arrival: Arrival,
    /// The instant at which the measurement began on this worker, and the CPU time of its thread then.
    began: Option<(Instant, Nanos)>,
    busy: Option<f64>,
}

/// The collecting end of one worker's [`Watch`], through which its intervals are returned.
pub(crate) type Returns = SyncSender<Box<Interval>>;

impl Watch {
    /// The watch of worker number `worker`, which sends to `told`; the first worker reads the CPU time for all.
    pub(crate) fn new(
        worker: usize,
        told: SyncSender<Told>,
        server: Option<Processes>,
        arrival: Arrival,
    ) -> (Self, Returns) {
        let (returns, returned) = sync_channel(INTERVALS_KEPT);
        for _ in 0..INTERVALS_KEPT {
            drop(returns.try_send(Box::new(Interval::new(&arrival))));
        }
        (Self { worker, told, returned, server, arrival, began: None, busy: None }, returns)
    }

    /// The share of the measurement that the worker's thread was busy, 0 to 1; `None` if the measurement did not end.
    pub(crate) fn busy(&self) -> Option<f64> {
        self.busy
    }
}

impl Observer for Watch {
    fn interval(&mut self, interval: &mut Box<Interval>) {
        // If the collector is late and no buffer is left, a new one is made.
        let empty =
            self.returned.try_recv().unwrap_or_else(|_| Box::new(Interval::new(&self.arrival)));
        let full = std::mem::replace(interval, empty);
        drop(self.told.send(Told::Interval { worker: self.worker, interval: full }));
    }

    fn phase(&mut self, phase: Phase, now: Instant) {
        let used = thread_cpu();
        if phase == Phase::Measure {
            self.began = Some((now, used));
        } else if let Some((since, before)) = self.began.filter(|(since, _)| *since < now) {
            let (used, time) = (Nanos(used.0.saturating_sub(before.0)), now.since(since));
            self.busy = Some(used.as_secs_f64() / time.as_secs_f64());
        }
        if self.worker == 0 {
            let reading = CpuReading {
                at: now,
                generator: own_cpu(),
                server: self.server.as_ref().and_then(Processes::cpu),
            };
            drop(self.told.send(Told::Boundary(phase, reading)));
        }
    }
}

/// Watches only for a request to stop: for messages whose only purpose is to be answered.
pub(crate) struct Impatient<'a> {
    pub(crate) interrupt: &'a AtomicUsize,
    pub(crate) control: Arc<Control>,
}

impl Observer for Impatient<'_> {
    fn interval(&mut self, interval: &mut Box<Interval>) {
        interval.traffic.clear();
        if self.interrupt.load(Ordering::Relaxed) != 0 {
            self.control.stop();
        }
    }

    fn phase(&mut self, _: Phase, _: Instant) {}
}

/// The number of intervals of each worker in use; the collector returns them within a tenth of a second.
const INTERVALS_KEPT: usize = 4;

/// The most messages that wait to be read: those of some seconds.
pub(crate) const TOLD_MAX: usize = 1024;
