//! A record in short: its line in a history.

use crate::pooling::{figure, memory_per_connection};
use crate::verdict::conditions;
use crate::{Environment, Kind, Level, RunRecord, Verdict, judge};
use serde::Serialize;
use spec::Metric;
use std::borrow::Cow;
use std::path::Path;

/// A record in short.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Entry {
    /// The name that a store gives it.
    pub id: String,
    /// The file that it was kept in, if there is one.
    pub file: Option<String>,
    /// The tags that a user gave it, in alphabetical order.
    pub tags: Vec<String>,
    /// The names under which it is a baseline, in alphabetical order.
    pub baselines: Vec<String>,
    /// The start of the run: RFC 3339, UTC.
    pub started_at: String,
    /// The kind of measurement.
    pub kind: Kind,
    /// The name of the experiment's file without its folder and end, or else the kind.
    pub experiment: String,
    /// The machine, as far as it decides which numbers can be compared: processor, CPUs, hypervisor, limits of the
    /// container. Its kernel may change.
    pub machine: String,
    /// The kernel's release.
    pub kernel: Option<String>,
    /// The version of the program that measured.
    pub version: String,
    /// The commit of the user's repository ([`RunRecord::repository`]).
    pub repository: Option<String>,
    /// The trust in the answer.
    pub verdict: Level,
    /// The headline numbers of each workload, in the order of the plan.
    pub rows: Vec<EntryRow>,
}

/// The headline numbers of a workload; `null` where it has none, or where it is invalid.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct EntryRow {
    /// Its name.
    pub name: String,
    /// The URL of the server.
    pub target: String,
    /// The trust in it.
    pub verdict: Level,
    /// The median: of response times where there was a schedule, else of round trips.
    pub p50_ns: Option<f64>,
    /// The time that 99 % of them stayed within.
    pub p99_ns: Option<f64>,
    /// Replies a second.
    pub messages_per_s: Option<f64>,
    /// CPU time of the server for each reply.
    pub server_cpu_us_per_message: Option<f64>,
    /// Memory of the server for each connection.
    pub memory_bytes_per_connection: Option<f64>,
    /// Everything about the workload that changes numbers, as JSON; the same text means the same load.
    pub conditions: String,
}

impl Entry {
    /// The short form of `record`, which a store calls `id` and keeps in `file`. It has no tags yet.
    pub fn of(record: &RunRecord, id: String, file: Option<&Path>) -> Self {
        let verdict = match &record.verdict {
            Some(verdict) => Cow::Borrowed(verdict),
            None => Cow::Owned(judge(record)),
        };
        let row = |index: usize| {
            let level = verdict.rows.get(index).map_or(verdict.level, |row| row.level);
            row(record, index, level, &verdict)
        };
        Self {
            id,
            file: file.map(|file| file.display().to_string()),
            tags: Vec::new(),
            baselines: Vec::new(),
            started_at: record.started_at.clone(),
            kind: record.kind,
            experiment: experiment(record),
            machine: machine(&record.environment),
            kernel: record.environment.kernel.clone(),
            version: record.tool.version.clone(),
            repository: record.repository.clone(),
            verdict: verdict.level,
            rows: (0..record.plan.workloads.len()).map(row).collect(),
        }
    }
}

impl EntryRow {
    /// The numbers that a row can have here.
    pub const METRICS: [Metric; 5] = [
        Metric::P50,
        Metric::P99,
        Metric::MessagesPerS,
        Metric::CpuPerMessage,
        Metric::MemoryPerConnection,
    ];

    /// One of [`EntryRow::METRICS`], if the row has it.
    pub fn number(&self, metric: Metric) -> Option<f64> {
        match metric {
            Metric::P50 => self.p50_ns,
            Metric::P99 => self.p99_ns,
            Metric::MessagesPerS => self.messages_per_s,
            Metric::CpuPerMessage => self.server_cpu_us_per_message,
            Metric::MemoryPerConnection => self.memory_bytes_per_connection,
            Metric::P90
            | Metric::P999
            | Metric::GeneratorCpuPerMessage
            | Metric::BytesPerMessage
            | Metric::ErrorRate
            | Metric::RefusedRate
            | Metric::AchievedOfOffered
            | Metric::Recovery
            | Metric::ServerCpu => None,
        }
    }
}

fn row(record: &RunRecord, index: usize, level: Level, verdict: &Verdict) -> EntryRow {
    let workload = &record.plan.workloads[index];
    let result = record.results.iter().find(|result| result.workload == index);
    let pooled = result.filter(|_| level < Level::Invalid).map(|result| &result.pooled);
    let number = |metric| {
        let pooled = pooled.filter(|_| verdict.invalid(index, metric).is_none())?;
        figure(pooled, metric).map(|it| it.value).filter(|it| it.is_finite())
    };
    let memory = memory_per_connection(&record.plan, &record.blocks, index);
    EntryRow {
        name: workload.name().to_owned(),
        target: workload.target.clone(),
        verdict: level,
        p50_ns: number(Metric::P50),
        p99_ns: number(Metric::P99),
        messages_per_s: number(Metric::MessagesPerS),
        server_cpu_us_per_message: number(Metric::CpuPerMessage),
        memory_bytes_per_connection: memory.filter(|_| pooled.is_some()).map(|it| it.value()),
        conditions: conditions(workload),
    }
}

/// `chat` for `wirebench run experiments/chat.toml`; the kind for a run without a file.
fn experiment(record: &RunRecord) -> String {
    let files = record.command_line.iter().filter(|word| word.ends_with(".toml"));
    let stem = files.filter_map(|file| Path::new(file).file_stem()?.to_str()).next();
    stem.unwrap_or_else(|| record.kind.name()).to_owned()
}

/// The machine in words, e.g. `Intel Xeon, 2 CPUs, KVM`.
fn machine(environment: &Environment) -> String {
    let Environment { cpu_model, cpus_online, cpus_allowed, hypervisor, container, .. } =
        environment;
    let allowed = u32::try_from(cpus_allowed.len()).ok().filter(|count| *count > 0);
    let cpus = allowed.or(*cpus_online).map(|count| match count {
        1 => "1 CPU".to_owned(),
        count => format!("{count} CPUs"),
    });
    let cores = container.as_ref().and_then(|container| container.cpu_cores_max);
    let parts = [
        Some(cpu_model.clone().unwrap_or_else(|| "unknown processor".to_owned())),
        cpus,
        hypervisor.clone(),
        cores.map(|cores| format!("{cores} cores of a container")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}
