//! Conversations by hand, with embedded and with scripted servers.

use crate::harness::{Ended, Running, Sandbox, Server};
use crate::peers::{Peer, head, open_websocket};
use std::io::{Read, Write};
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
fn a_conversation_is_played_as_its_page_shows() {
    let page = include_str!("../../../../docs/CONVERSATIONS.md");
    let shown = page.split("```text\n").nth(1).unwrap().split("```").next().unwrap();
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, "oracle ws --speak json-rpc");
    let ended = talk(&sandbox, &format!("{} --conversation json-rpc", server.url), "");
    ended.check(0, &[]);
    let shape = |text: &str| -> Vec<String> {
        let line = |line: &str| match (line.split_once(" ms "), line.split_once("answered after "))
        {
            (Some((_, rest)), _) if rest.starts_with("= connected") => "connected".to_owned(),
            (Some((_, rest)), _) => rest.to_owned(),
            (None, Some((before, rest))) => format!("{before}{}", rest.split_once(';').unwrap().1),
            (None, None) => line.to_owned(),
        };
        text.lines().map(line).collect()
    };
    assert_eq!(shape(&ended.stdout), shape(shown));
}

/// A conversation in lines: a greeting, two kinds of requests, pushes, answers, a farewell, and a secret.
const LINES: &str = r#"
speaks = "tcp"
frame = "lines"
[vars]
key = { env = "CHAT_KEY" }
[[open]]
expect = { starts = "hello" }
[[open]]
send = "login ${key}"
expect = { starts = "welcome" }
refused = { is = "denied" }
[request.ask]
send = "ask ${id}"
reply = { id = 're ${id}.' }
refused = { id = 'no ${id}.' }
[request.tell]
send = "tell"
reply = "none"
[push.news]
when = { starts = "news" }
[answer.ping]
when = { is = "ping" }
send = "pong"
[close]
send = "bye"
expect = { is = "bye" }
"#;

/// A conversation that logs in twice, and then asks once.
const LOGIN: &str = r#"
speaks = "ws"
path = "/chat?ticket=${ticket}"
[vars]
key = { env = "CHAT_KEY" }
[[before]]
http = "POST /login"
body = '{"key":"${key}"}'
take = { sid = "$.sid" }
[[before]]
http = "GET /ticket?sid=${sid}&key=${key}"
take = { ticket = "$.ticket" }
[request.ask]
send = "ask ${id}"
reply = { id = 're ${id}.' }
"#;

