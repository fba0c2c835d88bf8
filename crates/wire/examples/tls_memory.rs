//! Measures the cost of TLS in memory and CPU time: rustls by itself, and through our layer, with one configuration.
//!
//! ```text
//! cargo run --release -p wire --example tls_memory -- --size 64 --seconds 2
//! ```
//!
//! `--version 1.2|1.3`, `--suite NAME` and `--key ecdsa|rsa` choose what is measured. A turn is a batch of messages and
//! a few handshakes, each by rustls alone and through the layer, in an order that turns around; turns are made until
//! the time is up. Printed is one line of JSON with the medians over all turns, in microseconds of CPU:
//!
//! - `records_us`: one message encrypted and one decrypted, by rustls; `layer_records_us`: through the layer;
//! - `full_client_us`, `full_server_us`, `resumed_client_us`, `resumed_server_us`: one end of a handshake by rustls,
//!   from making the connection until it is complete and tickets are stored; with `layer_` before it, through the
//!   layer.
//!
//! Full handshakes are those of a client without tickets, against a server that gives them out all the same.

#![expect(clippy::print_stdout, reason = "a program, not a library")]
#![expect(clippy::cast_precision_loss, reason = "nanoseconds of a turn, as a figure for people")]

use rcgen::{
    BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, PKCS_ECDSA_P256_SHA256,
    PKCS_RSA_SHA256,
};
use rustix::time::{ClockId, clock_gettime};
use rustls::client::{Resumption, UnbufferedClientConnection};
use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::{Ticketer, default_provider};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::UnbufferedServerConnection;
use rustls::unbuffered::{ConnectionState, EncodeError, UnbufferedStatus};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::hint::black_box;
use std::sync::Arc;
use wire::raw::Raw;
use wire::tls::{
    Client, ClientOptions, Identity, Server, ServerOptions, Tls, Trust, Version, suites,
};
use wire::{Event, Input, Kind, Message, Protocol};

fn main() {
    let arguments = Arguments::read();
    let files = Files::make(&arguments.key);
    let bare = Bare::new(&arguments, &files);
    let layer = Layer::new(&arguments, &files);
    let mut turns: Vec<Vec<f64>> = Vec::new();
    let begin = now_ns(ClockId::Monotonic);
    let is_over = |turns: usize| {
        turns >= TURNS_MIN && (now_ns(ClockId::Monotonic) - begin) as f64 >= arguments.seconds * 1e9
    };
    bare.turn(&arguments);
    layer.turn(&arguments);
    while !is_over(turns.len()) {
        // Whoever is first in a turn is second in the next.
        turns.push(if turns.len().is_multiple_of(2) {
            let bare = bare.turn(&arguments);
            [bare, layer.turn(&arguments)].concat()
        } else {
            let layer = layer.turn(&arguments);
            [bare.turn(&arguments), layer].concat()
        });
    }
    let figures = FIGURES.map(|name| name.to_owned()).into_iter();
    let figures: Vec<String> = figures
        .clone()
        .chain(figures.map(|name| format!("layer_{name}")))
        .enumerate()
        .map(|(column, name)| format!("\"{name}\": {:.4}", median(&turns, column) / 1e3))
        .collect();
    println!(
        "{{\"size\": {}, \"version\": \"{}\", \"suite\": \"{}\", \"key\": \"{}\", \"turns\": {}, {}}}",
        arguments.size,
        arguments.version,
        arguments.suite,
        arguments.key,
        turns.len(),
        figures.join(", ")
    );
}

/// The settings of a measurement.
struct Arguments {
    key: String,
    seconds: f64,
    size: usize,
    suite: String,
    version: Version,
}

impl Arguments {
    fn read() -> Self {
        let words: Vec<String> = std::env::args().skip(1).collect();
        let said = |name: &str| {
            let at = words.iter().position(|word| word == name)?;
            Some(words.get(at + 1).unwrap_or_else(|| panic!("{name} wants a value")).clone())
        };
        let version = said("--version")
            .map_or(Version::Tls13, |text| text.parse().expect("--version is 1.2 or 1.3"));
        let key = said("--key").unwrap_or_else(|| "ecdsa".to_owned());
        let fits =
            |suite: &str| version == Version::Tls13 || suite.contains(&key.to_ascii_uppercase());
        let first = suites().find(|(suite, of)| *of == version && fits(suite));
        let number =
            |name: &str, or: f64| said(name).map_or(or, |text| text.parse().expect("a number"));
        Self {
            seconds: number("--seconds", 2.0),
            size: said("--size").map_or(64, |text| text.parse().expect("a number of bytes")),
            suite: said("--suite")
                .or_else(|| first.map(|(suite, _)| suite.to_owned()))
                .expect("every version has suites"),
            key,
            version,
        }
    }
}

