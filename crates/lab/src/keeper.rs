//! The keeper: a process of ours around each subject, which outlives us for as long as it takes to end the subject.
//!
//! Whoever descends from a subject stays below its keeper, which is their subreaper: neither a second fork nor a new
//! session gets away. The keeper ends them all when the subject itself has ended, when it is told to (SIGTERM), and
//! when wirebench has ended in whatever way, SIGKILL included: then the pipe behind the keeper's stderr has no reader.
//!
//! What a subject inherits is set here, before it is started: its CPUs, the longest file that it may write, no core
//! dumps, and of the environment only what is meant for it.
//!
//! Start reading at [`keep`].

use crate::descendants::{Listed, descendants};
use engine::clock::Clock;
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
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use units::{Bytes, Nanos};

/// Keeps a subject, in this process and for as long as it lives. `words` are what stands behind [`SUBCOMMAND`]; the
/// answer is the exit code: that of the subject, 128 + N if signal N ended it, or [`FAILED`].
///
/// To be called early in a process that is for nothing else, with one thread.
pub fn keep(words: impl Iterator<Item = OsString>) -> u8 {
    let kept = Orders::read(words).and_then(|orders| Keeper::start(&orders)).map(Keeper::keep);
    kept.unwrap_or_else(|reason| {
        say(&reason);
        FAILED
    })
}

/// The hidden subcommand that makes our binary a keeper.
pub const SUBCOMMAND: &str = "subject-keeper";

/// The exit code of a keeper that could not start its subject; the reason is on its stderr.
pub const FAILED: u8 = 126;

/// The longest file that a subject may write: one that logs without end does not fill the disk.
pub const FILE_SIZE_MAX: Bytes = Bytes(256 << 20);

/// How long a subject may take to end after SIGTERM.
pub const GRACE: Nanos = Nanos::from_secs(2);

/// How the keeper's own lines on stderr begin.
pub(crate) const MARK: &str = "subject-keeper: ";

/// What it says of a process that still ran after the subject itself had ended.
pub(crate) const LEFT: &str = "left behind: ";

/// What it says of a process that had to be killed.
pub(crate) const KILLED: &str = "had to be killed: ";

/// The words behind [`SUBCOMMAND`] that make a keeper keep `command`.
pub(crate) fn words(
    cpus: &[usize],
    settings: &[(&str, OsString)],
    command: &[String],
) -> Vec<OsString> {
    let mut words: Vec<OsString> = Vec::new();
    for cpu in cpus {
        words.extend([CPU.into(), cpu.to_string().into()]);
    }
    for (name, value) in settings {
        words.extend([SET.into(), OsString::from(name), value.clone()]);
    }
    words.push(COMMAND.into());
    words.extend(command.iter().map(OsString::from));
    words
}

/// What it is told.
struct Orders {
    cpus: CpuSet,
    settings: Vec<(OsString, OsString)>,
    program: OsString,
    arguments: Vec<OsString>,
}

impl Orders {
    fn read(mut words: impl Iterator<Item = OsString>) -> Result<Self, String> {
        let mut next = || words.next().ok_or_else(|| "its words end early".to_owned());
        let (mut cpus, mut settings) = (CpuSet::new(), Vec::new());
        loop {
            match next()?.to_str() {
                Some(CPU) => {
                    let word = next()?;
                    let cpu = word.to_str().and_then(|cpu| cpu.parse().ok());
                    match cpu.filter(|cpu| *cpu < CpuSet::MAX_CPU) {
                        Some(cpu) => cpus.set(cpu),
                        None => return Err(format!("{} is no CPU", word.display())),
                    }
                }
                Some(SET) => settings.push((next()?, next()?)),
                Some(COMMAND) => break,
                Some(_) | None => return Err(format!("it takes only {CPU}, {SET} and {COMMAND}")),
            }
        }
        Ok(Self { cpus, settings, program: next()?, arguments: words.collect() })
    }

    /// Starts the subject, which inherits what is set here.
    fn start(&self) -> Result<Pid, String> {
        if self.cpus.count() > 0 {
            sched_setaffinity(None, &self.cpus)
                .map_err(|error| format!("cannot keep it on its CPUs: {error}"))?;
        }
        for (resource, most) in [(Resource::Fsize, FILE_SIZE_MAX.0), (Resource::Core, 0)] {
            let limit = Rlimit { current: Some(most), maximum: Some(most) };
            setrlimit(resource, limit).map_err(|error| format!("cannot limit files: {error}"))?;
        }
        let inherited = ["PATH", "HOME"]
            .into_iter()
            .filter_map(|name| Some((OsString::from(name), std::env::var_os(name)?)));
        let child = Command::new(&self.program)
            .args(&self.arguments)
            .env_clear()
            .envs(inherited)
            .env("LANG", "C.UTF-8")
            .envs(self.settings.iter().map(|(name, value)| (name, value)))
            .spawn()
            .map_err(|error| format!("cannot start {}: {error}", self.program.display()))?;
        Pid::from_raw(child.id().cast_signed()).ok_or_else(|| "it has no number".to_owned())
    }
}

