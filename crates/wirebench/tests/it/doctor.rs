//! `wirebench doctor`: what this machine can carry, as text and as JSON.

use crate::harness::Sandbox;
use serde_json::Value;

#[test]
fn every_limit_has_a_state_and_fits_eighty_columns() {
    let sandbox = Sandbox::new();
    let told = sandbox.run("doctor");
    told.check(0, &[]);
    assert_eq!(told.stderr, "");
    assert!(
        told.stdout.starts_with("First limit with the server on this machine: open files, at "),
        "{told:?}"
    );
    for name in [
        "open files",
        "ports",
        "backlog",
        "memory",
        "socket buffers",
        "messages",
        "cores",
        "timer floor",
        "steal",
        "congestion",
        "governor",
    ] {
        let lines = told.stdout.lines().filter(|line| line.starts_with(&format!("{name} ")));
        assert_eq!(lines.count(), 1, "{name}: {}", told.stdout);
    }
    assert!(told.stdout.lines().all(|line| line.chars().count() <= 80), "{}", told.stdout);
    assert_eq!(sandbox.records(), []);
}

#[test]
fn json_has_the_same_findings() {
    let told = Sandbox::new().run("doctor --json --remote");
    told.check(0, &[]);
    let json: Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!((&json["server"], &json["fits"]), (&"elsewhere".into(), &Value::Null));
    let findings = json["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 11);
    for finding in findings {
        let state = finding["state"].as_str().unwrap();
        assert!(["fine", "binds", "changes", "unknown"].contains(&state), "{finding}");
        assert_eq!(state == "binds", finding["at"].is_u64(), "{finding}");
        assert_eq!(state == "unknown", finding["because"].is_string(), "{finding}");
    }
}

#[test]
fn a_wish_ends_with_its_exit_code() {
    let sandbox = Sandbox::new();
    let asked = |wish: &str| {
        let mut command = sandbox.command("doctor --json --for");
        crate::harness::ended(&command.arg(wish).output().unwrap())
    };
    let fits = asked("1 bot every 1s");
    fits.check(0, &[]);
    let json: Value = serde_json::from_str(&fits.stdout).unwrap();
    // It fits for certain only if nothing is unknown.
    let fits = if json["unknown"] == Value::Array(vec![]) { true.into() } else { Value::Null };
    assert_eq!((&json["fits"], &json["asked"]["messages_per_s"]), (&fits, &1.into()));

    let too_many = asked("4G bots");
    too_many.check(2, &[]);
    let json: Value = serde_json::from_str(&too_many.stdout).unwrap();
    let findings = json["findings"].as_array().unwrap();
    let short = findings.iter().filter(|finding| finding["suffices"] == Value::Bool(false));
    assert!(
        short.clone().count() > 0 && short.clone().all(|finding| finding["cure"].is_string()),
        "{json}"
    );

    // As text, the first line has the answer.
    let mut command = sandbox.command("doctor --for");
    let text = crate::harness::ended(&command.arg("4G bots").output().unwrap());
    text.check(2, &[]);
    assert!(
        text.stdout.starts_with("4G connections with the server on this machine: does not fit ("),
        "{text:?}"
    );
}

#[test]
fn the_number_of_doctor_is_the_one_at_which_a_run_refuses() {
    let sandbox = Sandbox::new();
    // A limit of our own, so that the test does not depend on the machine's.
    let in_shell = |line: &str| {
        let mut command = sandbox.command_in_shell("ulimit -Sn 200; exec \"$@\"", line);
        crate::harness::ended(&command.output().unwrap())
    };
    let told = in_shell("doctor --json");
    let json: Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!(json["findings"][0]["code"], "open_files");
    let at = json["findings"][0]["at"].as_u64().unwrap();
    assert_eq!(at, 168);
    let refused = in_shell(&format!("ladder --only ws --rounds 1 --block 20ms -c {}", at + 1));
    refused.check(2, &["169 connections need 201 open files"]);
    // How well it can be measured is another matter.
    let measured = in_shell(&format!("ladder --only ws --rounds 1 --block 20ms -c {at}"));
    assert!(
        measured.code != Some(2) && !measured.stderr.contains("open files, the limit"),
        "{measured:?}"
    );
}

#[test]
fn a_wish_that_is_not_understood_says_what_is() {
    let sandbox = Sandbox::new();
    for wish in ["10k", "ten bots", "10k penguins", "0 bots", "10k bots every 1", ""] {
        let mut command = sandbox.command("doctor --for");
        let ended = crate::harness::ended(&command.arg(wish).output().unwrap());
        ended.check(2, &["`10k bots`", "`2000/s`", "`10k bots every 1s`"]);
        ended.check_no_result();
    }
}
