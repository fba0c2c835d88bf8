//! Fleets on a real NATS server: agents and controllers as processes, and what becomes of a run when one of them dies.
//!
//! The server listens on a port that is free, of loopback alone.

use crate::harness::{Ended, Running, Sandbox, Server, say_skipped};
use record::{Block, PartEnd, RunRecord};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, Permissions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

#[test]
fn three_agents_send_what_one_would_and_every_message_is_counted_once() {
    let Some(fleet) = Fleet::up(3) else { return };
    let ended = fleet.start("--rate 600/s -c 30 -d 3s").wait();
    ended.check_measured(&["block 0-0 is over: 3 of 3 parts", "the run is complete"]);
    // While it goes on, the seconds of all agents together are shown.
    assert!(ended.stderr.contains(" of    600/s p50 "), "{}", ended.stderr);
    let record = fleet.record();
    let block = &record.blocks[0];
    let agents: Vec<&str> = block.agents.iter().map(|part| part.agent.as_str()).collect();
    assert_eq!(agents, ["a0", "a1", "a2"]);
    let planned: Vec<Option<u64>> = block.agents.iter().map(|part| part.planned).collect();
    assert_eq!(planned, [Some(600); 3]);
    check_sums(block);
}

#[test]
fn an_agent_that_is_killed_is_named_and_the_others_count_exactly() {
    let Some(fleet) = Fleet::up(3) else { return };
    let mut run = fleet.start("--rate 600/s -c 30 -d 3s");
    run.wait_for_word("block 0-0 begins");
    kill_process(fleet.agent("a1"), Signal::KILL).unwrap();
    run.wait_for_word("a1 is gone: nobody answers for its process; block 0-0 will lack its part");
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
    assert!(ended.stdout.contains("1 of 3 parts are missing: a1"), "{}", ended.stdout);
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
    run.wait().check_measured(&[]);
    let record = fleet.record();
    let part = &record.blocks[0].agents[1];
    // It may have been stopped before it began, and then it has sent nothing.
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
    let told = run.wait_for_word("goes on with it elsewhere");
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
    // It is over, and asking again makes the same record of the same log.
    let again = fleet.sandbox.run(&format!("fleet resume {name} --fleet {JOIN}"));
    again.check_measured(&[]);
    let records = fleet.sandbox.records();
    let numbers = |record: &RunRecord| -> Vec<_> {
        record
            .blocks
            .iter()
            .map(|block| (block.counts, block.open_loop.clone(), block.agents.clone()))
            .collect()
    };
    assert_eq!(numbers(&records[0]), numbers(&records[1]));
    let unknown = fleet.sandbox.run(&format!("fleet resume r0 --fleet {JOIN}"));
    unknown.check(2, &["the log has no run r0"]);
}

#[test]
fn who_is_not_let_in_is_told_why() {
    let Some(fleet) = Fleet::up(1) else { return };
    let status = |change: &dyn Fn(&str) -> String| -> Ended {
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
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "1 agent is there: a0\n"));

    let stranger = "seed = \"SUACH75SWCM5D2JMJM6EKLR2WDARVGZT4QC6LX3AGHSWOMVAKERABBBRWM\"";
    status(&|join| line(join, "seed", stranger))
        .check(2, &["does not let controller in: its users have no such key"]);
    status(&|join| line(join, "url", "url = \"nats://127.0.0.1:9\""))
        .check(15, &["no coordination server answers"]);
    let own = fs::read_to_string(fleet.folder().join("a0.join")).unwrap();
    let forged =
        line(&line(&own, "role", "role = \"controller\""), "name", "name = \"controller\"");
    status(&|_| forged.clone())
        .check(2, &["refuses controller", "ermissions", "is the join file that of this name"]);
    status(&|join| line(join, "role", "role = \"agent\""))
        .check(2, &["is for an agent, and this needs one for a controller"]);
    let path = fleet.sandbox.path().join("changed.join");
    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    fleet.sandbox.run("fleet status --fleet changed.join").check(2, &["0644", "chmod 600"]);

    for (info, words) in [
        (
            "\"version\":\"2.10.22\",\"jetstream\":true",
            "is nats-server 2.10.22, and at least 2.11 is needed",
        ),
        ("\"version\":\"2.15.2\",\"jetstream\":false", "has no JetStream"),
    ] {
        let url = format!("url = \"nats://{}\"", pretends(info));
        status(&|join| line(join, "url", &url)).check(2, &[words]);
    }
}

