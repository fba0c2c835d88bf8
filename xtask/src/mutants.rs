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
    let tree = planted_tree()?;
    let crates: BTreeSet<&str> = plants.iter().map(|plant| plant.caught_by).collect();
    let programs = programs::build(&tree, &crates)?;
    eprintln!("mutants: without any plant");
    for name in &crates {
        let outcome = programs::test(&programs, name, "", None)?;
        ensure!(
            outcome == Outcome::Survived,
            "the tests of {name} fail without any plant: {outcome}"
        );
    }
    let caught = plants
        .iter()
        .map(|plant| try_plant(&programs, plant))
        .filter(|outcome| !matches!(outcome, Ok(Outcome::Survived)))
        .collect::<Result<Vec<Outcome>>>()?;
    println!("\n{:.0} s", start.elapsed().as_secs_f64());
    println!("{} of {} caught", caught.len(), plants.len());
    if caught.len() < plants.len() { bail!("a planted bug survived") } else { Ok(()) }
}

/// Runs the test that is to catch a bug with it awake, then all of the crate, and prints what became of it.
fn try_plant(programs: &[Program], plant: &Plant) -> Result<Outcome> {
    let test = |filter| programs::test(programs, plant.caught_by, filter, Some(plant.name));
    let mut outcome = test(plant.test).with_context(|| format!("plant `{}`", plant.name))?;
    if outcome == Outcome::Survived {
        eprintln!("mutants: {} is not what catches `{}`", plant.test, plant.name);
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
