//! wirebench: what a real-time transport costs, measured beside a bare TCP socket.
//!
//! This is the only crate that reads arguments and the environment, prints, and writes files. Arguments become a
//! [`run::Plan`] (`args`), the plan is carried out (crate `run`), its record is kept (`files`) and shown (crate
//! `report`).
//!
//! Start reading at [`main`], then `args::outcome`.

mod args;
mod certificate;
mod ci;
mod config;
mod data;
mod date;
mod exit;
mod files;
mod history;
mod input;
mod lines;
mod metrics;
mod progress;
#[cfg(any(feature = "fleet", feature = "web"))]
mod random;
mod screen;
mod signals;
mod terminal;

use args::{Invocation, Stop};
use exit::Exit;
use std::ffi::OsString;
use std::process::ExitCode;
use terminal::{Label, Talk, Terminal, When};

/// Replaces musl's allocator, which has one lock for all threads.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    if arguments.get(1).is_some_and(|word| word == lab::keeper::SUBCOMMAND) {
        // The process around a subject, which we start ourselves: nothing else may happen in it.
        return lab::keeper::keep(arguments.into_iter().skip(2)).into();
    }
    let ended = Invocation::read(arguments).and_then(|invocation| Ok(invocation.run()?));
    let exit = match ended {
        Ok(exit) => exit,
        Err(stop) => tell(&stop, &Terminal::new(When::Auto, Talk::Usual)),
    };
    exit.into()
}

/// Says why there is nothing more to do.
fn tell(stop: &Stop, terminal: &Terminal) -> Exit {
    match stop {
        Stop::Failed(failure) => {
            terminal.say_labelled(Label::Error, &failure.to_string());
            failure.exit
        }
        Stop::Told(error) if error.use_stderr() => {
            terminal.say(error.render().to_string().trim_end());
            Exit::USAGE
        }
        Stop::Told(help) => match terminal.result(&help.render().to_string()) {
            Ok(()) => Exit::DONE,
            Err(failure) => failure.exit,
        },
    }
}
