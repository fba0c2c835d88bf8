//! `cargo xtask mutants`: bugs that load generators have had, planted in ours one at a time; a test must catch each.
//!
//! The product has no switch for any of it. All plants are built into a copy of the workspace below the target folder,
//! each behind a switch ([`switch`]), so that the copy is compiled once; what both depend on is compiled already.
//! [`plants()`] is the list. A plant whose place is no longer found is stale, which the tests of this module notice.

mod fleet_plants;
mod outcome;
mod plants;
mod programs;
mod switch;
mod tree;

use crate::shell;
use anyhow::{Context as _, Result, bail, ensure};
use outcome::Outcome;
use plants::{Plant, plants};
use programs::Program;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
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
    side_by_side(tests, |(name, test)| must_pass(&programs, name, test))?;
    let count = plants.len();
    let outcomes = side_by_side(plants, |plant| try_plant(&programs, plant))?;
    let caught = outcomes.iter().filter(|outcome| **outcome != Outcome::Survived).count();
    println!("\n{:.0} s", start.elapsed().as_secs_f64());
    println!("{caught} of {count} caught");
    if caught < count { bail!("a planted bug survived") } else { Ok(()) }
}

/// The crates whose tests catch those.
fn crates<'a>(plants: impl Iterator<Item = &'a Plant>) -> BTreeSet<&'static str> {
    plants.map(|plant| plant.caught_by).collect()
}

/// Does `work` with each of `all`, with as many at a time as there are cores; the outcomes are in no order.
fn side_by_side<T: Send, O: Send>(
    all: impl IntoIterator<Item = T, IntoIter: Send>,
    work: impl Fn(T) -> Result<O> + Sync,
) -> Result<Vec<O>> {
    let waiting = Mutex::new(all.into_iter());
    let next = || waiting.lock().expect("taking one does not panic").next();
    let worker = || std::iter::from_fn(next).map(&work).collect::<Result<Vec<O>>>();
    thread::scope(|scope| {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(worker)).collect();
        let done = workers.into_iter().map(|worker| worker.join().expect("no work panics"));
        Ok(done.collect::<Result<Vec<Vec<O>>>>()?.into_iter().flatten().collect())
    })
}

/// Sees that tests of a crate pass without any plant.
fn must_pass(programs: &[Program], name: &str, test: &str) -> Result<()> {
    let outcome = programs::test(programs, name, test, None)?;
    ensure!(outcome == Outcome::Survived, "the tests of {name} fail without any plant: {outcome}");
    Ok(())
}

/// Runs the test that is to catch a bug with it awake, then all of the crate, and prints what became of it.
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

/// The copy of the workspace with every plant built in, whichever are wanted: it is compiled once for all.
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
        Ok(if roots.contains(path) { planted + &switch::asking() } else { planted })
    })
}
