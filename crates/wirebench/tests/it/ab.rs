//! `wirebench ab`: two servers that take turns, started by their commands or not.

use crate::harness::{Ended, Running, Sandbox, Server, is_invalid, pause, record_of};
use record::{Change, Kind, RunRecord};
use spec::Metric;
use std::os::fd::OwnedFd;

#[test]
fn a_side_that_is_slower_is_found_and_ends_with_11_where_that_is_asked_for() {
    let sandbox = Sandbox::new();
    let limit = ["--max-regression", "50%", "-o", "ab.json"];
    let ended = both(&sandbox, [&started(""), &started("--work 3ms")], "", &limit);
    let record = record_in(&sandbox, "ab.json");
    let sides = record.sides.clone().expect("two sides were compared");
    assert_eq!((record.kind, sides.base, sides.head, sides.is_same), (Kind::Ab, 0, 1, false));
    let names: Vec<String> = sides.differences.iter().map(|it| it.metric.to_string()).collect();
    for name in ["p50", "messages/s", "cpu/message", "bytes/message"] {
        assert!(names.iter().any(|known| known == name), "no {name} in {names:?}");
    }
    for result in &record.results {
        assert!(result.pooled.server_cpu_us_per_message.is_some(), "the run started the server");
    }
    let memory = |block: &record::Block| block.memory.as_ref().and_then(|it| it.server_rss_bytes);
    assert!(record.blocks.iter().all(|block| memory(block) > Some(0)));
    assert_eq!(record.plan.rounds.len(), 6);
    assert!(record.plan.rounds.iter().all(|round| round.len() == 2), "they take turns");
    if !is_invalid(&record) {
        assert_eq!(ended.code, Some(11), "{ended:?}");
        // If the machine stalls for a block, the median is inconclusive; the CPU time never is.
        let changes = || sides.differences.iter().map(|it| it.change);
        assert!(changes().any(|it| it == Change::Worse), "{:?}", sides.differences);
        assert!(changes().all(|it| it != Change::Better), "{:?}", sides.differences);
        let first = ended.stdout.lines().next().unwrap_or_default();
        assert!(first.starts_with("✗ at most 50% worse: "), "{ended:?}");
        assert!(ended.stdout.contains("HEAD is slower: "), "{ended:?}");
    }
    assert_eq!(left_of(&sandbox), "", "both have ended with the run");

    // The record has the commands, so it can be repeated; a regression as large as this one exceeds any limit.
    let again = sandbox.run("run ab.json --rounds 6 -o again.json");
    assert!([Some(11), Some(12)].contains(&again.code), "{again:?}");
    assert_eq!(record_in(&sandbox, "again.json").kind, Kind::Ab);
}

#[test]
fn a_server_against_itself_is_two_processes_or_one_url_twice() {
    let sandbox = Sandbox::new();
    let command = started("");
    let mut words = sandbox.command("ab tcp://127.0.0.1:9 --aa --rounds 6 -o aa.json");
    words.args(LOAD).args(["--start-base", &command]);
    Running::start(words).wait().check_measured(&[]);
    let record = record_in(&sandbox, "aa.json");
    assert!(record.sides.as_ref().is_some_and(|sides| sides.is_same));
    let [base, head] = &record.plan.workloads[..] else { panic!("{:?}", record.plan) };
    assert_ne!(base.target, head.target, "a process each, at ports that were free");
    if !is_invalid(&record) {
        let conclusion = record.conclusion.unwrap_or_default();
        let is_told = ["The same server on both sides", "A false alarm: "]
            .iter()
            .any(|words| conclusion.starts_with(words));
        assert!(is_told, "{conclusion}");
    }

    let server = Server::start(&sandbox, "tcp");
    let mut words = sandbox.command(&format!("ab {} --aa --rounds 6 -o url.json", server.url));
    words.args(LOAD);
    Running::start(words).wait().check_measured(&[]);
    let record = record_in(&sandbox, "url.json");
    assert!(record.sides.is_some_and(|sides| sides.is_same));
    let cpu = &record.results[1].pooled.server_cpu_us_per_message;
    assert!(cpu.is_some(), "the server is found by its socket");
}

