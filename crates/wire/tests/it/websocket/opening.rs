//! The border between the opening handshake and the frames, however the bytes are split.

use super::peer::{CLOSE, TEXT, feed, frame};
use std::sync::Arc;
use wire::websocket::handshake::{HEAD_LEN_MAX, Request, ServerOptions};
use wire::websocket::{Limits, WebSocket};
use wire::{Opening, Protocol, Side};

#[test]
fn a_server_answers_the_request_and_understands_what_follows_it() {
    let frames = [frame(Side::Client, TEXT, b"early"), frame(Side::Client, CLOSE, b"")].concat();
    let bytes = [REQUEST.as_bytes(), &frames].concat();
    check_splits(
        &|| WebSocket::server(Limits::default()),
        &bytes,
        &EVENTS,
        &[RESPONSE.as_bytes(), b"\x88\x00"].concat(),
    );
}

#[test]
fn a_server_chooses_a_subprotocol_that_both_speak() {
    let options = ServerOptions {
        subprotocols: vec!["chat.v1".to_owned(), "chat.v2".to_owned()],
        deflate: None,
    };
    let options = Arc::new(options);
    let request =
        REQUEST.replace("\r\n\r\n", "\r\nSec-WebSocket-Protocol: chat.v3, chat.v2\r\n\r\n");
    let response = RESPONSE.replace("\r\n\r\n", "\r\nSec-WebSocket-Protocol: chat.v2\r\n\r\n");
    let server = || WebSocket::server_with(Arc::clone(&options), Limits::default());
    check_splits(&server, request.as_bytes(), &["open"], response.as_bytes());
}

#[test]
fn a_client_understands_what_follows_the_answer() {
    let mut request = Vec::new();
    assert_eq!(client().open(&mut request), Opening::Awaited);
    let mut response = Vec::new();
    let mut events = Vec::new();
    feed(&mut WebSocket::server(Limits::default()), &request, &mut response, &mut events);
    assert_eq!(events, ["open"]);

    let frames = [frame(Side::Server, TEXT, b"early"), frame(Side::Server, CLOSE, b"")].concat();
    let bytes = [response, frames].concat();
    let mut sent = Vec::new();
    feed(&mut client(), &bytes, &mut sent, &mut Vec::new());
    assert_eq!(sent.len(), 6, "a masked Close without a code");
    check_splits(&client, &bytes, &EVENTS, &sent);
}

#[test]
fn interim_answers_without_end_are_cut_off_at_the_limit() {
    let interim = "HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload; as=style\r\n\r\n";
    let bytes = interim.repeat(HEAD_LEN_MAX / interim.len() + 1);
    let error = format!("error head of more than {HEAD_LEN_MAX} bytes");
    for piece_len in [1, 100, bytes.len()] {
        let mut events = Vec::new();
        let mut connection = client();
        let is_broken = |piece: &[u8]| feed(&mut connection, piece, &mut Vec::new(), &mut events);
        let broken_at = bytes.as_bytes().chunks(piece_len).position(is_broken);
        assert_eq!(broken_at, Some((HEAD_LEN_MAX - 1) / piece_len), "by {piece_len}");
        assert_eq!(events, [error.as_str()], "by {piece_len}");
    }
}

#[test]
fn an_end_inside_the_handshake_is_told_from_one_after_it() {
    for (len, expected) in [
        (0, "the connection ended 0 bytes into a head"),
        (10, "the connection ended 10 bytes into a head"),
        (REQUEST.len(), "connection ended without a Close frame (RFC 6455 §7.1.5, code 1006)"),
    ] {
        let mut server = WebSocket::server(Limits::default());
        feed(&mut server, &REQUEST.as_bytes()[..len], &mut Vec::new(), &mut Vec::new());
        let ended = server.end().map_err(|error| error.to_string());
        assert_eq!(ended, Err(expected.to_owned()), "after {len} bytes");
    }
}

/// Feeds connections `bytes` whole, byte by byte, and cut at every position.
fn check_splits(connection: &dyn Fn() -> WebSocket, bytes: &[u8], events: &[&str], sent: &[u8]) {
    let check = |name: &str, pieces: &mut dyn Iterator<Item = &[u8]>| {
        let mut connection = connection();
        let (mut tx, mut lines) = (Vec::new(), Vec::new());
        for piece in pieces {
            feed(&mut connection, piece, &mut tx, &mut lines);
        }
        assert_eq!(lines, events, "{name}");
        assert_eq!(tx.escape_ascii().to_string(), sent.escape_ascii().to_string(), "{name}");
    };
    check("whole", &mut [bytes].into_iter());
    check("byte by byte", &mut bytes.chunks(1));
    for cut in 0..=bytes.len() {
        let (left, right) = bytes.split_at(cut);
        check(&format!("cut at {cut}"), &mut [left, right].into_iter());
    }
}

fn client() -> WebSocket {
    let request = Request {
        host: "example".to_owned(),
        target: "/".to_owned(),
        subprotocols: Vec::new(),
        headers: Vec::new(),
        deflate: None,
    };
    WebSocket::client(Arc::new(request), Limits::default(), 1)
}

const EVENTS: [&str; 3] = ["open", "text early", "closed None \"\""];

/// With the key of RFC 6455 §1.3.
const REQUEST: &str = "GET / HTTP/1.1\r\nHost: example\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";

const RESPONSE: &str = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
    Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";
