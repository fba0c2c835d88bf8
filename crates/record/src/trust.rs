//! The verdict of a record: levels of trust, and reasons for doubt. The judge is in `verdict`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The trust in the numbers of a record, with every reason for doubt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// The worst of the reasons' levels.
    pub level: Level,
    /// The reasons, the worst first.
    pub reasons: Vec<Reason>,
}

/// The trust in numbers.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// They mean what they seem to mean.
    #[default]
    Trusted,
    /// They mean less than they seem to, for the reasons given.
    Degraded,
    /// They are no result.
    Invalid,
}

/// A reason for doubt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reason {
    /// A stable name for programs, e.g. `generator_bound`.
    pub code: String,
    /// The severity.
    pub level: Level,
    /// The index of the workload that it is about; `null`: the whole run.
    pub workload: Option<usize>,
    /// The problem, for people.
    pub message: String,
    /// The numbers that show it.
    pub evidence: String,
    /// The next thing to do.
    pub advice: String,
}
