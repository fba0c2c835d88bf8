//! Fleets on a real NATS server: agents and controllers as processes, and what becomes of a run when one of them dies.
//!
//! Each test has a network of its own if root can create it; the server listens on a free port of loopback.

mod phases;
mod refusals;

use crate::documented::form;
use crate::harness::{self, Running, Sandbox, Server, say_skipped};
use crate::namespace::{Link, Namespace};
use crate::peers::Stream;
use record::{AgentPart, AgentTask, Block, Ended, Histogram, Level, PartEnd, RunRecord};
use rustix::process::{Pid, Signal, kill_process};
use serve::certificates::Validity;
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use units::Nanos;

#[test]
fn three_agents_send_what_one_would_and_every_message_is_counted_once() {
    let Some(fleet) = Fleet::up(3) else { return };
    let (ended, record) = fleet.begun("--rate 600/s -c 30 -d 3s");
    ended.check_measured(&["block 0-0 is over: 3 of 3 parts", "the run is complete"]);
    // While it runs, each second is shown for all agents together.
    assert!(ended.stderr.contains(" of    600/s p50 "), "{}", ended.stderr);
    check_order(&ended.stderr);
    check_page(&ended.stderr);
    let block = &record.blocks[0];
    let agents: Vec<&str> = block.agents.iter().map(|part| part.agent.as_str()).collect();
    assert_eq!(agents, ["a0", "a1", "a2"]);
    let planned: Vec<Option<u64>> = block.agents.iter().map(|part| part.planned).collect();
    assert_eq!(planned, [Some(600); 3]);
    check_sums(block);
    assert_eq!((block.cpu.server_cores_used, &block.server_machine), (None, &None));
    let reason = &block.cpu.missing["server_us_per_message"];
    assert!(reason.contains("start `wirebench watch --join FILE --port PORT` there"), "{reason}");
}

#[test]
fn agents_that_share_rooms_owe_and_deliver_together_what_one_would() {
    let Some(fleet) = Fleet::up_beside("relay", 3) else { return };
    let load = "--conversation room --publish 20/s --rooms 2 --publishers 2 --receivers 9 -d 2s --warm-up 500ms --drain 10s";
    let (ended, record) = fleet.begun(&format!("{load} --details"));
    ended.check_measured(&["block 0-0 is over: 3 of 3 parts", "the run is complete"]);
    let block = &record.blocks[0];
    check_sums(block);
    let parts = &block.agents;
    // Two rooms with 40 messages each: each agent receives everything that a0 publishes.
    let delivered: Vec<Option<u64>> = parts.iter().map(|part| part.delivered).collect();
    assert_eq!(delivered, [Some(240); 3], "{parts:?}");
    let planned: Vec<Option<u64>> = parts.iter().map(|part| part.planned).collect();
    assert_eq!(planned, [Some(80), Some(0), Some(0)]);
    if !parts.iter().all(AgentPart::is_trusted) {
        return say_skipped("sums of shared rooms: on this busy machine an agent is not trusted");
    }
    let deliveries = block.deliveries.as_ref().unwrap();
    let counts = deliveries.counts;
    assert_eq!((counts.published, counts.owed, counts.delivered), (80, 720, 720), "{counts:?}");
    assert_eq!((counts.check(), counts.foreign, counts.duplicate), (Ok(()), 0, 0));
    let bounds = parts.iter().filter_map(|part| part.clock_bound_ns);
    let bound = deliveries.clock_bound_ns.unwrap();
    assert!(bound > bounds.max().unwrap(), "two clocks, and their drift: {bound}");
    assert!(ended.stdout.contains("clocks of 3 agents agree within "), "{}", ended.stdout);
}

#[test]
fn a_watch_brings_the_cpu_time_the_memory_and_the_samples_of_the_server() {
    let Some(fleet) = Fleet::up(2) else { return };
    let watch = fleet.watch();
    let ended = fleet.sandbox.run(&format!("fleet status --fleet {JOIN}"));
    assert_eq!(ended.stdout, "2 agents are connected: a0, a1\n1 watch is connected: w0\n");
    let ended = fleet.start("--rate 600/s -c 30 -d 2s").wait();
    check_complete(&ended);
    let record = fleet.record();
    let block = &record.blocks[0];
    check_sums(block);
    let tasks: Vec<(&str, AgentTask)> =
        block.agents.iter().map(|part| (part.agent.as_str(), part.task)).collect();
    let expected = [("a0", AgentTask::Load), ("a1", AgentTask::Load), ("w0", AgentTask::Watch)];
    assert_eq!(tasks, expected);
    let part = &block.agents[2];
    assert!(part.clock_bound_ns.unwrap() > 0 && part.planned.is_none(), "{part:?}");
    if block.agents.iter().all(AgentPart::is_trusted) {
        check_watched(block);
        assert!(ended.stdout.contains("watched on its machine, memory"), "{}", ended.stdout);
    } else {
        say_skipped("what a watch sees: on this busy machine it is late, or an agent is");
    }

    // Losing a watch only costs its columns.
    let mut run = fleet.start("--rate 600/s -c 30 -d 2s -o second.json");
    run.wait_for_word("block 0-0 begins");
    watch.send(Signal::KILL);
    run.wait_for_word("w0 is gone");
    check_complete(&run.wait());
    let text = fs::read_to_string(fleet.sandbox.path().join("second.json")).unwrap();
    let second = harness::record_of(&text);
    let block = &second.blocks[0];
    check_sums(block);
    let reason = &block.cpu.missing["server_cores_used"];
    assert_eq!(reason, "w0, which watched the server, was lost");
    let codes: Vec<&str> =
        second.verdict.iter().flat_map(|it| &it.reasons).map(|it| it.code.as_str()).collect();
    // This is about the load agents: on a busy machine one may begin too late.
    if block.load_parts().all(|part| part.end == PartEnd::Measured) {
        assert!(!codes.contains(&"agent_lost"), "{codes:?}");
        assert_eq!(block.cut_short, None);
    }
}

/// Checks a block of two seconds whose server was watched.
fn check_watched(block: &Block) {
    let used = block.cpu.server_cores_used.unwrap();
    let each = block.cpu.server_us_per_message.unwrap();
    assert!(used > 0.0 && each > 0.0, "{:?}", block.cpu);
    assert!(block.context_switches.server_voluntary.unwrap() > 0);
    assert!(block.memory.unwrap().server_rss_bytes.unwrap() > 0);
    assert!(block.server_machine.unwrap().listen_overflows.is_some());
    // Ten a second of the measured window, which begins with that of the agents.
    assert!((2..=20).contains(&block.samples.len()), "{}", block.samples.len());
    assert!(block.samples.is_sorted_by_key(|sample| sample.at_ns));
    let last = block.samples.last().unwrap();
    assert!(last.at_ns >= 1_900_000_000, "{last:?}");
    assert!(last.server_memory_bytes.is_some() && last.server_switches.is_some());
    assert!(last.generator_cores_used.is_none(), "the watch is not a generator");
}

