//! The tools: where each comes from, and which version it is.

use crate::packages::{self, Need};
use crate::shell;
use anyhow::{Context as _, Result};
use std::path::{Path, PathBuf};

/// A load generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tool {
    Ab,
    Artillery,
    Autocannon,
    Hey,
    K6,
    Oha,
    Siege,
    Tsung,
    Wirebench,
    Wrk,
}

impl Tool {
    /// The exit codes of a run with a report. Ours judges itself: 12 is invalid, and still a record.
    pub(super) fn exit_codes(self) -> &'static [i32] {
        if self == Self::Wirebench { &[0, 12] } else { &[0] }
    }
}

/// Installs a tool, below the target folder where its source allows that, and returns its path.
///
/// # Errors
///
/// The tool is not available here.
pub(super) fn install(tool: Tool) -> Result<PathBuf> {
    match tool {
        Tool::Ab => debian("ab", "apache2-utils"),
        Tool::Artillery => npm("artillery", ARTILLERY),
        Tool::Autocannon => npm("autocannon", AUTOCANNON),
        Tool::Hey => debian("hey", "hey"),
        Tool::K6 => k6(),
        Tool::Oha => oha(),
        Tool::Siege => debian("siege", "siege"),
        Tool::Tsung => debian("tsung", "tsung"),
        Tool::Wirebench => Ok(shell::target().join("release/wirebench")),
        Tool::Wrk => debian("wrk", "wrk"),
    }
}

/// The number of its version.
pub(super) fn version(tool: Tool, program: &Path) -> Result<String> {
    let said = |argument: &str| -> Result<String> {
        // Some print it on stdout, others on stderr, and not all of them exit with success.
        let output = shell::command(program).arg(argument).output()?;
        let both = [output.stdout, output.stderr].concat();
        Ok(String::from_utf8_lossy(&both).into_owned())
    };
    let words = match tool {
        Tool::Ab | Tool::Siege => said("-V")?,
        Tool::Artillery => return Ok(ARTILLERY.to_owned()),
        Tool::Autocannon => return Ok(AUTOCANNON.to_owned()),
        // It has no option for that.
        Tool::Hey => {
            shell::output(shell::command("dpkg-query").args(["-f", "${Version}", "-W", "hey"]))?
        }
        Tool::K6 | Tool::Oha | Tool::Wirebench => said("--version")?,
        Tool::Tsung | Tool::Wrk => said("-v")?,
    };
    number(&words).with_context(|| format!("no version in {words:?}"))
}

/// The first word that begins like a version, without what a packager has added.
fn number(words: &str) -> Option<String> {
    let digits = |word: &str| -> Option<String> {
        let word = word.trim_start_matches('v');
        let end = word.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
        let number = word[..end.unwrap_or(word.len())].trim_end_matches('.');
        number.contains('.').then(|| number.to_owned())
    };
    words.split(|letter: char| letter.is_whitespace() || letter == '/').find_map(digits)
}

fn debian(program: &'static str, package: &'static str) -> Result<PathBuf> {
    packages::ensure(&[Need::debian(program, package)])?;
    packages::on_path(program).with_context(|| format!("{package} brings no {program}"))
}

fn npm(name: &str, version: &str) -> Result<PathBuf> {
    packages::ensure(&[Need::debian("node", "nodejs"), Need::debian("npm", "npm")])?;
    let folder = shell::target().join("bench/node").join(format!("{name}-{version}"));
    let program = folder.join("node_modules/.bin").join(name);
    if !program.exists() {
        eprintln!("installing {name} {version}");
        std::fs::create_dir_all(&folder)?;
        let mut install = shell::command("npm");
        install.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix"]);
        shell::output(install.arg(&folder).arg(format!("{name}@{version}")))?;
    }
    Ok(program)
}

/// k6 as the Go module proxy serves it.
fn k6() -> Result<PathBuf> {
    let folder = shell::target().join("bench/bin");
    let program = folder.join("k6");
    if !program.exists() {
        eprintln!("installing {K6}");
        shell::output(shell::command("go").args(["install", K6]).env("GOBIN", &folder))?;
    }
    Ok(program)
}

fn oha() -> Result<PathBuf> {
    let folder = shell::target().join("bench");
    let program = folder.join("bin/oha");
    if !program.exists() {
        eprintln!("installing oha {OHA}");
        let mut install = shell::cargo("install --quiet --locked oha --version");
        install.arg(OHA).arg("--root").arg(&folder);
        shell::output(install.arg("--target-dir").arg(folder.join("oha")))?;
    }
    Ok(program)
}

/// The newest that runs on node 20, which Debian's successor and most machines have.
const ARTILLERY: &str = "2.0.21";
const AUTOCANNON: &str = "8.0.0";
const K6: &str = "go.k6.io/k6@v1.8.1";
const OHA: &str = "1.16.0";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_tools_say() {
        for (said, version) in [
            ("wrk debian/4.1.0-3+b2 [epoll] Copyright (C) 2012 Will Glozer", Some("4.1.0")),
            ("This is ApacheBench, Version 2.3 <$Revision: 1 $>", Some("2.3")),
            ("SIEGE 4.0.7\n\nCopyright", Some("4.0.7")),
            ("0.1.4-2+b4", Some("0.1.4")),
            ("k6 v1.8.1 (go1.26.8, linux/amd64)", Some("1.8.1")),
            ("Tsung version 1.7.0\n", Some("1.7.0")),
            ("no", None),
        ] {
            assert_eq!(number(said).as_deref(), version, "{said}");
        }
    }
}
