//! An entry as columns, and columns as an entry.

use record::{Entry, EntryRow};
use rusqlite::types::{FromSqlError, Type};
use rusqlite::{Row, Statement, params};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The columns of a record, in the order of [`write_record`] and [`read_record`].
pub(crate) const RECORD: &str =
    "id, file, started_at, kind, experiment, machine, kernel, version, repository, verdict";
/// The columns of a row of a record, in the order of [`write_row`] and [`read_row`].
pub(crate) const ROW: &str = "record, position, name, target, verdict, p50_ns, p99_ns, messages_per_s, \
     server_cpu_us_per_message, memory_bytes_per_connection, conditions";

pub(crate) fn write_record(statement: &mut Statement<'_>, entry: &Entry) -> rusqlite::Result<()> {
    statement.execute(params![
        entry.id,
        entry.file,
        entry.started_at,
        entry.kind.name(),
        entry.experiment,
        entry.machine,
        entry.kernel,
        entry.version,
        entry.repository,
        entry.verdict.name(),
    ])?;
    Ok(())
}

/// The entry without its rows and names.
pub(crate) fn read_record(row: &Row<'_>) -> rusqlite::Result<Entry> {
    Ok(Entry {
        id: row.get(0)?,
        file: row.get(1)?,
        tags: Vec::new(),
        baselines: Vec::new(),
        started_at: row.get(2)?,
        kind: word(row, 3)?,
        experiment: row.get(4)?,
        machine: row.get(5)?,
        kernel: row.get(6)?,
        version: row.get(7)?,
        repository: row.get(8)?,
        verdict: word(row, 9)?,
        rows: Vec::new(),
    })
}

pub(crate) fn write_row(
    statement: &mut Statement<'_>,
    record: &str,
    position: usize,
    row: &EntryRow,
) -> rusqlite::Result<()> {
    statement.execute(params![
        record,
        i64::try_from(position).unwrap_or(i64::MAX),
        row.name,
        row.target,
        row.verdict.name(),
        row.p50_ns,
        row.p99_ns,
        row.messages_per_s,
        row.server_cpu_us_per_message,
        row.memory_bytes_per_connection,
        row.conditions,
    ])?;
    Ok(())
}

pub(crate) fn read_row(row: &Row<'_>) -> rusqlite::Result<EntryRow> {
    Ok(EntryRow {
        name: row.get(2)?,
        target: row.get(3)?,
        verdict: word(row, 4)?,
        p50_ns: row.get(5)?,
        p99_ns: row.get(6)?,
        messages_per_s: row.get(7)?,
        server_cpu_us_per_message: row.get(8)?,
        memory_bytes_per_connection: row.get(9)?,
        conditions: row.get(10)?,
    })
}

/// A value that records write as one word.
fn word<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    let unknown = FromSqlError::Other(format!("unknown word `{text}`").into());
    serde_json::from_value(Value::String(text)).map_err(|_| {
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(unknown))
    })
}
