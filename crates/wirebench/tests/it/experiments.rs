//! Experiments as files: written by hand, resolved by `--dry-run`, and repeated from records.

use crate::harness::{Ended as How, Running, Sandbox, Server, record_of};
use record::{Kind, RunRecord};
use spec::Experiment;
use std::fs;
use units::Nanos;

/// Two rows of embedded servers.
const TWO: &str = "\
question = 'What does framing cost?'
rounds = 2
duration = '50ms'
connections = 2

[[row]]
name = 'framed'
server = 'embedded'
transport = 'tcp-framed'

[[row]]
name = 'WebSocket'
server = 'embedded'
transport = 'ws'
size = '100B'
base = 'framed'
";

#[test]
fn a_file_of_two_rows_is_measured_beside_a_bare_socket() {
    let sandbox = with_file(TWO);
    sandbox.run("run x.toml --seed 7").check_measured(&["repeat: wirebench run .wirebench/"]);
    let record = only_record(&sandbox);
    assert_eq!(record.kind, Kind::Lab);
    assert_eq!(names_of(&record), ["tcp", "framed", "WebSocket"]);
    let sizes = record.plan.workloads.iter().map(|workload| workload.size_bytes);
    assert_eq!(sizes.collect::<Vec<_>>(), [64, 64, 100]);
    assert_eq!(record.blocks.len(), 6);
    for block in &record.blocks {
        assert_eq!((block.failed.as_deref(), block.counts.check()), (None, Ok(())));
        assert!(block.counts.ok > 0, "{:?}", block.counts);
    }
    let spec = record.spec.unwrap();
    assert_eq!((spec.seed, spec.question.as_str()), (7, "What does framing cost?"));
    let compared = spec.workloads.iter().map(|workload| workload.baseline);
    assert_eq!(compared.collect::<Vec<_>>(), [None, Some(0), Some(1)]);
}

#[test]
fn what_a_dry_run_prints_is_an_experiment_that_is_measured() {
    let sandbox = with_file(TWO);
    let server = Server::start(&Sandbox::new(), "ws");
    for (line, blocks) in [
        (format!("{} -n 10 -c 2 --seed 7", server.url), 1),
        ("x.toml --seed 7".to_owned(), 6),
        (format!("{} --bots 3,4 --every 10ms -d 50ms --warm-up 0s --seed 7", server.url), 2),
    ] {
        let dry = sandbox.run(&format!("run {line} --dry-run"));
        dry.check(0, &["would take about ", "nothing was measured"]);
        assert_eq!(sandbox.records(), [], "{line}");
        fs::write(sandbox.path().join("x.json"), &dry.stdout).unwrap();
        let run = sandbox.run("run x.json --json -o x.record");
        run.check_measured(&[]);
        let record = record_of(&run.stdout);
        assert_eq!(record.spec.as_ref(), Some(&experiment_of(&dry)), "{line}");
        assert_eq!((record.blocks.len(), record.plan.seed), (blocks, 7), "{line}");
    }
    // The file already has all options.
    let other = sandbox.run("run x.json -c 3");
    other.check(2, &["x.json: --connections: ", "leave it out"]);
    let broken = fs::read_to_string(sandbox.path().join("x.json")).unwrap();
    fs::write(sandbox.path().join("x.json"), broken.replace("\"rounds\"", "\"rouns\"")).unwrap();
    sandbox.run("run x.json").check(2, &["x.json: ", "unknown field `rouns`", "line "]);
}

#[test]
fn a_record_is_repeated_with_everything_as_it_was() {
    let server = Server::start(&Sandbox::new(), "ws");
    for (line, kind) in [
        (format!("{} -n 20 -c 2 --payload hello", server.url), Kind::Run),
        ("ladder --only ws --rounds 2 --block 20ms -c 1".to_owned(), Kind::Ladder),
        (
            format!(
                "sweep {} --from 2k --to 4k --repeats 1 -d 100ms --warm-up 0s --budget 5s",
                server.url
            ),
            Kind::Sweep,
        ),
    ] {
        let sandbox = Sandbox::new();
        sandbox.run(&format!("{line} -o first.json")).check_measured(&[]);
        sandbox.run("run first.json -o second.json").check_measured(&["record: second.json"]);
        let read = |name| record_of(&fs::read_to_string(sandbox.path().join(name)).unwrap());
        let (first, second): (RunRecord, RunRecord) = (read("first.json"), read("second.json"));
        assert_eq!((first.kind, second.kind), (kind, kind), "{line}");
        assert!(first.spec.is_some(), "{line}");
        assert_eq!(first.spec, second.spec, "{line}");
        // A sweep chooses its next loads by what it finds.
        if kind != Kind::Sweep {
            assert_eq!(names_of(&first), names_of(&second), "{line}");
        }
    }
}

#[test]
fn secrets_are_in_no_record_and_are_asked_for_again() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, "http");
    fs::write(sandbox.path().join("secrets"), "X-Key: hunter2\n").unwrap();
    let silent = |how: &How| {
        assert!(!how.stdout.contains("hunter2") && !how.stderr.contains("hunter2"), "{how:?}");
    };
    for (header, name) in [("X-Key:hunter2", "typed.json"), ("@secrets", "read.json")] {
        let line = format!("{} -n 10 -c 1 -H {header} -o {name} -v", server.url);
        let first = sandbox.run(&line);
        first.check_measured(&[&format!("repeat: wirebench run {name} -H @FILE\n")]);
        silent(&first);
        let text = fs::read_to_string(sandbox.path().join(name)).unwrap();
        assert!(text.contains("X-Key") && !text.contains("hunter2"), "{text}");

        let without = sandbox.run(&format!("run {name}"));
        without.check(2, &["the value of `X-Key` is not written down", "-H @FILE"]);
        without.check_no_result();
        let again = sandbox.run(&format!("run {name} -H @secrets --json -o again.json"));
        again.check_measured(&["repeat: wirebench run again.json -H @FILE\n"]);
        silent(&again);
        assert_eq!(record_of(&again.stdout).spec, record_of(&text).spec);
        // A dry run does not show it either.
        silent(&sandbox.run(&format!("{} -H {header} --dry-run", server.url)));
    }
}