#[test]
fn a_watch_without_a_server_or_with_the_key_of_an_agent_says_what_to_do() {
    let Some(fleet) = Fleet::up(1) else { return };
    let watch = |line: &str| fleet.sandbox.run(&format!("watch {line}"));
    watch(&format!("--join {WATCH} --port 1"))
        .check(2, &["no process of this network namespace listens there", "--pid"]);
    watch(&format!("--join {WATCH}")).check(2, &["--port <PORT>|--pid <PID>"]);
    let own = fleet.folder().join("a0.join");
    let port = fleet.port();
    watch(&format!("--join {} --port {port}", own.display()))
        .check(2, &["is for an agent, but this needs one for a watch"]);
}

#[test]
fn an_agent_that_is_killed_is_named_and_the_others_count_exactly() {
    let Some(fleet) = Fleet::up(3) else { return };
    let mut run = fleet.start("--rate 600/s -c 30 -d 3s");
    run.wait_for_word("block 0-0 begins");
    kill_process(fleet.agent("a1"), Signal::KILL).unwrap();
    run.wait_for_word("a1 is gone: its process does not answer; block 0-0 will lack its part");
    let ended = run.wait();
    assert!([Some(12), Some(13)].contains(&ended.code), "{ended:?}");
    let record = fleet.record();
    let block = &record.blocks[0];
    let ends: Vec<PartEnd> = block.agents.iter().map(|part| part.end).collect();
    assert_eq!(ends, [PartEnd::Measured, PartEnd::Lost, PartEnd::Measured]);
    check_sums(block);
    let verdict = record.verdict.as_ref().unwrap();
    let lost = verdict.reasons.iter().find(|reason| reason.code == "agent_lost").unwrap();
    assert!(
        lost.evidence.starts_with("2 of 3 parts were measured: a1 was lost"),
        "{}",
        lost.evidence
    );
    assert!(ended.stdout.contains("1 of 3 parts missing: a1"), "{}", ended.stdout);
}

#[test]
fn an_agent_that_stands_still_is_noticed_and_its_part_is_not_trusted() {
    let Some(fleet) = Fleet::up(2) else { return };
    let mut run = fleet.start("--rate 400/s -c 20 -d 4s");
    run.wait_for_word("block 0-0 begins");
    let agent = fleet.agent("a1");
    kill_process(agent, Signal::STOP).unwrap();
    run.wait_for_word("a1 has been silent for 2.5 s");
    kill_process(agent, Signal::CONT).unwrap();
    run.wait_for_word("a1 is back after");
    let ended = run.wait();
    ended.check_measured(&[]);
    // Messages printed at once are in order with the seconds, which are printed when they are over.
    check_order(&ended.stderr);
    let record = fleet.record();
    let part = &record.blocks[0].agents[1];
    // If it was stopped before it began, it has sent nothing.
    match part.end {
        PartEnd::NotStarted => {}
        PartEnd::Measured | PartEnd::Stopped => assert!(!part.doubts.is_empty(), "{part:?}"),
        PartEnd::Lost => panic!("{part:?}"),
    }
    check_sums(&record.blocks[0]);
}

#[test]
fn another_process_goes_on_with_a_run_whose_controller_was_killed() {
    let Some(fleet) = Fleet::up(2) else { return };
    let mut run = fleet.start("--rate 400/s -c 20 -d 1s --rounds 2");
    let told = run.wait_for_word("continues it elsewhere");
    let name = told.split_whitespace().nth(1).unwrap().to_owned();
    run.wait_for_word("block 0-0 is over: 2 of 2 parts");
    run.send(Signal::KILL);
    drop(run);
    assert!(fleet.sandbox.records().is_empty());
    let ended = fleet.sandbox.run(&format!("fleet resume {name} --fleet {JOIN}"));
    ended.check_measured(&["block 1-0 is over: 2 of 2 parts", "the run is complete"]);
    let record = fleet.record();
    let planned: Vec<u64> = record
        .blocks
        .iter()
        .map(|block| block.agents.iter().filter_map(|part| part.planned).sum())
        .collect();
    assert_eq!(planned, [400, 400]);
    record.blocks.iter().for_each(check_sums);
    // The run is over, and resuming it again makes the same record from the same log.
    let again = fleet.sandbox.run(&format!("fleet resume {name} --fleet {JOIN}"));
    again.check_measured(&[]);
    let records = fleet.sandbox.records();
    assert_eq!(of_log(&records[0]), of_log(&records[1]));
    let unknown = fleet.sandbox.run(&format!("fleet resume r0 --fleet {JOIN}"));
    unknown.check(2, &["the log has no run r0"]);
}

#[test]
fn a_run_that_is_stopped_elsewhere_ends_with_what_was_measured() {
    let Some(fleet) = Fleet::up(2) else { return };
    let mut run = fleet.start("--rate 200/s -c 10 -d 60s --rounds 2");
    let told = run.wait_for_word("continues it elsewhere");
    let name = told.split_whitespace().nth(1).unwrap().to_owned();
    run.wait_for_word(" of    200/s");
    let stop = |run: &str| fleet.sandbox.run(&format!("fleet stop {run} --fleet {JOIN}"));
    stop("r0").check(2, &["the log has no run r0"]);
    stop(&name).check(0, &["the run was stopped"]);
    let ended = run.wait();
    ended.check(130, &["block 0-0 is over: 0 of 2 parts", "the run was stopped"]);
    let record = fleet.record();
    assert_eq!(record.blocks.len(), 1);
    let block = &record.blocks[0];
    assert!(block.agents.iter().all(|part| part.end == PartEnd::Stopped), "{:?}", block.agents);
    assert!(block.counts.ok > 0 && block.counts.planned < 12_000, "{:?}", block.counts);
    check_sums(block);
    // The run is over, and no controller can go on with it.
    stop(&name).check(0, &["the run was stopped"]);
}

