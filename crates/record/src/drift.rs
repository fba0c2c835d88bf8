//! Drift: numbers that rise or fall over the blocks of a long run, such as the memory of a server that leaks.
//!
//! It does not discredit the other numbers of the record, which are those of all blocks together.
//!
//! Start reading at [`drifts`].

use crate::{Block, Plan, Workload};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::Trend;
use units::Nanos;

/// A number of a workload, and its trend over the blocks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Drift {
    /// The index of the workload.
    pub workload: usize,
    /// The number; its unit is that of `median` and of the slope.
    pub number: Drifting,
    /// The blocks that it is asked of: those that were answered, without the first sixth, in which caches fill.
    pub blocks: usize,
    /// The time from the start of the first of them to that of the last, in minutes.
    pub span_minutes: f64,
    /// The median of them.
    pub median: f64,
    /// The slope: the change in a minute (Theil and Sen).
    pub per_minute: f64,
    /// The lower end of its 95 % interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The probability of a trend at least as clear where there is none (Mann and Kendall, corrected for blocks that
    /// resemble those before them).
    pub p_value: f64,
    /// True if the number drifts: beyond chance, in both halves of the run, and by 1 % of it at least over the blocks.
    pub is_shown: bool,
}

/// A number that may drift.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Drifting {
    /// The median of the times that results are made of.
    P50Ns,
    /// Their 99th percentile.
    P99Ns,
    /// CPU time of the server for each reply.
    ServerCpuUsPerMessage,
    /// Memory of the server at the end of a block, shared pages in proportion where that is known.
    ServerMemoryBytes,
}

/// The trends of all workloads of `plan` that have enough blocks for one.
pub fn drifts(plan: &Plan, blocks: &[Block]) -> Vec<Drift> {
    let mut all: Vec<(Drift, Trend)> = Vec::new();
    for (index, workload) in plan.workloads.iter().enumerate() {
        let mine: Vec<&Block> =
            blocks.iter().filter(|block| block.workload == index && block.is_answered()).collect();
        let settled = &mine[mine.len() / SETTLING..];
        all.extend(Drifting::ALL.into_iter().filter_map(|number| {
            let points: Vec<(f64, f64)> =
                settled.iter().filter_map(|block| point(number, workload, block)).collect();
            one(index, number, &points)
        }));
    }
    let asked = all.len();
    let judged = |(drift, trend): (Drift, Trend)| {
        let change = drift.per_minute * drift.span_minutes;
        let is_shown = trend.is_shown(asked) && change.abs() >= CHANGE_MIN * drift.median.abs();
        Drift { is_shown, ..drift }
    };
    all.into_iter().map(judged).collect()
}

/// The trend of one number; `None` with too few blocks.
fn one(workload: usize, number: Drifting, points: &[(f64, f64)]) -> Option<(Drift, Trend)> {
    let trend = Trend::of(points).ok()?;
    let values: Vec<f64> = points.iter().map(|(_, value)| *value).collect();
    let [first, last] = [points.first()?.0, points.last()?.0];
    let drift = Drift {
        workload,
        number,
        blocks: points.len(),
        span_minutes: last - first,
        median: stats::median(&values).ok()?,
        per_minute: trend.slope,
        low: trend.low,
        high: trend.high,
        p_value: trend.p_value,
        is_shown: false,
    };
    Some((drift, trend))
}

/// The start of a block in minutes, and its number.
fn point(number: Drifting, workload: &Workload, block: &Block) -> Option<(f64, f64)> {
    #[expect(clippy::cast_precision_loss, reason = "nanoseconds and bytes below 2^53")]
    let float = |whole: u64| whole as f64;
    let times = workload.times(block);
    let value = match number {
        Drifting::P50Ns => float(times?.p50_ns?),
        Drifting::P99Ns => float(times?.p99_ns?),
        Drifting::ServerCpuUsPerMessage => block.cpu.server_us_per_message?,
        Drifting::ServerMemoryBytes => {
            let memory = block.memory.as_ref()?;
            float(memory.server_pss_bytes.or(memory.server_rss_bytes)?)
        }
    };
    Some((Nanos(block.started_at_ns).as_secs_f64() / 60.0, value))
}

impl Drifting {
    /// All of them.
    const ALL: [Self; 4] =
        [Self::P50Ns, Self::P99Ns, Self::ServerCpuUsPerMessage, Self::ServerMemoryBytes];
}

/// The first of this many parts of the blocks is left out.
const SETTLING: usize = 6;
/// The least change over all blocks that matters, as a share of the number.
const CHANGE_MIN: f64 = 0.01;
