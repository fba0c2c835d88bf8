//! The words of a fleet, for the user: every event that the user must know of, worded here and nowhere else.

use crate::protocol::{BlockId, Name, Refusal, SlotKind, Subject, Why};
use std::fmt;
use units::Nanos;

/// Something that the user is told.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Word {
    /// An agent joined.
    Joined {
        /// The agent.
        agent: Name,
        /// The number of agents that have joined so far.
        agents: usize,
        /// The number of agents that are waited for.
        needed: u32,
    },
    /// An agent cannot take part.
    Refused {
        /// The agent.
        agent: Name,
        /// The reason.
        why: Refusal,
    },
    /// The wall clock of an agent is off by more than 30 s.
    WallClock {
        /// The agent.
        agent: Name,
        /// Seconds by which it is ahead; behind if negative.
        ahead_s: i64,
    },
    /// The clock of an agent is known only roughly.
    ClockBound {
        /// The agent.
        agent: Name,
        /// The bound; `None`: it is not known at all.
        bound: Option<Nanos>,
    },
    /// An agent has been silent for a while.
    Silent {
        /// The agent.
        agent: Name,
        /// Time since its last beat.
        silent: Nanos,
        /// The block that it is busy with.
        block: Option<BlockId>,
        /// Messages a second, by its last beat.
        sent_per_s: u64,
        /// The number of other agents in the block.
        others: usize,
    },
    /// The process of an agent is gone.
    Gone {
        /// The agent.
        agent: Name,
        /// The block that it was busy with.
        block: Option<BlockId>,
    },
    /// An agent was silent, and is heard again.
    Back {
        /// The agent.
        agent: Name,
        /// Time from its last beat before the silence to the first one after it.
        silent: Nanos,
        /// True if it is a new process.
        is_new: bool,
    },
    /// A block waits for agents.
    Waiting {
        /// The block.
        block: BlockId,
        /// The agents that are not ready.
        agents: Vec<Name>,
    },
    /// A block begins.
    Begins {
        /// The block.
        block: BlockId,
        /// The number of its agents.
        agents: usize,
        /// The time until it begins.
        in_time: Nanos,
    },
    /// A block is over.
    Over {
        /// The block.
        block: BlockId,
        /// The parts that were not measured to their end.
        marked: Vec<(Name, SlotKind)>,
        /// The number of all parts.
        parts: usize,
        /// True if it is repeated.
        repeats: bool,
    },
    /// An agent sends messages later than they are due.
    SendsLate {
        /// The agent.
        agent: Name,
        /// The time from when a message was due within which half of its messages of the last second were sent.
        lag: Nanos,
    },
    /// Slots are still open after the end of a block.
    Open {
        /// The block.
        block: BlockId,
        /// The agents.
        agents: Vec<Name>,
        /// The time until they count as lost.
        left: Nanos,
    },
    /// The bus is lost.
    Disconnected,
    /// The bus is back.
    Connected {
        /// The time since its loss.
        after: Nanos,
    },
    /// Another controller leads.
    Watches {
        /// Its name.
        controller: Name,
        /// Its host.
        host: String,
    },
    /// This controller leads now.
    Leads {
        /// The one that led before, if one did.
        before: Option<Name>,
    },
    /// The bus refuses a subject.
    Denied(Subject),
    /// The log is full.
    Full(Subject),
    /// The log has something that this version cannot read.
    Unreadable {
        /// The subject.
        subject: Subject,
        /// The reason.
        because: String,
    },
    /// An agent's result was decided without it.
    Superseded(Subject),
    /// A result could not be kept on disk: it is offered only from memory.
    NotSpooled {
        /// The subject.
        subject: Subject,
        /// The reason.
        because: String,
    },
    /// An agent would begin too late.
    TooLate {
        /// The block.
        block: BlockId,
        /// The time from the begin until it heard of it.
        by: Nanos,
    },
    /// The run is over.
    Ended(Why),
}

impl Word {
    /// True if the coordination server refuses it permanently: its permissions, or the size of its stream, must change
    /// before a controller can continue.
    pub(crate) const fn is_final(&self) -> bool {
        matches!(self, Self::Denied(_) | Self::Full(_))
    }
}

