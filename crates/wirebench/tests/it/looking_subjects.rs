//! Third-party servers, looked at by `wirebench URL`: the table of docs/LOOKING.md.
//!
//! Each look takes some seconds, because connections are opened slowly:
//! `cargo test -p wirebench --test it looking_subjects -- --ignored --nocapture` prints the table, if
//! `WIREBENCH_INSTALLED` names the folder where the subjects are installed.

use crate::harness::{Sandbox, say_skipped};
use crate::third_party::{Server, installed_subjects};
use std::io::Write as _;

#[test]
#[ignore = "some minutes, for connections are a second apart: cargo test -p wirebench -- --ignored what_is_said_of_each"]
fn what_is_said_of_each_server_is_right_and_it_goes_on_serving() {
    if installed_subjects().is_none() {
        return;
    }
    let mut rows = String::new();
    let mut wrong = Vec::new();
    for (name, looks) in SUBJECTS {
        let Some(server) = Server::start(name) else { return say_skipped(name) };
        for (scheme, path, expected) in *looks {
            let own = server.url(scheme, "");
            let host = own.split('/').nth(2).unwrap_or_default();
            let url = format!("{scheme}://{host}{path}");
            let ended = Sandbox::new().run(&format!("{url} -n 3 -c 1 --timeout 1s --seed 1"));
            let said = words(&ended.stdout, &ended.stderr);
            if !said.contains(expected) {
                wrong.push(format!("{name} {scheme}://…{path}: {said}\n  expected {expected}"));
            }
            rows += &format!("| {name} | `{scheme}://…{path}` | {said} |\n");
        }
    }
    print(&rows);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The finding: what is measured, according to the page, or else the question in the error.
fn words(page: &str, error: &str) -> String {
    let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((_, rest)) = page.split_once("\nfound ") {
        let lines = rest.lines().enumerate();
        let own = lines.take_while(|(index, line)| *index == 0 || line.starts_with("    "));
        return format!("measured: {}", flat(&own.map(|(_, line)| line).collect::<String>()));
    }
    let (_, rest) = error.split_once("nothing was timed. ").unwrap_or(("", error));
    let end = rest.find(". What ").unwrap_or(rest.len());
    let said = flat(&rest[..end]);
    // Ports differ from run to run.
    let mut words: Vec<String> = said.split(' ').map(str::to_owned).collect();
    for word in &mut words {
        if let Some((scheme, rest)) = word.split_once("://127.0.0.1:") {
            let path =
                rest.find(|letter: char| !letter.is_ascii_digit()).map_or("", |at| &rest[at..]);
            *word = format!("{scheme}://…{path}");
        }
    }
    words.join(" ")
}

#[expect(clippy::explicit_write, reason = "what the macros print is hidden when a test passes")]
fn print(rows: &str) {
    writeln!(std::io::stderr(), "{rows}").unwrap();
}

/// A scheme, a path, and a part of the right finding.
type Look = (&'static str, &'static str, &'static str);

#[rustfmt::skip]
const SUBJECTS: &[(&str, &[Look])] = &[
    ("node-ws",           &[("ws", "/", "measured: an echo")]),
    ("python-websockets", &[("ws", "/", "measured: an echo")]),
    ("nginx", &[
        ("http", "/64",   "measured: HTTP: GET is answered with 2xx, 64 B"),
        ("http", "/none", "Nothing is there"),
        ("http", "/",     "--expect-status 403"),
        ("ws",   "/64",   "a server with an unknown protocol"),
    ]),
    ("redis", &[
        ("tcp",  "",      "Redis (resp)"),
        ("http", "/",     "Is it an HTTP/1.1 server?"),
    ]),
    ("mosquitto",         &[("tcp", "", "use --conversation mqtt")]),
    ("aedes", &[
        ("tcp",  "",      "use --conversation mqtt"),
        ("ws",   "/mqtt", "--conversation mqtt-ws"),
    ]),
    ("nats", &[
        ("tcp",   "",     "run tcp://… --conversation nats"),
        ("lines", "",     "run tcp://… --conversation nats"),
        ("ws",    "/",    "--conversation nats-ws"),
    ]),
    ("centrifugo",        &[("ws", "/", "--conversation centrifugo")]),
    ("nexus",             &[("ws", "/", "--conversation wamp")]),
    ("actioncable",       &[("ws", "/cable", "--conversation actioncable")]),
    ("artemis", &[
        ("tcp",  "",      "STOMP (stomp-tcp)"),
        ("ws",   "/",     "--conversation stomp"),
    ]),
    ("graphql-ws",        &[("ws", "/graphql", "--conversation graphql-ws")]),
    ("jayson", &[
        ("ws",   "/",     "--conversation json-rpc"),
        ("tcp",  "",      "JSON-RPC in lines (ndjson)"),
    ]),
    ("rpc-websockets",    &[("ws", "/", "--conversation json-rpc")]),
    ("socketio", &[
        ("socketio", "/", "measured: an echo"),
        ("ws",   "/socket.io/?EIO=4&transport=websocket", "--conversation socketio"),
        ("ws",   "/",     "Is it Socket.IO 4: it answers at /socket.io/"),
    ]),
    ("fastapi", &[
        ("http", "/",     "Is it server-sent events at /: "),
        ("http", "/items", "It wants another method"),
        ("ws",   "/chat", "Access is denied without a reason"),
    ]),
    ("fakellm", &[
        ("http", "/",     "Nothing is there"),
        ("http", "/v1/chat/completions", "--conversation openai-stream"),
    ]),
    ("sockjs", &[
        ("sockjs", "/echo", "measured: an echo"),
        ("ws",   "/echo/websocket", "WebSocket that waits for the client to speak first"),
        ("ws",   "/echo", "SockJS"),
    ]),
];
