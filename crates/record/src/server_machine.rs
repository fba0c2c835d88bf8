//! The machine of a server, where it is not the generator's.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The machine of a server that is watched there, in the measured window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerMachine {
    /// Share of its CPU time that nobody used, 0 to 1.
    pub idle_fraction: Option<f64>,
    /// The number of its CPUs that the server may run on.
    pub cpus_allowed: Option<u32>,
    /// TCP segments sent again in the server's network namespace.
    pub retransmitted_segments: Option<u64>,
    /// Connections that were not accepted there because the queue of a listener was full.
    pub listen_overflows: Option<u64>,
}

impl ServerMachine {
    /// Combines this machine with another: sums, and the smaller idle share.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        let sum = |one: Option<u64>, other: Option<u64>| one?.checked_add(other?);
        Self {
            idle_fraction: self
                .idle_fraction
                .into_iter()
                .chain(other.idle_fraction)
                .reduce(f64::min),
            cpus_allowed: self.cpus_allowed.zip(other.cpus_allowed).map(|(one, two)| one + two),
            retransmitted_segments: sum(self.retransmitted_segments, other.retransmitted_segments),
            listen_overflows: sum(self.listen_overflows, other.listen_overflows),
        }
    }
}
