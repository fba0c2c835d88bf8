//! The record of a block: results merged over all workers, and what was observed of the block from outside.

use crate::block::{Measured, Reading, Task};
use crate::neighbours;
use crate::other_machines::Merged;
use crate::plan::Place;
use crate::restart::Restarted;
use engine::Address;
use load::{Arrival, Lifetime};
use probe::{CpuTimes, TcpCounters, interface_to};
use record::{
    Block, Connections, ContextSwitches, Cpu, Little, Missing, Neighbours, Outcome, Phases,
    Restart, Segments, Split, StreamLayers, Summary, TcpEvents, Traffic, Wire,
};
use spec::Carries;
use stats::{ClosedLoop, Histogram, per_message};
use std::num::NonZeroU32;
use units::{Instant, Nanos};

/// The record of a block. `resolve` is the time that resolving the name took, once for all blocks.
pub(crate) fn block(
    place: Place,
    task: &Task<'_>,
    measured: &Measured,
    resolve: Option<Nanos>,
) -> Block {
    let measured_time = measured.outcome.measured_time();
    let samples = measured.samples.as_ref();
    let block = counted(place, task, &measured.outcome, resolve);
    Block {
        started_at_ns: measured.started.0,
        rate_changes: measured.rate_changes.clone(),
        restart: restart(measured),
        cpu: cpu(task, measured),
        neighbours: neighbours(measured),
        tcp: measured.tcp.map(tcp_events),
        context_switches: context_switches(measured),
        samples: samples.map_or_else(Vec::new, |samples| samples.samples.clone()),
        interface: samples.and_then(|samples| samples.interface.clone()),
        memory: samples.and_then(|samples| samples.memory).or(measured.memory),
        sampling_cpu_fraction: samples
            .filter(|_| measured_time > Nanos::ZERO)
            .map(|samples| samples.cost.as_secs_f64() / measured_time.as_secs_f64()),
        ..block
    }
}

/// The record of a block that agents measured.
pub(crate) fn of_agents(
    place: Place,
    task: &Task<'_>,
    merged: Merged,
    resolve: Option<Nanos>,
) -> Block {
    let mut block = counted(place, task, &merged.outcome, resolve);
    block.started_at_ns = merged.began.0;
    missing(&mut block.cpu.missing, &CPU_FIELDS, OF_AGENTS);
    block.cpu.busiest_worker_fraction = merged.busiest_worker;
    let switches = ["generator_voluntary", "generator_involuntary"];
    missing(&mut block.context_switches.missing, &switches, OF_AGENTS);
    match merged.watched {
        Ok(watched) => watched.fill(&mut block, merged.replies),
        Err(reason) => {
            missing(&mut block.cpu.missing, &CPU_FIELDS[1..3], &reason);
            let switches = ["server_voluntary", "server_involuntary"];
            missing(&mut block.context_switches.missing, &switches, &reason);
        }
    }
    Block { agents: merged.agents, cut_short: merged.cut_short, ..block }
}

const OF_AGENTS: &str = "the agents of a fleet measured, each on its own machine";

/// The part of a block that follows from what its workers counted, wherever they ran.
fn counted(place: Place, task: &Task<'_>, outcome: &Outcome, resolve: Option<Nanos>) -> Block {
    let block = Block::of(outcome);
    let workload = &task.measurement.workload;
    let connections = match workload.lifetime {
        Lifetime::Long => {
            Connections { asked: workload.connections.get().into(), ..block.connections }
        }
        Lifetime::RoundTrips(_) => block.connections,
    };
    let little = little(task, outcome, &block);
    Block {
        workload: place.workload,
        round: place.round,
        connections,
        phases: Phases { resolve: resolve.and_then(once), ..block.phases },
        pushed: block
            .pushed
            .filter(|_| task.measurement.peer.scheme().facts().carries == Carries::Events),
        wire: wire(task, outcome.layers, outcome.segments, block.wire),
        little,
        ..block
    }
}

/// The restart of the server, if it was ready again.
fn restart(measured: &Measured) -> Option<Restart> {
    let Restarted { killed, ready } = *measured.restart.as_ref()?.as_ref().ok()?;
    let (begin, _) = measured.outcome.window?;
    Some(Restart { at_ns: killed.since(begin).0, ready_after_ns: ready.since(killed).0 })
}

/// The summary of a time that occurred once.
fn once(time: Nanos) -> Option<Summary> {
    let mut times = Histogram::new();
    times.record(time);
    Summary::of(&times)
}