#[test]
fn a_side_that_does_not_start_ends_it_with_its_last_words() {
    let sandbox = Sandbox::new();
    let check = |base: &str, more: &[&str], words: &[&str]| {
        let ended = both(&sandbox, [base, &started("")], "", more);
        ended.check(15, words);
        ended.check_no_result();
        assert_eq!(left_of(&sandbox), "");
    };
    check(
        "no-such-program {port}",
        &[],
        &[
            "base, `no-such-program {port}`, did not start: it ended before it was ready: exit code 127",
            "not found",
        ],
    );
    check(
        "echo the first; echo the last words >&2; exit 3 # {port}",
        &[],
        &["exit code 3; it said:", "the first", "the last words"],
    );
    check(
        "echo waiting; exec sleep 100 # {port}",
        &["--start-timeout", "2s"],
        &["it did not listen at tcp://127.0.0.1:", "within 2 s", "it said:", "waiting"],
    );
    check(&started(""), &["--base-dir", "no/such"], &["did not start: there is no folder no/such"]);
}

#[test]
fn a_side_with_a_ready_line_is_waited_for_until_it_has_printed_it() {
    let sandbox = Sandbox::new();
    let says = |line: &str| format!("{} & {line}; wait", started(""));
    let asked = ["--ready-line", "all warm", "-o", "warm.json"];
    let warm = says("sleep 0.3; echo 'now all warm, go'");
    both(&sandbox, [&says("echo all warm"), &warm], "", &asked).check_measured(&[]);
    let record = record_in(&sandbox, "warm.json");
    assert!(record.blocks.iter().all(|block| block.failed.is_none()), "{:?}", record.blocks);
    for workload in &record.spec.unwrap().workloads {
        let spec::Server::Started(started) = &workload.server else { panic!("{workload:?}") };
        assert_eq!(started.ready_line.as_deref(), Some("all warm"));
    }

    let check = |base: &str, more: &[&str], words: &[&str]| {
        let ended = both(&sandbox, [base, &warm], "", &[&asked[..2], more].concat());
        ended.check(15, words);
        ended.check_no_result();
        assert_eq!(left_of(&sandbox), "");
    };
    check(
        &says("echo nearly warm"),
        &["--start-timeout", "3s"],
        &[
            "did not start: it printed no line with `all warm` within 3 s",
            "does it print another, or take longer?; it said:",
            "nearly warm",
        ],
    );
    check(
        "echo out of memory; exit 3 # {port}",
        &[],
        &["exit code 3, and it printed no line with `all warm`; it said:", "out of memory"],
    );
    // It prints the ready line, but listens nowhere.
    check(
        "echo all warm; exec sleep 100 # {port}",
        &["--start-timeout", "3s"],
        &["it did not listen at tcp://127.0.0.1:", "all warm"],
    );
}

#[test]
fn sides_take_turns_at_a_rate_and_in_a_conversation() {
    let sandbox = Sandbox::new();
    for (scheme, server, load) in [
        ("tcp", "tcp", "--rate 200/s"),
        ("ws", "oracle ws --speak json-rpc", "--conversation json-rpc"),
        ("ws", "oracle ws --speak json-rpc", "--conversation json-rpc --rate 200/s"),
    ] {
        let line = format!("ab {scheme}://127.0.0.1:9 --rounds 6 {load} -c 4 -d 200ms");
        let mut words = sandbox.command(&format!("{line} --warm-up 20ms -o turns.json"));
        let start = started("").replace("serve tcp", &format!("serve {server}"));
        words.args(["--start-base", &start, "--start-head", &format!("{start} ")]);
        Running::start(words).wait().check_measured(&[]);
        let record = record_in(&sandbox, "turns.json");
        let sides = record.sides.expect("two sides were compared");
        assert!(!sides.is_same && sides.differences.iter().any(|it| it.metric == Metric::P50));
        assert_eq!(record.blocks.len(), 12, "{load}: six of each");
        for block in &record.blocks {
            assert!(block.failed.is_none() && block.counts.ok > 0, "{load}: {block:?}");
            assert_eq!(block.counts.planned == 40, load.contains("--rate"), "{:?}", block.counts);
            assert_eq!(block.exchanges.is_empty(), scheme == "tcp", "{load}");
        }
    }
}

