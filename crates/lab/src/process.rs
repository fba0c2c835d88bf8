//! A program that runs, with all its processes: the only way to start and end children.
//!
//! Servers, client libraries, the embedded servers of wirebench, and the tools that install and build: each is started
//! through a keeper ([`keeper`]), in a process group of its own, and is reliably ended.

use crate::PrivateFolder;
use crate::descendants::{Listed, descendants};
use crate::keeper;
use crate::tail::Tail;
use engine::clock::{self, Clock};
use engine::thread::MORE_PROCESSES;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, kill_process, kill_process_group, pidfd_open, pidfd_send_signal,
};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use units::{Bytes, Nanos};

/// The way in which programs are started: through our own program as their keeper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Our own program. Its subcommand [`keeper::SUBCOMMAND`] calls [`keeper::keep`].
    pub program: PathBuf,
    /// The environment of every subject, besides its settings: `PATH` and `HOME`, where they are set.
    pub environment: Vec<(OsString, OsString)>,
    /// The CPUs that all threads of the program stay on; empty: wherever it may run.
    pub cpus: Vec<usize>,
    /// The longest time until it is ready.
    pub ready_timeout: Nanos,
    /// The folder for files that programs read, and for Unix sockets: for [`PrivateFolder`](crate::PrivateFolder)s.
    pub scratch: PathBuf,
}

impl Launch {
    /// Programs start through `program`, on any CPU. `environment` is that of [`Launch::environment`], `scratch` that
    /// of [`Launch::scratch`].
    pub fn new(program: PathBuf, environment: Vec<(OsString, OsString)>, scratch: PathBuf) -> Self {
        let (cpus, ready_timeout) = (Vec::new(), Self::READY_TIMEOUT);
        Self { program, environment, cpus, ready_timeout, scratch }
    }

    /// The default of [`Launch::ready_timeout`]: a JVM on a busy machine takes 15 s.
    pub const READY_TIMEOUT: Nanos = Nanos::from_secs(60);
}

/// A program to start.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    /// The program and its arguments. A relative path with a slash is looked up in `folder`.
    pub command: &'a [String],
    /// Its working directory.
    pub folder: &'a Path,
    /// Its purpose, which decides what it inherits.
    pub purpose: Purpose<'a>,
}

/// The purposes of programs.
#[derive(Clone, Copy, Debug)]
pub enum Purpose<'a> {
    /// A client to be measured: like a server, with a pipe as its stdin.
    Client(&'a [(&'static str, OsString)]),
    /// A server to be measured, with its settings. It sees [`Launch::environment`], `LANG=C.UTF-8` and the settings,
    /// and writes no file longer than [`keeper::FILE_SIZE_MAX`].
    Server(&'a [(&'static str, OsString)]),
    /// A tool that installs or builds: like a question, with its stdout merged into its stderr.
    Build,
    /// A server of the user's: it sees our entire environment, and its stdout is merged into its stderr. With the text
    /// that it prints when it is ready, if that is awaited.
    Own(Option<&'a str>),
    /// A program of the user's that takes orders on its stdin: like [`Purpose::Own`], with a pipe as its stdin.
    Told,
    /// A tool that answers a question. It sees our environment, which says how to reach registries, without the
    /// variables that tell Cargo about this workspace; [`Launch::environment`] overrides it. Its temporary files are in
    /// a folder of its own, which is removed with it.
    Question,
}

/// A started program. Dropping it ends it and all its descendants.
#[derive(Debug)]
pub struct Process {
    keeper: Child,
    stderr: Tail,
    ended: Option<Ended>,
    /// The temporary files of a tool: a compiler that is killed leaves some behind.
    _temporary: Option<PrivateFolder>,
}

/// Some processes of a program, to be killed without the others.
#[derive(Debug)]
pub struct Part {
    pids: Vec<u32>,
    /// A handle to each process itself, whichever process gets its number afterwards.
    handles: Vec<OwnedFd>,
}

impl Part {
    /// The numbers of its processes.
    pub fn pids(&self) -> &[u32] {
        &self.pids
    }

    /// Ends them as a crash does (SIGKILL), and returns once all of them have ended; it waits at most a second for
    /// each. Processes that replace them are left alone.
    pub fn kill(&self) {
        for process in &self.handles {
            pidfd_send_signal(process, Signal::KILL).ok();
        }
        for process in &self.handles {
            // The handle is readable once the process has ended.
            poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&KILL_MAX)).ok();
        }
    }
}

/// The end of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// Its exit code; 128 + N if signal N ended it; `None` if its keeper was killed.
    pub code: Option<i32>,
    /// Processes that had not ended [`keeper::GRACE`] after SIGTERM, by name and number.
    pub killed: Vec<String>,
    /// Processes that still ran when the program itself had ended without being asked.
    pub left: Vec<String>,
}

