//! Made-up records.

use record::{
    Arrival, Block, Comparison, Connections, ContextSwitches, Counts, Cpu, Ended, Environment,
    Estimate, Fairness, Identity, Kind, Lifetime, Little, Message, MessageKind, OpenLoop,
    PerMetric, Phases, Pinning, Plan, RunRecord, Spacing, Stalls, Stop, Summary, TimeOuts, Tool,
    Verify, Wire, Workload, WorkloadResult,
};

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
    let workload = Workload { target: "ws://127.0.0.1:8080/".to_owned(), ..workload("ws") };
    let mut result = result(0);
    result.round_trip = block(0, 0).round_trip;
    record(Kind::Run, vec![workload], vec![block(0, 0)], vec![result])
}

/// An open loop of 2000 messages a second for ten seconds.
pub(crate) fn open() -> RunRecord {
    let mut record = run();
    record.plan.workloads[0].arrival =
        Arrival::Open { messages_per_s: 2000.0, spacing: Spacing::Uniform };
    record.plan.workloads[0].in_flight_max = Some(10_000);
    record.blocks = vec![open_block(0, 20_000)];
    record.results[0].response = times(1_250_000, 20_000);
    record.results[0].round_trip = None;
    record
}

/// 100, 200 and 400 bots, the last of them too many.
pub(crate) fn bots() -> RunRecord {
    let steps = [100, 200, 400];
    let workloads = steps.map(|bots| Workload {
        name: format!("{bots} bots"),
        target: "ws://127.0.0.1:8080/".to_owned(),
        connections: bots,
        arrival: Arrival::Bots { every_ns: 1_000_000_000, spacing: Spacing::Uniform },
        ..workload("ws")
    });
    let blocks = (0..3).map(|step| open_block(step, 10 * steps[step])).collect();
    let results = (0..3).map(result).collect();
    let mut record = record(Kind::Run, workloads.to_vec(), blocks, results);
    let last = &mut record.blocks[2];
    last.counts = Counts { planned: 4000, sent: 3000, unsent: 1000, ok: 3000, ..Counts::default() };
    last.messages_per_s = 300.0;
    last.open_loop = open_block(2, 3000).open_loop;
    record
}

/// Ten seconds in which so many messages were due.
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

/// Times around `p50` nanoseconds, with as many percentiles as so many of them have.
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
        verdict: None,
        warnings: Vec::new(),
        conclusion: None,
    }
}

fn workload(name: &str) -> Workload {
    Workload {
        name: name.to_owned(),
        target: format!("{name}://127.0.0.1:4000"),
        transport: name.trim_end_matches("-new").trim_end_matches("-text").to_owned(),
        connections: 50,
        lifetime: if name == "http-new" { Lifetime::RoundTrips(1) } else { Lifetime::Long },
        closing_awaited: true,
        arrival: Arrival::Closed,
        in_flight: 1,
        in_flight_max: None,
        message: Message {
            kind: MessageKind::Binary,
            size_bytes: 64,
            source: "random bytes of seed 7".to_owned(),
            payload_kind: None,
        },
        stop: Stop::DurationNs(500_000_000),
        busy_poll_ns: 0,
        warm_up_ns: 100_000_000,
        drain_ns: 1_000_000_000,
        time_outs: TimeOuts::default(),
        connects_per_s: None,
        threads: 1,
        source_addresses: Vec::new(),
        header_names: Vec::new(),
        subprotocols: Vec::new(),
        tls: None,
        deflate: None,
        verify: Verify::EveryByte,
        seed: 7,
        pinning: Pinning::default(),
    }
}

fn block(workload: usize, round: usize) -> Block {
    Block {
        workload,
        round,
        started_at_ns: 0,
        measured_ns: 500_000_000,
        failed: None,
        counts: Counts {
            planned: 95_050,
            sent: 95_050,
            ok: 95_000,
            in_flight_at_end: 50,
            ..Counts::default()
        },
        connections: Connections { asked: 50, opened: 50, ..Connections::default() },
        tls: None,
        errors: Vec::new(),
        phases: Phases { connect: Some(summary(80_000, 50)), ..Phases::default() },
        round_trip: Some(summary(254_321, 95_000)),
        open_loop: None,
        stalls: Stalls::default(),
        identity: None,
        fairness: None,
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
        context_switches: ContextSwitches::default(),
        little: Little::Checked {
            expected_in_flight: 50.0,
            measured_in_flight: 49.9,
            deviation_fraction: -0.002,
            holds: true,
        },
        series: Vec::new(),
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
        histogram: String::new(),
    }
}

fn result(index: usize) -> WorkloadResult {
    let factor = (0..index).fold(1.0, |factor, _| factor + 0.06);
    let estimate =
        |value: f64| Some(Estimate { value, low: Some(value * 0.99), high: Some(value * 1.01) });
    let comparison = Comparison {
        ratio: factor,
        low: Some(factor - 0.02),
        high: Some(factor + 0.02),
        shift: 0.0,
        p_value: Some(0.001),
        p_value_holm: Some(0.006),
        smallest_detectable_fraction: Some(0.031),
    };
    WorkloadResult {
        workload: index,
        blocks: 2,
        blocks_failed: 0,
        medians: PerMetric {
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
