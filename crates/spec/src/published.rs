//! Figures that others published, which an experiment's page shows beside its own.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Figures and statements that others published.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Whose, of what and when.
    pub source: String,
    /// The rows in the order of the publication.
    #[serde(default, alias = "row")]
    pub rows: Vec<PublishedRow>,
    /// Additions of an honest reading, a sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Statements about the lines of a sweep.
    #[serde(default, alias = "claim")]
    pub claims: Vec<Claim>,
}

/// One published row; figures that it does not have are `null`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PublishedRow {
    /// The name that it had there.
    pub name: String,
    /// The name of the workload that is its counterpart here.
    pub here: Option<String>,
    /// Wall time of the whole run by messages.
    pub wall_per_message_us: Option<f64>,
    /// The shortest life of a client.
    pub life_min_ms: Option<f64>,
    /// Its mean.
    pub life_mean_ms: Option<f64>,
    /// The longest.
    pub life_max_ms: Option<f64>,
    /// Mean wall time of a round trip.
    pub wall_us: Option<f64>,
    /// The standard deviation of that over repetitions.
    pub wall_stddev_us: Option<f64>,
    /// CPU time of the client for a round trip.
    pub cpu_us: Option<f64>,
    /// The ratio of that to the bare socket's.
    pub ratio: Option<f64>,
}

/// A published statement about the lines of a sweep. It holds where a number of the record is within its bounds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Claim {
    /// Its subject, e.g. `The knee`.
    pub about: String,
    /// The statement as it was published.
    pub published: String,
    /// The number that decides it.
    pub measure: ClaimMeasure,
    /// The name of the line that it is about.
    pub line: String,
    /// The name of the line that it compares that one with; `null`: it is about one line.
    pub to: Option<String>,
    /// The load at which the number is taken; `null` where it is of all loads.
    pub at_per_s: Option<f64>,
    /// Closed loop: the pause of a bot after a reply.
    pub pause_ms: Option<f64>,
    /// The least number with which it holds.
    pub min: Option<f64>,
    /// The largest.
    pub max: Option<f64>,
    /// The addition of an honest reading, in a sentence.
    pub note: Option<String>,
}

/// The number that decides a [`Claim`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClaimMeasure {
    /// Bytes of an event on the line by those on the other, at a load that both carried.
    Bytes,
    /// The share of the load that bots take off by waiting for replies before they pause; true by arithmetic.
    ClosedLoop,
    /// The slope at which idle CPU time falls on the line, by that on the other.
    Idle,
    /// The knee of the line by that of the other.
    Knee,
    /// The 99th percentile of response times in ms, the larger one of both lines.
    Response,
    /// The largest difference in throughput at loads that both lines carried, as a share.
    Throughput,
    /// Something that this version does not know.
    #[default]
    #[serde(other)]
    Other,
}
