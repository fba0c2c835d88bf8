//! The entries on their way between a controller and the log: those that it writes, and those that it must read.

use super::Controller;
use super::contract::Action;
use crate::Word;
use crate::bus::{BusEvent, Read};
use crate::protocol::{Entry, Seat, Subject};
use crate::write::{Next, Write};
use std::sync::Arc;
use units::{Instant, Nanos};

impl Controller {
    /// Takes an event of the bus: the connection is up or lost, or an operation on the log has ended.
    pub(super) fn bus(&mut self, event: &BusEvent, now: Instant) {
        match event {
            BusEvent::Connected => {
                self.is_connected = true;
                match self.lost_at.take() {
                    Some(lost) => self.say(Word::Connected { after: now.since(lost) }),
                    None => {
                        self.actions.push(Action::Follow);
                        self.rival_heard = now;
                        if let Some(plan) = &self.options.plan {
                            let entry = Entry::Plan(Arc::clone(plan));
                            let subject = Subject::Plan(self.options.run.clone());
                            self.writes.insert(subject.clone(), Write::new(subject, entry));
                        }
                    }
                }
                self.members.values_mut().for_each(|member| member.excuse(now));
                self.rival_heard = self.rival_heard.max(now);
            }
            BusEvent::Disconnected => {
                self.is_connected = false;
                if self.lost_at.is_none() {
                    self.lost_at = Some(now);
                    self.say(Word::Disconnected);
                }
            }
            BusEvent::Put(..) => {}
            BusEvent::Read(subject, read) => {
                self.reads.entry(subject.clone()).and_modify(|at| *at = now + READ_AGAIN);
                if let Read::Found(entry) = read {
                    self.ledger.learn(subject, entry);
                }
            }
        }
        let mut words = Vec::new();
        let mut settled = Vec::new();
        for (subject, write) in &mut self.writes {
            if let Some(entry) = write.ended(event, now, &mut words) {
                settled.push((subject.clone(), entry));
            }
        }
        words.into_iter().for_each(|word| self.say(word));
        for (subject, entry) in settled {
            self.writes.remove(&subject);
            self.ledger.learn(&subject, &entry);
        }
    }

    /// Asks for the operations of writes that are due.
    pub(super) fn poll_writes(&mut self, now: Instant) {
        let next = self.ledger.next;
        // Another controller has written these steps first.
        self.writes
            .retain(|subject, _| !matches!(subject, Subject::Step(_, number) if *number < next));
        for (subject, write) in &mut self.writes {
            match write.poll(now) {
                Next::Put => self.actions.push(Action::Put(subject.clone(), write.entry().clone())),
                Next::Read => self.actions.push(Action::Read(subject.clone())),
                Next::Wait(until) => self.wake = self.wake.min(until),
                Next::Nothing => {}
            }
        }
    }

    /// Reads the slots that a step of another controller names and this one has not seen; also the plan, if another
    /// controller wrote it.
    pub(super) fn read_missing(&mut self, now: Instant) {
        if !self.is_connected {
            return;
        }
        let run = &self.options.run;
        let mut wanted: Vec<Subject> = Vec::new();
        if self.ledger.plan.is_none() && self.options.plan.is_none() {
            wanted.push(Subject::Plan(run.clone()));
        }
        if let (true, Some((_, go))) = (self.ledger.awaits_slots(), &self.ledger.open) {
            let slot = |seat: &Seat| Subject::Slot(run.clone(), go.block, seat.agent.clone());
            wanted.extend(self.ledger.undecided().map(slot));
        }
        for subject in wanted {
            let at = self.reads.get(&subject).copied().unwrap_or(now);
            if now >= at {
                self.reads.insert(subject.clone(), now + READ_AGAIN);
                self.actions.push(Action::Read(subject));
            }
            self.wake = self.wake.min(at.max(now + READ_AGAIN));
        }
    }
}

/// The time after which something that is not in the log yet is read again.
const READ_AGAIN: Nanos = Nanos::from_secs(1);
