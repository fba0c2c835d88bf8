//! The use that others make of the machine while a block is measured: read twice, at both ends of its window.

use crate::children::processes::Processes;
use probe::{CpuTimes, RunQueue, cpu_pressure};
use record::Neighbours;
use units::Nanos;

/// Waits for a CPU up to a boundary of the measurement; `None` for what the kernel does not report.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waits {
    generator: Option<RunQueue>,
    server: Option<RunQueue>,
    pressure: Option<Nanos>,
}

impl Waits {
    /// Reads the current waits.
    pub(crate) fn of(generator: &Processes, server: Option<&Processes>) -> Self {
        Self {
            generator: generator.run_queue(),
            server: server.and_then(Processes::run_queue),
            pressure: cpu_pressure(),
        }
    }
}

/// The neighbours' use, from both ends of a window and what the machine's CPUs did in between.
pub(crate) fn neighbours(
    [before, after]: [&Waits; 2],
    machine: Option<CpuTimes>,
    window: Nanos,
) -> Neighbours {
    let share =
        |waited: Nanos| (window > Nanos::ZERO).then(|| waited.as_secs_f64() / window.as_secs_f64());
    let waited = |of: fn(&Waits) -> Option<&RunQueue>| share(of(after)?.since(of(before)?));
    let pressure = after.pressure.zip(before.pressure);
    let mut found = Neighbours {
        steal_fraction: machine.and_then(CpuTimes::steal_fraction),
        generator_wait_fraction: waited(|waits| waits.generator.as_ref()),
        server_wait_fraction: waited(|waits| waits.server.as_ref()),
        pressure_fraction: pressure
            .and_then(|(after, before)| share(Nanos(after.0.saturating_sub(before.0))))
            .map(|share| share.min(1.0)),
        ..Neighbours::default()
    };
    let Neighbours {
        steal_fraction,
        generator_wait_fraction,
        server_wait_fraction,
        pressure_fraction,
        missing,
    } = &mut found;
    for (field, value, reason) in [
        ("steal_fraction", steal_fraction, NOT_MOVED),
        ("generator_wait_fraction", generator_wait_fraction, NOT_COUNTED),
        ("server_wait_fraction", server_wait_fraction, NOT_SEEN),
        ("pressure_fraction", pressure_fraction, NOT_COUNTED),
    ] {
        if value.is_none() {
            missing.insert(field.to_owned(), reason.to_owned());
        }
    }
    found
}

const NOT_COUNTED: &str = "the kernel does not count it";
const NOT_MOVED: &str = "the kernel's counters did not change or are missing";
const NOT_SEEN: &str = "the server's processes are not seen, or the kernel does not count it";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_does_not_tell_is_missing_with_its_reason() {
        let pressed = |ms| Waits { pressure: Some(Nanos::from_millis(ms)), ..Waits::default() };
        let steal = CpuTimes {
            user: Nanos::from_secs(3),
            steal: Nanos::from_secs(1),
            ..CpuTimes::default()
        };
        let second = Nanos::from_secs(1);
        let found = neighbours([&pressed(100), &pressed(350)], Some(steal), second);
        assert_eq!((found.pressure_fraction, found.steal_fraction), (Some(0.25), Some(0.25)));
        let unknown: Vec<&str> = found.missing.keys().map(String::as_str).collect();
        assert_eq!(unknown, ["generator_wait_fraction", "server_wait_fraction"]);
        let nothing = neighbours([&Waits::default(), &pressed(1)], None, second);
        assert_eq!(nothing.missing.len(), 4);
    }

    #[test]
    fn our_own_threads_are_looked_at() {
        let ourselves = Processes::one(std::process::id());
        let before = Waits::of(&ourselves, None);
        let after = Waits::of(&ourselves, None);
        let found = neighbours([&before, &after], None, Nanos::from_secs(1));
        // Kernels without the counters yield none; there is no server.
        assert_eq!(found.generator_wait_fraction.is_some(), before.generator.is_some());
        assert_eq!(found.server_wait_fraction, None);
    }
}
