//! The ladder: every rung in a row, its ratio to the baseline, and the answer in one sentence.

use crate::escape::{columns, cut, escape};
use crate::number::{self, CELL_MAX, MICROS_CELL_MAX, MISSING};
use crate::page::{Page, Style, Tone};
use crate::{layers, notes, sweep, verdict, words};
use record::{
    Added, Block, Comparison, Ended, Kind, Level, Lifetime, PayloadKind, RunRecord, Stop, Verdict,
    Workload, WorkloadResult,
};

/// The table of the ladder and what is needed to read it: failures, what each layer adds, bytes by layer, the
/// conclusion, checks, warnings, footnotes, the verdict.
///
/// Tables take 80 columns. A rung that failed, or was not reached, stands in it as that, with the reason below;
/// every number that is missing from the first table has its reason below too.
pub fn ladder(record: &RunRecord, style: &Style) -> String {
    let rungs = rungs(record);
    let verdict = verdict::of(record);
    let mut page = Page::new(style);
    notes::ended(&mut page, record);
    page.blank();
    heading(&mut page, record);
    page.blank();
    table(&mut page, record, &rungs);
    page.blank();
    failures(&mut page, record, &rungs);
    gaps(&mut page, &rungs);
    layers::added(&mut page, record, &verdict);
    layers::bytes(&mut page, record);
    page.blank();
    match conclusion(record) {
        Some(conclusion) => page.prose(Tone::Strong, &conclusion),
        None => page.prose(Tone::Strong, &no_conclusion(record)),
    }
    page.blank();
    notes::checks(&mut page, record);
    notes::warnings(&mut page, record);
    page.blank();
    footnotes(&mut page, record);
    verdict::show(&mut page, record, &verdict);
    page.finish()
}

fn no_conclusion(record: &RunRecord) -> String {
    let reason = match verdict::of(record).level {
        Level::Invalid => "the measurement is invalid, see the verdict",
        Level::Trusted | Level::Degraded => "no rung can be compared with the baseline",
    };
    format!("No conclusion: {reason}.")
}

/// The answer in one sentence: what WebSocket costs against the baseline or, if that was not measured, the first rung
/// that was; and what TLS adds to a WebSocket message, if that was measured and shows. `None` if there is nothing to
/// compare, or if the verdict says that it is no result. Built of the record's numbers; unescaped, for the record
/// itself.
///
/// Of a sweep: where its lines bend. Of a lab: who is fastest under its first load.
pub fn conclusion(record: &RunRecord) -> Option<String> {
    let verdict = verdict::of(record);
    if let Some(sweep) = &record.sweep {
        return sweep::conclusion(sweep).filter(|_| verdict.level < Level::Invalid);
    }
    if record.kind == Kind::Lab {
        return crate::lab::conclusion(record, &verdict);
    }
    if record.kind == Kind::Imported {
        return None;
    }
    let baseline = baseline(record)
        .filter(|_| !record.plan.baseline.is_some_and(|index| verdict::forbids(&verdict, index)))?;
    let allowed =
        record.results.iter().filter(|result| !verdict::forbids(&verdict, result.workload));
    let compared: Vec<(&Workload, &Comparison)> =
        allowed.filter_map(|result| compared(record, result)).collect();
    let websocket = compared.iter().find(|(workload, _)| workload.name == "ws");
    let (workload, comparison) = *websocket.or_else(|| compared.first())?;

    let (what, than) = (words::name(workload), words::name(baseline));
    let size = words::size(workload);
    let time = match workload.lifetime {
        Lifetime::Long => "round trip",
        Lifetime::RoundTrips(_) => "life of a client",
    };
    let condition = format!("{time} p50, {}", words::condition(workload));
    let ratio = number::ratio(comparison.ratio, interval(comparison));
    Some(match interval(comparison) {
        Some((low, high)) if low <= 1.0 && high >= 1.0 => {
            let smallest = comparison.smallest_detectable_fraction;
            let smallest = smallest.map_or_else(|| "unknown".to_owned(), number::percent);
            format!(
                "On this machine no difference is shown between {what} and {than} at {size}: {ratio}, \
                 smallest detectable difference {smallest} ({condition})."
            )
        }
        Some(_) => {
            let tls = tls_adds(record, &verdict).filter(|_| websocket.is_some());
            format!(
                "On this machine {what} costs {ratio} of {than} at {size} ({condition}){}.",
                tls.unwrap_or_default()
            )
        }
        None => format!(
            "On this machine {what} took {ratio} of {than} at {size}, in too few blocks for an interval ({condition})."
        ),
    })
}

