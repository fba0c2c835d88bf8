//! Messages that are sent and not kept: beats, questions and answers.

use super::entry::{BlockWork, Go, Kind, Part};
use super::health::Health;
use super::names::{BlockId, Instance, Name};
use super::version::{Refusal, Version};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The heartbeat of an agent, every [`super::limits::BEAT_EVERY`]. On `wb.hb.<agent>`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Beat {
    /// The agent.
    pub agent: Name,
    /// Its process.
    pub instance: Instance,
    /// Its task.
    pub kind: Kind,
    /// The number of beats of this process before this one.
    pub number: u64,
    /// The phase that it is in.
    pub phase: Phase,
    /// The run and the block that it is busy with.
    pub block: Option<(Name, BlockId)>,
    /// The number of slots that it still offers to the log.
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
    /// Waits for the instant of the begin.
    Ready,
    /// Knows the instant of the begin, and waits for it.
    Armed,
    /// Sends.
    Running,
    /// Writes its result to its own disk.
    Spooling,
    /// Writes its result to the log.
    Committing,
    /// Ends on its own; this is its last beat.
    Leaving,
}

/// The totals of an agent, once a second. On `wb.live.<agent>`; they are only shown, and never in a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Live {
    /// The agent.
    pub agent: Name,
    /// Its process.
    pub instance: Instance,
    /// The run and the block.
    pub block: (Name, BlockId),
    /// The number of seconds of the block before this one.
    pub second: u32,
    /// True if it ended in the measurement; false if in the warm-up.
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

/// The announcement of the controller that leads a run, every [`super::limits::LEAD_EVERY`]. On `wb.lead.<run>`. A hint
/// that keeps two controllers from getting into each other's way; nothing depends on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lead {
    /// The run.
    pub run: Name,
    /// The controller.
    pub controller: Name,
    /// Its process. If two lead, the one with the smaller number gives way.
    pub instance: Instance,
    /// The host that it runs on, for display.
    pub host: String,
    /// True if it leads; otherwise it only passes on a request to stop the run.
    pub leads: bool,
    /// True if the run should stop: the leader stops it.
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
    /// Get ready for a part of a block; repeated until the agent is ready or has refused.
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
    /// A block begins. Sent only after the step is in the log.
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
    /// The run is over: results that are kept on disk for the log can be removed.
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
    /// The answer to [`Command::Clock`]: the agent's clock, in nanoseconds, when the question arrived and when the
    /// answer left.
    Clock {
        /// The instant at which the question arrived.
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

/// Everything that an agent says about itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The agent.
    pub agent: Name,
    /// Its process.
    pub instance: Instance,
    /// Its task.
    pub kind: Kind,
    /// Its weight: its share of the load is this divided by the sum of all weights.
    pub weight: std::num::NonZeroU32,
    /// Its version.
    pub version: Version,
    /// Its wall clock, in seconds since 1970; only for certificates.
    pub wall_s: u64,
    /// Its machine, for display: system, kernel, CPUs, open files, ports.
    pub machine: String,
}