#[test]
fn a_rate_that_rises_has_as_many_messages_due_as_it_says() {
    let server = Server::start(&Sandbox::new(), "tcp");
    // 300 ms at 550/s on average, and 100 ms at 1000/s.
    for (rate, options, planned) in [
        ("100/s..1k/s over 300ms, 1k/s for 100ms", "-d 400ms", 165 + 100),
        ("1k/s..100/s over 300ms, 100/s for 100ms", "-d 400ms", 165 + 10),
        // After a last piece with a length nothing is due; a last rate without one goes on.
        ("100/s..1k/s over 300ms, 1k/s for 100ms", "-d 500ms", 165 + 100),
        ("100/s..1k/s over 300ms, 1k/s", "-d 500ms", 165 + 200),
    ] {
        let sandbox = Sandbox::new();
        let line = format!("{} -c 4 --warm-up 0s --seed 7 {options} --rate", server.url);
        let mut command = sandbox.command(&line);
        command.arg(rate);
        Running::start(command).wait().check_measured(&["repeat: "]);
        let record = only_record(&sandbox);
        let counts = record.blocks[0].counts;
        assert_eq!((counts.planned, counts.check()), (planned, Ok(())), "{rate} {options}");
        let spec::Load::Open { rate: asked, .. } = &record.spec.as_ref().unwrap().workloads[0].load
        else {
            panic!("{record:?}")
        };
        assert_eq!(*asked, rate.parse().unwrap());
    }
    for (rate, problem) in [
        ("100/s..1k/s", "needs a length"),
        ("1k/s, 2k/s", "needs a length"),
        ("100/s..1000 over 1m", "did you mean `1000/s`?"),
    ] {
        let sandbox = Sandbox::new();
        let mut command = sandbox.command(&format!("{} --rate", server.url));
        command.arg(rate);
        Running::start(command).wait().check(2, &["error: ", "--rate", problem]);
    }
}

#[test]
fn what_a_file_should_not_say_is_named_with_its_place_and_what_it_may() {
    let row = "[[row]]\nserver = 'embedded'\ntransport = 'ws'\n";
    for (text, place, words) in [
        (format!("speed = 3\n{row}"), "x.toml:1:1: ", ["`speed`", "expected one of `connections`"]),
        (format!("{row}[quick]\nround = 3\n"), "x.toml:5:1: ", ["`round`", "`rate`"]),
        (format!("{row}[axis]\nslow = 3\n"), "x.toml:5:1: ", ["`slow`", "`slo`"]),
        (format!("duration = 10\n{row}"), "x.toml:1:12: ", ["10", "a length of time"]),
        (format!("duration = '10'\n{row}"), "x.toml:1:12: ", ["`10`", "did you mean `10s`?"]),
        (format!("[[load]]\nsize = '1B'\n{row}"), "x.toml:1:1: ", ["`name`", "missing"]),
        ("rounds = 3\n".to_owned(), "x.toml: ", ["no `[[row]]`", "server"]),
        ("[[row]]\nname = 'a'\n".to_owned(), "x.toml:2:8: ", ["`url`", "`transport`"]),
        ("[[row]\n".to_owned(), "x.toml:1:", ["", ""]),
    ] {
        let sandbox = with_file(&text);
        for command in ["run", "lab"] {
            let ended = sandbox.run(&format!("{command} x.toml"));
            ended.check(2, &["error: ", place]);
            ended.check(2, &words);
            ended.check_no_result();
        }
    }
}

#[test]
fn a_quick_run_is_shorter_even_if_the_file_says_nothing_of_it() {
    let text = "duration = '2s'\nrounds = 5\n[[row]]\nserver = 'embedded'\ntransport = 'ws'\n";
    let sandbox = with_file(text);
    let (long, quick) =
        (sandbox.run("lab x.toml --dry-run"), sandbox.run("lab x.toml --quick --dry-run"));
    long.check(0, &[]);
    quick.check(0, &[]);
    let (long, quick) = (experiment_of(&long), experiment_of(&quick));
    assert_eq!((long.rounds, quick.rounds), (5, 3));
    assert!(quick.block_time() < Nanos(long.block_time().0 / 5), "{}", quick.block_time());
    let asked = sandbox.run("lab x.toml --quick --rounds 1 --block 20ms --only embedded --json");
    asked.check_measured(&[]);
    assert_eq!(record_of(&asked.stdout).blocks.len(), 2);
}

fn with_file(text: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path().join("x.toml"), text).unwrap();
    sandbox
}

fn experiment_of(dry: &How) -> Experiment {
    serde_json::from_str(&dry.stdout).unwrap()
}

fn only_record(sandbox: &Sandbox) -> RunRecord {
    let mut records = sandbox.records();
    assert_eq!(records.len(), 1);
    records.remove(0)
}

fn names_of(record: &RunRecord) -> Vec<&str> {
    record.plan.workloads.iter().map(record::Workload::name).collect()
}
