//! The history: the store of all records that were kept, for those who look for one.

use crate::exit::{Exit, Failure};
use record::{Entry, RunRecord};
use std::path::Path;
use store::{Filter, Sqlite, Store, StoreError};
use units::Nanos;

/// The database, below the current directory.
pub(crate) const DATABASE: &str = ".wirebench/history.db";

/// Opens the history, if there is one.
///
/// # Errors
///
/// It cannot be opened; nothing is lost by that.
pub(crate) fn open() -> Result<Option<Sqlite>, Failure> {
    let database = Path::new(DATABASE);
    // What is there and cannot be looked at gives its error when it is opened.
    if matches!(database.try_exists(), Ok(false)) {
        return Ok(None);
    }
    Sqlite::open_existing(database, PATIENCE).map(Some).map_err(failure)
}

/// The records of the history that `filter` lets through, the newest first; none if there is no history.
///
/// # Errors
///
/// As [`open`].
pub(crate) fn list(filter: &Filter) -> Result<Vec<Entry>, Failure> {
    match open()? {
        Some(mut store) => store.list(filter).map_err(failure),
        None => Ok(Vec::new()),
    }
}

/// Opens the history, and makes it if there is none.
///
/// # Errors
///
/// As [`open`], and it cannot be made.
pub(crate) fn open_or_make() -> Result<Sqlite, StoreError> {
    let database = Path::new(DATABASE);
    if let Some(folder) = database.parent() {
        // Where it cannot be made the database cannot either, and that is told.
        std::fs::create_dir_all(folder).ok();
    }
    Sqlite::open(database, PATIENCE)
}

/// Adds the record `json`, which is in the file `path`. True if it was not there.
///
/// # Errors
///
/// The history cannot be written. The file has the record.
pub(crate) fn add(
    store: &mut Sqlite,
    record: &RunRecord,
    json: &str,
    path: &Path,
) -> Result<bool, StoreError> {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let here = std::env::current_dir().unwrap_or_default();
    // The folder of a project may be moved, with what is below it.
    let path = path.strip_prefix(here).unwrap_or(&path);
    store.add(&Entry::of(record, store::id(json), Some(path)), json)
}

/// An error of a store, for a command that is about it.
pub(crate) fn failure(error: StoreError) -> Failure {
    let exit = match &error {
        StoreError::Full { .. } | StoreError::ReadOnly { .. } => Exit::NOT_WRITTEN,
        StoreError::Busy { .. }
        | StoreError::Damaged { .. }
        | StoreError::Foreign { .. }
        | StoreError::Newer { .. }
        | StoreError::Other { .. }
        | StoreError::Unopened { .. } => Exit::USAGE,
    };
    Failure::new(exit, error)
}

/// The longest wait for others who write: each of them takes some milliseconds.
const PATIENCE: Nanos = Nanos::from_secs(10);
