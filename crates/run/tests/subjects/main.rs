//! Subjects in a run: small scripts that serve and send, and others that die, lie, or answer wrongly.
//!
//! This binary has a `main` of its own because it is also the keeper: it starts itself again for that, and a test
//! harness would say things on stdout. The arguments are words that the names of tests must have.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "these are tests, which clippy cannot see without the harness"
)]

mod blocks;
mod journal;
mod plans;
mod scripts;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1).peekable();
    if words.peek().is_some_and(|word| word == lab::keeper::SUBCOMMAND) {
        return lab::keeper::keep(words.skip(1)).into();
    }
    let words: Vec<String> = words.filter_map(|word| word.into_string().ok()).collect();
    let is_wanted = |name: &str| {
        let mut wanted = words.iter().filter(|word| !word.starts_with('-')).peekable();
        wanted.peek().is_none() || wanted.any(|word| name.contains(word.as_str()))
    };
    let all = blocks::TESTS.iter().chain(journal::TESTS);
    let wanted: Vec<_> = all.filter(|(name, _)| is_wanted(name)).collect();
    if words.iter().any(|word| word == "--list") {
        wanted.iter().for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    println!("\nrunning {} tests", wanted.len());
    let started: Vec<_> = wanted
        .into_iter()
        .map(|(name, test)| {
            let thread = std::thread::Builder::new().name((*name).to_owned());
            (name, thread.spawn(*test).expect("a thread can be started"))
        })
        .collect();
    let mut failed = 0;
    for (name, thread) in started {
        let is_ok = thread.join().is_ok();
        println!("test {name} ... {}", if is_ok { "ok" } else { "FAILED" });
        failed += usize::from(!is_ok);
    }
    println!("\ntest result: {}. {failed} failed\n", if failed == 0 { "ok" } else { "FAILED" });
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Lists tests under their own names.
macro_rules! tests {
    ($($name:ident),+ $(,)?) => {
        pub(crate) const TESTS: &[(&str, fn())] = &[$((stringify!($name), $name)),+];
    };
}
pub(crate) use tests;
