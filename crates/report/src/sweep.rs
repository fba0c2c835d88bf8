//! A sweep: every step of every line, and where each line bends.

use crate::document::{Answer, Cell, Column, Depth, Part, Section, Table, Tone, marked};
use crate::number::{self, Unit};
use crate::steps::{EventBytes, bends, capacity_words, event_bytes, of_line};
use crate::{row, verdict};
use record::{Capacity, Knee, Level, RunRecord, Sweep, SweepLine, SweepOf, SweepStep};

/// The load at which each line bends, in one sentence; a line in doubt has its mark, and an invalid one is left out.
pub(crate) fn conclusion(sweep: &Sweep) -> Option<String> {
    let found = |line: &SweepLine| {
        let name = marked(line.level, &line.name);
        match line.knee {
            _ if line.level == Level::Invalid => None,
            Knee::Found { confirmed, .. } => {
                Some(format!("{name} {}", bends(&line.knee, confirmed)))
            }
            Knee::NotReached { offered_max_per_s, .. } if offered_max_per_s > 0.0 => {
                let max = number::per_second(offered_max_per_s);
                Some(format!("{name} does not bend up to {max}"))
            }
            Knee::NotReached { .. } => None,
        }
    };
    let all: Vec<String> = sweep.lines.iter().filter_map(found).collect();
    (!all.is_empty()).then(|| format!("On this machine {}.", all.join(", ")))
}

/// The subject of a sweep: what rises, and on which targets.
pub(crate) fn title(record: &RunRecord, sweep: &Sweep) -> String {
    let what = match sweep.of {
        SweepOf::Bots => "bots",
        SweepOf::Connections => "connections",
        SweepOf::Rate => "messages a second",
        SweepOf::Receivers => "receivers",
        SweepOf::Other => "load",
    };
    let preset = sweep.preset.as_ref().map_or_else(String::new, |preset| format!(" ({preset})"));
    let mut targets: Vec<&str> = (0..sweep.lines.len())
        .filter_map(|line| Some(row::row(record, of_line(sweep, line).next()?.workload)?.target()))
        .collect();
    // A row has a line for each load, one after the other.
    targets.dedup();
    format!("Sweep of {what}{preset}: {}", targets.join(", "))
}

/// The knee of a line, what ran out there, and its capacity, each with the mark of its verdict.
pub(crate) fn answer(sweep: &Sweep, index: usize) -> Answer {
    let line = &sweep.lines[index];
    let label = marked(line.level, &line.name);
    let capacity = capacity(sweep, index).map(|text| (Depth::First, text));
    if line.level == Level::Invalid {
        let value = "the steps that show where it bends are not valid results".to_owned();
        return Answer { label, value, notes: capacity.into_iter().collect(), depth: Depth::First };
    }
    let value = match &line.knee {
        Knee::Found { confirmed, .. } => bends(&line.knee, *confirmed),
        Knee::NotReached { offered_max_per_s, .. } if *offered_max_per_s > 0.0 => {
            format!("does not bend up to {}", number::per_second(*offered_max_per_s))
        }
        Knee::NotReached { .. } => "was not carried at any load".to_owned(),
    };
    let reason = match &line.knee {
        Knee::Found { offered_per_s, .. } => Some(format!(
            "From there on less than 99 % of what is offered is achieved{}.",
            agreed(sweep, index, *offered_per_s)
        )),
        Knee::NotReached { reason, .. } if *reason != line.ran_out => Some(reason.clone()),
        Knee::NotReached { .. } => None,
    };
    let ran_out = format!("What ran out: {}.", line.ran_out);
    let notes =
        [Some((Depth::First, ran_out)), capacity, reason.map(|text| (Depth::Details, text))];
    let notes = notes.into_iter().flatten().collect();
    Answer { label, value, notes, depth: Depth::First }
}

