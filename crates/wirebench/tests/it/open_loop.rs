//! Open loops: the plan follows from the schedule alone, whatever happens to the server, the generator, or the run.

use crate::harness::{Ended as How, Running, Sandbox, Server, pause};
use engine::clock::Clock;
use record::{Block, Ended, Level, RunRecord, Spacing};
use rustix::process::Signal;
use spec::Load;
use units::Nanos;

#[test]
fn on_every_transport_as_many_are_planned_as_are_due() {
    let sandbox = Sandbox::new();
    for (serve, options) in [
        ("tcp", ""),
        ("tcp", "--threads 2"),
        ("tcp-framed", "--spacing poisson"),
        ("unix --listen a.sock", ""),
        ("ws", ""),
        ("ws", "--text"),
        ("http", "--echo"),
    ] {
        let server = Server::start(&sandbox, serve);
        let url = server.url.replace("unix:", &format!("unix:{}/", sandbox.path().display()));
        let line = format!("{url} --rate 500/s -c 4 -d 400ms --warm-up 100ms --seed 7 {options}");
        let (how, record) = run(&line);
        how.check_measured(&["repeat: wirebench run "]);
        let block = &record.blocks[0];
        let what = format!("{serve} {options}");
        check_open(&record, block, &what);
        if options.contains("poisson") {
            check_load(&record, Spacing::Poisson);
            let (_, again) = run(&line);
            assert_eq!(block.counts.planned, again.blocks[0].counts.planned, "planned by the seed");
        } else {
            check_load(&record, Spacing::Uniform);
            assert_eq!(block.counts.planned, 200, "{what}");
        }
        assert!(block.identity.is_some_and(|identity| identity == Default::default()), "{block:?}");
        assert_eq!(block.fairness.map(|fairness| fairness.connections), Some(4), "{what}");
    }
}

#[test]
fn bots_rise_in_the_order_that_was_asked_for() {
    let server = Server::start(&Sandbox::new(), "ws");
    let (how, record) =
        run(&format!("{} --bots 20,5,10 --every 50ms -d 200ms --warm-up 50ms", server.url));
    how.check_measured(&["repeat: wirebench run "]);
    let order: Vec<usize> = record.blocks.iter().map(|block| block.workload).collect();
    assert_eq!(order, [0, 1, 2]);
    let names: Vec<&str> = record.plan.workloads.iter().map(record::Workload::name).collect();
    assert_eq!(names, ["20 bots", "5 bots", "10 bots"]);
    for (block, bots) in record.blocks.iter().zip([20, 5, 10]) {
        let workload = &record.plan.workloads[block.workload];
        let Load::Bots { bots: asked, every, spacing, .. } = workload.spec.load else {
            panic!("{workload:?}")
        };
        assert_eq!((every, spacing), (Nanos::from_millis(50), Spacing::Phases));
        assert_eq!((u64::from(asked.get()), block.connections.opened), (bots, bots));
        check_open(&record, block, workload.name());
        assert_eq!(block.counts.planned, 4 * bots, "each sends four times");
    }
}

#[test]
fn sessions_begin_by_the_schedule_and_await_their_replies() {
    let server = Server::start(&Sandbox::new(), "ws");
    let line = format!(
        "{} --sessions 50/s --messages-each 3 --think 10ms -d 400ms --warm-up 100ms --drain 10s",
        server.url
    );
    let (how, record) = run(&line);
    how.check_measured(&["repeat: wirebench run "]);
    let workload = &record.plan.workloads[0];
    let Load::Sessions { rate, spacing, messages_each, think, .. } = &workload.spec.load else {
        panic!("{workload:?}")
    };
    assert_eq!((rate.per_second(), *spacing), (50.0, Spacing::Uniform));
    assert_eq!((messages_each.get(), *think), (3, Nanos::from_millis(10)));
    let block = &record.blocks[0];
    assert_eq!(block.counts.check(), Ok(()));
    let sessions = block.open_loop.as_ref().and_then(|times| times.sessions).unwrap();
    assert_eq!(sessions.planned, 20, "{block:?}");
    assert!(sessions.completed <= sessions.started && sessions.started <= sessions.planned);
}

