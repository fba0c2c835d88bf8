//! A folder in which a command runs until it is killed, and what that leaves behind: processes, files and blocks.

use crate::process::arguments;
use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A folder that is home, current folder and place of temporary files for one command and everything that it starts.
/// Removed when dropped.
pub(super) struct Sandbox<'a> {
    wirebench: &'a Path,
    /// The folder of the sandbox itself, with the output of the command.
    outside: PathBuf,
    /// The folder that the command sees.
    folder: PathBuf,
}

impl<'a> Sandbox<'a> {
    /// Makes a sandbox in the new folder `outside`, for the program `wirebench`.
    pub(super) fn new(wirebench: &'a Path, outside: PathBuf) -> Result<Self> {
        let folder = outside.join("home");
        fs::create_dir_all(folder.join(TEMPORARY))?;
        Ok(Self { wirebench, outside, folder })
    }

    /// The folder that the command sees.
    pub(super) fn path(&self) -> &Path {
        &self.folder
    }

    /// Starts the program with these arguments. Its input stays open.
    pub(super) fn start(&self, words: &[String]) -> Result<Started> {
        let out = |name: &str| self.outside.join(name);
        let mut command = Command::new(self.wirebench);
        command.args(words).current_dir(&self.folder).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        // Nearly all processes of the command have this in their environment, and no others do.
        command.env("HOME", &self.folder).env("TMPDIR", self.folder.join(TEMPORARY));
        command.stdin(Stdio::piped());
        command.stdout(File::create(out(OUT))?).stderr(File::create(out(ERRORS))?);
        let child = command.spawn().context("cannot start wirebench")?;
        Ok(Started { child, outside: self.outside.clone() })
    }

    /// Runs the program to its end, which has to have one of these exit codes, and returns what it printed.
    pub(super) fn finish(&self, words: &[String], codes: &[i32]) -> Result<String> {
        let mut started = self.start(words)?;
        drop(started.child.stdin.take());
        let status = started.wait(PATIENCE)?.context("it does not end")?;
        let is_good = status.code().is_some_and(|code| codes.contains(&code));
        ensure!(is_good, "`wirebench {}`: {status}: {}", words.join(" "), started.words());
        Ok(started.printed())
    }

    /// The arguments of all processes whose home is this sandbox, or that run in a folder of it, by their ids.
    pub(super) fn processes(&self) -> BTreeMap<u32, String> {
        let mark = format!("HOME={}\0", self.folder.display()).into_bytes();
        let ids = fs::read_dir("/proc").into_iter().flatten().flatten();
        let ids = ids.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let is_of_it = |id: &u32| {
            let environment = fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
            let place = fs::read_link(format!("/proc/{id}/cwd"));
            environment.windows(mark.len()).any(|part| part == mark)
                || place.is_ok_and(|place| place.starts_with(&self.folder))
        };
        ids.filter(is_of_it).map(|id| (id, arguments(id).join(" "))).collect()
    }

    /// Waits until no process is left, and returns the time that this took, or the processes that are left after
    /// `patience`, which it kills.
    pub(super) fn await_end(&self, patience: Duration) -> Result<Duration, Vec<String>> {
        let began = Instant::now();
        loop {
            // A process that is just executing another program has no environment for a moment.
            if self.processes().is_empty() {
                sleep(SECOND_LOOK);
                if self.processes().is_empty() {
                    return Ok(began.elapsed().saturating_sub(SECOND_LOOK));
                }
            }
            if began.elapsed() > patience {
                let left = self.processes();
                for id in left.keys() {
                    // It may have ended by now.
                    drop(crate::shell::signal("KILL", *id));
                }
                return Err(left.into_values().collect());
            }
            sleep(LOOK_EVERY);
        }
    }

