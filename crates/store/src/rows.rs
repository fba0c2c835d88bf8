//! Conversions of an entry to values of statements, and of cells to an entry.

use crate::database::{Cell, Value};
use crate::statements;
use record::{Entry, EntryRow};
use serde::de::DeserializeOwned;
use serde::de::value::{Error, StrDeserializer};

/// The values of a record, without its rows and names, in the order of [`statements::RECORD_COLUMNS`].
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
/// A cell has the wrong type; the message names its column.
pub(crate) fn record(cells: Vec<Cell>) -> Result<Entry, String> {
    let mut cells = Cells::new(statements::RECORD_COLUMNS, cells);
    Ok(Entry {
        id: cells.text()?,
        file: cells.maybe_text()?,
        tags: Vec::new(),
        baselines: Vec::new(),
        started_at: cells.text()?,
        kind: cells.word()?,
        experiment: cells.text()?,
        machine: cells.text()?,
        kernel: cells.maybe_text()?,
        version: cells.text()?,
        repository: cells.maybe_text()?,
        verdict: cells.word()?,
        rows: Vec::new(),
    })
}

/// The values of the row of `record` at this position, in the order of [`statements::ROW_COLUMNS`].
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
    let mut cells = Cells::new(statements::ROW_COLUMNS, cells);
    let record = cells.text()?;
    cells.take();
    let row = EntryRow {
        name: cells.text()?,
        target: cells.text()?,
        verdict: cells.word()?,
        p50_ns: cells.real()?,
        p99_ns: cells.real()?,
        messages_per_s: cells.real()?,
        server_cpu_us_per_message: cells.real()?,
        memory_bytes_per_connection: cells.real()?,
        conditions: cells.text()?,
    };
    Ok((record, row))
}

/// The record and the name of these cells.
///
/// # Errors
///
/// As [`record`].
pub(crate) fn name(cells: Vec<Cell>) -> Result<(String, String), String> {
    let mut cells = Cells::new("record, name", cells);
    Ok((cells.text()?, cells.text()?))
}

/// The cells of a row, from left to right.
struct Cells {
    /// The names of their columns, with `, ` between them.
    columns: &'static str,
    cells: std::vec::IntoIter<Cell>,
    taken: usize,
}

impl Cells {
    fn new(columns: &'static str, cells: Vec<Cell>) -> Self {
        Self { columns, cells: cells.into_iter(), taken: 0 }
    }

    /// Takes the next cell; `None`: the row is shorter than its columns.
    fn take(&mut self) -> Option<Cell> {
        self.taken += 1;
        self.cells.next()
    }

    /// The column of the cell that was taken last.
    fn column(&self) -> &'static str {
        self.columns.split(", ").take(self.taken).last().unwrap_or_default()
    }

    fn maybe_text(&mut self) -> Result<Option<String>, String> {
        match self.take() {
            Some(Cell::Text(text)) => Ok(Some(text)),
            Some(Cell::Null) => Ok(None),
            other => Err(format!("column {} has {other:?} where a text belongs", self.column())),
        }
    }

    fn text(&mut self) -> Result<String, String> {
        let text = self.maybe_text()?;
        text.ok_or_else(|| format!("column {} is empty where a text belongs", self.column()))
    }

    fn real(&mut self) -> Result<Option<f64>, String> {
        match self.take() {
            Some(Cell::Real(number)) => Ok(Some(number)),
            Some(Cell::Null) => Ok(None),
            other => Err(format!("column {} has {other:?} where a number belongs", self.column())),
        }
    }

    /// A value that records write as one word.
    fn word<T: DeserializeOwned>(&mut self) -> Result<T, String> {
        let text = self.text()?;
        T::deserialize(StrDeserializer::<Error>::new(&text))
            .map_err(|_| format!("column {} has the unknown word `{text}`", self.column()))
    }
}
