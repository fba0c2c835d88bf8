//! The plan as the record has it.

use crate::plan::{Measurement, Peer, Plan};
use crate::setup::{SetUp, numbers};
use load::{Arrival, Expect, Lifetime, Pick, Schedule, Stop};
use record::{Message, MessageKind, Pinning, Resumption, TimeOuts, Verify, Workload};
use std::num::NonZeroU32;
use wire::tls::{ClientOptions, Trust};

/// Writes the plan down, with the order in which its blocks ran.
pub(crate) fn plan(plan: &Plan, order: &[Vec<usize>], set_up: &SetUp) -> record::Plan {
    let experiment = &plan.experiment;
    record::Plan {
        workloads: plan
            .measurements
            .iter()
            .enumerate()
            .map(|(index, measurement)| workload(measurement, index, set_up))
            .collect(),
        rounds: order.to_vec(),
        baseline: experiment.baseline,
        layers: experiment.layers.clone(),
        seed: experiment.seed,
    }
}

fn workload(measurement: &Measurement, index: usize, set_up: &SetUp) -> Workload {
    let load = &measurement.workload;
    let (in_flight, in_flight_max) = match load.arrival {
        Arrival::Closed { in_flight, in_flight_max } => (in_flight, in_flight_max),
        Arrival::Open { in_flight_max, .. } => (NonZeroU32::MIN, Some(in_flight_max)),
        Arrival::Sessions { .. } | Arrival::Think { .. } => (NonZeroU32::MIN, None),
    };
    let ready = set_up.ready.get(index).and_then(|ready| ready.as_ref().ok());
    let scheme = measurement.peer.scheme();
    let target = match (&measurement.peer, ready) {
        (Peer::Given(url), _) => url.to_string(),
        (Peer::Embedded(_), Some(ready)) => ready.url.to_string(),
        (Peer::Embedded(_), None) => format!("embedded {scheme}"),
        (Peer::Subject(_), Some(ready)) => ready.url.to_string(),
        (Peer::Subject(server), None) => format!("{} {scheme}", server.subject.name),
    };
    let (server, client) = set_up.subjects(measurement, index);
    let sources = ready.map_or(&measurement.sources, |ready| &ready.target.sources);
    Workload {
        name: measurement.spec.name.clone(),
        target,
        transport: scheme.name().to_owned(),
        connections: load.connections.get().into(),
        closing_awaited: load.closing == load::Closing::Complete,
        lifetime: match load.lifetime {
            Lifetime::Long => record::Lifetime::Long,
            Lifetime::RoundTrips(each) => record::Lifetime::RoundTrips(each.get().into()),
        },
        arrival: arrival(&load.arrival, load.connections),
        in_flight: in_flight.get(),
        in_flight_max: in_flight_max.map(NonZeroU32::get),
        message: Message {
            kind: if load.content.is_text() { MessageKind::Text } else { MessageKind::Binary },
            size_bytes: load.content.payload().len() as u64,
            source: source(&measurement.spec),
            payload_kind: payload_kind(&measurement.spec.message.content),
        },
        stop: match load.phases.stop {
            Stop::After(time) => record::Stop::DurationNs(time.0),
            Stop::Clients(clients) => record::Stop::Clients(clients.get()),
            Stop::Messages(messages) => record::Stop::Messages(messages.get()),
        },
        busy_poll_ns: measurement.spec.busy_poll.0,
        warm_up_ns: load.phases.warm_up.0,
        drain_ns: load.phases.drain.0,
        time_outs: TimeOuts {
            resolve_ns: load.timeouts.resolve.0,
            connect_ns: load.timeouts.connect.0,
            handshake_ns: load.timeouts.handshake.0,
            reply_ns: load.timeouts.reply.0,
            close_ns: load.timeouts.close.0,
        },
        connects_per_s: load.connect_rate.map(units::Rate::per_second),
        threads: measurement.spec.threads.get(),
        source_addresses: sources.iter().map(ToString::to_string).collect(),
        header_names: measurement
            .speech
            .options
            .headers
            .iter()
            .map(|(name, _)| name.clone())
            .collect(),
        subprotocols: measurement.speech.options.subprotocols.clone(),
        tls: measurement.speech.tls.as_ref().map(|tls| tls_wanted(&tls.options, &measurement.peer)),
        deflate: measurement.speech.options.deflate.as_ref().map(ToString::to_string),
        verify: match load.expect {
            Expect::Anything => Verify::Nothing,
            Expect::InSequence => Verify::Sequence,
            Expect::Echo | Expect::Exactly(_) | Expect::Oracle => Verify::EveryByte,
        },
        seed: load.seed,
        pinning: Pinning {
            generator_cpus: numbers(&set_up.generator_cpus),
            server_cpus: match (&set_up.placement, &measurement.peer) {
                (Some(placement), Peer::Embedded(_) | Peer::Subject(_)) => {
                    numbers(&[placement.server])
                }
                _ => Vec::new(),
            },
        },
        server,
        client,
        baseline: measurement.spec.baseline,
    }
}

