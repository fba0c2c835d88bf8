//! Made-up records.

use record::{
    Added, Block, Class, ClientReport, Comparison, Connections, Counts, Cpu, Ended, Environment,
    Estimate, Fairness, Footprint, GoogleBenchmark, Identity, Kind, Lab, Layer, LeftOut, Little,
    Memory, Missing, OpenLoop, PayloadKind, PerMetric, Phases, Pinning, Plan, Published,
    PublishedRow, RunRecord, Spacing, Split, Subject, Summary, TlsSeen, Tool, View, WarmUp, Wire,
    Workload, WorkloadResult,
};
use spec::{Content, Expect, Lifetime, Load, Message, Server, Stop, Tls, Trust};
use stats::Histogram;
use std::num::{NonZeroU32, NonZeroU64};
use units::{Bytes, Nanos};

/// All rungs of the ladder.
pub(crate) const RUNGS: [&str; 14] = [
    "tcp",
    "tcp-framed",
    "unix",
    "ws",
    "ws-text",
    "http",
    "http-new",
    "tls",
    "wss",
    "ws-json",
    "ws-deflate",
    "https",
    "https-new",
    "https-resume",
];

/// A ladder of these rungs, two blocks each, in which every rung costs a bit more than the one before.
pub(crate) fn ladder(names: &[&str]) -> RunRecord {
    let workloads: Vec<Workload> = names.iter().map(|name| workload(name)).collect();
    let blocks =
        (0..2).flat_map(|round| (0..names.len()).map(move |index| block(index, round))).collect();
    let results = (0..names.len()).map(result).collect();
    record(Kind::Ladder, workloads, blocks, results)
}

/// A single run of one block.
pub(crate) fn run() -> RunRecord {
    let workload = Workload { target: URL.to_owned(), ..workload("ws") };
    let mut result = result(0);
    result.round_trip = block(0, 0).round_trip;
    record(Kind::Run, vec![workload], vec![block(0, 0)], vec![result])
}

/// An open loop of 2000 messages a second for ten seconds.
pub(crate) fn open() -> RunRecord {
    let mut record = run();
    record.plan.workloads[0].spec.load = Load::Open {
        connections: count(50),
        rate: "2000/s".parse().expect("a rate"),
        spacing: Spacing::Uniform,
        in_flight_max: count(10_000),
    };
    record.blocks = vec![open_block(0, 20_000)];
    record.results[0].response = times(1_250_000, 20_000);
    record.results[0].round_trip = None;
    record
}

/// 100, 200 and 400 bots, the last of which are too many.
pub(crate) fn bots() -> RunRecord {
    let steps = [100, 200, 400];
    let workloads = steps.map(|bots| {
        let mut workload = Workload { target: URL.to_owned(), ..workload("ws") };
        workload.spec.name = format!("{bots} bots");
        workload.spec.load = every_second(bots);
        workload
    });
    let blocks = (0..3).map(|step| open_block(step, 10 * u64::from(steps[step]))).collect();
    let results = (0..3).map(result).collect();
    let mut record = record(Kind::Run, workloads.to_vec(), blocks, results);
    let last = &mut record.blocks[2];
    last.counts = Counts { planned: 4000, sent: 3000, unsent: 1000, ok: 3000, ..Counts::default() };
    last.messages_per_s = 300.0;
    last.open_loop = open_block(2, 3000).open_loop;
    record
}

/// A block of ten seconds in which `due` messages were due.
fn open_block(workload: usize, due: u64) -> Block {
    Block {
        measured_ns: 10_000_000_000,
        counts: Counts { planned: due, sent: due, ok: due, ..Counts::default() },
        round_trip: None,
        open_loop: Some(OpenLoop {
            response: times(1_250_000, due),
            service: times(1_200_000, due),
            send_lag: times(50_000, due),
            own_share: times(12_000, due),
            true_delay: None,
            sessions: None,
        }),
        identity: Some(Identity::default()),
        fairness: Some(Fairness { connections: 50, replies_min: 399, replies_median: 400 }),
        messages_per_s: number(due) / 10.0,
        little: Little::NotChecked { reason: "an open loop".to_owned() },
        ..block(workload, 0)
    }
}

fn number(count: u64) -> f64 {
    u32::try_from(count).map_or(f64::NAN, f64::from)
}

