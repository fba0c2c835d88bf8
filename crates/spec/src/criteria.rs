//! The options that say when a run has measured enough, and what its numbers have to be: as flags, as keys of a file,
//! as fields of a page.

use crate::lists::one_or_more;
use crate::options::OneOrMore;
use crate::{Goal, Requirement};
use schemars::JsonSchema;
use serde::Deserialize;
use units::{Count, Nanos};

/// The criteria by which a run ends and is judged, each of them optional.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Criteria {
    /// Blocks of each row; with 6 or more every number has a 95 % interval
    // The flag belongs to everything that measures.
    #[cfg_attr(feature = "cli", arg(skip))]
    pub rounds: Option<Count>,
    /// Measure rounds until an interval is this narrow: 'p99 within 3%'; repeatable
    ///
    /// It can end after 10, 13, 17, 22, 28, ... rounds, a quarter more each time, so that the interval stays valid.
    #[cfg_attr(feature = "cli", arg(long, value_name = "GOAL", hide_short_help = true))]
    #[serde(deserialize_with = "one_or_more")]
    #[schemars(with = "OneOrMore<Goal>")]
    pub until: Vec<Goal>,
    /// With --until: begin no round that could not end within this time [default: 10m]
    #[cfg_attr(feature = "cli", arg(long, value_name = "TIME", hide_short_help = true))]
    pub budget: Option<Nanos>,
    /// End with exit code 10 unless this holds: 'p99 < 20ms', 'error_rate < 0.1%'; repeatable
    ///
    /// It is a number of each row, one of < <= > >=, and a limit: times (p50, p90, p99, p99.9), messages/s, CPU time
    /// (cpu/message of the server, generator_cpu/message), bytes (bytes/message, memory/connection), and shares
    /// (error_rate, refused_rate, achieved/offered, server_cpu). With --baseline also 'p99 <= baseline * 1.10'. A
    /// number of too few messages is unknown, and does not pass.
    #[cfg_attr(feature = "cli", arg(long, value_name = "LIMIT", hide_short_help = true))]
    #[serde(deserialize_with = "one_or_more")]
    #[schemars(with = "OneOrMore<Requirement>")]
    pub require: Vec<Requirement>,
    /// Fail a limit if noise is larger than the margin that it leaves
    ///
    /// A number on the right side of its limit fails too if the limit lies within its 95 % interval.
    #[cfg_attr(feature = "cli", arg(long, hide_short_help = true))]
    pub strict: bool,
}

impl Criteria {
    /// The names of all of them, as keys of a file.
    pub(crate) const KEYS: &[&str] = &["rounds", "until", "budget", "require", "strict"];

    /// These criteria, with those of `lower` where they are not set.
    #[must_use]
    pub fn over(self, lower: Self) -> Self {
        Self {
            rounds: self.rounds.or(lower.rounds),
            until: if self.until.is_empty() { lower.until } else { self.until },
            budget: self.budget.or(lower.budget),
            require: if self.require.is_empty() { lower.require } else { self.require },
            strict: self.strict || lower.strict,
        }
    }
}
