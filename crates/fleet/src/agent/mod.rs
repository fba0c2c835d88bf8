//! The agent: takes its part of each block, at its instant, and gets the result into the log.
//!
//! ```text
//! Idle -- prepare --> Preparing -- ready --> Ready -- go --> Begun -- measured --> Spooling --> Idle
//!  ^                     |                     |                                       `--> an offer
//!  `----- refused, discarded, forgotten -------'
//! ```
//!
//! A block begins only if this process has the step that names it and has prepared exactly that part, and the begin is
//! still ahead on its own clock. It never catches up: a step that arrives later becomes a slot that says so. A block
//! that has begun ends on its own, whatever the network does. Its result is written to disk first; then it is an
//! *offer* until the log has a value under its subject. Offers of an earlier process are repeated.
//!
//! Start reading at [`Agent::handle`].

mod contract;
mod offers;
mod preparing;

pub use contract::{Action, Event, Measured, Options, Task};

use crate::Word;
use crate::bus::BusEvent;
use crate::protocol::limits::{BEAT_EVERY, BEAT_EVERY_IN_BLOCK, GRACE, START_LATE_MAX};
use crate::protocol::{
    Answer, Beat, BlockId, BlockWork, Command, Go, Health, Hello, Kind, Name, NotStarted, Part,
    Phase, Plan, Refusal, Seat, Slot, Subject,
};
use offers::Offers;
use std::sync::Arc;
use units::Instant;

/// One process of an agent.
#[derive(Debug)]
pub struct Agent {
    hello: Hello,
    is_connected: bool,
    state: State,
    /// The last plan that was read.
    plan: Option<(Name, Arc<Plan>)>,
    offers: Offers,
    /// The last run that ended.
    ended: Option<Name>,
    health: Health,
    beats: u64,
    beat_at: Instant,
    /// The reason why this process was last refused.
    refused: Option<Refusal>,
    /// The instant at which a signal asked it to end.
    leaves: Option<Instant>,
    wake: Instant,
    actions: Vec<Action>,
}

#[derive(Debug)]
enum State {
    Idle,
    Preparing { task: Box<Asked>, stage: Stage, asked: Instant },
    Begun { run: Name, block: BlockId, has_started: bool },
    Spooling { subject: Subject, slot: Arc<Slot> },
    Gone,
}

/// The part that a controller asked to be prepared.
#[derive(Clone, Debug, PartialEq)]
struct Asked {
    run: Name,
    block: BlockId,
    work: BlockWork,
    kind: Kind,
    part: Part,
}

#[derive(Debug)]
enum Stage {
    AwaitPlan,
    /// The plan could not be read; the next attempt is at this instant.
    PlanAgain(Instant),
    AwaitReady,
    Ready,
    Refused(Refusal),
}

impl Agent {
    /// A process that has just started.
    pub fn new(options: Options) -> Self {
        let Options { hello, spool } = options;
        Self {
            hello,
            is_connected: false,
            state: State::Idle,
            plan: None,
            offers: Offers::new(spool),
            ended: None,
            health: Health::default(),
            beats: 0,
            beat_at: Instant::START,
            refused: None,
            leaves: None,
            wake: Instant::START,
            actions: Vec::new(),
        }
    }

    /// Takes an event, and returns the actions to do, in this order. `now` is this machine's monotonic clock.
    pub fn handle(&mut self, event: Event, now: Instant) -> Vec<Action> {
        if matches!(self.state, State::Gone) {
            return Vec::new();
        }
        match event {
            Event::Tick => {}
            Event::Bus(event) => self.bus(&event, now),
            Event::Command(number, command) => {
                let answer = self.command(command, now);
                self.actions.push(Action::Answer(number, answer));
            }
            Event::Prepared(block) => self.prepared(block, Ok(())),
            Event::NotPrepared(block, refusal) => self.prepared(block, Err(refusal)),
            Event::Started(of) => {
                if let State::Begun { block, has_started, .. } = &mut self.state
                    && *block == of
                {
                    *has_started = true;
                }
            }
            Event::Measured(block, measured) => self.measured(block, measured),
            Event::Spooled(subject, result) => self.spooled(&subject, result),
            Event::Health(health) => self.health = health,
            Event::Signal => self.signal(now),
        }
        self.advance(now);
        std::mem::take(&mut self.actions)
    }

    /// The instant at which it wants to be woken with [`Event::Tick`], if nothing happens earlier.
    pub const fn deadline(&self) -> Instant {
        self.wake
    }

