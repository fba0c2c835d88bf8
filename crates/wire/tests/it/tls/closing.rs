//! Ends of conversations: `close_notify` from either side, and ends without one.

use super::conversations::ends;
use super::ends::{End, settle};
use super::world::{client, client_options, server, server_options};
use wire::tls::Version;
use wire::{Connection, Input, Kind, Message, Protocol};

#[test]
fn close_notify_ends_the_protocol_inside_and_is_answered() {
    for version in Version::ALL {
        for transport in ["raw", "framed", "http"] {
            let (mut there, mut here) = open(transport, version);
            assert!(!there.close(), "no answer is owed");
            let record_len = there.tx.len();
            here.feed_whole(&there.take());
            assert_eq!(here.heard.last().unwrap(), "closed None", "{transport}");
            assert_eq!(here.tx.len(), record_len, "close_notify is answered with one");
            there.feed_whole(&here.take());
            assert_eq!(there.heard.last().unwrap(), "closed None");
            assert_eq!((there.take(), here.take()), (vec![], vec![]), "once");
            assert_eq!([there.end(), here.end()], ["closed None", "closed None"]);
        }
    }
}

#[test]
fn a_close_of_websocket_brings_close_notify_with_it() {
    for version in Version::ALL {
        let (mut there, mut here) = open("websocket", version);
        assert!(here.close(), "WebSocket owes an answer");
        settle(&mut there, &mut here);
        assert_eq!(there.heard.last().unwrap(), "closed Some(1000)");
        assert_eq!(here.heard.last().unwrap(), "closed Some(1000)");
        assert_eq!([there.end(), here.end()], ["closed None", "closed None"]);
    }
}

#[test]
fn a_message_and_close_notify_may_come_at_once() {
    for transport in ["raw", "framed"] {
        let (mut there, mut here) = open(transport, Version::Tls13);
        there.send(b"first");
        there.send(b"second");
        there.close();
        here.feed_whole(&there.take());
        let heard: Vec<&str> = here.heard.iter().map(String::as_str).collect();
        let messages: &[&str] =
            if transport == "raw" { &["message of 11"] } else { &["message of 5", "message of 6"] };
        assert_eq!(heard[1..heard.len() - 1], *messages);
        assert_eq!(heard.last(), Some(&"closed None"));
        // Bytes after it do not count, but are taken.
        here.feed_whole(b"anything");
        assert_eq!(here.heard.last().unwrap(), "closed None");
    }
}

#[test]
fn an_end_without_close_notify_is_a_fault_only_inside_something() {
    for (transport, expected) in
        [("raw", "closed None"), ("framed", "closed None"), ("http", "closed None")]
    {
        let (_, mut here) = open(transport, Version::Tls13);
        assert_eq!(here.end(), expected, "{transport}");
    }
    let (_, mut here) = open("websocket", Version::Tls13);
    assert!(
        here.end().starts_with("error: the connection ended without close_notify: "),
        "WebSocket has a Close of its own"
    );

    let (mut there, mut here) = open("http", Version::Tls13);
    there.send(b"request");
    settle(&mut there, &mut here);
    assert_eq!(
        there.end(),
        "error: the connection ended without close_notify: the connection ended; unanswered requests: 1"
    );
}

#[test]
fn a_body_that_only_the_end_ends_needs_close_notify() {
    let head = b"HTTP/1.1 200 OK\r\n\r\nbody";
    for is_closed in [true, false] {
        let (there, mut here) = super::conversations::http_client_and_raw_server(
            &client(&client_options()),
            &server(&server_options()),
        );
        let (mut there, mut tx) = (there, Vec::new());
        settle(&mut there, &mut here);
        there.send(b"request");
        settle(&mut there, &mut here);
        here.machine.send(Message { kind: Kind::Binary, payload: head }, &mut tx).unwrap();
        if is_closed {
            here.machine.close(&mut tx);
        }
        there.feed_whole(&tx);
        if is_closed {
            assert_eq!(there.messages, [b"body"]);
            assert_eq!(there.end(), "closed None");
        } else {
            assert_eq!(there.messages, Vec::<Vec<u8>>::new());
            assert_eq!(
                there.end(),
                "error: the connection ended without close_notify, so the last message may be cut off"
            );
        }
    }
}

#[test]
fn a_fault_of_the_protocol_inside_is_answered_inside_tls() {
    let (mut there, mut here) = super::conversations::raw_client_and_websocket_server(
        &client(&client_options()),
        &server(&server_options()),
    );
    settle(&mut there, &mut here);
    there.send(b"no request at all\r\n\r\n");
    settle(&mut there, &mut here);
    assert!(here.complaint().starts_with("malformed head"), "{}", here.complaint());
    assert!(there.messages.concat().starts_with(b"HTTP/1.1 400 "), "{:?}", there.messages);
    assert_eq!(there.heard.last().unwrap(), "closed None", "followed by close_notify");
}

#[test]
fn nothing_can_be_sent_before_the_handshake_and_after_the_end() {
    let message = Message { kind: Kind::Binary, payload: b"early" };
    let (mut there, mut here) =
        ends(&client(&client_options()), &server(&server_options()), "framed", 0);
    let mut tx = Vec::new();
    assert!(there.machine.send(message, &mut tx).is_err());
    assert!(!here.machine.close(&mut tx));
    assert_eq!(tx, b"");
    settle(&mut there, &mut here);
    there.close();
    assert!(there.machine.send(message, &mut tx).is_err());
    settle(&mut there, &mut here);
    assert!(here.machine.send(message, &mut tx).is_err());
    assert_eq!(tx, b"");
    assert_eq!(here.machine.receive(&mut Input::new(&mut [1, 2]), &mut tx), Ok(None));
}

fn open(transport: &str, version: Version) -> (End<Connection>, End<Connection>) {
    let mut options = client_options();
    options.versions = vec![version];
    let (mut there, mut here) = ends(&client(&options), &server(&server_options()), transport, 0);
    settle(&mut there, &mut here);
    assert!(there.is_open && here.is_open);
    (there, here)
}
