//! The tables of a lab, for text, page and Markdown alike: the cells of each load, then the views that were asked for.

use super::glance;
use super::rows::{self, Group, Row};
use crate::benchmark::{Aggregates, Mean};
use crate::chart::Table;
use crate::escape::escape;
use crate::number::{self, MISSING};
use record::{Block, Footprint, Kind, Lifetime, Phases, RunRecord, Summary, View};
use std::collections::BTreeMap;

/// A table, and what is needed to read it. Cells and captions are escaped, notes are not.
pub(crate) struct Section {
    pub(crate) table: Table,
    pub(crate) notes: Vec<String>,
}

/// The rows of one load, those that were measured by their time, the one that all are compared with first.
pub(crate) fn cells(record: &RunRecord, group: &Group<'_>) -> Section {
    let zero = group.zero();
    let to = zero.map_or("baseline", Row::base_name);
    let mut order: Vec<&Row<'_>> = group.rows.iter().collect();
    order.sort_by(|one, other| rank(group, one).total_cmp(&rank(group, other)));
    let row = |row: &&Row<'_>| {
        let medians = row.result.map(|result| &result.medians);
        let cell = |value: Option<f64>, show: fn(f64) -> String| {
            value.map_or_else(|| MISSING.to_owned(), show)
        };
        let time = |response, round_trip: Option<record::Estimate>| {
            let estimate: Option<record::Estimate> = Option::or(response, round_trip);
            cell(estimate.map(|ns| ns.value / 1e3), number::micros_cell)
        };
        let of = |estimate: Option<record::Estimate>, show| cell(estimate.map(|it| it.value), show);
        vec![
            escape(&row.name),
            time(
                medians.and_then(|all| all.response_p50_ns),
                medians.and_then(|all| all.round_trip_p50_ns),
            ),
            time(
                medians.and_then(|all| all.response_p90_ns),
                medians.and_then(|all| all.round_trip_p90_ns),
            ),
            time(
                medians.and_then(|all| all.response_p99_ns),
                medians.and_then(|all| all.round_trip_p99_ns),
            ),
            of(medians.and_then(|all| all.messages_per_s), number::per_second_cell),
            of(medians.and_then(|all| all.generator_cpu_us_per_message), number::micros_cell),
            of(medians.and_then(|all| all.server_cpu_us_per_message), number::micros_cell),
            cell(row.median(rows::server_bytes), size),
            ratio(row, zero),
        ]
    };
    let times = match group.rows.first().map(|row| row.workload) {
        Some(workload) if !workload.arrival.is_closed() => "response times",
        Some(workload) if workload.lifetime != Lifetime::Long => "times are whole lives of clients",
        Some(_) | None => "round trips",
    };
    let compared = group.rows.first().map_or("", |row| rows::message_words(row.workload));
    let table = Table {
        caption: escape(&format!("{}; {times}", glance::heading(record, group))),
        head: heads(&[
            "row",
            "p50 us",
            "p90 us",
            "p99 us",
            "messages /s",
            "CPU us client",
            "CPU us server",
            "memory server",
            &format!("{} to {to} [interval]", compared.split(' ').next().unwrap_or_default()),
        ]),
        rows: order.iter().map(row).collect(),
    };
    Section { table, notes: not_shown(group) }
}

/// What rows are put in order by.
fn rank(group: &Group<'_>, row: &Row<'_>) -> f64 {
    match row.result {
        _ if Some(row.index) == group.zero => -1.0,
        Some(_) if row.is_allowed => row.median(rows::message_ns).unwrap_or(f64::MAX),
        Some(_) | None => f64::INFINITY,
    }
}

