//! What is said and not kept: beats, questions and answers.

use super::{BlockId, BlockWork, Go, Instance, Kind, Name, Part};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use units::Nanos;

/// The sign of life of an agent, every [`super::limits::BEAT_EVERY`]. On `wb.hb.<agent>`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Beat {
    /// The agent.
    pub agent: Name,
    /// Its process.
    pub instance: Instance,
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

/// The state of an agent, as evidence.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Health {
    /// The largest share of the time that one of its workers was busy, 0 to 1; `null`: not known.
    pub busiest_worker: Option<f64>,
    /// The time that 99 % of its messages were sent within, from when they were due; `null`: not known.
    pub send_lag_p99: Option<Nanos>,
    /// Gaps in its workers' own loops.
    pub stalls: u64,
    /// Periods in which its cgroup was throttled.
    pub throttled: u64,
    /// TCP segments that its machine sent again.
    pub retransmits: u64,
    /// Messages sent in the last second.
    pub sent_per_s: u64,
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
    /// What can be merged, as `fleet::merge` packs it.
    #[serde(with = "super::wire::base64_bytes")]
    pub packed: Arc<[u8]>,
}

impl Live {
    /// The subject of an agent's totals.
    pub fn subject(agent: &Name) -> String {
        format!("wb.live.{agent}")
    }
}

/// Who leads a run, every [`super::limits::LEAD_EVERY`]. On `wb.lead.<run>`. A hint that keeps two controllers from
/// getting into each other's way; nothing depends on it.
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
    /// Who is there?
    Hello,
    /// Says why this process takes no part. Answered by [`Answer::Done`].
    Refuse(Refusal),
    /// What does your clock say? Answered by [`Answer::Clock`].
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
    /// To [`Command::Hello`].
    Hello(Box<Hello>),
    /// To [`Command::Clock`]: its own clock, in nanoseconds, when the question came and when the answer left.
    Clock {
        /// When the question came.
        received_ns: u64,
        /// When the answer left.
        sent_ns: u64,
    },
    /// To [`Command::Prepare`]: not yet.
    Preparing,
    /// To [`Command::Prepare`]: ready.
    Ready,
    /// To [`Command::Prepare`]: it will not take part.
    Refused(Refusal),
    /// To [`Command::Go`]: it will begin, or has.
    Armed,
    /// To [`Command::Go`]: it does not begin, and its slot says so.
    NotStarted,
    /// To anything else.
    Done,
}

/// A reason to take no part.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Refusal {
    /// Another process has this name, and is alive.
    #[error(
        "another process has the name {agent} and is alive: stop one of them, or give it another join file"
    )]
    Twin {
        /// The name.
        agent: Name,
    },
    /// It speaks another version of the protocol, or writes other histograms or records.
    #[error(
        "it is {found} and the controller is {wanted}, which do not understand each other: update one of them"
    )]
    Version {
        /// The agent's.
        found: String,
        /// The controller's.
        wanted: String,
    },
    /// It was built from another commit.
    #[error("it is {found}, the controller is {wanted}: update it, or say --mixed")]
    Commit {
        /// The agent's.
        found: String,
        /// The controller's.
        wanted: String,
    },
    /// It is busy with another run.
    #[error("it is busy with run {run}: wait for it, or end it with `wirebench fleet stop {run}`")]
    Busy {
        /// The other run.
        run: Name,
    },
    /// The agent does not load that target.
    #[error("it does not load {target}: start it with --allow-target {target}")]
    Target {
        /// The target.
        target: String,
    },
    /// It cannot read the plan.
    #[error("it cannot use the plan: {because}")]
    Plan {
        /// The reason, with the path of the field.
        because: String,
    },
    /// It could not get ready.
    #[error("it could not get ready: {because}")]
    NotReady {
        /// The reason.
        because: String,
    },
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

/// The version of one side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// Of the protocol: two that differ do not understand each other.
    pub major: u16,
    /// Of the protocol: additions.
    pub minor: u16,
    /// The version of the program.
    pub tool: String,
    /// The commit that it was built from; `null`: not known.
    pub commit: Option<String>,
    /// The version of the record's format.
    pub record: u32,
    /// The bounds and digits of histograms: two that differ cannot be merged.
    pub histogram: String,
}

impl Version {
    /// The version of the protocol that this program speaks.
    pub const PROTOCOL: (u16, u16) = (1, 0);

    /// The reason why `other` cannot take part in a run of this one; `mixed` allows other commits.
    pub fn refuses(&self, other: &Self, mixed: bool) -> Option<Refusal> {
        let (found, wanted) = (other.to_string(), self.to_string());
        let basics = |one: &Self| (one.major, one.record, one.histogram.clone());
        if basics(self) != basics(other) {
            return Some(Refusal::Version { found, wanted });
        }
        let is_same = self.tool == other.tool && self.commit == other.commit;
        (!is_same && !mixed).then_some(Refusal::Commit { found, wanted })
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { major, minor, tool, commit, record, histogram } = self;
        let commit = commit.as_deref().unwrap_or("unknown");
        write!(
            formatter,
            "{tool} (commit {commit}, protocol {major}.{minor}, record {record}, histograms {histogram})"
        )
    }
}