/// `count` times around `p50` nanoseconds, with the percentiles that so many times allow.
fn times(p50: u32, count: u64) -> Option<Summary> {
    let p99_9_ns = (count >= 10_000).then(|| u64::from(p50) * 2);
    let missing = format!("{count} samples, at least 10000 are needed");
    let missing = p99_9_ns.is_none().then(|| ("p99_9_ns".to_owned(), missing));
    Some(Summary {
        p99_9_ns,
        missing: missing.into_iter().collect(),
        mean_ns: f64::from(p50),
        ..summary(p50, count)
    })
}

fn record(
    kind: Kind,
    workloads: Vec<Workload>,
    blocks: Vec<Block>,
    results: Vec<WorkloadResult>,
) -> RunRecord {
    let all: Vec<usize> = (0..workloads.len()).collect();
    let rounds = blocks.len() / workloads.len();
    RunRecord {
        schema_version: record::SCHEMA_VERSION,
        tool: Tool { name: "wirebench".to_owned(), version: "0.1.0".to_owned(), commit: None },
        command_line: Vec::new(),
        started_at: "2026-01-01T00:00:00Z".to_owned(),
        duration_ns: 40_000_000_000,
        kind,
        ended: Ended::Completed,
        environment: Environment::default(),
        repository: None,
        spec: None,
        plan: Plan {
            workloads,
            rounds: vec![all; rounds],
            baseline: (kind == Kind::Ladder).then_some(0),
            layers: Vec::new(),
            seed: 7,
        },
        blocks,
        results,
        added: Vec::new(),
        precision: Vec::new(),
        drifts: Vec::new(),
        against: None,
        requirements: Vec::new(),
        sides: None,
        sweep: None,
        lab: None,
        verdict: None,
        warnings: Vec::new(),
        conclusion: None,
    }
}

fn workload(name: &str) -> Workload {
    let server = Server::Given(URL.parse().expect("a URL"));
    let load = match name {
        "http-new" | "https-new" | "https-resume" => clients(50, 1),
        _ => closed(50),
    };
    Workload {
        spec: spec::Workload {
            message: Message {
                text: false,
                content: Content::Generated {
                    kind: match name {
                        "ws-json" | "ws-deflate" => PayloadKind::Json,
                        _ => PayloadKind::Random,
                    },
                    size: Bytes(64),
                    varied: false,
                },
            },
            expect: Expect::Echo,
            phases: spec::Phases {
                warm_up: Nanos::from_millis(100),
                stop: Stop::After(Nanos::from_millis(500)),
                drain: Nanos::from_secs(1),
            },
            deflate: (name == "ws-deflate").then(|| "client_max_window_bits, level=6".to_owned()),
            tls: is_secure(name).then(|| Tls {
                versions: Vec::new(),
                suites: Vec::new(),
                resumption: name != "https-new",
                alpn: Vec::new(),
                trust: Trust::System,
                server_name: None,
                identity: None,
            }),
            seed: 7,
            ..spec::Workload::new(name, server, load)
        },
        target: format!("{name}://127.0.0.1:4000"),
        transport: transport(name).to_owned(),
        size_bytes: 64,
        source_addresses: Vec::new(),
        pinning: Pinning::default(),
        server: None,
        found: None,
        processes: Vec::new(),
        client: None,
    }
}

const URL: &str = "ws://127.0.0.1:8080/";

/// A number that is not zero.
pub(crate) fn count(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).expect("it is not zero")
}

/// A closed loop over that many connections, each with one message in flight.
pub(crate) fn closed(connections: u32) -> Load {
    Load::Closed { connections: count(connections), in_flight: count(1), in_flight_max: None }
}

/// Short-lived clients, `concurrency` of them at a time.
pub(crate) fn clients(concurrency: u32, round_trips: u32) -> Load {
    Load::Clients {
        concurrency: count(concurrency),
        round_trips: count(round_trips),
        in_flight: count(1),
        in_flight_max: None,
    }
}

/// Bots that send a message every second.
pub(crate) fn every_second(bots: u32) -> Load {
    Load::Bots {
        bots: count(bots),
        every: Nanos::from_secs(1),
        spacing: Spacing::Uniform,
        in_flight_max: count(10_000),
    }
}

fn transport(name: &str) -> &str {
    name.split('-').next().filter(|_| name != "tcp-framed").unwrap_or(name)
}

fn is_secure(name: &str) -> bool {
    matches!(transport(name), "tls" | "wss" | "https")
}