#[test]
fn a_side_that_listens_late_is_waited_for() {
    let sandbox = Sandbox::new();
    let late = format!("sleep 0.5; {}", started(""));
    both(&sandbox, [&late, &started("")], "", &["-o", "late.json"]).check_measured(&[]);
    let record = record_in(&sandbox, "late.json");
    assert!(record.blocks.iter().all(|block| block.failed.is_none()), "{:?}", record.blocks);
}

#[test]
fn a_side_that_dies_in_the_middle_stands_in_the_record_with_its_end() {
    let sandbox = Sandbox::new();
    // It lives until a few blocks are in the journal, so it soon dies again after a restart.
    let blocks = "$(cat .wirebench/journals/* | wc -l)";
    let mortal = format!(
        "{} & while [ {blocks} -lt 6 ]; do sleep 0.02; done; kill -9 $!; echo worn out; exit 9",
        started("")
    );
    let ended = both(&sandbox, [&mortal, &started("")], "", &["--rounds", "8", "-o", "died.json"]);
    assert!([Some(12), Some(13)].contains(&ended.code), "{ended:?}");
    let record = record_in(&sandbox, "died.json");
    let failed: Vec<&record::Block> =
        record.blocks.iter().filter(|block| block.failed.is_some()).collect();
    assert!(!failed.is_empty() && failed.iter().all(|block| block.workload == 0));
    let died = |block: &&record::Block| {
        let reason = block.failed.as_deref().unwrap_or_default();
        reason.contains("has ended: exit code 9") && reason.contains("worn out")
    };
    assert!(failed.iter().any(died), "{failed:?}");
    assert_eq!(left_of(&sandbox), "");
}

#[test]
fn a_stranger_is_never_measured_in_the_place_of_a_side() {
    let sandbox = Sandbox::new();
    let stranger = Server::start(&sandbox, "tcp");
    let address = stranger.url.trim_start_matches("tcp://").trim_end_matches('/');
    let base = started("").replace("127.0.0.1:{port}", address);
    let mut words = sandbox.command(&format!("ab {} tcp://127.0.0.1:9 --rounds 6", stranger.url));
    words.args(LOAD).args(["--start-base", &base, "--start-head", &started("")]);
    let ended = Running::start(words).wait();
    ended.check(15, &["did not start: another program listens at", "end it, or name another port"]);
    ended.check_no_result();
}

#[test]
fn a_port_that_another_program_takes_is_chosen_anew_and_told() {
    // A listener is noticed at once; a port that is only bound is reported by the server that cannot bind it.
    for (listens, taken) in [(true, 1), (false, 2)] {
        let sides = Thief::of(taken, listens);
        let ended = sides.compare("{port}");
        ended.check_measured(&[]);
        let record = record_in(&sides.sandbox, "ab.json");
        let told: Vec<&str> = record
            .warnings
            .iter()
            .filter(|warning| warning.code == "port_taken")
            .map(|warning| &warning.evidence[..])
            .collect();
        assert_eq!(told.len(), taken, "{told:?}");
        for (told, port) in told.iter().zip(sides.ports()) {
            let reason = if listens { "another program listens at" } else { "in use" };
            assert!(told.starts_with(&format!("tcp://127.0.0.1:{port}")), "{told}");
            assert!(told.to_lowercase().contains(reason), "{told}");
        }
        assert!(record.blocks.iter().all(|block| block.failed.is_none()), "{:?}", record.blocks);
    }
}

#[test]
fn a_port_is_chosen_three_times_at_most_and_one_of_the_users_own_once() {
    let sides = Thief::of(usize::MAX, true);
    let ended = sides.compare("{port}");
    ended.check(15, &["did not start: another program listens at", "3 free ports"]);
    ended.check_no_result();
    assert_eq!(sides.ports().len(), 3);

    let own = engine::free_port([127, 0, 0, 1].into()).unwrap();
    let sides = Thief::of(usize::MAX, true);
    let ended = sides.compare(&own.to_string());
    ended.check(15, &["did not start: another program listens at"]);
    assert!(!ended.stderr.contains("free ports"), "{ended:?}");
    assert_eq!(sides.ports(), [own]);
}

