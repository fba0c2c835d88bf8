//! Sections that few readers look for: errors, what is missing, the machine, the plan, the command.

use crate::document::{Cell, Column, Depth, Fact, Part, Section, Table};
use crate::number::{self, Unit};
use crate::row;
use record::{Block, Environment, ErrorCount, Missing, RunRecord};
use std::collections::BTreeMap;
use units::Bytes;

/// All of these sections, without empty ones.
pub(crate) fn all(record: &RunRecord) -> Vec<Section> {
    let tables = [("Errors", errors(record)), ("Missing values", missing(record))];
    let tables = tables.into_iter().filter_map(|(name, table)| Section::of_tables(name, [table]));
    let mut all: Vec<Section> = tables.collect();
    let facts = [("The machine", machine(record)), ("The plan", plan(record))];
    all.extend(facts.map(|(name, facts)| Section::new(name, vec![Part::Facts(facts)])));
    all.into_iter().map(|section| section.at(Depth::Full)).collect()
}

/// The time and length of the run, and the machine.
pub(crate) fn subtitle(record: &RunRecord) -> String {
    let when = record.started_at.replace('T', " ").replace('Z', " UTC");
    let mut parts = vec![when, number::nanos(record.duration_ns)];
    parts.extend(record.environment.cpu_model.clone());
    parts.extend(record.environment.cpus_online.map(|cpus| number::counted(cpus, "CPU")));
    parts.join(" · ")
}

/// The command that repeats the measurement, quoted for a shell.
pub(crate) fn command(record: &RunRecord) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_=+:,./@%^".contains(letter);
    let quoted = |word: &String| match word.chars().all(plain) && !word.is_empty() {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    };
    let mut words = vec!["wirebench".to_owned()];
    words.extend(record.command_line.iter().map(quoted));
    words.join(" ")
}

fn words(heads: &[&str]) -> Vec<Column> {
    heads.iter().map(|head| Column::new(*head, Unit::Words)).collect()
}

/// Errors of all blocks by row and class.
fn errors(record: &RunRecord) -> Table {
    let mut table = Table::new("", words(&["row", "class", "count", "the first one"]));
    let failed = record.blocks.iter().filter_map(|it| Some((it.workload, it.failed.as_ref()?)));
    for (index, reason) in failed {
        let cells = [row::name(record, index), "block failed", "1", reason];
        let cells: Vec<Cell> = cells.map(Cell::words).into();
        if table.rows.last().is_none_or(|(_, last)| *last != cells) {
            table.row(cells);
        }
    }
    let mut all: BTreeMap<(usize, &str), (u64, &str)> = BTreeMap::new();
    for block in &record.blocks {
        for ErrorCount { class, count, example } in &block.errors {
            let (sum, _) = all.entry((block.workload, class)).or_insert((0, example));
            *sum = sum.saturating_add(*count);
        }
    }
    for ((index, class), (count, example)) in all {
        let count = count.to_string();
        table.row([row::name(record, index), class, &count, example].map(Cell::words).into());
    }
    table
}

/// Unknown values of blocks, with each reason once.
fn missing(record: &RunRecord) -> Table {
    // Reasons that differ only in their numbers count as one; the first is shown.
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
    let mut table = Table::new("", words(&["of", "value", "blocks", "reason"]));
    for ((part, field, _), (blocks, reason)) in all {
        table.row([part, field, &blocks.to_string(), reason].map(Cell::words).into());
    }
    table
}