/// What TLS adds to a WebSocket message, where that is shown and allowed.
fn tls_adds(record: &RunRecord, verdict: &Verdict) -> Option<String> {
    let is_wss = |added: &&Added| {
        let all = [added.workload, added.base];
        let names = all.map(|index| record.plan.workloads.get(index).map(|rung| &rung.name[..]));
        names == [Some("wss"), Some("ws")]
            && !all.iter().any(|index| verdict::forbids(verdict, *index))
    };
    let cpu = record.added.iter().find(is_wss)?.cpu_us_per_message?;
    let (low, high) = layers::interval(cpu).filter(|(low, _)| *low > 0.0)?;
    let [value, low, high] = [cpu.value, low, high].map(number::micros);
    Some(format!(", and TLS adds {value} [{low}, {high}] of CPU to each of its messages"))
}

/// A workload of the plan, and what came of it.
struct Rung<'a> {
    workload: &'a Workload,
    blocks: Vec<&'a Block>,
    state: State<'a>,
}

enum State<'a> {
    /// At least one block counts.
    Measured(&'a WorkloadResult),
    /// All blocks failed.
    Failed,
    /// The run ended before its first block.
    NotReached,
}

fn rungs(record: &RunRecord) -> Vec<Rung<'_>> {
    let rung = |(index, workload)| {
        let blocks: Vec<&Block> =
            record.blocks.iter().filter(|block| block.workload == index).collect();
        let result =
            record.results.iter().find(|result| result.workload == index && result.blocks > 0);
        let state = match result {
            Some(result) => State::Measured(result),
            None if blocks.is_empty() => State::NotReached,
            None => State::Failed,
        };
        Rung { workload, blocks, state }
    };
    record.plan.workloads.iter().enumerate().map(rung).collect()
}

fn baseline(record: &RunRecord) -> Option<&Workload> {
    record.plan.workloads.get(record.plan.baseline?)
}

/// The workload of `result` and how its round trip compares with the baseline's, if it does.
fn compared<'a>(
    record: &'a RunRecord,
    result: &'a WorkloadResult,
) -> Option<(&'a Workload, &'a Comparison)> {
    let workload = record.plan.workloads.get(result.workload)?;
    Some((workload, result.to_baseline.as_ref()?.round_trip_p50_ns.as_ref()?))
}

fn interval(comparison: &Comparison) -> Option<(f64, f64)> {
    comparison.low.zip(comparison.high)
}

/// What was measured, and how often.
fn heading(page: &mut Page, record: &RunRecord) {
    let Some(workload) = baseline(record).or_else(|| record.plan.workloads.first()) else { return };
    let rounds = record.plan.rounds.len();
    let length = match workload.stop {
        Stop::DurationNs(ns) => format!(" of {}", number::nanos(ns)),
        Stop::Messages(count) => format!(" of {count} messages"),
        Stop::Clients(count) => format!(" of {count} clients"),
    };
    page.prose(
        Tone::Plain,
        &format!(
            "Echo of {}, {}; {rounds} blocks{length} for each rung, in random order (seed {}).",
            words::size(workload),
            words::load(workload),
            record.plan.seed
        ),
    );
}

/// The header and a row for each rung.
fn table(page: &mut Page, record: &RunRecord, rungs: &[Rung<'_>]) {
    let to = baseline(record).map_or_else(
        || "baseline".to_owned(),
        |workload| cut(&escape(&workload.name), NAME_COLUMNS),
    );
    page.line(
        Tone::Strong,
        &format!("               round trip, us  messages  CPU, us/message  bytes p50 to {to}"),
    );
    page.line(
        Tone::Strong,
        "rung           p50   p90   p99     /s generator server   each [95 % interval]",
    );
    for (index, rung) in rungs.iter().enumerate() {
        let name = pad(&cut(&escape(&rung.workload.name), NAME_COLUMNS), NAME_COLUMNS);
        match rung.state {
            State::Measured(result) => {
                let is_baseline = record.plan.baseline == Some(index);
                page.line(Tone::Plain, &format!("{name}{}", cells(result, is_baseline)));
            }
            State::Failed => page.line(Tone::Failed, &format!("{name} failed, see below")),
            State::NotReached => page.line(Tone::Failed, &format!("{name} not reached")),
        }
    }
}

/// All cells of a rung but its name.
fn cells(result: &WorkloadResult, is_baseline: bool) -> String {
    let mut row = String::new();
    for (column, width) in COLUMNS {
        let cell =
            column.value(result).map_or_else(|| MISSING.to_owned(), |value| column.show(value));
        row += &format!(" {cell:>width$}");
    }
    let comparison =
        result.to_baseline.as_ref().and_then(|metrics| metrics.round_trip_p50_ns.as_ref());
    let ratio = match comparison {
        _ if is_baseline => "baseline".to_owned(),
        Some(comparison) => number::ratio(comparison.ratio, interval(comparison)),
        None => MISSING.to_owned(),
    };
    format!("{row} {ratio}")
}

/// A number that rungs have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    P50,
    P90,
    P99,
    Messages,
    GeneratorCpu,
    ServerCpu,
    Bytes,
}

