//! The parts of a block that the agents of a fleet measured, each on its own machine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The part of a block that one agent measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentPart {
    /// Its name.
    pub agent: String,
    /// Its task; absent: it sent its part of the load.
    #[serde(default, skip_serializing_if = "AgentTask::is_load")]
    pub task: AgentTask,
    /// The version of its program; absent where it is that of the controller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The end of the part.
    pub end: PartEnd,
    /// The reasons why its numbers are not among those of the block; empty: they are.
    pub doubts: Vec<String>,
    /// Messages that it was to send; `null` where nobody heard.
    pub planned: Option<u64>,
    /// Messages that it sent; `null` where nobody heard.
    pub sent: Option<u64>,
    /// Right replies; `null` where nobody heard.
    pub ok: Option<u64>,
    /// Rooms: deliveries that came to its receivers; absent without rooms, and where nobody heard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivered: Option<u64>,
    /// The median of its own times; `null` where it has too few.
    pub p50_ns: Option<u64>,
    /// The time that 99 % of them stayed within; `null` where it has too few.
    pub p99_ns: Option<u64>,
    /// Time from the instant at which its measurement was to begin until it did, by its own clock; `null`: it did not.
    pub late_ns: Option<u64>,
    /// The most by which its clock may be off from what was known of it at the start.
    pub clock_bound_ns: Option<u64>,
    /// The largest share of one core that one of its workers used, 0 to 1.
    pub busiest_worker_fraction: Option<f64>,
    /// The time that 99 % of its messages were sent within, from when they were due; open loops only.
    pub send_lag_p99_ns: Option<u64>,
    /// Gaps in its workers' own loops.
    pub stalls: u64,
    /// Periods in which its control group had used up its CPU time.
    pub throttled_periods: u64,
    /// TCP segments that its machine sent again.
    pub retransmitted_segments: u64,
}

/// The tasks of the agents of a fleet, each the same in every block.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum AgentTask {
    /// It sends its part of the load.
    #[default]
    Load,
    /// It sends a light load whose times are kept apart: what a user sees while the others load the server.
    Probe,
    /// It sends nothing, and looks at the server on its machine.
    Watch,
}

impl AgentTask {
    /// True for [`AgentTask::Load`].
    pub fn is_load(&self) -> bool {
        *self == Self::Load
    }
}

/// The ends of a part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PartEnd {
    /// It was measured to its end.
    #[default]
    Measured,
    /// It was stopped before.
    Stopped,
    /// It did not begin.
    NotStarted,
    /// Nobody heard of it in time.
    Lost,
}

impl AgentPart {
    /// True if its numbers are among those of the block.
    pub fn counts(&self) -> bool {
        self.task.is_load() && self.is_trusted()
    }

    /// True if it was measured to its end, and raises no doubts.
    pub fn is_trusted(&self) -> bool {
        self.end == PartEnd::Measured && self.doubts.is_empty()
    }
}

/// True if less than half of the load is trusted, so that everything measured counts: such a block is invalid in any
/// case, and its numbers show why. The load is the number of messages that the parts planned. If they planned none,
/// there is nothing to halve, and untrusted parts are left out.
pub fn takes_all<'a>(parts: impl Iterator<Item = &'a AgentPart> + Clone) -> bool {
    let planned = |is_wanted: fn(&AgentPart) -> bool| -> u64 {
        parts.clone().filter(|part| is_wanted(part)).filter_map(|part| part.planned).sum()
    };
    let load = planned(|part| part.task.is_load());
    planned(AgentPart::counts).saturating_mul(2) < load
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_counts_where_less_than_half_of_the_load_is_trusted_and_nothing_more_where_none_was_planned()
     {
        let part = |planned: Option<u64>, is_trusted: bool, task: AgentTask| AgentPart {
            planned,
            task,
            doubts: if is_trusted { Vec::new() } else { vec!["it stood still".to_owned()] },
            ..AgentPart::default()
        };
        let load = |planned, is_trusted| part(Some(planned), is_trusted, AgentTask::Load);
        let lost = AgentPart { end: PartEnd::Lost, ..AgentPart::default() };
        let prober = part(Some(1000), true, AgentTask::Probe);
        for (expected, parts) in [
            (false, vec![]),
            (false, vec![load(100, true), load(100, false)]),
            (true, vec![load(99, true), load(100, false), prober.clone()]),
            (true, vec![load(1, false), lost.clone()]),
            (false, vec![load(1, true), lost.clone(), lost.clone()]),
            // Nothing was planned.
            (false, vec![load(0, true), load(0, true)]),
            (false, vec![load(0, true), load(0, false), load(0, false)]),
            (false, vec![load(0, false), lost, prober]),
        ] {
            assert_eq!(takes_all(parts.iter()), expected, "{parts:?}");
        }
    }
}
