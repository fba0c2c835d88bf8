//! Options that say when a run has measured enough.

use spec::Goal;
use spec::file::Asked;
use units::Nanos;

/// The goals that end a run, and the time for them.
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
}

impl Deciding {
    /// The same, as part of everything that is asked.
    pub(crate) fn over(self, asked: Asked) -> Asked {
        Asked { until: self.until, budget: self.budget, ..asked }
    }

    /// The first of its options that is set.
    pub(crate) fn first(&self) -> Option<&'static str> {
        [(!self.until.is_empty(), "until"), (self.budget.is_some(), "budget")]
            .into_iter()
            .find_map(|(is_set, name)| is_set.then_some(name))
    }
}