/// The ladder of these rungs with data on TLS, compression and bytes by layer, and with what layers add:
/// 2 us of CPU and 12 us of a round trip.
pub(crate) fn layered(names: &[&str]) -> RunRecord {
    let mut record = ladder(names);
    for block in &mut record.blocks {
        let name = names[block.workload];
        block.tls = is_secure(name).then(|| tls_seen(name));
        block.wire = wire(name);
    }
    record.plan.layers = layers(names);
    record.added = record.plan.layers.iter().map(|layer| added(layer, names)).collect();
    record
}

pub(crate) fn tls_seen(name: &str) -> TlsSeen {
    let (full, resumed) = match name {
        "https-new" => (2500, 0),
        "https-resume" => (50, 2450),
        _ => (50, 0),
    };
    TlsSeen {
        version: "1.3".to_owned(),
        suite: "TLS13_AES_256_GCM_SHA384".to_owned(),
        group: Some("X25519MLKEM768".to_owned()),
        alpn: None,
        full,
        resumed,
    }
}

/// The bytes of a thousand messages, and of part of one at the edge of the measurement.
pub(crate) fn wire(name: &str) -> Wire {
    let encoding_bytes = if name == "ws-deflate" { -20_000 } else { 0 };
    let split = |framing_bytes: u64, tls_bytes: u64| Split {
        payload_bytes: 64_010,
        encoding_bytes,
        framing_bytes,
        tls_bytes,
        tcp_ip_estimated_bytes: (name != "unix").then_some(52_000),
    };
    let (out, back) = match transport(name) {
        "tcp-framed" => (4_000, 4_000),
        "ws" | "wss" => (6_000, 2_000),
        "http" | "https" => (112_000, 82_000),
        _ => (0, 0),
    };
    let tls = match name {
        "https-new" | "https-resume" => [1_650_000, 2_212_000],
        _ if is_secure(name) => [22_000, 22_000],
        _ => [0, 0],
    };
    let (sent, received) = (split(out, tls[0]), split(back, tls[1]));
    let total = |split: Split| {
        (split.payload_bytes + split.framing_bytes + split.tls_bytes)
            .saturating_add_signed(split.encoding_bytes)
    };
    Wire {
        sent_bytes: total(sent),
        received_bytes: total(received),
        sent_bytes_per_message: Some(number(total(sent)) / 1000.0),
        received_bytes_per_message: Some(number(total(received)) / 1000.0),
        sent: Some(sent),
        received: Some(received),
        requests: Some(0),
        compression_ratio: (name == "ws-deflate").then_some(1.454),
        missing: (name == "unix")
            .then(|| ("tcp_ip_estimated_bytes".to_owned(), "a Unix socket has neither".to_owned()))
            .into_iter()
            .collect(),
    }
}

/// The layers whose two rungs are both among `names`.
fn layers(names: &[&str]) -> Vec<Layer> {
    let all = [
        ("tcp-framed", "tcp", "length"),
        ("ws", "tcp", "framing"),
        ("http", "tcp", "HTTP/1.1"),
        ("http-new", "http", "connect"),
        ("tls", "tcp", "TLS"),
        ("wss", "ws", "TLS"),
        ("ws-deflate", "ws-json", "deflate"),
        ("https", "http", "TLS"),
        ("https-new", "http-new", "full handshake"),
        ("https-resume", "http-new", "resumed handshake"),
    ];
    let index = |name: &str| names.iter().position(|other| *other == name);
    all.into_iter()
        .filter_map(|(workload, base, name)| {
            Some(Layer { workload: index(workload)?, base: index(base)?, name: name.to_owned() })
        })
        .collect()
}

fn added(layer: &Layer, names: &[&str]) -> Added {
    let estimate =
        |value: f64| Some(Estimate { value, low: Some(value * 0.9), high: Some(value * 1.1) });
    let wires = [layer.workload, layer.base].map(|index| wire(names[index]));
    let difference = |of: fn(&Wire) -> Option<f64>| Some(of(&wires[0])? - of(&wires[1])?);
    Added {
        workload: layer.workload,
        base: layer.base,
        layer: layer.name.clone(),
        round_trip_p50_ns: estimate(12_000.0),
        cpu_us_per_message: estimate(2.0),
        sent_bytes_per_message: difference(|wire| wire.sent_bytes_per_message),
        received_bytes_per_message: difference(|wire| wire.received_bytes_per_message),
    }
}

