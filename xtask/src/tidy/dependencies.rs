//! Dependencies: where they come from, what must not be among them, and their licences.
//!
//! The checks of cargo-deny, without its minutes of compiling on a new machine. Left out: advisories, whose database
//! has to be fetched; `cargo deny check advisories` asks it where that is possible.

use super::{Complaint, File};
use crate::shell;
use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

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

/// Holds every crate against the rule about the async runtime: it comes in through [`MAY_HAVE_RUNTIME`] alone, and
/// there through dependencies that a feature turns on, or into a crate that is one itself.
pub(super) fn runtime(files: &[File]) -> Vec<Complaint> {
    let Some(lock) = files.iter().find(|file| file.path == "Cargo.lock") else {
        return Vec::new();
    };
    let table = match lock.text.parse::<toml::Table>() {
        Ok(table) => table,
        Err(error) => return vec![lock.complain(0, error.to_string())],
    };
    let packages = needs_of(&table);
    let manifests: Vec<_> = files.iter().filter_map(manifest_of).collect();
    // The crates that a program without features has.
    let needed: BTreeSet<&str> = manifests
        .iter()
        .flat_map(|(_, _, manifest)| dependencies_of(manifest))
        .filter(|(kind, _, details)| *kind != "dev-dependencies" && !is_optional(details))
        .map(|(_, dependency, _)| dependency)
        .collect();
    let mut complaints = Vec::new();
    for (file, name, manifest) in &manifests {
        let is_feature = !needed.contains(name);
        for (kind, dependency, details) in dependencies_of(manifest) {
            let Some(way) = way_to_runtime(&packages, dependency) else { continue };
            let may = MAY_HAVE_RUNTIME.contains(name);
            if may && (is_feature || is_optional(details) || kind == "dev-dependencies") {
                continue;
            }
            let what = match may {
                true => {
                    format!("`{dependency}` brings {RUNTIME}: make it optional, behind a feature")
                }
                false => format!(
                    "`{name}` gets {RUNTIME} by way of {way}; only {} may have it",
                    MAY_HAVE_RUNTIME.join(", ")
                ),
            };
            complaints.push(file.complain(0, what));
        }
    }
    complaints
}

/// The names of the packages of a lock file, each with those that it needs.
fn needs_of(lock: &toml::Table) -> BTreeMap<&str, BTreeSet<&str>> {
    let packages = lock.get("package").and_then(toml::Value::as_array).into_iter().flatten();
    let mut all: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in packages {
        let Some(name) = package.get("name").and_then(toml::Value::as_str) else { continue };
        let needs = package.get("dependencies").and_then(toml::Value::as_array);
        let needs = needs.into_iter().flatten().filter_map(toml::Value::as_str);
        // A package of several versions is named with the version.
        let needs = needs.filter_map(|need| need.split(' ').next());
        all.entry(name).or_default().extend(needs);
    }
    all
}

/// The manifest of a crate: its file, the name of its folder, and its tables.
fn manifest_of(file: &File) -> Option<(&File, &str, toml::Table)> {
    let name = file.path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml")?;
    Some((file, name, file.text.parse().ok()?))
}

/// True if a feature turns the dependency on.
fn is_optional(details: &toml::Value) -> bool {
    details.get("optional").and_then(toml::Value::as_bool) == Some(true)
}

/// The dependencies of a manifest: their table, name and details.
fn dependencies_of(manifest: &toml::Table) -> Vec<(&str, &str, &toml::Value)> {
    let kinds = ["build-dependencies", "dependencies", "dev-dependencies"];
    let tables = kinds.iter().filter_map(|kind| Some((*kind, manifest.get(*kind)?.as_table()?)));
    tables
        .flat_map(|(kind, table)| table.iter().map(move |(name, value)| (kind, &**name, value)))
        .collect()
}

/// A shortest way from a package to the runtime, as text; `None` if there is none but through crates that may have it.
fn way_to_runtime(packages: &BTreeMap<&str, BTreeSet<&str>>, from: &str) -> Option<String> {
    let mut ways = vec![vec![from]];
    let mut seen = BTreeSet::from([from]);
    while !ways.is_empty() {
        let mut longer = Vec::new();
        for way in ways {
            let last = *way.last()?;
            if last == RUNTIME {
                return Some(way.join(" -> "));
            }
            if MAY_HAVE_RUNTIME.contains(&last) {
                continue;
            }
            for next in packages.get(last).into_iter().flatten() {
                if seen.insert(next) {
                    longer.push([way.as_slice(), &[next]].concat());
                }
            }
        }
        ways = longer;
    }
    None
}

/// Checks the licence of every package that is compiled here with any feature, as cargo tells it.
///
/// # Errors
///
/// Cargo does not tell.
pub(super) fn licences() -> Result<Vec<Complaint>> {
    Ok(compiled()?.iter().filter_map(licence_of).collect())
}

