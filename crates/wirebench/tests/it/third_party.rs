//! Runs against third-party servers: a misreading of a standard that our client shares with our servers would pass
//! every other test.
//!
//! They are subjects, in `subjects` of the repository; `cargo xtask check` installs them and says where they are.

use crate::harness::{Ended, PATIENCE, Running, Sandbox, record_of, say_skipped};
use record::{Block, Connections, Counts, RunRecord};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

#[test]
fn node_ws_answers_every_message() {
    check_websocket("node-ws");
}

#[test]
fn python_websockets_answers_every_message() {
    check_websocket("python-websockets");
}

#[test]
fn socket_io_answers_texts_and_bytes_in_a_namespace_over_each_transport() {
    let Some(server) = Server::start("socketio") else { return };
    for scheme in ["socketio", "socketio+polling", "socketio+upgrade"] {
        for path in ["/", "/socket.io/other"] {
            let url = server.url(scheme, path);
            for (kind, is_text) in [("", true), ("--binary", false)] {
                let (ended, record) = run(&format!("{url} {kind} --json -n 100 -c 4"));
                ended.check_measured(&[]);
                check_counts(&record, 100, 4);
                assert_eq!(record.plan.workloads[0].spec.message.text, is_text, "{url}");
            }
        }
        let none = server.url(scheme, "/socket.io/none");
        Sandbox::new().run(&format!("run {none} -n 1 -c 1")).check(15, &["Invalid namespace"]);
    }
}

