//! Both roles of every protocol talk to each other.

use crate::pair::Pair;
use std::sync::Arc;
use units::Random;
use wire::framed::{self, Framed};
use wire::http1::{self, Http1};
use wire::raw::Raw;
use wire::websocket::{self, WebSocket, handshake};
use wire::{Closed, Connection, Event, Input, Kind, Message, MisuseError, Protocol};

#[test]
fn raw_messages_come_back() {
    // A raw stream cannot carry an empty message, and all replies have one length.
    for len in SIZES.into_iter().filter(|len| *len > 0) {
        check(Kind::Binary, &[len], &|_| (Raw::client(len).into(), Raw::server().into()));
    }
}

#[test]
fn framed_messages_come_back() {
    let end = || Framed::new(framed::Limits::default()).into();
    check(Kind::Binary, &SIZES, &|_| (end(), end()));
}

#[test]
fn http_messages_come_back() {
    for method in ["POST", "GET"] {
        let request = Arc::new(http_request(method, &[]));
        check(Kind::Binary, &SIZES, &|_| {
            let limits = http1::Limits::default();
            (Http1::client(Arc::clone(&request), limits).into(), Http1::server(limits).into())
        });
    }
}

#[test]
fn a_server_that_is_asked_to_close_does() {
    let request = http_request("POST", &[("Connection", "close")]);
    let mut client = Http1::client(Arc::new(request), http1::Limits::default());
    let mut server = Http1::server(http1::Limits::default());
    let message = Message { kind: Kind::Binary, payload: b"last" };
    let (mut there, mut back) = (Vec::new(), Vec::new());
    client.send(message, &mut there).unwrap();

    let mut input = Input::new(&mut there);
    assert_eq!(server.receive(&mut input, &mut back), Ok(Some(Event::Message(message))));
    server.send(message, &mut back).unwrap();
    assert_eq!(server.receive(&mut input, &mut back), Ok(Some(Event::Closed(Closed::default()))));

    let mut input = Input::new(&mut back);
    assert_eq!(client.receive(&mut input, &mut there), Ok(Some(Event::Message(message))));
    assert_eq!(client.receive(&mut input, &mut there), Ok(Some(Event::Closed(Closed::default()))));
    assert_eq!(client.send(message, &mut there), Err(MisuseError::NotOpen));
}

#[test]
fn websocket_messages_come_back() {
    let request = handshake::Request {
        host: "h".to_owned(),
        target: "/".to_owned(),
        subprotocols: Vec::new(),
        headers: Vec::new(),
        deflate: None,
    };
    let request = Arc::new(request);
    for kind in [Kind::Binary, Kind::Text] {
        check(kind, &SIZES, &|seed| {
            let limits = websocket::Limits::default();
            (
                WebSocket::client(Arc::clone(&request), limits, seed).into(),
                WebSocket::server(limits).into(),
            )
        });
    }
}

/// Sends messages of all `sizes`, one after the other and several at once, cut in several ways.
fn check(kind: Kind, sizes: &[usize], ends: &dyn Fn(u64) -> (Connection, Connection)) {
    for seed in 0..4 {
        let mut random = Random::new(seed);
        let mut payloads: Vec<_> =
            sizes.iter().chain(sizes).map(|len| payload(*len, &mut random)).collect();
        random.shuffle(&mut payloads);
        for in_flight in [1, 5] {
            let (client, server) = ends(seed);
            Pair::new(client, server, seed).converse(kind, &payloads, in_flight);
        }
    }
}

/// Bytes that are also text.
fn payload(len: usize, random: &mut Random) -> Vec<u8> {
    let mut bytes = vec![0; len];
    random.fill(&mut bytes);
    bytes.iter_mut().for_each(|byte| *byte &= 0x7f);
    bytes
}

fn http_request(method: &str, headers: &[(&str, &str)]) -> http1::Request {
    let headers =
        headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let parts = http1::RequestParts {
        method: method.to_owned(),
        target: "/".to_owned(),
        host: "h".to_owned(),
        headers,
    };
    http1::Request::new(&parts).expect("the parts are well-formed")
}

/// Lengths at which the length fields of the protocols change, and lengths that exceed every buffer.
const SIZES: [usize; 8] = [0, 1, 125, 126, 127, 65_535, 65_536, 1 << 20];
