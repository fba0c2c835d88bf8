//! Runs the tests of a binary that is the keeper of its own subjects and so has no harness. The tests of `run` use it
//! too.

use std::ffi::OsString;
use std::process::ExitCode;

/// The name of a test and its function.
pub(crate) type Test = (&'static str, fn());

/// Runs the tests of `all` whose names contain one of the words, each on its own thread; or acts as the keeper, if the
/// first word says so.
pub(crate) fn run<'a>(
    words: impl Iterator<Item = OsString>,
    all: impl Iterator<Item = &'a Test>,
) -> ExitCode {
    let mut words = words.peekable();
    if words.peek().is_some_and(|word| word == lab::keeper::SUBCOMMAND) {
        return lab::keeper::keep(words.skip(1)).into();
    }
    let words: Vec<String> = words.filter_map(|word| word.into_string().ok()).collect();
    let is_wanted = |name: &str| {
        let mut wanted = words.iter().filter(|word| !word.starts_with('-')).peekable();
        wanted.peek().is_none() || wanted.any(|word| name.contains(word.as_str()))
    };
    let wanted: Vec<_> = all.filter(|(name, _)| is_wanted(name)).collect();
    if words.iter().any(|word| word == "--list") {
        wanted.iter().for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    let count = wanted.len();
    println!("\nrunning {count} tests");
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
    let (word, code) =
        if failed == 0 { ("ok", ExitCode::SUCCESS) } else { ("FAILED", ExitCode::FAILURE) };
    println!("\ntest result: {word}. {} passed; {failed} failed\n", count - failed);
    code
}

/// Lists tests under their own names.
macro_rules! tests {
    ($($name:ident),+ $(,)?) => {
        pub(crate) const TESTS: &[(&str, fn())] = &[$((stringify!($name), $name)),+];
    };
}
pub(crate) use tests;
