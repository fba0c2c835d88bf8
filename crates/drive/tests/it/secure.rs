//! TLS around every transport: its phase timed exactly, resumed where it can be, and its faults named.

use crate::peers::{Heard, Scripted, Watched};
use crate::sessions::sessions;
use crate::world::{DELAY, Play, ROUND_TRIP, Speech, always, ms};
use engine::Engine;
use engine::sim::{Conditions, Cut, Cuts, Sim, Split};
use record::{Connections, Counts, ErrorClass, TlsSeen};
use serve::certificates::{Authority, KeyType, Leaf, Usage, Validity, local_names};
use serve::{Handshakes, Server};
use std::sync::{Arc, LazyLock};
use units::Nanos;
use wire::tls::{self, ClientOptions, Identity, ServerOptions, Trust, Version};

#[test]
fn the_tls_phase_is_timed_exactly_and_so_is_what_follows_it() {
    for version in Version::ALL {
        for speech in Speech::ALL {
            let ends = Ends::of(version);
            let play = Play::new(speech).connections(3).messages(30).inside(&ends.client);
            let mut server = ends.serve(speech);
            let played = play.against(&mut server);
            played.assert_all_ok(30);
            let times = &played.outcome.times;
            assert_eq!(times.connect, always(ROUND_TRIP, 3));
            assert_eq!(times.tls_full, always(full(version), 3), "{speech:?} {version}");
            assert!(times.tls_resumed.is_empty());
            let handshakes = if speech.shakes_hands() { 3 } else { 0 };
            assert_eq!(times.handshake, always(ROUND_TRIP, handshakes), "{speech:?} {version}");
            assert_eq!(played.notes.round_trips, always(ROUND_TRIP, 30), "none includes TLS");
            let seen = played.outcome.tls_seen().unwrap();
            assert_eq!((seen.full, seen.resumed, seen.version), (3, 0, version.to_string()));
            let handshakes = Handshakes { full: 3, ..Handshakes::default() };
            assert_eq!(server.totals().handshakes, handshakes);
        }
    }
}

#[test]
fn short_lived_clients_resume_after_the_first_of_them() {
    for version in Version::ALL {
        for speech in Speech::ALL {
            for (connections, resumption) in [(1, true), (4, true), (2, false)] {
                let ends = Ends::new(|client, server| {
                    client.versions = vec![version];
                    server.resumption = resumption;
                });
                let play = Play::new(speech).connections(connections).clients(20, 3);
                let mut server = ends.serve(speech);
                let played = play.inside(&ends.client).against(&mut server);
                let row = format!("{speech:?} {version} {connections} {resumption}");
                played.assert_all_ok(60);

                let resumed = if resumption { 20 - u64::from(connections) } else { 0 };
                let TlsSeen { full: fulls, resumed: seen, .. } = played.outcome.tls_seen().unwrap();
                assert_eq!((fulls, seen), (20 - resumed, resumed), "{row}");
                let handshakes = Handshakes { full: 20 - resumed, resumed, failed: 0 };
                assert_eq!(server.totals().handshakes, handshakes, "{row}");
                let times = &played.outcome.times;
                assert_eq!(times.tls_full, always(full(version), 20 - resumed), "{row}");
                assert_eq!(times.tls_resumed, always(ROUND_TRIP, resumed), "{row}");

                let inner = ROUND_TRIP.0 * (1 + u64::from(speech.shakes_hands()) + 3);
                let mut life = always(full(version) + Nanos(inner), 20 - resumed);
                life.add(&always(ROUND_TRIP + Nanos(inner), resumed));
                assert_eq!(times.life, life, "{row}");
                let close = Nanos(ROUND_TRIP.0 * u64::from(speech.shakes_hands()));
                assert_eq!(times.close, always(close, 20), "{row}");
            }
        }
    }
}

