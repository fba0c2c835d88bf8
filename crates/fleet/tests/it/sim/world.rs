//! The world: a server that keeps the log, the machines, and the time that all of it takes.

use super::clock::SimClock;
use super::faults::{self, Conditions, Fault};
use super::invariants::Invariants;
use super::node::{Begun, Engine, Machine, Node, Told, version};
use fleet::agent::{self, Agent, Measured};
use fleet::bus::{BusEvent, OPERATION_MAX, Put, Read};
use fleet::controller::{self, Controller, NoAnswer};
use fleet::protocol::{
    Answer, Beat, BlockWork, Command, Entry, Health, Instance, Lead, Name, PartResult, Plan,
    Refusal, Step, Subject,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::num::NonZeroU32;
use std::sync::Arc;
use units::{Instant, Nanos, Random};

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
    blocks: Vec<BlockWork>,
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
    /// The end of one, unless it has ended.
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
    /// A world of `controllers` and `agents`, the last of which has the name of the first.
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let share = |random: &mut Random, most: usize| random.below(2) * random.below(most);
        let conditions = Conditions {
            loss: share(&mut random, 200),
            double: share(&mut random, 200),
            slow: share(&mut random, 100),
            late_write: share(&mut random, 400),
            no_lead: random.below(4) == 0,
        };
        let calm = (8 + random.below(30) as u64) * 1000 * MS;
        let mut world = Self::quiet(seed, random, calm);
        world.conditions = conditions;
        let agents = world.nodes.len() - CONTROLLERS;
        let drawn = faults::drawn(&mut world.random, CONTROLLERS + agents, CONTROLLERS, calm);
        for (at, fault) in drawn {
            world.at(at, Happening::Fault(fault));
        }
        world
    }

    /// One in which nothing goes wrong by itself.
    pub(crate) fn quiet(seed: u64, mut random: Random, calm: u64) -> Self {
        let agents = 2 + random.below(3);
        let has_twin = random.below(3) == 0;
        let is_skewed = random.below(5) == 0;
        let lasts = Nanos::from_millis(1000 + 500 * random.below(5) as u64);
        let work = |round| BlockWork { workload: 0, round, load: None, lasts };
        let blocks = (0..1 + random.below(3)).map(work).collect();
        let plan = Arc::new(Plan {
            version: version("c0"),
            experiment: spec::Experiment::default(),
            agents_min: 1 + u32::try_from(random.below(agents)).unwrap(),
            repeats: u8::try_from(random.below(3)).unwrap(),
            mixed: random.below(2) == 0,
        });
        let run: Name = "r1".parse().unwrap();
        let mut world = Self {
            seed,
            now: 0,
            queue: BTreeMap::new(),
            number: 0,
            log: BTreeMap::new(),
            order: Vec::new(),
            nodes: Vec::new(),
            conditions: Conditions::default(),
            calm,
            is_up: true,
            is_full: false,
            run,
            plan,
            blocks,
            underway: BTreeSet::new(),
            asked: BTreeMap::new(),
            invariants: Invariants::new(seed),
            is_traced: false,
            random,
        };
        for index in 0..CONTROLLERS {
            world.add(&format!("c{index}"), Some(index == 0), "c0", NonZeroU32::MIN);
        }
        for index in 0..agents {
            let commit = if is_skewed && index == agents - 1 { "c1" } else { "c0" };
            let weight =
                NonZeroU32::new(1 + u32::try_from(world.random.below(3)).unwrap()).unwrap();
            world.add(&format!("a{index}"), None, commit, weight);
        }
        if has_twin {
            world.add("a0", None, "c0", NonZeroU32::MIN);
        }
        for node in 0..world.nodes.len() {
            let late = if node == 0 { 0 } else { world.random.below(4000) as u64 * MS };
            world.at(late, Happening::Fault(Fault::Restart(node, true)));
        }
        world.at(calm, Happening::Calm);
        world
    }

    /// A machine that is not running yet; a controller if it is known whether it brings the plan.
    fn add(
        &mut self,
        name: &str,
        brings_plan: Option<bool>,
        commit: &'static str,
        weight: NonZeroU32,
    ) {
        let base = 1_000_000_000_000 + self.random.below(1_000_000_000_000) as i64;
        let ppm = self.random.below(41) as i64 - 20;
        let name: Name = name.parse().unwrap();
        let instance = Instance(0);
        let machine = match brings_plan {
            Some(brings_plan) => Machine::Controller {
                machine: Box::new(Controller::new(self.options(&name, instance, brings_plan))),
                follows: None,
                caught_up: false,
                ended: false,
                brings_plan,
            },
            None => Machine::Agent {
                machine: Box::new(Agent::new(agent::Options {
                    hello: hello(&name, instance, commit, weight),
                    spool: Vec::new(),
                })),
                engine: Box::default(),
                disk: BTreeMap::new(),
            },
        };
        self.nodes.push(Node {
            name,
            instance,
            machine,
            clock: SimClock::new(base, ppm),
            epoch: 0,
            is_alive: false,
            is_frozen: false,
            frozen_at: 0,
            is_cut: false,
            is_denied: false,
            is_told: false,
            held: VecDeque::new(),
            wake_at: 0,
            commit,
            weight,
        });
    }

    fn options(&self, name: &Name, instance: Instance, brings_plan: bool) -> controller::Options {
        controller::Options {
            controller: name.clone(),
            instance,
            host: "host".to_owned(),
            version: version("c0"),
            run: self.run.clone(),
            plan: brings_plan.then(|| Arc::clone(&self.plan)),
            stops: false,
            gather_max: Nanos::from_secs(20),
        }
    }

    /// The same, which prints what happens.
    pub(crate) fn traced(self) -> Self {
        Self { is_traced: true, ..self }
    }

    /// Goes on until all that is alive has ended, or the bound is over.
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

    /// Goes on until then, whatever has ended.
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

    /// The time that a message takes; `None`: it is lost.
    fn way(&mut self) -> Option<u64> {
        if self.happens_in_a_thousand(self.conditions.loss) {
            return None;
        }
        let usual = 100_000 + self.random.below(900_000) as u64;
        let slow = self.happens_in_a_thousand(self.conditions.slow);
        Some(if slow { usual + self.random.below(3000) as u64 * MS } else { usual })
    }

    fn is_linked(&self, node: usize) -> bool {
        self.is_up && !self.nodes[node].is_cut && self.nodes[node].is_alive
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

    fn link_soon(&mut self, node: usize) {
        let delay = 50 * MS + self.random.below(1450) as u64 * MS;
        self.at(self.now + delay, Happening::Link(node));
    }

    /// Prints what happened on which machine, if the world is traced.
    #[expect(clippy::print_stdout, reason = "a seed that fails tells what happened")]
    fn trace(&self, node: usize, text: &str) {
        if self.is_traced {
            let (second, ms) = (self.now / 1_000_000_000, self.now / 1_000_000 % 1000);
            println!("{second:>4}.{ms:03} {:<3} {text}", self.nodes[node].name);
        }
    }

    fn goes_wrong(&mut self, fault: Fault) {
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

    fn link(&mut self, node: usize) {
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

    /// Starts an operation of a process: it has one end, in time.
    fn operate(&mut self, node: usize, subject: Subject, entry: Option<Entry>) {
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

    fn arrives(
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

    fn pump_soon(&mut self, node: usize) {
        let epoch = self.nodes[node].epoch;
        let late = self.happens_in_a_thousand(self.conditions.slow * 3);
        let delay = if late {
            self.random.below(8000) as u64 * MS
        } else {
            self.random.below(2_000_000) as u64
        };
        self.at(self.now + delay, Happening::Pump(node, epoch));
    }

    fn pump(&mut self, node: usize, epoch: u32) {
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

    fn asks(&mut self, agent: &Name, instance: Instance, question: u64, command: Command) {
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
            // Nobody is subscribed: the server knows that of a connection that is closed, not of one that is cut.
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

    fn tell(&mut self, index: usize, told: Told) {
        let node = &mut self.nodes[index];
        if !node.is_alive {
            return;
        }
        if node.is_frozen {
            node.held.push_back(told);
            return;
        }
        let now = node.clock.at(self.now);
        // A clock that stood still has not come to that instant yet: the timer goes on.
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
                    Told::EngineEnds(block) => match engine.ends(block, node.instance) {
                        Some(measured) => agent::Event::Measured(block, measured),
                        None => return,
                    },
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

    /// A part has begun; it ends by its own clock.
    fn started(&mut self, index: usize, block: fleet::protocol::BlockId, now: Instant) {
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

    fn says_lead(&mut self, from: usize, lead: &Lead) {
        if self.conditions.no_lead && !self.is_calm() {
            return;
        }
        for node in (0..CONTROLLERS).filter(|node| *node != from) {
            self.says(from, node, || Told::Controller(controller::Event::Lead(lead.clone())));
        }
    }

    fn says_beat(&mut self, from: usize, beat: &Beat) {
        for node in 0..CONTROLLERS {
            self.says(from, node, || Told::Controller(controller::Event::Beat(beat.clone())));
        }
    }

    /// A message that is said once.
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
                let Machine::Agent { engine, .. } = &mut self.nodes[index].machine else { return };
                let Some(lasts) = engine.task.as_ref().map(|task| task.work.lasts) else { return };
                engine.begun = Some(Begun {
                    block,
                    at,
                    latest,
                    ends: at + Nanos(lasts.0 / 5 * 4),
                    has_started: false,
                    late: Nanos::ZERO,
                });
                let clock = self.nodes[index].clock;
                let wakes = clock.when(at) + self.random.below(5_000_000) as u64;
                self.at(wakes, Happening::Tell(index, epoch, Told::EngineBegins(block)));
            }
            agent::Action::Stop(block) => {
                let instance = self.nodes[index].instance;
                let Machine::Agent { engine, .. } = &mut self.nodes[index].machine else { return };
                if let Some(Measured::Whole(part)) = engine.ends(block, instance) {
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

impl Engine {
    fn begins(&mut self, block: fleet::protocol::BlockId, now: Instant) -> Option<agent::Event> {
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

    fn ends(&mut self, block: fleet::protocol::BlockId, instance: Instance) -> Option<Measured> {
        let Begun { late, has_started, .. } = self.begun.take_if(|begun| begun.block == block)?;
        let task = self.task.take()?;
        let planned = task.part.turns().unwrap().count(PLANNED);
        let mut packed = instance.0.to_le_bytes().to_vec();
        packed.extend(block.number.to_le_bytes());
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

fn hello(
    name: &Name,
    instance: Instance,
    commit: &str,
    weight: NonZeroU32,
) -> fleet::protocol::Hello {
    fleet::protocol::Hello {
        agent: name.clone(),
        instance,
        kind: fleet::protocol::Kind::Load,
        weight,
        version: version(commit),
        wall_s: 0,
        machine: String::new(),
    }
}

/// Messages that all parts of a block are to send together.
pub(crate) const PLANNED: u64 = 1000;
/// Controllers: the first brings the plan, the others join a run that is there.
pub(crate) const CONTROLLERS: usize = 2;
/// The time in which everything ends once nothing goes wrong any more: three blocks with two repeats each, in which
/// agents are missed until their grace is over.
const BOUND: u64 = 300_000_000_000;
