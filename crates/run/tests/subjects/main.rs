//! Subjects in a run: small scripts that serve and send, and others that die, lie, or answer wrongly.
//!
//! This binary has a `main` of its own because it is also the keeper: it starts itself again as one, and a test harness
//! would print to stdout. The arguments are words: a test runs if its name contains one of them.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "these are tests, which clippy cannot see without the harness"
)]

mod blocks;
#[path = "../../../lab/tests/processes/harness.rs"]
mod harness;
mod journal;
mod plans;
mod scripts;

use std::process::ExitCode;

fn main() -> ExitCode {
    harness::run(std::env::args_os().skip(1), blocks::TESTS.iter().chain(journal::TESTS))
}

pub(crate) use harness::tests;
