//! The rungs of the ladder: the same echo, over one transport after the other.

use load::{Arrival, Content, Expect, Lifetime, Phases, Stop, Timeouts, Workload};
use run::{Measurement, Order, Peer, Plan, Scheme, Speech};
use std::num::NonZeroU32;
use units::{Bytes, Nanos};

/// One rung.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rung {
    /// As it stands in the table.
    pub(crate) name: &'static str,
    /// In a few words.
    pub(crate) about: &'static str,
    scheme: Scheme,
    kind: Kind,
    life: Life,
}

/// What messages hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Binary,
    Text,
}

/// How long connections live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    Long,
    OneRoundTrip,
}

/// All rungs, in the order of the table. The first is what the others are compared with.
#[rustfmt::skip]
pub(crate) const RUNGS: [Rung; 7] = {
    use Kind::{Binary, Text};
    use Life::{Long, OneRoundTrip};
    use Scheme::{Http, Tcp, TcpFramed, Unix, WebSocket};
    [
        Rung { name: "tcp",        scheme: Tcp,       kind: Binary, life: Long,         about: "n bytes out, the same n bytes back, no framing" },
        Rung { name: "tcp-framed", scheme: TcpFramed, kind: Binary, life: Long,         about: "a 32-bit length before each message" },
        Rung { name: "unix",       scheme: Unix,      kind: Binary, life: Long,         about: "the bytes of tcp over a Unix socket" },
        Rung { name: "ws",         scheme: WebSocket, kind: Binary, life: Long,         about: "WebSocket, binary messages" },
        Rung { name: "ws-text",    scheme: WebSocket, kind: Text,   life: Long,         about: "WebSocket, text messages" },
        Rung { name: "http",       scheme: Http,      kind: Binary, life: Long,         about: "HTTP/1.1, POST, connections kept alive" },
        Rung { name: "http-new",   scheme: Http,      kind: Binary, life: OneRoundTrip, about: "HTTP/1.1, a connection for each request" },
    ]
};

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
        let wanted = RUNGS.into_iter().filter(is_wanted);
        Plan {
            measurements: wanted.map(|rung| self.measurement(rung)).collect(),
            rounds: self.rounds.get(),
            order: Order::Shuffled,
            baseline: Some(0),
            seed: self.seed,
            public_allowed: false,
        }
    }

    fn measurement(&self, rung: Rung) -> Measurement {
        let content = match rung.kind {
            Kind::Binary => Content::binary(self.size, self.seed),
            Kind::Text => Content::text(self.size, self.seed),
        };
        let lifetime = match rung.life {
            Life::Long => Lifetime::Long,
            Life::OneRoundTrip => Lifetime::RoundTrips(NonZeroU32::MIN),
        };
        Measurement {
            name: rung.name.to_owned(),
            peer: Peer::Embedded(rung.scheme),
            speech: Speech::default(),
            workload: Workload {
                connections: self.connections,
                connect_rate: None,
                lifetime,
                closing: load::Closing::Complete,
                arrival: Arrival::Closed { in_flight: NonZeroU32::MIN, in_flight_max: None },
                content,
                expect: Expect::Echo,
                phases: Phases { warm_up: WARM_UP, stop: Stop::After(self.block), drain: DRAIN },
                timeouts: Timeouts {
                    connect: PATIENCE,
                    handshake: PATIENCE,
                    reply: PATIENCE,
                    close: PATIENCE,
                },
                seed: self.seed,
            },
            content_source: format!("random, from seed {}", self.seed),
            threads: NonZeroU32::MIN,
            sources: Vec::new(),
            busy_poll: Nanos::ZERO,
            resolve_timeout: PATIENCE,
        }
    }
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
            block: Nanos::from_millis(500),
            seed: 7,
            only: only.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    fn names(plan: &Plan) -> Vec<&str> {
        plan.measurements.iter().map(|measurement| measurement.name.as_str()).collect()
    }

    #[test]
    fn the_baseline_belongs_to_every_ladder() {
        assert_eq!(
            names(&ladder(&[]).plan()),
            ["tcp", "tcp-framed", "unix", "ws", "ws-text", "http", "http-new"]
        );
        assert_eq!(names(&ladder(&["http", "ws"]).plan()), ["tcp", "ws", "http"]);
        assert_eq!(names(&ladder(&["tcp"]).plan()), ["tcp"]);
    }

    #[test]
    fn every_rung_sends_the_same_amount() {
        for measurement in ladder(&[]).plan().measurements {
            assert_eq!(measurement.workload.content.payload().len(), 64, "{}", measurement.name);
        }
    }

    #[test]
    fn all_blocks_together_take_less_than_a_minute() {
        let plan = ladder(&[]).plan();
        let one = |measurement: &Measurement| match measurement.workload.phases.stop {
            Stop::After(time) => time + measurement.workload.phases.warm_up,
            Stop::Clients(_) | Stop::Messages(_) => Nanos::MAX,
        };
        let round = plan.measurements.iter().map(one).fold(Nanos::ZERO, |sum, time| sum + time);
        assert!(Nanos(round.0 * u64::from(plan.rounds)) < Nanos::from_secs(50));
    }
}