fn ratio(row: &Row<'_>, zero: Option<&Row<'_>>) -> String {
    match zero {
        Some(zero) if zero.index == row.index && row.result.is_some() => "baseline".to_owned(),
        _ if row.result.is_none() && row.failed.is_empty() => "not reached".to_owned(),
        _ if row.result.is_none() => "failed, see below".to_owned(),
        _ if !row.is_allowed => "invalid".to_owned(),
        Some(zero) if zero.is_allowed => {
            row.to(zero, rows::message_ns).map_or_else(|| MISSING.to_owned(), rows::Ratio::cell)
        }
        Some(_) | None => MISSING.to_owned(),
    }
}

/// Rows that do not differ from the one that all are compared with, and those that are compared with another one.
fn not_shown(group: &Group<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    let mut add = |row: &Row<'_>, base: &Row<'_>, says_more: bool| {
        let Some(ratio) =
            row.to(base, rows::message_ns).filter(|_| row.is_allowed && base.is_allowed)
        else {
            return;
        };
        let (name, base, cell) = (&row.name, base.base_name(), ratio.cell());
        if ratio.is_shown() == Some(false) {
            notes.push(format!(
                "No difference is shown between {name} and {base}: {cell}; {}.",
                ratio.could_see()
            ));
        } else if says_more {
            notes.push(format!("{name} takes {cell} of {base}."));
        }
    };
    for row in group.rows.iter().filter(|row| Some(row.index) != group.zero) {
        if let Some(zero) = group.zero() {
            add(row, zero, false);
        }
        let own = row.workload.baseline.filter(|base| Some(*base) != group.zero);
        if let Some(base) = group.rows.iter().find(|base| Some(base.index) == own) {
            add(row, base, true);
        }
    }
    notes
}

