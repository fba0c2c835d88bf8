//! Processes that do not outlive the one that started them.

use rustix::io::Errno;
use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Makes the process that `command` starts end with the thread that starts it, however that thread ends: the kernel
/// sends SIGKILL, which reaches a stopped process too. Processes that the started process starts itself go on.
pub fn end_with_this_thread(command: &mut Command) -> &mut Command {
    let parent = getpid();
    let settle = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // If the parent ended before this was set, no signal follows.
        if getppid() == Some(parent) { Ok(()) } else { Err(Errno::SRCH.into()) }
    };
    // SAFETY: between fork and exec this makes two system calls; it takes no lock and allocates nothing.
    unsafe { command.pre_exec(settle) }
}