/// A subject that runs.
struct Keeper {
    subject: Pid,
    /// What became of it.
    status: Option<WaitStatus>,
    asked_to_end: Arc<AtomicBool>,
    /// Has a byte whenever there was a signal.
    signals: UnixStream,
}

impl Keeper {
    fn start(orders: &Orders) -> Result<Self, String> {
        let asked_to_end = Arc::new(AtomicBool::new(false));
        let signals = catch_signals(&asked_to_end)
            .map_err(|error| format!("cannot catch signals: {error}"))?;
        set_child_subreaper(Some(getpid()))
            .map_err(|error| format!("cannot adopt orphans: {error}"))?;
        let subject = orders.start()?;
        // Else whoever talks with the subject would not see that it has closed its side.
        let nothing = std::fs::File::options().read(true).write(true).open("/dev/null");
        let nothing = nothing.map_err(|error| format!("/dev/null: {error}"))?;
        rustix::stdio::dup2_stdin(&nothing).map_err(|error| error.to_string())?;
        rustix::stdio::dup2_stdout(&nothing).map_err(|error| error.to_string())?;
        Ok(Self { subject, status: None, asked_to_end, signals })
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
            if self.asked_to_end.load(Ordering::Relaxed) || self.wait_for_signal(None) {
                break;
            }
        }
        self.end();
        match self.status {
            Some(status) => code_of(status),
            None => FAILED,
        }
    }

    /// Ends all that is left: first by asking.
    fn end(&mut self) {
        let clock = Clock::start();
        for process in self.descendants() {
            process.signal(Signal::TERM);
            // One that is stopped hears nothing.
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
            // First all stand still, so that none is born meanwhile.
            left.iter().for_each(|process| process.signal(Signal::STOP));
            left.iter().for_each(|process| process.signal(Signal::KILL));
            self.wait_for_signal(Some(LOOK_AGAIN));
            self.reap();
            left = self.descendants();
        }
        for process in &left {
            say(&format!("{process} cannot be killed; it waits for the kernel"));
        }
    }

    /// Whether somebody is left, or it is not known yet what became of the subject.
    fn is_needed(&self, left: &[Listed]) -> bool {
        !left.is_empty() || self.status.is_none()
    }

    /// Takes leave of all children that have ended, our own and those that were left to us.
    fn reap(&mut self) {
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            if pid == self.subject {
                self.status = Some(status);
            }
        }
    }

    /// Waits for a signal, at most so long. Whether nobody is there any more for whom the subject is kept.
    fn wait_for_signal(&mut self, at_most: Option<Nanos>) -> bool {
        let stderr = std::io::stderr();
        let mut watched =
            [PollFd::new(&self.signals, PollFlags::IN), PollFd::new(&stderr, PollFlags::empty())];
        let at_most = at_most
            .map(|time| Timespec { tv_sec: 0, tv_nsec: time.0.try_into().unwrap_or(999_999_999) });
        // Interrupted or not, whoever called looks at everything.
        poll(&mut watched[..if at_most.is_some() { 1 } else { 2 }], at_most.as_ref()).ok();
        let is_alone = watched[1].revents().intersects(PollFlags::ERR | PollFlags::HUP);
        drop(self.signals.read(&mut [0; 64]));
        is_alone
    }

    #[expect(clippy::unused_self, reason = "they are those of this process")]
    fn descendants(&self) -> Vec<Listed> {
        descendants(std::process::id())
    }
}

/// Catches what asks to end, and the end of children; what comes out of the socket has no meaning but that.
fn catch_signals(asked_to_end: &Arc<AtomicBool>) -> std::io::Result<UnixStream> {
    let (signals, sender) = UnixStream::pair()?;
    signals.set_nonblocking(true)?;
    for signal in [SIGTERM, SIGINT, SIGHUP] {
        // The flag first: whoever is woken finds it set.
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

/// Says it on stderr. That nobody hears it is no fault.
fn say(words: &str) {
    let line = format!("{MARK}{words}\n");
    drop(std::io::stderr().write_all(OsStr::new(&line).as_bytes()));
}

const CPU: &str = "--cpu";
const SET: &str = "--set";
const COMMAND: &str = "--";

/// How often processes are looked for while they end.
const LOOK_AGAIN: Nanos = Nanos::from_millis(5);

/// When a process that does not end by SIGKILL is left: it hangs in the kernel.
const GIVE_UP: Nanos = Nanos::from_secs(12);
