//! The errors of a server, and of the connection to it, with what to do about each.

use crate::StoreError;
use std::error::Error;
use std::io;
use std::time::Duration;
use tokio_postgres::error::SqlState;
use units::Nanos;

/// The result of `work`, unless it takes longer than `patience`.
pub(super) async fn in_time<T>(
    name: &str,
    patience: Nanos,
    work: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, StoreError> {
    match tokio::time::timeout(Duration::from_nanos(patience.0), work).await {
        Ok(done) => done.map_err(|error| told(name, patience, &error)),
        Err(_) => Err(unreachable(name, format!("no answer within {patience}"))),
    }
}

/// The longest wait for the locks of others. It ends before the wait for an answer does, so that it is reported as a
/// lock.
pub(super) const fn for_locks(patience: Nanos) -> Nanos {
    Nanos(patience.0 / 10 * 9)
}

fn unreachable(name: &str, what: String) -> StoreError {
    StoreError::Unreachable { store: name.to_owned(), what, attempts: 1 }
}

/// The error of the server or of the connection to it, with what to do.
pub(super) fn told(name: &str, patience: Nanos, error: &tokio_postgres::Error) -> StoreError {
    let store = name.to_owned();
    let Some(answer) = error.as_db_error() else {
        return match sources(error) {
            what if is_about_tls(error) => StoreError::Refused { store, what },
            what if is_cut(error) => unreachable(name, what),
            what => StoreError::Other { store, what },
        };
    };
    let what = answer.message().to_owned();
    // Classes of errors: the first two letters of the code (PostgreSQL, appendix A).
    match (answer.code(), answer.code().code().get(..2)) {
        (&SqlState::LOCK_NOT_AVAILABLE | &SqlState::QUERY_CANCELED, _) => {
            StoreError::Busy { store, patience: for_locks(patience) }
        }
        (&SqlState::DISK_FULL, _) => StoreError::Full { store },
        (&SqlState::INSUFFICIENT_PRIVILEGE | &SqlState::READ_ONLY_SQL_TRANSACTION, _)
        | (_, Some("28" | "3D")) => StoreError::Refused { store, what },
        (&SqlState::DATA_CORRUPTED | &SqlState::INDEX_CORRUPTED, _) => {
            StoreError::Damaged { store, what }
        }
        // It starts, stops or has too many connections; or the transaction conflicted with others.
        (&SqlState::TOO_MANY_CONNECTIONS, _) | (_, Some("57" | "08" | "40")) => {
            unreachable(name, what)
        }
        _ => StoreError::Other { store, what },
    }
}

/// True if a certificate, or the TLS of the server, is not to be trusted.
fn is_about_tls(error: &tokio_postgres::Error) -> bool {
    causes(error).any(|cause| {
        let inner = cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        inner.is_some_and(|inner| inner.is::<rustls::Error>())
    })
}

/// True if the connection to the server is broken.
fn is_cut(error: &tokio_postgres::Error) -> bool {
    error.is_closed() || causes(error).any(|cause| cause.is::<io::Error>())
}

/// The causes of an error: each is followed by its own cause.
fn causes<'a>(error: &'a dyn Error) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    let mut next = error.source();
    std::iter::from_fn(move || {
        let cause = next?;
        next = cause.source();
        Some(cause)
    })
}

/// An error and its causes in one line.
pub(super) fn sources(error: &dyn Error) -> String {
    causes(error).map(ToString::to_string).fold(error.to_string(), |words, cause| {
        match words.contains(&cause) {
            true => words,
            false => format!("{words}: {cause}"),
        }
    })
}
