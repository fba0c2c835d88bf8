//! The engine of one simulated process.

use super::kernel::Kernel;
use crate::{
    Accepting, Address, Completion, ConnectionError, ConnectionId, Engine, Metered, Segments,
};
use std::cell::RefCell;
use std::net::IpAddr;
use std::rc::Rc;
use units::{Instant, Nanos};

/// The engine of one process on a simulated [`Network`](super::Network).
pub struct Sim {
    pub(super) kernel: Rc<RefCell<Kernel>>,
    pub(super) process: usize,
}

impl Sim {
    pub(super) fn new(kernel: Rc<RefCell<Kernel>>) -> Self {
        let process = kernel.borrow_mut().start_process();
        Self { kernel, process }
    }

    /// Stops the process between two instants, as SIGSTOP and SIGCONT do: it is not stepped, and what arrives piles up.
    pub fn freeze(&mut self, from: Instant, until: Instant) {
        self.kernel.borrow_mut().freeze(self.process, from, until);
    }

    /// Makes every sleep that no event ends last this much longer than requested, as timers do.
    pub fn oversleep(&mut self, by: Nanos) {
        self.kernel.borrow_mut().oversleep(self.process, by);
    }

    /// Makes every completion cost this much time: a server of known capacity. The process is busy that long after
    /// taking a completion, and what it sends meanwhile leaves at the end of that time.
    pub fn slow_down(&mut self, cost: Nanos) {
        self.kernel.borrow_mut().slow_down(self.process, cost);
    }
}

impl Engine for Sim {
    fn now(&self) -> Instant {
        self.kernel.borrow().now_in(self.process)
    }

    fn listen(&mut self, address: &Address) -> Result<Address, ConnectionError> {
        self.kernel.borrow_mut().listen(self.process, address)
    }

    /// The source address makes no difference.
    fn connect(&mut self, address: &Address, _from: Option<IpAddr>) -> ConnectionId {
        self.kernel.borrow_mut().connect(self.process, address)
    }

    fn send(&mut self, connection: ConnectionId, bytes: &[u8]) {
        self.kernel.borrow_mut().send(self.process, connection, bytes);
    }

    fn unsent(&self, connection: ConnectionId) -> usize {
        self.kernel.borrow().unsent(self.process, connection)
    }

    fn kept(&self) -> usize {
        self.kernel.borrow().kept(self.process)
    }

    fn pause(&mut self, connection: ConnectionId, on: bool) {
        self.kernel.borrow_mut().pause(self.process, connection, on);
    }

    fn shutdown(&mut self, connection: ConnectionId) {
        self.kernel.borrow_mut().shutdown(self.process, connection);
    }

    fn close(&mut self, connection: ConnectionId) {
        self.kernel.borrow_mut().close(self.process, connection);
    }

    /// Lets time pass for the entire network; other processes do not run meanwhile. Returns exactly at `until`, or when
    /// there is a completion.
    ///
    /// # Panics
    ///
    /// If nothing can ever happen again and there is no limit: it would wait forever.
    fn wait(&mut self, until: Instant) {
        let mut kernel = self.kernel.borrow_mut();
        while !kernel.is_to_run(self.process, until) {
            let next = kernel.next_event().min(kernel.runs_at(self.process, until));
            assert!(next != Instant::NEVER, "waiting without limit, and nothing can ever happen");
            kernel.advance(next);
        }
    }

    /// Returns at once; the process is not stepped before that.
    fn stand_still(&mut self, until: Instant) {
        self.freeze(self.now(), until);
    }

    /// Returns at once; the process is not stepped until the time is over, and what it sends in this step leaves then.
    fn compute(&mut self, time: Nanos) {
        self.kernel.borrow_mut().compute(self.process, time);
    }

    fn complete(&mut self, rx: &mut [u8]) -> Option<Completion> {
        self.kernel.borrow_mut().complete(self.process, rx)
    }
}

impl Accepting for Sim {
    fn listener(&self, connection: ConnectionId) -> usize {
        self.kernel.borrow().listener_of(self.process, connection)
    }

    fn hold_back(&mut self, on: bool) {
        self.kernel.borrow_mut().hold_back(self.process, on);
    }
}

impl Metered for Sim {
    /// Returns the exact instant.
    fn arrived(&mut self, _now: Instant) -> Option<Instant> {
        self.kernel.borrow().arrived(self.process)
    }

    fn segments(&self, _connection: ConnectionId) -> Option<Segments> {
        None
    }
}

impl Drop for Sim {
    fn drop(&mut self) {
        // The kernel is borrowed only if it panicked; then it is not used again.
        if let Ok(mut kernel) = self.kernel.try_borrow_mut() {
            kernel.end_process(self.process);
        }
    }
}
