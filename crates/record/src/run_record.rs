//! The whole record.

use crate::{
    Added, Against, Block, Drift, Environment, Lab, Plan, Precision, RequirementCheck, Sides,
    Sweep, Verdict, WorkloadResult,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// All that a run leaves behind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunRecord {
    /// The version of the format; only a change that an old reader would misread raises it.
    pub schema_version: u32,
    /// The program that measured.
    pub tool: Tool,
    /// Its arguments, without the program's own name and without secrets: values of headers and passwords of URLs are
    /// cut out.
    pub command_line: Vec<String>,
    /// The start of the run: RFC 3339, UTC.
    pub started_at: String,
    /// Its duration in all, from start to end of the program's work.
    pub duration_ns: u64,
    /// The kind of measurement.
    pub kind: Kind,
    /// The end of the run.
    pub ended: Ended,
    /// The machine.
    pub environment: Environment,
    /// The commit that was checked out in the user's repository that the run was started in; `null` where there is
    /// none. Uncommitted changes do not show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// The experiment as it was asked for, with everything resolved; `null` in records that do not hold enough of it.
    #[serde(default)]
    pub spec: Option<spec::Experiment>,
    /// The plan, every default resolved.
    pub plan: Plan,
    /// The blocks, in the order of time.
    pub blocks: Vec<Block>,
    /// The results of each workload, across its blocks.
    pub results: Vec<WorkloadResult>,
    /// The cost of layers: of each of [`Plan::layers`] whose two workloads share a round.
    #[serde(default)]
    pub added: Vec<Added>,
    /// Goals of precision and how far they were reached; empty where there were none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub precision: Vec<Precision>,
    /// Trends of numbers over the blocks of each workload; empty where there are too few blocks for one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drifts: Vec<Drift>,
    /// The earlier record that limits are relative to; `null` where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<Against>,
    /// Required limits, each held against the number of every row; empty where there were none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requirements: Vec<RequirementCheck>,
    /// Two servers that took turns, and by which numbers they differ; `null` for any other measurement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sides: Option<Sides>,
    /// Steps of load and where they bend; `null` unless it is a sweep.
    #[serde(default)]
    pub sweep: Option<Sweep>,
    /// The question that third-party programs were measured for; `null` unless it is a lab.
    #[serde(default)]
    pub lab: Option<Lab>,
    /// The trust in the numbers; `null` in records from before there was a verdict.
    #[serde(default)]
    pub verdict: Option<Verdict>,
    /// Causes that explain numbers, for the user.
    pub warnings: Vec<Warning>,
    /// The answer in one sentence, if there is one.
    pub conclusion: Option<String>,
}

/// The program that measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Its version, as in its package.
    pub version: String,
    /// The commit that it was built from, if known.
    pub commit: Option<String>,
}

/// The kind of measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The same echo over every transport, side by side.
    Ladder,
    /// Two servers that took turns, one compared with the other.
    Ab,
    /// One target.
    Run,
    /// Steps of load, on one target or several.
    Sweep,
    /// Third-party servers and client libraries, side by side.
    Lab,
    /// Numbers read from what another program measured: nothing that this one checks was checked.
    Imported,
    /// Something that this version does not know.
    #[serde(other)]
    Other,
}

impl Kind {
    /// Its name in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ab => "ab",
            Self::Imported => "imported",
            Self::Lab => "lab",
            Self::Ladder => "ladder",
            Self::Other => "other",
            Self::Run => "run",
            Self::Sweep => "sweep",
        }
    }
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum Ended {
    /// All was measured as planned.
    Completed,
    /// A signal ended it; what was measured until then is here.
    Interrupted {
        /// Its number, e.g. 2 for SIGINT.
        signal: i32,
    },
    /// Something was lost on the way.
    Partial {
        /// The loss.
        reason: String,
    },
}

/// Something that the user should know: it explains numbers, and is no reason to doubt them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Warning {
    /// A stable name for programs, e.g. `shared_cores`.
    pub code: String,
    /// The problem, for people.
    pub message: String,
    /// The numbers that show it.
    pub evidence: String,
    /// The next thing to do.
    pub advice: String,
}

/// The version of the record's format. Additions do not raise it; what an old reader would misread does.
pub const SCHEMA_VERSION: u32 = 2;
