//! The stages of a run between its blocks and in them.

use crate::protocol::{BlockId, BlockWork, Instance, Kind, Name, Part};
use std::collections::BTreeMap;
use units::Instant;

/// The stage of a run, according to its log.
#[derive(Debug)]
pub(super) enum Stage {
    /// The plan, or the log after it, is not known yet.
    Opening,
    /// No block is underway.
    Between { since: Instant, choice: Choice },
    /// Agents get ready for a block.
    Preparing(Preparing),
    /// A block is underway; it ends at about `ends`.
    Open { ends: Instant, told: BTreeMap<Name, Telling>, is_open_said: bool },
    /// The run has ended. Agents are told until `until`, which then becomes [`Instant::NEVER`].
    Over { until: Instant },
}

/// The choice of the next block.
#[derive(Clone, Debug)]
pub(super) enum Choice {
    /// Nothing has been asked for yet.
    None,
    /// The work of this block has been asked for.
    Awaited(u32),
    Made(BlockId, BlockWork),
    NothingLeft,
}

/// A block that agents are getting ready for.
#[derive(Debug)]
pub(super) struct Preparing {
    pub(super) block: BlockId,
    pub(super) work: BlockWork,
    pub(super) since: Instant,
    /// The agents that are to take part, sorted by name.
    pub(super) candidates: Vec<Candidate>,
    /// True once the user was told which agents are waited for.
    pub(super) is_said: bool,
}

/// An agent that is asked to get ready, with its part.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) agent: Name,
    pub(super) instance: Instance,
    pub(super) kind: Kind,
    pub(super) part: Part,
    /// The instant at which it is asked again.
    pub(super) ask_at: Instant,
    pub(super) is_ready: bool,
}

/// Telling the agent of a seat about the begin, repeated until it answers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Telling {
    /// The instant at which it is told again.
    pub(super) at: Instant,
    /// True once it has answered.
    pub(super) is_armed: bool,
}
