//! `cargo xtask bench ab`: how often `wirebench ab` finds a server that needs 5 % more CPU time for each message, and
//! how often `--aa` claims a difference where there is none.
//!
//! Both servers are our WebSocket echo with some work for each message. HEAD does more work: 5 % of the total cost of a
//! message to BASE, which a first run measures. With `--file` finished runs outlive the command, so that the benchmark
//! can be run in slices, whenever the machine is quiet.

use super::{GENERATOR_CORE, SERVER_CORE};
use crate::process::Process;
use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Write as _;
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
    /// The binary to measure with, in place of the release build of this tree
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
    /// Keep each run in this file as it ends, and count those that it has: --runs and --same are those of all calls
    #[arg(long, value_name = "PATH")]
    file: Option<PathBuf>,
}

/// Prints the table as Markdown.
pub(super) fn run(arguments: &AbArgs) -> Result<()> {
    let bench = Bench {
        wirebench: super::program(arguments.program.as_deref())?,
        scratch: super::scratch("ab")?,
    };
    let mut kept = Kept::open(arguments.file.as_deref())?;
    let asked = bench.asked()?;
    let head = match kept.lines.first() {
        Some(head) => head.clone(),
        None => {
            let cost = bench.cost_us()?;
            eprintln!("a message costs BASE {cost:.2} us of CPU time");
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "some microseconds"
            )]
            let slower = WORK_NS + (cost * 1e3 * MORE) as u64;
            let head = json!({ "asked": asked, "slower_ns": slower });
            kept.add(&head)?;
            head
        }
    };
    ensure!(head["asked"] == asked, "the file has runs of {}, not of {asked}", head["asked"]);
    let slower = head["slower_ns"].as_u64().context("the file begins with no `slower_ns`")?;
    println!("{HEAD}");
    for (work, runs, name, row) in [
        (Some(slower), arguments.runs, "5 % more", "5 % more CPU for each message"),
        (None, arguments.same, "the same", "the same (`--aa`)"),
    ] {
        for run in kept.of(work).count() + 1..=runs {
            eprintln!("  {run} of {runs}, {name}");
            kept.add(&claimed(work, &bench.measure(work)?))?;
        }
        let mut claims = Claims::default();
        kept.of(work).try_for_each(|record| claims.add(record))?;
        println!("{}", claims.row(row));
    }
    Ok(())
}

/// The part of a record that is counted, and the work of its HEAD.
fn claimed(work_ns: Option<u64>, record: &Value) -> Value {
    json!({
        "work_ns": work_ns,
        "sides": { "differences": record["sides"]["differences"] },
        "verdict": { "level": record["verdict"]["level"] },
    })
}

/// The finished runs, each a line of a file if there is one; the first line of the file says what was asked.
#[derive(Debug, Default)]
struct Kept {
    lines: Vec<Value>,
    file: Option<fs::File>,
}

impl Kept {
    /// Opens the runs of a file, without a last line that is incomplete.
    fn open(path: Option<&Path>) -> Result<Self> {
        let Some(path) = path else { return Ok(Self::default()) };
        let text = if path.exists() { fs::read_to_string(path)? } else { String::new() };
        ensure!(text.is_empty() || text.starts_with('{'), "{} has no runs in it", path.display());
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let lines = text[..whole].lines().map(serde_json::from_str).collect::<Result<_, _>>();
        let lines = lines.with_context(|| format!("{} has no runs in it", path.display()))?;
        let file = fs::OpenOptions::new().create(true).append(true).open(path)?;
        file.set_len(whole as u64)?;
        Ok(Self { lines, file: Some(file) })
    }

    /// Keeps a line.
    fn add(&mut self, line: &Value) -> Result<()> {
        if let Some(file) = &mut self.file {
            file.write_all(format!("{line}\n").as_bytes())?;
            file.sync_data()?;
        }
        self.lines.push(line.clone());
        Ok(())
    }