/// The views that the lab was asked for, in their order; those that this version does not know, and those without a
/// row, are left out.
pub(crate) fn views(record: &RunRecord, groups: &[Group<'_>]) -> Vec<Section> {
    let Some(lab) = &record.lab else { return Vec::new() };
    let mut sections = Vec::new();
    for view in &lab.views {
        match view {
            View::Benchmark => sections.push(benchmark(record, groups)),
            View::Footprint => {}
            View::Life => sections.push(lives(groups)),
            View::Memory => sections.push(memory(groups)),
            View::WallPerMessage => sections.push(wall_per_message(groups)),
            View::Other => {}
        }
    }
    if lab.views.iter().any(|view| matches!(view, View::Benchmark | View::Life)) {
        sections.push(phases(groups));
    }
    if record.kind == Kind::Lab {
        sections.push(clients(groups));
    }
    // What was looked at is shown, asked for or not.
    sections.push(footprints(&lab.footprints));
    sections.retain(|section| !section.table.rows.is_empty());
    sections
}

/// All rows of all groups that were measured, with the name of their load where there are several.
fn measured<'a>(groups: &'a [Group<'a>]) -> impl Iterator<Item = (String, &'a Row<'a>)> {
    groups.iter().flat_map(|group| {
        group.rows.iter().filter(|row| row.result.is_some()).map(|row| {
            let name = match group.load.is_empty() {
                true => row.name.clone(),
                false => format!("{}, {}", row.name, group.load),
            };
            (escape(&name), row)
        })
    })
}

fn wall_per_message(groups: &[Group<'_>]) -> Section {
    let mut example: Option<(f64, String)> = None;
    let mut all = Vec::new();
    // Clients that come and go spend a part of their time without a message in flight.
    let is_steady = |(_, row): &(String, &Row<'_>)| {
        row.workload.arrival.is_closed() && row.workload.lifetime == Lifetime::Long
    };
    for (name, row) in measured(groups).filter(is_steady) {
        let Some(wall_us) = row.median(rows::wall_per_message_us) else { continue };
        let round_trip: rows::Metric = |_, block| Some(block.round_trip.as_ref()?.mean_ns / 1e3);
        let mean_us = row.median(round_trip);
        let in_flight = number::float(row.workload.connections) * f64::from(row.workload.in_flight);
        if let Some(mean_us) = mean_us {
            let text = format!(
                "{}: {} x {in_flight:.0} = {}, measured {}",
                row.name,
                number::micros(wall_us),
                number::micros(wall_us * in_flight),
                number::micros(mean_us)
            );
            if example.as_ref().is_none_or(|(most, _)| in_flight > *most) {
                example = Some((in_flight, text));
            }
        }
        all.push(vec![
            name,
            number::micros_cell(wall_us),
            format!("{in_flight:.0}"),
            mean_us.map_or_else(|| MISSING.to_owned(), number::micros_cell),
        ]);
    }
    let example = example.map_or_else(String::new, |(_, text)| format!(" ({text})"));
    let note = format!(
        "Wall time by messages is the inverse of throughput, not a time that any message took: by Little's law the \
         round trip is that times the number in flight{example}."
    );
    Section {
        table: Table {
            caption: "Wall time by messages, beside the true round trip".to_owned(),
            head: heads(&["row", "wall/message, us", "in flight", "mean round trip, us"]),
            rows: all,
        },
        notes: vec![note],
    }
}

fn benchmark(record: &RunRecord, groups: &[Group<'_>]) -> Section {
    let mut all = Vec::new();
    let mut spinning = Vec::new();
    for (name, row) in measured(groups) {
        let means: Vec<Mean> =
            row.blocks.iter().filter_map(|block| Mean::of(row.workload, block)).collect();
        let wall: Vec<f64> = means.iter().map(|mean| mean.wall_ns).collect();
        let cpu: Option<Vec<f64>> = means.iter().map(|mean| mean.cpu_ns).collect();
        let cells = |values: Option<&[f64]>| {
            let all = values.and_then(Aggregates::of);
            let numbers = all.map(|all| [all.mean, all.median, all.stddev]);
            numbers.map_or_else(|| [MISSING; 3].map(str::to_owned), |all| all.map(number::time))
        };
        let iterations = means.iter().fold(0_u64, |sum, mean| sum.saturating_add(mean.iterations));
        if means.iter().filter(|mean| mean.spins()).count() * 2 > means.len() {
            spinning.push(name.clone());
        }
        let mut row = vec![name];
        row.extend(cells(Some(&wall)));
        row.extend(cells(cpu.as_deref()));
        row.push(number::per_second_cell(number::float(iterations)));
        all.push(row);
    }
    let mut notes = vec![
        "Wall time and CPU time of the client for a round trip (of a short-lived client: for its life); mean, median and \
         standard deviation over blocks, as google-benchmark has them over repetitions."
            .to_owned(),
    ];
    // What an imported benchmark waits for, if anything, is not known.
    if !spinning.is_empty() && record.kind != Kind::Imported {
        notes.push(format!(
            "Spins: {}. Its CPU time is at least 80 % of its wall time: it looks for the reply again and again \
             instead of sleeping until it is there.",
            spinning.join(", ")
        ));
    }
    Section {
        table: Table {
            caption: "As google-benchmark has it".to_owned(),
            head: heads(&[
                "row",
                "wall mean",
                "wall median",
                "wall stddev",
                "CPU mean",
                "CPU median",
                "CPU stddev",
                "iterations",
            ]),
            rows: all,
        },
        notes,
    }
}

fn lives(groups: &[Group<'_>]) -> Section {
    let mut all = Vec::new();
    for (name, row) in measured(groups) {
        let lives: Vec<&Summary> =
            row.blocks.iter().filter_map(|block| block.phases.life.as_ref()).collect();
        let Some((min, mean, max)) = spread(&lives) else { continue };
        let count = lives.iter().fold(0_u64, |sum, life| sum.saturating_add(life.count));
        let mut row = vec![name];
        row.extend([min, mean, max].map(millis));
        row.push(count.to_string());
        all.push(row);
    }
    let mut notes: Vec<String> = groups.iter().filter_map(pairs).collect();
    notes.insert(
        0,
        "From just before the connect to the last whole reply; the close is not in it.".to_owned(),
    );
    Section {
        table: Table {
            caption: "Lives of short-lived clients".to_owned(),
            head: heads(&["row", "Min ms", "Mean ms", "Max ms", "clients"]),
            rows: all,
        },
        notes,
    }
}

/// Which of the mean lives of a group are shown to differ, pair by pair.
fn pairs(group: &Group<'_>) -> Option<String> {
    let lives: Vec<&Row<'_>> = group
        .ranked(rows::mean_ns)
        .into_iter()
        .filter(|row| row.workload.lifetime != Lifetime::Long)
        .collect();
    let (mut count, mut without, mut alike) = (0_usize, 0_usize, Vec::new());
    for (at, one) in lives.iter().enumerate() {
        for other in &lives[at + 1..] {
            let Some(ratio) = other.to(one, rows::mean_ns) else { continue };
            count += 1;
            match ratio.is_shown() {
                Some(true) => {}
                Some(false) => alike.push(format!(
                    "{} to {} {} ({})",
                    other.name,
                    one.name,
                    ratio.cell(),
                    ratio.could_see()
                )),
                None => without += 1,
            }
        }
    }
    let load = if group.load.is_empty() { String::new() } else { format!("{}: ", group.load) };
    let told = match (count, without) {
        (0, _) => return None,
        (_, 1..) => {
            format!("{without} of {count} pairs of rows have too few blocks for an interval")
        }
        (_, 0) => format!("of {count} pairs of rows {} differ in their mean", count - alike.len()),
    };
    let alike = match alike.is_empty() {
        true => String::new(),
        false => format!("; no difference shown: {}", alike.join("; ")),
    };
    Some(format!("{load}{told}{alike}. Each interval is of 95 % for itself."))
}

/// What connections spend their time with: means, and what is left for the replies after the first.
fn phases(groups: &[Group<'_>]) -> Section {
    let mut all = Vec::new();
    for (name, row) in measured(groups) {
        let mean = |of: fn(&Phases) -> Option<&Summary>| {
            let found: Vec<&Summary> =
                row.blocks.iter().filter_map(|block| of(&block.phases)).collect();
            spread(&found).map(|(_, mean, _)| mean)
        };
        let clients = row.blocks.iter().filter_map(|block| block.client.as_ref());
        let opens: Vec<&Summary> = clients.filter_map(|client| client.open.as_ref()).collect();
        let phases = [
            mean(|it| it.resolve.as_ref()),
            mean(|it| it.connect.as_ref()),
            mean(|it| it.tls_full.as_ref()),
            mean(|it| it.tls_resumed.as_ref()),
            mean(|it| it.handshake.as_ref()),
            mean(|it| it.first_reply.as_ref()),
            steady_ns(&row.blocks),
            mean(|it| it.close.as_ref()),
            spread(&opens).map(|(_, mean, _)| mean),
        ];
        if phases.iter().all(Option::is_none) {
            continue;
        }
        let mut row = vec![name];
        row.extend(phases.map(|mean| mean.map_or_else(|| MISSING.to_owned(), millis)));
        all.push(row);
    }
    let mut table = Table {
        caption: "Phases of a connection, means in ms".to_owned(),
        head: heads(&[
            "row",
            "resolve",
            "connect",
            "TLS full",
            "TLS resumed",
            "handshake",
            "first reply",
            "steady reply",
            "close",
            "start to usable",
        ]),
        rows: all,
    };
    without_empty(&mut table);
    Section {
        table,
        notes: vec![
            "What a row has no time of is a phase that there is not, or that its client does not tell apart. Steady: a round \
             trip after the first of its connection; of all where the first is not known."
                .to_owned(),
        ],
    }
}

/// Takes the columns away in which nothing is known of any row.
fn without_empty(table: &mut Table) {
    for column in (1..table.head.len()).rev() {
        if table.rows.iter().all(|row| row[column] == MISSING) {
            table.head.remove(column);
            table.rows.iter_mut().for_each(|row| drop(row.remove(column)));
        }
    }
}

/// The mean round trip without the first of each connection.
fn steady_ns(blocks: &[&Block]) -> Option<f64> {
    let (mut total, mut count) = (0.0, 0.0);
    for block in blocks {
        let Some(all) = &block.round_trip else { continue };
        let add = |summary: &Summary| {
            (summary.mean_ns * number::float(summary.count), number::float(summary.count))
        };
        let (sum, messages) = add(all);
        // Of clients that live on, the first replies came in the warm-up.
        let lives = block.phases.life.is_some();
        let first = block.phases.first_reply.as_ref().filter(|_| lives).map_or((0.0, 0.0), add);
        if messages > first.1 {
            total += sum - first.0;
            count += messages - first.1;
        }
    }
    let mean = total / count;
    (mean.is_finite() && mean >= 0.0).then_some(mean)
}

/// Servers by connections: what each holds at the end of a block.
fn memory(groups: &[Group<'_>]) -> Section {
    let mut loads: Vec<u64> = measured(groups).map(|(_, row)| row.workload.connections).collect();
    loads.sort_unstable();
    loads.dedup();
    loads.truncate(LOADS_MAX);
    let mut names: Vec<&str> = Vec::new();
    for (_, row) in measured(groups) {
        if row.median(rows::server_bytes).is_some() && !names.contains(&&row.name[..]) {
            names.push(&row.name);
        }
    }
    let of = |name: &str, connections: u64| {
        let is_it = |row: &&Row<'_>| row.name == name && row.workload.connections == connections;
        let mut found = measured(groups).map(|(_, row)| row).filter(is_it);
        found.find_map(|row| row.median(rows::server_bytes))
    };
    let row = |name: &&str| {
        let known: Vec<(u64, f64)> = loads
            .iter()
            .filter_map(|connections| Some((*connections, of(name, *connections)?)))
            .collect();
        let each = known.first().zip(known.last()).and_then(|((few, less), (many, more))| {
            let each = (more - less) / number::float(many.checked_sub(*few).filter(|it| *it > 0)?);
            Some(number::few_bytes(each))
        });
        let mut row = vec![escape(name)];
        row.extend(
            loads
                .iter()
                .map(|connections| of(name, *connections).map_or_else(|| MISSING.to_owned(), size)),
        );
        row.push(each.unwrap_or_else(|| MISSING.to_owned()));
        row
    };
    let rows: Vec<Vec<String>> = names.iter().map(row).collect();
    let mut head = vec!["row".to_owned()];
    head.extend(loads.iter().map(|connections| format!("at {connections}")));
    head.push("each, B".to_owned());
    Section {
        table: Table {
            caption: "Memory of the server by connections, at the end of a block".to_owned(),
            head,
            rows,
        },
        notes: vec![
            "Resident, shared pages in proportion, all its processes together. For each: from the fewest connections to \
             the most, by the connections between them. It serves all loads one after the other, in random order, so it may \
             hold memory from one with more connections."
                .to_owned(),
        ],
    }
}

/// Our own client beside the fastest of the others, for each server that both were set on.
fn clients(groups: &[Group<'_>]) -> Section {
    let mut all = Vec::new();
    for group in groups {
        let ranked = group.ranked(rows::message_ns);
        for ours in ranked.iter().filter(|row| row.workload.client.is_none()) {
            let is_other = |row: &&&Row<'_>| {
                let (one, other) = (row.workload, ours.workload);
                let server = |it: &record::Workload| it.server.as_ref().map(|it| it.name.clone());
                other.server.is_some()
                    && one.client.is_some()
                    && server(one) == server(other)
                    && one.transport == other.transport
            };
            let fastest = ranked.iter().find(is_other);
            let Some((fastest, ratio)) =
                fastest.and_then(|row| Some((row, ours.to(row, rows::message_ns)?)))
            else {
                continue;
            };
            let load = if group.load.is_empty() { "" } else { &format!(", {}", group.load) };
            let verdict = match ratio.is_shown() {
                Some(false) => format!("no difference shown; {}", ratio.could_see()),
                Some(true) if ratio.value < 1.0 => "ours is faster".to_owned(),
                Some(true) => "ours is slower".to_owned(),
                None => "too few blocks".to_owned(),
            };
            let name = escape(&format!("{}{load}", ours.name));
            all.push(vec![name, escape(&fastest.name), ratio.cell(), verdict]);
        }
    }
    Section {
        table: Table {
            caption: "Our own client by the fastest other one on the same server".to_owned(),
            head: heads(&["row", "fastest other", "ratio", "so"]),
            rows: all,
        },
        notes: Vec::new(),
    }
}

/// What subjects need to be shipped.
pub(crate) fn footprints(all: &[Footprint]) -> Section {
    let cell = |bytes: Option<u64>| {
        bytes.map_or_else(|| MISSING.to_owned(), |bytes| number::bytes(number::float(bytes)))
    };
    let row = |it: &Footprint| {
        vec![
            escape(&match it.library.is_empty() {
                true => it.subject.clone(),
                false => format!("{} ({})", it.subject, it.library),
            }),
            escape(&it.from),
            it.packages.map_or_else(|| MISSING.to_owned(), |count| count.to_string()),
            cell(it.installed_bytes),
            cell(it.floor_bytes),
            cell(it.download_bytes),
            cell(it.program_bytes),
            it.build_ns.map_or_else(|| MISSING.to_owned(), number::nanos),
        ]
    };
    let mut notes = vec![
        "Measured on this machine, with all that the library needs. Floor: what of it every program of that language \
         needs. Build: from clean, with everything fetched before."
            .to_owned(),
    ];
    for it in all {
        let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (field, reason) in &it.missing {
            let field = field.trim_end_matches("_bytes").trim_end_matches("_ns");
            reasons.entry(reason).or_default().push(field);
        }
        let note = |(reason, fields): (&str, Vec<&str>)| {
            format!("{MISSING} {}, {}: {reason}", it.subject, fields.join(", "))
        };
        notes.extend(reasons.into_iter().map(note));
    }
    Section {
        table: Table {
            caption: "What each needs to be shipped".to_owned(),
            head: heads(&[
                "subject",
                "from",
                "packages",
                "installed",
                "floor",
                "download",
                "program",
                "build",
            ]),
            rows: all.iter().map(row).collect(),
        },
        notes,
    }
}

/// Shortest, mean and longest of several distributions together, in nanoseconds.
pub(crate) fn spread(all: &[&Summary]) -> Option<(f64, f64, f64)> {
    let count: f64 = all.iter().map(|summary| number::float(summary.count)).sum();
    let total: f64 = all.iter().map(|summary| summary.mean_ns * number::float(summary.count)).sum();
    let min = all.iter().map(|summary| summary.min_ns).min()?;
    let max = all.iter().map(|summary| summary.max_ns).max()?;
    Some((number::float(min), total / count, number::float(max)))
}

/// `34 MB`, `512 B`.
fn size(bytes: f64) -> String {
    let cell = number::bytes_cell(bytes);
    if cell.ends_with(|letter: char| letter.is_ascii_digit()) { format!("{cell} B") } else { cell }
}

/// A time in ms, with three digits.
pub(crate) fn millis(ns: f64) -> String {
    if ns < 0.0 { MISSING.to_owned() } else { number::three(ns / 1e6) }
}

pub(crate) fn heads(all: &[&str]) -> Vec<String> {
    all.iter().map(|head| escape(head)).collect()
}

/// So many numbers of connections stand beside each other.
const LOADS_MAX: usize = 7;
