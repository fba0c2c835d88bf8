//! `cargo xtask bench`: figures of wirebench itself that no lab can measure.
//!
//! Programs are compared by a lab: `experiments/floor.toml` sets wirebench beside the least that a correct program does
//! and beside its peers. This is the rest: instructions for each message, time to start, size, memory, what other load
//! generators say about a server that was stopped ([`liars`]), how often intervals miss the truth ([`noise`]), how
//! often comparisons of two runs do ([`pairs`]), of two servers in turns ([`ab`]), and sweeps ([`knee`]), runs against
//! a server that leaks ([`drift`]), requests matched by their ids ([`conversation`]), growth over an hour ([`hour`]),
//! the live screen of a run ([`screen`]), fleets in network namespaces ([`fleet`]), receivers of pushes beside
//! receivers in C ([`push`]), and what a kill leaves of each command ([`kills`]). A benchmark is not a test: a missed
//! target is printed, and the exit code stays 0, unless something was left behind or lost.

#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock and waits")]

mod ab;
mod alone;
mod conversation;
mod drift;
mod fleet;
mod hour;
mod kills;
mod knee;
mod liars;
mod memory;
mod nats;
mod neighbours;
mod noise;
mod pairs;
mod push;
mod screen;
mod two_ways;

use crate::shell;
use anyhow::{Context as _, Result};
use std::path::{Path, PathBuf};

/// Measure what no lab can: instructions, start, size, memory, intervals, and other tools' words about a stop
#[derive(clap::Args, Debug)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand, Debug)]
enum What {
    Ab(ab::AbArgs),
    Conversation(conversation::ConversationArgs),
    Drift(drift::DriftArgs),
    Fleet(fleet::FleetArgs),
    Hour(hour::HourArgs),
    Kills(kills::KillsArgs),
    Knee(knee::KneeArgs),
    Liars(liars::LiarsArgs),
    /// Resident memory for each connection: idle, and with compression
    Memory,
    #[command(hide = true)]
    Neighbour(neighbours::NeighbourArgs),
    Noise(noise::NoiseArgs),
    Pairs(pairs::PairsArgs),
    Push(push::PushArgs),
    /// The cost of recording one message: instructions, by valgrind, and nanoseconds
    Recording,
    Screen(screen::ScreenArgs),
    /// The size of the binary as packages have it
    Size,
    /// The time from start to usage text
    Start,
}

/// Runs what the arguments ask for.
pub(crate) fn run(arguments: &BenchArgs) -> Result<()> {
    let figures = match &arguments.what {
        What::Ab(arguments) => return ab::run(arguments),
        What::Conversation(arguments) => return conversation::run(arguments),
        What::Drift(arguments) => return drift::run(arguments),
        What::Fleet(arguments) => return fleet::run(arguments),
        What::Hour(arguments) => return hour::run(arguments),
        What::Kills(arguments) => return kills::run(arguments),
        What::Knee(arguments) => return knee::run(arguments),
        What::Liars(arguments) => return liars::run(arguments),
        What::Neighbour(arguments) => return neighbours::run(arguments),
        What::Noise(arguments) => return noise::run(arguments),
        What::Pairs(arguments) => return pairs::run(arguments),
        What::Screen(arguments) => return screen::run(arguments),
        What::Push(arguments) => push::measure(arguments)?,
        What::Memory => memory::measure(&wirebench()?, &scratch("memory")?)?,
        What::Recording => alone::recording()?,
        What::Size => alone::size(&packaged()?)?,
        What::Start => alone::start(&wirebench()?)?,
    };
    figures.iter().for_each(|figure| println!("{}", figure.text()));
    Ok(())
}

/// A number, and the most that it should be.
#[derive(Debug, PartialEq)]
struct Figure {
    name: &'static str,
    value: f64,
    at_most: Option<f64>,
}

impl Figure {
    /// A figure that is only shown.
    fn shown(name: &'static str, value: f64) -> Self {
        Self { name, value, at_most: None }
    }

    fn at_most(name: &'static str, value: f64, most: f64) -> Self {
        Self { name, value, at_most: Some(most) }
    }

    fn text(&self) -> String {
        let Self { name, value, at_most } = self;
        let target = at_most.map_or_else(String::new, |most| {
            format!("  at most {most}{}", if *value <= most { "" } else { ": MISSED" })
        });
        format!("{name:<36} {value:>12.1}{target}")
    }
}

/// Builds the release binary.
fn wirebench() -> Result<PathBuf> {
    shell::run(&mut shell::cargo("build --quiet --locked --release --package wirebench"))?;
    Ok(shell::target().join("release/wirebench"))
}

/// The binary to measure with: the one that was named, or the release binary, built.
pub(crate) fn program(named: Option<&Path>) -> Result<PathBuf> {
    named.map_or_else(wirebench, |named| Ok(named.canonicalize()?))
}

/// The binary to measure with, which has the feature `fleet`.
fn program_of_fleet(named: Option<&Path>) -> Result<PathBuf> {
    let build = || -> Result<PathBuf> {
        let build = "build --quiet --locked --release --package wirebench --features fleet";
        shell::run(&mut shell::cargo(build))?;
        Ok(shell::target().join("release/wirebench"))
    };
    Ok(named.map_or_else(build, |named| Ok(named.to_owned()))?.canonicalize()?)
}

/// Builds the binary as packages have it.
fn packaged() -> Result<PathBuf> {
    shell::run(&mut shell::cargo("build --quiet --locked --profile dist --package wirebench"))?;
    Ok(shell::target().join("dist/wirebench"))
}

/// A folder for what programs print.
fn scratch(name: &str) -> Result<PathBuf> {
    let folder = shell::target().join(Path::new("bench").join(name));
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// A record that was written.
fn record(path: &Path) -> Result<serde_json::Value> {
    let text = std::fs::read_to_string(path)?;
    serde_json::from_str(&text).with_context(|| format!("{} is no JSON", path.display()))
}

/// Removes the record of an earlier run, so that it is never read instead of one that was not written.
fn forget(record: &Path) -> Result<()> {
    match std::fs::remove_file(record) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        Ok(()) | Err(_) => Ok(()),
    }
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
fn as_f64(count: u64) -> f64 {
    count as f64
}

/// The cores of the two ends, where there are two.
pub(crate) const SERVER_CORE: usize = 0;
const GENERATOR_CORE: usize = 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missed_target_is_named() {
        let text = |figure: Figure| figure.text().split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(text(Figure::shown("MB", 1.25)), "MB 1.2");
        assert_eq!(text(Figure::at_most("MB", 12.0, 12.0)), "MB 12.0 at most 12");
        assert_eq!(text(Figure::at_most("MB", 12.5, 12.0)), "MB 12.5 at most 12: MISSED");
    }
}
