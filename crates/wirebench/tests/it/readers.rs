//! Third-party programs read the formats that are written for them.

use crate::harness::{Sandbox, Server, record_of};
use crate::third_party::installed;
use std::collections::BTreeMap;
use std::path::Path;

#[test]
fn benchstat_reads_what_is_written_for_it() {
    let Some(folder) = installed("benchstat") else { return };
    let sandbox = measured_twice("go-benchmark");
    let text = read(&sandbox, &folder, "before.go-benchmark after.go-benchmark");
    for unit in ["sec/op", "p50-sec", "p99-sec", "messages/s", "server-cpu-sec/message"] {
        assert!(text.contains(unit), "no {unit} in {text}");
    }
    assert!(text.contains("n=6"), "six blocks of each: {text}");
}

#[test]
fn compare_py_reads_what_is_written_for_it() {
    let Some(folder) = installed("compare-py") else { return };
    let sandbox = measured_twice("google-benchmark");
    let files = "--no-color benchmarks before.google-benchmark after.google-benchmark";
    let text = read(&sandbox, &folder, files);
    // A line for each repetition, and one for the test over all of them.
    let lines = |word: &str| text.lines().filter(|line| line.contains(word)).count();
    assert!(lines("_pvalue") == 1 && lines("U Test, Repetitions: 6 vs 6") == 1, "{text}");
    assert!(lines("_mean") == 1 && lines("_median") == 1 && lines("_stddev") == 1, "{text}");
}

#[test]
fn histogram_log_processor_reads_what_is_written_for_it() {
    let Some(folder) = installed("hdrhistogram") else { return };
    let sandbox = measured_twice("csv");
    let record = record_of(&text_of(&sandbox, "before.json"));
    std::fs::write(
        sandbox.path().join("before.hlog"),
        sandbox.run("show before.json --format hlog").stdout,
    )
    .unwrap();
    let tag = read(&sandbox, &folder, "-listtags -i before.hlog");
    let tag = tag.split_whitespace().last().unwrap();
    read(
        &sandbox,
        &folder,
        &format!("-i before.hlog -o out -tag {tag} -outputValueUnitRatio 1000"),
    );
    // If an edge of the table falls on a message, one takes the value before it, and the other the value after it.
    let (ours, theirs) =
        (sandbox.run("show before.json --format hgrm").stdout, text_of(&sandbox, "out.hgrm"));
    let (ours, theirs) = (Table::of(&ours), Table::of(&theirs));
    assert_eq!(ours.totals, theirs.totals);
    let both = ours.counts.keys().filter(|value| theirs.counts.contains_key(*value));
    let both: Vec<&String> = both.collect();
    assert!(both.len() > 20, "{:#?}\n{:#?}", ours.counts, theirs.counts);
    assert!(both.iter().all(|value| ours.counts[*value] == theirs.counts[*value]), "{both:?}");
    let log = text_of(&sandbox, "out");
    let intervals = log.lines().filter(|line| line.contains("I:")).count();
    assert_eq!(intervals, record.blocks.len(), "{log}");
}

/// A folder with two records of six blocks each, both also in this format.
fn measured_twice(format: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, "ws");
    let blocks = "-c 2 -d 50ms --warm-up 20ms --rounds 6 -q";
    for name in ["before", "after"] {
        let written = format!("--export {format}={name}.{format} -o {name}.json");
        let ended = sandbox.run(&format!("run {} {blocks} {written}", server.url));
        assert!(matches!(ended.code, Some(0 | 12)), "{ended:?}");
    }
    sandbox
}

/// The output of the program that is installed in `folder`.
fn read(sandbox: &Sandbox, folder: &Path, line: &str) -> String {
    let start = folder.join("start");
    let read = sandbox.other(start.to_str().unwrap(), line).env("PATH", "/usr/bin:/bin").output();
    let read = read.unwrap();
    let text = String::from_utf8(read.stdout).unwrap();
    assert!(read.status.success() && read.stderr.is_empty(), "{text}{:?}", read.stderr);
    text
}

/// A percentile table.
struct Table {
    /// The number of values up to each listed value, by that value.
    counts: BTreeMap<String, String>,
    /// Mean, deviation, maximum, count and buckets.
    totals: Vec<String>,
}

impl Table {
    fn of(text: &str) -> Self {
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let rows = text.lines().filter(|line| line.starts_with(' ')).map(words);
        let rows = rows.filter(|row| row.len() >= 3 && row[0] != "Value");
        let is_total =
            |line: &&str| ["#[Mean", "#[Max", "#[Buckets"].iter().any(|of| line.starts_with(of));
        Self {
            counts: rows.map(|row| (row[0].clone(), row[2].clone())).collect(),
            totals: text.lines().filter(is_total).map(|line| words(line).join(" ")).collect(),
        }
    }
}

fn text_of(sandbox: &Sandbox, name: &str) -> String {
    std::fs::read_to_string(sandbox.path().join(name)).unwrap()
}
