//! Records that are beyond doubt. Tests change one thing in them.

use crate::example;
use record::{
    Block, Comparison, Connections, Counts, Cpu, Ended, Environment, Estimate, Fairness, Identity,
    Little, OpenLoop, PerMetric, Phases, RunRecord, Spacing, Stalls, Summary, WorkloadResult,
};
use stats::Histogram;
use units::Nanos;

/// 2000 messages a second for ten seconds over 50 connections: service times of 1.0 to 1.4 ms, sent 5 us late, decoded
/// 3 us after they arrived.
pub(crate) fn open() -> RunRecord {
    let mut record = closed();
    record.plan.workloads[0].spec.load = example::open("2000/s", Spacing::Uniform);
    let block = &mut record.blocks[0];
    block.counts = Counts { planned: 20_000, sent: 20_000, ok: 20_000, ..Counts::default() };
    block.messages_per_s = 2000.0;
    block.cpu.generator_cores_used = Some(0.1);
    block.cpu.server_cores_used = Some(0.1);
    block.cpu.busiest_worker_fraction = Some(0.1);
    block.cpu.machine_idle_fraction = Some(0.9);
    block.round_trip = None;
    block.open_loop = Some(OpenLoop {
        response: times(20_000, |index| 1_005_000 + index * 20),
        service: times(20_000, |index| 1_000_000 + index * 20),
        send_lag: times(20_000, |_| 5_000),
        own_share: times(20_000, |_| 3_000),
        true_delay: None,
        sessions: None,
    });
    block.little = Little::NotChecked { reason: "an open loop".to_owned() };
    record
}

/// The same in a closed loop: 50 connections that keep generator and server busy, one core each.
pub(crate) fn closed() -> RunRecord {
    let mut record = example::record();
    record.ended = Ended::Completed;
    record.environment = Environment { selftest: None, container: None, ..record.environment };
    record.plan.workloads.truncate(1);
    let workload = &mut record.plan.workloads[0];
    workload.spec.load = example::closed(50);
    workload.source_addresses.clear();
    (workload.server, workload.client) = (None, None);
    record.plan.rounds = vec![vec![0]];
    record.plan.baseline = None;
    record.blocks = vec![block()];
    record.results.clear();
    record.warnings.clear();
    record.verdict = None;
    record.sweep = None;
    record
}

/// Two workloads of ten blocks each; the second takes 1.06x [1.04, 1.08] of the first.
pub(crate) fn ladder() -> RunRecord {
    let mut record = closed();
    let mut second = record.plan.workloads[0].clone();
    second.spec.name = "ws".to_owned();
    record.plan.workloads.push(second);
    record.plan.rounds = vec![vec![0, 1]; 10];
    record.plan.baseline = Some(0);
    record.blocks = (0..10)
        .flat_map(|round| (0..2).map(move |workload| Block { workload, round, ..block() }))
        .collect();
    record.results = (0..2).map(result).collect();
    record
}

fn block() -> Block {
    let good = example::record().blocks.remove(0);
    Block {
        counts: Counts { planned: 40_000, sent: 40_000, ok: 40_000, ..Counts::default() },
        connections: Connections { asked: 50, opened: 50, ..Connections::default() },
        warm_up: Some(Counts { planned: 4000, sent: 4000, ok: 4000, ..Counts::default() }),
        errors: Vec::new(),
        agents: Vec::new(),
        measured_ns: 10_000_000_000,
        messages_per_s: 4000.0,
        phases: Phases { connect: times(50, |index| 80_000 + index), ..Phases::default() },
        round_trip: times(40_000, |index| 1_000_000 + index * 10),
        open_loop: None,
        stalls: Stalls::default(),
        deliveries: None,
        tabs: None,
        identity: Some(Identity::default()),
        fairness: Some(Fairness { connections: 50, replies_min: 790, replies_median: 800 }),
        cpu: Cpu {
            generator_us_per_message: Some(5.0),
            server_us_per_message: Some(5.0),
            generator_cores_used: Some(0.98),
            server_cores_used: Some(0.97),
            others_cores_used: Some(0.02),
            busiest_worker_fraction: Some(0.98),
            machine_idle_fraction: Some(0.02),
            ..Cpu::default()
        },
        little: Little::Checked {
            expected_in_flight: 50.0,
            measured_in_flight: 49.9,
            deviation_fraction: -0.002,
            holds: true,
        },
        ..good
    }
}

fn result(workload: usize) -> WorkloadResult {
    let estimate = Estimate { value: 1_000_000.0, low: None, high: None };
    let comparison = Comparison {
        ratio: 1.06,
        low: Some(1.04),
        high: Some(1.08),
        smallest_detectable_fraction: Some(0.03),
        moved_most_fraction: Some(0.01),
    };
    let per_metric = |comparison: Comparison| PerMetric {
        round_trip_p50_ns: Some(comparison.clone()),
        response_p50_ns: Some(comparison),
        ..PerMetric::default()
    };
    WorkloadResult {
        workload,
        blocks: 10,
        blocks_failed: 0,
        pooled: PerMetric {
            round_trip_p50_ns: Some(estimate),
            response_p50_ns: Some(estimate),
            ..PerMetric::default()
        },
        round_trip: None,
        response: None,
        to_baseline: (workload > 0).then(|| per_metric(comparison)),
    }
}

/// A summary of `count` times in nanoseconds, by their index.
pub(crate) fn times(count: u64, time: impl Fn(u64) -> u64) -> Option<Summary> {
    let mut histogram = Histogram::new();
    (0..count).for_each(|index| histogram.record(Nanos(time(index))));
    Summary::of(&histogram)
}
