//! Code read as text: without comments, and up to the tests of a module.
//!
//! That is cruder than a compiler and good enough to catch a slip.

use super::File;

/// The lines before the tests of the file, without comments; a `use` over several lines becomes one.
pub(super) fn lines(file: &File) -> Vec<(usize, String)> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    let mut in_use = false;
    for (line, text) in file.lines().take_while(|(_, text)| text.trim() != TESTS) {
        let code = text.split("//").next().unwrap_or_default();
        match lines.last_mut().filter(|_| in_use) {
            Some((_, whole)) => whole.push_str(code),
            None => lines.push((line, code.to_owned())),
        }
        in_use = (in_use || imports(code).is_some()) && !code.contains(';');
    }
    lines
}

/// The lines of tests: all lines of a file in `tests`; in any other file, those from its tests on.
pub(super) fn test_lines(file: &File) -> Vec<(usize, &str)> {
    let is_test_file = file.path.contains("/tests/");
    let lines = file.lines().skip_while(|(_, text)| !is_test_file && text.trim() != TESTS);
    lines.map(|(line, text)| (line, text.split("//").next().unwrap_or_default())).collect()
}

/// The paths after `use` in a line that imports, and true if they are re-exported.
pub(super) fn imports(code: &str) -> Option<(&str, bool)> {
    let code = code.trim_start();
    let public = code.strip_prefix("pub").and_then(|rest| match rest.strip_prefix('(') {
        Some(rest) => rest.split_once(')').map(|(_, rest)| rest),
        None => Some(rest),
    });
    let is_public = public.is_some();
    let paths = public.unwrap_or(code).trim_start().strip_prefix("use ")?;
    Some((paths.trim().trim_end_matches(';'), is_public))
}

/// `use std::{fs, time::Instant}` as `use std::fs`, `use std::time::Instant`; any other line as it is.
pub(super) fn expanded(code: &str) -> Vec<String> {
    let Some((before, rest)) = code.split_once("::{") else { return vec![code.to_owned()] };
    let mut depth = 0_u32;
    let mut paths = Vec::new();
    let mut path = before.to_owned() + "::";
    let stem = path.clone();
    let mut is_spaced = false;
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
        } else if letter.is_whitespace() {
            is_spaced = true;
        } else {
            // The words of `name as other` stay apart.
            if is_spaced && letter.is_alphanumeric() && path.ends_with(of_name) {
                path.push(' ');
            }
            is_spaced = false;
            path.push(letter);
        }
    }
    if path != stem {
        paths.extend(expanded(&path));
    }
    paths
}

/// True if `word` occurs in `code`, not as a part of a longer name.
pub(super) fn has_word(code: &str, word: &str) -> bool {
    code.match_indices(word).any(|(at, _)| {
        let ends_open = word.ends_with(|last: char| !of_name(last));
        let after = code[at + word.len()..].starts_with(of_name) && !ends_open;
        !code[..at].ends_with(of_name) && !after
    })
}

/// The paths in a line that is not an import, such as `a::b::c`, each from its first name on.
pub(super) fn paths(code: &str) -> Vec<Vec<&str>> {
    let mut paths: Vec<Vec<&str>> = Vec::new();
    let mut rest = code;
    while let Some(start) = rest.find(|letter: char| letter.is_alphabetic() || letter == '_') {
        let mut path = Vec::new();
        rest = &rest[start..];
        loop {
            let end = rest.find(|letter| !of_name(letter)).unwrap_or(rest.len());
            path.push(&rest[..end]);
            rest = &rest[end..];
            match rest.strip_prefix("::").filter(|after| after.starts_with(of_name)) {
                Some(after) => rest = after,
                None => break,
            }
        }
        if path.len() > 1 {
            paths.push(path);
        }
    }
    paths
}

fn of_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// The line after which a module has its tests.
const TESTS: &str = "#[cfg(test)]";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::file;

    #[test]
    fn imports_are_told_from_other_code() {
        for (code, found) in [
            ("use a::b;", Some(("a::b", false))),
            ("    pub use a::{b, c};", Some(("a::{b, c}", true))),
            ("pub(crate) use super::x as y;", Some(("super::x as y", true))),
            ("pub(in crate::a) use b;", Some(("b", true))),
            ("user::name();", None),
            ("pub fn use_it() {}", None),
        ] {
            assert_eq!(imports(code), found, "{code}");
        }
    }

    #[test]
    fn a_list_of_imports_is_written_out() {
        let found = expanded("a::{b::{self, c}, d as e,}");
        assert_eq!(found, ["a::b::self", "a::b::c", "a::d as e"]);
    }

    #[test]
    fn paths_are_found_in_code() {
        let found = paths("let x = crate::a::b(super::c::D { e: f::<g::H>() }, i);");
        assert_eq!(found, [vec!["crate", "a", "b"], vec!["super", "c", "D"], vec!["g", "H"]]);
    }

    #[test]
    fn lines_end_where_the_tests_begin_and_test_lines_begin_there() {
        let text = "use a::{\n    b,\n};\ncode(); // why\n#[cfg(test)]\nmod tests {\n}\n";
        let file = file("crates/x/src/lib.rs", text);
        let lines = lines(&file);
        assert_eq!(lines[0].1, "use a::{    b,};");
        assert_eq!(lines[1], (4, "code(); ".to_owned()));
        assert_eq!(lines.len(), 2);
        assert_eq!(test_lines(&file).len(), 3);
    }
}