#[test]
fn what_nobody_can_carry_is_said_at_once_and_ends_in_time() {
    let server = Server::start(&Sandbox::new(), "tcp");
    let clock = Clock::start();
    let line = "--rate 10M/s -d 2s --warm-up 0s --timeout 1s -c 4";
    let (how, record) = run(&format!("{} {line}", server.url));
    how.check(12, &["10000000 messages/s are due", "lower the rate"]);
    assert_eq!(how.stderr.matches("messages/s are due").count(), 1, "{how:?}");
    // The measurement, its drain and its close; and room for a busy machine.
    let took = clock.now().since(units::Instant::START);
    assert!(took < Nanos::from_secs(30), "{took}");
    let block = &record.blocks[0];
    check_open(&record, block, line);
    assert_eq!(block.counts.planned, 20_000_000);
    assert!(block.counts.unsent > 0, "{:?}", block.counts);
    check_reason(&record, "asked_not_achieved", Level::Invalid);
}

#[test]
fn a_server_that_only_gets_through_the_warm_up_is_overloaded_and_not_silent() {
    let server = Server::start(&Sandbox::new(), "tcp");
    let line = "--rate 2M/s -d 200ms --warm-up 1s -c 4";
    let (how, record) = run(&format!("{} {line}", server.url));
    how.check(12, &[]);
    check_open(&record, &record.blocks[0], line);
    check_reason(&record, "asked_not_achieved", Level::Invalid);
}

#[test]
fn a_message_or_a_microsecond_is_too_little_to_be_trusted() {
    let server = Server::start(&Sandbox::new(), "ws");
    let (_, record) = run(&format!("{} -n 1", server.url));
    check_reason(&record, "too_little_measured", Level::Degraded);
    // Its few messages may or may not be answered within it.
    let (_, record) = run(&format!("{} -d 1us", server.url));
    let level = record.verdict.as_ref().unwrap().level;
    assert_ne!(level, Level::Trusted, "{record:?}");
}

#[test]
fn messages_without_room_for_a_header_are_measured_and_the_record_says_so() {
    let server = Server::start(&Sandbox::new(), "ws");
    for (options, why) in [
        ("--size 8B", "messages of 8 B; a header has 16 B"),
        ("--text --size 31B", "messages of 31 B; a header has 32 B"),
        ("--payload 0123456789abcdef0123456789abcdef", "a header would overwrite the payload"),
        ("--payload-kind json", "a header written over it would make its JSON invalid"),
    ] {
        let (how, record) =
            run(&format!("{} --rate 200/s -d 100ms --warm-up 0s {options}", server.url));
        how.check_measured(&[]);
        assert_eq!((record.blocks[0].identity, record.blocks[0].counts.planned), (None, 20));
        let warning = record.warnings.iter().find(|warning| warning.code == "no_identity").unwrap();
        assert!(warning.evidence.contains(why), "{warning:?}");
    }
}

#[test]
fn a_signal_leaves_what_was_due_until_then() {
    let server = Server::start(&Sandbox::new(), "ws");
    let sandbox = Sandbox::new();
    let line = format!("{} --rate 1000/s -c 4 -d 1h --warm-up 0s", server.url);
    let mut run = Running::start(sandbox.command(&line));
    run.wait_for_word(" in flight ");
    run.send(Signal::INT);
    run.wait().check(130, &["record: "]);
    let record = only_record(&sandbox);
    assert_eq!(record.ended, Ended::Interrupted { signal: 2 });
    let block = &record.blocks[0];
    check_open(&record, block, &line);
    assert!(block.counts.ok > 0, "{:?}", block.counts);
}

#[test]
fn a_server_that_dies_costs_what_was_due_and_nothing_is_forgotten() {
    let options = "--rate 500/s -c 4 -d 3s --warm-up 0s --timeout 200ms --drain 300ms";
    let started = ["tcp", "http"].map(|serve| Started::new(serve, options));
    let orphaned = started.map(|Started { sandbox, server, mut run }| {
        run.wait_for_word(" in flight ");
        drop(server);
        (sandbox, run)
    });
    for (sandbox, run) in orphaned {
        let how = run.wait();
        let record = only_record(&sandbox);
        check_open(&record, &record.blocks[0], options);
        let counts = record.blocks[0].counts;
        assert!(counts.planned == 1500 && counts.ok < 1500, "{counts:?}");
        assert!(matches!(how.code, Some(12 | 13)), "{how:?}");
    }
}

