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

/// Lets all other threads run before this one (niceness 19), which only shows to people what others measure. Without
/// effect where the system refuses.
pub fn give_way() {
    // Linux takes the number of a thread, and changes that thread alone (setpriority(2)).
    let _refused = rustix::process::setpriority_process(Some(rustix::thread::gettid()), 19);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The niceness of the calling thread, as the kernel has it (proc_pid_stat(5)).
    fn niceness() -> i32 {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        // The name, in parentheses, may have spaces; the state behind it is field 3, the niceness field 19.
        let (_, fields) = stat.rsplit_once(") ").unwrap();
        fields.split(' ').nth(16).unwrap().parse().unwrap()
    }

    #[test]
    fn a_thread_that_gives_way_does_so_alone() {
        let before = niceness();
        let after = start("giver", || {
            give_way();
            niceness()
        });
        assert_eq!(after.unwrap().join().unwrap(), 19);
        assert_eq!(niceness(), before);
    }
}
