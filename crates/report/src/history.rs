//! A history: a line for each record.

use crate::document::{Cell, Column, Document, Section, Table};
use crate::number::Unit;
use record::{Entry, EntryRow};
use spec::Metric;

/// The records, with the numbers of each that has one row; of the others the number of rows.
pub(crate) fn document(entries: &[Entry]) -> Document {
    let numbers = SHOWN.map(|(metric, head, unit)| (metric, Column::new(head, unit)));
    let words = ["record", "started", "experiment"].map(|head| Column::new(head, Unit::Words));
    let columns = words.into_iter().chain(numbers.map(|(_, column)| column));
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
        table.row(cells);
    }
    let section = Section::of_tables("", [table]);
    Document { sections: section.into_iter().collect(), ..Document::default() }
}

/// `run ws://127.0.0.1:8080`, `chat (3 rows)`.
fn name(entry: &Entry) -> String {
    match &entry.rows[..] {
        [EntryRow { target, .. }] => format!("{} {target}", entry.experiment),
        rows => format!("{} ({} rows)", entry.experiment, rows.len()),
    }
}

/// The letters of an id by which a record is named to people.
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
