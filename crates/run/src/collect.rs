//! From what a block measured to the block of the record.

use crate::block::{Collected, Measured, Reading, Task};
use crate::plan::Peer;
use drive::{ErrorClass, LastReplies, Outcome, StreamLayers};
use engine::Address;
use load::{Arrival, Lifetime};
use probe::CpuTimes;
use record::{
    Block, Connections, ContextSwitches, Counts, Cpu, Fairness, Identity, Little, Missing,
    OpenLoop, Phases, Pushed, Sessions, Split, Stall, Stalls, Summary, TlsSeen, Whole, Wire,
};
use spec::Carries;
use stats::{ClosedLoop, Histogram};
use std::num::NonZeroU32;
use units::{Instant, Nanos};

/// Where in the plan a block belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) workload: usize,
    pub(crate) round: usize,
}

/// Writes a block down. `resolve`: how long the name took to be resolved, once for all blocks.
pub(crate) fn block(
    place: Place,
    task: &Task<'_>,
    measured: &Measured,
    resolve: Option<Nanos>,
) -> Block {
    let outcomes = &measured.outcomes;
    let measured_time = window(outcomes);
    let collected = &measured.collected;
    let samples = measured.samples.as_ref();
    let times = |of: fn(&Outcome) -> &Histogram| {
        let mut all = Histogram::new();
        outcomes.iter().for_each(|outcome| all.add(of(outcome)));
        all
    };
    let (close, life) =
        (times(|outcome| &outcome.times.close), times(|outcome| &outcome.times.life));
    let connections = connections(task, outcomes);
    let last = LastReplies::mean(outcomes.iter().map(|outcome| &outcome.last_replies));
    let is_open = !task.measurement.workload.arrival.is_closed();
    Block {
        workload: place.workload,
        round: place.round,
        started_at_ns: measured.started.0,
        measured_ns: measured_time.0,
        failed: None,
        counts: counts(outcomes),
        connections,
        tls: tls(outcomes.iter().filter_map(|outcome| outcome.tls.as_ref())),
        errors: errors(outcomes),
        round_trip: Summary::of(&collected.round_trips).filter(|_| !is_open),
        open_loop: is_open.then(|| open_loop(measured)),
        stalls: stalls(
            window_begin(outcomes).unwrap_or(Instant::START),
            outcomes.iter().map(|outcome| &outcome.stalls),
        ),
        identity: identity(outcomes),
        fairness: fairness(
            outcomes.iter().flat_map(|outcome| &outcome.replies_each).copied().collect(),
        ),
        pushed: pushed(task, outcomes),
        last_1000_mean_ms: last.map(|last| last.whole_ms),
        last_1000_mean_ns: last.map(|last| last.ns),
        messages_per_s: per_second(collected.replies, measured_time),
        cpu: cpu(task, measured),
        wire: wire(task, measured),
        context_switches: context_switches(measured),
        little: little(task, measured, measured_time, (&life, &close), connections),
        series: collected.series.clone(),
        samples: samples.map_or_else(Vec::new, |samples| samples.samples.clone()),
        interface: samples.and_then(|samples| samples.interface.clone()),
        memory: samples.and_then(|samples| samples.memory).or(measured.memory),
        sampling_cpu_fraction: samples
            .filter(|_| measured_time > Nanos::ZERO)
            .map(|samples| samples.cost.as_secs_f64() / measured_time.as_secs_f64()),
        client: None,
        phases: Phases {
            resolve: resolve.and_then(|took| {
                let mut once = Histogram::new();
                once.record(took);
                Summary::of(&once)
            }),
            connect: Summary::of(&times(|outcome| &outcome.times.connect)),
            tls_full: Summary::of(&times(|outcome| &outcome.times.tls_full)),
            tls_resumed: Summary::of(&times(|outcome| &outcome.times.tls_resumed)),
            handshake: Summary::of(&times(|outcome| &outcome.times.handshake)),
            first_reply: Summary::of(&times(|outcome| &outcome.times.first_reply)),
            close: Summary::of(&close),
            life: Summary::of(&life),
        },
    }
}

