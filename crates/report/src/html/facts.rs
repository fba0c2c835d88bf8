//! What a page says in words: what was measured, where, how, and how to do it again.

use crate::escape::escape;
use crate::lab::glance::{self, Answer};
use crate::lab::rows::Group;
use crate::number;

use crate::published::knee_words;
use crate::{verdict, words};
use record::{Block, Environment, Kind, Knee, Missing, RunRecord, SweepLine, Warning};
use units::Bytes;

/// A number that a page begins with.
pub(super) struct Tile {
    pub(super) label: String,
    pub(super) value: String,
    pub(super) note: String,
}

/// Something and what it is; escaped.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) value: String,
}

impl Row {
    fn new(name: &str, value: &str) -> Self {
        Self { name: escape(name), value: escape(value) }
    }
}

/// What was measured.
pub(super) fn title(record: &RunRecord) -> String {
    let names = |all: Vec<&str>| all.join(", ");
    let text = match (&record.sweep, record.kind, &record.plan.workloads[..]) {
        (Some(sweep), ..) => {
            let lines = sweep.lines.iter().map(|line| line.name.as_str()).collect();
            format!("Sweep: {}", names(lines))
        }
        (None, Kind::Ladder, _) => "The ladder".to_owned(),
        (None, Kind::Imported, _) => crate::lab::NOT_OURS.to_owned(),
        (None, Kind::Lab, _) => {
            record.lab.as_ref().map_or_else(|| "A lab".to_owned(), |lab| lab.question.clone())
        }
        (None, _, [only]) => only.target.clone(),
        (None, _, []) => "A run without a measurement".to_owned(),
        (None, _, [first, ..]) => {
            format!("{}: {} measurements", first.target, record.plan.workloads.len())
        }
    };
    escape(&text)
}

/// When, how long, on what.
pub(super) fn subtitle(record: &RunRecord) -> String {
    let when = record.started_at.replace('T', " ").replace('Z', " UTC");
    let mut parts = vec![when, number::nanos(record.duration_ns)];
    parts.extend(record.environment.cpu_model.clone());
    parts.extend(record.environment.cpus_online.map(|cpus| format!("{cpus} CPUs")));
    escape(&parts.join(" · "))
}

/// The sentence of the result.
pub(super) fn conclusion(record: &RunRecord) -> Option<String> {
    record.conclusion.clone().or_else(|| crate::conclusion(record))
}

/// The numbers of the result.
pub(super) fn tiles(record: &RunRecord) -> Vec<Tile> {
    match &record.sweep {
        Some(sweep) => sweep.lines.iter().map(knee_tile).collect(),
        None if record.kind == Kind::Lab => lab_tiles(record),
        None if record.plan.workloads.len() == 1 => run_tiles(record),
        None => Vec::new(),
    }
}

fn knee_tile(line: &SweepLine) -> Tile {
    let (value, note) = match &line.knee {
        Knee::Found { offered_per_s, low_per_s, high_per_s } => (
            number::per_second(*offered_per_s),
            format!(
                "between {} and {}; ran out: {}",
                number::per_second(*low_per_s),
                number::per_second(*high_per_s),
                line.ran_out
            ),
        ),
        knee @ Knee::NotReached { reason, .. } => (knee_words(knee), reason.clone()),
    };
    Tile { label: escape(&format!("Knee, {}", line.name)), value, note: escape(&note) }
}

/// Who is fastest and who takes the least CPU time, of the first loads.
fn lab_tiles(record: &RunRecord) -> Vec<Tile> {
    let verdict = verdict::of(record);
    let tiles = Group::all(record, &verdict).into_iter().flat_map(|group| {
        let load = if group.load.is_empty() { "" } else { &format!(", {}", group.load) };
        let tile = |answer: Answer| {
            let next = answer.next.map_or_else(String::new, |next| format!("; {next}"));
            Tile {
                label: escape(&format!("{}{load}", answer.label)),
                value: escape(&answer.name),
                note: escape(&format!("{}{next}", answer.found)),
            }
        };
        glance::answers(&group).into_iter().map(tile).collect::<Vec<Tile>>()
    });
    tiles.take(TILES_MAX).collect()
}

fn run_tiles(record: &RunRecord) -> Vec<Tile> {
    let Some(result) = record.results.first() else { return Vec::new() };
    let (label, times) = match (&result.response, &result.round_trip) {
        (Some(times), _) => ("Response time", times),
        (None, Some(times)) => ("Round trip", times),
        (None, None) => return Vec::new(),
    };
    let percentile = |name: &str, field: &str, value: Option<u64>| Tile {
        label: format!("{label} {name}"),
        value: value.map_or_else(|| number::MISSING.to_owned(), number::nanos),
        note: escape(times.missing.get(field).map_or("", String::as_str)),
    };
    let mut tiles = vec![
        percentile("p50", "p50_ns", times.p50_ns),
        percentile("p99", "p99_ns", times.p99_ns),
        percentile("p99.9", "p99_9_ns", times.p99_9_ns),
    ];
    if let Some(rate) = result.medians.messages_per_s {
        let interval = rate.low.zip(rate.high);
        let note = interval.map_or_else(String::new, |(low, high)| {
            format!("{} to {}", number::per_second(low), number::per_second(high))
        });
        tiles.push(Tile {
            label: "Replies".to_owned(),
            value: number::per_second(rate.value),
            note,
        });
    }
    tiles
}

