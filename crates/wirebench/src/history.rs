//! The history: the store of all records that were kept, in which to find them again.

use crate::exit::{Exit, Failure};
use record::{Entry, RunRecord};
use std::path::Path;
use store::{Filter, Sqlite, Store, StoreError};
use units::Nanos;

/// The database of a project, below the current directory.
pub(crate) const DATABASE: &str = ".wirebench/history.db";

/// The variable with the URL of a database that a team shares.
const VARIABLE: &str = "WIREBENCH_STORE";

/// Opens the history, if there is one.
///
/// # Errors
///
/// It cannot be opened; nothing is lost by that.
pub(crate) fn open() -> Result<Option<Box<dyn Store>>, Failure> {
    if let Some(url) = url() {
        return shared(&url).map(Some).map_err(failure);
    }
    let database = Path::new(DATABASE);
    // If this cannot be determined, opening the file reports the error.
    if matches!(database.try_exists(), Ok(false)) {
        return Ok(None);
    }
    let opened = Sqlite::open_existing(database, PATIENCE);
    opened.map(|store| Some(Box::new(store) as _)).map_err(failure)
}

/// Returns the records of the history that pass `filter`, the newest first; none if there is no history.
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
/// As [`open`], or it cannot be made.
pub(crate) fn open_or_make() -> Result<Box<dyn Store>, StoreError> {
    if let Some(url) = url() {
        return shared(&url);
    }
    let database = Path::new(DATABASE);
    if let Some(folder) = database.parent() {
        // If it cannot be made, opening the database fails and reports that.
        std::fs::create_dir_all(folder).ok();
    }
    Ok(Box::new(Sqlite::open(database, PATIENCE)?))
}

/// Adds the record `json`, which is in the file `path`. Returns true if it was not there yet.
///
/// # Errors
///
/// The history cannot be written. The file has the record.
pub(crate) fn add(
    store: &mut dyn Store,
    record: &RunRecord,
    json: &str,
    path: &Path,
) -> Result<bool, StoreError> {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let here = std::env::current_dir().unwrap_or_default();
    // Relative, since the folder of a project may be moved with everything below it; absolute for a team, which has
    // many.
    let below = path.strip_prefix(here).ok().filter(|_| url().is_none());
    store.add(&Entry::of(record, store::id(json), Some(below.unwrap_or(&path))), json)
}

/// The URL of the database of a team, if there is one.
fn url() -> Option<String> {
    let url = std::env::var_os(VARIABLE).filter(|url| !url.is_empty())?;
    Some(url.to_string_lossy().into_owned())
}

/// Opens the database of a team.
fn shared(url: &str) -> Result<Box<dyn Store>, StoreError> {
    if !["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme)) {
        return Err(StoreError::Address {
            address: VARIABLE.to_owned(),
            what: "it does not begin with postgres://".to_owned(),
        });
    }
    of_server(url)
}

#[cfg(feature = "postgres")]
fn of_server(url: &str) -> Result<Box<dyn Store>, StoreError> {
    Ok(Box::new(store::Postgres::open(url, PATIENCE)?))
}

#[cfg(not(feature = "postgres"))]
fn of_server(_: &str) -> Result<Box<dyn Store>, StoreError> {
    let what = "this wirebench was built without PostgreSQL; build it with `--features postgres`";
    Err(StoreError::Address { address: VARIABLE.to_owned(), what: what.to_owned() })
}

/// Returns the failure of a command whose store reports `error`.
pub(crate) fn failure(error: StoreError) -> Failure {
    let exit = match &error {
        StoreError::Full { .. } | StoreError::ReadOnly { .. } => Exit::NOT_WRITTEN,
        StoreError::Unreachable { .. } => Exit::UNREACHABLE,
        StoreError::Address { .. }
        | StoreError::Busy { .. }
        | StoreError::Damaged { .. }
        | StoreError::Foreign { .. }
        | StoreError::Newer { .. }
        | StoreError::Other { .. }
        | StoreError::Refused { .. }
        | StoreError::Unopened { .. } => Exit::USAGE,
    };
    Failure::new(exit, error)
}

/// The longest wait for others who write: each of them takes some milliseconds.
const PATIENCE: Nanos = Nanos::from_secs(10);
