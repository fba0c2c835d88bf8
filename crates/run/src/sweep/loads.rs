//! The description of a sweep, and each of its lines at a load.

use crate::plan::Measurement;
use spec::{Axis, Experiment};
use stats::knee::Range;

/// The description of a sweep.
#[derive(Clone, Copy)]
pub(super) struct Sweep<'a> {
    pub(super) experiment: &'a Experiment,
    pub(super) axis: &'a Axis,
}

impl Sweep<'_> {
    /// The range of loads to search.
    pub(super) fn range(&self) -> Range {
        let Axis { from, to, factor, .. } = *self.axis;
        Range { from, to, factor }
    }

    /// A line at `load`, derived from `first`, the same line at the first load. No wait for a peer is longer than the
    /// budget.
    pub(super) fn at(
        &self,
        line: usize,
        load: u64,
        first: &Measurement,
    ) -> Result<Measurement, String> {
        let lines = &self.experiment.workloads;
        let spec =
            self.axis.at(&lines[line], load, lines.len()).map_err(|problem| problem.to_string())?;
        let mut at = first.at(spec).map_err(|problem| problem.to_string())?;
        at.workload.timeouts = at.workload.timeouts.at_most(self.axis.budget);
        Ok(at)
    }
}
