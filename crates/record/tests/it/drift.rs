//! Numbers that rise or fall over the blocks of a run.

use crate::good;
use record::{Block, Drift, Drifting, Memory, RunRecord, drifts};

#[test]
fn a_leak_is_named_with_its_size_and_nothing_else_is() {
    let record = soak(60, |minute, block| memory(block, 50e6 + 1.2e6 * minute));
    let all = drifts(&record.plan, &record.blocks);
    let shown: Vec<&Drift> = all.iter().filter(|drift| drift.is_shown).collect();
    let [leak] = shown[..] else { panic!("{shown:?}") };
    assert_eq!((leak.workload, leak.number), (0, Drifting::ServerMemoryBytes));
    assert!(leak.low <= 1.2e6 && 1.2e6 <= leak.high && leak.high - leak.low < 1e5, "{leak:?}");
    assert_eq!(leak.blocks, 50, "the first sixth is left out");
    assert!((leak.span_minutes - 49.0 / 30.0).abs() < 1e-9, "{leak:?}");
    assert!(all.len() >= 3, "the other numbers are checked too: {all:?}");
}

#[test]
fn a_cache_that_fills_and_a_change_that_concerns_nobody_are_no_drift() {
    let of = |bytes: fn(f64) -> f64| {
        let record = soak(60, |minute, block| memory(block, bytes(minute)));
        let all = drifts(&record.plan, &record.blocks);
        assert!(all.iter().all(|drift| !drift.is_shown), "{all:?}");
    };
    of(|minute| 50e6 + 40e6 * minute.min(0.7));
    of(|minute| 50e6 + 0.1e6 * minute);
}

#[test]
fn few_blocks_have_no_drift_and_those_that_failed_have_no_part_in_it() {
    let leak = |minute: f64, block: &mut Block| memory(block, 50e6 + 9e6 * minute);
    let few = soak(22, leak);
    assert_eq!(drifts(&few.plan, &few.blocks), []);
    let mut record = soak(23, leak);
    assert!(drifts(&record.plan, &record.blocks).iter().any(|drift| drift.is_shown));
    record.blocks[18].failed = Some("connection refused".to_owned());
    assert_eq!(drifts(&record.plan, &record.blocks), []);
}

#[expect(clippy::cast_precision_loss, reason = "small numbers")]
fn float(number: usize) -> f64 {
    number as f64
}

/// A run whose blocks begin every two seconds; `change` gets the minute in which a block begins, and the block.
fn soak(blocks: usize, change: impl Fn(f64, &mut Block)) -> RunRecord {
    let mut record = good::closed();
    let first = record.blocks[0].clone();
    let block = |round: usize| {
        let started_at_ns = 2_000_000_000 * round as u64;
        let minute = float(round) / 30.0;
        let mut block = Block { round, started_at_ns, ..first.clone() };
        change(minute, &mut block);
        // The noise between blocks.
        let noise = 1.0 + 0.01 * float((round * 7) % 5);
        block.cpu.server_us_per_message = Some(5.0 * noise);
        block
    };
    record.blocks = (0..blocks).map(block).collect();
    record
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "megabytes")]
fn memory(block: &mut Block, bytes: f64) {
    let wobble = 4096.0 * float(block.round % 3);
    let bytes = (bytes + wobble) as u64;
    block.memory = Some(Memory { server_rss_bytes: Some(bytes), ..Memory::default() });
}
