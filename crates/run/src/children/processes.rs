//! The processes of one program, a server or a client, looked at as one: CPU time, switches, memory.

use engine::clock::process_cpu;
use probe::{
    ProcessSample, ProcessSampler, RunQueue, TcpSampler, descendants, reaped_cpu, run_queue,
};
use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};
use units::{Bytes, Nanos};

/// The processes of a program.
#[derive(Clone, Debug)]
pub(crate) struct Processes {
    /// The processes whose later descendants are counted too.
    ancestors: Arc<[u32]>,
    /// The processes that there were when this was made.
    known: Arc<[u32]>,
    /// The processes that took their place, once they were killed.
    next: Arc<OnceLock<Next>>,
}

/// The processes of a program that was started again.
#[derive(Debug)]
struct Next {
    processes: Processes,
    /// The CPU time that those before had used.
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

    /// All that descend from `keeper`, now and later; itself not.
    pub(crate) fn of(keeper: u32) -> Self {
        let known = descendants(keeper).into();
        Self { ancestors: Arc::new([keeper]), known, next: Arc::default() }
    }

    /// Processes that somebody else started, with all that descend from them, now and later. This program, if it is one
    /// of those, and its children are left out.
    pub(crate) fn found(pids: &[u32]) -> Self {
        let all = pids.iter().copied().chain(below(pids)).collect();
        let known = without_us(all).into_iter().collect();
        Self { ancestors: pids.into(), known, next: Arc::default() }
    }

    /// From now on these processes are what the program is, which was killed after it had used so much CPU time. All
    /// copies of this know it.
    pub(crate) fn go_on_as(&self, processes: Self, used_before: Option<Nanos>) {
        // It is started again once in a block, and a block has its own.
        drop(self.next.set(Next { processes, used_before }));
    }

    /// The process that the others descend from, the first where there are several: it tells a program from the same
    /// that was started again.
    pub(crate) fn origin(&self) -> Option<u32> {
        let now = self.next().unwrap_or(self);
        now.ancestors.first().or_else(|| now.known.first()).copied()
    }

    /// The processes that took the place of these; `None` while these are there.
    pub(crate) fn next(&self) -> Option<&Self> {
        self.next.get().map(|next| &next.processes)
    }

    /// CPU time that those which were known from the start have used until now; `None` if none of them is left. It
    /// takes a microsecond for each.
    pub(crate) fn cpu(&self) -> Option<Nanos> {
        if let Some(Next { processes, used_before }) = self.next.get() {
            return Some((*used_before)? + processes.cpu()?);
        }
        let used = self.known.iter().filter_map(|pid| process_cpu(*pid));
        used.reduce(|sum, one| sum + one)
    }

    /// CPU time that the others have used until now: processes that were started later, and those that have ended and
    /// were waited for, in steps of 10 ms. It is slower to read, and changes rarely.
    pub(crate) fn cpu_besides(&self) -> Nanos {
        if let Some(next) = self.next() {
            return next.cpu_besides();
        }
        if self.ancestors.is_empty() {
            return Nanos::ZERO;
        }
        let now = without_us(below(&self.ancestors).collect());
        let later = now.iter().filter(|pid| !self.known.contains(pid));
        let ancestors: BTreeSet<u32> = self.ancestors.iter().copied().collect();
        let ended = ancestors.union(&now).filter_map(|pid| reaped_cpu(*pid));
        later
            .filter_map(|pid| process_cpu(*pid))
            .chain(ended)
            .fold(Nanos::ZERO, |sum, one| sum + one)
    }

    /// All of it, to be read where no message waits for it.
    pub(crate) fn cpu_in_all(&self) -> Option<Nanos> {
        Some(self.cpu()? + self.cpu_besides())
    }

    /// The waits for a CPU of the threads of those that were known from the start; `None` if nothing is known of them.
    pub(crate) fn run_queue(&self) -> Option<RunQueue> {
        run_queue(&self.known)
    }

    /// Opens a sampler of their memory, threads and switches.
    pub(crate) fn sampler(&self) -> Together {
        let open = |pid: &u32| ProcessSampler::open(*pid).ok();
        Together { each: self.next().unwrap_or(self).known.iter().filter_map(open).collect() }
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

/// These processes without this program and what it started.
fn without_us(mut pids: BTreeSet<u32>) -> BTreeSet<u32> {
    let us = std::process::id();
    if pids.remove(&us) {
        for ours in descendants(us) {
            pids.remove(&ours);
        }
    }
    pids
}

/// Looks at each of some processes.
#[derive(Debug)]
pub(crate) struct Together {
    each: Vec<ProcessSampler>,
}

impl Together {
    /// The sum over all; `None` if none is left. Pages that they share count for each.
    pub(crate) fn sample(&mut self) -> Option<ProcessSample> {
        let now = self.each.iter_mut().filter_map(|one| one.sample().ok());
        now.reduce(|sum, one| {
            let mut switches = sum.switches;
            switches += one.switches;
            let rss = Bytes(sum.rss.0 + one.rss.0);
            ProcessSample { rss, threads: sum.threads + one.threads, switches }
        })
    }

    /// Their memory, pages that they share counted once; `None` where the kernel does not say.
    pub(crate) fn pss(&self) -> Option<Bytes> {
        let each = self.each.iter().map(|one| Some(one.footprint().ok()?.pss?.0));
        Some(Bytes(each.sum::<Option<u64>>()?)).filter(|_| !self.each.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::process::{Command, Stdio};

    #[test]
    fn what_children_use_counts_while_they_run_and_when_they_have_ended() {
        // Its child counts to some hundred thousand, and then says so; the shell waits for it, and then for us.
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
