//! A lab: programs that others wrote, servers and client libraries, set beside each other and a bare TCP socket.

use crate::{Missing, Summary};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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

/// Something that a lab's page shows besides the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum View {
    /// Wall time and CPU time of a round trip as google-benchmark prints them: mean, median and standard deviation.
    Benchmark,
    /// What each subject needs to be shipped.
    Footprint,
    /// The lives of short-lived clients: least, mean and most, with their phases apart.
    Life,
    /// Memory of the server, by connections.
    Memory,
    /// Wall time by messages beside the true round trip.
    WallPerMessage,
    /// Something that this version does not know.
    #[serde(other)]
    Other,
}

/// A subject that is left out, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// Its name, or what in the file named it.
    pub name: String,
    /// Why: not installed, no such transport, not verified.
    pub reason: String,
}

/// Figures and statements that others published.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Published {
    /// Whose, of what and when.
    pub source: String,
    /// In the order of the publication.
    pub rows: Vec<PublishedRow>,
    /// What an honest reading adds, a sentence each.
    pub notes: Vec<String>,
    /// Statements about the lines of a sweep.
    #[serde(default)]
    pub claims: Vec<Claim>,
}

/// A published statement about the lines of a sweep. It holds where a number of the record is within its bounds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Claim {
    /// Its subject, e.g. `The knee`.
    pub about: String,
    /// The statement as it was published.
    pub published: String,
    /// The number that decides it.
    pub measure: ClaimMeasure,
    /// The name of the line that it is about.
    pub line: String,
    /// The name of the line that it compares that one with; `null`: it is about one line.
    pub to: Option<String>,
    /// The load at which the number is taken; `null` where it is of all loads.
    pub at_per_s: Option<f64>,
    /// Closed loop: the pause of a bot after a reply.
    pub pause_ms: Option<f64>,
    /// The least number with which it holds.
    pub min: Option<f64>,
    /// The largest.
    pub max: Option<f64>,
    /// What an honest reading adds, in a sentence.
    pub note: Option<String>,
}

/// The number that decides a [`Claim`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClaimMeasure {
    /// Bytes of an event on the line by those on the other, at a load that both carried.
    Bytes,
    /// The share of the load that bots take off by waiting for replies before they pause; true by arithmetic.
    ClosedLoop,
    /// The slope at which idle CPU time falls on the line, by that on the other.
    Idle,
    /// The knee of the line by that of the other.
    Knee,
    /// The 99th percentile of response times in ms, the larger one of both lines.
    Response,
    /// The largest difference in throughput at loads that both lines carried, as a share.
    Throughput,
    /// Something that this version does not know.
    #[default]
    #[serde(other)]
    Other,
}

/// One published row; what it does not have is `null`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PublishedRow {
    /// As it was called there.
    pub name: String,
    /// The name of the workload that is its counterpart here.
    pub here: Option<String>,
    /// Wall time of the whole run by messages.
    pub wall_per_message_us: Option<f64>,
    /// The shortest life of a client.
    pub life_min_ms: Option<f64>,
    /// Its mean.
    pub life_mean_ms: Option<f64>,
    /// The longest.
    pub life_max_ms: Option<f64>,
    /// Mean wall time of a round trip.
    pub wall_us: Option<f64>,
    /// The standard deviation of that over repetitions.
    pub wall_stddev_us: Option<f64>,
    /// CPU time of the client for a round trip.
    pub cpu_us: Option<f64>,
    /// By how much that is more than the bare socket.
    pub ratio: Option<f64>,
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
