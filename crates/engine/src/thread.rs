//! Threads, which the system may refuse to start.

use std::thread::{Builder, JoinHandle, Scope, ScopedJoinHandle};

/// The system's refusal to start a thread.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot start a thread: {reason}; {MORE_PROCESSES}")]
pub struct ThreadError {
    reason: String,
}

impl From<std::io::Error> for ThreadError {
    fn from(error: std::io::Error) -> Self {
        Self { reason: error.to_string() }
    }
}

/// The advice where no thread or process can be started.
pub const MORE_PROCESSES: &str = "allow more processes and threads (`ulimit -u`; of a container, its limit of pids), or end some";

/// Starts a thread with a name that debuggers show.
///
/// # Errors
///
/// [`ThreadError`]: the user or the container has as many as it may have, or memory is short.
pub fn start<T: Send + 'static>(
    name: &str,
    body: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, ThreadError> {
    Ok(Builder::new().name(name.to_owned()).spawn(body)?)
}

/// Starts one that ends before `scope` does.
///
/// # Errors
///
/// As [`start`].
pub fn start_scoped<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    body: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>, ThreadError> {
    Ok(Builder::new().name(name.to_owned()).spawn_scoped(scope, body)?)
}
