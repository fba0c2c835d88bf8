//! The JSON that google-benchmark prints (`--benchmark_format=json`), read into plain values and written from them.
//!
//! Left out: complexity estimates (`BigO`, `RMS`), a benchmark's own counters, and the host's name.
//!
//! Start reading at [`read`].

use crate::GoogleBenchmark;
use serde::{Deserialize, Serialize};

/// Reads the JSON of google-benchmark, of 1.5 and later; unknown keys are ignored.
///
/// # Errors
///
/// [`ReadError::Invalid`] for text that is not JSON or not of that shape, [`ReadError::Empty`] for a file without
/// benchmarks, [`ReadError::Impossible`] for a time that is negative, missing, or longer than 584 years.
pub fn read(json: &str) -> Result<File, ReadError> {
    let raw: RawFile = serde_json::from_str(json).map_err(|error| ReadError::Invalid {
        line: error.line(),
        column: error.column(),
        what: without_position(&error),
    })?;
    let mut benchmarks = Vec::new();
    for (index, entry) in raw.benchmarks.into_iter().enumerate() {
        if !COMPLEXITY.contains(&entry.aggregate_name.as_deref().unwrap_or_default()) {
            benchmarks.push(entry.checked(index)?);
        }
    }
    if benchmarks.is_empty() {
        return Err(ReadError::Empty);
    }
    Ok(File { context: raw.context, benchmarks })
}

/// The output of one run of google-benchmark.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct File {
    /// The machine and the time of the run.
    pub context: Context,
    /// Its repetitions and the aggregates over them, in the order of the output. Never empty if it was read.
    pub benchmarks: Vec<Entry>,
}

impl File {
    /// The output as JSON, as google-benchmark would print it, with a newline at the end.
    pub fn to_json(&self) -> String {
        let mut json = serde_json::to_string_pretty(self).expect("all keys are texts");
        json.push('\n');
        json
    }
}

/// The machine and the time of a run; a value that google-benchmark did not print is `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Context {
    /// The local time, as ISO 8601.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// The program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub executable: Option<String>,
    /// The number of CPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub num_cpus: Option<u64>,
    /// The clock rate of the CPUs, as printed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mhz_per_cpu: Option<u64>,
    /// True if their frequency changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_scaling_enabled: Option<bool>,
    /// The build of google-benchmark itself: `release` or `debug`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub library_build_type: Option<String>,
}

/// One repetition of a benchmark, or an aggregate over its repetitions.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Entry {
    /// Its name; that of an aggregate ends in `_mean` and the like.
    pub name: String,
    /// The index of its benchmark in the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub family_index: Option<u64>,
    /// The index of its set of arguments within that benchmark.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_family_instance_index: Option<u64>,
    /// The name that repetitions and aggregates have in common.
    pub run_name: String,
    /// The kind of entry.
    pub run_type: RunType,
    /// The number of repetitions.
    pub repetitions: u64,
    /// The index of this repetition, from 0; an aggregate has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repetition_index: Option<u64>,
    /// The number of threads that ran it.
    pub threads: u64,
    /// `mean`, `median`, `stddev`, `cv`, or one of the program's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aggregate_name: Option<String>,
    /// The meaning of the numbers of an aggregate: most are times; `cv` is a share, and then `time_unit` means nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aggregate_unit: Option<AggregateUnit>,
    /// True if it failed; then its times are 0 and mean nothing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub error_occurred: bool,
    /// The reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// The number of iterations; of an aggregate, the number of repetitions.
    pub iterations: u64,
    /// Mean wall time of an iteration, in `time_unit`.
    pub real_time: f64,
    /// Mean CPU time of an iteration, in `time_unit`.
    pub cpu_time: f64,
    /// The unit of both.
    pub time_unit: TimeUnit,
    /// The text that the program added.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

impl Entry {
    /// Its wall time in nanoseconds; for a share, the share itself.
    pub fn real_time_ns(&self) -> f64 {
        self.real_time * factor(self.aggregate_unit, self.time_unit)
    }

    /// Its CPU time, likewise.
    pub fn cpu_time_ns(&self) -> f64 {
        self.cpu_time * factor(self.aggregate_unit, self.time_unit)
    }

    /// The result in the form of a record.
    pub fn result(&self) -> GoogleBenchmark {
        GoogleBenchmark {
            name: self.run_name.clone(),
            iterations: self.iterations,
            real_time_ns: self.real_time_ns(),
            cpu_time_ns: self.cpu_time_ns(),
        }
    }
}