#[test]
fn a_server_that_stands_still_is_measured_from_when_messages_were_due() {
    let options = "--rate 200/s -c 4 -d 3s --warm-up 0s --timeout 20s";
    // All at once, because each takes some seconds.
    let mut started = ["tcp", "tcp-framed", "ws", "http"].map(|serve| Started::new(serve, options));
    for one in &mut started {
        one.run.wait_for_word(" in flight ");
    }
    let stopped = stop_for(&started.each_ref().map(|one| &one.server.process), STOP);
    for one in started {
        one.run.wait();
        let record = only_record(&one.sandbox);
        let block = &record.blocks[0];
        let what = record.plan.workloads[0].transport.as_str();
        check_open(&record, block, what);
        assert_eq!(block.counts.planned, 600, "{what}");
        let response = block.open_loop.as_ref().and_then(|times| times.response.as_ref()).unwrap();
        // The first message after the stop was due 5 ms after it at the latest.
        let longest = Nanos(response.max_ns) + Nanos::from_millis(25);
        assert!(longest >= stopped, "{what}: {longest} of {stopped}");
    }
}

#[test]
fn a_generator_that_stands_still_is_found_and_the_server_is_not_blamed() {
    let options = "--rate 200/s -c 4 -d 2s --warm-up 0s --timeout 20s";
    let mut one = Started::new("tcp", options);
    one.run.wait_for_word(" in flight ");
    let stopped = stop_for(&[&one.run], STOP);
    one.run.wait();
    let record = only_record(&one.sandbox);
    let block = &record.blocks[0];
    check_open(&record, block, options);
    assert_eq!(block.counts.planned, 400);
    // The loop was due to wake up 5 ms later at the latest.
    let longest = Nanos(block.stalls.longest_ns) + Nanos::from_millis(25);
    assert!(longest >= stopped, "{longest} of {stopped}: {:?}", block.stalls);
    assert!(block.stalls.affected > 0, "{:?}", block.stalls);
    let reasons = &record.verdict.as_ref().unwrap().reasons;
    assert!(reasons.iter().any(|reason| reason.code == "generator_stalled"), "{reasons:?}");
    let of_the_server = ["failures", "unreliable_replies", "unfair", "unanswered"];
    assert!(
        reasons.iter().all(|reason| !of_the_server.contains(&reason.code.as_str())),
        "{reasons:?}"
    );
}

#[test]
fn an_oracle_says_its_true_delay_in_every_reply() {
    let sandbox = Sandbox::new();
    for (serve, options) in [
        ("tcp", ""),
        ("tcp-framed", ""),
        ("unix --listen a.sock", ""),
        ("ws", ""),
        ("ws", "--text"),
        ("http", "--method PUT"),
    ] {
        let server = Server::start(&sandbox, &format!("oracle {serve} --delay fixed:3ms"));
        let url = server.url.replace("unix:", &format!("unix:{}/", sandbox.path().display()));
        let line = format!("{url} --rate 200/s -c 4 -d 200ms --warm-up 0s --oracle {options}");
        let (how, record) = run(&line);
        how.check_measured(&["repeat: wirebench run "]);
        assert_eq!(record.spec.as_ref().unwrap().workloads[0].expect, spec::Expect::Oracle);
        let block = &record.blocks[0];
        check_open(&record, block, &line);
        assert_eq!(block.counts.planned, 40, "{line}");
        assert_eq!(block.identity, Some(record::Identity::default()), "{line}");
        let times = block.open_loop.as_ref().unwrap();
        let (delay, service) =
            (times.true_delay.as_ref().unwrap(), times.service.as_ref().unwrap());
        assert_eq!(delay.count, block.counts.ok, "{line}");
        // A histogram keeps three digits.
        assert!(delay.min_ns >= 2_997_000, "{line}: {}", delay.min_ns);
        assert!(service.mean_ns >= delay.mean_ns, "{line}: {times:?}");
    }
}

