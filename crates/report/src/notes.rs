//! Notes under the numbers of every report: how the run ended, checks, warnings.

use crate::document::{Remark, Tone};
use crate::number::{self, Unit};
use crate::row;
use record::{Block, Drift, Drifting, Ended, Little, RunRecord};

/// The reason why the run did not end as planned; `None` if it did.
pub(crate) fn partial(record: &RunRecord) -> Option<String> {
    match &record.ended {
        Ended::Completed => None,
        Ended::Interrupted { signal } => {
            let name = match signal {
                1 => "SIGHUP".to_owned(),
                2 => "SIGINT, Ctrl-C".to_owned(),
                15 => "SIGTERM".to_owned(),
                other => format!("signal {other}"),
            };
            Some(format!("ended by {name}; this is what was measured until then."))
        }
        Ended::Partial { reason } => Some(reason.clone()),
    }
}

/// One line on the checks: Little's law on every block, and that counts add up.
pub(crate) fn checks(record: &RunRecord) -> Remark {
    let (little, counts) = (little(record), counts(record));
    let tone = if little.is_ok() && counts.is_ok() { Tone::Plain } else { Tone::Failed };
    let (Ok(little) | Err(little)) = little;
    let (Ok(counts) | Err(counts)) = counts;
    Remark::new(tone, "checks:", format!("{little}; {counts}"))
}

/// The result of Little's law on the blocks that count; `Err` if it is broken somewhere.
fn little(record: &RunRecord) -> Result<String, String> {
    let mut held = 0;
    let mut broken = Vec::new();
    let mut skipped = Vec::new();
    for block in record.blocks.iter().filter(|block| block.failed.is_none()) {
        match &block.little {
            Little::Checked { holds: true, .. } => held += 1,
            Little::Checked { measured_in_flight, expected_in_flight, .. } => broken.push(format!(
                "{}: {} in flight expected, {} measured",
                place(record, block),
                number::three(*expected_in_flight),
                number::three(*measured_in_flight),
            )),
            Little::NotChecked { reason } => skipped.push(reason.as_str()),
        }
    }
    let checked = held + broken.len();
    let mut text = match checked {
        0 => "Little's law was not checked".to_owned(),
        _ => format!("Little's law held on {held} of {checked} blocks"),
    };
    if let Some(first) = broken.first() {
        text += &format!(" (broken first in {first})");
    }
    match skipped.first() {
        Some(reason) if checked > 0 => {
            text += &format!(", not checked on {} ({reason})", skipped.len())
        }
        Some(reason) => text += &format!(" ({reason})"),
        None => {}
    }
    if broken.is_empty() { Ok(text) } else { Err(text) }
}

/// `Err` if the counts of a block do not add up.
fn counts(record: &RunRecord) -> Result<String, String> {
    for block in &record.blocks {
        if let Err(error) = block.counts.check() {
            return Err(format!("counts do NOT add up in {}: {error}", place(record, block)));
        }
    }
    Ok("counts add up".to_owned())
}

/// `ws, round 3`; rounds from 1, as people count.
fn place(record: &RunRecord, block: &Block) -> String {
    format!("{}, round {}", row::name(record, block.workload), block.round.saturating_add(1))
}

/// The warnings of the record, each with its evidence and its advice.
pub(crate) fn warnings(record: &RunRecord) -> impl Iterator<Item = Remark> + '_ {
    record.warnings.iter().map(|warning| {
        let mut text = warning.message.clone();
        if !warning.evidence.is_empty() {
            text += &format!(" ({})", warning.evidence);
        }
        if !warning.advice.is_empty() {
            text += &format!("; {}", warning.advice);
        }
        Remark::new(Tone::Doubtful, "warning:", text)
    })
}

/// `memory grows 58.6 MiB/min [58.5, 58.8], over 50 blocks in 1m58s`: a line for each number that drifts.
pub(crate) fn drifts(record: &RunRecord) -> impl Iterator<Item = Remark> + '_ {
    record.drifts.iter().filter(|drift| drift.is_shown).map(|drift| {
        let name = match row::count(record) {
            0 | 1 => String::new(),
            _ => format!("{}: ", row::name(record, drift.workload)),
        };
        Remark::new(Tone::Doubtful, "drift:", format!("{name}{}", drifting(drift)))
    })
}

fn drifting(drift: &Drift) -> String {
    let (what, unit, [up, down]) = match drift.number {
        Drifting::P50Ns => ("p50", Unit::Time, ["rises", "falls"]),
        Drifting::P99Ns => ("p99", Unit::Time, ["rises", "falls"]),
        Drifting::ServerCpuUsPerMessage => ("CPU/message", Unit::Cpu, ["rises", "falls"]),
        Drifting::ServerMemoryBytes => ("memory", Unit::Size, ["grows", "shrinks"]),
    };
    let Drift { per_minute, low, high, blocks, span_minutes, .. } = *drift;
    let (verb, [low, high]) =
        if per_minute > 0.0 { (up, [low, high]) } else { (down, [-high, -low]) };
    let scale = unit.scale([per_minute]);
    let [slope, low, high] = [per_minute.abs(), low, high].map(|it| scale.number(it.max(0.0)));
    let span = number::time(span_minutes * 60e9);
    let unit = scale.name;
    format!("{what} {verb} {slope} {unit}/min [{low}, {high}], over {blocks} blocks in {span}")
}
