//! The keeper: a process of ours around each program that we start, which outlives us just long enough to end the
//! program.
//!
//! All descendants of the program stay below its keeper, which is their subreaper: neither a second fork nor a new
//! session escapes. The keeper ends them all when the program itself has ended, on SIGTERM, and when wirebench has
//! ended in any way, SIGKILL included: the pipe of the keeper's stderr then has no reader, and the keeper also removes
//! the temporary files that were left. If the keeper itself is killed, the program is killed too.
//!
//! Before it starts the program, the keeper sets what the program inherits: its CPUs, the largest file that it may
//! write, no core dumps. The environment is the keeper's own, prepared by whoever starts the keeper, which reads none
//! of it.
//!
//! Start reading at [`keep`].

use crate::PrivateFolder;
use crate::descendants::{Listed, descendants};
use engine::clock::Clock;
use engine::process::end_with_this_thread;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitOptions, WaitStatus, getpid, set_child_subreaper, setrlimit,
    wait,
};
use rustix::thread::{CpuSet, sched_setaffinity};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use signal_hook::{flag, low_level};
use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use units::{Bytes, Nanos};

/// Keeps a program, in this process, until it has ended. `words` are the arguments after [`SUBCOMMAND`]; the result is
/// the exit code: that of the program, 128 + N if signal N ended it, or [`FAILED`].
///
/// Call it early, in a process with one thread that does nothing else.
pub fn keep(words: impl Iterator<Item = OsString>) -> u8 {
    let kept = Ordered::read(words).and_then(|ordered| Keeper::start(&ordered)).map(Keeper::keep);
    kept.unwrap_or_else(|reason| {
        say(&reason);
        FAILED
    })
}

/// The hidden subcommand that makes our binary a keeper.
pub const SUBCOMMAND: &str = "subject-keeper";

/// The exit code of a keeper that could not start its program; the reason is on its stderr.
pub const FAILED: u8 = 126;

/// The largest file that a subject may write, so that endless logging does not fill the disk.
pub const FILE_SIZE_MAX: Bytes = Bytes(256 << 20);

/// Time that a program has to end after SIGTERM.
pub const GRACE: Nanos = Nanos::from_secs(2);

/// The start of the keeper's own lines on stderr.
pub(crate) const MARK: &str = "subject-keeper: ";

/// Its word for a process that still ran after the program itself had ended.
pub(crate) const LEFT: &str = "left behind: ";

/// Its word for a process that had to be killed.
pub(crate) const KILLED: &str = "had to be killed: ";

/// The orders to a keeper.
pub(crate) struct Orders<'a> {
    /// The CPUs that the program stays on; empty: any.
    pub(crate) cpus: &'a [usize],
    /// The largest file that it may write.
    pub(crate) file_size_max: Option<Bytes>,
    /// The folder of temporary files.
    pub(crate) scratch: &'a Path,
    /// The program and its arguments.
    pub(crate) command: &'a [String],
}

impl Orders<'_> {
    /// The orders as arguments of our own program: [`SUBCOMMAND`] and the words that [`keep`] reads.
    pub(crate) fn words(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec![SUBCOMMAND.into()];
        for cpu in self.cpus {
            words.extend([CPU.into(), cpu.to_string().into()]);
        }
        if let Some(max) = self.file_size_max {
            words.extend([FILE_MAX.into(), max.0.to_string().into()]);
        }
        words.extend([SCRATCH.into(), self.scratch.into(), COMMAND.into()]);
        words.extend(self.command.iter().map(OsString::from));
        words
    }
}

/// [`Orders`] as the keeper reads them.
struct Ordered {
    cpus: CpuSet,
    file_size_max: Option<u64>,
    scratch: PathBuf,
    program: OsString,
    arguments: Vec<OsString>,
}

