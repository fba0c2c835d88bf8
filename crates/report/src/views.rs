//! Tables of a lab besides those of its rows: the views that were asked for, and the footprints of subjects.

use crate::benchmark::{Aggregates, Mean};
use crate::document::{Cell, Column, Table};
use crate::measured::{Group, Measured, Spread, message_ns, server_bytes};
use crate::number::{self, MISSING, Unit};
use crate::row;
use crate::run::PHASES;
use record::{Block, Class, Footprint, Kind, RunRecord, Subject, Summary, View};
use std::collections::BTreeMap;

/// The views that the lab was asked for, in their order; views that this version does not know are left out.
pub(crate) fn all(record: &RunRecord, groups: &[Group<'_>]) -> Vec<Table> {
    let Some(lab) = &record.lab else { return Vec::new() };
    let mut tables = Vec::new();
    for view in &lab.views {
        match view {
            View::Benchmark => tables.push(benchmark(record, groups)),
            View::Life => tables.push(lives(groups)),
            View::Memory => tables.push(memory(groups)),
            View::WallPerMessage => tables.push(wall_per_message(groups)),
            View::Footprint | View::Other => {}
        }
    }
    if lab.views.iter().any(|view| matches!(view, View::Benchmark | View::Life)) {
        tables.push(phases(groups));
    }
    if record.kind == Kind::Lab {
        tables.push(clients(groups));
    }
    // Footprints that were measured are shown, asked for or not.
    tables.push(footprints(&lab.footprints));
    tables
}

/// All rows of all groups that were measured, with the name of their load where there are several.
fn measured<'a>(groups: &'a [Group<'a>]) -> impl Iterator<Item = (String, &'a Measured<'a>)> {
    groups.iter().flat_map(|group| {
        let measured = group.rows.iter().filter(|it| it.result.is_some());
        measured.map(|it| (format!("{}{}", it.name, group.suffix()), it))
    })
}

/// The first cell of a row: its name, with the mark of its verdict.
fn head(name: String, it: &Measured<'_>) -> Cell {
    Cell::words(name).judged(it.trust.level)
}

/// Columns of one unit.
fn columns(first: &str, heads: &[(&str, Unit)]) -> Vec<Column> {
    let others = heads.iter().map(|(head, unit)| Column::new(*head, *unit));
    [Column::new(first, Unit::Words)].into_iter().chain(others).collect()
}

fn wall_per_message(groups: &[Group<'_>]) -> Table {
    let mut example: Option<(f64, String)> = None;
    let mut table = Table::new(
        "Wall time by messages, beside the true round trip",
        columns(
            "row",
            &[
                ("wall by messages", Unit::Time),
                ("in flight", Unit::Count),
                ("mean round trip", Unit::Time),
            ],
        ),
    );
    // Clients that come and go spend a part of their time without a message in flight.
    let is_steady =
        |(_, it): &(String, &Measured<'_>)| it.row.is_closed() && it.row.round_trips().is_none();
    for (name, it) in measured(groups).filter(is_steady) {
        let Some(wall_us) = it.wall_per_message_us() else { continue };
        let round_trip = it.result.and_then(|result| result.round_trip.as_ref());
        let mean_us = round_trip.map(|times| times.mean_ns / 1e3);
        let in_flight = number::float(it.row.in_flight());
        if let Some(mean_us) =
            mean_us.filter(|_| example.as_ref().is_none_or(|it| in_flight > it.0))
        {
            let [wall, product, mean] = [wall_us, wall_us * in_flight, mean_us].map(number::micros);
            let text = format!("{}: {wall} x {in_flight:.0} = {product}, measured {mean}", it.name);
            example = Some((in_flight, text));
        }
        table.row(vec![
            head(name, it),
            Cell::Number(wall_us * 1e3, None),
            Cell::Number(in_flight, None),
            Cell::number(mean_us.map(|us| us * 1e3)),
        ]);
    }
    let example = example.map_or_else(String::new, |(_, text)| format!(" ({text})"));
    table.noted([format!(
        "Wall time by messages is the inverse of throughput, not a time that any message took: by Little's law the \
         round trip is that times the number in flight{example}."
    )])
}

fn benchmark(record: &RunRecord, groups: &[Group<'_>]) -> Table {
    let time = |head| (head, Unit::Time);
    let mut table = Table::new(
        "As google-benchmark has it",
        columns(
            "row",
            &[
                time("wall mean"),
                time("wall median"),
                time("wall stddev"),
                time("CPU mean"),
                time("CPU median"),
                time("CPU stddev"),
                ("iterations", Unit::Count),
            ],
        ),
    );
    let mut spinning = Vec::new();
    for (name, it) in measured(groups) {
        let means = Mean::all(it);
        let wall: Vec<f64> = means.iter().map(|mean| mean.wall_ns).collect();
        let cpu: Option<Vec<f64>> = means.iter().map(|mean| mean.cpu_ns).collect();
        let cells = |values: Option<&[f64]>| {
            let all = values.and_then(Aggregates::of);
            let numbers = all.map(|all| [all.mean, all.median, all.stddev].map(Some));
            numbers.unwrap_or_default().map(Cell::number)
        };
        let iterations = means.iter().fold(0_u64, |sum, mean| sum.saturating_add(mean.iterations));
        if means.iter().filter(|mean| mean.spins()).count() * 2 > means.len() {
            spinning.push(name.clone());
        }
        let mut row = vec![head(name, it)];
        row.extend(cells(Some(&wall)));
        row.extend(cells(cpu.as_deref()));
        row.push(Cell::Number(number::float(iterations), None));
        table.row(row);
    }
    let mut notes = vec![
        "Wall time and CPU time of the client for a round trip (of a short-lived client: for its life); mean, median and \
         standard deviation over blocks, as google-benchmark has them over repetitions."
            .to_owned(),
    ];
    // It is not known whether an imported benchmark waits for anything.
    if !spinning.is_empty() && record.kind != Kind::Imported {
        notes.push(format!(
            "Spins: {}. Its CPU time is at least 80 % of its wall time: it looks for the reply again and again \
             instead of sleeping until it is there.",
            spinning.join(", ")
        ));
    }
    table.noted(notes)
}

fn lives(groups: &[Group<'_>]) -> Table {
    let times = ["min", "mean", "max"].map(|head| (head, Unit::Time));
    let heads = [&times[..], &[("clients", Unit::Count)]].concat();
    let mut table = Table::new("Lives of short-lived clients", columns("row", &heads));
    for (name, it) in measured(groups) {
        let lives = it.blocks.iter().filter_map(|block| block.phases.life.as_ref());
        let Some(Spread { count, min_ns, mean_ns, max_ns }) = Spread::of(lives) else { continue };
        let numbers = [min_ns, mean_ns, max_ns, number::float(count)];
        let numbers = numbers.map(|number| Cell::Number(number, None));
        table.row([head(name, it)].into_iter().chain(numbers).collect());
    }
    let about =
        "From just before the connect to the last whole reply; the close is not in it.".to_owned();
    table.noted([about].into_iter().chain(groups.iter().filter_map(pairs)))
}

/// The pairs of unmarked rows whose median lives are shown to differ, and those that are not.
fn pairs(group: &Group<'_>) -> Option<String> {
    let lives: Vec<&Measured<'_>> = group
        .unmarked(message_ns)
        .into_iter()
        .filter(|it| it.row.round_trips().is_some())
        .collect();
    let (mut count, mut without, mut alike) = (0_usize, 0_usize, Vec::new());
    for (at, one) in lives.iter().enumerate() {
        for other in &lives[at + 1..] {
            let Some(ratio) = other.to(one, message_ns) else { continue };
            count += 1;
            match ratio.is_shown() {
                Some(true) => {}
                Some(false) => {
                    let (text, could_see) = (ratio.text(), ratio.could_see());
                    alike.push(format!("{} to {} {text} ({could_see})", other.name, one.name));
                }
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
        (_, 0) => format!("of {count} pairs of rows {} differ in their p50", count - alike.len()),
    };
    let alike = match alike.is_empty() {
        true => String::new(),
        false => format!("; no difference shown: {}", alike.join("; ")),
    };
    Some(format!("{load}{told}{alike}. Each 95 % interval is for its pair alone."))
}

/// The parts of a connection's time: means, and what is left for the replies after the first.
fn phases(groups: &[Group<'_>]) -> Table {
    let phases = &PHASES[..PHASES.len() - 1];
    let mut heads: Vec<(&str, Unit)> = phases.iter().map(|(name, _)| (*name, Unit::Time)).collect();
    heads.extend(["steady reply", "start to usable"].map(|head| (head, Unit::Time)));
    let mut table = Table::new("Phases of a connection, means", columns("row", &heads));
    for (name, it) in measured(groups) {
        let mut means: Vec<Option<f64>> = phases
            .iter()
            .map(|(_, of)| {
                let found = it.blocks.iter().filter_map(|block| of(&block.phases));
                Spread::of(found).map(|all| all.mean_ns)
            })
            .collect();
        let clients = it.blocks.iter().filter_map(|block| block.client.as_ref());
        let opens = clients.filter_map(|client| client.open.as_ref());
        means.extend([steady_ns(&it.blocks), Spread::of(opens).map(|all| all.mean_ns)]);
        if means.iter().any(Option::is_some) {
            let means = means.into_iter().map(Cell::number);
            table.row([head(name, it)].into_iter().chain(means).collect());
        }
    }
    table.noted([
        "A row without a time has no such phase, or its client does not tell it apart. Steady: a round trip after the \
         first of its connection; of all where the first is not known."
            .to_owned(),
    ])
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
        // The first replies of long-lived clients arrived in the warm-up.
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

/// The memory of servers at the end of a block, by connections.
fn memory(groups: &[Group<'_>]) -> Table {
    let mut loads: Vec<u64> = measured(groups).map(|(_, it)| it.row.connections()).collect();
    loads.sort_unstable();
    loads.dedup();
    loads.truncate(LOADS_MAX);
    let mut names: Vec<&str> = Vec::new();
    for (_, it) in measured(groups) {
        if it.median(server_bytes).is_some() && !names.contains(&&it.name[..]) {
            names.push(&it.name);
        }
    }
    let of = |name: &str, connections: u64| {
        let is_it = |it: &&Measured<'_>| it.name == name && it.row.connections() == connections;
        let mut found = measured(groups).map(|(_, it)| it).filter(is_it);
        found.find_map(|it| it.median(server_bytes))
    };
    let mut columns = vec![Column::new("row", Unit::Words)];
    columns.extend(loads.iter().map(|count| Column::new(format!("at {count}"), Unit::Size)));
    columns.push(Column::new("each", Unit::MessageBytes));
    let mut table =
        Table::new("Memory of the server by connections, at the end of a block", columns);
    for name in names {
        let known: Vec<(u64, f64)> =
            loads.iter().filter_map(|load| Some((*load, of(name, *load)?))).collect();
        let each = known.first().zip(known.last()).and_then(|((few, less), (many, more))| {
            let between = many.checked_sub(*few).filter(|between| *between > 0)?;
            Some((more - less) / number::float(between))
        });
        let levels = measured(groups).filter(|(_, it)| it.name == name);
        let worst = levels.map(|(_, it)| it.trust.level).max();
        let mut row = vec![Cell::words(name).judged(worst.unwrap_or_default())];
        row.extend(loads.iter().map(|load| Cell::number(of(name, *load))));
        row.push(Cell::number(each));
        table.row(row);
    }
    table.noted([
        "Resident, shared pages in proportion, all its processes together. Each: the growth from the fewest connections to \
         the most, divided by the connections in between. The server serves all loads one after the other, in random \
         order, so it may hold memory from one with more connections."
            .to_owned(),
    ])
}

/// Our own client beside the fastest of the others, for each server that both were run against; unmarked rows only.
fn clients(groups: &[Group<'_>]) -> Table {
    let heads = [("fastest other", Unit::Words), ("ratio", Unit::Ratio), ("so", Unit::Words)];
    let title = "Our own client against the fastest other one on the same server";
    let mut table = Table::new(title, columns("row", &heads));
    table.columns[2].is_answer = true;
    for group in groups {
        let unmarked = group.unmarked(message_ns);
        for ours in unmarked.iter().filter(|it| it.row.client().is_none()) {
            let server = |it: &Measured<'_>| it.row.server().map(|server| server.name.clone());
            let is_other = |it: &&&Measured<'_>| {
                it.row.client().is_some()
                    && server(it).is_some()
                    && server(it) == server(ours)
                    && it.row.transport() == ours.row.transport()
            };
            let fastest = unmarked.iter().find(is_other);
            let found = fastest.and_then(|it| Some((it, ours.to(it, message_ns)?)));
            let Some((fastest, ratio)) = found else { continue };
            let verdict = match ratio.is_shown() {
                Some(false) => format!("no difference shown; {}", ratio.could_see()),
                Some(true) if ratio.value < 1.0 => "ours is faster".to_owned(),
                Some(true) => "ours is slower".to_owned(),
                None => "too few blocks".to_owned(),
            };
            table.row(vec![
                Cell::words(format!("{}{}", ours.name, group.suffix())),
                Cell::words(fastest.name.clone()),
                Cell::Number(ratio.value, ratio.interval),
                Cell::words(verdict),
            ]);
        }
    }
    table
}

/// The footprints of subjects.
pub(crate) fn footprints(all: &[Footprint]) -> Table {
    let size = |head| (head, Unit::Size);
    let heads = [
        ("from", Unit::Words),
        ("packages", Unit::Count),
        size("installed"),
        size("floor"),
        size("download"),
        size("program"),
        ("build", Unit::Time),
    ];
    let mut table = Table::new("What each needs to be shipped", columns("subject", &heads));
    let number = |value: Option<u64>| Cell::number(value.map(number::float));
    for it in all {
        table.row(vec![
            Cell::words(match it.library.is_empty() {
                true => it.subject.clone(),
                false => format!("{} ({})", it.subject, it.library),
            }),
            Cell::words(it.from.clone()),
            number(it.packages),
            number(it.installed_bytes),
            number(it.floor_bytes),
            number(it.download_bytes),
            number(it.program_bytes),
            number(it.build_ns),
        ]);
    }
    let mut notes = vec![
        "Measured on this machine, with all that the library needs. Floor: the part that every program in that \
         language needs. Build: from clean, with everything fetched before."
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
    table.noted(notes)
}

/// `netty: Java, Netty 4.1.140.Final, default; …`: each subject once, by the name of its row where it has only one.
pub(crate) fn subjects(record: &RunRecord, groups: &[Group<'_>]) -> Vec<String> {
    let mut shown: Vec<&Subject> = Vec::new();
    for subject in row::all(record).flat_map(|row| [row.server(), row.client()]).flatten() {
        match shown.iter_mut().find(|other| other.name == subject.name) {
            // Another one may have been warmed up, and says more.
            Some(other) if other.warm_up.is_none() => *other = subject,
            Some(_) => {}
            None => shown.push(subject),
        }
    }
    shown.into_iter().map(|subject| of_subject(subject, groups)).collect()
}

fn of_subject(subject: &Subject, groups: &[Group<'_>]) -> String {
    let is_it = |it: &&Measured<'_>| {
        it.row.client().or_else(|| it.row.server()).is_some_and(|other| other.name == subject.name)
    };
    let mut names: Vec<&str> =
        groups.iter().flat_map(|group| &group.rows).filter(is_it).map(|it| &it.name[..]).collect();
    names.dedup();
    let name = match names[..] {
        [only] => only,
        _ => &subject.name,
    };
    let declared = || format!("{} (declared, not confirmed)", subject.version);
    let version = subject.version_found.clone().unwrap_or_else(declared);
    let class = match subject.class {
        Class::Default => "default",
        Class::Tuned => "TUNED",
    };
    let Subject { language, library, licence, .. } = subject;
    let mut text = format!("{name}: {language}, {library} {version}, {licence}, {class}");
    if !subject.options.is_empty() {
        text += &format!("; options: {}", subject.options.join(", "));
    }
    if let Some(warm_up) = subject.warm_up {
        let steady = if warm_up.is_steady { "until steady" } else { "and still not steady" };
        text += &format!(
            "; warmed up for {}, from {} to {}, {steady}",
            number::nanos(warm_up.took_ns),
            number::per_second(warm_up.first_per_s),
            number::per_second(warm_up.last_per_s)
        );
    }
    format!("{text}.")
}

/// The largest number of loads that are shown side by side.
const LOADS_MAX: usize = 7;
