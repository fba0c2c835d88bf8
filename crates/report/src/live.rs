//! The one line that is shown while a run goes on.

use crate::escape::{columns, cut, escape};
use crate::number;
use record::{Environment, Live, LiveOpenLoop};
use units::Nanos;

/// One line, without a newline, of at most `width` columns; the most important comes first.
///
/// Fields have fixed positions, so that only digits change from one line to the next.
pub fn live_line(live: &Live<'_>, width: usize) -> String {
    match &live.open_loop {
        Some(open_loop) => open_loop_line(live, open_loop, width),
        None => closed_loop_line(live, width),
    }
}

fn closed_loop_line(live: &Live<'_>, width: usize) -> String {
    let elapsed = seconds(live.elapsed);
    let rate = number::per_second(live.messages_per_s);
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
    cut(line.trim_end(), width).into_owned()
}

/// Every field has a fixed position. In 79 columns the last one shows failures, if there are any, and else the messages
/// in flight; wider lines show all of them.
fn open_loop_line(live: &Live<'_>, open_loop: &LiveOpenLoop, width: usize) -> String {
    let mut line = format!(
        "{elapsed} sent {sent:>5} of {due:>8} p50 {p50:>7} p99 {p99:>7} lag {lag:>7}",
        elapsed = seconds(live.elapsed),
        due = number::per_second(open_loop.due_per_s),
        sent = share(open_loop.sent_per_s, open_loop.due_per_s),
        p50 = time(live.p50),
        p99 = time(live.p99),
        lag = time(open_loop.lag_p99),
    );
    let (index, total) = live.block;
    let steps = format!(" step {}/{total}", index.saturating_add(1));
    let rest = [
        (open_loop.unsent > 0, format!(" unsent {:>3}", short(open_loop.unsent))),
        (live.failed > 0, format!(" failed {:>3}", short(live.failed))),
        (true, format!(" in flight {:>3}", short(open_loop.in_flight))),
        (total > 1, steps),
    ];
    for (_, field) in rest.into_iter().filter(|(is_there, _)| *is_there) {
        if columns(&line) + columns(&field) <= width {
            line += &field;
        }
    }
    cut(&line, width).into_owned()
}

fn time(time: Option<Nanos>) -> String {
    time.map_or_else(|| number::MISSING.to_owned(), |time| number::nanos(time.0))
}

/// `99 %`: in five columns.
fn share(part: f64, whole: f64) -> String {
    let percent = part / whole * 100.0;
    if percent.is_finite() {
        format!("{:.0} %", percent.min(999.0))
    } else {
        number::MISSING.to_owned()
    }
}

/// `999`, `12k`, `3M`: a count, rounded down, in at most four columns and mostly in three.
fn short(count: u64) -> String {
    match count {
        ..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{}k", count / 1_000),
        1_000_000..1_000_000_000 => format!("{}M", count / 1_000_000),
        _ => format!("{}G", (count / 1_000_000_000).min(999)),
    }
}

/// The facts of this machine, in one line of at most `width` columns; those that could not be read are left out.
pub fn machine_line(environment: &Environment, width: usize) -> String {
    let facts = [
        environment.cpus_online.map(|count| number::counted(count, "CPU")),
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
    cut(&escape(&format!("machine: {line}")), width).into_owned()
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
