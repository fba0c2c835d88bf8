//! `cargo xtask bench drift`: how often a run of two minutes names the memory of a server that leaks 1 KiB with each
//! message, and how often it names anything about a server that does not.

use super::{GENERATOR_CORE, SERVER_CORE};
use crate::process::{self, Process};
use anyhow::{Context as _, Result, anyhow};
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Run against a server that leaks and one that does not, and count the drifts that are named
#[derive(clap::Args, Debug)]
pub(super) struct DriftArgs {
    /// Runs against a server that leaks
    #[arg(long, default_value_t = 20, value_name = "N")]
    runs: usize,
    /// Runs against one that does not
    #[arg(long, default_value_t = 20, value_name = "N")]
    same: usize,
    /// The measured seconds of a run; warm-ups and pauses come on top, so that it takes less than two minutes
    #[arg(long, default_value_t = 105, value_name = "N", value_parser = clap::value_parser!(u32).range(5..=3600))]
    seconds: u32,
    /// Runs at the same time; each sends 500 messages a second, so that some have room beside each other
    #[arg(long, default_value = "1", value_name = "N")]
    jobs: NonZeroUsize,
    /// The binary to measure with, in place of the release build of this tree
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
}

/// Prints the table as Markdown.
pub(super) fn run(arguments: &DriftArgs) -> Result<()> {
    let wirebench = super::program(arguments.program.as_deref())?;
    let scratch = super::scratch("drift")?;
    let DriftArgs { runs, same, seconds, jobs, .. } = *arguments;
    let left = Mutex::new(order(runs, same));
    let named = Mutex::new([Named::default(), Named::default()]);
    let work = |job: usize| -> Result<()> {
        let scratch = scratch.join(job.to_string());
        fs::create_dir_all(&scratch)?;
        loop {
            let Some(leaks) = lock(&left).pop_front() else { return Ok(()) };
            let options: &[&str] = if leaks { &["--leak", "1KiB"] } else { &[] };
            let measured = measure(&wirebench, &scratch, seconds, options);
            // A table with a gap is not shown: the other jobs end after their current runs.
            let record = measured.inspect_err(|_| lock(&left).clear())?;
            let mut named = lock(&named);
            named[usize::from(!leaks)].add(&record);
            let done = named.iter().map(|kind| kind.runs).sum::<usize>();
            eprintln!("  {done} of {}: {}", runs + same, if leaks { "leaking" } else { "sound" });
        }
    };
    thread::scope(|scope| -> Result<()> {
        let work = &work;
        let jobs: Vec<_> = (0..jobs.get()).map(|job| scope.spawn(move || work(job))).collect();
        let ended =
            jobs.into_iter().map(|job| job.join().map_err(|_| anyhow!("a job panicked"))?);
        ended.collect()
    })?;
    let [leaking, sound] = named.into_inner().unwrap_or_else(PoisonError::into_inner);
    println!("{HEAD}");
    println!("{}", leaking.row("leaks 1 KiB a message"));
    println!("{}", sound.row("does not leak"));
    Ok(())
}

/// The order of the runs, true for one against a server that leaks: in turns, so that the machine is the same for both.
fn order(runs: usize, same: usize) -> VecDeque<bool> {
    let pairs = (0..runs.max(same)).flat_map(|run| [(true, run < runs), (false, run < same)]);
    pairs.filter_map(|(leaks, is_asked)| is_asked.then_some(leaks)).collect()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The record of one run against a server with these options.
fn measure(wirebench: &Path, scratch: &Path, seconds: u32, options: &[&str]) -> Result<Value> {
    let mut serve = Command::new(wirebench);
    serve.args(["serve", "oracle", "ws", "--listen", "127.0.0.1:0"]).args(options);
    let mut server = Process::start("server", SERVER_CORE, &serve, scratch)?;
    let url = format!("ws://{}/", process::await_ready(&mut server)?);
    let record = scratch.join("drift.json");
    super::forget(&record)?;
    let block_ms = u64::from(seconds) * 1000 / u64::from(BLOCKS);
    let mut run = Command::new(wirebench);
    run.args(["run", &url, "--quiet", "--rate", RATE, "--output"]).arg(&record);
    run.args(["--duration", &format!("{block_ms}ms"), "--rounds", &BLOCKS.to_string()]);
    run.args(["--warm-up", "100ms"]);
    let length = Duration::from_secs(u64::from(seconds)) * 2 + PATIENCE;
    Process::start("run", GENERATOR_CORE, &run, scratch)?.finish_with(&[0, 12, 13], length)?;
    let text = fs::read_to_string(&record)?;
    serde_json::from_str(&text).context("the record is no JSON")
}

/// The drifts that runs of a kind have named.
#[derive(Debug, Default, PartialEq)]
struct Named {
    runs: usize,
    /// Runs that named the memory of the server.
    memory: usize,
    /// Runs that named any other number, by its name.
    others: BTreeMap<String, usize>,
}

impl Named {
    /// Counts the drifts of one record.
    fn add(&mut self, record: &Value) {
        self.runs += 1;
        let drifts = record["drifts"].as_array().map_or(&[][..], Vec::as_slice);
        let shown = drifts.iter().filter(|drift| drift["is_shown"] == true);
        for number in shown.filter_map(|drift| drift["number"].as_str()) {
            match number {
                "server_memory_bytes" => self.memory += 1,
                other => *self.others.entry(other.to_owned()).or_default() += 1,
            }
        }
    }

    fn row(&self, head: &str) -> String {
        let Self { runs, memory, others } = self;
        let others = others.iter().map(|(name, count)| format!("{name} {count}"));
        let others = others.collect::<Vec<String>>().join(", ");
        format!("| {head} | {runs} | {memory} | {others} |")
    }
}

const HEAD: &str = "\
| server | runs | memory named | anything else named |
|---|--:|--:|---|";
/// The blocks of a run: twice as many as a drift needs.
const BLOCKS: u32 = 48;
/// The messages that are sent in a second.
const RATE: &str = "500/s";
/// The time for everything in a run but its blocks, which get twice their length.
const PATIENCE: Duration = Duration::from_secs(120);

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn both_kinds_of_server_take_turns() {
        assert_eq!(order(2, 3), [true, false, true, false, false]);
        assert_eq!(order(1, 0), [true]);
    }

    #[test]
    fn a_drift_is_counted_if_it_is_shown() {
        let mut named = Named::default();
        for drifts in [
            json!([{"number": "server_memory_bytes", "is_shown": true}, {"number": "p50_ns", "is_shown": false}]),
            json!([{"number": "server_memory_bytes", "is_shown": false}, {"number": "p50_ns", "is_shown": true}]),
            json!([]),
        ] {
            named.add(&json!({ "drifts": drifts }));
        }
        assert_eq!(named.row("x"), "| x | 3 | 1 | p50_ns 1 |");
    }
}
