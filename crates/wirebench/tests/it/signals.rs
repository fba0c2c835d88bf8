//! Signals in the middle of something: what was measured is kept, and no server is left behind.

use crate::harness::{Ended as How, Running, Sandbox, Server};
use record::{Ended, Kind, RunRecord};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};
use std::fs;

#[test]
fn the_first_signal_ends_a_run_and_keeps_what_was_measured() {
    for (signal, code, number) in SIGNALS {
        for kind in ["tcp", "ws", "http"] {
            let sandbox = Sandbox::new();
            let server = Server::start(&sandbox, kind);
            let line = format!("{} -d 1h -c 2 --warm-up 0s", server.url);
            let mut run = Running::start(sandbox.command(&line));
            run.wait_for_word("measure");
            run.send(signal);
            let record = check_interrupted(&sandbox, &run.wait(), code, number);
            assert_eq!((record.kind, record.blocks.len()), (Kind::Run, 1));
            let counts = record.blocks[0].counts;
            assert!(counts.ok > 0 && counts.in_flight_at_end <= 2, "{kind}: {counts:?}");
            assert_eq!((counts.error, counts.timed_out), (0, 0), "{kind}: {counts:?}");
        }
    }
}

#[test]
fn a_signal_before_the_first_message_is_heard_too() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, "tcp");
    // One connection per hour, so that the messages of both are never reached.
    let line = format!("{} -c 2 --connect-rate 1/1h", server.url);
    let mut run = Running::start(sandbox.command(&line));
    run.wait_for_word("connect");
    run.send(Signal::INT);
    let record = check_interrupted(&sandbox, &run.wait(), 130, 2);
    assert_eq!(record.blocks[0].counts.sent, 0);
    assert_eq!(record.blocks[0].connections.opened, 1);
}

#[test]
fn a_signal_ends_a_ladder_and_its_servers() {
    for (signal, code, number) in SIGNALS {
        let sandbox = Sandbox::new();
        let ladder = ladder(&sandbox);
        let servers = servers_of(&ladder);
        ladder.send(signal);
        let record = check_interrupted(&sandbox, &ladder.wait(), code, number);
        assert_eq!(record.kind, Kind::Ladder);
        assert!(record.blocks.iter().all(|block| block.failed.is_none()), "{:?}", record.blocks);
        // The ladder waits for its servers, so all of them have ended before it did.
        assert!(servers.iter().all(|server| has_ended(server, Timespec::default())));
    }
}

#[test]
fn a_run_under_nohup_does_not_hear_that_its_terminal_is_gone() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, "tcp");
    let line = format!("{} -d 1h -c 2 --warm-up 0s", server.url);
    let mut run = Running::start(sandbox.command_in_shell("trap '' HUP; exec \"$@\"", &line));
    run.wait_for_word("measure");
    run.send(Signal::HUP);
    run.send(Signal::INT);
    check_interrupted(&sandbox, &run.wait(), 130, 2);
}

#[test]
fn blocks_that_have_ended_survive_sigkill() {
    let none = Sandbox::new().run("show --recover");
    none.check(2, &["there is no journal in .wirebench/journals"]);
    for line in [
        "ladder --rounds 1000 --block 20ms --only ws,unix -c 2 -v",
        "run URL --bots 10,20,30,40 --every 10ms --warm-up 0s -d 2s -v",
        "sweep URL --from 2k --to 200k -d 200ms --warm-up 0s --repeats 1 -v",
    ] {
        let sandbox = Sandbox::new();
        let server = Server::start(&sandbox, "tcp");
        let mut run = Running::start(sandbox.command(&line.replace("URL", &server.url)));
        // The live line also names the third block, while it runs.
        run.wait_for_line("block 3/");
        run.send(Signal::KILL);
        run.wait();
        assert_eq!(sandbox.records().len(), 0);
        let shown = sandbox.run("show --recover");
        shown.check(0, &["record: .wirebench/records/"]);
        assert!(shown.stdout.contains("partial: its process was killed"), "{shown:?}");
        let record = sandbox.records().remove(0);
        assert!(record.blocks.len() >= 3, "{line}: {}", record.blocks.len());
        assert!(record.blocks.iter().all(|block| block.counts.check() == Ok(())));
        assert!(record.verdict.is_some() && record.spec.is_some());
        let steps = record.sweep.iter().flat_map(|sweep| &sweep.steps);
        let of_steps: usize = steps.map(|step| step.blocks.len()).sum();
        assert_eq!(of_steps > 0, record.kind == Kind::Sweep, "{line}");
        assert_eq!(fs::read_dir(sandbox.path().join(".wirebench/journals")).unwrap().count(), 0);
    }
}

#[test]
fn a_ladder_that_is_killed_leaves_no_server_behind() {
    let sandbox = Sandbox::new();
    let ladder = ladder(&sandbox);
    let servers = servers_of(&ladder);
    ladder.send(Signal::KILL);
    assert_eq!(ladder.wait().code, None);
    assert!(servers.iter().all(|server| has_ended(server, PATIENCE)));
}

