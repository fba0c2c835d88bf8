//! Conversations over HTTP through the binary: every response and every stream of a known server is found.

use crate::harness::{Ended, Sandbox, Server};
use crate::peers::{Peer, Stream};
use record::{Block, Counts, RunRecord};
use std::io::{Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};

#[test]
fn a_mix_of_requests_finds_every_response_of_a_known_server() {
    static ASKED: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];
    let peer = Peer::start(|stream, _| {
        let mut has_cookie = false;
        loop {
            let (asked, body) = request(stream)?;
            assert_eq!(asked.contains("\r\nCookie: sid=7\r\n"), has_cookie, "{asked}");
            assert!(asked.contains("\r\nX-Bench: yes\r\n"), "{asked}");
            let count = |kind: usize| ASKED[kind].fetch_add(1, Ordering::Relaxed);
            match asked.split_once(" HTTP/1.1").unwrap().0 {
                "GET /list?page=2" => {
                    has_cookie = true;
                    count(0);
                    answer(stream, "200 OK", "Set-Cookie: sid=7; HttpOnly\r\n", "[]")?;
                }
                "POST /items" => {
                    assert!(body.starts_with("{\"id\":") && body.len() == 15, "{body}");
                    // Every tenth is refused, after the one that verifies.
                    match count(1) {
                        0 => answer(stream, "201 Created", "", "{\"ok\":true}")?,
                        n if n % 10 == 0 => answer(stream, "200 OK", "", "{\"error\":1}")?,
                        _ => answer(stream, "201 Created", "", "{\"ok\":true}")?,
                    }
                }
                "DELETE /gone" => match count(2) {
                    n if n % 5 == 4 => answer(stream, "503 No", "Retry-After: 1\r\n", "busy")?,
                    _ => answer(stream, "404 Not Found", "", "")?,
                },
                other => panic!("{other}"),
            }
        }
    });
    let file = r#"
speaks = "http"
headers = { X-Bench = "yes" }
[request.list]
weight = 2
http = "GET /list?page=2"
[request.create]
http = "POST /items"
body = '{"id":${id}}'
reply = { status = 201, "$.ok" = true }
refused = { has = "$.error" }
[request.delete]
http = "DELETE /gone"
reply = { status = 404 }
"#;
    let (ended, records) = run(file, &format!("{} -n 400 -c 1 --warm-up 0s", peer.url("http")));
    assert_eq!(records.len(), 1, "{ended:?}");
    let block = &records[0].blocks[0];
    let kinds: Vec<(&str, Counts)> =
        block.exchanges.iter().map(|kind| (kind.name.as_str(), kind.counts)).collect();
    let of = |sent, refused| Counts {
        planned: sent,
        sent,
        ok: sent - refused,
        refused,
        ..Counts::default()
    };
    // One of each kind verified. Of 100 created, numbers 10, 20, ... 100 are refused; of 100 deleted, 4, 9, ... 99.
    assert_eq!(kinds, [("list", of(200, 0)), ("create", of(100, 10)), ("delete", of(100, 20))]);
    let Counts { planned, sent, ok, refused, error, timed_out, unsent, .. } = block.counts;
    assert_eq!((planned, sent, ok, refused), (400, 400, 370, 30));
    assert_eq!((error, timed_out, unsent), (0, 0, 0));
    let shown = ["30 x refused", "Retry-After 1 s"];
    assert!(shown.iter().all(|words| ended.stdout.contains(words)), "{ended:?}");
}

#[test]
fn what_a_login_gives_goes_with_every_request() {
    static LOGINS: AtomicU64 = AtomicU64::new(0);
    let peer = Peer::start(|stream, _| {
        loop {
            let (asked, body) = request(stream)?;
            if asked.starts_with("POST /login HTTP/1.1\r\n") {
                let number = LOGINS.fetch_add(1, Ordering::Relaxed);
                let cookie = format!("Set-Cookie: sid={number}; Path=/\r\n");
                answer(stream, "200 OK", &cookie, &format!("{{\"token\":\"t{number}\"}}"))?;
                continue;
            }
            // Token and cookie must come from the same login.
            let after =
                |name: &str| asked.split_once(name).and_then(|(_, rest)| rest.split_once("\r\n"));
            let token = after("\r\nX-Token: t").map(|(token, _)| token);
            let sid = after("\r\nCookie: sid=").map(|(sid, _)| sid);
            let status = if token.is_some() && token == sid { "200 OK" } else { "401 No" };
            answer(stream, status, "", &body)?;
        }
    });
    let file = r#"
speaks = "http"
headers = { X-Token = "${token}" }
[[before]]
http = "POST /login"
body = '{"user":"bot${client}"}'
take = { token = "$.token" }
[request.get]
http = "GET /mine"
"#;
    let (ended, records) = run(file, &format!("{} -n 40 -c 4 --warm-up 0s", peer.url("http")));
    assert_eq!(records.len(), 1, "{ended:?}");
    let all = Counts { planned: 40, sent: 40, ok: 40, ..Counts::default() };
    assert_eq!(records[0].blocks[0].counts, all, "{ended:?}");
    assert_eq!(LOGINS.load(Ordering::Relaxed), 5, "one for each connection, and one verifies");
}

