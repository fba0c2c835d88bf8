//! The metrics of a run in progress: one table, which [`crate::prometheus()`] writes as text and, with the feature
//! `otlp`, `protobuf` and `otlp` in their formats.
//!
//! Start reading at [`Metrics`].

use crate::escape::escape;
use record::Traffic;
use stats::Histogram;

/// Everything known about a run in progress.
#[derive(Clone, Debug)]
pub struct Metrics<'a> {
    /// Each workload.
    pub workloads: Vec<Exposed<'a>>,
    /// The index of the current block, from 0, and the number of blocks.
    pub block: (usize, usize),
    /// The number of intervals that are missing from the numbers.
    pub dropped: u64,
}

/// The traffic of a workload in the measured time of all its blocks so far.
#[derive(Clone, Copy, Debug)]
pub struct Exposed<'a> {
    /// The name of the workload.
    pub name: &'a str,
    /// Messages that are due each second; `None` in a closed loop.
    pub due_per_s: Option<f64>,
    /// All of it.
    pub traffic: &'a Traffic,
}

/// A metric, with a value for each set of labels.
pub(crate) struct Family<'a> {
    pub(crate) name: &'static str,
    /// The unit, as UCUM writes it; empty: a count.
    #[cfg_attr(not(feature = "otlp"), expect(dead_code, reason = "the name has it too"))]
    pub(crate) unit: &'static str,
    pub(crate) help: &'static str,
    pub(crate) values: Values<'a>,
}

/// The values of a metric, each with its labels.
pub(crate) enum Values<'a> {
    /// They never fall.
    Counters(Vec<(Labels, u64)>),
    /// They rise and fall.
    Gauges(Vec<(Labels, f64)>),
    /// Distributions of times, which only grow.
    Histograms(Vec<(Labels, &'a Histogram)>),
}

/// Labels by name.
pub(crate) type Labels = Vec<(&'static str, String)>;

impl<'a> Metrics<'a> {
    /// The table.
    pub(crate) fn families(&self) -> Vec<Family<'a>> {
        let Self { workloads, block, dropped } = self;
        let open = |it: &Exposed<'a>| Some((it.labels(), &it.traffic.open_loop.as_ref()?.lag));
        let lags: Vec<_> = workloads.iter().filter_map(open).collect();
        let due = |it: &Exposed<'a>| Some((it.labels(), it.due_per_s?));
        let due: Vec<_> = workloads.iter().filter_map(due).collect();
        let [current, blocks] = [block.0.saturating_add(1).min(block.1), block.1].map(gauge);
        let all = [
            Family {
                name: "wirebench_messages_total",
                unit: "",
                help: "Messages by outcome.",
                values: Values::Counters(workloads.iter().flat_map(Exposed::messages).collect()),
            },
            Family {
                name: "wirebench_bytes_total",
                unit: "By",
                help: "Bytes on the wire, without TCP and IP.",
                values: Values::Counters(workloads.iter().flat_map(Exposed::bytes).collect()),
            },
            Family {
                name: "wirebench_time_seconds",
                unit: "s",
                help: "Response time of an open loop, from due to received; round trip of a closed one.",
                values: Values::Histograms(
                    workloads.iter().map(|it| (it.labels(), it.traffic.times())).collect(),
                ),
            },
            Family {
                name: "wirebench_send_lag_seconds",
                unit: "s",
                help: "The generator's lateness in an open loop, from due to sent.",
                values: Values::Histograms(lags),
            },
            Family {
                name: "wirebench_due_per_second",
                unit: "",
                help: "Messages that an open loop has due each second.",
                values: Values::Gauges(due),
            },
            Family {
                name: "wirebench_block",
                unit: "",
                help: "The block that is running, from 1.",
                values: Values::Gauges(current),
            },
            Family {
                name: "wirebench_blocks",
                unit: "",
                help: "The number of blocks of the run.",
                values: Values::Gauges(blocks),
            },
            Family {
                name: "wirebench_intervals_dropped_total",
                unit: "",
                help: "Tenths of a second that are missing here, since this view was too slow for them.",
                values: Values::Counters(vec![(Labels::new(), *dropped)]),
            },
        ];
        // A closed loop has neither lag nor rate; the other metrics exist from the start, so that they can be found.
        let is_of_open_loops = |it: &Family<'_>| {
            ["wirebench_send_lag_seconds", "wirebench_due_per_second"].contains(&it.name)
        };
        all.into_iter().filter(|it| !(is_of_open_loops(it) && it.values.is_empty())).collect()
    }
}

impl Exposed<'_> {
    fn labels(&self) -> Labels {
        vec![("workload", escape(self.name))]
    }

    fn with(&self, name: &'static str, value: &str) -> Labels {
        vec![("workload", escape(self.name)), (name, value.to_owned())]
    }

    fn messages(&self) -> [(Labels, u64); 6] {
        let counts = &self.traffic.counts;
        [
            ("sent", counts.sent),
            ("unsent", counts.unsent),
            ("ok", counts.ok),
            ("error", counts.error),
            ("refused", counts.refused),
            ("timed_out", counts.timed_out),
        ]
        .map(|(outcome, count)| (self.with("outcome", outcome), count))
    }

    fn bytes(&self) -> [(Labels, u64); 2] {
        let Traffic { bytes_sent, bytes_received, .. } = *self.traffic;
        [("sent", bytes_sent), ("received", bytes_received)]
            .map(|(direction, bytes)| (self.with("direction", direction), bytes))
    }
}

impl Values<'_> {
    fn is_empty(&self) -> bool {
        match self {
            Self::Counters(all) => all.is_empty(),
            Self::Gauges(all) => all.is_empty(),
            Self::Histograms(all) => all.is_empty(),
        }
    }
}

/// A number without labels.
#[expect(clippy::cast_precision_loss, reason = "a count of blocks")]
fn gauge(value: usize) -> Vec<(Labels, f64)> {
    vec![(Labels::new(), value as f64)]
}

/// The sum of all times in seconds, to the 0.1 % that the histogram resolves.
#[expect(clippy::cast_precision_loss, reason = "exact below 2^53")]
pub(crate) fn sum_s(times: &Histogram) -> f64 {
    times.mean_ns().unwrap_or(0.0) * times.count() as f64 / 1e9
}