/// CPU time between the boundaries of the measurement, or the reason why it could not be read.
pub(crate) fn cpu(task: &Task<'_>, measured: &Measured) -> Cpu {
    let mut cpu = Cpu::default();
    let Some((before, after)) = measured.before.as_ref().zip(measured.after.as_ref()) else {
        missing(&mut cpu.missing, &CPU_FIELDS, "the measurement did not reach its end");
        return cpu;
    };
    let replies = measured.outcome.traffic.replies;
    let time = after.cpu.at.since(before.cpu.at);
    let micros_per_message =
        |used: Nanos| per_message(used.0, replies).map(|nanos_per_message| nanos_per_message / 1e3);
    let cores = |used: Nanos| (time > Nanos::ZERO).then(|| used.as_secs_f64() / time.as_secs_f64());
    let generator = Nanos(after.cpu.generator.0 - before.cpu.generator.0);
    cpu.generator_us_per_message = micros_per_message(generator);
    cpu.generator_cores_used = cores(generator);
    if replies == 0 {
        missing(&mut cpu.missing, &CPU_FIELDS[..2], "no reply arrived");
    }
    match after.cpu.server.zip(before.cpu.server) {
        Some((after, before)) => {
            let server = Nanos(after.0.saturating_sub(before.0));
            cpu.server_us_per_message = micros_per_message(server);
            cpu.server_cores_used = cores(server);
        }
        None => {
            let reason = task.server.as_ref().err();
            let reason = reason.map_or("the server's process has ended", String::as_str);
            missing(&mut cpu.missing, &CPU_FIELDS[1..3], reason);
        }
    }
    let machine = machine(before, after);
    cpu.machine_idle_fraction = machine.and_then(CpuTimes::idle_fraction);
    let server =
        cpu.server_cores_used.or_else(|| is_elsewhere(&task.target.address).then_some(0.0));
    cpu.others_cores_used = machine
        .and_then(|machine| Some(others(cpu.generator_cores_used? + server?, machine, time)));
    if machine.is_none() {
        missing(
            &mut cpu.missing,
            &CPU_FIELDS[3..],
            "the kernel's counters did not change or are missing",
        );
    } else if cpu.others_cores_used.is_none() {
        missing(&mut cpu.missing, &CPU_FIELDS[4..], "what the server used is not known");
    }
    cpu.busiest_worker_fraction = measured.busiest_worker;
    let looked = measured.outcome.looked;
    cpu.looking_cores_used = if looked > Nanos::ZERO { cores(looked) } else { None };
    cpu
}

/// The time of the machine's CPUs between two readings; `None` if it did not move.
fn machine(before: &Reading, after: &Reading) -> Option<CpuTimes> {
    let between = after.system.as_ref()?.since(before.system.as_ref()?).machine;
    (between.total() > Nanos::ZERO).then_some(between)
}

/// The use that others made of the machine; unknown where the measurement did not reach its end.
pub(crate) fn neighbours(measured: &Measured) -> Neighbours {
    let Some((before, after)) = measured.before.as_ref().zip(measured.after.as_ref()) else {
        return Neighbours::default();
    };
    let window = after.cpu.at.since(before.cpu.at);
    neighbours::neighbours([&before.waits, &after.waits], machine(before, after), window)
}

/// True for a server on another machine, which takes no CPU time of this one.
fn is_elsewhere(server: &Address) -> bool {
    match server {
        Address::Tcp(address) => interface_to(address.ip()).is_some_and(|name| name != "lo"),
        Address::Unix(_) => false,
    }
}

/// The number of cores that were busy besides the `known` number that generator and server used.
fn others(known: f64, machine: CpuTimes, time: Nanos) -> f64 {
    let busy = Nanos(machine.total().0 - machine.idle.0 - machine.iowait.0 - machine.steal.0);
    // The kernel counts the machine in steps of 10 ms, and processes exactly.
    (busy.as_secs_f64() / time.as_secs_f64() - known).max(0.0)
}

const CPU_FIELDS: [&str; 5] = [
    "generator_us_per_message",
    "server_us_per_message",
    "server_cores_used",
    "machine_idle_fraction",
    "others_cores_used",
];

pub(crate) fn missing(reasons: &mut Missing, fields: &[&str], reason: &str) {
    for field in fields {
        reasons.insert((*field).to_owned(), reason.to_owned());
    }
}

/// Completes the bytes of the stream with the overhead of TCP and IP and with the compression ratio.
fn wire(task: &Task<'_>, layers: StreamLayers, segments: Option<Segments>, wire: Wire) -> Wire {
    let mut missing = Missing::new();
    let tcp_ip = tcp_ip(&task.target.address, segments)
        .map_err(|reason| missing.insert("tcp_ip_estimated_bytes".to_owned(), reason.to_owned()))
        .ok();
    let compresses = task.measurement.speech.options.deflate.is_some();
    let with = |split, tcp_ip_estimated_bytes| Some(Split { tcp_ip_estimated_bytes, ..split });
    Wire {
        sent: with(layers.sent, tcp_ip.map(|(sent, _)| sent)),
        received: with(layers.received, tcp_ip.map(|(_, received)| received)),
        compression_ratio: if compresses { compression_ratio(layers) } else { None },
        missing,
        ..wire
    }
}