/// A server started by a script, and a thief who takes the first ports given to it before it can bind them.
struct Thief {
    sandbox: Sandbox,
    /// The ports to take.
    count: usize,
    /// True if the thief listens on them; otherwise it only binds them.
    listens: bool,
}

impl Thief {
    fn of(count: usize, listens: bool) -> Self {
        let sandbox = Sandbox::new();
        let program = env!("CARGO_BIN_EXE_wirebench");
        // It waits for its file `answered.PORT`: by then the port has been taken, or left alone.
        let script = format!(
            "echo $1 >> asked\nwhile [ ! -e answered.$1 ]; do sleep 0.01; done\n\
             exec '{program}' serve tcp --listen 127.0.0.1:$1\n"
        );
        std::fs::write(sandbox.path().join("server.sh"), script).unwrap();
        Self { sandbox, count, listens }
    }

    /// The ports given to the server so far.
    fn ports(&self) -> Vec<u16> {
        let asked = std::fs::read_to_string(self.sandbox.path().join("asked")).unwrap_or_default();
        asked
            .split_inclusive('\n')
            .filter_map(|line| line.strip_suffix('\n')?.parse().ok())
            .collect()
    }

    /// Compares the server at `port` with an undisturbed one.
    fn compare(&self, port: &str) -> Ended {
        let base = if port == "{port}" { "9" } else { port };
        let urls = format!("tcp://127.0.0.1:{base} tcp://127.0.0.1:9");
        let mut words = self.sandbox.command(&format!("ab {urls} --rounds 6"));
        let base = format!("exec sh server.sh {port}");
        words.args(LOAD).args(["--start-base", &base, "--start-head", &started("")]);
        words.args(["-o", "ab.json"]);
        let mut run = Running::start(words);
        let mut taken = Vec::new();
        let mut answered = 0;
        while !run.has_ended() {
            for port in self.ports().into_iter().skip(answered) {
                if answered < self.count {
                    taken.push(take(port, self.listens));
                }
                let answer = self.sandbox.path().join(format!("answered.{port}"));
                std::fs::write(answer, "").unwrap();
                answered += 1;
            }
            pause();
        }
        run.wait()
    }
}

/// Takes a port until the returned socket is dropped.
fn take(port: u16, listens: bool) -> OwnedFd {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, listen, socket_with, sockopt};
    let (family, kind) = (AddressFamily::INET, SocketType::STREAM);
    let taken = socket_with(family, kind, SocketFlags::CLOEXEC, None).unwrap();
    // With SO_REUSEADDR, a recent connection of another test on this port does not keep the listener from binding it.
    // Without a listener, it would let the server bind the port too.
    sockopt::set_socket_reuseaddr(&taken, listens).unwrap();
    bind(&taken, &std::net::SocketAddr::from(([127, 0, 0, 1], port))).unwrap();
    if listens {
        listen(&taken, 1).unwrap();
    }
    taken
}

#[test]
fn what_cannot_be_compared_is_refused_before_anything_runs() {
    let sandbox = Sandbox::new();
    let server = "exec true";
    let run = |line: &str, more: &[&str]| {
        let mut words = sandbox.command(&format!("ab {line}"));
        words.args(more);
        Running::start(words).wait()
    };
    let one = "ws://127.0.0.1:9";
    run(one, &[]).check(2, &["BASE and HEAD are the same server"]);
    run(one, &["--aa", "--start-base", server])
        .check(2, &["would listen at one port; write {port}"]);
    run(one, &["--start-base", server, "--start-head", "exec false"])
        .check(2, &["start: row `head` listens at ws://127.0.0.1:9/ too"]);
    run(one, &["--start-base", server]).check(2, &["row `head` listens at "]);
    run(&format!("{one} ws://127.0.0.1:8 --bots 1k,2k"), &[])
        .check(2, &["--bots: 2 loads were asked for, and two sides are compared under one"]);
    run(&format!("{one} ws://127.0.0.1:8 --start-timeout 1s"), &[])
        .check(2, &["--start-timeout: no server is started"]);
    run(&format!("{one} ws://127.0.0.1:8"), &["--ready-line", "up"])
        .check(2, &["--ready-line: no server is started"]);
    run(one, &["--start-head", "x {port}", "--ready-line", ""])
        .check(2, &["ready-line: \"\" is not part of a line"]);
    run("ws://127.0.0.1:99999 ws://127.0.0.1:8", &[]).check(2, &["`99999` is not a port"]);
    run("unix:a.sock", &["--start-base", "x {port}", "--start-head", "y {port}"])
        .check(2, &["start: unix:a.sock has no port to replace with {port}"]);
}

