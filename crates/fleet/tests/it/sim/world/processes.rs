//! The processes on the machines: their faults, the events that they are told, and the actions that they ask for.

use super::setup::hello;
use super::{Happening, MS, World};
use crate::sim::faults::Fault;
use crate::sim::invariants::Invariants;
use crate::sim::node::{Begun, Engine, Machine, Node, Told};
use fleet::agent::{self, Agent, Measured};
use fleet::controller::{self, Controller, NoAnswer};
use fleet::protocol::{BlockId, Command, Instance, Refusal};
use std::sync::Arc;
use units::{Instant, Nanos};

impl World {
    pub(super) fn goes_wrong(&mut self, fault: Fault) {
        if self.is_traced {
            self.trace(0, &format!("fault: {fault:?}"));
        }
        match fault {
            Fault::ServerDown | Fault::ServerUp => {
                self.is_up = fault == Fault::ServerUp;
                (0..self.nodes.len()).for_each(|node| self.link_soon(node));
            }
            Fault::Cut(node) | Fault::Join(node) => {
                self.nodes[node].is_cut = matches!(fault, Fault::Cut(_));
                self.link_soon(node);
            }
            Fault::Freeze(node) => {
                if self.nodes[node].is_alive && !self.nodes[node].is_frozen {
                    self.nodes[node].is_frozen = true;
                    self.nodes[node].frozen_at = self.now;
                    self.invariants.stopped(self.now, node);
                }
            }
            Fault::Thaw(node, stands) => self.thaw(node, stands),
            Fault::Crash(node) => {
                if self.nodes[node].is_alive {
                    self.invariants.stopped(self.now, node);
                    self.dies(node);
                }
            }
            Fault::Restart(node, with_spool) => self.starts(node, with_spool),
            Fault::Deny(node) | Fault::Allow(node) => {
                self.nodes[node].is_denied = matches!(fault, Fault::Deny(_));
            }
            Fault::Full | Fault::Room => self.is_full = fault == Fault::Full,
            Fault::Jump(node, by) => self.nodes[node].clock.jump(by * MS as i64),
            Fault::Stop(node) => self.tell(node, Told::Controller(controller::Event::Stop)),
            Fault::Signal(node) => self.tell(node, Told::Agent(agent::Event::Signal)),
        }
    }

    fn dies(&mut self, node: usize) {
        let node = &mut self.nodes[node];
        node.is_alive = false;
        node.is_frozen = false;
        node.is_told = false;
        node.epoch += 1;
        node.held.clear();
        if let Machine::Agent { engine, .. } = &mut node.machine {
            **engine = Engine::default();
        }
    }

    fn starts(&mut self, index: usize, with_spool: bool) {
        if self.nodes[index].is_alive {
            return;
        }
        let instance = Instance(self.random.next_u64());
        let Node { name, commit, weight, .. } = &self.nodes[index];
        let (name, commit, weight) = (name.clone(), *commit, *weight);
        let brings_plan =
            matches!(self.nodes[index].machine, Machine::Controller { brings_plan: true, .. });
        let options = self.options(&name, instance, brings_plan);
        let node = &mut self.nodes[index];
        match &mut node.machine {
            Machine::Controller { machine, follows, caught_up, ended, .. } => {
                (*follows, *caught_up, *ended) = (None, false, false);
                **machine = Controller::new(options);
            }
            Machine::Agent { machine, disk, .. } => {
                if !with_spool {
                    disk.clear();
                }
                let spool = disk
                    .iter()
                    .map(|(subject, slot)| (subject.clone(), Arc::clone(slot)))
                    .collect();
                **machine = Agent::new(agent::Options {
                    hello: hello(&name, instance, commit, weight),
                    spool,
                });
            }
        }
        (node.instance, node.is_alive) = (instance, true);
        self.link_soon(index);
    }

    fn thaw(&mut self, index: usize, stands: bool) {
        let now = self.now;
        let node = &mut self.nodes[index];
        if !std::mem::replace(&mut node.is_frozen, false) {
            return;
        }
        if stands {
            node.clock.jump(-i64::try_from(now - node.frozen_at).unwrap());
        }
        let held = std::mem::take(&mut node.held);
        let epoch = node.epoch;
        for told in held.into_iter().chain([Told::Wake]) {
            if self.nodes[index].epoch == epoch {
                self.tell(index, told);
            }
        }
    }

