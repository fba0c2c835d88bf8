//! From the blocks that ran to the record.

use crate::results::{self, Kept};
use crate::setup::SetUp;
use crate::{Event, Feed, Host, Plan, written};
use record::{Block, Ended, Environment, RunRecord, SCHEMA_VERSION};
use units::Nanos;

/// The state of a run when all its blocks are done.
pub(crate) struct Ending<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) host: &'a Host,
    /// The measurements that ran in each round, in their order.
    pub(crate) order: &'a [Vec<usize>],
    pub(crate) kept: Vec<Kept>,
    /// The number of the signal that asked to stop; 0 if none did.
    pub(crate) signal: usize,
    /// The time that all of it took.
    pub(crate) took: Nanos,
}

impl Ending<'_> {
    /// The record, which nobody has judged yet.
    pub(crate) fn record(self, set_up: &mut SetUp) -> RunRecord {
        let Self { plan, host, order, kept, signal, took } = self;
        let results = results::results(plan, &kept);
        let added = results::added(plan, &kept);
        let blocks: Vec<Block> = kept.into_iter().map(|kept| kept.block).collect();
        RunRecord {
            schema_version: SCHEMA_VERSION,
            tool: host.tool.clone(),
            command_line: host.command_line.clone(),
            started_at: host.started_at.clone(),
            duration_ns: took.0,
            kind: host.kind,
            ended: ended(signal, &blocks),
            environment: Environment { selftest: host.selftest.clone(), ..set_up.environment() },
            spec: Some(plan.experiment.clone()),
            plan: written::plan(plan, order, set_up),
            blocks,
            results,
            added,
            sweep: None,
            lab: None,
            verdict: None,
            warnings: std::mem::take(&mut set_up.warnings),
            conclusion: None,
        }
    }
}

/// Adds what shows itself in the numbers, each cause once for every workload, and the verdict.
pub(crate) fn judge(mut record: RunRecord, feed: &Feed) -> RunRecord {
    for warning in record::signatures(&record) {
        feed.tell(&Event::Warning(warning.clone()));
        record.warnings.push(warning);
    }
    record.verdict = Some(record::judge(&record));
    record
}

/// The end of a run: an interruption or a loss makes the record a partial one.
fn ended(signal: usize, blocks: &[Block]) -> Ended {
    if signal != 0 {
        return Ended::Interrupted { signal: i32::try_from(signal).unwrap_or(0) };
    }
    let lost: u64 =
        blocks.iter().map(|block| block.connections.failed + block.connections.lost).sum();
    let all_counts =
        || blocks.iter().flat_map(|block| [Some(block.counts), block.warm_up]).flatten();
    let bad: u64 = all_counts().map(|it| it.error + it.timed_out + it.unsent).sum();
    let unfinished: u64 = all_counts().map(|it| it.in_flight_at_end).sum();
    let failed = blocks.iter().filter(|block| block.failed.is_some()).count();
    let mut reasons = Vec::new();
    for (count, what) in [
        (lost, "connections failed or were lost"),
        (bad, "messages failed, timed out or were not sent"),
        (unfinished, "messages were still in flight at the end of the drain"),
        (failed as u64, "blocks failed"),
    ] {
        if count > 0 {
            reasons.push(format!("{count} {what}"));
        }
    }
    let cut_short = blocks.iter().find_map(|block| block.cut_short.clone());
    reasons.extend(cut_short.map(|reason| format!("the load ended early: {reason}")));
    if reasons.is_empty() {
        Ended::Completed
    } else {
        Ended::Partial { reason: reasons.join(", ") }
    }
}