impl Ordered {
    fn read(mut words: impl Iterator<Item = OsString>) -> Result<Self, String> {
        let mut next = || words.next().ok_or_else(|| "its words end early".to_owned());
        let (mut cpus, mut file_size_max, mut scratch) = (CpuSet::new(), None, PathBuf::new());
        loop {
            match next()?.to_str() {
                Some(CPU) => {
                    let cpu = usize::try_from(number(&next()?)?).ok();
                    match cpu.filter(|cpu| *cpu < CpuSet::MAX_CPU) {
                        Some(cpu) => cpus.set(cpu),
                        None => return Err(format!("{CPU} takes less than {}", CpuSet::MAX_CPU)),
                    }
                }
                Some(FILE_MAX) => file_size_max = Some(number(&next()?)?),
                Some(SCRATCH) => scratch = next()?.into(),
                Some(COMMAND) => break,
                Some(_) | None => {
                    return Err(format!(
                        "it takes only {CPU}, {FILE_MAX}, {SCRATCH} and {COMMAND}"
                    ));
                }
            }
        }
        Ok(Self { cpus, file_size_max, scratch, program: next()?, arguments: words.collect() })
    }

    /// Starts the program, which inherits what is set here.
    fn start(&self) -> Result<Pid, String> {
        if self.cpus.count() > 0 {
            sched_setaffinity(None, &self.cpus)
                .map_err(|error| format!("cannot keep it on its CPUs: {error}"))?;
        }
        let limit = |resource, most: u64| {
            let limit = Rlimit { current: Some(most), maximum: Some(most) };
            setrlimit(resource, limit).map_err(|error| format!("cannot limit files: {error}"))
        };
        limit(Resource::Core, 0)?;
        self.file_size_max.map_or(Ok(()), |max| limit(Resource::Fsize, max))?;
        let child = end_with_this_thread(Command::new(&self.program).args(&self.arguments))
            .spawn()
            .map_err(|error| format!("cannot start {}: {error}", self.program.display()))?;
        Pid::from_raw(child.id().cast_signed()).ok_or_else(|| "it has no number".to_owned())
    }
}

fn number(word: &OsString) -> Result<u64, String> {
    let number = word.to_str().and_then(|word| word.parse().ok());
    number.ok_or_else(|| format!("{} is not a number", word.display()))
}

/// A program that runs, below this process.
struct Keeper {
    scratch: PathBuf,
    program: Pid,
    /// Its exit status, once it has been reaped.
    status: Option<WaitStatus>,
    asked_to_end: Arc<AtomicBool>,
    /// Has a byte to read after each signal.
    signals: UnixStream,
}

impl Keeper {
    fn start(ordered: &Ordered) -> Result<Self, String> {
        let asked_to_end = Arc::new(AtomicBool::new(false));
        let signals = catch_signals(&asked_to_end)
            .map_err(|error| format!("cannot catch signals: {error}"))?;
        set_child_subreaper(Some(getpid()))
            .map_err(|error| format!("cannot adopt orphans: {error}"))?;
        let program = ordered.start()?;
        // Otherwise nobody would notice when the program closes its stdin or stdout.
        let nothing = std::fs::File::options().read(true).write(true).open("/dev/null");
        let nothing = nothing.map_err(|error| format!("/dev/null: {error}"))?;
        rustix::stdio::dup2_stdin(&nothing).map_err(|error| error.to_string())?;
        rustix::stdio::dup2_stdout(&nothing).map_err(|error| error.to_string())?;
        let scratch = ordered.scratch.clone();
        Ok(Self { scratch, program, status: None, asked_to_end, signals })
    }

    fn keep(mut self) -> u8 {
        loop {
            self.reap();
            if self.status.is_some() {
                for left in self.descendants() {
                    say(&format!("{LEFT}{left}"));
                }
                break;
            }
            self.wait_for_signal(None);
            if self.asked_to_end.load(Ordering::Relaxed) || is_alone() {
                break;
            }
        }
        self.end();
        if is_alone() {
            PrivateFolder::remove_abandoned(&self.scratch);
        }
        match self.status {
            Some(status) => code_of(status),
            None => FAILED,
        }
    }