    pub(super) fn tell(&mut self, index: usize, told: Told) {
        let node = &mut self.nodes[index];
        if !node.is_alive {
            return;
        }
        if node.is_frozen {
            node.held.push_back(told);
            return;
        }
        let now = node.clock.at(self.now);
        // A clock that stood still has not reached that instant yet: the timer goes on.
        if let Machine::Agent { engine, .. } = &node.machine
            && let Some(begun) = &engine.begun
        {
            let until = match &told {
                Told::EngineBegins(_) => begun.at,
                Told::EngineEnds(_) if begun.has_started => begun.ends,
                Told::EngineEnds(_) | Told::Controller(_) | Told::Agent(_) | Told::Wake => now,
            };
            if now < until {
                let (at, epoch) = (node.clock.when(until), node.epoch);
                return self.at(at, Happening::Tell(index, epoch, told));
            }
        }
        match &mut node.machine {
            Machine::Controller { machine, .. } => {
                let event = match told {
                    Told::Controller(event) => event,
                    Told::Wake => controller::Event::Tick,
                    Told::Agent(_) | Told::EngineBegins(_) | Told::EngineEnds(_) => return,
                };
                let actions = machine.handle(event, now);
                actions.into_iter().for_each(|action| self.controller_does(index, action));
                Invariants::told_controller(self, index);
            }
            Machine::Agent { machine, engine, .. } => {
                let event = match told {
                    Told::Agent(event) => event,
                    Told::Wake => agent::Event::Tick,
                    Told::EngineBegins(block) => match engine.begins(block, now) {
                        Some(event) => event,
                        None => return,
                    },
                    Told::EngineEnds(block) => {
                        match engine.ends(block, node.instance, node.outcome) {
                            Some(measured) => agent::Event::Measured(block, measured),
                            None => return,
                        }
                    }
                    Told::Controller(_) => return,
                };
                if let agent::Event::Measured(block, _) = &event {
                    self.invariants.ends(index, *block);
                }
                let started =
                    if let agent::Event::Started(block) = &event { Some(*block) } else { None };
                let is_bus = matches!(event, agent::Event::Bus(_));
                let actions = machine.handle(event, now);
                if let Some(block) = started {
                    self.started(index, block, now);
                }
                actions.into_iter().for_each(|action| self.agent_does(index, action));
                if is_bus {
                    Invariants::told_agent(self, index);
                }
            }
        }
        self.wake_later(index);
    }

    /// Handles the start of a part, which ends by its own clock.
    fn started(&mut self, index: usize, block: BlockId, now: Instant) {
        Invariants::starts(self, index, block, now);
        let node = &self.nodes[index];
        let Machine::Agent { engine, .. } = &node.machine else { return };
        let Some(begun) = &engine.begun else { return };
        let (at, epoch) = (node.clock.when(begun.ends), node.epoch);
        self.at(at, Happening::Tell(index, epoch, Told::EngineEnds(block)));
    }

    fn wake_later(&mut self, index: usize) {
        let node = &mut self.nodes[index];
        let deadline = match &node.machine {
            Machine::Controller { machine, .. } => machine.deadline(),
            Machine::Agent { machine, .. } => machine.deadline(),
        };
        if deadline == Instant::NEVER || !node.is_alive {
            return;
        }
        let at = node.clock.when(deadline).max(self.now + 1000);
        if node.wake_at != at {
            node.wake_at = at;
            self.at(at, Happening::Wake(index));
        }
    }

    fn controller_does(&mut self, index: usize, action: controller::Action) {
        let epoch = self.nodes[index].epoch;
        match action {
            controller::Action::Follow => {
                if let Machine::Controller { follows, .. } = &mut self.nodes[index].machine {
                    *follows = Some(0);
                }
                self.pump_soon(index);
            }
            controller::Action::Put(subject, entry) => self.operate(index, subject, Some(entry)),
            controller::Action::Read(subject) => self.operate(index, subject, None),
            controller::Action::Ask { number, agent, instance, command, timeout } => {
                self.number += 1;
                let question = self.number;
                self.underway.insert(question);
                self.asked.insert(question, (index, epoch, number));
                let answer = Err(NoAnswer::TimedOut);
                self.at(self.now + timeout.0, Happening::Answers { question, answer });
                let copies = 1 + usize::from(self.happens_in_a_thousand(self.conditions.double));
                for copy in 0..copies {
                    if self.is_linked(index)
                        && let Some(way) = self.way()
                    {
                        let (agent, command) = (agent.clone(), command.clone());
                        // A begin may reach another process with the credentials of that name, too.
                        let other = |node: &Node| node.name == agent && node.instance != instance;
                        let twin = self.nodes.iter().find(|node| node.is_alive && other(node));
                        let is_go = matches!(command, Command::Go { .. });
                        let instance = match twin {
                            Some(twin) if is_go && copy > 0 => twin.instance,
                            Some(_) | None => instance,
                        };
                        self.at(
                            self.now + way,
                            Happening::Asks { agent, instance, question, command },
                        );
                    }
                }
            }
            controller::Action::Lead(lead) => self.says_lead(index, &lead),
            controller::Action::Choose(number) => {
                let work = self.blocks.get(number as usize).cloned();
                let told = Told::Controller(controller::Event::Chosen(number, work));
                self.at(self.now + MS, Happening::Tell(index, epoch, told));
            }
            controller::Action::Closed(_) => {}
            controller::Action::Say(word) => {
                let text = word.to_string();
                self.trace(index, &text);
                self.invariants.said(self.now, index, word);
            }
            controller::Action::Ended(_) => {
                if let Machine::Controller { ended, .. } = &mut self.nodes[index].machine {
                    *ended = true;
                }
            }
        }
    }

