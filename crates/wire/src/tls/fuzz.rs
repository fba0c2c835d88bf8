//! Properties that hold for any input, and for any message however its records are cut.
//!
//! TLS draws keys from the system, so two machines never send the same bytes; the checks compare what they understand.

use super::options::{Client, ClientOptions, Identity, Server, ServerOptions, Trust};
use super::{Tls, Version};
use crate::contract::{Event, Input, Kind, Message, Protocol};
use crate::framed::{Framed, Limits};
use crate::transcript::Transcript;
use rcgen::{CertificateParams, KeyPair};
use std::sync::OnceLock;

/// Reads `bytes` as authorities, as a certificate and as its key: an end that takes them can begin a connection.
///
/// # Panics
///
/// If it cannot.
pub(crate) fn fuzz_tls_files(bytes: &[u8]) {
    let identity = Identity { chain_pem: bytes.to_vec(), key_pem: bytes.to_vec() };
    let authorities = Trust::Authorities { pem: vec![bytes.to_vec()], der: vec![bytes.to_vec()] };
    for options in [
        ClientOptions { trust: authorities, ..client_options() },
        ClientOptions { identity: Some(identity.clone()), ..client_options() },
    ] {
        if let Ok(client) = Client::new(&options, "h") {
            let mut tx = Vec::new();
            Tls::client(&client, framed()).open(&mut tx);
            assert!(!tx.is_empty());
        }
    }
    let asks_clients =
        ServerOptions { client_authorities_pem: Some(bytes.to_vec()), ..world().options.clone() };
    for options in [asks_clients, ServerOptions { identity, ..world().options.clone() }] {
        if let Ok(server) = Server::new(&options) {
            Tls::server(&server, framed()).open(&mut Vec::new());
        }
    }
}

/// Feeds `bytes`, split in many ways, to both roles before the handshake. All of them must give the same result.
///
/// # Panics
///
/// If they do not.
pub(crate) fn fuzz_tls_handshake(bytes: &[u8]) {
    let world = world();
    check_handshake(bytes, &|| Tls::client(&world.clients[1], framed()));
    check_handshake(bytes, &|| Tls::server(&world.server, framed()));
}

fn check_handshake(bytes: &[u8], machine: &dyn Fn() -> Tls<Framed>) {
    let understood = |pieces: &mut dyn Iterator<Item = &[u8]>| {
        let mut machine = machine();
        machine.open(&mut Vec::new());
        let mut events = Transcript::of(machine, pieces).events;
        for event in &mut events {
            // The bytes that an error shows depend on how many had arrived.
            event.truncate(event.find("it sent").unwrap_or(event.len()));
        }
        events
    };
    let whole = understood(&mut [bytes].into_iter());
    assert_eq!(understood(&mut bytes.chunks(1)), whole, "byte by byte");
    for cut in (1..bytes.len()).step_by(1 + bytes.len() / CUTS_MAX) {
        let (left, right) = bytes.split_at(cut);
        assert_eq!(understood(&mut [left, right].into_iter()), whole, "cut at {cut}");
    }
}

/// Sends the parts of `bytes` between zeros as messages, and delivers their records in pieces whose lengths `bytes`
/// determine; then again with one bit changed.
///
/// # Panics
///
/// If not everything arrives, or anything that was changed does.
pub(crate) fn fuzz_tls_records(bytes: &[u8]) {
    let world = world();
    let sent: Vec<&[u8]> = bytes.split(|byte| *byte == 0).collect();
    for client in &world.clients {
        let (mut sender, mut receiver) = secured(client, &world.server);
        let arrived = deliver(&mut sender, &mut receiver, &sent, bytes, None);
        assert_eq!(arrived, sent, "whole");

        let at = bytes.iter().map(|byte| usize::from(*byte)).sum();
        let arrived = deliver(&mut sender, &mut receiver, &sent, bytes, Some(at));
        assert!(arrived.is_empty(), "changed: {arrived:?}");
    }
}

