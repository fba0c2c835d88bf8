//! Disturbances of known kind: programs that take the machine's CPU, memory or loopback interface, stops of the
//! programs that measure, and moves of them between cores.
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
use std::fs;
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
    /// A share of a core that grows from nothing by 4 % each second, to half of it.
    Rising,
    /// Memory bandwidth: it reads and writes 256 MiB without a pause.
    Memory,
    /// The loopback interface: 1 MiB over a TCP connection to itself, every 2 ms.
    Traffic,
}

/// Be a neighbour, until standard input ends
#[derive(clap::Args, Debug)]
pub(super) struct NeighbourArgs {
    what: Neighbour,
    /// The seed of its random times.
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
        Neighbour::Rising => rise(),
        Neighbour::Memory => stream(),
        Neighbour::Traffic => talk(),
    }
}

impl Neighbour {
    /// Starts neighbour number `index` on the two cores that a measurement uses.
    fn start(self, index: usize, scratch: &Path) -> Result<Process> {
        let name = format!("{self:?}").to_lowercase();
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["bench", "neighbour", &name, "--seed", &(index + 1).to_string()]);
        let cores = format!("{SERVER_CORE},{GENERATOR_CORE}");
        Process::start_tied(&format!("neighbour-{name}-{index}"), cores, &command, scratch)
    }
}

fn burn(mut random: Random) -> Result<()> {
    loop {
        spin(between(&mut random, BURST));
        sleep(between(&mut random, BURST));
    }
}

fn rise() -> Result<()> {
    let start = Instant::now();
    loop {
        let share = (RISE_PER_S * start.elapsed().as_secs_f64()).min(RISE_TO);
        spin(RISING.mul_f64(share));
        sleep(RISING.mul_f64(1.0 - share));
    }
}

fn spin(time: Duration) {
    let until = Instant::now() + time;
    while Instant::now() < until {
        std::hint::spin_loop();
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

/// Something that happens beside a measurement, or to it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Disturbance {
    /// A number of programs on the same cores.
    Beside(Neighbour, usize),
    /// Something that is done to the programs that measure, for a while, again and again.
    Done(Act),
}

impl Disturbance {
    /// All of them, by name.
    pub(super) const ALL: [(&str, Self); 10] = [
        ("quiet", Self::Beside(Neighbour::Cpu, 0)),
        ("1 neighbour", Self::Beside(Neighbour::Cpu, 1)),
        ("2 neighbours", Self::Beside(Neighbour::Cpu, 2)),
        ("4 neighbours", Self::Beside(Neighbour::Cpu, 4)),
        ("a neighbour that grows", Self::Beside(Neighbour::Rising, 1)),
        ("busy memory", Self::Beside(Neighbour::Memory, 1)),
        ("other traffic", Self::Beside(Neighbour::Traffic, 1)),
        ("generator stops for 5 to 200 ms", Self::Done(Act::StopGenerator)),
        ("server stops for 5 to 200 ms", Self::Done(Act::StopServer)),
        ("cores that move", Self::Done(Act::Together)),
    ];

    /// Starts the programs that run beside a measurement; they end when they are dropped.
    pub(super) fn beside(self, scratch: &Path) -> Result<Vec<Process>> {
        match self {
            Self::Beside(what, count) => {
                (0..count).map(|index| what.start(index, scratch)).collect()
            }
            Self::Done(_) => Ok(Vec::new()),
        }
    }

    /// Begins to act upon the measurement that process `id` makes, until the value is dropped.
    pub(super) fn upon(self, id: u32, seed: u64) -> Option<Acts> {
        match self {
            Self::Beside(..) => None,
            Self::Done(act) => Some(Acts::of(act, id, seed)),
        }
    }
}

/// Something that is done to the programs that measure, for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// The program that measures is stopped.
    StopGenerator,
    /// One of the servers that we or it have started is stopped.
    StopServer,
    /// The threads of the program that measures are moved to the core of the servers.
    Together,
}

impl Act {
    /// Begins to act upon the measurement of process `id`. Returns what undoes that, or `None` if there is nothing to
    /// act upon.
    fn begin(self, id: u32, random: &mut Random) -> Option<Undo> {
        match self {
            Self::StopGenerator => Some(Undo::stop(id)),
            Self::StopServer => server(random).map(Undo::stop),
            Self::Together => Some(Undo::move_to(SERVER_CORE, id)),
        }
    }

    /// The least and the most milliseconds of an act.
    fn length(self) -> [usize; 2] {
        match self {
            Self::StopGenerator | Self::StopServer => STOP,
            Self::Together => PAUSE,
        }
    }
}

