//! The results of a workload, across its blocks.

use crate::Summary;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The results of one workload, from all its blocks together, failed ones included.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadResult {
    /// The index of the workload in the plan.
    pub workload: usize,
    /// The number of blocks that did not fail.
    pub blocks: usize,
    /// The number of blocks that failed.
    pub blocks_failed: usize,
    /// One number for each question: percentiles of the messages of all blocks as one distribution, replies by time,
    /// CPU time and bytes by replies. A failed block has no reply in its time, and its messages waited for the reply
    /// timeout. In records from before, medians of the blocks that did not fail, where their blocks do not say more.
    #[serde(alias = "medians")]
    pub pooled: PerMetric<Estimate>,
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

/// A number, or the difference of two, with its 95 % interval, in the unit of its metric.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// The number.
    pub value: f64,
    /// The lower end of the interval; `null` with too few rounds for one, and where the number depends on few of them.
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
    /// The number of the workload divided by that of the baseline.
    pub ratio: f64,
    /// The lower end of its 95 % interval; `null` with too few rounds for one, and where it depends on few of them.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
    /// The smallest difference, as a share of the baseline, that blocks this noisy would have shown.
    pub smallest_detectable_fraction: Option<f64>,
    /// The most by which one round moves the ratio, as a share of it; `null` if it has no ratio without that round, and
    /// in records from before it was worked out.
    #[serde(default)]
    pub moved_most_fraction: Option<f64>,
}

/// Lists the fields of [`PerMetric`] once, for everything that visits them all.
macro_rules! each_metric {
    ($build:ident) => {
        PerMetric {
            messages_per_s: $build!(messages_per_s),
            round_trip_p50_ns: $build!(round_trip_p50_ns),
            round_trip_p90_ns: $build!(round_trip_p90_ns),
            round_trip_p99_ns: $build!(round_trip_p99_ns),
            response_p50_ns: $build!(response_p50_ns),
            response_p90_ns: $build!(response_p90_ns),
            response_p99_ns: $build!(response_p99_ns),
            generator_cpu_us_per_message: $build!(generator_cpu_us_per_message),
            server_cpu_us_per_message: $build!(server_cpu_us_per_message),
            wire_bytes_per_message: $build!(wire_bytes_per_message),
        }
    };
}

impl<T> PerMetric<T> {
    /// Maps each metric with `of`.
    pub fn map<U>(&self, of: impl Fn(&T) -> Option<U>) -> PerMetric<U> {
        macro_rules! one {
            ($field:ident) => {
                self.$field.as_ref().and_then(&of)
            };
        }
        each_metric!(one)
    }

    /// Combines each metric that both have with `of`.
    pub fn zip<U, V>(
        &self,
        other: &PerMetric<U>,
        of: impl Fn(&T, &U) -> Option<V>,
    ) -> PerMetric<V> {
        macro_rules! one {
            ($field:ident) => {
                self.$field
                    .as_ref()
                    .zip(other.$field.as_ref())
                    .and_then(|(one, other)| of(one, other))
            };
        }
        each_metric!(one)
    }

    /// Takes each metric from `self`, or from `other` where `self` has none.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        macro_rules! one {
            ($field:ident) => {
                self.$field.or(other.$field)
            };
        }
        each_metric!(one)
    }
}

impl<T> Default for PerMetric<T> {
    fn default() -> Self {
        macro_rules! one {
            ($field:ident) => {
                None
            };
        }
        each_metric!(one)
    }
}
