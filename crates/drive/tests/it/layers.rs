//! The composition of the stream, checked byte for byte against the arithmetic of the protocols.

use crate::peers::{Once, Watched};
use crate::secure::Ends;
use crate::world::{Play, Played, Speech, TIME_MAX, World, ms};
use engine::sim::{Conditions, Outcome as Ended, Party, Split as Pieces};
use flate2::{Compress, Compression, FlushCompress};
use load::{Content, PayloadKind};
use record::StreamLayers;
use serve::Server;
use std::sync::Arc;
use units::{Instant, Nanos};
use wire::tls::{self, Version};
use wire::websocket::deflate::{Accept, Offer};
use wire::{ServerOptions, Stack};

#[test]
fn every_byte_of_a_window_without_handshakes_is_accounted_for() {
    for protection in Protection::all() {
        for protocol in Protocol::ALL {
            for size in SIZES {
                // A reply of no bytes cannot be seen on a stream.
                if size == 0 && protocol == Protocol::Plain(Speech::Raw) {
                    continue;
                }
                let play = protocol.play(size).messages(COUNT);
                let content = play.workload.content.clone();
                let played = protection.run(protocol, play);
                played.assert_all_ok(COUNT);
                let expected = protocol.window(&content, &protection);
                assert_eq!(played.outcome.layers, expected, "{protocol:?} {protection:?} {size}");
            }
        }
    }
}

#[test]
fn short_lived_clients_have_their_handshakes_in_it_and_their_payloads_are_exact() {
    for protection in Protection::all() {
        for protocol in Protocol::ALL {
            for size in [1, 126, 65_536] {
                let play = protocol.play(size).connections(3).clients(10, 4);
                let content = play.workload.content.clone();
                let played = protection.run(protocol, play);
                played.assert_all_ok(40);
                let StreamLayers { sent, received } = played.outcome.layers;
                let row = format!("{protocol:?} {protection:?} {size}");
                // Every run checks that the parts add up to the bytes of the intervals.
                assert_eq!(
                    (sent.payload_bytes, received.payload_bytes),
                    (40 * size, 40 * size),
                    "{row}"
                );
                let messages = (0..4).map(|index| protocol.encoded(&content, index));
                let encoded: i64 = messages.map(|message| message.encoding).sum();
                assert_eq!(
                    (sent.encoding_bytes, received.encoding_bytes),
                    (10 * encoded, 10 * encoded),
                    "{row}"
                );
                if let Some(framing) = protocol.framing_without_handshake(size) {
                    assert_eq!((sent.framing_bytes, received.framing_bytes), framing, "{row}");
                }
                let is_plain = protection.overhead == 0;
                assert_eq!(
                    (sent.tls_bytes == 0, received.tls_bytes == 0),
                    (is_plain, is_plain),
                    "{row}"
                );
                // Each client begins with a hello of a few hundred bytes and ends with an alert.
                assert!(
                    is_plain || sent.tls_bytes > 10 * 200 && received.tls_bytes > 10 * 100,
                    "{row}"
                );
            }
        }
    }
}

#[test]
fn the_parts_add_up_though_edges_of_the_window_cut_messages() {
    for protection in Protection::all() {
        for protocol in Protocol::ALL {
            for size in [1000, 40_000] {
                for pieces in [Pieces::Never, Pieces::Random { chunk_len_max: 5000 }] {
                    let play = protocol.play(size).connections(3).in_flight(2, None);
                    let mut play = play.warm_up(ms(11)).duration(ms(17));
                    // So that bytes spend time on the way.
                    play.conditions =
                        Conditions { split: pieces, jitter: ms(3), ..play.conditions };
                    let played = protection.run(protocol, play);
                    assert_eq!(played.errors(), []);
                    let StreamLayers { sent, received } = played.outcome.layers;
                    let row = format!("{protocol:?} {protection:?} {size}");
                    let replies: u64 = played.replies_of_window();
                    assert_eq!(sent.payload_bytes, played.outcome.measured.sent * size, "{row}");
                    // At each edge, less than one for each of six messages in flight.
                    assert!(received.payload_bytes.abs_diff(replies * size) <= 6 * size, "{row}");
                }
            }
        }
    }
}

#[test]
fn open_loops_count_their_bytes_as_closed_loops_do() {
    for protection in Protection::all() {
        for protocol in Protocol::ALL {
            let play = protocol.play(200).connections(4).rate("1000/s").messages(100);
            let content = play.workload.content.clone();
            let played = protection.run(protocol, play);
            played.assert_all_ok(100);
            // Some replies come in the drain.
            let replies = played.replies_of_window();
            assert!((90..=100).contains(&replies), "{replies}");
            let StreamLayers { sent, received } = played.outcome.layers;
            assert_eq!(
                (sent.payload_bytes, received.payload_bytes),
                (20_000, replies * 200),
                "{protocol:?}"
            );
            if protocol.is_compressed() {
                assert!(
                    sent.encoding_bytes < -5_000 && received.encoding_bytes < -5_000,
                    "{sent:?}"
                );
                continue;
            }
            let message = protocol.encoded(&content, 0);
            if protocol != Protocol::Deflate(PayloadKind::Random) {
                assert_eq!((sent.encoding_bytes, received.encoding_bytes), (0, 0), "{protocol:?}");
            }
            assert_eq!(sent.framing_bytes, 100 * message.framing_sent, "{protocol:?}");
            assert_eq!(received.framing_bytes, replies * message.framing_received, "{protocol:?}");
            // One record for each message: messages sent together do not share one.
            assert_eq!(sent.tls_bytes, 100 * protection.overhead, "{protocol:?}");
            assert_eq!(received.tls_bytes, replies * protection.overhead, "{protocol:?}");
        }
    }
}