    /// The files and folders that are left, except those that commands leave on purpose and those named `own`.
    pub(super) fn left(&self, own: &[&str]) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        below(&self.folder, "", &mut found);
        found.retain(|path| !is_kept(path) && !own.contains(&path.split('/').next().unwrap_or("")));
        found
    }

    /// The blocks of the record; without one, those that `wirebench show --recover` finds in the journal.
    pub(super) fn recovered(&self) -> Result<Vec<Block>> {
        if let Some(record) = self.only(RECORDS, "json")? {
            return blocks_of(&fs::read_to_string(record)?);
        }
        match self.only(JOURNALS, "jsonl")? {
            None => Ok(Vec::new()),
            Some(journal) if journal_blocks(&fs::read(&journal)?) == 0 => Ok(Vec::new()),
            Some(_) => {
                let words = ["show", "--recover", "--format", "json"].map(str::to_owned);
                blocks_of(&self.finish(&words, &[0])?)
            }
        }
    }

    /// The number of blocks that the journal has; 0 if there is none.
    pub(super) fn kept_blocks(&self) -> Result<usize> {
        let journal = self.only(JOURNALS, "jsonl")?;
        journal.map_or(Ok(0), |path| Ok(journal_blocks(&fs::read(path)?)))
    }

    /// The file of this kind in a folder of the sandbox.
    fn only(&self, folder: &str, extension: &str) -> Result<Option<PathBuf>> {
        let entries = fs::read_dir(self.folder.join(folder)).into_iter().flatten().flatten();
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        files.retain(|path| path.extension().is_some_and(|it| it == extension));
        ensure!(files.len() < 2, "one command left {} files in {folder}", files.len());
        Ok(files.pop())
    }
}

impl Drop for Sandbox<'_> {
    fn drop(&mut self) {
        // What cannot be removed is below the folder of temporary files.
        drop(fs::remove_dir_all(&self.outside));
    }
}

/// A command at work; killed when dropped.
pub(super) struct Started {
    child: Child,
    outside: PathBuf,
}

impl Started {
    /// Writes to its input, which stays open.
    pub(super) fn tell(&mut self, lines: &str) -> Result<()> {
        let input = self.child.stdin.as_mut().context("its input was closed")?;
        Ok(input.write_all(lines.as_bytes())?)
    }

    /// Its exit status, if it has ended.
    pub(super) fn ended(&mut self) -> Result<Option<ExitStatus>> {
        Ok(self.child.try_wait()?)
    }

    /// Waits for its end, for at most `patience`.
    pub(super) fn wait(&mut self, patience: Duration) -> Result<Option<ExitStatus>> {
        let began = Instant::now();
        loop {
            match self.ended()? {
                None if began.elapsed() < patience => sleep(LOOK_EVERY),
                ended => return Ok(ended),
            }
        }
    }

    /// Waits until it has printed a line with `word`, on either stream, and returns that line.
    pub(super) fn wait_for(&mut self, word: &str) -> Result<String> {
        let began = Instant::now();
        loop {
            if let Some(line) = self.line_with(word) {
                return Ok(line);
            }
            if let Some(status) = self.ended()? {
                bail!("it ended ({status}) before it said {word:?}: {}", self.words());
            }
            ensure!(began.elapsed() < PATIENCE, "it does not say {word:?}: {}", self.words());
            sleep(LOOK_EVERY);
        }
    }

    /// The first complete line with `word` that it has printed, on either stream.
    pub(super) fn line_with(&self, word: &str) -> Option<String> {
        let both = self.printed() + &self.words();
        let mut lines = both.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
        lines.find(|line| line.contains(word)).map(str::to_owned)
    }

