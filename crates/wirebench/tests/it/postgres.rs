//! The history of a team, in a PostgreSQL database.

use crate::harness::Running;
use crate::history::{History, check_kills, check_ten_writers, write_records};
use crate::postgres_server::PostgresServer;

/// A server, and a history in it; `None`, and a message, if PostgreSQL is not installed.
fn started() -> Option<(PostgresServer, History)> {
    let server = PostgresServer::start()?;
    let history = History::new(Some(server.database("bench")));
    Some((server, history))
}

#[test]
fn a_team_has_one_history() {
    let Some((_server, history)) = started() else { return };
    let run = history.run("ladder --only unix --rounds 1 --block 20ms -c 1");
    run.check_measured(&["record: .wirebench/records/"]);
    assert!(!run.stderr.contains("warning: the record is kept"), "{}", run.stderr);
    assert!(!history.sandbox.path().join(".wirebench/history.db").exists());
    let list = history.run("history");
    let id = list.stdout.lines().last().unwrap().split_whitespace().nth(1).unwrap();
    history.run(&format!("history baseline set main {id}")).check(0, &[]);
    // Another user, elsewhere.
    let other = History::new(history.url.clone());
    assert_eq!(other.run("show main").stdout, run.stdout);
    assert_eq!(other.run("history verify").stdout, "1 record checked, no faults\n");
    // A shared history leaves the files to those who measured them.
    other.run("history baseline remove main").check(0, &[]);
    history.run("history prune --keep 0").check(0, &["1 record removed"]);
    assert_eq!(history.sandbox.records().len(), 1);
}

#[test]
fn a_server_that_is_away_costs_no_record() {
    let Some((mut server, history)) = started() else { return };
    history.run("history").check(0, &["the history has no such record"]);
    server.end();
    let run = history.run("ladder --only unix --rounds 1 --block 20ms -c 1");
    run.check_measured(&[
        "warning: the record is kept, but not in the history: postgres://",
        "cannot be reached, tried 7 times",
        "`wirebench history import` adds what is missing",
    ]);
    history.run("history").check(15, &["cannot be reached"]);
    server.start_again();
    history.run("history import").check(0, &["1 added, 0 known already, 0 left out"]);
    history.run("history import").check(0, &["0 added, 1 known already, 0 left out"]);
}

#[test]
fn a_server_that_goes_away_in_the_middle_loses_nothing_that_was_acknowledged() {
    let Some((mut server, history)) = started() else { return };
    write_records(&history.sandbox.path().join("records"), 0..400);
    let mut import = Running::start(history.command("history import records"));
    let mut lines: Vec<String> = (0..20).map(|_| import.line()).collect();
    server.end();
    server.start_again();
    let ended = import.wait();
    ended.check(0, &["added", " 0 left out"]);
    lines.extend(ended.stdout.lines().map(str::to_owned));
    let list = history.run("history --limit 1000 --json").stdout;
    let id = |line: &String| line.split(' ').next().unwrap().to_owned();
    assert!(lines.iter().map(id).all(|id| list.contains(&id)), "{} lines", lines.len());
    let verified = history.run("history verify");
    assert_eq!(verified.stdout, "400 records checked, no faults\n");
}

#[test]
fn ten_write_to_a_server_at_once() {
    let Some((_server, history)) = started() else { return };
    check_ten_writers(&history);
}

#[test]
fn a_server_has_all_that_was_acknowledged_before_a_kill() {
    let Some((_server, history)) = started() else { return };
    check_kills(&history, 40);
}

#[test]
#[ignore = "takes a minute: cargo test -p wirebench --features postgres -- --ignored a_server_has_all_after_200"]
fn a_server_has_all_after_200_kills() {
    let Some((_server, history)) = started() else { return };
    check_kills(&history, 200);
}

#[test]
fn an_address_that_is_none_is_told() {
    for (url, words) in [
        ("mysql://h/b", "WIREBENCH_STORE` is not a store: it does not begin with postgres://"),
        (
            "postgres://ada:secret@h",
            "`postgres://h` is not a store: it names no database; write postgres://",
        ),
    ] {
        let history = History::new(Some(url.to_owned()));
        let ended = history.run("history");
        ended.check(2, &[words]);
        assert!(!ended.stderr.contains("secret"), "{}", ended.stderr);
    }
}
