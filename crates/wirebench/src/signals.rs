//! The wish to stop: the first SIGINT or SIGTERM asks, the second ends the program at once.

use crate::exit::Exit;
use anyhow::{Context, Result};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};

/// Set by the first signal.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wish {
    /// The number of the signal; 0 while there was none.
    pub(crate) signal: Arc<AtomicUsize>,
    /// Whether there was one.
    pub(crate) asked: Arc<AtomicBool>,
}

/// From now on signals are wishes.
pub(crate) fn listen() -> Result<Wish> {
    let wish = Wish::default();
    for (signal, exit) in [(SIGINT, Exit::INTERRUPTED), (SIGTERM, Exit::TERMINATED)] {
        // In this order: the signal that sets the flag must not find it set.
        flag::register_conditional_shutdown(signal, exit.code().into(), Arc::clone(&wish.asked))
            .and_then(|_| flag::register(signal, Arc::clone(&wish.asked)))
            .and_then(|_| {
                let number = usize::try_from(signal).unwrap_or(0);
                flag::register_usize(signal, Arc::clone(&wish.signal), number)
            })
            .with_context(|| format!("cannot catch signal {signal}"))?;
    }
    Ok(wish)
}
