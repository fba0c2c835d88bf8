//! A number compared with the same number of an earlier record.
//!
//! The interval of the ratio covers the variation of the rounds of both records ([`stats::changed`]). Half of it, on a
//! logarithmic scale, is the *noise*, and the distance of the factor from 1 is the *margin*. Where the noise is at most
//! the margin, the ratio itself decides: at most 2.5 % of comparisons then report a change that is not there, since the
//! whole interval has to be on one side of 1. Where the noise is larger, it decides only if the whole interval is on
//! one side of the factor.
//!
//! Without a row that is unchanged in both records, a change of the machine cannot be told from one of the server: no
//! ratio of times, rates or CPU decides then.
//!
//! If two sides took turns, BASE is the baseline of HEAD: the ratio is that of one run, and the same rule applies.
//!
//! Start reading at [`relative`].

use crate::pooling::{figure, memory_per_connection, pooled, recovery, server_cpu};
use crate::requirement_check::{Finding, Relative};
use crate::{Estimate, RunRecord, Sides, common_zero, partner};
use spec::{Metric, Requirement};
use stats::{Pooled, changed};
use std::collections::BTreeSet;

/// The ratio of a number of a row to that of the same row of `base`, and the answer.
///
/// # Errors
///
/// [`Finding::Unknown`] or [`Finding::Invalid`], with the reason why there is no ratio.
pub(crate) fn relative(
    record: &RunRecord,
    base: Option<&RunRecord>,
    workload: usize,
    requirement: &Requirement,
) -> Result<(Finding, Relative), (Finding, String)> {
    let unknown = |reason: &str| (Finding::Unknown, reason.to_owned());
    if let (None, Some(sides)) = (base, &record.sides) {
        return of_sides(record, sides, requirement);
    }
    let base = base.ok_or_else(|| unknown("the record of the baseline is not there"))?;
    let differs = record.against.iter().flat_map(|against| against.forbidding(Some(workload)));
    if let Some(reason) = differs.into_iter().next() {
        let text = format!("{}, {}", reason.message, reason.evidence);
        return Err((Finding::Invalid, text));
    }
    let theirs = partner(base, record, workload)
        .ok_or_else(|| unknown("the baseline has no row of this name"))?;
    let verdict = base.verdict.clone().unwrap_or_else(|| crate::judge(base));
    if let Some(reason) = verdict.invalid(theirs, requirement.metric) {
        return Err((Finding::Invalid, format!("of the baseline: {reason}")));
    }
    let metric = requirement.metric;
    let before = number(base, theirs, metric);
    let before = before.ok_or_else(|| unknown("not known for the baseline"))?;
    let after = number(record, workload, metric);
    let after = after.ok_or_else(|| unknown("not known for this row"))?;
    let unchanged = common_zero(base, record, workload);
    let unchanged = unchanged.and_then(|[theirs, ours]| {
        let both = [number(base, theirs, metric)?, number(record, ours, metric)?];
        both.iter().all(|number| number.value() > 0.0).then_some(both)
    });
    let zeros = unchanged.as_ref().map(|[before, after]| [before, after]);
    let ratio = changed(&before, &after, zeros)
        .ok_or_else(|| (Finding::Unknown, no_interval([base, record])))?;
    let relative = Relative {
        baseline: before.value(),
        ratio: Estimate { value: ratio.value, low: Some(ratio.low), high: Some(ratio.high) },
        machine: zeros.map(|[before, after]| after.value() / before.value()),
    };
    let finding = match zeros {
        None if metric.moves_with_machine() => Finding::Noisy,
        Some(_) | None => finding(requirement, [ratio.low, ratio.value, ratio.high]),
    };
    Ok((finding, relative))
}

/// The ratio of a number of the second side to that of the first, which took turns with it, and the answer.
fn of_sides(
    record: &RunRecord,
    sides: &Sides,
    requirement: &Requirement,
) -> Result<(Finding, Relative), (Finding, String)> {
    let unknown = |reason: String| (Finding::Unknown, reason);
    let verdict = record.verdict.clone().unwrap_or_else(|| crate::judge(record));
    if let Some(reason) = verdict.invalid(sides.base, requirement.metric) {
        return Err((Finding::Invalid, format!("of BASE: {reason}")));
    }
    let [before, after] = [(sides.base, "BASE"), (sides.head, "HEAD")].map(|(index, name)| {
        let number = number(record, index, requirement.metric);
        number.ok_or_else(|| unknown(format!("not known for {name}")))
    });
    let (before, after) = (before?, after?);
    let ratio = after.over(&before);
    let (low, high) = ratio.interval().ok_or_else(|| {
        let (rounds, least) = (ratio.rounds(), Pooled::ROUNDS_MIN);
        unknown(match rounds < least {
            true => format!("rounds: {rounds}; it needs {least} (--rounds {least})"),
            false => HANGS_ON_FEW.to_owned(),
        })
    })?;
    let relative = Relative {
        baseline: before.value(),
        ratio: Estimate { value: ratio.value(), low: Some(low), high: Some(high) },
        machine: None,
    };
    Ok((finding(requirement, [low, ratio.value(), high]), relative))
}

