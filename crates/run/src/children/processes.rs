//! The processes of one program, a server or a client, observed as one: CPU time, switches, memory.

use engine::clock::process_cpu;
use probe::{
    ProcessSample, ProcessSampler, RunQueue, TcpSampler, descendants, reaped_cpu, run_queue,
};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};
use units::{Bytes, Nanos};

/// The processes of a program.
#[derive(Clone, Debug)]
pub(crate) struct Processes {
    /// The processes whose later descendants are counted too.
    ancestors: Arc<[u32]>,
    /// The processes that existed when this value was made.
    known: Arc<[u32]>,
    /// The processes that replaced them, once they have been killed and started again.
    next: Arc<OnceLock<Next>>,
}

/// The processes of a program that was started again.
#[derive(Debug)]
struct Next {
    processes: Processes,
    /// The CPU time that the processes before had used.
    used_before: Option<Nanos>,
}

impl Processes {
    /// A single process that starts no others.
    pub(crate) fn one(pid: u32) -> Self {
        Self::known(vec![pid])
    }

    /// These processes, and no others that they may start.
    pub(crate) fn known(pids: Vec<u32>) -> Self {
        Self { ancestors: Arc::new([]), known: pids.into(), next: Arc::default() }
    }

    /// All descendants of `keeper`, now and later, without `keeper` itself.
    pub(crate) fn of(keeper: u32) -> Self {
        let known = descendants(keeper).into();
        Self { ancestors: Arc::new([keeper]), known, next: Arc::default() }
    }

    /// Processes that this run did not start, with all their descendants, now and later. If this program is among them,
    /// it and its children are left out.
    pub(crate) fn found(pids: &[u32]) -> Self {
        let all = pids.iter().copied().chain(below(pids)).collect();
        let known = without_us(all).into_iter().collect();
        Self { ancestors: pids.into(), known, next: Arc::default() }
    }

    /// Replaces the processes from now on by those of the program started again; `used_before` is the CPU time used
    /// before it was killed. The change applies to all clones of this value.
    pub(crate) fn go_on_as(&self, processes: Self, used_before: Option<Nanos>) {
        // A server is started again at most once per block, and every block has its own value.
        drop(self.next.set(Next { processes, used_before }));
    }

    /// The process that the others descend from, the first where there are several; it distinguishes a program from the
    /// same program started again.
    pub(crate) fn origin(&self) -> Option<u32> {
        let now = self.next().unwrap_or(self);
        now.ancestors.first().or_else(|| now.known.first()).copied()
    }

    /// The processes that replaced these; `None` while these have not been replaced.
    pub(crate) fn next(&self) -> Option<&Self> {
        self.next.get().map(|next| &next.processes)
    }

    /// CPU time used so far by the processes known from the start; `None` if none of them is left. Costs a microsecond
    /// per process.
    pub(crate) fn cpu(&self) -> Option<Nanos> {
        if let Some(Next { processes, used_before }) = self.next.get() {
            return Some((*used_before)? + processes.cpu()?);
        }
        let used = self.known.iter().filter_map(|pid| process_cpu(*pid));
        used.reduce(|sum, one| sum + one)
    }

    /// The processes that exist now: those known from the start that are left, and all descendants of the ancestors.
    pub(crate) fn there(&self) -> BTreeSet<u32> {
        let now = self.next().unwrap_or(self);
        let mut there = without_us(below(&now.ancestors).collect());
        there.extend(now.known.iter().filter(|pid| process_cpu(**pid).is_some()));
        there
    }

    /// CPU time used so far by the program's other processes, given those that are [there](Self::there): processes that
    /// were started later, and those that have ended and were waited for, in steps of 10 ms. It is slower to read, and
    /// changes rarely.
    pub(crate) fn cpu_besides(&self, there: &BTreeSet<u32>) -> Nanos {
        if let Some(next) = self.next() {
            return next.cpu_besides(there);
        }
        if self.ancestors.is_empty() {
            return Nanos::ZERO;
        }
        let later = there.iter().filter(|pid| !self.known.contains(pid));
        let ancestors: BTreeSet<u32> = self.ancestors.iter().copied().collect();
        let ended = ancestors.union(there).filter_map(|pid| reaped_cpu(*pid));
        later
            .filter_map(|pid| process_cpu(*pid))
            .chain(ended)
            .fold(Nanos::ZERO, |sum, one| sum + one)
    }

    /// All CPU time used so far; to be read where no message waits for it.
    pub(crate) fn cpu_in_all(&self) -> Option<Nanos> {
        self.cpu_of(&self.there())
    }

    /// The same, given the processes that are [there](Self::there).
    pub(crate) fn cpu_of(&self, there: &BTreeSet<u32>) -> Option<Nanos> {
        Some(self.cpu()? + self.cpu_besides(there))
    }

    /// The waits for a CPU of the threads of the processes known from the start; `None` if they cannot be read.
    pub(crate) fn run_queue(&self) -> Option<RunQueue> {
        run_queue(&self.known)
    }

    /// Opens a sampler of the memory, threads and switches of the processes that exist now.
    pub(crate) fn sampler(&self) -> Together {
        let mut together = Together::default();
        together.renew(&self.there());
        together
    }

