//! Purity: pure crates touch nothing of the machine, only `engine` has unsafe code, only the binary prints and reads
//! the environment, and tests do not sleep.

use super::code::{self, expanded, has_word};
use super::ratchet::Slip;
use super::{Complaint, File};

/// The crates of floors 1 and 2.
const PURE: &[&str] = &["units", "spec", "wire", "load", "stats", "record"];
/// Paths of the machine: a pure crate takes their values as arguments.
const IMPURE: &[&str] =
    &["std::net", "std::time::Instant", "SystemTime::now", "std::thread", "std::fs", "std::env"];
/// Calls that panic if the system refuses a thread.
const THREADS: &[&str] = &["thread::spawn", "scope.spawn"];
const PRINTS: &[&str] = &["println!", "print!", "eprintln!", "eprint!"];

/// Checks one source file of a crate.
pub(super) fn check(file: &File) -> Vec<Complaint> {
    let Some(name) = file.source_of() else { return Vec::new() };
    let mut complaints = Vec::new();
    for (line, code) in code::lines(file) {
        if PURE.contains(&name) {
            let touched = IMPURE
                .iter()
                .filter(|path| expanded(&code).iter().any(|code| has_word(code, path)));
            complaints.extend(
                touched.map(|path| file.complain(line, format!("`{name}` is pure: no {path}"))),
            );
        }
        if name != "engine" && has_word(&code, "unsafe") {
            complaints.push(file.complain(line, "unsafe code lives in `engine`"));
        }
        let is_test = file.path.ends_with("tests.rs");
        if !is_test && THREADS.iter().any(|call| has_word(&code, call)) {
            complaints
                .push(file.complain(line, "a thread may be refused: `engine::thread` says so"));
        }
        if name != "wirebench" && PRINTS.iter().any(|print| has_word(&code, print)) {
            complaints.push(file.complain(line, "only `wirebench` prints"));
        }
    }
    complaints
}

/// The lines of a crate's code that read the environment, which only `wirebench` may.
pub(super) fn reads_environment(file: &File) -> Vec<Slip> {
    if file.source_of().is_none_or(|name| name == "wirebench") {
        return Vec::new();
    }
    let reads = |code: &String| {
        expanded(code).iter().any(|code| ENVIRONMENT.iter().any(|path| has_word(code, path)))
    };
    let lines = code::lines(file).into_iter().filter(|(_, code)| reads(code));
    lines.map(|(line, _)| Slip::new(file, line, "only `wirebench` reads the environment")).collect()
}

/// The lines with unsafe code, in tests too.
pub(super) fn unsafe_code(file: &File) -> Vec<Slip> {
    if !file.is_rust() || !file.path.starts_with("crates/") {
        return Vec::new();
    }
    let lines = file.lines().filter(|(_, text)| {
        let code = text.split("//").next().unwrap_or_default();
        has_word(code, "unsafe")
    });
    lines.map(|(line, _)| Slip::in_file(file, line, "unsafe code")).collect()
}

/// The lines of tests that sleep.
pub(super) fn sleeps(file: &File) -> Vec<Slip> {
    if !file.is_rust() || !file.path.starts_with("crates/") {
        return Vec::new();
    }
    let lines = code::test_lines(file).into_iter();
    let asleep = lines.filter(|(_, code)| SLEEPS.iter().any(|path| has_word(code, path)));
    asleep
        .map(|(line, _)| Slip::new(file, line, "a test sleeps: wait for what it is about"))
        .collect()
}

const ENVIRONMENT: &[&str] =
    &["env::var", "env::var_os", "env::vars", "env::vars_os", "env::set_var", "env::remove_var"];