#[test]
fn every_loop_runs_through_tls_on_every_network() {
    for version in Version::ALL {
        for speech in Speech::ALL {
            for split in [Split::Never, Split::ByteByByte, Split::Random { chunk_len_max: 100 }] {
                let ends = Ends::of(version);
                let conditions = Conditions { delay: DELAY, split, ..Conditions::default() };
                let play = Play { conditions, ..Play::new(speech) }.inside(&ends.client);
                let play = play.payload(40).connections(3);

                let closed = play.clone().in_flight(4, None).messages(101);
                closed.against(&mut ends.serve(speech)).assert_all_ok(101);

                for own in [false, true] {
                    let open = play.clone().rate("1000/s").messages(100);
                    let open = if own { open.own() } else { open };
                    let played = open.against(&mut ends.serve(speech));
                    played.assert_all_ok(100);
                    let identity = played.outcome.identity.unwrap();
                    assert_eq!(identity, record::Identity::default());
                }

                let partly = sessions(play.clone().connections(100), "10/s", 3, ms(40));
                let played = partly.duration(ms(1000)).against(&mut ends.serve(speech));
                played.assert_all_ok(30);
                // A session's first message waits for the entire opening, which has a full handshake at most.
                let handshake = if speech.shakes_hands() { ROUND_TRIP } else { Nanos::ZERO };
                let longest = ROUND_TRIP + full(version) + handshake + ROUND_TRIP;
                assert!(played.notes.response.max() <= always(longest, 1).max(), "{longest}");
                assert_eq!(played.notes.lag, always(Nanos::ZERO, 30), "which is not our lag");
                let seen = played.outcome.tls_seen().unwrap();
                assert_eq!(seen.full + seen.resumed, 10);
            }
        }
    }
}

#[test]
fn http_connections_that_the_server_ends_are_opened_anew_and_resume() {
    let ends = Ends::of(Version::Tls13);
    let mut play = Play::new(Speech::Http).messages(10).inside(&ends.client);
    play.options.headers = crate::world::headers(&[("Connection", "close")]);
    let played = play.against(&mut ends.serve(Speech::Http));
    played.assert_all_ok(10);
    let seen = played.outcome.tls_seen().unwrap();
    assert_eq!(seen.full, 1);
    assert!((9..=10).contains(&seen.resumed), "{seen:?}");
}

#[test]
fn what_was_agreed_on_is_told() {
    let suite = "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256";
    let ends = Ends::new(|client, server| {
        client.suites = vec![suite.to_owned()];
        client.alpn = vec!["echo".to_owned()];
        server.alpn = vec!["echo".to_owned()];
    });
    let play = Play::new(Speech::Framed).inside(&ends.client);
    let seen = play.against(&mut ends.serve(Speech::Framed)).outcome.tls_seen().unwrap();
    assert_eq!((&seen.version[..], &seen.suite[..]), ("1.2", suite));
    assert_eq!((seen.alpn.as_deref(), seen.full, seen.resumed), (Some("echo"), 1, 0));

    let played = Play::new(Speech::Framed).against(&mut Watched::new(Speech::Framed));
    assert_eq!(played.outcome.tls_seen(), None, "without TLS there is nothing to report");
}

#[test]
fn a_certificate_that_is_refused_is_an_error_of_tls_that_names_it() {
    for version in Version::ALL {
        let ends = Ends::new(|client, _| {
            client.versions = vec![version];
            client.trust = Trust::Authorities { pem: vec![stranger()], der: Vec::new() };
        });
        let play = Play::new(Speech::WebSocket).connections(2).clients(5, 3).inside(&ends.client);
        let mut server = ends.serve(Speech::WebSocket);
        let played = play.against(&mut server);
        assert_eq!((played.outcome.planned, played.outcome.measured), (15, Counts::default()));
        let [(class, count, example)] = played.errors()[..] else {
            panic!("{:?}", played.errors())
        };
        assert_eq!((class, count), (ErrorClass::Tls, 5), "{example}");
        assert!(example.contains("certificate") && example.contains("localhost"), "{example}");
        let counts = Connections { started: 5, failed: 5, ..Connections::default() };
        assert_eq!(played.outcome.connections, counts);
        assert_eq!(played.outcome.tls_seen(), None, "no handshake was completed");
        // The run ends before the server hears of the last one.
        assert_eq!(server.totals().handshakes.failed, 4, "and the server heard of them");
    }
}

