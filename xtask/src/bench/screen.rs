//! `cargo xtask bench screen`: the CPU time that the live screen of a run needs, and the same open loop with the screen
//! and with `--quiet`.
//!
//! Both take turns on a terminal of 80 columns and 24 lines, which `script` makes. A thread of its own follows the run
//! and draws the screen; the kernel tells the time that this one had on a CPU.

use super::{GENERATOR_CORE, SERVER_CORE};
use crate::process::{self, Process};
use anyhow::{Context as _, Result};
use serde_json::Value;
use stats::{Histogram, Part, Pooled};
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
    let mut sides = [Vec::new(), Vec::new()];
    for round in 0..rounds {
        // Neither is always the first.
        for side in if round % 2 == 0 { [0, 1] } else { [1, 0] } {
            let name = ["with the screen", "--quiet"][side];
            eprintln!("  round {} of {rounds}, {name}", round + 1);
            sides[side].push(measure(&wirebench, &scratch, &url, seconds, side == 1)?);
        }
    }
    println!("{}", table(&sides)?);
    Ok(())
}

/// A run that is over.
struct Sample {
    /// The time that the thread which follows the run had on a CPU, by the time in which that was watched.
    drawing: [f64; 2],
    /// Replies, by the measured time.
    replies: [f64; 2],
    response: Histogram,
    send_lag: Histogram,
}

/// Measures once.
fn measure(
    wirebench: &Path,
    scratch: &Path,
    url: &str,
    seconds: u32,
    is_quiet: bool,
) -> Result<Sample> {
    let record = scratch.join("screen.json");
    super::forget(&record)?;
    let quiet = if is_quiet { "--quiet" } else { "" };
    let line = format!(
        "stty rows 24 columns 80; exec '{}' run {url} --rate {RATE} --connections 50 --duration {seconds}s {quiet} \
         --output '{}'",
        wirebench.display(),
        record.display()
    );
    let mut terminal = Command::new("script");
    terminal.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
    terminal.env("TERM", "xterm-256color").env("SHELL", "/bin/sh");
    let cores = format!("{SERVER_CORE},{GENERATOR_CORE}");
    let mut run = Process::start_tied("run", cores, &terminal, scratch)?;
    let thread =
        run.wait_for("thread that follows the run", PATIENCE, |run| Ok(follower(run.id())))?;
    sleep(SETTLING);
    let (began, before) = (Instant::now(), on_cpu(&thread)?);
    // Its warm-up comes on top, so that it goes on until then.
    sleep(Duration::from_secs(u64::from(seconds)) - SETTLING);
    let used = on_cpu(&thread)?.saturating_sub(before);
    let watched = began.elapsed();
    run.finish_with(&[0, 12, 13], PATIENCE + Duration::from_secs(2 * u64::from(seconds)))?;
    Sample::of(&fs::read_to_string(&record)?, [used.as_secs_f64(), watched.as_secs_f64()])
}

impl Sample {
    fn of(record: &str, drawing: [f64; 2]) -> Result<Self> {
        let record: Value = serde_json::from_str(record).context("the record is no JSON")?;
        let block = &record["blocks"][0];
        let number = |value: &Value| value.as_f64().context("the record has no messages");
        let times = |name: &str| -> Result<Histogram> {
            let text = block["open_loop"][name]["histogram"].as_str();
            let text = text.with_context(|| format!("the record has no {name}"))?;
            Ok(Histogram::from_base64(text)?)
        };
        Ok(Self {
            drawing,
            replies: [number(&block["counts"]["ok"])?, number(&block["measured_ns"])? / 1e9],
            response: times("response")?,
            send_lag: times("send_lag")?,
        })
    }
}

/// The folder in `/proc` of the thread that follows the run, in one of the processes that `id` has started.
fn follower(id: u32) -> Option<PathBuf> {
    let tasks = process::descendants(id).into_iter();
    let tasks = tasks.flat_map(|id| fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten());
    let mut folders = tasks.flatten().map(|task| task.path());
    folders.find(|task| fs::read_to_string(task.join("comm")).is_ok_and(|it| it.trim() == FOLLOWER))
}

/// The time that a thread has had on a CPU.
fn on_cpu(thread: &Path) -> Result<Duration> {
    let text = fs::read_to_string(thread.join("schedstat")).context("the run is over too soon")?;
    let nanos = text.split(' ').next().and_then(|nanos| nanos.parse().ok());
    Ok(Duration::from_nanos(nanos.context("this kernel tells no CPU time of threads")?))
}

