//! The network from outside: its processes, and running it.

use super::conditions::Conditions;
use super::engine::Sim;
use super::kernel::Kernel;
use crate::{Node, Step};
use std::cell::RefCell;
use std::rc::Rc;
use units::Instant;

/// A simulated network and its clock.
pub struct Network {
    kernel: Rc<RefCell<Kernel>>,
}

impl Network {
    /// A network without processes, at [`Instant::START`]. `seed` decides everything that `conditions` leave to chance.
    pub fn new(seed: u64, conditions: Conditions) -> Self {
        Self { kernel: Rc::new(RefCell::new(Kernel::new(seed, conditions))) }
    }

    /// The engine of one more process. Dropping it ends the process: its connections are closed, its listeners gone.
    pub fn engine(&mut self) -> Sim {
        Sim::new(Rc::clone(&self.kernel))
    }

    /// Steps every party at the start, and again whenever it has completions or the instant at which it asked to be
    /// woken has come, in the order of `parties`; in between, time jumps to the next event. Processes that are not
    /// among `parties` do not run, and what is sent to them piles up.
    ///
    /// Ends when all awaited parties are done; without any, when nothing can happen any more or `until` is reached.
    ///
    /// Time stands still during a step, except as [`Sim::slow_down`] demands. A party that wants to be stepped again at
    /// once is stepped a microsecond later, so that time passes for a process that never sleeps.
    pub fn run(&mut self, parties: &mut [Party<'_>], until: Instant) -> Outcome {
        let mut wakes = vec![Some(Instant::START); parties.len()];
        loop {
            for (party, wake) in parties.iter_mut().zip(&mut wakes) {
                let process = party.engine.process;
                if wake.is_some_and(|wake| self.kernel.borrow().is_to_run(process, wake)) {
                    *wake = party.step();
                }
            }
            let mut awaited =
                parties.iter().zip(&wakes).filter(|(party, _)| party.awaited).peekable();
            if awaited.peek().is_some() && awaited.all(|(_, wake)| wake.is_none()) {
                return Outcome::Done;
            }
            let next = self.next(parties, &wakes);
            let mut kernel = self.kernel.borrow_mut();
            if next == Instant::NEVER {
                return Outcome::Stuck;
            }
            kernel.advance(next.min(until));
            if next > until {
                return Outcome::TimeUp;
            }
        }
    }

    /// The instant now.
    pub fn now(&self) -> Instant {
        self.kernel.borrow().now()
    }

    /// The next instant at which something happens or a party runs again.
    fn next(&self, parties: &[Party<'_>], wakes: &[Option<Instant>]) -> Instant {
        let kernel = self.kernel.borrow();
        let runs = parties.iter().zip(wakes).filter_map(|(party, wake)| {
            wake.map(|wake| kernel.runs_at(party.engine.process, wake))
        });
        runs.min().unwrap_or(Instant::NEVER).min(kernel.next_event())
    }
}

/// A node on the engine of its process.
pub struct Party<'a> {
    engine: &'a mut Sim,
    node: &'a mut dyn Node<Sim>,
    awaited: bool,
}

impl<'a> Party<'a> {
    /// A party whose end the run awaits.
    pub fn awaited(engine: &'a mut Sim, node: &'a mut dyn Node<Sim>) -> Self {
        Self { engine, node, awaited: true }
    }

    /// A party that the run does not wait for, such as a server.
    pub fn background(engine: &'a mut Sim, node: &'a mut dyn Node<Sim>) -> Self {
        Self { engine, node, awaited: false }
    }

    /// Steps the node. Returns the instant at which to wake it at the latest; `None` if it is done.
    fn step(&mut self) -> Option<Instant> {
        let step = self.node.step(self.engine);
        let Step::Wait(wake) = step else { return None };
        Some(self.engine.kernel.borrow_mut().stepped(self.engine.process, wake))
    }
}

/// The result of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Outcome {
    /// All parties that were awaited are done.
    Done,
    /// An awaited party is not done, and nothing can ever happen again.
    Stuck,
    /// The instant given as the limit was reached.
    TimeUp,
}