impl Process {
    /// Starts `program` through a keeper.
    ///
    /// # Errors
    ///
    /// The keeper cannot be started, or the folder for a tool's temporary files cannot be made. A program that cannot
    /// be started ends with [`keeper::FAILED`].
    pub fn start(program: &Program<'_>, launch: &Launch) -> io::Result<Self> {
        let mut command = Command::new(std::path::absolute(&launch.program)?);
        let mut orders = keeper::Orders {
            cpus: &launch.cpus,
            file_size_max: Some(keeper::FILE_SIZE_MAX),
            scratch: &launch.scratch,
            command: program.command,
        };
        // So that Ctrl-C at a terminal does not reach it.
        command.current_dir(program.folder).process_group(0);
        let (stderr, writer) = io::pipe()?;
        let awaited = if let Purpose::Own(awaited) = program.purpose { awaited } else { None };
        let stderr = Tail::read(stderr, awaited).map_err(io::Error::other)?;
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut temporary = None;
        match program.purpose {
            Purpose::Client(settings) | Purpose::Server(settings) => {
                command.env_clear().env("LANG", "C.UTF-8");
                command.envs(settings.iter().map(|(name, value)| (name, value)));
            }
            Purpose::Own(_) | Purpose::Told => orders.file_size_max = None,
            Purpose::Build | Purpose::Question => {
                for name in CARGO_ABOUT_US {
                    command.env_remove(name);
                }
                let folder =
                    PrivateFolder::new(&launch.scratch, "tool").map_err(io::Error::other)?;
                command.env("TMPDIR", folder.path(""));
                temporary = Some(folder);
                orders.file_size_max = None;
            }
        }
        match program.purpose {
            Purpose::Client(_) => {
                command.stdin(Stdio::piped());
            }
            Purpose::Told => {
                command.stdin(Stdio::piped()).stdout(writer.try_clone()?);
            }
            Purpose::Build | Purpose::Own(_) => {
                command.stdout(writer.try_clone()?);
            }
            Purpose::Question | Purpose::Server(_) => {}
        }
        command.stderr(writer);
        command.envs(launch.environment.iter().map(|(name, value)| (name, value)));
        let keeper = command.args(orders.words()).spawn().map_err(|error| {
            match error.kind() == io::ErrorKind::WouldBlock {
                true => io::Error::other(format!("{error}; {MORE_PROCESSES}")),
                false => error,
            }
        })?;
        Ok(Self { keeper, stderr, ended: None, _temporary: temporary })
    }

    /// Its standard output.
    pub(crate) fn take_stdout(&mut self) -> ChildStdout {
        self.keeper.stdout.take().expect("it was piped, and is taken once")
    }

    /// Its standard input, for [`Purpose::Client`] and [`Purpose::Told`] only; to be taken once.
    pub fn take_stdin(&mut self) -> ChildStdin {
        self.keeper.stdin.take().expect("it was piped, and is taken once")
    }

    /// Stops all its processes until [`Process::resume`], so that they use no CPU time.
    pub fn pause(&self) {
        for _ in 0..PAUSES_MAX {
            let running = self.all().into_iter().filter(|process| !process.is_stopped());
            if running.map(|process| process.signal(Signal::STOP)).count() == 0 {
                break;
            }
        }
    }

    /// Resumes all its processes.
    pub fn resume(&self) {
        self.all().iter().for_each(|process| process.signal(Signal::CONT));
    }

    /// Its processes, without its keeper.
    pub fn pids(&self) -> Vec<u32> {
        self.all().iter().map(|process| process.pid).collect()
    }

    /// Its processes whose program has this name, of which the kernel keeps 15 bytes.
    pub fn part(&self, name: &str) -> Part {
        let named = self.all().into_iter().filter(|process| process.is_called(name));
        let handle = |process: Listed| {
            let handle = pidfd_open(Pid::from_raw(process.pid.cast_signed())?, PidfdFlags::empty());
            Some((process.pid, handle.ok()?))
        };
        let (pids, handles) = named.filter_map(handle).unzip();
        Part { pids, handles }
    }

    /// The names of its programs, each once.
    pub fn names(&self) -> BTreeSet<String> {
        self.all().into_iter().map(|process| process.name).collect()
    }

    /// The keeper's process ID; its descendants are the processes of the program.
    pub fn keeper_pid(&self) -> u32 {
        self.keeper.id()
    }

    /// Its end in words, if it has ended.
    pub fn died(&mut self) -> Option<String> {
        let code = match self.ended.as_ref() {
            Some(ended) => ended.code,
            None => self.keeper.try_wait().ok()??.code(),
        };
        Some(in_words(code))
    }

    /// The last 64 KiB of its stderr, harmless on a terminal.
    pub fn stderr(&self) -> String {
        self.stderr.text()
    }

    /// True once it has printed the awaited text; from the beginning if there is none.
    pub(crate) fn has_said(&self) -> bool {
        self.stderr.has_come()
    }

    /// The reason, if it has ended because it could not be started at all.
    pub(crate) fn not_started(&self) -> Option<String> {
        let has_failed = self.ended.as_ref()?.code == Some(keeper::FAILED.into());
        self.keepers_lines().into_iter().next().filter(|_| has_failed)
    }

