//! The history: records are found again despite concurrent writers and killed processes.

use crate::harness::{Ended, Running, Sandbox, Server};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use units::Random;

/// A record of the first version of the format.
const RECORD: &str = include_str!("../../../record/tests/it/version_1.json");
const STARTED: &str = "2026-11-08T10:20:30Z";

#[test]
fn what_was_measured_is_listed_and_found_by_its_name() {
    let sandbox = Sandbox::new();
    let server = Server::start(&Sandbox::new(), "tcp");
    let run = sandbox.run(&format!("{} -n 50 -c 2", server.url));
    run.check_measured(&["record: .wirebench/records/"]);
    assert!(!run.stderr.contains("warning: the record is kept"), "{}", run.stderr);

    let all = listed(&sandbox, "history --target tcp");
    assert_eq!(all.len(), 1);
    let (id, file) = (all[0]["id"].as_str().unwrap(), all[0]["file"].as_str().unwrap());
    assert!(all[0]["rows"][0]["p50_ns"].as_f64().unwrap() > 0.0);
    assert!(file.starts_with(".wirebench/records/2"), "{file}");
    assert_eq!(sandbox.run(&format!("show {}", &id[..6])).stdout, run.stdout);
    // Its name still works after the file is gone.
    fs::remove_file(sandbox.path().join(file)).unwrap();
    assert_eq!(sandbox.run(&format!("show {id}")).stdout, run.stdout);
    sandbox.run(&format!("compare {id} {id}")).check_measured(&[]);

    let page = sandbox.run("history").stdout;
    assert!(page.contains(&id[..8]) && page.contains("run tcp://127.0.0.1"), "{page}");
    sandbox.run("show nothing").check(2, &["no file `nothing`", "`wirebench history` lists"]);
    sandbox.run("history verify").check(0, &[]);
}

#[test]
fn files_fill_a_history_anew() {
    let sandbox = Sandbox::new();
    write_records(&sandbox.path().join(".wirebench/records"), 0..3);
    fs::write(sandbox.path().join(".wirebench/records/broken.json"), "{").unwrap();
    let import = sandbox.run("history import");
    import.check(13, &["3 added, 0 known already, 1 left out", "broken.json: not a record"]);
    let before = listed(&sandbox, "history");
    assert_eq!((before.len(), import.stdout.lines().count()), (3, 3));

    let database = sandbox.path().join(".wirebench/history.db");
    fs::write(&database, "this is no database, and was one".repeat(99)).unwrap();
    fs::remove_file(sandbox.path().join(".wirebench/history.db-wal")).ok();
    sandbox.run("history").check(2, &["history.db is damaged: it is not a database; move it away"]);
    // A measuring command prints a warning, and its record is kept.
    let run = sandbox.run("ladder --only unix --rounds 1 --block 20ms -c 1");
    run.check_measured(&["warning: the record is kept, but not in the history: ", "move it away"]);
    assert_eq!(fs::read_dir(sandbox.path().join(".wirebench/records")).unwrap().count(), 6);
    fs::rename(&database, sandbox.path().join("broken.db")).unwrap();
    sandbox.run("history import").check(13, &["4 added"]);
    let after = listed(&sandbox, "history");
    assert_eq!(after[1..], before[..]);
    sandbox.run("history import nowhere").check(2, &["cannot read nowhere"]);
}

#[test]
fn a_history_of_a_newer_program_is_left_alone_and_costs_no_record() {
    let sandbox = Sandbox::new();
    write_records(&sandbox.path().join("records"), 0..1);
    sandbox.run("history import records").check(0, &["1 added"]);
    let database = sandbox.path().join(".wirebench/history.db");
    let mut bytes = fs::read(&database).unwrap();
    // The user version in the header of an SQLite database.
    bytes[60..64].copy_from_slice(&99_u32.to_be_bytes());
    fs::write(&database, &bytes).unwrap();
    let told = "history.db has version 99, this program knows up to 2; use a newer program";
    sandbox.run("history").check(2, &[told]);
    // A measuring command prints a warning, and its record is kept.
    let run = sandbox.run("ladder --only unix --rounds 1 --block 20ms -c 1");
    run.check_measured(&["warning: the record is kept, but not in the history: ", told]);
    assert_eq!(sandbox.records().len(), 1);
    assert_eq!(fs::read(&database).unwrap(), bytes);
}

