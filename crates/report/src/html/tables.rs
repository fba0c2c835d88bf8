//! Tables of a page that no chart has.

use crate::chart::Table;
use crate::escape::escape;
use crate::lab;
use crate::lab::rows::Group;
use crate::lab::tables::Section;
use crate::number::{self, MISSING};
use crate::published::{event_bytes, knee_words};
use crate::{steps, verdict};
use record::{Block, Comparison, ErrorCount, Estimate, Kind, RunRecord, Sweep, SweepStep};
use std::collections::BTreeMap;
use units::Bytes;

/// What it came to: of a sweep its lines, of a lab all its tables, of several workloads each of them.
pub(super) fn summaries(record: &RunRecord) -> Vec<Section> {
    let plain = |table| Section { table, notes: Vec::new() };
    let all = match (&record.sweep, record.kind) {
        (Some(sweep), _) => vec![plain(lines(sweep)), plain(bytes_by_layer(record, sweep))],
        (None, Kind::Lab | Kind::Imported) => of_lab(record),
        (None, _) if record.plan.workloads.len() > 1 => vec![plain(workloads(record))],
        (None, _) => Vec::new(),
    };
    let is_filled = |section: &Section| !section.table.rows.is_empty();
    all.into_iter().filter(is_filled).collect()
}

/// The tables that its page in the terminal has; what was not measured is one too.
fn of_lab(record: &RunRecord) -> Vec<Section> {
    let verdict = verdict::of(record);
    let mut all = lab::all_tables(record, &verdict);
    for section in &mut all {
        section.notes.iter_mut().for_each(|note| *note = escape(note));
    }
    let unmeasured = lab::unmeasured(record, &Group::all(record, &verdict));
    let row = |it: &lab::Unmeasured| vec![escape(&it.what), escape(&it.reason)];
    let subjects = lab::subjects(record).iter().map(|text| escape(text)).collect();
    all.push(Section {
        table: Table {
            caption: "What was not measured".to_owned(),
            head: texts(["what", "why"]),
            rows: unmeasured.iter().map(row).collect(),
        },
        notes: Vec::new(),
    });
    if let Some(first) = all.first_mut() {
        let own: Vec<String> = subjects;
        first.notes.extend(own);
    }
    all
}

/// What stands further down: every step of a sweep, errors, what is missing.
pub(super) fn details(record: &RunRecord) -> Vec<Table> {
    let mut tables = Vec::new();
    tables.extend(record.sweep.as_ref().map(|sweep| all_steps(record, sweep)));
    tables.extend([errors(record), missing(record)]);
    tables.retain(|table| !table.rows.is_empty());
    tables
}

fn lines(sweep: &Sweep) -> Table {
    let mut head = texts(["line", "knee [interval]", "what ran out"]);
    if let Some(objective) = &sweep.slo {
        head.insert(2, escape(&format!("capacity within {objective}")));
    }
    let row = |line: &record::SweepLine| {
        let mut row = vec![escape(&line.name), knee_words(&line.knee), escape(&line.ran_out)];
        if sweep.slo.is_some() {
            let capacity = line.capacity.map(|capacity| {
                let high =
                    capacity.high_per_s.map(|high| format!(", under {}", number::per_second(high)));
                let confirmed = if capacity.confirmed { "confirmed" } else { "not confirmed" };
                format!(
                    "{}{}, {confirmed}",
                    number::per_second(capacity.offered_per_s),
                    high.unwrap_or_default()
                )
            });
            row.insert(2, capacity.unwrap_or_else(|| "none of its steps kept it".to_owned()));
        }
        row
    };
    Table {
        caption: "Where each line bends: achieved under 99 % of offered in two steps running"
            .to_owned(),
        head,
        rows: sweep.lines.iter().map(row).collect(),
    }
}

