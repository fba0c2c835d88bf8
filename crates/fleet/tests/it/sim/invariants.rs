//! The promises that must hold after every step, whatever goes wrong.

use super::node::{Machine, PLANNED};
use super::world::World;
use fleet::Word;
use fleet::controller::Closed;
use fleet::protocol::limits::START_LATE_MAX;
use fleet::protocol::{
    BlockId, Entry, Go, Instance, Kind, Name, Seat, Slot, SlotKind, Step, Subject, decode, digest,
    encode,
};
use std::collections::BTreeMap;
use units::{Instant, Nanos};

pub(crate) struct Invariants {
    seed: u64,
    /// Parts that began.
    began: BTreeMap<(Name, BlockId), Instance>,
    /// The block that the process of each machine has underway.
    running: BTreeMap<(usize, u32), BlockId>,
    /// The number of closed blocks that were compared, by controller and process.
    compared: BTreeMap<(usize, u32), usize>,
    /// Agents that were killed or stopped, and what controllers said of missing ones.
    pub(crate) stopped: Vec<(u64, usize)>,
    pub(crate) missed: Vec<(u64, usize, Name)>,
}

impl Invariants {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            seed,
            began: BTreeMap::new(),
            running: BTreeMap::new(),
            compared: BTreeMap::new(),
            stopped: Vec::new(),
            missed: Vec::new(),
        }
    }

    pub(crate) fn stopped(&mut self, now: u64, node: usize) {
        self.stopped.push((now, node));
    }

    pub(crate) fn said(&mut self, now: u64, node: usize, word: Word) {
        assert!(!word.to_string().is_empty());
        if let Word::Silent { agent, .. } | Word::Gone { agent, .. } = word {
            self.missed.push((now, node, agent));
        }
    }

    /// Checks that the log may hold `entry`, which the server has taken.
    pub(crate) fn applied(&self, log: &BTreeMap<Subject, Entry>, subject: &Subject, entry: &Entry) {
        let seed = self.seed;
        let bytes = encode(entry, entry.size_max()).unwrap();
        assert_eq!(&decode::<Entry>(&bytes, entry.size_max()).unwrap(), entry, "seed {seed}");
        assert_eq!(&subject.to_string().parse::<Subject>().unwrap(), subject, "seed {seed}");
        let run = subject.run();
        match (subject, entry) {
            (Subject::Plan(_), Entry::Plan(_)) => {}
            (Subject::Step(_, number), Entry::Step(step)) => {
                let before = number.checked_sub(1).map(|before| {
                    let before = log.get(&Subject::Step(run.clone(), before));
                    let Some(Entry::Step(before)) = before else {
                        panic!("seed {seed}: (6) step {number} without the one before it");
                    };
                    before
                });
                match (step.as_ref(), before.map(AsRef::as_ref)) {
                    (Step::Go(go), None | Some(Step::Close(_))) => self.goes(log, run, go),
                    (Step::Close(close), Some(Step::Go(go))) => {
                        assert_eq!(close.block, go.block, "seed {seed}");
                        let names: Vec<&Name> = go.roster.iter().map(|seat| &seat.agent).collect();
                        let closed: Vec<&Name> =
                            close.slots.iter().map(|slot| &slot.agent).collect();
                        assert_eq!(
                            names, closed,
                            "seed {seed}: (2) closed with every slot decided"
                        );
                        for decided in &close.slots {
                            let slot = Subject::Slot(run.clone(), go.block, decided.agent.clone());
                            let Some(entry @ Entry::Slot(slot)) = log.get(&slot) else {
                                panic!("seed {seed}: (2) closed without {slot}");
                            };
                            let found = (slot.kind(), digest(entry));
                            assert_eq!(
                                (decided.kind, decided.digest),
                                found,
                                "seed {seed}: (2) {subject}"
                            );
                        }
                    }
                    (Step::End(_), None | Some(Step::Close(_))) => {}
                    (step, before) => panic!("seed {seed}: {step:?} after {before:?}"),
                }
            }
            (Subject::Slot(_, block, agent), Entry::Slot(slot)) => {
                let Some(go) = go_of(log, run, *block) else {
                    panic!("seed {seed}: (5) {subject} of a block that has not begun");
                };
                let seat = go.roster.iter().find(|seat| seat.agent == *agent).unwrap();
                let writer = match slot.as_ref() {
                    Slot::Result(part) | Slot::Aborted(part) => Some(part.instance),
                    Slot::NotStarted { instance, .. } => Some(*instance),
                    Slot::Lost { .. } => None,
                };
                if let Some(instance) = writer {
                    assert_eq!(
                        instance, seat.instance,
                        "seed {seed}: a result of a process without a seat"
                    );
                }
            }
            (Subject::Plan(_) | Subject::Step(..) | Subject::Slot(..), _) => {
                panic!("seed {seed}: {subject} holds {entry:?}")
            }
        }
    }

    fn goes(&self, log: &BTreeMap<Subject, Entry>, run: &Name, go: &Go) {
        let seed = self.seed;
        assert!(
            log.contains_key(&Subject::Plan(run.clone())),
            "seed {seed}: a block without a plan"
        );
        assert!(
            go_of(log, run, go.block).is_none(),
            "seed {seed}: block {} begins twice",
            go.block
        );
        assert!(go.roster.is_sorted_by(|one, other| one.agent < other.agent), "seed {seed}");
        let asked: u64 = go
            .roster
            .iter()
            .filter(|seat| seat.kind == Kind::Load)
            .map(|seat| seat.part.turns().unwrap().count(PLANNED))
            .sum();
        assert_eq!(asked, PLANNED, "seed {seed}: (8) what is asked is the sum of the shares");
    }

    /// Checks a part that begins.
    pub(crate) fn starts(world: &mut World, index: usize, block: BlockId, now: Instant) {
        let (seed, node) = (world.seed, &world.nodes[index]);
        let (name, instance, epoch) = (node.name.clone(), node.instance, node.epoch);
        let Some(go) = go_of(&world.log, &world.run, block) else {
            panic!("seed {seed}: (5) {name} begins {block} without a step that says so");
        };
        let seat = go.roster.iter().find(|seat| seat.agent == name && seat.instance == instance);
        let Some(seat) = seat else {
            panic!("seed {seed}: (5) {name} begins {block} without a seat")
        };
        assert_eq!(seat.version.is_some(), node.commit != "c0", "seed {seed}: another version");
        let late = now.since(Instant(seat.start_ns));
        assert!(
            now >= Instant(seat.start_ns) && late <= START_LATE_MAX,
            "seed {seed}: (4) {name} begins {late} late"
        );
        let Machine::Agent { engine, .. } = &node.machine else { panic!("agents begin") };
        let task = engine.task.as_ref().unwrap();
        assert_eq!((&task.part, task.block), (&seat.part, block), "seed {seed}: (5) another part");
        let before = world.invariants.began.insert((name.clone(), block), instance);
        assert_eq!(before, None, "seed {seed}: (4) {name} begins {block} twice");
        let other = world.invariants.running.insert((index, epoch), block);
        assert_eq!(other, None, "seed {seed}: (4) {name} begins {block} in the middle of another");
        let go = go_of(&world.log, &world.run, block).expect("it was found above");
        Self::agree(world, go);
    }

    /// Checks that the parts of a block begin no further apart than the bounds of the clocks allow, unless a clock has
    /// jumped.
    fn agree(world: &World, go: &Go) {
        if world.nodes.iter().any(|node| node.clock.has_jumped) {
            return;
        }
        let begins = go.roster.iter().filter_map(|seat| {
            let node = world.nodes.iter().find(|node| node.instance == seat.instance)?;
            Some((seat, node.clock.when(Instant(seat.start_ns))))
        });
        let begins: Vec<(&Seat, u64)> = begins.collect();
        for (one, at) in &begins {
            for (other, others) in &begins {
                let (apart, bound) = (Nanos(at.abs_diff(*others)), one.bound + other.bound);
                assert!(
                    apart <= bound + Nanos(1000),
                    "seed {}: (13) {} and {} begin {apart} apart, at most {bound}",
                    world.seed,
                    one.agent,
                    other.agent
                );
            }
        }
    }

    /// Notes that a part is over.
    pub(crate) fn ends(&mut self, index: usize, block: BlockId) {
        self.running.retain(|(node, _), of| *node != index || *of != block);
    }

    /// Checks a controller that has handled an event.
    pub(crate) fn told_controller(world: &mut World, index: usize) {
        let node = &world.nodes[index];
        let Machine::Controller { machine, .. } = &node.machine else { return };
        let compared = world.invariants.compared.entry((index, node.epoch)).or_default();
        if machine.closed().len() > *compared {
            *compared = machine.closed().len();
            same_as_log(world, machine.closed());
        }
    }

    /// Checks an agent that has heard of the log.
    pub(crate) fn told_agent(world: &World, index: usize) {
        let Machine::Agent { machine, .. } = &world.nodes[index].machine else { return };
        for (subject, slot) in machine.accepted() {
            let found = world.log.get(subject);
            let is_in = matches!(found, Some(Entry::Slot(found)) if found == slot);
            assert!(
                is_in,
                "seed {}: (3) {subject} was reported as accepted, but the log has {found:?}",
                world.seed
            );
        }
    }

    /// Checks that a result which an agent forgets is decided.
    pub(crate) fn unspools(world: &World, index: usize, subject: &Subject) {
        let is_decided = world.log.contains_key(subject);
        let name = &world.nodes[index].name;
        assert!(
            is_decided,
            "seed {}: (3) {name} forgets {subject}, which is not decided",
            world.seed
        );
    }

    /// Checks the world once everything has ended.
    pub(crate) fn at_the_end(world: &World) {
        let seed = world.seed;
        let steps = world.log.values().filter_map(|entry| match entry {
            Entry::Step(step) => Some(step.as_ref()),
            Entry::Plan(_) | Entry::Slot(_) => None,
        });
        let ends = steps.clone().filter(|step| matches!(step, Step::End(_))).count();
        let closes = steps.filter(|step| matches!(step, Step::Close(_))).count();
        assert_eq!(ends, 1, "seed {seed}: (10) the run has ended");
        for node in world.nodes.iter().filter(|node| node.is_alive) {
            let Machine::Controller { machine, ended, .. } = &node.machine else { continue };
            assert!(*ended, "seed {seed}: (10) {} has ended", node.name);
            assert_eq!(
                machine.closed().len(),
                closes,
                "seed {seed}: (7) every controller has every block"
            );
            same_as_log(world, machine.closed());
            for closed in machine.closed() {
                claims(world, closed);
            }
        }
    }
}