#[test]
fn a_server_that_wants_a_certificate_of_ours_and_gets_none_is_an_error_of_tls() {
    for version in Version::ALL {
        let ends = Ends::new(|client, server| {
            client.versions = vec![version];
            server.client_authorities_pem = Some(stranger());
        });
        let play = Play::new(Speech::Framed).messages(10).inside(&ends.client);
        let played = play.against(&mut ends.serve(Speech::Framed));
        let [(class, 1, example)] = played.errors()[..] else { panic!("{:?}", played.errors()) };
        assert_eq!(class, ErrorClass::Tls, "{example}");
        assert!(example.contains("certificate"), "{example}");
        assert_eq!(played.outcome.measured.ok, 0);
    }
}

#[test]
fn a_peer_that_stops_in_the_handshake_is_given_up() {
    for (said, what) in [(0, "nothing"), (1, "an empty record's beginning")] {
        let ends = Ends::of(Version::Tls13);
        let mut mute = Scripted(|engine: &mut Sim, id, heard: Heard<'_>| {
            if heard != Heard::Accepted {
                engine.send(id, &[22, 3, 3, 0, 80][..said * 5]);
            }
        });
        let play = Play::new(Speech::WebSocket).clients(2, 1).inside(&ends.client);
        let played = play.against(&mut mute);
        assert_eq!(
            played.errors(),
            [(ErrorClass::TlsTimedOut, 2, "no answer in the TLS handshake within 200 ms")],
            "{what}"
        );
        assert_eq!(played.outcome.connections.failed, 2);
        assert_eq!(played.outcome.measured, Counts::default());
    }
}

#[test]
fn a_time_out_of_the_protocol_inside_is_not_one_of_tls() {
    // A server without a protocol: nobody answers the WebSocket handshake inside TLS.
    let ends = Ends::of(Version::Tls13);
    let play = Play::new(Speech::WebSocket).clients(1, 1).inside(&ends.client);
    let message_len = std::num::NonZeroUsize::new(1 << 20);
    let tls = Some(ends.server);
    let options = wire::ServerOptions { message_len, tls, ..wire::ServerOptions::default() };
    let server = Server::new(Speech::Raw.server_with(options), Arc::default());
    let played = play.against(&mut Watched::of(server));
    let expected = "no answer to the opening handshake within 200 ms";
    assert_eq!(played.errors(), [(ErrorClass::HandshakeTimedOut, 1, expected)]);
    assert_eq!(played.outcome.times.tls_full.count(), 1, "TLS itself was completed");
}

#[test]
fn an_end_or_a_reset_in_the_handshake_is_told_apart() {
    for version in Version::ALL {
        let ends = Ends::of(version);
        // From the connection on; the server's answer would come after 2 ms.
        let cuts = Cuts::Scheduled(vec![Cut { connection: 0, after: Nanos::from_micros(1500) }]);
        let conditions = Conditions { delay: DELAY, cuts, ..Conditions::default() };
        let play = Play::new(Speech::Framed).clients(1, 1).inside(&ends.client);
        let play = Play { conditions, ..play };
        let played = play.against(&mut ends.serve(Speech::Framed));
        assert_eq!(played.errors(), [(ErrorClass::Cut, 1, "connection reset by peer")]);
        assert_eq!((played.outcome.connections.failed, played.outcome.tls_seen()), (1, None));

        let mut leaving = Scripted(|engine: &mut Sim, id, heard: Heard<'_>| {
            if heard != Heard::Accepted {
                engine.shutdown(id);
            }
        });
        let play = Play::new(Speech::Framed).clients(1, 1).inside(&ends.client);
        let played = play.against(&mut leaving);
        let [(class, 1, example)] = played.errors()[..] else { panic!("{:?}", played.errors()) };
        assert_eq!(class, ErrorClass::Tls, "{example}");
        assert!(example.contains("handshake"), "{example}");
    }
}

