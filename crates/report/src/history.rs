//! A history: a line for each record, and the trends of its numbers.

use crate::document::{Cell, Column, Document, Fact, Part, Section, Table, Tone};
use crate::number::{self, Unit};
use crate::requirements::unit;
use record::{Changed, Entry, EntryRow, Trend, TrendChange};
use spec::Metric;

/// The records: each with its numbers if it has one row, else with the number of its rows.
pub(crate) fn document(entries: &[Entry]) -> Document {
    let numbers = SHOWN.map(|(metric, head, unit)| (metric, Column::new(head, unit)));
    let words = ["record", "started", "experiment"].map(|head| Column::new(head, Unit::Words));
    let columns = words.into_iter().chain(numbers.map(|(_, column)| column));
    let columns = columns.chain([Column::new("tags", Unit::Words)]);
    let mut table = Table::new("", columns.collect());
    for entry in entries {
        let time = entry.started_at.get(..TIME_LETTERS).unwrap_or(&entry.started_at);
        let mut cells = vec![
            Cell::words(short(&entry.id)).judged(entry.verdict),
            Cell::words(time.replace('T', " ")),
            Cell::words(name(entry)),
        ];
        cells.extend(SHOWN.map(|(metric, ..)| match &entry.rows[..] {
            [row] => Cell::number(row.number(metric)),
            _ => Cell::Blank,
        }));
        let names = entry.baselines.iter().map(|name| format!("={name}"));
        let names: Vec<String> = names.chain(entry.tags.iter().cloned()).collect();
        cells.push(if names.is_empty() { Cell::Blank } else { Cell::words(names.join(" ")) });
        table.row(cells);
    }
    let section = Section::of_tables("", [table]);
    Document { sections: section.into_iter().collect(), ..Document::default() }
}

/// The trends, those of one row together: each with its changes, the newest first.
pub(crate) fn trends(all: &[Trend]) -> Document {
    let of_row = |one: &Trend, other: &Trend| series(one) == series(other);
    let section = |row: &[Trend]| {
        let Trend { experiment, row: name, machine, .. } = &row[0];
        let heading = format!("{experiment}, {name}");
        let machine = Part::Text(Tone::Plain, machine.clone());
        Section::new(&heading, vec![machine, Part::Facts(row.iter().map(changes).collect())])
    };
    Document { sections: all.chunk_by(of_row).map(section).collect(), ..Document::default() }
}

/// The row that a trend belongs to.
fn series(trend: &Trend) -> [&str; 4] {
    [&trend.experiment, &trend.row, &trend.machine, &trend.conditions]
}

/// The level of a number now, and a line for each of its changes.
fn changes(trend: &Trend) -> Fact {
    let show = |value: f64| unit(trend.metric).show(value);
    let (records, from) = (trend.records, day(&trend.from));
    let since = match trend.changes.len() {
        0 => format!("no change in {records} records since {from}"),
        1 => format!("1 change in {records} records since {from}"),
        count => format!("{count} changes in {records} records since {from}"),
    };
    let line = |TrendChange { id, at, before, after, with }: &TrendChange| {
        let by = number::ratio(after / before, None);
        let with = with.iter().map(|changed| format!("; {}", words(changed))).collect::<String>();
        let (id, day) = (short(id), day(at));
        format!("{day} from {id} on: {} -> {}, {by}{with}", show(*before), show(*after))
    };
    let now = format!("{} now; {since}", show(trend.now));
    let lines = [now].into_iter().chain(trend.changes.iter().rev().map(line)).collect();
    Fact { label: trend.metric.name().to_owned(), lines, ..Fact::default() }
}

/// `commit 1f0c3a9e -> 7b2d4680`.
fn words(changed: &Changed) -> String {
    let Changed { what, from, to } = changed;
    let [from, to] = [from, to].map(|value| if *what == "commit" { short(value) } else { value });
    format!("{what} {from} -> {to}")
}

/// `2026-11-23`.
fn day(time: &str) -> &str {
    time.split('T').next().unwrap_or(time)
}

/// `run ws://127.0.0.1:8080`, `chat (3 rows)`.
fn name(entry: &Entry) -> String {
    match &entry.rows[..] {
        [EntryRow { target, .. }] => format!("{} {target}", entry.experiment),
        rows => format!("{} ({} rows)", entry.experiment, rows.len()),
    }
}

/// The first letters of an id, which name a record to people.
pub(crate) fn short(id: &str) -> &str {
    id.get(..ID_LETTERS).unwrap_or(id)
}

const SHOWN: [(Metric, &str, Unit); 3] = [
    (Metric::P50, "p50", Unit::Time),
    (Metric::P99, "p99", Unit::Time),
    (Metric::MessagesPerS, "messages", Unit::Rate),
];
const ID_LETTERS: usize = 8;
/// `2026-11-23T14:08`.
const TIME_LETTERS: usize = 16;