    /// Kills this process alone.
    pub(super) fn kill(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Asks it to end, as Ctrl-C does.
    pub(super) fn interrupt(&self) -> Result<()> {
        crate::shell::signal("INT", self.child.id())
    }

    /// The blocks that its feed has reported as finished.
    pub(super) fn told(&self) -> Vec<Block> {
        told_blocks(&self.printed())
    }

    fn printed(&self) -> String {
        read(&self.outside.join(OUT))
    }

    /// The messages that it has written so far.
    pub(super) fn words(&self) -> String {
        read(&self.outside.join(ERRORS))
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn read(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}

/// A block that has ended: the name of its workload, its round, and its messages a second.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Block {
    name: String,
    round: u64,
    messages_per_s: f64,
}

impl Block {
    /// The blocks of `told` that are not in `recovered`, each as words.
    pub(super) fn missing(told: &[Self], recovered: &[Self]) -> Vec<String> {
        let mut left = recovered.to_vec();
        let mut missing = Vec::new();
        for block in told {
            match left.iter().position(|other| other == block) {
                Some(place) => drop(left.swap_remove(place)),
                None => missing.push(format!("{}, round {}", block.name, block.round)),
            }
        }
        missing
    }

    fn read(name: &Value, block: &Value) -> Option<Self> {
        Some(Self {
            name: name.as_str()?.to_owned(),
            round: block["round"].as_u64()?,
            messages_per_s: block["messages_per_s"].as_f64()?,
        })
    }
}

/// The blocks that the lines of `--feed` report, except failed ones: no block of a row that was never ready is kept.
fn told_blocks(lines: &str) -> Vec<Block> {
    let lines = lines.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    let lines = lines.filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let blocks = lines.filter(|line| line["event"] == "block" && line["reason"].is_null());
    blocks.filter_map(|line| Block::read(&line["name"], &line)).collect()
}

/// The number of blocks in a journal: its complete lines that have one.
fn journal_blocks(text: &[u8]) -> usize {
    let lines = text.split_inclusive(|byte| *byte == b'\n');
    lines.filter(|line| line.ends_with(b"\n") && line.starts_with(b"{\"block\":")).count()
}

/// The blocks of a record.
fn blocks_of(record: &str) -> Result<Vec<Block>> {
    let record: Value = serde_json::from_str(record).context("the record is no JSON")?;
    let blocks = record["blocks"].as_array().context("the record has no blocks")?;
    let read = |block: &Value| {
        let workload = usize::try_from(block["workload"].as_u64()?).ok()?;
        Block::read(&record["plan"]["workloads"][workload]["spec"]["name"], block)
    };
    blocks.iter().map(|block| read(block).context("a block of the record lacks fields")).collect()
}

/// Adds the paths of everything in `folder`, whose own path is `path`.
fn below(folder: &Path, path: &str, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if path.is_empty() { name } else { format!("{path}/{name}") };
        // A link is not a folder.
        if entry.file_type().is_ok_and(|found| found.is_dir()) {
            below(&entry.path(), &path, found);
        }
        found.insert(path);
    }
}

/// True for what commands leave on purpose, by its path from their folder: records with their pages, journals, the
/// history, certificates, the subjects that the program brings along, files of a fleet that the next one replaces, and
/// results of an agent that the NATS server does not have yet.
fn is_kept(path: &str) -> bool {
    let ends = |name: &str, known: &[&str]| {
        let (_, end) = name.rsplit_once('.').unwrap_or_default();
        known.contains(&end)
    };
    match path.split('/').collect::<Vec<_>>()[..] {
        [TEMPORARY | ".wirebench" | ".cache" | ".local"] => true,
        [".wirebench", "records" | "journals"] => true,
        [".wirebench", "records", name] => ends(name, &["json", "html"]),
        [".wirebench", "journals", name] => ends(name, &["jsonl"]),
        [".wirebench", "history.db" | "history.db-wal" | "history.db-shm"] => true,
        [".wirebench", "history.db-journal" | "fleet.join" | "watch.join"] => true,
        [".wirebench", agent, ..] => agent.starts_with("agent-"),
        [".cache", "wirebench"] | [".local", "share"] | [".local", "share", "wirebench"] => true,
        [".cache", "wirebench", name] => ends(name, &["json"]),
        [".local", "share", "wirebench", version, ..] => !ends(version, &["part"]),
        _ => false,
    }
}

/// The folder of temporary files, in that of the command.
const TEMPORARY: &str = "tmp";
const RECORDS: &str = ".wirebench/records";
const JOURNALS: &str = ".wirebench/journals";
const OUT: &str = "out";
const ERRORS: &str = "errors";
/// The longest time for a command that nothing kills, and for an expected line to appear.
pub(super) const PATIENCE: Duration = Duration::from_secs(180);
const LOOK_EVERY: Duration = Duration::from_millis(2);
/// The time to a second look, for a process that was just executing another program at the first.
const SECOND_LOOK: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_that_was_told_and_is_not_there_is_missing() {
        let block = |name: &str, round| Block { name: name.to_owned(), round, messages_per_s: 9.5 };
        let told = [block("ws", 0), block("tcp", 0), block("ws", 1)];
        assert_eq!(Block::missing(&told, &told), [""; 0]);
        assert_eq!(Block::missing(&told, &[block("ws", 1), block("ws", 0)]), ["tcp, round 0"]);
        assert_eq!(Block::missing(&[told[0].clone(), told[0].clone()], &told), ["ws, round 0"]);
        let other = Block { messages_per_s: 9.0, ..block("ws", 0) };
        assert_eq!(Block::missing(&told[..1], &[other]), ["ws, round 0"]);
    }

