//! Dependencies: where they come from, what must not be among them, and their licences.
//!
//! The checks of cargo-deny, without its minutes of compiling on a new machine. Left out: advisories, whose database
//! has to be fetched; `cargo deny check advisories` asks it where that is possible.

use super::{Complaint, File};
use crate::shell;
use anyhow::{Context as _, Result};
use serde_json::Value;

/// Checks the sources and names in a lock file.
pub(super) fn check(file: &File) -> Vec<Complaint> {
    if !matches!(file.path.as_str(), "Cargo.lock" | "fuzz/Cargo.lock") {
        return Vec::new();
    }
    let value = |text: &str, key: &str| {
        let value = text.strip_prefix(key)?.strip_prefix(" = \"")?.strip_suffix('"');
        value.map(str::to_owned)
    };
    let mut complaints = Vec::new();
    for (line, text) in file.lines() {
        if let Some(name) = value(text, "name")
            && let Some((_, why)) = BANNED.iter().find(|(banned, _)| *banned == name)
        {
            complaints.push(file.complain(line, format!("`{name}` is banned: {why}")));
        }
        if value(text, "source").is_some_and(|source| source != CRATES_IO) {
            complaints.push(file.complain(line, "a dependency comes from crates.io, or is ours"));
        }
    }
    complaints
}

/// Checks the licence of every package that is compiled here, as cargo tells it.
///
/// # Errors
///
/// Cargo does not tell.
pub(super) fn licences() -> Result<Vec<Complaint>> {
    let host = shell::output(shell::command("rustc").arg("-vV"))?;
    let host = host.lines().find_map(|line| line.strip_prefix("host: "));
    let mut cargo = shell::cargo("metadata --format-version 1 --locked --filter-platform");
    let told = shell::output(cargo.arg(host.context("rustc does not name its host")?))?;
    let told: Value = serde_json::from_str(&told)?;
    let packages = told["packages"].as_array().context("cargo lists no packages")?;
    Ok(packages.iter().filter_map(licence_of).collect())
}

/// A complaint about a package whose licence is not allowed.
fn licence_of(package: &Value) -> Option<Complaint> {
    let licence = package["license"].as_str().unwrap_or("none");
    if is_allowed(licence) {
        return None;
    }
    let what = format!("`{}` has the licence {licence}, which is not allowed", package["name"]);
    Some(Complaint { path: "Cargo.lock".to_owned(), line: 0, what })
}

/// True if one may choose allowed licences from an SPDX expression. `AND` binds tighter than `OR` and `/`.
fn is_allowed(expression: &str) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = &words[..];
    any_of(&mut rest) && rest.is_empty()
}

fn any_of(rest: &mut &[&str]) -> bool {
    let mut is_fine = all_of(rest);
    while let ["OR", after @ ..] = *rest {
        *rest = after;
        is_fine |= all_of(rest);
    }
    is_fine
}

fn all_of(rest: &mut &[&str]) -> bool {
    let mut is_fine = one_of(rest);
    while let ["AND", after @ ..] = *rest {
        *rest = after;
        is_fine &= one_of(rest);
    }
    is_fine
}

/// A licence, with its exception, or a group.
fn one_of(rest: &mut &[&str]) -> bool {
    match *rest {
        ["(", after @ ..] => {
            *rest = after;
            let is_fine = any_of(rest);
            let [")", after @ ..] = *rest else { return false };
            *rest = after;
            is_fine
        }
        [licence, "WITH", _, after @ ..] | [licence, after @ ..] => {
            *rest = after;
            ALLOWED.contains(licence)
        }
        [] => false,
    }
}

/// Licences that ask for no more than their text.
const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Zlib",
];

/// Packages that must not come in by a side door, and the reason.
const BANNED: &[(&str, &str)] = &[
    ("async-std", "a worker is a loop over its own engine"),
    ("chrono", "time comes from `engine`"),
    ("native-tls", "TLS is rustls with aws-lc-rs"),
    ("openssl-sys", "TLS is rustls with aws-lc-rs"),
    ("reqwest", "the product speaks to its target alone"),
    ("smol", "a worker is a loop over its own engine"),
    ("tokio", "a worker is a loop over its own engine"),
];

const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::file;

    #[test]
    fn a_banned_package_and_one_from_elsewhere_are_named() {
        let lock = format!(
            "name = \"a\"\nsource = \"{CRATES_IO}\"\nname = \"tokio\"\nsource = \"git+https://x\"\n"
        );
        let found: Vec<_> =
            check(&file("Cargo.lock", &lock)).iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "Cargo.lock:3: `tokio` is banned: a worker is a loop over its own engine",
                "Cargo.lock:4: a dependency comes from crates.io, or is ours",
            ]
        );
        assert_eq!(check(&file("subjects/a/Cargo.lock", &lock)), []);
    }

    #[test]
    fn a_licence_is_allowed_if_one_can_choose_so() {
        #[rustfmt::skip]
        let table = [
            ("MIT",                                      true),
            ("MIT/Apache-2.0",                           true),
            ("GPL-3.0",                                  false),
            ("GPL-3.0 OR MIT",                           true),
            ("MIT AND GPL-3.0",                          false),
            ("MIT OR GPL-3.0 AND ISC",                   true),
            ("ISC AND (Apache-2.0 OR GPL-2.0) AND MIT",  true),
            ("(MIT OR Apache-2.0) AND OpenSSL",          false),
            ("Apache-2.0 WITH LLVM-exception",           true),
            ("MIT MIT",                                  false),
            ("(MIT",                                     false),
            ("",                                         false),
            ("none",                                     false),
        ];
        for (expression, expected) in table {
            assert_eq!(is_allowed(expression), expected, "{expression}");
        }
    }
}
