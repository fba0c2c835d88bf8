//! The clocks: time since the run began, and the CPU time that processes and threads have used.

use std::num::NonZeroU64;
use units::{Instant, Nanos};

/// The monotonic clock of this machine (`CLOCK_MONOTONIC`), counted from the moment the value was made. Copies agree.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: u64,
}

impl Clock {
    /// A clock that begins now.
    pub fn start() -> Self {
        Self { start: read(libc::CLOCK_MONOTONIC).unwrap_or(0) }
    }

    /// The instant now.
    #[inline]
    pub fn now(self) -> Instant {
        Instant(read(libc::CLOCK_MONOTONIC).unwrap_or(0) - self.start)
    }
}

impl Clock {
    /// Converts `instant` to the wall clock, in nanoseconds since 1970-01-01 UTC, by what both clocks show now. The
    /// wall clock may be set at any time: convert only once what is to be compared.
    pub fn unix(self, instant: Instant) -> Nanos {
        let Reading { monotonic, wall } = Reading::now();
        Nanos(wall.saturating_sub(monotonic).saturating_add(self.monotonic(instant)))
    }

    /// `instant` as the system's monotonic clock shows it, in nanoseconds.
    pub(crate) fn monotonic(self, instant: Instant) -> u64 {
        self.start.saturating_add(instant.0)
    }

    /// The instant at which the system's monotonic clock showed this many nanoseconds; `None` if that is before our
    /// start.
    pub(crate) fn instant(self, monotonic: u64) -> Option<Instant> {
        monotonic.checked_sub(self.start).map(Instant)
    }
}

/// Readings of two clocks of the system, taken one right after the other, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    /// `CLOCK_MONOTONIC`.
    pub(crate) monotonic: u64,
    /// `CLOCK_REALTIME`, since 1970-01-01 UTC. It may be set at any time.
    pub(crate) wall: u64,
}

impl Reading {
    pub(crate) fn now() -> Self {
        Self::with(read(libc::CLOCK_MONOTONIC).unwrap_or(0))
    }

    /// A reading whose first half was taken just now.
    #[inline]
    pub(crate) fn with(monotonic: u64) -> Self {
        Self { monotonic, wall: read(libc::CLOCK_REALTIME).unwrap_or(0) }
    }
}

/// Seconds since 1970-01-01 UTC, for naming and dating records. `None` if the clock shows an earlier time.
pub fn unix_seconds() -> Option<u64> {
    #[expect(clippy::disallowed_methods, reason = "this is the place that reads clocks")]
    let now = std::time::SystemTime::now();
    now.duration_since(std::time::UNIX_EPOCH).ok().map(|since| since.as_secs())
}

/// CPU time (user and system; all threads, including ended ones) that this process has used.
pub fn own_cpu() -> Nanos {
    Nanos(read(libc::CLOCK_PROCESS_CPUTIME_ID).unwrap_or(0))
}

/// CPU time (user and system) that the calling thread has used.
pub fn thread_cpu() -> Nanos {
    Nanos(read(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or(0))
}

/// CPU time (user and system; all threads, including ended ones) that process `pid` has used; `None` if there is no
/// such process, or it has ended.
pub fn process_cpu(pid: u32) -> Option<Nanos> {
    let mut clock: libc::clockid_t = 0;
    // SAFETY: `clock` is a valid place for the answer; no other memory is touched.
    let status =
        unsafe { libc::clock_getcpuclockid(libc::pid_t::try_from(pid).ok()?, &raw mut clock) };
    if status == 0 { read(clock).map(Nanos) } else { None }
}

/// Sleeps for at least `length`.
pub fn sleep(length: Nanos) {
    #[expect(clippy::disallowed_methods, reason = "this is the place that keeps time")]
    std::thread::sleep(length.into());
}

/// Lets timers of this thread fire within 1 ns of their time instead of the usual 50 us: the kernel coalesces
/// wake-ups less (`PR_SET_TIMERSLACK`). Overshoot of a 100 us sleep falls from about 67 us to 16 us.
///
/// # Errors
///
/// The kernel refused; timers stay as coarse as they were.
pub fn sharpen_timers() -> std::io::Result<()> {
    Ok(rustix::thread::set_current_timer_slack(NonZeroU64::new(1))?)
}

fn read(clock: libc::clockid_t) -> Option<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the answer; no other memory is touched.
    if unsafe { libc::clock_gettime(clock, &raw mut time) } != 0 {
        return None;
    }
    #[expect(clippy::cast_sign_loss, reason = "these clocks do not run before zero")]
    Some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_forward_and_copies_of_a_clock_agree() {
        let clock = Clock::start();
        let copy = clock;
        let first = clock.now();
        let second = copy.now();
        assert!(first <= second);
    }

    #[test]
    fn cpu_of_this_process_is_the_same_seen_from_inside_and_outside() {
        let before = own_cpu();
        let outside = process_cpu(std::process::id()).expect("this process exists");
        let after = own_cpu();
        assert!(before <= outside && outside <= after, "{before:?} {outside:?} {after:?}");
    }

    #[test]
    fn cpu_of_a_thread_is_its_own_and_part_of_that_of_the_process() {
        let (threads_before, process_before) = (thread_cpu(), own_cpu());
        let another = std::thread::spawn(|| {
            let begun = thread_cpu();
            while thread_cpu().0 < begun.0 + 5_000_000 {}
            thread_cpu()
        });
        let anothers = another.join().unwrap();
        assert!(anothers >= Nanos::from_millis(5));
        assert!(own_cpu().0 - process_before.0 >= 5_000_000);
        // Our thread waited for the other one, but its CPU time is not ours.
        assert!(thread_cpu() >= threads_before);
        assert!(thread_cpu().0 - threads_before.0 < own_cpu().0 - process_before.0);
    }

    #[test]
    fn a_process_that_is_not_there_has_no_cpu_time() {
        assert_eq!(process_cpu(u32::MAX), None);
    }
}