    fn agent_does(&mut self, index: usize, action: agent::Action) {
        let epoch = self.nodes[index].epoch;
        match action {
            agent::Action::Beat(beat) => self.says_beat(index, &beat),
            agent::Action::Answer(question, answer) => {
                if self.is_linked(index)
                    && let Some(way) = self.way()
                {
                    self.at(self.now + way, Happening::Answers { question, answer: Ok(answer) });
                }
            }
            agent::Action::Put(subject, entry) => self.operate(index, subject, Some(entry)),
            agent::Action::Read(subject) => self.operate(index, subject, None),
            agent::Action::Prepare(task) => {
                let block = task.block;
                let fails = self.happens_in_a_thousand(20);
                let event = match fails {
                    true => agent::Event::NotPrepared(
                        block,
                        Refusal::NotReady { because: "no".to_owned() },
                    ),
                    false => agent::Event::Prepared(block),
                };
                if let Machine::Agent { engine, .. } = &mut self.nodes[index].machine {
                    engine.task = Some(*task);
                }
                let takes = (20 + self.random.below(600) as u64) * MS;
                self.at(self.now + takes, Happening::Tell(index, epoch, Told::Agent(event)));
            }
            agent::Action::Discard(_) => {
                if let Machine::Agent { engine, .. } = &mut self.nodes[index].machine {
                    engine.task = None;
                }
            }
            agent::Action::Start { block, at, latest } => {
                let overrun = self.overrun;
                let Machine::Agent { engine, .. } = &mut self.nodes[index].machine else { return };
                let Some(lasts) = engine.task.as_ref().map(|task| task.work.lasts) else { return };
                engine.begun = Some(Begun {
                    block,
                    at,
                    latest,
                    ends: at + Nanos(lasts.0 / 5 * 4) + overrun,
                    has_started: false,
                    late: Nanos::ZERO,
                });
                let clock = self.nodes[index].clock;
                let wakes = clock.when(at) + self.random.below(5_000_000) as u64;
                self.at(wakes, Happening::Tell(index, epoch, Told::EngineBegins(block)));
            }
            agent::Action::Stop(block) => {
                let Node { instance, outcome, ref mut machine, .. } = self.nodes[index];
                let Machine::Agent { engine, .. } = machine else { return };
                if let Some(Measured::Whole(part)) = engine.ends(block, instance, outcome) {
                    let event = agent::Event::Measured(block, Measured::Stopped(part));
                    self.at(self.now + 30 * MS, Happening::Tell(index, epoch, Told::Agent(event)));
                }
            }
            agent::Action::Spool(subject, slot) => {
                let fails = self.happens_in_a_thousand(30);
                let result = if fails { Err("no space".to_owned()) } else { Ok(()) };
                if let Machine::Agent { disk, .. } = &mut self.nodes[index].machine
                    && !fails
                {
                    disk.insert(subject.clone(), slot);
                }
                let event = agent::Event::Spooled(subject, result);
                self.at(self.now + 5 * MS, Happening::Tell(index, epoch, Told::Agent(event)));
            }
            agent::Action::Unspool(subject) => {
                if let Machine::Agent { disk, .. } = &mut self.nodes[index].machine {
                    disk.remove(&subject);
                }
                Invariants::unspools(self, index, &subject);
            }
            agent::Action::Say(word) => self.trace(index, &word.to_string()),
            agent::Action::Exit => self.dies(index),
        }
    }
}
