//! What a run tells while it runs.

use record::{Block, Environment, Live, Warning};
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
    /// An open loop falls far behind its schedule; told once for each block, as soon as it is seen.
    Behind(Behind),
}

/// How far behind its schedule an open loop is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Behind {
    /// Messages that are due each second.
    pub asked_per_s: f64,
    /// Replies each second.
    pub achieved_per_s: f64,
    /// The share of the last second that each of our threads was busy on average, 0 to 1.
    pub generator_busy: f64,
}

impl Behind {
    /// Whether it is us who cannot carry more, rather than the server or the way to it.
    pub fn generator_is_full(&self) -> bool {
        self.generator_busy >= 0.9
    }
}
