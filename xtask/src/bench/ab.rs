//! `cargo xtask bench ab`: how often `wirebench ab` finds a server that needs 5 % more CPU time for each message, and
//! how often `--aa` claims a difference where there is none.
//!
//! Both servers are our WebSocket echo with some work for each message. The work of HEAD is more by 5 % of what a
//! message costs BASE in all, which a first run measures.

use super::{GENERATOR_CORE, SERVER_CORE};
use crate::process::Process;
use anyhow::{Context as _, Result};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Run `wirebench ab` with a server that is 5 % slower and with the same server twice, and count what it claims
#[derive(clap::Args, Debug)]
pub(super) struct AbArgs {
    /// Runs with a slower server
    #[arg(long, default_value_t = 20, value_name = "N")]
    runs: usize,
    /// Runs with the same server on both sides
    #[arg(long, default_value_t = 40, value_name = "N")]
    same: usize,
    /// The measured seconds of a run, of both sides together
    #[arg(long, default_value_t = 60, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=3600))]
    seconds: u32,
    /// The binary to measure with, in place of the release build of this tree
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
}

/// Prints the table as Markdown.
pub(super) fn run(arguments: &AbArgs) -> Result<()> {
    let bench = Bench {
        wirebench: super::program(arguments.program.as_deref())?,
        scratch: super::scratch("ab")?,
        seconds: arguments.seconds,
    };
    let first = bench.measure(None)?;
    let cost = &first["results"][0]["pooled"]["server_cpu_us_per_message"]["value"];
    let cost = cost.as_f64().context("the record has no CPU time of BASE")?;
    eprintln!("a message costs BASE {cost:.2} us of CPU time");
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "some microseconds"
    )]
    let slower = WORK_NS + (cost * 1e3 * MORE) as u64;
    let [slower, same] = [(arguments.runs, Some(slower)), (arguments.same, None)].map(
        |(runs, work)| -> Result<Claims> {
            let mut claims = Claims::default();
            for run in 1..=runs {
                eprintln!(
                    "  {run} of {runs}, {}",
                    if work.is_some() { "5 % more" } else { "the same" }
                );
                claims.add(&bench.measure(work)?)?;
            }
            Ok(claims)
        },
    );
    println!("{HEAD}");
    println!("{}", slower?.row("5 % more CPU for each message"));
    println!("{}", same?.row("the same (`--aa`)"));
    Ok(())
}

struct Bench {
    wirebench: PathBuf,
    scratch: PathBuf,
    seconds: u32,
}

impl Bench {
    /// The record of one run against a server of so much work for each message; `None`: of BASE against itself.
    fn measure(&self, work_ns: Option<u64>) -> Result<Value> {
        let record = self.scratch.join("ab.json");
        let mut run = Command::new(&self.wirebench);
        run.args(["ab", "ws://127.0.0.1:9", "--quiet", "--connections", "50", "--output"])
            .arg(&record);
        let block_ms = u64::from(self.seconds) * 1000 / BLOCKS;
        run.args(["--duration", &format!("{block_ms}ms")]);
        run.args(["--start-base", &serve(&self.wirebench, WORK_NS)]);
        match work_ns {
            Some(work_ns) => run.args(["--start-head", &serve(&self.wirebench, work_ns)]),
            None => run.arg("--aa"),
        };
        let cores = format!("{SERVER_CORE},{GENERATOR_CORE}");
        Process::start("run", cores, &run, &self.scratch)?.finish_with(&[0, 12, 13], PATIENCE)?;
        let text = std::fs::read_to_string(&record)?;
        serde_json::from_str(&text).context("the record is no JSON")
    }
}

/// The line of a shell that starts a server.
fn serve(wirebench: &Path, work_ns: u64) -> String {
    let program = wirebench.display();
    format!("exec '{program}' serve ws --quiet --listen 127.0.0.1:{{port}} --work {work_ns}ns")
}

/// The claims of all runs of a kind.
#[derive(Debug, Default, PartialEq)]
struct Claims {
    runs: usize,
    /// Runs in which any number was claimed to be worse, or better.
    worse: usize,
    better: usize,
    /// Runs whose verdict is that they are no result.
    invalid: usize,
    /// Runs in which the number was claimed to differ, by its name.
    by_number: BTreeMap<String, usize>,
}

impl Claims {
    /// Counts those of one record.
    ///
    /// # Errors
    ///
    /// It compares no two sides.
    fn add(&mut self, record: &Value) -> Result<()> {
        let differences = record["sides"]["differences"].as_array();
        let differences = differences.context("the record has no two sides")?;
        self.runs += 1;
        let of = |change: &str| differences.iter().any(|it| it["change"] == change);
        self.worse += usize::from(of("worse"));
        self.better += usize::from(of("better"));
        self.invalid += usize::from(record["verdict"]["level"] == "invalid");
        let is_claimed = |it: &&Value| it["change"] == "worse" || it["change"] == "better";
        for it in differences.iter().filter(is_claimed) {
            *self.by_number.entry(it["metric"].as_str().unwrap_or("?").to_owned()).or_default() +=
                1;
        }
        Ok(())
    }

    fn row(&self, head: &str) -> String {
        let Self { runs, worse, better, invalid, by_number } = self;
        let by_number = by_number.iter().map(|(name, count)| format!("{name} {count}"));
        let by_number = by_number.collect::<Vec<String>>().join(", ");
        format!("| {head} | {runs} | {worse} | {better} | {invalid} | {by_number} |")
    }
}

const HEAD: &str = "\
| HEAD | runs | claimed to be worse | claimed to be better | invalid | claimed by number |
|---|--:|--:|--:|--:|---|";
/// The blocks of a run: 24 rounds of two sides, those of `wirebench ab`.
const BLOCKS: u64 = 48;
/// The part of what a message costs that HEAD needs more.
const MORE: f64 = 0.05;
/// The work of BASE for each message: with it the server is the slower end.
const WORK_NS: u64 = 5000;
/// A run that has not ended after so long has failed.
const PATIENCE: Duration = Duration::from_secs(7200);

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn claims_are_counted_by_run_and_by_number() {
        let record = |changes: &[(&str, &str)], level: &str| {
            let all =
                changes.iter().map(|(metric, change)| json!({"metric": metric, "change": change}));
            json!({"sides": {"differences": all.collect::<Vec<_>>()}, "verdict": {"level": level}})
        };
        let mut claims = Claims::default();
        for record in [
            record(&[("p50", "not_shown"), ("cpu/message", "worse")], "trusted"),
            record(&[("p50", "worse"), ("cpu/message", "worse")], "degraded"),
            record(&[("p50", "better"), ("cpu/message", "worse")], "invalid"),
            record(&[("p50", "unknown"), ("cpu/message", "not_shown")], "trusted"),
        ] {
            claims.add(&record).unwrap();
        }
        assert_eq!(claims.row("x"), "| x | 4 | 3 | 1 | 1 | cpu/message 3, p50 2 |");
        assert!(claims.add(&json!({"sides": null})).is_err());
    }
}
