//! Servers that do not echo: they are looked at, and the error says what they are.

use crate::harness::Sandbox;
use crate::peers::{Peer, Stream, head, open_websocket, silence};
use record::Counts;
use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tungstenite::handshake::server::{Request, Response};
use tungstenite::http::HeaderValue;

#[test]
fn a_server_that_greets_is_known_by_its_greeting() {
    let peer = Peer::start(|stream, _| {
        stream.write_all(b"INFO {\"server_id\":\"x\",\"max_payload\":1048576}\r\n")?;
        silence(stream)
    });
    let line = format!("{} -n 10 -c 1 --timeout 2s", peer.url("tcp"));
    let ended = Sandbox::new().run(&line);
    ended.check(
        15,
        &["Is it NATS: it greets with INFO?", "Then start from the ready-made conversation"],
    );
    ended.check_no_result();
}

#[test]
fn a_server_that_greets_and_then_echoes_is_measured_and_named() {
    for (scheme, greetings, count, what) in [
        ("tcp", "hello\n", 1, "1 line"),
        ("tcp", "hello\r\nyou are welcome\r\n", 2, "2 lines"),
        ("lines", "hello", 1, "1 message"),
        ("ws", "hello", 1, "1 message"),
        ("ws", "hello", 3, "3 messages"),
    ] {
        let messages = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&messages);
        let peer = Peer::start(move |stream, _| match scheme {
            "ws" => {
                let mut socket = open_websocket(stream)?;
                for _ in 0..count {
                    socket.send(greetings.into()).map_err(io::Error::other)?;
                }
                loop {
                    let message = socket.read().map_err(io::Error::other)?;
                    if !message.is_close() {
                        counted.fetch_add(1, Ordering::SeqCst);
                        socket.send(message).map_err(io::Error::other)?;
                    }
                }
            }
            _ => {
                stream.write_all(greetings.as_bytes())?;
                let is_stream = scheme == "tcp";
                if !is_stream {
                    stream.write_all(b"\n")?;
                }
                // A line has its line feed.
                let mut message = vec![0; if is_stream { 64 } else { 65 }];
                loop {
                    stream.read_exact(&mut message)?;
                    counted.fetch_add(1, Ordering::SeqCst);
                    stream.write_all(&message)?;
                }
            }
        });
        let sandbox = Sandbox::new();
        let ended = sandbox.run(&format!("{} -n 40 -c 4", peer.url(scheme)));
        ended.check_measured(&["record: "]);
        let found = format!(
            "greets, then echoes: {what} unasked on each connection, then an echo: the first 64 B came back as sent"
        );
        let page: Vec<&str> = ended.stdout.split_whitespace().collect();
        assert!(page.join(" ").contains(&found), "{scheme}: {ended:?}");
        let [record] = &sandbox.records()[..] else { panic!("{scheme}: {ended:?}") };
        assert_eq!(record.plan.workloads[0].found.as_deref(), Some(&found[..]));
        let [block] = &record.blocks[..] else { panic!("{scheme}: {ended:?}") };
        let counts = Counts { planned: 40, sent: 40, ok: 40, ..Counts::default() };
        assert_eq!((block.counts, block.connections.opened), (counts, 4), "{scheme}");
        // Nothing was sent to find out that it greets.
        assert_eq!(messages.load(Ordering::SeqCst), 41, "{scheme}: one message asks for an echo");
    }
}

#[test]
fn a_server_whose_greetings_have_no_end_is_sent_nothing() {
    let line_after_line: fn(&mut Stream) -> io::Result<()> =
        |stream| (0..5).try_for_each(|_| stream.write_all(b"hello\n"));
    let prompt: fn(&mut Stream) -> io::Result<()> = |stream| stream.write_all(b"hello\nlogin: ");
    for (scheme, greet) in [("tcp", prompt), ("tcp", line_after_line), ("lines", line_after_line)] {
        let received = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&received);
        let peer = Peer::start(move |stream, _| {
            greet(stream)?;
            let mut all = Vec::new();
            // Bytes before an error count too.
            let _end = stream.read_to_end(&mut all);
            counted.fetch_add(all.len(), Ordering::SeqCst);
            Ok(())
        });
        let ended = Sandbox::new().run(&format!("{} -n 10 -c 1", peer.url(scheme)));
        ended.check(15, &["a server that speaks first: \"hello", "[[open]]"]);
        ended.check_no_result();
        assert_eq!(received.load(Ordering::SeqCst), 0, "{ended:?}");
    }
}

