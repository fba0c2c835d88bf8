//! `wirebench ui` and `--ui` in a real browser, and `--feed`, which both are built on.

use crate::harness::{Running, Sandbox, Server};
use crate::third_party::{installed, run_client, run_client_with_patience};
use crate::{hostile, records};
use record::RunRecord;
use rustix::process::Signal;
use serde_json::Value;
use std::process::Stdio;
use std::time::Duration;

#[test]
fn a_browser_starts_watches_changes_stops_and_compares_runs() {
    let Some(browser) = installed("browser") else { return };
    let sandbox = Sandbox::new();
    let evil = hostile::saying(&records::run(), hostile::EVIL);
    let evil = RunRecord { started_at: "2025-01-01T00:00:00Z".to_owned(), ..evil };
    std::fs::write(sandbox.path().join("evil.json"), evil.to_json()).unwrap();
    sandbox.run("history import evil.json").check(0, &["1 added"]);
    let server = Server::start(&Sandbox::new(), "tcp");
    let mut page = Running::start(sandbox.command("ui"));
    let url = page.line();

    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/browser/ui.mjs");
    let seen = run_client(&browser, &[script, url.trim(), &server.url]);
    let seen: Value = serde_json::from_str(&seen).unwrap();

    for silent in ["said", "foreign", "dialogs", "tooWide", "faults", "late"] {
        assert_eq!(seen[silent], Value::Array(Vec::new()), "{silent}");
    }
    let said = |key: &str, word: &str| {
        let text = seen[key].as_str().unwrap_or_else(|| panic!("{key}: {}", seen[key]));
        assert!(text.contains(word), "no {word:?} in {key}: {text}");
    };
    // All options of a run have a field, and so have all criteria.
    assert_eq!(seen["fields"], 77);
    assert_eq!(seen["refused"], "`2000` is not a rate; did you mean `2000/s`?");
    assert!(seen["after"].as_u64() >= seen["before"].as_u64() && seen["before"] != 0, "{seen}");
    assert_eq!(seen["firstLines"][0], "id: 0");
    assert!(seen["drawn"].as_u64() > Some(0), "{}", seen["drawn"]);
    assert_eq!(seen["ofMany"], serde_json::json!([200, 1000]));
    // Late answers are in no other view, and do not replace newer ones.
    assert_eq!(seen["left"][1], serde_json::json!(["H1", "UL runs"]));
    assert_eq!((&seen["left"][0], &seen["newest"]), (&seen["left"][1], &1.into()));
    said("busy", "is being measured, and two runs disturb each other");
    said("answer", "the rate was changed by hand while it was measured");
    said("limited", "p50 < 10s: ");
    said("limited", "messages/s > 1/s: ");
    said("listed", "is over");
    said("guarded", "--i-may-load-this-target");
    assert_eq!(
        (&seen["rows"], &seen["markup"], &seen["images"]),
        (&4.into(), &0.into(), &0.into())
    );
    said("hostile", "<img src=x");
    said("filtered", "of-a-file");
    said("compared", "Two records side by side");
    said("reported", "changed to 900/s, 990/s");
    for numbers in ["1.25 ms now; 0 changes", "72.5 us now", "12 KiB now"] {
        said("trend", numbers);
    }
    assert_eq!(seen["asked"], "refused", "a request of a report was not refused");
    said("tokenless", "token");
    assert_eq!((&seen["stolen"], &seen["started"]), (&"refused".into(), &4.into()));

    page.send(Signal::INT);
    page.wait().check(0, &[]);
    let kept = sandbox.records();
    assert_eq!(kept.len(), 3);
    assert_eq!(kept[1].requirements.len(), 2);
    let changes: Vec<String> =
        kept[0].blocks[0].rate_changes.iter().map(|change| change.rate.to_string()).collect();
    assert_eq!(changes, ["900/s", "990/s"]);
}

#[test]
fn a_browser_that_stands_still_for_30_s_or_is_cut_off_sees_all_of_a_run_that_does_not_wait_for_it()
{
    // A run reports ten lines a second.
    const LINES: usize = 300;
    let Some(browser) = installed("browser") else { return };
    let sandbox = Sandbox::new();
    let server = Server::start(&Sandbox::new(), "tcp");
    let mut page = Running::start(sandbox.command("ui"));
    let url = page.line();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/browser/stopped.mjs");
    let arguments = [script, url.trim(), &server.url, &LINES.to_string()];
    let seen = run_client_with_patience(&browser, &arguments, Duration::from_secs(300));
    let seen: Value = serde_json::from_str(&seen).unwrap();
    let (watches, stands) = (&seen["watches"], &seen["stands"]);
    let stopped = seen["stopped"].as_array().unwrap();
    assert!(stopped.len() > 1 && stopped.iter().all(|state| state == "T"), "{stopped:?}");
    let numbers = watches["seen"].as_array().unwrap();
    assert!(numbers.len() > LINES, "{numbers:?}");
    assert!(numbers.iter().enumerate().all(|(index, number)| *number == index), "{numbers:?}");
    // The run went on meanwhile: its lines arrived, and nearly all of them report sent messages.
    let meanwhile = seen["meanwhile"].as_array().unwrap();
    let sent = meanwhile.iter().filter(|per_s| per_s.as_f64() > Some(0.0)).count();
    assert!(meanwhile.len() >= LINES && sent * 10 >= meanwhile.len() * 9, "{meanwhile:?}");
    // Each line once, though it requested them more than once: it had to come back.
    assert_eq!(stands["seen"], watches["seen"]);
    assert_eq!((&watches["asked"], stands["asked"].as_u64() > Some(1)), (&1.into(), true));
    assert_eq!(stands["shown"], watches["shown"]);
    // A browser that came later has all lines too.
    assert_eq!(
        (&seen["late"]["seen"], &seen["late"]["shown"]),
        (&watches["seen"], &watches["shown"])
    );
    page.send(Signal::INT);
    page.wait().check(0, &[]);
}

