//! The servers inside TLS, and who else connects to a TLS port.

use crate::world::{
    HANDSHAKE, Speaks, Talking, World, address, calm, framed, http, lines, ms, raw, raw_messages,
    websocket,
};
use engine::sim::{Conditions, Outcome, Sim, Split};
use engine::{Completion, ConnectionId, Engine, Node, Step};
use serve::certificates::{Authority, KeyType, Leaf, Name, Usage, Validity, local_names};
use serve::{Behaviour, Handshakes, Totals};
use units::{Instant, Nanos};
use wire::tls::{
    Client, ClientOptions, Facts, Identity, Server, ServerOptions, Tls, Trust, Version,
};
use wire::{Connection, Event, Input, Kind, Message, PeerError, Protocol};

#[test]
fn every_transport_is_served_inside_tls_in_whatever_pieces_it_comes() {
    for key_type in [KeyType::Ecdsa, KeyType::Rsa] {
        let people = People::new(key_type, VALID);
        for version in [Version::Tls12, Version::Tls13] {
            for split in [Split::Never, Split::ByteByByte, Split::Random { chunk_len_max: 700 }] {
                for speaks in [framed(), lines(), http(), raw(), raw_messages(5), websocket()] {
                    let options =
                        ServerOptions { versions: vec![version], ..people.server_options() };
                    let mut world = secure(&speaks, &options, Conditions { split, ..calm() });
                    let client = people.client(&people.client_options());
                    let said = ask(&mut world, &client, &speaks);
                    assert_eq!(said.heard, [b"hello", b"world"], "{speaks:?} {split:?}");
                    let facts = said.facts.expect("it was secured");
                    assert_eq!((facts.version, facts.resumed), (version, false));
                    // The client's last bytes are on their way.
                    world.run_alone(world.network.now() + ms(10));
                    let totals = world.totals();
                    assert_eq!(totals.handshakes, Handshakes { full: 1, ..Handshakes::default() });
                    assert_eq!((totals.connections, totals.broken), (1, 0), "{speaks:?}");
                    assert_eq!(totals.bytes_received, said.sent, "{speaks:?}");
                }
            }
        }
    }
}

#[test]
fn an_oracle_behaves_inside_tls_as_it_does_without() {
    let people = People::new(KeyType::Ecdsa, VALID);
    let behaviour = Behaviour { delay: "fixed:7ms".parse().unwrap(), ..Behaviour::default() };
    let mut world = World::oracle_with(framed(), Some(people.server()), behaviour);
    let client = people.client(&people.client_options());
    let said = ask(&mut world, &client, &framed());
    assert_eq!(said.heard, [b"hello", b"world"]);
    // From the message to its reply: there, kept, and back.
    assert_eq!(said.round_trips, [ms(9), ms(9)]);
    assert_eq!(world.totals().handshakes, Handshakes { full: 1, ..Handshakes::default() });
}

#[test]
fn a_client_that_was_here_before_resumes_if_both_ends_do() {
    let people = People::new(KeyType::Ecdsa, VALID);
    for version in [Version::Tls12, Version::Tls13] {
        for (server, client) in [(true, true), (true, false), (false, true)] {
            let versions = vec![version];
            let options = ServerOptions { versions, resumption: server, ..people.server_options() };
            let mut world = secure(&framed(), &options, calm());
            let options = ClientOptions { resumption: client, ..people.client_options() };
            let client = people.client(&options);
            let resumed: Vec<bool> = (0..3)
                .map(|_| ask(&mut world, &client, &framed()).facts.unwrap().resumed)
                .collect();
            let both = server && options.resumption;
            assert_eq!(resumed, [false, both, both], "{version} {server} {options:?}");
            let resumed = if both { 2 } else { 0 };
            let handshakes = Handshakes { full: 3 - resumed, resumed, failed: 0 };
            assert_eq!(world.totals().handshakes, handshakes);
        }
    }
}

