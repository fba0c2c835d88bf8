//! Distributions of times, and comparisons of measurements that hold up.
//!
//! [`Histogram`] records every single time, on the hot path, and gives percentiles. Everything else starts from
//! *blocks*: a few seconds of one workload yield one number, and only these numbers are compared, because messages of
//! one block are not independent. Workloads that are compared run in *rounds*, each workload once per round in random
//! order, so that a round shares any drift, which cancels.
//!
//! [`Pooled`] is a number of all rounds together, with its 95 % interval; [`between()`] compares two from different
//! runs. [`noise`] tries both on simulated machines where the truth is known. [`little()`] checks closed loops.
//!
//! Three check wirebench itself against a known truth: [`anderson_darling`] its arrivals, [`kolmogorov_smirnov`] its
//! measurement of a known delay, [`Stall`] its measurement of a server that stalled.
//!
//! [`Trend`] says whether a number rises or falls over the blocks of a long run.
//!
//! [`knee`] says which loads to measure to find where a server bends, [`change_points`] where the numbers of a history
//! shift to another level.
//!
//! Left out: other time series, and verdicts.

mod between_runs;
mod changes;
mod encoding;
mod fit;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzz;
mod histogram;
pub mod knee;
mod little;
mod merge;
pub mod noise;
mod normal;
mod pooled;
pub mod precision;
mod sample;
mod stall;
mod student;
mod trend;

pub use between_runs::{Between, between, changed};
pub use changes::{SEGMENT_MIN, change_points};
pub use encoding::{DecodeError, LogInterval, interval_log};
pub use fit::{
    AndersonDarling, Mean, anderson_darling, kolmogorov_smirnov, kolmogorov_smirnov_beyond,
    kolmogorov_smirnov_to,
};
pub use histogram::{Histogram, PERCENTILES, TooFewSamples};
pub use little::{ClosedLoop, Little, NotChecked, little};
pub use merge::Merge;
pub use pooled::{Part, Pooled};
pub use sample::{SampleError, median, per_message, per_second, quantile};
pub use stall::Stall;
pub use trend::Trend;