#[test]
fn what_an_oracle_does_to_replies_is_found_and_counted() {
    // In any order, each fault hits some of 1000 messages, and the first message is spared.
    let sandbox = Sandbox::new();
    let serve = "oracle ws --drop 3% --duplicate 3% --reorder 3% --corrupt 3% --seed 7";
    let server = Server::start(&sandbox, serve);
    let line = format!(
        "{} --rate 2000/s -c 4 -d 500ms --warm-up 0s --timeout 300ms --drain 400ms",
        server.url
    );
    let (how, record) = run(&line);
    assert!(matches!(how.code, Some(12 | 13)), "{how:?}");
    let block = &record.blocks[0];
    check_open(&record, block, &line);
    assert_eq!(block.counts.planned, 1000);
    let found = block.identity.unwrap();
    assert!(found.lost > 0 && found.duplicate > 0 && found.reordered > 0, "{found:?}");
    assert!(found.corrupted > 0 && block.counts.error > 0, "{found:?}");
    assert!(block.counts.timed_out > 0, "{:?}", block.counts);
}

/// A run in progress, and the server that it loads.
struct Started {
    sandbox: Sandbox,
    server: Server,
    run: Running,
}

impl Started {
    fn new(serve: &str, options: &str) -> Self {
        let sandbox = Sandbox::new();
        let server = Server::start(&sandbox, serve);
        let run = Running::start(sandbox.command(&format!("{} {options}", server.url)));
        Self { sandbox, server, run }
    }
}

/// Runs the program to its end, in a sandbox of its own.
fn run(line: &str) -> (How, RunRecord) {
    let sandbox = Sandbox::new();
    let how = sandbox.run(line);
    assert_eq!(sandbox.records().len(), 1, "{how:?}");
    let record = only_record(&sandbox);
    (how, record)
}

fn only_record(sandbox: &Sandbox) -> RunRecord {
    let mut records = sandbox.records();
    assert_eq!(records.len(), 1);
    records.remove(0)
}

/// Checks that 500 messages a second were asked for, with this spacing.
fn check_load(record: &RunRecord, asked: Spacing) {
    let load = &record.plan.workloads[0].spec.load;
    let is_asked = matches!(load, Load::Open { spacing, .. } if *spacing == asked);
    assert!(is_asked && load.due_per_s() == Some(500.0), "{load:?}");
}

/// Checks what is true of every open loop, however busy the machine.
fn check_open(record: &RunRecord, block: &Block, what: &str) {
    assert_eq!(block.failed, None, "{what}");
    assert_eq!(block.counts.check(), Ok(()), "{what}");
    assert_eq!(block.round_trip, None, "{what}: an open loop has no round trip");
    let reasons = &record.verdict.as_ref().unwrap().reasons;
    assert!(reasons.iter().all(|reason| reason.code != "impossible"), "{what}: {reasons:?}");
    let counts = block.counts;
    let times = block.open_loop.as_ref().unwrap();
    let count = |summary: &Option<record::Summary>| summary.as_ref().map_or(0, |times| times.count);
    assert_eq!(
        count(&times.response),
        counts.ok + counts.error + counts.timed_out,
        "{what}: {counts:?}"
    );
    assert_eq!(count(&times.service), counts.ok, "{what}: {counts:?}");
    assert_eq!(count(&times.send_lag), counts.sent, "{what}: {counts:?}");
}

fn check_reason(record: &RunRecord, code: &str, level: Level) {
    let verdict = record.verdict.as_ref().unwrap();
    let reason = verdict.reasons.iter().find(|reason| reason.code == code);
    assert_eq!(reason.map(|reason| reason.level), Some(level), "{verdict:?}");
}

/// Stops the processes for at least `time`, and returns the least time that each of them was stopped.
fn stop_for(processes: &[&Running], time: Nanos) -> Nanos {
    let clock = Clock::start();
    processes.iter().for_each(|process| process.send(Signal::STOP));
    let stopped = clock.now();
    let mut stood_still = Nanos::ZERO;
    while stood_still < time {
        pause();
        stood_still = clock.now().since(stopped);
    }
    processes.iter().for_each(|process| process.send(Signal::CONT));
    stood_still
}

/// Long compared with every other wait here.
const STOP: Nanos = Nanos::from_millis(400);
