//! Signals: the first SIGINT or SIGTERM asks the program to stop, the second ends it at once.
//!
//! Only the run stops its servers. Ctrl-C reaches all processes of a terminal at the same time, and a server that ended
//! first would be recorded as an error.

use crate::exit::Exit;
use anyhow::{Context, Result};
use signal_hook::consts::{SIGINT, SIGTERM};
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

/// Catches SIGINT and SIGTERM from now on.
pub(crate) fn listen() -> Result<Wish> {
    let wish = Wish::default();
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
