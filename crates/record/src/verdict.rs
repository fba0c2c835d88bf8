//! Whether the numbers of a record may be believed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether the numbers may be believed, with every reason why not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// The worst of the reasons' levels.
    pub level: Level,
    /// Why, the worst first.
    pub reasons: Vec<Reason>,
}

/// How far numbers may be believed.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// They say what they seem to say.
    #[default]
    Trusted,
    /// They say less than they seem to; the reasons say what.
    Degraded,
    /// They are no result.
    Invalid,
}

/// A reason for doubt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reason {
    /// A stable name for programs, e.g. `generator_bound`.
    pub code: String,
    /// How bad it is.
    pub level: Level,
    /// The index of the workload that it is about; `null`: the whole run.
    pub workload: Option<usize>,
    /// What is wrong, for people.
    pub message: String,
    /// The numbers that show it.
    pub evidence: String,
    /// What to do next.
    pub advice: String,
}
