//! The events that a controller handles, and the actions that it asks for.

use crate::Word;
use crate::bus::BusEvent;
use crate::protocol::{
    Answer, Beat, BlockId, BlockWork, Command, Entry, Instance, Lead, Name, Plan, Subject, Version,
    Why,
};
use std::sync::Arc;
use units::Nanos;

/// The identity and the task of a controller.
#[derive(Clone, Debug)]
pub struct Options {
    /// Its name.
    pub controller: Name,
    /// Its process.
    pub instance: Instance,
    /// The host that it runs on.
    pub host: String,
    /// Its version.
    pub version: Version,
    /// The run.
    pub run: Name,
    /// The plan of a new run; `None`: the run exists already, and its plan is read from the log.
    pub plan: Option<Arc<Plan>>,
    /// True if the run is only to be stopped.
    pub stops: bool,
    /// The longest wait for [`Plan::agents_min`] agents before the first block.
    pub gather_max: Nanos,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Nothing: the deadline has been reached.
    Tick,
    /// An event of the bus.
    Bus(BusEvent),
    /// An entry of the run, in the order of the log ([`Action::Follow`]); it may be late or duplicated.
    Logged(Subject, Entry),
    /// All entries that were in the log at [`Action::Follow`] have been delivered.
    CaughtUp,
    /// An agent sent a beat.
    Beat(Beat),
    /// A controller announced its role in the run.
    Lead(Lead),
    /// The end of [`Action::Ask`] of this number.
    Answer(u64, Result<Answer, NoAnswer>),
    /// The answer to [`Action::Choose`] of this block: its work; `None` if nothing is left to do.
    Chosen(u32, Option<BlockWork>),
    /// Somebody asked to stop the run.
    Stop,
}

/// The reason why a question has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoAnswer {
    /// Nobody listens there: the process is gone.
    Gone,
    /// Nothing arrived in time.
    TimedOut,
    /// These credentials may not ask.
    Denied,
}

/// Something to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Read all entries of the run from the first, and keep reading: [`Event::Logged`], then [`Event::CaughtUp`].
    Follow,
    /// Write an entry: [`BusEvent::Put`].
    Put(Subject, Entry),
    /// Read a subject: [`BusEvent::Read`].
    Read(Subject),
    /// Ask a process: [`Event::Answer`] with this number. [`NoAnswer::TimedOut`] after `timeout`.
    Ask {
        /// The number of the question.
        number: u64,
        /// The agent.
        agent: Name,
        /// Its process.
        instance: Instance,
        /// The question. For [`Command::Clock`] the driver only returns the event: `now` of this action and of the
        /// event are the two ends of the exchange, so it must be sent at once.
        command: Command,
        /// The longest time for the answer.
        timeout: Nanos,
    },
    /// Say who leads.
    Lead(Lead),
    /// Choose the work of this block: [`Event::Chosen`]. Blocks before it are in `Controller::closed`.
    Choose(u32),
    /// A block is closed: its outcome is in `Controller::closed`.
    Closed(BlockId),
    /// Tell the user.
    Say(Word),
    /// The run is over, and this controller has nothing left to do.
    Ended(Why),
}
