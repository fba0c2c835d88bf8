//! The entries of the log, which are written once; a record is made of them.

use super::health::Health;
use super::names::{BlockId, Instance, Name};
use super::version::Version;
pub use record::AgentTask as Kind;
use serde::{Deserialize, Serialize};
pub use spec::Part;
use std::sync::Arc;
use units::Nanos;

/// An entry of the log, under the subject of its kind.
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

/// Everything that a run does, and how it continues when agents are missing. It contains no secrets: agents have their
/// own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The version of the controller that wrote it.
    pub version: Version,
    /// The experiment.
    pub experiment: spec::Experiment,
    /// The number of load agents that a block needs; with fewer the run ends. At least 1.
    pub agents_min: u32,
    /// The most repeats of a block whose parts were not all measured; at most [`super::limits::REPEATS_MAX`].
    pub repeats: u8,
    /// True if agents of other commits may take part: the verdict then says so.
    pub mixed: bool,
}

/// A decision of a controller. The first controller to write a number decides; the others adopt its step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// A block begins.
    Go(Go),
    /// A block is over: all its slots are decided.
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
    /// The load that replaces the workload's: a step of a sweep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<spec::Load>,
    /// The time from the begin until every agent has its result: warm-up, measurement, drain, timeout of replies. A
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
    /// The largest possible error of that against the begin by the clock of the controller that wrote it.
    pub bound: Nanos,
    /// Its version, if it differs from the controller's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// The end of a block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Close {
    /// The block.
    pub block: BlockId,
    /// Every seat of the roster, with the outcome of its slot; sorted by name.
    pub slots: Vec<Decided>,
}

/// A slot as it was when the block was closed, which is final.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decided {
    /// The agent.
    pub agent: Name,
    /// The end of its part.
    pub kind: SlotKind,
    /// The digest of the slot ([`super::digest`]).
    pub digest: spec::Sha256,
    /// The controller's own reasons to doubt the part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<Doubt>,
}

/// A reason to doubt a part that its agent cannot see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Doubt {
    /// Its clock moved against the controller's by more than clocks drift: its machine or its process was suspended.
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
    /// It was stopped.
    Stopped,
    /// Too few agents got ready for a block.
    TooFewAgents {
        /// The number of agents that got ready.
        ready: u32,
        /// The number of agents that a block needs.
        needed: u32,
        /// The reason why one of the others is missing, in a sentence.
        because: String,
    },
}

/// The one value of a slot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Slot {
    /// The part was measured to its end.
    Result(PartResult),
    /// The agent was told to stop or to end: the outcome until then.
    Aborted(PartResult),
    /// It did not begin.
    NotStarted {
        /// The process that writes this.
        instance: Instance,
        /// The reason.
        why: NotStarted,
    },
    /// The part was not reported in time. Written by a controller, in a race that the agent may win.
    Lost {
        /// The controller.
        by: Name,
        /// Time from the last beat of the process that it heard until it wrote this; `null`: it heard none.
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
    /// Time from the planned begin to its first message, by its own clock.
    pub late: Nanos,
    /// The state of the agent during the block.
    pub health: Health,
    /// The number of messages that the part should send; a watch sends none.
    pub planned: u64,
    /// The number of messages that it sent.
    pub sent: u64,
    /// The mergeable outcome of a load, or what a watch saw ([`record::Watched`]), as `fleet::merge` packs it.
    #[serde(with = "super::packed")]
    pub packed: Arc<[u8]>,
}

/// The reason why a part did not begin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotStarted {
    /// The agent heard of the begin when it had passed.
    Late {
        /// Time from the begin until it heard of it.
        by: Nanos,
    },
    /// It was not ready for this block: its process is busy with another, or prepared another part.
    NotReady,
    /// The load could not be begun.
    Failed {
        /// The reason.
        because: String,
    },
}
