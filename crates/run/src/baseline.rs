//! The earlier record that a run is compared with.

use crate::RunError;
use record::{Against, RunRecord, incomparable};

/// An earlier record that a run is compared with.
#[derive(Clone, Debug)]
pub struct Baseline {
    /// The file of the record, as the user named it.
    pub file: String,
    /// The record.
    pub record: RunRecord,
    /// True if the two may be compared despite differences that change results.
    pub allows_different: bool,
}

impl Baseline {
    /// The part of a record that names it.
    pub(crate) fn named(&self) -> Against {
        Against {
            file: self.file.clone(),
            started_at: self.record.started_at.clone(),
            tool_version: self.record.tool.version.clone(),
            differences: Vec::new(),
            allows_different: self.allows_different,
        }
    }

    /// The same with the differences from `record`.
    pub(crate) fn against(&self, record: &RunRecord) -> Against {
        Against { differences: incomparable(&self.record, record), ..self.named() }
    }

    /// Checks, from what is known before its first block, that a run may be compared with it.
    ///
    /// # Errors
    ///
    /// [`RunError::Incomparable`], with all differences that forbid it.
    pub(crate) fn check(&self, frame: &RunRecord) -> Result<(), RunError> {
        let against = self.against(frame);
        let differences: Vec<String> = against
            .forbidding(None)
            .map(|reason| {
                let row = reason.workload.and_then(|index| frame.plan.workloads.get(index));
                let of = row.map_or_else(String::new, |row| format!(" of {}", row.name()));
                let what = reason.message.trim_start_matches("the two differ in: ");
                format!("{what}{of} ({})", reason.evidence)
            })
            .collect();
        if differences.is_empty() {
            return Ok(());
        }
        Err(RunError::Incomparable { file: self.file.clone(), differences })
    }
}
