//! Blocks as google-benchmark has them: mean wall and CPU time of an iteration, which is a round trip or the life of a
//! client; and a record in its format, for tools that read it.

use crate::escape::escape;
use crate::export::ExportError;
use crate::measured::Measured;
use crate::number;
use crate::row::{self, Row};
use record::google_benchmark::{AggregateUnit, Context, Entry, File, RunType, TimeUnit};
use record::{Block, RunRecord};

/// Mean times of a block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Mean {
    pub(crate) iterations: u64,
    /// Wall time of an iteration.
    pub(crate) wall_ns: f64,
    /// CPU time that the client took for it; `None` if it is not known.
    pub(crate) cpu_ns: Option<f64>,
}

impl Mean {
    /// The means of all blocks that count.
    pub(crate) fn all(it: &Measured<'_>) -> Vec<Self> {
        it.blocks.iter().filter_map(|block| Self::of(it.row, block)).collect()
    }

    /// The means that google-benchmark reported, if it ran the block and an iteration was a round trip, which it is not
    /// with several in flight; else our own. `None` if no time was measured.
    pub(crate) fn of(row: Row<'_>, block: &Block) -> Option<Self> {
        let reported = block.client.as_ref().and_then(|it| it.google_benchmark.as_ref());
        if let Some(found) = reported.filter(|_| row.is_one_by_one()) {
            let (wall_ns, cpu_ns) = (found.real_time_ns, Some(found.cpu_time_ns));
            return Some(Self { iterations: found.iterations, wall_ns, cpu_ns });
        }
        let times = row.times(block)?;
        let each = number::float(row.round_trips().unwrap_or(1));
        let cpu_ns = block.cpu.generator_us_per_message.map(|us| us * 1e3 * each);
        Some(Self { iterations: times.count, wall_ns: times.mean_ns, cpu_ns })
    }

    /// True if the client was busy for at least 80 % of the time that it waited for a reply.
    pub(crate) fn spins(self) -> bool {
        self.cpu_ns.is_some_and(|cpu| cpu >= SPINS_MIN * self.wall_ns)
    }
}

/// Mean, median, standard deviation (of a sample) and its ratio to the mean, as google-benchmark computes them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Aggregates {
    pub(crate) mean: f64,
    pub(crate) median: f64,
    /// 0 for one value, as in google-benchmark.
    pub(crate) stddev: f64,
}

impl Aggregates {
    /// `None` without values.
    pub(crate) fn of(values: &[f64]) -> Option<Self> {
        let count = number::float(values.len() as u64);
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let stddev = if values.len() > 1 { (squares / (count - 1.0)).sqrt() } else { 0.0 };
        Some(Self { mean, median: stats::median(values).ok()?, stddev })
    }

    /// The standard deviation divided by the mean; 0 without one.
    fn variation(self) -> f64 {
        if self.mean > 0.0 { self.stddev / self.mean } else { 0.0 }
    }
}

/// `record` as google-benchmark prints it with `--benchmark_format=json`: a repetition for each block, and aggregates
/// if there are two or more. Times are nanoseconds; wall time is the mean round trip, response time of an open loop, or
/// life of a short-lived client; CPU time is that of the generator or client subject.
///
/// # Errors
///
/// [`ExportError::NoDistribution`] if nothing was measured.
pub fn google_benchmark(record: &RunRecord) -> Result<String, ExportError> {
    let mut benchmarks = Vec::new();
    for row in row::all(record) {
        benchmarks.extend(entries(record, row));
    }
    if benchmarks.iter().all(|entry| entry.error_occurred) {
        return Err(ExportError::NoDistribution);
    }
    let context = Context {
        date: Some(escape(&record.started_at)),
        executable: Some(escape(&format!("{} {}", record.tool.name, record.tool.version))),
        num_cpus: record.environment.cpus_online.map(u64::from),
        ..Context::default()
    };
    Ok(File { context, benchmarks }.to_json())
}

/// The blocks of one row, and their aggregates.
fn entries(record: &RunRecord, row: Row<'_>) -> Vec<Entry> {
    let blocks: Vec<&Block> =
        record.blocks.iter().filter(|block| block.workload == row.index).collect();
    let name = escape(row.name());
    let common = Entry {
        name: name.clone(),
        family_index: Some(row.index as u64),
        per_family_instance_index: Some(0),
        run_name: name,
        repetitions: blocks.len() as u64,
        threads: u64::from(row.threads().max(1)),
        time_unit: TimeUnit::Ns,
        ..Entry::default()
    };
    let mut all = Vec::new();
    let mut means = Vec::new();
    for (repetition, block) in (0..).zip(&blocks) {
        let repetition_index = Some(repetition);
        let failed =
            |reason: &str| (true, Some(escape(reason)), Mean { iterations: 0, ..Mean::NOTHING });
        let (error_occurred, error_message, mean) = match (&block.failed, Mean::of(row, block)) {
            (Some(reason), _) => failed(reason),
            (None, None) => failed("no reply was measured"),
            (None, Some(mean)) => (false, None, mean),
        };
        if !error_occurred {
            means.push(mean);
        }
        let unknown = mean.cpu_ns.is_none() && !error_occurred;
        all.push(Entry {
            repetition_index,
            error_occurred,
            error_message,
            iterations: mean.iterations,
            real_time: finite(mean.wall_ns),
            cpu_time: finite(mean.cpu_ns.unwrap_or(0.0)),
            label: unknown.then(|| "CPU time is not known".to_owned()),
            ..common.clone()
        });
    }
    all.extend(aggregates(&means, &common));
    all
}

/// The aggregates of two or more means, as in google-benchmark; empty for fewer.
fn aggregates(means: &[Mean], common: &Entry) -> Vec<Entry> {
    let wall: Vec<f64> = means.iter().map(|mean| finite(mean.wall_ns)).collect();
    let cpu: Vec<f64> = means.iter().map(|mean| finite(mean.cpu_ns.unwrap_or(0.0))).collect();
    let all = Aggregates::of(&wall).zip(Aggregates::of(&cpu)).filter(|_| means.len() > 1);
    let Some((wall, cpu)) = all else { return Vec::new() };
    let entry = |name: &str, unit, real_time, cpu_time| Entry {
        name: format!("{}_{name}", common.run_name),
        run_type: RunType::Aggregate,
        aggregate_name: Some(name.to_owned()),
        aggregate_unit: Some(unit),
        iterations: means.len() as u64,
        real_time,
        cpu_time,
        ..common.clone()
    };
    vec![
        entry("mean", AggregateUnit::Time, wall.mean, cpu.mean),
        entry("median", AggregateUnit::Time, wall.median, cpu.median),
        entry("stddev", AggregateUnit::Time, wall.stddev, cpu.stddev),
        entry("cv", AggregateUnit::Percentage, wall.variation(), cpu.variation()),
    ]
}

impl Mean {
    const NOTHING: Self = Self { iterations: 0, wall_ns: 0.0, cpu_ns: None };
}

/// `value`, or 0 where JSON has no number for it.
fn finite(value: f64) -> f64 {
    if value.is_finite() { value } else { 0.0 }
}

/// The least share of its waiting time that a client spends on the CPU if it polls for the reply.
const SPINS_MIN: f64 = 0.8;