#[test]
fn a_file_has_sides_that_are_started_too() {
    let sandbox = Sandbox::new();
    let file = |text: &str| std::fs::write(sandbox.path().join("x.toml"), text).unwrap();
    let rows = "[[row]]\nname = 'old'\nurl = 'ws://127.0.0.1:9'\nstart = './old {port}'\nfolder = 'a'\n\
        [[row]]\nname = 'new'\nurl = 'ws://127.0.0.1:9'\nstart = './new {port}'\nready-line = 'up'\n\
        start-timeout = '2m'\n";
    file(&format!("baseline = 'old'\nmax-regression = '3%'\n{rows}"));
    let ended = sandbox.run("run x.toml --dry-run");
    ended.check(0, &[]);
    let asked: spec::Experiment = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(asked.sides(), Some([0, 1]));
    assert_eq!(asked.regression_max.map(|it| it.to_string()), Some("3%".to_owned()));
    let spec::Server::Started(new) = &asked.workloads[1].server else { panic!("{asked:?}") };
    assert_eq!((&new.row[..], &new.command[..], &new.folder), ("new", "./new {port}", &None));
    assert_eq!(
        (new.ready_line.as_deref(), new.start_timeout.to_string()),
        (Some("up"), "2m".into())
    );

    file(&format!("max-regression = '3%'\n{rows}"));
    sandbox.run("run x.toml").check(2, &["max-regression: needs two sides"]);
    file("[[row]]\nurl = 'ws://127.0.0.1:9'\nfolder = 'a'\n");
    sandbox.run("run x.toml").check(2, &["x.toml:3:", "`folder` is where `start` is run"]);
    file("[[row]]\nurl = 'ws://127.0.0.1:9'\nready-line = 'up'\n");
    sandbox.run("run x.toml").check(2, &["x.toml:3:", "`ready-line` is printed by the program"]);
    file("[[row]]\nurl = 'ws://127.0.0.1:9'\nstart = 'x'\nready-line = \"a\\nb\"\n");
    sandbox
        .run("run x.toml")
        .check(2, &["x.toml:4:", "ready-line: \"a\\nb\" is not part of a line"]);
    file("[[row]]\nserver = 'embedded'\ntransport = 'ws'\nstart = 'x'\n");
    sandbox.run("run x.toml").check(2, &["x.toml:4:", "`start` needs the `url`"]);
}

/// Starts both commands, each at a free port, and measures them briefly.
fn both(sandbox: &Sandbox, [base, head]: [&str; 2], line: &str, more: &[&str]) -> Ended {
    let rounds = if more.contains(&"--rounds") { "" } else { "--rounds 6" };
    let mut command = sandbox.command(&format!("ab tcp://127.0.0.1:9 {rounds} {line}"));
    command.args(LOAD).args(["--start-base", base, "--start-head", head]).args(more);
    Running::start(command).wait()
}

/// The command line that starts one of our own servers.
pub(crate) fn started(options: &str) -> String {
    let program = env!("CARGO_BIN_EXE_wirebench");
    format!("'{program}' serve tcp --listen 127.0.0.1:{{port}} {options}")
}

/// The processes that were started in the folder of the sandbox and still run.
fn left_of(sandbox: &Sandbox) -> String {
    let folder = sandbox.path().canonicalize().unwrap();
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let is_left = |entry: &std::fs::DirEntry| {
        std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd == folder)
    };
    let names =
        all.filter(is_left).filter_map(|it| std::fs::read_to_string(it.path().join("comm")).ok());
    names.collect()
}

fn record_in(sandbox: &Sandbox, name: &str) -> RunRecord {
    record_of(&std::fs::read_to_string(sandbox.path().join(name)).unwrap())
}

const LOAD: [&str; 6] = ["-c", "20", "-d", "100ms", "--warm-up", "20ms"];
