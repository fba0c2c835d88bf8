//! Makes the record of the blocks that ran.
//!
//! A record is a frame, which is known before the first block, plus the results of the blocks. The frame goes into the
//! journal separately, so that a run that was killed has a record too.

use crate::results::Kept;
use crate::setup::SetUp;
use crate::{Baseline, Event, Feed, Host, Plan, RunError, plan_record};
use record::{Block, Counts, Ended, Environment, Precision, RunRecord, SCHEMA_VERSION};
use spec::{Experiment, Goal};
use std::collections::BTreeSet;
use units::Nanos;

/// The record of a run before its first block. `order` has the measurements of each round.
pub(crate) fn frame(plan: &Plan, host: &Host, order: &[Vec<usize>], set_up: &SetUp) -> RunRecord {
    RunRecord {
        schema_version: SCHEMA_VERSION,
        tool: host.tool.clone(),
        command_line: host.command_line.clone(),
        started_at: host.started_at.clone(),
        duration_ns: 0,
        kind: host.kind,
        ended: Ended::Partial { reason: "its process was killed".to_owned() },
        environment: Environment { selftest: host.selftest.clone(), ..set_up.environment() },
        repository: host.repository.clone(),
        spec: Some(plan.experiment.clone()),
        plan: plan_record::plan(plan, order, set_up),
        blocks: Vec::new(),
        results: Vec::new(),
        added: Vec::new(),
        precision: Vec::new(),
        drifts: Vec::new(),
        against: host.baseline.as_ref().map(|baseline| baseline.named()),
        requirements: Vec::new(),
        sides: None,
        sweep: None,
        lab: host.lab.clone(),
        verdict: None,
        warnings: set_up.warnings.clone(),
        conclusion: None,
    }
}

/// The record with its blocks and their results, not judged yet.
pub(crate) fn with_blocks(frame: RunRecord, kept: Vec<Kept>) -> RunRecord {
    let blocks: Vec<Block> = kept.into_iter().map(|kept| kept.block).collect();
    let results = record::results(&frame.plan, &blocks);
    let added = record::added(&frame.plan, &blocks);
    let goals = frame.spec.iter().filter_map(|spec| spec.until.as_ref());
    let goals: Vec<Goal> = goals.flat_map(|until| until.goals.clone()).collect();
    let precision = record::precisions(&frame.plan, &blocks, &goals);
    let drifts = record::drifts(&frame.plan, &blocks);
    let sides = frame.spec.as_ref().and_then(|spec| record::sides(spec, &frame.plan, &blocks));
    RunRecord { blocks, results, added, precision, drifts, sides, ..frame }
}

/// The result of measuring; `None`, with the reason stored in `over`, if the machines that measure instead of this one
/// cannot continue.
pub(crate) fn unless_over<T>(
    measured: Result<T, RunError>,
    over: &mut Option<String>,
) -> Result<Option<T>, RunError> {
    match measured {
        Err(RunError::Over { reason }) => {
            *over = Some(reason);
            Ok(None)
        }
        measured => measured.map(Some),
    }
}

/// The error of a run that ended without a block, which has no record.
pub(crate) fn nothing(signal: usize, over: Option<String>) -> RunError {
    match over {
        Some(reason) if signal == 0 => RunError::Over { reason },
        Some(_) | None => RunError::interrupted(signal),
    }
}

/// The record of a run that ended after `took`: on its own; by signal number `signal`, 0 for none; or before its last
/// block for the reason `over`.
pub(crate) fn ended(
    record: RunRecord,
    signal: usize,
    over: Option<String>,
    took: Nanos,
) -> RunRecord {
    RunRecord { duration_ns: took.0, ended: how(&record, signal, over), ..record }
}

/// Adds warnings about causes visible in the numbers, each cause once per workload; the verdict; and the results of
/// requirements, with relative ones compared with `baseline`.
pub(crate) fn judge(mut record: RunRecord, baseline: Option<&Baseline>, feed: &Feed) -> RunRecord {
    for warning in record::signatures(&record) {
        feed.tell(&Event::Warning(warning.clone()));
        record.warnings.push(warning);
    }
    let verdict = record::judge(&record);
    if let Some(sides) = &mut record.sides {
        sides.without_invalid(&verdict);
    }
    record.verdict = Some(verdict);
    if let Some(baseline) = baseline {
        record.against = Some(baseline.against(&record));
    }
    record.requirements = record::checks(&record, baseline.map(|baseline| &baseline.record));
    if record.sweep.is_some() {
        record::judge_sweep(&mut record);
        // A warning about one step mostly appears on many.
        let mut codes = BTreeSet::new();
        record.warnings.retain(|warning| codes.insert(warning.code.clone()));
    }
    record
}

