//! Servers that break a conversation: each fault is counted once, under its kind, and the replies before and after it
//! still count. And conversation files with mistakes, for which nothing is sent.

use crate::harness::{Ended, Running, Sandbox};
use crate::peers::{Peer, Stream, head, open_websocket};
use record::{Block, Counts, Identity, RunRecord};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

/// A conversation with one kind of request.
const ASK: &str = r#"
speaks = "ws"
[request.ask]
send = '{"type":"ask","id":${id}}'
reply = { "$.type" = "said", id = "$.id" }
"#;

/// The message that a step awaits.
const WELCOME: &str = r#"{"type":"welcome","session":"s"}"#;

/// A fault of a server instead of its reply to the request with this id.
type Fault = fn(&mut Stream, id: &str) -> io::Result<()>;

#[test]
fn a_fault_is_counted_once_and_what_stands_before_and_after_it_is_answered() {
    let silence: (u64, u64, u64) = (1, 0, 20);
    let end: (u64, u64, u64) = (0, 1, 8);
    #[rustfmt::skip]
    let table: [(Fault, _, &str, &str); _] = [
        (|stream, _| text(stream, br#"{"type":"said","id":19999999}"#),
         silence, "unexpected", r#"no rule matches it: "{\"type\":\"said\",\"id\":19999999}""#),
        (|stream, id| text(stream, format!(r#"{{"type":"told","id":{id}}}"#).as_bytes()),
         silence, "unexpected", r#"no rule matches it: "{\"type\":\"told\",\"id\":10000007}""#),
        (|stream, _| text(stream, br#"{"type":"said","id":"#),
         silence, "unexpected", r#"no rule matches it: "{\"type\":\"said\",\"id\":""#),
        (|stream, _| { announce(stream, 10 << 20)?; stream.write_all(&vec![b' '; 10 << 20]) },
         silence, "unexpected", "no rule matches it: \"      "),
        (|_, _| Ok(()),
         silence, "reply_timed_out", "no whole reply within 2 s"),
        (|stream, _| { announce(stream, 64 << 20)?; crate::peers::silence(stream) },
         end, "protocol_broken", "frame of 67108864 bytes, limit is 16777216"),
        (|stream, _| text(stream, b"\xff\xfe"),
         end, "protocol_broken", "text message is not UTF-8 from byte 0 on"),
        (|stream, _| { stream.write_all(b"\x81\x28{")?; Err(io::ErrorKind::Other.into()) },
         end, "protocol_broken", "connection ended in the middle of a frame"),
        (|_, _| Err(io::ErrorKind::Other.into()),
         end, "protocol_broken", "connection ended without a Close frame"),
    ];
    for (fault, (timed_out, error, sent), class, words) in table {
        let block = measured(fault);
        let counts = Counts {
            planned: 20,
            sent,
            unsent: 20 - sent,
            ok: if error > 0 { 7 } else { 19 },
            error,
            timed_out,
            ..Counts::default()
        };
        assert_eq!(block.counts, counts, "{words}: {:?}", block.errors);
        let of_class: Vec<_> = block.errors.iter().filter(|error| error.class == class).collect();
        assert!(
            matches!(&of_class[..], [one] if one.count == 1 && one.example.contains(words)),
            "{words}: {:?}",
            block.errors
        );
        // An unsent message has no kind.
        let of_kind = Counts { planned: sent, unsent: 0, ..counts };
        assert_eq!(block.exchanges[0].counts, of_kind, "{words}");
    }
}

#[test]
fn a_second_reply_is_a_duplicate_and_a_late_one_answers_nothing() {
    let twice = measured(|stream, id| {
        let reply = format!(r#"{{"type":"said","id":{id}}}"#);
        text(stream, reply.as_bytes())?;
        text(stream, reply.as_bytes())
    });
    let all = Counts { planned: 20, sent: 20, ok: 20, ..Counts::default() };
    assert_eq!(twice.counts, all, "{:?}", twice.errors);
    assert_eq!(twice.identity, Some(Identity { duplicate: 1, ..Identity::default() }));
    // The previous reply once more.
    let again = measured(|stream, id| {
        text(stream, br#"{"type":"said","id":10000006}"#)?;
        text(stream, format!(r#"{{"type":"said","id":{id}}}"#).as_bytes())
    });
    assert_eq!(again.counts, all, "{:?}", again.errors);
    assert_eq!(again.identity, Some(Identity { duplicate: 1, ..Identity::default() }));
}

/// Measures 20 requests of one client, the eighth answered by `fault`, and returns the block.
fn measured(fault: Fault) -> Block {
    let peer = Peer::start(move |stream, number| {
        let mut socket = open_websocket(stream)?;
        for count in 0.. {
            let message = socket.read().map_err(io::Error::other)?;
            let asked = message.to_text().map_err(io::Error::other)?;
            let Some((_, id)) = asked.trim_end_matches('}').rsplit_once(':') else { break };
            match (number, count) {
                (1, 7) => fault(stream, id)?,
                _ => text(stream, format!(r#"{{"type":"said","id":{id}}}"#).as_bytes())?,
            }
        }
        Ok(())
    });
    let line = format!("{} -n 20 -c 1 --warm-up 0s --timeout 2s", peer.url("ws"));
    let (ended, mut records) = run(ASK, &line);
    assert_eq!(records.len(), 1, "{ended:?}");
    records.remove(0).blocks.remove(0)
}

#[test]
fn a_step_that_does_not_go_as_described_is_told_before_anything_is_timed() {
    let file = format!(
        "{ASK}[[open]]\nexpect = {{ \"$.type\" = \"welcome\" }}\ntake = {{ session = \"$.session\" }}\n[[open]]\n\
         send = '{{\"type\":\"join\",\"session\":\"${{session}}\"}}'\nexpect = {{ \"$.type\" = \"joined\" }}\n\
         refused = {{ \"$.type\" = \"denied\" }}\n"
    );
    #[rustfmt::skip]
    let table: [(&[&str], &[&str]); _] = [
        (&[r#"{"type":"welcome"}"#],
         &["step 1 of 2 of opening: no value for `session` at $.session in \"{\\\"type\\\":\\\"welcome\\\"}\""]),
        (&[r#"{"type":"hello"}"#],
         &["step 1 of 2 of opening: got \"{\\\"type\\\":\\\"hello\\\"}\", expected $.type = \"welcome\""]),
        (&["\u{1b}[2J"],   &["step 1 of 2 of opening: got \"\\x1b[2J\", expected"]),
        (&[],              &["no answer to the opening handshake"]),
        (&[WELCOME, r#"{"type":"denied","why":"full"}"#],
         &["step 2 of 2 of opening: the server refuses: \"{\\\"type\\\":\\\"denied\\\",\\\"why\\\":\\\"full\\\"}\""]),
        (&[WELCOME, "end"], &["step 2 of 2 of opening: connection ended without a Close frame (RFC 6455 §7.1.5, code 1006), expected $.type = \"joined\""]),
    ];
    for (says, words) in table {
        let peer = Peer::start(move |stream, _| {
            let mut socket = open_websocket(stream)?;
            for said in says {
                if *said == "end" {
                    return Ok(());
                }
                text(stream, said.as_bytes())?;
            }
            while socket.read().is_ok() {}
            Ok(())
        });
        let (ended, records) = run(&file, &format!("{} -n 9 -c 1 --timeout 2s", peer.url("ws")));
        ended.check(15, words);
        assert!(records.is_empty(), "{ended:?}");
    }
}

#[test]
fn a_stream_without_end_takes_its_time_and_no_more_memory() {
    let peer = Peer::start(|stream, number| {
        head(stream)?;
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")?;
        if number == 0 {
            return stream.write_all(b"data: 1\n\n");
        }
        let events = b"data: 0123456789\n\n".repeat(4096);
        loop {
            stream.write_all(&events)?;
        }
    });
    let sandbox = Sandbox::new();
    let line = format!(
        "run {} --conversation sse -n 3 -c 1 --warm-up 0s --timeout 500ms --drain 0s",
        peer.url("http")
    );
    let running = Running::start(sandbox.command(&line));
    let peak = running.peak_memory();
    let ended = running.wait();
    let records = sandbox.records();
    assert_eq!(records.len(), 1, "{ended:?}");
    let block = &records[0].blocks[0];
    let Counts { planned, sent, ok, timed_out, unsent, .. } = block.counts;
    assert_eq!((planned, ok, sent), (3, 0, timed_out), "{ended:?}");
    assert_eq!(sent + unsent, 3, "{ended:?}");
    let parts = block.exchanges[0].parts.as_ref().unwrap();
    assert!(parts.count > 4096 * sent, "{} events", parts.count);
    assert!(peak < 64 << 20, "{peak} bytes");
}

#[test]
fn rows_of_a_file_begin_again_or_are_not_exceeded_as_the_file_says() {
    let counts: Arc<Mutex<BTreeMap<String, u32>>> = Arc::default();
    let seen = Arc::clone(&counts);
    let peer = Peer::start(move |stream, _| {
        let mut socket = open_websocket(stream)?;
        let mut is_first = true;
        while let Ok(message) = socket.read() {
            let Ok(asked) = message.to_text().map(str::to_owned) else { break };
            if asked.is_empty() {
                break;
            }
            let user = asked.split(' ').nth(1).unwrap().to_owned();
            if std::mem::take(&mut is_first) {
                *seen.lock().unwrap().entry(user).or_default() += 1;
            }
            text(stream, asked.as_bytes())?;
        }
        Ok(())
    });
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path().join("users.csv"), "name\nann\nbob\ncyd\n").unwrap();
    let file = |end: &str| {
        let text = format!(
            "speaks = \"ws\"\n[vars]\nuser = {{ csv = \"users.csv\", column = \"name\", end = \"{end}\" }}\n\
             [request.say]\nsend = \"say ${{user}} ${{id}}\"\nreply = {{ id = ' ${{id}}' }}\n"
        );
        std::fs::write(sandbox.path().join(format!("{end}.toml")), text).unwrap();
    };
    file("wrap");
    file("stop");
    let line = |end: &str, connections: u32| {
        let url = peer.url("ws");
        format!("run {url} --conversation ./{end}.toml -n 40 -c {connections} --warm-up 0s")
    };
    let users = || std::mem::take(&mut *counts.lock().unwrap()).into_values().collect::<Vec<_>>();
    // The connection that verifies uses the first row.
    sandbox.run(&line("wrap", 8)).check_measured(&[]);
    assert_eq!(users(), [1 + 3, 3, 2]);
    sandbox.run(&line("stop", 3)).check_measured(&[]);
    assert_eq!(users(), [1 + 1, 1, 1]);
    let refusal =
        "4 connections are more than the 3 rows of ./users.csv, which is to end (end = \"stop\")";
    sandbox.run(&line("stop", 4)).check(2, &[refusal, "use at most 3"]);
    assert_eq!(users(), [0; 0], "nothing was sent");
}

#[test]
fn a_file_that_cannot_be_held_is_refused_with_its_place_and_nothing_is_sent() {
    #[rustfmt::skip]
    let table = [
        (r#"send = '{"id":${id},"user":"${usr}"}'"#,    r#"reply = { id = "$.id" }"#,
         "talk.toml:5:29: `send` no value is called `usr`; did you mean `user`?"),
        (r#"send = '{"id":7}'"#,                        r#"reply = { id = "$.id" }"#,
         "talk.toml:6:9: `reply` has an `id`, and what is sent has none; put `${id}` into it"),
        (r#"send = '{"id":${client}}'"#,                r#"reply = { id = "$.id" }"#,
         "talk.toml:6:9: `reply` has an `id`, and what is sent has none; put `${id}` into it"),
        (r#"send = '{"id":${id}}'"#,                    r#"reply = { id = "$.id", "$.user" = "bot ${client}" }"#,
         "talk.toml:6:35: `$.user` has the hole `${client}`, and nothing fills it: this text is the same on all \
          connections; say has = \"$.user\""),
        (r#"send = '{"id":${id}}'"#,                    r#"reply = { id = "$.id", "$.user = "bot" }"#,
         "talk.toml:6:"),
    ];
    for (send, reply, words) in table {
        let file = format!(
            "speaks = \"ws\"\n[vars]\nuser = \"u${{client}}\"\n[request.say]\n{send}\n{reply}\n"
        );
        let (ended, records) = run(&file, "ws://127.0.0.1:1 -n 1");
        ended.check(2, &[words]);
        assert!(records.is_empty(), "{ended:?}");
    }
}

#[test]
fn a_conversation_with_a_public_server_needs_the_consent_that_everything_needs() {
    let login = "[[before]]\nhttp = \"POST /login\"\nbody = '{}'\n";
    for file in [ASK.to_owned(), format!("{ASK}{login}")] {
        let (ended, records) = run(&file, "ws://192.0.2.1 -n 1 --timeout 1s");
        ended.check(14, &["192.0.2.1", "--i-may-load-this-target"]);
        assert!(records.is_empty(), "{ended:?}");
    }
}

/// Sends a text message of at most 125 bytes.
fn text(stream: &mut Stream, text: &[u8]) -> io::Result<()> {
    let len = u8::try_from(text.len()).ok().filter(|len| *len < 126).unwrap();
    stream.write_all(&[&[0x81, len], text].concat())
}

/// Sends the header of a text message of `len` bytes.
fn announce(stream: &mut Stream, len: u64) -> io::Result<()> {
    stream.write_all(&[&[0x81, 127], &len.to_be_bytes()[..]].concat())
}

fn run(file: &str, line: &str) -> (Ended, Vec<RunRecord>) {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path().join("talk.toml"), file).unwrap();
    let ended = sandbox.run(&format!("run {line} --conversation ./talk.toml"));
    (ended, sandbox.records())
}