/// From the first worker's begin to the last one's end.
fn window(outcomes: &[Outcome]) -> Nanos {
    let end = outcomes.iter().filter_map(|outcome| outcome.window).map(|(_, end)| end).max();
    end.zip(window_begin(outcomes)).map_or(Nanos::ZERO, |(end, begin)| end.since(begin))
}

fn window_begin(outcomes: &[Outcome]) -> Option<Instant> {
    outcomes.iter().filter_map(|outcome| outcome.window).map(|(begin, _)| begin).min()
}

fn open_loop(measured: &Measured) -> OpenLoop {
    let times = &measured.collected.open_loop;
    let sessions = measured.outcomes.iter().filter_map(|outcome| outcome.sessions);
    OpenLoop {
        response: Summary::of(&times.response),
        service: Summary::of(&measured.collected.round_trips),
        send_lag: Summary::of(&times.lag),
        own_share: Summary::of(&times.own_share),
        true_delay: Summary::of(&times.true_delay),
        sessions: sessions
            .reduce(|one, other| drive::Sessions {
                planned: one.planned + other.planned,
                started: one.started + other.started,
                completed: one.completed + other.completed,
            })
            .map(|sessions| Sessions {
                planned: sessions.planned,
                started: sessions.started,
                completed: sessions.completed,
            }),
    }
}

/// Those of all workers, in the order of time from `begin` on.
fn stalls<'a>(begin: Instant, of_workers: impl Iterator<Item = &'a drive::Stalls>) -> Stalls {
    let mut all = Stalls::default();
    for stalls in of_workers {
        all.count += stalls.count;
        all.longest_ns = all.longest_ns.max(stalls.longest.0);
        all.total_ns += stalls.total.0;
        all.affected += stalls.affected;
        all.first.extend(stalls.first.iter().map(|stall| Stall {
            at_ns: stall.from.0.saturating_sub(begin.0),
            duration_ns: stall.until.since(stall.from).0,
            affected: stall.affected,
        }));
    }
    all.first.sort_by_key(|stall| stall.at_ns);
    all.first.truncate(drive::Stalls::KEPT_MAX);
    all
}

fn identity(outcomes: &[Outcome]) -> Option<Identity> {
    let known = outcomes.iter().filter_map(|outcome| outcome.identity);
    let sum = known.reduce(|one, other| drive::Identity {
        lost: one.lost + other.lost,
        duplicate: one.duplicate + other.duplicate,
        reordered: one.reordered + other.reordered,
        corrupted: one.corrupted + other.corrupted,
    });
    let drive::Identity { lost, duplicate, reordered, corrupted } = sum?;
    Some(Identity { lost, duplicate, reordered, corrupted })
}

/// How evenly connections were served that had so many replies each.
fn fairness(mut replies: Vec<u64>) -> Option<Fairness> {
    replies.sort_unstable();
    (replies.len() > 1).then(|| Fairness {
        connections: replies.len() as u64,
        replies_min: replies[0],
        replies_median: replies[(replies.len() - 1) / 2],
    })
}

/// What came unasked; `None` where the protocol has no such thing.
fn pushed(task: &Task<'_>, outcomes: &[Outcome]) -> Option<Pushed> {
    let mut all = drive::Pushed::default();
    outcomes.iter().for_each(|outcome| all.add(outcome.pushed));
    let sum = |of: fn(&Outcome) -> u64| outcomes.iter().map(of).sum();
    (task.measurement.peer.scheme().facts().carries == Carries::Events).then(|| Pushed {
        deliveries: all.deliveries,
        notices: all.notices,
        payload_bytes: all.payload_bytes,
        whole: Whole {
            events: sum(|outcome| outcome.warm_up.sent + outcome.measured.sent),
            replies: sum(|outcome| outcome.warm_up.ok + outcome.measured.ok),
            deliveries: all.deliveries_in_all,
        },
    })
}

