//! The entries of the log, which are written once, and of which a record is made.

use super::health::Health;
use super::names::{BlockId, Instance, Name};
use super::version::Version;
pub use record::AgentTask as Kind;
use serde::{Deserialize, Serialize};
pub use spec::Part;
use std::sync::Arc;
use units::Nanos;

/// Anything that stands in the log, under the subject of its kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// The entry of [`super::Subject::Plan`].
    Plan(Arc<Plan>),
    /// The entry of [`super::Subject::Step`].
    Step(Arc<Step>),
    /// The entry of [`super::Subject::Slot`].
    Slot(Arc<Slot>),
}

/// All that a run is to do, and how it goes on when agents are missing. It has no secrets: they are the agents' own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The version of the controller that wrote it.
    pub version: Version,
    /// The experiment.
    pub experiment: spec::Experiment,
    /// The load agents that a block needs; with fewer the run ends. At least 1.
    pub agents_min: u32,
    /// Repeats of a block whose parts were not all measured, at most; at most [`super::limits::REPEATS_MAX`].
    pub repeats: u8,
    /// True if agents of other commits may take part: the verdict then says so.
    pub mixed: bool,
}

/// A decision of a controller. The one that is first to write a number decides, the others adopt it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// A block begins.
    Go(Go),
    /// A block is over: every slot of it is decided.
    Close(Close),
    /// The run is over.
    End(End),
}

/// The begin of a block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Go {
    /// The block.
    pub block: BlockId,
    /// Its work.
    pub work: BlockWork,
    /// The processes that take part, each with its part, sorted by name.
    pub roster: Vec<Seat>,
}

/// The work of a block, before it is cut into parts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlockWork {
    /// The index of the workload in the experiment of the plan.
    pub workload: usize,
    /// The round that the block belongs to, from 0.
    pub round: usize,
    /// The load in place of that of the workload: a step of a sweep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<spec::Load>,
    /// The time from the begin until every agent has its result: warm-up, measurement, drain, time-out of replies. A
    /// guess where the load ends after a number of messages or clients.
    pub lasts: Nanos,
}

/// The place of a process in a block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seat {
    /// The agent.
    pub agent: Name,
    /// Its process: no other of the same name begins.
    pub instance: Instance,
    /// Its task.
    pub kind: Kind,
    /// Its part among those of the same kind.
    pub part: Part,
    /// The begin, by its own clock, in nanoseconds.
    pub start_ns: u64,
    /// The most by which that may be off from the begin of the controller that wrote it.
    pub bound: Nanos,
    /// Its version, where that is not the one of this controller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// The end of a block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Close {
    /// The block.
    pub block: BlockId,
    /// Every seat of the roster, with what its slot came to, sorted by name.
    pub slots: Vec<Decided>,
}

/// A slot as it was when the block was closed, which is as it stays.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decided {
    /// The agent.
    pub agent: Name,
    /// The end of its part.
    pub kind: SlotKind,
    /// The digest of the slot ([`super::digest`]).
    pub digest: spec::Sha256,
    /// Reasons of the controller's own to doubt the part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<Doubt>,
}

/// A reason to doubt a part that its agent cannot see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Doubt {
    /// Its clock moved against the controller's by more than clocks drift: its machine was suspended, or its process
    /// stood still.
    ClockJumped,
    /// No clock exchange ever succeeded: its begin is not known.
    ClockUnknown,
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct End {
    /// The reason.
    pub why: Why,
}

/// The reason why a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// All blocks are closed.
    Completed,
    /// Somebody stopped it.
    Stopped,
    /// Too few agents got ready for a block.
    TooFewAgents {
        /// The number of agents that got ready.
        ready: u32,
        /// The number of agents that a block needs.
        needed: u32,
        /// The reason of one of the others, in a sentence.
        because: String,
    },
}

/// The one value of a slot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Slot {
    /// The part was measured to its end.
    Result(PartResult),
    /// The agent was told to stop, or was ended: the outcome until then.
    Aborted(PartResult),
    /// It did not begin.
    NotStarted {
        /// The process that writes this.
        instance: Instance,
        /// The reason.
        why: NotStarted,
    },
    /// Nobody heard of the part in time. Written by a controller, in the race that the agent may win.
    Lost {
        /// The controller.
        by: Name,
        /// Time from the last beat that it heard of the process until it wrote this; `null`: it heard none.
        silent: Option<Nanos>,
    },
}

/// The kinds of [`Slot`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SlotKind {
    /// [`Slot::Result`].
    Result,
    /// [`Slot::Aborted`].
    Aborted,
    /// [`Slot::NotStarted`].
    NotStarted,
    /// [`Slot::Lost`].
    Lost,
}

impl Slot {
    /// Its kind.
    pub const fn kind(&self) -> SlotKind {
        match self {
            Self::Result(_) => SlotKind::Result,
            Self::Aborted(_) => SlotKind::Aborted,
            Self::NotStarted { .. } => SlotKind::NotStarted,
            Self::Lost { .. } => SlotKind::Lost,
        }
    }

    /// The result, if anything was measured.
    pub const fn part(&self) -> Option<&PartResult> {
        match self {
            Self::Result(part) | Self::Aborted(part) => Some(part),
            Self::NotStarted { .. } | Self::Lost { .. } => None,
        }
    }
}

/// The result of a part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartResult {
    /// The process that measured it.
    pub instance: Instance,
    /// Time from the begin that it was given to its first message, by its own clock.
    pub late: Nanos,
    /// The state of the agent during the block.
    pub health: Health,
    /// Messages that the part was to send; a watch sends none.
    pub planned: u64,
    /// Messages that it sent.
    pub sent: u64,
    /// The mergeable outcome of a load, or what a watch saw ([`record::Watched`]), as `fleet::merge` packs it.
    #[serde(with = "super::packed")]
    pub packed: Arc<[u8]>,
}

/// The reason why a part did not begin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotStarted {
    /// The agent heard of the begin when it was over.
    Late {
        /// Time from the begin until it heard of it.
        by: Nanos,
    },
    /// It was not ready for this block: its process is busy with another, or was told of another roster.
    NotReady,
    /// The load could not be begun.
    Failed {
        /// The reason.
        because: String,
    },
}
