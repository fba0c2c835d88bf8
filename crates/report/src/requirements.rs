//! The block of check marks: required limits and what became of them.

use crate::document::{Remark, Tone};
use crate::number::{self, Unit};
use crate::row;
use record::{Finding, RequirementCheck, RunRecord};
use spec::Metric;

/// A line for each limit of each row.
pub(crate) fn all(record: &RunRecord) -> Vec<Remark> {
    record.requirements.iter().map(|check| line(record, check)).collect()
}

/// `✓ p99 < 20ms: 12.1 ms [11.8, 12.5]`, with the name of the row where there are several.
fn line(record: &RunRecord, check: &RequirementCheck) -> Remark {
    let name = row::row(record, check.workload).filter(|_| row::count(record) > 1);
    let name = name.map_or_else(String::new, |row| format!("{} ", row.name()));
    let unit = unit(check.requirement.metric);
    let number = check
        .number
        .map(|number| number::interval(unit, number.value, number.low.zip(number.high)));
    let reason = check.reason.as_deref().unwrap_or_default();
    let (tone, mark, found) = match check.finding {
        Finding::Met => (Tone::Plain, "✓", number),
        Finding::NotMet => (Tone::Failed, "✗", number),
        Finding::Unknown => (Tone::Failed, "?", Some(format!("unknown: {reason}"))),
        Finding::Invalid => {
            let number = number.map_or_else(String::new, |number| format!("{number}, "));
            (Tone::Failed, "x", Some(format!("{number}invalid: {reason}")))
        }
    };
    let is_open = matches!(check.finding, Finding::Met | Finding::NotMet) && check.is_close();
    let close = if is_open { "; the interval has the limit in it" } else { "" };
    let text = format!("{name}{}: {}{close}", check.requirement, found.unwrap_or_default());
    Remark::new(tone, mark, text)
}

/// The unit that records have a number in.
fn unit(metric: Metric) -> Unit {
    match metric {
        Metric::P50 | Metric::P90 | Metric::P99 | Metric::P999 => Unit::Time,
        Metric::MessagesPerS => Unit::Rate,
        Metric::CpuPerMessage | Metric::GeneratorCpuPerMessage => Unit::Cpu,
        Metric::BytesPerMessage => Unit::Size,
        Metric::ErrorRate | Metric::RefusedRate | Metric::AchievedOfOffered => Unit::Share,
    }
}