/// Delivers records and returns the messages that arrive; changes a bit in byte `changed` of the first record. In a
/// header that may go unnoticed: rustls ignores the last digit of the version.
fn deliver(
    sender: &mut Tls<Framed>,
    receiver: &mut Tls<Framed>,
    messages: &[&[u8]],
    lens: &[u8],
    changed: Option<usize>,
) -> Vec<Vec<u8>> {
    let mut records = Vec::new();
    for payload in messages {
        let message = Message { kind: Kind::Binary, payload };
        sender.send(message, &mut records).expect("it is open");
    }
    if let Some(at) = changed {
        let len = usize::from(u16::from_be_bytes([records[3], records[4]]));
        records[5 + at % len] ^= 1;
    }
    let mut arrived = Vec::new();
    let mut lens = lens.iter().map(|byte| 1 + usize::from(*byte));
    let mut rest = &mut records[..];
    while !rest.is_empty() {
        let len = lens.next().unwrap_or(rest.len()).min(rest.len());
        let (piece, after) = rest.split_at_mut(len);
        rest = after;
        if !receive(receiver, piece, &mut Vec::new(), &mut arrived) {
            break;
        }
    }
    arrived
}

/// Feeds one piece; true if the machine may be fed more.
fn receive(
    machine: &mut Tls<Framed>,
    bytes: &mut [u8],
    tx: &mut Vec<u8>,
    messages: &mut Vec<Vec<u8>>,
) -> bool {
    let mut input = Input::new(bytes);
    loop {
        match machine.receive(&mut input, tx) {
            Ok(None) => return true,
            Ok(Some(Event::Message(message))) => messages.push(message.payload.to_vec()),
            Ok(Some(_)) => {}
            Err(_) => return false,
        }
    }
}

/// Two ends after the handshake.
fn secured(client: &Client, server: &Server) -> (Tls<Framed>, Tls<Framed>) {
    let mut client = Tls::client(client, framed());
    let mut server = Tls::server(server, framed());
    let (mut there, mut back, mut none) = (Vec::new(), Vec::new(), Vec::new());
    client.open(&mut there);
    while !there.is_empty() {
        assert!(receive(&mut server, &mut std::mem::take(&mut there), &mut back, &mut none));
        assert!(receive(&mut client, &mut std::mem::take(&mut back), &mut there, &mut none));
    }
    (client, server)
}

/// The parts that are made once: a client for each version, and a server.
struct World {
    clients: [Client; 2],
    server: Server,
    /// The options of the server.
    options: ServerOptions,
}

fn world() -> &'static World {
    static WORLD: OnceLock<World> = OnceLock::new();
    WORLD.get_or_init(|| {
        let key = KeyPair::generate().expect("the system has randomness");
        let certificate = CertificateParams::default().self_signed(&key).expect("rcgen makes it");
        let clients = Version::ALL.map(|version| {
            let options = ClientOptions { versions: vec![version], ..client_options() };
            Client::new(&options, "h").expect("the options are good")
        });
        let options = ServerOptions {
            versions: Vec::new(),
            suites: Vec::new(),
            identity: Identity {
                chain_pem: certificate.pem().into_bytes(),
                key_pem: key.serialize_pem().into_bytes(),
            },
            client_authorities_pem: None,
            alpn: Vec::new(),
            resumption: true,
            now_unix_s: 0,
        };
        let server = Server::new(&options).expect("the options are good");
        World { clients, server, options }
    })
}

/// The options of a client that trusts anyone.
fn client_options() -> ClientOptions {
    ClientOptions {
        versions: Vec::new(),
        suites: Vec::new(),
        trust: Trust::Anyone,
        identity: None,
        alpn: Vec::new(),
        resumption: true,
        now_unix_s: 0,
    }
}

fn framed() -> Framed {
    Framed::new(Limits { frame_len_max: 1 << 20 })
}

/// Most cuts of a handshake: each costs a key.
const CUTS_MAX: usize = 8;
