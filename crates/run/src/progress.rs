//! What a run tells while it runs.

use record::{Block, Environment, Warning};
use units::Nanos;

/// Is told what happens. The binary shows it; tests collect it.
pub trait Progress {
    /// Something happened.
    fn report(&mut self, news: News<'_>);
}

/// Something worth showing at once.
#[derive(Clone, Copy, Debug)]
pub enum News<'a> {
    /// What this machine is.
    Machine(&'a Environment),
    /// The servers are up, verified, and the first block begins. The run will take about so long.
    Begin {
        /// From now to the last block's end.
        expected: Nanos,
    },
    /// About ten times a second while messages flow.
    Live(Live<'a>),
    /// A block is done; `index` of `total`, from 0.
    Block {
        /// The name of its measurement.
        name: &'a str,
        /// What it measured.
        block: &'a Block,
        /// Which one it is.
        index: usize,
        /// How many there will be.
        total: usize,
    },
    /// Something that the user should know, and that is in the record too.
    Warning(&'a Warning),
}

/// What the last tenth of a second was like.
#[derive(Clone, Copy, Debug)]
pub struct Live<'a> {
    /// The name of the measurement.
    pub name: &'a str,
    /// Which block of how many, from 0.
    pub block: (usize, usize),
    /// `connect`, `warm-up`, `measure`, `drain` or `close`.
    pub phase: &'static str,
    /// Since the run began.
    pub elapsed: Nanos,
    /// Replies a second.
    pub messages_per_s: f64,
    /// The median round trip; `None` if there were no replies.
    pub p50: Option<Nanos>,
    /// The 99th percentile of round trips; `None` if there were too few replies.
    pub p99: Option<Nanos>,
    /// Messages that failed or timed out since the block began.
    pub failed: u64,
}