/// The columns of the table and how wide each is.
const COLUMNS: [(Column, usize); 7] = [
    (Column::P50, MICROS_CELL_MAX),
    (Column::P90, MICROS_CELL_MAX),
    (Column::P99, MICROS_CELL_MAX),
    (Column::Messages, CELL_MAX),
    (Column::GeneratorCpu, "generator".len()),
    (Column::ServerCpu, "server".len()),
    (Column::Bytes, CELL_MAX),
];

impl Column {
    fn value(self, result: &WorkloadResult) -> Option<f64> {
        let medians = &result.medians;
        let estimate = match self {
            Self::P50 => medians.round_trip_p50_ns,
            Self::P90 => medians.round_trip_p90_ns,
            Self::P99 => medians.round_trip_p99_ns,
            Self::Messages => medians.messages_per_s,
            Self::GeneratorCpu => medians.generator_cpu_us_per_message,
            Self::ServerCpu => medians.server_cpu_us_per_message,
            Self::Bytes => medians.wire_bytes_per_message,
        };
        Some(estimate?.value)
    }

    fn show(self, value: f64) -> String {
        match self {
            Self::P50 | Self::P90 | Self::P99 => number::micros_cell(value / 1e3),
            Self::Messages => number::per_second_cell(value),
            Self::GeneratorCpu | Self::ServerCpu => number::micros_cell(value),
            Self::Bytes => number::bytes_cell(value),
        }
    }

    /// What it is called in a sentence.
    fn name(self) -> &'static str {
        match self {
            Self::P50 => "round trip p50",
            Self::P90 => "round trip p90",
            Self::P99 => "round trip p99",
            Self::Messages => "messages/s",
            Self::GeneratorCpu => "CPU of the generator",
            Self::ServerCpu => "CPU of the server",
            Self::Bytes => "bytes/message",
        }
    }

    /// Why it is missing from `block`, if that says so. For short-lived clients the times are those of their lives.
    fn reason(self, block: &Block, lifetime: Lifetime) -> Option<&str> {
        let times = match lifetime {
            Lifetime::Long => block.round_trip.as_ref(),
            Lifetime::RoundTrips(_) => block.phases.life.as_ref(),
        };
        let percentile = |field| times.and_then(|summary| summary.missing.get(field));
        let reason = match self {
            Self::P50 => percentile("p50_ns"),
            Self::P90 => percentile("p90_ns"),
            Self::P99 => percentile("p99_ns"),
            Self::GeneratorCpu => block.cpu.missing.get("generator_us_per_message"),
            Self::ServerCpu => block.cpu.missing.get("server_us_per_message"),
            Self::Messages | Self::Bytes => None,
        };
        reason.map(String::as_str)
    }
}

