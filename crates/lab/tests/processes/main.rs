//! Subjects as processes: small scripts that behave, and others that do not.
//!
//! This binary has a `main` of its own because it is also the keeper: it starts itself again as one, and a test harness
//! would print to stdout. The arguments are words: a test runs if its name contains one of them.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "these are tests, which clippy cannot see without the harness"
)]

mod clients;
mod harness;
mod home;
mod keepers;
#[path = "../shared/manifest.rs"]
mod manifest;
mod scripts;
mod servers;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1).peekable();
    if words.peek().is_some_and(|word| word == keepers::PARENT) {
        return keepers::parent();
    }
    let all = keepers::TESTS.iter().chain(servers::TESTS).chain(clients::TESTS).chain(home::TESTS);
    harness::run(words, all)
}

pub(crate) use harness::tests;
