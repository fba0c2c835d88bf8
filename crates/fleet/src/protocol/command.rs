//! Messages that are said and not kept: beats, questions and answers.

use super::entry::{BlockWork, Go, Kind, Part};
use super::health::Health;
use super::names::{BlockId, Instance, Name};
use super::version::{Refusal, Version};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The sign of life of an agent, every [`super::limits::BEAT_EVERY`]. On `wb.hb.<agent>`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Beat {
    /// The agent.
    pub agent: Name,
    /// Its process.
    pub instance: Instance,
    /// Its task.
    pub kind: Kind,
    /// Beats of this process before this one.
    pub number: u64,
    /// The phase that it is in.
    pub phase: Phase,
    /// The run and the block that it is busy with.
    pub block: Option<(Name, BlockId)>,
    /// Slots that it still offers to the log.
    pub spooled: u32,
    /// Its state.
    pub health: Health,
}

impl Beat {
    /// The subject of an agent's beats.
    pub fn subject(agent: &Name) -> String {
        format!("wb.hb.{agent}")
    }
}

/// The phases of an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Waits for a block.
    #[default]
    Idle,
    /// Connects and verifies.
    Preparing,
    /// Waits to be told when to begin.
    Ready,
    /// Holds the begin, and waits for it.
    Armed,
    /// Sends.
    Running,
    /// Writes its result to its own disk.
    Spooling,
    /// Writes its result to the log.
    Committing,
    /// Ends by itself; says nothing after this.
    Leaving,
}

/// The totals of an agent, once a second. On `wb.live.<agent>`; they are shown, and never in a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Live {
    /// The agent.
    pub agent: Name,
    /// Its process.
    pub instance: Instance,
    /// The run and the block.
    pub block: (Name, BlockId),
    /// Seconds of the block before this one.
    pub second: u32,
    /// True if it ended in the measurement; false if it did in the warm-up.
    #[serde(default)]
    pub measures: bool,
    /// The mergeable outcome of that second, as `fleet::merge` packs it.
    #[serde(with = "super::packed")]
    pub packed: Arc<[u8]>,
}

impl Live {
    /// The subject of an agent's totals.
    pub fn subject(agent: &Name) -> String {
        format!("wb.live.{agent}")
    }
}

/// The sign of the controller that leads a run, every [`super::limits::LEAD_EVERY`]. On `wb.lead.<run>`. A hint that
/// keeps two controllers from getting into each other's way; nothing depends on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lead {
    /// The run.
    pub run: Name,
    /// The controller.
    pub controller: Name,
    /// Its process. Of two that both lead, the one with the smaller number gives way.
    pub instance: Instance,
    /// The host that it runs on, for people.
    pub host: String,
    /// True if it leads; otherwise it only passes on that the run is to be stopped.
    pub leads: bool,
    /// True if the run is to be stopped: whoever leads stops it.
    pub stops: bool,
}

impl Lead {
    /// The subject of a run's leader.
    pub fn subject(run: &Name) -> String {
        format!("wb.lead.{run}")
    }
}

/// A question of a controller to one process of an agent. On `wb.cmd.<agent>.<instance>`, as a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Asks who is there. Answered by [`Answer::Hello`].
    Hello,
    /// Tells the process the reason why it takes no part. Answered by [`Answer::Done`].
    Refuse(Refusal),
    /// Asks for the agent's clock. Answered by [`Answer::Clock`].
    Clock,
    /// Get ready for a part of a block; asked again until it is ready or has refused.
    Prepare {
        /// The run, whose plan the agent reads from the log.
        run: Name,
        /// The block.
        block: BlockId,
        /// The work of the block.
        work: BlockWork,
        /// The task.
        kind: Kind,
        /// The part of it.
        part: Part,
    },
    /// A block begins. Asked after the step is in the log, and never before.
    Go {
        /// The run.
        run: Name,
        /// The number of the step.
        step: u32,
        /// The step.
        go: Arc<Go>,
    },
    /// Ends the block that is underway; its slot will be [`super::Slot::Aborted`].
    Stop {
        /// The run.
        run: Name,
    },
    /// The run is over: what is kept of it on disk for the log can go.
    End {
        /// The run.
        run: Name,
    },
}

impl Command {
    /// The subject of a process's questions.
    pub fn subject(agent: &Name, instance: Instance) -> String {
        format!("wb.cmd.{agent}.{:016x}", instance.0)
    }
}

/// The answer of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The answer to [`Command::Hello`].
    Hello(Box<Hello>),
    /// The answer to [`Command::Clock`]: the agent's clock, in nanoseconds, when the question came and when the answer
    /// left.
    Clock {
        /// The instant at which the question came.
        received_ns: u64,
        /// The instant at which the answer left.
        sent_ns: u64,
    },
    /// The answer to [`Command::Prepare`]: not ready yet.
    Preparing,
    /// The answer to [`Command::Prepare`]: ready.
    Ready,
    /// The answer to [`Command::Prepare`]: the agent will not take part.
    Refused(Refusal),
    /// The answer to [`Command::Go`]: the agent will begin, or has begun.
    Armed,
    /// The answer to [`Command::Go`]: the agent does not begin, and its slot says so.
    NotStarted,
    /// The answer to any other command.
    Done,
}

/// All that an agent says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The agent.
    pub agent: Name,
    /// Its process.
    pub instance: Instance,
    /// Its task.
    pub kind: Kind,
    /// Its weight: the share of the load that it takes is this by the sum of all.
    pub weight: std::num::NonZeroU32,
    /// Its version.
    pub version: Version,
    /// Its wall clock, in seconds since 1970: for certificates alone.
    pub wall_s: u64,
    /// Its machine, for people: system, kernel, CPUs, open files, ports.
    pub machine: String,
}
