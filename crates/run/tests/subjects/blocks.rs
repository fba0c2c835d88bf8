//! Blocks of subjects.

use crate::plans::{MESSAGES, execute, execute_and_listen, failures, plan, workload, workload_by};
use crate::scripts::{Script, state};
use run::Event;
use spec::{Expect, Load, Options, Protocol, Scheme, Server, ServerSubject, Workload};
use units::{Count, Nanos};

crate::tests![
    a_server_and_a_client_of_others_are_measured_and_ended,
    a_fixed_reply_is_given_and_checked,
    a_server_that_dies_fails_its_block_and_is_started_again_once,
    a_client_that_dies_fails_its_block_and_is_started_again_once,
    a_client_that_lies_is_shown_as_failed,
    a_server_that_answers_wrongly_is_not_timed_and_the_others_are,
    what_a_manifest_rules_out_is_not_timed,
    a_restart_inside_tls_is_refused_before_anything_is_started,
    what_compiles_while_it_runs_is_warmed_up_before_its_first_block,
    a_version_that_is_not_confirmed_is_waited_for_briefly_and_told,
];

fn a_server_and_a_client_of_others_are_measured_and_ended() {
    let (server, client) = (Script::server(&[]), Script::client(&[]));
    let ours = workload("ours", server.as_server());
    let theirs =
        Workload { name: "theirs".to_owned(), client: Some(client.as_client()), ..ours.clone() };
    let other = Workload { name: "other".to_owned(), baseline: Some(1), ..ours.clone() };
    let record = execute(&plan(vec![ours, theirs, other], 2));
    assert_eq!(record.blocks.len(), 6);
    for block in &record.blocks {
        assert_eq!(block.failed, None);
        assert_eq!((block.counts.ok, block.counts.check()), (MESSAGES, Ok(())));
        assert!(block.memory.unwrap().server_pss_bytes > Some(0));
        assert!(block.context_switches.server_voluntary.is_some());
        assert_eq!(block.client.is_some(), block.workload == 1);
    }
    let of_client = record.blocks.iter().find(|block| block.workload == 1).unwrap();
    let report = of_client.client.as_ref().unwrap();
    assert_eq!(report.wall_ns, of_client.measured_ns);
    assert!(report.cpu_ns.is_some() && report.cpu_seen_ns.is_some());
    assert_eq!(of_client.phases.connect.as_ref().unwrap().count, 1);
    assert!(of_client.wire.missing.contains_key("sent_bytes_per_message"));
    let workloads = &record.plan.workloads;
    let found = workloads[1].client.as_ref().unwrap().version_found.as_deref();
    assert_eq!((found, workloads[0].client.is_none()), (Some("1.0"), true));
    assert_eq!(workloads[0].server.as_ref().unwrap().library, "script");
    assert_eq!(workloads[2].spec.baseline, Some(1));
    assert!(record.results[0].to_baseline.is_none(), "it is the baseline of the plan");
    assert!(record.results[2].to_baseline.is_some());
    let verdict = record.verdict.unwrap();
    let codes: Vec<&str> = verdict.reasons.iter().map(|reason| &reason.code[..]).collect();
    assert!(!codes.contains(&"impossible"), "{verdict:?}", verdict = codes);
    // One process for all measurements of a server, one for all blocks of a client, and none is left.
    let (servers, clients) = (server.pids(), client.pids());
    assert_eq!((servers.len(), clients.len()), (1, 1));
    assert_eq!((state(servers[0]), state(clients[0])), (None, None));
}

fn a_fixed_reply_is_given_and_checked() {
    let (server, client) = (Script::server(&[]), Script::client(&[]));
    let mut ours = workload("ours", server.as_server());
    let Server::Subject(subject) = &mut ours.server else { panic!("it is a script") };
    subject.reply = Some("Pong".to_owned());
    ours.expect = Expect::Exactly(b"Pong".as_slice().into());
    let theirs = Workload { client: Some(client.as_client()), ..ours.clone() };
    let echo = workload("echo", server.as_server());
    let record = execute(&plan(vec![ours, theirs, echo], 1));
    assert!(record.blocks.iter().all(|block| block.counts.ok == MESSAGES));
    assert_eq!(server.pids().len(), 2, "an echo needs another server process");
}

