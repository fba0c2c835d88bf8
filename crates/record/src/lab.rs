//! A lab: programs that others wrote, servers and client libraries, set beside each other and a bare TCP socket.

use crate::{Missing, Summary};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use spec::{LeftOut, Published, View};

/// The question of a lab, and what could not be answered. Its numbers are those of the record's workloads and blocks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Lab {
    /// The question that it is to answer.
    pub question: String,
    /// The views that its page shows besides the table.
    pub views: Vec<View>,
    /// The published results of others; `null` where this repeats nobody's test.
    pub published: Option<Published>,
    /// Rows that were requested and are not among the workloads.
    pub left_out: Vec<LeftOut>,
    /// The size of subjects when shipped, of those that were measured.
    pub footprints: Vec<Footprint>,
}

/// A program that is measured: a server, or a client library with what little drives it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Subject {
    /// Its name, that of its folder.
    pub name: String,
    /// The language that it is written in.
    pub language: String,
    /// The library that it is about.
    pub library: String,
    /// The version that its manifest pins.
    pub version: String,
    /// The version that it says to be; `null` if it does not say.
    pub version_found: Option<String>,
    /// The licence of the library, as SPDX has it.
    pub licence: String,
    /// The effort that its configuration took.
    pub class: Class,
    /// Every option that is not the default, in words.
    pub options: Vec<String>,
    /// Its warm-up, once before its first block; `null` if it had none besides that of each block.
    pub warm_up: Option<WarmUp>,
}

/// The effort that a subject's configuration took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// The configuration that its documentation shows first.
    #[default]
    Default,
    /// A configuration with options that make it faster.
    Tuned,
}

/// The warm-up of a subject that compiles while it runs: it is driven in short windows until its throughput stops to
/// rise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WarmUp {
    /// The time that it took.
    pub took_ns: u64,
    /// The number of windows.
    pub windows: u32,
    /// Messages a second in the first of them.
    pub first_per_s: f64,
    /// And in the last.
    pub last_per_s: f64,
    /// True if throughput stopped to rise; else the time for it was over.
    pub is_steady: bool,
}

/// A client subject's report of a block, in its own words and by its own clocks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClientReport {
    /// Wall time of its measured window.
    pub wall_ns: u64,
    /// CPU time of its process in that window, user and system.
    pub cpu_ns: Option<u64>,
    /// CPU time of its processes in that window by our own reading of the kernel's accounting.
    pub cpu_seen_ns: Option<u64>,
    /// Time from the start of a connection until it was usable, where the library does not know the parts of that.
    #[serde(default)]
    pub open: Option<Summary>,
    /// The output of google-benchmark, where that ran the client.
    pub google_benchmark: Option<GoogleBenchmark>,
}

/// A result as google-benchmark has it: means over iterations.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GoogleBenchmark {
    /// The benchmark's name.
    pub name: String,
    /// The number of iterations.
    pub iterations: u64,
    /// Mean wall time of an iteration.
    pub real_time_ns: f64,
    /// Mean CPU time of an iteration.
    pub cpu_time_ns: f64,
}

/// The size of a subject when shipped, measured on this machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Footprint {
    /// The name of the subject.
    pub subject: String,
    /// The library, with its version.
    pub library: String,
    /// The installer: `apt`, `npm`, `pip`, `Maven`, `Go`, `Cargo`.
    pub from: String,
    /// The number of packages that are needed, itself among them, with all that they need.
    pub packages: Option<u64>,
    /// Their bytes when installed.
    pub installed_bytes: Option<u64>,
    /// The bytes that are fetched for it.
    pub download_bytes: Option<u64>,
    /// The bytes that every program of that language needs, so that they are not the library's: within the two above.
    pub floor_bytes: Option<u64>,
    /// The size of the built program.
    pub program_bytes: Option<u64>,
    /// Wall time of a build from clean, with everything fetched before.
    pub build_ns: Option<u64>,
    /// The reason why a field is `null`, under its name.
    #[serde(default)]
    pub missing: Missing,
}