#[test]
fn a_nats_server_is_built_with_go_once_where_that_is_asked_for() {
    let Some(program) = nats_server() else { return };
    let _network = Namespace::enter();
    let sandbox = Sandbox::new();
    let up = |line: &str, path: &str| {
        let mut command = sandbox.command(&format!("fleet up --local 1{line}"));
        command.env("PATH", path).env("HOME", sandbox.path());
        Running::start(command)
    };
    up("", "/nowhere").wait().check(2, &["nats-server not found; --install builds it with Go"]);
    // A substitute for Go: it builds what is installed already.
    let tools = sandbox.path().join("go");
    fs::create_dir(&tools).unwrap();
    let go = |script: &str| {
        let script = format!("#!/bin/sh\necho \"$@\" >> {}/asked\n{script}\n", tools.display());
        fs::write(tools.join("go"), script).unwrap();
        fs::set_permissions(tools.join("go"), Permissions::from_mode(0o755)).unwrap();
    };
    let path = format!("{}:/usr/bin:/bin", tools.display());
    go("echo 'go: no such network' >&2; exit 1");
    up(" --install", &path).wait().check(2, &["nats-server/v2@", "failed: go: no such network"]);
    let program = program.display();
    go(&format!(
        "printf '#!/bin/sh\\nexec {program} \"$@\"\\n' > \"$GOBIN/nats-server\"\nchmod +x \"$GOBIN/nats-server\""
    ));
    fs::remove_file(tools.join("asked")).unwrap();
    let mut built = up(" --install", &path);
    built.wait_for_word("building nats-server v");
    built.wait_for_line("next: ");
    built.send(Signal::TERM);
    drop(built.wait());
    for line in [" --install", ""] {
        let mut again = up(line, &path);
        again.wait_for_line("next: ");
        again.send(Signal::TERM);
        let ended = again.wait();
        assert!(!ended.stderr.contains("building"), "{ended:?}");
    }
    let asked = fs::read_to_string(tools.join("asked")).unwrap();
    let version = asked.strip_prefix("install github.com/nats-io/nats-server/v2@").unwrap().trim();
    let tested = include_str!("../../../../tests/third_party/nats-server/go.mod");
    assert!(tested.contains(&format!("nats-server/v2 {version} ")), "{asked}");
}

#[test]
fn the_histograms_of_a_record_are_those_of_all_raw_times_of_its_agents() {
    let Some(coordination) = Coordination::up("nats") else { return };
    let sandbox = &coordination.sandbox;
    let mut agents = [0, 1, 2].map(|index| coordination.agent_with(index, " --raw-times raw"));
    let Server { url, .. } = &coordination.target;
    for (number, load) in
        ["--rate 900/s -c 30 -d 2s --threads 2", "-c 9 -n 3000"].iter().enumerate()
    {
        let line = format!("run {url} {load} --fleet keys/controller.join -o {number}.json");
        let ended = sandbox.run(&line);
        ended.check_measured(&["block 0-0 is over: 3 of 3 parts"]);
        let run = ended.stderr.split_whitespace().skip_while(|word| *word != "run").nth(1).unwrap();
        let text = fs::read_to_string(sandbox.path().join(format!("{number}.json"))).unwrap();
        let record = harness::record_of(&text);
        let block = &record.blocks[0];
        let takes_all = takes_all(block);
        let mut raw: BTreeMap<String, Histogram> = BTreeMap::new();
        for (agent, part) in agents.iter_mut().zip(&block.agents) {
            let file = format!("raw/{run}-0-0-{}.times", part.agent);
            agent.wait_for_word(&format!("raw times of block 0-0 are in {file}"));
            let times = fs::read_to_string(sandbox.path().join(file)).unwrap();
            if number == 0 {
                let lags = times.lines().filter(|line| line.starts_with("lag ")).count() as u64;
                assert_eq!(Some(lags), part.sent, "each sent message has a lag");
            }
            for line in times.lines().filter(|_| part.counts() || takes_all) {
                let (of, time) = line.split_once(' ').unwrap();
                raw.entry(of.to_owned()).or_default().record(Nanos(time.parse().unwrap()));
            }
        }
        let in_record = match &block.open_loop {
            Some(times) => vec![
                ("lag", times.send_lag.as_ref()),
                ("response", times.response.as_ref()),
                ("service", times.service.as_ref()),
            ],
            None => vec![("service", block.round_trip.as_ref())],
        };
        assert_eq!(in_record.len(), raw.len(), "{:?}", raw.keys());
        for (name, times) in in_record {
            let (times, raw) = (times.unwrap(), &raw[name]);
            assert!(times.count >= block.counts.ok && times.count == raw.count(), "{name}");
            assert!(times.histogram == raw.to_base64(), "{name}: not the same histogram");
        }
    }
}

#[test]
fn a_sweep_says_what_ran_out_on_the_machine_of_a_server_that_is_watched() {
    let Some(fleet) = Fleet::up_beside("oracle ws --cap 300/s", 1) else { return };
    let _watch = fleet.watch();
    let Server { url, .. } = &fleet.server;
    let axis = "--from 200 --to 800 --factor 4 --repeats 1 -d 500ms --settle 100ms --budget 9s";
    let ended = fleet.sandbox.run(&format!("sweep {url} {axis} --fleet {JOIN}"));
    assert!([Some(0), Some(12)].contains(&ended.code), "{ended:?}");
    let record = fleet.record();
    let sweep = record.sweep.as_ref().unwrap();
    let ran_out = &sweep.lines[0].ran_out;
    let mut parts = record.blocks.iter().flat_map(|block| &block.agents);
    let is_trusted = parts.all(AgentPart::is_trusted) && sweep.lines[0].level != Level::Invalid;
    if !is_trusted || ran_out.starts_with("nothing up to ") {
        return say_skipped(
            "a sweep with a watch: on this busy machine an agent is late, or two loads take too long",
        );
    }
    let words = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(&format!("What ran out: {ran_out}.")), "{words}");
    for step in &sweep.steps {
        let machine = step.server_machine.unwrap();
        assert!(machine.idle_fraction.is_some() && machine.listen_overflows == Some(0), "{step:?}");
        assert!(step.server_cores_used.is_some(), "{step:?}");
    }
    // The text says that the server waits, or, if other programs take the CPUs, that those ran out.
    assert!(ran_out.contains("of the server's machine"), "{ran_out}");
}

#[test]
fn who_is_not_let_in_is_told_why() {
    let Some(fleet) = Fleet::up(1) else { return };
    let status = |change: &dyn Fn(&str) -> String| -> harness::Ended {
        let join = fs::read_to_string(fleet.sandbox.path().join(JOIN)).unwrap();
        write_join(&fleet.sandbox.path().join("changed.join"), &change(&join));
        fleet.sandbox.run("fleet status --fleet changed.join")
    };
    let line = |join: &str, start: &str, new: &str| -> String {
        join.lines()
            .map(
                |line| {
                    if line.starts_with(start) { format!("{new}\n") } else { format!("{line}\n") }
                },
            )
            .collect()
    };
    let ended = fleet.sandbox.run(&format!("fleet status --fleet {JOIN}"));
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "1 agent is connected: a0\n"));

    let stranger = "seed = \"SUACH75SWCM5D2JMJM6EKLR2WDARVGZT4QC6LX3AGHSWOMVAKERABBBRWM\"";
    status(&|join| line(join, "seed", stranger))
        .check(2, &["does not let controller in: its users have no such key"]);
    status(&|join| line(join, "url", "url = \"nats://127.0.0.1:9\""))
        .check(15, &["no coordination server answers"]);
    let own = fs::read_to_string(fleet.folder().join("a0.join")).unwrap();
    let forged =
        line(&line(&own, "role", "role = \"controller\""), "name", "name = \"controller\"");
    status(&|_| forged.clone())
        .check(2, &["refuses controller", "ermissions", "is the join file the one for this name"]);
    status(&|join| line(join, "role", "role = \"agent\""))
        .check(2, &["is for an agent, but this needs one for a controller"]);
    let path = fleet.sandbox.path().join("changed.join");
    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    fleet.sandbox.run("fleet status --fleet changed.join").check(2, &["0644", "chmod 600"]);

    for (info, words) in [
        (
            "\"version\":\"2.10.22\",\"jetstream\":true",
            "is nats-server 2.10.22, but at least 2.11 is needed",
        ),
        ("\"version\":\"2.15.2\",\"jetstream\":false", "has no JetStream"),
    ] {
        let url = format!("url = \"nats://{}\"", pretends(info));
        status(&|join| line(join, "url", &url)).check(2, &[words]);
    }
}

