//! `cargo xtask bench knee`: how often sweeps on sockets find the knee of a server whose cap is known, beside each
//! disturbance.
//!
//! A test of `stats` does the same with many more, simulated blocks.

use super::neighbours::Disturbance;
use super::{GENERATOR_CORE, SERVER_CORE};
use crate::process::{self, Process};
use anyhow::{Context as _, Result};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Sweep a server of 1500 replies a second beside each disturbance, and count the knees that are right
#[derive(clap::Args, Debug)]
pub(super) struct KneeArgs {
    /// Sweeps beside each disturbance
    #[arg(long, default_value_t = 10, value_name = "N")]
    seeds: u32,
    /// The measured time of each block
    #[arg(long, default_value = "700ms", value_name = "TIME")]
    duration: String,
    /// Only disturbances whose name contains this
    #[arg(long, default_value = "", value_name = "NAME")]
    only: String,
    /// The time of each sweep at most: a hundred of them take an hour
    #[arg(long, default_value = "35s", value_name = "TIME")]
    budget: String,
    /// The binary to measure with, in place of the release build of this tree
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
}

/// Prints the table as Markdown, row by row.
pub(super) fn run(arguments: &KneeArgs) -> Result<()> {
    let (wirebench, scratch) =
        (super::program(arguments.program.as_deref())?, super::scratch("knee")?);
    println!("{HEAD}");
    for (name, disturbance) in Disturbance::ALL {
        if !name.contains(&arguments.only) {
            continue;
        }
        let mut sweeps = Sweeps::default();
        for seed in 1..=arguments.seeds {
            eprintln!("  {name}: {seed} of {}", arguments.seeds);
            let _busy = disturbance.beside(&scratch)?;
            sweeps.add(&sweep(&wirebench, &scratch, arguments, disturbance, seed)?);
        }
        println!("{}", sweeps.row(name));
    }
    Ok(())
}

/// Sweeps a server of its own once, and returns the record; null if the server gave no answer.
fn sweep(
    wirebench: &Path,
    scratch: &Path,
    arguments: &KneeArgs,
    disturbance: Disturbance,
    seed: u32,
) -> Result<Value> {
    let mut serve = Command::new(wirebench);
    serve.args(["serve", "oracle", "ws", "--listen", "127.0.0.1:0", "--cap", "1500/s"]);
    let mut server = Process::start("server", SERVER_CORE, &serve, scratch)?;
    let url = format!("ws://{}/", process::await_ready(&mut server)?);
    let KneeArgs { duration, budget, .. } = arguments;
    let mut sweep = Command::new(wirebench);
    sweep.args(["sweep", &url, "--from", "1000", "--warm-up", "200ms", "--output", "-"]);
    sweep.args(["--duration", duration, "--budget", budget, "--seed", &seed.to_string()]);
    let mut sweep = Process::start("sweep", GENERATOR_CORE, &sweep, scratch)?;
    let acts = disturbance.upon(sweep.id(), seed.into());
    let record = sweep.finish_with(&[0, 12, 13, 15], PATIENCE)?;
    drop(acts);
    if record.is_empty() {
        return Ok(Value::Null); // It got no answer, and so found no knee.
    }
    serde_json::from_str(&record).with_context(|| format!("the record of seed {seed} is no JSON"))
}

/// The sweeps beside one disturbance, counted by what they found.
#[derive(Clone, Debug, Default, PartialEq)]
struct Sweeps {
    count: u32,
    not_found: u32,
    confirmed: u32,
    covers: u32,
    /// The intervals that exclude the truth by more than 5 %.
    far_off: u32,
    widths: Vec<f64>,
    blocks: usize,
}

impl Sweeps {
    fn add(&mut self, record: &Value) {
        let knee = &record["sweep"]["lines"][0]["knee"];
        self.count += 1;
        self.blocks += record["blocks"].as_array().map_or(0, Vec::len);
        let ends = knee["low_per_s"].as_f64().zip(knee["high_per_s"].as_f64());
        let Some((low, high)) = ends.filter(|_| knee["is"] == "found") else {
            self.not_found += 1;
            return;
        };
        self.confirmed += u32::from(knee["confirmed"] == true);
        self.covers += u32::from((low..=high).contains(&TRUTH));
        self.far_off += u32::from(low > TRUTH * 1.05 || high < TRUTH * 0.95);
        self.widths.push(high / low.max(1.0));
    }

    fn row(&self, name: &str) -> String {
        let Self { count, not_found, confirmed, covers, far_off, blocks, .. } = self;
        let width = stats::median(&self.widths)
            .map_or_else(|_| "-".to_owned(), |width| format!("{:.1} %", 100.0 * (width - 1.0)));
        let blocks = f64::from(u32::try_from(*blocks).unwrap_or(u32::MAX)) / f64::from(*count);
        format!(
            "| {name} | {count} | {not_found} | {confirmed} | {covers} | {far_off} | {width} | {blocks:.1} |"
        )
    }
}

/// The knee of the server, by the rule of 99 %.
const TRUTH: f64 = 1500.0 / 0.99;
const HEAD: &str = "\
| machine | sweeps | not found | confirmed | cover 1515/s | off by 5 % | median width | blocks |
|---|--:|--:|--:|--:|--:|--:|--:|";
/// The longest time of a sweep; a longer one has failed.
const PATIENCE: Duration = Duration::from_secs(1800);

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn sweeps_are_counted_by_what_they_found() {
        let record = |knee: Value| json!({"sweep": {"lines": [{"knee": knee}]}, "blocks": [0, 0]});
        let found = |low: f64, high: f64, confirmed: bool| {
            record(json!({
                "is": "found", "low_per_s": low, "high_per_s": high, "confirmed": confirmed,
            }))
        };
        let mut sweeps = Sweeps::default();
        sweeps.add(&found(1500.0, 1530.0, true));
        sweeps.add(&found(1200.0, 1400.0, false));
        sweeps.add(&record(json!({"is": "not_reached", "offered_max_per_s": 1.0})));
        sweeps.add(&Value::Null);
        assert_eq!(sweeps.row("quiet"), "| quiet | 4 | 2 | 1 | 1 | 1 | 9.3 % | 1.5 |");
    }
}
