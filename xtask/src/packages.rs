//! What a new machine lacks: Debian packages, installed only when something is missing.

use crate::shell;
use anyhow::{Result, bail};
use std::path::Path;
use std::sync::OnceLock;

/// Something that a task needs from the machine.
pub(crate) struct Need {
    /// A program to be found on the path, or the path of a file.
    pub(crate) probe: &'static str,
    /// The Debian package that brings it.
    pub(crate) package: &'static str,
}

/// Installs the packages of all `needs` that are not met; asks nothing and does nothing when all are.
pub(crate) fn ensure(needs: &[Need]) -> Result<()> {
    let missing: Vec<&str> =
        needs.iter().filter(|need| !is_there(need.probe)).map(|need| need.package).collect();
    if missing.is_empty() { Ok(()) } else { install(&missing) }
}

/// Installs packages, which takes root.
pub(crate) fn install(packages: &[&str]) -> Result<()> {
    let mut install = apt_get("install");
    install.args(["-y", "--no-install-recommends"]).args(packages);
    if !am_root()? {
        bail!("missing: {}; as root: {}", packages.join(", "), shell::shown(&install));
    }
    eprintln!("installing {}", packages.join(", "));
    update()?;
    shell::output(&mut install).map(drop)
}

/// Fetches the lists of packages, once in the life of this process.
fn update() -> Result<()> {
    static UPDATED: OnceLock<()> = OnceLock::new();
    if UPDATED.get().is_none() {
        shell::output(&mut apt_get("update"))?;
        UPDATED.get_or_init(|| ());
    }
    Ok(())
}

fn apt_get(task: &str) -> std::process::Command {
    let mut command = shell::command("apt-get");
    command.env("DEBIAN_FRONTEND", "noninteractive").arg("-q").arg(task);
    command
}

fn am_root() -> Result<bool> {
    Ok(shell::output(shell::command("id").arg("-u"))?.trim() == "0")
}

fn is_there(probe: &str) -> bool {
    if probe.contains('/') {
        return Path::new(probe).exists();
    }
    on_path(probe).is_some()
}

/// Where the path of programs has `program`.
pub(crate) fn on_path(program: &str) -> Option<std::path::PathBuf> {
    let path = std::env::var_os("PATH")?;
    // Debian keeps servers where only root looks.
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into()]);
    folders.map(|folder| folder.join(program)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_not_installed() {
        ensure(&[
            Need { probe: "sh", package: "no-such-package" },
            Need { probe: "/dev/null", package: "none" },
        ])
        .unwrap();
        assert_eq!(on_path("no-such-program"), None);
    }
}
