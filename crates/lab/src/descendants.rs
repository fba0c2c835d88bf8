//! The descendants of a process, from `/proc/*/stat` (proc(5)). The kernel's own lists of children are faster to read,
//! but may miss some while others end: good enough for sampling (`probe`), but not for leaving none behind.

use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

/// A process as the kernel lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) pid: u32,
    parent: u32,
    state: char,
    threads: u32,
    pub(crate) name: String,
}

impl Listed {
    /// True if its program has this name. Compares only the beginning, which is all that the kernel keeps.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        let kept = &name.as_bytes()[..name.len().min(NAME_LEN_MAX)];
        self.name.as_bytes() == kept
    }

    /// Sends it a signal; harmless if it has ended since.
    pub(crate) fn signal(&self, signal: Signal) {
        if let Some(pid) = Pid::from_raw(self.pid.cast_signed()) {
            kill_process(pid, signal).ok();
        }
    }

    /// True if SIGSTOP has stopped it.
    pub(crate) fn is_stopped(&self) -> bool {
        self.state == 'T'
    }

    /// True unless it has ended. A process of which only the first thread has ended also looks like a zombie.
    fn is_alive(&self) -> bool {
        !matches!(self.state, 'Z' | 'X' | 'x') || self.threads > 1
    }

    /// Reads the line of `stat`; the name in it may have blanks and parentheses.
    fn read(line: &str) -> Option<Self> {
        let (pid, rest) = line.split_once(" (")?;
        let (name, rest) = rest.rsplit_once(") ")?;
        let mut fields = rest.split(' ');
        let state = fields.next()?.chars().next()?;
        let parent = fields.next()?.parse().ok()?;
        let threads = fields.nth(NUM_THREADS - PPID - 1)?.parse().ok()?;
        Some(Self { pid: pid.parse().ok()?, parent, state, threads, name: name.to_owned() })
    }
}

impl fmt::Display for Listed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name.escape_default(), self.pid)
    }
}

/// The descendants of `ancestor` that have not ended, parents before their children.
///
/// While a subreaper keeps orphans from leaving, it misses only those that are born during the scan.
pub(crate) fn descendants(ancestor: u32) -> Vec<Listed> {
    descendants_among(all(), ancestor)
}

fn all() -> Vec<Listed> {
    let Ok(folder) = Path::new("/proc").read_dir() else { return Vec::new() };
    let numbers = folder.flatten().filter(|entry| {
        entry.file_name().as_encoded_bytes().first().is_some_and(u8::is_ascii_digit)
    });
    let lines = numbers.filter_map(|entry| std::fs::read(entry.path().join("stat")).ok());
    lines.filter_map(|line| Listed::read(&String::from_utf8_lossy(&line))).collect()
}

fn descendants_among(all: Vec<Listed>, ancestor: u32) -> Vec<Listed> {
    let mut children: BTreeMap<u32, Vec<Listed>> = BTreeMap::new();
    for process in all {
        children.entry(process.parent).or_default().push(process);
    }
    let mut found = children.remove(&ancestor).unwrap_or_default();
    let mut next = 0;
    while let Some(process) = found.get(next) {
        let more = children.remove(&process.pid).unwrap_or_default();
        found.extend(more);
        next += 1;
    }
    found.retain(Listed::is_alive);
    found
}

/// The bytes that the kernel keeps of a name (`TASK_COMM_LEN` without the zero at its end).
const NAME_LEN_MAX: usize = 15;
/// The fields, as numbered in proc(5).
const PPID: usize = 4;
const NUM_THREADS: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    /// The fields between the parent and the number of threads.
    const BETWEEN: &str = "0 0 0 -1 0 0 0 0 0 0 0 0 0 20 0";

    fn read(start: &str) -> Option<Listed> {
        Listed::read(&format!("{start} {BETWEEN} 1 0"))
    }

    #[test]
    fn a_name_may_have_blanks_and_parentheses() {
        let process = read("12 (a) b (c) S 3").unwrap();
        assert_eq!((process.pid, process.parent, process.state), (12, 3, 'S'));
        assert_eq!(process.name, "a) b (c");
        assert_eq!(Listed::read(""), None);
        assert_eq!(Listed::read("12 (a"), None);
    }

    #[test]
    fn a_program_is_known_by_as_much_of_its_name_as_the_kernel_keeps() {
        let process = read("7 (a-name-of-15-by) S 1").unwrap();
        assert!(process.is_called("a-name-of-15-by") && process.is_called("a-name-of-15-bytes"));
        assert!(!process.is_called("a-name-of-15-b") && !process.is_called(""));
        assert!(read("7 (sh) S 1").unwrap().is_called("sh"));
    }

    #[test]
    fn all_below_are_found_but_the_ended() {
        let all = "1 (init) S 0\n2 (us) S 1\n4 (child) S 2\n3 (grandchild) T 4\n5 (ended) Z 2\n6 (other) S 1\n";
        let all = || all.lines().filter_map(read).collect();
        let found = |ancestor| {
            let found = descendants_among(all(), ancestor);
            found.iter().map(|process| process.pid).collect::<Vec<_>>()
        };
        assert_eq!(found(2), [4, 3]);
        assert_eq!(found(0), [1, 2, 6, 4, 3]);
        assert_eq!(found(9), [] as [u32; 0]);
    }

    #[test]
    fn one_with_threads_left_is_alive_without_its_first() {
        let process =
            |threads| Listed::read(&format!("5 (java) Z 2 {BETWEEN} {threads} 0")).unwrap();
        assert!(process(3).is_alive());
        assert!(!process(1).is_alive());
    }
}
