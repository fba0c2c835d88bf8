//! A row that is faster than its baseline at the median and still answers fewer messages a second.
//!
//! In a closed loop the messages in flight are throughput times mean round trip (Little's law). Under the same load,
//! fewer messages a second therefore mean a longer mean round trip: most messages gained, and a few paid for it, for
//! example because a server works through what some connections sent before it turns to the others.

use super::machine::{headline_of, result};
use super::subject::{Numbers, Subject, evidence, float, headline};
use crate::{Block, Comparison, Level, Number, Reason, Workload};

/// A row of a closed loop whose p50 and throughput are both shown to be below those of its baseline.
///
/// Both are driven by our own client under the same load. The row's mean round trip has to be longer too: a row that
/// opened fewer connections has a lower throughput for another reason.
pub(super) fn judge(subject: &Subject<'_>) -> Option<Reason> {
    let plan = &subject.record.plan;
    let base = plan.base_of(subject.index)?;
    let base_workload = &plan.workloads[base];
    let is_alike = !subject.is_open() && is_loaded_alike(subject.workload, base_workload);
    let result = result(subject).filter(|_| is_alike)?;
    let ratios = result.to_baseline.as_ref()?;
    let is_below = |ratio: &&Comparison| ratio.high.is_some_and(|high| high < 1.0);
    let p50 = headline_of(subject, ratios).filter(is_below)?;
    let throughput = ratios.messages_per_s.as_ref().filter(is_below)?;
    let mean = mean_ns(subject.workload, subject.blocks.iter().copied())?;
    let of_base = subject.record.blocks.iter();
    let base_mean = mean_ns(base_workload, of_base.filter(|block| block.workload == base))?;
    let mut shown = vec![
        evidence("p50", p50),
        evidence("throughput", throughput),
        format!("mean {:.2}x", mean / base_mean),
    ];
    shown.extend(ratios.round_trip_p99_ns.as_ref().map(|p99| format!("p99 {:.2}x", p99.ratio)));
    (mean > base_mean).then(|| Reason {
        code: "uneven".to_owned(),
        level: Level::Degraded,
        workload: Some(subject.index),
        numbers: Numbers::from([
            (Number::P50, Level::Degraded),
            (Number::Ratio, Level::Degraded),
        ]),
        message: "its p50 is below that of its baseline, but it answers fewer messages a second: its mean is longer, \
                  because some messages or connections are served at the expense of others"
            .to_owned(),
        evidence: format!("{}, against {}", shown.join(", "), base_workload.name()),
        advice: "do not call it faster for its p50: read its mean, its p99 and its messages a second, or measure it \
                 at a fixed rate (--rate)"
            .to_owned(),
    })
}

/// True if our own client sends to both under the same load, in the same way.
pub(super) fn is_loaded_alike(row: &Workload, base: &Workload) -> bool {
    let (one, other) = (&row.spec, &base.spec);
    (one.client.is_none() && other.client.is_none())
        && (&one.load, one.threads, one.busy_poll) == (&other.load, other.threads, other.busy_poll)
}

/// The mean of the times that results are made of, over all blocks that did not fail; `None` without any.
fn mean_ns<'a>(workload: &Workload, blocks: impl Iterator<Item = &'a Block>) -> Option<f64> {
    let times = blocks
        .filter(|block| block.failed.is_none())
        .filter_map(|block| headline(workload, block))
        .map(|times| (times.mean_ns * float(times.count), float(times.count)));
    let (sum, count) = times.fold((0.0, 0.0), |all, it| (all.0 + it.0, all.1 + it.1));
    (count > 0.0).then(|| sum / count)
}