const SLEEPS: &[&str] = &["thread::sleep", "clock::sleep"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::file;

    #[test]
    fn unsafe_code_is_counted_in_tests_too() {
        let text =
            "unsafe { a() } // unsafe\nunsafe_code();\n#[cfg(test)]\nmod tests {\nunsafe {} }";
        let lines = |path: &str| -> Vec<usize> {
            unsafe_code(&file(path, text)).iter().map(Slip::line).collect()
        };
        assert_eq!(lines("crates/engine/src/socket.rs"), [1, 5]);
        assert_eq!(lines("subjects/a/main.rs"), [0; 0]);
    }

    fn check_one(path: &str, text: &str) -> Vec<(usize, String)> {
        check(&file(path, text))
            .into_iter()
            .map(|complaint| (complaint.line, complaint.what))
            .collect()
    }

    #[test]
    fn a_pure_crate_touches_nothing_of_the_machine() {
        for code in [
            "use std::net::TcpStream;",
            "use std::{collections::BTreeMap, fs};",
            "use std::{\n    time::{Duration, Instant},\n};",
            "let now = SystemTime::now();",
            "std::thread::yield_now();",
            "let path = std::env::var(\"PATH\");",
        ] {
            assert_eq!(check_one("crates/wire/src/lib.rs", code).len(), 1, "{code}");
            assert_eq!(check_one("crates/engine/src/lib.rs", code), [], "{code}");
        }
    }

    #[test]
    fn comments_tests_and_near_names_are_no_slip() {
        for code in [
            "//! No `std::fs` here.",
            "use std::time::Duration;",
            "use units::Instant;",
            "let environment = std::environment();",
            "#[cfg(test)]\nmod tests { use std::fs; }",
        ] {
            assert_eq!(check_one("crates/wire/src/lib.rs", code), [], "{code}");
        }
        assert_eq!(check_one("crates/wire/tests/it/main.rs", "use std::fs;"), []);
    }

    #[test]
    fn threads_are_started_where_a_refusal_is_an_error() {
        let code = "std::thread::spawn(work);\nscope.spawn(|| ());\nthread::start(work)?;";
        let words = "a thread may be refused: `engine::thread` says so".to_owned();
        let found = check_one("crates/run/src/lib.rs", code);
        assert_eq!(found, [(1, words.clone()), (2, words)]);
    }

    #[test]
    fn unsafe_code_lives_in_the_engine() {
        let code = "fn main() {}\nunsafe { call() }";
        assert_eq!(
            check_one("crates/drive/src/lib.rs", code),
            [(2, "unsafe code lives in `engine`".to_owned())]
        );
        assert_eq!(check_one("crates/engine/src/lib.rs", code), []);
        assert_eq!(check_one("crates/drive/src/lib.rs", "#![forbid(unsafe_code)]"), []);
    }

    #[test]
    fn only_the_binary_prints() {
        let code = "eprintln!(\"late\");";
        assert_eq!(
            check_one("crates/report/src/lib.rs", code),
            [(1, "only `wirebench` prints".to_owned())]
        );
        assert_eq!(check_one("crates/wirebench/src/main.rs", code), []);
    }

    #[test]
    fn only_the_binary_reads_the_environment() {
        for code in ["let path = std::env::var_os(name)?;", "use std::{env::vars, fs};"] {
            assert_eq!(
                reads_environment(&file("crates/lab/src/keeper.rs", code)).len(),
                1,
                "{code}"
            );
            assert_eq!(reads_environment(&file("crates/wirebench/src/main.rs", code)), []);
            assert_eq!(reads_environment(&file("crates/lab/tests/it/main.rs", code)), []);
        }
        let code = "let path = env!(\"PATH\"); std::env::args();";
        assert_eq!(reads_environment(&file("crates/lab/src/keeper.rs", code)), []);
    }

    #[test]
    fn tests_do_not_sleep() {
        let code = "fn wait() { std::thread::sleep(time); }";
        assert_eq!(sleeps(&file("crates/lab/tests/it/main.rs", code)).len(), 1);
        assert_eq!(sleeps(&file("crates/lab/src/lib.rs", code)), []);
        let code = format!("fn f() {{}}\n#[cfg(test)]\nmod tests {{\n    {code}\n}}");
        assert_eq!(sleeps(&file("crates/lab/src/lib.rs", &code)).len(), 1);
        assert_eq!(
            sleeps(&file("crates/lab/tests/it/main.rs", "sleep_until(due); // thread::sleep")),
            []
        );
    }
}
