//! Records that were kept, shown again.

use crate::harness::{Ended, Sandbox, Server, ended, record_of};
use std::fs::File;
use std::time::{Duration, UNIX_EPOCH};

/// A record of the first version of the format.
const RECORD: &str = include_str!("../../../record/tests/it/version_1.json");

#[test]
fn the_page_of_a_run_is_drawn_again() {
    let sandbox = Sandbox::new();
    let server = Server::start(&Sandbox::new(), "tcp");
    let run = sandbox.run(&format!("{} -n 50 -c 2 -o run.json", server.url));
    let shown = sandbox.run("show run.json");
    shown.check(0, &[]);
    assert_eq!((shown.stdout, shown.stderr.as_str()), (run.stdout, ""));

    let ladder = sandbox.run("ladder --only ws --rounds 2 --block 20ms -c 2 -o ladder.json");
    assert_eq!(sandbox.run("show ladder.json").stdout, ladder.stdout);
}

#[test]
fn without_a_name_the_newest_record_is_shown_and_named() {
    let sandbox = kept();
    let before = sandbox.run("show");
    before.check(0, &["record: .wirebench/records/b.json\n"]);
    assert_eq!(before.stdout, sandbox.run("show .wirebench/records/b.json").stdout);
    assert_eq!(sandbox.run("show -q").stderr, "");

    let server = Server::start(&Sandbox::new(), "tcp");
    let run = sandbox.run(&format!("{} -n 50 -c 2", server.url));
    let after = sandbox.run("show");
    assert_eq!(after.stdout, run.stdout);
    assert!(run.stderr.contains(&after.stderr), "{} {}", run.stderr, after.stderr);
}

#[test]
fn a_dash_is_stdin_and_json_is_the_record() {
    let sandbox = kept();
    let json = piped(&sandbox, "show - --format json", RECORD);
    json.check(0, &[]);
    assert_eq!(record_of(&json.stdout), record_of(RECORD));
    assert_eq!(piped(&sandbox, "show -", RECORD).stdout, sandbox.run("show").stdout);
}

#[test]
fn two_records_are_compared_unless_that_would_say_nothing() {
    let sandbox = Sandbox::new();
    let write = |name: &str, json: &str| std::fs::write(sandbox.path().join(name), json).unwrap();
    let verdict = |level: &str| {
        let verdict =
            format!("\"verdict\": {{\"level\": \"{level}\", \"reasons\": []}},\n  \"warnings\":");
        RECORD.replacen("\"warnings\":", &verdict, 1)
    };
    write("trusted.json", &verdict("trusted"));
    write("invalid.json", &verdict("invalid"));
    write("elsewhere.json", &verdict("trusted").replacen("A processor", "Another", 1));
    let same = sandbox.run("compare trusted.json trusted.json");
    same.check(0, &[]);
    assert!(
        same.stdout.contains("\nmachine: tcp of the record over tcp of the base"),
        "{}",
        same.stdout
    );
    let details = sandbox.run("compare --details trusted.json trusted.json");
    assert!(details.stdout.contains("\ntcp\nround trip "), "{}", details.stdout);
    sandbox.run("compare trusted.json invalid.json").check(12, &[]);
    let elsewhere = sandbox.run("compare trusted.json elsewhere.json");
    elsewhere.check(12, &[]);
    assert!(elsewhere.stdout.contains("the two differ in: processor"), "{}", elsewhere.stdout);
    sandbox.run("compare - -").check(2, &["only one of the two can be stdin"]);
    sandbox.run("compare trusted.json missing.json").check(2, &["cannot read missing.json"]);
}

#[test]
fn formats_of_hdrhistogram_are_written() {
    let sandbox = kept();
    let log = sandbox.run("show --format hlog");
    log.check(0, &[]);
    assert!(log.stdout.starts_with("#[Histogram log format version 1.3]\n"), "{}", log.stdout);
    let tag = |line: &str| log.stdout.lines().filter(|found| found.starts_with(line)).count();
    // The third block has failed.
    assert_eq!((tag("Tag="), tag("Tag=tcp,1.500,1.000,"), tag("Tag=ws,1.500,1.000,")), (2, 1, 1));

    let table = sandbox.run("show --format hgrm --workload ws");
    table.check(0, &[]);
    let ws = record_of(RECORD).results[1].round_trip.as_ref().unwrap().count;
    let total = format!("Total count    = {ws:>12}]");
    assert!(table.stdout.contains(&total), "no {total:?} in {}", table.stdout);
}