/// The length of payloads divided by their encoded length, both directions together; `None` if there were none.
fn compression_ratio(StreamLayers { sent, received }: StreamLayers) -> Option<f64> {
    let payload = sent.payload_bytes + received.payload_bytes;
    let encoded = [sent, received]
        .map(|split| split.payload_bytes.saturating_add_signed(split.encoding_bytes))
        .into_iter()
        .sum();
    per_message(payload, encoded).filter(|_| payload > 0)
}

/// The bytes that TCP and IP add to the stream, sent and received, from the number of segments.
///
/// # Errors
///
/// The reason why they are unknown.
fn tcp_ip(to: &Address, segments: Option<Segments>) -> Result<(u64, u64), &'static str> {
    let header = match to {
        Address::Tcp(to) if to.is_ipv4() => IPV4_HEADER + TCP_HEADER,
        Address::Tcp(_) => IPV6_HEADER + TCP_HEADER,
        Address::Unix(_) => return Err("a Unix socket has neither"),
    };
    let segments = segments.ok_or("no connection said how many segments it took")?;
    Ok((segments.sent.saturating_mul(header), segments.received.saturating_mul(header)))
}

/// The length of a header without options (RFC 791, section 3.1).
const IPV4_HEADER: u64 = 20;
/// The length of a header without extensions (RFC 8200, section 3).
const IPV6_HEADER: u64 = 40;
/// The length of a header with the option that every segment from Linux carries: timestamps and two bytes of padding
/// (RFC 9293, section 3.1; RFC 7323, section 3.2).
const TCP_HEADER: u64 = 20 + 12;

/// The counters that explain times of replies and connects.
pub(crate) fn tcp_events(counted: TcpCounters) -> TcpEvents {
    TcpEvents {
        delayed_acks: counted.delayed_acks,
        retransmitted_segments: counted.retransmitted_segments,
        retransmitted_syns: counted.retransmitted_syns,
    }
}

pub(crate) fn context_switches(measured: &Measured) -> ContextSwitches {
    let mut switches = ContextSwitches::default();
    let between = |of: fn(&Reading) -> Option<probe::Switches>| {
        let (before, after) = (measured.before.as_ref()?, measured.after.as_ref()?);
        Some(of(after)?.since(of(before)?))
    };
    if let Some(generator) = between(|reading| reading.generator) {
        switches.generator_voluntary = Some(generator.voluntary);
        switches.generator_involuntary = Some(generator.involuntary);
    } else {
        missing(&mut switches.missing, &["generator_voluntary", "generator_involuntary"], NOT_READ);
    }
    if let Some(server) = between(|reading| reading.server) {
        switches.server_voluntary = Some(server.voluntary);
        switches.server_involuntary = Some(server.involuntary);
    } else {
        missing(&mut switches.missing, &["server_voluntary", "server_involuntary"], NOT_READ);
    }
    switches
}

const NOT_READ: &str = "could not be read at both ends of the measurement";

/// Little's law on a closed loop. With short-lived clients, each occupies a place from its connect to its close; with
/// bots that think, think time is added to each round trip. The law does not apply where a place was empty for an
/// unmeasured time, while a connection was opened again.
fn little(task: &Task<'_>, outcome: &Outcome, block: &Block) -> Little {
    let workload = &task.measurement.workload;
    let not_checked = |reason: &str| Little::NotChecked { reason: reason.to_owned() };
    if block.connections.failed + block.connections.lost > 0 {
        return not_checked("connections failed or were lost");
    }
    if block.connections.reconnects > 0 {
        return not_checked("connections were opened again in the middle of the block");
    }
    let unanswered = outcome.unanswered;
    let connections = u64::from(workload.connections.get());
    // A bot is either in flight or thinking.
    let (in_flight, in_flight_max, think) = match workload.arrival {
        Arrival::Closed { in_flight, in_flight_max } => (in_flight, in_flight_max, Nanos::ZERO),
        Arrival::Think { think } => (NonZeroU32::MIN, None, think),
        Arrival::Open { .. } | Arrival::Sessions { .. } => {
            return not_checked("an open loop has no fixed number in flight");
        }
    };
    let closed = match workload.lifetime {
        Lifetime::Long => {
            let all = connections * u64::from(in_flight.get());
            let Traffic { replies, round_trip_sum, .. } = outcome.traffic;
            let round_trip = per_message(round_trip_sum.0, replies).unwrap_or(0.0);
            let longest = block.round_trip.as_ref().map_or(0, |times| times.max_ns);
            ClosedLoop {
                in_flight: in_flight_max.map_or(all, |max| all.min(max.get().into())),
                replies,
                measured: outcome.measured_time(),
                round_trip_mean_ns: round_trip + think.as_secs_f64() * 1e9,
                longest: Nanos(longest) + think,
                unanswered,
            }
        }
        Lifetime::RoundTrips(_) => ClosedLoop {
            in_flight: connections,
            replies: outcome.clients_served,
            measured: outcome.measured_time(),
            round_trip_mean_ns: mean(&outcome.times.life) + mean(&outcome.times.close),
            longest: longest(&outcome.times.life) + longest(&outcome.times.close),
            unanswered,
        },
    };
    little_of(closed)
}

