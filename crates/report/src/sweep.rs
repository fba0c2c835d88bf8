//! A sweep: every step of every line, and where each line bends.

use crate::number::{self, MISSING};
use crate::page::{Page, Style, Tone};
use crate::{notes, steps, verdict};
use record::{Estimate, Knee, Level, RunRecord, Sweep, SweepLine, SweepOf, SweepStep};

/// A table of steps for each line, the knee and the capacity in a sentence each, warnings, the verdict.
///
/// Tables take 80 columns. A record without a sweep has no steps, and says so.
pub fn sweep(record: &RunRecord, style: &Style) -> String {
    let mut page = Page::new(style);
    notes::ended(&mut page, record);
    page.blank();
    let Some(sweep) = &record.sweep else {
        page.prose(Tone::Failed, "This record has no sweep in it.");
        return page.finish();
    };
    page.prose(Tone::Strong, &heading(record, sweep));
    for (index, line) in sweep.lines.iter().enumerate() {
        page.blank();
        table(&mut page, sweep, index, line);
    }
    page.blank();
    for line in &sweep.lines {
        page.labelled(&line.name, (Tone::Strong, &knee(line)));
        page.labelled("", (Tone::Plain, &format!("What ran out: {}.", line.ran_out)));
        if let Some(capacity) = capacity(sweep, line) {
            page.labelled("", (Tone::Plain, &capacity));
        }
    }
    page.blank();
    notes::warnings(&mut page, record);
    page.blank();
    footnotes(&mut page, record, sweep);
    verdict::show(&mut page, record, &verdict::of(record));
    page.finish()
}

/// Where each line bends, in one sentence.
pub(crate) fn conclusion(sweep: &Sweep) -> Option<String> {
    let bends = |line: &SweepLine| match line.knee {
        Knee::Found { offered_per_s, low_per_s, high_per_s } => Some(format!(
            "{} bends at {} [{}, {}]",
            line.name,
            rate(offered_per_s),
            plain(low_per_s),
            plain(high_per_s)
        )),
        Knee::NotReached { offered_max_per_s, .. } if offered_max_per_s > 0.0 => {
            Some(format!("{} does not bend up to {}", line.name, rate(offered_max_per_s)))
        }
        Knee::NotReached { .. } => None,
    };
    let all: Vec<String> = sweep.lines.iter().filter_map(bends).collect();
    (!all.is_empty()).then(|| format!("On this machine {}.", all.join(", ")))
}

fn heading(record: &RunRecord, sweep: &Sweep) -> String {
    let what = match sweep.of {
        SweepOf::Bots => "bots",
        SweepOf::Connections => "connections",
        SweepOf::Rate => "messages a second",
        SweepOf::Other => "load",
    };
    let preset = sweep.preset.as_ref().map_or_else(String::new, |preset| format!(" ({preset})"));
    let targets: Vec<&str> = (0..sweep.lines.len())
        .filter_map(|line| {
            let step = sweep.steps.iter().find(|step| step.line == line)?;
            Some(&record.plan.workloads.get(step.workload)?.target[..])
        })
        .collect();
    format!("Sweep of {what}{preset}: {}", targets.join(", "))
}

fn table(page: &mut Page, sweep: &Sweep, index: usize, line: &SweepLine) {
    if sweep.lines.len() > 1 {
        page.line(Tone::Strong, &line.name);
    }
    page.line(
        Tone::Strong,
        &row([
            "offered", "achieved", "kept", "p50", "p99", "mean", "server", "ours", "idle",
            "wire B/s",
        ]),
    );
    let of_line = || sweep.steps.iter().filter(move |step| step.line == index);
    if of_line().next().is_none() {
        page.line(Tone::Failed, "no step was measured");
    }
    for step in of_line() {
        let tone = match step.level {
            Level::Invalid => Tone::Failed,
            Level::Degraded => Tone::Doubtful,
            Level::Trusted if step.achieved_fraction.value < KEPT_MIN => Tone::Doubtful,
            Level::Trusted => Tone::Plain,
        };
        page.line(tone, &of_step(step));
    }
}