/// The nanoseconds that 1 means, for a time; 1 for a share.
fn factor(aggregate_unit: Option<AggregateUnit>, time_unit: TimeUnit) -> f64 {
    match aggregate_unit {
        Some(AggregateUnit::Percentage) => 1.0,
        Some(AggregateUnit::Time) | None => time_unit.nanoseconds(),
    }
}

/// The kind of an entry: measured or derived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunType {
    /// Computed over repetitions.
    Aggregate,
    /// A repetition that was measured.
    #[default]
    Iteration,
}

/// The meaning of the numbers of an aggregate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AggregateUnit {
    /// Shares: 0.01 is 1 %.
    Percentage,
    /// Times.
    Time,
}

/// The unit of an entry's times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TimeUnit {
    /// Milliseconds.
    Ms,
    /// Nanoseconds.
    #[default]
    Ns,
    /// Seconds.
    S,
    /// Microseconds.
    Us,
}

impl TimeUnit {
    /// The length of one in nanoseconds.
    pub fn nanoseconds(self) -> f64 {
        match self {
            Self::Ns => 1.0,
            Self::Us => 1e3,
            Self::Ms => 1e6,
            Self::S => 1e9,
        }
    }
}

/// The reason why a text is not the output of google-benchmark.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// There is no benchmark in it.
    #[error("no benchmark in it: `benchmarks` is empty")]
    Empty,
    /// A time is impossible.
    #[error(
        "benchmarks[{index}] ({name:?}): {field} is {value}; it must be a time from 0 to 584 years"
    )]
    Impossible {
        /// The place of the entry, from 0.
        index: usize,
        /// Its name.
        name: String,
        /// The name of the time.
        field: &'static str,
        /// Its value.
        value: String,
    },
    /// It is not JSON, or not of this shape.
    #[error("line {line}, column {column}: {what}")]
    Invalid {
        /// The line, from 1.
        line: usize,
        /// The column in that line.
        column: usize,
        /// The problem.
        what: String,
    },
}

#[derive(Deserialize)]
struct RawFile {
    #[serde(default)]
    context: Context,
    benchmarks: Vec<RawEntry>,
}

/// An entry as printed: versions differ in what they leave out.
#[derive(Deserialize)]
struct RawEntry {
    name: String,
    family_index: Option<u64>,
    per_family_instance_index: Option<u64>,
    run_name: Option<String>,
    #[serde(default)]
    run_type: RunType,
    repetitions: Option<u64>,
    repetition_index: Option<u64>,
    threads: Option<u64>,
    aggregate_name: Option<String>,
    aggregate_unit: Option<AggregateUnit>,
    #[serde(default)]
    error_occurred: bool,
    error_message: Option<String>,
    iterations: Option<u64>,
    real_time: Option<f64>,
    cpu_time: Option<f64>,
    #[serde(default)]
    time_unit: TimeUnit,
    label: Option<String>,
}

impl RawEntry {
    fn checked(self, index: usize) -> Result<Entry, ReadError> {
        let impossible = |field, value: Option<f64>| ReadError::Impossible {
            index,
            name: self.name.clone(),
            field,
            value: value.map_or_else(|| "missing".to_owned(), |value| format!("{value:?}")),
        };
        let possible = 0.0..=LONGEST_NS / factor(self.aggregate_unit, self.time_unit);
        let time = |field, value: Option<f64>| match value {
            Some(value) if possible.contains(&value) => Ok(value),
            None if self.error_occurred => Ok(0.0),
            Some(_) | None => Err(impossible(field, value)),
        };
        let real_time = time("real_time", self.real_time)?;
        let cpu_time = time("cpu_time", self.cpu_time)?;
        Ok(Entry {
            run_name: self.run_name.unwrap_or_else(|| self.name.clone()),
            name: self.name,
            family_index: self.family_index,
            per_family_instance_index: self.per_family_instance_index,
            run_type: self.run_type,
            repetitions: self.repetitions.unwrap_or(1),
            repetition_index: self.repetition_index,
            threads: self.threads.unwrap_or(1),
            aggregate_name: self.aggregate_name,
            aggregate_unit: self.aggregate_unit,
            error_occurred: self.error_occurred,
            error_message: self.error_message,
            iterations: self.iterations.unwrap_or(0),
            real_time,
            cpu_time,
            time_unit: self.time_unit,
            label: self.label,
        })
    }
}

/// The message of serde, without the position that it appends.
fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&position).unwrap_or(&text).to_owned()
}

/// The longest time, 584 years: records count whole nanoseconds in 64 bits.
#[expect(clippy::cast_precision_loss, reason = "a limit that may be rounded")]
const LONGEST_NS: f64 = u64::MAX as f64;

/// Aggregates that are not times: how the time grows with the argument, and the error of that fit.
const COMPLEXITY: [&str; 2] = ["BigO", "RMS"];
