//! Figures that others published, beside which an experiment's page sets its own.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Figures that others published.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Whose, of what and when.
    pub source: String,
    /// In the order of the publication.
    #[serde(default, alias = "row")]
    pub rows: Vec<PublishedRow>,
    /// What an honest reading adds, a sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// One published row; figures that it does not have are `null`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PublishedRow {
    /// As it was called there.
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
    /// By how much that is more than the bare socket.
    pub ratio: Option<f64>,
}
