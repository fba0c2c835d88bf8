//! Memory, threads and switches of a process, from `/proc/PID` (proc_pid_status(5), proc_pid_smaps(5)).

use super::files::KeptFile;
use super::text::{field, kilobytes};
use crate::error::ReadError;
use crate::process::{Footprint, ProcessSample, Switches};
use std::collections::BTreeMap;
use std::io;
use units::Bytes;

/// Reads the memory, threads, switches and open files of a process.
#[derive(Debug)]
pub struct ProcessSampler {
    pid: u32,
    status: KeptFile,
    /// The switches of each thread when it was last seen alive.
    threads: BTreeMap<u32, Switches>,
    /// The last known switches of threads that have ended: without them the sum would decrease.
    ended: Switches,
}

impl ProcessSampler {
    /// Opens the file to sample.
    ///
    /// # Errors
    ///
    /// [`ReadError::Ended`] if there is no such process, [`ReadError::Unreadable`].
    pub fn open(pid: u32) -> Result<Self, ReadError> {
        let path = format!("/proc/{pid}/task/{pid}/status");
        let status = KeptFile::open(&path).map_err(|error| read_error(pid, &path, error))?;
        Ok(Self { pid, status, threads: BTreeMap::new(), ended: Switches::default() })
    }

    /// The current state of the process; costs some ten microseconds per thread.
    ///
    /// # Errors
    ///
    /// [`ReadError::Ended`], [`ReadError::Unreadable`], [`ReadError::Malformed`].
    pub fn sample(&mut self) -> Result<ProcessSample, ReadError> {
        let pid = self.pid;
        let path = || format!("/proc/{pid}/task/{pid}/status");
        let text = self.status.read().map_err(|error| read_error(pid, &path(), error))?;
        if field(&text, "State").is_none_or(|state| state.starts_with(['X', 'Z'])) {
            return Err(ReadError::Ended { pid });
        }
        let main = process_sample(&text).ok_or_else(|| ReadError::Malformed {
            path: path(),
            missing: "memory, threads or context switches",
        })?;
        let mut threads = BTreeMap::from([(pid, main.switches)]);
        if main.threads > 1 {
            threads.extend(other_threads(pid));
        }
        self.ended += of_ended_threads(&self.threads, &threads);
        let mut switches = self.ended;
        threads.values().for_each(|thread| switches += *thread);
        self.threads = threads;
        Ok(ProcessSample { switches, ..main })
    }

    /// Reads proportional memory and open files; for this the kernel walks all memory of the process.
    ///
    /// # Errors
    ///
    /// [`ReadError::Ended`] and [`ReadError::Unreadable`]. Files of another user are `None`, not an error.
    pub fn footprint(&self) -> Result<Footprint, ReadError> {
        let (rollup, files) =
            (format!("/proc/{}/smaps_rollup", self.pid), format!("/proc/{}/fd", self.pid));
        let pss = self.unless_hidden(pss(&rollup), &rollup)?.flatten();
        Ok(Footprint { pss, open_files: self.unless_hidden(open_files(&files), &files)? })
    }

    /// Turns an error into `None` where the kernel is too old for the file or denies us access to it.
    fn unless_hidden<T>(&self, result: io::Result<T>, path: &str) -> Result<Option<T>, ReadError> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.runs() => Ok(None),
            Err(error) => Err(read_error(self.pid, path, error)),
        }
    }

    fn runs(&self) -> bool {
        std::fs::exists(format!("/proc/{}", self.pid)).unwrap_or(false)
    }
}

/// The switches of all threads but the first; threads that end during the scan are left out.
fn other_threads(pid: u32) -> BTreeMap<u32, Switches> {
    let folder = format!("/proc/{pid}/task");
    let Ok(threads) = std::fs::read_dir(&folder) else { return BTreeMap::new() };
    let threads = threads.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let switches = |thread: u32| {
        let status = std::fs::read(format!("{folder}/{thread}/status")).ok()?;
        Some((thread, switches(&String::from_utf8_lossy(&status))?))
    };
    threads.filter(|thread| *thread != pid).filter_map(switches).collect()
}

