//! The reasons for doubt in a sweep, whose steps are dozens of workloads: each reason once, and none for the overload
//! that a sweep looks for.

use crate::{Knee, Level, Reason, Sweep, SweepStep};

/// A step that offers more than is carried is the purpose of a sweep.
pub(super) const SOUGHT: [&str; 2] = ["asked_not_achieved", "unanswered"];
/// Cannot be, on whatever step.
const IMPOSSIBLE: &str = "impossible";

/// The reasons of the steps that were carried, each once with the worst of its steps; what is invalid on fewer than
/// half of them degrades.
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

/// True if the step offered no more than its line carried; of a line that carried nothing all steps are looked at.
fn is_carried(sweep: &Sweep, step: &SweepStep) -> bool {
    let most = sweep.lines.get(step.line).map(|line| match line.knee {
        Knee::Found { low_per_s, .. } => low_per_s,
        Knee::NotReached { offered_max_per_s, .. } => offered_max_per_s,
    });
    most.is_some_and(|most| most <= 0.0 || step.offered_per_s <= most * 1.000_001)
}