    /// The runs against a HEAD with this work; `None`: those of BASE against itself.
    fn of(&self, work_ns: Option<u64>) -> impl Iterator<Item = &Value> {
        self.lines.iter().skip(1).filter(move |line| line["work_ns"].as_u64() == work_ns)
    }
}

struct Bench {
    wirebench: PathBuf,
    scratch: PathBuf,
}

impl Bench {
    /// The settings that all runs of a file have in common.
    fn asked(&self) -> Result<Value> {
        let mut hasher = DefaultHasher::new();
        fs::read(&self.wirebench)?.hash(&mut hasher);
        Ok(json!({ "blocks": [ROUNDS, BLOCK], "program": format!("{:016x}", hasher.finish()) }))
    }

    /// The CPU time that a message costs BASE.
    fn cost_us(&self) -> Result<f64> {
        let first = self.measure(None)?;
        let cost = &first["results"][0]["pooled"]["server_cpu_us_per_message"]["value"];
        cost.as_f64().context("the record has no CPU time of BASE")
    }

    /// Measures one run against a server with this work for each message; `None`: BASE against itself.
    fn measure(&self, work_ns: Option<u64>) -> Result<Value> {
        let record = self.scratch.join("ab.json");
        super::forget(&record)?;
        let mut run = Command::new(&self.wirebench);
        run.args(["ab", "ws://127.0.0.1:9", "--quiet", "--connections", "50", "--output"])
            .arg(&record);
        run.args(["--rounds", ROUNDS, "--duration", BLOCK]);
        run.args(["--start-base", &serve(&self.wirebench, WORK_NS)]);
        match work_ns {
            Some(work_ns) => run.args(["--start-head", &serve(&self.wirebench, work_ns)]),
            None => run.arg("--aa"),
        };
        let cores = format!("{SERVER_CORE},{GENERATOR_CORE}");
        Process::start("run", cores, &run, &self.scratch)?.finish_with(&[0, 12, 13], PATIENCE)?;
        let text = fs::read_to_string(&record)?;
        serde_json::from_str(&text).context("the record is no JSON")
    }
}

/// The shell command that starts a server.
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
    /// Runs whose verdict is `invalid`.
    invalid: usize,
    /// The runs in which a number was claimed to differ, by its name.
    by_number: BTreeMap<String, usize>,
}

impl Claims {
    /// Counts the claims of one record.
    ///
    /// # Errors
    ///
    /// The record does not compare two sides.
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
/// The rounds of a run and the length of its blocks: those of `wirebench ab`, so that a run takes a minute.
const ROUNDS: &str = "48";
const BLOCK: &str = "400ms";
/// The additional cost of a message to HEAD, as a part of its cost to BASE.
const MORE: f64 = 0.05;
/// The work of BASE for each message: with it the server is the slower end.
const WORK_NS: u64 = 5000;
/// The longest time of a run; a longer one has failed.
const PATIENCE: Duration = Duration::from_secs(7200);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_outlive_the_command_and_half_a_line_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ab.jsonl");
        let open = || Kept::open(Some(&path)).unwrap();
        let record =
            json!({"sides": {"differences": [], "pages": 9}, "verdict": {"level": "trusted"}});
        let mut kept = open();
        assert!(kept.lines.is_empty());
        kept.add(&json!({"slower_ns": 7})).unwrap();
        kept.add(&claimed(Some(7), &record)).unwrap();
        kept.add(&claimed(None, &record)).unwrap();
        drop(kept);
        let whole = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{whole}{{\"work_ns\":")).unwrap();
        let mut kept = open();
        kept.add(&claimed(None, &record)).unwrap();
        let kept = open();
        assert_eq!((kept.of(Some(7)).count(), kept.of(None).count()), (1, 2));
        assert_eq!(kept.lines[0]["slower_ns"], 7);
        let mut claims = Claims::default();
        kept.of(None).for_each(|line| claims.add(line).unwrap());
        assert_eq!((claims.runs, claims.invalid), (2, 0));
        fs::write(&path, "something else\n").unwrap();
        assert!(Kept::open(Some(&path)).is_err());
    }

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
