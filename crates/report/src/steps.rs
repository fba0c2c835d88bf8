//! Several measurements of one run side by side: bots or rates that rise.

use crate::escape::{columns, cut, escape};
use crate::number::{self, MISSING};
use crate::page::{Page, Tone};
use record::{Arrival, Level, Lifetime, RunRecord, Summary, Verdict};

/// A row for each workload of the plan, in its order. Takes 80 columns.
pub(crate) fn table(page: &mut Page, record: &RunRecord, verdict: &Verdict) {
    let is_open = |arrival: Arrival| !arrival.is_closed();
    let workloads = &record.plan.workloads;
    let times = match workloads.iter().filter(|workload| is_open(workload.arrival)).count() {
        0 => "round trip",
        count if count == workloads.len() => "response time",
        _ => "response time, or round trip of closed loops",
    };
    page.line(Tone::Strong, &format!("{:NAME_COLUMNS$}  {times}", ""));
    page.line(
        Tone::Strong,
        &row("step", ["p50", "p99", "p99.9", "max"], ["offered", "achieved"], "verdict"),
    );
    for (index, workload) in workloads.iter().enumerate() {
        let blocks = || record.blocks.iter().filter(move |block| block.workload == index);
        let result = record.results.iter().find(|result| result.workload == index);
        let of_block = || {
            let block = blocks().find(|block| block.failed.is_none())?;
            match (&block.open_loop, workload.lifetime) {
                (Some(times), _) => times.response.as_ref(),
                (None, Lifetime::Long) => block.round_trip.as_ref(),
                (None, Lifetime::RoundTrips(_)) => block.phases.life.as_ref(),
            }
        };
        let merged = result.and_then(|result| match workload.arrival {
            Arrival::Closed | Arrival::ClosedBots { .. } => result.round_trip.as_ref(),
            Arrival::Open { .. } | Arrival::Bots { .. } | Arrival::PartlyOpen { .. } => {
                result.response.as_ref()
            }
        });
        let times = merged.or_else(of_block);
        let measured: f64 =
            blocks().map(|block| number::float(block.measured_ns)).sum::<f64>() / 1e9;
        let planned: f64 = blocks().map(|block| number::float(block.counts.planned)).sum();
        let replies: f64 = blocks()
            .map(|block| block.messages_per_s * number::float(block.measured_ns) / 1e9)
            .sum();
        let rate = |count: f64| number::per_second(count / measured);
        let offered = if is_open(workload.arrival) { rate(planned) } else { MISSING.to_owned() };
        let cell = |of: fn(&Summary) -> Option<u64>| {
            times.and_then(of).map_or_else(|| MISSING.to_owned(), number::nanos)
        };
        let cells = [
            cell(|times| times.p50_ns),
            cell(|times| times.p99_ns),
            cell(|times| times.p99_9_ns),
            cell(|times| Some(times.max_ns)),
        ];
        let level = level(verdict, index);
        let (tone, level) = match blocks().next() {
            None => (Tone::Failed, "not reached"),
            Some(_) => (tone(level), name(level)),
        };
        let [p50, p99, p99_9, max] = &cells;
        page.line(
            tone,
            &row(&workload.name, [p50, p99, p99_9, max], [&offered, &rate(replies)], level),
        );
    }
}

/// The worst of what was found about this workload.
pub(crate) fn level(verdict: &Verdict, index: usize) -> Level {
    let reasons = verdict.reasons.iter();
    let of_this = reasons.filter(|reason| reason.workload.is_none_or(|workload| workload == index));
    of_this.map(|reason| reason.level).max().unwrap_or(Level::Trusted)
}

/// What a level is called.
pub(crate) fn name(level: Level) -> &'static str {
    match level {
        Level::Trusted => "trusted",
        Level::Degraded => "degraded",
        Level::Invalid => "invalid",
    }
}

/// The colour that says the same.
pub(crate) fn tone(level: Level) -> Tone {
    match level {
        Level::Trusted => Tone::Plain,
        Level::Degraded => Tone::Doubtful,
        Level::Invalid => Tone::Failed,
    }
}

fn row(name: &str, times: [&str; 4], rates: [&str; 2], verdict: &str) -> String {
    let name = cut(&escape(name), NAME_COLUMNS);
    let padding = " ".repeat(NAME_COLUMNS - columns(&name));
    let [p50, p99, p99_9, max] = times;
    let [offered, achieved] = rates;
    format!(
        "{name}{padding} {p50:>8} {p99:>8} {p99_9:>8} {max:>8} {offered:>9} {achieved:>9}  {verdict}"
    )
}

/// How wide the names of steps are.
const NAME_COLUMNS: usize = 12;