/// An authority and a server's certificate, as files of PEM.
struct Files {
    authority: String,
    chain: String,
    key: String,
}

impl Files {
    fn make(kind: &str) -> Self {
        let algorithm = match kind {
            "ecdsa" => &PKCS_ECDSA_P256_SHA256,
            "rsa" => &PKCS_RSA_SHA256,
            other => panic!("--key is ecdsa or rsa, not {other}"),
        };
        let key = || KeyPair::generate_for(algorithm).expect("the system has randomness");
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        let authority_key = key();
        let authority = params.self_signed(&authority_key).expect("rcgen makes it");
        let issuer = Issuer::new(params, authority_key);
        let leaf = CertificateParams::new([NAME.to_owned()]).expect("it is a name");
        let leaf_key = key();
        let leaf = leaf.signed_by(&leaf_key, &issuer).expect("rcgen makes it");
        Self { authority: authority.pem(), chain: leaf.pem(), key: leaf_key.serialize_pem() }
    }
}

/// rustls alone.
struct Bare {
    /// Without tickets, and with.
    clients: [Arc<ClientConfig>; 2],
    server: Arc<ServerConfig>,
}

/// Our layer.
struct Layer {
    clients: [Client; 2],
    server: Server,
}

impl Bare {
    fn new(arguments: &Arguments, files: &Files) -> Self {
        let mut provider = default_provider();
        provider
            .cipher_suites
            .retain(|suite| suite.suite().as_str() == Some(arguments.suite.as_str()));
        let provider = Arc::new(provider);
        let versions = [match arguments.version {
            Version::Tls12 => &rustls::version::TLS12,
            Version::Tls13 => &rustls::version::TLS13,
        }];
        let client = |resumption| {
            let mut config = Self::client(&provider, &versions, files);
            config.resumption = resumption;
            Arc::new(config)
        };
        let chain = CertificateDer::from_pem_slice(files.chain.as_bytes()).expect("it is PEM");
        let key = PrivateKeyDer::from_pem_slice(files.key.as_bytes()).expect("it is PEM");
        let mut server = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&versions)
            .expect("the suite is of this version")
            .with_no_client_auth()
            .with_single_cert(vec![chain], key)
            .expect("the key is the certificate's");
        server.ticketer = Ticketer::new().expect("the system has randomness");
        Self {
            clients: [client(Resumption::disabled()), client(Resumption::in_memory_sessions(256))],
            server: Arc::new(server),
        }
    }

    fn client(
        provider: &Arc<CryptoProvider>,
        versions: &[&'static rustls::SupportedProtocolVersion],
        files: &Files,
    ) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        let authority = CertificateDer::from_pem_slice(files.authority.as_bytes());
        roots.add(authority.expect("it is PEM")).expect("it is an authority");
        ClientConfig::builder_with_provider(Arc::clone(provider))
            .with_protocol_versions(versions)
            .expect("the suite is of this version")
            .with_root_certificates(roots)
            .with_no_client_auth()
    }

    /// Nanoseconds of all [`FIGURES`].
    fn turn(&self, arguments: &Arguments) -> Vec<f64> {
        let (mut pair, _) = self.handshake(0);
        let payload = vec![7; arguments.size];
        let (mut records, mut total) = (Vec::new(), 0);
        let begin = now_ns(ClockId::ThreadCPUTime);
        for _ in 0..BATCH {
            records.clear();
            pair.client.write(&payload, &mut records);
            total += pair.server.read(&mut records, &mut Vec::new());
        }
        let each = (now_ns(ClockId::ThreadCPUTime) - begin) as f64 / BATCH as f64;
        assert_eq!(total, BATCH * arguments.size);
        let handshakes = [0, 1].map(|which| mean(|| self.handshake(which).1));
        [[each].as_slice(), handshakes.as_flattened()].concat()
    }

    /// A handshake, and nanoseconds of CPU at the client and at the server.
    fn handshake(&self, which: usize) -> (Pair, [f64; 2]) {
        let mut ns = [0, 0];
        let name = ServerName::try_from(NAME).expect("it is a name");
        let client = time(&mut ns[0], || {
            let config = Arc::clone(&self.clients[which]);
            End::Client(UnbufferedClientConnection::new(config, name).expect("it can be made"))
        });
        let server = time(&mut ns[1], || {
            let config = Arc::clone(&self.server);
            End::Server(UnbufferedServerConnection::new(config).expect("it can be made"))
        });
        let mut pair = Pair { client, server };
        let (mut there, mut back) = (Vec::new(), Vec::new());
        time(&mut ns[0], || pair.client.read(&mut [], &mut there));
        while !there.is_empty() {
            time(&mut ns[1], || pair.server.read(&mut there, &mut back));
            there.clear();
            time(&mut ns[0], || pair.client.read(&mut back, &mut there));
            back.clear();
        }
        (pair, ns.map(|ns| ns as f64))
    }
}

