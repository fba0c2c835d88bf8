//! The CPUs that a thread may use, and pinning a thread to CPUs (sched(7), sysfs `cpu/cpuN/topology`).

use super::files::{Files, Machine};
use super::text::{field, number_list};
use crate::cpus::{Cpu, Topology};
use crate::error::PinError;
use rustix::thread::{CpuSet, sched_setaffinity};

/// The CPUs that the calling thread may use now; call before pinning anything.
///
/// Every CPU counts as a core, and all are in one package, if the kernel does not describe the topology. Empty only if
/// `/proc` is missing.
pub fn topology() -> Topology {
    topology_of(&Machine)
}

/// Pins the calling thread to `cpus`; threads that it starts later inherit that.
///
/// # Errors
///
/// [`PinError::Beyond`] and [`PinError::Refused`]; the thread's affinity is unchanged.
pub fn pin_current_thread(cpus: &[usize]) -> Result<(), PinError> {
    let mut set = CpuSet::new();
    for &cpu in cpus {
        if cpu >= CpuSet::MAX_CPU {
            return Err(PinError::Beyond { cpu, max: CpuSet::MAX_CPU - 1 });
        }
        set.set(cpu);
    }
    sched_setaffinity(None, &set)
        .map_err(|error| PinError::Refused { cpus: cpus.to_vec(), source: error.into() })
}

/// The CPUs that a process or thread may use, from its status.
pub(super) fn cpus_allowed_in(status: &str) -> Option<Vec<usize>> {
    field(status, "Cpus_allowed_list").and_then(number_list)
}

/// The CPUs that the calling thread may use and that are online, or the reason why they are unknown.
pub(super) fn cpus_allowed(files: &dyn Files) -> Result<Vec<usize>, String> {
    let status = files.read(STATUS)?;
    cpus_allowed_in(&status).ok_or_else(|| format!("{STATUS}: no field Cpus_allowed_list"))
}

const STATUS: &str = "/proc/thread-self/status";

fn topology_of(files: &dyn Files) -> Topology {
    let mut cpus = cpus_allowed(files).unwrap_or_default();
    if let Some(online) =
        files.read("/sys/devices/system/cpu/online").ok().and_then(|text| number_list(&text))
    {
        cpus.retain(|cpu| online.contains(cpu));
    }
    let of_topology =
        |id, name| files.read(&format!("/sys/devices/system/cpu/cpu{id}/topology/{name}")).ok();
    let cpu = |id| Cpu {
        id,
        core: of_topology(id, "thread_siblings_list")
            .and_then(|text| number_list(&text)?.first().copied())
            .unwrap_or(id),
        // Some ARM and virtual machines say -1.
        package: of_topology(id, "physical_package_id")
            .and_then(|text| text.parse().ok())
            .unwrap_or(0),
    };
    Topology::new(cpus.into_iter().map(cpu).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::fixture::Fixture;

    #[test]
    fn a_topology_is_made_of_allowed_online_cpus() {
        let mut files = Fixture::new(&[
            (STATUS, "Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t0-4,7"),
            ("/sys/devices/system/cpu/online", "0-3,7"),
        ]);
        for (cpu, siblings, package) in
            [(0, "0,2", "0"), (1, "1,3", "0"), (2, "0,2", "0"), (3, "1,3", "0"), (7, "6-7", "-1")]
        {
            files.add(
                &format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"),
                siblings,
            );
            files.add(
                &format!("/sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id"),
                package,
            );
        }
        let cpus =
            [(0, 0), (1, 1), (2, 0), (3, 1), (7, 6)].map(|(id, core)| Cpu { id, core, package: 0 });
        assert_eq!(topology_of(&files), Topology::new(cpus.to_vec()));
    }

    #[test]
    fn without_sysfs_every_cpu_is_a_core() {
        let topology = topology_of(&Fixture::new(&[(STATUS, "Cpus_allowed_list:\t0-1,8")]));
        assert_eq!((topology.cpu_count(), topology.core_count()), (3, 3));
    }

    #[test]
    fn without_proc_there_is_no_cpu() {
        assert_eq!(topology_of(&Fixture::new(&[])), Topology::default());
    }

    #[test]
    fn a_thread_cannot_be_pinned_to_what_does_not_exist() {
        assert!(matches!(pin_current_thread(&[70_000]), Err(PinError::Beyond { cpu: 70_000, .. })));
        assert!(matches!(pin_current_thread(&[]), Err(PinError::Refused { .. })));
    }
}
