//! Whether the numbers may be believed: the last block of every page.

use crate::escape::escape;
use crate::page::{Page, Tone};
use crate::steps;
use record::{Level, Reason, RunRecord, Verdict};
use std::borrow::Cow;

/// The verdict of `record`; a record from before there was one is judged now.
pub(crate) fn of(record: &RunRecord) -> Cow<'_, Verdict> {
    match &record.verdict {
        Some(verdict) => Cow::Borrowed(verdict),
        None => Cow::Owned(record::judge(record)),
    }
}

/// Whether `verdict` says of this workload, or of the whole run, that there is no result.
pub(crate) fn forbids(verdict: &Verdict, workload: usize) -> bool {
    verdict.reasons.iter().any(|reason| {
        reason.level == Level::Invalid && reason.workload.is_none_or(|about| about == workload)
    })
}

/// One line if all is well; each reason, what shows it and what to do about it if not.
pub(crate) fn show(page: &mut Page, record: &RunRecord, verdict: &Verdict) {
    page.blank();
    if let Some(certificate) = &record.environment.selftest {
        let passed = certificate.checks.iter().filter(|check| check.passed).count();
        let all = certificate.checks.len();
        let word = if certificate.passed { "passed" } else { "FAILED" };
        let text = format!(
            "{word} on this machine at {} ({passed} of {all} checks, version {})",
            certificate.at, certificate.version
        );
        page.pair("self-test", &text);
    }
    let meaning = match verdict.level {
        Level::Trusted => "",
        Level::Degraded => ": the numbers say less than they seem to",
        Level::Invalid => ": the numbers are no result",
    };
    let tone = match verdict.level {
        Level::Trusted => Tone::Strong,
        level @ (Level::Degraded | Level::Invalid) => steps::tone(level),
    };
    page.labelled("verdict", (tone, &format!("{}{meaning}", steps::name(verdict.level))));
    for told in told(record, verdict) {
        let label = format!("{}:", steps::name(told.level));
        page.remark(steps::tone(told.level), &label, &told.text);
        page.under("shown by", &told.evidence);
        page.under("next", &told.advice);
    }
}

/// A reason as it is told; escaped.
pub(crate) struct Told {
    pub(crate) level: Level,
    pub(crate) text: String,
    pub(crate) evidence: String,
    pub(crate) advice: String,
}

/// Every reason of `verdict`; those that differ in their workload alone are told together.
pub(crate) fn told(record: &RunRecord, verdict: &Verdict) -> Vec<Told> {
    let mut shown: Vec<&Reason> = Vec::new();
    let mut all = Vec::new();
    for reason in &verdict.reasons {
        if !shown.iter().any(|before| is_same(before, reason)) {
            let same: Vec<&Reason> =
                verdict.reasons.iter().filter(|other| is_same(reason, other)).collect();
            all.push(together(record, reason, &same));
            shown.push(reason);
        }
    }
    all
}

/// Whether only the workload and its numbers differ.
fn is_same(one: &Reason, other: &Reason) -> bool {
    (one.level, &one.code, &one.message) == (other.level, &other.code, &other.message)
}

/// A reason that may be about several workloads; the numbers are those of the first.
fn together(record: &RunRecord, first: &Reason, all: &[&Reason]) -> Told {
    let workloads = &record.plan.workloads;
    let names: Vec<&str> = all
        .iter()
        .filter_map(|reason| workloads.get(reason.workload?).map(|workload| workload.name.as_str()))
        .filter(|_| workloads.len() > 1)
        .collect();
    let about = if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
    let evidence = match (names.first(), all.len()) {
        (Some(name), 2..) => format!("{name}: {}", first.evidence),
        _ => first.evidence.clone(),
    };
    Told {
        level: first.level,
        text: escape(&format!("{}{about} [{}]", first.message, first.code)),
        evidence: escape(&evidence),
        advice: escape(&first.advice),
    }
}