#[test]
fn a_stream_is_its_events_and_its_end_and_one_that_breaks_off_is_an_error() {
    static STREAMS: AtomicU64 = AtomicU64::new(0);
    let peer = Peer::start(|stream, _| {
        loop {
            let (asked, _) = request(stream)?;
            assert!(asked.starts_with("GET /events HTTP/1.1\r\n"), "{asked}");
            assert!(asked.contains("\r\nAccept: text/event-stream\r\n"), "{asked}");
            let number = STREAMS.fetch_add(1, Ordering::Relaxed);
            stream.write_all(STREAM_HEAD)?;
            for token in 0..20 {
                chunk(stream, &format!(": beat\n\nid: {token}\ndata: {token}\n\n"))?;
            }
            match number {
                30 => return Ok(()),                    // It ends within the response.
                7 => chunk(stream, "data: [END]\n\n")?, // Another end.
                _ => chunk(stream, "data: [DONE]\n\n")?,
            }
            stream.write_all(b"0\r\n\r\n")?;
        }
    });
    let file = "speaks = \"sse\"\n[request.stream]\nhttp = \"GET\"\neach = {}\nlast = { is = \"[DONE]\" }\n";
    let (ended, records) =
        run(file, &format!("{}/events -n 30 -c 1 --warm-up 0s", peer.url("http")));
    assert_eq!(records.len(), 1, "{ended:?}");
    let block = &records[0].blocks[0];
    let Counts { planned, sent, ok, refused, error, timed_out, unsent, .. } = block.counts;
    assert_eq!((planned, sent), (30, 30), "{ended:?}");
    assert_eq!((ok, error, refused, timed_out, unsent), (28, 2, 0, 0, 0), "{ended:?}");
    let parts = block.exchanges[0].parts.as_ref().unwrap();
    // Twenty events of each, and the unexpected end, which is an event as well.
    assert_eq!(parts.count, 30 * 20 + 1);
    assert_eq!(parts.first.as_ref().map(|times| times.count), Some(30));
    assert_eq!(parts.between.as_ref().map(|times| times.count), Some(30 * 19 + 1));
    let words: Vec<&str> = ended.stdout.split_whitespace().collect();
    let words = words.join(" ");
    let shown = [
        "the stream of events broke off after 20 events",
        "the stream ended without the event that `last` describes",
    ];
    assert!(shown.iter().all(|shown| words.contains(shown)), "{ended:?}");
}

/// Runs 40 requests of `conversation`, checks that each gets its complete stream, and returns their block.
fn forty_streams(
    sandbox: &Sandbox,
    server: &Server,
    conversation: &str,
    trusts: &str,
) -> (Ended, Block) {
    let ended = sandbox.run(&format!(
        "run {} --conversation {conversation} -n 40 -c 4 --warm-up 0s {trusts}",
        server.url
    ));
    let mut records = sandbox.records();
    assert_eq!(records.len(), 1, "{ended:?}");
    let block = records.remove(0).blocks.remove(0);
    let counts = Counts { planned: 40, sent: 40, ok: 40, ..Counts::default() };
    assert_eq!(block.counts, counts, "{ended:?}");
    (ended, block)
}

/// Ends a server and returns the totals that it then prints.
fn totals_of(server: Server) -> serde_json::Value {
    server.process.send(rustix::process::Signal::TERM);
    serde_json::from_str(&server.process.wait().stdout).unwrap()
}

#[test]
fn every_event_of_a_known_server_of_streams_is_found() {
    for (kind, publishes, trusts) in [("http", "", ""), ("https", "--ca-out ca.pem", "--ca ca.pem")]
    {
        let sandbox = Sandbox::new();
        let line = format!("oracle {kind} --events 20 --first 2ms --gap 1ms --json {publishes}");
        let server = Server::start(&sandbox, &line);
        let (_, block) = forty_streams(&sandbox, &server, "sse", trusts);
        // The event after the twenty is `[DONE]`, which ends the stream.
        let parts = block.exchanges[0].parts.as_ref().unwrap();
        assert_eq!(parts.count, 40 * 20);
        assert_eq!(parts.first.as_ref().map(|times| times.count), Some(40));
        assert_eq!(parts.between.as_ref().map(|times| times.count), Some(40 * 19));
        let totals = totals_of(server);
        assert_eq!(totals["messages"], 41, "the first one verifies: {totals}");
    }
}

