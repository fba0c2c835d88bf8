//! `cargo xtask mutants`: bugs that load generators have had, planted in ours one at a time; a test must catch each.
//!
//! The product has no switch for any of it. All plants are built into a copy of the workspace below the target folder,
//! each behind a switch ([`switch`]), so that the copy is compiled once; shared dependencies are compiled already.
//! [`plants()`] is the list. A plant whose place is no longer found is stale, which the tests of this module notice.

mod fleet_plants;
mod outcome;
mod plants;
mod programs;
mod switch;
mod tree;

use crate::shell;
use crate::turns::in_turns;
use anyhow::{Context as _, Result, bail, ensure};
use outcome::Outcome;
use plants::{Plant, plants};
use programs::Program;
use std::collections::{BTreeMap, BTreeSet};
use std::thread;
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
    let plants: Vec<&Plant> = plants().filter(|plant| plant.name.contains(wanted)).collect();
    ensure!(!plants.is_empty(), "no plant is named like `{wanted}`");
    let programs = programs::build(&planted_tree()?, &crates(plants.iter().copied()))?;
    eprintln!("mutants: without any plant");
    let tests: BTreeSet<_> = plants.iter().map(|plant| (plant.caught_by, plant.test)).collect();
    let tests: Vec<_> = tests.into_iter().collect();
    side_by_side(&tests, |(name, test)| must_pass(&programs, name, test))?;
    let count = plants.len();
    let outcomes = side_by_side(&plants, |plant| try_plant(&programs, plant))?;
    let caught = outcomes.iter().filter(|outcome| **outcome != Outcome::Survived).count();
    println!("\n{:.0} s", start.elapsed().as_secs_f64());
    println!("{caught} of {count} caught");
    if caught < count { bail!("a planted bug survived") } else { Ok(()) }
}

/// The crates whose tests catch these plants.
fn crates<'a>(plants: impl Iterator<Item = &'a Plant>) -> BTreeSet<&'static str> {
    plants.map(|plant| plant.caught_by).collect()
}

/// Does `work` with each of `all`, with as many at a time as there are cores.
fn side_by_side<T: Copy + Sync, O: Send>(
    all: &[T],
    work: impl Fn(T) -> Result<O> + Sync,
) -> Result<Vec<O>> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    in_turns(cores, all.len(), |index, _| work(all[index]))
}

/// Checks that tests of a crate pass without any plant.
fn must_pass(programs: &[Program], name: &str, test: &str) -> Result<()> {
    let outcome = programs::test(programs, name, test, None)?;
    ensure!(outcome == Outcome::Survived, "the tests of {name} fail without any plant: {outcome}");
    Ok(())
}

/// Runs the test that should catch a bug with that bug awake, then, if it survives, all tests of the crate, and prints
/// the outcome.
fn try_plant(programs: &[Program], plant: &Plant) -> Result<Outcome> {
    let test = |filter| programs::test(programs, plant.caught_by, filter, Some(plant.name));
    let mut outcome = test(plant.test).with_context(|| format!("plant `{}`", plant.name))?;
    if outcome == Outcome::Survived {
        eprintln!("mutants: {} is not what catches `{}`", plant.test, plant.name);
        must_pass(programs, plant.caught_by, "")?;
        outcome = test("")?;
    }
    println!("{:<30} {outcome}\n    {}; had by: {}", plant.name, plant.lie, plant.had_by);
    Ok(outcome)
}

/// Makes the copy of the workspace with every plant built in, whichever are wanted, so that it is compiled once for
/// all.
fn planted_tree() -> Result<Tree> {
    let mut of_file: BTreeMap<&str, Vec<&Plant>> = BTreeMap::new();
    let mut roots = BTreeSet::new();
    for plant in plants() {
        of_file.entry(plant.file).or_default().push(plant);
        let (source, _) = plant.file.split_once("/src/").context("a plant is in crates/*/src")?;
        roots.insert(format!("{source}/src/lib.rs"));
    }
    Tree::copy(&shell::target().join("mutants/tree"), |path, text| {
        let planted = match of_file.get(path) {
            Some(plants) => switch::build_in(text, plants)?,
            None => text.to_owned(),
        };
        Ok(match path {
            "Cargo.toml" | "Cargo.lock" => of_another_version(&planted),
            _ if roots.contains(path) => planted + &switch::asking(),
            _ => planted,
        })
    })
}

/// Returns the manifest of the workspace, or its lock file, with another version for our crates. Cargo names what it
/// builds after the version: with the same version it would take builds of the copy for builds of ours, and no longer
/// compile our changes.
fn of_another_version(text: &str) -> String {
    let another = |package: &str| match package.contains("\nsource = ") {
        true => package.to_owned(),
        false => package.replacen(VERSION, &format!("{VERSION}-planted"), 1),
    };
    text.split(PACKAGE).map(another).collect::<Vec<_>>().join(PACKAGE)
}

/// The beginning of a package in the lock file.
const PACKAGE: &str = "[[package]]";
/// The version of our crates.
const VERSION: &str = concat!("\nversion = \"", env!("CARGO_PKG_VERSION"));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_of_the_copy_have_another_version_than_ours() {
        let read = |path: &str| std::fs::read_to_string(shell::root().join(path)).unwrap();
        let versions = |lock: &str| -> BTreeMap<String, String> {
            let lock: toml::Table = lock.parse().unwrap();
            let packages = lock["package"].as_array().unwrap().iter();
            let ours = packages.filter(|package| package.get("source").is_none());
            let text = |value: &toml::Value| value.as_str().unwrap().to_owned();
            ours.map(|it| (text(&it["name"]), text(&it["version"]))).collect()
        };
        let lock = read("Cargo.lock");
        let (ours, copied) = (versions(&lock), versions(&of_another_version(&lock)));
        assert!(ours.contains_key("wire") && ours.keys().eq(copied.keys()));
        assert!(ours.iter().all(|(name, version)| copied[name] == format!("{version}-planted")));
        assert_eq!(of_another_version(&lock).matches("-planted").count(), ours.len());
        let manifest: toml::Table = of_another_version(&read("Cargo.toml")).parse().unwrap();
        let version = manifest["workspace"]["package"]["version"].as_str();
        assert_eq!(version, Some(copied["wire"].as_str()));
    }
}
