//! Figures that need no server: recording, start, size.

use super::{Figure, as_f64};
use crate::packages::{self, Need};
use crate::shell;
use anyhow::{Context as _, Result, ensure};
use std::path::Path;
use std::time::Instant;

/// The cost of recording one message: instructions by valgrind, and nanoseconds of this machine now.
pub(super) fn recording() -> Result<Vec<Figure>> {
    packages::ensure(&[Need::debian("valgrind", "valgrind")])?;
    shell::run(&mut shell::cargo(
        "build --quiet --locked --release --package xtask --example record_messages",
    ))?;
    let program = shell::target().join("release/examples/record_messages");
    let once = instructions(&program, RECORDED)?;
    let twice = instructions(&program, 2 * RECORDED)?;
    let start = Instant::now();
    shell::output(shell::command(&program).arg(RECORDED_TIMED.to_string()))?;
    let nanoseconds = start.elapsed().as_secs_f64() * 1e9;
    Ok(vec![
        Figure::shown("instructions a message", (twice - once) / as_f64(RECORDED)),
        Figure::at_most("ns a message", nanoseconds / as_f64(RECORDED_TIMED), 60.0),
    ])
}

/// Counts the instructions of a complete run that records `messages`; in the difference of two runs the cost of
/// starting cancels out.
fn instructions(program: &Path, messages: u64) -> Result<f64> {
    let mut valgrind = shell::command("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    valgrind.arg(program).arg(messages.to_string());
    let output = valgrind.output()?;
    let words = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`{}` failed: {words}", shell::shown(&valgrind));
    collected(&words).with_context(|| format!("callgrind printed no count: {words}"))
}

/// `==PID== Collected : 123456`
fn collected(words: &str) -> Option<f64> {
    words.lines().find_map(|line| line.split_once("Collected :")?.1.trim().parse().ok())
}

/// The time from start to usage text.
pub(super) fn start(wirebench: &Path) -> Result<Vec<Figure>> {
    let mut milliseconds = Vec::new();
    for _ in 0..STARTS {
        let start = Instant::now();
        shell::output(shell::command(wirebench).arg("-h"))?;
        milliseconds.push(start.elapsed().as_secs_f64() * 1e3);
    }
    let least = milliseconds.iter().copied().fold(f64::INFINITY, f64::min);
    Ok(vec![
        Figure::at_most("least ms of 20 starts", least, 20.0),
        Figure::shown("median ms", stats::median(&milliseconds)?),
    ])
}

/// The size of the binary.
pub(super) fn size(wirebench: &Path) -> Result<Vec<Figure>> {
    let bytes = std::fs::metadata(wirebench)?.len();
    Ok(vec![Figure::at_most("MB", as_f64(bytes) / 1e6, 12.0)])
}

/// The number of starts that are timed.
const STARTS: usize = 20;
/// Messages that are recorded under valgrind, and twice that.
const RECORDED: u64 = 200_000;
/// Messages that are recorded against the clock.
const RECORDED_TIMED: u64 = 20_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_of_callgrind_is_read() {
        let words = "==7== Callgrind\n==7== Events    : Ir\n==7== Collected : 4215096\n==7==\n";
        assert_eq!(collected(words), Some(4_215_096.0));
        assert_eq!(collected("==7== Callgrind"), None);
    }
}
