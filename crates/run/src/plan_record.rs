//! The plan in the form of the record.

use crate::plan::{Measurement, Peer, Plan};
use crate::setup::{SetUp, numbers};
use probe::Listener;
use record::{Pinning, Process, Workload};

/// The record of a plan, with the order in which its blocks ran.
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
    let ready = set_up.ready.get(index).and_then(|ready| ready.as_ref().ok());
    let scheme = measurement.peer.scheme();
    let target = match (&measurement.peer, ready) {
        (Peer::Given(url), _) => url.to_string(),
        (Peer::Embedded(_) | Peer::Started(_) | Peer::Subject(_), Some(ready)) => {
            ready.url.to_string()
        }
        (Peer::Started(started), None) => started.url.to_string(),
        (Peer::Embedded(_), None) => format!("embedded {scheme}"),
        (Peer::Subject(server), None) => format!("{} {scheme}", server.subject.name),
    };
    let (server, client) = set_up.subjects(measurement, index);
    let sources = ready.map_or(&measurement.sources, |ready| &ready.target.sources);
    let found = ready.and_then(|ready| ready.found.as_ref()?.as_ref().ok());
    let offered = measurement.speech.options.deflate.as_ref();
    Workload {
        spec: spec::Workload {
            deflate: offered.map(ToString::to_string),
            ..measurement.spec.bare()
        },
        target,
        transport: scheme.name().to_owned(),
        size_bytes: measurement.workload.content.payload().len() as u64,
        source_addresses: sources.iter().map(ToString::to_string).collect(),
        pinning: Pinning {
            generator_cpus: numbers(&set_up.generator_cpus),
            server_cpus: match (&set_up.placement, &measurement.peer) {
                (Some(_), Peer::Started(_)) => numbers(&set_up.program_cpus),
                (Some(_), Peer::Embedded(_) | Peer::Subject(_)) => {
                    numbers(set_up.servers.cpus_of(measurement))
                }
                (_, Peer::Given(_)) => {
                    found.map_or_else(Vec::new, |found| numbers(&set_up.bound_to(found)))
                }
                (None, _) => Vec::new(),
            },
        },
        processes: found.map_or_else(Vec::new, |found| {
            let process = |one: &Listener| Process { pid: one.pid, name: one.name.clone() };
            found.listeners.iter().map(process).collect()
        }),
        server,
        found: match measurement.peer {
            Peer::Given(_) | Peer::Started(_) => ready.map(|ready| ready.answer.clone()),
            Peer::Embedded(_) | Peer::Subject(_) => None,
        },
        client,
    }
}