#[test]
fn a_program_follows_a_run_by_lines_changes_its_rate_and_stops_it() {
    let sandbox = Sandbox::new();
    let server = Server::start(&Sandbox::new(), "tcp");
    let mut command =
        sandbox.command(&format!("run {} --rate 300/s -c 3 -d 5m --feed", server.url));
    command.stdin(Stdio::piped());
    let mut running = Running::start(command);
    let mut line = |wanted: &dyn Fn(&Value) -> bool| loop {
        let line: Value = serde_json::from_str(&running.line()).unwrap();
        if wanted(&line) {
            break line;
        }
    };
    line(&|line| line["event"] == "machine");
    let sent = |line: &Value| line["phase"] == "measure" && line["sent_per_s"].as_f64() > Some(0.0);
    let first = line(&sent);
    assert_eq!((&first["due_per_s"], &first["has_rate"]), (&300.0.into(), &true.into()));
    running.tell("no command\n{\"rate\": \"3000/s\"}\n");
    running.wait_for_word("stdin: not a command");
    let mut line = |wanted: &dyn Fn(&Value) -> bool| loop {
        let line: Value = serde_json::from_str(&running.line()).unwrap();
        if wanted(&line) {
            break line;
        }
    };
    // The messages are sent, not only due.
    line(&|line| line["sent_per_s"].as_f64() > Some(1500.0));
    running.tell("{\"stop\": true}\n");
    let mut line = || serde_json::from_str::<Value>(&running.line()).unwrap();
    let record = loop {
        let line = line();
        if line["event"] == "record" {
            break line;
        }
    };
    let [kept] = &sandbox.records()[..] else { panic!("one record") };
    assert!(record["file"].as_str().unwrap().ends_with("-run.json"), "{record}");
    assert_eq!(record["verdict"], kept.verdict.as_ref().unwrap().level.name());
    assert_eq!(kept.blocks[0].rate_changes[0].rate.to_string(), "3000/s");
    running.wait().check(130, &[]);
}

#[test]
fn one_run_is_shown_in_a_browser_and_then_as_if_there_had_been_none() {
    let sandbox = Sandbox::new();
    let server = Server::start(&Sandbox::new(), "tcp");
    let line = format!("run {} -c 2 -d 300ms --warm-up 0s --ui", server.url);
    let mut running = Running::start(sandbox.command(&line));
    let watch = running.wait_for_word("watch it at http://127.0.0.1:");
    assert!(watch.trim().ends_with("/#run/0"), "{watch}");
    running.wait_for_word("the page stays until Ctrl-C");
    running.send(Signal::INT);
    let ended = running.wait();
    ended.check_measured(&[]);
    assert!(ended.stdout.contains("round trip"), "{ended:?}");
    assert_eq!(sandbox.records().len(), 1);
}

#[test]
fn what_cannot_be_served_or_started_says_so() {
    let sandbox = Sandbox::new();
    let server = Server::start(&Sandbox::new(), "tcp");
    let taken = server.url.trim_start_matches("tcp://").trim_end_matches('/').to_owned();
    let listens = sandbox.run(&format!("ui --listen {taken}"));
    listens.check(2, &["cannot listen at", "name another one, as in --listen 127.0.0.1:0"]);
    sandbox.run("ui --listen nowhere").check(2, &["--listen"]);
    sandbox
        .run(&format!("{} --feed -o -", server.url))
        .check(2, &["--feed writes its lines to stdout"]);
    let settings = sandbox.run(&format!("{} --settings none.toml", server.url));
    settings.check(2, &["cannot read none.toml: there is no such file"]);
    std::fs::write(sandbox.path().join("bad.toml"), "[run]\nspeed = 1\n").unwrap();
    let settings = sandbox.run(&format!("{} --settings bad.toml", server.url));
    settings.check(2, &["bad.toml:2:1: unknown field `speed`"]);
}
