//! The store of one user: an SQLite database, in one file.
//!
//! It is in WAL mode, so that readers wait for nobody; writers wait for each other. Each record is one transaction, on
//! the disk before [`crate::Store::add`] returns.

use crate::StoreError;
use crate::database::{Access, Cell, Database, Statements, Value};
use crate::migrations::SQLITE as MIGRATIONS;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{
    Connection, ErrorCode, OpenFlags, ToSql, Transaction, TransactionBehavior, params_from_iter,
};
use std::path::Path;
use std::time::Duration;
use units::Nanos;

/// An SQLite database.
#[derive(Debug)]
pub struct Sqlite {
    connection: Connection,
    /// Its path, for errors.
    name: String,
    patience: Nanos,
}

impl Sqlite {
    /// Opens the database `path`, and creates it if there is none. Tables of an earlier version are brought up to date.
    /// Waits up to `patience` for a program that has it locked.
    ///
    /// # Errors
    ///
    /// It cannot be opened, is damaged, is not one of wirebench's, or has a newer version.
    pub fn open(path: &Path, patience: Nanos) -> Result<Self, StoreError> {
        Self::opened(path, patience, OpenFlags::SQLITE_OPEN_CREATE)
    }

    /// Opens the database `path`, which has to exist.
    ///
    /// # Errors
    ///
    /// As for [`Sqlite::open`], or there is none.
    pub fn open_existing(path: &Path, patience: Nanos) -> Result<Self, StoreError> {
        Self::opened(path, patience, OpenFlags::empty())
    }

    fn opened(path: &Path, patience: Nanos, create: OpenFlags) -> Result<Self, StoreError> {
        let name = path.display().to_string();
        let told = |error| told(&name, patience, &error);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | create;
        let connection = Connection::open_with_flags(path, flags).map_err(told)?;
        let mut store = Self { connection, name, patience };
        store.prepare().map_err(|error| store.told(&error))?;
        store.migrate()?;
        Ok(store)
    }

    fn prepare(&self) -> rusqlite::Result<()> {
        let connection = &self.connection;
        connection.busy_timeout(Duration::from_nanos(self.patience.0))?;
        connection.execute_batch("PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL;")
    }

    /// Brings the tables up to date, if they are not.
    fn migrate(&mut self) -> Result<(), StoreError> {
        let version = self.version()?;
        if version < MIGRATIONS.len() {
            self.migrate_from_any().map_err(|error| self.told(&error))?;
        }
        // The mode is persistent. If others use the database right now and this fails, the next program to open it sets
        // it.
        self.connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())).ok();
        Ok(())
    }

    /// The number of migrations that the database has.
    fn version(&self) -> Result<usize, StoreError> {
        let number = |name: &str| self.connection.query_row(name, [], |row| row.get::<_, i64>(0));
        let told = |error| self.told(&error);
        let version = number("PRAGMA user_version").map_err(told)?;
        let application = number("PRAGMA application_id").map_err(told)?;
        let tables = number("SELECT count(*) FROM sqlite_schema").map_err(told)?;
        let name = self.name.clone();
        if application != APPLICATION && tables > 0 {
            return Err(StoreError::Foreign { store: name });
        }
        let known = MIGRATIONS.len();
        let fits = usize::try_from(version).ok().filter(|version| *version <= known);
        fits.ok_or(StoreError::Newer { store: name, version, known })
    }

    fn migrate_from_any(&mut self) -> rusqlite::Result<()> {
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Another process may have done it meanwhile.
        let version: u32 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        for (statements, next) in MIGRATIONS.iter().zip(1_u32..).skip(version as usize) {
            transaction.execute_batch(statements)?;
            transaction.pragma_update(None, "user_version", next)?;
        }
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        transaction.commit()
    }

    fn told(&self, error: &rusqlite::Error) -> StoreError {
        told(&self.name, self.patience, error)
    }
}

impl Database for Sqlite {
    fn name(&self) -> &str {
        &self.name
    }

    fn transaction<T>(
        &mut self,
        access: Access,
        mut work: impl FnMut(&mut dyn Statements) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let (name, patience) = (self.name.as_str(), self.patience);
        let told = |error| told(name, patience, &error);
        let behavior = match access {
            Access::Read => TransactionBehavior::Deferred,
            Access::Write => TransactionBehavior::Immediate,
        };
        let transaction = self.connection.transaction_with_behavior(behavior).map_err(told)?;
        let mut begun = Begun { transaction, name, patience };
        let done = work(&mut begun)?;
        begun.transaction.commit().map_err(told)?;
        Ok(done)
    }

