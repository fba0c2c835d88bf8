//! Whether the numbers may be believed: the last block of every page.

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
    let mut shown: Vec<&Reason> = Vec::new();
    for reason in &verdict.reasons {
        if !shown.iter().any(|before| is_same(before, reason)) {
            let all: Vec<&Reason> =
                verdict.reasons.iter().filter(|other| is_same(reason, other)).collect();
            show_reason(page, record, &all);
            shown.push(reason);
        }
    }
}

/// Whether only the workload and its numbers differ.
fn is_same(one: &Reason, other: &Reason) -> bool {
    (one.level, &one.code, &one.message) == (other.level, &other.code, &other.message)
}

/// A reason that may be about several workloads; the numbers are those of the first.
fn show_reason(page: &mut Page, record: &RunRecord, all: &[&Reason]) {
    let Some(first) = all.first() else { return };
    let workloads = &record.plan.workloads;
    let names: Vec<&str> = all
        .iter()
        .filter_map(|reason| workloads.get(reason.workload?).map(|workload| workload.name.as_str()))
        .filter(|_| workloads.len() > 1)
        .collect();
    let about = if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
    let label = format!("{}:", steps::name(first.level));
    let text = format!("{}{about} [{}]", first.message, first.code);
    page.remark(steps::tone(first.level), &label, &text);
    let evidence = match (names.first(), all.len()) {
        (Some(name), 2..) => format!("{name}: {}", first.evidence),
        _ => first.evidence.clone(),
    };
    page.under("shown by", &evidence);
    page.under("next", &first.advice);
}
