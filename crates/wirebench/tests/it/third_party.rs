//! Runs against servers that we did not write: a misreading of a standard that our client shares with our servers
//! would pass every other test.
//!
//! `tests/third_party` of the repository has them; `cargo xtask check` installs them and says where they are.

use crate::harness::{Ended, Running, Sandbox, record_of, say_skipped};
use record::{Block, Connections, Counts, MessageKind, RunRecord};
use std::path::PathBuf;
use std::process::{Command, Stdio};

#[test]
fn node_ws_answers_every_message() {
    check_websocket("node-ws");
}

#[test]
fn python_websockets_answers_every_message() {
    check_websocket("python-websockets");
}

#[test]
fn nginx_answers_every_request_and_counted_as_many() {
    let Some(server) = Server::start("nginx") else { return };
    let file = server.url("http", "/64-bytes.txt");
    let expected = server.folder.join("www/64-bytes.txt");
    let get = format!("{file} --method GET --expect @{} --json", expected.display());
    let before = requests_of_nginx(&server);

    let (ended, record) = run(&format!("{get} -n 500 -c 5"));
    ended.check_measured(&[]);
    check_counts(&record, 500, 5);
    let (ended, record) = run(&format!("{get} --clients 40 --concurrency 4 --round-trips 5"));
    ended.check_measured(&[]);
    check_counts(&record, 200, 40);

    // Both runs asked once before, and so did the request for the number itself.
    assert_eq!(requests_of_nginx(&server) - before, 500 + 1 + 200 + 1 + 1);
}

#[test]
fn nginx_refuses_what_it_does_not_do_and_is_named_for_that() {
    let Some(server) = Server::start("nginx") else { return };
    let sandbox = Sandbox::new();
    let file = server.url("http", "/64-bytes.txt");
    #[rustfmt::skip]
    let table = [
        (file.clone(),                                        "refused with status 405: \"<html>"),
        (format!("{file} --method GET --expect nothing"),     "64 bytes came back, expected 7"),
        (format!("{} --method GET", server.url("http", "/none")), "refused with status 404: \"<html>"),
        (server.url("ws", "/64-bytes.txt"),                   "status 200 instead of an upgrade"),
        (format!("{} --seed 7", server.url("tcp", "")),       r#""HTTP/1.1 400 Bad Request"#),
    ];
    for (line, named) in table {
        let ended = sandbox.run(&line);
        ended.check(15, &["does not answer as expected", named]);
        ended.check_no_result();
    }
    assert_eq!(sandbox.records(), []);
}

/// Sends messages of every kind of length that WebSocket frames have.
fn check_websocket(name: &str) {
    let Some(server) = Server::start(name) else { return };
    let url = server.url("ws", "/any/path?x=1");
    for size in [1, 64, 126, 65_536] {
        for (option, kind) in [("--binary", MessageKind::Binary), ("--text", MessageKind::Text)] {
            let (ended, record) = run(&format!("{url} --size {size}B {option} -n 200 -c 4 --json"));
            ended.check_measured(&[]);
            let message = &record.plan.workloads[0].message;
            assert_eq!((message.kind, message.size_bytes), (kind, size));
            check_counts(&record, 200, 4);
        }
    }
    let (ended, record) = run(&format!("{url} --in-flight 16 -n 800 -c 2 --json"));
    ended.check_measured(&[]);
    check_counts(&record, 800, 2);
    // The close handshake is a part of each of these.
    let (ended, record) = run(&format!("{url} --clients 40 --round-trips 5 --json"));
    ended.check_measured(&[]);
    check_counts(&record, 200, 40);
    let closed = only_block(&record).phases.close.as_ref().map(|times| times.count);
    assert_eq!(closed, Some(40));
}

/// That all messages were answered as they should be, on so many connections.
fn check_counts(record: &RunRecord, messages: u64, connections: u64) {
    let block = only_block(record);
    let (planned, sent, ok) = (messages, messages, messages);
    assert_eq!(block.counts, Counts { planned, sent, ok, ..Counts::default() }, "{block:?}");
    let (asked, opened) = (connections, connections);
    assert_eq!(block.connections, Connections { asked, opened, ..Connections::default() });
    assert_eq!(block.errors, []);
}

fn run(line: &str) -> (Ended, RunRecord) {
    let ended = Sandbox::new().run(line);
    let record = record_of(&ended.stdout);
    (ended, record)
}

fn only_block(record: &RunRecord) -> &Block {
    let [block] = &record.blocks[..] else { panic!("{} blocks", record.blocks.len()) };
    block
}

/// How many requests nginx says to have had, the one that asks included.
fn requests_of_nginx(server: &Server) -> u64 {
    use std::io::{Read as _, Write as _};
    let mut stream = crate::peers::Stream::connect(&server.address).unwrap();
    stream.write_all(b"GET /status HTTP/1.0\r\n\r\n").unwrap();
    let mut status = String::new();
    stream.read_to_string(&mut status).unwrap();
    // "server accepts handled requests", and below it their numbers.
    let mut lines = status.lines().skip_while(|line| !line.starts_with("server accepts"));
    lines.nth(1).unwrap().split_whitespace().nth(2).unwrap().parse().unwrap()
}

/// A server that we did not write; ended when dropped.
struct Server {
    _process: Running,
    folder: PathBuf,
    address: String,
}

impl Server {
    /// Starts it. `None`, and a word about it, where nobody has said that the servers are installed.
    fn start(name: &str) -> Option<Self> {
        #[expect(clippy::disallowed_methods, reason = "how xtask tells us")]
        let Ok(all) = std::env::var(VARIABLE) else {
            say_skipped(&format!("{name}: {VARIABLE} is not set; `cargo xtask check` does it"));
            return None;
        };
        let folder = PathBuf::from(all).join(name);
        let mut command = Command::new(folder.join("start"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = Running::start(command);
        let ready = process.line();
        let address = ready.strip_prefix("ready ").unwrap_or_else(|| panic!("{name}: {ready:?}"));
        Some(Self { address: address.trim().to_owned(), _process: process, folder })
    }

    fn url(&self, scheme: &str, path: &str) -> String {
        format!("{scheme}://{}{path}", self.address)
    }
}

/// Where they are installed, each as `NAME/start`; see `tests/third_party/README.md`.
const VARIABLE: &str = "WIREBENCH_THIRD_PARTY";