fn counts(outcomes: &[Outcome]) -> Counts {
    let mut all = Counts::default();
    for outcome in outcomes {
        let measured = outcome.measured;
        all.planned += outcome.planned;
        all.sent += measured.sent;
        all.unsent += outcome.planned - measured.sent;
        all.ok += measured.ok;
        all.error += measured.error;
        all.timed_out += measured.timed_out;
        all.in_flight_at_end += measured.in_flight();
    }
    all
}

fn connections(task: &Task<'_>, outcomes: &[Outcome]) -> Connections {
    let mut all = Connections::default();
    for counts in outcomes.iter().map(|outcome| outcome.connections) {
        all.asked += counts.started;
        all.opened += counts.opened;
        all.failed += counts.failed;
        all.lost += counts.lost;
        all.reconnects += counts.reopened;
    }
    if task.measurement.workload.lifetime == Lifetime::Long {
        all.asked = u64::from(task.measurement.workload.connections.get());
    }
    all
}

/// What the first handshake of the first worker agreed on, and all that were made.
fn tls<'a>(mut of_workers: impl Iterator<Item = &'a drive::TlsSeen>) -> Option<TlsSeen> {
    let drive::TlsSeen { facts, full, resumed } = of_workers.next()?;
    let mut seen = TlsSeen {
        version: facts.version.to_string(),
        suite: facts.suite.to_owned(),
        group: facts.group.map(str::to_owned),
        alpn: facts.alpn.as_deref().map(str::to_owned),
        full: *full,
        resumed: *resumed,
    };
    for drive::TlsSeen { full, resumed, .. } in of_workers {
        seen.full += full;
        seen.resumed += resumed;
    }
    Some(seen)
}

fn errors(outcomes: &[Outcome]) -> Vec<record::ErrorClass> {
    let mut all: Vec<record::ErrorClass> = Vec::new();
    for tally in outcomes.iter().flat_map(|outcome| &outcome.errors) {
        let class = class_name(tally.class);
        match all.iter_mut().find(|known| known.class == class) {
            Some(known) => known.count += tally.count,
            None => all.push(record::ErrorClass {
                class: class.to_owned(),
                count: tally.count,
                example: tally.example.clone(),
            }),
        }
    }
    all
}

fn class_name(class: ErrorClass) -> &'static str {
    match class {
        ErrorClass::CloseTimedOut => "close_timed_out",
        ErrorClass::ClosedByPeer => "closed_by_peer",
        ErrorClass::ConnectFailed => "connect_failed",
        ErrorClass::ConnectTimedOut => "connect_timed_out",
        ErrorClass::Cut => "connection_cut",
        ErrorClass::HandshakeTimedOut => "handshake_timed_out",
        ErrorClass::Protocol => "protocol_broken",
        ErrorClass::Refused => "refused",
        ErrorClass::ReplyTimedOut => "reply_timed_out",
        ErrorClass::Tls => "tls_failed",
        ErrorClass::TlsTimedOut => "tls_handshake_timed_out",
        ErrorClass::WrongReply => "wrong_reply",
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
pub(crate) fn per_second(count: u64, time: Nanos) -> f64 {
    if time == Nanos::ZERO { 0.0 } else { count as f64 / time.as_secs_f64() }
}

#[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
pub(crate) fn per_message(total: u64, messages: u64) -> Option<f64> {
    (messages > 0).then(|| total as f64 / messages as f64)
}

/// Between the boundaries of the measurement; the reason where it could not be read.
pub(crate) fn cpu(task: &Task<'_>, measured: &Measured) -> Cpu {
    let mut cpu = Cpu::default();
    let Some((before, after)) = measured.before.as_ref().zip(measured.after.as_ref()) else {
        missing(&mut cpu.missing, &CPU_FIELDS, "the measurement did not reach its end");
        return cpu;
    };
    let replies = measured.collected.replies;
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
            let reason = match task.measurement.peer {
                Peer::Given(_) => "the server is not ours to look into",
                Peer::Embedded(_) | Peer::Subject(_) => "the server's process has ended",
            };
            missing(&mut cpu.missing, &CPU_FIELDS[1..3], reason);
        }
    }
    let system = |reading: &Reading| reading.system.clone();
    let machine = system(after)
        .zip(system(before))
        .map(|(after, before)| after.since(&before).machine)
        .filter(|machine| machine.total() > Nanos::ZERO);
    cpu.machine_idle_fraction = machine.and_then(CpuTimes::idle_fraction);
    cpu.others_cores_used = machine.and_then(|machine| others(&cpu, machine, time));
    if machine.is_none() {
        missing(
            &mut cpu.missing,
            &CPU_FIELDS[3..],
            "the kernel's counters did not move, or are not there",
        );
    } else if cpu.others_cores_used.is_none() {
        missing(&mut cpu.missing, &CPU_FIELDS[4..], "what the server used is not known");
    }
    cpu.busiest_worker_fraction = measured.busiest_worker;
    cpu
}

