//! Stops a process for a while, as a debugger or a busy hypervisor would.

use crate::RunError;
use engine::clock::{Clock, sleep};
use rustix::process::{Pid, Signal, kill_process};
use std::sync::atomic::{AtomicUsize, Ordering};
use units::Nanos;

/// Stops the process for `length` and says how long it stood: from just after the signal that stops it to just before
/// the one that lets it go on. It goes on in any case, also if a signal asks us to stop.
///
/// # Errors
///
/// [`RunError::Interrupted`]; [`RunError::EmbeddedServer`] if there is no such process.
pub(super) fn stand_still(
    pid: u32,
    length: Nanos,
    interrupt: &AtomicUsize,
) -> Result<Nanos, RunError> {
    let process = Pid::from_raw(pid.cast_signed());
    let signal = |signal| {
        let sent = process.ok_or(rustix::io::Errno::SRCH).and_then(|pid| kill_process(pid, signal));
        let failed = |error: rustix::io::Errno| RunError::EmbeddedServer {
            name: "stopped",
            reason: format!("it cannot be signalled: {error}"),
        };
        sent.map_err(failed)
    };
    let clock = Clock::start();
    signal(Signal::STOP)?;
    let began = clock.now();
    let waited = wait(length, interrupt);
    let stopped = clock.now().since(began);
    signal(Signal::CONT)?;
    waited.map(|()| stopped)
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
        assert!(stand_still(0, Nanos::ZERO, &AtomicUsize::new(0)).is_err());
    }
}
