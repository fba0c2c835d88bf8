//! Goals of precision, checked against the blocks that were measured.

use crate::pooling::{figure, pooled};
use crate::{Block, Plan};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use spec::Goal;
use stats::precision;
use std::collections::BTreeSet;

/// A goal of precision, and how far it was reached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Precision {
    /// The goal, e.g. `p99 within 3%`.
    pub goal: Goal,
    /// The index of the workload.
    pub workload: usize,
    /// The index of the workload that it is compared with: the number is the ratio of the two; `null`: its own number.
    pub base: Option<usize>,
    /// The rounds that were measured.
    pub rounds: usize,
    /// The half of the 95 % interval, as a share of the number; `null` if there is no interval.
    pub half_width_fraction: Option<f64>,
    /// True if that is at most what the goal names.
    pub is_reached: bool,
    /// The rounds that it takes in all, about; `null` if that is not known. It falls with the square root of rounds.
    pub rounds_needed: Option<usize>,
}

/// Checks each goal for each workload of `plan`, except mere baselines.
pub fn precisions(plan: &Plan, blocks: &[Block], goals: &[Goal]) -> Vec<Precision> {
    if goals.is_empty() {
        return Vec::new();
    }
    let rounds = blocks.iter().map(|block| block.round + 1).max().unwrap_or(0);
    let of_all: Vec<_> =
        (0..plan.workloads.len()).map(|index| pooled(plan, blocks, index)).collect();
    let mut all = Vec::new();
    for workload in rows(plan) {
        let numbers = &of_all[workload];
        let base = plan.base_of(workload);
        let of_base = base.map(|base| &of_all[base]);
        for goal in goals {
            let number = figure(numbers, goal.metric);
            let number = match of_base {
                None => number.cloned(),
                Some(base) => {
                    number.zip(figure(base, goal.metric)).map(|(one, base)| one.over(base))
                }
            };
            let half_width_fraction = number.and_then(|number| number.half_width());
            let wanted = goal.within.fraction();
            all.push(Precision {
                goal: *goal,
                workload,
                base,
                rounds,
                half_width_fraction,
                is_reached: half_width_fraction.is_some_and(|half| half <= wanted),
                rounds_needed: half_width_fraction
                    .map(|half| precision::rounds_needed(rounds, half, wanted)),
            });
        }
    }
    all
}

/// The workloads that goals and requirements apply to: all but mere baselines, which are compared with nothing
/// themselves.
pub(crate) fn rows(plan: &Plan) -> impl Iterator<Item = usize> {
    let all = 0..plan.workloads.len();
    let bases: BTreeSet<usize> = all.clone().filter_map(|index| plan.base_of(index)).collect();
    let is_row = move |index: &usize| plan.base_of(*index).is_some() || !bases.contains(index);
    all.filter(is_row)
}