/// A number of workload `index` of `record` that its results lack, from its blocks; `None` for other metrics, or if a
/// block has none.
pub(crate) fn of_blocks(record: &RunRecord, index: usize, metric: Metric) -> Option<Pooled> {
    let (plan, blocks) = (&record.plan, &record.blocks[..]);
    match metric {
        Metric::MemoryPerConnection => memory_per_connection(plan, blocks, index),
        Metric::Recovery => recovery(plan, blocks, index),
        Metric::ServerCpu => server_cpu(plan, blocks, index, record.environment.cpus_allowed.len()),
        Metric::P50
        | Metric::P90
        | Metric::P99
        | Metric::P999
        | Metric::MessagesPerS
        | Metric::CpuPerMessage
        | Metric::GeneratorCpuPerMessage
        | Metric::BytesPerMessage
        | Metric::ErrorRate
        | Metric::RefusedRate
        | Metric::AchievedOfOffered => None,
    }
}

/// A number of workload `index` of `record`, from all its blocks; `None` if it has no such number, or not from all of
/// them.
fn number(record: &RunRecord, index: usize, metric: Metric) -> Option<Pooled> {
    let of_results = || figure(&pooled(&record.plan, &record.blocks, index), metric).cloned();
    of_blocks(record, index, metric).or_else(of_results)
}

fn finding(requirement: &Requirement, [low, value, high]: [f64; 3]) -> Finding {
    let margin = requirement.limit().ln().abs();
    let noise = (high / low).ln() / 2.0;
    match [low, value, high].map(|ratio| requirement.is_met(ratio)) {
        [true, _, true] => Finding::Met,
        [false, _, false] => Finding::NotMet,
        _ if noise > margin => Finding::Noisy,
        [_, true, _] => Finding::Met,
        [_, false, _] => Finding::NotMet,
    }
}

/// The reason why a ratio has no interval.
fn no_interval(both: [&RunRecord; 2]) -> String {
    let [base, record] = both.map(|record| {
        record.blocks.iter().map(|block| block.round).collect::<BTreeSet<usize>>().len()
    });
    let least = Pooled::ROUNDS_MIN;
    if base.min(record) < least {
        return format!(
            "rounds: {record}, in the baseline {base}; each needs {least} (--rounds {least})"
        );
    }
    HANGS_ON_FEW.to_owned()
}

const HANGS_ON_FEW: &str = "the number depends on few of the rounds";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_decides_only_where_it_is_smaller_than_the_margin() {
        use Finding::{Met, Noisy, NotMet};
        #[rustfmt::skip]
        let table = [
            // requirement,                   ratio, noise (factor), finding
            ("p50 <= baseline * 1.10",        1.00,  1.05, Met),
            ("p50 <= baseline * 1.10",        1.09,  1.05, Met),    // the interval has the factor in it
            ("p50 <= baseline * 1.10",        1.11,  1.05, NotMet), // 1 is below the interval
            ("p50 <= baseline * 1.10",        1.50,  1.05, NotMet),
            ("p50 <= baseline * 1.10",        1.00,  1.20, Noisy),
            ("p50 <= baseline * 1.10",        1.15,  1.20, Noisy),
            ("p50 <= baseline * 1.10",        0.80,  1.20, Met),
            ("p50 <= baseline * 1.10",        1.40,  1.20, NotMet),
            ("p50 <= baseline",               1.00,  1.00, Met),    // bytes: no noise at all
            ("p50 < baseline",                1.00,  1.00, NotMet),
            ("p50 <= baseline",               0.99,  1.02, Noisy),
            ("p50 <= baseline",               0.90,  1.02, Met),
            ("messages/s >= baseline * 0.95", 0.96,  1.02, Met),
            ("messages/s >= baseline * 0.95", 0.94,  1.02, NotMet),
            ("messages/s >= baseline * 0.95", 0.96,  1.10, Noisy),
            ("messages/s >= baseline * 0.95", 1.20,  1.10, Met),
            ("p50 <= baseline * 0.90",        0.95,  1.02, NotMet),
            ("p50 <= baseline * 0.90",        0.88,  1.05, Met),
        ];
        for row @ (text, value, noise, expected) in table {
            let ratio = [value / noise, value, value * noise];
            assert_eq!(finding(&text.parse().unwrap(), ratio), expected, "{row:?}");
        }
    }
}