#[test]
fn what_agents_cannot_measure_is_refused_with_the_next_thing_to_do() {
    let Some(fleet) = Fleet::up(1) else { return };
    let command = |line: &str| fleet.sandbox.run(&format!("{line} --fleet {JOIN}"));
    command("run unix:missing.sock -d 1s --agents x").check(2, &["--agents"]);
    let started = fleet.sandbox.path().join("started.toml");
    fs::write(started, "[[row]]\nname = \"one\"\nserver = \"embedded\"\ntransport = \"ws\"\n")
        .unwrap();
    command("run started.toml -d 1s")
        .check(2, &["is a server that is started here", "and name its URL"]);
    // An agent that lacks a secret of the target says which, and how to get it.
    let url = &fleet.server.url;
    fs::write(fleet.sandbox.path().join("fields"), "X-Key: secret\n").unwrap();
    let load = format!("run {url} --rate 200/s -c 10 -d 500ms -H @fields");
    let ended = command(&load);
    ended.check(15, &["a0: it cannot use the plan", "the value of `X-Key`", "-H @FILE"]);
    assert!(!ended.stderr.contains("secret"), "{}", ended.stderr);
}

#[test]
fn an_agent_reads_the_secrets_of_a_target_from_a_file_of_its_own() {
    let Some(fleet) = Fleet::up(2) else { return };
    let join = fleet.folder().join("a1.join");
    let own = |line: &str| fleet.sandbox.command(&format!("agent --join {}{line}", join.display()));
    Running::start(own(" -H X-Key:secret")).wait().check(2, &["`X-Key`", "name it as @FILE"]);
    // Replaces a1, with the file; a0, which lacks it, takes no part.
    let stopped = fleet.agent("a1");
    kill_process(stopped, Signal::STOP).unwrap();
    fs::write(fleet.sandbox.path().join("fields"), "X-Key: secret\n").unwrap();
    let mut agent = Running::start(own(" --state own -H @fields"));
    agent.wait_for_word("a1 is connected");
    let ended = fleet.start("--rate 200/s -c 10 -d 500ms -H @fields --agents 1").wait();
    assert!(ended.stderr.contains("a0 cannot take part: it cannot use the plan"), "{ended:?}");
    let path = fs::read_dir(fleet.sandbox.path().join(".wirebench/records")).unwrap();
    let json =
        path.map(|entry| entry.unwrap().path()).find(|path| path.extension().unwrap() == "json");
    assert!(!fs::read_to_string(json.unwrap()).unwrap().contains("secret"));
    let part = &fleet.record().blocks[0].agents[0];
    // On a busy machine it may begin too late, and says so.
    assert!(part.ok.is_some_and(|ok| ok > 0) || part.end == PartEnd::NotStarted, "{part:?}");
    kill_process(stopped, Signal::CONT).unwrap();
}

#[test]
fn a_prober_stands_beside_the_load_and_is_none_of_it() {
    let Some(fleet) = Fleet::up(2) else { return };
    // Replaces a1, whose process is stopped meanwhile.
    let stopped = fleet.agent("a1");
    kill_process(stopped, Signal::STOP).unwrap();
    let join = fleet.folder().join("a1.join");
    let line = format!("agent --join {} --state own --probe", join.display());
    let mut prober = Running::start(fleet.sandbox.command(&line));
    prober.wait_for_word("a1 is connected");
    let (ended, record) = fleet.begun("--rate 400/s -c 20 -d 11s --agents 1 --details");
    ended.check_measured(&["the run is complete"]);
    let block = &record.blocks[0];
    let tasks: Vec<(&str, AgentTask)> =
        block.agents.iter().map(|part| (part.agent.as_str(), part.task)).collect();
    assert_eq!(tasks, [("a0", AgentTask::Load), ("a1", AgentTask::Probe)]);
    assert_eq!(block.agents[1].planned, Some(1100), "100 a second");
    check_sums(block);
    assert!(ended.stdout.contains("a1 (prober)"), "{}", ended.stdout);
    if block.agents.iter().all(AgentPart::is_trusted) {
        assert!(ended.stdout.contains("prober: its p99 is "), "{}", ended.stdout);
    }
    kill_process(stopped, Signal::CONT).unwrap();
}

#[test]
#[ignore = "a minute of both cores, beside which what other tests measure is invalid: cargo test -p wirebench --features fleet --test it -- --ignored sweeps_sides"]
fn sweeps_sides_and_labs_of_urls_go_over_a_fleet_as_runs_do() {
    let Some(fleet) = Fleet::up_beside("oracle ws --cap 1500/s", 2) else { return };
    let _watch = fleet.watch();
    let url = &fleet.server.url;
    let record = |line: &str, codes: &[i32]| {
        let ended = fleet.sandbox.run(&format!("{line} --fleet {JOIN} -o out.json"));
        assert!(ended.code.is_some_and(|code| codes.contains(&code)), "{line}: {ended:?}");
        let text = fs::read_to_string(fleet.sandbox.path().join("out.json")).unwrap();
        let record = harness::record_of(&text);
        assert!(record.blocks.iter().all(|block| block.agents.len() == 3), "{line}");
        record
    };
    let sweep =
        format!("sweep {url} --from 800 --to 3200 --factor 2 --repeats 1 -d 500ms --settle 200ms");
    let swept = record(&sweep, &[0, 12]);
    let steps = &swept.sweep.as_ref().unwrap().steps;
    let offered: Vec<f64> = steps.iter().map(|step| step.offered_per_s).collect();
    assert!(offered.len() >= 2 && offered.contains(&800.0), "{offered:?}");
    for (step, block) in steps.iter().flat_map(|step| step.blocks.iter().map(move |it| (step, it)))
    {
        let planned: u64 = swept.blocks[*block].load_parts().filter_map(|part| part.planned).sum();
        let planned = f64::from(u32::try_from(planned).unwrap());
        let due = step.offered_per_s / 2.0;
        assert!((planned - due).abs() <= 1.0, "{planned} of {due} in half a second, in two parts");
    }
    let lab = format!(
        "baseline = \"one\"\nduration = \"300ms\"\n[[row]]\nname = \"one\"\nurl = \"{url}\"\nrate = \"200/s\"\n\
         [[row]]\nname = \"two\"\nurl = \"{url}\"\nrate = \"300/s\"\n\
         [[row]]\nname = \"three\"\nurl = \"{url}\"\nrate = \"400/s\"\n"
    );
    fs::write(fleet.sandbox.path().join("lab.toml"), lab).unwrap();
    let rows = record("lab lab.toml --rounds 1", &[0, 12]);
    assert_eq!((rows.kind, rows.plan.workloads.len()), (record::Kind::Lab, 3));
    let sides = record(&format!("ab {url} --aa --rounds 6 -c 2 -d 200ms --warm-up 20ms"), &[0, 12]);
    assert_eq!((sides.kind, sides.blocks.len()), (record::Kind::Ab, 12));
}

