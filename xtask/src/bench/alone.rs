//! Rows that need no server: recording, start, size.

use super::Bench;
use super::report::{Line, Target};
use crate::shell;
use anyhow::{Context as _, Result, ensure};
use std::time::Instant;

/// How often the start is timed.
const STARTS: usize = 20;
/// Messages that are recorded under valgrind, and twice that.
const RECORDED: u64 = 200_000;
/// Messages that are recorded against the clock.
const RECORDED_TIMED: u64 = 20_000_000;

/// What it costs to record one message: instructions by valgrind, and nanoseconds of this machine now.
pub(super) fn recording(bench: &Bench) -> Result<Vec<Line>> {
    let once = instructions(bench, RECORDED)?;
    let twice = instructions(bench, 2 * RECORDED)?;
    let start = Instant::now();
    shell::output(shell::command(&bench.tools.record_messages).arg(RECORDED_TIMED.to_string()))?;
    let nanoseconds = start.elapsed().as_secs_f64() * 1e9;
    Ok(vec![
        Line::figure("instructions/message", (twice - once) / as_f64(RECORDED), Target::Shown),
        Line::figure("ns/message", nanoseconds / as_f64(RECORDED_TIMED), Target::AtMost(60.0)),
    ])
}

/// Instructions of a whole run that records `messages`; what starting costs falls away in the difference of two.
fn instructions(bench: &Bench, messages: u64) -> Result<f64> {
    let mut valgrind = shell::command("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    valgrind.arg(&bench.tools.record_messages).arg(messages.to_string());
    let output = valgrind.output()?;
    let words = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`{}` failed: {words}", shell::shown(&valgrind));
    collected(&words).with_context(|| format!("callgrind printed no count: {words}"))
}

/// `==PID== Collected : 123456`
fn collected(words: &str) -> Option<f64> {
    words.lines().find_map(|line| line.split_once("Collected :")?.1.trim().parse().ok())
}

/// From start to usage text.
pub(super) fn start(bench: &Bench) -> Result<Vec<Line>> {
    let mut milliseconds = Vec::new();
    for _ in 0..STARTS {
        let start = Instant::now();
        shell::output(shell::command(&bench.tools.wirebench).arg("-h"))?;
        milliseconds.push(start.elapsed().as_secs_f64() * 1e3);
    }
    let least = milliseconds.iter().copied().fold(f64::INFINITY, f64::min);
    Ok(vec![
        Line::figure("least ms of 20", least, Target::AtMost(20.0)),
        Line::figure("median ms", stats::median(&milliseconds)?, Target::Shown),
    ])
}

/// The release binary.
pub(super) fn size(bench: &Bench) -> Result<Vec<Line>> {
    let bytes = std::fs::metadata(&bench.tools.wirebench)?.len();
    Ok(vec![Line::figure("MB", as_f64(bytes) / 1e6, Target::AtMost(12.0))])
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
fn as_f64(count: u64) -> f64 {
    count as f64
}

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
