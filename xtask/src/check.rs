//! `cargo xtask check`: the one gate.
//!
//! The steps run one after another and the first failure ends it, with the command that repeats it. Steps are told
//! on the standard error stream; what the tools print, the test results above all, goes where it always goes.

use crate::packages::{self, Need};
use crate::{front_end, mutants, shell, third_party, tidy};
use anyhow::{Result, bail};
use std::process::Command;
use std::time::{Duration, Instant};

/// Everything that must hold before a change is done
#[derive(clap::Args, Debug)]
pub(crate) struct CheckArgs {
    /// Only format, tidy, clippy, documentation and the tests that need nothing from outside
    #[arg(long)]
    fast: bool,
}

/// Runs every step in order.
pub(crate) fn run(arguments: &CheckArgs) -> Result<()> {
    let mut gate = Gate { done: Vec::new() };
    gate.command("format", &mut shell::cargo("fmt --all --check"))?;
    gate.step("tidy", "cargo xtask tidy", tidy::run)?;
    gate.command(
        "clippy",
        &mut shell::cargo("clippy --locked --workspace --all-targets -- -D warnings"),
    )?;
    let mut doc = shell::cargo("doc --locked --workspace --no-deps");
    gate.command("documentation", doc.env("RUSTDOCFLAGS", "-D warnings"))?;
    if arguments.fast {
        gate.command("tests", &mut shell::cargo("test --locked --workspace --all-targets"))?;
        return gate.close();
    }
    gate.step("front end", "cd crates/report/web && npm ci && npm run check", front_end::check)?;
    let [clients, subjects] =
        gate.step("third parties", "cargo xtask third-party", third_party::install_all)?;
    let mut tests = shell::cargo("test --locked --workspace --all-targets");
    tests.env(third_party::VARIABLE, clients).env(third_party::SUBJECTS_VARIABLE, subjects);
    gate.command("tests", &mut tests)?;
    gate.step("planted bugs", "cargo xtask mutants", mutants::all)?;
    gate.command("documentation tests", &mut shell::cargo("test --locked --workspace --doc"))?;
    gate.command("release build", &mut shell::cargo("build --locked --release"))?;
    // libFuzzer is C++.
    packages::ensure(&[Need { probe: "c++", package: "g++" }])?;
    for apart in ["fuzz", "bench/peers"] {
        gate.command(&format!("{apart} compiles"), &mut check_apart(apart))?;
        let mut format = shell::cargo("fmt --all --check --manifest-path");
        gate.command(&format!("{apart} format"), format.arg(format!("{apart}/Cargo.toml")))?;
    }
    gate.close()
}

/// `cargo check` of a workspace of its own, built below the one target folder.
fn check_apart(folder: &str) -> Command {
    let mut command = shell::cargo("check --locked --all-targets");
    command.arg("--manifest-path").arg(format!("{folder}/Cargo.toml"));
    command.arg("--target-dir").arg(shell::target().join(folder));
    command
}

/// The steps that have passed, and how long each took.
struct Gate {
    done: Vec<(String, Duration)>,
}

impl Gate {
    /// A step that is one command.
    fn command(&mut self, name: &str, command: &mut Command) -> Result<()> {
        let repeat = shell::shown(command);
        self.step(name, &repeat, || shell::run(command))
    }

    /// A step that `repeat` would run again.
    #[expect(clippy::disallowed_methods, reason = "tells a person how long a step took")]
    fn step<T>(&mut self, name: &str, repeat: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        eprintln!("check: {name}");
        let start = Instant::now();
        let outcome = work();
        let took = start.elapsed();
        match outcome {
            Ok(made) => {
                eprintln!("check: {name} ok, {:.1} s", took.as_secs_f64());
                self.done.push((name.to_owned(), took));
                Ok(made)
            }
            Err(error) => {
                eprintln!("check: {name} FAILED after {:.1} s: {error:#}", took.as_secs_f64());
                bail!("check failed at `{name}`; repeat with: {repeat}")
            }
        }
    }

    /// The closing words.
    fn close(self) -> Result<()> {
        let mut total = Duration::ZERO;
        println!("\ncheck passed:");
        for (name, took) in &self.done {
            println!("  {name:<24} {:>7.1} s", took.as_secs_f64());
            total += *took;
        }
        println!("  {:<24} {:>7.1} s", format!("{} steps", self.done.len()), total.as_secs_f64());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_step_names_the_command_that_repeats_it() {
        let mut gate = Gate { done: Vec::new() };
        gate.command("first", &mut shell::command("true")).unwrap();
        let error = gate.command("second", shell::command("false").env("NAME", "a b")).unwrap_err();
        assert_eq!(error.to_string(), "check failed at `second`; repeat with: NAME='a b' false");
        assert_eq!(gate.done.len(), 1);
    }
}
