//! Required limits, checked against the numbers of a record.

use crate::pooling::{figure, replies};
use crate::precision::rows;
use crate::relative::{of_blocks, relative};
use crate::requirement_check::{Finding, Required, RequirementCheck};
use crate::{Block, Estimate, RunRecord, Verdict};
use spec::{Bound, Metric, Requirement};
use std::borrow::Cow;

/// Checks each requirement of the experiment of `record` for each row, except mere baselines. Relative ones are checked
/// against `base`.
pub fn checks(record: &RunRecord, base: Option<&RunRecord>) -> Vec<RequirementCheck> {
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
        let check = move |one| check(record, base, verdict, workload, one);
        require.iter().map(check)
    };
    rows(&record.plan).flat_map(of_row).collect()
}

impl RunRecord {
    /// True if noise that is larger than the margin of a requirement fails it.
    pub fn is_strict(&self) -> bool {
        self.spec.as_ref().is_some_and(|spec| spec.strict)
    }

    /// The most severe of the answers to all requirements and to the most by which a side may be worse;
    /// [`Required::Met`] if there are none.
    pub fn required(&self) -> Required {
        let all = self.requirements.iter().map(|check| check.required(self.is_strict()));
        let sides = self.sides.iter().map(|sides| sides.required(self.is_strict()));
        all.chain(sides).max().unwrap_or(Required::Met)
    }
}

fn check(
    record: &RunRecord,
    base: Option<&RunRecord>,
    verdict: &Verdict,
    workload: usize,
    requirement: &Requirement,
) -> RequirementCheck {
    let number = number(record, workload, requirement);
    let mut check = RequirementCheck {
        requirement: *requirement,
        workload,
        number: number.as_ref().ok().copied(),
        relative: None,
        finding: Finding::Unknown,
        reason: None,
    };
    let is_relative = requirement.factor().is_some();
    match (verdict.invalid(workload, requirement.metric), number) {
        (Some(reason), _) => (check.finding, check.reason) = (Finding::Invalid, Some(reason)),
        (None, Err(reason)) => check.reason = Some(reason),
        (None, Ok(_)) if is_relative => match relative(record, base, workload, requirement) {
            Ok((finding, relative)) => {
                (check.finding, check.relative) = (finding, Some(relative));
            }
            Err((finding, reason)) => (check.finding, check.reason) = (finding, Some(reason)),
        },
        (None, Ok(number)) if requirement.is_met(number.value) => check.finding = Finding::Met,
        (None, Ok(_)) => check.finding = Finding::NotMet,
    }
    check
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
    let of_blocks = || of_blocks(record, workload, requirement.metric).as_ref().map(Estimate::of);
    match requirement.metric {
        Metric::P50 => pooled.ok_or_else(|| percentile("p50_ns")),
        Metric::P90 => pooled.ok_or_else(|| percentile("p90_ns")),
        Metric::P99 => pooled.ok_or_else(|| percentile("p99_ns")),
        Metric::P999 => {
            let time = times.and_then(|times| times.p99_9_ns);
            time.map(|ns| alone(float(ns))).ok_or_else(|| percentile("p99_9_ns"))
        }
        Metric::CpuPerMessage => pooled.ok_or_else(|| without(&blocks, "server_us_per_message")),
        Metric::MemoryPerConnection => {
            of_blocks().ok_or_else(|| without(&blocks, "server_us_per_message"))
        }
        Metric::ServerCpu => of_blocks().ok_or_else(|| without(&blocks, "server_cores_used")),
        Metric::MessagesPerS | Metric::GeneratorCpuPerMessage | Metric::BytesPerMessage => {
            pooled.ok_or_else(|| NOT_KNOWN.to_owned())
        }
        Metric::Recovery => of_blocks().ok_or_else(|| not_back(&blocks)),
        Metric::ErrorRate => share(&blocks, requirement, errors),
        Metric::RefusedRate => share(&blocks, requirement, refusals),
        Metric::AchievedOfOffered => share(&blocks, requirement, replies),
    }
}

/// The reason why a field of [`crate::Cpu`] is missing, which also explains missing memory of the server.
fn without(blocks: &[&Block], field: &str) -> String {
    let mut missing = blocks.iter().flat_map(|block| &block.cpu.missing);
    let reason = missing.find(|(name, _)| *name == field);
    reason.map_or_else(|| NOT_KNOWN.to_owned(), |(_, reason)| reason.clone())
}

/// The reason why blocks have no recovery time together.
fn not_back(blocks: &[&Block]) -> String {
    let of_block = |block: &&Block| block.deliveries.as_ref().map(|it| it.recovery().err());
    let reason = blocks
        .iter()
        .find_map(|block| of_block(block).unwrap_or_else(|| Some(NOT_KNOWN.to_owned())));
    reason.unwrap_or_else(|| NOT_KNOWN.to_owned())
}

/// A share of the messages that were due; in rooms, of the deliveries that were owed.
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
    let due = due(blocks);
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

/// [`Metric::ErrorRate`] and [`Metric::RefusedRate`] of all messages of `blocks`; `None` if none was due.
pub fn failure_rates(blocks: &[&Block]) -> Option<(f64, f64)> {
    let due = due(blocks);
    let rate =
        |of: fn(&Block) -> f64| blocks.iter().map(|block| of(block)).sum::<f64>() / float(due);
    (due > 0).then(|| (rate(errors), rate(refusals)))
}

/// Replies that were due.
fn due(blocks: &[&Block]) -> u64 {
    blocks.iter().fold(0_u64, |sum, block| sum.saturating_add(block.replies_due()))
}

/// Messages that failed, were refused, timed out or were never sent, and deliveries that were owed and did not arrive.
/// Messages in flight at the end are not errors.
fn errors(block: &Block) -> f64 {
    let missing = block.deliveries.as_ref().map_or(0, |it| it.counts.missing());
    float(block.counts.failed().saturating_add(block.counts.unsent).saturating_add(missing))
}

fn refusals(block: &Block) -> f64 {
    float(block.counts.refused)
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
