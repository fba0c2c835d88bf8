//! The block of check marks: required limits and their results.

use crate::document::{Remark, Tone};
use crate::number::{self, Unit};
use crate::row;
use record::{Against, Finding, Relative, Required, RequirementCheck, RunRecord};
use spec::Metric;

/// A line for each limit of each row, and the baseline where limits are relative to one.
pub(crate) fn all(record: &RunRecord) -> Vec<Remark> {
    let mut lines: Vec<Remark> = record
        .requirements
        .iter()
        .map(|check| {
            let Answer { mark, text, tone } = answer(record, check);
            Remark::new(tone, mark, format!("{}: {text}", name(record, check)))
        })
        .collect();
    lines.extend(baseline(record));
    lines
}

/// The baseline, where limits are relative to one, and what differs from it.
pub(crate) fn baseline(record: &RunRecord) -> Vec<Remark> {
    let Some(against) = &record.against else { return Vec::new() };
    let differences = against.differences.iter().map(difference);
    [named(record, against)].into_iter().chain(differences).collect()
}

/// The answer to a limit.
pub(crate) struct Answer {
    /// `✓`, `✗`, `?`, `x` or `~`.
    pub(crate) mark: &'static str,
    /// The number, and the reason where it is not enough.
    pub(crate) text: String,
    pub(crate) tone: Tone,
}

/// The limit, with the name of the row where there are several.
pub(crate) fn name(record: &RunRecord, check: &RequirementCheck) -> String {
    let name = row::row(record, check.workload).filter(|_| row::count(record) > 1);
    let name = name.map_or_else(String::new, |row| format!("{} ", row.name()));
    format!("{name}{}", check.requirement)
}

/// `✓` and `12.1 ms [11.8, 12.5]`; for a relative limit `1.02x [0.99, 1.05] (12.1 ms, baseline 11.9 ms)`.
pub(crate) fn answer(record: &RunRecord, check: &RequirementCheck) -> Answer {
    let unit = unit(check.requirement.metric);
    let number = match (&check.relative, check.number) {
        (Some(relative), Some(number)) => ratio(unit, relative, number.value),
        (_, Some(number)) => number::interval(unit, number.value, number.low.zip(number.high)),
        (_, None) => String::new(),
    };
    let reason = check.reason.as_deref().unwrap_or_default();
    let close = if check.is_close() { "; the interval contains the limit" } else { "" };
    let passes = check.required(record.is_strict()) == Required::Met;
    let (tone, mark, text) = match check.finding {
        Finding::Met if passes => (Tone::Plain, "✓", format!("{number}{close}")),
        Finding::Met => (Tone::Failed, "~", format!("{number}{close}{STRICT}: more rounds")),
        Finding::NotMet => (Tone::Failed, "✗", format!("{number}{close}")),
        Finding::Noisy => {
            let (tone, strict) = if passes { (Tone::Doubtful, "") } else { (Tone::Failed, STRICT) };
            let is_of_machine = record.sides.is_none()
                && check.requirement.metric.moves_with_machine()
                && check.relative.is_some_and(|relative| relative.machine.is_none());
            let text = match is_of_machine {
                true => format!("{number}; {OF_MACHINE}{strict}"),
                false => format!("{number}; noise is larger than the margin{strict}: more rounds"),
            };
            (tone, "~", text)
        }
        Finding::Unknown => (Tone::Failed, "?", format!("unknown: {reason}")),
        Finding::Invalid => {
            let number = if number.is_empty() { number } else { format!("{number}, ") };
            (Tone::Failed, "x", format!("{number}invalid: {reason}"))
        }
    };
    Answer { mark, text, tone }
}

/// The reason why a ratio to a record without a common row decides nothing.
const OF_MACHINE: &str = "inconclusive, because the machine may have changed: start both in one run (--start-base, --start-head), or \
                          add a row that stays the same";

/// The reason why noise fails a limit.
pub(crate) const STRICT: &str = ", and --strict lets no noise pass";

fn ratio(unit: Unit, relative: &Relative, number: f64) -> String {
    let Relative { baseline, ratio, .. } = relative;
    let [number, baseline] = [number, *baseline].map(|number| unit.show(number));
    let ratio = number::ratio(ratio.value, ratio.low.zip(ratio.high));
    format!("{ratio} ({number}, baseline {baseline})")
}

/// The baseline, and what is known about the machine between it and this run.
fn named(record: &RunRecord, against: &Against) -> Remark {
    let Against { file, started_at, tool_version, .. } = against;
    let mut relative = record.requirements.iter().filter_map(|check| check.relative);
    let machine = match relative.next().map(|relative| relative.machine) {
        Some(None) => {
            "; the ratio contains the change of the machine between the two: they share no other row"
        }
        Some(Some(_)) | None => "",
    };
    let text = format!("{file} of {started_at}, wirebench {tool_version}{machine}");
    Remark::new(Tone::Plain, "baseline:", text)
}

fn difference(reason: &record::Reason) -> Remark {
    let text = format!("{}: {}", reason.message, reason.evidence);
    Remark::new(Tone::Doubtful, "different:", text)
}

/// The unit of a number in records.
pub(crate) fn unit(metric: Metric) -> Unit {
    match metric {
        Metric::P50 | Metric::P90 | Metric::P99 | Metric::P999 | Metric::Recovery => Unit::Time,
        Metric::MessagesPerS => Unit::Rate,
        Metric::CpuPerMessage | Metric::GeneratorCpuPerMessage => Unit::Cpu,
        Metric::BytesPerMessage | Metric::MemoryPerConnection => Unit::Size,
        Metric::ErrorRate | Metric::RefusedRate | Metric::AchievedOfOffered | Metric::ServerCpu => {
            Unit::Share
        }
    }
}
