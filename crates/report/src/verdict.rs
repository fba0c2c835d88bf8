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
    for reason in &verdict.reasons {
        show_reason(page, record, reason);
    }
}

fn show_reason(page: &mut Page, record: &RunRecord, reason: &Reason) {
    let workloads = &record.plan.workloads;
    let about = match reason.workload.and_then(|index| workloads.get(index)) {
        Some(workload) if workloads.len() > 1 => format!(" ({})", workload.name),
        Some(_) | None => String::new(),
    };
    let label = format!("{}:", steps::name(reason.level));
    let text = format!("{}{about} [{}]", reason.message, reason.code);
    page.remark(steps::tone(reason.level), &label, &text);
    page.under("shown by", &reason.evidence);
    page.under("next", &reason.advice);
}