fn a_server_that_dies_fails_its_block_and_is_started_again_once() {
    let dying = Script::server(&[("DIES_AFTER = None", "DIES_AFTER = 100")]);
    let record = execute(&plan(vec![workload("dying", dying.as_server())], 4));
    let failures = failures(&record, 0);
    assert!(failures.iter().all(|failure| failure.contains("exit code 3")), "{failures:?}");
    assert!(failures[0].ends_with("its last output: out of luck"), "{failures:?}");
    assert_eq!((failures.len(), dying.pids().len()), (4, 2));
    for block in &record.blocks[..2] {
        let what = (block.counts.check(), block.connections.lost, &block.round_trip);
        assert_eq!(what, (Ok(()), 1, &None), "{block:?}");
        assert!((1..100).contains(&block.counts.ok), "earlier replies are counted: {block:?}");
    }
    assert_eq!(record.results[0].blocks_failed, 4);
    let verdict = record.verdict.unwrap();
    assert_eq!(verdict.reasons[0].code, "nothing_succeeded");

    // It takes long to end, as if others used the CPU.
    let slow = (
        "                os._exit(3)",
        "                connection.shutdown(2)\n                import time\n                time.sleep(0.3)\n                os._exit(3)",
    );
    let dying = Script::server(&[("DIES_AFTER = None", "DIES_AFTER = 100"), slow]);
    let record = execute(&plan(vec![workload("dying", dying.as_server())], 1));
    let failure = &self::failures(&record, 0)[0];
    assert!(failure.contains("exit code 3") && failure.ends_with("out of luck"), "{record:?}");

    // It dies in the first block only.
    let once =
        ("DIES_AFTER = None", "DIES_AFTER = 100 if len(open('pids').readlines()) == 1 else None");
    let (dying, client) = (Script::server(&[once]), Script::client(&[]));
    let mut ours = workload("dying", dying.as_server());
    ours.client = Some(client.as_client());
    let record = execute(&plan(vec![ours], 3));
    let failed: Vec<bool> = record.blocks.iter().map(|block| block.failed.is_some()).collect();
    assert_eq!(failed, [true, false, false], "{:?}", self::failures(&record, 0));
    assert_eq!((dying.pids().len(), client.pids().len()), (2, 2));
}

fn a_client_that_dies_fails_its_block_and_is_started_again_once() {
    let server = Script::server(&[]);
    let dying = Script::client(&[("DIES = False", "DIES = True")]);
    let mut theirs = workload("dying", server.as_server());
    theirs.client = Some(dying.as_client());
    let ours = workload("ours", server.as_server());
    let record = execute(&plan(vec![ours, theirs], 3));
    let failures = failures(&record, 1);
    assert!(failures[..2].iter().all(|failure| failure.contains("cannot go on")), "{failures:?}");
    assert!(failures[2].contains("has ended twice"), "{failures:?}");
    assert_eq!(dying.pids().len(), 2);
    assert_eq!(self::failures(&record, 0), ["", "", ""]);
}

fn a_client_that_lies_is_shown_as_failed() {
    let server = Script::server(&[]);
    #[rustfmt::skip]
    let lies = [
        // Everything within a nanosecond, which makes a huge rate.
        ("LIE = lambda said: said", "LIE = lambda said: said | {'wall_ns': [1]}", "report is impossible"),
        // A window that is longer than the time that was observed.
        ("LIE = lambda said: said", "LIE = lambda said: said | {'wall_ns': [10**12]}", "a window of 16m40s"),
        ("LIE = lambda said: said", "LIE = lambda said: said | {'cpu_ns': [10**12]}", "of CPU time"),
        ("LIE = lambda said: said", "LIE = lambda said: said | {'ok': [999]}", "999"),
        ("LIE = lambda said: said", "LIE = lambda said: said | {'ok': [300], 'round_trip_ns': [1000] * 300}", "but 200 were asked for"),
        ("LIE = lambda said: said", "LIE = lambda said: said | {'round_trip_ns': [10**9] * 200}", "add up to"),
        ("LIE = lambda said: said", "LIE = lambda said: said | {'round_trip_ns': [0] * 200}", "0 ns"),
    ];
    let clients: Vec<Script> =
        lies.iter().map(|(line, other, _)| Script::client(&[(line, other)])).collect();
    let lying = |client: &Script| {
        let mut theirs = workload("lying", server.as_server());
        theirs.client = Some(client.as_client());
        theirs
    };
    let record = execute(&plan(clients.iter().map(lying).collect(), 1));
    for (workload, (_, lie, words)) in lies.iter().enumerate() {
        let failures = failures(&record, workload);
        assert!(failures[0].contains(words), "{lie}: {failures:?}");
    }
}

