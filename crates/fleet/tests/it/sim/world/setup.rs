//! A new world, drawn from its seed: machines with their clocks, a plan, and what will go wrong.

use super::{CONTROLLERS, Happening, MS, World};
use crate::sim::clock::SimClock;
use crate::sim::faults::{self, Conditions, Fault};
use crate::sim::invariants::Invariants;
use crate::sim::node::{Machine, Node, version};
use fleet::agent::{self, Agent};
use fleet::controller::{self, Controller};
use fleet::protocol::{BlockWork, Hello, Instance, Kind, Name, Plan};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::num::NonZeroU32;
use std::sync::Arc;
use units::{Nanos, Random};

impl World {
    /// A world in which things go wrong until it becomes calm.
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

    /// A world in which nothing goes wrong on its own; `calm` is in nanoseconds.
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
            overrun: Nanos::ZERO,
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
        if seed % 3 == 1 {
            world.add("w0", None, "c0", NonZeroU32::MIN);
        }
        for node in 0..world.nodes.len() {
            let late = if node == 0 { 0 } else { world.random.below(4000) as u64 * MS };
            world.at(late, Happening::Fault(Fault::Restart(node, true)));
        }
        world.at(calm, Happening::Calm);
        world
    }

    /// Adds a machine that does not run yet; an agent if `brings_plan` is `None`.
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
            outcome: None,
        });
    }

    pub(super) fn options(
        &self,
        name: &Name,
        instance: Instance,
        brings_plan: bool,
    ) -> controller::Options {
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
}

/// The answer of an agent to the question of who is there; it is a watch if its name begins with a w.
pub(super) fn hello(name: &Name, instance: Instance, commit: &str, weight: NonZeroU32) -> Hello {
    Hello {
        agent: name.clone(),
        instance,
        kind: if name.as_str().starts_with('w') { Kind::Watch } else { Kind::Load },
        weight,
        version: version(commit),
        wall_s: 0,
        machine: String::new(),
    }
}
