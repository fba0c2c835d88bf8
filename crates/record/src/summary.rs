//! A distribution of times.

use crate::Missing;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::{DecodeError, Histogram};

/// A distribution of times, of one sample at least.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// The number of samples.
    pub count: u64,
    /// The samples above the histogram's bound of one hour; they stand in it as that.
    pub saturated: u64,
    /// The shortest.
    pub min_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// The mean.
    pub mean_ns: f64,
    /// The standard deviation.
    pub stddev_ns: f64,
    /// The time that half stayed within.
    pub p50_ns: Option<u64>,
    /// The time that 90 % stayed within.
    pub p90_ns: Option<u64>,
    /// The time that 99 % stayed within.
    pub p99_ns: Option<u64>,
    /// The time that 99.9 % stayed within.
    pub p99_9_ns: Option<u64>,
    /// The time that 99.99 % stayed within.
    pub p99_99_ns: Option<u64>,
    /// The reasons why percentiles are `null`.
    #[serde(default)]
    pub missing: Missing,
    /// The whole distribution in nanoseconds: HdrHistogram V2, uncompressed, base64.
    pub histogram: String,
}

impl Summary {
    /// The summary of `histogram`; `None` if it is empty.
    pub fn of(histogram: &Histogram) -> Option<Self> {
        let mut missing = Missing::new();
        let [p50_ns, p90_ns, p99_ns, p99_9_ns, p99_99_ns] = std::array::from_fn(|index| {
            let (name, q) = stats::PERCENTILES[index];
            match histogram.quantile(q) {
                Ok(time) => Some(time.0),
                Err(too_few) => {
                    missing.insert(format!("{}_ns", name.replace('.', "_")), too_few.to_string());
                    None
                }
            }
        });
        Some(Self {
            count: histogram.count(),
            saturated: histogram.saturated(),
            min_ns: histogram.min()?.0,
            max_ns: histogram.max()?.0,
            mean_ns: histogram.mean_ns()?,
            stddev_ns: histogram.stddev_ns()?,
            p50_ns,
            p90_ns,
            p99_ns,
            p99_9_ns,
            p99_99_ns,
            missing,
            histogram: histogram.to_base64(),
        })
    }

    /// Events per second, if these are the times from one event to the next: 1 divided by their mean; `None` if that is
    /// zero.
    pub fn per_s(&self) -> Option<f64> {
        (self.mean_ns > 0.0).then(|| 1e9 / self.mean_ns)
    }

    /// The whole distribution.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] if the text is not a valid histogram, because the record was edited by hand.
    pub fn histogram(&self) -> Result<Histogram, DecodeError> {
        Histogram::from_base64(&self.histogram)
    }
}