/// Undoes an act when it is dropped.
///
/// A process or thread may have ended on its own; then there was nothing to act upon, and there is nothing to undo.
enum Undo {
    Stop(u32),
    /// Threads, and the cores that each was on.
    Move(Vec<(String, String)>),
}

impl Undo {
    fn stop(id: u32) -> Self {
        drop(shell::signal("STOP", id));
        Self::Stop(id)
    }

    fn move_to(core: usize, id: u32) -> Self {
        let threads = fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten();
        let threads = threads.filter_map(|thread| {
            let status = fs::read_to_string(thread.path().join("status")).ok()?;
            let cores = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
            Some((thread.file_name().into_string().ok()?, cores.trim().to_owned()))
        });
        let threads: Vec<_> = threads.collect();
        threads.iter().for_each(|(thread, _)| pin(thread, &core.to_string()));
        Self::Move(threads)
    }
}

impl Drop for Undo {
    fn drop(&mut self) {
        match self {
            Self::Stop(id) => drop(shell::signal("CONT", *id)),
            Self::Move(threads) => threads.iter().for_each(|(thread, cores)| pin(thread, cores)),
        }
    }
}

fn pin(thread: &str, cores: &str) {
    drop(shell::output(shell::command("taskset").args(["--pid", "--cpu-list", cores, thread])));
}

/// Acts with pauses of 100 ms to 1 s between them: stops of 5 to 200 ms, moves of 100 ms to 1 s. They end, and the last
/// one is undone, when the value is dropped.
pub(super) struct Acts {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Acts {
    fn of(act: Act, id: u32, seed: u64) -> Self {
        let (end, ended) = mpsc::channel();
        let mut random = Random::new(seed);
        let thread = thread::spawn(move || {
            let is_over = |time| ended.recv_timeout(time) != Err(RecvTimeoutError::Timeout);
            while !is_over(between(&mut random, PAUSE)) {
                let Some(_undo) = act.begin(id, &mut random) else { continue };
                if is_over(between(&mut random, act.length())) {
                    return;
                }
            }
        });
        Self { end: Some(end), thread: Some(thread) }
    }
}

impl Drop for Acts {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

/// One of the servers among the descendants of this process; `None` if none runs.
fn server(random: &mut Random) -> Option<u32> {
    let is_server = |id: &u32| process::arguments(*id).get(1).is_some_and(|it| it == "serve");
    let servers: Vec<u32> =
        process::descendants(std::process::id()).into_iter().filter(is_server).collect();
    (!servers.is_empty()).then(|| servers[random.below(servers.len())])
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
/// The period in which the growing neighbour takes its share once, the growth of the share in a second, and its limit.
const RISING: Duration = Duration::from_millis(10);
const RISE_PER_S: f64 = 0.04;
const RISE_TO: f64 = 0.5;
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

    /// Returns one line of the status of a waiting program: before an act, when the act shows, and after it.
    fn acted_upon(act: Act, line: &str, shows: fn(&str) -> bool) -> [String; 3] {
        let scratch = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "read line"]);
        let cores = format!("{SERVER_CORE},{GENERATOR_CORE}");
        let process = Process::start_tied("waiting", cores, &command, scratch.path()).unwrap();
        let status = || {
            let status = fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap();
            status.lines().find(|it| it.starts_with(line)).unwrap().to_owned()
        };
        // Until then it is still the program that pins it.
        while process::arguments(process.id()).first().is_none_or(|name| name != "sh") {
            thread::yield_now();
        }
        let before = status();
        let acts = Acts::of(act, process.id(), 1);
        let during = loop {
            match status() {
                status if shows(&status) => break status,
                _ => thread::yield_now(),
            }
        };
        drop(acts);
        [before, during, status()]
    }

    #[test]
    fn a_program_that_was_stopped_goes_on_when_the_stops_end() {
        let is_stopped = |status: &str| status.contains("stopped");
        let [before, _, after] = acted_upon(Act::StopGenerator, "State:", is_stopped);
        assert!(!is_stopped(&before) && !is_stopped(&after), "{before}, then {after}");
    }

    #[test]
    fn a_program_that_was_moved_is_back_on_its_cores_when_the_moves_end() {
        let is_moved = |cores: &str| cores.ends_with("\t0");
        let [before, _, after] = acted_upon(Act::Together, "Cpus_allowed_list:", is_moved);
        assert_eq!(before, after);
        assert!(!is_moved(&before), "{before}");
    }
}
