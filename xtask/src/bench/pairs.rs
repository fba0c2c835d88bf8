//! `cargo xtask bench pairs`: how often `wirebench compare` claims a difference between two runs of the same program,
//! and how often it finds a server that needs 10 % more CPU time for each message.
//!
//! For each pair three runs of a bare TCP socket, WebSocket and HTTP are made, one after the other: one, the same
//! again, and one with a slower WebSocket server. `compare` divides by the bare socket, which all of them have
//! unchanged.

use super::neighbours::{Disturbance, Neighbour};
use super::{GENERATOR_CORE, SERVER_CORE};
use crate::process::Process;
use crate::shell;
use anyhow::{Context as _, Result, bail};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Compare runs of the same program with each other and with a slower server, and count the claims of `compare`
#[derive(clap::Args, Debug)]
pub(super) struct PairsArgs {
    /// Pairs of runs of the same program
    #[arg(long, default_value_t = 40, value_name = "N")]
    pairs: usize,
    /// Programs beside them that take the CPU in bursts
    #[arg(long, default_value_t = 0, value_name = "N")]
    neighbours: usize,
    /// Rounds of each run
    #[arg(long, default_value_t = 10, value_name = "N")]
    rounds: usize,
    /// The measured time of each block
    #[arg(long, default_value = "150ms", value_name = "TIME")]
    block: String,
    /// The binary to measure with, in place of the release build of this tree
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
}

/// Prints the table as Markdown.
pub(super) fn run(arguments: &PairsArgs) -> Result<()> {
    let wirebench = super::program(arguments.program.as_deref())?;
    let scratch = super::scratch("pairs")?;
    let cost = {
        let record = measure(&wirebench, &scratch, arguments, WORK_NS, "cost")?;
        let record: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(record)?)?;
        let cost = &record["results"][1]["pooled"]["server_cpu_us_per_message"]["value"];
        cost.as_f64().context("the record has no CPU time of the WebSocket server")?
    };
    eprintln!("a message costs the WebSocket server {cost:.1} us of CPU time");
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "some microseconds"
    )]
    let slower = WORK_NS + (cost * 1e3 / 10.0) as u64;
    let _busy = Disturbance::Beside(Neighbour::Cpu, arguments.neighbours).beside(&scratch)?;
    let (mut same, mut more) = (Claims::default(), Claims::default());
    for pair in 1..=arguments.pairs {
        eprintln!("  {pair} of {}", arguments.pairs);
        let measure = |work, name| measure(&wirebench, &scratch, arguments, work, name);
        let [base, again] = [measure(WORK_NS, "base")?, measure(WORK_NS, "again")?];
        same.add(&compare(&wirebench, &base, &again)?)?;
        more.add(&compare(&wirebench, &base, &measure(slower, "slower")?)?)?;
    }
    println!("{HEAD}");
    rows(&same, &more).iter().for_each(|row| println!("{row}"));
    Ok(())
}

/// Measures the three rows with a WebSocket server of this work for each message, and returns the path of the record.
fn measure(
    wirebench: &Path,
    scratch: &Path,
    arguments: &PairsArgs,
    work_ns: u64,
    name: &str,
) -> Result<PathBuf> {
    let PairsArgs { rounds, block, .. } = arguments;
    let row = |name: &str, work: u64| {
        format!(
            "[[row]]\nname = '{name}'\nserver = 'embedded'\ntransport = '{name}'\nserve-options = ['--work={work}ns']\n"
        )
    };
    let file = scratch.join("pairs.toml");
    let rows = [row("tcp", WORK_NS), row("ws", work_ns), row("http", WORK_NS)].concat();
    let head = "question = 'Is it the machine, or the change?'\nbaseline = 'tcp'\nconnections = 50\nsize = '64B'";
    let text = format!("{head}\nrounds = {rounds}\nduration = '{block}'\nwarm-up = '50ms'\n{rows}");
    std::fs::write(&file, text)?;
    let record = scratch.join(format!("{name}.json"));
    let mut run = Command::new(wirebench);
    run.arg("run").arg(&file).arg("--quiet").arg("--output").arg(&record);
    let cores = format!("{SERVER_CORE},{GENERATOR_CORE}");
    Process::start("run", cores, &run, scratch)?.finish_with(&[0, 12, 13], PATIENCE)?;
    Ok(record)
}

