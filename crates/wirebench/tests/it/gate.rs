//! Gates: a run against limits and a baseline, its exit code, and its reports to a service for continuous integration.

use crate::ab::started;
use crate::harness::{Ended, Running, Sandbox, Server, is_invalid, record_of, say_skipped};
use record::{Finding, Kind};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// A gate as run by GitHub, in a folder with the file of an experiment.
pub(crate) struct Gate {
    pub(crate) sandbox: Sandbox,
    _server: Server,
}

impl Gate {
    /// `server` has the arguments of `wirebench serve`, `lines` the settings before the row in the file.
    pub(crate) fn new(server: &str, lines: &str) -> Self {
        let sandbox = Sandbox::new();
        let server = Server::start(&sandbox, server);
        let file = format!("warm-up = \"20ms\"\n{lines}\n[[row]]\nurl = \"{}\"\n", server.url);
        std::fs::write(sandbox.path().join("chat.toml"), file).unwrap();
        Self { sandbox, _server: server }
    }

    pub(crate) fn read(&self, file: &str) -> String {
        std::fs::read_to_string(self.sandbox.path().join(file)).unwrap()
    }

    fn write(&self, file: &str, text: &str) {
        std::fs::write(self.sandbox.path().join(file), text).unwrap();
    }

    /// Runs the gate with the arguments in `line` and in `more`, which may contain spaces. Repeats a measurement that a
    /// busy machine made invalid, because the tests are not about the machine.
    fn run(&self, line: &str, more: &[&str]) -> Told {
        for _ in 0..5 {
            let told = self.once(line, more);
            if told.ended.code != Some(12) {
                return told;
            }
        }
        panic!("five measurements in a row were invalid")
    }

    /// The same for a limit that needs an interval: if the machine stalls for whole blocks, the finding is rightly
    /// unknown, and the run is repeated.
    fn known(&self, line: &str, more: &[&str]) -> Told {
        (0..5)
            .map(|_| self.run(line, more))
            .find(Told::is_known)
            .expect("a limit was unknown in five measurements in a row")
    }

    fn once(&self, line: &str, more: &[&str]) -> Told {
        let mut command = self.sandbox.command(&format!("gate {line} --junit junit.xml"));
        command.args(more);
        self.write("summary.md", "what another step said");
        command.env("GITHUB_ACTIONS", "true");
        command.env("GITHUB_STEP_SUMMARY", self.sandbox.path().join("summary.md"));
        let ended = Running::start(command).wait();
        let summary = self.read("summary.md");
        let summary = summary.strip_prefix("what another step said").unwrap().to_owned();
        let junit = self.sandbox.path().join("junit.xml");
        let junit = std::fs::read_to_string(junit).unwrap_or_default();
        Told { ended, junit, summary }
    }

    /// Measures `base.json`: 6 rounds, each with a result.
    fn measure_base(&self) {
        let told = self.known("chat.toml --rounds 6 -o base.json", &["--require", "p50 > 1ns"]);
        told.check(0, 3, 0, 0);
    }

    /// Writes `altered.json`: the baseline with `change` made to it.
    fn alter_base(&self, change: impl Fn(&mut Value)) {
        let mut base: Value = serde_json::from_str(&self.read("base.json")).unwrap();
        change(&mut base);
        self.write("altered.json", &base.to_string());
    }
}

/// The output of a gate.
struct Told {
    ended: Ended,
    junit: String,
    summary: String,
}

impl Told {
    /// True if every limit was decided.
    fn is_known(&self) -> bool {
        !self.junit.contains("type=\"unknown\"")
    }

    /// Checks the exit code and the numbers of test cases, failures and errors, in valid JUnit.
    fn check(&self, code: i32, cases: usize, failures: usize, errors: usize) {
        let Self { ended, junit, summary } = self;
        assert_eq!(ended.code, Some(code), "{ended:?}\n{summary}");
        let counts = format!("tests=\"{cases}\" failures=\"{failures}\" errors=\"{errors}\"");
        assert_eq!(junit.matches(&counts).count(), 2, "{counts}: {junit}");
        assert_eq!(junit.matches("<testcase ").count(), cases, "{junit}");
        check_junit(junit);
        let (mark, annotations) =
            if failures + errors == 0 { ("✓", 0) } else { ("✗", failures + errors) };
        assert!(summary.starts_with(&format!("\n## {mark} wirebench: ")), "{summary}");
        assert!(summary.len() <= 60_000);
        assert_eq!(ended.stderr.matches("::error title=").count(), annotations, "{ended:?}");
    }

    fn has(&self, in_junit: &str, in_summary: &str) {
        assert!(self.junit.contains(in_junit), "{in_junit:?}: {}", self.junit);
        assert!(self.summary.contains(in_summary), "{in_summary:?}: {}", self.summary);
    }
}

