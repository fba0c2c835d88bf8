//! Runs and ladders that go as they should.

use crate::harness::{Sandbox, Server, record_of};
use record::{Ended, Kind, Little};
use spec::{Load, Stop};

#[test]
fn every_transport_is_run_to_its_last_message() {
    let sandbox = Sandbox::new();
    for (serve, options) in [
        ("tcp", ""),
        ("tcp-framed", "--size 0"),
        ("lines", "--size 0"),
        ("unix --listen a.sock", ""),
        ("ws", "--in-flight 4"),
        ("ws", "--text"),
        ("ws --subprotocol chat", "--subprotocol chat"),
        ("http", ""),
        ("http", "--echo"),
        ("http", "--echo --method PUT --header A:b --header C:d"),
    ] {
        let sandbox_of_run = Sandbox::new();
        let server = Server::start(&sandbox, serve);
        // A relative path is relative to the server's directory.
        let url = server.url.replace("unix:", &format!("unix:{}/", sandbox.path().display()));
        let run = sandbox_of_run.run(&format!("{url} -n 500 -c 5 --seed 7 {options}"));
        run.check_measured(&[
            "machine: ",
            "record: .wirebench/records/",
            "repeat: wirebench run .wirebench/records/",
        ]);
        assert!(run.stdout.contains("500"), "{}", run.stdout);
        let records = sandbox_of_run.records();
        let [record] = &records[..] else { panic!("{} records", records.len()) };
        assert_eq!((record.kind, &record.ended), (Kind::Run, &Ended::Completed));
        let counts = record.blocks[0].counts;
        assert_eq!(counts.check(), Ok(()));
        assert_eq!((counts.planned, counts.ok), (500, 500), "{serve} {options}: {counts:?}");
        let stop = record.plan.workloads[0].spec.phases.stop;
        assert!(matches!(stop, Stop::Messages(count) if count.get() == 500), "{stop:?}");
    }
}

#[test]
fn a_server_that_somebody_else_started_is_looked_into_by_its_socket() {
    let sandbox = Sandbox::new();
    for (serve, options) in [("ws", ""), ("http", "--rate 500/s"), ("unix --listen b.sock", "")] {
        let server = Server::start(&sandbox, serve);
        let url = server.url.replace("unix:", &format!("unix:{}/", sandbox.path().display()));
        let ended = sandbox.run(&format!("{url} -d 300ms -c 2 --warm-up 0s --json {options}"));
        ended.check_measured(&[]);
        let record = record_of(&ended.stdout);
        let pid = server.process.pid().as_raw_nonzero().get().cast_unsigned();
        let found = &record.plan.workloads[0].processes;
        let [found] = &found[..] else { panic!("{found:?} {:?}", record.blocks[0].cpu) };
        assert_eq!((found.pid, &found.name[..]), (pid, "wirebench"));
        let block = &record.blocks[0];
        assert!(block.cpu.server_us_per_message > Some(0.0), "{:?}", block.cpu);
        assert!(block.cpu.server_cores_used < Some(2.0), "{:?}", block.cpu);
        let memory = block.memory.as_ref().and_then(|memory| memory.server_rss_bytes);
        assert!(memory > Some(1 << 20), "{:?}", block.memory);
        let page = sandbox.run(&format!("{url} -d 100ms -c 2 --warm-up 0s {options}"));
        assert!(page.stdout.contains(&format!("wirebench (process {pid}), memory ")), "{page:?}");
    }
    // If the socket cannot be seen, the user names the process: here another one, which is inspected all the same.
    let (one, other) = (Server::start(&sandbox, "tcp"), Server::start(&sandbox, "tcp"));
    let pid = other.process.pid().as_raw_nonzero().get().cast_unsigned();
    let named = format!("{} -n 10 -c 1 --json --server-pid", one.url);
    let ended = sandbox.run(&format!("{named} {pid}"));
    let record = record_of(&ended.stdout);
    assert_eq!(record.plan.workloads[0].processes[0].pid, pid);
    sandbox
        .run(&format!("{named} 4194305"))
        .check(2, &["--server-pid 4194305: there is no such process"]);
}

#[test]
fn short_lived_clients_make_their_round_trips_and_close() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, "ws");
    let line = format!("{} --clients 40 --concurrency 4 --round-trips 5 -q", server.url);
    sandbox.run(&line).check_measured(&[]);
    let record = &sandbox.records()[0];
    let load = &record.plan.workloads[0].spec.load;
    assert!(
        matches!(load, Load::Clients { round_trips, .. } if round_trips.get() == 5),
        "{load:?}"
    );
    let block = &record.blocks[0];
    assert_eq!((block.connections.opened, block.counts.ok), (40, 200));
    assert!(block.phases.connect.is_some() && block.phases.handshake.is_some());
}