/// Two connections of rustls.
struct Pair {
    client: End,
    server: End,
}

/// One of them.
enum End {
    Client(UnbufferedClientConnection),
    Server(UnbufferedServerConnection),
}

impl End {
    /// Understands whole records and answers; how many bytes were protected in them.
    fn read(&mut self, records: &mut [u8], answers: &mut Vec<u8>) -> usize {
        let (mut used, mut total) = (0, 0);
        loop {
            let records = &mut records[used..];
            let (discard, found) = match self {
                Self::Client(end) => handle(end.process_tls_records(records), answers),
                Self::Server(end) => handle(end.process_tls_records(records), answers),
            };
            used += discard;
            match found {
                Some(len) => total += len,
                None => return total,
            }
        }
    }

    /// Encrypts a message to the end of `records`.
    fn write(&mut self, payload: &[u8], records: &mut Vec<u8>) {
        records.resize(payload.len() + 64 * (1 + payload.len() / 16_384), 0);
        let written = match self {
            Self::Client(end) => encrypt(end.process_tls_records(&mut []), payload, records),
            Self::Server(end) => encrypt(end.process_tls_records(&mut []), payload, records),
        };
        records.truncate(written);
    }
}

/// The number of bytes that are done with, and the number of messages in them; `None` if nothing is left to do.
#[expect(clippy::wildcard_enum_match_arm, reason = "all other states are those to wait in")]
fn handle<Data>(
    status: UnbufferedStatus<'_, '_, Data>,
    answers: &mut Vec<u8>,
) -> (usize, Option<usize>) {
    let found = match status.state.expect("both ends are ours") {
        ConnectionState::ReadTraffic(mut traffic) => {
            let mut total = 0;
            while let Some(record) = traffic.next_record() {
                total += black_box(record.expect("both ends are ours").payload).len();
            }
            Some(total)
        }
        ConnectionState::EncodeTlsData(mut data) => {
            let from = answers.len();
            if let Err(EncodeError::InsufficientSize(room)) = data.encode(&mut []) {
                answers.resize(from + room.required_size, 0);
                data.encode(&mut answers[from..]).expect("there is room");
            }
            Some(0)
        }
        ConnectionState::TransmitTlsData(sent) => {
            sent.done();
            Some(0)
        }
        _ => None,
    };
    (status.discard, found)
}

fn encrypt<Data>(
    status: UnbufferedStatus<'_, '_, Data>,
    payload: &[u8],
    records: &mut [u8],
) -> usize {
    match status.state {
        Ok(ConnectionState::WriteTraffic(mut traffic)) => {
            traffic.encrypt(payload, records).expect("there is room")
        }
        other => panic!("{other:?} after the handshake"),
    }
}

impl Layer {
    fn new(arguments: &Arguments, files: &Files) -> Self {
        let bytes = |text: &str| text.as_bytes().to_vec();
        let client = |resumption| {
            let pem = vec![bytes(&files.authority)];
            let options = ClientOptions {
                versions: vec![arguments.version],
                suites: vec![arguments.suite.clone()],
                trust: Trust::Authorities { pem, der: Vec::new() },
                identity: None,
                alpn: Vec::new(),
                resumption,
                now_unix_s: NOW_UNIX_S,
            };
            Client::new(&options, NAME).expect("the options are good")
        };
        let server = ServerOptions {
            versions: vec![arguments.version],
            suites: vec![arguments.suite.clone()],
            identity: Identity { chain_pem: bytes(&files.chain), key_pem: bytes(&files.key) },
            client_authorities_pem: None,
            alpn: Vec::new(),
            resumption: true,
            now_unix_s: NOW_UNIX_S,
        };
        Self {
            clients: [client(false), client(true)],
            server: Server::new(&server).expect("the options are good"),
        }
    }

