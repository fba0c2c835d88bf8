//! Tests that need to look inside: the states, and the memory that a connection keeps.

use super::*;
use expect_test::expect;
use std::fmt::Write;

#[test]
fn a_connection_is_small() {
    assert!(size_of::<WebSocket>() <= 96, "{} bytes", size_of::<WebSocket>());
}

#[test]
fn a_quiet_connection_holds_no_heap_memory() {
    let mut connection = in_state("await request").0;
    assert_eq!(heap_owners(&connection), 1, "the handshake");
    said(&mut connection, REQUEST);
    assert_eq!(heap_owners(&connection), 0, "open");

    for (index, byte) in FRAGMENTS.iter().enumerate() {
        said(&mut connection, &[*byte]);
        let is_unfinished = index >= 5 && index + 1 < FRAGMENTS.len();
        assert_eq!(heap_owners(&connection) > 0, is_unfinished, "after byte {index}");
    }
    said(&mut connection, PING);
    said(&mut connection, TEXT);
    assert_eq!(
        heap_owners(&connection),
        0,
        "frames that arrive whole are handed out from the input"
    );
}

#[test]
fn what_a_broken_connection_held_is_freed() {
    let mut connection = in_state("open, in a ping between fragments").0;
    assert_eq!(heap_owners(&connection), 1);
    said(&mut connection, b"ng!\x8f\x80");
    assert!(matches!(connection.state, State::Failed));
    assert_eq!(heap_owners(&connection), 0);
}

