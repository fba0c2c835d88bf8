//! One workload with all its measurements, and the way in which findings on its blocks become a reason.

use crate::{Block, Comparison, Level, Number, Reason, RunRecord, Summary, Workload};
use spec::Lifetime;
use std::collections::BTreeMap;

/// A workload and its blocks.
pub(super) struct Subject<'a> {
    pub(super) record: &'a RunRecord,
    /// The index of the workload in the plan.
    pub(super) index: usize,
    pub(super) workload: &'a Workload,
    /// The blocks that count, at least one.
    pub(super) blocks: Vec<&'a Block>,
}

/// A problem of a block.
pub(super) struct Finding {
    /// The severity; for a problem of some numbers, that of the worst of them.
    pub(super) level: Level,
    /// The numbers that it is about, as in [`Reason::numbers`].
    pub(super) numbers: Numbers,
    /// The larger, the worse.
    pub(super) weight: f64,
    /// The numbers that show it.
    pub(super) evidence: String,
}

/// Numbers, each with the severity of its problem; empty: all, with the same severity.
pub(super) type Numbers = BTreeMap<Number, Level>;

/// The name of a problem, and its fate where most blocks do not have it.
pub(super) struct Rule {
    pub(super) code: &'static str,
    pub(super) message: String,
    pub(super) advice: String,
    pub(super) outvoted: Outvoted,
}

/// The fate of a problem that fewer than half of the blocks share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outvoted {
    /// It is dropped: it is a property of those blocks.
    Dropped,
    /// It applies to the numbers that the messages of those blocks move among all messages.
    Shared,
    /// It is [`Level::Degraded`] at most.
    Softened,
    /// It is kept as it is.
    Never,
}

impl<'a> Subject<'a> {
    /// All workloads of `record` that have a block that counts.
    pub(super) fn all(record: &'a RunRecord) -> impl Iterator<Item = Self> {
        record.plan.workloads.iter().enumerate().filter_map(move |(index, workload)| {
            let counts = |block: &&Block| block.workload == index && block.failed.is_none();
            let blocks: Vec<&Block> = record.blocks.iter().filter(counts).collect();
            (!blocks.is_empty()).then_some(Self { record, index, workload, blocks })
        })
    }

    /// True if a third-party client sends. That it is busy, or pauses, is a property of that client and part of what is
    /// measured, not a limit of ours.
    pub(super) fn has_client(&self) -> bool {
        // In rooms it receives, and we send.
        self.workload.client.is_some() && self.workload.spec.load.rooms().is_none()
    }

    /// Connections that are open at a time.
    pub(super) fn connections(&self) -> u64 {
        self.workload.spec.load.connections().get().into()
    }

    pub(super) fn is_open(&self) -> bool {
        !self.workload.spec.load.is_closed()
    }

    /// Makes a reason out of what `find` finds on each block; the worst finding is its evidence.
    pub(super) fn reason(
        &self,
        rule: Rule,
        mut find: impl FnMut(&'a Block) -> Option<Finding>,
    ) -> Option<Reason> {
        let found: Vec<(&Block, Finding)> =
            self.blocks.iter().filter_map(|block| Some((*block, find(block)?))).collect();
        let badness = |one: &Finding, other: &Finding| {
            one.level.cmp(&other.level).then(one.weight.total_cmp(&other.weight))
        };
        let (block, worst) = found.iter().max_by(|one, other| badness(&one.1, &other.1))?;
        let (count, all) = (found.len(), self.blocks.len());
        let messages = |block: &Block| float(block.counts.ok);
        let moved: f64 = found.iter().map(|(block, it)| messages(block) * it.least_moved()).sum();
        let moved = moved / self.blocks.iter().map(|block| messages(block)).sum::<f64>().max(1.0);
        let is_moved = |number| moved >= least_moving(number).max(TAIL_MOVED);
        // Each number separately: the p99 may be in doubt on most blocks, and the p50 on one.
        let of_number = |number| {
            let levels = || found.iter().filter_map(|(_, finding)| finding.of(number));
            let worst = levels().max()?;
            let is_of_most = |level| levels().filter(|found| *found >= level).count() * 2 >= all;
            match rule.outvoted {
                Outvoted::Never => Some(worst),
                _ if is_of_most(worst) => Some(worst),
                Outvoted::Softened => Some(Level::Degraded),
                Outvoted::Shared if is_moved(number) => Some(Level::Degraded),
                Outvoted::Shared | Outvoted::Dropped => {
                    is_of_most(Level::Degraded).then_some(Level::Degraded)
                }
            }
        };
        let mut numbers: Numbers =
            Number::ALL.into_iter().filter_map(|it| Some((it, of_number(it)?))).collect();
        let level = numbers.values().copied().max()?;
        if numbers.len() == Number::ALL.len() && numbers.values().all(|it| *it == level) {
            numbers.clear();
        }
        let evidence = match all {
            1 => worst.evidence.clone(),
            // Rounds from 1, as people count.
            _ => format!(
                "on {count} of {all} blocks, the worst in round {}: {}",
                block.round.saturating_add(1),
                worst.evidence
            ),
        };
        Some(Reason {
            code: rule.code.to_owned(),
            level,
            workload: Some(self.index),
            numbers,
            message: rule.message,
            evidence,
            advice: rule.advice,
        })
    }
}

impl Finding {
    /// A problem of some numbers of a block; `None` without any.
    pub(super) fn of_some(numbers: Numbers, weight: f64, evidence: String) -> Option<Self> {
        let level = numbers.values().copied().max()?;
        Some(Self { level, numbers, weight, evidence })
    }