#[test]
fn sixteen_agents_each_make_the_tiny_load_that_is_that_of_each() {
    let Some(fleet) = Fleet::up(16) else { return };
    let ended = fleet.start("--rate 20/s -c 2 -d 1s --agents 16 --each").wait();
    check_complete(&ended);
    let record = fleet.record();
    let block = &record.blocks[0];
    assert_eq!(block.agents.len(), 16);
    // On a busy machine some begin too late, and say so.
    let begun = block.agents.iter().filter(|part| part.end != PartEnd::NotStarted);
    for part in begun {
        assert_eq!((part.end, part.planned), (PartEnd::Measured, Some(20)), "{part:?}");
    }
    assert_eq!(record.spec.unwrap().workloads[0].load.connections().get(), 32);
    check_sums(block);
}

#[test]
fn connections_of_agents_are_no_open_files_of_the_controller() {
    let Some(fleet) = Fleet::up(2) else { return };
    let Server { url, .. } = &fleet.server;
    let line = format!("run {url} --rate 100/s -c 60 -d 1s --fleet {JOIN}");
    let limited = fleet.sandbox.command_in_shell("ulimit -n 64 && exec \"$@\"", &line);
    Running::start(limited).wait().check_measured(&["the run is complete"]);
    check_sums(&fleet.record().blocks[0]);
}

#[test]
fn a_link_that_is_down_for_five_seconds_costs_no_part() {
    let Some(link) = Link::new() else { return };
    let Some(coordination) = Coordination::at(("nats", Link::HERE), None) else { return };
    let sandbox = &coordination.sandbox;
    let there = |line: &str| {
        let program = env!("CARGO_BIN_EXE_wirebench");
        sandbox.other("ip", &format!("netns exec {} {program} {line}", link.name))
    };
    let mut target = Running::start(there(&format!("serve ws --listen {}:0", Link::THERE)));
    let ready = target.line();
    let url = ready.trim().strip_prefix("ready ").unwrap();
    let allow = format!("--allow-target {}", Link::THERE);
    let agent = |index: u32| format!("agent --join keys/a{index}.join --state a{index} {allow}");
    // It is on the target's machine, so that it loses only the coordination server.
    let mut cut = Running::start(there(&agent(0)));
    cut.wait_for_word("a0 is connected");
    let line = format!("run {url} --rate 200/s -c 10 -d 12s --fleet keys/controller.join");
    let ear = coordination.ear();
    let is_measured = || {
        let mut run = Running::start(sandbox.command(&line));
        run.wait_for_word("block 0-0 begins");
        link.set("down");
        // The agent that is cut off goes on, and is back before the block is over: its part counts, as docs/FLEET.md
        // says. The controller says twice a second that it leads, so eleven new messages span five seconds; earlier
        // ones are skipped.
        let leads = |subject: &str, _: &serde_json::Value| subject.starts_with("wb.lead.");
        while ear.heard.try_recv().is_ok() {}
        (0..11).for_each(|_| drop(ear.wait_for("the lead", leads)));
        run.wait_for_word("a0 has been silent for 2.5 s");
        link.set("up");
        let back = run.wait_for_word("a0 is back after ");
        let silent = back.split("after ").nth(1).and_then(|time| time.trim().strip_suffix(" s"));
        assert!(silent.is_some_and(|time| time.parse::<f64>().unwrap() >= 5.0), "{back}");
        let ended = run.wait();
        // A process that wakes up too late for the start of its part does not begin, which says nothing about the link.
        if ended.stderr.contains("a0 did not begin") {
            return false;
        }
        ended.check_measured(&["block 0-0 is over: 1 of 1 parts", "the run is complete"]);
        let records = sandbox.records();
        let block = &records.last().expect("it was measured").blocks[0];
        assert_eq!((block.counts.planned, block.counts.failed()), (2400, 0), "{:?}", block.counts);
        check_sums(block);
        true
    };
    assert!((0..3).any(|_| is_measured()), "the agent never began in time");
}

#[test]
fn a_coordination_server_that_stands_still_costs_no_part_and_one_that_is_gone_no_block() {
    let Some(coordination) = Coordination::up("nats") else { return };
    let _agents = [coordination.agent(0), coordination.agent(1)];
    let mut run = coordination.start("-d 4s --rounds 2");
    // The agents know of the run before the server is stopped.
    run.wait_for_word(" % of    100/s");
    coordination.server.send(Signal::STOP);
    run.wait_for_word("lost the coordination server");
    coordination.server.send(Signal::CONT);
    run.wait_for_word("the coordination server answers again after");
    run.wait_for_word("block 0-0 is over: 2 of 2 parts");
    run.wait_for_word("block 1-0 begins");
    coordination.server.send(Signal::KILL);
    run.wait_for_word("lost the coordination server");
    run.send(Signal::INT);
    run.wait_for_word("the coordination server has not answered for");
    run.wait().check(130, &[]);
    let record = &coordination.sandbox.records()[0];
    assert_eq!(planned(&record.blocks[0]).1, 400);
    check_sums(&record.blocks[0]);
}

#[test]
fn two_controllers_of_one_run_write_the_same_record() {
    let Some(coordination) = Coordination::up("nats") else { return };
    let _agents = [coordination.agent(0), coordination.agent(1)];
    let mut first = coordination.start("-d 2s --rounds 2");
    let name = first.wait_for_word("continues it elsewhere");
    let name = name.split_whitespace().nth(1).unwrap();
    first.wait_for_word("block 0-0 begins");
    let line = format!("fleet resume {name} --fleet keys/controller.join");
    let mut second = Running::start(coordination.sandbox.command(&line));
    second.wait_for_word("leads this run; this one watches");
    second.wait().check_measured(&["block 1-0 is over: 2 of 2 parts"]);
    first.wait().check_measured(&["block 1-0 is over: 2 of 2 parts"]);
    let records = coordination.sandbox.records();
    assert_eq!((records.len(), records[0].blocks.len()), (2, 2));
    assert_eq!(of_log(&records[0]), of_log(&records[1]));
}

