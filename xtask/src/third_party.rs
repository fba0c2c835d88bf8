//! Installs third-party programs below the target folder, with what they need: the subjects, by wirebench itself, and
//! the clients of `tests/third_party`.
//!
//! A client becomes `third-party/NAME/start`, by the contract of `tests/third_party/README.md`; a subject becomes
//! `subjects/NAME`, by that of `docs/SUBJECTS.md`. A program that was installed from the same files is left as it is,
//! so that a second call takes no time.

use crate::packages::{self, Need};
use crate::shell;
use anyhow::{Context as _, Result, bail};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// The variable that tells the tests where the clients are.
pub(crate) const VARIABLE: &str = "WIREBENCH_THIRD_PARTY";

/// The variable that tells the tests, and wirebench, where the subjects are.
pub(crate) const SUBJECTS_VARIABLE: &str = "WIREBENCH_INSTALLED";

/// Builds wirebench, and installs all subjects and clients.
///
/// Returns their folders: the values for [`VARIABLE`] and [`SUBJECTS_VARIABLE`].
pub(crate) fn install_all() -> Result<[PathBuf; 2]> {
    shell::run(&mut shell::cargo("build --quiet --locked --package wirebench"))?;
    install_built()
}

/// Installs all subjects and clients with the `wirebench` that is built already.
///
/// Returns the same folders.
pub(crate) fn install_built() -> Result<[PathBuf; 2]> {
    let subjects = install_subjects(&shell::target().join("debug/wirebench"))?;
    Ok([install()?, subjects])
}

/// Lets the program `wirebench` install all subjects. An unreachable registry is not a failure here: the tests know
/// which may be missing.
fn install_subjects(wirebench: &Path) -> Result<PathBuf> {
    let folder = shell::target().join("subjects");
    let mut install = shell::command(wirebench);
    install.args(["subjects", "install", "--packages", "--subjects", "subjects", "--installed"]);
    install.arg(&folder).arg("--all");
    // Its output is shown in one piece: it may run at the same time as the compiler, which prints too.
    let output =
        install.output().with_context(|| format!("cannot start `{}`", shell::shown(&install)))?;
    let words = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    match output.status.code() {
        Some(0) => Ok(folder),
        Some(PARTIAL) => {
            eprint!("{words}");
            Ok(folder)
        }
        _ => bail!("`{}` failed: {}\n{words}", shell::shown(&install), output.status),
    }
}

/// The exit code of wirebench when some of several are done.
const PARTIAL: i32 = 13;

/// Installs the clients of `tests/third_party`.
///
/// Returns their folder: the value for [`VARIABLE`].
pub(crate) fn install() -> Result<PathBuf> {
    packages::ensure(&[
        Need::debian("/usr/share/benchmark/compare.py", "libbenchmark-tools"),
        Need::debian("chromium", "chromium"),
        Need::debian("java", "openjdk-17-jdk-headless"),
        Need::debian("mvn", "maven"),
        Need::debian("node", "nodejs"),
        Need::debian("npm", "npm"),
        Need::debian("openssl", "openssl"),
    ])?;
    let folder = shell::target().join("third-party");
    for of_npm in ["browser", "cometd", "socketio-client", "sockjs-client"] {
        install_one(of_npm, &folder, npm)?;
    }
    install_one("benchstat", &folder, |folder| go(folder, "golang.org/x/perf/cmd/benchstat"))?;
    for of_pip in ["compare-py", "otlp"] {
        install_one(of_pip, &folder, python)?;
    }
    install_one("hdrhistogram", &folder, maven)?;
    install_nats_server()?;
    Ok(folder)
}

/// Installs the NATS server alone, and returns its program.
pub(crate) fn install_nats_server() -> Result<PathBuf> {
    let folder = shell::target().join("third-party");
    install_one("nats-server", &folder, |folder| go(folder, "github.com/nats-io/nats-server/v2"))?;
    Ok(nats_server())
}

/// The program of the NATS server, once it is installed.
pub(crate) fn nats_server() -> PathBuf {
    shell::target().join("third-party/nats-server/nats-server")
}

/// Builds a Go program into its folder, under the name of the folder.
fn go(folder: &Path, package: &str) -> Result<()> {
    let name = folder.file_name().and_then(|name| name.to_str()).context("a folder has a name")?;
    let build = ["build", "-o", name, package];
    shell::output(shell::command("go").args(build).current_dir(folder)).map(drop)
}

fn maven(folder: &Path) -> Result<()> {
    let copy = ["-q", "-B", "dependency:copy-dependencies"];
    shell::output(shell::command("mvn").args(copy).current_dir(folder)).map(drop)
}

fn python(folder: &Path) -> Result<()> {
    let make = ["-m", "venv", "venv"];
    shell::output(shell::command("python3").args(make).current_dir(folder))?;
    let install = ["install", "--quiet", "--requirement", "requirements.txt"];
    let pip = folder.join("venv/bin/pip");
    shell::output(shell::command(pip).args(install).current_dir(folder)).map(drop)
}

fn npm(folder: &Path) -> Result<()> {
    let flags = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"];
    shell::output(shell::command("npm").args(flags).current_dir(folder)).map(drop)
}

/// Installs the browser alone, and returns its folder.
pub(crate) fn install_browser() -> Result<PathBuf> {
    packages::ensure(&[
        Need::debian("chromium", "chromium"),
        Need::debian("node", "nodejs"),
        Need::debian("npm", "npm"),
    ])?;
    let folder = shell::target().join("third-party");
    install_one("browser", &folder, npm)?;
    Ok(folder.join("browser"))
}

/// Copies `tests/third_party/NAME` below `folder` and lets `build` add what it needs, unless that was done before.
fn install_one(name: &str, folder: &Path, build: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let source = shell::root().join("tests/third_party").join(name);
    let installed = folder.join(name);
    let stamp = installed.join(".installed");
    let fingerprint = fingerprint(&source)?;
    if fs::read(&stamp).is_ok_and(|known| known == fingerprint) {
        return Ok(());
    }
    eprintln!("installing {name}");
    if installed.exists() {
        fs::remove_dir_all(&installed)?;
    }
    copy_folder(&source, &installed)?;
    build(&installed).with_context(|| format!("cannot install {name}"))?;
    Ok(fs::write(stamp, fingerprint)?)
}

/// Every file of a folder by name and content: when it changes, the folder is installed anew.
fn fingerprint(folder: &Path) -> Result<Vec<u8>> {
    let mut all = Vec::new();
    for (name, path) in sorted_entries(folder)? {
        all.extend(name.as_encoded_bytes());
        all.push(b'\n');
        all.extend(if path.is_dir() { fingerprint(&path)? } else { fs::read(path)? });
    }
    Ok(all)
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for (name, path) in sorted_entries(from)? {
        if path.is_dir() {
            copy_folder(&path, &to.join(name))?;
        } else {
            fs::copy(path, to.join(name))?;
        }
    }
    Ok(())
}

/// The entries of a folder, without those that its own tools may have left there.
fn sorted_entries(folder: &Path) -> Result<Vec<(OsString, PathBuf)>> {
    let mut entries = Vec::new();
    for entry in
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?
    {
        let entry = entry?;
        if !["node_modules", "venv", "__pycache__"].iter().any(|left| entry.file_name() == *left) {
            entries.push((entry.file_name(), entry.path()));
        }
    }
    entries.sort();
    Ok(entries)
}
