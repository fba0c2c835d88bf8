//! The server that keeps the log, and the messages to it, from it and through it.

use super::{CONTROLLERS, Happening, MS, World};
use crate::sim::node::{Machine, Node, Told};
use fleet::agent;
use fleet::bus::{BusEvent, OPERATION_MAX, Put, Read};
use fleet::controller::{self, NoAnswer};
use fleet::protocol::{Beat, Command, Entry, Instance, Lead, Name, Subject};

impl World {
    /// The time that a message takes; `None` if it is lost.
    pub(super) fn way(&mut self) -> Option<u64> {
        if self.happens_in_a_thousand(self.conditions.loss) {
            return None;
        }
        let usual = 100_000 + self.random.below(900_000) as u64;
        let slow = self.happens_in_a_thousand(self.conditions.slow);
        Some(if slow { usual + self.random.below(3000) as u64 * MS } else { usual })
    }

    pub(super) fn is_linked(&self, node: usize) -> bool {
        self.is_up && !self.nodes[node].is_cut && self.nodes[node].is_alive
    }

    pub(super) fn link_soon(&mut self, node: usize) {
        let delay = 50 * MS + self.random.below(1450) as u64 * MS;
        self.at(self.now + delay, Happening::Link(node));
    }

    pub(super) fn link(&mut self, node: usize) {
        let is_linked = self.is_linked(node);
        if !self.nodes[node].is_alive || self.nodes[node].is_told == is_linked {
            return;
        }
        self.nodes[node].is_told = is_linked;
        let event = if is_linked { BusEvent::Connected } else { BusEvent::Disconnected };
        let told = match &self.nodes[node].machine {
            Machine::Controller { .. } => Told::Controller(controller::Event::Bus(event)),
            Machine::Agent { .. } => Told::Agent(agent::Event::Bus(event)),
        };
        self.tell(node, told);
    }

    /// Starts an operation of a process: it ends once, and in time.
    pub(super) fn operate(&mut self, node: usize, subject: Subject, entry: Option<Entry>) {
        self.number += 1;
        let operation = self.number;
        let epoch = self.nodes[node].epoch;
        self.underway.insert(operation);
        let event = match entry {
            Some(_) => BusEvent::Put(subject.clone(), Put::TimedOut),
            None => BusEvent::Read(subject.clone(), Read::TimedOut),
        };
        self.at(self.now + OPERATION_MAX.0, Happening::Ends { node, epoch, operation, event });
        let is_linked = self.is_linked(node);
        let way = self.way().filter(|_| is_linked);
        let is_late = entry.is_some() && self.happens_in_a_thousand(self.conditions.late_write);
        let at = match way {
            // It waits in a buffer, or on the way, until long after its caller has given it up.
            _ if is_late => self.now + OPERATION_MAX.0 + self.random.below(12_000) as u64 * MS,
            Some(way) => self.now + way,
            None => return,
        };
        self.at(at, Happening::Arrives { node, epoch, operation, subject, entry });
    }

    pub(super) fn arrives(
        &mut self,
        node: usize,
        epoch: u32,
        operation: u64,
        subject: Subject,
        entry: Option<Entry>,
    ) {
        if !self.is_up {
            return;
        }
        let is_denied = self.nodes[node].is_denied;
        let event = match entry {
            Some(_) if is_denied => BusEvent::Put(subject, Put::Denied),
            None if is_denied => BusEvent::Read(subject, Read::Denied),
            Some(entry) => {
                let is_done = !self.log.contains_key(&subject) && !self.is_full;
                if is_done {
                    self.applied(&subject, entry);
                }
                BusEvent::Put(subject, if is_done { Put::Done } else { Put::Refused })
            }
            None => {
                let read = self
                    .log
                    .get(&subject)
                    .map_or(Read::Nothing, |entry| Read::Found(entry.clone()));
                BusEvent::Read(subject, read)
            }
        };
        if self.is_linked(node)
            && let Some(way) = self.way()
        {
            self.at(self.now + way, Happening::Ends { node, epoch, operation, event });
        }
    }

