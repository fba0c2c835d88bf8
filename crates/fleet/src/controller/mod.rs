//! The controller of a run: gathers agents, begins blocks, and decides the end of each part.
//!
//! ```text
//! Opening --> Between <------------------------------------------.
//!                |-- too few agents, nothing left, stopped --> end |
//!                `--> Preparing -- all ready --> go --> Open --> close
//! ```
//!
//! Every arrow to the right of *Preparing* is a step in the log, and the state after it is read from the log, so that a
//! restarted controller, or another one, continues from the same place. Two at once are harmless: the log accepts one
//! of two steps with the same number, and both continue from that. The lead is a courtesy: the other one watches.
//!
//! A lost agent changes nothing that is decided. Its missing beats reveal it, and it is reported at once, but its slot
//! is decided only when the block is over and the grace has passed, in a race that the agent may still win.
//!
//! Start reading at [`Controller::handle`], then in `blocks`.

mod blocks;
mod contract;
mod entries;
mod leadership;
mod member;
mod presence;
mod questions;
mod stage;

pub use crate::ledger::Closed;
pub use contract::{Action, Event, NoAnswer, Options};

use crate::Word;
use crate::ledger::{Folded, Ledger};
use crate::protocol::limits::SUSPECT;
use crate::protocol::{Command, Instance, Lead, Name, Plan, Subject};
use crate::write::Write;
use member::{Member, Twin};
use questions::{About, Questions};
use stage::{Choice, Stage};
use std::collections::BTreeMap;
use std::sync::Arc;
use units::{Instant, Nanos};

/// One controller of one run.
#[derive(Debug)]
pub struct Controller {
    options: Options,
    ledger: Ledger,
    stage: Stage,
    is_connected: bool,
    lost_at: Option<Instant>,
    is_caught_up: bool,
    is_leading: bool,
    lead_at: Instant,
    /// The last other controller that was heard.
    rival: Option<Lead>,
    rival_heard: Instant,
    stops: bool,
    members: BTreeMap<Name, Member>,
    twins: BTreeMap<(Name, Instance), Twin>,
    /// Entries on their way into the log.
    writes: BTreeMap<Subject, Write>,
    /// Slots that are read because a step names them.
    reads: BTreeMap<Subject, Instant>,
    questions: Questions,
    wake: Instant,
    /// The instant of the last event.
    handled: Instant,
    actions: Vec<Action>,
}

impl Controller {
    /// A controller that has just started; it begins when it is connected.
    pub fn new(options: Options) -> Self {
        Self {
            stops: options.stops,
            options,
            ledger: Ledger::default(),
            stage: Stage::Opening,
            is_connected: false,
            lost_at: None,
            is_caught_up: false,
            is_leading: false,
            lead_at: Instant::START,
            rival: None,
            rival_heard: Instant::START,
            members: BTreeMap::new(),
            twins: BTreeMap::new(),
            handled: Instant::START,
            writes: BTreeMap::new(),
            reads: BTreeMap::new(),
            questions: Questions::default(),
            wake: Instant::START,
            actions: Vec::new(),
        }
    }

    /// Takes an event, and returns the actions to do, in this order. `now` is this machine's monotonic clock.
    pub fn handle(&mut self, event: Event, now: Instant) -> Vec<Action> {
        // A controller that was suspended heard nobody meanwhile, which says nothing about the others.
        if now.since(self.handled) > SUSPECT {
            self.members.values_mut().for_each(|member| member.excuse(now));
            self.rival_heard = now;
        }
        self.handled = now;
        match event {
            Event::Tick => {}
            Event::Bus(event) => self.bus(&event, now),
            Event::Logged(subject, entry) => self.ledger.learn(&subject, &entry),
            Event::CaughtUp => self.is_caught_up = true,
            Event::Beat(beat) => self.beat(beat, now),
            Event::Lead(lead) => self.lead(lead, now),
            Event::Answer(number, answer) => self.answer(number, answer, now),
            Event::Chosen(number, work) => self.chosen(number, work),
            Event::Stop => self.stops = true,
        }
        self.advance(now);
        std::mem::take(&mut self.actions)
    }

    /// The instant at which it wants to be woken with [`Event::Tick`], if nothing happens earlier.
    pub const fn deadline(&self) -> Instant {
        self.wake
    }

    /// The closed blocks, in the order of the log: everything that a record is made of.
    pub fn closed(&self) -> &[Closed] {
        &self.ledger.closed
    }

    /// The number of agents that send the load of the open block; 0 between blocks.
    pub(crate) fn load_agents(&self) -> usize {
        let roster = self.ledger.open.iter().flat_map(|(_, go)| &go.roster);
        roster.filter(|seat| seat.kind.is_load()).count()
    }

    /// The plan, once it is known.
    pub const fn plan(&self) -> Option<&Arc<Plan>> {
        self.ledger.plan.as_ref()
    }

    /// True if this controller decides, instead of watching another one.
    pub const fn is_leading(&self) -> bool {
        self.is_leading
    }

    /// Does everything that is due.
    fn advance(&mut self, now: Instant) {
        self.wake = Instant::NEVER;
        self.fold(now);
        self.take_the_lead(now);
        self.watch_members(now);
        if self.is_leading && self.is_connected {
            self.decide(now);
            self.fold(now);
        }
        if let Stage::Over { until } = self.stage
            && until != Instant::NEVER
            && self.due(until, now)
        {
            self.stage = Stage::Over { until: Instant::NEVER };
            self.actions.extend(self.ledger.end.clone().map(Action::Ended));
        }
        self.poll_writes(now);
        self.read_missing(now);
    }

    /// True if `at` has been reached; otherwise sets the wake-up to it.
    fn due(&mut self, at: Instant, now: Instant) -> bool {
        if now < at {
            self.wake = self.wake.min(at);
        }
        now >= at
    }

    /// Folds in what is known, and moves to the resulting stage.
    fn fold(&mut self, now: Instant) {
        if matches!(self.stage, Stage::Opening) && self.ledger.plan.is_some() && self.is_caught_up {
            self.stage = Stage::Between { since: now, choice: Choice::None };
        }
        if matches!(self.stage, Stage::Opening) {
            return;
        }
        while let Some(folded) = self.ledger.fold() {
            match folded {
                Folded::Go => self.opened(now),
                Folded::Close(block) => self.closed_block(block, now),
                Folded::End(why) => {
                    self.say(Word::Ended(why));
                    self.stage = Stage::Over { until: now + ENDING };
                    let run = self.options.run.clone();
                    for (agent, instance) in self.present() {
                        let end = Command::End { run: run.clone() };
                        self.ask(agent, instance, end, About::Other, now);
                    }
                }
            }
        }
    }

    fn present(&self) -> Vec<(Name, Instance)> {
        self.members.iter().map(|(name, member)| (name.clone(), member.instance)).collect()
    }

    fn ask(
        &mut self,
        agent: Name,
        instance: Instance,
        command: Command,
        about: About,
        now: Instant,
    ) {
        let ask = self.questions.ask(agent, instance, command, about, now);
        self.actions.push(ask);
    }

    fn say(&mut self, word: Word) {
        self.actions.push(Action::Say(word));
    }
}

/// The time for telling agents that a run is over.
const ENDING: Nanos = Nanos::from_millis(500);
