//! A client and a server of ours talk to each other with every combination of options.

use super::ends::{End, settle};
use super::world::{client, client_options, server, server_options, world};
use crate::pair::Pair;
use std::sync::Arc;
use wire::framed::{self, Framed};
use wire::http1::{self, Http1};
use wire::raw::Raw;
use wire::tls::{Client, Server, Tls, Version, suites};
use wire::websocket::{self, WebSocket, handshake};
use wire::{Connection, Kind};

#[test]
fn every_version_suite_and_key_talks_over_every_protocol() {
    for (suite, version) in suites() {
        for key in [&world().ecdsa, &world().rsa] {
            let is_rsa = std::ptr::eq(key, &world().rsa);
            if version == Version::Tls12 && suite.contains("RSA") != is_rsa {
                continue; // In TLS 1.2 a suite goes with one kind of key.
            }
            for resumption in [true, false] {
                let mut there = client_options();
                let mut here = server_options();
                here.identity = key.clone();
                there.suites = vec![suite.to_owned()];
                there.versions = vec![version];
                (there.resumption, here.resumption) = (resumption, resumption);
                check_combination(&client(&there), &server(&here), suite, version, resumption);
            }
        }
    }
}

fn check_combination(
    client: &Client,
    server: &Server,
    suite: &str,
    version: Version,
    resumption: bool,
) {
    for (round, transport) in TRANSPORTS.into_iter().enumerate() {
        let (mut there, mut here) = ends(client, server, transport, 5);
        settle(&mut there, &mut here);
        for end in [&there, &here] {
            let facts = &end.secured.as_ref().unwrap_or_else(|| panic!("{:?}", end.heard)).facts;
            assert_eq!((facts.suite, facts.version), (suite, version));
            assert_eq!(facts.resumed, resumption && round > 0, "{suite} {transport}");
            assert_eq!(facts.alpn, None);
            let has_group = version == Version::Tls13 || !facts.resumed;
            assert_eq!(facts.group, has_group.then_some("X25519"));
        }
        there.send(b"hello");
        settle(&mut there, &mut here);
        assert_eq!(here.messages, [b"hello"], "{suite} {transport}");
        here.send(b"hello");
        settle(&mut there, &mut here);
        assert_eq!(there.messages, [b"hello"], "{suite} {transport}");
    }
}

#[test]
fn every_one_of_many_connections_at_once_has_a_ticket() {
    for version in Version::ALL {
        let mut options = client_options();
        options.versions = vec![version];
        let (client, server) = (client(&options), server(&server_options()));
        for is_resumed in [false, true] {
            let mut pairs: Vec<_> = (0..40).map(|_| ends(&client, &server, "framed", 0)).collect();
            for (there, here) in &mut pairs {
                settle(there, here);
                let facts = &there.secured.as_ref().expect("the handshake is complete").facts;
                assert!(!is_resumed || facts.resumed, "{version}");
            }
        }
    }
}

#[test]
fn long_messages_come_back_in_many_records_however_they_are_cut() {
    let (client, server) = (client(&client_options()), server(&server_options()));
    for (transport, sizes) in [
        ("framed", &[0, 1, 16_384, 16_385, 1 << 20][..]),
        ("raw", &[100_000, 100_000]),
        ("websocket", &[0, 125, 65_536, 1 << 20]),
        ("http", &[0, 1, 65_535, 1 << 20]),
    ] {
        for (seed, in_flight) in [(1, 1), (2, 3), (3, 3)] {
            let payloads: Vec<_> = sizes.iter().map(|len| payload(*len)).collect();
            let (there, here) = machines(&client, &server, transport, sizes[0]);
            Pair::new(there, here, seed).converse(Kind::Binary, &payloads, in_flight);
        }
    }
}

fn payload(len: usize) -> Vec<u8> {
    (0..len).map(|index| u8::try_from(index % 251).expect("less than 251")).collect()
}

/// Both ends of a connection, opened.
pub(super) fn ends(
    client: &Client,
    server: &Server,
    transport: &str,
    reply_len: usize,
) -> (End<Connection>, End<Connection>) {
    let (there, here) = machines(client, server, transport, reply_len);
    (End::open(there), End::open(here))
}

/// A client that speaks HTTP, and a server that sends any bytes that it is given.
pub(super) fn http_client_and_raw_server(
    client: &Client,
    server: &Server,
) -> (End<Connection>, End<Connection>) {
    let (there, _) = inner("http", 0);
    let (_, here) = inner("raw", 0);
    (End::open(Tls::client(client, there).into()), End::open(Tls::server(server, here).into()))
}

/// A client that sends any bytes that it is given, and a server that speaks WebSocket.
pub(super) fn raw_client_and_websocket_server(
    client: &Client,
    server: &Server,
) -> (End<Connection>, End<Connection>) {
    let (there, _) = inner("raw", 0);
    let (_, here) = inner("websocket", 0);
    (End::open(Tls::client(client, there).into()), End::open(Tls::server(server, here).into()))
}

fn machines(
    client: &Client,
    server: &Server,
    transport: &str,
    reply_len: usize,
) -> (Connection, Connection) {
    let (there, here) = inner(transport, reply_len);
    (Tls::client(client, there).into(), Tls::server(server, here).into())
}

/// The protocol inside TLS, for both ends.
fn inner(transport: &str, reply_len: usize) -> (Connection, Connection) {
    match transport {
        "raw" => (Raw::client(reply_len).into(), Raw::server().into()),
        "framed" => {
            let end = || Framed::new(framed::Limits::default()).into();
            (end(), end())
        }
        "websocket" => {
            let request = handshake::Request {
                host: "h".to_owned(),
                target: "/".to_owned(),
                subprotocols: Vec::new(),
                headers: Vec::new(),
                deflate: None,
            };
            let limits = websocket::Limits::default();
            (
                WebSocket::client(Arc::new(request), limits, 1).into(),
                WebSocket::server(limits).into(),
            )
        }
        "http" => {
            let parts = http1::RequestParts {
                method: "POST".to_owned(),
                target: "/".to_owned(),
                host: "h".to_owned(),
                headers: Vec::new(),
            };
            let request = Arc::new(http1::Request::new(&parts).expect("well-formed"));
            let limits = http1::Limits::default();
            (Http1::client(request, limits).into(), Http1::server(limits).into())
        }
        other => panic!("{other}"),
    }
}

const TRANSPORTS: [&str; 4] = ["raw", "framed", "websocket", "http"];