impl fmt::Display for Word {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Joined { agent, agents, needed } => {
                write!(to, "{agent} joined: {agents} of {needed} agents")
            }
            Self::Refused { agent, why } => write!(to, "{agent} cannot take part: {why}"),
            Self::WallClock { agent, ahead_s } => {
                let side = if *ahead_s > 0 { "ahead" } else { "behind" };
                let by = Nanos::from_secs(ahead_s.unsigned_abs());
                write!(
                    to,
                    "the clock of {agent} is {by} {side}: certificates may be refused; set it"
                )
            }
            Self::ClockBound { agent, bound: Some(bound) } => {
                write!(
                    to,
                    "the clock of {agent} is known only to within {bound}: it may start that much early or late"
                )
            }
            Self::ClockBound { agent, bound: None } => {
                write!(to, "the clock of {agent} is not known: no exchange with it was answered")
            }
            Self::Silent { agent, silent, block, sent_per_s, others } => {
                write!(to, "{agent} has been silent for {silent}")?;
                match block {
                    Some(block) => write!(
                        to,
                        " (last: block {block}, {sent_per_s}/s); its part stays open until the end of the block, and \
                         the other {others} continue"
                    ),
                    None => write!(to, "; the run does not wait for it"),
                }
            }
            Self::Gone { agent, block: Some(block) } => {
                write!(
                    to,
                    "{agent} is gone: its process does not answer; block {block} will lack its part"
                )
            }
            Self::Gone { agent, block: None } => {
                write!(to, "{agent} is gone: its process does not answer")
            }
            Self::Back { agent, silent, is_new: false } => {
                write!(to, "{agent} is back after {silent}")
            }
            Self::Back { agent, silent, is_new: true } => {
                write!(
                    to,
                    "{agent} is back after {silent} as a new process: it joins the next block"
                )
            }
            Self::Waiting { block, agents } => {
                write!(to, "block {block} waits for {}", list(agents))
            }
            Self::Begins { block, agents, in_time } => {
                let s = if *agents == 1 { "" } else { "s" };
                write!(to, "block {block} begins in {in_time} on {agents} agent{s}")
            }
            Self::Over { block, marked, parts, repeats } => {
                write!(to, "block {block} is over: {} of {parts} parts", parts - marked.len())?;
                for (agent, kind) in marked {
                    let end = match kind {
                        SlotKind::Result => "measured",
                        SlotKind::Aborted => "stopped before its end",
                        SlotKind::NotStarted => "did not begin",
                        SlotKind::Lost => "was lost",
                    };
                    write!(to, "; {agent} {end}")?;
                }
                if *repeats { write!(to, "; it is repeated") } else { Ok(()) }
            }
            Self::SendsLate { agent, lag } => write!(
                to,
                "{agent} sends late: in the last second, half of its messages were sent more than {lag} after they \
                 were due; does its machine have a free core?"
            ),
            Self::Open { block, agents, left } => write!(
                to,
                "block {block}: {} still to come; counted as lost in {left}",
                list(agents)
            ),
            Self::Disconnected => write!(
                to,
                "lost the coordination server; the block in progress runs to its end; results are kept and sent when \
                 the server answers again"
            ),
            Self::Connected { after } => {
                write!(to, "the coordination server answers again after {after}")
            }
            Self::Watches { controller, host } => {
                write!(
                    to,
                    "another controller ({controller} on {host}) leads this run; this one watches"
                )
            }
            Self::Leads { before: Some(before) } => {
                write!(to, "controller {before} is silent: this one leads the run now")
            }
            Self::Leads { before: None } => write!(to, "this controller leads the run"),
            Self::Denied(subject) => write!(
                to,
                "the server refuses {subject} with these credentials: is the join file the one for this name?"
            ),
            Self::Full(subject) => write!(
                to,
                "the log accepts nothing more at {subject}: its stream is full; raise max_bytes of the stream or remove old runs"
            ),
            Self::Unreadable { subject, because } => {
                write!(
                    to,
                    "{subject} cannot be read: {because}; was it written by another version?"
                )
            }
            Self::Superseded(subject) => write!(
                to,
                "{subject} was decided without this agent: its result came too late and is dropped"
            ),
            Self::NotSpooled { subject, because } => write!(
                to,
                "{subject} could not be kept on disk ({because}): if this process ends before the server has it, it is \
                 lost"
            ),
            Self::TooLate { block, by } => {
                write!(to, "heard of block {block} {by} after its start: not started")
            }
            Self::Ended(why) => match why {
                Why::Completed => write!(to, "the run is complete"),
                Why::Stopped => write!(to, "the run was stopped"),
                Why::TooFewAgents { ready, needed, because } => {
                    write!(to, "the run ended with {ready} of {needed} agents ready; {because}")
                }
            },
        }
    }
}

/// The names, separated by commas.
fn list(names: &[Name]) -> String {
    names.iter().map(Name::as_str).collect::<Vec<_>>().join(", ")
}
