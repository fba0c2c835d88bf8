//! The wish to stop: the first SIGINT or SIGTERM asks, the second ends the program at once.
//!
//! The servers of a run are asked by the run alone: Ctrl-C reaches all processes of a terminal at the same time, and a
//! server that ended first would be a loss in the record.

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
    catch(&wish, SIGINT, Exit::INTERRUPTED)?;
    catch(&wish, SIGTERM, Exit::TERMINATED)?;
    Ok(wish)
}

/// From now on SIGTERM is a wish, and SIGINT is for the process that started this one.
pub(crate) fn listen_as_child() -> Result<Wish> {
    let wish = Wish::default();
    catch(&wish, SIGTERM, Exit::TERMINATED)?;
    flag::register(SIGINT, Arc::default()).context("cannot catch SIGINT")?;
    Ok(wish)
}

fn catch(wish: &Wish, signal: i32, exit: Exit) -> Result<()> {
    // In this order: the signal that sets the flag must not find it set.
    flag::register_conditional_shutdown(signal, exit.code().into(), Arc::clone(&wish.asked))
        .and_then(|_| flag::register(signal, Arc::clone(&wish.asked)))
        .and_then(|_| {
            let number = usize::try_from(signal).unwrap_or(0);
            flag::register_usize(signal, Arc::clone(&wish.signal), number)
        })
        .with_context(|| format!("cannot catch signal {signal}"))?;
    Ok(())
}