#[test]
fn over_tls_a_server_is_trusted_by_the_authority_of_its_fleet_alone() {
    let Some(coordination) = Coordination::up("tls") else { return };
    let _agents = [coordination.agent(0), coordination.agent(1)];
    coordination.start("-d 200ms").wait().check_measured(&["the run is complete"]);
    let Coordination { sandbox, address, .. } = &coordination;
    let other = format!("fleet keys --agents 1 --url tls://{address} other");
    sandbox.run(&other).check(0, &["1 agent, a0: give"]);
    let authority = |folder: &str| sandbox.path().join(folder).join("ca.pem");
    fs::copy(authority("other"), authority("keys")).unwrap();
    let status = sandbox.run("fleet status --fleet keys/controller.join");
    status
        .check(2, &["cannot be trusted", "is the authority in the join file the one that signed"]);
}

#[test]
fn a_certificate_that_has_expired_is_named_and_another_one_ends_it() {
    let Some(mut coordination) = Coordination::up("tls") else { return };
    let mut agent = coordination.agent(0);
    coordination.certify(Validity::days(0, 1));
    agent.wait_for_word("the certificate of the coordination server is not valid now");
    let words = [
        "is not valid now",
        "certificate expired",
        "`wirebench fleet keys` writes new ones",
        "is the clock of this machine wrong?",
    ];
    for line in ["fleet status --fleet keys/controller.join", "agent --join keys/a1.join"] {
        coordination.sandbox.run(line).check(2, &words);
    }
    let now = engine::clock::unix_seconds().unwrap();
    coordination.certify(Validity::days(now, 1));
    let heard = |_| {
        let ended = coordination.sandbox.run("fleet status --fleet keys/controller.join");
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ended.stdout.contains("1 agent is connected: a0")
    };
    assert!((0..10).any(heard), "the agent did not come back");
}

#[test]
fn an_agent_whose_key_is_withdrawn_says_so_and_ends() {
    let Some(mut coordination) = Coordination::up("nats") else { return };
    let mut agent = coordination.agent(0);
    coordination.change_users(|users| {
        let (before, from) = users.split_at(users.find("  {\n    # a0").unwrap());
        format!("{before}{}", &from[from.find("  {\n    # a1").unwrap()..])
    });
    agent.wait_for_word("the coordination server no longer lets us in");
    agent.wait().check(15, &[]);
}

#[test]
fn a_log_that_is_full_ends_the_run_and_says_how_to_make_room() {
    let Some(coordination) = Coordination::up("nats") else { return };
    let _agents = [coordination.agent(0), coordination.agent(1)];
    coordination.resize_log(100);
    let words = "its stream is full; raise max_bytes of the stream or remove old runs";
    coordination.start("-d 200ms").wait().check(15, &[words]);
    assert!(coordination.sandbox.records().is_empty(), "nothing was measured");
    coordination.resize_log(1 << 30);

    let mut run = coordination.start("-d 200ms --warm-up 0s --rounds 3");
    let told = run.wait_for_word("continues it elsewhere");
    let name = told.split_whitespace().nth(1).unwrap();
    run.wait_for_word("block 0-0 is over");
    coordination.resize_log(100);
    let ended = run.wait();
    assert!([Some(12), Some(13), Some(15)].contains(&ended.code), "{ended:?}");
    let record = &coordination.sandbox.records()[0];
    // Only the blocks that were closed, and none that failed.
    assert!((1..3).contains(&record.blocks.len()), "{} blocks", record.blocks.len());
    assert!(record.blocks.iter().all(|block| block.failed.is_none()));
    let Ended::Partial { reason } = &record.ended else { panic!("{:?}", record.ended) };
    assert!(
        reason.starts_with("the log accepts nothing more at ") && reason.contains(words),
        "{reason}"
    );
    assert!(reason.contains(name), "{reason}");

    coordination.resize_log(1 << 30);
    let line = format!("fleet resume {name} --fleet keys/controller.join");
    check_complete(&coordination.sandbox.run(&line));
    assert_eq!(coordination.sandbox.records()[1].blocks.len(), 3);
}

/// A NATS server for three agents, with a sandbox for their keys; tests may change its users and its log.
struct Coordination {
    sandbox: Sandbox,
    server: Running,
    address: String,
    /// The server that the agents load.
    target: Server,
    _network: Option<Namespace>,
}

impl Coordination {
    /// One over `nats` or `tls`, in a network of its own; `None`, and a message, if no NATS server is installed.
    fn up(scheme: &str) -> Option<Self> {
        Self::at((scheme, "127.0.0.1"), Some(Namespace::enter()))
    }

    /// The same at an address of the network that this thread is in.
    fn at(address: (&str, &str), network: Option<Namespace>) -> Option<Self> {
        Self::with(address, network, "--agents 3", |_, _, users| users.to_owned())
    }

    /// The same with other `members`; `change` edits the users before the server starts.
    fn with(
        (scheme, host): (&str, &str),
        network: Option<Namespace>,
        members: &str,
        change: impl FnOnce(&Sandbox, &str, &str) -> String,
    ) -> Option<Self> {
        let program = nats_server()?;
        let sandbox = Sandbox::new();
        let port = std::net::TcpListener::bind((host, 0)).unwrap().local_addr().unwrap().port();
        let address = format!("{host}:{port}");
        let keys = format!("fleet keys {members} --url {scheme}://{address} keys");
        let keys = sandbox.run(&keys);
        keys.check(0, &["give each its own .join file"]);
        // It prints a configuration that expects the files in its own folder.
        let files = ["users.conf", "server.pem", "server-key.pem"];
        let beside = files.iter().fold(keys.stdout, |text, file| {
            text.replace(&format!("\"{file}\""), &format!("\"keys/{file}\""))
        });
        let config = format!(
            "listen: \"{address}\"\nping_interval: \"1s\"\nping_max: 2\nmax_payload: 1MB\n\
             jetstream {{ store_dir: \"store\" }}\n{beside}"
        );
        fs::write(sandbox.path().join("nats.conf"), config).unwrap();
        let users = sandbox.path().join("keys/users.conf");
        let text = change(&sandbox, &address, &fs::read_to_string(&users).unwrap());
        fs::write(users, text.replace("users: [\n", &format!("users: [\n{OWNER}"))).unwrap();
        let server = Self::start_server(&sandbox, &program);
        sandbox.run("fleet status --fleet keys/controller.join").check(0, &[]);
        let target = Server::start(&sandbox, "tcp");
        Some(Self { sandbox, server, address, target, _network: network })
    }

