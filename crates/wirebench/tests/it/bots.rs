//! Bots of the load-test game against `serve game`, and packets of a user's own definition.

use crate::harness::{Running, Sandbox, Server};
use record::{Block, Little, RunRecord};
use rustix::process::Signal;
use serde_json::Value;
use spec::{Expect, Load};
use units::Nanos;

/// The time from one message of a bot to the next.
const EVERY: Nanos = Nanos::from_millis(100);

#[test]
fn on_every_way_all_events_reach_all_players_at_their_tables() {
    for (tls, threads, bots) in [(false, 1, 50), (true, 1, 50), (false, 2, 100), (true, 3, 50)] {
        let game = Game::start_with(tls, &format!("--threads {threads}"));
        let mut events = 0;
        for url in &game.urls {
            // All tables are full of bots. A busy machine only makes them late.
            let line = format!(
                "{url} --bots {bots} --every 100ms -d 500ms --warm-up 100ms --drain 10s --timeout 30s --last-replies"
            );
            let record = game.run(&line);
            let block = &record.blocks[0];
            let pushed = block.pushed.unwrap();
            assert_eq!(pushed.whole.events, bots * 6, "{url}");
            assert_eq!(pushed.whole.replies, pushed.whole.events, "{url}");
            assert_eq!(pushed.whole.deliveries, pushed.whole.events * 4, "{url}");
            check_whole(block, bots * 5);
            let workload = &record.plan.workloads[0];
            let asked = &workload.spec;
            assert_eq!((&asked.expect, workload.size_bytes), (&Expect::InSequence, 22));
            assert!(matches!(asked.load, Load::Bots { every, .. } if every == EVERY));
            assert!(block.last_1000_mean_ns.is_some() && block.last_1000_mean_ms.is_some());
            assert_eq!(block.tls.is_some(), tls, "{url}");
            let sent = block.wire.sent.unwrap();
            assert_eq!(sent.payload_bytes % 22, 0, "{url}");
            assert!(sent.encoding_bytes > 0, "{url}");
            events += pushed.whole.events;
        }
        let totals = game.stop();
        // One more bot over each transport verified before anything was timed, alone at its table.
        assert_eq!(count(&totals, "events"), events + 3);
        assert_eq!(count(&totals, "deliveries"), events * 5 + 3);
        assert_eq!(count(&totals, "sequence_errors"), 0);
        assert_eq!(count(&totals, "logins"), 3 * (bots + 1));
        assert_eq!(count(&totals, "logged_in_remotely"), 0);
        // The sums over all threads; each bot over Comet has two connections.
        let sessions = ["binary", "websocket", "comet"].map(|way| count(&totals, way));
        assert_eq!(sessions, [bots + 1; 3], "{totals}");
        assert!(count(&totals, "connections") >= 4 * bots, "{totals}");
        assert_eq!(count(&totals, "slow_players"), 0);
    }
}

#[test]
fn bots_that_wait_for_replies_leave_out_what_they_waited() {
    let game = Game::start(false);
    // At most one event every 140 ms instead of every 100 ms: three or four per bot in 500 ms.
    let line = format!(
        "{} --bots 10 --every 100ms --closed --event-delay 40ms -d 500ms --warm-up 200ms --threads 2",
        game.urls[0]
    );
    let record = game.run(&line);
    let block = &record.blocks[0];
    let load = &record.plan.workloads[0].spec.load;
    assert!(matches!(load, Load::ClosedBots { think, .. } if *think == EVERY), "{load:?}");
    assert!(block.open_loop.is_none() && block.round_trip.is_some());
    let counts = block.counts;
    assert!(counts.sent <= 40 && counts.sent == counts.planned, "{counts:?}");
    assert!(matches!(block.little, Little::NotChecked { .. } | Little::Checked { .. }));
    std::fs::write(game.sandbox.path().join("closed.json"), record.to_json()).unwrap();
    let page = game.sandbox.run("show closed.json --details").stdout;
    for word in
        ["10 bots, each a message 100 ms after the reply", "left out", "to others at the table"]
    {
        assert!(page.contains(word), "no {word:?} in {page}");
    }
}

#[test]
fn steps_of_bots_have_players_of_their_own_and_some_hear_of_the_lobby() {
    let game = Game::start(false);
    let line = format!(
        "{} --bots 10,5 --every 100ms -d 300ms --warm-up 0s --lobby 20% --first-player 500 --connect-rate 500/s",
        game.urls[1]
    );
    let record = game.run(&line);
    let opened: Vec<u64> = record.blocks.iter().map(|block| block.connections.opened).collect();
    assert_eq!(opened, [10, 5]);
    let totals = game.stop();
    assert_eq!(count(&totals, "logged_in_remotely"), 0);
    assert!(count(&totals, "lobby_snapshots") > 0, "{totals}");
}