/// How many cores were busy beside generator and server, which must be known.
fn others(cpu: &Cpu, machine: CpuTimes, time: Nanos) -> Option<f64> {
    let known = cpu.generator_cores_used? + cpu.server_cores_used?;
    let busy = Nanos(machine.total().0 - machine.idle.0 - machine.iowait.0 - machine.steal.0);
    // The kernel counts the machine in steps of 10 ms, and processes exactly.
    Some((busy.as_secs_f64() / time.as_secs_f64() - known).max(0.0))
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

fn wire(task: &Task<'_>, measured: &Measured) -> Wire {
    let (collected, outcomes) = (&measured.collected, &measured.outcomes);
    let mut layers = StreamLayers::default();
    outcomes.iter().for_each(|outcome| layers.add(outcome.layers));
    let mut missing = Missing::new();
    let segments = outcomes.iter().filter_map(|outcome| outcome.segments);
    let tcp_ip = tcp_ip(&task.target.address, segments)
        .map_err(|reason| missing.insert("tcp_ip_estimated_bytes".to_owned(), reason.to_owned()))
        .ok();
    let compresses = task.measurement.speech.deflate.is_some();
    Wire {
        sent_bytes: collected.bytes_sent,
        received_bytes: collected.bytes_received,
        sent_bytes_per_message: per_message(collected.bytes_sent, collected.replies),
        received_bytes_per_message: per_message(collected.bytes_received, collected.replies),
        sent: Some(split(layers.sent, tcp_ip.map(|(sent, _)| sent))),
        received: Some(split(layers.received, tcp_ip.map(|(_, received)| received))),
        compression_ratio: if compresses { compression_ratio(layers) } else { None },
        missing,
    }
}

fn split(split: drive::Split, tcp_ip_estimated_bytes: Option<u64>) -> Split {
    let drive::Split { payload, encoding, framing, tls } = split;
    Split {
        payload_bytes: payload,
        encoding_bytes: encoding,
        framing_bytes: framing,
        tls_bytes: tls,
        tcp_ip_estimated_bytes,
    }
}

/// Payloads by what became of them, both directions together; `None` if there were none.
fn compression_ratio(StreamLayers { sent, received }: StreamLayers) -> Option<f64> {
    let payload = sent.payload + received.payload;
    let encoded = [sent, received]
        .map(|split| split.payload.saturating_add_signed(split.encoding))
        .into_iter()
        .sum();
    per_message(payload, encoded).filter(|_| payload > 0)
}

/// What TCP and IP add to the stream, sent and received, from the number of segments; why it is not known.
fn tcp_ip(
    to: &Address,
    of_workers: impl Iterator<Item = drive::Segments>,
) -> Result<(u64, u64), &'static str> {
    let header = match to {
        Address::Tcp(to) if to.is_ipv4() => IPV4_HEADER + TCP_HEADER,
        Address::Tcp(_) => IPV6_HEADER + TCP_HEADER,
        Address::Unix(_) => return Err("a Unix socket has neither"),
    };
    let mut all = drive::Segments::default();
    of_workers.for_each(|segments| all.add(segments));
    match all.connections_sampled {
        0 => Err("no connection said how many segments it took"),
        _ => Ok((all.sent.saturating_mul(header), all.received.saturating_mul(header))),
    }
}

