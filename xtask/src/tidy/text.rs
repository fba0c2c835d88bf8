//! Rules for every text: a header on each module, short lines, nothing unfinished, nothing of one machine, and links
//! that lead somewhere.

use super::{Complaint, File};
use std::collections::BTreeSet;

/// The longest comment of Rust, in characters. Code is left to rustfmt, and tables to their authors.
const COLUMNS_MAX: usize = 120;
/// Words of unfinished work; cut in two so that this file may name them.
const UNFINISHED: &[&str] = &[concat!("TO", "DO"), concat!("FIX", "ME"), concat!("dbg", "!(")];
/// The beginnings of paths of somebody's machine.
const MACHINE_FOLDERS: &[&str] =
    &[concat!("/ro", "ot/"), concat!("/ho", "me/"), concat!("/wo", "rk/"), concat!("/Us", "ers/")];
/// The beginnings of hosts of package registries; a project must not depend on where packages came from.
const REGISTRY_HOSTS: &[&str] = &["registry.", "static.", "index.", "files.", "proxy.", "deb."];
/// Folders whose files prose may name.
const FOLDERS: &[&str] =
    &["bench/", "crates/", "docs/", "experiments/", "fuzz/", "subjects/", "tests/", "xtask/"];

/// Checks one file; `paths` are all files of the repository.
pub(super) fn check(file: &File, paths: &BTreeSet<&str>) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    if file.is_rust() && !file.text.starts_with("//!") {
        complaints.push(file.complain(1, "a module opens with a header: `//!` and what it is for"));
    }
    for (line, text) in file.lines() {
        let is_comment = file.is_rust() && text.trim_start().starts_with("//");
        if is_comment && text.chars().count() > COLUMNS_MAX {
            complaints
                .push(file.complain(line, format!("a comment longer than {COLUMNS_MAX} columns")));
        }
        if let Some(word) = UNFINISHED.iter().find(|word| text.contains(*word)) {
            complaints.push(file.complain(line, format!("unfinished: {word}")));
        }
        if let Some(folder) = MACHINE_FOLDERS.iter().find(|folder| names_folder(text, folder)) {
            complaints.push(file.complain(line, format!("a path of one machine: {folder}")));
        }
        if let Some(host) = registry_host(text) {
            complaints.push(file.complain(line, format!("the host of a registry: {host}")));
        }
    }
    if file.is_markdown() {
        complaints.extend(dead_links(file, paths));
    }
    complaints
}

/// True if the line has an absolute path into `folder`, not only a longer path that passes through such a name.
fn names_folder(text: &str, folder: &str) -> bool {
    let within_path = |before: char| before.is_ascii_alphanumeric() || "._-~}".contains(before);
    text.match_indices(folder).any(|(at, _)| !text[..at].ends_with(within_path))
}

fn registry_host(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("https://").or_else(|| text.split_once("http://"))?;
    let host = rest.split(['/', '"', ' ', '`', ')']).next().unwrap_or(rest);
    REGISTRY_HOSTS
        .iter()
        .any(|start| host.starts_with(start))
        .then_some(host)
        .or_else(|| registry_host(rest))
}

/// Links to files and paths in code spans that name nothing of the repository.
fn dead_links(file: &File, paths: &BTreeSet<&str>) -> Vec<Complaint> {
    let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut complaints = Vec::new();
    for (line, text) in prose(&file.text) {
        let links = link_targets(text).filter(|target| !exists(&joined(folder, target), paths));
        complaints.extend(
            links.map(|target| file.complain(line, format!("a link to nothing: {target}"))),
        );
        let spans = named_paths(text).filter(|path| !exists(path, paths));
        complaints.extend(
            spans.map(|path| file.complain(line, format!("names what is not there: {path}"))),
        );
    }
    complaints
}

/// The lines of Markdown outside of fences, numbered from 1.
pub(crate) fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_fence = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        in_fence ^= line.trim_start().starts_with("```");
        (!in_fence).then_some((index + 1, line))
    })
}

/// The files that `[text](file#place)` points to.
pub(crate) fn link_targets(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let files = targets.map(|target| target.split('#').next().unwrap_or_default());
    files.filter(|target| {
        !target.is_empty() && !target.contains("://") && !target.starts_with("mailto:")
    })
}

