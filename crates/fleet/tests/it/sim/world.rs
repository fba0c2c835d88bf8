//! The world: a server that keeps the log, the machines, and the time that all of it takes.
//!
//! Start reading at [`World::run`].

mod processes;
mod server;
mod setup;

use super::faults::{Conditions, Fault};
use super::invariants::Invariants;
use super::node::{Machine, Node, Told};
use fleet::agent;
use fleet::bus::BusEvent;
use fleet::controller::{self, NoAnswer};
use fleet::protocol::{Answer, BlockWork, Command, Entry, Instance, Name, Plan, Step, Subject};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use units::{Nanos, Random};

pub(crate) struct World {
    pub(crate) seed: u64,
    pub(crate) random: Random,
    pub(crate) now: u64,
    queue: BTreeMap<(u64, u64), Happening>,
    number: u64,
    pub(crate) log: BTreeMap<Subject, Entry>,
    order: Vec<Subject>,
    pub(crate) nodes: Vec<Node>,
    conditions: Conditions,
    pub(crate) calm: u64,
    is_up: bool,
    is_full: bool,
    pub(crate) run: Name,
    pub(crate) plan: Arc<Plan>,
    pub(crate) blocks: Vec<BlockWork>,
    /// The time by which the parts of a block overrun what its work says.
    pub(crate) overrun: Nanos,
    /// Operations and questions that have not ended.
    underway: BTreeSet<u64>,
    /// The askers of questions, by number: the controller, its process, and the number there.
    asked: BTreeMap<u64, (usize, u32, u64)>,
    pub(crate) invariants: Invariants,
    is_traced: bool,
}

enum Happening {
    Calm,
    Fault(Fault),
    Link(usize),
    Wake(usize),
    Tell(usize, u32, Told),
    /// A write or a read reaches the server.
    Arrives {
        node: usize,
        epoch: u32,
        operation: u64,
        subject: Subject,
        entry: Option<Entry>,
    },
    /// The end of a write or a read, unless it has ended.
    Ends {
        node: usize,
        epoch: u32,
        operation: u64,
        event: BusEvent,
    },
    /// A question reaches the machine that has this process.
    Asks {
        agent: Name,
        instance: Instance,
        question: u64,
        command: Command,
    },
    Answers {
        question: u64,
        answer: Result<Answer, NoAnswer>,
    },
    /// The server tells a controller what is new in the log.
    Pump(usize, u32),
}

const MS: u64 = 1_000_000;

impl World {
    /// The same world, which prints what happens in it.
    pub(crate) fn traced(self) -> Self {
        Self { is_traced: true, ..self }
    }

    /// Runs until everything alive has ended; fails once the bound is over.
    pub(crate) fn run(&mut self) {
        let bound = self.calm + BOUND;
        while let Some(((at, _), happening)) = self.queue.pop_first() {
            assert!(
                at <= bound,
                "seed {}: it has not ended {} s after all faults",
                self.seed,
                BOUND / 1_000_000_000
            );
            self.now = at;
            self.happens(happening);
            if self.has_ended() {
                break;
            }
        }
        Invariants::at_the_end(self);
    }

    /// Runs until the time `until`, whatever has ended.
    pub(crate) fn run_until(&mut self, until: u64) {
        while let Some(entry) = self.queue.first_entry().filter(|entry| entry.key().0 <= until) {
            let ((at, _), happening) = entry.remove_entry();
            self.now = at;
            self.happens(happening);
        }
    }

    /// True if the run is over.
    pub(crate) fn is_over(&self) -> bool {
        let is_end =
            |entry: &Entry| matches!(entry, Entry::Step(step) if matches!(**step, Step::End(_)));
        self.log.values().any(is_end)
    }

    fn has_ended(&self) -> bool {
        let controllers = self.nodes.iter().filter(|node| node.is_alive);
        let ended = |node: &Node| match &node.machine {
            Machine::Controller { ended, .. } => *ended,
            Machine::Agent { machine, .. } => machine.offered() == 0,
        };
        self.now > self.calm && controllers.into_iter().all(ended)
    }

    pub(crate) fn fault_at(&mut self, at: u64, fault: Fault) {
        self.at(at, Happening::Fault(fault));
    }

    fn at(&mut self, at: u64, happening: Happening) {
        self.number += 1;
        self.queue.insert((at.max(self.now), self.number), happening);
    }

    fn is_calm(&self) -> bool {
        self.now >= self.calm
    }

    fn happens_in_a_thousand(&mut self, share: usize) -> bool {
        !self.is_calm() && share > 0 && self.random.below(1000) < share
    }

    fn happens(&mut self, happening: Happening) {
        match happening {
            Happening::Calm => self.becomes_calm(),
            Happening::Fault(fault) => self.goes_wrong(fault),
            Happening::Link(node) => self.link(node),
            Happening::Wake(node) => {
                if self.nodes[node].wake_at == self.now {
                    self.tell(node, Told::Wake);
                }
            }
            Happening::Tell(node, epoch, told) => {
                if self.nodes[node].epoch == epoch {
                    self.tell(node, told);
                }
            }
            Happening::Arrives { node, epoch, operation, subject, entry } => {
                self.arrives(node, epoch, operation, subject, entry);
            }
            Happening::Ends { node, epoch, operation, event } => {
                if self.underway.remove(&operation) && self.nodes[node].epoch == epoch {
                    let told = match &self.nodes[node].machine {
                        Machine::Controller { .. } => {
                            Told::Controller(controller::Event::Bus(event))
                        }
                        Machine::Agent { .. } => Told::Agent(agent::Event::Bus(event)),
                    };
                    self.tell(node, told);
                }
            }
            Happening::Asks { agent, instance, question, command } => {
                self.asks(&agent, instance, question, command);
            }
            Happening::Answers { question, answer } => {
                if self.underway.remove(&question)
                    && let Some((node, epoch, number)) = self.asked.remove(&question)
                    && self.nodes[node].epoch == epoch
                {
                    self.tell(node, Told::Controller(controller::Event::Answer(number, answer)));
                }
            }
            Happening::Pump(node, epoch) => self.pump(node, epoch),
        }
    }

    fn becomes_calm(&mut self) {
        (self.is_up, self.is_full) = (true, false);
        for node in 0..self.nodes.len() {
            (self.nodes[node].is_cut, self.nodes[node].is_denied) = (false, false);
            self.goes_wrong(Fault::Thaw(node, false));
            self.link_soon(node);
        }
    }

    /// Prints what happened on which machine, if the world is traced.
    #[expect(clippy::print_stdout, reason = "a seed that fails tells what happened")]
    fn trace(&self, node: usize, text: &str) {
        if self.is_traced {
            let (second, ms) = (self.now / 1_000_000_000, self.now / 1_000_000 % 1000);
            println!("{second:>4}.{ms:03} {:<3} {text}", self.nodes[node].name);
        }
    }
}

/// The number of controllers: the first brings the plan, the others join a run that is there.
pub(crate) const CONTROLLERS: usize = 2;
/// The time in which everything ends once nothing goes wrong any more: three blocks with two repeats each, in which
/// agents are missed until their grace is over.
const BOUND: u64 = 300_000_000_000;