/// Describes a goal that was not reached, and about how long reaching it would take; `None` if it was reached.
fn unreached(record: &RunRecord, found: &Precision, each: Option<Nanos>) -> Option<String> {
    let Precision { goal, workload, rounds, .. } = found;
    if found.is_reached {
        return None;
    }
    let name = record.plan.workloads.get(*workload).map_or("", |workload| workload.name());
    let of = if record.plan.workloads.len() > 1 { format!(" of {name}") } else { String::new() };
    let metric = goal.metric;
    let Some(half) = found.half_width_fraction else {
        return Some(format!(
            "{metric}{of} has no interval after {rounds} rounds, so it cannot be said to be within {}",
            goal.within
        ));
    };
    let needed = found.rounds_needed.unwrap_or(usize::MAX);
    let time = each.map_or_else(String::new, |each| {
        let all = Nanos(each.0.saturating_mul(needed as u64));
        format!(", which take {all}")
    });
    let percent = half * 100.0;
    Some(format!(
        "{metric}{of} is known within {percent:.1}% after {rounds} rounds, not within {}: about {needed} rounds are \
         needed{time}",
        goal.within
    ))
}

/// The end of a run: an interruption or a loss makes the record a partial one.
fn how(record: &RunRecord, signal: usize, over: Option<String>) -> Ended {
    if signal != 0 {
        return Ended::Interrupted { signal: i32::try_from(signal).unwrap_or(0) };
    }
    let blocks: &[Block] = &record.blocks;
    let lost: u64 =
        blocks.iter().map(|block| block.connections.failed + block.connections.lost).sum();
    let all_counts =
        || blocks.iter().flat_map(|block| [Some(block.counts), block.warm_up]).flatten();
    let of = |it: Counts| it.failed() + it.unsent;
    let bad: u64 = all_counts().map(of).sum();
    // The table shown with this reason counts only messages of the measured time.
    let early: u64 = blocks.iter().filter_map(|block| block.warm_up).map(of).sum();
    let among =
        if early == 0 { String::new() } else { format!(" ({early} of them in the warm-up)") };
    // Messages handed to a server that we then killed are expected to stay unacknowledged.
    let unacknowledged: u64 =
        blocks.iter().filter_map(|it| Some(it.deliveries.as_ref()?.counts.unacknowledged)).sum();
    let unfinished: u64 = all_counts().map(|it| it.in_flight_at_end).sum();
    let unfinished = unfinished.saturating_sub(unacknowledged);
    let failed = blocks.iter().filter(|block| block.failed.is_some()).count();
    let mut reasons: Vec<String> = over.into_iter().collect();
    for (count, what, among) in [
        (lost, "connections failed or were lost", ""),
        (bad, "messages failed, were refused, timed out or were not sent", &*among),
        (unfinished, "messages were still in flight at the end of the drain", ""),
        (failed as u64, "blocks failed", ""),
    ] {
        if count > 0 {
            reasons.push(format!("{count} {what}{among}"));
        }
    }
    let each = record.spec.as_ref().map(Experiment::round_time);
    reasons.extend(record.precision.iter().filter_map(|goal| unreached(record, goal, each)));
    let cut_short = blocks.iter().find_map(|block| block.cut_short.clone());
    reasons.extend(cut_short.map(|reason| format!("the load ended early: {reason}")));
    if let (Some(lab), true) = (&record.lab, reasons.is_empty()) {
        let names: Vec<&str> = lab.left_out.iter().map(|left| left.name.as_str()).collect();
        reasons.extend((!names.is_empty()).then(|| format!("left out: {}", names.join(", "))));
    }
    if reasons.is_empty() {
        Ended::Completed
    } else {
        Ended::Partial { reason: reasons.join(", ") }
    }
}
