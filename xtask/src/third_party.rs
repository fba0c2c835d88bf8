//! Installs the servers and clients of `tests/third_party` below the target folder, with what they and their tests
//! need.
//!
//! Each ends as `third-party/NAME/start`, the contract of `tests/third_party/README.md`. A folder that was installed
//! from the same files is left as it is, so that a second call takes no time.

use crate::packages::{self, Need};
use crate::shell;
use anyhow::{Context as _, Result};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// The variable that tells the tests where they are.
pub(crate) const VARIABLE: &str = "WIREBENCH_THIRD_PARTY";

/// Installs all of them.
///
/// Gives back the folder that holds them: what [`VARIABLE`] is to be.
pub(crate) fn install() -> Result<PathBuf> {
    packages::ensure(&[
        Need { probe: "chromium", package: "chromium" },
        Need { probe: "node", package: "nodejs" },
        Need { probe: "npm", package: "npm" },
        Need { probe: "openssl", package: "openssl" },
        Need { probe: "python3", package: "python3" },
    ])?;
    let folder = shell::target().join("third-party");
    for of_npm in ["browser", "cometd", "node-ws"] {
        install_one(of_npm, &folder, npm)?;
    }
    install_one("python-websockets", &folder, python_websockets)?;
    install_one("nginx", &folder, nginx)?;
    Ok(folder)
}

fn npm(folder: &Path) -> Result<()> {
    let flags = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"];
    shell::output(shell::command("npm").args(flags).current_dir(folder)).map(drop)
}

fn python_websockets(folder: &Path) -> Result<()> {
    let venv = folder.join("venv");
    let make_with = |python: &str| {
        shell::output(shell::command(python).args(["-m", "venv", "--clear"]).arg(&venv))
    };
    if make_with("python3").is_err() {
        // Debian ships Python without what makes environments.
        packages::install(&["python3-venv"])?;
        make_with("/usr/bin/python3")?;
    }
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    let install = install.iter().chain(&["-r", "requirements.txt"]);
    shell::output(shell::command(venv.join("bin/python")).args(install).current_dir(folder))
        .map(drop)
}

fn nginx(folder: &Path) -> Result<()> {
    let program = folder.join("bin/nginx");
    fs::create_dir_all(folder.join("bin"))?;
    let found = if let Some(found) = packages::on_path("nginx") {
        found
    } else {
        // Only unpacked: installing it would start a server on port 80.
        packages::unpack("nginx", &folder.join("package"))?;
        folder.join("package/usr/sbin/nginx")
    };
    std::os::unix::fs::symlink(found, &program)?;
    shell::output(shell::command(&program).arg("-v")).context("nginx does not start").map(drop)
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

/// What a folder holds, without what its own tools may have left there.
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
