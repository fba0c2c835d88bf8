//! The end of an experiment with precision goals: they are reached, or their time budget is used up.

use crate::Plan;
use crate::plan_record;
use crate::results::Kept;
use crate::setup::SetUp;
use record::Block;
use spec::Until;
use stats::precision;
use units::Instant;

/// The goals of an experiment, checked after each block.
pub(crate) struct Enough<'a> {
    pub(crate) plan: &'a Plan,
    /// The measurements of each round.
    pub(crate) order: &'a [Vec<usize>],
}

impl Enough<'_> {
    /// True if a round has ended and no other is to begin: either every goal is reached, checked only after rounds that
    /// [`precision::is_look`] selects, or the next round would end after the budget. False without goals.
    pub(crate) fn is_reached(&self, kept: &[Kept], set_up: &SetUp, now: Instant) -> bool {
        let Some(Until { goals, budget }) = &self.plan.experiment.until else { return false };
        let blocks: usize = kept.len();
        let rounds = blocks / self.plan.measurements.len().max(1);
        if !blocks.is_multiple_of(self.plan.measurements.len().max(1)) {
            return false;
        }
        let is_late = now + self.plan.experiment.round_time() > Instant::START + *budget;
        if rounds >= precision::ROUNDS_MIN && is_late {
            return true;
        }
        if !precision::is_look(rounds) {
            return false;
        }
        let plan = plan_record::plan(self.plan, self.order, set_up);
        let blocks: Vec<Block> = kept.iter().map(|kept| kept.block.clone()).collect();
        record::precisions(&plan, &blocks, goals).iter().all(|goal| goal.is_reached)
    }
}