fn bytes_by_layer(record: &RunRecord, sweep: &Sweep) -> Table {
    let all = event_bytes(record, sweep);
    let cell = |bytes: Option<f64>| bytes.map_or_else(|| MISSING.to_owned(), number::few_bytes);
    let row = |(name, bytes): &(String, crate::published::EventBytes)| {
        vec![
            escape(name),
            cell(Some(bytes.payload)),
            cell(Some(bytes.encoded)),
            cell(Some(bytes.stream)),
            cell(bytes.with_tcp_ip),
            cell(bytes.interface),
        ]
    };
    Table {
        caption: "Bytes for each event at the last step below the knee, both directions".to_owned(),
        head: texts([
            "line",
            "payload",
            "+ encoding",
            "+ framing and TLS",
            "+ TCP/IP, estimated",
            "on the interface",
        ]),
        rows: all.iter().map(row).collect(),
    }
}

fn workloads(record: &RunRecord) -> Table {
    let estimate = |value: Option<Estimate>, show: fn(f64) -> String| {
        value.map_or_else(|| MISSING.to_owned(), |value| interval(value, show))
    };
    let row = |result: &record::WorkloadResult| {
        let medians = &result.medians;
        let p50 = medians.response_p50_ns.or(medians.round_trip_p50_ns);
        let p99 = medians.response_p99_ns.or(medians.round_trip_p99_ns);
        let ratio = result.to_baseline.as_ref().and_then(|all| all.round_trip_p50_ns.as_ref());
        let ratio = match ratio {
            Some(Comparison { ratio, low, high, .. }) => number::ratio(*ratio, low.zip(*high)),
            None if record.plan.baseline == Some(result.workload) => "baseline".to_owned(),
            None => MISSING.to_owned(),
        };
        let name = record.plan.workloads.get(result.workload);
        vec![
            escape(name.map_or("?", |workload| workload.name.as_str())),
            estimate(p50, number::time),
            estimate(p99, number::time),
            estimate(medians.messages_per_s, number::per_second),
            estimate(medians.generator_cpu_us_per_message, number::micros),
            estimate(medians.server_cpu_us_per_message, number::micros),
            medians
                .wire_bytes_per_message
                .map_or_else(|| MISSING.to_owned(), |bytes| number::few_bytes(bytes.value)),
            ratio,
        ]
    };
    let baseline = record.plan.baseline.and_then(|index| record.plan.workloads.get(index));
    let mut table = Table {
        caption: "Medians of the blocks with their 95 % intervals".to_owned(),
        head: texts(["", "p50", "p99", "replies", "CPU generator", "CPU server", "bytes", ""]),
        rows: record.results.iter().filter(|result| result.blocks > 0).map(row).collect(),
    };
    match baseline {
        Some(baseline) => {
            if let Some(last) = table.head.last_mut() {
                *last = escape(&format!("p50 to {}", baseline.name));
            }
        }
        None => {
            table.head.pop();
            table.rows.iter_mut().for_each(|row| drop(row.pop()));
        }
    }
    table
}

fn all_steps(record: &RunRecord, sweep: &Sweep) -> Table {
    let row = |step: &SweepStep| {
        let percentile = |of: fn(&record::Summary) -> Option<u64>| {
            step.response.as_ref().and_then(of).map_or_else(|| MISSING.to_owned(), number::nanos)
        };
        let show = |value: Option<f64>, show: fn(f64) -> String| {
            value.map_or_else(|| MISSING.to_owned(), show)
        };
        let name = sweep.lines.get(step.line).map_or("?", |line| line.name.as_str());
        vec![
            escape(name),
            number::per_second(step.offered_per_s),
            step.bots.to_string(),
            interval(step.achieved_per_s, number::per_second),
            number::percent(step.achieved_fraction.value),
            percentile(|times| times.p50_ns),
            percentile(|times| times.p99_ns),
            step.last_1000_mean_ms.map_or_else(|| MISSING.to_owned(), |mean| format!("{mean} ms")),
            show(step.machine_idle_fraction, number::percent),
            show(step.server_cores_used, number::three),
            show(step.generator_cores_used, number::three),
            step.server_memory_bytes
                .map_or_else(|| MISSING.to_owned(), |size| Bytes(size).to_string()),
            level(record, step).to_owned(),
        ]
    };
    Table {
        caption: "Every step".to_owned(),
        head: texts([
            "line",
            "offered",
            "bots",
            "achieved",
            "of offered",
            "p50",
            "p99",
            "last 1000",
            "idle",
            "server cores",
            "generator cores",
            "server memory",
            "believed",
        ]),
        rows: sweep.steps.iter().map(row).collect(),
    }
}