/// The source of messages, in words.
fn source(spec: &spec::Workload) -> String {
    match &spec.message.content {
        spec::Content::Generated { kind: load::PayloadKind::Random, .. } if spec.message.text => {
            format!("random text, from seed {}", spec.seed)
        }
        spec::Content::Generated { kind: load::PayloadKind::Random, .. } => {
            format!("random bytes, from seed {}", spec.seed)
        }
        spec::Content::Generated { kind, .. } => format!("{kind}, from seed {}", spec.seed),
        spec::Content::Given { source, .. } => format!("--payload {source}"),
        spec::Content::GameEvent { delay_ms: 0 } => "an event of the load-test game".to_owned(),
        spec::Content::GameEvent { delay_ms } => {
            format!("an event of the load-test game, kept for {delay_ms} ms")
        }
        spec::Content::Nothing => "none".to_owned(),
    }
}

fn payload_kind(content: &spec::Content) -> Option<spec::PayloadKind> {
    match content {
        spec::Content::Generated { kind, .. } => Some(*kind),
        spec::Content::Given { .. } | spec::Content::GameEvent { .. } | spec::Content::Nothing => {
            None
        }
    }
}

fn tls_wanted(options: &ClientOptions, peer: &Peer) -> record::Tls {
    record::Tls {
        versions: options.versions.iter().map(ToString::to_string).collect(),
        suites: options.suites.clone(),
        resumption: if options.resumption { Resumption::Tickets } else { Resumption::None },
        alpn: options.alpn.clone(),
        verified: match options.trust {
            // Of a server of ours the authority is known, whatever was said of others.
            Trust::Anyone => peer.is_ours(),
            Trust::Authorities { .. } => true,
        },
        client_certificate: options.identity.is_some(),
    }
}

fn arrival(arrival: &Arrival, connections: NonZeroU32) -> record::Arrival {
    let spacing = |schedule: &Schedule| schedule.spacing;
    match arrival {
        Arrival::Closed { .. } => record::Arrival::Closed,
        Arrival::Open { schedule, pick: Pick::Any, .. } => record::Arrival::Open {
            messages_per_s: schedule.rate.per_second(),
            spacing: spacing(schedule),
        },
        Arrival::Open { schedule, pick: Pick::Own, .. } => record::Arrival::Bots {
            every_ns: schedule.rate.peak().due(connections.get().into()).0,
            spacing: spacing(schedule),
        },
        Arrival::Sessions { schedule, think } => record::Arrival::PartlyOpen {
            sessions_per_s: schedule.rate.per_second(),
            spacing: spacing(schedule),
            think_ns: think.0,
        },
        Arrival::Think { think } => record::Arrival::ClosedBots { think_ns: think.0 },
    }
}
