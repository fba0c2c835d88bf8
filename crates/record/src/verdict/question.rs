//! The level of a record: that of the answer to its question, and so that of the rows that the answer needs.

use crate::{Kind, Level, Number, Reason, RowVerdict, RunRecord, Sweep};
use spec::Objective;
use std::collections::BTreeMap;

/// The level of `record`, whose rows and reasons were judged.
///
/// A comparison needs the row that others are compared with, and one of the others; a lab, which ranks them, is
/// degraded if one of the best two is not trusted. Everything else needs every row, but a row without any reply only
/// degrades if others have results. The answer needs the p50 of a row, and in a sweep also the percentile of the
/// objective: any other invalid number degrades. Findings about the p50 of the whole run, a load that was not sent, and
/// impossible numbers concern every answer.
pub(super) fn level(record: &RunRecord, rows: &[RowVerdict], reasons: &[Reason]) -> Level {
    let has_result = rows.iter().any(|row| row.level < Level::Invalid);
    let of = |reason: &Reason| match &reason.code[..] {
        "nothing_succeeded" if has_result => Level::Degraded,
        _ => reason.level,
    };
    let comparisons = Comparison::all(record);
    if record.sweep.is_some() || comparisons.is_empty() {
        let objective = record.sweep.as_ref().and_then(objective);
        let on_answer = |reason: &Reason| {
            let doubts = [Some(Number::P50), objective].into_iter().flatten();
            doubts.map(|number| reason.of(number)).max().unwrap_or_default()
        };
        let level = |reason: &Reason| match &reason.code[..] {
            // All numbers are those of a load that nobody asked for.
            "asked_not_achieved" => of(reason),
            _ => of(reason).min(on_answer(reason).max(Level::Degraded)),
        };
        return reasons.iter().map(level).max().unwrap_or_default();
    }
    let is_of_run = |reason: &&Reason| reason.workload.is_none() || reason.code == "impossible";
    // Comparisons are of the p50: a doubt about the tail alone does not touch the answer.
    let on_answer = |reason: &Reason| reason.of(Number::P50).max(reason.of(Number::Ratio));
    let of_run = reasons.iter().filter(is_of_run).map(|it| of(it).min(on_answer(it))).max();
    let wanted = if record.kind == Kind::Lab { 2 } else { 1 };
    let of_answers = comparisons.iter().map(|comparison| comparison.level(rows, wanted)).max();
    of_run.max(of_answers).unwrap_or_default()
}

/// The number that the objective of a sweep is about, if it has one.
pub(super) fn objective(sweep: &Sweep) -> Option<Number> {
    let objective: Objective = sweep.slo.as_ref()?.parse().ok()?;
    Some(match objective.percentile {
        "p50" => Number::P50,
        "p90" => Number::P90,
        "p99" => Number::P99,
        _ => Number::Tail,
    })
}

/// Rows that are compared with the same one.
struct Comparison {
    zero: usize,
    others: Vec<usize>,
}

impl Comparison {
    /// All comparisons in which something besides the zero was measured.
    fn all(record: &RunRecord) -> Vec<Self> {
        let mut others: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for index in 0..record.plan.workloads.len() {
            let is_measured = record.blocks.iter().any(|block| block.workload == index);
            if let Some(zero) = record.plan.zero(index).filter(|zero| is_measured && *zero != index)
            {
                others.entry(zero).or_default().push(index);
            }
        }
        others.into_iter().map(|(zero, others)| Self { zero, others }).collect()
    }

    /// The level of comparing others with the zero: that of the best of them, and at least degraded unless the best
    /// `wanted` of them are trusted.
    fn level(&self, rows: &[RowVerdict], wanted: usize) -> Level {
        let of = |index: usize, number| {
            rows.get(index).map_or(Level::Trusted, |row| row.of_number(number))
        };
        let mut others: Vec<Level> =
            self.others.iter().map(|index| of(*index, Number::Ratio)).collect();
        others.sort_unstable();
        let best = others.first().copied().unwrap_or_default();
        let last = others.iter().take(wanted).next_back().copied().unwrap_or_default();
        of(self.zero, Number::P50).max(best).max(last.min(Level::Degraded))
    }
}
