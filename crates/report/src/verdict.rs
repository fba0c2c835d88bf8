//! The verdict in words, and how far it lets a row be a result.

use crate::document::{Judgement, Remark, Tone};
use crate::row;
use record::{Level, Reason, RunRecord, Verdict};
use std::borrow::Cow;

/// The verdict of `record`; a record from before there was one is judged now.
pub(crate) fn of(record: &RunRecord) -> Cow<'_, Verdict> {
    match &record.verdict {
        Some(verdict) => Cow::Borrowed(verdict),
        None => Cow::Owned(record::judge(record)),
    }
}

/// True if `verdict` says of this row, or of the whole run, that there is no result.
pub(crate) fn forbids(verdict: &Verdict, index: usize) -> bool {
    level(verdict, index) == Level::Invalid
}

/// The worst level of all that was found about this row.
pub(crate) fn level(verdict: &Verdict, index: usize) -> Level {
    let about = |reason: &&Reason| reason.workload.is_none_or(|about| about == index);
    let levels = verdict.reasons.iter().filter(about).map(|reason| reason.level);
    levels.max().unwrap_or(Level::Trusted)
}

/// The name of a level.
pub(crate) fn name(level: Level) -> &'static str {
    match level {
        Level::Trusted => "trusted",
        Level::Degraded => "degraded",
        Level::Invalid => "invalid",
    }
}

/// The colour of a level.
pub(crate) fn tone(level: Level) -> Tone {
    match level {
        Level::Trusted => Tone::Plain,
        Level::Degraded => Tone::Doubtful,
        Level::Invalid => Tone::Failed,
    }
}

impl Judgement {
    pub(crate) fn name(&self) -> &'static str {
        name(self.level)
    }

    /// The level and its meaning.
    pub(crate) fn sentence(&self) -> String {
        let meaning = match self.level {
            Level::Trusted => return self.name().to_owned(),
            Level::Degraded => "the numbers say less than they seem to",
            Level::Invalid => "the numbers are no result",
        };
        format!("{}: {meaning}", self.name())
    }
}

/// The verdict with every reason; reasons that differ in their row alone are told together.
pub(crate) fn judgement(record: &RunRecord, verdict: &Verdict) -> Judgement {
    let self_test = record.environment.selftest.as_ref().map(|found| {
        let passed = found.checks.iter().filter(|check| check.passed).count();
        let word = if found.passed { "passed" } else { "FAILED" };
        let (at, all, version) = (&found.at, found.checks.len(), &found.version);
        format!("{word} on this machine at {at} ({passed} of {all} checks, version {version})")
    });
    let mut shown: Vec<&Reason> = Vec::new();
    let mut reasons = Vec::new();
    for reason in &verdict.reasons {
        if !shown.iter().any(|before| is_same(before, reason)) {
            let same: Vec<&Reason> =
                verdict.reasons.iter().filter(|other| is_same(reason, other)).collect();
            reasons.push(remark(record, reason, &same));
            shown.push(reason);
        }
    }
    Judgement { level: verdict.level, self_test, reasons }
}

/// True if only the row and its numbers differ.
fn is_same(one: &Reason, other: &Reason) -> bool {
    (one.level, &one.code, &one.message) == (other.level, &other.code, &other.message)
}

/// A reason that may be about several rows; the numbers are those of the first.
fn remark(record: &RunRecord, first: &Reason, all: &[&Reason]) -> Remark {
    let names: Vec<&str> = all
        .iter()
        .filter_map(|reason| Some(row::row(record, reason.workload?)?.name()))
        .filter(|_| row::count(record) > 1)
        .collect();
    let about = if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
    let shown_by = match (names.first(), all.len()) {
        (Some(name), 2..) => format!("{name}: {}", first.evidence),
        _ => first.evidence.clone(),
    };
    let text = format!("{}{about} [{}]", first.message, first.code);
    let label = format!("{}:", name(first.level));
    Remark { shown_by, next: first.advice.clone(), ..Remark::new(tone(first.level), label, text) }
}