/// Plays `LOGIN` with a server that answers both exchanges on one connection, the first with `status`. If that is 0, it
/// sends nothing.
fn logged_in(status: u16, options: &str) -> Ended {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path().join("chat.toml"), LOGIN).unwrap();
    let peer = Peer::start(move |stream, number| {
        if number > 0 {
            let mut socket = open_websocket(stream)?;
            while let Ok(message) = socket.read() {
                if let Some(id) = message.to_text().ok().and_then(|text| text.strip_prefix("ask "))
                {
                    let reply = format!("re {id}.");
                    socket.send(reply.into()).map_err(std::io::Error::other)?;
                }
            }
            return Ok(());
        }
        head(stream)?;
        stream.read_exact(&mut [0; r#"{"key":"open sesame"}"#.len()])?;
        if status != 0 {
            write!(stream, "HTTP/1.1 {status} -\r\nContent-Length: 11\r\n\r\n{{\"sid\":\"a\"}}")?;
            head(stream)?;
            stream.write_all(b"HTTP/1.1 200 -\r\nContent-Length: 14\r\n\r\n{\"ticket\":\"b\"}")?;
        }
        crate::peers::silence(stream)
    });
    let line = format!("talk {} --conversation ./chat.toml --wait 100ms {options}", peer.url("ws"));
    let mut command = sandbox.command(&line);
    command.env("CHAT_KEY", "open sesame");
    Running::start(command).wait()
}

#[test]
fn the_exchanges_before_a_conversation_are_shown_whole() {
    let ended = logged_in(200, "");
    ended.check(0, &[]);
    let messages = texts(&ended);
    let host = messages[2].strip_prefix("> Host: ").unwrap();
    let connected = format!("= connected to {host}");
    let exchange = |number: u8| format!("exchange {number} of 2 before the connection");
    assert_eq!(
        messages,
        [
            &connected,
            &format!("> {}: POST /login HTTP/1.1", exchange(1)),
            &format!("> Host: {host}"),
            "> Content-Type: application/json",
            "> Content-Length: 21",
            r#"> {"key":"***"}"#,
            &format!("< {}: HTTP/1.1 200 -", exchange(1)),
            "< Content-Length: 11",
            r#"< {"sid":"a"}"#,
            &format!("> {}: GET /ticket?sid=a&key=*** HTTP/1.1", exchange(2)),
            &format!("> Host: {host}"),
            &format!("< {}: HTTP/1.1 200 -", exchange(2)),
            "< Content-Length: 14",
            r#"< {"ticket":"b"}"#,
            &connected,
            "= open",
            "> request `ask`: ask 10000000",
            "< reply to `ask`: re 10000000.",
            "= closed with code 1000 \"\"",
        ]
    );
}

#[test]
fn a_login_that_is_refused_or_not_answered_ends_what_is_played() {
    let step = "exchange 1 of 2 before the connection, POST /login: ";
    let refused = logged_in(403, "");
    refused.check(
        15,
        &["does not answer as expected", step, "HTTP status 403, expected the status 2xx: \"{"],
    );
    assert!(refused.stdout.contains("HTTP/1.1 403 -") && !refused.stdout.contains("= open"));
    let silent = logged_in(0, "--timeout 1s");
    silent.check(15, &[step, "nothing came within 2 s, expected the status 2xx"]);
    assert!(!format!("{refused:?} {silent:?}").contains("sesame"));
}

/// The words of a server, each sent once it has received the given number of lines.
type Replies = &'static [(usize, &'static str)];

/// Plays `LINES` with a server that sends `replies`.
fn played(replies: Replies, options: &str) -> Ended {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path().join("chat.toml"), LINES).unwrap();
    let peer = Peer::start(move |stream, _| {
        let mut lines = std::io::BufRead::lines(std::io::BufReader::new(stream.try_clone()?));
        let mut count = 0;
        for (at, said) in replies {
            while count < *at {
                let Some(line) = lines.next() else { return Ok(()) };
                line?;
                count += 1;
            }
            stream.write_all(said.as_bytes())?;
        }
        for line in lines {
            line?;
        }
        Ok(())
    });
    let url = peer.url("tcp");
    let line = format!("talk {url} --conversation ./chat.toml --wait 1s {options}");
    let mut command = sandbox.command(&line);
    command.env("CHAT_KEY", "open sesame");
    Running::start(command).wait()
}

#[test]
fn every_message_of_a_conversation_is_shown_with_its_part() {
    let ended = played(
        &[
            (0, "hello\n"),
            (1, "news 1\nwelcome open sesame\n"),
            (2, "re 10000000.\n"),
            (3, "ping\nnews 2\n"),
            (5, "bye\n"),
        ],
        "",
    );
    ended.check(0, &[]);
    let messages = texts(&ended);
    assert!(messages[0].starts_with("= connected to 127.0.0.1:"), "{ended:?}");
    assert_eq!(
        messages[1..],
        [
            "< step 1 of 2: hello",
            "> step 2 of 2: login ***",
            "< push `news`: news 1",
            "< step 2 of 2: welcome ***",
            "= open",
            "> request `ask`: ask 10000000",
            "< reply to `ask`: re 10000000.",
            "> request `tell`: tell",
            "< wants `ping`: ping",
            "> answer `ping`: pong",
            "< push `news`: news 2",
            "> farewell: bye",
            "< farewell: bye",
            "= closed",
        ]
    );
    let found = ended.stdout.lines().filter(|line| line.starts_with(['r', 'p']));
    let found: Vec<&str> = found.map(|line| line.split(" after ").next().unwrap()).collect();
    assert_eq!(
        found,
        [
            "request `ask`: answered",
            "request `tell`: sent; it has no reply",
            "push `news`: 2 received"
        ]
    );
}