#[test]
fn whoever_does_not_speak_tls_is_told_so_and_counted() {
    let people = People::new(KeyType::Ecdsa, VALID);
    let hello = people.hello();
    #[rustfmt::skip]
    let table: [(&[u8], bool, &str); _] = [
        (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", true,  "plain HTTP"),
        (HANDSHAKE,                            true,  "a plain WebSocket"),
        (b"\0\0\0\x05hello",                   true,  "plain frames"),
        (&[0xff; 3000],                        true,  "garbage"),
        (b"\x16\x03\x01\xff\xff",              true,  "a record longer than any may be"),
        (b"\x16\x03\x01\0\x05\x01\0\xff\xff\xff", false, "a message longer than any may be, still incomplete"),
        (b"\x17\x03\x03\0\x05hello",           true,  "data before any handshake"),
        (&hello[..hello.len() / 2],            false, "half a ClientHello"),
        (&hello[..3],                          false, "half a header"),
        (b"",                                  false, "nothing"),
    ];
    for (said, is_broken, what) in table {
        for split in [Split::Never, Split::ByteByByte] {
            let options = people.server_options();
            let mut world = secure(&websocket(), &options, Conditions { split, ..calm() });
            let mut client = Talking::new(&[said]);
            client.ends = true;
            assert_eq!(world.run(&mut client, Instant(60_000_000_000)), Outcome::Done, "{what}");
            let heard = client.heard.properly_ended();
            // An alert is a record of type 21 with its level, fatal, and its description.
            let is_alert = heard.len() == 7 && heard[0] == 21 && heard[5] == 2;
            assert_eq!(is_alert, is_broken, "{what}: {heard:?}");
            assert!(is_alert || heard.is_empty(), "{what}: {heard:?}");
            let totals = world.totals();
            let failed = Handshakes { failed: 1, ..Handshakes::default() };
            assert_eq!(
                (totals.handshakes, totals.broken),
                (failed, u64::from(is_broken)),
                "{what}"
            );
            check_serves(&people, &mut world);
        }
    }
}

#[test]
fn a_peer_that_stops_inside_the_handshake_is_closed_after_ten_seconds() {
    let people = People::new(KeyType::Ecdsa, VALID);
    let hello = people.hello();
    for said in [&hello[..], &hello[..hello.len() / 2], &hello[..1], b""] {
        let mut world = secure(&websocket(), &people.server_options(), calm());
        let lines = [said];
        let mut client = Talking::new(if said.is_empty() { &[] } else { &lines });
        assert_eq!(world.run(&mut client, Instant(20_000_000_000)), Outcome::Done);
        // Accepted after 1 ms; the server checks ten times a second; the client hears of it a delay later.
        let [closed] = world.serving.closed[..] else { panic!("{:?}", world.serving.closed) };
        let (least, most) = (Instant(10_001_000_000), Instant(10_102_000_000));
        assert!((least..most).contains(&closed), "{closed:?}");
        let failed = Handshakes { failed: 1, ..Handshakes::default() };
        assert_eq!((world.totals().handshakes, world.totals().broken), (failed, 0));
        check_serves(&people, &mut world);
    }
}

#[test]
fn a_connection_whose_handshake_was_in_time_stays() {
    let people = People::new(KeyType::Ecdsa, VALID);
    let mut world = secure(&framed(), &people.server_options(), calm());
    let client = people.client(&people.client_options());
    let mut asking = Asking::new(&client, &framed());
    asking.pause = Nanos::from_secs(30);
    assert_eq!(world.run(&mut asking, Instant(90_000_000_000)), Outcome::Done);
    assert_eq!(asking.said.heard, [b"hello", b"world"]);
}

#[test]
fn a_client_that_distrusts_the_server_says_why_and_is_counted() {
    let good = People::new(KeyType::Ecdsa, VALID);
    let (from_unix_s, until_unix_s) = (NOW_UNIX_S - 7200, NOW_UNIX_S - 3600);
    let expired = People::new(KeyType::Ecdsa, Validity { from_unix_s, until_unix_s });
    let (from_unix_s, until_unix_s) = (NOW_UNIX_S + 3600, NOW_UNIX_S + 7200);
    let early = People::new(KeyType::Rsa, Validity { from_unix_s, until_unix_s });
    let other = People::new(KeyType::Ecdsa, VALID);
    let foreign = good.named(&[Name::Dns("other.example".to_owned())]);
    #[rustfmt::skip]
    let table = [
        ("expired",           expired.server_options(), &expired),
        ("not valid yet",     early.server_options(),   &early),
        ("another authority", other.server_options(),   &good),
        ("another name",      ServerOptions { identity: foreign, ..good.server_options() }, &good),
        ("for clients",       ServerOptions { identity: good.show(Usage::Client), ..good.server_options() }, &good),
    ];
    for (what, options, people) in table {
        for version in [Version::Tls12, Version::Tls13] {
            let options = ServerOptions { versions: vec![version], ..options.clone() };
            let mut world = secure(&framed(), &options, calm());
            let client = people.client(&people.client_options());
            let said = ask(&mut world, &client, &framed());
            assert!(matches!(said.error, Some(PeerError::Tls(_))), "{what} {:?}", said.error);
            assert_eq!(said.heard, Vec::<Vec<u8>>::new(), "{what}");
            let Totals { handshakes, broken, .. } = world.totals();
            let failed = Handshakes { failed: 1, ..Handshakes::default() };
            assert_eq!((handshakes, broken), (failed, 1), "{what} {version}");
        }
    }
}

#[test]
fn clients_show_a_certificate_where_one_is_asked_for() {
    for key_type in [KeyType::Ecdsa, KeyType::Rsa] {
        let people = People::new(key_type, VALID);
        let others = People::new(key_type, VALID);
        let authority = people.authority.certificate_pem().as_bytes().to_vec();
        let options =
            ServerOptions { client_authorities_pem: Some(authority), ..people.server_options() };
        for version in [Version::Tls12, Version::Tls13] {
            let options = ServerOptions { versions: vec![version], ..options.clone() };
            let table = [
                (Some(people.show(Usage::Client)), true),
                (Some(people.show(Usage::Server)), false),
                (Some(others.show(Usage::Client)), false),
                (None, false),
            ];
            for (identity, is_served) in table {
                let mut world = secure(&framed(), &options, calm());
                let client = people.client(&ClientOptions { identity, ..people.client_options() });
                let said = ask(&mut world, &client, &framed());
                assert_eq!(said.heard.len(), if is_served { 2 } else { 0 }, "{version}");
                assert_eq!(said.error.is_some(), !is_served, "{version} {:?}", said.error);
                let (full, failed) = (u64::from(is_served), u64::from(!is_served));
                let handshakes = Handshakes { full, failed, resumed: 0 };
                assert_eq!(world.totals().handshakes, handshakes, "{version}");
            }
        }
    }
}

#[test]
fn a_client_hello_breaks_the_protocol_of_a_plain_server() {
    let people = People::new(KeyType::Ecdsa, VALID);
    for (speaks, broken) in [(framed(), 1), (http(), 1), (websocket(), 1), (raw(), 0)] {
        let mut world = World::new(speaks.clone(), calm());
        let client = people.client(&people.client_options());
        let said = ask(&mut world, &client, &speaks);
        assert!(matches!(said.error, Some(PeerError::Tls(_))), "{speaks:?} {:?}", said.error);
        let totals = world.totals();
        assert_eq!(
            (totals.broken, totals.handshakes),
            (broken, Handshakes::default()),
            "{speaks:?}"
        );
    }
}

/// Checks that the server still serves others.
fn check_serves(people: &People, world: &mut World) {
    let client = people.client(&people.client_options());
    let mut asking = Asking::new(&client, &websocket());
    let until = Instant(world.network.now().0 + Nanos::from_secs(5).0);
    assert_eq!(world.run(&mut asking, until), Outcome::Done);
    assert_eq!(asking.said.heard, [b"hello", b"world"]);
}

fn secure(speaks: &Speaks, options: &ServerOptions, conditions: Conditions) -> World {
    World::secure(speaks.clone(), Server::new(options).unwrap(), conditions)
}

/// Lets a client send its two messages, and returns what it heard.
fn ask(world: &mut World, client: &Client, speaks: &Speaks) -> Said {
    let mut asking = Asking::new(client, speaks);
    let until = Instant(world.network.now().0 + Nanos::from_secs(30).0);
    let outcome = world.run(&mut asking, until);
    assert_eq!(outcome, Outcome::Done, "{speaks:?}: {:?}", asking.said);
    asking.said
}

/// An authority, and what it issues to both ends.
struct People {
    authority: Authority,
    validity: Validity,
}

impl People {
    fn new(key_type: KeyType, validity: Validity) -> Self {
        Self { authority: Authority::new(key_type, validity).unwrap(), validity }
    }

    fn show(&self, usage: Usage) -> Identity {
        let leaf = Leaf { names: &local_names(), usage, validity: self.validity };
        self.authority.issue(&leaf).unwrap()
    }

    fn named(&self, names: &[Name]) -> Identity {
        let leaf = Leaf { names, usage: Usage::Server, validity: self.validity };
        self.authority.issue(&leaf).unwrap()
    }

    fn server_options(&self) -> ServerOptions {
        ServerOptions {
            versions: Vec::new(),
            suites: Vec::new(),
            identity: self.show(Usage::Server),
            client_authorities_pem: None,
            alpn: Vec::new(),
            resumption: true,
            now_unix_s: NOW_UNIX_S,
        }
    }

    fn server(&self) -> Server {
        Server::new(&self.server_options()).unwrap()
    }

    fn client_options(&self) -> ClientOptions {
        let pem = vec![self.authority.certificate_pem().as_bytes().to_vec()];
        ClientOptions {
            versions: Vec::new(),
            suites: Vec::new(),
            trust: Trust::Authorities { pem, der: Vec::new() },
            identity: None,
            alpn: Vec::new(),
            resumption: true,
            now_unix_s: NOW_UNIX_S,
        }
    }

    fn client(&self, options: &ClientOptions) -> Client {
        Client::new(options, "localhost").unwrap()
    }

    /// The first bytes of a client.
    fn hello(&self) -> Vec<u8> {
        let mut tx = Vec::new();
        let client = self.client(&self.client_options());
        Tls::<Connection>::client(&client, wire::raw::Raw::client(1).into()).open(&mut tx);
        tx
    }
}

/// A client inside TLS that says two messages, the second when the first was answered, and ends properly.
struct Asking {
    machine: Connection,
    connection: Option<ConnectionId>,
    /// The time that it waits before its second message.
    pause: Nanos,
    /// The instant of its next message, unless something else has to happen first.
    next: Option<Instant>,
    asked: Instant,
    is_done: bool,
    said: Said,
}

/// The outcome.
#[derive(Debug, Default)]
struct Said {
    facts: Option<Facts>,
    heard: Vec<Vec<u8>>,
    round_trips: Vec<Nanos>,
    error: Option<PeerError>,
    /// Bytes of its stream.
    sent: u64,
}

impl Asking {
    fn new(client: &Client, speaks: &Speaks) -> Self {
        Self {
            machine: Tls::client(client, speaks.client(5)).into(),
            connection: None,
            pause: Nanos::ZERO,
            next: None,
            asked: Instant::START,
            is_done: false,
            said: Said::default(),
        }
    }

    fn send(&mut self, engine: &mut Sim, id: ConnectionId, tx: &[u8]) {
        self.said.sent += tx.len() as u64;
        engine.send(id, tx);
    }

    fn hear(&mut self, engine: &mut Sim, id: ConnectionId, bytes: &mut [u8]) {
        let (mut input, mut tx, now) = (Input::new(bytes), Vec::new(), engine.now());
        loop {
            match self.machine.receive(&mut input, &mut tx) {
                Ok(None) => break,
                Ok(Some(Event::Secured(secured))) => {
                    if secured.opening == wire::Opening::Done {
                        self.next = Some(now);
                    }
                    self.said.facts = Some(secured.facts);
                }
                Ok(Some(Event::Open)) => self.next = Some(now),
                Ok(Some(Event::Message(message))) => {
                    self.said.heard.push(message.payload.to_vec());
                    self.said.round_trips.push(now.since(self.asked));
                    self.next = Some(now + self.pause);
                }
                Ok(Some(Event::Closed(_))) => {
                    self.is_done = true;
                    break;
                }
                Ok(Some(
                    event @ (Event::Ping(_)
                    | Event::Pong(_)
                    | Event::Answer(_)
                    | Event::Part(_)
                    | Event::Pushed(_)
                    | Event::Redirected
                    | Event::Refused { .. }
                    | Event::Response(_)),
                )) => {
                    panic!("{event:?}")
                }
                Err(error) => {
                    self.said.error = Some(error);
                    self.is_done = true;
                    break;
                }
            }
        }
        self.send(engine, id, &tx);
        if self.is_done {
            engine.shutdown(id);
        }
    }

    /// Says what is due: a message, or that it was the last.
    fn speak(&mut self, engine: &mut Sim, id: ConnectionId) {
        if self.is_done || self.next.is_none_or(|next| engine.now() < next) {
            return;
        }
        self.next = None;
        self.asked = engine.now();
        let mut tx = Vec::new();
        if let Some(payload) = [b"hello", b"world"].get(self.said.heard.len()) {
            let message = Message { kind: Kind::Binary, payload: &payload[..] };
            self.machine.send(message, &mut tx).unwrap();
            self.send(engine, id, &tx);
        } else {
            self.is_done = !self.machine.close(&mut tx);
            self.send(engine, id, &tx);
            if self.is_done {
                engine.shutdown(id);
            }
        }
    }
}

impl Node<Sim> for Asking {
    fn step(&mut self, engine: &mut Sim) -> Step {
        let id = self.connection.unwrap_or_else(|| {
            let id = engine.connect(&address(), None);
            let mut tx = Vec::new();
            self.machine.open(&mut tx);
            self.send(engine, id, &tx);
            id
        });
        self.connection = Some(id);
        let mut rx = vec![0; 1 << 16];
        while let Some(completion) = engine.complete(&mut rx) {
            match completion {
                Completion::Received { len, .. } if !self.is_done => {
                    self.hear(engine, id, &mut rx[..len]);
                }
                Completion::Ended(_) => {
                    if !self.is_done {
                        self.said.error = self.machine.end().err();
                    }
                    engine.close(id);
                    return Step::Done;
                }
                Completion::Failed(_, error) => panic!("{error}"),
                Completion::Received { .. }
                | Completion::Accepted(_)
                | Completion::Connected(_) => {}
            }
        }
        self.speak(engine, id);
        Step::Wait(self.next.unwrap_or(Instant::NEVER))
    }
}

/// The instant of all these tests, in 2027.
const NOW_UNIX_S: u64 = 1_800_000_000;
const VALID: Validity = Validity::days(NOW_UNIX_S, 1);
