//! The rungs of the ladder: the same echo, over one transport after the other.

use load::{Arrival, Content, Expect, Lifetime, PayloadKind, Phases, Stop, Timeouts, Workload};
use run::{Embedded, Measurement, Order, Peer, Plan, Speech, Tls};
use spec::{Protocol, Scheme};
use std::num::NonZeroU32;
use units::{Bytes, Nanos};
use wire::websocket::deflate::Offer;

/// One rung.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rung {
    /// As it stands in the table.
    pub(crate) name: &'static str,
    /// In a few words.
    pub(crate) about: &'static str,
    protocol: Protocol,
    tls: bool,
    kind: Kind,
    life: Life,
    /// The rung that is the same but for one layer, and what that layer is.
    layer: Option<(&'static str, &'static str)>,
}

/// What messages hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Binary,
    /// JSON, compressed where it is on its way.
    DeflatedJson,
    Json,
    Text,
}

/// How long connections live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    Long,
    /// One round trip each; inside TLS with whatever handshake is possible.
    OneRoundTrip,
    /// One round trip each, and every handshake of TLS a full one.
    OneRoundTripFull,
}

/// All rungs, in the order of the table. The first is what the others are compared with.
#[rustfmt::skip]
pub(crate) const RUNGS: [Rung; 14] = {
    use Kind::{Binary, DeflatedJson, Json, Text};
    use Life::{Long, OneRoundTrip, OneRoundTripFull};
    use Protocol::{Http, Tcp, TcpFramed, Unix, WebSocket};
    [
        Rung { name: "tcp",          protocol: Tcp,       tls: false, kind: Binary,       life: Long,             layer: None,                                       about: "n bytes out, the same n bytes back, no framing" },
        Rung { name: "tcp-framed",   protocol: TcpFramed, tls: false, kind: Binary,       life: Long,             layer: Some(("tcp", "length")),                    about: "a 32-bit length before each message" },
        Rung { name: "unix",         protocol: Unix,      tls: false, kind: Binary,       life: Long,             layer: None,                                       about: "the bytes of tcp over a Unix socket" },
        Rung { name: "ws",           protocol: WebSocket, tls: false, kind: Binary,       life: Long,             layer: Some(("tcp", "framing")),                   about: "WebSocket, binary messages" },
        Rung { name: "ws-text",      protocol: WebSocket, tls: false, kind: Text,         life: Long,             layer: None,                                       about: "WebSocket, text messages" },
        Rung { name: "http",         protocol: Http,      tls: false, kind: Binary,       life: Long,             layer: Some(("tcp", "HTTP/1.1")),                  about: "HTTP/1.1, POST, connections kept alive" },
        Rung { name: "http-new",     protocol: Http,      tls: false, kind: Binary,       life: OneRoundTrip,     layer: Some(("http", "connect")),                  about: "HTTP/1.1, a connection for each request" },
        Rung { name: "tls",          protocol: Tcp,       tls: true,  kind: Binary,       life: Long,             layer: Some(("tcp", "TLS")),                       about: "the bytes of tcp inside TLS" },
        Rung { name: "wss",          protocol: WebSocket, tls: true,  kind: Binary,       life: Long,             layer: Some(("ws", "TLS")),                        about: "WebSocket inside TLS" },
        Rung { name: "ws-json",      protocol: WebSocket, tls: false, kind: Json,         life: Long,             layer: None,                                       about: "WebSocket, JSON as text messages" },
        Rung { name: "ws-deflate",   protocol: WebSocket, tls: false, kind: DeflatedJson, life: Long,             layer: Some(("ws-json", "deflate")),               about: "the JSON of ws-json, compressed (permessage-deflate)" },
        Rung { name: "https",        protocol: Http,      tls: true,  kind: Binary,       life: Long,             layer: Some(("http", "TLS")),                      about: "HTTP/1.1 inside TLS, connections kept alive" },
        Rung { name: "https-new",    protocol: Http,      tls: true,  kind: Binary,       life: OneRoundTripFull, layer: Some(("http-new", "full handshake")),       about: "a connection for each request, each with a full handshake" },
        Rung { name: "https-resume", protocol: Http,      tls: true,  kind: Binary,       life: OneRoundTrip,     layer: Some(("http-new", "resumed handshake")),    about: "a connection for each request, resuming a TLS session" },
    ]
};

/// How many of them, from the first on, a quick ladder has.
const QUICK: usize = 7;