/// The machine; for unknown values the reason.
fn machine(record: &RunRecord) -> Vec<Fact> {
    let it = &record.environment;
    let yes = |is: bool| if is { "yes" } else { "no" }.to_owned();
    let floor = it.timer_floor.map(|floor| {
        let [p50, p99] = [floor.overshoot_p50_ns, floor.overshoot_p99_ns].map(number::nanos);
        format!("a sleep ends {p50} late (p50), {p99} (p99)")
    });
    let memory = it.memory_total_bytes.map(|size| Bytes(size).to_string());
    let files = it.limits.open_files_soft.map(|files| files.to_string());
    let steal = it.steal_during_fraction.map(number::percent);
    let rows: [(&str, &str, Option<String>); 14] = [
        ("System", "os", it.os.clone()),
        ("Kernel", "kernel", it.kernel.clone()),
        ("Processor", "cpu_model", it.cpu_model.clone()),
        ("CPUs online", "cpus_online", it.cpus_online.map(|cpus| cpus.to_string())),
        ("Threads of one core", "smt", it.smt.map(yes)),
        ("Frequency governor", "governor", it.governor.clone()),
        ("Hypervisor", "hypervisor", it.hypervisor.clone()),
        ("Clock source", "clock_source", it.clock_source.clone()),
        ("Timers", "timer_floor", floor),
        ("Congestion control", "congestion_control", it.congestion_control.clone()),
        ("Open files", "limits", files),
        ("Memory", "memory_total_bytes", memory),
        ("Steal while it ran", "steal_during_fraction", steal),
        ("Self-test", "selftest", self_test(it)),
    ];
    let known = rows.into_iter().filter_map(|(name, field, value)| {
        Some(Fact::new(name, value.or_else(|| unknown(&it.missing, field))?))
    });
    let versions = it.versions.iter().map(|(name, version)| Fact::new(name, version.clone()));
    known.chain(neighbours(record)).chain(versions).collect()
}

/// The largest use that others made of the machine in any block; `None` if nothing is known about it.
fn neighbours(record: &RunRecord) -> Option<Fact> {
    let most =
        |of: fn(&Block) -> Option<f64>| record.blocks.iter().filter_map(of).max_by(f64::total_cmp);
    let online = record.environment.cpus_online;
    let online = online.map_or_else(String::new, |online| format!(" of {online}"));
    let others = most(|block| block.cpu.others_cores_used);
    let waited = most(|block| block.neighbours.generator_wait_fraction).map(number::percent);
    let pressure = most(|block| block.neighbours.pressure_fraction).map(number::percent);
    let lines = [
        others.map(|cores| format!("other programs used {}{online} CPUs", number::three(cores))),
        waited
            .map(|share| format!("threads of the generator waited {share} of the time for a CPU")),
        pressure.map(|share| format!("some program waited {share} of the time")),
    ];
    let words = lines.into_iter().flatten().collect::<Vec<String>>().join(", ");
    (!words.is_empty()).then(|| Fact::new("Neighbours, at most", words))
}

/// The words for an unknown value; `None` without a reason.
fn unknown(missing: &Missing, field: &str) -> Option<String> {
    Some(format!("not known: {}", missing.get(field)?))
}

fn self_test(environment: &Environment) -> Option<String> {
    let found = environment.selftest.as_ref()?;
    let passed = found.checks.iter().filter(|check| check.passed).count();
    let word = if found.passed { "passed" } else { "FAILED" };
    Some(format!("{word} at {} ({passed} of {} checks)", found.at, found.checks.len()))
}

/// The plan: rows, rounds and sampling.
fn plan(record: &RunRecord) -> Vec<Fact> {
    let of_row = |row: row::Row<'_>| {
        let (message, load, warm_up) = (row.message(), row.load(), row.warm_up());
        Fact::new(row.name(), format!("{}: {message}, {load}; {warm_up} warm-up", row.target()))
    };
    let mut facts: Vec<Fact> = row::all(record).map(of_row).collect();
    let (rounds, seed) = (row::rounds(record), row::seed(record));
    facts.push(Fact::new("Rounds", format!("{rounds}, in random order (seed {seed})")));
    let costs = record.blocks.iter().filter_map(|block: &Block| block.sampling_cpu_fraction);
    if let Some(most) = costs.reduce(f64::max) {
        let most = number::percent(most);
        let text = format!("10 times a second, at the cost of {most} of one core at most");
        facts.push(Fact::new("Sampling", text));
    }
    facts
}
