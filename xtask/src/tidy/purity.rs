//! What the code of a crate may touch: pure crates nothing of the machine, only `engine` the unsafe, only the
//! binary the terminal.
//!
//! Code is read as text: without comments, and up to the tests of a module. That is cruder than a compiler and good
//! enough to catch a slip.

use super::{Complaint, File};

/// The crates of floors 1 and 2.
const PURE: &[&str] = &["units", "wire", "load", "stats", "record"];
/// What a pure crate takes as an argument instead.
const IMPURE: &[&str] =
    &["std::net", "std::time::Instant", "SystemTime::now", "std::thread", "std::fs", "std::env"];
const PRINTS: &[&str] = &["println!", "print!", "eprintln!", "eprint!"];

/// Checks one source file of a crate.
pub(super) fn check(file: &File) -> Vec<Complaint> {
    let Some(name) = file.source_of() else { return Vec::new() };
    let mut complaints = Vec::new();
    for (line, code) in code(file) {
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
        if name != "wirebench" && PRINTS.iter().any(|print| has_word(&code, print)) {
            complaints.push(file.complain(line, "only `wirebench` prints"));
        }
    }
    complaints
}

/// The lines before the tests of the file, without comments; a `use` over several lines becomes one.
fn code(file: &File) -> Vec<(usize, String)> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    let mut in_use = false;
    for (line, text) in file.lines().take_while(|(_, text)| text.trim() != "#[cfg(test)]") {
        let code = text.split("//").next().unwrap_or_default();
        match lines.last_mut().filter(|_| in_use) {
            Some((_, whole)) => whole.push_str(code),
            None => lines.push((line, code.to_owned())),
        }
        let starts_use = code.trim_start().trim_start_matches("pub ").starts_with("use ");
        in_use = (in_use || starts_use) && !code.contains(';');
    }
    lines
}

/// `use std::{fs, time::Instant}` as `std::fs`, `std::time::Instant`; any other line as it is.
fn expanded(code: &str) -> Vec<String> {
    let Some((before, rest)) = code.split_once("::{") else { return vec![code.to_owned()] };
    let mut depth = 0_u32;
    let mut paths = Vec::new();
    let mut path = before.to_owned() + "::";
    let stem = path.clone();
    for letter in rest.chars() {
        match letter {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            _ => {}
        }
        if letter == ',' && depth == 0 {
            paths.extend(expanded(&path));
            path.clone_from(&stem);
        } else if !letter.is_whitespace() {
            path.push(letter);
        }
    }
    paths.extend(expanded(&path));
    paths
}

/// Whether `word` stands in `code`, not as a part of a longer name.
fn has_word(code: &str, word: &str) -> bool {
    let of_name = |letter: char| letter.is_alphanumeric() || letter == '_';
    code.match_indices(word).any(|(at, _)| {
        let ends_open = word.ends_with(|last: char| !of_name(last));
        let after = code[at + word.len()..].starts_with(of_name) && !ends_open;
        !code[..at].ends_with(of_name) && !after
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::file;

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
}
