//! The machine's CPU time, from `/proc/stat` (proc_stat(5)).

use super::files::KeptFile;
use crate::error::ReadError;
use crate::system::{CpuTimes, SystemTimes};
use units::Nanos;

/// Reads how the machine's CPUs spend their time.
#[derive(Debug)]
pub struct SystemSampler {
    stat: KeptFile,
}

impl SystemSampler {
    /// Opens the file to sample.
    ///
    /// # Errors
    ///
    /// [`ReadError::Unreadable`] where `/proc` is missing.
    pub fn open() -> Result<Self, ReadError> {
        Ok(Self { stat: KeptFile::open(STAT).map_err(unreadable)? })
    }

    /// The current times; costs some ten microseconds.
    ///
    /// # Errors
    ///
    /// [`ReadError::Unreadable`] and [`ReadError::Malformed`].
    pub fn sample(&mut self) -> Result<SystemTimes, ReadError> {
        let text = self.stat.read().map_err(unreadable)?;
        system_times(&text)
            .ok_or_else(|| ReadError::Malformed { path: STAT.to_owned(), missing: "line `cpu`" })
    }
}

const STAT: &str = "/proc/stat";

fn unreadable(source: std::io::Error) -> ReadError {
    ReadError::Unreadable { path: STAT.to_owned(), source }
}

fn system_times(text: &str) -> Option<SystemTimes> {
    let mut machine = None;
    let mut cpus = Vec::new();
    for line in text.lines() {
        let Some((name, rest)) = line.strip_prefix("cpu").and_then(|line| line.split_once(' '))
        else {
            continue;
        };
        if name.is_empty() {
            machine = Some(cpu_times(rest));
        } else if let Ok(id) = name.parse() {
            cpus.push((id, cpu_times(rest)));
        }
    }
    Some(SystemTimes { machine: machine?, cpus })
}

/// Parses the columns in order; old kernels have fewer, and missing ones are zero.
fn cpu_times(columns: &str) -> CpuTimes {
    let mut columns = columns.split_ascii_whitespace().map(|ticks| ticks.parse().unwrap_or(0));
    let mut next = || Nanos(columns.next().unwrap_or(0u64).saturating_mul(TICK.0));
    let (user, nice, system, idle, iowait, irq, softirq, steal) =
        (next(), next(), next(), next(), next(), next(), next(), next());
    CpuTimes { user: user + nice, system, idle, iowait, irq, softirq, steal }
}

/// The unit of `/proc/stat` on every architecture that matters here: `USER_HZ` is 100, whatever the timer's HZ.
const TICK: Nanos = Nanos::from_millis(10);

#[cfg(test)]
mod tests {
    use super::*;

    fn ticks(ticks: [u64; 7]) -> CpuTimes {
        let [user, system, idle, iowait, irq, softirq, steal] =
            ticks.map(|ticks| Nanos(ticks * 10_000_000));
        CpuTimes { user, system, idle, iowait, irq, softirq, steal }
    }

    #[test]
    fn the_lines_of_all_kernels_are_read() {
        #[rustfmt::skip]
        let table = [
            // 6.18, two CPUs; guest time (the ninth column) is within user.
            ("cpu  3208 5 1659 172522 445 1 78 17 9 0\ncpu0 1344 0 610 86997 21 1 26 3 0 0\n\
              cpu1 1864 5 1049 85525 424 0 52 14 9 0\nintr 143106 0 0\nctxt 261315\nbtime 1795209200\n",
             Some(SystemTimes {
                 machine: ticks([3213, 1659, 172_522, 445, 1, 78, 17]),
                 cpus: vec![(0, ticks([1344, 610, 86_997, 21, 1, 26, 3])), (1, ticks([1869, 1049, 85_525, 424, 0, 52, 14]))],
             })),
            // CPU 1 is offline; 2.4 had four columns.
            ("cpu 1 2 3 4\ncpu0 1 1 1 1\ncpu2 0 1 2 3\n",
             Some(SystemTimes {
                 machine: ticks([3, 3, 4, 0, 0, 0, 0]),
                 cpus: vec![(0, ticks([2, 1, 1, 0, 0, 0, 0])), (2, ticks([1, 2, 3, 0, 0, 0, 0]))],
             })),
            ("cpu 1 x -1 4 18446744073709551615\ncpufreq 3\ncpus\n",
             Some(SystemTimes { machine: CpuTimes { iowait: Nanos::MAX, ..ticks([1, 0, 4, 0, 0, 0, 0]) }, cpus: vec![] })),
            ("", None),
            ("intr 1\n", None),
        ];
        for (text, times) in table {
            assert_eq!(system_times(text), times, "{text:?}");
        }
    }
}
