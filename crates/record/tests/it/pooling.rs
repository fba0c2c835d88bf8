//! The numbers that are pooled from blocks: one for each question, and none leaves anything out.

use crate::good;
use record::{
    Block, Comparison, Estimate, Layer, RunRecord, Summary, WorkloadResult, added, results,
};
use spec::Stop;
use stats::Histogram;
use units::Nanos;

#[test]
fn a_percentile_is_that_of_all_messages_and_a_rate_that_of_all_time() {
    let mut record = ladder(8);
    // One block has the slowest messages of all, and few of them.
    record.blocks[1].round_trip = times(&[(900, 100)]);
    record.blocks[1].messages_per_s = 1000.0;
    let [_, ws] = two(&record);
    let all = ws.round_trip.unwrap();
    assert_eq!(all.count, 7 * 1000 + 100);
    let number = |of: Option<Estimate>| of.unwrap().value;
    assert_eq!(number(ws.pooled.round_trip_p50_ns), float(all.p50_ns.unwrap()));
    assert_eq!(number(ws.pooled.round_trip_p99_ns), float(all.p99_ns.unwrap()));
    assert!(number(ws.pooled.round_trip_p50_ns) <= number(ws.pooled.round_trip_p90_ns));
    let mean = (7.0 * 50_000.0 + 1000.0) / 8.0;
    assert!((number(ws.pooled.messages_per_s) - mean).abs() < 1e-6);
}

#[test]
fn a_ratio_is_that_of_the_two_numbers_beside_it() {
    let [tcp, ws] = two(&ladder(8));
    let ratio = ws.to_baseline.clone().unwrap().round_trip_p50_ns.unwrap();
    let number = |result: &WorkloadResult| result.pooled.round_trip_p50_ns.unwrap().value;
    assert!((ratio.ratio - number(&ws) / number(&tcp)).abs() < 1e-12);
    let Comparison { low, high, moved_most_fraction, smallest_detectable_fraction, .. } = ratio;
    assert!(low.unwrap() > 1.1 && high.unwrap() < 1.3, "{low:?} to {high:?}");
    assert!(moved_most_fraction.unwrap() < 0.05 && smallest_detectable_fraction.is_some());
    assert_eq!(tcp.to_baseline, None);
    // Five rounds give the numbers and no interval.
    let [_, few] = two(&ladder(5));
    let ratio = few.to_baseline.unwrap().round_trip_p50_ns.unwrap();
    assert_eq!((ratio.low, ratio.high, ratio.smallest_detectable_fraction), (None, None, None));
}

#[test]
fn a_server_that_is_silent_in_half_of_the_blocks_has_half_the_throughput() {
    let mut record = ladder(6);
    let silent = |block: &mut Block| {
        block.round_trip = None;
        block.messages_per_s = 0.0;
        block.counts.ok = 0;
        block.counts.planned = 50;
    };
    record.blocks.iter_mut().filter(|it| it.workload == 1 && it.round < 3).for_each(silent);
    let [tcp, ws] = two(&record);
    let rate = |result: &WorkloadResult| result.pooled.messages_per_s.unwrap().value;
    assert!((rate(&ws) / rate(&tcp) - 0.5).abs() < 1e-9, "{} {}", rate(&ws), rate(&tcp));
    // Its 150 messages waited at least until the timeout.
    let all = ws.round_trip.unwrap();
    assert_eq!(all.count, 3 * 1000 + 150);
    assert!(all.p99_ns.unwrap() >= TIME_OUT.0 - TIME_OUT.0 / 1000, "{:?}", all.p99_ns);
}

#[test]
fn a_row_that_connected_in_one_block_of_four_has_a_quarter_of_its_rate() {
    let mut record = ladder(4);
    for block in record.blocks.iter_mut().filter(|it| it.workload == 1 && it.round > 0) {
        let place = (block.workload, block.round);
        *block = Block::empty(place.0, place.1, 0, "it failed");
        block.failed = Some("connection refused".to_owned());
        block.connections.failed = 50;
    }
    let [tcp, ws] = two(&record);
    assert_eq!((ws.blocks, ws.blocks_failed), (1, 3));
    let rate = |result: &WorkloadResult| result.pooled.messages_per_s.unwrap().value;
    assert!((rate(&ws) / rate(&tcp) - 0.25).abs() < 1e-9, "{} {}", rate(&ws), rate(&tcp));
    assert!(ws.round_trip.unwrap().max_ns >= TIME_OUT.0);
    // CPU time is per reply, and blocks without replies do not change it.
    assert_eq!(ws.pooled.server_cpu_us_per_message.unwrap().value, 5.0);
    // A block that was interrupted before its measurement does not count as a block without replies.
    let mut interrupted = ladder(4);
    interrupted.blocks[7] = Block::empty(1, 3, 0, "it was interrupted");
    let [tcp, ws] = two(&interrupted);
    assert!((rate(&ws) / rate(&tcp) - 1.0).abs() < 1e-9);
}