#[test]
fn a_mistake_in_a_conversation_is_told_with_its_place_and_what_came() {
    #[rustfmt::skip]
    let table: [(Replies, &str, &[&str]); _] = [
        (&[(0, "hi \x1b\n")], "",
         &["step 1 of 2 of opening: got \"hi \\x1b\", expected a message that starts with \"hello\""]),
        (&[(0, "hello\n"), (1, "denied\n")], "", &["step 2 of 2 of opening: the server refuses: \"denied\""]),
        (&[(0, "hello\n"), (1, "you said open sesame\n")], "", &["step 2 of 2 of opening: got \"you said ***\""]),
        (&[], "--timeout 1s", &["step 1 of 2 of opening: nothing came within 2 s, expected a message that starts"]),
        (&[(0, "hello\n"), (1, "welcome\n"), (2, "re 10000001.\n")], "--timeout 1s",
         &["request `ask` (1 of 2): no reply came within 1 s, expected its id between \"re \" and \".\"",
           "the last message that matched nothing was \"re 10000001.\"", "silence"]),
    ];
    for (replies, options, expected) in table {
        let ended = played(replies, options);
        ended.check(15, expected);
        assert!(!format!("{ended:?}").contains("sesame"), "{ended:?}");
    }
    let refused =
        played(&[(0, "hello\n"), (1, "welcome\n"), (2, "no 10000000.\nwhat\n"), (4, "bye\n")], "");
    refused.check(15, &[]);
    assert!(refused.stdout.contains("< refusal of `ask`: no 10000000."), "{refused:?}");
    assert!(refused.stdout.contains("< unexpected: what"), "{refused:?}");
    assert!(refused.stdout.contains("unexpected: 1 received; a [push.NAME]"), "{refused:?}");
}

#[test]
fn a_stream_of_events_is_shown_part_by_part() {
    let sandbox = Sandbox::new();
    let peer = Peer::start(|stream, _| {
        head(stream)?;
        let fields = "Content-Type: text/event-stream\r\nTransfer-Encoding: chunked";
        write!(stream, "HTTP/1.1 200 OK\r\n{fields}\r\n\r\n")?;
        for count in 1..=3 {
            // All at once: a part is shown as it arrives.
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
fn requests_of_http_and_their_streams_are_shown() {
    let sandbox = Sandbox::new();
    let line = "oracle http --events 2 --first 1ms --gap 1ms";
    let server = Server::start(&sandbox, line);
    let ended = talk(&sandbox, &format!("{} --conversation sse", server.url), "");
    ended.check(0, &[]);
    let said = texts(&ended);
    let parts: Vec<&str> = said.iter().filter_map(|text| text.split(": ").next()).collect();
    let (event, end) = ("< event of `stream`", "< reply to `stream`");
    assert_eq!(parts[2..6], ["> request `stream`", event, event, end], "{said:?}");
    assert!(said[2].contains("GET / HTTP/1.1\\r\\n") && said[5].ends_with("[DONE]"), "{said:?}");
    let file = "speaks = \"http\"\n[request.other]\nhttp = \"GET /x\"\nreply = { contains = \"none\" }\n\
                [request.status]\nhttp = \"GET /y\"\nreply = { status = 404 }\n";
    std::fs::write(sandbox.path().join("two.toml"), file).unwrap();
    let ended = talk(&sandbox, &format!("{} --conversation ./two.toml", server.url), "");
    ended.check(15, &[]);
    for words in [
        "< wrong reply to `other`: HTTP/1.1 200 OK",
        "< refusal of `status`: HTTP/1.1 200 OK",
        "request `other`: answered after ",
        "request `status`: refused after ",
    ] {
        assert!(ended.stdout.contains(words), "{words}: {ended:?}");
    }
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