    #[test]
    fn blocks_are_read_from_whole_lines_of_a_feed_and_from_a_record() {
        let line = |reason: &str| {
            format!(
                r#"{{"event":"block","name":"ws","block":0,"round":3,"messages_per_s":2.5,"reason":{reason}}}"#
            )
        };
        let feed = format!(
            "{{\"event\":\"begin\"}}\n{}\n{}\n{}",
            line("null"),
            line("\"x\""),
            line("null")
        );
        let block = Block { name: "ws".to_owned(), round: 3, messages_per_s: 2.5 };
        assert_eq!(told_blocks(&feed), std::slice::from_ref(&block));
        let record = r#"{"plan": {"workloads": [{"spec": {"name": "ws"}}]},
            "blocks": [{"workload": 0, "round": 3, "messages_per_s": 2.5}]}"#;
        assert_eq!(blocks_of(record).unwrap(), [block]);
        assert!(blocks_of(&record.replace("round", "turn")).is_err());
    }

    #[test]
    fn a_line_of_a_journal_that_was_cut_short_is_no_block() {
        assert_eq!(journal_blocks(b"0.1.0\n{\"frame\":{}}\n{\"block\":{}}\n{\"block\":{}}\n"), 2);
        assert_eq!(journal_blocks(b"0.1.0\n{\"frame\":{}}\n{\"block\":{}}\n{\"block\":{"), 1);
        assert_eq!(journal_blocks(b""), 0);
    }

    #[test]
    fn what_is_left_on_purpose_is_told_from_what_is_not() {
        for kept in [
            "tmp",
            ".wirebench/records/a.json",
            ".wirebench/records/a.html",
            ".wirebench/journals/a.jsonl",
            ".wirebench/history.db-wal",
            ".wirebench/agent-a0/1.json",
            ".cache/wirebench/selftest-1.json",
            ".local/share/wirebench/0.1.0-abc/subjects/floor/server.c",
        ] {
            assert!(is_kept(kept), "{kept}");
        }
        for left in [
            "tmp/wirebench-tmp-1-sockets-0",
            "at.sock",
            ".wirebench/records/a.json.part",
            ".wirebench/other",
            ".cache/wirebench/selftest-1.json.7-1.part",
            ".local/share/wirebench/0.1.0-abc.77.part",
            ".local/share/wirebench/0.1.0-abc.77.part/subjects/floor/server.c",
        ] {
            assert!(!is_kept(left), "{left}");
        }
    }

    #[test]
    fn processes_and_files_of_a_command_are_found_and_a_process_that_stays_is_killed() {
        let scratch = tempfile::tempdir().unwrap();
        let sandbox = Sandbox::new(Path::new("/bin/sh"), scratch.path().join("1")).unwrap();
        // The process that it starts outlives it.
        let script =
            "sleep 1000 & mkdir -p .wirebench/journals; touch tmp/a at.sock own.toml; wait";
        let mut started = sandbox.start(&["-c".to_owned(), script.to_owned()]).unwrap();
        while !sandbox.processes().values().any(|words| words == "sleep 1000") {
            std::thread::yield_now();
        }
        // Until the shell does nothing but wait.
        while sandbox.left(&["own.toml"]).len() < 2 || sandbox.processes().len() != 2 {
            std::thread::yield_now();
        }
        assert_eq!(sandbox.left(&["own.toml"]), ["at.sock", "tmp/a"].map(str::to_owned).into());
        started.kill().unwrap();
        assert_eq!(sandbox.await_end(Duration::ZERO).unwrap_err(), ["sleep 1000"]);
        assert!(sandbox.await_end(PATIENCE).is_ok());
    }
}