#[test]
fn a_stop_in_the_middle_leaves_parts_that_add_up() {
    for protection in Protection::all() {
        for protocol in Protocol::ALL {
            let mut play = protocol.play(200).connections(3).clients(1000, 2);
            play.options.tls = protection.ends.as_ref().map(|ends| ends.client.clone());
            let mut world = World::new(&play);
            let mut stopping = world.network.engine();
            let control = Arc::clone(&world.control);
            let mut stopper = Once { at: Instant(55_000_000), deed: move || control.stop() };
            let mut server = protection.serve(protocol);
            let mut parties = [
                Party::awaited(&mut world.client, &mut world.worker),
                Party::background(&mut world.server, &mut server),
                Party::background(&mut stopping, &mut stopper),
            ];
            assert_eq!(world.network.run(&mut parties, TIME_MAX), Ended::Done);
            let played = world.finish(); // Checks the sums.
            let StreamLayers { sent, received } = played.outcome.layers;
            assert_eq!(sent.payload_bytes, played.outcome.measured.sent * 200, "{protocol:?}");
            assert_eq!(received.payload_bytes, played.outcome.measured.ok * 200, "{protocol:?}");
        }
    }
}

/// The protocol that is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protocol {
    Plain(Speech),
    /// WebSocket with permessage-deflate, and the content that it compresses.
    Deflate(PayloadKind),
}

/// One message and its reply on the stream.
#[derive(Clone, Copy, Debug)]
struct Encoded {
    payload: u64,
    encoding: i64,
    framing_sent: u64,
    framing_received: u64,
}

impl Protocol {
    const ALL: [Self; 7] = [
        Self::Plain(Speech::Raw),
        Self::Plain(Speech::Framed),
        Self::Plain(Speech::WebSocket),
        Self::Plain(Speech::WebSocketText),
        Self::Plain(Speech::Http),
        Self::Deflate(PayloadKind::Json),
        Self::Deflate(PayloadKind::Random),
    ];

    fn is_compressed(self) -> bool {
        self == Self::Deflate(PayloadKind::Json)
    }

    fn play(self, size: u64) -> Play {
        let len = usize::try_from(size).unwrap();
        let mut play = match self {
            Self::Plain(speech) => Play::new(speech).payload(len),
            Self::Deflate(kind) => {
                let mut play = Play::new(Speech::WebSocket).payload(len).varied(kind);
                play.options.deflate = Some(Offer::default());
                play
            }
        };
        play.workload.timeouts.reply = Nanos::from_secs(50);
        play
    }

    fn server(self, tls: Option<tls::Server>) -> Stack {
        match self {
            Self::Plain(speech) => speech.server(tls),
            Self::Deflate(_) => {
                let mut options = ServerOptions { tls, ..ServerOptions::default() };
                options.handshake.deflate = Some(Accept::default());
                Speech::WebSocket.server_with(options)
            }
        }
    }

    /// The layers of [`COUNT`] messages, sent one after the other on one connection.
    fn window(self, content: &Content, protection: &Protection) -> StreamLayers {
        let mut layers = StreamLayers::default();
        let mut deflating = Deflating::default();
        for index in 0..u32::try_from(COUNT).unwrap() {
            let payload = content.payload_of(index);
            let message = self.message(payload, || deflating.len_of(payload));
            let encoded = message.payload.checked_add_signed(message.encoding).unwrap();
            for (split, framing) in [
                (&mut layers.sent, message.framing_sent),
                (&mut layers.received, message.framing_received),
            ] {
                split.payload_bytes += message.payload;
                split.encoding_bytes += message.encoding;
                split.framing_bytes += framing;
                split.tls_bytes +=
                    (encoded + framing).div_ceil(RECORD_LEN_MAX) * protection.overhead;
            }
        }
        layers
    }

    /// The message with this number of a connection.
    fn encoded(self, content: &Content, index: u32) -> Encoded {
        let mut deflating = Deflating::default();
        for earlier in 0..index {
            deflating.len_of(content.payload_of(earlier));
        }
        let payload = content.payload_of(index);
        self.message(payload, || deflating.len_of(payload))
    }