/// Validates a file against the schema, if xmllint is installed.
pub(crate) fn check_junit(junit: &str) {
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/junit.xsd");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), junit).unwrap();
    let mut xmllint = Command::new("xmllint");
    xmllint.arg("--noout").arg("--schema").arg(schema).arg(file.path());
    match xmllint.output() {
        Ok(output) => assert!(output.status.success(), "{output:?}\n{junit}"),
        Err(_) => {
            say_skipped("xmllint is not installed, so that JUnit is not held against a schema")
        }
    }
}

/// A closed loop of 20 connections: the time between a reply and the next message, long in an unoptimized build, is a
/// small part of the total, and Little's law is met within 1 %. With 2 it is off by 4 to 8 %; the bound is 5 %.
pub(crate) const CLOSED: &str = "connections = 20\nduration = \"60ms\"";

#[test]
fn a_gate_passes_where_all_limits_hold_and_tells_each() {
    let gate = Gate::new("ws", CLOSED);
    gate.measure_base();
    let told = gate.run(
        "chat.toml --rounds 6 --baseline base.json --json",
        &["--require", "messages/s > 1/s", "--require", "bytes/message <= baseline * 1.05"],
    );
    told.check(0, 4, 0, 0);
    told.has("name=\"bytes/message &lt;= baseline * 1.05\"", "| messages/s &gt; 1/s |");
    let record = record_of(&told.ended.stdout);
    let against = record.against.unwrap();
    assert_eq!((&*against.file, against.differences), ("base.json", Vec::new()));
    let relative = record.requirements[1].relative.unwrap();
    // Bytes only change by what is in flight at the edges of a block, both of the row and of bare TCP.
    let is_the_same = |ratio: f64| (0.9..1.05).contains(&ratio);
    assert!(relative.baseline > 64.0 && is_the_same(relative.ratio.value), "{relative:?}");
    assert!(relative.machine.is_some_and(is_the_same), "{relative:?}");
}

#[test]
fn a_limit_of_its_own_that_is_not_met_ends_with_10_and_one_by_the_baseline_with_11() {
    let gate = Gate::new("ws", CLOSED);
    gate.measure_base();
    let told = gate.run("chat.toml", &["--require", "p50 < 1ns", "--require", "messages/s > 1/s"]);
    told.check(10, 4, 1, 0);
    told.has("type=\"not_met\"", "| ✗ |");
    // Any record can be written as JUnit later.
    assert_eq!(gate.sandbox.run("show --format junit").stdout, told.junit);
    assert!(told.ended.stderr.contains("::error title=ws%3A//"), "{:?}", told.ended);

    // The altered baseline has half of the bytes, but as many on the bare TCP socket beside it.
    gate.alter_base(|base| {
        let blocks = base["blocks"].as_array_mut().unwrap();
        for block in blocks.iter_mut().filter(|block| block["workload"] == 1) {
            for side in ["sent_bytes_per_message", "received_bytes_per_message"] {
                let bytes = block["wire"][side].as_f64().unwrap();
                block["wire"][side] = Value::from(bytes / 2.0);
            }
        }
    });
    let line = "chat.toml --rounds 6 --baseline altered.json";
    let limit = ["--require", "bytes/message <= baseline * 1.05"];
    let told = gate.run(line, &limit);
    told.check(11, 3, 1, 0);
    told.has("type=\"regression\"", "| bytes/message &lt;= baseline \\* 1.05 |");
    // A limit without a baseline takes precedence over a comparison.
    let told = gate.run(line, &[&limit[..], &["--require", "p50 < 1ns"]].concat());
    told.check(10, 4, 2, 0);
    // A value that had to fall and did not is a regression too; a bound of a thousand times the baseline is met on any
    // machine.
    let line = "chat.toml --rounds 6 --baseline base.json";
    gate.known(line, &["--require", "bytes/message <= baseline * 0.5"]).check(11, 3, 1, 0);
    gate.known(line, &["--require", "p50 <= baseline * 1000"]).check(0, 3, 0, 0);

    // Too few rounds give no interval.
    let line = "chat.toml --rounds 3 --baseline base.json";
    let told = gate.run(line, &["--require", "p50 <= baseline * 1000"]);
    told.check(10, 3, 1, 0);
    told.has("type=\"unknown\"", "rounds: 3, in the baseline 6; each needs 6");
}

