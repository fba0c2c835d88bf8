//! The CPUs of the server and of the generator.
//!
//! A pure function over a [`Topology`] that the caller has read. A *CPU* is what the kernel schedules on; a *core* is
//! the hardware behind one or more of them (hyper-threads). Left out: memory nodes, cores of unequal speed, and CPU
//! quotas.

use std::num::NonZeroUsize;

/// Chooses a CPU for the server and one for each of `threads` generator threads; `None` if `topology` has no CPU.
///
/// The server gets the first core for itself. Generator threads go to the other cores: one per core before any core
/// gets a second, and cores in the server's package first. If there are more threads than CPUs, assignment wraps
/// around. The other CPUs of the server's core stay idle: a hyper-thread next to the server would slow it down.
pub fn place(topology: &Topology, threads: NonZeroUsize) -> Option<Placement> {
    let threads = threads.get();
    let (first, others) = topology.cores.split_first()?;
    let (&server, siblings) = first.cpus.split_first()?;
    let cpus = match others {
        [] => siblings.to_vec(),
        others => one_of_each_before_a_second(others),
    };
    let sharing = match (others, &cpus[..]) {
        ([], []) => Sharing::Cpu,
        ([], _) => Sharing::Core,
        (_, cpus) if threads > cpus.len() => Sharing::Threads,
        _ => Sharing::Nothing,
    };
    let cpus = if cpus.is_empty() { vec![server] } else { cpus };
    let generator = cpus.into_iter().cycle().take(threads).collect();
    Some(Placement { server, generator, sharing })
}

/// Chooses a CPU for each of `threads` generator threads beside a server that this run did not start and that may use
/// the CPUs `taken`: on cores that the server may not use, else on all cores but the first, so that the kernel finds
/// the first one idle for the server. Empty if there is only one core: placement is then left to the kernel.
pub fn place_beside(topology: &Topology, taken: &[usize], threads: NonZeroUsize) -> Vec<usize> {
    let is_free = |core: &&Core| core.cpus.iter().all(|cpu| !taken.contains(cpu));
    let free: Vec<Core> = topology.cores.iter().filter(is_free).cloned().collect();
    let cores = match &free[..] {
        [] => topology.cores.get(1..).unwrap_or_default(),
        free => free,
    };
    one_of_each_before_a_second(cores).into_iter().cycle().take(threads.get()).collect()
}

/// True if `parties` programs that are always busy get a core each out of the `cores` that may be used, within the
/// container's CPU quota if it has one.
pub fn have_a_core_each(parties: u32, cores: usize, quota: Option<f64>) -> bool {
    usize::try_from(parties).is_ok_and(|parties| parties <= cores)
        && quota.is_none_or(|quota| f64::from(parties) <= quota)
}

/// The CPUs that server and generator run on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The server's CPU.
    pub server: usize,
    /// The CPU of each generator thread, in their order.
    pub generator: Vec<usize>,
    /// The resources that both have to share because there are too few cores.
    pub sharing: Sharing,
}

impl Placement {
    /// True if server and generator run on the same core, so that each slows the other down.
    pub fn shared(&self) -> bool {
        matches!(self.sharing, Sharing::Core | Sharing::Cpu)
    }

    /// The CPUs for a server that may use several: one on each core of `topology` that no generator thread runs on, the
    /// server's own CPU first; where there is no such core, only its own CPU.
    pub fn apart(&self, topology: &Topology) -> Vec<usize> {
        let first = |core: &[usize]| core.first().copied();
        self.or_its_own(self.left_cores(topology).filter_map(first).collect())
    }

    /// The CPUs of all cores of `topology` that no generator thread runs on, for a server started from the user's
    /// command, which may have any number of threads; where there is no such core, only the server's CPU.
    pub fn left(&self, topology: &Topology) -> Vec<usize> {
        self.or_its_own(self.left_cores(topology).flatten().copied().collect())
    }

    fn left_cores<'a>(&'a self, topology: &'a Topology) -> impl Iterator<Item = &'a [usize]> {
        topology.cores().filter(|core| !core.iter().any(|cpu| self.generator.contains(cpu)))
    }

