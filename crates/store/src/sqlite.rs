//! The store of one user: a database of SQLite, in one file.
//!
//! It is in WAL mode, so that who lists waits for nobody; those who write wait for each other. Each record is one
//! transaction, on the disk before [`Store::add`] answers.

use crate::migrations::MIGRATIONS;
use crate::{Filter, Store, StoreError, body, rows};
use record::{Entry, Level, RunRecord};
use rusqlite::{
    Connection, ErrorCode, OpenFlags, OptionalExtension as _, Transaction, TransactionBehavior,
    params,
};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use units::Nanos;

/// A database of SQLite.
#[derive(Debug)]
pub struct Sqlite {
    connection: Connection,
    /// Its path, for errors.
    name: String,
    patience: Nanos,
}

impl Sqlite {
    /// Opens the database `path`, and makes it if there is none. Tables of an earlier version are brought up to date.
    /// A program that has it locked is waited for as long as `patience`.
    ///
    /// # Errors
    ///
    /// It cannot be opened, is damaged, none of ours, or of a newer version.
    pub fn open(path: &Path, patience: Nanos) -> Result<Self, StoreError> {
        Self::opened(path, patience, OpenFlags::SQLITE_OPEN_CREATE)
    }

    /// The same for one that has to be there.
    ///
    /// # Errors
    ///
    /// As [`Sqlite::open`], and there is none.
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
        // It stays that way. Where others are at it just now, the next one to come does it.
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

    /// Does `work` in a transaction that writes.
    fn write<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let begun = self.connection.transaction_with_behavior(TransactionBehavior::Immediate);
        let done = begun.and_then(|transaction| {
            let done = work(&transaction)?;
            transaction.commit()?;
            Ok(done)
        });
        done.map_err(|error| self.told(&error))
    }

    fn told(&self, error: &rusqlite::Error) -> StoreError {
        told(&self.name, self.patience, error)
    }

    /// Everything that is wrong with the content of a record.
    fn check(&mut self, entry: &Entry) -> Option<String> {
        let id = &entry.id;
        let json = match self.json(id) {
            Ok(Some(json)) => json,
            Ok(None) => return Some(format!("record {id} has no content")),
            Err(error) => return Some(error.to_string()),
        };
        match RunRecord::from_json(&json) {
            Err(error) => Some(format!("record {id} cannot be read: {error}")),
            Ok(record) => {
                let file = entry.file.as_deref().map(Path::new);
                let (tags, baselines) = (entry.tags.clone(), entry.baselines.clone());
                let own = Entry { tags, baselines, ..Entry::of(&record, id.clone(), file) };
                let is_same = own == *entry;
                (!is_same)
                    .then(|| format!("the columns of record {id} are not those of its content"))
            }
        }
    }
}

impl Store for Sqlite {
    fn add(&mut self, entry: &Entry, json: &str) -> Result<bool, StoreError> {
        let packed = body::packed(json);
        self.write(|transaction| {
            let known = "SELECT EXISTS (SELECT 1 FROM records WHERE id = ?1)";
            let is_known: bool = transaction.query_row(known, [&entry.id], |row| row.get(0))?;
            let mut record = transaction.prepare(&format!(
                "INSERT INTO records ({}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) \
                 ON CONFLICT (id) DO UPDATE SET file = excluded.file, started_at = excluded.started_at, \
                 kind = excluded.kind, experiment = excluded.experiment, machine = excluded.machine, \
                 kernel = excluded.kernel, version = excluded.version, repository = excluded.repository, \
                 verdict = excluded.verdict",
                rows::RECORD
            ))?;
            rows::write_record(&mut record, entry)?;
            transaction.execute("DELETE FROM rows WHERE record = ?1", [&entry.id])?;
            let mut row = transaction.prepare(&format!(
                "INSERT INTO rows ({}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
                rows::ROW
            ))?;
            for (position, it) in entry.rows.iter().enumerate() {
                rows::write_row(&mut row, &entry.id, position, it)?;
            }
            let body = "INSERT OR REPLACE INTO bodies (record, json_zlib) VALUES (?1, ?2)";
            transaction.execute(body, params![entry.id, packed])?;
            Ok(!is_known)
        })
    }

    fn list(&mut self, filter: &Filter) -> Result<Vec<Entry>, StoreError> {
        let list = |connection: &mut Connection| {
            let transaction = connection.transaction()?;
            let mut records = transaction.prepare(&format!("SELECT {} {FOUND}", rows::RECORD))?;
            let Filter { experiment, machine, name, tag, target, verdict, limit } = filter;
            let verdict = verdict.map(Level::name);
            let limit = limit.map_or(-1, i64::from);
            let wanted = params![experiment, machine, name, tag, target, verdict, limit];
            let found = records.query_map(wanted, rows::read_record)?;
            let mut entries = found.collect::<rusqlite::Result<Vec<Entry>>>()?;
            let mut of_record = transaction.prepare(&format!(
                "SELECT {} FROM rows WHERE record = ?1 ORDER BY position",
                rows::ROW
            ))?;
            let tags = names(&transaction, "SELECT record, tag FROM tags ORDER BY tag")?;
            let baselines =
                names(&transaction, "SELECT record, name FROM baselines ORDER BY name")?;
            for entry in &mut entries {
                entry.tags = tags.get(&entry.id).cloned().unwrap_or_default();
                entry.baselines = baselines.get(&entry.id).cloned().unwrap_or_default();
                let rows = of_record.query_map([&entry.id], rows::read_row)?;
                entry.rows = rows.collect::<rusqlite::Result<_>>()?;
            }
            Ok(entries)
        };
        list(&mut self.connection).map_err(|error| self.told(&error))
    }