#[test]
fn a_history_that_may_only_be_read_is_listed_and_costs_no_record() {
    let sandbox = Sandbox::new();
    write_records(&sandbox.path().join("records"), 0..3);
    sandbox.run("history import records").check(0, &["3 added"]);
    let folder = sandbox.path().join(".wirebench");
    let may = |path: &Path, mode: u32| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    let files = |mode: u32| {
        // These include the files that SQLite has left beside it.
        let all = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        all.filter(|path| path.is_file()).for_each(|path| may(&path, mode));
    };
    files(0o444);
    let run = |line: &str| Running::start(obedient(&sandbox, line)).wait();
    let list = run("history --json");
    list.check(0, &[]);
    let entries: Vec<Value> = serde_json::from_str(&list.stdout).unwrap();
    assert_eq!(entries.len(), 3);
    let id = entries[0]["id"].as_str().unwrap();
    let told = "history.db may not be written: give yourself the right to write it, the files";
    run(&format!("history tag {id} old")).check(74, &[told]);
    // A measuring command prints a warning, and its record is kept.
    let measured = run("ladder --only unix --rounds 1 --block 20ms -c 1");
    measured.check_measured(&["warning: the record is kept, but not in the history: ", told]);
    assert_eq!(sandbox.records().len(), 1);
    files(0o644);
    run("history import").check(0, &["1 added"]);

    // If nothing can be written beside it, it cannot be read either.
    may(&folder, 0o555);
    run("history").check(74, &[told]);
    may(&folder, 0o755);
    assert_eq!(listed(&sandbox, "history").len(), 4);
}

/// The program with `line` as its arguments, bound by permissions even if root runs the tests.
fn obedient(sandbox: &Sandbox, line: &str) -> Command {
    if !rustix::process::geteuid().is_root() {
        return sandbox.command(line);
    }
    let mut command = sandbox.other("setpriv", "--bounding-set=-dac_override,-dac_read_search --");
    command.arg(env!("CARGO_BIN_EXE_wirebench")).args(line.split(' '));
    command
}

#[test]
fn names_are_given_exported_and_protect_from_pruning() {
    let sandbox = Sandbox::new();
    write_records(&sandbox.path().join(".wirebench/records"), 0..6);
    sandbox.run("history import").check(0, &["6 added"]);
    let ids: Vec<String> = listed(&sandbox, "history")
        .iter()
        .map(|entry| entry["id"].as_str().unwrap().to_owned())
        .collect();
    let (tagged, baseline) = (&ids[5], &ids[4]);
    sandbox.run(&format!("history tag {tagged} v1.2")).check(0, &["has the tag v1.2\n"]);
    sandbox.run(&format!("history tag {tagged} v1.2")).check(0, &["already has the tag v1.2\n"]);
    sandbox.run(&format!("history baseline set main {baseline}")).check(0, &["main is "]);
    let list = sandbox.run("history baseline list").stdout;
    assert_eq!(list, format!("main {baseline} 2026-01-01T00:00:01Z\n"));
    assert_eq!(listed(&sandbox, "history --tag v1.2")[0]["id"], **tagged);
    let page = sandbox.run("history").stdout;
    assert!(page.contains(" v1.2") && page.contains(" =main"), "{page}");
    assert_eq!(sandbox.run("show main").stdout, sandbox.run(&format!("show {baseline}")).stdout);
    sandbox.run(&format!("compare main {tagged}")).check_measured(&[]);

    sandbox.run("history export kept").check(0, &["6 records written to kept"]);
    let pruned = sandbox.run("history prune --keep 2 --dry-run");
    pruned.check(0, &["2 records would be removed"]);
    assert_eq!(listed(&sandbox, "history").len(), 6);
    assert_eq!(sandbox.run("history prune --keep 2").stdout, pruned.stdout);
    let left: Vec<Value> = listed(&sandbox, "history").iter().map(|it| it["id"].clone()).collect();
    assert_eq!(left, [&ids[0], &ids[1], baseline, tagged].map(|id| Value::from(id.as_str())));
    assert_eq!(sandbox.records().len(), 4);

    let other = Sandbox::new();
    fs::rename(sandbox.path().join("kept"), other.path().join("kept")).unwrap();
    other.run("history import kept").check(0, &["6 added"]);
    assert_eq!(listed(&other, "history --tag v1.2")[0]["id"], **tagged);
    assert_eq!(other.run("history baseline list").stdout, list);
    other.run("history baseline remove main").check(0, &[]);
    other.run("history baseline remove main").check(2, &["there is no baseline `main`"]);
    for (line, words) in [
        ("history tag nothing a", "no record and no baseline `nothing`"),
        ("history tag 0 a/b", "letters, digits"),
        ("history baseline set a.json 0", "letters, digits"),
        ("history --verdict good", "trusted, degraded, invalid"),
    ] {
        other.run(line).check(2, &[words]);
    }
    Sandbox::new().run("history tag a b").check(2, &["there is no history"]);
}

#[test]
fn a_trend_says_since_when_and_what_changed_beside_it() {
    let sandbox = Sandbox::new();
    let folder = sandbox.path().join("records");
    write_records(&folder, 0..24);
    sandbox.run("history trend").check(0, &["a trend needs 10 records"]);
    for second in 12..24_u32 {
        let path = folder.join(format!("{second:06}.json"));
        let mut record = crate::harness::record_of(&fs::read_to_string(&path).unwrap());
        record.tool.version = "0.2.0".to_owned();
        for result in &mut record.results {
            result.pooled =
                result.pooled.map(|it| Some(record::Estimate { value: it.value * 2.0, ..*it }));
        }
        fs::write(&path, record.to_json()).unwrap();
    }
    sandbox.run("history import records").check(0, &["24 added"]);
    let trends = listed(&sandbox, "history trend");
    let p50 = trends.iter().find(|it| it["metric"] == "p50").unwrap();
    let change = &p50["changes"][0];
    assert_eq!(
        (&change["at"], p50["records"].as_u64()),
        (&"2026-01-01T00:00:12Z".into(), Some(24))
    );
    assert_eq!(change["after"].as_f64().unwrap() / change["before"].as_f64().unwrap(), 2.0);
    let page = sandbox.run("history trend").stdout;
    for words in ["2.00x", "2026-01-01", "-> 0.2.0"] {
        assert!(page.contains(words), "{page}");
    }
}