    /// Nanoseconds of all [`FIGURES`].
    fn turn(&self, arguments: &Arguments) -> Vec<f64> {
        let ([mut client, mut server], _) = self.handshake(0);
        let payload = vec![7; arguments.size];
        let message = Message { kind: Kind::Binary, payload: &payload };
        let (mut tx, mut answers, mut total) = (Vec::new(), Vec::new(), 0);
        let begin = now_ns(ClockId::ThreadCPUTime);
        for _ in 0..BATCH {
            tx.clear();
            client.send(message, &mut tx).expect("it is open");
            total += receive(&mut server, &mut tx, &mut answers);
        }
        let each = (now_ns(ClockId::ThreadCPUTime) - begin) as f64 / BATCH as f64;
        assert_eq!(total, BATCH * arguments.size);
        let handshakes = [0, 1].map(|which| mean(|| self.handshake(which).1));
        [[each].as_slice(), handshakes.as_flattened()].concat()
    }

    /// A handshake, and nanoseconds of CPU at the client and at the server.
    fn handshake(&self, which: usize) -> ([Tls<Raw>; 2], [f64; 2]) {
        let mut ns = [0, 0];
        let (mut there, mut back) = (Vec::new(), Vec::new());
        let mut client = time(&mut ns[0], || {
            let mut client = Tls::client(&self.clients[which], Raw::client(0));
            client.open(&mut there);
            client
        });
        let mut server = time(&mut ns[1], || {
            let mut server = Tls::server(&self.server, Raw::server());
            server.open(&mut back);
            server
        });
        while !there.is_empty() {
            time(&mut ns[1], || receive(&mut server, &mut there, &mut back));
            there.clear();
            time(&mut ns[0], || receive(&mut client, &mut back, &mut there));
            back.clear();
        }
        ([client, server], ns.map(|ns| ns as f64))
    }
}

/// The number of message bytes that came.
fn receive(end: &mut Tls<Raw>, bytes: &mut [u8], tx: &mut Vec<u8>) -> usize {
    let mut input = Input::new(bytes);
    let mut total = 0;
    while let Some(event) = end.receive(&mut input, tx).expect("both ends are ours") {
        if let Event::Message(message) = event {
            total += black_box(message.payload).len();
        }
    }
    total
}

/// Adds the CPU time of `work` to `ns`.
fn time<T>(ns: &mut u64, work: impl FnOnce() -> T) -> T {
    let begin = now_ns(ClockId::ThreadCPUTime);
    let done = work();
    *ns += now_ns(ClockId::ThreadCPUTime) - begin;
    done
}

/// The mean of a few handshakes.
fn mean(handshake: impl Fn() -> [f64; 2]) -> [f64; 2] {
    let mut sum = [0.0, 0.0];
    for _ in 0..HANDSHAKES {
        let [client, server] = handshake();
        sum = [sum[0] + client, sum[1] + server];
    }
    sum.map(|sum| sum / HANDSHAKES as f64)
}

fn median(turns: &[Vec<f64>], column: usize) -> f64 {
    let mut values: Vec<f64> = turns.iter().map(|turn| turn[column]).collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn now_ns(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    let [s, ns] = [time.tv_sec, time.tv_nsec].map(|part| u64::try_from(part).unwrap_or(0));
    s * 1_000_000_000 + ns
}

/// The figures of a turn, in the order in which it returns them.
const FIGURES: [&str; 5] =
    ["records_us", "full_client_us", "full_server_us", "resumed_client_us", "resumed_server_us"];

const NAME: &str = "localhost";

/// 2026-01-01; certificates made here are valid for longer than anyone will measure.
const NOW_UNIX_S: u64 = 1_767_225_600;

/// Messages in a turn.
const BATCH: usize = 500;

/// Handshakes of each kind in a turn.
const HANDSHAKES: usize = 4;

/// No median is of fewer turns.
const TURNS_MIN: usize = 5;
