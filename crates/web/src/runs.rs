//! The runs of a session: each is a process, one at a time, whose lines are kept.

use crate::ask::Ask;
use crate::lines::{Line, Lines};
use engine::thread::{self, ThreadError};
use serde::Serialize;
use std::ffi::OsString;
use std::fs;
use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use tokio::sync::watch;

/// All runs of a session, by their number, from 0.
#[derive(Debug)]
pub struct Runs {
    program: PathBuf,
    /// The folder for the files of experiments.
    folder: PathBuf,
    all: Mutex<Vec<Arc<Run>>>,
}

/// The reason why a run was not started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The file of the experiment cannot be written, or the process cannot be started.
    #[error("cannot start {what}: {error}")]
    Failed {
        /// The file or the program.
        what: String,
        /// The error of the system.
        error: io::Error,
    },
    /// Another run is in progress: two at a time would disturb each other.
    #[error(
        "`{name}` is being measured, and two runs disturb each other: stop it, or wait for its end"
    )]
    Busy {
        /// The name of the run in progress.
        name: String,
    },
    /// The system refuses a thread.
    #[error(transparent)]
    Thread(#[from] ThreadError),
    /// The options cannot be written as a file.
    #[error("the options cannot be written to a file: {0}")]
    Text(#[from] toml::ser::Error),
    /// The session has the maximum number of runs.
    #[error("this session has reached its limit of {RUNS_MAX} runs: restart `wirebench ui`")]
    TooMany,
}

/// The end of a run.
#[derive(Clone, Debug)]
pub struct Over {
    /// The exit code of the process; `None`: it was killed.
    pub code: Option<i32>,
    /// The file of its record, if it has one.
    pub record: Option<PathBuf>,
    /// The beginning of its stderr.
    pub words: String,
}

/// A run.
#[derive(Debug)]
pub(crate) struct Run {
    name: String,
    lines: Mutex<Lines>,
    /// Rises with every line, which wakes viewers.
    changed: watch::Sender<u64>,
    /// Commands on their way to the process; `None` once it has ended.
    commands: Mutex<Option<SyncSender<String>>>,
    over: Mutex<Option<Over>>,
}

/// A run in a list.
#[derive(Debug, Serialize)]
pub(crate) struct Listed {
    number: usize,
    name: String,
    is_over: bool,
}

impl Runs {
    pub(crate) fn new(program: PathBuf, folder: PathBuf) -> Self {
        Self { program, folder, all: Mutex::default() }
    }

    /// Starts the run that the page asks for, and returns its number.
    pub(crate) fn start_asked(&self, ask: &Ask) -> Result<usize, StartError> {
        let text = ask.text()?;
        let path = self.folder.join(ask.file_name());
        let failed = |error| StartError::Failed { what: path.display().to_string(), error };
        let mut all = self.idle()?;
        fs::create_dir_all(&self.folder).map_err(failed)?;
        // It may hold secrets.
        let mut options = fs::OpenOptions::new();
        let file = options.write(true).create(true).truncate(true).mode(0o600).open(&path);
        let written = file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(failed);
        let words = ask.words(&path);
        let started =
            written.and_then(|()| self.start(&mut all, ask.name(), &words, Some(path.clone())));
        if started.is_err() {
            fs::remove_file(path).ok();
        }
        started
    }

    /// Starts the program with `words`, with `--feed --tied` added after the first one, and returns the number of the
    /// run. The run ends with this process, however that ends.
    ///
    /// # Errors
    ///
    /// [`StartError`]: another run is in progress, or the system refuses.
    pub fn start_words(&self, name: &str, words: &[OsString]) -> Result<usize, StartError> {
        let mut all = self.idle()?;
        self.start(&mut all, name.to_owned(), words, None)
    }

    /// The list of runs, for the caller to add one: no other run can start while the caller holds its lock.
    ///
    /// # Errors
    ///
    /// [`StartError::Busy`] and [`StartError::TooMany`].
    fn idle(&self) -> Result<MutexGuard<'_, Vec<Arc<Run>>>, StartError> {
        let all = lock(&self.all);
        if all.len() >= RUNS_MAX {
            return Err(StartError::TooMany);
        }
        if let Some(run) = all.iter().find(|run| !run.is_over()) {
            return Err(StartError::Busy { name: run.name.clone() });
        }
        Ok(all)
    }

    fn start(
        &self,
        all: &mut Vec<Arc<Run>>,
        name: String,
        words: &[OsString],
        file: Option<PathBuf>,
    ) -> Result<usize, StartError> {
        let mut command = Command::new(&self.program);
        let (first, rest) = words.split_at(words.len().min(1));
        command.args(first).args(["--feed", "--tied"]).args(rest);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let run = Arc::new(Run {
            name,
            lines: Mutex::default(),
            changed: watch::channel(0).0,
            commands: Mutex::default(),
            over: Mutex::default(),
        });
        // The threads start first and wait: if the system refuses one, there is no process yet that would run
        // unobserved.
        let (to_words, stderr) = channel();
        let read = move || stderr.recv().map(words_of).unwrap_or_default();
        let words = thread::start("words", read)?;
        let (to_run, child) = channel();
        let follows = Arc::clone(&run);
        thread::start("run", move || {
            if let Ok(child) = child.recv() {
                follows.follow(child, words, file.as_deref());
            }
        })?;
        let (to_commands, stdin) = channel();
        let (commands, asked) = sync_channel(COMMANDS_MAX);
        thread::start("commands", move || {
            if let Ok(stdin) = stdin.recv() {
                write_commands(stdin, &asked);
            }
        })?;
        let failed = |error| StartError::Failed { what: self.program.display().to_string(), error };
        let mut child = command.spawn().map_err(failed)?;
        *lock(&run.commands) = Some(commands);
        if let Some(stdin) = child.stdin.take() {
            to_commands.send(stdin).ok();
        }
        if let Some(stderr) = child.stderr.take() {
            to_words.send(stderr).ok();
        }
        to_run.send(child).ok();
        all.push(run);
        Ok(all.len() - 1)
    }

    /// The run of this number.
    pub(crate) fn get(&self, number: usize) -> Option<Arc<Run>> {
        lock(&self.all).get(number).cloned()
    }

    /// All of them, the newest first.
    pub(crate) fn list(&self) -> Vec<Listed> {
        let all = lock(&self.all);
        let listed = |(number, run): (usize, &Arc<Run>)| Listed {
            number,
            name: run.name.clone(),
            is_over: run.is_over(),
        };
        all.iter().enumerate().rev().map(listed).collect()
    }

    /// The end of the run of this number; `None` while it is in progress.
    pub fn over(&self, number: usize) -> Option<Over> {
        lock(&self.get(number)?.over).clone()
    }

    /// Asks every run in progress to stop. True if there is none.
    pub fn stop_all(&self) -> bool {
        let all = lock(&self.all).clone();
        let mut is_idle = true;
        for run in all.iter().filter(|run| !run.is_over()) {
            run.tell(STOP);
            is_idle = false;
        }
        is_idle
    }
}