#[test]
fn a_plain_server_on_a_tls_port_and_a_secure_one_on_a_plain_port_are_named() {
    let ends = Ends::of(Version::Tls13);
    let play = Play::new(Speech::Http).clients(1, 1).inside(&ends.client);
    let played = play.against(&mut Watched::new(Speech::Http));
    let [(class, 1, example)] = played.errors()[..] else { panic!("{:?}", played.errors()) };
    assert_eq!(class, ErrorClass::Tls, "{example}");
    assert!(example.contains("HTTP/1.1 400"), "{example}");

    let played = Play::new(Speech::Http).clients(1, 1).against(&mut ends.serve(Speech::Http));
    let [(class, 1, _)] = played.errors()[..] else { panic!("{:?}", played.errors()) };
    assert_eq!(class, ErrorClass::Protocol);
}

#[test]
fn a_peer_that_breaks_the_protocol_inside_is_an_error_of_that_protocol() {
    // Frame lengths sent to an HTTP server, which refuses them in its own way.
    let ends = Ends::of(Version::Tls13);
    let play = Play::new(Speech::Framed).messages(3).inside(&ends.client);
    let played = play.against(&mut ends.serve(Speech::Http));
    let [(class, 1, example)] = played.errors()[..] else { panic!("{:?}", played.errors()) };
    assert_eq!(class, ErrorClass::Protocol, "{example}");
    assert_eq!(played.outcome.tls_seen().unwrap().full, 1);
}

/// The client and server parts of TLS, made for each other.
pub(crate) struct Ends {
    pub(crate) client: tls::Client,
    pub(crate) server: tls::Server,
}

impl Ends {
    /// Two ends of this version, with resumption.
    pub(crate) fn of(version: Version) -> Self {
        Self::new(|client, _| client.versions = vec![version])
    }

    pub(crate) fn new(change: impl FnOnce(&mut ClientOptions, &mut ServerOptions)) -> Self {
        let (authority, identity) = &*PEOPLE;
        let mut client = ClientOptions {
            versions: Vec::new(),
            suites: Vec::new(),
            trust: Trust::Authorities { pem: vec![authority.clone()], der: Vec::new() },
            identity: None,
            alpn: Vec::new(),
            resumption: true,
            now_unix_s: NOW_UNIX_S,
        };
        let mut server = ServerOptions {
            versions: Vec::new(),
            suites: Vec::new(),
            identity: identity.clone(),
            client_authorities_pem: None,
            alpn: Vec::new(),
            resumption: true,
            now_unix_s: NOW_UNIX_S,
        };
        change(&mut client, &mut server);
        Self {
            client: tls::Client::new(&client, "localhost").unwrap(),
            server: tls::Server::new(&server).unwrap(),
        }
    }

    /// The embedded server inside TLS.
    pub(crate) fn serve(&self, speech: Speech) -> Watched {
        Watched::of(Server::new(speech.server(Some(self.server.clone())), Arc::default()))
    }
}

/// The duration of a full handshake.
fn full(version: Version) -> Nanos {
    match version {
        Version::Tls12 => Nanos(2 * ROUND_TRIP.0),
        Version::Tls13 => ROUND_TRIP,
    }
}

/// The certificate of an authority that signed nothing here.
fn stranger() -> Vec<u8> {
    let authority = Authority::new(KeyType::Ecdsa, VALIDITY).unwrap();
    authority.certificate_pem().as_bytes().to_vec()
}

/// An authority's certificate, and the server identity that it signed.
static PEOPLE: LazyLock<(Vec<u8>, Identity)> = LazyLock::new(|| {
    let authority = Authority::new(KeyType::Ecdsa, VALIDITY).unwrap();
    let leaf = Leaf { names: &local_names(), usage: Usage::Server, validity: VALIDITY };
    let identity = authority.issue(&leaf).unwrap();
    (authority.certificate_pem().as_bytes().to_vec(), identity)
});

/// An instant in 2026.
const NOW_UNIX_S: u64 = 1_780_000_000;

const VALIDITY: Validity = Validity::days(NOW_UNIX_S, 30);
