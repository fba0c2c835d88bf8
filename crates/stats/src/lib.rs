//! Distributions of times, and comparisons of measurements that hold up.
//!
//! [`Histogram`] takes every single time, on the hot path, and gives percentiles. Everything else starts from
//! *blocks*: some seconds of one workload come to one number, and only such numbers are compared, because messages of
//! one block are not independent. Workloads that are compared run in *rounds*, each workload once in each round in
//! random order, so that what drifts is shared by a round and cancels.
//!
//! [`Pooled`] is a number of all rounds together, with its 95 % interval; [`between()`] compares two of different runs.
//! [`noise`] tries both on machines of known truth. [`little()`] is the check of closed loops.
//!
//! Three hold wirebench itself against what is known: [`anderson_darling`] its arrivals, [`kolmogorov_smirnov`] what it
//! measured of a known delay, [`Stall`] what it measured of a server that stood still.
//!
//! [`Trend`] says whether a number rises or falls over the blocks of a long run.
//!
//! [`knee`] says which loads to measure to find where a server bends, [`change_points`] where the numbers of a history
//! go over to another level.
//!
//! Left out: time series besides, and verdicts.

mod between;
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

pub use between::{Between, between, changed};
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
