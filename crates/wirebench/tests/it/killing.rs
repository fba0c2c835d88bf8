//! SIGKILL at any instant: no process is left running, and no temporary file outlives the next run.

use crate::harness::{Running, Sandbox, Server, pause, record_of};
use record::Ended;
use rustix::process::{Pid, Signal};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use units::Random;

#[test]
fn a_command_that_is_killed_leaves_nothing() {
    COMMANDS.iter().for_each(|line| check_killed(line));
}

#[test]
fn the_run_of_a_page_that_is_killed_ends_and_is_kept() {
    let sandbox = Sandbox::new();
    let server = Server::start(&Sandbox::new(), "tcp");
    let start = |line: &str| {
        let mut command = sandbox.command(line);
        command.env("HOME", sandbox.path()).env("TMPDIR", sandbox.path());
        Running::start(command)
    };
    let load = "-c 2 -d 20ms --warm-up 0s --rounds 1000";
    let page = start(&format!("run {} {load} --ui", server.url));
    let journals = sandbox.path().join(".wirebench/journals");
    let journal = || fs::read_dir(&journals).into_iter().flatten().flatten().next();
    while journal().is_none() {
        assert!(runs(page.pid()), "{:?}", page.wait());
        pause();
    }
    page.send(Signal::KILL);
    assert_eq!(page.wait().code, None);
    let mut looks = 0..LOOKS_MAX;
    while !processes(&sandbox).is_empty() {
        assert!(looks.next().is_some(), "it still runs without its page");
        pause();
    }
    let record = &sandbox.records()[0];
    assert_eq!(record.ended, Ended::Interrupted { signal: 1 });
    assert!(!record.blocks.is_empty() && journal().is_none());
    start("ladder --only unix --rounds 1 --block 20ms -c 1 -q").wait().check_measured(&[]);
    assert_eq!(temporary(&sandbox), BTreeSet::new());
}

#[test]
fn every_block_of_a_sweep_is_recovered_wherever_its_journal_ends() {
    let sandbox = Sandbox::new();
    let server = Server::start(&Sandbox::new(), "tcp");
    let load = "--from 2000 --to 64k --repeats 1 -d 100ms --settle 20ms";
    let sweep = Running::start(sandbox.command(&format!("sweep {} {load}", server.url)));
    let journals = sandbox.path().join(".wirebench/journals");
    let text = || {
        let file = fs::read_dir(&journals).into_iter().flatten().flatten().next();
        file.map_or_else(String::new, |file| fs::read_to_string(file.path()).unwrap())
    };
    let blocks = |text: &str| text.lines().filter(|line| line.starts_with("{\"block\":")).count();
    while blocks(&text()) < 3 {
        assert!(runs(sweep.pid()), "{:?}", sweep.wait());
        pause();
    }
    sweep.send(Signal::KILL);
    assert_eq!(sweep.wait().code, None);
    let text = text();
    let lines: Vec<&str> = text.split_inclusive('\n').filter(|line| line.ends_with('\n')).collect();
    // The plan, the record without blocks, the first block.
    for end in 3..=lines.len() {
        let part = lines[..end].concat();
        fs::write(sandbox.path().join("part.jsonl"), &part).unwrap();
        let ended = sandbox.run("show --recover part.jsonl --format json");
        ended.check(0, &[]);
        assert_eq!(record_of(&ended.stdout).blocks.len(), blocks(&part), "{end} lines");
    }
}

/// All commands that measure, each with servers of its own. None resumes where the last one was killed: eventually
/// there would be nothing left to do.
const COMMANDS: [&str; 4] = [
    "ladder --rounds 20 --block 20ms --only ws,unix,wss -c 2",
    "run LADDER --rounds 20 --only ws,unix,wss --fresh",
    "sweep --preset cubeia --quick",
    "lab KIFI --quick --rounds 20 --block 50ms --only embedded --subjects SUBJECTS --fresh",
];

/// Kills a command a few times, each time after a number of changes that the seed determines.
fn check_killed(line: &str) {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let file = |name: &str| repository.join(name).display().to_string();
    let line = line
        .replace("LADDER", &file("experiments/ladder.toml"))
        .replace("KIFI", &file("experiments/published/kifi.toml"))
        .replace("SUBJECTS", &file("subjects"));
    let sandbox = Sandbox::new();
    let start = |line: &str| {
        let mut command = sandbox.command(line);
        // All processes of the command have this in their environment, and no others.
        command.env("HOME", sandbox.path()).env("TMPDIR", sandbox.path());
        Running::start(command)
    };
    for seed in 0..KILLS {
        let command = start(&line);
        let pid = command.pid();
        while processes(&sandbox).is_empty() {
            assert!(runs(pid), "{line}: {:?}", command.wait());
        }
        let mut changes = Random::new(seed).below(CHANGES);
        let state = || (processes(&sandbox), temporary(&sandbox), moved(pid));
        let mut seen = state();
        let mut looks = 0..LOOKS_MAX;
        while changes > 0 && looks.next().is_some() {
            std::thread::yield_now();
            let now = state();
            assert!(runs(pid), "seed {seed} of {line}: {:?}", command.wait());
            changes -= usize::from(now != seen);
            seen = now;
        }
        command.send(Signal::KILL);
        assert_eq!(command.wait().code, None);
        while !processes(&sandbox).is_empty() {
            std::thread::yield_now();
        }
    }
    start("ladder --only unix --rounds 1 --block 20ms -c 1 -q").wait().check_measured(&[]);
    assert_eq!(temporary(&sandbox), BTreeSet::new(), "{line}");
}

fn runs(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

/// The bytes that a process has read and written so far, as text.
fn moved(pid: Pid) -> String {
    fs::read_to_string(format!("/proc/{}/io", pid.as_raw_nonzero())).unwrap_or_default()
}

/// All processes whose home is this sandbox.
fn processes(sandbox: &Sandbox) -> BTreeSet<u32> {
    let mark = format!("HOME={}\0", sandbox.path().display());
    let all = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let entry = entry.ok()?;
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let environment = fs::read(entry.path().join("environ")).ok()?;
        let is_of_it = environment.windows(mark.len()).any(|part| part == mark.as_bytes());
        is_of_it.then_some(pid)
    });
    all.collect()
}

/// All files and folders in the sandbox, except those that runs leave on purpose.
fn temporary(sandbox: &Sandbox) -> BTreeSet<PathBuf> {
    fn below(folder: &Path, found: &mut BTreeSet<PathBuf>) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.ends_with(".wirebench") {
                continue;
            }
            below(&path, found);
            found.insert(path);
        }
    }
    let mut found = BTreeSet::new();
    below(sandbox.path(), &mut found);
    found
}

/// The number of kills per command; `cargo xtask bench kills` does 100 for every command.
const KILLS: u64 = 2;

/// The most changes to wait for. A look takes milliseconds, so that a command has begun to measure by then.
const CHANGES: usize = 60;

/// The most looks at a command or at what it left: on a busy machine changes are rare.
const LOOKS_MAX: u32 = 1000;
