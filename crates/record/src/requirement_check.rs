//! A required limit and the answer to it. The checks are in `requirements`.

use crate::Estimate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use spec::Requirement;

/// A required limit, held against a number of one row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RequirementCheck {
    /// The limit, e.g. `p99 < 20ms`.
    pub requirement: Requirement,
    /// The index of the workload.
    pub workload: usize,
    /// The number: times in nanoseconds, CPU times in microseconds, shares from 0 to 1; `null` if it is not known.
    pub number: Option<Estimate>,
    /// The answer.
    pub finding: Finding,
    /// The reason why it is unknown or invalid; `null` otherwise.
    pub reason: Option<String>,
}

/// The answer to a requirement; only [`Finding::Met`] passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// The number is within the limit.
    Met,
    /// It is not.
    NotMet,
    /// The number is not known, or hangs on too few messages.
    Unknown,
    /// The verdict says that the number is no result.
    Invalid,
}

impl RequirementCheck {
    /// True if the limit is within the 95 % interval of the number: more rounds may answer otherwise.
    pub fn is_close(&self) -> bool {
        let limit = self.requirement.limit();
        let interval = self.number.and_then(|number| number.low.zip(number.high));
        interval.is_some_and(|(low, high)| low <= limit && limit <= high)
    }
}