/// The packages that are compiled on this machine if every feature of every crate is on.
fn compiled() -> Result<Vec<Value>> {
    let host = shell::output(shell::command("rustc").arg("-vV"))?;
    let host = host.lines().find_map(|line| line.strip_prefix("host: "));
    let words = "metadata --format-version 1 --locked --all-features --filter-platform";
    let mut cargo = shell::cargo(words);
    let told = shell::output(cargo.arg(host.context("rustc does not name its host")?))?;
    let mut told: Value = serde_json::from_str(&told)?;
    let Value::Array(packages) = told["packages"].take() else {
        bail!("cargo lists no packages");
    };
    Ok(packages)
}

/// A complaint about a package whose licence is not allowed.
fn licence_of(package: &Value) -> Option<Complaint> {
    let licence = package["license"].as_str().unwrap_or("none");
    if is_allowed(licence) {
        return None;
    }
    let name = package["name"].as_str().unwrap_or_default();
    let what = format!("`{name}` has the licence {licence}, which is not allowed");
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
];

/// The async runtime.
const RUNTIME: &str = "tokio";
/// The crates that may have it, each behind a feature: they speak to databases, brokers and browsers.
const MAY_HAVE_RUNTIME: &[&str] = &["fleet", "store", "web"];

const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::file;
    use serde_json::json;

    #[test]
    fn a_banned_package_and_one_from_elsewhere_are_named() {
        let lock = format!(
            "name = \"a\"\nsource = \"{CRATES_IO}\"\nname = \"smol\"\nsource = \"git+https://x\"\n"
        );
        let found: Vec<_> =
            check(&file("Cargo.lock", &lock)).iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "Cargo.lock:3: `smol` is banned: a worker is a loop over its own engine",
                "Cargo.lock:4: a dependency comes from crates.io, or is ours",
            ]
        );
        assert_eq!(check(&file("subjects/a/Cargo.lock", &lock)), []);
    }

    #[test]
    fn the_runtime_comes_in_through_features_of_the_crates_that_may_have_it() {
        let lock = "[[package]]\nname = \"store\"\ndependencies = [\"tokio-postgres\", \"flate2\"]\n\
            [[package]]\nname = \"tokio-postgres\"\ndependencies = [\"tokio 1.54.1\"]\n\
            [[package]]\nname = \"flate2\"\n[[package]]\nname = \"tokio\"\n";
        let check_used = |used: &str, name: &str, manifest: &str| -> Vec<String> {
            let path = format!("crates/{name}/Cargo.toml");
            let user = file("crates/run/Cargo.toml", used);
            let found = runtime(&[file("Cargo.lock", lock), user, file(&path, manifest)]);
            found.into_iter().map(|complaint| complaint.what).collect()
        };
        let check = |name: &str, manifest: &str| {
            check_used("[dependencies]\nstore.workspace = true", name, manifest)
        };
        let optional = "[dependencies]\nflate2.workspace = true\n\
            tokio-postgres = { workspace = true, optional = true }\n";
        assert_eq!(check("store", optional), [""; 0]);
        assert_eq!(check("wirebench", "[dependencies]\nstore.workspace = true"), [""; 0]);
        assert_eq!(check("store", "[dev-dependencies]\ntokio.workspace = true"), [""; 0]);
        assert_eq!(
            check("store", "[dependencies]\ntokio-postgres.workspace = true"),
            ["`tokio-postgres` brings tokio: make it optional, behind a feature"]
        );
        let feature = "[dependencies]\nstore = { workspace = true, optional = true }";
        let always = "[dependencies]\ntokio-postgres.workspace = true";
        assert_eq!(check_used(feature, "store", always), [""; 0]);
        let by_way =
            "gets tokio by way of tokio-postgres -> tokio; only fleet, store, web may have it";
        for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let manifest =
                format!("[{kind}]\ntokio-postgres = {{ version = \"1\", optional = true }}");
            assert_eq!(check("drive", &manifest), [format!("`drive` {by_way}")]);
        }
    }

    #[test]
    fn packages_that_a_feature_brings_are_among_those_whose_licences_are_checked() {
        let compiled = compiled().unwrap();
        for name in ["async-nats", "axum", "tokio-postgres"] {
            assert!(compiled.iter().any(|package| package["name"] == name), "no {name}");
        }
    }

    #[test]
    fn a_package_without_an_allowed_licence_is_named() {
        let table = [
            (json!({ "name": "a", "license": "MIT" }), None),
            (json!({ "name": "a", "license": "GPL-3.0" }), Some("GPL-3.0")),
            (json!({ "name": "a", "license": null }), Some("none")),
        ];
        for (package, licence) in table {
            let expected =
                licence.map(|it| format!("`a` has the licence {it}, which is not allowed"));
            assert_eq!(licence_of(&package).map(|complaint| complaint.what), expected);
        }
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
