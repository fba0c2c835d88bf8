//! Stops a process for a while, as a debugger or a busy hypervisor would.

use crate::RunError;
use engine::clock::{Clock, sleep};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::sync::atomic::{AtomicUsize, Ordering};
use units::Nanos;

/// A child process of ours that can be stopped. Holds a descriptor of the process itself: its id may belong to another
/// process by the time it is stopped.
#[derive(Debug)]
pub(super) struct Stoppable(OwnedFd);

impl Stoppable {
    /// The process `pid`, which must still be running.
    ///
    /// # Errors
    ///
    /// [`RunError::SelfTest`] if there is no such process, or the kernel is older than 5.3.
    pub(super) fn new(pid: u32) -> Result<Self, RunError> {
        let opened = Pid::from_raw(pid.cast_signed())
            .ok_or(Errno::SRCH)
            .and_then(|pid| pidfd_open(pid, PidfdFlags::empty()));
        let failed =
            |error| RunError::SelfTest(format!("process {pid} cannot be signalled: {error}"));
        opened.map(Self).map_err(failed)
    }

    /// Stops the process for `length` and returns how long it was stopped: from just after the stop signal to just
    /// before the continue signal. The process is continued in any case, even if a signal asks us to stop.
    ///
    /// # Errors
    ///
    /// [`RunError::Interrupted`]; [`RunError::SelfTest`] if it has ended.
    pub(super) fn stand_still(
        &self,
        length: Nanos,
        interrupt: &AtomicUsize,
    ) -> Result<Nanos, RunError> {
        let signal = |signal| {
            let failed = |error: Errno| RunError::SelfTest(format!("it has ended: {error}"));
            pidfd_send_signal(&self.0, signal).map_err(failed)
        };
        let clock = Clock::start();
        signal(Signal::STOP)?;
        let began = clock.now();
        let waited = wait(length, interrupt);
        let stopped = clock.now().since(began);
        signal(Signal::CONT)?;
        waited.map(|()| stopped)
    }
}

/// Waits for `length`.
///
/// # Errors
///
/// [`RunError::Interrupted`], within a hundredth of a second after a signal arrived.
pub(super) fn wait(length: Nanos, interrupt: &AtomicUsize) -> Result<(), RunError> {
    let clock = Clock::start();
    loop {
        match interrupt.load(Ordering::Relaxed) {
            0 => {}
            signal => return Err(RunError::interrupted(signal)),
        }
        let left = Nanos(length.0.saturating_sub(clock.now().0));
        if left == Nanos::ZERO {
            return Ok(());
        }
        sleep(left.min(Nanos::from_millis(10)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_to_stop_is_heard_and_a_process_that_is_not_there_is_an_error() {
        let error = wait(Nanos::MAX, &AtomicUsize::new(15)).unwrap_err();
        assert!(matches!(error, RunError::Interrupted { signal: 15 }), "{error}");
        assert!(wait(Nanos::ZERO, &AtomicUsize::new(0)).is_ok());
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let stoppable = Stoppable::new(child.id()).unwrap();
        child.wait().unwrap();
        let error = stoppable.stand_still(Nanos::ZERO, &AtomicUsize::new(0)).unwrap_err();
        assert!(matches!(error, RunError::SelfTest(_)), "{error}");
        assert!(Stoppable::new(0).is_err());
    }
}
