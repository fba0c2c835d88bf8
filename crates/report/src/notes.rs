//! What stands under the numbers of every report: how the run ended, checks, warnings.

use crate::number;
use crate::page::{Page, Tone};
use record::{Block, Ended, Little, RunRecord};

/// Says if the run did not end as planned.
pub(crate) fn ended(page: &mut Page, record: &RunRecord) {
    if let Some(words) = ended_words(record) {
        page.remark(Tone::Failed, "partial:", &words);
    }
}

/// Why the run did not end as planned; `None` if it did.
pub(crate) fn ended_words(record: &RunRecord) -> Option<String> {
    match &record.ended {
        Ended::Completed => None,
        Ended::Interrupted { signal } => {
            let name = match signal {
                2 => "SIGINT, Ctrl-C".to_owned(),
                15 => "SIGTERM".to_owned(),
                other => format!("signal {other}"),
            };
            Some(format!("ended by {name}; this is what was measured until then."))
        }
        Ended::Partial { reason } => Some(reason.clone()),
    }
}

/// One line on what was checked: Little's law on every block, and that counts add up.
pub(crate) fn checks(page: &mut Page, record: &RunRecord) {
    let little = little(record);
    let counts = counts(record);
    let tone = if little.is_ok() && counts.is_ok() { Tone::Plain } else { Tone::Failed };
    let (Ok(little) | Err(little)) = little;
    let (Ok(counts) | Err(counts)) = counts;
    page.remark(tone, "checks:", &format!("{little}; {counts}"));
}

/// What the check of Little's law came to on the blocks that count; `Err` if it is broken somewhere.
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

/// Whether the counts of every block add up; `Err` if not.
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
    let name =
        record.plan.workloads.get(block.workload).map_or("?", |workload| workload.name.as_str());
    format!("{name}, round {}", block.round.saturating_add(1))
}

/// What makes the numbers doubtful, and what to do about it.
pub(crate) fn warnings(page: &mut Page, record: &RunRecord) {
    for warning in &record.warnings {
        let mut text = warning.message.clone();
        if !warning.evidence.is_empty() {
            text += &format!(" ({})", warning.evidence);
        }
        if !warning.advice.is_empty() {
            text += &format!("; {}", warning.advice);
        }
        page.remark(Tone::Doubtful, "warning:", &text);
    }
}
