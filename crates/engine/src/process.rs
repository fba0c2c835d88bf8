//! Processes that do not outlive the one that started them.

use rustix::io::Errno;
use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Makes the process that `command` starts end with the thread that starts it, however that ends: the kernel sends it
/// SIGKILL, which a stopped process receives too. Processes that it starts itself are not ended by this.
pub fn end_with_this_thread(command: &mut Command) -> &mut Command {
    let parent = getpid();
    let settle = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // A parent that ended before that was set sends no signal any more.
        if getppid() == Some(parent) { Ok(()) } else { Err(Errno::SRCH.into()) }
    };
    // SAFETY: between fork and exec this makes two system calls; it takes no lock and allocates nothing.
    unsafe { command.pre_exec(settle) }
}