    fn faults(&mut self) -> Result<Vec<String>, StoreError> {
        let texts = |statement: &str| {
            let mut statement = self.connection.prepare(statement)?;
            let texts = statement.query_map([], |row| row.get::<_, String>(0))?;
            texts.collect::<rusqlite::Result<Vec<String>>>()
        };
        let mut faults = texts("PRAGMA integrity_check").map_err(|error| self.told(&error))?;
        faults.retain(|line| line != "ok");
        if faults.is_empty() {
            let astray = texts("PRAGMA foreign_key_check").map_err(|error| self.told(&error))?;
            faults.extend(
                astray.iter().map(|table| format!("`{table}` has a row whose record is missing")),
            );
        }
        Ok(faults)
    }
}

/// An open transaction.
struct Begun<'a> {
    transaction: Transaction<'a>,
    name: &'a str,
    patience: Nanos,
}

impl Statements for Begun<'_> {
    fn execute(&mut self, statement: &str, values: &[Value<'_>]) -> Result<u64, StoreError> {
        let execute = || {
            let mut statement = self.transaction.prepare(statement)?;
            statement.execute(params_from_iter(values))
        };
        let changed = execute().map_err(|error| told(self.name, self.patience, &error))?;
        Ok(u64::try_from(changed).unwrap_or(u64::MAX))
    }

    fn query(
        &mut self,
        statement: &str,
        values: &[Value<'_>],
    ) -> Result<Vec<Vec<Cell>>, StoreError> {
        let query = || {
            let mut statement = self.transaction.prepare(statement)?;
            let width = statement.column_count();
            let rows = statement.query_map(params_from_iter(values), |row| {
                (0..width).map(|column| cell(row.get_ref(column)?)).collect()
            })?;
            rows.collect::<rusqlite::Result<Vec<Vec<Cell>>>>()
        };
        query().map_err(|error| told(self.name, self.patience, &error))
    }
}

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self {
            Value::Bytes(bytes) => bytes.to_sql(),
            Value::Integer(number) => number.to_sql(),
            Value::Real(number) => number.to_sql(),
            Value::Text(text) => text.to_sql(),
        }
    }
}

fn cell(value: ValueRef<'_>) -> rusqlite::Result<Cell> {
    Ok(match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(number) => Cell::Integer(number),
        ValueRef::Real(number) => Cell::Real(number),
        ValueRef::Text(_) => Cell::Text(value.as_str()?.to_owned()),
        ValueRef::Blob(bytes) => Cell::Bytes(bytes.to_owned()),
    })
}

fn told(name: &str, patience: Nanos, error: &rusqlite::Error) -> StoreError {
    let store = name.to_owned();
    let damaged = |what: String| StoreError::Damaged { store: name.to_owned(), what };
    match (error, error.sqlite_error_code()) {
        (_, Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)) => {
            StoreError::Busy { store, patience }
        }
        (_, Some(ErrorCode::DatabaseCorrupt)) => damaged(error.to_string()),
        (_, Some(ErrorCode::NotADatabase)) => damaged("it is not a database".to_owned()),
        (_, Some(ErrorCode::DiskFull)) => StoreError::Full { store },
        (_, Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied)) => {
            StoreError::ReadOnly { store }
        }
        (_, Some(ErrorCode::CannotOpen)) => StoreError::Unopened { store },
        (
            // A text that is not UTF-8.
            rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::SqliteFailure(
                rusqlite::ffi::Error { code: ErrorCode::Unknown, .. },
                _,
            ),
            _,
        ) => damaged(error.to_string()),
        _ => StoreError::Other { store, what: error.to_string() },
    }
}

/// The application id that distinguishes wirebench's databases from others: `wben` in ASCII.
const APPLICATION: i64 = 0x7762_656e;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Filter, Store, body};
    use record::{Entry, RunRecord};

    #[test]
    fn a_disk_that_is_full_is_told_and_what_was_there_stays() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Sqlite::open(&folder.path().join("history.db"), Nanos::ZERO).unwrap();
        let json = include_str!("../../record/tests/it/version_1.json");
        let record = RunRecord::from_json(json).unwrap();
        let add = |store: &mut Sqlite, second: u32| {
            let json = json.replace("10:20:30", &format!("10:20:{second}"));
            store.add(&Entry::of(&record, body::id(&json), None), &json)
        };
        add(&mut store, 10).unwrap();
        // As many pages as it has, and a few more.
        store.connection.pragma_update(None, "max_page_count", 12).unwrap();
        let told = (11..60).find_map(|second| add(&mut store, second).err());
        assert!(matches!(told, Some(StoreError::Full { .. })), "{told:?}");
        let there = store.list(&Filter::default()).unwrap();
        assert!(there.iter().all(|entry| matches!(store.json(&entry.id), Ok(Some(_)))));
    }
}
