//! Stops a process for a while, as a debugger or a busy hypervisor would.

use crate::RunError;
use engine::clock::{Clock, sleep};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::sync::atomic::{AtomicUsize, Ordering};
use units::Nanos;

/// A child process of ours that can be stopped. Holds on to the process itself: its number may be another's by the
/// time at which it is stopped.
#[derive(Debug)]
pub(super) struct Stoppable(OwnedFd);

impl Stoppable {
    /// The process `pid`, which must run still.
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

    /// Stops it for `length` and says how long it stood: from just after the signal that stops it to just before the
    /// one that lets it go on. It goes on in any case, also if a signal asks us to stop.
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

/// Lets so much time pass.
///
/// # Errors
///
/// [`RunError::Interrupted`], a hundredth of a second after a signal came.
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
