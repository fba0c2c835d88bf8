//! The state of an agent.

use record::TimerFloor;
use serde::{Deserialize, Serialize};
use units::Nanos;

/// The state of an agent, as evidence.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Health {
    /// The largest share of the time for which one of its workers was busy, 0 to 1; `null`: not known.
    pub busiest_worker: Option<f64>,
    /// The time from when a message was due within which 99 % of its messages were sent; `null`: not known.
    pub send_lag_p99: Option<Nanos>,
    /// The lateness of its machine's timers; `null`: not known, or not asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timer_floor: Option<TimerFloor>,
    /// Gaps in its workers' own loops.
    pub stalls: u64,
    /// Periods in which its cgroup was throttled.
    pub throttled: u64,
    /// TCP segments that its machine retransmitted.
    pub retransmits: u64,
    /// The number of messages sent in the last second.
    pub sent_per_s: u64,
    /// The time from when a message was due within which half of them were sent; `null`: not known.
    pub last_lag_p50: Option<Nanos>,
}
