//! What is shown while a run goes on: one line.

use crate::escape::{cut, escape};
use crate::number;
use record::Environment;
use units::Nanos;

/// What the last tenth of a second was like.
#[derive(Clone, Copy, Debug)]
pub struct Live<'a> {
    /// The name of the measurement.
    pub name: &'a str,
    /// Which block of how many, from 0.
    pub block: (usize, usize),
    /// What its worker does, e.g. `warm-up`.
    pub phase: &'a str,
    /// Since the run began.
    pub elapsed: Nanos,
    /// Replies a second.
    pub messages_per_s: f64,
    /// The median round trip; `None` if there were no replies.
    pub p50: Option<Nanos>,
    /// The 99th percentile of round trips; `None` if there were too few replies.
    pub p99: Option<Nanos>,
    /// Messages that failed or timed out since the block began.
    pub failed: u64,
}

/// One line, without a newline, of at most `width` columns; what matters most stands first.
///
/// Fields have their place, so that nothing but digits moves from one line to the next.
pub fn live_line(live: &Live<'_>, width: usize) -> String {
    let elapsed = seconds(live.elapsed);
    let rate = number::per_second(live.messages_per_s);
    let time = |time: Option<Nanos>| {
        time.map_or_else(|| number::MISSING.to_owned(), |time| number::nanos(time.0))
    };
    let (index, total) = live.block;
    let mut line = format!(
        "{elapsed}  {name:<10} {rate:>8}  p50 {p50:>7}  p99 {p99:>7}  {phase:<7}",
        name = escape(live.name),
        p50 = time(live.p50),
        p99 = time(live.p99),
        phase = escape(live.phase),
    );
    if total > 1 {
        line += &format!("  block {}/{total}", index.saturating_add(1));
    }
    if live.failed > 0 {
        line += &format!("  failed {}", live.failed);
    }
    cut(line.trim_end(), width)
}

/// What this machine is, in one line of at most `width` columns; what could not be read is left out.
pub fn machine_line(environment: &Environment, width: usize) -> String {
    let facts = [
        environment.cpus_online.map(|count| format!("{count} CPUs")),
        environment.limits.open_files_soft.map(|count| format!("open files {count}")),
        environment.timer_floor.map(|floor| {
            format!(
                "timer floor {}/{}",
                number::nanos(floor.overshoot_p50_ns),
                number::nanos(floor.overshoot_p99_ns)
            )
        }),
        environment.steal_before_fraction.map(|steal| format!("steal {}", number::percent(steal))),
    ];
    let facts: Vec<String> = facts.into_iter().flatten().collect();
    let line = if facts.is_empty() { "unknown".to_owned() } else { facts.join(", ") };
    cut(&escape(&format!("machine: {line}")), width)
}

/// `  0.9 s`, ` 1m30s`: tenths of seconds, of one width.
fn seconds(time: Nanos) -> String {
    let text = if time < Nanos::from_secs(60) {
        format!("{:.1} s", time.as_secs_f64())
    } else {
        time.to_string()
    };
    format!("{text:>6}")
}