#[test]
fn what_agents_cannot_measure_is_refused_before_anything_is_written() {
    let Some(fleet) = Fleet::up(1) else { return };
    let run = |line: &str| fleet.sandbox.run(&format!("run {line} --fleet {JOIN}"));
    let url = &fleet.server.url;
    run(&format!("{url} -H Cookie:secret")).check(2, &["has headers or a URL with secrets"]);
    run("unix:missing.sock -d 1s --agents x").check(2, &["--agents"]);
}

/// A fleet on this machine, and a server to load.
struct Fleet {
    sandbox: Sandbox,
    server: Server,
    up: Running,
}

impl Fleet {
    /// `None` where no NATS server is installed; it says so.
    fn up(agents: u32) -> Option<Self> {
        let installed = std::env::var_os("WIREBENCH_THIRD_PARTY").map(PathBuf::from);
        let program =
            installed.map(|folder| folder.join("nats-server/start")).filter(|start| start.exists());
        let Some(program) = program else {
            say_skipped("fleets: `cargo xtask third-party` installs nats-server");
            return None;
        };
        let sandbox = Sandbox::new();
        let mut command = sandbox
            .command(&format!("fleet up --local {agents} --nats-server {}", program.display()));
        command.env("PATH", "/usr/bin:/bin");
        let mut up = Running::start(command);
        up.wait_for_line("next: ");
        let server = Server::start(&sandbox, "ws");
        Some(Self { sandbox, server, up })
    }

    fn start(&self, load: &str) -> Running {
        let Server { url, .. } = &self.server;
        Running::start(self.sandbox.command(&format!("run {url} {load} --fleet {JOIN}")))
    }

    /// The only record.
    fn record(&self) -> RunRecord {
        let mut records = self.sandbox.records();
        assert_eq!(records.len(), 1);
        records.remove(0)
    }

    /// The folder with the keys of all.
    fn folder(&self) -> PathBuf {
        let start = format!("wirebench-tmp-{}-fleet", self.up.pid().as_raw_nonzero());
        let mut all =
            fs::read_dir(std::env::temp_dir()).unwrap().map(|entry| entry.unwrap().path());
        all.find(|path| path.file_name().unwrap().to_string_lossy().starts_with(&start)).unwrap()
    }

    /// The process of an agent.
    fn agent(&self, name: &str) -> Pid {
        let join = self.folder().join(format!("{name}.join")).display().to_string();
        for entry in fs::read_dir("/proc").unwrap() {
            let path = entry.unwrap().path();
            let command = fs::read_to_string(path.join("cmdline")).unwrap_or_default();
            let words: Vec<&str> = command.split('\0').collect();
            // Its keeper has the same words behind others.
            if words.get(1) == Some(&"agent") && words.contains(&join.as_str()) {
                let pid = path.file_name().unwrap().to_string_lossy().parse().unwrap();
                return Pid::from_raw(pid).unwrap();
            }
        }
        panic!("no process of {name}");
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        self.up.send(Signal::TERM);
    }
}

/// The numbers of a block are those of the parts that count: of all that were measured, if less than half is trusted.
fn check_sums(block: &Block) {
    let sum = |is_wanted: &dyn Fn(&record::AgentPart) -> bool| -> u64 {
        block.agents.iter().filter(|part| is_wanted(part)).filter_map(|part| part.planned).sum()
    };
    let (trusted, all) = (sum(&|part| part.counts()), sum(&|_| true));
    let expected = if trusted * 2 < all { all } else { trusted };
    assert_eq!(block.counts.planned, expected, "{:?}", block.agents);
    assert_eq!(block.counts.sent + block.counts.unsent, block.counts.planned);
}

fn write_join(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
}

/// A server that says this of itself, and answers pings: its address.
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

/// The file that `fleet up` writes.
const JOIN: &str = ".wirebench/fleet.join";