#[test]
fn connections_that_the_server_ends_after_each_reply_are_a_warning_and_no_bug_of_ours() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, "http");
    let line = format!("{} -n 1000 -c 2 --header Connection:close -q", server.url);
    sandbox.run(&line).check_measured(&[]);
    let record = &sandbox.records()[0];
    let block = &record.blocks[0];
    assert_eq!(block.counts.ok, 1000);
    assert!(block.connections.reconnects >= 990, "{:?}", block.connections);
    let reason = "connections were opened again in the middle of the block".to_owned();
    assert_eq!(block.little, Little::NotChecked { reason });
    assert!(record.warnings.iter().any(|warning| warning.code == "reopened_connections"));
    let reasons = record.verdict.iter().flat_map(|verdict| &verdict.reasons);
    assert!(!reasons.into_iter().any(|reason| reason.code == "littles_law"), "{record:?}");
}

#[test]
fn a_fixed_reply_is_expected_where_a_server_does_not_echo() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, "ws");
    let echo = format!("{} --payload Ping -n 10 -c 1 -q", server.url);
    sandbox.run(&format!("{echo} --expect Ping")).check(0, &[]);
    let wrong = sandbox.run(&format!("{echo} --expect Pong"));
    wrong.check(15, &["does not answer as expected", "Ping"]);
}

#[test]
fn a_ladder_compares_its_rungs_with_tcp() {
    let sandbox = Sandbox::new();
    let ladder = sandbox.run("ladder --only ws,http-new --rounds 2 --block 100ms -c 2 --seed 7");
    ladder.check_measured(&["record: ", "repeat: wirebench run .wirebench/records/"]);
    for rung in ["tcp", "ws", "http-new"] {
        let has_row =
            |line: &str| line.trim_start_matches(['?', 'x', ' ']).starts_with(&format!("{rung} "));
        let has_row = ladder.stdout.lines().any(has_row);
        assert!(has_row, "no {rung} in {}", ladder.stdout);
    }
    assert!(ladder.stdout.lines().all(|line| line.chars().count() <= 80), "{}", ladder.stdout);
    let record = &sandbox.records()[0];
    assert_eq!((record.kind, record.blocks.len()), (Kind::Ladder, 6));
    assert_eq!((record.plan.seed, record.plan.baseline), (7, Some(0)));
    assert!(record.blocks.iter().all(|block| block.failed.is_none() && block.counts.ok > 0));
    assert!(record.results.iter().filter(|result| result.to_baseline.is_some()).count() == 2);
}

#[test]
fn json_is_the_record_and_nothing_else() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, "tcp");
    let line = format!("{} -n 10 -c 1", server.url);

    let both = sandbox.run(&format!("{line} --json"));
    assert_eq!(record_of(&both.stdout), sandbox.records()[0]);

    let elsewhere = Sandbox::new();
    let piped = elsewhere.run(&format!("{line} -o - -q"));
    assert_eq!(record_of(&piped.stdout).blocks[0].counts.ok, 10);
    assert_eq!((elsewhere.records().len(), piped.stderr.as_str()), (0, ""));

    let to_file = elsewhere.run(&format!("{line} -o here.json"));
    to_file.check(0, &["record: here.json"]);
    let json = std::fs::read_to_string(elsewhere.path().join("here.json")).unwrap();
    assert_eq!(record_of(&json).blocks[0].counts.ok, 10);
    assert_eq!(elsewhere.records().len(), 0);
}

#[test]
fn quiet_says_nothing_and_verbose_says_each_block() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, "tcp");
    let line = format!("{} -n 10 -c 1", server.url);
    assert_eq!(sandbox.run(&format!("{line} -q")).stderr, "");
    sandbox.run(&format!("{line} -v")).check(0, &["block 1/1  tcp://"]);
}

#[test]
fn colours_are_there_when_they_are_forced_and_never_without() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, "tcp");
    let line = format!("{} -n 10 -c 1", server.url);
    assert!(!sandbox.run(&line).stderr.contains('\x1b'));
    assert!(sandbox.run(&format!("{line} --color always")).stderr.contains("\x1b[1mrecord:"));
    let mut forced = sandbox.command(&line);
    let forced = crate::harness::ended(&forced.env("FORCE_COLOR", "1").output().unwrap());
    assert!(forced.stderr.contains("\x1b[1mrecord:"), "{}", forced.stderr);
}
