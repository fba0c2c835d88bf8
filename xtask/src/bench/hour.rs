//! Memory, open files and threads of generator and server over an hour of churn beside 19 000 connections.
//!
//! A server has two generators: one holds connections that stay, the other opens connections, sends a message on each
//! and closes them, again and again. All three are sampled every minute.

use crate::process::{self, Process};
use anyhow::Result;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Memory, open files and threads over an hour of churn beside 19 000 connections
#[derive(clap::Args, Debug)]
pub(crate) struct HourArgs {
    /// Minutes of it
    #[arg(long, default_value_t = 60, value_name = "COUNT")]
    minutes: u32,
    /// Connections that stay
    #[arg(long, default_value_t = 19_000, value_name = "COUNT")]
    connections: usize,
    /// The program to watch, in place of the release build
    #[arg(long, value_name = "FILE")]
    program: Option<std::path::PathBuf>,
}

/// Samples the three processes, and says for each whether it is flat.
pub(super) fn run(arguments: &HourArgs) -> Result<()> {
    let wirebench = super::program(arguments.program.as_deref())?;
    let all = watch(arguments, &wirebench, &super::scratch("hour")?)?;
    for (name, samples) in NAMES.iter().zip(&all) {
        println!("{name:<12} {}", verdict(samples));
    }
    Ok(())
}

const NAMES: [&str; 3] = ["server", "connections", "churn"];

/// The samples of each process, one a minute, and the first when all connections are open.
fn watch(arguments: &HourArgs, wirebench: &Path, scratch: &Path) -> Result<[Vec<Sample>; 3]> {
    let mut serve = Command::new(wirebench);
    serve.args(["serve", "ws", "--listen", "127.0.0.1:0"]);
    let mut server = Process::start(NAMES[0], super::SERVER_CORE, &serve, scratch)?;
    let url = format!("ws://{}/", process::await_ready(&mut server)?);
    let length = format!("{}s", u64::from(arguments.minutes) * 60 + LONGER_S);
    let start = |name: &str, options: &[&str]| {
        let mut run = Command::new(wirebench);
        run.args(["run", &url, "--duration", &length, "--output", "-", "--quiet"]).args(options);
        Process::start(name, super::GENERATOR_CORE, &run, scratch)
    };
    // One source address has fewer ports than that many connections and the churn need together.
    let (count, sources) = (arguments.connections.to_string(), "127.0.0.2-127.0.0.9");
    let staying = ["--connections", &count, "--rate", "1000/s", "--source-ip", sources];
    let mut connections = start(NAMES[1], &staying)?;
    connections.wait_for("all connections", OPENING_MAX, |process| {
        Ok((process.open_files()? >= arguments.connections).then_some(()))
    })?;
    let churn = start(NAMES[2], &["--concurrency", "50", "--round-trips", "1"])?;
    sleep(WARM_UP);
    let mut all = [Vec::new(), Vec::new(), Vec::new()];
    let began = Instant::now();
    for minute in 0..=arguments.minutes {
        sleep((MINUTE * minute).saturating_sub(began.elapsed()));
        for (samples, process) in all.iter_mut().zip([&server, &connections, &churn]) {
            samples.push(Sample::of(process)?);
        }
        let shown: Vec<String> = NAMES
            .iter()
            .zip(&all)
            .map(|(name, all)| format!("{name} {}", all[all.len() - 1].text()))
            .collect();
        println!("{minute:>3} min  {}", shown.join("  "));
    }
    Ok(all)
}

/// A process at an instant.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sample {
    resident_bytes: u64,
    open_files: usize,
    threads: usize,
}

impl Sample {
    fn of(process: &Process) -> Result<Self> {
        Ok(Self {
            resident_bytes: process.resident()?,
            open_files: process.open_files()?,
            threads: process.threads()?,
        })
    }

    fn text(&self) -> String {
        let Self { resident_bytes, open_files, threads } = self;
        format!("{:.1} MiB {open_files} files {threads} threads", mebibytes(*resident_bytes))
    }
}

/// `flat`, or what grew from the first sample to the lowest of the last quarter: something that leaks never comes down.
fn verdict(samples: &[Sample]) -> String {
    let Some(first) = samples.first() else { return "not measured".to_owned() };
    let last =
        &samples[(samples.len() - samples.len().div_ceil(4)).max(1).min(samples.len() - 1)..];
    let lowest = |of: fn(&Sample) -> u64| last.iter().map(of).min().unwrap_or_default();
    let mut grown = Vec::new();
    let resident = lowest(|sample| sample.resident_bytes);
    if resident > first.resident_bytes + first.resident_bytes / 20 + SLACK_BYTES {
        let (from, to) = (mebibytes(first.resident_bytes), mebibytes(resident));
        grown.push(format!("memory from {from:.1} to {to:.1} MiB"));
    }
    let files = lowest(|sample| sample.open_files as u64);
    if files > first.open_files as u64 + SLACK_FILES {
        grown.push(format!("open files from {} to {files}", first.open_files));
    }
    let threads = lowest(|sample| sample.threads as u64);
    if threads > first.threads as u64 {
        grown.push(format!("threads from {} to {threads}", first.threads));
    }
    if grown.is_empty() { "flat".to_owned() } else { format!("NOT FLAT: {}", grown.join(", ")) }
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

const MINUTE: Duration = Duration::from_secs(60);
/// The time that churn and messages go on before the first sample.
const WARM_UP: Duration = Duration::from_secs(10);
/// The time by which the loads outlast the samples.
const LONGER_S: u64 = 120;
/// The longest time in which all connections are opened.
const OPENING_MAX: Duration = Duration::from_secs(120);
/// Memory that grows by no more than this and 5 % together counts as flat: histograms and intervals of an hour.
const SLACK_BYTES: u64 = 4 << 20;
/// Connections of the churn that happen to be open: 50 at either end.
const SLACK_FILES: u64 = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_told_from_what_comes_and_goes() {
        let sample = |mebibytes: usize, open_files, threads| Sample {
            resident_bytes: (mebibytes as u64) << 20,
            open_files,
            threads,
        };
        let flat: Vec<Sample> = (0..61).map(|at| sample(100 + at % 7, 50 + at % 50, 3)).collect();
        assert_eq!(verdict(&flat), "flat");
        let leaks: Vec<Sample> = (0..61).map(|at| sample(100 + at, 50 + 4 * at, 3)).collect();
        let expected = "NOT FLAT: memory from 100.0 to 145.0 MiB, open files from 50 to 230";
        assert_eq!(verdict(&leaks), expected);
        assert_eq!(verdict(&[sample(9, 9, 1), sample(9, 9, 2)]), "NOT FLAT: threads from 1 to 2");
        assert_eq!(verdict(&[sample(9, 9, 1)]), "flat");
        assert_eq!(verdict(&[]), "not measured");
    }
}