#[test]
fn every_event_in_every_state() {
    let events: [(&str, &[u8]); 10] = [
        ("text", TEXT),
        ("first fragment", FIRST),
        ("last fragment", LAST),
        ("ping", PING),
        ("pong", PONG),
        ("close", CLOSE),
        ("broken frame", BROKEN),
        ("send", b""),
        ("close()", b""),
        ("end()", b""),
    ];
    let mut table = String::new();
    for state in STATES {
        writeln!(table, "{state}").unwrap();
        for (event, bytes) in events {
            let (mut connection, rest) = in_state(state);
            let mut tx = Vec::new();
            let outcome = match event {
                "send" => format!("{:?}", connection.send(MESSAGE, &mut tx)),
                "close()" => format!("{:?}", connection.close(&mut tx)),
                "end()" => format!("{:?}", connection.end()),
                _ => said(&mut connection, &[rest, bytes].concat()),
            };
            let sent =
                if tx.is_empty() { String::new() } else { format!(" > {}", tx.escape_ascii()) };
            let next = state_name(&connection);
            writeln!(table, "  {event:15} {outcome}{sent} [{next}]").unwrap();
        }
    }
    expect![[r#"
        await request
          text            Err(malformed head: invalid token) > HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n [failed]
          first fragment  Err(malformed head: invalid token) > HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n [failed]
          last fragment   Err(malformed head: invalid token) > HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n [failed]
          ping            Err(malformed head: invalid token) > HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n [failed]
          pong            Err(malformed head: invalid token) > HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n [failed]
          close           Err(malformed head: invalid token) > HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n [failed]
          broken frame    Err(malformed head: invalid token) > HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n [failed]
          send            Err(NotOpen) [await handshake]
          close()         false [closed]
          end()           Err(WebSocket(Handshake(Head(CutOff { len: 0 })))) [await handshake]
        await response
          text            nothing [await handshake]
          first fragment  nothing [await handshake]
          last fragment   nothing [await handshake]
          ping            nothing [await handshake]
          pong            nothing [await handshake]
          close           nothing [await handshake]
          broken frame    nothing [await handshake]
          send            Err(NotOpen) [await handshake]
          close()         false [closed]
          end()           Err(WebSocket(Handshake(Head(CutOff { len: 0 })))) [await handshake]
        open
          text            Text text [open]
          first fragment  nothing [open]
          last fragment   Err(continuation frame without a message to continue (RFC 6455 §5.4)) > \x88\x02\x03\xea [failed]
          ping            Ping ping > \x8a\x04ping [open]
          pong            Pong pong [open]
          close           Closed(Closed { code: Some(1000), reason: "bye" }) > \x88\x02\x03\xe8 [closed]
          broken frame    Err(reserved opcode 0x3 (RFC 6455 §5.2)) > \x88\x02\x03\xea [failed]
          send            Ok(()) > \x81\x04sent [open]
          close()         true > \x88\x02\x03\xe8 [await close]
          end()           Err(WebSocket(NoClose)) [open]
        open, in a header
          text            Text text, Text text [open]
          first fragment  Text text [open]
          last fragment   Text text, Err(continuation frame without a message to continue (RFC 6455 §5.4)) > \x88\x02\x03\xea [failed]
          ping            Text text, Ping ping > \x8a\x04ping [open]
          pong            Text text, Pong pong [open]
          close           Text text, Closed(Closed { code: Some(1000), reason: "bye" }) > \x88\x02\x03\xe8 [closed]
          broken frame    Text text, Err(reserved opcode 0x3 (RFC 6455 §5.2)) > \x88\x02\x03\xea [failed]
          send            Ok(()) > \x81\x04sent [open]
          close()         true > \x88\x02\x03\xe8 [await close]
          end()           Err(WebSocket(CutFrame { missing: 1 })) [open]
        open, in a payload
          text            Text text, Text text [open]
          first fragment  Text text [open]
          last fragment   Text text, Err(continuation frame without a message to continue (RFC 6455 §5.4)) > \x88\x02\x03\xea [failed]
          ping            Text text, Ping ping > \x8a\x04ping [open]
          pong            Text text, Pong pong [open]
          close           Text text, Closed(Closed { code: Some(1000), reason: "bye" }) > \x88\x02\x03\xe8 [closed]
          broken frame    Text text, Err(reserved opcode 0x3 (RFC 6455 §5.2)) > \x88\x02\x03\xea [failed]
          send            Ok(()) > \x81\x04sent [open]
          close()         true > \x88\x02\x03\xe8 [await close]
          end()           Err(WebSocket(CutFrame { missing: 2 })) [open]
        open, between fragments
          text            Err(new message after fragment 1 of an unfinished one (RFC 6455 §5.4)) > \x88\x02\x03\xea [failed]
          first fragment  Err(new message after fragment 1 of an unfinished one (RFC 6455 §5.4)) > \x88\x02\x03\xea [failed]
          last fragment   Text onetwo [open]
          ping            Ping ping > \x8a\x04ping [open]
          pong            Pong pong [open]
          close           Closed(Closed { code: Some(1000), reason: "bye" }) > \x88\x02\x03\xe8 [closed]
          broken frame    Err(reserved opcode 0x3 (RFC 6455 §5.2)) > \x88\x02\x03\xea [failed]
          send            Ok(()) > \x81\x04sent [open]
          close()         true > \x88\x02\x03\xe8 [await close]
          end()           Err(WebSocket(CutMessage { fragments: 1 })) [open]
        open, in a ping between fragments
          text            Ping ping, Err(new message after fragment 1 of an unfinished one (RFC 6455 §5.4)) > \x8a\x04ping\x88\x02\x03\xea [failed]
          first fragment  Ping ping, Err(new message after fragment 1 of an unfinished one (RFC 6455 §5.4)) > \x8a\x04ping\x88\x02\x03\xea [failed]
          last fragment   Ping ping, Text twotwo > \x8a\x04ping [open]
          ping            Ping ping, Ping ping > \x8a\x04ping\x8a\x04ping [open]
          pong            Ping ping, Pong pong > \x8a\x04ping [open]
          close           Ping ping, Closed(Closed { code: Some(1000), reason: "bye" }) > \x8a\x04ping\x88\x02\x03\xe8 [closed]
          broken frame    Ping ping, Err(reserved opcode 0x3 (RFC 6455 §5.2)) > \x8a\x04ping\x88\x02\x03\xea [failed]
          send            Ok(()) > \x81\x04sent [open]
          close()         true > \x88\x02\x03\xe8 [await close]
          end()           Err(WebSocket(CutFrame { missing: 3 })) [open]
        await close
          text            Text text [await close]
          first fragment  nothing [await close]
          last fragment   Err(continuation frame without a message to continue (RFC 6455 §5.4)) [failed]
          ping            Ping ping > \x8a\x04ping [await close]
          pong            Pong pong [await close]
          close           Closed(Closed { code: Some(1000), reason: "bye" }) [closed]
          broken frame    Err(reserved opcode 0x3 (RFC 6455 §5.2)) [failed]
          send            Err(NotOpen) [await close]
          close()         true [await close]
          end()           Err(WebSocket(NoClose)) [await close]
        closed
          text            nothing [closed]
          first fragment  nothing [closed]
          last fragment   nothing [closed]
          ping            nothing [closed]
          pong            nothing [closed]
          close           nothing [closed]
          broken frame    nothing [closed]
          send            Err(NotOpen) [closed]
          close()         false [closed]
          end()           Ok(Closed(Closed { code: None, reason: "" })) [closed]
        failed
          text            nothing [failed]
          first fragment  nothing [failed]
          last fragment   nothing [failed]
          ping            nothing [failed]
          pong            nothing [failed]
          close           nothing [failed]
          broken frame    nothing [failed]
          send            Err(NotOpen) [failed]
          close()         false [failed]
          end()           Err(WebSocket(NoClose)) [failed]
    "#]].assert_eq(&table);
}

const STATES: [&str; 10] = [
    "await request",
    "await response",
    "open",
    "open, in a header",
    "open, in a payload",
    "open, between fragments",
    "open, in a ping between fragments",
    "await close",
    "closed",
    "failed",
];

/// A connection in `state`, and the rest of the frame that it is in, which must arrive before any other.
fn in_state(state: &str) -> (WebSocket, &'static [u8]) {
    let mut server = WebSocket::established(Side::Server, Limits::default(), 0);
    let (before, rest): (&[u8], &[u8]) = match state {
        "await request" => return (WebSocket::server(Limits::default()), b""),
        "await response" => {
            let request = Request {
                host: "example".to_owned(),
                target: "/".to_owned(),
                subprotocols: Vec::new(),
                headers: Vec::new(),
                deflate: None,
            };
            return (WebSocket::client(Arc::new(request), Limits::default(), 0), b"");
        }
        "open" => (b"", b""),
        "open, in a header" => TEXT.split_at(1),
        "open, in a payload" => TEXT.split_at(8),
        "open, between fragments" => (FIRST, b""),
        "open, in a ping between fragments" => (b"\x01\x83\0\0\0\0two\x89\x84\0\0\0\0p", b"ing"),
        "await close" => {
            assert!(server.close(&mut Vec::new()));
            (b"", b"")
        }
        "closed" => (CLOSE, b""),
        "failed" => (BROKEN, b""),
        _ => unreachable!("{state}"),
    };
    said(&mut server, before);
    (server, rest)
}

/// The output of `connection` for `bytes`: its events, then the bytes that it sends.
fn said(connection: &mut WebSocket, bytes: &[u8]) -> String {
    let mut bytes = bytes.to_vec();
    let mut input = Input::new(&mut bytes);
    let mut tx = Vec::new();
    let mut said = Vec::new();
    loop {
        match connection.receive(&mut input, &mut tx) {
            Ok(Some(Event::Message(message))) => {
                said.push(format!("{:?} {}", message.kind, message.payload.escape_ascii()));
            }
            Ok(Some(Event::Ping(payload))) => said.push(format!("Ping {}", payload.escape_ascii())),
            Ok(Some(Event::Pong(payload))) => said.push(format!("Pong {}", payload.escape_ascii())),
            Ok(Some(event)) => said.push(format!("{event:?}")),
            Ok(None) => break,
            Err(error) => {
                said.push(format!("Err({error})"));
                break;
            }
        }
    }
    let said = if said.is_empty() { "nothing".to_owned() } else { said.join(", ") };
    if tx.is_empty() { said } else { format!("{said} > {}", tx.escape_ascii()) }
}

fn state_name(connection: &WebSocket) -> &'static str {
    match connection.state {
        State::AwaitClose => "await close",
        State::AwaitHandshake(_) => "await handshake",
        State::Closed => "closed",
        State::Failed => "failed",
        State::Open => "open",
    }
}

/// The number of fields that own heap memory.
fn heap_owners(connection: &WebSocket) -> usize {
    usize::from(connection.held.is_some())
        + usize::from(matches!(connection.state, State::AwaitHandshake(_)))
}

const MESSAGE: Message<'static> = Message { kind: Kind::Text, payload: b"sent" };

// Frames of a client, masked with a key of zeros.
const TEXT: &[u8] = b"\x81\x84\0\0\0\0text";
const FIRST: &[u8] = b"\x01\x83\0\0\0\0one";
const LAST: &[u8] = b"\x80\x83\0\0\0\0two";
const PING: &[u8] = b"\x89\x84\0\0\0\0ping";
const PONG: &[u8] = b"\x8a\x84\0\0\0\0pong";
const CLOSE: &[u8] = b"\x88\x85\0\0\0\0\x03\xe8bye";
const BROKEN: &[u8] = b"\x83\x80\0\0\0\0";
/// A message in two fragments with a ping between them.
const FRAGMENTS: &[u8] = b"\x01\x83\0\0\0\0one\x89\x84\0\0\0\0ping\x80\x83\0\0\0\0two";

const REQUEST: &[u8] =
    b"GET / HTTP/1.1\r\nHost: example\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