/// The texts of code spans that are the plain path of a file of the repository.
fn named_paths(text: &str) -> impl Iterator<Item = &str> {
    let spans = text.split('`').skip(1).step_by(2);
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_-./".contains(letter);
    spans.filter(move |span| {
        FOLDERS.iter().any(|folder| span.starts_with(folder)) && span.chars().all(plain)
    })
}

/// `target` seen from `folder`, with `.` and `..` resolved.
pub(crate) fn joined(folder: &str, target: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    parts.join("/")
}

/// True if a file or a folder of that path is in the repository.
fn exists(path: &str, paths: &BTreeSet<&str>) -> bool {
    let path = path.trim_end_matches('/');
    let below = format!("{path}/");
    path.is_empty()
        || paths.contains(path)
        || paths.range(below.as_str()..).next().is_some_and(|next| next.starts_with(&below))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::file;

    fn check_one(path: &str, text: &str) -> Vec<(usize, String)> {
        let paths = BTreeSet::from(["README.md", "docs/METHOD.md", "crates/wire/src/lib.rs"]);
        check(&file(path, text), &paths)
            .into_iter()
            .map(|complaint| (complaint.line, complaint.what))
            .collect()
    }

    fn complaint(path: &str, text: &str) -> String {
        let complaints = check_one(path, text);
        assert_eq!(complaints.len(), 1, "{text}: {complaints:?}");
        complaints[0].1.clone()
    }

    #[test]
    fn a_module_opens_with_a_header() {
        assert!(
            complaint("xtask/src/main.rs", "fn main() {}")
                .starts_with("a module opens with a header")
        );
        assert_eq!(check_one("xtask/src/main.rs", "//! A header.\n"), []);
    }

    #[test]
    fn comments_are_short() {
        let line = |columns: usize| format!("//! {}", "é".repeat(columns - 4));
        assert_eq!(check_one("xtask/src/main.rs", &line(120)), []);
        assert_eq!(complaint("xtask/src/main.rs", &line(121)), "a comment longer than 120 columns");
        assert_eq!(check_one("README.md", &line(121)), []);
        assert_eq!(check_one("xtask/src/main.rs", &format!("//! A header.\n{:121}", "table")), []);
    }

    #[test]
    fn unfinished_work_is_named() {
        assert_eq!(
            complaint("README.md", concat!("TO", "DO later")),
            concat!("unfinished: TO", "DO")
        );
        assert_eq!(
            complaint("subjects/floor/server.c", concat!("/* FIX", "ME */")),
            concat!("unfinished: FIX", "ME")
        );
    }

    #[test]
    fn nothing_of_one_machine_is_committed() {
        assert!(
            complaint("README.md", concat!("see /wo", "rk/notes"))
                .starts_with("a path of one machine")
        );
        assert!(
            complaint("Makefile", concat!("OUT=/ro", "ot/bin"))
                .starts_with("a path of one machine")
        );
        assert_eq!(check_one("README.md", concat!("the folder net", "/wo", "rk/notes")), []);
    }

    #[test]
    fn hosts_of_registries_are_not_committed() {
        let lock = concat!("\"resolved\": \"https", "://registry.example.org/ws.tgz\"");
        assert_eq!(
            complaint("package-lock.json", lock),
            "the host of a registry: registry.example.org"
        );
        assert_eq!(
            check_one("README.md", "see https://example.org and https://docs.example.org"),
            []
        );
    }

    #[test]
    fn links_lead_somewhere() {
        assert_eq!(
            check_one(
                "README.md",
                "[a](docs/METHOD.md#top) [b](#here) [c](https://example.org) [d](docs)"
            ),
            []
        );
        assert_eq!(check_one("docs/METHOD.md", "[a](../README.md) [b](./METHOD.md)"), []);
        assert_eq!(complaint("docs/METHOD.md", "[a](README.md)"), "a link to nothing: README.md");
        assert_eq!(check_one("README.md", "```\n[a](gone.md)\n```\n"), []);
    }

    #[test]
    fn prose_names_what_is_there() {
        assert_eq!(
            check_one(
                "README.md",
                "`crates/wire`, `crates/wire/src/lib.rs`, `crates/*/src`, `docs/`"
            ),
            []
        );
        assert_eq!(
            complaint("README.md", "open `crates/drive`"),
            "names what is not there: crates/drive"
        );
    }
}