/// The mean of `times` in nanoseconds; zero if there is none.
pub(crate) fn mean(times: &Histogram) -> f64 {
    times.mean_ns().unwrap_or(0.0)
}

/// The longest of `times`; zero if there is none.
pub(crate) fn longest(times: &Histogram) -> Nanos {
    times.max().unwrap_or(Nanos::ZERO)
}

/// The law in the form of the record.
pub(crate) fn little_of(closed: ClosedLoop) -> Little {
    match stats::little(closed) {
        stats::Little::Checked { expected_in_flight, measured_in_flight, deviation, holds } => {
            Little::Checked {
                expected_in_flight,
                measured_in_flight,
                deviation_fraction: deviation,
                holds,
            }
        }
        stats::Little::NotChecked { reason } => Little::NotChecked { reason: reason.to_string() },
    }
}

/// A block that could not be run.
pub(crate) fn failed(place: Place, started: Instant, reason: String) -> Block {
    let Place { workload, round } = place;
    let empty = Block::empty(workload, round, started.0, "the block did not run");
    Block { failed: Some(reason), ..empty }
}

/// A block that failed while it ran: the counts up to then are kept, and its times are dropped.
pub(crate) fn failed_midway(block: Block, reason: String) -> Block {
    let place = Place { workload: block.workload, round: block.round };
    Block {
        measured_ns: block.measured_ns,
        counts: block.counts,
        warm_up: block.warm_up,
        connections: block.connections,
        errors: block.errors,
        little: Little::NotChecked { reason: "the block failed".to_owned() },
        ..failed(place, Instant(block.started_at_ns), reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_all_segments_are_those_of_their_family() {
        let of_two = Segments { sent: 20, received: 40, connections_sampled: 2, connections: 2 };
        let tcp_ip = |to: &str, segments| tcp_ip(&Address::Tcp(to.parse().unwrap()), segments);
        assert_eq!(tcp_ip("127.0.0.1:80", Some(of_two)), Ok((2 * 10 * 52, 2 * 20 * 52)));
        assert_eq!(tcp_ip("[::1]:80", Some(of_two)), Ok((2 * 10 * 72, 2 * 20 * 72)));
        assert_eq!(tcp_ip("[::1]:80", None), Err("no connection said how many segments it took"));
        let unix = super::tcp_ip(&Address::Unix("/run/a.sock".into()), Some(of_two));
        assert_eq!(unix, Err("a Unix socket has neither"));
    }

    #[test]
    fn the_compression_is_that_of_both_directions() {
        let split = |payload_bytes, encoding_bytes| Split {
            payload_bytes,
            encoding_bytes,
            framing_bytes: 6,
            tls_bytes: 22,
            tcp_ip_estimated_bytes: None,
        };
        let ratio = |sent, received| compression_ratio(StreamLayers { sent, received });
        assert_eq!(ratio(split(1000, -750), split(1000, -250)), Some(2.0));
        assert_eq!(ratio(split(64, 5), split(0, 0)), Some(64.0 / 69.0));
        assert_eq!(ratio(split(0, 1), split(0, 0)), None);
    }

    #[test]
    fn others_are_what_the_machine_did_besides_us_and_never_less_than_nothing() {
        let second = Nanos::from_secs(1);
        let machine = CpuTimes { user: Nanos(1_500_000_000), idle: second, ..CpuTimes::default() };
        assert_eq!(others(1.25, machine, second), 0.25);
        assert_eq!(others(1.75, machine, second), 0.0, "readings differ a little");
    }

    #[test]
    fn a_server_of_this_machine_takes_its_cpu_time_whatever_its_address() {
        let is_elsewhere = |to: &str| is_elsewhere(&Address::Tcp(to.parse().unwrap()));
        assert!(!is_elsewhere("127.0.0.1:80") && !is_elsewhere("[::1]:80"));
        assert!(!super::is_elsewhere(&Address::Unix("/run/a.sock".into())));
    }
}