fn block(workload: usize, round: usize) -> Block {
    Block {
        measured_ns: 500_000_000,
        counts: Counts {
            planned: 95_050,
            sent: 95_050,
            ok: 95_000,
            in_flight_at_end: 50,
            ..Counts::default()
        },
        connections: Connections { asked: 50, opened: 50, ..Connections::default() },
        phases: Phases { connect: Some(summary(80_000, 50)), ..Phases::default() },
        round_trip: Some(summary(254_321, 95_000)),
        messages_per_s: 190_000.0,
        cpu: Cpu {
            generator_us_per_message: Some(5.1),
            server_us_per_message: Some(5.0),
            ..Cpu::default()
        },
        wire: Wire {
            sent_bytes: 6_650_000,
            received_bytes: 6_270_000,
            sent_bytes_per_message: Some(70.0),
            received_bytes_per_message: Some(66.0),
            ..Wire::default()
        },
        little: Little::Checked {
            expected_in_flight: 50.0,
            measured_in_flight: 49.9,
            deviation_fraction: -0.002,
            holds: true,
        },
        ..Block::empty(workload, round, 0, "")
    }
}

/// Times around `p50` nanoseconds; p99.9 is missing.
pub(crate) fn summary(p50: u32, count: u64) -> Summary {
    let p50_ns = u64::from(p50);
    let reason = format!("too few messages: {count}, at least 100000 needed");
    Summary {
        count,
        saturated: 0,
        min_ns: p50_ns / 3,
        max_ns: p50_ns * 8,
        mean_ns: 1.05 * f64::from(p50),
        stddev_ns: 40_000.0,
        p50_ns: Some(p50_ns),
        p90_ns: Some(p50_ns * 6 / 5),
        p99_ns: Some(p50_ns * 3 / 2),
        p99_9_ns: None,
        p99_99_ns: None,
        missing: [("p99_9_ns".to_owned(), reason)].into(),
        histogram: histogram(p50_ns),
    }
}

/// A thousand times with these percentiles.
fn histogram(p50_ns: u64) -> String {
    let mut times = Histogram::new();
    for (tenths, count) in [(10, 500), (12, 400), (15, 90), (80, 10)] {
        times.record_all(Nanos(p50_ns * tenths / 10), count);
    }
    times.to_base64()
}

fn result(index: usize) -> WorkloadResult {
    let factor = (0..index).fold(1.0, |factor, _| factor + 0.06);
    let estimate =
        |value: f64| Some(Estimate { value, low: Some(value * 0.99), high: Some(value * 1.01) });
    let comparison = Comparison {
        ratio: factor,
        low: Some(factor - 0.02),
        high: Some(factor + 0.02),
        smallest_detectable_fraction: Some(0.031),
        moved_most_fraction: Some(0.004),
    };
    WorkloadResult {
        workload: index,
        blocks: 2,
        blocks_failed: 0,
        pooled: PerMetric {
            messages_per_s: estimate(191_234.0 / factor),
            round_trip_p50_ns: estimate(254_321.0 * factor),
            round_trip_p90_ns: estimate(301_000.0 * factor),
            round_trip_p99_ns: estimate(412_000.0 * factor),
            generator_cpu_us_per_message: estimate(5.1 * factor),
            server_cpu_us_per_message: estimate(5.0 * factor),
            wire_bytes_per_message: estimate(128.0 + 8.0 * (factor - 1.0) / 0.06),
            ..PerMetric::default()
        },
        round_trip: None,
        response: None,
        to_baseline: (index > 0)
            .then(|| PerMetric { round_trip_p50_ns: Some(comparison), ..PerMetric::default() }),
    }
}