impl Run {
    /// Keeps the lines of the process until it ends, then `words`, its stderr; and removes its file.
    fn follow(&self, mut child: Child, words: JoinHandle<String>, file: Option<&Path>) {
        let mut record = None;
        if let Some(stdout) = child.stdout.take() {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                // Other lines are not from the feed.
                let Ok(told) = serde_json::from_str::<serde_json::Value>(&line) else { continue };
                if told["event"] == "record" {
                    record = told["file"].as_str().map(PathBuf::from);
                }
                self.push(&line);
            }
        }
        let code = child.wait().ok().and_then(|status| status.code());
        let words = words.join().unwrap_or_default();
        *lock(&self.commands) = None;
        if let Some(file) = file {
            fs::remove_file(file).ok();
        }
        let over = serde_json::json!({ "event": "over", "code": code, "words": words });
        *lock(&self.over) = Some(Over { code, record, words });
        self.push(&over.to_string());
        lock(&self.lines).end();
        self.changed.send_modify(|count| *count += 1);
    }

    fn push(&self, line: &str) {
        lock(&self.lines).push(line);
        self.changed.send_modify(|count| *count += 1);
    }

    pub(crate) fn is_over(&self) -> bool {
        lock(&self.lines).is_over()
    }

    /// The first lines from `number` on, and true if the last of them is the last one of the run.
    pub(crate) fn lines(&self, number: u64) -> (Vec<Line>, bool) {
        let lines = lock(&self.lines);
        let some = lines.from(number, LINES_AT_ONCE);
        let is_end = some.len() < LINES_AT_ONCE && lines.is_over();
        (some, is_end)
    }

    /// A receiver that wakes up with every new line.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Sends the process a command. False if it has ended, or does not read earlier commands.
    pub(crate) fn tell(&self, command: &str) -> bool {
        let commands = lock(&self.commands);
        commands.as_ref().is_some_and(|commands| commands.try_send(command.to_owned()).is_ok())
    }
}

/// Writes commands to a process until the run is over. A process that does not read blocks only this thread.
fn write_commands(mut stdin: ChildStdin, asked: &Receiver<String>) {
    for command in asked {
        if writeln!(stdin, "{command}").and_then(|()| stdin.flush()).is_err() {
            return;
        }
    }
}

/// The beginning of `stderr` as text: [`WORDS_MAX`] bytes of it. The rest is read and dropped, because the process
/// would fail to write into a pipe that nobody reads.
fn words_of(mut stderr: impl Read) -> String {
    let mut bytes = Vec::new();
    stderr.by_ref().take(WORDS_MAX).read_to_end(&mut bytes).ok();
    io::copy(&mut stderr, &mut io::sink()).ok();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A thread that panicked left a consistent value: every change is one assignment or one call.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The command that stops a run.
pub(crate) const STOP: &str = r#"{"stop": true}"#;
/// The maximum number of commands that wait for a process.
const COMMANDS_MAX: usize = 64;
/// The maximum number of runs of a session.
const RUNS_MAX: usize = 100;
/// The number of bytes of stderr that are kept.
const WORDS_MAX: u64 = 64 << 10;
/// The maximum number of lines that a viewer is sent at once.
const LINES_AT_ONCE: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_that_nobody_reads_are_refused_and_hold_nobody_up() {
        let (commands, asked) = sync_channel(COMMANDS_MAX);
        let run = Run {
            name: "it".to_owned(),
            lines: Mutex::default(),
            changed: watch::channel(0).0,
            commands: Mutex::new(Some(commands)),
            over: Mutex::default(),
        };
        let taken = (0..1000).filter(|_| run.tell(STOP)).count();
        assert_eq!(taken, COMMANDS_MAX);
        assert_eq!(asked.recv().as_deref(), Ok(STOP));
        assert!(run.tell(STOP));
        drop(asked);
        assert!(!run.tell(STOP), "the process is gone");
    }
}
