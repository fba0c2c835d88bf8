//! A record of what google-benchmark measured: this program checked nothing, and the verdict says so.

use crate::google_benchmark::{Entry, File, RunType};
use crate::{
    Block, ClientReport, Counts, Cpu, Ended, Environment, Kind, Lab, Missing, Pinning, Plan,
    RunRecord, SCHEMA_VERSION, Tool, View, Wire, Workload, judge, results,
};
use spec::{Load, Protocol, Server, ServerSubject, Stop};
use std::num::{NonZeroU32, NonZeroU64};

/// The program that imports, and the time.
#[derive(Clone, Debug, Default)]
pub struct Importer {
    /// The program.
    pub tool: Tool,
    /// Its arguments, without secrets.
    pub command_line: Vec<String>,
    /// The time of the import: RFC 3339, UTC.
    pub started_at: String,
}

/// `file` as a record: a workload for each benchmark, a block for each of its repetitions.
///
/// Wall time and CPU time of an iteration become throughput and CPU time of a message. There is no distribution, since
/// google-benchmark keeps only means; its aggregates over repetitions are computed anew.
///
/// # Errors
///
/// [`ImportError`] if a benchmark has no repetition.
pub fn imported(file: &File, importer: Importer) -> Result<RunRecord, ImportError> {
    let mut workloads: Vec<Workload> = Vec::new();
    let mut blocks: Vec<Block> = Vec::new();
    let is_repetition = |entry: &&Entry| entry.run_type == RunType::Iteration;
    for entry in file.benchmarks.iter().filter(is_repetition) {
        let known = workloads.iter().position(|workload| workload.name() == entry.run_name);
        let index = known.unwrap_or(workloads.len());
        if known.is_none() {
            workloads.push(workload(entry));
        }
        let round = blocks.iter().filter(|block| block.workload == index).count();
        let started_at_ns =
            blocks.iter().map(|block| block.measured_ns).fold(0, u64::saturating_add);
        blocks.push(Block { started_at_ns, ..block(entry, index, round) });
    }
    let is_known = |entry: &Entry| workloads.iter().any(|it| it.name() == entry.run_name);
    if let Some(entry) = file.benchmarks.iter().find(|entry| !is_known(entry)) {
        return Err(ImportError { name: entry.run_name.clone() });
    }
    let rounds = blocks.iter().map(|block| block.round + 1).max().unwrap_or(0);
    let of_round = |round| {
        blocks
            .iter()
            .filter(move |block| block.round == round)
            .map(|block| block.workload)
            .collect()
    };
    let mut record = RunRecord {
        schema_version: SCHEMA_VERSION,
        tool: importer.tool,
        command_line: importer.command_line,
        started_at: importer.started_at,
        duration_ns: blocks.iter().map(|block| block.measured_ns).fold(0, u64::saturating_add),
        kind: Kind::Imported,
        ended: Ended::Completed,
        environment: environment(file),
        repository: None,
        spec: None,
        plan: Plan { rounds: (0..rounds).map(of_round).collect(), workloads, ..Plan::default() },
        results: Vec::new(),
        blocks,
        added: Vec::new(),
        precision: Vec::new(),
        drifts: Vec::new(),
        against: None,
        requirements: Vec::new(),
        sides: None,
        sweep: None,
        lab: Some(Lab { question: origin(file), views: vec![View::Benchmark], ..Lab::default() }),
        verdict: None,
        warnings: Vec::new(),
        conclusion: None,
    };
    record.results = results(&record.plan, &record.blocks);
    record.verdict = Some(judge(&record));
    Ok(record)
}

/// A file has google-benchmark's aggregates over the repetitions of this benchmark, but not the repetitions.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{name:?} has aggregates and no repetitions; run it without --benchmark_report_aggregates_only"
)]
pub struct ImportError {
    /// Its name.
    pub name: String,
}

