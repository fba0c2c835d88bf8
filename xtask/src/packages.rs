//! Programs, files and Debian packages that a machine lacks: found all at once, installed by root, named to others.

use crate::shell;
use anyhow::{Result, bail};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Something that a task needs from the machine.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Need {
    /// A program to be found on the path, the path of a file, or a module of Python.
    pub(crate) probe: Probe,
    pub(crate) from: From,
}

/// The sign that something is there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Probe {
    /// A subcommand of cargo: rustup has its program on the path even where the component is missing.
    Cargo(&'static str),
    File(String),
    /// A Debian package that no program or file reveals.
    Package(String),
    Program(String),
    PythonModule(&'static str),
}

/// The source of what is missing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum From {
    Debian(String),
    /// The caller installs it, in this way.
    Elsewhere(&'static str),
}

impl Need {
    /// A program, or a file if there is a `/` in it, and the Debian package that brings it.
    pub(crate) fn debian(probe: &str, package: &str) -> Self {
        let probe = match probe.contains('/') {
            true => Probe::File(probe.to_owned()),
            false => Probe::Program(probe.to_owned()),
        };
        Self { probe, from: From::Debian(package.to_owned()) }
    }
}

/// Ensures that all `needs` are met. As root, installs what is missing; for anybody else the error names all of it at
/// once, with one command to run as root. Does nothing if all are met.
///
/// # Errors
///
/// Something is missing that cannot be installed here.
pub(crate) fn ensure(needs: &[Need]) -> Result<()> {
    let missing: Vec<&Need> = needs.iter().filter(|need| !is_there(&need.probe)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let words = Words::of(&missing);
    if words.packages.is_empty() || !words.elsewhere.is_empty() || !am_root()? {
        bail!("{}", words.text());
    }
    eprintln!("installing {}", words.packages.iter().cloned().collect::<Vec<_>>().join(", "));
    shell::output(&mut apt_get(&["update"]))?;
    shell::output(&mut apt_get(&install(&words.packages))).map(drop)
}

/// Installs a program of cargo's registry below `folder`, if it is not there.
///
/// A debug build takes half the time to compile, and is fast enough.
pub(crate) fn from_cargo(folder: &Path, name: &str, version: &str, options: &str) -> Result<()> {
    if folder.join("bin").join(name).exists() {
        return Ok(());
    }
    eprintln!("installing {name} {version}");
    let mut install = shell::cargo("install --quiet --locked --debug");
    install.args([name, "--version", version]).args(options.split_whitespace());
    let build = folder.join("build");
    shell::output(install.arg("--root").arg(folder).arg("--target-dir").arg(&build))?;
    Ok(fs::remove_dir_all(build)?)
}

/// Installs packages of Python, named with their versions, into an environment in `folder`.
pub(crate) fn from_python(folder: &Path, packages: &[&str]) -> Result<()> {
    eprintln!("installing {}", packages.join(", "));
    shell::output(shell::command("python3").args(["-m", "venv"]).arg(folder))?;
    let pip = folder.join("bin/pip");
    shell::output(shell::command(pip).args(["install", "--quiet"]).args(packages)).map(drop)
}

/// The message about what is missing.
struct Words<'a> {
    names: BTreeSet<&'a str>,
    packages: BTreeSet<String>,
    elsewhere: BTreeSet<&'static str>,
}

impl<'a> Words<'a> {
    fn of(missing: &[&'a Need]) -> Self {
        let mut words =
            Self { names: BTreeSet::new(), packages: BTreeSet::new(), elsewhere: BTreeSet::new() };
        for need in missing {
            words.names.insert(match &need.probe {
                Probe::File(name) | Probe::Package(name) | Probe::Program(name) => name,
                Probe::Cargo(name) | Probe::PythonModule(name) => name,
            });
            match &need.from {
                From::Debian(package) => drop(words.packages.insert(package.clone())),
                From::Elsewhere(hint) => drop(words.elsewhere.insert(hint)),
            }
        }
        words
    }

    fn text(&self) -> String {
        let names: Vec<&str> = self.names.iter().copied().collect();
        let mut text = format!("missing: {}", names.join(", "));
        for hint in &self.elsewhere {
            text += &format!("\n  {hint}");
        }
        if !self.packages.is_empty() {
            let install = apt_get(&install(&self.packages));
            text += &format!("\n  as root: apt-get update && {}", shell::shown(&install));
        }
        text
    }
}

fn install(packages: &BTreeSet<String>) -> Vec<&str> {
    let options = ["install", "-y", "--no-install-recommends"];
    options.into_iter().chain(packages.iter().map(String::as_str)).collect()
}

fn apt_get(words: &[&str]) -> std::process::Command {
    let mut command = shell::command("apt-get");
    command.env("DEBIAN_FRONTEND", "noninteractive").arg("-q").args(words);
    command
}

/// True if the caller is root.
pub(crate) fn am_root() -> Result<bool> {
    Ok(shell::output(shell::command("id").arg("-u"))?.trim() == "0")
}

fn is_there(probe: &Probe) -> bool {
    match probe {
        Probe::Cargo(name) => shell::works(shell::command("cargo").args([name, "--version"])),
        Probe::File(path) => Path::new(path).exists(),
        Probe::Package(name) => {
            let mut query = shell::command("dpkg-query");
            query.args(["--show", "--showformat=${db:Status-Status}", name]);
            shell::output(&mut query).is_ok_and(|status| status == "installed")
        }
        Probe::Program(name) => on_path(name).is_some(),
        Probe::PythonModule(name) => {
            shell::works(shell::command("python3").args(["-c", &format!("import {name}")]))
        }
    }
}

/// The file of `program` on the search path.
pub(crate) fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    // Debian keeps servers in a folder that only root has on the path.
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into()]);
    folders.map(|folder| folder.join(program)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_installed_where_nothing_is_missing() {
        ensure(&[Need::debian("sh", "no-such-package"), Need::debian("/dev/null", "none")])
            .unwrap();
        assert_eq!(on_path("no-such-program"), None);
    }

    #[test]
    fn all_that_is_missing_is_named_at_once_with_one_command() {
        let needs = [
            Need::debian("no-such-program", "some-package"),
            Need::debian("/no/such/file.h", "other-package"),
            Need::debian("/no/such/file.hpp", "other-package"),
            Need {
                probe: Probe::Program("no-such-go".to_owned()),
                from: From::Elsewhere("go: see go.dev"),
            },
        ];
        let words = Words::of(&needs.iter().collect::<Vec<_>>()).text();
        assert_eq!(
            words,
            "missing: /no/such/file.h, /no/such/file.hpp, no-such-go, no-such-program\n  go: see go.dev\n  \
             as root: apt-get update && DEBIAN_FRONTEND=noninteractive apt-get -q install -y \
             --no-install-recommends other-package some-package"
        );
        // Packages that cannot be installed are named to root too, before anything is installed.
        assert_eq!(ensure(&needs).unwrap_err().to_string(), words);
    }
}