    fn start_server(sandbox: &Sandbox, program: &Path) -> Running {
        let mut server = sandbox.other(&program.display().to_string(), "--config nats.conf");
        server.env("PATH", "/usr/bin:/bin");
        let mut server = Running::start(server);
        server.wait_for_word("Server is ready");
        server
    }

    /// Kills the server, and restarts it with a certificate of this `validity`.
    fn certify(&mut self, validity: Validity) {
        let (keys, new) = (self.sandbox.path().join("keys"), self.sandbox.path().join("new"));
        fs::create_dir(&new).unwrap();
        ::fleet::keys::write_certificates(&new, &["127.0.0.1".parse().unwrap()], validity).unwrap();
        for file in ["ca.pem", "server.pem", "server-key.pem"] {
            fs::rename(new.join(file), keys.join(file)).unwrap();
        }
        fs::remove_dir(new).unwrap();
        self.server.send(Signal::KILL);
        self.restart();
    }

    /// Restarts the server after it was killed.
    fn restart(&mut self) {
        // Its address is free once it has ended.
        let program = nats_server().unwrap();
        while !self.server.has_ended() {
            harness::pause();
        }
        self.server = Self::start_server(&self.sandbox, &program);
    }

    /// Starts a run of 100 messages a second.
    fn start(&self, load: &str) -> Running {
        let Server { url, .. } = &self.target;
        let line = format!("run {url} --rate 100/s -c 2 {load} --fleet keys/controller.join");
        Running::start(self.sandbox.command(&line))
    }

    /// An agent that loads its own machine.
    fn agent(&self, index: u32) -> Running {
        self.agent_with(index, "")
    }

    /// The same with more options.
    fn agent_with(&self, index: u32, more: &str) -> Running {
        let line = format!("agent --join keys/a{index}.join --state a{index}{more}");
        let mut agent = Running::start(self.sandbox.command(&line));
        agent.wait_for_word("is connected");
        agent
    }

    /// Changes who may connect.
    fn change_users(&mut self, change: impl Fn(&str) -> String) {
        let path = self.sandbox.path().join("keys/users.conf");
        let users = fs::read_to_string(&path).unwrap();
        fs::write(path, change(&users)).unwrap();
        self.server.send(Signal::HUP);
        self.server.wait_for_word("Reloaded server configuration");
    }

    /// Limits the log to `bytes`.
    fn resize_log(&self, bytes: u64) {
        let mut config = self.asked("$JS.API.STREAM.INFO.WB", "")["config"].take();
        config["max_bytes"] = bytes.into();
        let changed = self.asked("$JS.API.STREAM.UPDATE.WB", &config.to_string());
        assert_eq!(changed["config"]["max_bytes"], bytes, "{changed}");
    }

    /// The reply to a request of the owner.
    fn asked(&self, subject: &str, question: &str) -> serde_json::Value {
        let mut stream = self.owner(&["_INBOX.1"]);
        let len = question.len();
        write!(stream.get_mut(), "PUB {subject} _INBOX.1 {len}\r\n{question}\r\n").unwrap();
        next_message(&mut stream).expect("the owner is answered").1
    }

    /// Everything that members publish about themselves, and everything written to the log, from now on while the
    /// server lives. Leaves out requests: with a subscriber to them, a process that is gone would seem to be there.
    fn ear(&self) -> Ear {
        let mut stream = self.owner(&["wb.hb.*", "wb.live.*", "wb.lead.*", "wb.log.>"]);
        let (tell, heard) = channel();
        std::thread::spawn(move || {
            while let Some(message) = next_message(&mut stream) {
                if tell.send(message).is_err() {
                    return;
                }
            }
        });
        Ear { heard }
    }

    /// A connection of a user with all permissions, subscribed to these subjects.
    fn owner(&self, subjects: &[&str]) -> BufReader<Stream> {
        let mut stream = Stream::connect(&self.address).unwrap();
        let login = r#"{"verbose":false,"user":"owner","pass":"owner"}"#;
        write!(stream, "CONNECT {login}\r\n").unwrap();
        for (number, subject) in subjects.iter().enumerate() {
            write!(stream, "SUB {subject} {number}\r\n").unwrap();
        }
        BufReader::new(stream)
    }
}

/// The subject and the content of the next message from a NATS server; `None` once it has ended.
fn next_message(stream: &mut BufReader<Stream>) -> Option<(String, serde_json::Value)> {
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).ok().filter(|len| *len > 0)?;
        if line.starts_with("PING") {
            stream.get_mut().write_all(b"PONG\r\n").ok()?;
        }
        let Some(message) = line.strip_prefix("MSG ") else { continue };
        let words: Vec<&str> = message.split_whitespace().collect();
        let mut content = vec![0; words.last()?.parse::<usize>().unwrap() + 2];
        stream.read_exact(&mut content).ok()?;
        return Some((words[0].to_owned(), serde_json::from_slice(&content).unwrap_or_default()));
    }
}

/// The messages of a bus.
struct Ear {
    heard: Receiver<(String, serde_json::Value)>,
}

impl Ear {
    /// Waits for a message with this subject and content.
    fn wait_for(
        &self,
        what: &str,
        is_it: impl Fn(&str, &serde_json::Value) -> bool,
    ) -> serde_json::Value {
        loop {
            let heard = self.heard.recv_timeout(PATIENCE);
            let (subject, content) = heard.unwrap_or_else(|_| panic!("nobody said {what}"));
            if is_it(&subject, &content) {
                return content;
            }
        }
    }
}

/// The program of the NATS server; `None`, and a message, if none is installed.
fn nats_server() -> Option<PathBuf> {
    let installed = std::env::var_os("WIREBENCH_THIRD_PARTY").map(PathBuf::from);
    let program =
        installed.map(|folder| folder.join("nats-server/start")).filter(|start| start.exists());
    if program.is_none() {
        say_skipped("fleets: `cargo xtask third-party` installs nats-server");
    }
    program
}

/// A fleet on this machine, and a server to load, in a network of their own.
struct Fleet {
    sandbox: Sandbox,
    server: Server,
    up: Running,
    _network: Namespace,
}

impl Fleet {
    /// `None`, and a message, if no NATS server is installed.
    fn up(agents: u32) -> Option<Self> {
        Self::up_beside("ws", agents)
    }

    /// The same beside another server: `line` has the arguments of `wirebench serve`.
    fn up_beside(line: &str, agents: u32) -> Option<Self> {
        let program = nats_server()?;
        let network = Namespace::enter();
        let sandbox = Sandbox::new();
        let mut command = sandbox
            .command(&format!("fleet up --local {agents} --nats-server {}", program.display()));
        command.env("PATH", "/usr/bin:/bin");
        let mut up = Running::start(command);
        up.wait_for_line("next: ");
        let server = Server::start(&sandbox, line);
        Some(Self { sandbox, server, up, _network: network })
    }

