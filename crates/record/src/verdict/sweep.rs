//! The reasons for doubt in a sweep, whose steps are dozens of workloads: each reason once, and none for the overload
//! that a sweep looks for.

use super::question;
use crate::{Knee, Level, Number, Reason, RowVerdict, Sweep, SweepStep};

/// A step that offers more than is carried is the purpose of a sweep.
const SOUGHT: [&str; 2] = ["asked_not_achieved", "unanswered"];
/// The reasons why a load may not have been carried although the server could have: the effects of an overload on
/// messages are not among them.
const NOT_OF_SERVER: [&str; 5] =
    ["agent_lost", "agent_not_trusted", "generator_bound", "generator_stalled", "noisy_machine"];
/// Impossible on any step.
const IMPOSSIBLE: &str = "impossible";

/// The reasons of the steps that were carried, each once with the worst of its steps; a reason that is invalid on fewer
/// than half of them degrades.
pub(super) fn summed(reasons: Vec<Reason>, sweep: &Sweep) -> Vec<Reason> {
    let carried: Vec<&SweepStep> =
        sweep.steps.iter().filter(|step| is_carried(sweep, step)).collect();
    let mut summed: Vec<(Reason, usize, usize)> = Vec::new();
    for reason in reasons {
        let step = carried.iter().find(|step| reason.workload == Some(step.workload));
        let is_about_it = step.is_some() || reason.workload.is_none() || reason.code == IMPOSSIBLE;
        if !is_about_it || SOUGHT.contains(&&reason.code[..]) {
            continue;
        }
        let invalid = usize::from(reason.level == Level::Invalid);
        match summed.iter_mut().find(|(known, ..)| known.code == reason.code) {
            Some((known, count, invalids)) => {
                (*count, *invalids) = (*count + 1, *invalids + invalid);
                if reason.level > known.level {
                    *known = reason;
                }
            }
            None => summed.push((reason, 1, invalid)),
        }
    }
    let finish = |(mut reason, count, invalid): (Reason, usize, usize)| {
        if reason.workload.is_some() && reason.code != IMPOSSIBLE && invalid * 2 < carried.len() {
            reason.level = Level::Degraded;
        }
        if count > 1 {
            reason.evidence += &format!("; {} more steps are like it", count - 1);
        }
        reason
    };
    summed.into_iter().map(finish).collect()
}

/// Fills in the trust in the steps, in the knees and in the capacities.
pub(super) fn judge(sweep: &mut Sweep, mut reasons: Vec<Reason>) {
    reasons.retain(|reason| !SOUGHT.contains(&&reason.code[..]));
    for step in &mut sweep.steps {
        step.level = RowVerdict::of(&reasons, step.workload).worst();
    }
    // A knee is made of counts: times that are late through our fault cast doubt on it, and no more.
    let mut of_counts = reasons.clone();
    for reason in of_counts.iter_mut().filter(|it| NOT_OF_SERVER.contains(&&it.code[..])) {
        let levels = reason.numbers.values_mut().chain([&mut reason.level]);
        levels.for_each(|level| *level = Level::Degraded.min(*level));
    }
    let objective = question::objective(sweep).unwrap_or(Number::P50);
    for (index, line) in sweep.lines.iter_mut().enumerate() {
        let steps: Vec<&SweepStep> = sweep.steps.iter().filter(|it| it.line == index).collect();
        line.level = match line.knee {
            Knee::Found { low_per_s, .. } => trust(&steps, low_per_s, Number::P50, &of_counts),
            Knee::NotReached { offered_max_per_s: most, .. } => {
                // What bent above that was not the server, and is not part of the answer.
                let up_to = steps.partition_point(|step| is_within(step, most));
                trust(&steps[..up_to], most, Number::P50, &of_counts)
            }
        };
        if let Some(capacity) = &mut line.capacity {
            capacity.level = trust(&steps, capacity.offered_per_s, objective, &reasons);
        }
    }
}

/// The trust in `load` as the largest that was carried: the trust in `number` at the last of `steps` up to it, and in
/// what the next step says about the server.
fn trust(steps: &[&SweepStep], load: f64, number: Number, reasons: &[Reason]) -> Level {
    let up_to = steps.partition_point(|step| is_within(step, load));
    let carried = up_to
        .checked_sub(1)
        .map(|last| RowVerdict::of(reasons, steps[last].workload).of_number(number));
    let next = steps.get(up_to).map(|step| {
        let is_other = |reason: &&Reason| NOT_OF_SERVER.contains(&&reason.code[..]);
        let others: Vec<Reason> = reasons.iter().filter(is_other).cloned().collect();
        // 1 % of the messages decides whether a load was carried, and moves the p99.
        RowVerdict::of(&others, step.workload).of_number(Number::P99).min(Level::Degraded)
    });
    carried.max(next).unwrap_or_default()
}

/// True if the step offered no more than its line carried; if a line carried nothing, all of its steps count.
fn is_carried(sweep: &Sweep, step: &SweepStep) -> bool {
    let most = sweep.lines.get(step.line).map(|line| match line.knee {
        Knee::Found { low_per_s, .. } => low_per_s,
        Knee::NotReached { offered_max_per_s, .. } => offered_max_per_s,
    });
    most.is_some_and(|most| most <= 0.0 || is_within(step, most))
}

/// True if the step offered `load` at most.
fn is_within(step: &SweepStep, load: f64) -> bool {
    step.offered_per_s <= load * 1.000_001
}