fn origin(file: &File) -> String {
    let context = &file.context;
    let program = context.executable.as_ref().map_or_else(String::new, |it| format!(" in {it}"));
    let date = context.date.as_ref().map_or_else(String::new, |date| format!(", {date}"));
    let is_debug = context.library_build_type.as_deref() == Some("debug");
    let build = if is_debug { ", google-benchmark built without optimisation" } else { "" };
    format!("google-benchmark{program}{date}{build}")
}

fn environment(file: &File) -> Environment {
    let why = "google-benchmark does not say".to_owned();
    let missing = ["os", "kernel", "cpu_model"].map(|field| (field.to_owned(), why.clone()));
    Environment {
        cpus_online: file.context.num_cpus.and_then(|cpus| u32::try_from(cpus).ok()),
        missing: missing.into(),
        ..Environment::default()
    }
}

/// A benchmark as a workload: a closed loop, whose next iteration starts when the last is done. Nothing else about it
/// is known.
fn workload(entry: &Entry) -> Workload {
    let one = NonZeroU32::MIN;
    let load = Load::Closed { connections: one, in_flight: one, in_flight_max: None };
    let program = Server::Subject(ServerSubject::new(PROGRAM, Protocol::Tcp.plain()));
    let mut spec = spec::Workload::new(&entry.run_name, program, load);
    if let Some(iterations) = NonZeroU64::new(entry.iterations) {
        spec.phases.stop = Stop::Messages(iterations);
    }
    spec.threads = u32::try_from(entry.threads).ok().and_then(NonZeroU32::new).unwrap_or(one);
    Workload {
        spec,
        target: entry.run_name.clone(),
        transport: PROGRAM.to_owned(),
        size_bytes: 0,
        source_addresses: Vec::new(),
        pinning: Pinning::default(),
        server: None,
        found: None,
        processes: Vec::new(),
        client: None,
    }
}

/// The shortest time that has a throughput: no clock tells a shorter one from 0.
const SHORTEST_NS: f64 = 1e-9;

/// The program that measured, instead of a protocol.
const PROGRAM: &str = "google-benchmark";

fn block(entry: &Entry, workload: usize, round: usize) -> Block {
    let failed = entry.error_occurred.then(|| {
        entry.error_message.clone().unwrap_or_else(|| "it failed, and does not say why".to_owned())
    });
    let iterations = if failed.is_some() { 0 } else { entry.iterations };
    let wall_ns = nanoseconds(entry.real_time_ns(), iterations);
    let is_timed = failed.is_none() && entry.real_time_ns() >= SHORTEST_NS;
    let report = ClientReport {
        wall_ns,
        cpu_ns: Some(nanoseconds(entry.cpu_time_ns(), iterations)),
        cpu_seen_ns: None,
        google_benchmark: Some(entry.result()),
        ..ClientReport::default()
    };
    Block {
        measured_ns: wall_ns,
        counts: Counts {
            planned: iterations,
            sent: iterations,
            ok: iterations,
            ..Counts::default()
        },
        messages_per_s: if is_timed { 1e9 / entry.real_time_ns() } else { 0.0 },
        cpu: Cpu {
            generator_us_per_message: failed.is_none().then(|| entry.cpu_time_ns() / 1e3),
            missing: alone("server_us_per_message"),
            ..Cpu::default()
        },
        wire: Wire { missing: alone("sent_bytes_per_message"), ..Wire::default() },
        client: failed.is_none().then_some(report),
        failed,
        ..Block::empty(workload, round, 0, "measured by google-benchmark")
    }
}

fn alone(field: &str) -> Missing {
    [(field.to_owned(), "google-benchmark measures its own process alone".to_owned())].into()
}

/// The total time of `iterations` of this length.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "saturates; the times that were read are not negative"
)]
fn nanoseconds(each_ns: f64, iterations: u64) -> u64 {
    (each_ns * iterations as f64).round() as u64
}