/// `: 3 of 3 blocks kept it at 2.08 k/s, 0 of 3 at 2.12 k/s`, for the steps on either side of a load.
fn agreed(sweep: &Sweep, line: usize, load: f64) -> String {
    let below = of_line(sweep, line).filter(|step| step.offered_per_s <= load).last();
    let above = of_line(sweep, line).find(|step| step.offered_per_s > load);
    let words = |step: &SweepStep| {
        let kept = blocks_of(step, step.blocks_kept)?;
        Some(format!("{kept} at {}", number::per_second(step.offered_per_s)))
    };
    let all: Vec<String> = [below, above].into_iter().flatten().filter_map(words).collect();
    if all.is_empty() {
        String::new()
    } else {
        format!(": blocks that kept 99 %: {}", all.join(", "))
    }
}

/// `3 of 4`, of the blocks of a step; `None` where an old record does not say.
fn blocks_of(step: &SweepStep, count: Option<u32>) -> Option<String> {
    Some(format!("{} of {}", count?, step.blocks.len()))
}

fn capacity(sweep: &Sweep, index: usize) -> Option<String> {
    let objective = sweep.slo.as_ref()?;
    let Some(found) = sweep.lines[index].capacity else {
        return Some(format!("No load kept {objective} with less than 1 % missing."));
    };
    let Capacity { offered_per_s, high_per_s, confirmed, level, .. } = found;
    if level == Level::Invalid {
        let text =
            format!("The steps that show which load keeps {objective} are not valid results.");
        return Some(marked(level, &text));
    }
    let within = |load: f64| {
        let is_it = |step: &&SweepStep| (step.offered_per_s / load - 1.0).abs() < 1e-6;
        let step = of_line(sweep, index).find(is_it)?;
        blocks_of(step, step.blocks_within)
    };
    let blocks =
        within(offered_per_s).map_or_else(String::new, |blocks| format!(" in {blocks} blocks"));
    let above = match (high_per_s.map(number::per_second), confirmed) {
        (Some(high), true) => format!(" (confirmed); from {high} on none does"),
        (Some(_), false) => {
            let between = capacity_words(&found);
            format!("; the largest such load is somewhere {between} (not confirmed)")
        }
        (None, true) => " (confirmed); nothing more was asked for".to_owned(),
        (None, false) => " (not confirmed); nothing more was asked for".to_owned(),
    };
    let kept = number::per_second(offered_per_s);
    let text = format!("{kept} kept {objective} with less than 1 % missing{blocks}{above}.");
    Some(marked(level, &text))
}

/// A table of steps for each line, on the first page if there is only one line; and the bytes of their events.
pub(crate) fn sections(record: &RunRecord, sweep: &Sweep) -> Vec<Section> {
    let several = sweep.lines.len() > 1;
    let depth = if several { Depth::Details } else { Depth::First };
    let mut results = Section::default().at(depth);
    for (index, line) in sweep.lines.iter().enumerate() {
        let name = if several { &line.name[..] } else { "" };
        let table = steps(record, sweep, index, name);
        if table.rows.is_empty() {
            let text = format!("{}: no step was measured", line.name);
            results.parts.push(Part::Text(Tone::Failed, text));
        }
        results.parts.push(Part::Table(table));
    }
    let text = "offered: what was due. kept: achieved of that. p50, p99: response time. last 1000: the mean of the \
                last 1000 replies, in whole ms. server, ours: CPU of one core. idle: of the machine. stream: both ways.";
    let mut details = vec![Part::Text(Tone::Plain, text.to_owned())];
    let costs = record.blocks.iter().filter_map(|block| block.sampling_cpu_fraction);
    if let Some(cost) = costs.max_by(f64::total_cmp) {
        let cost = number::percent(cost);
        let text = format!("Reading all of this ten times a second took at most {cost} of a core.");
        details.push(Part::Text(Tone::Plain, text));
    }
    details.push(Part::Table(bytes_by_layer(record, sweep)));
    vec![results, Section::new("", details).at(Depth::Details)]
}

