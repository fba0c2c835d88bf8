//! Waits for a client subject that a stop signal can cut short.

use engine::thread;
use lab::{Client, ClientError};
use rustix::process::{Pid, Signal, kill_process};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use units::Nanos;

/// Waits for the client to do something. A signal that asks us to stop ends the client.
pub(crate) fn interruptibly<T>(
    client: &mut Client,
    interrupt: &AtomicUsize,
    wait: impl FnOnce(&mut Client) -> Result<T, ClientError>,
) -> Result<T, String> {
    let keeper = Pid::from_raw(client.process().keeper_pid().cast_signed());
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watch = || {
            while !is_over.load(Ordering::Relaxed) {
                if let Some(keeper) = keeper.filter(|_| interrupt.load(Ordering::Relaxed) != 0) {
                    kill_process(keeper, Signal::TERM).ok();
                    return;
                }
                std::thread::park_timeout(LOOK_EVERY.into());
            }
        };
        let watcher = thread::start_scoped(scope, "watcher", watch);
        let watcher = watcher.map_err(|error| error.to_string())?;
        let done = wait(client);
        is_over.store(true, Ordering::Relaxed);
        watcher.thread().unpark();
        done.map_err(|error| error.to_string())
    })
}

/// Time between two checks for a signal.
const LOOK_EVERY: Nanos = Nanos::from_millis(50);
