//! The earlier record that requirements are relative to.

use crate::{Level, Reason};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The baseline of a run: an earlier record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Against {
    /// The file of the baseline, as it was named.
    pub file: String,
    /// The start of its run.
    pub started_at: String,
    /// The version of the program that measured it.
    pub tool_version: String,
    /// The differences of the two that change results; without [`Against::allows_different`] no ratio stands beside
    /// one.
    pub differences: Vec<Reason>,
    /// True if they may be compared in spite of their differences.
    pub allows_different: bool,
}

impl Against {
    /// The differences that forbid every ratio; with an index, those that forbid the ratio of that workload.
    pub fn forbidding(&self, workload: Option<usize>) -> impl Iterator<Item = &Reason> {
        let is_about = move |reason: &&Reason| match (workload, reason.workload) {
            (Some(workload), Some(about)) => workload == about,
            (Some(_) | None, None) | (None, Some(_)) => true,
        };
        let is_forbidden = |reason: &&Reason| reason.level == Level::Invalid;
        let all = self.differences.iter().filter(|_| !self.allows_different);
        all.filter(is_forbidden).filter(is_about)
    }
}