/// Six rows under two loads, eight blocks of each: our own TCP server, three third-party servers, one of them also
/// driven by a third-party client, and one server that does not answer.
pub(crate) fn lab() -> RunRecord {
    let mut workloads = Vec::new();
    let lives = NonZeroU64::new(1000).expect("it is not zero");
    for (name, load, stop) in [
        ("pings", closed(50), Stop::After(Nanos::from_secs(2))),
        ("lives", clients(10, 5), Stop::Clients(lives)),
    ] {
        let zero = workloads.len();
        for row in LAB_ROWS {
            let mut workload = Workload {
                size_bytes: 4,
                server: row.server.map(subject),
                client: row.client.map(subject),
                ..workload(if row.name == "tcp" { "tcp" } else { "ws" })
            };
            workload.spec = spec::Workload {
                name: format!("{}, {name}", row.name),
                load: load.clone(),
                message: Message { text: true, ..workload.spec.message },
                phases: spec::Phases { stop, ..workload.spec.phases },
                baseline: (row.name != "tcp").then_some(zero),
                ..workload.spec
            };
            workloads.push(workload);
        }
    }
    let blocks = (0..8)
        .flat_map(|round| (0..workloads.len()).map(move |index| (index, round)))
        .map(|(index, round)| lab_block(&workloads[index], index, round))
        .collect::<Vec<Block>>();
    let mut record = record(Kind::Lab, workloads, blocks, Vec::new());
    record.plan.rounds = vec![(0..record.plan.workloads.len()).collect(); 8];
    record.plan.baseline = Some(0);
    record.results = record::results(&record.plan, &record.blocks);
    record.plan.layers = vec![Layer { workload: 2, base: 1, name: "framework".to_owned() }];
    record.added = vec![Added {
        workload: 2,
        base: 1,
        layer: "framework".to_owned(),
        round_trip_p50_ns: estimate_of(200_000.0),
        cpu_us_per_message: estimate_of(4.0),
        sent_bytes_per_message: Some(0.0),
        received_bytes_per_message: Some(0.0),
    }];
    record.lab = Some(lab_facts());
    record
}

/// A row of the made-up lab.
struct LabRow {
    name: &'static str,
    server: Option<&'static str>,
    client: Option<&'static str>,
    /// The mean round trip on one connection, in ns.
    round_trip_ns: u32,
    /// CPU time of the client and of the server per message.
    cpu_us: [f64; 2],
}

const LAB_ROWS: [LabRow; 6] = [
    LabRow { name: "tcp", server: None, client: None, round_trip_ns: 2000, cpu_us: [0.9, 1.0] },
    LabRow {
        name: "netty",
        server: Some("netty"),
        client: None,
        round_trip_ns: 4000,
        cpu_us: [1.1, 3.0],
    },
    LabRow {
        name: "play",
        server: Some("play"),
        client: None,
        round_trip_ns: 8000,
        cpu_us: [1.1, 7.0],
    },
    LabRow {
        name: "node-ws",
        server: Some("node-ws"),
        client: None,
        round_trip_ns: 4010,
        cpu_us: [1.1, 2.0],
    },
    LabRow {
        name: "netty driven by Boost.Beast",
        server: Some("netty"),
        client: Some("beast"),
        round_trip_ns: 5000,
        cpu_us: [4.6, 3.1],
    },
    LabRow {
        name: "ratchet",
        server: Some("ratchet"),
        client: None,
        round_trip_ns: 0,
        cpu_us: [0.0; 2],
    },
];

fn subject(name: &str) -> Subject {
    Subject {
        name: name.to_owned(),
        language: if name == "beast" { "C++" } else { "Java" }.to_owned(),
        library: format!("lib{name}"),
        version: "1.0".to_owned(),
        version_found: (name == "netty").then(|| "4.1.140.Final".to_owned()),
        licence: "Apache-2.0".to_owned(),
        class: if name == "play" { Class::Tuned } else { Class::Default },
        options: if name == "play" { vec!["native epoll".to_owned()] } else { Vec::new() },
        warm_up: (name == "netty").then_some(WarmUp {
            took_ns: 3_250_000_000,
            windows: 13,
            first_per_s: 21_000.0,
            last_per_s: 160_000.0,
            is_steady: true,
        }),
    }
}