    fn applied(&mut self, subject: &Subject, entry: Entry) {
        if self.is_traced {
            self.trace(0, &format!("log: {subject}"));
        }
        self.invariants.applied(&self.log, subject, &entry);
        self.log.insert(subject.clone(), entry);
        self.order.push(subject.clone());
        for node in 0..CONTROLLERS {
            self.pump_soon(node);
        }
    }

    pub(super) fn pump_soon(&mut self, node: usize) {
        let epoch = self.nodes[node].epoch;
        let late = self.happens_in_a_thousand(self.conditions.slow * 3);
        let delay = if late {
            self.random.below(8000) as u64 * MS
        } else {
            self.random.below(2_000_000) as u64
        };
        self.at(self.now + delay, Happening::Pump(node, epoch));
    }

    pub(super) fn pump(&mut self, node: usize, epoch: u32) {
        if self.nodes[node].epoch != epoch {
            return;
        }
        let Machine::Controller { follows: Some(from), caught_up, .. } =
            &mut self.nodes[node].machine
        else {
            return;
        };
        let (from, was_caught_up) = (*from, *caught_up);
        if !self.is_up || self.nodes[node].is_cut {
            self.at(self.now + 500 * MS, Happening::Pump(node, epoch));
            return;
        }
        let Machine::Controller { follows, caught_up, .. } = &mut self.nodes[node].machine else {
            return;
        };
        (*follows, *caught_up) = (Some(self.order.len()), true);
        let new: Vec<Subject> = self.order[from..].to_vec();
        for subject in new {
            let entry = self.log[&subject].clone();
            self.tell(node, Told::Controller(controller::Event::Logged(subject, entry)));
        }
        if !was_caught_up {
            self.tell(node, Told::Controller(controller::Event::CaughtUp));
        }
    }

    pub(super) fn asks(
        &mut self,
        agent: &Name,
        instance: Instance,
        question: u64,
        command: Command,
    ) {
        if !self.is_up {
            return;
        }
        let of = |node: &Node| {
            node.is_alive
                && node.is_told
                && !node.is_cut
                && node.name == *agent
                && node.instance == instance
        };
        match self.nodes.iter().position(of) {
            Some(node) => self.tell(node, Told::Agent(agent::Event::Command(question, command))),
            // Nobody is subscribed: the server knows this of a closed connection, but not of a cut one.
            None => {
                let cut =
                    |node: &Node| node.is_alive && node.name == *agent && node.instance == instance;
                if !self.nodes.iter().any(cut) {
                    self.at(
                        self.now + MS,
                        Happening::Answers { question, answer: Err(NoAnswer::Gone) },
                    );
                }
            }
        }
    }

    pub(super) fn says_lead(&mut self, from: usize, lead: &Lead) {
        if self.conditions.no_lead && !self.is_calm() {
            return;
        }
        for node in (0..CONTROLLERS).filter(|node| *node != from) {
            self.says(from, node, || Told::Controller(controller::Event::Lead(lead.clone())));
        }
    }

    pub(super) fn says_beat(&mut self, from: usize, beat: &Beat) {
        for node in 0..CONTROLLERS {
            self.says(from, node, || Told::Controller(controller::Event::Beat(beat.clone())));
        }
    }

    /// Sends a message once; it may be lost, or doubled on its way.
    fn says(&mut self, from: usize, to: usize, told: impl Fn() -> Told) {
        let copies = 1 + usize::from(self.happens_in_a_thousand(self.conditions.double));
        for _ in 0..copies {
            if self.is_linked(from)
                && self.is_linked(to)
                && let Some(way) = self.way()
            {
                let epoch = self.nodes[to].epoch;
                self.at(self.now + way, Happening::Tell(to, epoch, told()));
            }
        }
    }
}