    fn or_its_own(&self, left: Vec<usize>) -> Vec<usize> {
        if left.is_empty() { vec![self.server] } else { left }
    }
}

/// The resources that may have to be shared, from the least harmful to the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sharing {
    /// Every thread has a CPU of its own, and the server a core.
    Nothing,
    /// Some generator threads share a CPU with each other.
    Threads,
    /// Generator and server are hyper-threads of the only core.
    Core,
    /// Generator and server share the only CPU.
    Cpu,
}

/// The cores that this process may use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// The cores, ordered by package and then by CPU number; every core has at least one CPU.
    cores: Vec<Core>,
}

impl Topology {
    /// Groups `cpus`, the CPUs that may be used, in any order, into cores.
    pub fn new(mut cpus: Vec<Cpu>) -> Self {
        cpus.sort_by_key(|cpu| (cpu.package, cpu.id));
        cpus.dedup_by_key(|cpu| cpu.id);
        let mut cores: Vec<Core> = Vec::new();
        for Cpu { id, core, .. } in cpus {
            match cores.iter_mut().find(|known| known.first == core) {
                Some(known) => known.cpus.push(id),
                None => cores.push(Core { first: core, cpus: vec![id] }),
            }
        }
        Self { cores }
    }

    /// The number of CPUs.
    pub fn cpu_count(&self) -> usize {
        self.cores.iter().map(|core| core.cpus.len()).sum()
    }

    /// The CPUs of each core.
    pub fn cores(&self) -> impl Iterator<Item = &[usize]> {
        self.cores.iter().map(|core| core.cpus.as_slice())
    }

    /// The number of cores.
    pub fn core_count(&self) -> usize {
        self.cores.len()
    }
}

/// One CPU, with its core and package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// The kernel's number for it.
    pub id: usize,
    /// Its core, identified by the lowest number of the core's CPUs, whether or not that CPU may be used; the CPU's own
    /// number where the core is unknown.
    pub core: usize,
    /// The package (socket) that it is in; 0 where that is unknown.
    pub package: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Core {
    /// The core's name, see [`Cpu::core`].
    first: usize,
    cpus: Vec<usize>,
}