    /// The slots that are in the log as this process offered them, as far as it knows.
    pub fn accepted(&self) -> impl Iterator<Item = (&Subject, &Arc<Slot>)> {
        self.offers.accepted()
    }

    /// Slots that are still on their way into the log.
    pub fn offered(&self) -> usize {
        self.offers.waiting().count()
    }

    fn bus(&mut self, event: &BusEvent, now: Instant) {
        match event {
            BusEvent::Connected => {
                (self.is_connected, self.beat_at) = (true, now);
            }
            BusEvent::Disconnected => self.is_connected = false,
            BusEvent::Put(..) => {}
            BusEvent::Read(subject @ Subject::Plan(run), read) => {
                self.plan_read(run, subject, read, now);
            }
            BusEvent::Read(..) => {}
        }
        self.offers.ended(event, now, &mut self.actions);
    }

    fn command(&mut self, command: Command, now: Instant) -> Answer {
        match command {
            Command::Hello => Answer::Hello(Box::new(self.hello.clone())),
            Command::Clock => Answer::Clock { received_ns: now.0, sent_ns: now.0 },
            Command::Refuse(refusal) => {
                if self.refused.as_ref() != Some(&refusal) {
                    self.refused = Some(refusal.clone());
                    let agent = self.hello.agent.clone();
                    self.actions.push(Action::Say(Word::Refused { agent, why: refusal }));
                }
                Answer::Done
            }
            Command::Prepare { run, block, work, kind, part } => {
                self.prepare(Asked { run, block, work, kind, part }, now)
            }
            Command::Go { run, go, .. } => self.go(run, &go, now),
            Command::Stop { run } => {
                self.stop(&run);
                Answer::Done
            }
            Command::End { run } => {
                self.end(run);
                Answer::Done
            }
        }
    }

    /// Takes the begin of a block, if this process is ready for it and in time.
    fn go(&mut self, run: Name, go: &Go, now: Instant) -> Answer {
        let own =
            |seat: &&Seat| seat.agent == self.hello.agent && seat.instance == self.hello.instance;
        let Some(seat) = go.roster.iter().find(own) else { return Answer::Done };
        let subject = Subject::Slot(run.clone(), go.block, self.hello.agent.clone());
        if let Some(slot) = self.offers.slot(&subject) {
            return match slot {
                Slot::NotStarted { .. } => Answer::NotStarted,
                Slot::Result(_) | Slot::Aborted(_) | Slot::Lost { .. } => Answer::Armed,
            };
        }
        match &self.state {
            State::Begun { run: of, block, .. } if *of == run && *block == go.block => {
                return Answer::Armed;
            }
            State::Spooling { subject: of, .. } if *of == subject => return Answer::Armed,
            State::Idle | State::Preparing { .. } | State::Begun { .. } => {}
            State::Spooling { .. } | State::Gone => {}
        }
        let start = Instant(seat.start_ns);
        let is_ready = matches!(
            &self.state,
            State::Preparing { task, stage: Stage::Ready, .. }
                if task.run == run
                    && task.block == go.block
                    && task.work == go.work
                    && task.kind == seat.kind
                    && task.part == seat.part
        );
        let why = if now >= start {
            let by = now.since(start);
            self.actions.push(Action::Say(Word::TooLate { block: go.block, by }));
            NotStarted::Late { by }
        } else if is_ready {
            self.state = State::Begun { run, block: go.block, has_started: false };
            self.health = Health::default();
            let latest = start + START_LATE_MAX;
            self.actions.push(Action::Start { block: go.block, at: start, latest });
            return Answer::Armed;
        } else {
            NotStarted::NotReady
        };
        if let State::Preparing { task, .. } = &self.state
            && task.run == run
            && task.block == go.block
        {
            self.discard();
        }
        let slot = Arc::new(Slot::NotStarted { instance: self.hello.instance, why });
        self.actions.push(Action::Spool(subject.clone(), Arc::clone(&slot)));
        self.offers.add(subject, slot);
        Answer::NotStarted
    }

