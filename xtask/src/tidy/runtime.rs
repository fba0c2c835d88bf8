//! The async runtime: checks which crates bring it in.

use super::{Complaint, File};
use std::collections::{BTreeMap, BTreeSet};

/// Checks every crate against the rule about the async runtime: only crates of [`MAY_HAVE_RUNTIME`] may bring it in,
/// and only through dependencies for tests or dependencies that a feature turns on, unless a feature turns on the crate
/// itself.
pub(super) fn check(files: &[File]) -> Vec<Complaint> {
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

/// A shortest way from a package to the runtime, as text; `None` if there is none, except through crates that may have
/// it.
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

/// The async runtime.
const RUNTIME: &str = "tokio";
/// The crates that may have it, each behind a feature: they speak to databases, brokers and browsers.
const MAY_HAVE_RUNTIME: &[&str] = &["fleet", "store", "web"];

#[cfg(test)]
mod tests {
    use crate::tidy::file;

    #[test]
    fn the_runtime_comes_in_through_features_of_the_crates_that_may_have_it() {
        let lock = "[[package]]\nname = \"store\"\ndependencies = [\"tokio-postgres\", \"flate2\"]\n\
            [[package]]\nname = \"tokio-postgres\"\ndependencies = [\"tokio 1.54.1\"]\n\
            [[package]]\nname = \"flate2\"\n[[package]]\nname = \"tokio\"\n";
        let check_used = |used: &str, name: &str, manifest: &str| -> Vec<String> {
            let path = format!("crates/{name}/Cargo.toml");
            let user = file("crates/run/Cargo.toml", used);
            let found = super::check(&[file("Cargo.lock", lock), user, file(&path, manifest)]);
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
}