fn of_step(step: &SweepStep) -> String {
    let mark = match step.level {
        Level::Trusted => "",
        Level::Degraded => "?",
        Level::Invalid => "!",
    };
    let missing = || MISSING.to_owned();
    let time = |of: Option<u64>| of.map_or_else(missing, number::nanos);
    let share =
        |of: Option<f64>| of.map_or_else(missing, |share| format!("{:.0} %", share * 100.0));
    let response = step.response.as_ref();
    let cells = [
        format!("{mark}{}", rate(step.offered_per_s)),
        rate(step.achieved_per_s.value),
        kept(step.achieved_fraction),
        time(response.and_then(|times| times.p50_ns)),
        time(response.and_then(|times| times.p99_ns)),
        step.last_1000_mean_ms.map_or_else(missing, |ms| format!("{ms}ms")),
        share(step.server_cores_used),
        share(step.generator_cores_used),
        share(step.machine_idle_fraction),
        step.stream_bytes_per_s.map_or_else(missing, number::bytes_cell),
    ];
    row(cells.each_ref().map(String::as_str))
}

fn row(cells: [&str; 10]) -> String {
    let [offered, achieved, kept, p50, p99, mean, server, ours, idle, wire] = cells;
    format!(
        "{offered:>10} {achieved:>9} {kept:>7} {p50:>7} {p99:>7} {mean:>6} {server:>6} {ours:>5} {idle:>5} {wire:>8}"
    )
}

/// As many digits as tell it from 99 %.
fn kept(fraction: Estimate) -> String {
    let percent = fraction.value * 100.0;
    if !(10.0..99.95).contains(&percent) {
        format!("{percent:.0} %")
    } else {
        format!("{percent:.1} %")
    }
}

fn knee(line: &SweepLine) -> String {
    match &line.knee {
        Knee::Found { offered_per_s, low_per_s, high_per_s } => format!(
            "bends at {} [{}, {}]: from there on less than 99 % of what is offered is achieved.",
            rate(*offered_per_s),
            plain(*low_per_s),
            plain(*high_per_s)
        ),
        Knee::NotReached { offered_max_per_s, .. } if *offered_max_per_s > 0.0 => {
            format!("does not bend up to {}.", rate(*offered_max_per_s))
        }
        Knee::NotReached { .. } => "was not carried at any load.".to_owned(),
    }
}

fn capacity(sweep: &Sweep, line: &SweepLine) -> Option<String> {
    let objective = sweep.slo.as_ref()?;
    let Some(capacity) = line.capacity else {
        return Some(format!("No load kept {objective} with less than 1 % missing."));
    };
    let above = capacity.high_per_s.map_or_else(
        || "nothing more was asked for".to_owned(),
        |high| format!("{} did not", rate(high)),
    );
    let confirmed = if capacity.confirmed { "confirmed" } else { "not confirmed" };
    Some(format!(
        "{} kept {objective} with less than 1 % missing ({confirmed}); {above}.",
        rate(capacity.offered_per_s)
    ))
}

fn footnotes(page: &mut Page, record: &RunRecord, sweep: &Sweep) {
    page.prose(
        Tone::Plain,
        "offered: what was due. kept: achieved of that. p50, p99: response time. mean: of the last 1000 replies, in \
         whole ms. server, ours: CPU of one core. idle: of the machine. wire: the stream, both ways.",
    );
    let has = |level| sweep.steps.iter().any(|step| step.level == level);
    if has(Level::Degraded) || has(Level::Invalid) {
        let marked = [(Level::Degraded, "?"), (Level::Invalid, "!")];
        let marked = marked.into_iter().filter(|(level, _)| has(*level));
        let words: Vec<String> =
            marked.map(|(level, mark)| format!("{mark} {}", steps::name(level))).collect();
        page.prose(Tone::Plain, &format!("Steps: {}.", words.join(", ")));
    }
    let costs = record.blocks.iter().filter_map(|block| block.sampling_cpu_fraction);
    if let Some(cost) = costs.max_by(f64::total_cmp) {
        page.prose(
            Tone::Plain,
            &format!(
                "Looking at all of it ten times a second took {} of a core at most.",
                number::percent(cost)
            ),
        );
    }
}

/// `1515/s`, in full below 100 000.
fn rate(per_s: f64) -> String {
    if per_s < FULL_BELOW { format!("{per_s:.0}/s") } else { number::per_second(per_s) }
}

/// The same without its unit.
fn plain(per_s: f64) -> String {
    rate(per_s).trim_end_matches("/s").trim_end().to_owned()
}

/// What less is not kept.
const KEPT_MIN: f64 = 0.99;
/// More is shown with three digits.
const FULL_BELOW: f64 = 99_999.5;
