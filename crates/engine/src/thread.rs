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

/// Lets all other threads run before this one, which only shows to people what others measure: it gets CPU time that no
/// other thread wants (`SCHED_IDLE`, sched(7)), and about 0.3 % of a core that all want. A thread that it keeps off a
/// core runs at once when it wakes; niceness 19 alone lets this one end its slice. Without effect where the system
/// refuses.
pub fn give_way() {
    let priority: libc::c_int = 0;
    // SAFETY: the kernel reads one int at the address, the whole of its `struct sched_param`; 0 is the calling thread.
    // Called by number, since musl's function of this name refuses.
    unsafe {
        libc::syscall(libc::SYS_sched_setscheduler, 0, libc::SCHED_IDLE, &raw const priority);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The scheduling policy of the calling thread, as the kernel has it (proc_pid_stat(5)).
    fn policy() -> i32 {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        // The name, in parentheses, may have spaces; the state behind it is field 3, the policy field 41.
        let (_, fields) = stat.rsplit_once(") ").unwrap();
        fields.split(' ').nth(38).unwrap().parse().unwrap()
    }

    #[test]
    fn a_thread_that_gives_way_does_so_alone() {
        let before = policy();
        let after = start("giver", || {
            give_way();
            policy()
        });
        assert_eq!(after.unwrap().join().unwrap(), libc::SCHED_IDLE);
        assert_eq!(policy(), before);
    }
}