/// What all rungs have in common.
#[derive(Clone, Debug)]
pub(crate) struct Ladder {
    /// How many connections each rung has at a time, with one message in flight on each.
    pub(crate) connections: NonZeroU32,
    /// How long a message is.
    pub(crate) size: Bytes,
    /// How often each rung has its turn.
    pub(crate) rounds: NonZeroU32,
    /// How long each turn is measured.
    pub(crate) block: Nanos,
    /// What everything random follows from.
    pub(crate) seed: u64,
    /// The names of the rungs; none: all of them. The first rung belongs to every ladder.
    pub(crate) only: Vec<String>,
    /// Whether only the first rungs are wanted, which are those without TLS and compression.
    pub(crate) quick: bool,
    /// Now, in seconds since 1970-01-01 in UTC: certificates are valid for a time.
    pub(crate) now_unix_s: u64,
}

impl Ladder {
    /// What is to be done.
    pub(crate) fn plan(&self) -> Plan {
        let [baseline, ..] = RUNGS;
        let is_wanted = |rung: &Rung| {
            self.only.is_empty()
                || rung.name == baseline.name
                || self.only.iter().any(|name| name == rung.name)
        };
        let rungs = if self.quick { &RUNGS[..QUICK] } else { &RUNGS };
        let wanted: Vec<Rung> = rungs.iter().copied().filter(is_wanted).collect();
        Plan {
            measurements: wanted.iter().map(|rung| self.measurement(*rung)).collect(),
            rounds: self.rounds.get(),
            order: Order::Shuffled,
            baseline: Some(0),
            layers: layers(&wanted),
            seed: self.seed,
            public_allowed: false,
            jit_warm_up_max: Plan::JIT_WARM_UP_MAX,
        }
    }

    fn measurement(&self, rung: Rung) -> Measurement {
        let (content, payload_kind) = match rung.kind {
            Kind::Binary => (Content::binary(self.size, self.seed), PayloadKind::Random),
            // As many different ones for both, so that compression is all that they differ in.
            Kind::DeflatedJson | Kind::Json => {
                (Content::varied(PayloadKind::Json, self.size, self.seed), PayloadKind::Json)
            }
            Kind::Text => (Content::text(self.size, self.seed), PayloadKind::Random),
        };
        let lifetime = match rung.life {
            Life::Long => Lifetime::Long,
            Life::OneRoundTrip | Life::OneRoundTripFull => Lifetime::RoundTrips(NonZeroU32::MIN),
        };
        Measurement {
            name: rung.name.to_owned(),
            peer: Peer::Embedded(rung.server()),
            reply: None,
            client: None,
            baseline: None,
            speech: rung.speech(self.now_unix_s),
            workload: Workload {
                connections: self.connections,
                connect_rate: None,
                lifetime,
                closing: load::Closing::Complete,
                arrival: Arrival::Closed { in_flight: NonZeroU32::MIN, in_flight_max: None },
                content,
                expect: Expect::Echo,
                phases: Phases { warm_up: WARM_UP, stop: Stop::After(self.block), drain: DRAIN },
                timeouts: Timeouts::all(PATIENCE),
                last_replies: false,
                seed: self.seed,
            },
            content_source: format!("{payload_kind}, from seed {}", self.seed),
            payload_kind: Some(payload_kind),
            threads: NonZeroU32::MIN,
            sources: Vec::new(),
            busy_poll: Nanos::ZERO,
        }
    }
}

impl Rung {
    /// The protocol that its server speaks, inside TLS or not.
    const fn scheme(self) -> Scheme {
        Scheme { protocol: self.protocol, tls: self.tls }
    }

    /// The server that answers.
    fn server(self) -> Embedded {
        let options: &[&str] = match (self.kind, self.life) {
            (Kind::DeflatedJson, _) => &["--deflate"],
            (_, Life::OneRoundTripFull) => &["--tls-resumption", "none"],
            _ => &[],
        };
        Embedded { scheme: self.scheme(), options }
    }

    /// What is said besides the messages.
    fn speech(self, now_unix_s: u64) -> Speech {
        let mut tls = Tls::usual(self.scheme(), now_unix_s);
        if let Some(tls) = &mut tls {
            tls.options.resumption = self.life != Life::OneRoundTripFull;
        }
        let deflate = (self.kind == Kind::DeflatedJson).then(Offer::default);
        Speech { deflate, tls, ..Speech::default() }
    }
}