/// Without options (RFC 791, section 3.1).
const IPV4_HEADER: u64 = 20;
/// Without extensions (RFC 8200, section 3).
const IPV6_HEADER: u64 = 40;
/// With the option that every segment of Linux has, timestamps and two bytes of padding (RFC 9293, section 3.1; RFC
/// 7323, section 3.2).
const TCP_HEADER: u64 = 20 + 12;

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

/// Little's law on a closed loop. Where clients are short-lived, a place is taken from their connect to their close;
/// where bots think, a round trip is followed by the time they think.
fn little(
    task: &Task<'_>,
    measured: &Measured,
    time: Nanos,
    (life, close): (&Histogram, &Histogram),
    connections: Connections,
) -> Little {
    let workload = &task.measurement.workload;
    if connections.failed + connections.lost > 0 {
        return Little::NotChecked { reason: "connections failed or were lost".to_owned() };
    }
    let connections = u64::from(workload.connections.get());
    // A bot is either in flight or thinking.
    let (in_flight, in_flight_max, think) = match workload.arrival {
        Arrival::Closed { in_flight, in_flight_max } => (in_flight, in_flight_max, Nanos::ZERO),
        Arrival::Think { think } => (NonZeroU32::MIN, None, think),
        Arrival::Open { .. } | Arrival::Sessions { .. } => {
            return Little::NotChecked {
                reason: "an open loop has no fixed number in flight".to_owned(),
            };
        }
    };
    let closed = match workload.lifetime {
        Lifetime::Long => {
            let all = connections * u64::from(in_flight.get());
            let Collected { replies, round_trip_sum, .. } = measured.collected;
            let round_trip = per_message(round_trip_sum.0, replies).unwrap_or(0.0);
            ClosedLoop {
                in_flight: in_flight_max.map_or(all, |max| all.min(max.get().into())),
                replies,
                measured: time,
                round_trip_mean_ns: round_trip + think.as_secs_f64() * 1e9,
            }
        }
        Lifetime::RoundTrips(_) => ClosedLoop {
            in_flight: connections,
            replies: measured.outcomes.iter().map(|outcome| outcome.clients_served).sum(),
            measured: time,
            round_trip_mean_ns: life.mean_ns().unwrap_or(0.0) + close.mean_ns().unwrap_or(0.0),
        },
    };
    little_of(closed)
}

/// The law as the record has it.
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

