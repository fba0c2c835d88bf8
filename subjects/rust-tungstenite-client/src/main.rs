//! A WebSocket client on tungstenite, blocking, a thread for each connection; `wss` by rustls with ring.
//!
//! The client's side of `docs/SUBJECTS.md`: a block for each `run` line. A round trip is of the window if it was
//! sent in it; the window ends with the last reply that is of it. Nothing is written while it is open. Chosen:
//! `TCP_NODELAY`; frames and messages of any length. Start reading at [`run`]; `lane` has the connections.

mod block;
mod lane;

use std::collections::BTreeMap;
use std::env;
use std::error::Error;
use std::fs;
use std::io::{self, BufRead, Write};
use std::sync::Arc;
use std::thread;

use block::Block;
use lane::{Lane, Seen, Settings};

pub(crate) type AnyError = Box<dyn Error + Send + Sync>;

fn main() -> Result<(), AnyError> {
    if env::args().nth(1).is_some() {
        println!("{}", locked("tungstenite"));
        return Ok(());
    }
    let settings = Arc::new(Settings::read()?);
    say(&format!("ready tungstenite {}", locked("tungstenite")))?;
    for line in io::stdin().lock().lines() {
        match Block::read(&line?, settings.life.is_some()) {
            Ok(block) => run(&settings, &Arc::new(block))?,
            Err(words) => say(&format!("unsupported {words}"))?,
        }
    }
    Ok(())
}

/// One block: opens, warms up, measures, closes, reports.
fn run(settings: &Arc<Settings>, block: &Arc<Block>) -> Result<(), AnyError> {
    let mut lanes: Vec<Lane> =
        (0..settings.connections).map(|_| Lane::new(settings, block)).collect();
    if settings.life.is_none() {
        // One after the other, so that how long each took is not that of all.
        lanes.iter_mut().for_each(Lane::open);
    }
    let threads = lanes
        .into_iter()
        .map(|lane| thread::Builder::new().stack_size(lane::STACK_SIZE).spawn(move || lane.drive()))
        .collect::<Result<Vec<_>, _>>()?;
    if !block.warm_up.is_zero() {
        block.open_gate();
        thread::sleep(block.warm_up);
    }
    say("measuring")?;
    let cpu = cpu_ns()?;
    let start = block.measure();
    block.open_gate();
    let mut lanes = Vec::new();
    for thread in threads {
        lanes.push(thread.join().map_err(|_| "a thread panicked")?);
    }
    let cpu = cpu_ns()? - cpu;
    say("measured")?;
    lanes.iter_mut().for_each(Lane::close);
    let seen: Vec<Seen> = lanes.into_iter().map(Lane::into_seen).collect();
    report(&seen, start, cpu)?;
    Ok(())
}

fn report(lanes: &[Seen], start: u64, cpu: u64) -> io::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    let last = lanes.iter().map(|lane| lane.last).max().unwrap_or(start);
    writeln!(out, "wall_ns {}\ncpu_ns {cpu}", last.saturating_sub(start))?;
    writeln!(out, "ok {}", lanes.iter().map(|lane| lane.round_trips.len()).sum::<usize>())?;
    let mut errors = BTreeMap::<&str, u64>::new();
    for words in lanes.iter().flat_map(|lane| &lane.errors) {
        *errors.entry(words).or_default() += 1;
    }
    for (words, count) in errors {
        writeln!(out, "error {count} {words}")?;
    }
    for lane in lanes {
        for (name, times) in lane.times() {
            for line in times.chunks(1000) {
                write!(out, "{name}")?;
                for time in line {
                    write!(out, " {time}")?;
                }
                writeln!(out)?;
            }
        }
    }
    writeln!(out, "done")?;
    out.flush()
}

fn say(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}

/// The CPU time of this process, user and system.
fn cpu_ns() -> io::Result<u64> {
    // SAFETY: all zeroes is a value of this struct of integers, and the kernel fills it in.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        if libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) != 0 {
            return Err(io::Error::last_os_error());
        }
        usage
    };
    let nanoseconds =
        |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    Ok(nanoseconds(usage.ru_utime) + nanoseconds(usage.ru_stime))
}

pub(crate) fn variable(name: &str) -> Result<String, AnyError> {
    env::var(name).map_err(|error| format!("{name}: {error}").into())
}

pub(crate) fn bytes(name: &str) -> Result<Vec<u8>, AnyError> {
    let path = variable(name)?;
    fs::read(&path).map_err(|error| format!("{path}: {error}").into())
}

/// The version of a library as the lock file has it, which is what was built.
fn locked(library: &str) -> &'static str {
    include_str!("../Cargo.lock")
        .split_once(&format!("name = \"{library}\"\nversion = \""))
        .and_then(|(_, rest)| rest.split('"').next())
        .unwrap_or("?")
}