#[test]
fn which_workload_a_table_is_of_must_be_said_if_there_are_several() {
    let sandbox = kept();
    let names: Vec<String> = record_of(RECORD)
        .plan
        .workloads
        .iter()
        .map(|workload| workload.name().to_owned())
        .collect();
    let choices = format!("choose one of {} with --workload", names.join(", "));
    for line in ["show --format hgrm", "show --format hgrm --workload wss"] {
        let ended = sandbox.run(line);
        ended.check(2, &[&choices]);
        ended.check_no_result();
    }
    sandbox.run("show --workload ws").check(2, &["--workload is for --format hgrm; leave it out"]);
    sandbox.run("show --format hlgo").check(2, &["'hlog'"]);
}

#[test]
fn what_cannot_be_shown_says_why_and_what_to_do() {
    let sandbox = Sandbox::new();
    let none = sandbox.run("show");
    none.check(2, &["there is no record in .wirebench/records; begin with `wirebench`"]);
    none.check_no_result();
    let newer = "{\"schema_version\": 99}";
    let cut = &RECORD[..RECORD.len() / 2];
    let last_line = format!("line {} column", cut.lines().count());
    #[rustfmt::skip]
    let table: [(&[u8], &[&str]); 6] = [
        (b"",                 &["it.json: not a record: ", "line 1 column 0", "name a file"]),
        (b"round trip p50\n", &["it.json: not a record: ", "line 1 column 1", "name a file"]),
        (b"{\n\xff",          &["it.json: not a record: not UTF-8 at line 2 column 1", "name a file"]),
        (b"{\"schema_version\": 2}", &["missing field `tool` at line 1 column 21", "name a file"]),
        (newer.as_bytes(),    &["it.json: the record has schema version 99", "reads up to 2", "use a newer one"]),
        (cut.as_bytes(),      &["it.json: not a record: EOF", &last_line, "name a file"]),
    ];
    for (bytes, words) in table {
        std::fs::write(sandbox.path().join("it.json"), bytes).unwrap();
        let ended = sandbox.run("show it.json");
        ended.check(2, words);
        ended.check_no_result();
    }
    sandbox.run("show nowhere.json").check(2, &["nowhere.json: No such file", "name a file"]);
    sandbox.run("show .").check(2, &["cannot read .: Is a directory", "name a file"]);
    piped(&sandbox, "show -", "no").check(2, &["stdin: not a record", "line 1 column 2"]);
}

#[test]
fn nothing_that_a_record_says_moves_a_terminal() {
    let sandbox = Sandbox::new();
    let hostile = RECORD.replace("\"ws", "\"\\u001b[2J\\u009b\\u202e\\nws");
    assert_ne!(hostile, RECORD);
    assert!(piped(&sandbox, "show -", &hostile).stdout.contains("\\u{1b}[2J\\u{9b}\\u{202e} ws"));
    let unknown = RECORD.replace("\"interrupted\"", "\"\\u001b[2J\\n\"");
    let formats = [
        "text",
        "json",
        "hlog",
        "hgrm",
        "hgrm --workload x",
        "google-benchmark",
        "k6",
        "csv",
        "markdown",
    ];
    for format in formats {
        for record in [&hostile, &unknown] {
            let Ended { stdout, stderr, .. } =
                piped(&sandbox, &format!("show - --format {format}"), record);
            for text in [stdout, stderr] {
                let moves =
                    |letter: char| letter != '\n' && (letter.is_control() || letter == '\u{202e}');
                assert!(!text.contains(moves), "{format}: {text:?}");
                assert!(!text.lines().any(|line| line.starts_with("ws")), "{format}: {text:?}");
            }
        }
    }
}

#[test]
fn help_fits_a_screen_and_has_three_examples() {
    let help = Sandbox::new().run("show -h");
    help.check(0, &[]);
    let lines: Vec<&str> = help.stdout.lines().collect();
    assert!(lines.len() <= 25, "{}", help.stdout);
    assert!(lines.iter().all(|line| line.chars().count() <= 80), "{}", help.stdout);
    assert_eq!(lines.iter().filter(|line| line.starts_with("  wirebench show")).count(), 3);
}

/// A sandbox with three files in the default folder; `b.json`, the only record, is the newest.
fn kept() -> Sandbox {
    let sandbox = Sandbox::new();
    let folder = sandbox.path().join(".wirebench/records");
    std::fs::create_dir_all(&folder).unwrap();
    for (name, record, second) in [("a.json", "{}", 2), ("b.json", RECORD, 3), ("c.json", "{}", 1)]
    {
        std::fs::write(folder.join(name), record).unwrap();
        let file = File::options().write(true).open(folder.join(name)).unwrap();
        file.set_modified(UNIX_EPOCH + Duration::from_secs(second)).unwrap();
    }
    sandbox
}

/// Runs `line` with `input` as its stdin.
fn piped(sandbox: &Sandbox, line: &str, input: &str) -> Ended {
    let path = sandbox.path().join("stdin");
    std::fs::write(&path, input).unwrap();
    ended(&sandbox.command(line).stdin(File::open(path).unwrap()).output().unwrap())
}
