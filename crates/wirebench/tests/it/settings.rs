//! Flags over the project file over defaults.

use crate::harness::{Sandbox, Server, record_of};
use record::RunRecord;
use spec::{Closing, Load};

const FILE: &str = "[run]\nconnections = 3\nsize = \"8B\"\nheader = [\"X-Key: hunter2\"]\n";

fn sandbox(file: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path().join("wirebench.toml"), file).unwrap();
    sandbox
}

#[test]
fn every_option_of_the_project_is_shown_and_no_secret() {
    let sandbox = sandbox(FILE);
    let shown = sandbox.run("config show");
    shown.check(0, &[]);
    for line in ["# ./wirebench.toml", "[run]", "connections = 3", "size = \"8B\""] {
        assert!(shown.stdout.lines().any(|shown| shown == line), "no {line:?} in {shown:?}");
    }
    assert!(shown.stdout.contains("header = ") && !shown.stdout.contains("hunter2"), "{shown:?}");

    let json = sandbox.run("config show --json").stdout;
    let all: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(all, serde_json::json!({ "connections": 3, "size": "8B" }));

    let none = Sandbox::new().run("config show");
    none.check(0, &[]);
    assert!(none.stdout.contains("sets nothing"), "{none:?}");
}

#[test]
fn a_run_uses_what_is_in_force_and_its_record_has_all_of_it() {
    let sandbox = sandbox(FILE);
    let server = Server::start(&Sandbox::new(), "ws");
    let run = sandbox.run(&format!("{} -n 10 --payload hello --in-flight 2 --seed 7", server.url));
    run.check(0, &["repeat: wirebench run .wirebench/records/", " -H @FILE\n"]);
    assert!(!run.stderr.contains("hunter2"), "{run:?}");

    let record = &sandbox.records()[0];
    let workload = &record.plan.workloads[0];
    let load = &workload.spec.load;
    assert_eq!((load.connections().get(), load.in_flight().get(), workload.spec.seed), (3, 2, 7));
    assert_eq!(workload.spec.http.headers[0].name, "X-Key");
    let is_text = workload.spec.message.text;
    assert_eq!((is_text, workload.size_bytes), (true, 5), "the payload beats the file's size");
    assert!(!record.to_json().contains("hunter2"));
}

#[test]
fn a_rate_in_the_file_gives_way_to_bots_on_the_command_line_and_how_often_they_send_does_not() {
    let sandbox = sandbox("[run]\nrate = \"500/s\"\nbots = [2, 3]\nevery = \"20ms\"\n");
    let server = Server::start(&Sandbox::new(), "tcp");
    // Only one of the two can be meant.
    sandbox.run(&server.url).check(2, &["--rate", "--bots", "leave one out"]);
    let line = format!("{} --bots 5 -d 100ms --warm-up 0s --seed 7", server.url);
    sandbox.run(&line).check_measured(&["repeat: "]);
    let record = &sandbox.records()[0];
    assert_eq!((record.plan.workloads.len(), record.blocks[0].counts.planned), (1, 25));
}

#[test]
fn what_is_wrong_in_the_file_is_named_with_its_place_and_help_works_all_the_same() {
    for (file, place, what) in [
        ("[run]\nconections = 3\n", "wirebench.toml:2:1: ", "`connections`"),
        ("[run]\nduration = \"10\"\n", "wirebench.toml:2:12: ", "did you mean `10s`?"),
        ("[run]\nconnections = 3\n\n[serve]\n", "wirebench.toml:4:2: ", "expected `run`"),
        ("[run\n", "wirebench.toml:1:5: ", ""),
    ] {
        let sandbox = sandbox(file);
        for line in ["ws://127.0.0.1:1", "ladder", "sweep ws://127.0.0.1:1", "config show"] {
            sandbox.run(line).check(2, &[place, what]);
        }
        for line in ["--help", "run -h", "completions bash", "man"] {
            sandbox.run(line).check(0, &[]);
        }
    }
}

#[test]
fn a_list_is_a_list_wherever_it_is_set() {
    let server = Server::start(&Sandbox::new(), "tcp");
    let steps = |record: &RunRecord| -> Vec<String> {
        record.plan.workloads.iter().map(|workload| workload.name().to_owned()).collect()
    };
    for (file, flags, expected) in [
        ("bots = [5, 2]", "", &["5 bots", "2 bots"][..]),
        ("bots = 5", "--bots 3,4", &["3 bots", "4 bots"]),
        ("bots = [5, 2]", "--bots 3 --bots 4", &["3 bots", "4 bots"]),
    ] {
        let sandbox = sandbox(&format!("[run]\n{file}\n"));
        let line = format!("{} --every 10ms -d 50ms --warm-up 0s -q {flags}", server.url);
        sandbox.run(&line).check_measured(&[]);
        assert_eq!(steps(&sandbox.records()[0]), expected, "{file} {flags}");
    }
}

#[test]
fn a_file_of_an_experiment_stands_above_the_project_and_below_flags() {
    let sandbox = sandbox("[run]\nconnections = 3\nsize = \"8B\"\nclose = \"at-once\"\n");
    let file = "connections = 4\nsize = '9B'\n[[row]]\nserver = 'embedded'\ntransport = 'ws'\n";
    std::fs::write(sandbox.path().join("x.toml"), file).unwrap();
    let shown = sandbox.run("run x.toml --size 10B --dry-run");
    shown.check(0, &[]);
    let experiment: spec::Experiment = serde_json::from_str(&shown.stdout).unwrap();
    let ws = experiment.workloads.iter().find(|workload| workload.name == "embedded ws").unwrap();
    assert!(matches!(ws.load, Load::Closed { connections, .. } if connections.get() == 4));
    assert_eq!((ws.message.content.len(), ws.closing), (10, Closing::AtOnce));
}

#[test]
fn servers_do_not_listen_to_the_project_file() {
    let sandbox = sandbox("[serve]\nmessage-max = \"1B\"\n");
    let server = Server::start(&sandbox, "tcp-framed");
    let elsewhere = Sandbox::new();
    let run = elsewhere.run(&format!("{} -n 10 -c 1 --json", server.url));
    run.check_measured(&[]);
    assert_eq!(record_of(&run.stdout).blocks[0].counts.ok, 10);
}
