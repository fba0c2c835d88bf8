//! A subject that runs, with all its processes.

use crate::said::Said;
use crate::{Launch, descendants::descendants, keeper};
use engine::clock::{self, Clock};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::ffi::OsString;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use units::Nanos;

/// A subject that was started. It is ended when dropped, with all that descends from it.
#[derive(Debug)]
pub struct Process {
    keeper: Child,
    said: Said,
    ended: Option<Ended>,
}

/// What became of a subject.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// Its exit code; 128 + N if signal N ended it; `None` if its keeper was killed.
    pub code: Option<i32>,
    /// Processes that had not ended [`keeper::GRACE`] after SIGTERM, by name and number.
    pub killed: Vec<String>,
    /// Processes that still ran when the subject itself had ended without being asked.
    pub left: Vec<String>,
}

impl Process {
    /// Starts `command` in `folder` through a keeper. Its stdout is piped, its stdin where `takes_words`.
    pub(crate) fn start(
        command: &[String],
        folder: &Path,
        settings: &[(&str, OsString)],
        launch: &Launch,
        takes_words: bool,
    ) -> io::Result<Self> {
        let mut keeper = Command::new(std::path::absolute(&launch.program)?)
            .args(&launch.words)
            .args(keeper::words(&launch.cpus, settings, command))
            .current_dir(folder)
            // So that Ctrl-C at a terminal does not reach it.
            .process_group(0)
            .stdin(if takes_words { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let said = Said::read(keeper.stderr.take().expect("it was piped"));
        Ok(Self { keeper, said, ended: None })
    }

    pub(crate) fn take_stdout(&mut self) -> std::process::ChildStdout {
        self.keeper.stdout.take().expect("it was piped, and is taken once")
    }

    pub(crate) fn take_stdin(&mut self) -> std::process::ChildStdin {
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

    /// Lets all its processes go on.
    pub fn resume(&self) {
        self.all().iter().for_each(|process| process.signal(Signal::CONT));
    }

    /// All its processes; its keeper is not one of them.
    pub fn pids(&self) -> Vec<u32> {
        self.all().iter().map(|process| process.pid).collect()
    }

    /// The number of its keeper: what descends from that is the subject.
    pub fn keeper_pid(&self) -> u32 {
        self.keeper.id()
    }

    /// How it ended, if it is not running any more.
    pub fn died(&mut self) -> Option<String> {
        let status = match self.ended.as_ref() {
            Some(ended) => ended.code,
            None => code_of(self.keeper.try_wait().ok()??),
        };
        Some(in_words(status))
    }

    /// The last 64 KiB of what it said on stderr, harmless on a terminal.
    pub fn said(&self) -> String {
        self.said.text()
    }

    /// Ends it: it has [`keeper::GRACE`] to do so by itself. Harmless when it has ended.
    pub fn end(&mut self) -> &Ended {
        if self.ended.is_none() {
            let code = self.end_keeper();
            self.said.wait();
            let said = self.said.text();
            let marked = |what| {
                let lines = said.lines().filter_map(|line| line.strip_prefix(keeper::MARK));
                lines.filter_map(|line| line.strip_prefix(what)).map(str::to_owned).collect()
            };
            self.ended =
                Some(Ended { code, killed: marked(keeper::KILLED), left: marked(keeper::LEFT) });
        }
        self.ended.get_or_insert_default()
    }

    /// How long it may take from when a subject closes its stdout until it has ended, its leftovers too.
    pub(crate) const END_MAX: Nanos = Nanos::from_secs(5);

    /// Waits for its end, at most so long, and says how that was; `None` if it still runs.
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

    fn all(&self) -> Vec<crate::descendants::Listed> {
        if self.ended.is_some() { Vec::new() } else { descendants(self.keeper.id()) }
    }

    /// The keeper ends the subject and then itself.
    fn end_keeper(&mut self) -> Option<i32> {
        let pid = Pid::from_raw(self.keeper.id().cast_signed());
        if let (Ok(None), Some(pid)) = (self.keeper.try_wait(), pid) {
            kill_process(pid, Signal::TERM).ok();
        }
        let clock = Clock::start();
        while clock.now().0 < KEEPER_MAX.0 {
            match self.keeper.try_wait() {
                Ok(None) => clock::sleep(LOOK_AGAIN),
                Ok(Some(status)) if status.signal().is_none() => return code_of(status),
                Ok(Some(_)) | Err(_) => break,
            }
        }
        // It hangs, or somebody has killed it: what did not leave its group can still be ended.
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

/// `None` if the keeper itself was killed.
fn code_of(status: ExitStatus) -> Option<i32> {
    status.code()
}

/// A subject's exit code, in words.
pub(crate) fn in_words(code: Option<i32>) -> String {
    match code {
        None => "its keeper was killed".to_owned(),
        Some(153) => {
            format!("it wrote a file of more than {} (SIGXFSZ)", keeper::FILE_SIZE_MAX)
        }
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

/// How often its end is looked for.
const LOOK_AGAIN: Nanos = Nanos::from_millis(2);

/// How long a keeper may take: longer than it waits for anything.
const KEEPER_MAX: Nanos = Nanos::from_secs(15);

/// How often processes that were born meanwhile are stopped too.
const PAUSES_MAX: u32 = 20;