    fn message(self, payload: &[u8], deflated: impl FnOnce() -> u64) -> Encoded {
        let payload = payload.len() as u64;
        let plain = |framing_sent, framing_received| Encoded {
            payload,
            encoding: 0,
            framing_sent,
            framing_received,
        };
        match self {
            Self::Plain(Speech::Raw) => plain(0, 0),
            Self::Plain(Speech::Framed) => plain(4, 4),
            Self::Plain(Speech::Http) => {
                plain(http_head(HTTP_REQUEST, payload), http_head(HTTP_REPLY, payload))
            }
            Self::Plain(Speech::WebSocket | Speech::WebSocketText) => {
                plain(websocket_header(payload) + MASK_LEN, websocket_header(payload))
            }
            Self::Deflate(_) => {
                let len = deflated();
                Encoded {
                    payload,
                    encoding: len.cast_signed() - payload.cast_signed(),
                    framing_sent: websocket_header(len) + MASK_LEN,
                    framing_received: websocket_header(len),
                }
            }
        }
    }

    /// The framing of forty messages, if the protocol has no opening handshake and no close.
    fn framing_without_handshake(self, size: u64) -> Option<(u64, u64)> {
        let payload = vec![0; usize::try_from(size).unwrap()];
        match self {
            Self::Plain(Speech::Raw | Speech::Framed | Speech::Http) => {
                let message = self.message(&payload, || 0);
                Some((40 * message.framing_sent, 40 * message.framing_received))
            }
            Self::Plain(Speech::WebSocket | Speech::WebSocketText) | Self::Deflate(_) => None,
        }
    }
}

/// RFC 6455 §5.2: the header of a frame without its mask.
fn websocket_header(len: u64) -> u64 {
    match len {
        0..126 => 2,
        126..65_536 => 4,
        _ => 10,
    }
}

const MASK_LEN: u64 = 4;

const HTTP_REQUEST: &str = "POST / HTTP/1.1\r\nHost: server.example\r\nContent-Length: LEN\r\n\r\n";

const HTTP_REPLY: &str =
    "HTTP/1.1 200 OK\r\nContent-Length: LEN\r\nContent-Type: application/octet-stream\r\n\r\n";

/// The length of a head; `LEN` in it is the length of the body.
fn http_head(head: &str, len: u64) -> u64 {
    head.replace("LEN", &len.to_string()).len() as u64
}

/// The compressor of permessage-deflate, for successive messages (RFC 7692 §7.2.1).
struct Deflating(Compress);

impl Default for Deflating {
    fn default() -> Self {
        Self(Compress::new(Compression::new(Offer::default().level), false))
    }
}

impl Deflating {
    fn len_of(&mut self, payload: &[u8]) -> u64 {
        if payload.is_empty() {
            return 1; // One empty block (§7.2.3.6).
        }
        let mut out = Vec::with_capacity(2 * payload.len() + 1024);
        self.0.compress_vec(payload, &mut out, FlushCompress::Sync).unwrap();
        assert!(out.ends_with(&[0, 0, 0xff, 0xff]));
        out.len() as u64 - 4
    }
}

/// The layer around the stream: none, or TLS.
struct Protection {
    ends: Option<Ends>,
    /// The number of bytes that each record adds.
    overhead: u64,
    what: &'static str,
}

impl std::fmt::Debug for Protection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.what)
    }
}

impl Protection {
    /// Nothing, TLS 1.3, and both kinds of TLS 1.2; without tickets, which would arrive in the middle of the window.
    fn all() -> [Self; 4] {
        let inside = |version, suite: Option<&str>| {
            Ends::new(|client, server| {
                client.versions = vec![version];
                client.suites = suite.map(str::to_owned).into_iter().collect();
                client.resumption = false;
                server.resumption = false;
            })
        };
        let tls13 = inside(Version::Tls13, None);
        let aes = inside(Version::Tls12, Some("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"));
        let chacha = inside(Version::Tls12, Some("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"));
        [
            Self { ends: None, overhead: 0, what: "nothing" },
            // RFC 8446 §5.2: header, content type, tag.
            Self { ends: Some(tls13), overhead: 5 + 1 + 16, what: "TLS 1.3" },
            // RFC 5288 §3: header, explicit nonce, tag.
            Self { ends: Some(aes), overhead: 5 + 8 + 16, what: "TLS 1.2 with AES-GCM" },
            // RFC 7905 §2: header, tag.
            Self { ends: Some(chacha), overhead: 5 + 16, what: "TLS 1.2 with ChaCha20" },
        ]
    }

    fn run(&self, protocol: Protocol, mut play: Play) -> Played {
        play.options.tls = self.ends.as_ref().map(|ends| ends.client.clone());
        play.against(&mut self.serve(protocol))
    }

    fn serve(&self, protocol: Protocol) -> Watched {
        let server: Option<tls::Server> = self.ends.as_ref().map(|ends| ends.server.clone());
        Watched::of(Server::new(protocol.server(server), Arc::default()))
    }
}

/// RFC 8446 §5.1: the most bytes that a record protects.
const RECORD_LEN_MAX: u64 = 1 << 14;

const SIZES: [u64; 9] = [0, 1, 125, 126, 1024, 16_384, 65_535, 65_536, 1 << 20];

const COUNT: u64 = 3;