#[test]
fn a_server_of_something_else_is_told_from_a_game() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, "ws");
    let address = server.url.trim_start_matches("ws://").trim_end_matches('/');
    for scheme in ["game", "game-ws", "game-comet"] {
        let ended = sandbox.run(&format!("run {scheme}://{address} --timeout 1s -d 100ms"));
        ended.check(15, &["does not answer as expected", "nothing was timed"]);
        ended.check_no_result();
    }
    let game = Game::start(false);
    let address = game.urls[0].trim_start_matches("game://");
    let ended = sandbox.run(&format!("run ws://{address} --timeout 1s -d 100ms"));
    ended.check(15, &["nothing was timed"]);
}

#[test]
fn packets_of_a_definition_are_packed_and_come_back() {
    let sandbox = Sandbox::new();
    let definition = sandbox.path().join("chess.xml");
    std::fs::write(&definition, DEFINITION).unwrap();
    let json = r#"{"to":"e4","classId":3,"from":"e2","clock":90000}"#;
    std::fs::write(sandbox.path().join("move.json"), json).unwrap();
    for (serve, size) in [("styx", 1 + 4 + 4 + 4), ("ws", 49)] {
        let server = Server::start(&sandbox, serve);
        let line = format!(
            "run {} -c 2 -n 100 --codec chess.xml --payload @move.json --output -",
            server.url
        );
        let ended = sandbox.run(&line);
        ended.check_measured(&[]);
        let record = crate::harness::record_of(&ended.stdout);
        assert_eq!(record.blocks[0].counts.ok, 100, "{serve}");
        let workload = &record.plan.workloads[0];
        assert_eq!((workload.size_bytes, &workload.spec.expect), (size, &Expect::Echo), "{serve}");
    }
    let refused =
        sandbox.run(r#"run styx://127.0.0.1:9 --codec chess.xml --payload {"classId":9}"#);
    refused.check(2, &["--codec: chess.xml: --payload: "]);
}

/// A game server at its three addresses.
struct Game {
    sandbox: Sandbox,
    process: Running,
    /// Binary, WebSocket, Comet.
    urls: Vec<String>,
    options: &'static str,
}

impl Game {
    fn start(tls: bool) -> Self {
        Self::start_with(tls, "")
    }

    fn start_with(tls: bool, options: &str) -> Self {
        let sandbox = Sandbox::new();
        let secure = if tls { " --tls --ca-out ca.pem" } else { "" };
        let line = format!(
            "serve game --listen 127.0.0.1:0 --web 127.0.0.1:0 --json --quiet{secure} {options}"
        );
        let mut process = Running::start(sandbox.command(&line));
        let mut url = || process.line().trim().strip_prefix("ready ").unwrap().to_owned();
        let urls = vec![url(), url(), url()];
        let options = if tls { " --ca ca.pem" } else { "" };
        Self { sandbox, process, urls, options }
    }

    fn run(&self, line: &str) -> RunRecord {
        let ended = self.sandbox.run(&format!("run {line}{} --output -", self.options));
        ended.check_measured(&[]);
        crate::harness::record_of(&ended.stdout)
    }

    /// Ends the process and returns the report that it prints last.
    fn stop(self) -> Value {
        self.process.send(Signal::TERM);
        let said = self.process.wait().stdout;
        serde_json::from_str(said.lines().last().unwrap()).unwrap()
    }
}

/// The number with this name, anywhere in the server's report.
fn count(totals: &Value, name: &str) -> u64 {
    fn find(value: &Value, name: &str) -> Option<u64> {
        let fields = value.as_object()?;
        let here = fields.get(name).and_then(Value::as_u64);
        here.or_else(|| fields.values().find_map(|inner| find(inner, name)))
    }
    find(totals, name).unwrap_or_else(|| panic!("no {name} in {totals}"))
}

/// Checks that everything that was due was sent and answered.
fn check_whole(block: &Block, planned: u64) {
    let counts = block.counts;
    assert_eq!((counts.planned, counts.sent, counts.ok), (planned, planned, planned), "{counts:?}");
    assert_eq!(block.errors, []);
}

const DEFINITION: &str = r#"<protocol>
    <struct name="move" id="3">
        <var name="from" type="string"/>
        <var name="to" type="string"/>
        <var name="clock" type="int32"/>
    </struct>
</protocol>
"#;