#[test]
fn streams_that_break_off_are_resumed_and_their_events_add_up() {
    for (kind, publishes, trusts) in [("http", "", ""), ("https", "--ca-out ca.pem", "--ca ca.pem")]
    {
        let sandbox = Sandbox::new();
        let file = "speaks = \"sse\"\n[request.stream]\nhttp = \"GET\"\neach = {}\n\
            last = { is = \"[DONE]\" }\nresume = 3\n";
        std::fs::write(sandbox.path().join("it.toml"), file).unwrap();
        let line = format!(
            "oracle {kind} --events 20 --break-after 7 --retry 2ms --gap 1ms --json {publishes}"
        );
        let server = Server::start(&sandbox, &line);
        let (ended, block) = forty_streams(&sandbox, &server, "./it.toml", trusts);
        let parts = block.exchanges[0].parts.as_ref().unwrap();
        // After events 6 and 13 of each.
        assert_eq!((parts.count, parts.resumed), (40 * 20, 40 * 2), "{ended:?}");
        assert_eq!(block.connections.lost, 0);
        let shown = ["events/s", "of one stream", "resumed"];
        assert!(shown.iter().all(|head| ended.stdout.contains(head)), "{ended:?}");
        let talk = format!("talk {} --conversation ./it.toml {trusts}", server.url);
        let talk = sandbox.run(&talk);
        talk.check(0, &[]);
        assert!(talk.stdout.contains("Last-Event-ID: 13"), "{talk:?}");
        let totals = totals_of(server);
        // One request more verifies, and `talk` sends another.
        assert_eq!(totals["messages"], 42, "{totals}");
        assert_eq!(totals["faults"]["broken_off_streams"], 42 * 2, "{totals}");
    }
}

#[test]
fn a_stream_that_is_asked_for_as_a_page_is_named() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, "oracle http --events 3");
    let ended = sandbox.run(&format!("run {} -n 10 -c 1", server.url));
    let named = ["Is it server-sent events at /: ", "--conversation sse", "--expect-status 200"];
    ended.check(15, &named);
    ended.check_no_result();
    let line = format!("run {} -n 10 -c 1 --warm-up 0s --expect-status 200", server.url);
    let ended = sandbox.run(&line);
    assert_eq!(sandbox.records()[0].blocks[0].counts.ok, 10, "{ended:?}");
}

#[test]
fn a_server_that_is_not_as_described_is_told_before_anything_is_timed() {
    let streams =
        "speaks = \"sse\"\n[request.stream]\nhttp = \"GET /\"\neach = { has = \"$.t\" }\n";
    let page = "speaks = \"http\"\n[request.page]\nhttp = \"GET /\"\nreply = { \"$.ok\" = true }\n";
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    #[rustfmt::skip]
    let table: [(&str, String, &str); 7] = [
        (page,    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}".to_owned(), "the body is not the one that `reply` describes"),
        (page,    "HTTP/1.1 302 Found\r\nLocation: /in\r\nContent-Length: 0\r\n\r\n".to_owned(), "refused with status 302: \"/in\""),
        (page,    "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}".to_owned(), "the connection ended 2 bytes into a body"),
        (page,    format!("{chunked}zz\r\n"), "in a size of a chunked body"),
        (streams, format!("{chunked}a\r\ndata: {{}}\n\n\r\n0\r\n\r\n"), "the stream ended without an event that `first` describes"),
        (streams, format!("{chunked}9\r\ndata: 1\n\n\r\n"), "the stream of events broke off after 0 events"),
        (streams, "HTTP/1.1 429 Slow\r\nRetry-After: 9\r\nContent-Length: 0\r\n\r\n".to_owned(), "refused with status 429, Retry-After 9 s"),
    ];
    for (file, response, words) in table {
        let peer = Peer::start(move |stream, _| {
            request(stream)?;
            stream.write_all(response.as_bytes())
        });
        let (ended, records) = run(file, &format!("{} -n 1 -c 1", peer.url("http")));
        ended.check(15, &["does not answer as expected", words]);
        assert!(records.is_empty(), "{words}");
    }
}

fn run(file: &str, line: &str) -> (Ended, Vec<RunRecord>) {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path().join("it.toml"), file).unwrap();
    let ended = sandbox.run(&format!("run {line} --conversation ./it.toml"));
    (ended, sandbox.records())
}

/// The head and the body of the next request.
fn request(stream: &mut Stream) -> std::io::Result<(String, String)> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let len = head.split_once("Content-Length: ").and_then(|(_, rest)| rest.lines().next());
    let mut body = vec![0; len.map_or(0, |len| len.parse().unwrap())];
    stream.read_exact(&mut body)?;
    Ok((head, String::from_utf8(body).unwrap()))
}

fn answer(stream: &mut Stream, status: &str, fields: &str, body: &str) -> std::io::Result<()> {
    let len = body.len();
    write!(stream, "HTTP/1.1 {status}\r\n{fields}Content-Length: {len}\r\n\r\n{body}")
}

fn chunk(stream: &mut Stream, data: &str) -> std::io::Result<()> {
    write!(stream, "{:x}\r\n{data}\r\n", data.len())
}

const STREAM_HEAD: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