fn steps(record: &RunRecord, sweep: &Sweep, line: usize, name: &str) -> Table {
    let share = |head| Column::new(head, Unit::Share);
    let columns = vec![
        Column::new("offered", Unit::Rate),
        Column::new("bots", Unit::Count).at(Depth::Full),
        Column::new("achieved", Unit::Rate),
        share("kept"),
        Column::new("blocks kept", Unit::Words).at(Depth::Full),
        Column::new("p50", Unit::Time),
        Column::new("p99", Unit::Time),
        Column::new("last 1000, ms", Unit::Count).at(Depth::Details),
        share("server"),
        share("ours"),
        share("idle"),
        Column::new("stream", Unit::SizeRate).at(Depth::Details),
        Column::new("memory server", Unit::Size).at(Depth::Full),
        Column::new("verdict", Unit::Words),
    ];
    let mut table = Table::new(name, columns);
    for step in of_line(sweep, line) {
        let estimate = |it: record::Estimate| Cell::estimate(Some(it));
        let times = step.response.as_ref();
        let time = |of: fn(&record::Summary) -> Option<u64>| {
            Cell::number(times.and_then(of).map(number::float))
        };
        let SweepStep { offered_per_s, achieved_per_s, achieved_fraction, .. } = step;
        let tone = match verdict::tone(step.level) {
            Tone::Plain if achieved_fraction.value < KEPT_MIN => Tone::Doubtful,
            tone @ (Tone::Plain | Tone::Strong | Tone::Doubtful | Tone::Failed) => tone,
        };
        let cells = vec![
            Cell::Number(*offered_per_s, None),
            Cell::Number(number::float(step.bots), None),
            estimate(*achieved_per_s),
            Cell::Number(achieved_fraction.value, None),
            blocks_of(step, step.blocks_kept).map_or(Cell::Missing, Cell::words),
            time(|times| times.p50_ns),
            time(|times| times.p99_ns),
            Cell::number(step.last_1000_mean_ms.map(number::float)),
            Cell::number(step.server_cores_used),
            Cell::number(step.generator_cores_used),
            Cell::number(step.machine_idle_fraction),
            Cell::number(step.stream_bytes_per_s),
            Cell::number(step.server_memory_bytes.map(number::float)),
            Cell::words(level(record, step)),
        ];
        table.rows.push((tone, cells));
    }
    let knee = match sweep.lines[line].knee {
        Knee::Found { offered_per_s, .. } => offered_per_s,
        Knee::NotReached { .. } => f64::INFINITY,
    };
    table.focus = Some(of_line(sweep, line).filter(|step| step.offered_per_s < knee).count());
    table
}

/// The level of a step; `failed` if all of its blocks failed.
fn level(record: &RunRecord, step: &SweepStep) -> &'static str {
    let mut blocks = step.blocks.iter().filter_map(|index| record.blocks.get(*index));
    let failed = step.level == Level::Invalid && blocks.all(|block| block.failed.is_some());
    if failed { "failed" } else { step.level.name() }
}

fn bytes_by_layer(record: &RunRecord, sweep: &Sweep) -> Table {
    let heads =
        ["payload", "+ encoding", "+ framing and TLS", "+ TCP/IP, estimated", "on the interface"];
    let mut columns = vec![Column::new("line", Unit::Words)];
    columns.extend(heads.map(|head| Column::new(head, Unit::MessageBytes)));
    let mut table =
        Table::new("Bytes of an event at the last step below the knee, both directions", columns);
    for (name, bytes) in event_bytes(record, sweep) {
        let EventBytes { payload, encoded, stream, with_tcp_ip, interface } = bytes;
        let all = [Some(payload), Some(encoded), Some(stream), with_tcp_ip, interface];
        table.row([Cell::words(name)].into_iter().chain(all.map(Cell::number)).collect());
    }
    table
}

/// The smallest share of the offered load that counts as kept; a step that achieves less is marked as doubtful.
const KEPT_MIN: f64 = 0.99;