#[test]
fn signals_after_the_first_end_at_once() {
    let sandbox = Sandbox::new();
    let ladder = ladder(&sandbox);
    let servers = servers_of(&ladder);
    let process = pidfd_open(ladder.pid(), PidfdFlags::empty()).unwrap();
    ladder.send(Signal::INT);
    while !has_ended(&process, Timespec { tv_sec: 0, tv_nsec: 1_000_000 }) {
        ladder.send(Signal::INT);
    }
    let ended = ladder.wait();
    ended.check(130, &[]);
    assert!(servers.iter().all(|server| has_ended(server, PATIENCE)));
    // Whenever the second signal arrived, a record that exists is complete.
    assert!(sandbox.records().len() <= 1);
}

#[test]
fn an_embedded_server_that_dies_is_named_and_the_others_are_measured_on() {
    let sandbox = Sandbox::new();
    let mut ladder =
        Running::start(sandbox.command("ladder --rounds 1000 --block 20ms --only ws,unix -c 2 -v"));
    ladder.wait_for_word("ws: ");
    let ws = servers(ladder.pid()).into_iter().find(|(_, line)| line.contains("serve\0ws\0"));
    rustix::process::kill_process(ws.unwrap().0, Signal::KILL).unwrap();
    ladder
        .wait_for_word("ws: failed: the embedded ws server has ended: ended by signal 9 (SIGKILL)");
    ladder.wait_for_word("unix: ");
    ladder.send(Signal::INT);
    let record = check_interrupted(&sandbox, &ladder.wait(), 130, 2);
    let failed: Vec<&str> = record
        .blocks
        .iter()
        .filter(|block| block.failed.is_some())
        .map(|block| record.plan.workloads[block.workload].name())
        .collect();
    assert!(!failed.is_empty() && failed.iter().all(|name| *name == "ws"), "{failed:?}");
}

/// A ladder that is measuring, and runs for longer than the test needs.
fn ladder(sandbox: &Sandbox) -> Running {
    let line = "ladder --rounds 1000 --only ws,unix -c 2";
    let mut ladder = Running::start(sandbox.command(line));
    ladder.wait_for_word("measure");
    ladder
}

/// Handles of the servers of a ladder with `tcp`, `ws` and `unix`.
fn servers_of(ladder: &Running) -> Vec<OwnedFd> {
    let servers = servers(ladder.pid());
    assert_eq!(servers.len(), 3, "{servers:?}");
    servers.iter().map(|(pid, _)| pidfd_open(*pid, PidfdFlags::empty()).unwrap()).collect()
}

/// The servers that `parent` has started, below their keepers: their process ids and command lines, with words ended by
/// zero bytes.
fn servers(parent: Pid) -> Vec<(Pid, String)> {
    let mut all = Vec::new();
    for entry in fs::read_dir("/proc").unwrap() {
        let folder = entry.unwrap().path();
        // Folders that belong to no process, or to one that has just ended, have no such file.
        let Ok(status) = fs::read_to_string(folder.join("status")) else { continue };
        let of = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key))?;
            Pid::from_raw(line.trim().parse().ok()?)
        };
        if let (Some(pid), Some(parent)) = (of("Pid:"), of("PPid:")) {
            all.push((pid, parent, folder.join("cmdline")));
        }
    }
    let children = |of: Pid| all.iter().filter(move |(_, parent, _)| *parent == of);
    let servers = children(parent).flat_map(|(keeper, ..)| children(*keeper));
    servers.map(|(pid, _, line)| (*pid, fs::read_to_string(line).unwrap())).collect()
}

/// True if the process has ended, or ends within `patience`.
fn has_ended(process: &OwnedFd, patience: Timespec) -> bool {
    let mut polled = [PollFd::new(process, PollFlags::IN)];
    poll(&mut polled, Some(&patience)).unwrap() == 1
}

/// Checks that the signal ended it, and that it named a record that says so and whose counts add up.
fn check_interrupted(sandbox: &Sandbox, how: &How, code: i32, number: i32) -> RunRecord {
    how.check(code, &["record: ", "repeat: "]);
    assert!(how.stdout.contains("partial: ended by SIG"), "{how:?}");
    let mut records = sandbox.records();
    assert_eq!(records.len(), 1);
    let record = records.remove(0);
    assert_eq!(record.ended, Ended::Interrupted { signal: number });
    for block in &record.blocks {
        assert_eq!(block.counts.check(), Ok(()));
    }
    for result in &record.results {
        // A block that ended before its window began is not a throughput of zero.
        let rate = result.pooled.messages_per_s;
        assert!(rate.is_none_or(|rate| rate.value > 0.0), "{result:?}");
    }
    record
}

/// The signals that ask to stop, with the exit code after each and its number.
const SIGNALS: [(Signal, i32, i32); 3] =
    [(Signal::INT, 130, 2), (Signal::TERM, 143, 15), (Signal::HUP, 129, 1)];

/// The longest that processes may take to end after a signal, on a busy machine.
const PATIENCE: Timespec = Timespec { tv_sec: 30, tv_nsec: 0 };
