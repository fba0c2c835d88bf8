//! The cut of a workload into parts, for machines that load a server together.
//!
//! Whatever is counted (arrivals of a schedule, connections, bots, clients, messages) is numbered from 0, and number n
//! belongs to the part whose turn n is. Turns go by weight and are spread evenly (smooth weighted round robin): with
//! equal weights number n belongs to part n mod N. So parts add up to the whole by construction: nothing is missing and
//! nothing is there twice.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;

/// One of several parts of a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// The number of this part, from 0.
    pub index: u32,
    /// The weights of all parts.
    pub weights: Vec<NonZeroU32>,
}
