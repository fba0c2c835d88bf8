//! A lab: programs that others wrote, servers and client libraries, set beside each other and a bare TCP socket.

use crate::{Missing, Summary};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use spec::{LeftOut, Published, View};

/// What a lab asked, and what could not be answered. Its numbers are those of the record's workloads and blocks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Lab {
    /// What it is to answer.
    pub question: String,
    /// What its page shows besides the table.
    pub views: Vec<View>,
    /// What others published; `null` where this repeats nobody's test.
    pub published: Option<Published>,
    /// What was asked for and is not among the workloads.
    pub left_out: Vec<LeftOut>,
    /// What subjects need to be shipped; of those that were looked at.
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
    /// Whether it runs as it comes.
    pub class: Class,
    /// Every option that is not the default, in words.
    pub options: Vec<String>,
    /// How it was warmed up, once, before its first block; `null`: not besides what each block has.
    pub warm_up: Option<WarmUp>,
}

/// Whether a subject runs as it comes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// As its documentation shows it first.
    #[default]
    Default,
    /// With options that make it faster.
    Tuned,
}

/// How a subject that compiles while it runs was brought to its speed: driven in short windows until its throughput
/// rose no more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WarmUp {
    /// How long that took.
    pub took_ns: u64,
    /// How many windows there were.
    pub windows: u32,
    /// Messages a second in the first of them.
    pub first_per_s: f64,
    /// And in the last.
    pub last_per_s: f64,
    /// Whether throughput had stopped to rise; if not, the time for it was over.
    pub is_steady: bool,
}

/// What a client subject said of a block, in its own words and by its own clocks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClientReport {
    /// Wall time of its measured window.
    pub wall_ns: u64,
    /// CPU time of its process in that window, user and system.
    pub cpu_ns: Option<u64>,
    /// CPU time of its processes in that window by our own reading of the kernel's accounting.
    pub cpu_seen_ns: Option<u64>,
    /// From the start of a connection until it was usable, where the library does not know the parts of that.
    #[serde(default)]
    pub open: Option<Summary>,
    /// What google-benchmark printed, where that ran it.
    pub google_benchmark: Option<GoogleBenchmark>,
}

/// A result as google-benchmark has it: means over iterations.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GoogleBenchmark {
    /// The benchmark's name.
    pub name: String,
    /// How many iterations.
    pub iterations: u64,
    /// Mean wall time of an iteration.
    pub real_time_ns: f64,
    /// Mean CPU time of an iteration.
    pub cpu_time_ns: f64,
}

/// What a subject needs to be shipped, measured on this machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Footprint {
    /// The name of the subject.
    pub subject: String,
    /// The library, with its version.
    pub library: String,
    /// What brings it: `apt`, `npm`, `pip`, `Maven`, `Go`, `Cargo`.
    pub from: String,
    /// How many packages are needed, itself among them, with all that they need.
    pub packages: Option<u64>,
    /// How many bytes they come to when installed.
    pub installed_bytes: Option<u64>,
    /// How many bytes are fetched for it.
    pub download_bytes: Option<u64>,
    /// What every program of that language needs, so that it is not the library's: within the two above.
    pub floor_bytes: Option<u64>,
    /// The size of the built program.
    pub program_bytes: Option<u64>,
    /// Wall time of a build from clean, with everything fetched before.
    pub build_ns: Option<u64>,
    /// Why something is `null`.
    #[serde(default)]
    pub missing: Missing,
}
