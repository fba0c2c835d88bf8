//! The runs that were started here: a process each, one after the other, and the lines that each has told.

use crate::ask::Ask;
use crate::lines::{Line, Lines};
use engine::thread::{self, ThreadError};
use serde::Serialize;
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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
    /// The file of the experiment cannot be written, or the process not be started.
    #[error("cannot start {what}: {error}")]
    Failed {
        /// The file or the program.
        what: String,
        /// The reason of the system.
        error: std::io::Error,
    },
    /// Two at a time would disturb each other.
    #[error(
        "`{name}` is being measured, and two runs disturb each other: stop it, or wait for its end"
    )]
    Busy {
        /// The name of the run that goes on.
        name: String,
    },
    /// The system refuses a thread.
    #[error(transparent)]
    Thread(#[from] ThreadError),
    /// The options cannot be written as a file.
    #[error("the options have no form as a file: {0}")]
    Text(#[from] toml::ser::Error),
    /// There are too many of them in this session.
    #[error(
        "{RUNS_MAX} runs were started here, which is all that is kept: start `wirebench ui` anew"
    )]
    TooMany,
}

/// The end of a run.
#[derive(Clone, Debug)]
pub struct Over {
    /// The exit code of the process; `None`: it was killed.
    pub code: Option<i32>,
    /// The file of its record, if it has one.
    pub record: Option<PathBuf>,
    /// The words that it left on stderr.
    pub words: String,
}

/// A run.
#[derive(Debug)]
pub(crate) struct Run {
    name: String,
    lines: Mutex<Lines>,
    /// Rises with every line.
    changed: watch::Sender<u64>,
    /// The stdin of the process, for commands; `None` once it has ended.
    commands: Mutex<Option<ChildStdin>>,
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

    /// Starts what the page asks for.
    pub(crate) fn start_asked(&self, ask: &Ask) -> Result<usize, StartError> {
        let text = ask.text()?;
        let folder = self.folder.join(std::process::id().to_string());
        let path = folder.join(ask.file_name());
        let failed = |error| StartError::Failed { what: path.display().to_string(), error };
        self.check_idle()?;
        fs::create_dir_all(&folder).map_err(failed)?;
        // It may hold secrets.
        let mut options = fs::OpenOptions::new();
        let file = options.write(true).create(true).truncate(true).mode(0o600).open(&path);
        file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(failed)?;
        self.start(ask.name(), &ask.words(&path), Some(path))
    }

    /// Starts the program with `words`, to whose first one `--feed` is added, and answers with the number of the run.
    ///
    /// # Errors
    ///
    /// [`StartError`]: another one goes on, or the system refuses.
    pub fn start_words(&self, name: &str, words: &[OsString]) -> Result<usize, StartError> {
        self.check_idle()?;
        self.start(name.to_owned(), words, None)
    }

    fn check_idle(&self) -> Result<(), StartError> {
        let all = lock(&self.all);
        if all.len() >= RUNS_MAX {
            return Err(StartError::TooMany);
        }
        match all.iter().find(|run| !run.is_over()) {
            Some(run) => Err(StartError::Busy { name: run.name.clone() }),
            None => Ok(()),
        }
    }

    fn start(
        &self,
        name: String,
        words: &[OsString],
        file: Option<PathBuf>,
    ) -> Result<usize, StartError> {
        let mut command = Command::new(&self.program);
        let (first, rest) = words.split_at(words.len().min(1));
        command.args(first).arg("--feed").args(rest);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let failed = |error| StartError::Failed { what: self.program.display().to_string(), error };
        let mut child = command.spawn().map_err(failed)?;
        let run = Arc::new(Run {
            name,
            lines: Mutex::default(),
            changed: watch::channel(0).0,
            commands: Mutex::new(child.stdin.take()),
            over: Mutex::default(),
        });
        let follows = Arc::clone(&run);
        thread::start("run", move || follows.follow(child, file.as_deref()))?;
        let mut all = lock(&self.all);
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

    /// The end of the run of this number; `None` while it goes on.
    pub fn over(&self, number: usize) -> Option<Over> {
        lock(&self.get(number)?.over).clone()
    }

    /// Asks every run that goes on to stop. True if there is none.
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
    /// Keeps the lines of the process until it ends, and removes its file.
    fn follow(&self, mut child: Child, file: Option<&Path>) {
        let stderr = child.stderr.take();
        let words = thread::start("words", move || {
            let mut words = String::new();
            if let Some(stderr) = stderr {
                // What is not text is shown as such.
                let mut bytes = Vec::new();
                BufReader::new(stderr).take(WORDS_MAX).read_to_end(&mut bytes).ok();
                words = String::from_utf8_lossy(&bytes).into_owned();
            }
            words
        });
        let mut record = None;
        if let Some(stdout) = child.stdout.take() {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                // What is no JSON is none of our lines.
                let Ok(told) = serde_json::from_str::<serde_json::Value>(&line) else { continue };
                if told["event"] == "record" {
                    record = told["file"].as_str().map(PathBuf::from);
                }
                self.push(&line);
            }
        }
        let code = child.wait().ok().and_then(|status| status.code());
        let words = words.ok().and_then(|words| words.join().ok()).unwrap_or_default();
        *lock(&self.commands) = None;
        if let Some(file) = file {
            remove(file);
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

    fn is_over(&self) -> bool {
        lock(&self.lines).is_over()
    }

    /// The first lines from `number` on, and true if the last of them is the last one of the run.
    pub(crate) fn lines(&self, number: u64) -> (Vec<Line>, bool) {
        let lines = lock(&self.lines);
        let some = lines.from(number, LINES_AT_ONCE);
        let is_end = some.len() < LINES_AT_ONCE && lines.is_over();
        (some, is_end)
    }

    /// Tells whenever there are new lines.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Gives the process a command. False if it has ended.
    pub(crate) fn tell(&self, command: &str) -> bool {
        let mut commands = lock(&self.commands);
        let Some(stdin) = commands.as_mut() else { return false };
        writeln!(stdin, "{command}").and_then(|()| stdin.flush()).is_ok()
    }
}

/// Removes the file of an experiment, and its folder with the last one.
fn remove(file: &Path) {
    fs::remove_file(file).ok();
    if let Some(folder) = file.parent() {
        fs::remove_dir(folder).ok();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Whoever panicked left a whole state behind: every change is one assignment or one call.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The command that stops a run.
pub(crate) const STOP: &str = r#"{"stop": true}"#;
/// The runs of a session, at most.
const RUNS_MAX: usize = 100;
/// The bytes of stderr that are kept.
const WORDS_MAX: u64 = 64 << 10;
/// The lines that a viewer is given at once.
const LINES_AT_ONCE: usize = 64;