/// (7) The blocks of a controller are those of the log.
fn same_as_log(world: &World, closed: &[Closed]) {
    let seed = world.seed;
    let mut steps =
        (0..).map_while(|number| match world.log.get(&Subject::Step(world.run.clone(), number)) {
            Some(Entry::Step(step)) => Some(step),
            Some(Entry::Plan(_) | Entry::Slot(_)) | None => None,
        });
    for block in closed {
        let (go, close) = (steps.next().unwrap(), steps.next().unwrap());
        assert_eq!(**go, Step::Go(block.go.as_ref().clone()), "seed {seed}: (7)");
        assert_eq!(**close, Step::Close(block.close.clone()), "seed {seed}: (7)");
        assert_eq!(
            block.slots.len(),
            block.go.roster.len(),
            "seed {seed}: (7) a slot for each seat"
        );
        for (seat, slot) in block.parts() {
            let subject = Subject::Slot(world.run.clone(), block.go.block, seat.agent.clone());
            let Some(Entry::Slot(found)) = world.log.get(&subject) else {
                panic!("seed {seed}: (7) {subject}")
            };
            assert_eq!(found.as_ref(), slot, "seed {seed}: (1, 7) {subject}");
        }
    }
}

/// (8) What a block claims is the sum of its slots, and every result was measured by the process that has the seat.
fn claims(world: &World, closed: &Closed) {
    let (seed, block) = (world.seed, closed.go.block);
    assert!(block.attempt <= world.plan.repeats, "seed {seed}: more repeats than the plan allows");
    let planned: u64 =
        closed.slots.iter().filter_map(|slot| slot.part()).map(|part| part.planned).sum();
    assert!(planned <= PLANNED, "seed {seed}: (8) {block} claims {planned} of {PLANNED}");
    assert_eq!(
        !closed.is_marked(),
        closed
            .parts()
            .filter(|(seat, _)| seat.kind == Kind::Load)
            .all(|(_, slot)| slot.kind() == SlotKind::Result)
    );
    if !closed.is_marked() {
        assert_eq!(planned, PLANNED, "seed {seed}: (8) {block} is whole");
    }
    for (seat, slot) in closed.parts() {
        if let Slot::Result(part) = slot {
            let began = world.invariants.began.get(&(seat.agent.clone(), block));
            assert_eq!(
                began,
                Some(&part.instance),
                "seed {seed}: (8) {block} of {} was measured",
                seat.agent
            );
            assert!(part.late <= Nanos(START_LATE_MAX.0), "seed {seed}");
        }
    }
}

fn go_of<'a>(log: &'a BTreeMap<Subject, Entry>, run: &Name, block: BlockId) -> Option<&'a Go> {
    let first = Subject::Step(run.clone(), 0);
    log.range(first..).find_map(|(_, entry)| match entry {
        Entry::Step(step) => match step.as_ref() {
            Step::Go(go) if go.block == block => Some(go),
            Step::Go(_) | Step::Close(_) | Step::End(_) => None,
        },
        Entry::Plan(_) | Entry::Slot(_) => None,
    })
}