    /// Ends all processes that are left, first by SIGTERM.
    fn end(&mut self) {
        let clock = Clock::start();
        for process in self.descendants() {
            process.signal(Signal::TERM);
            // A stopped process does not receive SIGTERM.
            process.signal(Signal::CONT);
        }
        let mut left = self.descendants();
        while self.is_needed(&left) && clock.now().0 < GRACE.0 {
            self.wait_for_signal(Some(LOOK_AGAIN));
            self.reap();
            left = self.descendants();
        }
        for process in &left {
            say(&format!("{KILLED}{process}"));
        }
        while self.is_needed(&left) && clock.now().0 < GIVE_UP.0 {
            // Stops all of them first, so that none forks meanwhile.
            left.iter().for_each(|process| process.signal(Signal::STOP));
            left.iter().for_each(|process| process.signal(Signal::KILL));
            self.wait_for_signal(Some(LOOK_AGAIN));
            self.reap();
            left = self.descendants();
        }
        for process in &left {
            say(&format!("{process} cannot be killed; it waits for the kernel"));
        }
        // A process that ended after the last check would stay a zombie: some init processes reap late or never.
        self.reap();
    }

    /// True while a process is left, or the end of the program itself has not been seen.
    fn is_needed(&self, left: &[Listed]) -> bool {
        !left.is_empty() || self.status.is_none()
    }

    /// Reaps all children that have ended, our own and those that were left to us.
    fn reap(&mut self) {
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            if pid == self.program {
                self.status = Some(status);
            }
        }
    }

    /// Waits for a signal, for at most `at_most`; without a limit, also until wirebench is gone.
    fn wait_for_signal(&mut self, at_most: Option<Nanos>) {
        let stderr = std::io::stderr();
        let mut watched =
            [PollFd::new(&self.signals, PollFlags::IN), PollFd::new(&stderr, PollFlags::empty())];
        let at_most = at_most
            .map(|time| Timespec { tv_sec: 0, tv_nsec: time.0.try_into().unwrap_or(999_999_999) });
        // Interrupted or not, the caller checks everything.
        poll(&mut watched[..if at_most.is_some() { 1 } else { 2 }], at_most.as_ref()).ok();
        drop(self.signals.read(&mut [0; 64]));
    }

    #[expect(clippy::unused_self, reason = "they are those of this process")]
    fn descendants(&self) -> Vec<Listed> {
        descendants(std::process::id())
    }
}

/// True if wirebench, which reads our stderr, is gone.
fn is_alone() -> bool {
    let stderr = std::io::stderr();
    let mut watched = [PollFd::new(&stderr, PollFlags::empty())];
    poll(&mut watched, Some(&Timespec::default())).is_ok_and(|count| count > 0)
}

/// Catches the signals that ask it to end, and SIGCHLD. A byte from the returned socket means that one has arrived.
fn catch_signals(asked_to_end: &Arc<AtomicBool>) -> std::io::Result<UnixStream> {
    let (signals, sender) = UnixStream::pair()?;
    signals.set_nonblocking(true)?;
    for signal in [SIGTERM, SIGINT, SIGHUP] {
        // The flag first, so that it is set when the byte arrives.
        flag::register(signal, Arc::clone(asked_to_end))?;
        low_level::pipe::register(signal, sender.try_clone()?)?;
    }
    low_level::pipe::register(SIGCHLD, sender)?;
    Ok(signals)
}

fn code_of(status: WaitStatus) -> u8 {
    let code = status.exit_status().or_else(|| Some(128 + status.terminating_signal()?));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(FAILED)
}

/// Writes a line to stderr; a closed pipe is not an error.
fn say(words: &str) {
    let line = format!("{MARK}{words}\n");
    drop(std::io::stderr().write_all(OsStr::new(&line).as_bytes()));
}

const CPU: &str = "--cpu";
const FILE_MAX: &str = "--file-max";
const SCRATCH: &str = "--scratch";
const COMMAND: &str = "--";

/// Time between two checks for processes that have ended.
const LOOK_AGAIN: Nanos = Nanos::from_millis(5);

/// Longest wait after SIGKILL: a process that survives it hangs in the kernel.
const GIVE_UP: Nanos = Nanos::from_secs(12);
