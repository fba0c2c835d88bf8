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
    /// The number beside that of the baseline; `null` unless the limit is relative, and where there is no ratio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relative: Option<Relative>,
    /// The answer.
    pub finding: Finding,
    /// The reason why it is unknown or invalid; `null` otherwise.
    pub reason: Option<String>,
}

/// A number beside the same of the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Relative {
    /// The number of the baseline.
    pub baseline: f64,
    /// The number divided by that of the baseline, with its 95 % interval; the change of the machine is taken out where
    /// it is known.
    pub ratio: Estimate,
    /// The change of a row that both records have unchanged, which is that of the machine; `null`: there is no such
    /// row, and it is part of the ratio. Two sides that took turns need none: the machine met both alike.
    pub machine: Option<f64>,
}

/// The answer to a requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// The number is within the limit.
    Met,
    /// The noise of a ratio is larger than the margin of its limit, and either answer lies within it; or the change of
    /// the machine is part of the ratio.
    Noisy,
    /// The number is not within the limit.
    NotMet,
    /// The number is not known, or depends on too few messages.
    Unknown,
    /// The verdict says that the number is not a valid result.
    Invalid,
}

/// The answer to all requirements of a record together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Required {
    /// All pass.
    Met,
    /// A number is worse than the baseline allows, beyond noise.
    Regressed,
    /// A number is not within a limit of its own, or not known well enough.
    NotMet,
    /// A number is no result.
    Invalid,
}

impl RequirementCheck {
    /// True if the limit is within the 95 % interval of the number that it applies to: more rounds may change the
    /// answer.
    pub fn is_close(&self) -> bool {
        let limit = self.requirement.limit();
        let held = match self.requirement.factor() {
            Some(_) => self.relative.map(|relative| relative.ratio),
            None => self.number,
        };
        let interval = held.and_then(|number| number.low.zip(number.high));
        interval.is_some_and(|(low, high)| low <= limit && limit <= high)
    }

    /// The contribution of this answer to that of all requirements; with `is_strict`, noise passes nothing.
    pub fn required(&self, is_strict: bool) -> Required {
        match self.finding {
            Finding::Noisy if is_strict => Required::NotMet,
            Finding::Met if is_strict && self.requirement.factor().is_none() && self.is_close() => {
                Required::NotMet
            }
            Finding::Met | Finding::Noisy => Required::Met,
            Finding::NotMet if self.requirement.factor().is_some() => Required::Regressed,
            Finding::NotMet | Finding::Unknown => Required::NotMet,
            Finding::Invalid => Required::Invalid,
        }
    }
}