#[test]
fn a_websocket_that_answers_something_else_is_named_and_not_asked_again() {
    let peer = Peer::start(|stream, number| {
        let mut socket = tungstenite::accept(stream.try_clone()?).map_err(io::Error::other)?;
        let asked = socket.read().map_err(io::Error::other)?;
        // Only the first connection, which is to be echoed, sends anything.
        assert!(number == 0 || asked.is_close(), "{number}: {asked:?}");
        socket.send("what is that?".into()).map_err(io::Error::other)?;
        silence(stream)
    });
    let ended = Sandbox::new().run(&format!("{} -n 10 -c 1 --text", peer.url("ws")));
    let found = "Is it WebSocket that waits for the client to speak first?";
    ended.check(15, &["bytes came back, expected 64", found, "wirebench talk"]);
    ended.check_no_result();
}

#[test]
fn a_server_that_answers_with_json_is_asked_for_an_id() {
    for (knows_ids, found) in [
        (
            true,
            r#"Is it JSON that returns the id of a request: {"id":"wb-1"} was answered with it at "$.re"?"#,
        ),
        (false, "Is it WebSocket that waits for the client to speak first?"),
    ] {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&asked);
        let peer = Peer::start(move |stream, _| {
            let mut socket = open_websocket(stream)?;
            let message = socket.read().map_err(io::Error::other)?;
            if message.is_close() {
                return Ok(());
            }
            let text = message.to_text().unwrap_or_default().to_owned();
            let is_known = knows_ids && text == r#"{"id":"wb-1"}"#;
            noted.lock().unwrap().push(text);
            let re = if is_known { r#""wb-1""# } else { "null" };
            let answer = format!(r#"{{"error":"what is that?","re":{re}}}"#);
            socket.send(answer.into()).map_err(io::Error::other)?;
            silence(stream)
        });
        let ended = Sandbox::new().run(&format!("{} -n 10 -c 1 --text", peer.url("ws")));
        ended.check(15, &["bytes came back, expected 64", found]);
        let asked = asked.lock().unwrap();
        assert_eq!((asked.len(), &*asked[1]), (2, r#"{"id":"wb-1"}"#), "{asked:?}");
    }
}

#[test]
fn a_websocket_that_cuts_who_does_not_speak_its_subprotocol_is_looked_at() {
    let peer = Peer::start(|stream, number| {
        #[expect(clippy::result_large_err, reason = "the signature is tungstenite's")]
        let choose = |asked: &Request, mut answer: Response| {
            if asked.headers().contains_key("sec-websocket-protocol") {
                let chosen = HeaderValue::from_static("wamp.2.json");
                answer.headers_mut().insert("sec-websocket-protocol", chosen);
            }
            Ok(answer)
        };
        tungstenite::accept_hdr(stream.try_clone()?, choose).map_err(io::Error::other)?;
        if number > 0 {
            return silence(stream);
        }
        stream.peek(&mut [0])?;
        // It cuts the connection without a word, and with the message unread.
        Ok(rustix::net::connect_unspec(&*stream)?)
    });
    let ended = Sandbox::new().run(&format!("{} -n 10 -c 1", peer.url("ws")));
    ended.check(15, &["Is it WAMP: it chose the subprotocol wamp.2.json?", "--conversation wamp"]);
}

#[test]
fn json_rpc_is_known_by_its_reply_and_not_looked_at_again() {
    let error = r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"},"id":null}"#;
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let websocket = Peer::start(move |stream, _| {
        counted.fetch_add(1, Ordering::SeqCst);
        let mut socket = tungstenite::accept(stream.try_clone()?).map_err(io::Error::other)?;
        socket.read().map_err(io::Error::other)?;
        socket.send(error.into()).map_err(io::Error::other)?;
        silence(stream)
    });
    let ended = Sandbox::new().run(&format!("{} -n 10 -c 1 --text", websocket.url("ws")));
    ended.check(15, &["Is it JSON-RPC 2.0", "/ --conversation json-rpc` plays it once"]);
    assert_eq!(count.load(Ordering::SeqCst), 1, "one connection says enough");
    let lines = Peer::start(move |stream, _| {
        writeln!(stream, "{error}")?;
        silence(stream)
    });
    let ended = Sandbox::new().run(&format!("{} -n 10 -c 1", lines.url("tcp")));
    ended.check(15, &["Is it JSON-RPC 2.0", " --conversation ndjson` plays it once"]);
    // As other libraries write it: the version is after the part that errors show.
    let late = r#"{"error": {"code": -32700, "message": "Parse error: it is no JSON"}, "id": null, "jsonrpc": "2.0"}"#;
    let other = Peer::start(move |stream, _| {
        let mut socket = tungstenite::accept(stream.try_clone()?).map_err(io::Error::other)?;
        socket.read().map_err(io::Error::other)?;
        socket.send(late.into()).map_err(io::Error::other)?;
        silence(stream)
    });
    let ended = Sandbox::new().run(&format!("{} -n 10 -c 1", other.url("ws")));
    ended.check(15, &["Is it JSON-RPC 2.0", "/ --conversation json-rpc` plays it once"]);
}

#[test]
fn a_server_that_wants_a_login_is_asked_once() {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let peer = Peer::start(move |stream, _| {
        counted.fetch_add(1, Ordering::SeqCst);
        head(stream)?;
        stream.write_all(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n")?;
        silence(stream)
    });
    let ended = Sandbox::new().run(&format!("{} -n 10 -c 1", peer.url("ws")));
    ended.check(
        15,
        &["status 401 instead of an upgrade", "It wants a login: give it with -H @FILE"],
    );
    assert_eq!(count.load(Ordering::SeqCst), 1, "no second attempt after a refusal");
}

#[test]
fn a_server_that_answers_in_http_is_not_asked_for_tls() {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let peer = Peer::start(move |stream, _| {
        counted.fetch_add(1, Ordering::SeqCst);
        head(stream)?;
        stream.write_all(b"HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n")?;
        silence(stream)
    });
    let ended = Sandbox::new().run(&format!("{} -n 10 -c 1", peer.url("http")));
    ended.check(15, &["refused with status 405", "It wants another method"]);
    let chat = format!("{}/v1/chat/completions", peer.url("http"));
    let ended = Sandbox::new().run(&format!("{chat} -n 10 -c 1"));
    ended.check(
        15,
        &[
            "the path of chat completions",
            &format!("{chat} --conversation openai-stream` plays it"),
        ],
    );
    assert_eq!(count.load(Ordering::SeqCst), 2, "one connection says enough");
}

#[test]
fn an_upgrade_without_an_answer_is_looked_at() {
    let peer =
        Peer::start(|stream, _| match request_line(stream)?.starts_with("GET /socket.io/ ") {
            true => {
                let body = r#"{"code":0,"message":"Transport unknown"}"#;
                let len = body.len();
                write!(stream, "HTTP/1.1 400 Bad Request\r\nContent-Length: {len}\r\n\r\n{body}")?;
                silence(stream)
            }
            false => silence(stream),
        });
    let ended = Sandbox::new().run(&format!("{}/chat -n 10 -c 1 --timeout 2s", peer.url("ws")));
    ended.check(
        15,
        &["no answer to the opening handshake", "Is it Socket.IO 4: it answers at /socket.io/"],
    );
    assert!(
        !ended.stderr.contains("/chat --conversation"),
        "the path is that of Socket.IO: {ended:?}"
    );
}

#[test]
fn a_server_of_another_path_is_found_by_what_it_may_be_asked() {
    let peer = Peer::start(|stream, _| {
        let asked = request_line(stream)?;
        let body = match asked.starts_with("GET /socket.io/ ") {
            true => r#"{"code":0,"message":"Transport unknown"}"#,
            false => "Cannot GET",
        };
        assert!(asked.starts_with("GET "), "{asked}");
        let status = if body.starts_with('{') { "400 Bad Request" } else { "404 Not Found" };
        let len = body.len();
        write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {len}\r\n\r\n{body}")?;
        silence(stream)
    });
    let ended = Sandbox::new().run(&format!("{} -n 10 -c 1", peer.url("ws")));
    let found = "Is it Socket.IO 4: it answers at /socket.io/";
    ended.check(
        15,
        &[
            "instead of an upgrade",
            found,
            "start from the ready-made conversation: `wirebench talk ws://127.0.0.1:",
            "/ --conversation socketio` plays it once, and `wirebench run ws://127.0.0.1:",
        ],
    );
}

#[test]
fn a_response_that_does_not_end_is_found_to_be_a_stream_of_events() {
    let peer = Peer::start(|stream, _| {
        head(stream)?;
        let fields = "Content-Type: text/event-stream\r\nTransfer-Encoding: chunked";
        write!(stream, "HTTP/1.1 200 OK\r\n{fields}\r\n\r\n9\r\ndata: 1\n\n\r\n")?;
        silence(stream)
    });
    let line = format!("{}/events -n 10 -c 1 --timeout 2s", peer.url("http"));
    let found = "Is it server-sent events at /events: 1 event in the first ";
    Sandbox::new().run(&line).check(15, &[found, "/events --conversation sse"]);
}

/// Reads the head of a request and returns its first line.
fn request_line(stream: &mut Stream) -> io::Result<String> {
    let mut line = Vec::new();
    while !line.ends_with(b"\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        line.push(byte[0]);
    }
    head(stream)?;
    Ok(String::from_utf8_lossy(&line).into_owned())
}

#[test]
fn init_writes_the_conversation_to_start_from() {
    let greets = Peer::start(|stream, _| {
        let mut socket = tungstenite::accept(stream.try_clone()?).map_err(io::Error::other)?;
        socket.send("welcome, stranger".into()).map_err(io::Error::other)?;
        silence(stream)
    });
    let socketio = Peer::start(|stream, _| {
        let mut socket = tungstenite::accept(stream.try_clone()?).map_err(io::Error::other)?;
        socket.send(r#"0{"sid":"x","pingInterval":25000}"#.into()).map_err(io::Error::other)?;
        silence(stream)
    });
    let bytes = Peer::start(|stream, _| silence(stream));
    for (url, name, found, written) in [
        (greets.url("ws"), "conversation", "speaks first: \"welcome, stranger\"", "expect = {}"),
        (socketio.url("ws"), "socketio", "Engine.IO 4", "[request.echo]"),
        (bytes.url("tcp"), "conversation", "sends nothing on its own", "frame = \"lines\""),
    ] {
        let sandbox = Sandbox::new();
        let ended = sandbox.run(&format!("init {url}"));
        let next = format!("next: wirebench talk '{url}");
        ended.check(0, &["at most 8 connections"]);
        for said in [found.to_owned(), format!("wrote {name}.toml"), next] {
            assert!(ended.stdout.contains(&said), "{said}: {ended:?}");
        }
        let file = std::fs::read_to_string(sandbox.path().join(format!("{name}.toml"))).unwrap();
        assert!(file.contains(found) && file.contains(written), "{file}");
        let again = sandbox.run(&format!("init {url}"));
        let refusal = format!("{name}.toml already exists");
        again.check(2, &[&refusal, "--force"]);
        sandbox.run(&format!("init {url} --force -q")).check(0, &[]);
        // The file is accepted as written.
        sandbox.run(&format!("{url} --conversation ./{name}.toml --dry-run")).check(0, &[]);
    }
}

#[test]
fn init_writes_nothing_where_no_conversation_would_be_right() {
    let login = Peer::start(|stream, _| {
        head(stream)?;
        stream.write_all(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n")
    });
    let sandbox = Sandbox::new();
    let ended = sandbox.run(&format!("init {}", login.url("ws")));
    ended.check(15, &[]);
    assert!(ended.stdout.contains("wants a login: it answers 401"), "{ended:?}");
    assert!(
        std::fs::read_dir(sandbox.path())
            .unwrap()
            .all(|it| { it.unwrap().path().extension().is_none_or(|kind| kind != "toml") })
    );
    sandbox.run("init tcp://127.0.0.1:1").check(15, &["127.0.0.1:1"]);
    sandbox.run("init ws://192.0.2.1 --timeout 1s").check(14, &["--i-may-load-this-target"]);
    sandbox.run("init nonsense://h").check(2, &["nonsense"]);
}

#[test]
fn init_writes_no_secret_that_the_server_repeats() {
    let repeats = Peer::start(|stream, _| {
        let mut socket = tungstenite::accept(stream.try_clone()?).map_err(io::Error::other)?;
        socket.send("welcome, sesame-7181".into()).map_err(io::Error::other)?;
        silence(stream)
    });
    let sandbox = Sandbox::new();
    let ended = sandbox.run(&format!("init {}/?token=sesame-7181", repeats.url("ws")));
    ended.check(0, &[]);
    assert!(ended.stdout.contains("speaks first: \"welcome, ***\""), "{ended:?}");
    let file = std::fs::read_to_string(sandbox.path().join("conversation.toml")).unwrap();
    for text in [&ended.stdout, &ended.stderr, &file] {
        assert!(!text.contains("sesame-7181"), "{text}");
    }
}
