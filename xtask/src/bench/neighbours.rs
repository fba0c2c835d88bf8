//! Disturbances of known kind: programs that take the machine's CPU, memory or loopback interface, and stops of the
//! programs that measure.
//!
//! A neighbour is this program again, as a child whose standard input is a pipe: it ends when the pipe does, however
//! its parent ended.

#![expect(
    clippy::disallowed_types,
    reason = "a neighbour of loopback traffic has sockets of its own"
)]

use super::{GENERATOR_CORE, SERVER_CORE};
use crate::process::{self, Process};
use crate::shell;
use anyhow::{Context as _, Result};
use std::hint::black_box;
use std::io::{Read, Write, copy, sink, stdin};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};
use units::Random;

/// A program that takes something of the machine until its standard input ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Neighbour {
    /// A core for 50 to 400 ms, nothing for as long, and again.
    Cpu,
    /// Memory bandwidth: it reads and writes 256 MiB without a pause.
    Memory,
    /// The loopback interface: 1 MiB over a TCP connection to itself, every 2 ms.
    Traffic,
}

/// Be a neighbour, until standard input ends
#[derive(clap::Args, Debug)]
pub(super) struct NeighbourArgs {
    what: Neighbour,
    /// Of its random times.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Takes what it is to take; returns only if it cannot.
pub(super) fn run(arguments: &NeighbourArgs) -> Result<()> {
    thread::spawn(|| {
        drop(copy(&mut stdin(), &mut sink()));
        std::process::exit(0)
    });
    let random = Random::new(arguments.seed);
    match arguments.what {
        Neighbour::Cpu => burn(random),
        Neighbour::Memory => stream(),
        Neighbour::Traffic => talk(),
    }
}

impl Neighbour {
    /// Starts neighbour number `index` on the two cores that a measurement uses.
    pub(super) fn start(self, index: usize, scratch: &Path) -> Result<Process> {
        let name = format!("{self:?}").to_lowercase();
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["bench", "neighbour", &name, "--seed", &(index + 1).to_string()]);
        let cores = format!("{SERVER_CORE},{GENERATOR_CORE}");
        Process::start_tied(&format!("neighbour-{name}-{index}"), cores, &command, scratch)
    }
}

fn burn(mut random: Random) -> Result<()> {
    loop {
        let until = Instant::now() + between(&mut random, BURST);
        while Instant::now() < until {
            std::hint::spin_loop();
        }
        sleep(between(&mut random, BURST));
    }
}

fn stream() -> Result<()> {
    let mut numbers = vec![1_u64; STREAMED / size_of::<u64>()];
    loop {
        for number in &mut numbers {
            *number = number.wrapping_mul(3);
        }
        black_box(&mut numbers);
    }
}

fn talk() -> Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let mut writer = TcpStream::connect(listener.local_addr()?)?;
    let (mut reader, _) = listener.accept()?;
    thread::spawn(move || {
        let mut bytes = vec![0; 64 << 10];
        while reader.read(&mut bytes).is_ok_and(|len| len > 0) {}
    });
    let bytes = vec![0; SENT];
    loop {
        writer.write_all(&bytes).context("its own connection was cut")?;
        sleep(SENT_EVERY);
    }
}

/// The side of a measurement that is stopped now and then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stopped {
    /// The program that measures.
    Generator,
    /// One of the servers that it has started.
    Server,
}

/// Stops of 5 to 200 ms, with pauses of 100 ms to 1 s between them, of a program that measures. They end, and with them
/// the last stop, when the value is dropped.
pub(super) struct Stops {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Stops {
    /// Stops `side` of the measurement that process `id` makes.
    pub(super) fn of(side: Stopped, id: u32, seed: u64) -> Self {
        let (end, ended) = mpsc::channel();
        let mut random = Random::new(seed);
        let thread = thread::spawn(move || {
            let is_over = |time| ended.recv_timeout(time) != Err(RecvTimeoutError::Timeout);
            while !is_over(between(&mut random, PAUSE)) {
                let Some(target) = target(side, id, &mut random) else { continue };
                // It may have ended by itself; then there is nothing to stop, or to let go on.
                drop(shell::signal("STOP", target));
                let is_over = is_over(between(&mut random, STOP));
                drop(shell::signal("CONT", target));
                if is_over {
                    return;
                }
            }
        });
        Self { end: Some(end), thread: Some(thread) }
    }
}

impl Drop for Stops {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

/// The process to stop; `None` if no server runs.
fn target(side: Stopped, id: u32, random: &mut Random) -> Option<u32> {
    match side {
        Stopped::Generator => Some(id),
        Stopped::Server => {
            let is_server =
                |id: &u32| process::arguments(*id).get(1).is_some_and(|it| it == "serve");
            let servers: Vec<u32> =
                process::descendants(id).into_iter().filter(is_server).collect();
            (!servers.is_empty()).then(|| servers[random.below(servers.len())])
        }
    }
}

/// A random time between two numbers of milliseconds.
fn between(random: &mut Random, [least, most]: [usize; 2]) -> Duration {
    let more = random.below(most - least + 1);
    Duration::from_millis(u64::try_from(least + more).unwrap_or(u64::MAX))
}

/// Milliseconds of a burst, and of the rest after it.
const BURST: [usize; 2] = [50, 400];
/// Milliseconds of a stop, and of the time between two.
const STOP: [usize; 2] = [5, 200];
const PAUSE: [usize; 2] = [100, 1000];
/// Bytes that the neighbour of memory goes through: more than caches hold.
const STREAMED: usize = 256 << 20;
/// Bytes that the neighbour of traffic sends at a time.
const SENT: usize = 1 << 20;
const SENT_EVERY: Duration = Duration::from_millis(2);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_between_their_bounds_and_reach_both() {
        let mut random = Random::new(7);
        let drawn: Vec<u128> =
            (0..1000).map(|_| between(&mut random, [5, 9]).as_millis()).collect();
        assert_eq!((drawn.iter().min(), drawn.iter().max()), (Some(&5), Some(&9)));
    }

    #[test]
    fn a_program_that_was_stopped_goes_on_when_the_stops_end() {
        let scratch = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "read line"]);
        let process = Process::start_tied("stopped", 0, &command, scratch.path()).unwrap();
        let state = || {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.id())).unwrap();
            stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next()).unwrap()
        };
        let stops = Stops::of(Stopped::Generator, process.id(), 1);
        while state() != 'T' {
            thread::yield_now();
        }
        drop(stops);
        assert_ne!(state(), 'T');
    }
}
