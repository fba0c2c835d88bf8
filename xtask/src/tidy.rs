//! `cargo xtask tidy`: checks what a tool can check without judgement, and rustfmt and clippy do not.
//!
//! Every rule takes text and returns [`Complaint`]s, so each is tested without a file. Only files that git knows are
//! read; in an archive of the sources, all.

mod arrows;
mod circles;
mod code;
mod language;
mod names;
mod purity;
mod ratchet;
mod runtime;
pub(crate) mod text;

use crate::files::{self, Uncommitted};
use crate::shell;
use anyhow::{Result, bail};
use ratchet::{Rule, Slip};
use std::collections::BTreeSet;
use std::{fmt, fs};

/// A file of the repository.
struct File {
    /// Its path from the top of the repository, with `/`.
    path: String,
    text: String,
}

/// A place that breaks a rule, and what to do about it.
#[derive(Debug, PartialEq, Eq)]
struct Complaint {
    path: String,
    /// The line, from 1; 0 means the whole file.
    line: usize,
    what: String,
}

/// Checks the repository and prints every complaint.
pub(crate) fn run() -> Result<()> {
    let complaints = complaints(&files()?);
    for complaint in &complaints {
        eprintln!("{complaint}");
    }
    match complaints.len() {
        0 => Ok(()),
        count => bail!("{count} complaints"),
    }
}

fn complaints(files: &[File]) -> Vec<Complaint> {
    let paths: BTreeSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let mut all = arrows::check(files);
    all.extend(names::check(&paths));
    all.extend(runtime::check(files));
    for file in files {
        all.extend(purity::check(file));
        all.extend(text::check(file, &paths));
    }
    let slips = |of: fn(&File) -> Vec<Slip>| files.iter().flat_map(of).collect();
    all.extend(ratchet::check(Rule::Circles, circles::check(files)));
    all.extend(ratchet::check(Rule::Environment, slips(purity::reads_environment)));
    all.extend(ratchet::check(Rule::Openings, slips(language::check)));
    all.extend(ratchet::check(Rule::Sleeps, slips(purity::sleeps)));
    all.extend(ratchet::check(Rule::Unsafe, slips(purity::unsafe_code)));
    all
}

/// The files of the repository; those that are not text have an empty one.
fn files() -> Result<Vec<File>> {
    let mut files = Vec::new();
    for path in files::list(Uncommitted::LeftOut)? {
        // A file cannot be read if its deletion is not committed yet.
        if let Ok(bytes) = fs::read(shell::root().join(&path)) {
            files.push(File { path, text: String::from_utf8(bytes).unwrap_or_default() });
        }
    }
    Ok(files)
}

impl fmt::Display for Complaint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}: {}", self.path, self.line, self.what)
    }
}

impl File {
    fn complain(&self, line: usize, what: impl Into<String>) -> Complaint {
        Complaint { path: self.path.clone(), line, what: what.into() }
    }

    /// The name of the crate whose `src` holds this file.
    fn source_of(&self) -> Option<&str> {
        let (name, rest) = self.path.strip_prefix("crates/")?.split_once('/')?;
        (rest.starts_with("src/") && self.is_rust()).then_some(name)
    }

    fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    fn is_markdown(&self) -> bool {
        self.path.ends_with(".md")
    }

    /// The lines, from 1.
    fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }
}

#[cfg(test)]
fn file(path: &str, text: &str) -> File {
    File { path: path.to_owned(), text: text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_is_tidy() {
        let complaints = complaints(&files().unwrap());
        assert!(complaints.is_empty(), "{complaints:#?}");
    }
}
