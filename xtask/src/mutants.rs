//! `cargo xtask mutants`: bugs that load generators have had, planted in ours one at a time; a test must catch each.
//!
//! The product has no switch for any of it. A plant is a replacement of text in a copy of the workspace, below the
//! target folder, with a build folder of its own, so that only what a plant changes is compiled again. [`plants`] is
//! the list. A plant whose text is no longer found exactly once is stale, which the tests of this module find.

mod outcome;
mod plants;
mod tree;

use crate::shell;
use anyhow::{Context as _, Result, bail, ensure};
use outcome::Outcome;
use plants::{PLANTS, Plant};
use std::process::Command;
use std::time::Instant;
use tree::Tree;

/// Plant bugs that such tools have had, and see that a test catches each
#[derive(clap::Args, Debug)]
pub(crate) struct MutantsArgs {
    /// Only plants whose name contains this
    #[arg(value_name = "NAME")]
    only: Option<String>,
}

/// Plants all of them.
pub(crate) fn all() -> Result<()> {
    run(&MutantsArgs { only: None })
}

/// Plants every bug, prints what caught it, and fails unless all are caught.
#[expect(clippy::disallowed_methods, reason = "tells a person how long it took")]
pub(crate) fn run(arguments: &MutantsArgs) -> Result<()> {
    let start = Instant::now();
    let wanted = arguments.only.as_deref().unwrap_or_default();
    let plants: Vec<&Plant> = PLANTS.iter().filter(|plant| plant.name.contains(wanted)).collect();
    ensure!(!plants.is_empty(), "no plant is named like `{wanted}`");
    let tree = Tree::copy(&shell::target().join("mutants"))?;
    eprintln!("mutants: without any plant");
    let sound = test(&tree, CRATES)?;
    ensure!(sound == Outcome::Survived, "the tests fail without any plant: {sound}");
    let mut caught = 0;
    for plant in &plants {
        eprintln!("mutants: {}", plant.name);
        let outcome = try_plant(&tree, plant).with_context(|| format!("plant `{}`", plant.name))?;
        caught += usize::from(outcome != Outcome::Survived);
        println!("{:<30} {outcome}\n    {}; had by: {}", plant.name, plant.lie, plant.had_by);
    }
    println!("\n{:.0} s", start.elapsed().as_secs_f64());
    println!("{caught} of {} caught", plants.len());
    if caught < plants.len() { bail!("a planted bug survived") } else { Ok(()) }
}

/// Plants one bug, runs the tests of its crate, then those of the others, and takes it out again.
fn try_plant(tree: &Tree, plant: &Plant) -> Result<Outcome> {
    let original = tree.read(plant.file)?;
    tree.write(plant.file, &plant.apply(&original)?)?;
    let own = plant.file.split('/').nth(1).context("a plant is below crates/NAME")?;
    let others: Vec<&str> = CRATES.iter().copied().filter(|name| *name != own).collect();
    let outcome = match test(tree, &[own]) {
        Ok(Outcome::Survived) => test(tree, &others),
        caught_or_failed => caught_or_failed,
    };
    tree.write(plant.file, &original)?;
    outcome
}

/// Builds and runs the tests of some crates, up to the first test program that fails.
///
/// # Errors
///
/// What does not compile is nobody's catch.
fn test(tree: &Tree, crates: &[&str]) -> Result<Outcome> {
    let mut build = cargo_test(tree, crates, shell::command("cargo"));
    shell::output(build.arg("--no-run")).context("it does not compile")?;
    // A plant may make a test wait for ever.
    let mut patience = shell::command("timeout");
    patience.args(["--kill-after=5", TEST_SECONDS_MAX, "cargo"]);
    let output = cargo_test(tree, crates, patience).output()?;
    let printed = String::from_utf8_lossy(&output.stdout);
    Ok(outcome::of(output.status.code(), &printed))
}

fn cargo_test(tree: &Tree, crates: &[&str], mut command: Command) -> Command {
    command.args(["test", "--locked", "--tests", "--target-dir"]).arg(tree.build());
    command.args(crates.iter().flat_map(|name| ["--package", name]));
    // Line tables are for people; nobody debugs a plant.
    command.env("CARGO_PROFILE_DEV_DEBUG", "false").env("CARGO_PROFILE_TEST_DEBUG", "false");
    command.current_dir(tree.folder());
    command
}

/// The crates whose tests can catch a wrong number.
const CRATES: &[&str] = &["load", "stats", "drive", "record", "run"];

/// How long the tests of these crates may run; they take a few seconds.
const TEST_SECONDS_MAX: &str = "120";