/// Which of `rungs` are another one of them with a layer more.
fn layers(rungs: &[Rung]) -> Vec<record::Layer> {
    let index = |name: &str| rungs.iter().position(|rung| rung.name == name);
    let layer = |(workload, rung): (usize, &Rung)| {
        let (base, name) = rung.layer?;
        Some(record::Layer { workload, base: index(base)?, name: name.to_owned() })
    };
    rungs.iter().enumerate().filter_map(layer).collect()
}

/// Before each block: enough for connections to have their buffers and caches their contents.
const WARM_UP: Nanos = Nanos::from_millis(100);
/// After each block; one message on each connection is answered in far less.
const DRAIN: Nanos = Nanos::from_secs(1);
/// Servers of ours on this machine answer at once or not at all.
const PATIENCE: Nanos = Nanos::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    fn ladder(only: &[&str]) -> Ladder {
        Ladder {
            connections: NonZeroU32::new(50).unwrap(),
            size: Bytes(64),
            rounds: NonZeroU32::new(10).unwrap(),
            block: Nanos::from_millis(420),
            seed: 7,
            only: only.iter().map(|name| (*name).to_owned()).collect(),
            quick: false,
            now_unix_s: 0,
        }
    }

    fn quick() -> Plan {
        Ladder { quick: true, ..ladder(&[]) }.plan()
    }

    fn names(plan: &Plan) -> Vec<&str> {
        plan.measurements.iter().map(|measurement| measurement.name.as_str()).collect()
    }

    #[test]
    fn the_baseline_belongs_to_every_ladder() {
        let quick_names = ["tcp", "tcp-framed", "unix", "ws", "ws-text", "http", "http-new"];
        let more = ["tls", "wss", "ws-json", "ws-deflate", "https", "https-new", "https-resume"];
        assert_eq!(names(&ladder(&[]).plan()), [quick_names, more].concat());
        assert_eq!(names(&quick()), quick_names);
        assert_eq!(names(&ladder(&["wss", "ws"]).plan()), ["tcp", "ws", "wss"]);
        assert_eq!(names(&ladder(&["tcp"]).plan()), ["tcp"]);
    }

    #[test]
    fn every_rung_sends_the_same_amount() {
        for measurement in ladder(&[]).plan().measurements {
            assert_eq!(measurement.workload.content.payload().len(), 64, "{}", measurement.name);
        }
    }

    #[test]
    fn json_is_the_same_with_and_without_compression() {
        let plan = ladder(&["ws-json", "ws-deflate"]).plan();
        let [_, json, deflate] = &plan.measurements[..] else { panic!("{:?}", names(&plan)) };
        assert_eq!(json.workload.content, deflate.workload.content);
        assert!(json.workload.content.count() > 1);
        assert_ne!(json.peer, deflate.peer, "their servers differ");
    }

    #[test]
    fn a_layer_is_added_to_a_rung_that_is_there() {
        let shown = |plan: &Plan| -> Vec<String> {
            let names = names(plan);
            let layers = plan.layers.iter();
            layers
                .map(|it| format!("{} = {} + {}", names[it.workload], names[it.base], it.name))
                .collect()
        };
        let all = [
            "tcp-framed = tcp + length",
            "ws = tcp + framing",
            "http = tcp + HTTP/1.1",
            "http-new = http + connect",
            "tls = tcp + TLS",
            "wss = ws + TLS",
            "ws-deflate = ws-json + deflate",
            "https = http + TLS",
            "https-new = http-new + full handshake",
            "https-resume = http-new + resumed handshake",
        ];
        assert_eq!(shown(&ladder(&[]).plan()), all);
        assert_eq!(shown(&quick()), all[..4]);
        assert_eq!(shown(&ladder(&["wss", "http"]).plan()), ["http = tcp + HTTP/1.1"]);
    }

    #[test]
    fn all_blocks_together_leave_time_for_all_that_is_between_them() {
        let one = |measurement: &Measurement| match measurement.workload.phases.stop {
            Stop::After(time) => time + measurement.workload.phases.warm_up,
            Stop::Clients(_) | Stop::Messages(_) => Nanos::MAX,
        };
        for (plan, seconds_max) in [(ladder(&[]).plan(), 80), (quick(), 50)] {
            let round = plan.measurements.iter().map(one).fold(Nanos::ZERO, |sum, time| sum + time);
            let all = Nanos(round.0 * u64::from(plan.rounds));
            assert!(all <= Nanos::from_secs(seconds_max), "{all}");
        }
    }
}
