//! A record as comma-separated values (RFC 4180, with plain line ends): a line for each row, with its numbers in full.

use crate::deliveries;
use crate::document::{Cell, Column, Table};
use crate::escape::escape;
use crate::measured::{Group, Measured, receiver_bytes, server_bytes};
use crate::number::{self, Unit};
use crate::{rows, verdict};
use record::{DeliveryCounts, Estimate, Kind, PerMetric, RunRecord, Subject, Summary};

/// A header line with the names of the columns, and a line for each row of `record`.
///
/// Names of columns carry units; numbers have all their digits and a decimal point. Missing values are empty, and
/// `failed` has the reason for a row without numbers. Intervals are 95 % intervals.
pub fn csv(record: &RunRecord) -> String {
    let verdict = verdict::of(record);
    let groups = Group::all(record, &verdict);
    let mut all: Vec<(&Measured<'_>, &Group<'_>)> =
        groups.iter().flat_map(|group| group.rows.iter().map(move |it| (it, group))).collect();
    all.sort_by_key(|(it, _)| it.row.index);
    let mut names: Vec<String> = BEFORE.map(str::to_owned).into();
    for (name, _) in METRICS {
        names.extend(["", "_low", "_high"].map(|end| format!("{name}{end}")));
    }
    names.extend(DELIVERIES.map(|(name, _)| name.to_owned()));
    for name in deliveries::TIMES {
        names.extend(
            ["p50", "p99"].map(|percentile| format!("{}_{percentile}_ns", name.replace(' ', "_"))),
        );
    }
    names.extend(AFTER.map(str::to_owned));
    let columns = names.into_iter().map(|name| Column::new(name, Unit::Words));
    let mut table = Table::new("", columns.collect());
    for (it, group) in all {
        table.row(cells(record, it, group));
    }
    print(&table)
}

fn cells(record: &RunRecord, it: &Measured<'_>, group: &Group<'_>) -> Vec<Cell> {
    let row = it.row;
    let subject = |subject: Option<&Subject>, ours: &str| {
        Cell::words(subject.map_or(ours, |subject| &subject.name))
    };
    let count = |count: u64| Cell::Number(number::float(count), None);
    let mut cells = vec![
        Cell::words(row.name()),
        subject(row.server(), ""),
        subject(row.client(), if record.kind == Kind::Imported { "" } else { "wirebench" }),
        Cell::words(row.transport()),
        count(row.connections()),
        count(row.size_bytes()),
        count(it.blocks.len() as u64),
        count(it.failed.len() as u64),
    ];
    for (_, of) in METRICS {
        let found = it.pooled().and_then(of);
        let ends = [found.and_then(|found| found.low), found.and_then(|found| found.high)];
        cells.push(Cell::number(found.map(|found| found.value)));
        cells.extend(ends.map(Cell::number));
    }
    cells.extend(of_rooms(it));
    let zero = group.zero().filter(|zero| zero.row.index != row.index);
    // A row without a result has no rank.
    let compared = zero.filter(|zero| zero.is_allowed && it.is_allowed);
    let ratio = compared.and_then(|zero| it.to_zero(zero));
    let ends = ratio.and_then(|ratio| ratio.interval);
    cells.extend([
        Cell::words(zero.map_or("", |zero| zero.row.name())),
        Cell::number(ratio.map(|ratio| ratio.value)),
        Cell::number(ends.map(|(low, _)| low)),
        Cell::number(ends.map(|(_, high)| high)),
        Cell::number(it.median(server_bytes)),
        Cell::number(it.median(receiver_bytes)),
        Cell::words(it.trust.level.name()),
        Cell::words(doubted(it)),
        Cell::words(match (it.result, it.failed.first()) {
            (Some(_), _) => "",
            (None, Some(reason)) => reason,
            (None, None) => rows::not_reached(record),
        }),
    ]);
    cells
}

