//! Processes of the program, each in a directory and an environment of its own. One that hangs is killed after
//! [`PATIENCE`], so that a test fails instead of hanging.

use record::{Finding, Level, RunRecord};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Command, Output, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;
use tempfile::TempDir;

/// A directory to run in.
pub(crate) struct Sandbox {
    folder: TempDir,
}

/// The exit code and the output of a process that has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The program with `line` as its arguments, split at spaces, and an empty environment.
    pub(crate) fn command(&self, line: &str) -> Command {
        self.prepared(Command::new(env!("CARGO_BIN_EXE_wirebench")), line)
    }

    /// Another program with `line` as its arguments, split at spaces, and an empty environment.
    pub(crate) fn other(&self, program: &str, line: &str) -> Command {
        self.prepared(Command::new(program), line)
    }

    /// The program with `line` as its arguments, started by a shell `script` as `"$@"`.
    pub(crate) fn command_in_shell(&self, script: &str, line: &str) -> Command {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", script, "sh", env!("CARGO_BIN_EXE_wirebench")]);
        self.prepared(shell, line)
    }

    fn prepared(&self, mut command: Command, line: &str) -> Command {
        command
            .args(line.split_whitespace())
            .current_dir(self.path())
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs the program to its end.
    pub(crate) fn run(&self, line: &str) -> Ended {
        Running::start(self.command(line)).wait()
    }

    /// All records in the default folder, in the order of their names.
    pub(crate) fn records(&self) -> Vec<RunRecord> {
        let Ok(entries) = std::fs::read_dir(self.path().join(".wirebench/records")) else {
            return Vec::new();
        };
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        // A file that is still being written, or was left unfinished, has another name.
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
        paths.sort();
        paths.iter().map(|path| record_of(&std::fs::read_to_string(path).unwrap())).collect()
    }
}

pub(crate) fn record_of(json: &str) -> RunRecord {
    RunRecord::from_json(json).unwrap()
}

/// True if its numbers, or those that are checked against a limit, must not be believed.
pub(crate) fn is_invalid(record: &RunRecord) -> bool {
    record.verdict.as_ref().is_some_and(|verdict| verdict.level == Level::Invalid)
        || record.requirements.iter().any(|check| check.finding == Finding::Invalid)
}

pub(crate) fn ended(output: &Output) -> Ended {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    Ended { code: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
}

impl Ended {
    /// Checks that it ended with `code` and printed each of `words` on stderr.
    pub(crate) fn check(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:?}");
        for word in words {
            assert!(self.stderr.contains(word), "no {word:?} in {self:?}");
        }
        assert!(!self.stderr.contains("panicked"), "{self:?}");
    }

    /// Checks that it measured everything that was asked for, whatever verdict a busy machine caused, and printed each
    /// of `words` on stderr.
    pub(crate) fn check_measured(&self, words: &[&str]) {
        let code = self.code.filter(|code| [0, 12, 13].contains(code)).unwrap_or(0);
        self.check(code, words);
    }

    /// Checks that it printed nothing on stdout: there is no result.
    pub(crate) fn check_no_result(&self) {
        assert_eq!(self.stdout, "");
    }
}

/// A running process; killed when dropped.
pub(crate) struct Running {
    child: Child,
    stdout: BufReader<ChildStdout>,
    stderr: BufReader<ChildStderr>,
    /// Dropped when nobody waits any more.
    _waits: Sender<()>,
}

impl Running {
    pub(crate) fn start(command: Command) -> Self {
        Self::start_with_patience(command, PATIENCE)
    }

    /// The same for a command that takes longer.
    pub(crate) fn start_with_patience(mut command: Command, patience: Duration) -> Self {
        let mut child =
            command.spawn().unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let _waits = kill_after(patience, pid(&child));
        Self { child, stdout, stderr, _waits }
    }

    pub(crate) fn pid(&self) -> Pid {
        pid(&self.child)
    }