    /// The port of the server to load.
    fn port(&self) -> &str {
        self.server.url.rsplit(':').next().unwrap().trim_end_matches('/')
    }

    /// A watch of that server.
    fn watch(&self) -> Running {
        let line = format!("watch --join {WATCH} --port {}", self.port());
        let mut watch = Running::start(self.sandbox.command(&line));
        watch.wait_for_word("w0 is connected");
        watch
    }

    fn start(&self, load: &str) -> Running {
        let Server { url, .. } = &self.server;
        Running::start(self.sandbox.command(&format!("run {url} {load} --fleet {JOIN}")))
    }

    /// A run in which every part began; its record is the last one. A process that wakes up too late for the start of
    /// its part does not begin, which is not what these tests are about: then the run is repeated.
    fn begun(&self, load: &str) -> (harness::Ended, RunRecord) {
        let run = || self.start(load).wait();
        let ended = (0..3).map(|_| run()).find(|ended| !ended.stderr.contains(" did not begin"));
        let ended = ended.expect("in each of three runs a part did not begin in time");
        let record = self.sandbox.records().pop();
        (ended, record.expect("what was measured is kept"))
    }

    /// The only record.
    fn record(&self) -> RunRecord {
        let mut records = self.sandbox.records();
        assert_eq!(records.len(), 1);
        records.remove(0)
    }

    /// The folder with all keys.
    fn folder(&self) -> PathBuf {
        let start = format!("wirebench-tmp-{}-fleet", self.up.pid().as_raw_nonzero());
        let mut all =
            fs::read_dir(std::env::temp_dir()).unwrap().map(|entry| entry.unwrap().path());
        all.find(|path| path.file_name().unwrap().to_string_lossy().starts_with(&start)).unwrap()
    }

    /// The process of an agent.
    fn agent(&self, name: &str) -> Pid {
        let join = self.folder().join(format!("{name}.join")).display().to_string();
        // It was started before the fleet was up, but need not have become the agent yet.
        let look = |_| {
            std::thread::yield_now();
            agent_with(&join)
        };
        (0..LOOKS_MAX).find_map(look).unwrap_or_else(|| panic!("no process of {name}"))
    }
}

/// The process of the agent with this join file.
fn agent_with(join: &str) -> Option<Pid> {
    fs::read_dir("/proc").unwrap().find_map(|entry| {
        let path = entry.unwrap().path();
        let command = fs::read_to_string(path.join("cmdline")).unwrap_or_default();
        let words: Vec<&str> = command.split('\0').collect();
        // Its keeper has the same words after others.
        let is_it = words.get(1) == Some(&"agent") && words.contains(&join);
        let pid = is_it.then(|| path.file_name().unwrap().to_string_lossy().parse().unwrap())?;
        Pid::from_raw(pid)
    })
}

impl Drop for Fleet {
    fn drop(&mut self) {
        self.up.send(Signal::TERM);
    }
}

/// Checks that a run was completed, whatever a busy machine made of its parts.
fn check_complete(ended: &harness::Ended) {
    assert!([Some(0), Some(12), Some(13), Some(15)].contains(&ended.code), "{ended:?}");
    assert!(ended.stderr.contains("the run is complete"), "{ended:?}");
}

/// The blocks of a record without what only its controller knows: when it saw them begin, and how long it took to
/// resolve the target.
fn of_log(record: &RunRecord) -> Vec<Block> {
    let mut blocks = record.blocks.clone();
    for block in &mut blocks {
        block.started_at_ns = 0;
        block.phases.resolve = None;
    }
    blocks
}

/// Checks that the lines that begin with the time since the start of the run are in its order.
fn check_order(stderr: &str) {
    let time = |line: &str| line.split_once(" s ")?.0.trim().parse::<f64>().ok();
    let times: Vec<f64> = stderr.lines().filter_map(time).collect();
    assert!(times.len() > 3 && times.is_sorted(), "{stderr}");
}

/// Checks that the lines of the sample in the page on fleets are printed, in this order.
fn check_page(stderr: &str) {
    // The time to the start is in another unit if agents take longer.
    let shape = |line: &str| form(line.trim()).replace("#.#", "#").replace(" ms ", " s ");
    let page = include_str!("../../../../docs/FLEET.md");
    let shown = page.lines().skip_while(|line| !line.starts_with("    run r"));
    let shown: Vec<&str> = shown.map_while(|line| line.strip_prefix("    ")).collect();
    assert!(shown.len() > 1, "the page has no sample");
    let mut printed = stderr.lines().map(shape);
    for line in shown {
        assert!(printed.any(|it| it == shape(line)), "not printed, or misplaced: {line}\n{stderr}");
    }
}

/// The planned messages of the parts of a block that count, and those of all parts.
fn planned(block: &Block) -> (u64, u64) {
    let sum = |is_wanted: &dyn Fn(&AgentPart) -> bool| -> u64 {
        block.load_parts().filter(|part| is_wanted(part)).filter_map(|part| part.planned).sum()
    };
    (sum(&|part| part.counts()), sum(&|_| true))
}

/// True if less than half of the load is trusted, so that all that was measured counts.
fn takes_all(block: &Block) -> bool {
    record::takes_all(block.load_parts())
}

/// Checks that the numbers of a block are those of the parts that count: of all measured parts, if less than half is
/// trusted.
fn check_sums(block: &Block) {
    let (trusted, all) = planned(block);
    let expected = if takes_all(block) { all } else { trusted };
    assert_eq!(block.counts.planned, expected, "{:?}", block.agents);
    assert_eq!(block.counts.sent + block.counts.unsent, block.counts.planned);
}

fn write_join(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
}

/// Starts a server that sends this `info` about itself and answers pings; returns its address.
fn pretends(info: &str) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let info = format!(
        "INFO {{\"server_id\":\"x\",\"server_name\":\"x\",\"host\":\"127.0.0.1\",\"port\":{},\"proto\":1,\
         \"max_payload\":1048576,\"headers\":true,{info}}}\r\n",
        address.port()
    );
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(info.as_bytes()).unwrap();
        let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
        while let Some(Ok(line)) = lines.next() {
            if line.starts_with("PING") && stream.write_all(b"PONG\r\n").is_err() {
                return;
            }
        }
    });
    address.to_string()
}

/// The files that `fleet up` writes.
const JOIN: &str = ".wirebench/fleet.join";
const WATCH: &str = ".wirebench/watch.join";
/// The entry of a user who may do everything.
const OWNER: &str = "  { user: owner, password: owner }\n";
/// The longest wait for a message, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);
/// The most looks at all processes, of some milliseconds each, until one has become an agent.
const LOOKS_MAX: usize = 5000;
