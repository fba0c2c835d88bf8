//! A child process on a core of its own: started, watched through /proc, and killed when its value is dropped.

#![expect(clippy::disallowed_methods, reason = "it waits for programs")]

use crate::shell;
use anyhow::{Context as _, Result, bail, ensure};
use std::fmt::Display;
use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The time between two checks while waiting for something.
const POLL: Duration = Duration::from_millis(5);

/// A program at work.
pub(crate) struct Process {
    name: String,
    child: Child,
    stdout: PathBuf,
    stderr: PathBuf,
}

impl Process {
    /// Starts `command` on `cores`, one or a list; what it prints goes into files of `scratch`.
    pub(crate) fn start(
        name: &str,
        cores: impl Display,
        command: &Command,
        scratch: &Path,
    ) -> Result<Self> {
        Self::spawn(name, cores, command, scratch, Stdio::null())
    }

    /// Does the same for a program that ends when its standard input does: when this value is dropped, or when this
    /// process ends, however it ends.
    pub(crate) fn start_tied(
        name: &str,
        cores: impl Display,
        command: &Command,
        scratch: &Path,
    ) -> Result<Self> {
        Self::spawn(name, cores, command, scratch, Stdio::piped())
    }

    fn spawn(
        name: &str,
        cores: impl Display,
        command: &Command,
        scratch: &Path,
        stdin: Stdio,
    ) -> Result<Self> {
        let stdout = scratch.join(format!("{name}.out"));
        let stderr = scratch.join(format!("{name}.err"));
        let mut pinned = shell::command("taskset");
        pinned
            .arg("--cpu-list")
            .arg(cores.to_string())
            .arg(command.get_program())
            .args(command.get_args());
        for (name, value) in command.get_envs() {
            pinned.env(name, value.unwrap_or_default());
        }
        pinned.stdin(stdin).stdout(File::create(&stdout)?).stderr(File::create(&stderr)?);
        let child = pinned.spawn().with_context(|| format!("cannot start {name}"))?;
        Ok(Self { name: name.to_owned(), child, stdout, stderr })
    }

    /// Waits until `look` finds something, the process ends, or `patience` is over.
    pub(crate) fn wait_for<T>(
        &mut self,
        what: &str,
        patience: Duration,
        mut look: impl FnMut(&Self) -> Result<Option<T>>,
    ) -> Result<T> {
        let start = Instant::now();
        loop {
            if let Some(found) = look(self)? {
                return Ok(found);
            }
            if let Some(status) = self.child.try_wait()? {
                bail!("{} ended ({status}) before {what}{}", self.name, self.last_words());
            }
            ensure!(
                start.elapsed() < patience,
                "{}: no {what} within {patience:?}{}",
                self.name,
                self.last_words()
            );
            sleep(POLL);
        }
    }

