//! A machine: a controller or an agent with its clock, its disk, and the load that it pretends to send.

use super::clock::SimClock;
use fleet::agent::{self, Agent, Measured};
use fleet::controller::{self, Controller};
use fleet::merge::pack;
use fleet::protocol::{BlockId, Health, Instance, Kind, Name, PartResult, Slot, Subject, Version};
use record::Outcome;
use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroU32;
use std::sync::Arc;
use units::{Instant, Nanos};

pub(crate) struct Node {
    pub(crate) name: Name,
    pub(crate) instance: Instance,
    pub(crate) machine: Machine,
    pub(crate) clock: SimClock,
    /// The number of earlier processes of this machine: what belongs to a process ends with it.
    pub(crate) epoch: u32,
    pub(crate) is_alive: bool,
    pub(crate) is_frozen: bool,
    pub(crate) frozen_at: u64,
    pub(crate) is_cut: bool,
    pub(crate) is_denied: bool,
    /// True if the process knows that it is connected.
    pub(crate) is_told: bool,
    /// Events that came while it was frozen.
    pub(crate) held: VecDeque<Told>,
    /// The true time of its next wake-up, so that stale ones are known.
    pub(crate) wake_at: u64,
    pub(crate) commit: &'static str,
    pub(crate) weight: NonZeroU32,
    /// Makes the outcome of a part from its number of messages; `None`: bytes that no other part has.
    pub(crate) outcome: Option<fn(u64) -> Outcome>,
}

pub(crate) enum Machine {
    Controller {
        machine: Box<Controller>,
        follows: Option<usize>,
        caught_up: bool,
        ended: bool,
        brings_plan: bool,
    },
    Agent {
        machine: Box<Agent>,
        engine: Box<Engine>,
        disk: BTreeMap<Subject, Arc<Slot>>,
    },
}

/// An event of a process.
#[derive(Clone, Debug)]
pub(crate) enum Told {
    Controller(controller::Event),
    Agent(agent::Event),
    /// A part is to begin.
    EngineBegins(BlockId),
    /// A part is over.
    EngineEnds(BlockId),
    /// Its deadline has come.
    Wake,
}

/// The part of a block that an agent measures.
#[derive(Default)]
pub(crate) struct Engine {
    /// The task that is prepared, or underway.
    pub(crate) task: Option<agent::Task>,
    pub(crate) begun: Option<Begun>,
}

pub(crate) struct Begun {
    pub(crate) block: BlockId,
    pub(crate) at: Instant,
    pub(crate) latest: Instant,
    pub(crate) ends: Instant,
    pub(crate) has_started: bool,
    pub(crate) late: Nanos,
}

impl Engine {
    /// Begins the part at `now`, or finds that it is too late; `None` if it is another one, or has begun.
    pub(crate) fn begins(&mut self, block: BlockId, now: Instant) -> Option<agent::Event> {
        let begun =
            self.begun.as_mut().filter(|begun| begun.block == block && !begun.has_started)?;
        if now > begun.latest {
            let late = now.since(begun.at);
            self.begun = None;
            return Some(agent::Event::Measured(block, Measured::Late(late)));
        }
        (begun.has_started, begun.late) = (true, now.since(begun.at));
        Some(agent::Event::Started(block))
    }

    /// Ends the part, and returns its result; `None` if it is another one.
    pub(crate) fn ends(
        &mut self,
        block: BlockId,
        instance: Instance,
        outcome: Option<fn(u64) -> Outcome>,
    ) -> Option<Measured> {
        let Begun { late, has_started, .. } = self.begun.take_if(|begun| begun.block == block)?;
        let task = self.task.take()?;
        let planned = match task.kind {
            Kind::Watch => 0,
            Kind::Load | Kind::Probe => task.part.turns().unwrap().count(PLANNED),
        };
        let packed = match outcome {
            Some(outcome) => pack(&outcome(planned)),
            None => [&instance.0.to_le_bytes()[..], &block.number.to_le_bytes()].concat(),
        };
        let sent = if has_started { planned } else { 0 };
        let health = Health::default();
        Some(Measured::Whole(PartResult {
            instance,
            late,
            health,
            planned,
            sent,
            packed: packed.into(),
        }))
    }
}

pub(crate) fn version(commit: &str) -> Version {
    Version {
        major: 1,
        minor: 0,
        tool: "0.1.0".to_owned(),
        commit: Some(commit.to_owned()),
        record: 2,
        histogram: "1ns-1h-3".to_owned(),
    }
}

/// Messages that all parts of a block are to send together.
pub(crate) const PLANNED: u64 = 1000;
