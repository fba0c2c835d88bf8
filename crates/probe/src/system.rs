//! The times of the machine's CPUs.

use units::Nanos;

/// The time in each state since the machine started; of one CPU, or of all added up.
///
/// Virtual machines that run on this one count as `user`, as the kernel counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTimes {
    /// Time in programs, including those of low priority (nice).
    pub user: Nanos,
    /// Time in the kernel on behalf of programs.
    pub system: Nanos,
    /// Doing nothing.
    pub idle: Nanos,
    /// Doing nothing while a program waits for a disk.
    pub iowait: Nanos,
    /// Time in interrupts.
    pub irq: Nanos,
    /// Time in work that interrupts defer, which includes much of TCP.
    pub softirq: Nanos,
    /// Ready to run while the hypervisor ran another machine.
    pub steal: Nanos,
}

impl CpuTimes {
    /// The difference since `earlier`. A counter that went backwards, as iowait may, counts as unchanged.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        let less = |now: Nanos, then: Nanos| Nanos(now.0.saturating_sub(then.0));
        Self {
            user: less(self.user, earlier.user),
            system: less(self.system, earlier.system),
            idle: less(self.idle, earlier.idle),
            iowait: less(self.iowait, earlier.iowait),
            irq: less(self.irq, earlier.irq),
            softirq: less(self.softirq, earlier.softirq),
            steal: less(self.steal, earlier.steal),
        }
    }

    /// All states together.
    pub fn total(self) -> Nanos {
        self.user + self.system + self.idle + self.iowait + self.irq + self.softirq + self.steal
    }

    /// The share of the time that was idle, not including waits for disks; `None` if no time has passed.
    pub fn idle_fraction(self) -> Option<f64> {
        self.fraction(self.idle)
    }

    /// The share of the time that the hypervisor gave to other machines; `None` if no time has passed.
    pub fn steal_fraction(self) -> Option<f64> {
        self.fraction(self.steal)
    }

    fn fraction(self, part: Nanos) -> Option<f64> {
        let total = self.total();
        (total > Nanos::ZERO).then(|| part.as_secs_f64() / total.as_secs_f64())
    }
}

/// The times of the whole machine and of each of its CPUs.
///
/// The resolution is 10 ms: over an interval of 100 ms, a share is accurate to about 10 % of one CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SystemTimes {
    /// All CPUs added up.
    pub machine: CpuTimes,
    /// Each CPU that is online, with its number, in ascending order.
    pub cpus: Vec<(usize, CpuTimes)>,
}

impl SystemTimes {
    /// The difference since `earlier`; a CPU that was not online then is left out.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let before =
            |id| earlier.cpus.iter().find(|(known, _)| *known == id).map(|(_, times)| *times);
        let cpus = self
            .cpus
            .iter()
            .filter_map(|&(id, times)| Some((id, times.since(before(id)?))))
            .collect();
        Self { machine: self.machine.since(earlier.machine), cpus }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CPU times in nanoseconds.
    fn times(user: u64, idle: u64, steal: u64) -> CpuTimes {
        CpuTimes {
            user: Nanos(user),
            idle: Nanos(idle),
            steal: Nanos(steal),
            ..CpuTimes::default()
        }
    }

    #[test]
    fn shares_are_of_the_time_between_two_readings() {
        let between = times(131, 260, 21).since(times(130, 254, 20));
        assert_eq!(between, times(1, 6, 1));
        assert_eq!((between.idle_fraction(), between.steal_fraction()), (Some(0.75), Some(0.125)));
    }

    #[test]
    fn no_time_has_no_shares() {
        let between = times(1, 2, 3).since(times(1, 2, 3));
        assert_eq!((between.idle_fraction(), between.steal_fraction()), (None, None));
    }

    #[test]
    fn a_counter_that_goes_backwards_counts_as_unchanged() {
        assert_eq!(times(110, 190, 0).since(times(100, 200, 0)), times(10, 0, 0));
    }

    #[test]
    fn cpus_that_come_and_go_are_left_out() {
        let earlier = SystemTimes {
            machine: times(10, 10, 0),
            cpus: vec![(0, times(4, 4, 0)), (1, times(6, 6, 0))],
        };
        let later = SystemTimes {
            machine: times(20, 10, 0),
            cpus: vec![(0, times(9, 4, 0)), (2, times(5, 0, 0))],
        };
        let between = SystemTimes { machine: times(10, 0, 0), cpus: vec![(0, times(5, 0, 0))] };
        assert_eq!(later.since(&earlier), between);
    }
}