/// The switches of threads that have ended since `before`, also where a new thread has taken the id.
fn of_ended_threads(before: &BTreeMap<u32, Switches>, now: &BTreeMap<u32, Switches>) -> Switches {
    let mut sum = Switches::default();
    for (thread, old) in before {
        let goes_on = now.get(thread).is_some_and(|new| {
            new.voluntary >= old.voluntary && new.involuntary >= old.involuntary
        });
        if !goes_on {
            sum += *old;
        }
    }
    sum
}

/// The facts about the process in the status of one of its threads; the switches are those of that thread alone.
fn process_sample(text: &str) -> Option<ProcessSample> {
    let threads = field(text, "Threads")?.parse().ok()?;
    Some(ProcessSample { rss: kilobytes(text, "VmRSS")?, threads, switches: switches(text)? })
}

fn switches(text: &str) -> Option<Switches> {
    Some(Switches {
        voluntary: field(text, "voluntary_ctxt_switches")?.parse().ok()?,
        involuntary: field(text, "nonvoluntary_ctxt_switches")?.parse().ok()?,
    })
}

fn pss(path: &str) -> io::Result<Option<Bytes>> {
    Ok(kilobytes(&String::from_utf8_lossy(&std::fs::read(path)?), "Pss"))
}

/// The number of open files: kernels from 6.2 on report it as the folder's size, older ones need the entries counted.
fn open_files(folder: &str) -> io::Result<u64> {
    match std::fs::metadata(folder)?.len() {
        0 => Ok(std::fs::read_dir(folder)?.count() as u64),
        count => Ok(count),
    }
}

fn read_error(pid: u32, path: &str, source: io::Error) -> ReadError {
    if is_missing(&source) {
        ReadError::Ended { pid }
    } else {
        ReadError::Unreadable { path: path.to_owned(), source }
    }
}

/// No such file, or (an open file of a process that has ended) no such process.
fn is_missing(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
        || rustix::io::Errno::from_io_error(error) == Some(rustix::io::Errno::SRCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: &str = "Name:\tnode\nState:\tS (sleeping)\nVmHWM:\t   50000 kB\nVmRSS:\t   48004 kB\nThreads:\t11\n\
        voluntary_ctxt_switches:\t1500\nnonvoluntary_ctxt_switches:\t37\n";

    #[test]
    fn a_status_is_read() {
        let switches = Switches { voluntary: 1500, involuntary: 37 };
        assert_eq!(
            process_sample(STATUS),
            Some(ProcessSample { rss: Bytes(49_156_096), threads: 11, switches })
        );
    }

    #[test]
    fn a_name_that_looks_like_a_field_is_not_taken_for_one() {
        let text = STATUS.replace("Name:\tnode", "Name:\tVmRSS: 1 kB\\nVmRSS: 2 kB");
        assert_eq!(process_sample(&text), process_sample(STATUS));
    }

    #[test]
    fn an_incomplete_status_is_none() {
        for line in ["VmRSS", "Threads", "voluntary_ctxt_switches", "nonvoluntary_ctxt_switches"] {
            let text: String = STATUS
                .lines()
                .filter(|text| !text.starts_with(line))
                .map(|l| format!("{l}\n"))
                .collect();
            assert_eq!(process_sample(&text), None, "without {line}");
        }
    }

    #[test]
    fn threads_that_ended_keep_their_switches() {
        let threads = |threads: &[(u32, u64)]| {
            let switches = |&(id, count)| (id, Switches { voluntary: count, involuntary: count });
            threads.iter().map(switches).collect::<BTreeMap<_, _>>()
        };
        #[rustfmt::skip]
        let table = [
            // before,                 now,                     ended
            (&[][..],                  &[(1, 5)][..],           0),
            (&[(1, 5)],                &[(1, 5), (2, 3)],       0),
            (&[(1, 5), (2, 3)],        &[(1, 9)],               3),
            (&[(1, 5), (2, 3)],        &[(1, 9), (2, 1)],       3), // a new thread took the id
            (&[(1, 5), (2, 3)],        &[],                     8),
        ];
        for row @ (before, now, ended) in table {
            let expected = Switches { voluntary: ended, involuntary: ended };
            assert_eq!(of_ended_threads(&threads(before), &threads(now)), expected, "{row:?}");
        }
    }
}
