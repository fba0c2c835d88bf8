//! Tries what was built where nothing of this machine is visible: the package in a new Debian, the program in an empty
//! root file system. Both are below the target folder; processes see their own file system and process table.

use super::{PROGRAM, Target};
use crate::packages::Need;
use crate::{files, shell};
use anyhow::{Context as _, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Everything that it needs from the machine.
pub(super) fn needs() -> [Need; 2] {
    [Need::debian("debootstrap", "debootstrap"), Need::debian("unshare", "util-linux")]
}

/// Tries the files of `out` for `target`, which is this machine's.
pub(super) fn run(out: &Path, target: &Target) -> Result<()> {
    let debian = debian()?;
    let package = file_ending_in(out, &format!("_{}.deb", target.architecture))?;
    fs::copy(package, debian.join("wirebench.deb"))?;
    tell(within(&debian).args(["dpkg", "--install", "/wirebench.deb"]), &[0])?;
    for command in [
        "man --where wirebench wirebench-run",
        ". /usr/share/bash-completion/completions/wirebench && complete -p wirebench",
        "ls /usr/share/zsh/vendor-completions/_wirebench /usr/share/fish/vendor_completions.d/wirebench.fish",
        "ls /usr/lib/systemd/system/wirebench-serve@.service",
        "wirebench --version --verbose",
        "wirebench subjects list",
    ] {
        tell(within(&debian).args(["bash", "-c", command]), &[0])?;
    }
    tell(within(&debian).args([PROGRAM, "--quick", "--quiet"]), MEASURED)?;

    let empty = files::empty(shell::target().join("dist-empty"))?;
    for folder in ["dev", "proc", "tmp"] {
        fs::create_dir(empty.join(folder))?;
    }
    let mut null = shell::command("mknod");
    shell::output(null.arg(empty.join("dev/null")).args(["c", "1", "3"]))?;
    fs::copy(file_ending_in(out, target.triple)?, empty.join(PROGRAM))?;
    tell(within(&empty).args(["/wirebench", "--quick", "--quiet"]), MEASURED)
}

/// The exit codes of a measurement, which a busy machine may make invalid.
const MEASURED: &[i32] = &[0, 12];

/// The root file system of a Debian, made on its first use.
fn debian() -> Result<PathBuf> {
    let folder = shell::target().join("dist-debian");
    if !folder.join("usr/bin/man").exists() {
        eprintln!("dist: making a Debian in {}", folder.display());
        // Its mounts are gone when it ends, however it ends.
        let mut make = shell::command("unshare");
        make.args(["--mount", "debootstrap", "--variant=minbase", "--include=man-db", "stable"]);
        shell::output(make.arg(&folder))?;
    }
    for program in ["usr/bin/rustc", "root/.cargo/bin/rustc"] {
        ensure!(!folder.join(program).exists(), "{} has Rust", folder.display());
    }
    Ok(folder)
}

/// A command that has `root` as its root file system, with a process table of its own.
fn within(root: &Path) -> Command {
    let mut command = shell::command("unshare");
    command.args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc=/proc"]);
    command.arg(format!("--root={}", root.display())).args(["--wd=/tmp", "--"]);
    command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("HOME", "/tmp");
    command
}

/// Runs a command, shows it and what it prints, and checks that it ends with one of these codes.
fn tell(command: &mut Command, codes: &[i32]) -> Result<()> {
    let shown = shell::shown(command);
    eprintln!("dist: {shown}");
    let status = command.status().with_context(|| format!("cannot start `{shown}`"))?;
    ensure!(status.code().is_some_and(|code| codes.contains(&code)), "`{shown}` failed: {status}");
    Ok(())
}

/// The file of `folder` whose name ends in `end`.
fn file_ending_in(folder: &Path, end: &str) -> Result<PathBuf> {
    let found = files::below(folder)?.into_iter().find(|path| path.ends_with(end));
    let found = found.with_context(|| format!("no file ends in {end} in {}", folder.display()))?;
    Ok(folder.join(found))
}