    /// The least share of the messages of its block that it moves, by the lowest percentile that it is about.
    fn least_moved(&self) -> f64 {
        let about = Number::ALL.into_iter().filter(|number| self.of(*number).is_some());
        about.map(least_moving).fold(0.0, f64::max)
    }

    /// The severity for `number`, if the problem is about it; the ratio is one of p50s.
    fn of(&self, number: Number) -> Option<Level> {
        let only = |number| self.numbers.get(&number).copied();
        match number {
            _ if self.numbers.is_empty() => Some(self.level),
            Number::Ratio => only(number).max(only(Number::P50)),
            Number::P50 | Number::P90 | Number::P99 | Number::Tail => only(number),
        }
    }

    /// Both together; numbers that only one of them is about have its severity.
    pub(super) fn and(self, other: Self) -> Self {
        let both =
            Number::ALL.into_iter().filter_map(|it| Some((it, self.of(it).max(other.of(it))?)));
        Self {
            level: self.level.max(other.level),
            numbers: both.collect(),
            weight: self.weight.max(other.weight),
            evidence: format!("{}; {}", self.evidence, other.evidence),
        }
    }
}

/// The share of all messages that moves the p99.9, the highest percentile on a page.
const TAIL_MOVED: f64 = 0.001;

/// The percentiles that a share of all messages moves, wherever in the distribution they belong: the highest first.
pub(super) fn moved_by(share: f64) -> impl Iterator<Item = Number> {
    let percentiles = [Number::Tail, Number::P99, Number::P90, Number::P50];
    percentiles.into_iter().filter(move |number| share >= least_moving(*number))
}

/// The least share of all messages that moves a number, wherever in the distribution they belong.
fn least_moving(number: Number) -> f64 {
    match number {
        Number::Tail => 0.0,
        Number::P99 => 0.01,
        Number::P90 => 0.1,
        Number::P50 | Number::Ratio => 0.5,
    }
}

/// The distribution that results are made of: response times of an open loop, lives of short-lived clients, round
/// trips of all others.
pub(super) fn headline<'a>(workload: &Workload, block: &'a Block) -> Option<&'a Summary> {
    match (&block.open_loop, workload.spec.load.lifetime()) {
        (Some(times), _) => times.response.as_ref(),
        (None, Lifetime::RoundTrips(_)) => block.phases.life.as_ref(),
        (None, Lifetime::Long) => block.round_trip.as_ref(),
    }
}

/// `p50 10.0 % lower [5.0 %, 15.0 %]`: a number relative to that of the baseline.
pub(super) fn evidence(name: &str, ratio: &Comparison) -> String {
    let off = |at: f64| percent((at - 1.0).abs());
    let word = if ratio.ratio < 1.0 { "lower" } else { "higher" };
    let ends = ratio.low.zip(ratio.high).map(|(low, high)| match word {
        "lower" => format!(" [{}, {}]", off(high), off(low)),
        _ => format!(" [{}, {}]", off(low), off(high)),
    });
    format!("{name} {} {word}{}", off(ratio.ratio), ends.unwrap_or_default())
}

/// `3.1 %`, from a fraction of one.
pub(super) fn percent(fraction: f64) -> String {
    match fraction * 100.0 {
        small if small.abs() < 0.1 => format!("{small:.2} %"),
        percent => format!("{percent:.1} %"),
    }
}

/// `part` as a fraction of `whole`; 0 if `whole` is 0.
pub(super) fn fraction(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { float(part) / float(whole) }
}

/// A count in a formula.
#[expect(clippy::cast_precision_loss, reason = "exact below 2^53")]
pub(super) fn float(count: u64) -> f64 {
    count as f64
}