#[test]
fn an_invalid_measurement_never_passes_and_a_partial_one_says_so() {
    // A third of the messages is answered long after the drain.
    let lines = "rate = \"200/s\"\nduration = \"500ms\"\ndrain = \"20ms\"";
    let gate = Gate::new("oracle ws --delay bimodal:1ms,60s@30%", lines);
    let told = gate.once("chat.toml", &["--require", "messages/s > 1/s", "--require", "p50 < 60s"]);
    let record = &gate.sandbox.records()[0];
    assert!(is_invalid(record), "{:?}", record.verdict);
    assert_eq!(told.ended.code, Some(12), "{:?}", told.ended);
    assert!(!told.junit.contains("errors=\"0\""), "{}", told.junit);
    check_junit(&told.junit);
    told.has("type=\"invalid\"", "\n## ✗ wirebench: ");

    // The measurement is good, but some replies are wrong.
    let gate = Gate::new("oracle ws --corrupt 20%", "connections = 20\nduration = \"200ms\"");
    let told = gate.run("chat.toml", &["--require", "messages/s > 1/s"]);
    told.check(13, 3, 1, 0);
    told.has("type=\"partial\"", "| complete |");
    // A limit that is not met takes precedence.
    gate.run("chat.toml", &["--require", "error_rate < 1%"]).check(10, 3, 2, 0);
}

#[test]
fn a_baseline_of_other_conditions_is_refused_with_what_differs_unless_that_is_allowed() {
    let gate = Gate::new("ws", CLOSED);
    gate.measure_base();
    gate.alter_base(|base| base["environment"]["kernel"] = Value::from("2.4.0"));
    let line = "chat.toml --rounds 6 --baseline altered.json";
    let limit = ["--require", "bytes/message <= baseline"];
    let told = gate.run(line, &limit);
    told.check(2, 1, 0, 1);
    told.ended.check(2, &["altered.json cannot be compared", "kernel (2.4.0 against "]);
    told.has("kernel (2.4.0 against", "nothing was measured");
    let allowed = [&limit[..], &["--allow-different"]].concat();
    let told = gate.run(line, &allowed);
    told.check(0, 3, 0, 0);
    assert!(told.ended.stdout.contains("different: the two differ in: kernel"), "{:?}", told.ended);
    assert!(told.summary.contains("**different:** the two differ in: kernel"), "{}", told.summary);

    // Another load is another question.
    let told = gate.run("chat.toml -c 3 --rounds 6 --baseline base.json", &limit);
    told.ended.check(2, &["number of connections of ws://", "(20 against 3)"]);
    // A baseline with an invalid verdict.
    gate.alter_base(|base| base["verdict"]["level"] = Value::from("invalid"));
    let told = gate.run(line, &limit);
    told.ended.check(2, &["altered.json is invalid, so nothing can be compared with it"]);
}

#[test]
fn a_gate_without_limits_and_limits_without_a_baseline_are_refused_before_anything_is_measured() {
    let gate = Gate::new("ws", CLOSED);
    gate.write("none.json", "{}");
    let refused = |line: &str, limit: &[&str], words: &[&str]| {
        let told = gate.run(line, limit);
        told.ended.check(2, words);
        assert!(told.junit.contains("errors=\"1\""), "{}", told.junit);
        check_junit(&told.junit);
        assert_eq!(gate.sandbox.records().len(), 0);
    };
    refused("chat.toml", &[], &["a gate without a limit lets everything pass"]);
    let relative = ["--require", "p99 <= baseline * 1.10"];
    refused("chat.toml", &relative, &["`p99 <= baseline * 1.10` is relative to a baseline"]);
    refused("gone.toml", &["--require", "p99 < 1s"], &["gone.toml"]);
    let line = "chat.toml --baseline none.json";
    refused(line, &relative, &["--baseline: none.json: not a record"]);
    refused("chat.toml --baseline gone.json", &relative, &["--baseline: cannot read gone.json"]);
    // Arguments that clap refuses are not reported anywhere else.
    let typo = gate.sandbox.run("gate chat.toml --allow-different");
    typo.check(2, &["--baseline <RECORD>"]);
    let told = gate.once("chat.toml --strict", &[]);
    told.check(2, 1, 0, 1);
    told.ended.check(2, &["a gate without a limit lets everything pass"]);

    let told = gate.run("tcp://127.0.0.1:9", &["--require", "p99 < 1s"]);
    told.check(15, 1, 0, 1);
    told.has("cannot reach tcp://127.0.0.1:9", "nothing was measured");
}