    /// The next line on stdout.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        line
    }

    /// Writes to its stdin, which is piped.
    pub(crate) fn tell(&mut self, text: &str) {
        self.child.stdin.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }

    /// Ends its stdin.
    pub(crate) fn end_input(&mut self) {
        self.child.stdin = None;
    }

    /// Reads stderr up to a line with `word` in it, and returns that line.
    pub(crate) fn wait_for_word(&mut self, word: &str) -> String {
        self.wait_for(word, |line| line.contains(word))
    }

    /// Reads stderr up to a line with one of `words` in it, and returns that line.
    #[cfg(feature = "fleet")]
    pub(crate) fn wait_for_one_of(&mut self, words: &[&str]) -> String {
        self.wait_for(&words.join(" or "), |line| words.iter().any(|word| line.contains(word)))
    }

    /// Reads stderr up to a line that begins with `word`.
    pub(crate) fn wait_for_line(&mut self, word: &str) {
        self.wait_for(word, |line| line.starts_with(word));
    }

    fn wait_for(&mut self, word: &str, is_it: impl Fn(&str) -> bool) -> String {
        let mut line = String::new();
        while !is_it(&line) {
            line.clear();
            let len = self.stderr.read_line(&mut line).unwrap();
            assert_ne!(len, 0, "it ended without saying {word:?}");
        }
        line
    }

    /// True if it has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    pub(crate) fn send(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Its peak memory in bytes, as far as that can be seen before it ends.
    pub(crate) fn peak_memory(&self) -> u64 {
        let mut peak = 0;
        while let Some(so_far) = self.peak_memory_so_far() {
            peak = so_far.max(peak);
            pause();
        }
        peak
    }

    /// Its peak memory so far; `None` once it has ended.
    pub(crate) fn peak_memory_so_far(&self) -> Option<u64> {
        let status = format!("/proc/{}/status", self.pid().as_raw_nonzero());
        let text = std::fs::read_to_string(&status).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        let kib: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
        Some(kib << 10)
    }

    /// Waits for the process to end; returns its exit code and the rest of its output.
    pub(crate) fn wait(mut self) -> Ended {
        let (mut stdout, mut stderr) = (String::new(), String::new());
        self.stdout.read_to_string(&mut stdout).unwrap();
        self.stderr.read_to_string(&mut stderr).unwrap();
        let code = self.child.wait().unwrap().code();
        Ended { code, stdout, stderr }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Sleeps briefly before another look at something: the only place where these tests sleep.
pub(crate) fn pause() {
    engine::clock::sleep(units::Nanos::from_millis(5));
}

/// Reports that a test skips something.
#[expect(clippy::explicit_write, reason = "what the macros print is hidden when a test passes")]
pub(crate) fn say_skipped(why: &str) {
    writeln!(std::io::stderr(), "skipped: {why}").unwrap();
}

fn pid(child: &Child) -> Pid {
    Pid::from_raw(child.id().cast_signed()).unwrap()
}

/// Kills the process unless the returned sender is dropped within `patience`.
fn kill_after(patience: Duration, pid: Pid) -> Sender<()> {
    // A handle instead of a number, which might belong to another process by then.
    let process = pidfd_open(pid, PidfdFlags::empty()).unwrap();
    let (waits, hears) = channel();
    std::thread::spawn(move || {
        if hears.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
            pidfd_send_signal(&process, Signal::KILL).ok();
        }
    });
    waits
}

/// The longest that a process may take in total, on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// An embedded server, and its URL.
pub(crate) struct Server {
    pub(crate) process: Running,
    pub(crate) url: String,
}

impl Server {
    /// Starts `wirebench serve` with the arguments in `line`.
    pub(crate) fn start(sandbox: &Sandbox, line: &str) -> Self {
        let mut process = Running::start(sandbox.command(&format!("serve {line}")));
        let ready = process.line();
        let url = ready.strip_prefix("ready ").unwrap_or_else(|| panic!("{ready:?}")).trim();
        Self { url: url.to_owned(), process }
    }
}