/// Every block differs a little from the others, so that intervals have a width.
fn lab_block(workload: &Workload, index: usize, round: usize) -> Block {
    let row = &LAB_ROWS[index % LAB_ROWS.len()];
    let round_number = u32::try_from(round).expect("eight");
    let off = (round_number * 37 + u32::try_from(index).expect("twelve") * 53) % 11;
    let each = row.round_trip_ns * (995 + off) / 1000;
    if each == 0 {
        return Block {
            failed: Some("the server was never ready: it said nothing for 60 s".to_owned()),
            counts: Counts::default(),
            round_trip: None,
            ..block(index, round)
        };
    }
    let load = &workload.spec.load;
    let (in_flight, lifetime) = (load.connections().get(), load.lifetime());
    let ok: u64 = 5000;
    let round_trip = Some(summary(each * in_flight, ok));
    let mean_ns = 1.05 * f64::from(each * in_flight);
    let lives = (lifetime != Lifetime::Long).then(|| summary(each * in_flight * 8, 1000));
    let [client_us, server_us] = row.cpu_us;
    Block {
        measured_ns: 2_000_000_000,
        counts: Counts { planned: ok, sent: ok, ok, ..Counts::default() },
        connections: Connections {
            asked: in_flight.into(),
            opened: in_flight.into(),
            ..Connections::default()
        },
        phases: Phases {
            connect: Some(summary(80_000, 1000)),
            handshake: (row.name != "tcp").then(|| summary(150_000, 1000)),
            first_reply: lives.as_ref().map(|_| summary(each * in_flight * 2, 1000)),
            life: lives,
            ..Phases::default()
        },
        round_trip,
        messages_per_s: f64::from(in_flight) * 1e9 / mean_ns,
        cpu: Cpu {
            // The client spins, and so uses all the time between two replies.
            generator_us_per_message: Some(match (row.client, lifetime) {
                (Some(_), Lifetime::RoundTrips(_)) => 80.0,
                _ => client_us,
            }),
            server_us_per_message: Some(server_us),
            ..Cpu::default()
        },
        memory: Some(Memory {
            server_pss_bytes: Some(
                u64::from(row.round_trip_ns) * 10_000 + 4096 * u64::from(in_flight),
            ),
            ..Memory::default()
        }),
        client: row.client.map(|_| ClientReport {
            wall_ns: 2_000_000_000,
            cpu_ns: Some(1_900_000_000),
            cpu_seen_ns: Some(1_900_000_000),
            open: None,
            google_benchmark: Some(GoogleBenchmark {
                name: "echo".to_owned(),
                iterations: ok,
                real_time_ns: f64::from(each),
                cpu_time_ns: 0.95 * f64::from(each),
            }),
        }),
        ..block(index, round)
    }
}

fn estimate_of(value: f64) -> Option<Estimate> {
    Some(Estimate { value, low: Some(value * 0.98), high: Some(value * 1.02) })
}

fn lab_facts() -> Lab {
    Lab {
        question: "What does a framework cost on top of a socket?".to_owned(),
        views: vec![
            View::WallPerMessage,
            View::Life,
            View::Benchmark,
            View::Memory,
            View::Footprint,
        ],
        published: Some(Published {
            source: "somebody, on another machine, 2013".to_owned(),
            rows: vec![
                PublishedRow {
                    name: "bare socket".to_owned(),
                    here: Some("tcp, pings".to_owned()),
                    wall_per_message_us: Some(2.0),
                    ratio: Some(1.0),
                    ..PublishedRow::default()
                },
                PublishedRow {
                    name: "framework".to_owned(),
                    here: Some("play, pings".to_owned()),
                    wall_per_message_us: Some(20.0),
                    ratio: Some(10.0),
                    ..PublishedRow::default()
                },
                PublishedRow {
                    name: "remote echo".to_owned(),
                    life_min_ms: Some(806.0),
                    life_mean_ms: Some(884.8),
                    life_max_ms: Some(1967.0),
                    ..PublishedRow::default()
                },
                PublishedRow {
                    name: "library".to_owned(),
                    here: Some("netty driven by Boost.Beast, lives".to_owned()),
                    life_min_ms: Some(18.0),
                    life_mean_ms: Some(35.715),
                    life_max_ms: Some(66.0),
                    ..PublishedRow::default()
                },
            ],
            notes: vec!["20 us is no round trip: 50 were in flight.".to_owned()],
            claims: Vec::new(),
        }),
        left_out: vec![
            LeftOut {
                name: "socket.io".to_owned(),
                reason: "skipped: Packagist not reached".to_owned(),
            },
            LeftOut { name: "bun".to_owned(), reason: "not installed".to_owned() },
        ],
        footprints: vec![
            Footprint {
                subject: "beast".to_owned(),
                library: "libboost-dev 1.74".to_owned(),
                from: "apt".to_owned(),
                packages: Some(69),
                installed_bytes: Some(234_000_000),
                download_bytes: Some(59_000_000),
                floor_bytes: Some(42_000_000),
                program_bytes: Some(649_000),
                build_ns: Some(17_000_000_000),
                missing: Missing::new(),
            },
            Footprint {
                subject: "node-ws".to_owned(),
                library: "ws 8.23.0".to_owned(),
                from: "npm".to_owned(),
                packages: Some(1),
                installed_bytes: Some(162_000),
                download_bytes: Some(40_000),
                missing: [("build_ns".to_owned(), "nothing is built".to_owned())].into(),
                ..Footprint::default()
            },
        ],
    }
}