/// Runs `wirebench compare`, and returns what it prints.
fn compare(wirebench: &Path, base: &Path, record: &Path) -> Result<String> {
    let mut compare = shell::command(wirebench);
    let output = compare.args(["compare", "--details"]).arg(base).arg(record).output()?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The claims of `compare`, by row and figure.
#[derive(Debug, Default)]
struct Claims(BTreeMap<(String, String), Claim>);

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Claim {
    /// Intervals that are below 1, that contain it, and that are above it.
    below: usize,
    none: usize,
    above: usize,
    /// Comparisons without an interval.
    silent: usize,
}

impl Claims {
    /// Counts the claims of one comparison.
    ///
    /// # Errors
    ///
    /// It does not have all [`COMPARED`] rows.
    fn add(&mut self, words: &str) -> Result<()> {
        let mut found = Vec::new();
        let mut row = "";
        let mut before = "";
        for line in words.lines() {
            if line.starts_with("round trip") {
                row = before.trim();
            }
            before = line;
            let figure = FIGURES.into_iter().find(|figure| {
                line.strip_prefix(figure)
                    .is_some_and(|rest| rest.starts_with("  ") || rest.starts_with(' '))
            });
            let Some(figure) = figure.filter(|_| COMPARED.contains(&row)) else { continue };
            found.push(row);
            let claim = self.0.entry((row.to_owned(), figure.to_owned())).or_default();
            match interval(line) {
                Some([_, high]) if high < 1.0 => claim.below += 1,
                Some([low, _]) if low > 1.0 => claim.above += 1,
                Some(_) => claim.none += 1,
                None => claim.silent += 1,
            }
        }
        let missing = COMPARED.into_iter().find(|name| !found.contains(name));
        missing.map_or(Ok(()), |name| {
            bail!("`wirebench compare` shows no figure of {name}; it says:\n{words}")
        })
    }
}

/// `0.92x [0.21, 4.08]` at the end of a line.
fn interval(line: &str) -> Option<[f64; 2]> {
    let (_, ends) = line.trim_end().strip_suffix(']')?.rsplit_once('[')?;
    let (low, high) = ends.split_once(", ")?;
    Some([low.parse().ok()?, high.parse().ok()?])
}

/// The lines of each row and figure: the claims between runs of the same program, and about the slower server.
fn rows(same: &Claims, more: &Claims) -> Vec<String> {
    let row = |((row, figure), equal): (&(String, String), &Claim)| {
        let slower = more.0.get(&(row.clone(), figure.clone())).copied().unwrap_or_default();
        let Claim { below, none, above, silent } = *equal;
        let rises = figure != "messages";
        let (right, wrong) =
            if rises { (slower.above, slower.below) } else { (slower.below, slower.above) };
        let found = match &row[..] {
            "ws" if figure != "generator CPU" => format!("{right} | {wrong}"),
            _ => format!("- | {}", slower.above + slower.below),
        };
        let pairs = below + none + above + silent;
        format!("| {row} | {figure} | {pairs} | {} | {silent} | {found} |", below + above)
    };
    same.0.iter().map(row).collect()
}

const HEAD: &str = "\
| row | figure | pairs | false claims | no answer | +10 % found | wrong sign, or claimed of what did not change |
|---|---|--:|--:|--:|--:|--:|";
/// The figures of `compare`.
const FIGURES: [&str; 5] = ["p50", "p99", "messages", "generator CPU", "server CPU"];
/// The rows besides the one that others are divided by.
const COMPARED: [&str; 2] = ["ws", "http"];
/// The work of every server for each message: with it the server is the slower end.
const WORK_NS: u64 = 5000;
/// The longest time of a run; a longer one has failed.
const PATIENCE: Duration = Duration::from_secs(900);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_of_compare_are_counted_by_row_and_figure() {
        let words = "tcp\nround trip    base    record  machine ratio [95 %]\n\
            p50           24.1 ms 21.9 ms   0.91x  the machine\n\n\
            ws\nround trip    base    record  machine ratio [95 %]\n\
            p50           38.0 ms 31.9 ms   0.91x 1.12x [1.01, 1.28]\n\
            messages      606/s   769/s     1.12x 0.90x [0.85, 0.96]\n\
            server CPU    21.4 us 20.2 us   1.00x 0.94x [0.65, 1.36]\n\
            generator CPU 21.4 us 20.2 us   1.00x - depends on few rounds\n\
            http\nround trip    base    record  machine ratio [95 %]\n\
            messages      606/s   769/s     1.12x 1.00x [0.95, 1.06]\n\
            machine: tcp of the record over tcp of the base; the ratio is divided by it\n\n\
            base, 2026-11-22T23:55:22Z\nverdict: degraded: p50 [0.5, 0.6]\n";
        let (mut same, mut more) = (Claims::default(), Claims::default());
        same.add(words).unwrap();
        same.add(words).unwrap();
        more.add(words).unwrap();
        let expected = [
            "| http | messages | 2 | 0 | 0 | - | 0 |",
            "| ws | generator CPU | 2 | 0 | 2 | - | 0 |",
            "| ws | messages | 2 | 2 | 0 | 1 | 0 |",
            "| ws | p50 | 2 | 2 | 0 | 1 | 0 |",
            "| ws | server CPU | 2 | 0 | 0 | 0 | 0 |",
        ];
        assert_eq!(rows(&same, &more), expected);
        let (without, _) = words.split_once("\n\nws\n").unwrap();
        let error = same.add(without).unwrap_err().to_string();
        assert!(error.contains("no figure of ws"), "{error}");
    }
}