/// Why rungs failed, wholly or in some blocks, or were not reached.
fn failures(page: &mut Page, record: &RunRecord, rungs: &[Rung<'_>]) {
    for rung in rungs {
        let name = &rung.workload.name;
        let all = rung.blocks.len();
        let failed: Vec<&str> =
            rung.blocks.iter().filter_map(|block| block.failed.as_deref()).collect();
        let reason = failed.first().copied().unwrap_or("no block counts");
        match rung.state {
            State::Failed => {
                page.remark(
                    Tone::Failed,
                    &format!("{name} failed:"),
                    &format!("{reason} ({} of {all} blocks)", failed.len()),
                );
            }
            State::NotReached => {
                let reason = match &record.ended {
                    Ended::Completed => "it has no block",
                    Ended::Interrupted { .. } | Ended::Partial { .. } => {
                        "the run ended before its first block"
                    }
                };
                page.remark(Tone::Failed, &format!("{name} not reached:"), reason);
            }
            State::Measured(_) if failed.is_empty() => {}
            State::Measured(_) => page.remark(
                Tone::Doubtful,
                &format!("{name}:"),
                &format!("{} of {all} blocks failed and do not count: {reason}", failed.len()),
            ),
        }
    }
}

/// Why numbers are missing from rungs that were measured; rungs with the same gap share a line.
fn gaps(page: &mut Page, rungs: &[Rung<'_>]) {
    let mut gaps: Vec<(Column, &str, Vec<&str>)> = Vec::new();
    for rung in rungs {
        let State::Measured(result) = rung.state else { continue };
        for (column, _) in COLUMNS.into_iter().filter(|(column, _)| column.value(result).is_none())
        {
            let reason = rung
                .blocks
                .iter()
                .find_map(|block| column.reason(block, rung.workload.lifetime))
                .unwrap_or("no reply was measured");
            match gaps.iter_mut().find(|(other, why, _)| (*other, *why) == (column, reason)) {
                Some((_, _, names)) => names.push(&rung.workload.name),
                None => gaps.push((column, reason, vec![&rung.workload.name])),
            }
        }
    }
    for (column, reason, names) in gaps {
        page.remark(
            Tone::Plain,
            &format!("{MISSING} {}:", column.name()),
            &format!("{reason} ({})", names.join(", ")),
        );
    }
}

/// What is needed to read the tables.
fn footnotes(page: &mut Page, record: &RunRecord) {
    page.prose(
        Tone::Plain,
        "Medians of blocks. CPU: user and system time of the whole process. Bytes: both directions of the \
         stream, without TCP and IP; what these add is estimated from the number of segments.",
    );
    if !record.added.is_empty() {
        page.prose(
            Tone::Plain,
            "What a layer adds: CPU of generator and server together is what it costs. The round trip is that of \
             the closed loop: with many in flight, most of what it grows by is waiting for one another.",
        );
    }
    for (index, workload) in record.plan.workloads.iter().enumerate() {
        let name = &workload.name;
        let all = [shape(record, index), payload(workload), ratio(record, index)];
        let all: Vec<String> = all.into_iter().flatten().collect();
        if !all.is_empty() {
            page.prose(Tone::Plain, &format!("{name}: {}.", all.join("; ")));
        }
    }
    encryptions(page, record);
}

/// What the times of short-lived clients include.
fn shape(record: &RunRecord, index: usize) -> Option<String> {
    let workload = &record.plan.workloads[index];
    let handshake = encryption(record, index)
        .map(|(_, full, resumed)| format!("a TLS handshake ({full} full, {resumed} resumed)"));
    match (workload.lifetime, handshake) {
        (Lifetime::Long, _) => None,
        (Lifetime::RoundTrips(1), None) => Some("its round trip includes the connect".to_owned()),
        (Lifetime::RoundTrips(1), Some(handshake)) => {
            Some(format!("its round trip includes the connect and {handshake}"))
        }
        (Lifetime::RoundTrips(each), handshake) => {
            let handshake =
                handshake.map_or_else(String::new, |handshake| format!(", {handshake}"));
            Some(format!(
                "its times are those of a client's life, the connect{handshake} and {each} round trips"
            ))
        }
    }
}

/// What TLS handshakes agreed on, and how many were full and resumed.
fn encryption(record: &RunRecord, index: usize) -> Option<(String, u64, u64)> {
    let of_rung = record.blocks.iter().filter(|block| block.workload == index);
    words::tls(record.plan.workloads.get(index)?, &of_rung.collect::<Vec<&Block>>())
}

/// What is sent, where it is not random.
fn payload(workload: &Workload) -> Option<String> {
    let kind = workload.message.payload_kind.filter(|kind| *kind != PayloadKind::Random)?;
    Some(format!("its payload is {}", words::payload(kind)))
}

/// How much compression made of it, where there was any.
fn ratio(record: &RunRecord, index: usize) -> Option<String> {
    let of_rung = record.blocks.iter().filter(|block| block.workload == index);
    let ratios: Vec<f64> = of_rung.filter_map(|block| block.wire.compression_ratio).collect();
    Some(format!("deflate {}", words::compression(stats::median(&ratios).ok()?)))
}

/// What handshakes agreed on; rungs that agreed on the same share a line.
fn encryptions(page: &mut Page, record: &RunRecord) {
    let mut all: Vec<(String, Vec<&str>)> = Vec::new();
    for (index, workload) in record.plan.workloads.iter().enumerate() {
        let Some((facts, _, _)) = encryption(record, index) else { continue };
        match all.iter_mut().find(|(known, _)| *known == facts) {
            Some((_, names)) => names.push(&workload.name),
            None => all.push((facts, vec![&workload.name])),
        }
    }
    for (facts, names) in all {
        page.prose(Tone::Plain, &format!("TLS {facts} ({}).", names.join(", ")));
    }
}

fn pad(text: &str, width: usize) -> String {
    let missing = width.saturating_sub(columns(text));
    format!("{text}{}", " ".repeat(missing))
}

/// How wide the names of rungs are.
const NAME_COLUMNS: usize = 12;
