//! The table of rows: their measurements side by side, and the reasons for what is missing.

use crate::document::{Cell, Column, Depth, Fact, Part, Remark, Table, Tone, marked};
use crate::measured::{Group, Measured, cpu_us, message_ns, receiver_bytes, server_bytes};
use crate::number::{self, MISSING, Unit};
use crate::{row, verdict};
use record::{Ended, Estimate, Kind, Number, PerMetric, RunRecord, Summary};

/// All rows of a group; in a lab in the order of their times, after the one that all are compared with.
pub(crate) fn table(record: &RunRecord, group: &Group<'_>) -> Table {
    let mut rows: Vec<&Measured<'_>> = group.rows.iter().collect();
    if record.kind == Kind::Lab {
        rows.sort_by(|one, other| rank(group, one).total_cmp(&rank(group, other)));
    }
    let mut table = Table::new(group.load.clone(), columns(record, group));
    for it in &rows {
        let cells = cells(record, group, it);
        let tone = match it.result {
            Some(_) => verdict::tone(it.trust.level),
            None => Tone::Failed,
        };
        table.rows.push((tone, cells));
    }
    let table = match about(record, group) {
        Some([asked, times]) => table.noted([asked]).noted_at(Depth::Details, [times]),
        None => table,
    };
    let table = table.noted_at(Depth::Details, gaps(&rows));
    let table = table.noted_at(Depth::Details, on_one_block(group));
    match record.kind {
        Kind::Lab => table.noted_at(Depth::Details, without_difference(group)),
        Kind::Ab | Kind::Imported | Kind::Ladder | Kind::Other | Kind::Run | Kind::Sweep => table,
    }
}

/// The load of each row of a group with its blocks; and the order of the blocks with the kind of their times.
fn about(record: &RunRecord, group: &Group<'_>) -> Option<[String; 2]> {
    let first = group.zero().or_else(|| group.rows.first())?;
    let row = first.row;
    let rows = || group.rows.iter().map(|it| it.row);
    let message = if rows().all(|other| other.message() == row.message()) {
        row.message()
    } else if rows().all(|other| other.conversation().is_none()) {
        row.size()
    } else {
        "each with requests of its own".to_owned()
    };
    // Each row that is a step has a load of its own, which its name says.
    let load = match is_steps(record) && rows().any(|other| other.load() != row.load()) {
        true => String::new(),
        false => format!(", {}", row.condition()),
    };
    let blocks = match row::rounds(record) {
        1 => "1 block".to_owned(),
        count => format!("{count} blocks"),
    };
    let each = if row::rounds(record) == 1 { "" } else { " each" };
    let (length, seed, times) = (row.length(), row::seed(record), row.time_words());
    let order = match record.kind {
        Kind::Ladder => format!("blocks in random order (seed {seed}); "),
        Kind::Ab | Kind::Imported | Kind::Lab | Kind::Other | Kind::Run | Kind::Sweep => {
            String::new()
        }
    };
    let pooled = if row::rounds(record) == 1 { "" } else { ", all blocks together" };
    let asked = format!("{message}{load}; {blocks} {length}{each}");
    Some([asked, format!("{order}{times}{pooled}")])
}

