//! The log of a run as far as one controller knows it, and the blocks that result from it.
//!
//! Entries arrive in any order and any number of times, and only the first value of a subject counts. The fold is a
//! function of the log alone: two controllers that know the same entries have the same blocks, whoever wrote them and
//! in whatever order they were read.

use crate::protocol::{
    BlockId, Close, Entry, Go, Kind, Name, Plan, Seat, Slot, SlotKind, Step, Subject, Why,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The known part of a log.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    pub(crate) plan: Option<Arc<Plan>>,
    steps: BTreeMap<u32, Arc<Step>>,
    slots: BTreeMap<(BlockId, Name), Arc<Slot>>,
    /// All steps below this number are folded in.
    pub(crate) next: u32,
    /// The block that has begun and is not closed, with the number of its step.
    pub(crate) open: Option<(u32, Arc<Go>)>,
    pub(crate) closed: Vec<Closed>,
    pub(crate) end: Option<Why>,
}

/// A block of the record: its work, its agents, and the end of each part.
#[derive(Clone, Debug, PartialEq)]
pub struct Closed {
    /// The block, its work and its roster.
    pub go: Arc<Go>,
    /// The step that closed it.
    pub close: Close,
    /// The slot of each seat of the roster, in its order.
    pub slots: Vec<Arc<Slot>>,
}

impl Closed {
    /// True if not every part of the load was measured to its end.
    pub fn is_marked(&self) -> bool {
        let mut load = self.parts().filter(|(seat, _)| seat.kind == Kind::Load);
        load.any(|(_, slot)| slot.kind() != SlotKind::Result)
    }

    /// The seats with their slots.
    pub fn parts(&self) -> impl Iterator<Item = (&Seat, &Slot)> {
        self.go.roster.iter().zip(self.slots.iter().map(AsRef::as_ref))
    }
}

/// A step that was folded in.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Folded {
    Go,
    Close(BlockId),
    End(Why),
}

impl Ledger {
    /// Takes in an entry.
    pub(crate) fn learn(&mut self, subject: &Subject, entry: &Entry) {
        match (subject, entry) {
            (Subject::Plan(_), Entry::Plan(plan)) => {
                self.plan.get_or_insert_with(|| Arc::clone(plan));
            }
            (Subject::Step(_, number), Entry::Step(step)) => {
                self.steps.entry(*number).or_insert_with(|| Arc::clone(step));
            }
            (Subject::Slot(_, block, agent), Entry::Slot(slot)) => {
                let key = (*block, agent.clone());
                self.slots.entry(key).or_insert_with(|| Arc::clone(slot));
            }
            // The entry is not of its subject's kind: neither an agent nor a controller wrote it.
            (Subject::Plan(_) | Subject::Step(..) | Subject::Slot(..), _) => {}
        }
    }

    pub(crate) fn slot(&self, block: BlockId, agent: &Name) -> Option<&Arc<Slot>> {
        self.slots.get(&(block, agent.clone()))
    }

    /// The seats of the open block whose slots are unknown.
    pub(crate) fn undecided(&self) -> impl Iterator<Item = &Seat> {
        let open =
            self.open.iter().flat_map(|(_, go)| go.roster.iter().map(|seat| (go.block, seat)));
        open.filter(|(block, seat)| self.slot(*block, &seat.agent).is_none()).map(|(_, seat)| seat)
    }

    /// True if the next step is known, but cannot be folded in before the slots that it names are known.
    pub(crate) fn awaits_slots(&self) -> bool {
        matches!(self.steps.get(&self.next).map(AsRef::as_ref), Some(Step::Close(_)))
            && self.undecided().next().is_some()
    }

    /// Folds in the next step, if it is known together with its slots.
    pub(crate) fn fold(&mut self) -> Option<Folded> {
        if self.end.is_some() || self.awaits_slots() {
            return None;
        }
        let step = Arc::clone(self.steps.get(&self.next)?);
        let number = self.next;
        self.next += 1;
        Some(match step.as_ref() {
            Step::Go(go) => {
                self.open = Some((number, Arc::new(go.clone())));
                Folded::Go
            }
            Step::Close(close) => {
                let block = close.block;
                if let Some((_, go)) = self.open.take() {
                    let slot = |seat: &Seat| self.slot(block, &seat.agent).cloned();
                    let slots = go.roster.iter().filter_map(slot).collect();
                    self.closed.push(Closed { go, close: close.clone(), slots });
                }
                Folded::Close(block)
            }
            Step::End(end) => {
                self.end = Some(end.why.clone());
                Folded::End(end.why.clone())
            }
        })
    }
}
