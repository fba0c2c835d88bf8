//! Circles of files inside a crate: a file that imports itself by way of others.
//!
//! A file imports another by `use crate::x`, `use super::x`, and by such paths in its code. A name that a module only
//! re-exports (`pub use`) is looked up at its origin. Tests are left out.

use super::File;
use super::code;
use super::ratchet::Slip;
use std::collections::{BTreeMap, BTreeSet};

/// The files in a circle, each with one way round.
pub(super) fn check(files: &[File]) -> Vec<Slip> {
    let mut crates: BTreeMap<&str, Vec<&File>> = BTreeMap::new();
    for file in files {
        if let Some(name) = file.source_of() {
            crates.entry(name).or_default().push(file);
        }
    }
    crates.into_values().flat_map(|files| of_crate(&files)).collect()
}

fn of_crate(files: &[&File]) -> Vec<Slip> {
    let modules: BTreeMap<Path, Module<'_>> =
        files.iter().map(|file| (path_of(file), Module::read(file))).collect();
    let imports: BTreeMap<&Path, BTreeSet<&Path>> =
        modules.iter().map(|(path, module)| (path, imports(&modules, path, module))).collect();
    let mut slips = Vec::new();
    for (path, module) in &modules {
        if let Some(way) = way_back(&imports, path) {
            let names: Vec<&str> =
                way.iter().map(|path| modules[*path].file.path.as_str()).collect();
            let what = format!("imports itself through {}", names.join(", "));
            slips.push(Slip::new(module.file, 0, what));
        }
    }
    slips
}

/// The place of a module below the root of its crate: `["bench", "liars"]`.
type Path = Vec<String>;

/// The imports of a file.
struct Module<'a> {
    file: &'a File,
    /// The paths that it uses itself.
    used: Vec<Path>,
    /// The names that it imports, each with its origin, including re-exported ones that it does not use itself.
    bound: BTreeMap<String, Path>,
}

impl<'a> Module<'a> {
    fn read(file: &'a File) -> Self {
        let mut module = Self { file, used: Vec::new(), bound: BTreeMap::new() };
        for (_, line) in code::lines(file) {
            let Some((tree, is_public)) = code::imports(&line) else {
                module.used.extend(code::paths(&line).into_iter().map(owned));
                continue;
            };
            for path in code::expanded(tree) {
                let (path, alias) = path.split_once(" as ").unwrap_or((&path, ""));
                let mut path = owned(path.split("::").map(str::trim).collect());
                if path.last().is_some_and(|last| last == "self") {
                    path.pop();
                }
                let name = if alias.is_empty() {
                    path.last().cloned()
                } else {
                    Some(alias.trim().to_owned())
                };
                module.bound.extend(name.map(|name| (name, path.clone())));
                if !is_public {
                    module.used.push(path);
                }
            }
        }
        module
    }
}

fn owned(path: Vec<&str>) -> Path {
    path.into_iter().map(str::to_owned).collect()
}

/// `crates/x/src/a/b.rs` and `crates/x/src/a/b/mod.rs` as `["a", "b"]`, the root as `[]`.
fn path_of(file: &File) -> Path {
    let (_, inside) = file.path.split_once("/src/").unwrap_or_default();
    let inside = inside.trim_end_matches(".rs");
    let mut path = owned(inside.split('/').collect());
    if matches!(path.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        path.pop();
    }
    path
}

/// The other files that a module imports.
fn imports<'a>(
    modules: &'a BTreeMap<Path, Module<'_>>,
    here: &Path,
    module: &Module<'_>,
) -> BTreeSet<&'a Path> {
    let found = module.used.iter().filter_map(|path| resolved(modules, here, path, HOPS_MAX));
    found.filter(|other| *other != here).collect()
}

/// The module that a path leads to, seen from the module `here`; `None` if it leads out of the crate.
fn resolved<'a>(
    modules: &'a BTreeMap<Path, Module<'_>>,
    here: &Path,
    path: &[String],
    hops: usize,
) -> Option<&'a Path> {
    let (first, mut rest) = path.split_first()?;
    let mut at = here.clone();
    match first.as_str() {
        "crate" => at.clear(),
        "self" => {}
        "super" => drop(at.pop()?),
        child => {
            at.push(child.to_owned());
            modules.get(&at)?;
        }
    }
    while let Some((next, after)) = rest.split_first() {
        if next == "super" {
            at.pop()?;
        } else {
            at.push(next.clone());
            if !modules.contains_key(&at) {
                at.pop();
                break;
            }
        }
        rest = after;
    }
    let (found, module) = modules.get_key_value(&at)?;
    // Names that it imports are followed to their origin.
    let elsewhere = rest.first().and_then(|name| module.bound.get(name)).filter(|_| hops > 0);
    elsewhere.map_or(Some(found), |path| resolved(modules, &at, path, hops - 1))
}

/// The shortest way from a module through its imports back to itself.
fn way_back<'a>(
    imports: &BTreeMap<&'a Path, BTreeSet<&'a Path>>,
    start: &'a Path,
) -> Option<Vec<&'a Path>> {
    let mut ways = vec![vec![start]];
    let mut seen = BTreeSet::new();
    while !ways.is_empty() {
        let mut longer = Vec::new();
        for way in ways {
            let last = way.last().copied().unwrap_or(start);
            for next in imports.get(last).into_iter().flatten().copied() {
                if next == start {
                    return Some(way[1..].to_vec());
                }
                if seen.insert(next) {
                    longer.push([way.as_slice(), &[next]].concat());
                }
            }
        }
        ways = longer;
    }
    None
}

/// The most modules in a row that may re-export a name.
const HOPS_MAX: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::file;

    fn circles(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<File> =
            files.iter().map(|(path, text)| file(&format!("crates/x/src/{path}"), text)).collect();
        check(&files).iter().map(|slip| slip.to_string()).collect()
    }

    #[test]
    fn two_files_that_import_each_other_are_a_circle() {
        let found = circles(&[
            ("lib.rs", "mod a;\nmod b;\n"),
            ("a.rs", "use crate::b::{B, C};\n"),
            ("b.rs", "fn f() { super::a::g(); }\n"),
        ]);
        assert_eq!(
            found,
            [
                "crates/x/src/a.rs:0: imports itself through crates/x/src/b.rs",
                "crates/x/src/b.rs:0: imports itself through crates/x/src/a.rs",
            ]
        );
    }

    #[test]
    fn a_parent_and_the_child_that_uses_it_are_one_too() {
        let found = circles(&[
            ("lib.rs", "mod a;\n"),
            ("a/mod.rs", "mod b;\npub struct A;\nfn f() { b::g(); }\n"),
            ("a/b.rs", "use super::A;\n"),
        ]);
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn handing_a_name_on_is_no_import() {
        let parent = "mod b;\nmod c;\npub use b::B;\npub(crate) use c::C;\n";
        let files = [("a.rs", parent), ("a/b.rs", "use super::C;\n"), ("a/c.rs", "")];
        assert_eq!(circles(&files), [""; 0]);
        // The name is followed to its origin.
        let files =
            [("a.rs", parent), ("a/b.rs", "use super::C;\n"), ("a/c.rs", "use crate::a::B;\n")];
        assert_eq!(circles(&files).len(), 2);
    }

    #[test]
    fn tests_and_other_crates_are_left_out() {
        let of_tests = "#[cfg(test)]\nmod tests { use crate::b::B; }\n";
        let files =
            [("a.rs", of_tests), ("b.rs", "use crate::a::A;\nuse y::b::B;\nuse std::fs;\n")];
        assert_eq!(circles(&files), [""; 0]);
    }
}