fn columns(record: &RunRecord, group: &Group<'_>) -> Vec<Column> {
    let is_steps = is_steps(record);
    let name = if record.kind == Kind::Ladder { "rung" } else { "row" };
    let time = |head: &str| Column::new(head, Unit::Time);
    let steps_only = if is_steps { Depth::First } else { Depth::Full };
    let no_steps = if is_steps { Depth::Full } else { Depth::Details };
    let cpu = |head: &str| Column::new(head, Unit::Cpu).at(no_steps);
    let of = match record.kind {
        Kind::Lab => group.rows.first().map_or("", |it| it.row.compared_time()),
        Kind::Ab | Kind::Imported | Kind::Ladder | Kind::Other | Kind::Run | Kind::Sweep => "p50",
    };
    let to = group.zero().map_or("baseline", |zero| match record.kind {
        Kind::Ladder => &zero.name,
        Kind::Ab | Kind::Imported | Kind::Lab | Kind::Other | Kind::Run | Kind::Sweep => {
            zero.base_name()
        }
    });
    let messages = match group.rows.iter().all(|it| it.row.publishes()) {
        _ if is_steps => "achieved",
        true => "deliveries",
        false => "messages",
    };
    let ratio = format!("{} to {to} [interval]", of.split(' ').next().unwrap_or_default());
    vec![
        Column::new(if is_steps { "step" } else { name }, Unit::Words),
        time("p50"),
        time("p90").at(no_steps),
        time("p99"),
        time("p99.9").at(steps_only),
        time("max").at(steps_only),
        // Appears where receivers were gone.
        time("recovery"),
        Column::new("offered", Unit::Rate).at(steps_only),
        Column::new(messages, Unit::Rate),
        Column::new("CPU/message", Unit::Cpu).at(if is_steps { Depth::Full } else { Depth::First }),
        cpu("CPU client"),
        cpu("CPU server"),
        Column::new("bytes each", Unit::MessageBytes).at(no_steps),
        Column::new("memory server", Unit::Size).at(no_steps),
        // Appears where a server was driven for the first time, in rooms.
        Column::new("memory / receiver", Unit::MessageBytes).at(no_steps),
        Column::new(ratio, Unit::Ratio).with_bar(),
        Column::new("verdict", Unit::Words).at(steps_only),
    ]
}

/// True for a run of several workloads: loads that rise, with nothing to compare them with.
fn is_steps(record: &RunRecord) -> bool {
    matches!(record.kind, Kind::Run | Kind::Other)
}

fn cells(record: &RunRecord, group: &Group<'_>, it: &Measured<'_>) -> Vec<Cell> {
    let pooled = it.pooled();
    let merged = it.times();
    let time = |time: &Time| {
        let of_all = pooled.and_then(|all| (time.pooled)(all, it.row.is_closed()));
        let whole = || (time.whole)(merged?).map(|ns| Cell::Number(number::float(ns), None));
        of_all.map_or_else(|| whole().unwrap_or(Cell::Missing), |it| Cell::estimate(Some(it)))
    };
    let [p50, p90, p99, p99_9, max] =
        TIMES.each_ref().map(|it_of| time(it_of).judged(it.doubt(it_of.number)));
    let seconds = it.seconds();
    let achieved = pooled.filter(|_| !is_steps(record)).and_then(|all| all.messages_per_s);
    let of_blocks = (is_steps(record) && seconds > 0.0).then(|| Estimate {
        value: it.replies_per_s(),
        low: None,
        high: None,
    });
    let estimate =
        |of: fn(&PerMetric<Estimate>) -> Option<Estimate>| Cell::estimate(pooled.and_then(of));
    vec![
        Cell::words(it.name.clone()).judged(it.trust.level),
        p50,
        p90,
        p99,
        p99_9,
        max,
        Cell::estimate(it.recovery().as_ref().map(Estimate::of)),
        Cell::number((!it.row.is_closed() && seconds > 0.0).then(|| it.due_per_s())),
        Cell::estimate(achieved.or(of_blocks)),
        cpu_of_both(it),
        estimate(|all| all.generator_cpu_us_per_message),
        estimate(|all| all.server_cpu_us_per_message),
        estimate(|all| all.wire_bytes_per_message),
        Cell::number(it.median(server_bytes)),
        Cell::number(it.median(receiver_bytes)),
        ratio(group, it).judged(it.doubt(Number::Ratio)),
        Cell::words(match it.all.first() {
            None => "not reached",
            Some(_) => it.trust.worst().name(),
        }),
    ]
}

/// The CPU time of generator and server together for a message; its interval pairs their rounds.
fn cpu_of_both(it: &Measured<'_>) -> Cell {
    let both = it.result.and_then(|_| cpu_us(it.row, it.numbers()));
    both.map_or(Cell::Missing, |both| Cell::Number(both.value(), both.interval()))
}

