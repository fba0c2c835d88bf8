//! The events that an agent handles, and the actions that it asks for.

use crate::Word;
use crate::bus::BusEvent;
use crate::protocol::{
    Answer, Beat, BlockId, BlockWork, Command, Entry, Health, Hello, Kind, Name, Part, PartResult,
    Plan, Refusal, Slot, Subject,
};
use std::sync::Arc;
use units::{Instant, Nanos};

/// The identity of an agent, and what an earlier process of it left behind.
#[derive(Clone, Debug)]
pub struct Options {
    /// Everything that it says about itself.
    pub hello: Hello,
    /// Slots that an earlier process kept on disk, each under its subject.
    pub spool: Vec<(Subject, Arc<Slot>)>,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Nothing: the deadline has been reached.
    Tick,
    /// An event of the bus.
    Bus(BusEvent),
    /// A question arrived; the answer is [`Action::Answer`] with its number.
    Command(u64, Command),
    /// The part is ready to begin: connected and verified. One end of [`Action::Prepare`].
    Prepared(BlockId),
    /// The part is not ready. The other end of [`Action::Prepare`].
    NotPrepared(BlockId, Refusal),
    /// The first message is on its way.
    Started(BlockId),
    /// The part is over, as planned or because it was stopped: the end of [`Action::Start`].
    Measured(BlockId, Measured),
    /// A slot is on disk (written, synced, renamed); `Err`: it is not, for this reason.
    Spooled(Subject, Result<(), String>),
    /// The state of the agent, once a second or so.
    Health(Health),
    /// A signal asks the process to end. The second signal means at once.
    Signal,
}

/// The end of a part.
#[derive(Clone, Debug, PartialEq)]
pub enum Measured {
    /// It was measured to its end.
    Whole(PartResult),
    /// It was stopped.
    Stopped(PartResult),
    /// It did not begin: the process woke up this long after the begin.
    Late(Nanos),
    /// It could not be measured.
    Failed(String),
}

/// Something to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Say that the agent is alive. Dropped while the connection is down: a beat is never sent late.
    Beat(Beat),
    /// Answer the question of this number.
    Answer(u64, Answer),
    /// Write an entry: [`BusEvent::Put`].
    Put(Subject, Entry),
    /// Read a subject: [`BusEvent::Read`].
    Read(Subject),
    /// Get ready: check that the target is allowed, resolve secrets, connect, verify.
    Prepare(Box<Task>),
    /// Discard what was prepared.
    Discard(BlockId),
    /// Begin at this instant.
    Start {
        /// The block.
        block: BlockId,
        /// The begin.
        at: Instant,
        /// The latest begin: a worker that wakes up after this instant sends nothing ([`Measured::Late`]).
        latest: Instant,
    },
    /// Stop what was started, and keep what was measured: [`Event::Measured`].
    Stop(BlockId),
    /// Write a slot to disk: [`Event::Spooled`].
    Spool(Subject, Arc<Slot>),
    /// Remove a slot from the disk.
    Unspool(Subject),
    /// Tell the user.
    Say(Word),
    /// End the process.
    Exit,
}

/// A part of a block.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// The run.
    pub run: Name,
    /// Its plan.
    pub plan: Arc<Plan>,
    /// The block.
    pub block: BlockId,
    /// The work of the whole block.
    pub work: BlockWork,
    /// The task.
    pub kind: Kind,
    /// The part of it.
    pub part: Part,
}
