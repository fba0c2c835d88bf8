//! The offers of an agent: results on their way from its disk into the log.
//!
//! An offer ends when the log has a value under its subject. An accepted offer is remembered until its run is over:
//! only then is it removed from disk.

use super::contract::Action;
use crate::Word;
use crate::bus::BusEvent;
use crate::protocol::{Entry, Name, Slot, Subject};
use crate::write::{Next, Write};
use std::collections::BTreeMap;
use std::sync::Arc;
use units::Instant;

/// The offers by subject.
#[derive(Debug, Default)]
pub(super) struct Offers(BTreeMap<Subject, Offer>);

/// A result that is on disk, or should have been.
#[derive(Debug)]
struct Offer {
    slot: Arc<Slot>,
    /// `None` once the log has a value.
    write: Option<Write>,
    /// True if that value is this slot.
    is_in: bool,
}

impl Offers {
    /// The offers of what an earlier process left on disk.
    pub(super) fn new(spool: Vec<(Subject, Arc<Slot>)>) -> Self {
        let mut offers = Self::default();
        spool.into_iter().for_each(|(subject, slot)| offers.add(subject, slot));
        offers
    }

    /// Offers `slot` to the log.
    pub(super) fn add(&mut self, subject: Subject, slot: Arc<Slot>) {
        let write = Some(Write::new(subject.clone(), Entry::Slot(Arc::clone(&slot))));
        self.0.insert(subject, Offer { slot, write, is_in: false });
    }

    /// The slot that is or was offered under `subject`.
    pub(super) fn slot(&self, subject: &Subject) -> Option<&Slot> {
        self.0.get(subject).map(|offer| offer.slot.as_ref())
    }

    /// The slots that are in the log as they were offered.
    pub(super) fn accepted(&self) -> impl Iterator<Item = (&Subject, &Arc<Slot>)> {
        let accepted = self.0.iter().filter(|(_, offer)| offer.is_in);
        accepted.map(|(subject, offer)| (subject, &offer.slot))
    }

    /// The subjects of slots that are still on their way.
    pub(super) fn waiting(&self) -> impl Iterator<Item = &Subject> {
        self.0.iter().filter(|(_, offer)| offer.write.is_some()).map(|(subject, _)| subject)
    }

    /// Takes the end of an operation of the bus. Forgets an offer if the log has another value instead.
    pub(super) fn ended(&mut self, event: &BusEvent, now: Instant, actions: &mut Vec<Action>) {
        let mut words = Vec::new();
        let mut superseded = Vec::new();
        for (subject, offer) in &mut self.0 {
            let Some(write) = &mut offer.write else { continue };
            let Some(value) = write.ended(event, now, &mut words) else { continue };
            offer.is_in = value == *write.entry();
            offer.write = None;
            if !offer.is_in {
                superseded.push(subject.clone());
            }
        }
        actions.extend(words.into_iter().map(Action::Say));
        for subject in superseded {
            self.0.remove(&subject);
            actions.push(Action::Say(Word::Superseded(subject.clone())));
            actions.push(Action::Unspool(subject));
        }
    }

    /// Asks for the operations that are due at `now`, and returns the instant of the next one.
    pub(super) fn poll(&mut self, now: Instant, actions: &mut Vec<Action>) -> Instant {
        let mut wake = Instant::NEVER;
        for (subject, offer) in &mut self.0 {
            let Some(write) = &mut offer.write else { continue };
            match write.poll(now) {
                Next::Put => actions.push(Action::Put(subject.clone(), write.entry().clone())),
                Next::Read => actions.push(Action::Read(subject.clone())),
                Next::Wait(until) => wake = wake.min(until),
                Next::Nothing => {}
            }
        }
        wake
    }

    /// Forgets the offers of `run` that are in the log.
    pub(super) fn forget(&mut self, run: &Name, actions: &mut Vec<Action>) {
        let is_done = |(subject, offer): &(&Subject, &Offer)| offer.is_in && subject.run() == run;
        let done = self.0.iter().filter(is_done).map(|(subject, _)| subject.clone());
        for subject in done.collect::<Vec<_>>() {
            self.0.remove(&subject);
            actions.push(Action::Unspool(subject));
        }
    }
}
