//! The output of google-benchmark, converted to a record and back.

use crate::harness::{Sandbox, record_of};
use record::{Kind, google_benchmark};
use std::fs::File;

/// Output of google-benchmark 1.7.1.
pub(crate) const PRINTED: &str =
    include_str!("../../../record/tests/it/google_benchmark_1.7.1.json");

#[test]
fn it_is_kept_shown_compared_drawn_and_written_again() {
    let sandbox = with(PRINTED.as_bytes());
    let import = sandbox.run("import google-benchmark printed.json -o record.json");
    import.check(0, &["record: record.json\n"]);
    assert!(import.stdout.starts_with("Not measured by wirebench: "), "{}", import.stdout);
    let kept = std::fs::read_to_string(sandbox.path().join("record.json")).unwrap();
    assert_eq!(record_of(&kept).kind, Kind::Imported);

    assert_eq!(sandbox.run("show record.json").stdout, import.stdout);
    sandbox.run("compare record.json record.json").check(0, &[]);
    sandbox.run("report record.json -o page.html").check(0, &[]);
    let page = std::fs::read_to_string(sandbox.path().join("page.html")).unwrap();
    assert!(page.contains("<h1>Not measured by wirebench"));

    let again = sandbox.run("show record.json --export google-benchmark");
    again.check(0, &[]);
    let (ours, theirs) =
        (google_benchmark::read(&again.stdout).unwrap(), google_benchmark::read(PRINTED).unwrap());
    assert_eq!(ours.benchmarks.len(), theirs.benchmarks.len());
    for (format, words) in
        [("csv", "name,server,client"), ("markdown", "Not measured by wirebench")]
    {
        let shown = sandbox.run(&format!("show record.json --format {format}"));
        shown.check(0, &[]);
        assert!(shown.stdout.starts_with(words), "{}", shown.stdout);
    }
}

#[test]
fn without_a_name_it_goes_where_records_go_and_to_stdout_with_a_dash() {
    let sandbox = with(PRINTED.as_bytes());
    sandbox.run("import google-benchmark printed.json -q").check(0, &[]);
    assert_eq!(sandbox.records().len(), 1);
    let file = File::open(sandbox.path().join("printed.json")).unwrap();
    let mut command = sandbox.command("import google-benchmark - -o -");
    let piped = command.stdin(file).output().unwrap();
    let record = record_of(&String::from_utf8(piped.stdout).unwrap());
    assert_eq!(record.command_line, ["import", "google-benchmark", "-", "-o", "-"]);
    assert_eq!(sandbox.records().len(), 1);
}

#[test]
fn what_is_something_else_says_what_is_wrong_and_keeps_nothing() {
    #[rustfmt::skip]
    let table: [(&[u8], &[&str]); 6] = [
        (b"",                     &["printed.json: not the JSON of google-benchmark: line 1, column 0"]),
        (b"{\n \"benchmarks\": [", &["line 2, column 16: EOF", "--benchmark_format=json"]),
        (b"{\"benchmarks\": []}", &["`benchmarks` is empty"]),
        (b"{\n\xff",              &["not the JSON of google-benchmark: not UTF-8 at line 2 column 1"]),
        (b"{\"benchmarks\": [{\"name\": \"a\x1b\"}]}", &["line 1, column 28: control character"]),
        (b"{\"benchmarks\": [{\"name\": \"a\", \"real_time\": -1, \"cpu_time\": 1}]}",
                                  &["benchmarks[0] (\"a\"): real_time is -1.0; it must be a time from 0 to 584 years"]),
    ];
    for (bytes, words) in table {
        let sandbox = with(bytes);
        let ended = sandbox.run("import google-benchmark printed.json");
        ended.check(2, words);
        ended.check_no_result();
        assert!(sandbox.records().is_empty());
    }
    let sandbox = Sandbox::new();
    sandbox.run("import google-benchmark nowhere.json").check(2, &["nowhere.json: No such file"]);
    sandbox.run("import wrk it.txt").check(2, &["'wrk'", "google-benchmark"]);
    let sandbox = with(PRINTED.as_bytes());
    sandbox
        .run("import google-benchmark printed.json -o no/where.json")
        .check(74, &["no/where.json"]);
}

#[test]
fn help_fits_a_screen_and_has_three_examples() {
    let help = Sandbox::new().run("import -h");
    help.check(0, &[]);
    let lines: Vec<&str> = help.stdout.lines().collect();
    assert!(lines.len() <= 25, "{}", help.stdout);
    assert!(lines.iter().all(|line| line.chars().count() <= 80), "{}", help.stdout);
    assert_eq!(lines.iter().filter(|line| line.contains("import google-benchmark ")).count(), 3);
}

/// A sandbox with `printed` in `printed.json`.
fn with(printed: &[u8]) -> Sandbox {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path().join("printed.json"), printed).unwrap();
    sandbox
}