/// The lines of the table, from the runs with the screen and those without.
fn table(sides: &[Vec<Sample>; 2]) -> Result<String> {
    let quotient = |of: fn(&Sample) -> [f64; 2]| {
        let pooled = |side: &Vec<Sample>| {
            let parts = side.iter().map(of).map(|[of, by]| Some(Part { of, by }));
            Pooled::quotient(&parts.collect::<Vec<_>>()).context("no time was measured")
        };
        anyhow::Ok([pooled(&sides[0])?, pooled(&sides[1])?])
    };
    let quantiles = |times: fn(&Sample) -> &Histogram, q: f64| {
        let pooled = |side: &Vec<Sample>| {
            let rounds: Vec<Option<&Histogram>> = side.iter().map(|it| Some(times(it))).collect();
            let [pooled] = Pooled::quantiles(&rounds, [q]);
            pooled.context("too few messages for a percentile")
        };
        anyhow::Ok([pooled(&sides[0])?, pooled(&sides[1])?])
    };
    let drawing = quotient(|run| run.drawing)?;
    let more = drawing[0].less(&drawing[1]);
    let (low, high) = more.interval().context("too few rounds for an interval")?;
    let share = more.value() * 100.0;
    let mark = if share <= CPU_MAX { "" } else { ": MISSED" };
    let mut lines = vec![
        format!(
            "the screen needs {share:.2} % of a core [{:.2}, {:.2}], at most {CPU_MAX} %{mark}",
            low * 100.0,
            high * 100.0
        ),
        String::new(),
        HEAD.to_owned(),
    ];
    let micros = |value: f64| format!("{:.1} us", value / 1e3);
    for (name, [with, without], show) in [
        ("response p50", quantiles(|run| &run.response, 0.5)?, micros as fn(f64) -> String),
        ("response p99", quantiles(|run| &run.response, 0.99)?, micros),
        ("send lag p50", quantiles(|run| &run.send_lag, 0.5)?, micros),
        ("send lag p99", quantiles(|run| &run.send_lag, 0.99)?, micros),
        ("replies/s", quotient(|run| run.replies)?, |value| format!("{value:.1}")),
    ] {
        let ratio = with.over(&without);
        let interval = ratio.interval().map_or_else(
            || "hangs on too few of the runs".to_owned(),
            |(low, high)| format!("{:.3}x [{low:.3}, {high:.3}]", ratio.value()),
        );
        let least = ratio.smallest_detectable();
        let least = least.map_or_else(|| "-".to_owned(), |it| format!("{:.1} %", it * 100.0));
        let (with, without) = (show(with.value()), show(without.value()));
        lines.push(format!("| {name} | {with} | {without} | {interval} | {least} |"));
    }
    Ok(lines.join("\n"))
}

const HEAD: &str = "\
| number of all runs together | with the screen | --quiet | ratio [95 %] | would have been shown |
|---|--:|--:|--:|--:|";
/// The most that the screen may need, as a percentage of a core.
const CPU_MAX: f64 = 1.0;
/// The messages that are due in a second.
const RATE: &str = "2000/s";
/// The name of the thread that follows a run.
const FOLLOWER: &str = "progress";
/// The time from the first sight of that thread to the first look at its CPU time.
const SETTLING: Duration = Duration::from_secs(1);
/// The time for everything beside the measurement.
const PATIENCE: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;
    use units::Nanos;

    /// A run in which drawing took so many milliseconds of ten seconds, and messages so many microseconds.
    fn sample(drawing_ms: f64, micros: u64) -> Sample {
        let mut times = Histogram::new();
        times.record_all(Nanos(micros * 1000), 20_000);
        let (response, send_lag) = (times.clone(), times);
        Sample { drawing: [drawing_ms / 1e3, 10.0], replies: [20_000.0, 10.0], response, send_lag }
    }

    #[test]
    fn runs_with_and_without_the_screen_are_set_side_by_side() {
        let with = [60.0, 62.0, 61.0, 59.0, 60.0, 58.0].map(|ms| sample(ms, 100)).into();
        let without = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0].map(|ms| sample(ms, 100)).into();
        let shown = table(&[with, without]).unwrap();
        assert!(shown.starts_with("the screen needs 0.59 % of a core [0.5"), "{shown}");
        assert!(shown.contains("at most 1 %\n"), "{shown}");
        assert!(shown.contains("| response p99 | 100.0 us | 100.0 us | 1.000x ["), "{shown}");
        assert!(
            shown.contains("| replies/s | 2000.0 | 2000.0 | 1.000x [1.000, 1.000] |"),
            "{shown}"
        );
        let dear = [200.0; 6].map(|ms| sample(ms, 100)).into();
        let without = [1.0; 6].map(|ms| sample(ms, 100)).into();
        assert!(table(&[dear, without]).unwrap().contains("at most 1 %: MISSED"));
    }

    #[test]
    fn the_record_of_a_run_is_read_and_one_without_times_is_refused() {
        let mut times = Histogram::new();
        times.record_all(Nanos(5_000), 100);
        let record = |open_loop: Value| {
            let block = serde_json::json!({ "counts": { "ok": 100 }, "measured_ns": 5e8, "open_loop": open_loop });
            serde_json::json!({ "blocks": [block] }).to_string()
        };
        let side = serde_json::json!({ "histogram": times.to_base64() });
        let whole = record(serde_json::json!({ "response": side, "send_lag": side }));
        let sample = Sample::of(&whole, [0.1, 2.0]).unwrap();
        assert_eq!((sample.replies, sample.send_lag.count()), ([100.0, 0.5], 100));
        let error = Sample::of(&record(Value::Null), [0.1, 2.0]).err().unwrap().to_string();
        assert_eq!(error, "the record has no response");
    }
}