    /// Opens a sampler of TCP's counters in their network namespace; `None` if none of them is left.
    pub(crate) fn tcp(&self) -> Option<TcpSampler> {
        self.known.iter().find_map(|pid| TcpSampler::open_of(*pid).ok())
    }
}

/// The processes that descend from any of these.
fn below(pids: &[u32]) -> impl Iterator<Item = u32> {
    pids.iter().flat_map(|pid| descendants(*pid))
}

/// These processes without this program and its descendants.
fn without_us(mut pids: BTreeSet<u32>) -> BTreeSet<u32> {
    let us = std::process::id();
    if pids.remove(&us) {
        for ours in descendants(us) {
            pids.remove(&ours);
        }
    }
    pids
}

/// Samples several processes together.
#[derive(Debug, Default)]
pub(crate) struct Together {
    each: BTreeMap<u32, ProcessSampler>,
}

impl Together {
    /// Samples these processes from now on. True if a process sampled before is not among them.
    pub(crate) fn renew(&mut self, there: &BTreeSet<u32>) -> bool {
        let before = self.each.len();
        self.each.retain(|pid, _| there.contains(pid));
        let has_lost = self.each.len() < before;
        for pid in there {
            if let Entry::Vacant(place) = self.each.entry(*pid)
                && let Ok(sampler) = ProcessSampler::open(*pid)
            {
                place.insert(sampler);
            }
        }
        has_lost
    }

    /// The sum over all; `None` if none is left. Shared pages count for each process.
    pub(crate) fn sample(&mut self) -> Option<ProcessSample> {
        let now = self.each.values_mut().filter_map(|one| one.sample().ok());
        now.reduce(|sum, one| {
            let mut switches = sum.switches;
            switches += one.switches;
            let rss = Bytes(sum.rss.0 + one.rss.0);
            ProcessSample { rss, threads: sum.threads + one.threads, switches }
        })
    }

    /// Their memory, with shared pages counted once; `None` where the kernel does not report it.
    pub(crate) fn pss(&self) -> Option<Bytes> {
        let each = self.each.values().map(|one| Some(one.footprint().ok()?.pss?.0));
        Some(Bytes(each.sum::<Option<u64>>()?)).filter(|_| !self.each.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::process::{Command, Stdio};

    #[test]
    fn processes_that_start_later_are_looked_at_and_those_that_have_ended_are_not() {
        let mut keeper = Command::new("sh")
            .args(["-c", "read go; sh -c 'read go; :' <&0; read go"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = keeper.stdin.take().unwrap();
        let mut go = || stdin.write_all(b"go\n").unwrap();
        let server = Processes::of(keeper.id());
        let mut together = server.sampler();
        assert_eq!(
            (server.there(), together.sample(), together.pss()),
            (BTreeSet::new(), None, None)
        );
        go();
        while server.there().is_empty() {
            std::thread::yield_now();
        }
        let later = server.there();
        assert!(!together.renew(&later), "none was lost");
        assert_eq!(together.sample().unwrap().threads, 1);
        assert!(together.pss().unwrap() > Bytes(0));
        let known = Processes::known(later.iter().copied().chain([keeper.id()]).collect());
        go();
        while !server.there().is_empty() {
            std::thread::yield_now();
        }
        assert!(together.renew(&server.there()));
        assert_eq!((together.sample(), known.there()), (None, BTreeSet::from([keeper.id()])));
        go();
        keeper.wait().unwrap();
    }

    #[test]
    fn what_children_use_counts_while_they_run_and_when_they_have_ended() {
        // Its child counts to some hundred thousand and then prints a word; the shell waits for the child, and then for
        // us.
        let count = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        let script = format!("sh -c '{count}; echo counted; read go'; echo reaped; read go");
        let mut keeper = Command::new("sh")
            .args(["-c", "sh -c \"$SCRIPT\" <&0; :"])
            .env("SCRIPT", script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = keeper.stdin.take().unwrap();
        let mut said = std::io::BufReader::new(keeper.stdout.take().unwrap());
        let mut heard = |word: &str| {
            let mut line = String::new();
            std::io::BufRead::read_line(&mut said, &mut line).unwrap();
            assert_eq!(line.trim(), word);
        };
        while descendants(keeper.id()).is_empty() {
            std::thread::yield_now();
        }
        let each = [Processes::of(keeper.id()), Processes::found(&[keeper.id()])];
        heard("counted");
        let running = each.each_ref().map(|processes| processes.cpu_in_all().unwrap());
        let whole = Processes::of(keeper.id());
        assert!(whole.sampler().sample().unwrap().threads >= 2);
        assert!(whole.sampler().pss().unwrap() > Bytes(0));
        stdin.write_all(b"go\n").unwrap();
        heard("reaped");
        let reaped = each.each_ref().map(|processes| processes.cpu_in_all().unwrap());
        for (running, reaped) in running.into_iter().zip(reaped) {
            assert!(running >= Nanos::from_millis(20), "{running}");
            // Processes that have ended are counted in ticks of 10 ms, user and system apart.
            assert!(reaped.0 + 25_000_000 >= running.0, "{reaped} after {running}");
        }
        stdin.write_all(b"go\n").unwrap();
        keeper.wait().unwrap();
        assert!(each.iter().all(|processes| processes.cpu().is_none()));
    }
}