    fn measured(&mut self, of: BlockId, measured: Measured) {
        let State::Begun { run, block, .. } = &self.state else { return };
        if *block != of {
            return;
        }
        let instance = self.hello.instance;
        let slot = Arc::new(match measured {
            Measured::Whole(part) => Slot::Result(part),
            Measured::Stopped(part) => Slot::Aborted(part),
            Measured::Late(by) => Slot::NotStarted { instance, why: NotStarted::Late { by } },
            Measured::Failed(because) => {
                Slot::NotStarted { instance, why: NotStarted::Failed { because } }
            }
        });
        let subject = Subject::Slot(run.clone(), of, self.hello.agent.clone());
        self.actions.push(Action::Spool(subject.clone(), Arc::clone(&slot)));
        self.state = State::Spooling { subject, slot };
    }

    fn spooled(&mut self, of: &Subject, result: Result<(), String>) {
        if let Err(because) = result {
            let subject = of.clone();
            self.actions.push(Action::Say(Word::NotSpooled { subject, because }));
        }
        if let State::Spooling { subject, slot } = &self.state
            && subject == of
        {
            let (subject, slot) = (subject.clone(), Arc::clone(slot));
            self.state = State::Idle;
            self.offers.add(subject, slot);
        }
    }

    fn stop(&mut self, run: &Name) {
        match &self.state {
            State::Preparing { task, .. } if task.run == *run => self.discard(),
            State::Begun { run: of, block, .. } if of == run => {
                self.actions.push(Action::Stop(*block));
            }
            State::Idle | State::Preparing { .. } | State::Begun { .. } => {}
            State::Spooling { .. } | State::Gone => {}
        }
    }

    fn end(&mut self, run: Name) {
        self.stop(&run);
        self.ended = Some(run);
    }

    fn signal(&mut self, now: Instant) {
        if self.leaves.is_some() {
            self.exit();
            return;
        }
        self.leaves = Some(now);
        self.discard();
        if let State::Begun { block, .. } = &self.state {
            self.actions.push(Action::Stop(*block));
        }
    }

    fn exit(&mut self) {
        self.state = State::Gone;
        self.wake = Instant::NEVER;
        self.actions.push(Action::Exit);
    }

    /// Does everything that is due.
    fn advance(&mut self, now: Instant) {
        if matches!(self.state, State::Gone) {
            return;
        }
        self.wake = Instant::NEVER;
        self.prepare_again(now);
        let wake = self.offers.poll(now, &mut self.actions);
        self.wake = self.wake.min(wake);
        // Once the run is over, results that are in the log are no longer needed on disk.
        if let Some(run) = &self.ended {
            self.offers.forget(run, &mut self.actions);
        }
        if self.is_connected {
            if now >= self.beat_at {
                self.beat();
                let is_in_block = matches!(self.state, State::Begun { .. });
                self.beat_at = now + if is_in_block { BEAT_EVERY_IN_BLOCK } else { BEAT_EVERY };
            }
            self.wake = self.wake.min(self.beat_at);
        }
        if let Some(since) = self.leaves
            && matches!(self.state, State::Idle)
        {
            let is_done = self.offered() == 0;
            if is_done || now.since(since) >= GRACE {
                self.beat();
                self.exit();
            } else {
                self.wake = self.wake.min(since + GRACE);
            }
        }
    }

    fn beat(&mut self) {
        let (phase, block) = match &self.state {
            State::Preparing { task, stage, .. } => {
                let is_ready = matches!(stage, Stage::Ready);
                let phase = if is_ready { Phase::Ready } else { Phase::Preparing };
                (phase, Some((task.run.clone(), task.block)))
            }
            State::Begun { run, block, has_started } => {
                let phase = if *has_started { Phase::Running } else { Phase::Armed };
                (phase, Some((run.clone(), *block)))
            }
            State::Spooling { subject, .. } => (Phase::Spooling, block_of(subject)),
            State::Idle | State::Gone => match self.offers.waiting().next() {
                _ if self.leaves.is_some() => (Phase::Leaving, None),
                Some(subject) => (Phase::Committing, block_of(subject)),
                None => (Phase::Idle, None),
            },
        };
        let spooled = self.offered();
        self.actions.push(Action::Beat(Beat {
            agent: self.hello.agent.clone(),
            instance: self.hello.instance,
            kind: self.hello.kind,
            number: self.beats,
            phase,
            block,
            spooled: u32::try_from(spooled).unwrap_or(u32::MAX),
            health: self.health.clone(),
        }));
        self.beats += 1;
    }
}

fn block_of(subject: &Subject) -> Option<(Name, BlockId)> {
    match subject {
        Subject::Slot(run, block, _) => Some((run.clone(), *block)),
        Subject::Plan(_) | Subject::Step(..) => None,
    }
}