/// A time that every row has: with its interval, and as the distribution has it.
struct Time {
    name: &'static str,
    field: &'static str,
    number: Number,
    pooled: fn(&PerMetric<Estimate>, closed: bool) -> Option<Estimate>,
    whole: fn(&Summary) -> Option<u64>,
}

const TIMES: [Time; 5] = [
    Time {
        name: "p50",
        field: "p50_ns",
        number: Number::P50,
        pooled: |all, closed| if closed { all.round_trip_p50_ns } else { all.response_p50_ns },
        whole: |times| times.p50_ns,
    },
    Time {
        name: "p90",
        field: "p90_ns",
        number: Number::P90,
        pooled: |all, closed| if closed { all.round_trip_p90_ns } else { all.response_p90_ns },
        whole: |times| times.p90_ns,
    },
    Time {
        name: "p99",
        field: "p99_ns",
        number: Number::P99,
        pooled: |all, closed| if closed { all.round_trip_p99_ns } else { all.response_p99_ns },
        whole: |times| times.p99_ns,
    },
    Time {
        name: "p99.9",
        field: "p99_9_ns",
        number: Number::Tail,
        pooled: |_, _| None,
        whole: |times| times.p99_9_ns,
    },
    Time {
        name: "max",
        field: "max_ns",
        number: Number::Tail,
        pooled: |_, _| None,
        whole: |times| Some(times.max_ns),
    },
];

/// The sort key of a row in the order of a lab.
fn rank(group: &Group<'_>, it: &Measured<'_>) -> f64 {
    match it.result {
        _ if Some(it.row.index) == group.zero => -1.0,
        Some(_) if it.is_allowed => it.number(message_ns).unwrap_or(f64::MAX),
        Some(_) | None => f64::INFINITY,
    }
}

/// The ratio of a row to the one that all are compared with.
fn ratio(group: &Group<'_>, it: &Measured<'_>) -> Cell {
    let words = match group.zero() {
        None => return Cell::Missing,
        _ if it.result.is_none() && it.failed.is_empty() => "not reached",
        _ if it.result.is_none() => "failed, see below",
        Some(zero) if zero.row.index == it.row.index => return Cell::Number(1.0, None),
        _ if !it.is_allowed => "invalid",
        Some(zero) if !zero.is_allowed => return Cell::Missing,
        Some(zero) => {
            let ratio = it.to_zero(zero);
            return ratio.map_or(Cell::Missing, |it| Cell::Number(it.value, it.interval));
        }
    };
    Cell::words(words)
}

/// A sentence about a group whose servers work for each message, beside the same group without that work: how much of
/// the largest difference between servers remains.
pub(crate) fn of_work(group: &Group<'_>, groups: &[Group<'_>]) -> Option<String> {
    let busy = group.zero().filter(|zero| zero.is_allowed && zero.row.work().is_some())?;
    let is_same = |it: &&Measured<'_>| {
        let is_idle = it.row.work().is_none() && it.name == busy.name;
        is_idle && it.is_allowed && it.row.is_asked_the_same(busy.row)
    };
    let (without, idle) =
        groups.iter().find_map(|other| Some((other, other.zero().filter(is_same)?)))?;
    let pair = |it: &Measured<'_>| {
        let same = group.others().find(|other| other.name == it.name && other.is_allowed)?;
        Some((it.to_zero(idle)?, same.to_zero(busy)?, it.name.clone()))
    };
    let is_server = |it: &&Measured<'_>| it.is_allowed && it.row.client().is_none();
    let pairs = without.others().filter(is_server).filter_map(pair);
    let (alone, with, name) =
        pairs.max_by(|(one, ..), (other, ..)| one.value.total_cmp(&other.value))?;
    let (alone, with, zero) = (alone.text(), with.text(), busy.base_name());
    Some(format!(
        "Without that work {name} takes {alone} of {zero}, the most of all servers; with it, {with}."
    ))
}

