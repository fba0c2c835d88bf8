//! Signals: the first SIGINT, SIGTERM or SIGHUP asks the program to stop, the second ends it at once.
//!
//! Only the run stops its servers. Ctrl-C reaches all processes of a terminal at the same time, and a server that ended
//! first would be recorded as an error.

use crate::exit::Exit;
use anyhow::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};

/// A request to stop, set by the first signal.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wish {
    /// The number of the signal; 0 before there was one.
    pub(crate) signal: Arc<AtomicUsize>,
    /// True after the first signal.
    pub(crate) asked: Arc<AtomicBool>,
}

/// Catches SIGINT, SIGTERM and SIGHUP from now on; SIGHUP only if it is not ignored, as it is under `nohup`.
pub(crate) fn listen() -> Result<Wish> {
    let wish = Wish::default();
    // With a handler, a write beyond the file size limit is an error.
    flag::register(SIGXFSZ, Arc::default()).context("cannot catch SIGXFSZ")?;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    if !is_ignored(SIGHUP, &status) {
        catch(&wish, SIGHUP, Exit::HUNG_UP)?;
    }
    catch(&wish, SIGINT, Exit::INTERRUPTED)?;
    catch(&wish, SIGTERM, Exit::TERMINATED)?;
    Ok(wish)
}

fn catch(wish: &Wish, signal: i32, exit: Exit) -> Result<()> {
    // The order matters: the signal that sets the flag must not find it set.
    flag::register_conditional_shutdown(signal, exit.code().into(), Arc::clone(&wish.asked))
        .and_then(|_| flag::register(signal, Arc::clone(&wish.asked)))
        .and_then(|_| {
            let number = usize::try_from(signal).unwrap_or(0);
            flag::register_usize(signal, Arc::clone(&wish.signal), number)
        })
        .with_context(|| format!("cannot catch signal {signal}"))?;
    Ok(())
}

/// True if a process with this `/proc/PID/status` (proc(5)) ignores `signal`.
fn is_ignored(signal: i32, status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_is_ignored_if_its_bit_is_set() {
        let status = "Name:\twirebench\nSigBlk:\tffff\nSigIgn:\t0000000000001001\n";
        assert!(is_ignored(SIGHUP, status) && is_ignored(13, status));
        assert!(!is_ignored(SIGINT, status) && !is_ignored(SIGHUP, ""));
    }
}