    /// Waits for an end with one of these exit codes and returns what it printed.
    pub(crate) fn finish_with(&mut self, codes: &[i32], patience: Duration) -> Result<String> {
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait()? {
                break status;
            }
            ensure!(start.elapsed() < patience, "{} did not end within {patience:?}", self.name);
            sleep(POLL);
        };
        let is_good = status.code().is_some_and(|code| codes.contains(&code));
        ensure!(is_good, "{} failed ({status}){}", self.name, self.last_words());
        Ok(self.printed())
    }

    /// Its process id, which is that of the program: `taskset` has become it.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal, by its name without `SIG`.
    pub(crate) fn signal(&self, signal: &str) -> Result<()> {
        shell::signal(signal, self.id())
    }

    /// Everything that it has printed so far.
    pub(crate) fn printed(&self) -> String {
        fs::read_to_string(&self.stdout).unwrap_or_default()
    }

    /// The messages that it has written so far.
    pub(crate) fn words(&self) -> String {
        fs::read_to_string(&self.stderr).unwrap_or_default()
    }

    /// Waits until its messages, after the first `from` bytes, contain one of `wanted`, and returns the position after
    /// it.
    pub(crate) fn wait_for_words(
        &mut self,
        from: usize,
        wanted: &[&str],
        patience: Duration,
    ) -> Result<usize> {
        self.wait_for(&format!("{wanted:?}"), patience, |process| {
            let words = process.words();
            let ends = wanted
                .iter()
                .filter_map(|wanted| Some(from + words.get(from..)?.find(wanted)? + wanted.len()));
            Ok(ends.min())
        })
    }

    /// Resident memory, in bytes.
    pub(crate) fn resident(&self) -> Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        resident(&status).with_context(|| format!("{} has no VmRSS", self.name))
    }

    /// The number of files that it has open.
    pub(crate) fn open_files(&self) -> Result<usize> {
        Ok(fs::read_dir(format!("/proc/{}/fd", self.child.id()))?.count())
    }

    /// The CPU time of its threads with these names; without names, that of all threads.
    pub(crate) fn on_cpu(&self, names: &[&str]) -> Result<Duration> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.child.id()))?.flatten();
        let tasks = tasks.map(|task| task.path()).filter(|task| {
            let name = fs::read_to_string(task.join("comm")).unwrap_or_default();
            names.is_empty() || names.contains(&name.trim())
        });
        tasks.map(|task| on_cpu(&task)).sum()
    }

    /// True once it has ended.
    pub(crate) fn has_ended(&mut self) -> Result<bool> {
        Ok(self.child.try_wait()?.is_some())
    }

    /// The number of its threads.
    pub(crate) fn threads(&self) -> Result<usize> {
        Ok(fs::read_dir(format!("/proc/{}/task", self.child.id()))?.count())
    }

    fn last_words(&self) -> String {
        let words = self.words();
        let last: Vec<&str> = words.lines().rev().take(5).collect();
        last.iter().rev().map(|line| format!("\n  {line}")).collect()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended on its own; either way nothing of it is left.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The processes that `id` has started, directly or indirectly.
pub(crate) fn descendants(id: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{id}/task"));
    let threads = tasks.into_iter().flatten().flatten().map(|task| task.path().join("children"));
    let children: Vec<u32> = threads
        .filter_map(|file| fs::read_to_string(file).ok())
        .flat_map(|ids| ids.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<_>>())
        .collect();
    children.iter().flat_map(|child| [vec![*child], descendants(*child)].concat()).collect()
}

/// The CPU time of a thread, by its folder in `/proc`.
pub(crate) fn on_cpu(thread: &Path) -> Result<Duration> {
    let text = fs::read_to_string(thread.join("schedstat")).context("its thread has ended")?;
    let nanos = text.split(' ').next().and_then(|nanos| nanos.parse().ok());
    Ok(Duration::from_nanos(nanos.context("this kernel tells no CPU time of threads")?))
}

/// The arguments of a process, the program's name first; empty if it has ended.
pub(crate) fn arguments(id: u32) -> Vec<String> {
    let line = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    let words =
        line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
    words.filter(|word| !word.is_empty()).collect()
}

/// Waits for the line in which a server says where it listens, and returns the address.
pub(crate) fn await_ready(process: &mut Process) -> Result<SocketAddr> {
    process
        .wait_for("ready line", Duration::from_secs(10), |process| Ok(ready_at(&process.printed())))
}

/// The address of `ready ADDRESS` or `ready SCHEME://ADDRESS/`, once the line is complete.
fn ready_at(printed: &str) -> Option<SocketAddr> {
    let (line, _) = printed.split_once('\n')?;
    let place = line.strip_prefix("ready ")?;
    place.split_once("://").map_or(place, |(_, rest)| rest).trim_end_matches('/').parse().ok()
}

/// `VmRSS:      1234 kB` of a /proc/PID/status, in bytes.
fn resident(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ready_line_says_where() {
        let address = "127.0.0.1:4123".parse().ok();
        assert_eq!(ready_at("ready 127.0.0.1:4123\n"), address);
        assert_eq!(ready_at("ready ws://127.0.0.1:4123/\n"), address);
        assert_eq!(ready_at("ready 127.0.0.1:41"), None);
    }

    #[test]
    fn resident_memory_is_read_in_bytes() {
        assert_eq!(resident("Name:\tcat\nVmRSS:\t    1764 kB\nThreads:\t1\n"), Some(1_806_336));
        assert_eq!(resident("Name:\tzombie\n"), None);
    }

    #[test]
    fn a_tied_program_ends_with_its_input_and_is_found_below_this_process() {
        let scratch = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "read line; exit 7"]);
        let mut process = Process::start_tied("tied", 0, &command, scratch.path()).unwrap();
        assert!(descendants(std::process::id()).contains(&process.id()));
        drop(process.child.stdin.take());
        assert_eq!(process.child.wait().unwrap().code(), Some(7));
        assert_eq!(arguments(process.id()), [""; 0], "it has ended");
    }

    #[test]
    fn who_ends_early_is_named_with_its_last_words() {
        let scratch = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "echo why >&2; exit 3"]);
        let mut process = Process::start("early", 0, &command, scratch.path()).unwrap();
        let error =
            process.wait_for("anything", Duration::from_secs(60), |_| Ok(None::<()>)).unwrap_err();
        assert_eq!(error.to_string(), "early ended (exit status: 3) before anything\n  why");
    }
}
