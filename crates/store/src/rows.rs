//! An entry as values of statements, and cells as an entry.

use crate::database::{Cell, Value};
use record::{Entry, EntryRow};
use serde::de::DeserializeOwned;

/// The values of a record, without its rows and names.
pub(crate) fn of_record(entry: &Entry) -> [Value<'_>; 10] {
    [
        Value::text(&entry.id),
        Value::Text(entry.file.as_deref()),
        Value::text(&entry.started_at),
        Value::text(entry.kind.name()),
        Value::text(&entry.experiment),
        Value::text(&entry.machine),
        Value::Text(entry.kernel.as_deref()),
        Value::text(&entry.version),
        Value::Text(entry.repository.as_deref()),
        Value::text(entry.verdict.name()),
    ]
}

/// The entry of these cells, without its rows and names.
///
/// # Errors
///
/// A cell is not of its kind; the sentence says which.
pub(crate) fn record(cells: Vec<Cell>) -> Result<Entry, String> {
    let mut cells = Cells(cells.into_iter());
    Ok(Entry {
        id: cells.text("id")?,
        file: cells.maybe_text("file")?,
        tags: Vec::new(),
        baselines: Vec::new(),
        started_at: cells.text("started_at")?,
        kind: cells.word("kind")?,
        experiment: cells.text("experiment")?,
        machine: cells.text("machine")?,
        kernel: cells.maybe_text("kernel")?,
        version: cells.text("version")?,
        repository: cells.maybe_text("repository")?,
        verdict: cells.word("verdict")?,
        rows: Vec::new(),
    })
}

/// The values of the row of `record` at this position.
pub(crate) fn of_row<'a>(record: &'a str, position: usize, row: &'a EntryRow) -> [Value<'a>; 11] {
    [
        Value::text(record),
        Value::Integer(i64::try_from(position).unwrap_or(i64::MAX)),
        Value::text(&row.name),
        Value::text(&row.target),
        Value::text(row.verdict.name()),
        Value::Real(row.p50_ns),
        Value::Real(row.p99_ns),
        Value::Real(row.messages_per_s),
        Value::Real(row.server_cpu_us_per_message),
        Value::Real(row.memory_bytes_per_connection),
        Value::text(&row.conditions),
    ]
}

/// The row of these cells, after the id of its record.
///
/// # Errors
///
/// As [`record`].
pub(crate) fn row(cells: Vec<Cell>) -> Result<(String, EntryRow), String> {
    let mut cells = Cells(cells.into_iter());
    let record = cells.text("record")?;
    cells.skip();
    let row = EntryRow {
        name: cells.text("name")?,
        target: cells.text("target")?,
        verdict: cells.word("verdict")?,
        p50_ns: cells.real("p50_ns")?,
        p99_ns: cells.real("p99_ns")?,
        messages_per_s: cells.real("messages_per_s")?,
        server_cpu_us_per_message: cells.real("server_cpu_us_per_message")?,
        memory_bytes_per_connection: cells.real("memory_bytes_per_connection")?,
        conditions: cells.text("conditions")?,
    };
    Ok((record, row))
}

/// The record and the name of these cells.
///
/// # Errors
///
/// As [`record`].
pub(crate) fn name(cells: Vec<Cell>) -> Result<(String, String), String> {
    let mut cells = Cells(cells.into_iter());
    Ok((cells.text("record")?, cells.text("name")?))
}

/// The cells of a row, from left to right.
struct Cells(std::vec::IntoIter<Cell>);

impl Cells {
    fn skip(&mut self) {
        self.0.next();
    }

    fn maybe_text(&mut self, column: &str) -> Result<Option<String>, String> {
        match self.0.next() {
            Some(Cell::Text(text)) => Ok(Some(text)),
            Some(Cell::Null) => Ok(None),
            other => Err(format!("column {column} has {other:?} where a text belongs")),
        }
    }

    fn text(&mut self, column: &str) -> Result<String, String> {
        let text = self.maybe_text(column)?;
        text.ok_or_else(|| format!("column {column} is empty where a text belongs"))
    }

    fn real(&mut self, column: &str) -> Result<Option<f64>, String> {
        match self.0.next() {
            Some(Cell::Real(number)) => Ok(Some(number)),
            Some(Cell::Null) => Ok(None),
            other => Err(format!("column {column} has {other:?} where a number belongs")),
        }
    }

    /// A value that records write as one word.
    fn word<T: DeserializeOwned>(&mut self, column: &str) -> Result<T, String> {
        let text = self.text(column)?;
        serde_json::from_value(serde_json::Value::String(text.clone()))
            .map_err(|_| format!("column {column} has the unknown word `{text}`"))
    }
}
