//! Conversations by hand, with embedded servers and with servers that do what a test says.

use crate::harness::{Ended, Running, Sandbox, Server};
use crate::peers::{Peer, head};
use std::io::Write;
use std::process::Stdio;

#[test]
fn every_transport_is_talked_to() {
    for (serve, options) in [
        ("tcp", ""),
        ("tcp-framed", ""),
        ("lines", ""),
        ("ws", ""),
        ("wss --ca-out ca.pem", "--ca ca.pem"),
        ("tls --ca-out ca.pem", "--insecure"),
    ] {
        let sandbox = Sandbox::new();
        let server = Server::start(&sandbox, serve);
        let ended = talk(&sandbox, &format!("{} {options}", server.url), "one\ntwo\n");
        ended.check(0, &[]);
        let said = texts(&ended);
        let mine: Vec<&str> = said.iter().filter_map(|text| text.strip_prefix("> ")).collect();
        assert_eq!(mine.len(), 2, "{serve}: {said:?}");
        let theirs: String = said.iter().filter_map(|text| text.strip_prefix("< ")).collect();
        assert_eq!(theirs, mine.concat(), "{serve}: an echo, in as many pieces as it likes");
        assert!(said[0].starts_with("= connected to 127.0.0.1:"), "{said:?}");
    }
}

#[test]
fn a_line_of_http_is_a_request_and_the_whole_response_is_shown() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, "http");
    let ended = talk(&sandbox, &server.url, "PUT /a hello\n");
    ended.check(0, &[]);
    let said = texts(&ended).join("\n");
    assert!(said.contains("> PUT /a HTTP/1.1\n"), "{said}");
    assert!(said.contains("> hello\n") && said.contains("\n< HTTP/1.1 200 OK\n"), "{said}");
    assert!(said.trim_end().ends_with("< hello"), "{said}");
    let page = talk(&sandbox, &server.url, "");
    assert!(texts(&page).iter().any(|text| text == "> GET / HTTP/1.1"), "{page:?}");
}

#[test]
fn what_a_server_says_is_shown_as_it_arrives_and_escaped() {
    let sandbox = Sandbox::new();
    let peer = Peer::start(|stream, _| {
        stream.write_all(b"hi \x1b[2J\x07")?;
        crate::peers::silence(stream)
    });
    let ended = talk(&sandbox, &format!("{} --wait 300ms", peer.url("tcp")), "");
    ended.check(0, &[]);
    assert_eq!(texts(&ended)[1], "< hi \\u{1b}[2J\\u{7}");
}

#[test]
fn a_stream_of_events_is_shown_part_by_part() {
    let sandbox = Sandbox::new();
    let peer = Peer::start(|stream, _| {
        head(stream)?;
        let fields = "Content-Type: text/event-stream\r\nTransfer-Encoding: chunked";
        write!(stream, "HTTP/1.1 200 OK\r\n{fields}\r\n\r\n")?;
        for count in 1..=3 {
            // At once: a part is shown as it arrives.
            stream.write_all(format!("9\r\ndata: {count}\n\n\r\n").as_bytes())?;
        }
        stream.write_all(b"0\r\n\r\n")
    });
    let ended = talk(&sandbox, &peer.url("http"), "/events\n");
    ended.check(0, &[]);
    let said = texts(&ended).concat();
    assert!(said.contains("data: 1\\n\\n") && said.contains("data: 3\\n\\n"), "{ended:?}");
}

#[test]
fn a_server_that_says_nothing_or_is_not_there_is_told() {
    let sandbox = Sandbox::new();
    let deaf = Peer::start(|stream, _| crate::peers::silence(stream));
    let ended = talk(&sandbox, &format!("{} --wait 100ms", deaf.url("tcp")), "hello\n");
    ended.check(15, &["said nothing within 100 ms", "--wait"]);
    let ended = talk(&sandbox, "tcp://127.0.0.1:1", "hello\n");
    ended.check(15, &["cannot reach", "connection refused"]);
    let other = Peer::start(|stream, _| {
        head(stream)?;
        stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
    });
    let ended = talk(&sandbox, &other.url("ws"), "hello\n");
    ended.check(15, &["does not answer as expected", "404"]);
    talk(&sandbox, "game://127.0.0.1:1", "").check(2, &["talk by themselves"]);
    talk(&sandbox, "tcp://192.0.2.1:9", "").check(14, &["--i-may-load-this-target"]);
    talk(&sandbox, "nonsense", "").check(2, &["nonsense"]);
}

#[test]
fn bytes_are_typed_in_hexadecimal_digits() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, "ws");
    let ended = talk(&sandbox, &format!("{} --hex", server.url), "00 ff\nx\n01\n");
    ended.check(0, &["a line is not hexadecimal digits"]);
    let said = texts(&ended);
    assert_eq!(said.iter().filter(|text| *text == "< 00ff").count(), 1, "{said:?}");
    assert_eq!(said.iter().filter(|text| *text == "< 01").count(), 1, "{said:?}");
}

fn talk(sandbox: &Sandbox, line: &str, input: &str) -> Ended {
    let mut command = sandbox.command(&format!("talk {line}"));
    command.stdin(Stdio::piped());
    let mut running = Running::start(command);
    running.tell(input);
    running.end_input();
    running.wait()
}

/// The lines of stdout without their times.
fn texts(ended: &Ended) -> Vec<String> {
    let text = |line: &str| line.split_once(" ms ").map(|(_, text)| text.to_owned());
    ended.stdout.lines().filter_map(text).collect()
}
