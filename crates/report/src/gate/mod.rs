//! A record as a gate of continuous integration sees it: cases, each of which passes or fails.
//!
//! The cases are the verdict, the end of the run, every required limit of every row, and the most by which the second
//! of two sides may be worse. They are written as JUnit XML ([`junit`]), as the summary of a step ([`step_summary`])
//! and as annotations ([`annotations`]). Text from a peer stays plain text in all of them.
//!
//! Left out: where these are written, and the exit code.
//!
//! Start reading at [`cases`].

mod annotations;
mod junit;
mod step_summary;

pub use annotations::{annotation, annotations};
pub use junit::{junit, junit_of_failure};
pub use step_summary::{step_summary, step_summary_of_failure};

use crate::document::Tone;
use crate::{notes, requirements, row, sides, verdict};
use record::{Finding, Level, Required, RequirementCheck, RunRecord};
use spec::file::Side;

/// Something that passes or fails.
struct Case {
    /// The row that it is about; empty: the whole run.
    row: String,
    /// The limit, or another check.
    name: String,
    /// The number, and the reason where it fails.
    text: String,
    outcome: Outcome,
    /// The number divided by its limit, where both are known.
    share: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Passed,
    /// It passes with a doubt.
    Doubtful,
    /// It fails, for the reason with this short name.
    Failed(&'static str),
    /// Nothing can be said, because the measurement is invalid.
    Invalid,
}

impl Outcome {
    fn passes(self) -> bool {
        matches!(self, Self::Passed | Self::Doubtful)
    }

    fn mark(self) -> &'static str {
        match self {
            Self::Passed => "✓",
            Self::Doubtful => "~",
            Self::Failed(_) => "✗",
            Self::Invalid => "x",
        }
    }
}

/// The verdict, the end of the run, and every limit of every row.
fn cases(record: &RunRecord) -> Vec<Case> {
    let of_run = |name: &str, text: String, outcome| Case {
        row: String::new(),
        name: name.to_owned(),
        text,
        outcome,
        share: None,
    };
    let found = verdict::of(record);
    let believed = match found.level {
        Level::Trusted => Outcome::Passed,
        Level::Degraded => Outcome::Doubtful,
        Level::Invalid => Outcome::Invalid,
    };
    let (complete, ending) = match notes::partial(record) {
        None => (Outcome::Passed, "measured as planned".to_owned()),
        Some(reason) => (Outcome::Failed("partial"), reason),
    };
    let judgement = verdict::judgement(record, &found);
    let others = Some(judgement.left_out()).filter(|words| !words.is_empty());
    let verdict = judgement.brief + &others.map_or_else(String::new, |it| format!("; {it}"));
    let mut cases =
        vec![of_run("verdict", verdict, believed), of_run("complete", ending, complete)];
    cases.extend(record.requirements.iter().map(|check| of_limit(record, check)));
    cases.extend(of_sides(record));
    cases
}

/// The most by which the second of two sides may be worse.
fn of_sides(record: &RunRecord) -> Option<Case> {
    let name = format!("at most {} worse", record.sides.as_ref()?.regression_max?);
    let remark = sides::allowed(record)?;
    let outcome = match (remark.label.as_str(), remark.tone) {
        ("x", _) => Outcome::Invalid,
        ("✗", _) => Outcome::Failed("regression"),
        ("~", Tone::Failed) => Outcome::Failed("noise"),
        (_, Tone::Failed) => Outcome::Failed("unknown"),
        (_, Tone::Doubtful) => Outcome::Doubtful,
        _ => Outcome::Passed,
    };
    let text = remark.text.strip_prefix(&format!("{name}: ")).unwrap_or(&remark.text).to_owned();
    Some(Case { row: Side::HEAD.to_owned(), name, text, outcome, share: None })
}

fn of_limit(record: &RunRecord, check: &RequirementCheck) -> Case {
    let answer = requirements::answer(record, check);
    let outcome = match check.required(record.is_strict()) {
        Required::Met if answer.tone == Tone::Plain => Outcome::Passed,
        Required::Met => Outcome::Doubtful,
        Required::Regressed => Outcome::Failed("regression"),
        Required::NotMet => Outcome::Failed(match check.finding {
            Finding::Noisy | Finding::Met => "noise",
            Finding::Unknown => "unknown",
            Finding::NotMet | Finding::Invalid => "not_met",
        }),
        Required::Invalid => Outcome::Invalid,
    };
    let held = match (check.requirement.factor(), check.relative) {
        (Some(_), relative) => relative.map(|relative| relative.ratio.value),
        (None, _) => check.number.map(|number| number.value),
    };
    let share = held.map(|held| held / check.requirement.limit());
    Case {
        row: row::row(record, check.workload).map_or_else(String::new, |it| it.name().to_owned()),
        name: check.requirement.to_string(),
        text: answer.text,
        outcome,
        share: share.filter(|share| share.is_finite()),
    }
}

/// The number of cases that fail, in words.
fn headline(cases: &[Case]) -> String {
    let failed = cases.iter().filter(|case| !case.outcome.passes()).count();
    let all = cases.len();
    match (failed, all) {
        (0, 1) => "1 check passed".to_owned(),
        (0, all) => format!("all {all} checks passed"),
        (failed, all) => format!("{failed} of {all} checks failed"),
    }
}