/// How far a step may be believed; one all of whose blocks failed is no step.
fn level(record: &RunRecord, step: &SweepStep) -> &'static str {
    let mut blocks = step.blocks.iter().filter_map(|index| record.blocks.get(*index));
    if blocks.all(|block| block.failed.is_some()) { "failed" } else { steps::name(step.level) }
}

/// Errors of all blocks by workload and class.
fn errors(record: &RunRecord) -> Table {
    let mut all: BTreeMap<(usize, &str), (u64, &str)> = BTreeMap::new();
    for block in &record.blocks {
        for ErrorCount { class, count, example } in &block.errors {
            let (sum, _) = all.entry((block.workload, class)).or_insert((0, example));
            *sum = sum.saturating_add(*count);
        }
    }
    let failed = record
        .blocks
        .iter()
        .filter_map(|block: &Block| Some((block.workload, block.failed.as_ref()?)));
    let name = |index: usize| {
        record.plan.workloads.get(index).map_or("?", |workload| workload.name.as_str())
    };
    let mut rows: Vec<Vec<String>> = failed
        .map(|(workload, reason)| {
            vec![escape(name(workload)), "block failed".to_owned(), "1".to_owned(), escape(reason)]
        })
        .collect();
    rows.dedup();
    rows.extend(all.into_iter().map(|((workload, class), (count, example))| {
        vec![escape(name(workload)), escape(class), count.to_string(), escape(example)]
    }));
    Table {
        caption: "Errors".to_owned(),
        head: texts(["workload", "class", "count", "the first one said"]),
        rows,
    }
}

/// What is not known of blocks, and why; each reason once.
fn missing(record: &RunRecord) -> Table {
    // Reasons that differ in their numbers alone are one; the first is told.
    let mut all: BTreeMap<(&str, &str, String), (u64, &str)> = BTreeMap::new();
    for block in &record.blocks {
        let times = block
            .open_loop
            .as_ref()
            .and_then(|times| times.response.as_ref())
            .or(block.round_trip.as_ref());
        let parts = [
            ("CPU", Some(&block.cpu.missing)),
            ("bytes", Some(&block.wire.missing)),
            ("context switches", Some(&block.context_switches.missing)),
            ("times", times.map(|times| &times.missing)),
        ];
        for (part, missing) in parts {
            for (field, reason) in missing.into_iter().flatten() {
                let words = reason.chars().filter(|letter| !letter.is_ascii_digit()).collect();
                all.entry((part, field, words)).or_insert((0, reason)).0 += 1;
            }
        }
    }
    let row = |((part, field, _), (blocks, reason)): ((&str, &str, String), (u64, &str))| {
        vec![part.to_owned(), escape(field), blocks.to_string(), escape(reason)]
    };
    Table {
        caption: "What is missing".to_owned(),
        head: texts(["of", "value", "blocks", "why"]),
        rows: all.into_iter().map(row).collect(),
    }
}

fn interval(value: Estimate, show: fn(f64) -> String) -> String {
    match value.low.zip(value.high) {
        Some((low, high)) => format!("{} [{}, {}]", show(value.value), show(low), show(high)),
        None => show(value.value),
    }
}

fn texts<const COUNT: usize>(all: [&str; COUNT]) -> Vec<String> {
    all.map(str::to_owned).into()
}