/// The deliveries of rooms: their counts, and the times of entire messages.
fn of_rooms(it: &Measured<'_>) -> Vec<Cell> {
    let counts = deliveries::counts(it);
    let of_counts = DELIVERIES
        .map(|(_, of)| Cell::number(counts.as_ref().map(|counts| number::float(of(counts)))));
    let mut cells: Vec<Cell> = of_counts.into();
    let times = deliveries::times(it);
    for name in deliveries::TIMES {
        let found = times.iter().find(|(known, _)| *known == name).map(|(_, times)| times);
        let percentiles: [fn(&Summary) -> Option<u64>; 2] = [|it| it.p50_ns, |it| it.p99_ns];
        cells.extend(percentiles.map(|of| Cell::number(found.and_then(of).map(number::float))));
    }
    cells
}

/// `p90=degraded p99=invalid`: the numbers that are trusted less than the row.
fn doubted(it: &Measured<'_>) -> String {
    let numbers = it.trust.numbers.iter();
    let words = numbers
        .map(|(number, level)| format!("{}={}", verdict::number_words(*number), level.name()));
    words.collect::<Vec<String>>().join(" ")
}

/// `table` with all digits of its numbers.
fn print(table: &Table) -> String {
    let names = table.columns.iter().map(|column| column.head.clone()).collect::<Vec<String>>();
    let mut text = line(&names);
    for (_, row) in &table.rows {
        let cell = |cell: &Cell| match cell {
            Cell::Blank | Cell::Missing => String::new(),
            Cell::Words(text) => words(text),
            Cell::Number(value, _) | Cell::Difference(value, _) if value.is_finite() => {
                value.to_string()
            }
            Cell::Number(..) | Cell::Difference(..) | Cell::Judged(..) => String::new(),
        };
        text += &line(&row.iter().map(cell).collect::<Vec<String>>());
    }
    text
}

/// Escaped; a text that a spreadsheet would take for a formula gets an apostrophe before it.
fn words(text: &str) -> String {
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

type Metric = fn(&PerMetric<Estimate>) -> Option<Estimate>;
const METRICS: [(&str, Metric); 10] = [
    ("messages_per_s", |all| all.messages_per_s),
    ("round_trip_p50_ns", |all| all.round_trip_p50_ns),
    ("round_trip_p90_ns", |all| all.round_trip_p90_ns),
    ("round_trip_p99_ns", |all| all.round_trip_p99_ns),
    ("response_p50_ns", |all| all.response_p50_ns),
    ("response_p90_ns", |all| all.response_p90_ns),
    ("response_p99_ns", |all| all.response_p99_ns),
    ("generator_cpu_us_per_message", |all| all.generator_cpu_us_per_message),
    ("server_cpu_us_per_message", |all| all.server_cpu_us_per_message),
    ("wire_bytes_per_message", |all| all.wire_bytes_per_message),
];

type Count = fn(&DeliveryCounts) -> u64;
const DELIVERIES: [(&str, Count); 21] = [
    ("published", |all| all.published),
    ("deliveries_owed", |all| all.owed),
    ("delivered", |all| all.delivered),
    ("deliveries_lost", |all| all.lost),
    ("deliveries_cut_off", |all| all.cut),
    ("deliveries_in_flight_at_end", |all| all.in_flight_at_end),
    ("deliveries_duplicate", |all| all.duplicate),
    ("deliveries_out_of_order", |all| all.reordered),
    ("deliveries_not_owed_yet", |all| all.early),
    ("deliveries_foreign", |all| all.foreign),
    ("slow_deliveries_owed", |all| all.slow.owed),
    ("slow_delivered", |all| all.slow.delivered),
    ("slow_deliveries_lost", |all| all.slow.lost),
    ("slow_deliveries_cut_off", |all| all.slow.cut),
    ("slow_deliveries_in_flight_at_end", |all| all.slow.in_flight_at_end),
    ("away_deliveries_owed", |all| all.away.owed),
    ("away_delivered", |all| all.away.delivered),
    ("away_deliveries_lost", |all| all.away.lost),
    ("edge_deliveries_owed", |all| all.edge.owed),
    ("edge_delivered", |all| all.edge.delivered),
    ("edge_deliveries_lost", |all| all.edge.lost),
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

const AFTER: [&str; 9] = [
    "baseline",
    "p50_ratio",
    "p50_ratio_low",
    "p50_ratio_high",
    "server_memory_bytes",
    "server_memory_bytes_per_receiver",
    "believed",
    "doubted",
    "failed",
];