#[test]
fn two_builds_take_turns_in_one_gate_and_limits_are_relative_to_base() {
    let gate = builds();
    let run = |head: &str, limits: &[&str]| {
        let started = [started(""), started(head)];
        let sides = ["--start-base", &started[0], "--start-head", &started[1]];
        let rounds: &[&str] = if limits.contains(&"--rounds") { &[] } else { &["--rounds", "6"] };
        gate.run("builds.toml", &[&sides[..], rounds, limits].concat())
    };
    let told = run("--work 1us", &["--require", "bytes/message <= baseline * 1.2", "--strict"]);
    told.check(0, 3, 0, 0);
    told.has("name=\"bytes/message &lt;= baseline * 1.20\"", "| bytes/message &lt;= baseline");
    // An invalid run was repeated.
    let records = gate.sandbox.records();
    let record = records.last().unwrap();
    assert_eq!(record.kind, Kind::Ab);
    assert!(record.against.is_none() && record.sides.is_some());
    let relative = record.requirements[0].relative.unwrap();
    assert!(relative.baseline >= 128.0 && relative.ratio.low.is_some(), "{relative:?}");

    // Thirty times as long is a regression on any machine.
    let limits = ["--require", "cpu/message <= baseline * 1.5", "--max-regression", "50%"];
    let told = run("--work 3ms", &limits);
    told.check(11, 4, 2, 0);
    told.has("name=\"at most 50% worse\"", "| at most 50% worse |");
    assert_eq!(told.junit.matches("type=\"regression\"").count(), 2, "{}", told.junit);
    // `--max-regression` is limit enough.
    let told =
        (0..5).map(|_| run("--work 1us", &["--max-regression", "100%"])).find(Told::is_known);
    told.expect("it was unknown in five measurements").check(0, 3, 0, 0);
    // Fewer than six rounds give no interval, so no limit passes.
    let told = run("--work 1us", &["--max-regression", "100%", "--rounds", "3"]);
    told.check(10, 3, 1, 0);
    told.has("type=\"unknown\"", "unknown, there is no interval");
}

#[test]
fn builds_that_cannot_be_compared_are_refused_before_anything_is_measured() {
    let gate = builds();
    let two = "[[row]]\nurl = 'tcp://127.0.0.1:9'\n[[row]]\nurl = 'tcp://127.0.0.1:8'\n";
    gate.write("two.toml", two);
    gate.write("ours.toml", "[[row]]\nserver = 'embedded'\ntransport = 'ws'\n");
    let start = ["--start-base", "old {port}", "--start-head", "new {port}"];
    let limit = ["--require", "p50 <= baseline"];
    let refused = |line: &str, more: &[&str], words: &str| {
        let told = gate.once(line, &[&limit[..], more].concat());
        told.check(2, 1, 0, 1);
        told.ended.check(2, &[words]);
    };
    refused("builds.toml --max-regression 3%", &[], "--max-regression: nothing is compared; name");
    refused("builds.toml --base-url tcp://127.0.0.1:9", &[], "BASE and HEAD are the same server");
    refused("two.toml", &start, "two.toml: two builds are compared by one row, and there are 2");
    refused("ours.toml", &start, "ours.toml: two builds are compared by a server with a URL");
    let told = gate.once("builds.toml", &start);
    told.ended.check(2, &["a gate without a limit lets everything pass"]);
    gate.measure_base();
    refused("builds.toml --baseline base.json", &start, "limits are relative to BASE; leave the");
}

/// A gate with a file of one row whose server does not run yet.
fn builds() -> Gate {
    let gate = Gate::new("ws", CLOSED);
    let row = "warm-up = \"20ms\"\n[[row]]\nurl = \"tcp://127.0.0.1:9\"\n";
    gate.write("builds.toml", &format!("{CLOSED}\n{row}"));
    gate
}

#[test]
fn memory_and_cpu_of_the_server_have_limits_where_it_is_seen() {
    let sandbox = Sandbox::new();
    let file = "warm-up = \"20ms\"\nduration = \"100ms\"\nconnections = 20\nrequire = [\"memory/connection < 1GiB\", \
                \"memory/connection < 1KiB\", \"server_cpu <= 100%\", \"server_cpu < 0.001%\"]\n\
                [[row]]\nserver = \"embedded\"\ntransport = \"ws\"\n";
    std::fs::write(sandbox.path().join("own.toml"), file).unwrap();
    let ended = sandbox.run("run own.toml --json --rounds 1");
    let record = record_of(&ended.stdout);
    let found: Vec<Finding> = record.requirements.iter().map(|check| check.finding).collect();
    use Finding::{Met, NotMet};
    if !is_invalid(&record) {
        assert_eq!(
            (&found[..], ended.code),
            (&[Met, NotMet, Met, NotMet][..], Some(10)),
            "{ended:?}"
        );
    }
    let numbers = record.requirements.iter().map(|check| check.number.unwrap().value);
    let numbers: Vec<f64> = numbers.collect();
    assert!(numbers[0] > 100e3 && numbers[2] > 0.001 && numbers[2] <= 1.05, "{numbers:?}");

    // So has a server that was already running.
    let gate = Gate::new("ws", CLOSED);
    let told = gate.run("chat.toml", &["--require", "memory/connection < 1KiB"]);
    told.check(10, 3, 1, 0);
    told.has("type=\"not_met\"", "memory/connection");
}