#[test]
fn the_chat_of_the_pages_logs_in_and_hears_what_others_say() {
    let Some(subjects) = installed_subjects() else { return };
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/CONVERSATIONS.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, file) = page.split_once("```toml\nspeaks").unwrap();
    let file = format!("speaks{}", file.split_once("```").unwrap().0);
    assert!(file.lines().count() <= 30 && file.contains("client % 1000"), "{file}");
    let sandbox = Sandbox::new();
    let chat = sandbox.path().join("chat.toml");
    std::fs::write(&chat, file.replace("client % 1000", "client % 4")).unwrap();
    let start = || {
        let mut command = Command::new("node");
        command.arg("chat.js").current_dir(subjects.join("node-ws"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut server = Running::start(command);
        let port = server.line();
        (server, format!("ws://127.0.0.1:{}", port.trim()))
    };
    let totals = |server: Running| -> serde_json::Value {
        server.send(rustix::process::Signal::TERM);
        let said = server.wait().stdout;
        serde_json::from_str(said.lines().last().unwrap()).unwrap()
    };

    let load = "--bots 20 --every 100ms -d 2s --warm-up 0s";
    for threads in [1, 2] {
        let (server, url) = start();
        let before = sandbox.records().len();
        let ended = sandbox.run(&format!(
            "run {url} --conversation {} {load} --threads {threads}",
            chat.display()
        ));
        let done = totals(server);
        let records = sandbox.records();
        assert_eq!(records.len(), before + 1, "{ended:?}");
        let block = &records.last().unwrap().blocks[0];
        let all = Counts { planned: 400, sent: 400, ok: 400, ..Counts::default() };
        assert_eq!(block.counts, all, "{ended:?}");
        // The message of the verification has a room of its own.
        assert_eq!(
            (&done["logins"], &done["said"], &done["refused"]),
            (&21.into(), &401.into(), &0.into())
        );
        assert_eq!((block.pushes[0].count, &done["heard"]), (1600, &1600.into()), "{done}");
        assert_eq!(block.phases.before.as_ref().map(|times| times.count), Some(20));
        assert!(block.errors.is_empty(), "{:?}", block.errors);
    }

    let (server, url) = start();
    let ended = sandbox.run(&format!("talk {url} --conversation {}", chat.display()));
    ended.check(0, &[]);
    let before = "exchange 1 of 1 before the connection: ";
    for shown in [
        &format!("> {before}POST /login HTTP/1.1"),
        &format!("< {before}HTTP/1.1 200 OK"),
        "< step 1 of 1: {",
        "< reply to `say`: {",
    ] {
        assert!(ended.stdout.contains(shown), "{shown} {ended:?}");
    }
    let done = totals(server);
    assert_eq!((&done["logins"], &done["said"]), (&1.into(), &1.into()));

    let (server, url) = start();
    std::fs::write(&chat, file.replace("secret of", "guess of")).unwrap();
    let ended = sandbox.run(&format!("talk {url} --conversation {}", chat.display()));
    ended.check(15, &["exchange 1 of 1 before the connection, POST /login: HTTP status 401, expected the status 2xx"]);
    let ended = sandbox.run(&format!("run {url} --conversation {} {load}", chat.display()));
    let refused = "exchange 1 of 1 before the connection, POST /login: HTTP status 401, expected the status 2xx";
    ended.check(
        15,
        &["does not answer as expected", refused, "Compare `chat` with what the server expects"],
    );
    assert_eq!(totals(server)["joined"], 0);
}

#[test]
fn nginx_answers_every_request_and_counted_as_many() {
    let Some(server) = Server::start("nginx") else { return };
    let file = server.url("http", "/64");
    let get = format!("{file} --method GET --expect {FILE} --json");
    let before = requests_of_nginx(&server);

    let (ended, record) = run(&format!("{get} -n 500 -c 5"));
    ended.check_measured(&[]);
    check_counts(&record, 500, 5);
    let (ended, record) = run(&format!("{get} --clients 40 --concurrency 4 --round-trips 5"));
    ended.check_measured(&[]);
    check_counts(&record, 200, 40);

    // Both runs verified once before, and the request for the number counts itself.
    assert_eq!(requests_of_nginx(&server) - before, 500 + 1 + 200 + 1 + 1);
}

#[test]
fn nginx_refuses_what_it_does_not_do_and_is_named_for_that() {
    let Some(server) = Server::start("nginx") else { return };
    let sandbox = Sandbox::new();
    let file = server.url("http", "/64");
    #[rustfmt::skip]
    let table = [
        (format!("{file} --echo"),                            "refused with status 405: \"<html>"),
        (format!("{file} --method GET --expect nothing"),     "64 bytes came back, expected 7"),
        (format!("{} --method GET", server.url("http", "/none")), "refused with status 404: \"<html>"),
        (server.url("ws", "/64"),                             "status 200 instead of an upgrade"),
        (format!("{} --seed 7", server.url("tcp", "")),       r#""HTTP/1.1 400 Bad Request"#),
    ];
    for (line, named) in table {
        let ended = sandbox.run(&line);
        ended.check(15, &["does not answer as expected", named]);
        ended.check_no_result();
    }
    assert_eq!(sandbox.records(), []);
}

#[test]
fn nginx_answers_inside_both_versions_of_tls_and_resumes_sessions() {
    let sandbox = Sandbox::new();
    for key in ["ecdsa", "rsa"] {
        let folder = sandbox.path().join(key);
        sandbox.run(&format!("certs {key} --key-type {key}")).check(0, &[]);
        let file = |name: &str| folder.join(name).display().to_string();
        let tls = [
            ("WIREBENCH_TLS_CERT", file("server.pem")),
            ("WIREBENCH_TLS_KEY", file("server-key.pem")),
        ];
        let Some(server) = Server::start_with("nginx", &tls) else { return };
        let get = format!("--method GET --expect {FILE}");
        let url = server.url("https", "/64");
        for version in ["1.2", "1.3"] {
            let trusting = format!("{url} --ca {} --tls-version {version}", file("ca.pem"));
            let (ended, record) = run(&format!("{trusting} {get} --json -n 500 -c 5"));
            ended.check_measured(&[]);
            check_counts(&record, 500, 5);
            for (how, full, resumed) in [("tickets", 0, 40), ("none", 40, 0)] {
                let clients = format!("--clients 40 --concurrency 1 --tls-resumption {how}");
                let (ended, record) = run(&format!("{trusting} {get} --json {clients}"));
                ended.check_measured(&[]);
                check_counts(&record, 40, 40);
                let seen = only_block(&record).tls.as_ref().unwrap();
                assert_eq!((seen.full, seen.resumed), (full, resumed), "{key} {version} {how}");
                assert_eq!(
                    (seen.version.as_str(), seen.alpn.as_deref()),
                    (version, Some("http/1.1"))
                );
            }
        }
        let untrusted = sandbox.run(&format!("{url} --ca {key}/client.pem {get}"));
        untrusted.check(15, &["is not issued by an authority that we trust", "--ca FILE"]);
        let plain = sandbox.run(&format!("{} {get}", url.replace("https:", "http:")));
        plain.check(15, &["refused with status 400", "The server speaks TLS: try https://"]);
    }
}

#[test]
fn a_server_without_tls_that_is_nginx_is_recognised() {
    let Some(server) = Server::start("nginx") else { return };
    let ended = Sandbox::new().run(&format!("{} --insecure", server.url("wss", "/")));
    ended.check(15, &["the peer does not speak TLS: it sent \"HTTP/1.1 400", "Did you mean ws://"]);
}

#[test]
fn node_ws_compresses_with_whatever_parameters_are_agreed_on() {
    // Compresses short messages too, or there would be nothing to see.
    let usual = r#"{"threshold": 0}"#;
    let forgets =
        r#"{"threshold": 0, "serverNoContextTakeover": true, "clientNoContextTakeover": true}"#;
    let narrow = r#"{"threshold": 0, "serverMaxWindowBits": 9, "clientMaxWindowBits": 10}"#;
    #[rustfmt::skip]
    let table = [
        (usual,   "--deflate"),
        (usual,   "--deflate=level=1"),
        (usual,   "--deflate=server_no_context_takeover"),
        (usual,   "--deflate=client_no_context_takeover"),
        (usual,   "--deflate=server_no_context_takeover,client_no_context_takeover"),
        (usual,   "--deflate=server_max_window_bits=10"),
        (usual,   "--deflate=client_max_window_bits"),
        (usual,   "--deflate=client_max_window_bits=9"),
        (usual,   "--deflate=server_no_context_takeover,client_no_context_takeover,server_max_window_bits=9,client_max_window_bits=9"),
        (forgets, "--deflate"),
        (forgets, "--deflate=client_max_window_bits=12"),
        (narrow,  "--deflate=client_max_window_bits"),
        (narrow,  "--deflate=client_max_window_bits=15,server_max_window_bits=15"),
    ];
    let mut ratios = Vec::new();
    for (settings, options) in table {
        let settings = [("WIREBENCH_DEFLATE", settings.to_owned())];
        let Some(server) = Server::start_with("node-ws", &settings) else { return };
        let url = server.url("ws", "/");
        for payload in
            ["--size 1KiB --payload-kind json", "--size 70kB --payload-kind text --binary"]
        {
            let (ended, record) = run(&format!("{url} {options} {payload} -n 200 -c 4 --json"));
            ended.check_measured(&[]);
            check_counts(&record, 200, 4);
            let ratio = only_block(&record).wire.compression_ratio.unwrap();
            assert!(ratio > 1.5, "{settings:?} {options} {payload}: {ratio}");
            ratios.push(ratio);
        }
    }
    // JSON of the first row, and of the row without context takeover on either side.
    assert!(ratios[0] > ratios[8], "{ratios:?}");

    let Some(server) = Server::start("node-ws") else { return };
    let declined = Sandbox::new().run(&format!("{} --deflate", server.url("ws", "/")));
    declined.check(15, &["permessage-deflate", "leave --deflate out"]);
}

#[test]
fn openssl_answers_in_both_versions_and_resumes_sessions() {
    let sandbox = Sandbox::new();
    if sandbox.other("openssl", "version").output().is_err() {
        return say_skipped("there is no openssl");
    }
    sandbox.run("certs certs").check(0, &[]);
    std::fs::write(sandbox.path().join("line"), "a message and its end\n").unwrap();
    std::fs::write(sandbox.path().join("reversed"), "dne sti dna egassem a\n").unwrap();
    // The openssl server answers each line with its reverse.
    let serve =
        "s_server -accept 127.0.0.1:0 -rev -cert certs/server.pem -key certs/server-key.pem";
    for (version, theirs) in [("1.2", "-tls1_2"), ("1.3", "-tls1_3")] {
        let (_server, accept) = openssl(&sandbox, &format!("{serve} {theirs}"));
        let line = format!(
            "tls://{accept} --ca certs/ca.pem --payload @line --expect @reversed --json \
             --clients 20 --concurrency 1 --round-trips 3"
        );
        let ended = sandbox.run(&line);
        ended.check_measured(&[]);
        let record = record_of(&ended.stdout);
        check_counts(&record, 60, 20);
        let seen = only_block(&record).tls.as_ref().unwrap();
        assert_eq!((seen.version.as_str(), seen.full, seen.resumed), (version, 0, 20));
        let other = if version == "1.2" { "1.3" } else { "1.2" };
        let ended = sandbox.run(&format!("tls://{accept} --ca certs/ca.pem --tls-version {other}"));
        ended.check(
            15,
            &["the peer refused the handshake: alert protocol_version", "--tls-version"],
        );
    }
}

#[test]
fn a_server_of_tls_1_2_that_wants_a_client_certificate_is_understood() {
    let sandbox = Sandbox::new();
    if sandbox.other("openssl", "version").output().is_err() {
        return say_skipped("there is no openssl");
    }
    sandbox.run("certs certs").check(0, &[]);
    let serve = "s_server -accept 127.0.0.1:0 -rev -cert certs/server.pem -key certs/server-key.pem -tls1_2 -Verify 1";
    let (_server, accept) = openssl(&sandbox, serve);
    let ended = sandbox.run(&format!("tls://{accept} --ca certs/ca.pem"));
    ended.check(15, &["it requires a client certificate", "--client-cert FILE"]);
}

/// Starts an openssl server, and returns its address.
fn openssl(sandbox: &Sandbox, options: &str) -> (Running, String) {
    let mut server = Running::start(sandbox.other("openssl", options));
    let accept = loop {
        let line = server.line();
        assert_ne!(line, "", "openssl ended");
        if let Some(address) = line.strip_prefix("ACCEPT ") {
            break address.trim().to_owned();
        }
    };
    (server, accept)
}

/// Sends messages for every kind of length that WebSocket frames have.
fn check_websocket(name: &str) {
    let Some(server) = Server::start(name) else { return };
    let url = server.url("ws", "/any/path?x=1");
    for size in [1, 64, 126, 65_536] {
        for (option, is_text) in [("--binary", false), ("--text", true)] {
            let (ended, record) = run(&format!("{url} --size {size}B {option} -n 200 -c 4 --json"));
            ended.check_measured(&[]);
            let workload = &record.plan.workloads[0];
            assert_eq!((workload.spec.message.text, workload.size_bytes), (is_text, size));
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

/// Checks that all messages were answered correctly, on this number of connections.
fn check_counts(record: &RunRecord, messages: u64, connections: u64) {
    let block = only_block(record);
    let (planned, sent, ok) = (messages, messages, messages);
    assert_eq!(block.counts, Counts { planned, sent, ok, ..Counts::default() }, "{block:?}");
    let (asked, started, opened) = (connections, connections, connections);
    assert_eq!(block.connections, Connections { asked, started, opened, ..Connections::default() });
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

/// The number of requests that nginx reports, including this one.
fn requests_of_nginx(server: &Server) -> u64 {
    use std::io::{Read as _, Write as _};
    let mut stream = crate::peers::Stream::connect(server.address("http")).unwrap();
    stream.write_all(b"GET /status HTTP/1.0\r\n\r\n").unwrap();
    let mut status = String::new();
    stream.read_to_string(&mut status).unwrap();
    // "server accepts handled requests", and below it their numbers.
    let mut lines = status.lines().skip_while(|line| !line.starts_with("server accepts"));
    lines.nth(1).unwrap().split_whitespace().nth(2).unwrap().parse().unwrap()
}

/// A subject that answers; ended when dropped.
pub(crate) struct Server {
    _process: Running,
    /// The schemes that it speaks, each with its address.
    services: Vec<(String, String)>,
}

impl Server {
    /// Starts it. `None`, and a message, if `WIREBENCH_INSTALLED` is not set.
    pub(crate) fn start(name: &str) -> Option<Self> {
        Self::start_with(name, &[])
    }

    /// The same with settings in its environment.
    fn start_with(name: &str, settings: &[(&str, String)]) -> Option<Self> {
        let folder = installed_subjects()?.join(name);
        let manifest: lab::Manifest =
            toml::from_str(&std::fs::read_to_string(folder.join("subject.toml")).unwrap()).unwrap();
        let is_secure = settings.iter().any(|(name, _)| *name == "WIREBENCH_TLS_CERT");
        let expected =
            manifest.speaks.iter().filter(|scheme| is_secure || !spec::Scheme::is_secured(scheme));
        let [program, arguments @ ..] = &manifest.start[..] else { panic!("{name}: no start") };
        let is_beside = program.contains('/');
        let beside = folder.join(program);
        let mut command = Command::new(if is_beside { &beside } else { Path::new(program) });
        command.args(arguments).current_dir(&folder).envs(USUAL.iter().copied());
        command.envs(settings.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = Running::start(command);
        let services = expected.map(|_| {
            let ready = process.line();
            let url = ready.strip_prefix("ready ").unwrap_or_else(|| panic!("{name}: {ready:?}"));
            let (scheme, rest) = url.trim().split_once("://").unwrap();
            (scheme.to_owned(), rest.trim_end_matches('/').to_owned())
        });
        let services = services.collect();
        Some(Self { services, _process: process })
    }

    /// The address at which it speaks `scheme`; if there is none, its first address.
    fn address(&self, scheme: &str) -> &str {
        let of_scheme = self.services.iter().find(|(spoken, _)| spoken == scheme);
        &of_scheme.unwrap_or(&self.services[0]).1
    }

    pub(crate) fn url(&self, scheme: &str, path: &str) -> String {
        format!("{scheme}://{}{path}", self.address(scheme))
    }
}

/// The folder with the installed subjects. `None`, and a message, if `WIREBENCH_INSTALLED` is not set.
pub(crate) fn installed_subjects() -> Option<PathBuf> {
    folder_of("WIREBENCH_INSTALLED", "subjects")
}

/// The folder of the client called `name`. `None`, and a message, if `WIREBENCH_THIRD_PARTY` is not set.
pub(crate) fn installed(name: &str) -> Option<PathBuf> {
    folder_of("WIREBENCH_THIRD_PARTY", name).map(|all| all.join(name))
}

/// Runs a third-party client, which has to succeed, and returns its stdout.
pub(crate) fn run_client(folder: &Path, arguments: &[&str]) -> String {
    run_client_with_patience(folder, arguments, PATIENCE)
}

/// The same for a client that takes longer.
pub(crate) fn run_client_with_patience(
    folder: &Path,
    arguments: &[&str],
    patience: Duration,
) -> String {
    let mut command = Command::new(folder.join("start"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let ended = Running::start_with_patience(command, patience).wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended.stdout
}

fn folder_of(variable: &str, what: &str) -> Option<PathBuf> {
    #[expect(clippy::disallowed_methods, reason = "how xtask tells us")]
    let Ok(folder) = std::env::var(variable) else {
        say_skipped(&format!("{what}: {variable} is not set; `cargo xtask check` does it"));
        return None;
    };
    Some(PathBuf::from(folder))
}

/// The settings of every server subject.
const USUAL: [(&str, &str); 4] = [
    ("WIREBENCH_HOST", "127.0.0.1"),
    ("WIREBENCH_PORT", "0"),
    ("WIREBENCH_MESSAGE_MAX", "16777216"),
    ("WIREBENCH_BACKLOG", "4096"),
];
/// The text that nginx serves at `/64`.
const FILE: &str = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
