//! The programs of a benchmark: built or installed when a row needs them.

use super::Row;
use crate::packages::{self, Need};
use crate::{shell, third_party};
use anyhow::Result;
use std::path::{Path, PathBuf};

/// k6 as the Go module proxy serves it.
const K6: &str = "go.k6.io/k6@v1.8.1";

/// Where the programs are.
pub(super) struct Tools {
    /// The folder of the floor programs.
    pub(super) floor: PathBuf,
    /// The folder of the Rust peers.
    pub(super) peers: PathBuf,
    /// `None` if it cannot be installed here.
    pub(super) k6: Option<PathBuf>,
    /// nginx, as a subject.
    pub(super) nginx: PathBuf,
    /// The release binary.
    pub(super) wirebench: PathBuf,
    /// The release example that records messages and does nothing else.
    pub(super) record_messages: PathBuf,
    /// The release examples that encrypt, and compress, in memory and do nothing else.
    pub(super) tls_memory: PathBuf,
    pub(super) deflate_memory: PathBuf,
    /// Where contestants write what they print.
    pub(super) scratch: PathBuf,
}

impl Tools {
    /// Builds what `rows` need; quick when it is there.
    pub(super) fn prepare(rows: &[Row]) -> Result<Self> {
        let mut tools = Self::at(&shell::target())?;
        build_floor(&tools.floor)?;
        if rows.iter().any(|row| ![Row::Same, Row::Uring].contains(row)) {
            build_wirebench()?;
        }
        if rows.contains(&Row::WsPeers) {
            build_peers()?;
        }
        if rows.contains(&Row::WsPeers) || rows.contains(&Row::Churn) {
            // A machine without Go measures without it.
            let installed = install_k6();
            tools.k6 = installed.inspect_err(|error| eprintln!("without k6: {error:#}")).ok();
        }
        if rows.contains(&Row::Http) {
            packages::ensure(&[Need::debian("wrk", "wrk")])?;
            third_party::install_subjects(&tools.wirebench, &["nginx"])?;
        }
        if rows.contains(&Row::Recording) {
            packages::ensure(&[Need::debian("valgrind", "valgrind")])?;
            shell::run(&mut shell::cargo(
                "build --quiet --locked --release --package xtask --example record_messages",
            ))?;
        }
        Ok(tools)
    }

    /// Builds what `bench tls` needs.
    pub(super) fn prepare_layers() -> Result<Self> {
        let tools = Self::at(&shell::target())?;
        build_floor(&tools.floor)?;
        build_wirebench()?;
        shell::run(&mut shell::cargo(
            "build --quiet --locked --release --package wire --example tls_memory --example deflate_memory",
        ))?;
        Ok(tools)
    }

    /// Where everything is, or will be.
    fn at(target: &Path) -> Result<Self> {
        let tools = Self {
            floor: target.join("floor"),
            peers: target.join("bench/peers/release"),
            k6: None,
            nginx: target.join("subjects/nginx"),
            wirebench: target.join("release/wirebench"),
            record_messages: target.join("release/examples/record_messages"),
            tls_memory: target.join("release/examples/tls_memory"),
            deflate_memory: target.join("release/examples/deflate_memory"),
            scratch: target.join("bench/output"),
        };
        std::fs::create_dir_all(&tools.scratch)?;
        Ok(tools)
    }

    /// A floor program by its name.
    pub(super) fn floor(&self, name: &str) -> PathBuf {
        self.floor.join(name)
    }
}

fn build_wirebench() -> Result<()> {
    shell::run(&mut shell::cargo("build --quiet --locked --release --package wirebench"))
}

fn build_floor(folder: &Path) -> Result<()> {
    packages::ensure(&[
        Need::debian("cc", "gcc"),
        Need::debian("make", "make"),
        Need::debian("/usr/include/stdio.h", "libc6-dev"),
        Need::debian("/usr/include/liburing.h", "liburing-dev"),
    ])?;
    let mut make = shell::command("make");
    make.args(["--silent", "--directory", "bench/floor"]).arg(format!("OUT={}", folder.display()));
    shell::run(&mut make)
}

fn build_peers() -> Result<()> {
    let mut build = shell::cargo(
        "build --quiet --locked --release --manifest-path bench/peers/Cargo.toml --target-dir",
    );
    shell::run(build.arg(shell::target().join("bench/peers")))
}

/// Installs k6 with Go.
pub(super) fn install_k6() -> Result<PathBuf> {
    let folder = shell::target().join("bench/bin");
    let program = folder.join("k6");
    if !program.exists() {
        eprintln!("installing {K6}");
        shell::output(shell::command("go").args(["install", K6]).env("GOBIN", &folder))?;
    }
    Ok(program)
}