    /// Ends it; it has [`keeper::GRACE`] to end on its own. Harmless if it has ended.
    pub fn end(&mut self) -> &Ended {
        if self.ended.is_none() {
            let code = self.end_keeper();
            self.stderr.wait();
            let of = |what: &str| {
                let lines = self.keepers_lines().into_iter();
                lines.filter_map(|line| line.strip_prefix(what).map(str::to_owned)).collect()
            };
            let (killed, left) = (of(keeper::KILLED), of(keeper::LEFT));
            self.ended = Some(Ended { code, killed, left });
        }
        self.ended.get_or_insert_default()
    }

    /// The longest time from a subject closing its stdout to its end, leftovers included.
    pub(crate) const END_MAX: Nanos = Nanos::from_secs(5);

    /// Waits at most this long for its end, and returns it in words; `None` if it still runs.
    pub(crate) fn wait_for_end(&mut self, at_most: Nanos) -> Option<String> {
        let clock = Clock::start();
        loop {
            let died = self.died();
            if died.is_some() || clock.now().0 > at_most.0 {
                return died;
            }
            clock::sleep(LOOK_AGAIN);
        }
    }

    /// Ends it as a crash does, with all its processes: none of them has time to clean up (SIGKILL). When this returns,
    /// the addresses that they listened on are free. Harmless if it has ended.
    pub fn kill(&mut self) {
        for _ in 0..KILLS_MAX {
            let left = self.all();
            if left.is_empty() {
                break;
            }
            left.iter().for_each(|process| process.signal(Signal::KILL));
            clock::sleep(LOOK_AGAIN);
        }
        self.end();
    }

    fn all(&self) -> Vec<Listed> {
        if self.ended.is_some() { Vec::new() } else { descendants(self.keeper.id()) }
    }

    /// The keeper's own lines on stderr, without its mark.
    fn keepers_lines(&self) -> Vec<String> {
        let text = self.stderr.text();
        text.lines().filter_map(|line| Some(line.strip_prefix(keeper::MARK)?.to_owned())).collect()
    }

    /// Tells the keeper to end the program and then itself.
    fn end_keeper(&mut self) -> Option<i32> {
        let pid = Pid::from_raw(self.keeper.id().cast_signed());
        if let (Ok(None), Some(pid)) = (self.keeper.try_wait(), pid) {
            kill_process(pid, Signal::TERM).ok();
        }
        let clock = Clock::start();
        while clock.now().0 < KEEPER_MAX.0 {
            match self.keeper.try_wait() {
                Ok(None) => clock::sleep(LOOK_AGAIN),
                Ok(Some(status)) if status.signal().is_none() => return status.code(),
                Ok(Some(_)) | Err(_) => break,
            }
        }
        // It hangs, or was killed: processes that are still in its group can be killed.
        self.all().iter().for_each(|process| process.signal(Signal::KILL));
        if let Some(pid) = pid {
            kill_process_group(pid, Signal::KILL).ok();
        }
        drop(self.keeper.wait());
        None
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

/// An exit code in words; `None` if the keeper was killed.
pub(crate) fn in_words(code: Option<i32>) -> String {
    match code {
        None => "its keeper was killed".to_owned(),
        Some(FILE_TOO_LONG) => format!("it wrote a file of more than {FILE_SIZE_MAX} (SIGXFSZ)"),
        Some(code @ 129..) => format!("ended by signal {}{}", code - 128, name_of(code - 128)),
        Some(code) => format!("exit code {code}"),
    }
}

fn name_of(signal: i32) -> &'static str {
    match signal {
        6 => " (SIGABRT)",
        9 => " (SIGKILL)",
        11 => " (SIGSEGV)",
        15 => " (SIGTERM)",
        _ => "",
    }
}

const FILE_SIZE_MAX: Bytes = keeper::FILE_SIZE_MAX;

/// The exit code of a program that SIGXFSZ ended.
const FILE_TOO_LONG: i32 = 128 + 25;

/// Variables that tell Cargo about this workspace, and must not reach a subject.
const CARGO_ABOUT_US: [&str; 6] = [
    "CARGO_TARGET_DIR",
    "CARGO_BUILD_TARGET_DIR",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_MANIFEST_DIR",
    "RUSTFLAGS",
    "RUSTUP_TOOLCHAIN",
];

/// Time between two checks for its end.
const LOOK_AGAIN: Nanos = Nanos::from_millis(2);

/// Longest wait for a keeper: longer than it waits for anything.
const KEEPER_MAX: Nanos = Nanos::from_secs(15);

/// The most rounds of killing processes, which may fork meanwhile: one second of them.
const KILLS_MAX: u32 = 500;

/// Longest wait for the end of a process that was killed.
const KILL_MAX: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// The most rounds of stopping processes, which may fork meanwhile.
const PAUSES_MAX: u32 = 20;