/// The rows whose ratio depends on one block, and how far that block moves it.
fn on_one_block(group: &Group<'_>) -> Option<String> {
    let zero = group.zero().filter(|zero| zero.is_allowed)?;
    let others = group.others().filter(|it| it.is_allowed);
    let hangs = |it: &Measured<'_>| {
        Some(format!("{} by {}", it.name, number::percent(it.to_zero(zero)?.hangs_by()?)))
    };
    let all: Vec<String> = others.filter_map(hangs).collect();
    (!all.is_empty()).then(|| {
        format!(
            "One block alone makes most of the interval, and moves the ratio: {}. More rounds tell more.",
            all.join(", ")
        )
    })
}

/// The reasons for numbers that are missing from rows that were measured; rows with the same gap share a line.
fn gaps(rows: &[&Measured<'_>]) -> Vec<String> {
    let mut gaps: Vec<(String, &str, Vec<&str>)> = Vec::new();
    let mut put = |what: String, reason, name| match gaps
        .iter_mut()
        .find(|(other, why, _)| (other, *why) == (&what, reason))
    {
        Some((_, _, names)) => names.push(name),
        None => gaps.push((what, reason, vec![name])),
    };
    for it in rows {
        let Some(pooled) = it.pooled() else { continue };
        for time in &TIMES[..3] {
            let known = (time.pooled)(pooled, it.row.is_closed()).is_some();
            if !known && it.times().and_then(time.whole).is_none() {
                let mut all = it.all.iter().filter_map(|block| it.row.times(block));
                let reason = all.find_map(|times| times.missing.get(time.field));
                let reason = reason.map_or("no reply was measured", String::as_str);
                let word = it.row.time_word();
                put(format!("{word} {}", time.name), reason, &it.name);
            }
        }
        for (what, value, field) in [
            ("generator", pooled.generator_cpu_us_per_message, "generator_us_per_message"),
            ("server", pooled.server_cpu_us_per_message, "server_us_per_message"),
        ] {
            if let Some(reason) = it.without_cpu(field).filter(|_| value.is_none()) {
                put(format!("CPU of the {what}"), reason, &it.name);
            }
        }
        if let Some(reason) = it.without_receiver_memory() {
            put("memory / receiver".to_owned(), reason, &it.name);
        }
    }
    let line = |(what, reason, names): (String, &str, Vec<&str>)| {
        format!("{MISSING} {what}: {reason} ({})", names.join(", "))
    };
    gaps.into_iter().map(line).collect()
}

/// Rows that do not differ from the one that all are compared with, and those that are compared with another one.
fn without_difference(group: &Group<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    let mut add = |it: &Measured<'_>, base: &Measured<'_>, says_more: bool| {
        let ratio = it.to(base, message_ns).filter(|_| it.is_allowed && base.is_allowed);
        let Some(ratio) = ratio else { return };
        let name = marked(it.trust.of_number(Number::Ratio), &it.name);
        let (base, text) = (marked(base.trust.level, base.base_name()), ratio.text());
        if ratio.is_shown() == Some(false) {
            let could_see = ratio.could_see();
            notes.push(format!(
                "No difference is shown between {name} and {base}: {text}; {could_see}."
            ));
        } else if says_more {
            notes.push(format!("{name} takes {text} of {base}."));
        }
    };
    for it in group.others() {
        if let Some(zero) = group.zero() {
            add(it, zero, false);
        }
        let own = it.row.base().filter(|base| Some(*base) != group.zero);
        if let Some(base) = group.rows.iter().find(|base| Some(base.row.index) == own) {
            add(it, base, true);
        }
    }
    notes
}

/// All rows that failed, in whole or in part, were not reached, or were left out; a reason is given once for all names
/// that share it.
pub(crate) fn unmeasured(record: &RunRecord, groups: &[Group<'_>]) -> Vec<Part> {
    let mut all: Vec<(Tone, Vec<&str>, &str, String)> = Vec::new();
    let mut put = |tone, name, state, reason: String| {
        let same = |it: &&mut (Tone, Vec<&str>, &str, String)| it.2 == state && it.3 == reason;
        match all.iter_mut().find(same) {
            Some((_, names, ..)) => names.push(name),
            None => all.push((tone, vec![name], state, reason)),
        }
    };
    for it in groups.iter().flat_map(|group| &group.rows) {
        let name = it.row.name();
        match (it.result, it.failed.first()) {
            (Some(_), None) => {}
            (Some(_), Some(reason)) => {
                let (count, all) = (it.failed.len(), it.all.len());
                let reason =
                    format!("{count} of {all} blocks, which count as 0 messages/s: {reason}");
                put(Tone::Doubtful, name, "failed in part", reason);
            }
            (None, Some(reason)) => put(Tone::Failed, name, "failed", (*reason).to_owned()),
            (None, None) => {
                put(Tone::Failed, name, "not reached", not_reached(record).to_owned());
            }
        }
    }
    for left_out in record.lab.iter().flat_map(|lab| &lab.left_out) {
        put(Tone::Doubtful, &left_out.name, "left out", left_out.reason.clone());
    }
    let remark = |(tone, names, state, reason): (Tone, Vec<&str>, &str, String)| {
        Part::Remark(Remark::new(tone, format!("{} {state}:", names.join(", ")), reason))
    };
    all.into_iter().map(remark).collect()
}

/// The reason why a row without a failed block has no numbers.
pub(crate) fn not_reached(record: &RunRecord) -> &'static str {
    match &record.ended {
        Ended::Completed => "it has no block that counts",
        Ended::Interrupted { .. } | Ended::Partial { .. } => "the run ended before its first block",
    }
}

/// Notes on the rows: what the times of short-lived clients include, payloads that are not random, compression ratios,
/// and what TLS handshakes agreed on.
pub(crate) fn footnotes(groups: &[Group<'_>]) -> Vec<Part> {
    let mut facts = Vec::new();
    let mut encryptions: Vec<(String, Vec<&str>)> = Vec::new();
    for it in groups.iter().flat_map(|group| &group.rows) {
        let tls = it.row.tls(&it.all);
        let handshake = tls
            .as_ref()
            .map(|(_, full, resumed)| format!("a TLS handshake ({full} full, {resumed} resumed)"));
        let lives = it.row.round_trips().filter(|_| it.row.is_closed()).map(|each| {
            match (each, handshake) {
                (1, None) => "its round trip includes the connect".to_owned(),
                (1, Some(handshake)) => {
                    format!("its round trip includes the connect and {handshake}")
                }
                (each, handshake) => {
                    let tls = handshake.map_or_else(String::new, |it| format!(", {it}"));
                    format!(
                        "its times are those of a client's life, the connect{tls} and {each} round trips"
                    )
                }
            }
        });
        let ratios: Vec<f64> =
            it.all.iter().filter_map(|block| block.wire.compression_ratio).collect();
        let ratio = stats::median(&ratios).ok().map(row::compression);
        let parts = [
            lives,
            it.row.payload().map(|payload| format!("its payload is {payload}")),
            ratio.map(|ratio| format!("deflate {ratio}")),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if !parts.is_empty() {
            facts.push(Fact::new(it.row.name(), parts.join("; ")));
        }
        if let Some((agreed, ..)) = tls {
            match encryptions.iter_mut().find(|(known, _)| *known == agreed) {
                Some((_, names)) => names.push(it.row.name()),
                None => encryptions.push((agreed, vec![it.row.name()])),
            }
        }
    }
    let agreed = encryptions
        .into_iter()
        .map(|(facts, names)| Fact::new("TLS", format!("{facts} ({})", names.join(", "))));
    facts.extend(agreed);
    if facts.is_empty() { Vec::new() } else { vec![Part::Facts(facts)] }
}
