//! Required limits, held against the numbers of a record.

use crate::pooling::{figure, replies};
use crate::precision::rows;
use crate::requirement_check::{Finding, RequirementCheck};
use crate::{Block, Estimate, Level, Number, RunRecord, Verdict};
use spec::{Bound, Metric, Requirement};
use std::borrow::Cow;

/// Each requirement of the experiment of `record` for each row, but for those that others are compared with.
pub fn checks(record: &RunRecord) -> Vec<RequirementCheck> {
    let require = record.spec.as_ref().map_or(&[][..], |spec| &spec.require);
    if require.is_empty() {
        return Vec::new();
    }
    let verdict = match &record.verdict {
        Some(verdict) => Cow::Borrowed(verdict),
        None => Cow::Owned(crate::judge(record)),
    };
    let of_row = |workload| {
        let verdict = &verdict;
        require.iter().map(move |requirement| check(record, verdict, workload, requirement))
    };
    rows(&record.plan).flat_map(of_row).collect()
}

fn check(
    record: &RunRecord,
    verdict: &Verdict,
    workload: usize,
    requirement: &Requirement,
) -> RequirementCheck {
    let number = number(record, workload, requirement);
    let (finding, reason) = match (invalid(verdict, workload, requirement.metric), &number) {
        (Some(reason), _) => (Finding::Invalid, Some(reason)),
        (None, Err(reason)) => (Finding::Unknown, Some(reason.clone())),
        (None, Ok(number)) if requirement.is_met(number.value) => (Finding::Met, None),
        (None, Ok(_)) => (Finding::NotMet, None),
    };
    RequirementCheck { requirement: *requirement, workload, number: number.ok(), finding, reason }
}

/// The reason why a number of a row is no result, if it is none.
fn invalid(verdict: &Verdict, workload: usize, metric: Metric) -> Option<String> {
    let judged = match metric {
        Metric::P90 => Number::P90,
        Metric::P99 => Number::P99,
        Metric::P999 => Number::Tail,
        Metric::P50
        | Metric::MessagesPerS
        | Metric::CpuPerMessage
        | Metric::GeneratorCpuPerMessage
        | Metric::BytesPerMessage
        | Metric::ErrorRate
        | Metric::RefusedRate
        | Metric::AchievedOfOffered => Number::P50,
    };
    if verdict.row(workload).of_number(judged) < Level::Invalid {
        return None;
    }
    let mut about = verdict.reasons.iter().filter(|reason| {
        reason.workload.is_none_or(|of| of == workload) && reason.of(judged) == Level::Invalid
    });
    let message = about.next().map(|reason| reason.message.clone());
    Some(message.unwrap_or_else(|| "the verdict says that it is no result".to_owned()))
}

/// The number of a row, or the reason why it is not known.
fn number(
    record: &RunRecord,
    workload: usize,
    requirement: &Requirement,
) -> Result<Estimate, String> {
    let blocks: Vec<&Block> =
        record.blocks.iter().filter(|block| block.workload == workload).collect();
    let result = record.results.iter().find(|result| result.workload == workload);
    let Some(result) = result.filter(|_| !blocks.is_empty()) else {
        return Err("not measured".to_owned());
    };
    let times = result.response.as_ref().or(result.round_trip.as_ref());
    let percentile = |field: &str| {
        let missing = times.and_then(|times| times.missing.get(field)).cloned();
        missing.unwrap_or_else(|| "no message was answered".to_owned())
    };
    let pooled = figure(&result.pooled, requirement.metric).copied();
    match requirement.metric {
        Metric::P50 => pooled.ok_or_else(|| percentile("p50_ns")),
        Metric::P90 => pooled.ok_or_else(|| percentile("p90_ns")),
        Metric::P99 => pooled.ok_or_else(|| percentile("p99_ns")),
        Metric::P999 => {
            let time = times.and_then(|times| times.p99_9_ns);
            time.map(|ns| alone(float(ns))).ok_or_else(|| percentile("p99_9_ns"))
        }
        Metric::CpuPerMessage => pooled.ok_or_else(|| {
            let mut missing = blocks.iter().flat_map(|block| &block.cpu.missing);
            let reason = missing.find(|(field, _)| *field == "server_us_per_message");
            reason.map_or_else(|| NOT_KNOWN.to_owned(), |(_, reason)| reason.clone())
        }),
        Metric::MessagesPerS | Metric::GeneratorCpuPerMessage | Metric::BytesPerMessage => {
            pooled.ok_or_else(|| NOT_KNOWN.to_owned())
        }
        Metric::ErrorRate => share(&blocks, requirement, |block| {
            float(block.counts.planned.saturating_sub(block.counts.ok))
        }),
        Metric::RefusedRate => share(&blocks, requirement, |block| float(block.counts.refused)),
        Metric::AchievedOfOffered => share(&blocks, requirement, replies),
    }
}

/// A share of the messages that were due.
fn share(
    blocks: &[&Block],
    requirement: &Requirement,
    of: impl Fn(&Block) -> f64,
) -> Result<Estimate, String> {
    let failed = blocks.iter().filter(|block| block.failed.is_some()).count();
    if failed > 0 {
        let all = blocks.len();
        return Err(format!("{failed} of {all} blocks failed, and their messages are not known"));
    }
    let due = blocks.iter().fold(0_u64, |sum, block| sum.saturating_add(block.counts.planned));
    if due == 0 {
        return Err("no message was due".to_owned());
    }
    let share = blocks.iter().map(|block| of(block)).sum::<f64>() / float(due);
    let is_upper = matches!(requirement.bound, Bound::Below | Bound::AtMost);
    // As many as a percentile needs: ten beyond it.
    let needed = 10.0 / requirement.limit();
    if is_upper && needed.is_finite() && float(due) < needed && requirement.is_met(share) {
        return Err(format!("{due} messages, at least {needed:.0} are needed"));
    }
    Ok(alone(share))
}

/// A number that has no interval.
const fn alone(value: f64) -> Estimate {
    Estimate { value, low: None, high: None }
}

#[expect(clippy::cast_precision_loss, reason = "limits have fewer digits")]
fn float(count: u64) -> f64 {
    count as f64
}

const NOT_KNOWN: &str = "not known for this row";