fn one_of_each_before_a_second(cores: &[Core]) -> Vec<usize> {
    let widest = cores.iter().map(|core| core.cpus.len()).max().unwrap_or(0);
    (0..widest)
        .flat_map(|nth| cores.iter().filter_map(move |core| core.cpus.get(nth).copied()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_each_is_neither_half_a_core_nor_one_that_the_quota_takes_away() {
        #[rustfmt::skip]
        let table = [
            // parties, cores, quota,     enough
            (1,         1,     None,      true),
            (2,         1,     None,      false),
            (2,         2,     None,      true),
            (2,         8,     Some(1.5), false),
            (2,         8,     Some(2.0), true),
            (0,         0,     None,      true),
        ];
        for row @ (parties, cores, quota, enough) in table {
            assert_eq!(have_a_core_each(parties, cores, quota), enough, "{row:?}");
        }
    }

    /// CPUs as (number, core, package).
    fn topology(cpus: &[(usize, usize, usize)]) -> Topology {
        Topology::new(cpus.iter().map(|&(id, core, package)| Cpu { id, core, package }).collect())
    }

    #[test]
    fn server_and_generator_keep_apart_as_far_as_cores_reach() {
        let one = topology(&[(0, 0, 0)]);
        let two = topology(&[(0, 0, 0), (1, 1, 0)]);
        let odd = topology(&[(7, 7, 0), (3, 3, 0)]);
        let hyper = topology(&[(0, 0, 0), (1, 0, 0)]);
        let laptop = topology(&[(0, 0, 0), (1, 1, 0), (2, 0, 0), (3, 1, 0)]); // siblings 0+2, 1+3
        let quad = topology(&[(0, 0, 0), (1, 1, 0), (2, 2, 0), (3, 3, 0)]);
        // Siblings 0+1, 2+3; affinity leaves 1, 2 and 3.
        let cut = topology(&[(1, 0, 0), (2, 2, 0), (3, 2, 0)]);
        // Two sockets whose CPUs alternate.
        let sockets = topology(&[(0, 0, 0), (1, 1, 1), (2, 2, 0), (3, 3, 1)]);
        #[rustfmt::skip]
        let table = [
            // topology, threads, server, generator,        sharing
            (&one,       1,       0,      vec![0],          Sharing::Cpu),
            (&one,       2,       0,      vec![0, 0],       Sharing::Cpu),
            (&two,       1,       0,      vec![1],          Sharing::Nothing),
            (&two,       2,       0,      vec![1, 1],       Sharing::Threads),
            (&odd,       1,       3,      vec![7],          Sharing::Nothing),
            (&hyper,     1,       0,      vec![1],          Sharing::Core),
            (&hyper,     2,       0,      vec![1, 1],       Sharing::Core),
            (&laptop,    1,       0,      vec![1],          Sharing::Nothing),
            (&laptop,    2,       0,      vec![1, 3],       Sharing::Nothing),
            (&laptop,    3,       0,      vec![1, 3, 1],    Sharing::Threads),
            (&quad,      3,       0,      vec![1, 2, 3],    Sharing::Nothing),
            (&quad,      4,       0,      vec![1, 2, 3, 1], Sharing::Threads),
            (&cut,       2,       1,      vec![2, 3],       Sharing::Nothing),
            (&sockets,   2,       0,      vec![2, 1],       Sharing::Nothing),
        ];
        for row @ (topology, threads, server, generator, sharing) in &table {
            let placement = place(topology, NonZeroUsize::new(*threads).unwrap()).unwrap();
            let expected =
                Placement { server: *server, generator: generator.clone(), sharing: *sharing };
            assert_eq!(placement, expected, "{row:?}");
            assert_eq!(placement.shared(), *sharing >= Sharing::Core, "{row:?}");
        }
    }

    #[test]
    fn a_server_that_may_use_several_cpus_has_a_core_for_each() {
        let apart = |cpus: &[(usize, usize, usize)], threads| {
            let topology = topology(cpus);
            place(&topology, NonZeroUsize::new(threads).unwrap()).unwrap().apart(&topology)
        };
        let one = [(0, 0, 0)];
        let laptop = [(0, 0, 0), (1, 1, 0), (2, 0, 0), (3, 1, 0)]; // siblings 0+2, 1+3
        let six = [0, 1, 2, 3, 4, 5].map(|cpu| (cpu, cpu, 0));
        assert_eq!(apart(&one, 1), [0]);
        assert_eq!(apart(&laptop, 1), [0], "its hyper-thread stays idle, the other core is taken");
        assert_eq!(apart(&six, 1), [0, 2, 3, 4, 5]);
        assert_eq!(apart(&six, 3), [0, 4, 5]);
        assert_eq!(apart(&six, 5), [0]);
    }

    #[test]
    fn workers_keep_off_the_cpus_of_a_server_that_is_there() {
        let beside = |cpus: &[(usize, usize, usize)], taken: &[usize], threads| {
            place_beside(&topology(cpus), taken, NonZeroUsize::new(threads).unwrap())
        };
        let one = [(0, 0, 0)];
        let two = [(0, 0, 0), (1, 1, 0)];
        let laptop = [(0, 0, 0), (1, 1, 0), (2, 0, 0), (3, 1, 0)]; // siblings 0+2, 1+3
        assert_eq!(beside(&two, &[0, 1], 1), [1], "it may use all");
        assert_eq!(beside(&two, &[1], 2), [0, 0]);
        assert_eq!(beside(&laptop, &[3], 2), [0, 2], "not beside its hyper-thread");
        assert_eq!(beside(&laptop, &[0, 1, 2, 3], 3), [1, 3, 1]);
        assert_eq!(beside(&one, &[0], 1), [] as [usize; 0]);
        assert_eq!(beside(&one, &[7], 1), [0], "it runs where we may not");
    }

    #[test]
    fn without_a_cpu_there_is_no_placement() {
        assert_eq!(place(&Topology::default(), NonZeroUsize::MIN), None);
    }

    #[test]
    fn a_cpu_named_twice_counts_once() {
        let topology = topology(&[(1, 1, 0), (0, 0, 0), (1, 1, 0)]);
        assert_eq!((topology.cpu_count(), topology.core_count()), (2, 2));
    }
}
