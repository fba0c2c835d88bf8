//! `wirebench serve game`: its three addresses, its output, and third-party clients.

use crate::harness::{Running, Sandbox};
use crate::third_party::{installed, run_client};
use rustix::process::Signal;
use serde_json::Value;

#[test]
fn a_game_server_says_its_three_ways_in() {
    for (options, schemes) in [
        ("", ["game", "game-ws", "game-comet"]),
        ("--tls", ["game-tls", "game-wss", "game-comet-tls"]),
    ] {
        let game = Game::start(&format!("{options} -q"));
        for ((scheme, path), url) in schemes.iter().zip(["", "/socket", "/cometd"]).zip(&game.urls)
        {
            assert!(url.starts_with(&format!("{scheme}://127.0.0.1:")), "{url}");
            assert!(url.ends_with(path), "{url}");
        }
        let totals = game.end();
        assert_eq!(totals["connections"], 0);
        assert_eq!(totals["tls_handshakes"].is_object(), options == "--tls");
    }
}

#[test]
fn bots_play_over_every_way_in_and_the_server_counted_as_many() {
    let sandbox = Sandbox::new();
    for options in ["", "--tls"] {
        let game = Game::start(&format!("--tables 4 {options} -q"));
        for (number, url) in game.urls.iter().enumerate() {
            let insecure = if options.is_empty() { "" } else { "--insecure" };
            let first = 1 + 1000 * number;
            let line = format!(
                "run {url} {insecure} --bots 8 --every 50ms --warm-up 100ms --duration 500ms \
                 --first-player {first} -q"
            );
            sandbox.run(&line).check_measured(&[]);
        }
        let totals = game.end();
        let count = |name: &str| totals[name].as_u64().unwrap();
        assert_eq!(
            (count("sequence_errors"), count("bad_packets"), count("slow_players")),
            (0, 0, 0)
        );
        // Only those of the measurements.
        assert!(count("events") >= 3 * 80, "{totals}");
        assert!(count("deliveries") >= count("events"), "{totals}");
    }
}

#[test]
fn stats_are_said_as_often_as_is_asked() {
    let sandbox = Sandbox::new();
    let line = "serve game --listen 127.0.0.1:0 --web 127.0.0.1:0 --stats-every 10ms";
    let mut server = Running::start(sandbox.command(line));
    for _ in 0..3 {
        server.wait_for_word("0 players, 0 seated; per second: 0 events");
    }
    server.send(Signal::INT);
    let ended = server.wait();
    ended.check(0, &[]);
    assert!(
        ended.stdout.contains("\nserved 0 connections (0 broke the protocol, 0 too slow"),
        "{ended:?}"
    );
}

#[test]
fn further_threads_do_not_share_a_port_with_another_server() {
    let game = Game::start("--threads 2 -q");
    let address = game.urls[0].strip_prefix("game://").unwrap();
    let second = format!("serve game --threads 2 --listen {address} --web 127.0.0.1:0");
    Sandbox::new().run(&second).check(2, &["cannot listen at ", "address already in use"]);
    assert_eq!(game.end()["connections"], 0);
}

#[test]
fn stats_of_all_threads_are_said_together() {
    let sandbox = Sandbox::new();
    let line = "serve game --listen 127.0.0.1:0 --web 127.0.0.1:0 --threads 3 --stats-every 10ms";
    let mut server = Running::start(sandbox.command(line));
    server.wait_for_word("0 players, 0 seated; per second: 0 events");
    server.send(Signal::TERM);
    let ended = server.wait();
    ended.check(0, &[]);
    assert_eq!(ended.stdout.matches("\nserved 0 connections").count(), 1, "{ended:?}");
}

#[test]
fn what_means_nothing_to_a_server_is_refused() {
    let sandbox = Sandbox::new();
    #[rustfmt::skip]
    let table = [
        ("serve ws --tables 3",            "--tables is only for the game server; leave it out, or use serve game"),
        ("serve oracle ws --tls",          "--tls is only for the game server"),
        ("serve game ws",                  "serve game takes no second transport; leave ws out"),
        ("serve game --work 1ms",          "--work does not apply to serve game; leave it out, or use serve ws"),
        ("serve game --drop 1%",           "--drop is only for an oracle; leave it out"),
        ("serve game --ca-out ca.pem",     "--ca-out does not apply to game, which does not use TLS; leave it out, or add --tls"),
        ("serve game --deflate",           "--deflate is only for ws and wss; leave it out"),
        ("serve game --web 8080",          "--web 8080: not an address with a port"),
        ("serve game --seats 128",         "128 is above the limit of 127"),
        ("serve game --tables 0",          "--tables"),
        ("serve tcp --threads 2",          "--threads is only for the game server"),
    ];
    for (line, words) in table {
        sandbox.run(line).check(2, &[words]);
    }
}

#[test]
fn the_comet_client_of_npm_plays_rounds() {
    let Some(folder) = installed("cometd") else { return };
    let game = Game::start("-q");
    let comet = game.urls[2].replace("game-comet", "http");
    let ended = run_client(&folder, &[&comet, "7", "3", "100"]);
    assert_eq!(ended, "100 rounds\n");
    let totals = game.end();
    #[rustfmt::skip]
    let counts = ["logins", "joins", "leaves", "events", "deliveries", "sequence_errors", "bad_packets", "lost_comet_clients"];
    let counts = counts.map(|name| totals[name].as_u64().unwrap());
    assert_eq!(counts, [1, 1, 1, 100, 100, 0, 0, 0], "{totals}");
    assert_eq!(totals["sessions"], serde_json::json!({"binary": 0, "websocket": 0, "comet": 1}));
}

#[test]
fn a_browser_plays_a_round() {
    let Some(folder) = installed("browser") else { return };
    let game = Game::start("-q");
    let (socket, comet) =
        (game.urls[1].replace("game-ws", "ws"), game.urls[2].replace("game-comet", "http"));
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/browser/player.mjs");
    let result: Value =
        serde_json::from_str(&run_client(&folder, &[script, &socket, &comet, "9", "3"])).unwrap();
    assert_eq!(
        result,
        serde_json::json!({
            "statuses": [0, 0, 0],
            "pid": 9,
            "response": 18,
            "classes": [11, 31, 100, 37],
            "close": 1000,
            "handshake": true,
            "said": [],
        })
    );
    let totals = game.end();
    let counts = ["logins", "events", "deliveries", "bad_packets", "broken_connections"];
    assert_eq!(counts.map(|name| totals[name].as_u64().unwrap()), [1, 1, 1, 0, 0]);
}

/// A running game server.
struct Game {
    process: Running,
    /// Binary, WebSocket, Comet.
    urls: [String; 3],
}

impl Game {
    fn start(options: &str) -> Self {
        let line = "serve game --listen 127.0.0.1:0 --web 127.0.0.1:0 --json";
        let mut process = Running::start(Sandbox::new().command(&format!("{line} {options}")));
        let urls = [(); 3].map(|()| {
            let line = process.line();
            line.strip_prefix("ready ").unwrap_or_else(|| panic!("{line:?}")).trim().to_owned()
        });
        Self { process, urls }
    }

    /// Ends the server and returns its totals.
    fn end(self) -> Value {
        self.process.send(Signal::TERM);
        let ended = self.process.wait();
        assert_eq!(ended.code, Some(0), "{ended:?}");
        serde_json::from_str(&ended.stdout).unwrap()
    }
}