/// A block that failed while it ran: what was counted until then is kept, and nothing is made of its times.
pub(crate) fn failed_midway(block: Block, reason: String) -> Block {
    let place = Place { workload: block.workload, round: block.round };
    Block {
        measured_ns: block.measured_ns,
        counts: block.counts,
        connections: block.connections,
        errors: block.errors,
        little: Little::NotChecked { reason: "the block failed".to_owned() },
        ..failed(place, Instant(block.started_at_ns), reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::tls::{Facts, Version};

    #[test]
    fn stalls_of_all_workers_stand_in_the_order_of_time_from_the_window_on() {
        let stall = |from: u64, until: u64| drive::Stall {
            from: Instant(from),
            until: Instant(until),
            affected: until - from,
        };
        let of = |first: Vec<drive::Stall>| drive::Stalls {
            count: first.len() as u64,
            longest: Nanos(30),
            total: Nanos(40),
            affected: 40,
            first,
        };
        let workers = [of(vec![stall(90, 110), stall(400, 430)]), of(vec![stall(200, 210)])];
        let all = stalls(Instant(100), workers.iter());
        let firsts: Vec<(u64, u64)> =
            all.first.iter().map(|stall| (stall.at_ns, stall.duration_ns)).collect();
        assert_eq!(firsts, [(0, 20), (100, 10), (300, 30)]);
        assert_eq!((all.count, all.longest_ns, all.total_ns, all.affected), (3, 30, 80, 80));

        let many = [of(vec![stall(100, 101); 70]), of(vec![stall(100, 101); 70])];
        assert_eq!(stalls(Instant(100), many.iter()).first.len(), drive::Stalls::KEPT_MAX);
    }

    #[test]
    fn fairness_needs_two_connections_and_its_median_is_one_of_them() {
        let found = |replies: &[u64]| {
            fairness(replies.to_vec()).map(|found| (found.replies_min, found.replies_median))
        };
        assert_eq!(found(&[5]), None);
        assert_eq!(found(&[9, 1]), Some((1, 1)));
        assert_eq!(found(&[9, 1, 7]), Some((1, 7)));
    }

    #[test]
    fn headers_of_all_segments_are_those_of_their_family() {
        let segments =
            drive::Segments { sent: 10, received: 20, connections_sampled: 1, connections: 1 };
        let tcp_ip = |to: &str, workers| {
            tcp_ip(&Address::Tcp(to.parse().unwrap()), std::iter::repeat_n(segments, workers))
        };
        assert_eq!(tcp_ip("127.0.0.1:80", 2), Ok((2 * 10 * 52, 2 * 20 * 52)));
        assert_eq!(tcp_ip("[::1]:80", 2), Ok((2 * 10 * 72, 2 * 20 * 72)));
        assert_eq!(tcp_ip("[::1]:80", 0), Err("no connection said how many segments it took"));
        let unix = super::tcp_ip(&Address::Unix("/run/a.sock".into()), std::iter::empty());
        assert_eq!(unix, Err("a Unix socket has neither"));
    }

    #[test]
    fn what_the_first_worker_agreed_on_stands_for_all_and_handshakes_are_added_up() {
        let facts = |suite| Facts {
            version: Version::Tls13,
            suite,
            group: Some("X25519MLKEM768"),
            alpn: Some("http/1.1".into()),
            resumed: false,
        };
        let workers = ["TLS13_AES_256_GCM_SHA384", "TLS13_AES_128_GCM_SHA256"]
            .map(|suite| drive::TlsSeen { facts: facts(suite), full: 1, resumed: 7 });
        let expected = TlsSeen {
            version: "1.3".to_owned(),
            suite: "TLS13_AES_256_GCM_SHA384".to_owned(),
            group: Some("X25519MLKEM768".to_owned()),
            alpn: Some("http/1.1".to_owned()),
            full: 2,
            resumed: 14,
        };
        assert_eq!(tls(workers.iter()), Some(expected));
        assert_eq!(tls([].iter()), None);
    }

    #[test]
    fn the_compression_is_that_of_both_directions() {
        let split = |payload, encoding| drive::Split { payload, encoding, framing: 6, tls: 22 };
        let ratio = |sent, received| compression_ratio(StreamLayers { sent, received });
        assert_eq!(ratio(split(1000, -750), split(1000, -250)), Some(2.0));
        assert_eq!(ratio(split(64, 5), split(0, 0)), Some(64.0 / 69.0));
        assert_eq!(ratio(split(0, 1), split(0, 0)), None);
    }

    #[test]
    fn others_are_what_the_machine_did_besides_us_and_never_less_than_nothing() {
        let second = Nanos::from_secs(1);
        let machine = CpuTimes { user: Nanos(1_500_000_000), idle: second, ..CpuTimes::default() };
        let cpu = |server: Option<f64>| Cpu {
            generator_cores_used: Some(0.75),
            server_cores_used: server,
            ..Cpu::default()
        };
        assert_eq!(others(&cpu(Some(0.5)), machine, second), Some(0.25));
        assert_eq!(others(&cpu(Some(1.0)), machine, second), Some(0.0), "readings differ a little");
        assert_eq!(others(&cpu(None), machine, second), None);
    }
}
