//! What a record came to as comma-separated values (RFC 4180, with plain line ends): a line for each workload, with its
//! numbers in full.

use crate::escape::escape;
use crate::lab::rows::{Group, Row, message_ns, server_bytes};
use crate::steps;
use crate::verdict;
use record::{Estimate, Kind, PerMetric, RunRecord, Verdict};

/// A line for each workload of `record`, after one with the names of the columns.
///
/// Names have their units; numbers have all their digits and a point. What is missing is empty, and `failed` says why
/// where a workload has no numbers. Intervals are of 95 %.
pub fn csv(record: &RunRecord) -> String {
    let verdict = verdict::of(record);
    let groups = Group::all(record, &verdict);
    let mut rows: Vec<(&Row<'_>, &Group<'_>)> =
        groups.iter().flat_map(|group| group.rows.iter().map(move |row| (row, group))).collect();
    rows.sort_by_key(|(row, _)| row.index);
    let mut text = line(&names());
    for (row, group) in rows {
        text += &line(&cells(record, &verdict, row, group));
    }
    text
}

fn names() -> Vec<String> {
    let mut names: Vec<String> = BEFORE.map(str::to_owned).into();
    for metric in METRICS {
        names.extend([metric.name.to_owned(), format!("{}_low", metric.name)]);
        names.push(format!("{}_high", metric.name));
    }
    names.extend(AFTER.map(str::to_owned));
    names
}

fn cells(record: &RunRecord, verdict: &Verdict, row: &Row<'_>, group: &Group<'_>) -> Vec<String> {
    let workload = row.workload;
    let subject = |subject: &Option<record::Subject>, ours: &str| {
        text(subject.as_ref().map_or(ours, |subject| &subject.name))
    };
    let mut cells = vec![
        text(&workload.name),
        subject(&workload.server, ""),
        subject(&workload.client, if record.kind == Kind::Imported { "" } else { "wirebench" }),
        text(&workload.transport),
        workload.connections.to_string(),
        workload.message.size_bytes.to_string(),
        row.blocks.len().to_string(),
        row.failed.len().to_string(),
    ];
    for metric in METRICS {
        let found = row.result.and_then(|result| (metric.of)(&result.medians));
        cells.push(found.map_or_else(String::new, |found| number(found.value)));
        for end in [found.and_then(|found| found.low), found.and_then(|found| found.high)] {
            cells.push(end.map_or_else(String::new, number));
        }
    }
    let zero = group.zero().filter(|zero| zero.index != row.index);
    let ratio = zero.and_then(|zero| row.to(zero, message_ns));
    let ends = ratio.and_then(|ratio| ratio.interval);
    let optional = |value: Option<f64>| value.map_or_else(String::new, number);
    cells.extend([
        zero.map_or_else(String::new, |zero| text(&zero.workload.name)),
        optional(ratio.map(|ratio| ratio.value)),
        optional(ends.map(|(low, _)| low)),
        optional(ends.map(|(_, high)| high)),
        optional(row.median(server_bytes)),
        steps::name(steps::level(verdict, row.index)).to_owned(),
        text(failed(record, row)),
    ]);
    cells
}

/// Why a workload has no numbers; empty if it has.
fn failed<'a>(record: &'a RunRecord, row: &Row<'a>) -> &'a str {
    match (row.result, row.failed.first()) {
        (Some(_), _) => "",
        (None, Some(reason)) => reason,
        (None, None) if record.ended == record::Ended::Completed => "no block counts",
        (None, None) => "the run ended before its first block",
    }
}

/// All digits that tell it from any other.
fn number(value: f64) -> String {
    if value.is_finite() { value.to_string() } else { String::new() }
}

/// Escaped; a text that a spreadsheet would take for a formula gets an apostrophe before it.
fn text(text: &str) -> String {
    let safe = escape(text);
    if safe.starts_with(['=', '+', '-', '@']) { format!("'{safe}") } else { safe }
}

fn line(cells: &[String]) -> String {
    let cells: Vec<String> = cells
        .iter()
        .map(|cell| match cell.contains([',', '"', '\n']) {
            true => format!("\"{}\"", cell.replace('"', "\"\"")),
            false => cell.clone(),
        })
        .collect();
    format!("{}\n", cells.join(","))
}

struct Metric {
    name: &'static str,
    of: fn(&PerMetric<Estimate>) -> Option<Estimate>,
}

const METRICS: [Metric; 10] = [
    Metric { name: "messages_per_s", of: |all| all.messages_per_s },
    Metric { name: "round_trip_p50_ns", of: |all| all.round_trip_p50_ns },
    Metric { name: "round_trip_p90_ns", of: |all| all.round_trip_p90_ns },
    Metric { name: "round_trip_p99_ns", of: |all| all.round_trip_p99_ns },
    Metric { name: "response_p50_ns", of: |all| all.response_p50_ns },
    Metric { name: "response_p90_ns", of: |all| all.response_p90_ns },
    Metric { name: "response_p99_ns", of: |all| all.response_p99_ns },
    Metric { name: "generator_cpu_us_per_message", of: |all| all.generator_cpu_us_per_message },
    Metric { name: "server_cpu_us_per_message", of: |all| all.server_cpu_us_per_message },
    Metric { name: "wire_bytes_per_message", of: |all| all.wire_bytes_per_message },
];

const BEFORE: [&str; 8] = [
    "name",
    "server",
    "client",
    "transport",
    "connections",
    "message_bytes",
    "blocks",
    "blocks_failed",
];

const AFTER: [&str; 7] =
    ["baseline", "ratio", "ratio_low", "ratio_high", "server_memory_bytes", "believed", "failed"];
