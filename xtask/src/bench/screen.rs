//! `cargo xtask bench screen`: the CPU time that the live screen of a run needs, and the same load with the screen and
//! with `--quiet`.
//!
//! Both take turns on a terminal of 80 columns and 24 lines, which `script` makes. A thread of its own follows the run
//! and draws the screen; the kernel reports the CPU time of that thread. A run has one core: there the screen takes its
//! time from the load, and runs of the same kind differ less than on two.

use super::two_ways::{self, Loaded};
use super::{GENERATOR_CORE, SERVER_CORE};
use crate::process::{self, Process};
use anyhow::{Context as _, Result};
use stats::{Part, Pooled};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Measure what the live screen of a run needs, and whether a run with it is measured like one without
#[derive(clap::Args, Debug)]
pub(super) struct ScreenArgs {
    /// Rounds, each of a run with the screen and one without
    #[arg(long, default_value_t = 12, value_name = "N", value_parser = clap::value_parser!(u32).range(6..=1000))]
    rounds: u32,
    /// The measured seconds of each run
    #[arg(long, default_value_t = 8, value_name = "N", value_parser = clap::value_parser!(u32).range(3..=3600))]
    seconds: u32,
    /// A closed loop in place of an open one: it has no send lag, and its p99 differs less from run to run
    #[arg(long = "closed")]
    is_closed: bool,
    /// The binary to measure with, in place of the release build of this tree
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
}

/// Prints the table as Markdown.
pub(super) fn run(arguments: &ScreenArgs) -> Result<()> {
    let (wirebench, scratch) =
        (super::program(arguments.program.as_deref())?, super::scratch("screen")?);
    let mut serve = Command::new(&wirebench);
    serve.args(["serve", "ws", "--listen", "127.0.0.1:0"]);
    let mut server = Process::start("server", SERVER_CORE, &serve, &scratch)?;
    let url = format!("ws://{}/", process::await_ready(&mut server)?);
    let ScreenArgs { rounds, seconds, .. } = *arguments;
    let rate = if arguments.is_closed { "" } else { RATE };
    let (mut drawing, mut sides) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    for round in 0..rounds {
        // Neither side always goes first.
        for side in if round % 2 == 0 { [0, 1] } else { [1, 0] } {
            let (drawn, run) =
                measure(&wirebench, &scratch, &format!("{url} {rate}"), seconds, side == 1)?;
            eprintln!("  round {} of {rounds}, {}: {}", round + 1, NAMES[side], run.told());
            drawing[side].push(Some(drawn));
            sides[side].push(run);
        }
    }
    println!("{}\n", needs(&drawing)?);
    println!("{}", two_ways::table(NAMES, [&sides[0], &sides[1]])?);
    Ok(())
}

/// Measures once. Returns the CPU time of the thread that follows the run, by the time for which it was watched, and
/// the run.
fn measure(
    wirebench: &Path,
    scratch: &Path,
    load: &str,
    seconds: u32,
    is_quiet: bool,
) -> Result<(Part, Loaded)> {
    let record = scratch.join("screen.json");
    super::forget(&record)?;
    let quiet = if is_quiet { "--quiet" } else { "" };
    let line = format!(
        "stty rows 24 columns 80; exec '{}' run {load} --connections 50 --duration {seconds}s {quiet} \
         --output '{}'",
        wirebench.display(),
        record.display()
    );
    let mut terminal = Command::new("script");
    terminal.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
    terminal.env("TERM", "xterm-256color").env("SHELL", "/bin/sh");
    let mut run = Process::start_tied("run", GENERATOR_CORE, &terminal, scratch)?;
    let thread =
        run.wait_for("thread that follows the run", PATIENCE, |run| Ok(follower(run.id())))?;
    sleep(SETTLING);
    let (began, before) = (Instant::now(), process::on_cpu(&thread)?);
    // The warm-up is not part of `seconds`, so the run still goes on then.
    sleep(Duration::from_secs(u64::from(seconds)) - SETTLING);
    let used = process::on_cpu(&thread)?.saturating_sub(before);
    let watched = began.elapsed();
    run.finish_with(&[0, 12, 13], PATIENCE + Duration::from_secs(2 * u64::from(seconds)))?;
    let record = super::record(&record)?;
    let drawn = Part { of: used.as_secs_f64(), by: watched.as_secs_f64() };
    Ok((drawn, Loaded::of(&record)?))
}

/// The folder in `/proc` of the thread that follows the run, in one of the processes that `id` has started.
fn follower(id: u32) -> Option<PathBuf> {
    let tasks = process::descendants(id).into_iter();
    let tasks = tasks.flat_map(|id| fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten());
    let mut folders = tasks.flatten().map(|task| task.path());
    folders.find(|task| fs::read_to_string(task.join("comm")).is_ok_and(|it| it.trim() == FOLLOWER))
}

/// The sentence about the share of a core, from the runs with the screen and those without.
fn needs(drawing: &[Vec<Option<Part>>; 2]) -> Result<String> {
    let share = |side: usize| Pooled::quotient(&drawing[side]).context("no time was measured");
    let more = share(0)?.less(&share(1)?);
    let (low, high) = more.interval().context("too few rounds for an interval")?;
    let [share, low, high] = [more.value(), low, high].map(|share| share * 100.0);
    let mark = if share <= CPU_MAX { "" } else { ": MISSED" };
    Ok(format!(
        "the screen needs {share:.2} % of a core [{low:.2}, {high:.2}], at most {CPU_MAX} %{mark}"
    ))
}

/// The two sides.
const NAMES: [&str; 2] = ["with the screen", "--quiet"];
/// The most that the screen may need, as a percentage of a core.
const CPU_MAX: f64 = 1.0;
/// The messages that are due in a second: a core does not sleep between them, which would differ from run to run.
const RATE: &str = "--rate 20000/s";
/// The name of the thread that follows a run.
const FOLLOWER: &str = "progress";
/// The time from the first sight of that thread to the first look at its CPU time.
const SETTLING: Duration = Duration::from_secs(1);
/// The time for everything besides the measurement.
const PATIENCE: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_screen_needs_is_held_against_its_bound() {
        let of = |millis: [f64; 6]| millis.map(|ms| Some(Part { of: ms / 1e3, by: 10.0 })).to_vec();
        let shown = needs(&[of([60.0, 62.0, 61.0, 59.0, 60.0, 58.0]), of([1.0; 6])]).unwrap();
        assert!(shown.starts_with("the screen needs 0.59 % of a core [0.5"), "{shown}");
        assert!(shown.ends_with("at most 1 %"), "{shown}");
        assert!(needs(&[of([200.0; 6]), of([1.0; 6])]).unwrap().ends_with("at most 1 %: MISSED"));
    }
}
