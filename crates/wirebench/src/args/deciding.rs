//! Options that say when a run has measured enough, and what its numbers have to be.

use spec::file::Asked;
use spec::{Goal, Requirement};
use units::Nanos;

/// The goals that end a run, the time for them, and limits for its numbers.
#[derive(Debug, clap::Args)]
pub(crate) struct Deciding {
    /// Measure rounds until an interval is that narrow: 'p99 within 3%'; repeatable
    ///
    /// It ends after 10, 13, 17, 22, 28, ... rounds, a quarter more each time, so that the interval keeps its promise.
    #[arg(long, value_name = "GOAL", hide_short_help = true)]
    until: Vec<Goal>,
    /// With --until: begin no round that could not end within this time [default: 10m]
    #[arg(long, value_name = "TIME", hide_short_help = true)]
    budget: Option<Nanos>,
    /// End with exit code 10 unless it is so: 'p99 < 20ms', 'error_rate < 0.1%'; repeatable
    ///
    /// It is a number of each row, one of < <= > >=, and a limit: times (p50, p90, p99, p99.9), messages/s, CPU time
    /// (cpu/message of the server, generator_cpu/message), bytes/message, and shares (error_rate, refused_rate,
    /// achieved/offered). A number of too few messages is unknown, and does not pass.
    #[arg(long, value_name = "LIMIT", hide_short_help = true)]
    require: Vec<Requirement>,
}

impl Deciding {
    /// The same, as part of everything that is asked.
    pub(crate) fn over(self, asked: Asked) -> Asked {
        Asked { until: self.until, budget: self.budget, require: self.require, ..asked }
    }

    /// The first of its options that is set.
    pub(crate) fn first(&self) -> Option<&'static str> {
        let all = [
            (!self.until.is_empty(), "until"),
            (self.budget.is_some(), "budget"),
            (!self.require.is_empty(), "require"),
        ];
        all.into_iter().find_map(|(is_set, name)| is_set.then_some(name))
    }
}