fn a_server_that_answers_wrongly_is_not_timed_and_the_others_are() {
    let wrong =
        ("CHANGES = lambda data: data", "CHANGES = lambda data: data.replace(b'\\x07', b'!')");
    let (wrong, right) = (Script::server(&[wrong]), Script::server(&[]));
    let both = vec![workload("wrong", wrong.as_server()), workload("right", right.as_server())];
    let record = execute(&plan(both, 1));
    let failures = failures(&record, 0);
    assert!(failures[0].contains("not verified: echo of 125 B"), "{failures:?}");
    assert_eq!(self::failures(&record, 1), [""]);
}

fn what_a_manifest_rules_out_is_not_timed() {
    let (server, client) = (Script::server(&[]), Script::client(&[]));
    let mut at_a_rate = workload("rate", server.as_server());
    at_a_rate.client = Some(client.as_client());
    at_a_rate.load = Load::ClosedBots { bots: at_a_rate.load.connections(), think: Nanos::ZERO };
    let record = execute(&plan(vec![at_a_rate, workload("ours", server.as_server())], 1));
    let failures = failures(&record, 0);
    assert!(failures[0].contains("one message in flight"), "{failures:?}");
    assert_eq!((self::failures(&record, 1), client.pids().len()), (vec![String::new()], 0));
}

fn a_restart_inside_tls_is_refused_before_anything_is_started() {
    let script = Script::server(&[]);
    let Server::Subject(server) = script.as_server() else { panic!("it is a subject") };
    let scheme = Scheme { tls: true, ..Protocol::WebSocket.plain() };
    let options = Options {
        publish: Some("20/s".parse().unwrap()),
        receivers: Some(Count(2)),
        duration: Some(Nanos::from_secs(2)),
        restart: Some(Nanos::from_millis(500)),
        conversation: Some("room".to_owned()),
        ..Options::default()
    };
    let server = Server::Subject(ServerSubject { scheme, ..server });
    let record = execute(&plan(vec![workload_by(&options, "secured", &server)], 1));
    let failures = failures(&record, 0);
    assert!(failures[0].contains("--restart: a subject is given the port"), "{failures:?}");
    assert!(script.pids().is_empty(), "it was started");
}

fn what_compiles_while_it_runs_is_warmed_up_before_its_first_block() {
    let (server, client) = (Script::server(&[]).compiling(), Script::client(&[]).compiling());
    let ours = workload("ours", server.as_server());
    let mut theirs = workload("theirs", server.as_server());
    theirs.client = Some(client.as_client());
    let record = execute(&plan(vec![ours, theirs], 2));
    for workload in &record.plan.workloads {
        let warm_up = workload.server.as_ref().unwrap().warm_up.unwrap();
        // Four windows, less the time that connecting takes.
        assert!(warm_up.windows >= 2 && warm_up.took_ns >= 1_000_000_000, "{warm_up:?}");
        assert!(warm_up.last_per_s > 0.0);
        let of_client = workload.client.as_ref().map(|client| client.warm_up);
        assert!(of_client.is_none_or(|of_client| of_client == Some(warm_up)));
    }
    assert!(record.blocks.iter().all(|block| block.counts.ok == MESSAGES));
}

fn a_version_that_is_not_confirmed_is_waited_for_briefly_and_told() {
    let server = Script::server(&[]).asked_in_vain();
    let began = engine::clock::Clock::start();
    let (record, events) = execute_and_listen(&plan(vec![workload("ours", server.as_server())], 1));
    assert!(began.now().0 < Nanos::from_secs(40).0, "it took {}", began.now().0);
    let waiting = events
        .iter()
        .find_map(|event| if let Event::Waiting(what) = event { Some(&**what) } else { None });
    let waiting = waiting.expect("the wait is reported while it lasts");
    assert!(waiting.contains("for its version: `sleep 60`, at most 10 s"), "{waiting}");
    let found = &record.plan.workloads[0].server.as_ref().unwrap().version_found;
    assert_eq!((found, &record.blocks[0].failed), (&None, &None));
    let warning = record.warnings.iter().find(|warning| warning.code == "version_not_confirmed");
    let message = &warning.expect("it is warned about").message;
    assert!(message.ends_with("script 1.0 is declared, not confirmed"), "{message}");
}