/// What the user should know besides.
pub(super) fn warnings(record: &RunRecord) -> Vec<Row> {
    let row = |warning: &Warning| {
        let Warning { code, message, evidence, advice } = warning;
        let evidence = if evidence.is_empty() { String::new() } else { format!(" ({evidence})") };
        let advice = if advice.is_empty() { String::new() } else { format!("; {advice}") };
        Row::new(code, &format!("{message}{evidence}{advice}"))
    };
    record.warnings.iter().map(row).collect()
}

/// The machine; what is not known says why.
pub(super) fn environment(record: &RunRecord) -> Vec<Row> {
    let it = &record.environment;
    let mut rows = Rows { rows: Vec::new(), missing: &it.missing };
    rows.add("System", "os", it.os.clone());
    rows.add("Kernel", "kernel", it.kernel.clone());
    rows.add("Processor", "cpu_model", it.cpu_model.clone());
    rows.add("CPUs online", "cpus_online", it.cpus_online.map(|cpus| cpus.to_string()));
    rows.add("Threads of one core", "smt", it.smt.map(|smt| yes(smt).to_owned()));
    rows.add("Frequency governor", "governor", it.governor.clone());
    rows.add("Hypervisor", "hypervisor", it.hypervisor.clone());
    rows.add("Clock source", "clock_source", it.clock_source.clone());
    let floor = it.timer_floor.map(|floor| {
        let [p50, p99] = [floor.overshoot_p50_ns, floor.overshoot_p99_ns].map(number::nanos);
        format!("a sleep ends {p50} late (p50), {p99} (p99)")
    });
    rows.add("Timers", "timer_floor", floor);
    rows.add("Congestion control", "congestion_control", it.congestion_control.clone());
    rows.add("Open files", "limits", it.limits.open_files_soft.map(|files| files.to_string()));
    rows.add(
        "Memory",
        "memory_total_bytes",
        it.memory_total_bytes.map(|size| Bytes(size).to_string()),
    );
    rows.add(
        "Steal while it ran",
        "steal_during_fraction",
        it.steal_during_fraction.map(number::percent),
    );
    rows.add("Self-test", "selftest", selftest(it));
    for (name, version) in &it.versions {
        rows.rows.push(Row::new(name, version));
    }
    rows.rows
}

fn selftest(environment: &Environment) -> Option<String> {
    environment.selftest.as_ref().map(|found| {
        let passed = found.checks.iter().filter(|check| check.passed).count();
        let word = if found.passed { "passed" } else { "FAILED" };
        format!("{word} at {} ({passed} of {} checks)", found.at, found.checks.len())
    })
}

fn yes(is: bool) -> &'static str {
    if is { "yes" } else { "no" }
}

/// What was to be done.
pub(super) fn plan(record: &RunRecord) -> Vec<Row> {
    let mut rows = Vec::new();
    for workload in &record.plan.workloads {
        let warm_up = number::nanos(workload.warm_up_ns);
        let value = format!(
            "{}: {}, {}; {warm_up} warm-up",
            workload.target,
            words::message(workload),
            words::load(workload)
        );
        rows.push(Row::new(&workload.name, &value));
    }
    let seed = record.plan.seed;
    rows.push(Row::new(
        "Rounds",
        &format!("{}, in random order (seed {seed})", record.plan.rounds.len()),
    ));
    let samplings: Vec<f64> =
        record.blocks.iter().filter_map(|block: &Block| block.sampling_cpu_fraction).collect();
    if let Some(most) = samplings.into_iter().reduce(f64::max) {
        rows.push(Row::new(
            "Sampling",
            &format!(
                "10 times a second, at the cost of {} of one core at most",
                number::percent(most)
            ),
        ));
    }
    rows
}

/// The command that does it again, as a shell takes it.
pub(super) fn command(record: &RunRecord) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_=+:,./@%^".contains(letter);
    let quoted = |word: &String| match word.chars().all(plain) && !word.is_empty() {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    };
    let mut words = vec!["wirebench".to_owned()];
    words.extend(record.command_line.iter().map(quoted));
    words.join(" ")
}

/// Rows under construction.
struct Rows<'a> {
    rows: Vec<Row>,
    missing: &'a Missing,
}

impl Rows<'_> {
    /// A row, with the reason if there is no value; none if nobody knows a reason.
    fn add(&mut self, name: &str, field: &str, value: Option<String>) {
        let missing = || Some(format!("not known: {}", self.missing.get(field)?));
        if let Some(value) = value.or_else(missing) {
            self.rows.push(Row::new(name, &value));
        }
    }
}

/// More would not be seen at a glance.
const TILES_MAX: usize = 6;
