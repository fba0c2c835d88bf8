//! Flags over environment over project file over defaults.

use crate::harness::{Sandbox, Server, ended};
use record::{Message, MessageKind};

const FILE: &str =
    "color = \"never\"\n\n[run]\nconnections = 3\nsize = \"8B\"\nheader = [\"X-Key: hunter2\"]\n";

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path().join("wirebench.toml"), FILE).unwrap();
    sandbox
}

#[test]
fn every_setting_is_shown_with_where_it_came_from() {
    let sandbox = sandbox();
    let mut command = sandbox.command("config show");
    let shown = ended(&command.env("WIREBENCH_RUN_SIZE", "9B").output().unwrap());
    shown.check(0, &[]);
    let lines: Vec<Vec<&str>> =
        shown.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    for line in [
        ["color", "never", "wirebench.toml:1"],
        ["ladder.rounds", "10", "default"],
        ["run.connections", "3", "wirebench.toml:4"],
        ["run.size", "9B", "WIREBENCH_RUN_SIZE"],
        ["run.duration", "10s", "default"],
        ["run.messages", "-", "default"],
        ["run.rate", "-", "default"],
        ["run.every", "1s", "default"],
        ["serve.message-max", "-", "default"],
    ] {
        assert!(lines.contains(&line.to_vec()), "no {line:?} in {}", shown.stdout);
    }
    assert!(!shown.stdout.contains("hunter2"), "{}", shown.stdout);
    assert!(!shown.stdout.contains("output"), "{}", shown.stdout);

    let json = sandbox.run("config show --json").stdout;
    let all: serde_json::Value = serde_json::from_str(&json).unwrap();
    let connections = all.as_array().unwrap().iter().find(|one| one["name"] == "run.connections");
    let expected = serde_json::json!(
        { "name": "run.connections", "value": "3", "source": "wirebench.toml:4" }
    );
    assert_eq!(connections, Some(&expected));
}

#[test]
fn a_run_uses_what_is_in_force_and_says_all_of_it_again() {
    let sandbox = sandbox();
    let server = Server::start(&Sandbox::new(), "ws");
    let line = format!("{} -n 10 --payload hello --seed 7", server.url);
    let mut command = sandbox.command(&line);
    let run = ended(&command.env("WIREBENCH_RUN_IN_FLIGHT", "2").output().unwrap());
    run.check(0, &[]);
    let expected = format!(
        "repeat: wirebench run {} --connections 3 --messages 10 --payload hello --in-flight 2 --seed 7\n",
        server.url
    );
    assert!(run.stderr.contains(&expected), "no {expected:?} in {}", run.stderr);

    let records = sandbox.records();
    let workload = &records[0].plan.workloads[0];
    assert_eq!((workload.connections, workload.in_flight, workload.seed), (3, 2, 7));
    assert_eq!(workload.header_names, ["X-Key"]);
    let Message { kind, size_bytes, .. } = workload.message;
    assert_eq!((kind, size_bytes), (MessageKind::Text, 5), "the payload beats the file's size");
    assert!(!records[0].to_json().contains("hunter2"));
}

#[test]
fn a_rate_in_the_file_gives_way_to_bots_on_the_command_line_and_how_often_they_send_does_not() {
    let sandbox = Sandbox::new();
    let file = "[run]\nrate = \"500/s\"\nbots = [2, 3]\nevery = \"20ms\"\n";
    std::fs::write(sandbox.path().join("wirebench.toml"), file).unwrap();
    let server = Server::start(&Sandbox::new(), "tcp");
    // Which of the two is meant cannot be known.
    sandbox.run(&server.url).check(2, &["`run.rate` (wirebench.toml, line 2)", "leave one out"]);
    let run = sandbox.run(&format!("{} --bots 5 -d 100ms --warm-up 0s --seed 7", server.url));
    let repeat = "--duration 100ms --bots 5 --every 20ms --warm-up 0s --seed 7";
    run.check_measured(&[&format!("repeat: wirebench run {} {repeat}", server.url)]);
    let record = &sandbox.records()[0];
    assert_eq!((record.plan.workloads.len(), record.blocks[0].counts.planned), (1, 25));
}

#[test]
fn what_is_wrong_in_the_file_or_the_environment_is_named_and_help_works_all_the_same() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path().join("wirebench.toml"), "[run]\nconections = 3\n").unwrap();
    for line in ["ws://127.0.0.1:1", "ladder", "config show"] {
        sandbox.run(line).check(2, &["wirebench.toml, line 2", "did you mean `run.connections`?"]);
    }
    for line in ["--help", "run -h", "completions bash", "man"] {
        sandbox.run(line).check(0, &[]);
    }
    let elsewhere = Sandbox::new();
    let mut command = elsewhere.command("ws://127.0.0.1:1");
    ended(&command.env("WIREBENCH_RUN_DURATION", "10").output().unwrap())
        .check(2, &["WIREBENCH_RUN_DURATION: ", "did you mean `10s`?"]);
}

#[test]
fn a_list_is_a_list_wherever_it_is_set() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path().join("wirebench.toml"), "[ladder]\nonly = [\"ws\", \"unix\"]\n")
        .unwrap();
    let line = "ladder --rounds 1 --block 20ms -c 1 -q";
    sandbox.run(line).check_measured(&[]);
    let mut command = sandbox.command(line);
    ended(&command.env("WIREBENCH_LADDER_ONLY", "ws,http").output().unwrap()).check_measured(&[]);
    let rungs = |record: &record::RunRecord| -> Vec<String> {
        record.plan.workloads.iter().map(|workload| workload.name.clone()).collect()
    };
    let mut rungs: Vec<_> = sandbox.records().iter().map(rungs).collect();
    rungs.sort();
    assert_eq!(rungs, [["tcp", "unix", "ws"], ["tcp", "ws", "http"]]);
}

#[test]
fn servers_of_a_run_do_not_listen_to_the_project_file() {
    let sandbox = Sandbox::new();
    let file = "[serve]\nmessage-max = \"1B\"\n";
    std::fs::write(sandbox.path().join("wirebench.toml"), file).unwrap();
    let ladder = sandbox.run("ladder --only tcp-framed --rounds 1 --block 20ms -c 1");
    ladder.check_measured(&[]);
}
