//! The results of a workload, across its blocks.

use crate::Summary;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The results of one workload, across its blocks; failed blocks do not count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadResult {
    /// The index of the workload in the plan.
    pub workload: usize,
    /// The number of blocks that count.
    pub blocks: usize,
    /// The number of blocks that failed.
    pub blocks_failed: usize,
    /// Medians of the blocks' values.
    pub medians: PerMetric<Estimate>,
    /// All round trips of all blocks, merged; of short-lived clients their whole lives (as [`crate::Phases::life`]).
    pub round_trip: Option<Summary>,
    /// Open loop: all response times of all blocks, merged.
    #[serde(default)]
    pub response: Option<Summary>,
    /// Against the baseline of the plan; `null` for the baseline itself and where there is none.
    pub to_baseline: Option<PerMetric<Comparison>>,
}

/// Something for each metric that blocks are judged by; `null` where the blocks do not have it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PerMetric<T> {
    /// Replies a second.
    pub messages_per_s: Option<T>,
    /// The median round trip; of short-lived clients the median life. The same holds for the other percentiles.
    pub round_trip_p50_ns: Option<T>,
    /// The time that 90 % of round trips stayed within.
    pub round_trip_p90_ns: Option<T>,
    /// The time that 99 % of round trips stayed within.
    pub round_trip_p99_ns: Option<T>,
    /// Open loop: the median response time.
    pub response_p50_ns: Option<T>,
    /// Open loop: what 90 % of response times stayed within.
    pub response_p90_ns: Option<T>,
    /// Open loop: what 99 % of response times stayed within.
    pub response_p99_ns: Option<T>,
    /// CPU time of the generator for each reply.
    pub generator_cpu_us_per_message: Option<T>,
    /// CPU time of the server for each reply.
    pub server_cpu_us_per_message: Option<T>,
    /// Bytes on the wire for each reply, both directions.
    pub wire_bytes_per_message: Option<T>,
}

/// A median of blocks, or the difference of two, with its 95 % interval, in the unit of its metric.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// The median.
    pub value: f64,
    /// The lower end of the interval; `null` with too few blocks for one.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
}

/// The cost of a layer: a workload less the same one without the layer, across the blocks of both in the same rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Added {
    /// The index of the workload that has the layer.
    pub workload: usize,
    /// The index of the one that is the same without it.
    pub base: usize,
    /// The name of the layer, e.g. `TLS`.
    pub layer: String,
    /// The median round trip less that of the base; of short-lived clients the lives. In a closed loop that keeps
    /// generator and server busy it is longer queues that make a round trip longer, on every connection at once: the
    /// cost of a message is the CPU time.
    pub round_trip_p50_ns: Option<Estimate>,
    /// CPU time of generator and server together for each reply, less that of the base; `null` where the server's is
    /// not known.
    pub cpu_us_per_message: Option<Estimate>,
    /// Bytes written for each reply less those of the base, of the means.
    pub sent_bytes_per_message: Option<f64>,
    /// Bytes read for each reply less those of the base, of the means.
    pub received_bytes_per_message: Option<f64>,
}

/// The comparison of a workload with the baseline in one metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// Median of the workload's blocks by median of the baseline's.
    pub ratio: f64,
    /// The lower end of its 95 % interval; `null` with too few blocks for one.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
    /// Hodges-Lehmann: the median of all differences between the two sides' blocks, in the unit of the metric.
    pub shift: f64,
    /// Mann-Whitney U, two-sided: how often equal sides would differ this much.
    pub p_value: Option<f64>,
    /// The same, corrected by Holm for the number of workloads compared.
    pub p_value_holm: Option<f64>,
    /// The smallest difference, as a share of the baseline, that blocks this noisy would have shown.
    pub smallest_detectable_fraction: Option<f64>,
}

impl<T> Default for PerMetric<T> {
    fn default() -> Self {
        Self {
            messages_per_s: None,
            round_trip_p50_ns: None,
            round_trip_p90_ns: None,
            round_trip_p99_ns: None,
            response_p50_ns: None,
            response_p90_ns: None,
            response_p99_ns: None,
            generator_cpu_us_per_message: None,
            server_cpu_us_per_message: None,
            wire_bytes_per_message: None,
        }
    }
}