    fn json(&mut self, id: &str) -> Result<Option<String>, StoreError> {
        let packed = self.connection.query_row(
            "SELECT json_zlib FROM bodies WHERE record = ?1",
            [id],
            |row| row.get::<_, Vec<u8>>(0),
        );
        let packed = packed.optional().map_err(|error| self.told(&error))?;
        let Some(packed) = packed else { return Ok(None) };
        let json = body::unpacked(&packed).ok().filter(|json| body::id(json) == id);
        let damaged = || StoreError::Damaged {
            store: self.name.clone(),
            what: format!("record {id} is not what was written"),
        };
        json.map(Some).ok_or_else(damaged)
    }

    fn tag(&mut self, id: &str, tag: &str, is_set: bool) -> Result<bool, StoreError> {
        self.write(|transaction| {
            let statement = match is_set {
                true => "INSERT OR IGNORE INTO tags (record, tag) VALUES (?1, ?2)",
                false => "DELETE FROM tags WHERE record = ?1 AND tag = ?2",
            };
            Ok(transaction.execute(statement, [id, tag])? > 0)
        })
    }

    fn set_baseline(&mut self, name: &str, id: Option<&str>) -> Result<bool, StoreError> {
        self.write(|transaction| {
            let changed = match id {
                Some(id) => transaction.execute(
                    "INSERT INTO baselines (name, record) VALUES (?1, ?2) \
                     ON CONFLICT (name) DO UPDATE SET record = excluded.record \
                     WHERE record <> excluded.record",
                    [name, id],
                )?,
                None => transaction.execute("DELETE FROM baselines WHERE name = ?1", [name])?,
            };
            Ok(changed > 0)
        })
    }

    fn remove(&mut self, ids: &[String]) -> Result<(), StoreError> {
        self.write(|transaction| {
            let mut delete = transaction.prepare("DELETE FROM records WHERE id = ?1")?;
            ids.iter().try_for_each(|id| delete.execute([id]).map(drop))
        })
    }

    fn verify(&mut self) -> Result<Vec<String>, StoreError> {
        let texts = |statement: &str| {
            let mut statement = self.connection.prepare(statement)?;
            let texts = statement.query_map([], |row| row.get::<_, String>(0))?;
            texts.collect::<rusqlite::Result<Vec<String>>>()
        };
        let mut wrong = texts("PRAGMA integrity_check").map_err(|error| self.told(&error))?;
        wrong.retain(|line| line != "ok");
        if !wrong.is_empty() {
            return Ok(wrong);
        }
        let astray = texts("PRAGMA foreign_key_check").map_err(|error| self.told(&error))?;
        wrong.extend(astray.iter().map(|table| format!("a row of `{table}` is of no record")));
        let all = self.list(&Filter::default())?;
        wrong.extend(all.iter().filter_map(|entry| self.check(entry)));
        Ok(wrong)
    }
}

fn told(name: &str, patience: Nanos, error: &rusqlite::Error) -> StoreError {
    let store = name.to_owned();
    let damaged = |what: String| StoreError::Damaged { store: name.to_owned(), what };
    match (error, error.sqlite_error_code()) {
        (_, Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)) => {
            StoreError::Busy { store, patience }
        }
        (_, Some(ErrorCode::DatabaseCorrupt)) => damaged(error.to_string()),
        (_, Some(ErrorCode::NotADatabase)) => damaged("it is no database".to_owned()),
        (_, Some(ErrorCode::DiskFull)) => StoreError::Full { store },
        (_, Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied)) => {
            StoreError::ReadOnly { store }
        }
        (_, Some(ErrorCode::CannotOpen)) => StoreError::Unopened { store },
        (
            rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::SqliteFailure(
                rusqlite::ffi::Error { code: ErrorCode::Unknown, .. },
                _,
            ),
            _,
        ) => damaged(error.to_string()),
        _ => StoreError::Other { store, what: error.to_string() },
    }
}

/// The names of records, each under the id of its record.
fn names(
    transaction: &Transaction<'_>,
    statement: &str,
) -> rusqlite::Result<BTreeMap<String, Vec<String>>> {
    let mut statement = transaction.prepare(statement)?;
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let pairs = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    for pair in pairs {
        let (record, name) = pair?;
        all.entry(record).or_default().push(name);
    }
    Ok(all)
}

/// The records of a [`Filter`].
const FOUND: &str = "FROM records WHERE \
    (?1 IS NULL OR instr(lower(experiment), lower(?1)) > 0) AND \
    (?2 IS NULL OR instr(lower(machine), lower(?2)) > 0) AND \
    (?3 IS NULL OR substr(id, 1, length(?3)) = ?3 OR EXISTS ( \
        SELECT 1 FROM baselines WHERE record = id AND name = ?3)) AND \
    (?4 IS NULL OR EXISTS (SELECT 1 FROM tags WHERE record = id AND tag = ?4)) AND \
    (?5 IS NULL OR EXISTS (SELECT 1 FROM rows WHERE record = id AND \
        (instr(lower(target), lower(?5)) > 0 OR instr(lower(name), lower(?5)) > 0))) AND \
    (?6 IS NULL OR verdict = ?6) \
    ORDER BY started_at DESC, id DESC LIMIT ?7";

/// `wben`, which tells our databases from others.
const APPLICATION: i64 = 0x7762_656e;

#[cfg(test)]
mod tests {
    use super::*;

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
