//! `cargo xtask fuzz`: one fuzz target for a while, starting from its committed corpus.

use crate::shell;
use anyhow::{Result, bail};
use std::fs;

/// Fuzz one target of fuzz/fuzz_targets
#[derive(clap::Args, Debug)]
pub(crate) struct FuzzArgs {
    /// The name of a file of fuzz/fuzz_targets, without its extension
    target: String,
    /// Seconds to fuzz
    #[arg(long, default_value_t = 60)]
    seconds: u32,
}

/// Runs cargo-fuzz; inputs that it finds stay below the target folder, until a person moves one into the corpus.
pub(crate) fn run(arguments: &FuzzArgs) -> Result<()> {
    let targets = targets()?;
    if !targets.contains(&arguments.target) {
        bail!("no fuzz target `{}`; there are: {}", arguments.target, targets.join(", "));
    }
    if !shell::works(&mut shell::cargo("+nightly fuzz --version")) {
        bail!(
            "cargo-fuzz is missing: rustup toolchain install nightly && cargo install cargo-fuzz"
        );
    }
    let found = shell::target().join("fuzz-corpus").join(&arguments.target);
    fs::create_dir_all(&found)?;
    let mut fuzz = shell::cargo("+nightly fuzz run --fuzz-dir fuzz --target-dir");
    fuzz.arg(shell::target().join("fuzz")).arg(&arguments.target).arg(found);
    fuzz.arg(format!("fuzz/corpus/{}", arguments.target));
    shell::run(fuzz.arg("--").arg(format!("-max_total_time={}", arguments.seconds)))
}

fn targets() -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(shell::root().join("fuzz/fuzz_targets"))? {
        let path = entry?.path();
        if let (Some(name), Some("rs")) =
            (path.file_stem(), path.extension().and_then(|extension| extension.to_str()))
        {
            names.push(name.to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}
