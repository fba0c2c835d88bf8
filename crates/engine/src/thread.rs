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

/// The advice if no thread or process can be started.
pub const MORE_PROCESSES: &str = "raise the limit on processes and threads (`ulimit -u`; in a container, its pids limit), or end some";

/// Starts a thread, with a name that debuggers show.
///
/// # Errors
///
/// [`ThreadError`]: the user or the container is at its limit of threads, or memory is short.
pub fn start<T: Send + 'static>(
    name: &str,
    body: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, ThreadError> {
    Ok(Builder::new().name(name.to_owned()).spawn(body)?)
}

/// Starts a thread that ends before `scope` does.
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

/// Lets all other threads run before this one (niceness 19), which only shows what others measure. Has no effect if the
/// system refuses.
pub fn give_way() {
    // Linux takes the number of a thread, and changes that thread alone (setpriority(2)).
    let _refused = rustix::process::setpriority_process(Some(rustix::thread::gettid()), 19);
}

/// Gives this thread only CPU time that no other thread wants (`SCHED_IDLE`, sched(7)), and about 0.3 % of a contended
/// core: enough to draw a screen, too little for more. A waking thread takes the core from this one at once; from a
/// thread that only [gives way](give_way), it may have to wait for the end of a time slice. Has no effect if the system
/// refuses.
pub fn run_when_idle() {
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

    /// The niceness and the scheduling policy of the calling thread, as the kernel has them (proc_pid_stat(5)).
    fn niceness_and_policy() -> [i32; 2] {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        // The name, in parentheses, may contain spaces; the state after it is field 3.
        let (_, fields) = stat.rsplit_once(") ").unwrap();
        let fields: Vec<&str> = fields.split(' ').collect();
        [19, 41].map(|field| fields[field - 3].parse().unwrap())
    }

    #[test]
    fn a_thread_that_gives_way_does_so_alone() {
        let before = niceness_and_policy();
        let after = |way: fn()| {
            let changed = move || {
                way();
                niceness_and_policy()
            };
            start("giver", changed).unwrap().join().unwrap()
        };
        assert_eq!(after(give_way), [19, before[1]]);
        assert_eq!(after(run_when_idle), [before[0], libc::SCHED_IDLE]);
        assert_eq!(niceness_and_policy(), before);
    }
}
