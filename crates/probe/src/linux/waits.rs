//! Waits for a CPU, from `/proc/PID/task/TID/schedstat` (sched-stats) and `/proc/pressure/cpu` (psi).

use crate::waits::RunQueue;
use units::Nanos;

/// The waits of all threads of `processes`; `None` if nothing can be read: they have ended, belong to another user, or
/// the kernel does not count (`CONFIG_SCHED_INFO`). Costs some ten microseconds per thread.
pub fn run_queue(processes: &[u32]) -> Option<RunQueue> {
    let threads = processes.iter().flat_map(|pid| {
        let folder = std::fs::read_dir(format!("/proc/{pid}/task"));
        folder.into_iter().flatten().flatten()
    });
    let waited = threads.filter_map(|thread| {
        let id = thread.file_name().to_str()?.parse().ok()?;
        let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        Some((id, waited(&text)?))
    });
    Some(RunQueue(waited.collect())).filter(|queue| !queue.0.is_empty())
}

/// The total time since start-up during which at least one program of the machine, or of this container, waited for a
/// CPU; `None` where the kernel does not count it.
pub fn cpu_pressure() -> Option<Nanos> {
    pressure(&std::fs::read_to_string("/proc/pressure/cpu").ok()?)
}

/// Parses nanoseconds on a CPU, nanoseconds ready to run and the number of time slices; returns the second.
fn waited(schedstat: &str) -> Option<Nanos> {
    schedstat.split_ascii_whitespace().nth(1)?.parse().ok().map(Nanos)
}

/// Parses `some avg10=0.00 avg60=0.00 avg300=0.00 total=1234`, whose total is in microseconds.
fn pressure(text: &str) -> Option<Nanos> {
    let some = text.lines().find_map(|line| line.strip_prefix("some "))?;
    let total = some.split(' ').find_map(|field| field.strip_prefix("total="))?;
    total.parse().ok().map(Nanos::from_micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counters_of_the_kernel_are_read() {
        assert_eq!(waited("123456 64296 7\n"), Some(Nanos(64_296)));
        assert_eq!(waited("123456"), None);
        assert_eq!(waited("a b c"), None);
        let text = "some avg10=98.61 avg60=98.91 avg300=99.03 total=2281729090\n\
                    full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";
        assert_eq!(pressure(text), Some(Nanos(2_281_729_090_000)));
        assert_eq!(pressure("full avg10=0.00 total=5\n"), None);
    }

    #[test]
    fn a_process_that_is_not_there_tells_nothing() {
        assert_eq!(run_queue(&[u32::MAX]), None);
        assert_eq!(run_queue(&[]), None);
    }
}
