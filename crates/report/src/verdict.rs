//! The verdict in words and marks, and whether it lets a row count as a result.

use crate::document::{self, Judgement, Remark, Tone, mark};
use crate::row;
use record::{Level, Number, Reason, RunRecord, Verdict};
use std::borrow::Cow;

/// The verdict of `record`; a record from before there was one is judged now.
pub(crate) fn of(record: &RunRecord) -> Cow<'_, Verdict> {
    match &record.verdict {
        Some(verdict) => Cow::Borrowed(verdict),
        None => Cow::Owned(record::judge(record)),
    }
}

/// True if `verdict` calls this row, or the whole run, invalid.
pub(crate) fn forbids(verdict: &Verdict, index: usize) -> bool {
    verdict.row(index).level == Level::Invalid
}

/// True if an answer may rest on this row and its comparison with others.
pub(crate) fn allows(verdict: &Verdict, index: usize) -> bool {
    verdict.row(index).of_number(Number::Ratio) == Level::Trusted
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
        self.level.name()
    }

    /// The level and its meaning; for a trusted record, the rows that are not trusted.
    pub(crate) fn sentence(&self) -> String {
        let meaning = match self.level {
            Level::Trusted if self.marked.is_empty() => return self.name().to_owned(),
            Level::Trusted => {
                return format!("{}, but not {}", self.name(), self.marked.join("; "));
            }
            Level::Degraded => "the numbers are less reliable than they look",
            Level::Invalid => "the numbers are not valid results",
        };
        format!("{}: {meaning}", self.name())
    }

    /// `2 more reasons`: those that the one line leaves out; empty if it has all.
    pub(crate) fn left_out(&self) -> String {
        match self.more {
            0 => String::new(),
            1 => "1 more reason".to_owned(),
            count => format!("{count} more reasons"),
        }
    }
}

/// The verdict with every reason; reasons that differ only in their row are merged.
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
    let (marked, (brief, more)) = (marked(record, verdict), brief(record, verdict));
    Judgement { level: verdict.level, marked, brief, more, self_test, reasons }
}

/// The level, and the most severe reason, the first of the worst, with its rows and their marks; and the number of the
/// other reasons.
///
/// `trusted, but ? http-new: the generator was the bottleneck`.
fn brief(record: &RunRecord, verdict: &Verdict) -> (String, usize) {
    let mut level = verdict.level.name().to_owned();
    // Beside trusted rows, a failed one is reported with its cause below the table.
    let is_told =
        |reason: &&Reason| reason.code == "nothing_succeeded" && verdict.level == Level::Trusted;
    let reasons = || verdict.reasons.iter().filter(|reason| !is_told(reason));
    let worst = reasons().map(|reason| reason.level).max();
    let Some(first) = reasons().find(|reason| Some(reason.level) == worst) else {
        return (level, 0);
    };
    let same: Vec<&Reason> = reasons().filter(|other| is_same(first, other)).collect();
    let mut about = about(record, &same);
    if about.len() > MARKED_MAX {
        let more = about.len() - (MARKED_MAX - 1);
        about.truncate(MARKED_MAX - 1);
        about.push(format!("{more} more"));
    }
    level += match verdict.level {
        Level::Trusted => ", but ",
        Level::Degraded | Level::Invalid => ": ",
    };
    if !about.is_empty() {
        level += &format!("{} {}: ", mark(first.level), about.join("; "));
    }
    level += &first.message;
    (level, reasons().filter(|other| !is_same(first, other)).count())
}

/// The rows that are not trusted, with their marks; beyond a few, their number.
fn marked(record: &RunRecord, verdict: &Verdict) -> Vec<String> {
    let marked = row::all(record).filter_map(|row| {
        let level = verdict.row(row.index).level;
        (level > Level::Trusted).then(|| document::marked(level, row.name()))
    });
    let mut marked: Vec<String> = marked.collect();
    if marked.len() > MARKED_MAX {
        let more = marked.len() - (MARKED_MAX - 1);
        marked.truncate(MARKED_MAX - 1);
        marked.push(format!("{more} more"));
    }
    marked
}

/// The number of rows that the sentence of a verdict names.
const MARKED_MAX: usize = 4;

/// True if only the row and its numbers differ.
fn is_same(one: &Reason, other: &Reason) -> bool {
    (one.level, &one.code, &one.message) == (other.level, &other.code, &other.message)
}

/// `http-new`, `ws p99`: the rows and numbers that reasons are about.
fn about(record: &RunRecord, reasons: &[&Reason]) -> Vec<String> {
    let about = |reason: &&Reason| {
        [row_name(record, reason).unwrap_or_default(), &numbers(reason)].join(" ").trim().to_owned()
    };
    reasons.iter().map(about).filter(|about| !about.is_empty()).collect()
}

/// The name of the row that a reason is about, where there are several rows.
fn row_name<'a>(record: &'a RunRecord, reason: &Reason) -> Option<&'a str> {
    let name = row::row(record, reason.workload?)?.name();
    (row::count(record) > 1).then_some(name)
}

/// A reason that may be about several rows; the numbers are those of the first.
fn remark(record: &RunRecord, first: &Reason, all: &[&Reason]) -> Remark {
    let about = about(record, all);
    let about = if about.is_empty() { String::new() } else { format!(" ({})", about.join(", ")) };
    let shown_by = match (row_name(record, first), all.len()) {
        (Some(name), 2..) => format!("{name}: {}", first.evidence),
        _ => first.evidence.clone(),
    };
    let text = format!("{}{about} [{}]", first.message, first.code);
    let label = format!("{}:", first.level.name());
    Remark { shown_by, next: first.advice.clone(), ..Remark::new(tone(first.level), label, text) }
}

/// `p90 and p99`: the numbers for which a reason has its level; empty for all.
fn numbers(reason: &Reason) -> String {
    let worst = reason.numbers.iter().filter(|(_, level)| **level == reason.level);
    let words: Vec<&str> = worst.map(|(number, _)| number_words(*number)).collect();
    match words.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}

/// The name of a number.
pub(crate) fn number_words(number: Number) -> &'static str {
    match number {
        Number::P50 => "p50",
        Number::P90 => "p90",
        Number::P99 => "p99",
        Number::Tail => "tail",
        Number::Ratio => "ratio",
    }
}