#[test]
fn a_layer_costs_the_difference_of_two_numbers_in_whose_interval_drift_cancels() {
    let mut record = ladder(8);
    record.plan.layers = vec![Layer { workload: 1, base: 0, name: "framing".to_owned() }];
    for block in &mut record.blocks {
        // The machine gets slower from round to round, by more than the layer costs.
        let micros = 5.0 + float(block.round as u64) + 2.0 * float(block.workload as u64);
        block.cpu.generator_us_per_message = Some(micros);
        block.wire.sent_bytes_per_message = Some(64.0 + 6.5 * float(block.workload as u64));
    }
    let [cost] = &added(&record.plan, &record.blocks)[..] else { panic!("one layer") };
    assert_eq!((cost.workload, cost.base, &cost.layer[..]), (1, 0, "framing"));
    let cpu = cost.cpu_us_per_message.unwrap();
    let near = |found: f64| (found - 2.0).abs() < 1e-9;
    assert!(near(cpu.value) && near(cpu.low.unwrap()) && near(cpu.high.unwrap()), "{cpu:?}");
    assert_eq!(cost.sent_bytes_per_message, Some(6.5));
    assert!(cost.round_trip_p50_ns.unwrap().low.unwrap() > 0.0);
    // The CPU time of the server is not known.
    record.blocks.iter_mut().for_each(|block| block.cpu.server_us_per_message = None);
    let [cost] = &added(&record.plan, &record.blocks)[..] else { panic!("one layer") };
    assert_eq!(cost.cpu_us_per_message, None);
    assert!(cost.round_trip_p50_ns.is_some());
    record.plan.layers = vec![Layer { workload: 1, base: 7, name: "of nothing".to_owned() }];
    assert_eq!(added(&record.plan, &record.blocks), []);
}

#[test]
fn medians_of_a_record_of_before_are_worked_out_again() {
    let mut record = ladder(8);
    record.results = results(&record.plan, &record.blocks);
    let now = record.results.clone();
    let ours = |record: &RunRecord| {
        let mut old = record.clone();
        old.results[1].pooled.round_trip_p50_ns = Some(OLD);
        RunRecord::from_json(&old.to_json().replace("\"pooled\"", "\"medians\"")).unwrap().results
    };
    assert_eq!(ours(&record), now);
    // Without the distributions of the blocks, the old number stays.
    record.blocks.iter_mut().for_each(|block| {
        block.round_trip.iter_mut().for_each(|times| times.histogram = String::new());
    });
    assert_eq!(ours(&record)[1].pooled.round_trip_p50_ns, Some(OLD));
}

const OLD: Estimate = Estimate { value: 1.5, low: None, high: None };

/// A ladder of tcp and ws, where messages over ws take a fifth longer; blocks differ a little.
fn ladder(rounds: usize) -> RunRecord {
    let mut record = good::ladder();
    let template = record.blocks[0].clone();
    record.plan.rounds = vec![vec![0, 1]; rounds];
    record.plan.workloads.iter_mut().for_each(|it| {
        it.spec.timeouts.reply = TIME_OUT;
        it.spec.phases.stop = Stop::After(Nanos(template.measured_ns));
    });
    let block = |round: usize, workload: usize| Block {
        workload,
        round,
        round_trip: times(&[([100, 120][workload] + (round * 7 % 3) as u64, 1000)]),
        messages_per_s: 50_000.0,
        cpu: record::Cpu {
            generator_us_per_message: Some(5.0),
            server_us_per_message: Some(5.0),
            ..record::Cpu::default()
        },
        ..template.clone()
    };
    record.blocks = (0..rounds).flat_map(|round| [block(round, 0), block(round, 1)]).collect();
    record
}

fn two(record: &RunRecord) -> [WorkloadResult; 2] {
    results(&record.plan, &record.blocks).try_into().expect("two workloads")
}

fn times(all: &[(u64, u64)]) -> Option<Summary> {
    let mut times = Histogram::new();
    for (micros, count) in all {
        times.record_all(Nanos::from_micros(*micros), *count);
    }
    Summary::of(&times)
}

#[expect(clippy::cast_precision_loss, reason = "small numbers")]
fn float(count: u64) -> f64 {
    count as f64
}

const TIME_OUT: Nanos = Nanos::from_secs(10);