#[test]
fn ten_write_at_once() {
    check_ten_writers(&History::new(None));
}

#[test]
fn nothing_is_lost_that_was_acknowledged_before_a_kill() {
    check_kills(&History::new(None), 40);
}

#[test]
#[ignore = "takes a minute: cargo test -p wirebench -- --ignored two_hundred_kills"]
fn two_hundred_kills_lose_nothing() {
    check_kills(&History::new(None), 200);
}

/// A folder with its history in a file there, or in the database of a URL.
pub(crate) struct History {
    pub(crate) sandbox: Sandbox,
    pub(crate) url: Option<String>,
}

impl History {
    pub(crate) fn new(url: Option<String>) -> Self {
        Self { sandbox: Sandbox::new(), url }
    }

    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = self.sandbox.command(line);
        command.envs(self.url.iter().map(|url| ("WIREBENCH_STORE", url)));
        command
    }

    pub(crate) fn run(&self, line: &str) -> Ended {
        Running::start(self.command(line)).wait()
    }

    fn listed(&self, line: &str) -> Vec<Value> {
        let list = self.run(&format!("{line} --json"));
        list.check(0, &[]);
        serde_json::from_str(&list.stdout).unwrap()
    }
}

/// Checks that ten processes may add records at once.
pub(crate) fn check_ten_writers(history: &History) {
    let sandbox = &history.sandbox;
    let writers: Vec<Running> = (0..10)
        .map(|writer| {
            let folder = format!("from-{writer}");
            write_records(&sandbox.path().join(&folder), writer * 20..writer * 20 + 20);
            Running::start(history.command(&format!("history import {folder}")))
        })
        .collect();
    for writer in writers {
        writer.wait().check(0, &["20 added, 0 known already"]);
    }
    assert_eq!(history.listed("history --limit 1000").len(), 200);
    let verified = history.run("history verify");
    verified.check(0, &[]);
    assert_eq!(verified.stdout, "200 records checked, no faults\n");
}

/// Kills a process that adds records, `times` times, each time after a random number of them.
pub(crate) fn check_kills(history: &History, times: u32) {
    let sandbox = &history.sandbox;
    let mut random = Random::new(7);
    let mut acknowledged = BTreeSet::new();
    let mut killed = 0;
    for round in 0..times {
        let folder = sandbox.path().join("new");
        fs::remove_dir_all(&folder).ok();
        write_records(&folder, round * EACH..(round + 1) * EACH);
        let mut import = Running::start(history.command("history import new"));
        let mut lines = String::new();
        (0..random.below(EACH as usize / 2)).for_each(|_| lines += &import.line());
        // A moment later, in the middle of the next one.
        (0..random.below(2_000)).for_each(|_| std::hint::spin_loop());
        import.send(Signal::KILL);
        let ended = import.wait();
        lines += &ended.stdout;
        // One that had ended by then has nothing to lose.
        killed += u32::from(ended.code.is_none());
        // A line that was cut off does not count.
        let whole = lines.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        acknowledged.extend(whole.filter_map(|line| Some(line.split_once(' ')?.0.to_owned())));
    }
    assert!(killed > times / 2, "{killed} of {times} were killed");
    let kept = history.listed("history --limit 1000000");
    let kept: BTreeSet<String> =
        kept.iter().map(|entry| entry["id"].as_str().unwrap().to_owned()).collect();
    let lost: Vec<_> = acknowledged.difference(&kept).collect();
    assert!(!acknowledged.is_empty() && lost.is_empty(), "{lost:?}");
    history.run("history verify").check(0, &[]);
}

/// The records that a process is given; it is killed while it adds the first half.
const EACH: u32 = 24;

/// Writes records that differ in the second of their start.
pub(crate) fn write_records(folder: &Path, seconds: std::ops::Range<u32>) {
    fs::create_dir_all(folder).unwrap();
    for second in seconds {
        let started = format!(
            "2026-01-{:02}T{:02}:{:02}:{:02}Z",
            second / 86_400 + 1,
            second / 3_600 % 24,
            second / 60 % 60,
            second % 60
        );
        let record = RECORD.replace(STARTED, &started);
        assert_ne!(record, RECORD);
        fs::write(folder.join(format!("{second:06}.json")), record).unwrap();
    }
}

/// The list of the history in a file, as JSON.
fn listed(sandbox: &Sandbox, line: &str) -> Vec<Value> {
    let list = sandbox.run(&format!("{line} --json"));
    list.check(0, &[]);
    serde_json::from_str(&list.stdout).unwrap()
}
