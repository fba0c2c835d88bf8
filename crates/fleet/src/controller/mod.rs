//! The controller of a run: gathers agents, begins blocks, and decides what became of each part.
//!
//! ```text
//! Opening --> Between <------------------------------------------.
//!                |-- too few agents, nothing left, stopped --> end |
//!                `--> Preparing -- all ready --> go --> Open --> close
//! ```
//!
//! Every arrow to the right of *Preparing* is a step in the log, and the state after it is read from the log: so a
//! controller that crashed, or another one, goes on from the same place. Two at once are harmless: of two steps with
//! one number the log has one, and both go on from that. Who leads is a courtesy: the other one watches.
//!
//! A lost agent changes nothing that is decided. It is noticed by its beats and said at once, and its slot is decided
//! only when the block is over and the grace has passed, in a race that the agent may still win.
//!
//! Start reading at [`Controller::handle`].

mod contract;
mod member;

pub use crate::ledger::Closed;
pub use contract::{Action, Event, NoAnswer, Options};

use crate::Word;
use crate::bus::BusEvent;
use crate::clock::Exchange;
use crate::ledger::{Folded, Ledger};
use crate::protocol::limits::{
    AGENTS_MAX, CLOCK_BOUND_MAX, CLOCK_EVERY, GRACE, LEAD_EVERY, LEAD_SILENT, LOST, PREPARE_MAX,
    START_AHEAD_MIN, START_AHEAD_ROUND_TRIPS, SUSPECT,
};
use crate::protocol::{
    Answer, Beat, BlockId, BlockWork, Close, Command, Decided, Doubt, End, Entry, Go, Instance,
    Kind, Lead, Name, Part, Plan, Refusal, Seat, Slot, Step, Subject, Why, digest,
};
use crate::write::{Next, Write};
use member::{Member, TOLD_EVERY, Twin};
use std::collections::{BTreeMap, BTreeSet};
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
    /// The other controller that was heard last.
    rival: Option<Lead>,
    rival_heard: Instant,
    stops: bool,
    members: BTreeMap<Name, Member>,
    twins: BTreeMap<(Name, Instance), Twin>,
    /// Entries on their way into the log.
    writes: BTreeMap<Subject, Write>,
    /// Slots that are read because a step names them.
    reads: BTreeMap<Subject, Instant>,
    asks: BTreeMap<u64, Ask>,
    asked: u64,
    wake: Instant,
    /// The instant at which it was told something last.
    handled: Instant,
    actions: Vec<Action>,
}

#[derive(Debug)]
enum Stage {
    /// The plan, or the log behind it, is not known yet.
    Opening,
    /// No block is underway.
    Between {
        since: Instant,
        choice: Choice,
    },
    Preparing(Preparing),
    /// A block is underway until about then.
    Open {
        ends: Instant,
        told: BTreeMap<Name, Telling>,
        is_open_said: bool,
    },
    Over {
        until: Instant,
    },
}

/// The choice of the next block.
#[derive(Clone, Debug)]
enum Choice {
    None,
    Awaited(u32),
    Made(BlockId, BlockWork),
    NothingLeft,
}

#[derive(Debug)]
struct Preparing {
    block: BlockId,
    work: BlockWork,
    since: Instant,
    /// Sorted by name.
    candidates: Vec<Candidate>,
    is_said: bool,
}

#[derive(Debug)]
struct Candidate {
    agent: Name,
    instance: Instance,
    kind: Kind,
    part: Part,
    ask_at: Instant,
    is_ready: bool,
}

/// The telling of a seat, again until it answers.
#[derive(Clone, Copy, Debug)]
struct Telling {
    at: Instant,
    is_armed: bool,
}

#[derive(Debug)]
struct Ask {
    agent: Name,
    instance: Instance,
    about: About,
    at: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum About {
    Clock,
    Go(BlockId),
    Hello,
    Other,
    Prepare(BlockId),
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
            asks: BTreeMap::new(),
            asked: 0,
            wake: Instant::START,
            actions: Vec::new(),
        }
    }

    /// Takes an event, and answers with what is to be done, in this order. `now` is this machine's monotonic clock.
    pub fn handle(&mut self, event: Event, now: Instant) -> Vec<Action> {
        // Who stood still heard nobody, and cannot say that they were silent.
        if now.since(self.handled) > SUSPECT {
            self.members.values_mut().for_each(|member| member.excuse(now));
            self.rival_heard = now;
        }
        self.handled = now;
        match event {
            Event::Tick | Event::Live(_) => {}
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

    /// The instant at which it wants to be woken with [`Event::Tick`], if nothing happens before.
    pub const fn deadline(&self) -> Instant {
        self.wake
    }

    /// The blocks that are closed, in the order of the log: all that a record is made of.
    pub fn closed(&self) -> &[Closed] {
        &self.ledger.closed
    }

    /// The plan, once it is known.
    pub const fn plan(&self) -> Option<&Arc<Plan>> {
        self.ledger.plan.as_ref()
    }

    /// True if this controller decides, and does not watch another one.
    pub const fn is_leading(&self) -> bool {
        self.is_leading
    }

    fn bus(&mut self, event: &BusEvent, now: Instant) {
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
                if let crate::bus::Read::Found(entry) = read {
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

    fn beat(&mut self, beat: Beat, now: Instant) {
        let name = beat.agent.clone();
        let Some(member) = self.members.get_mut(&name) else {
            if self.members.len() < AGENTS_MAX {
                self.members.insert(name, Member::new(beat, now));
            }
            return;
        };
        if member.instance == beat.instance {
            let word = member.beats(beat, now);
            self.actions.extend(word.map(Action::Say));
            return;
        }
        if member.is_silent(now) || member.beat.phase == crate::protocol::Phase::Leaving {
            let silent = now.since(member.heard);
            *member = Member::new(beat, now);
            self.say(Word::Back { agent: name, silent, is_new: true });
            return;
        }
        let instance = beat.instance;
        if let Some(twin) = self.twins.get_mut(&(name.clone(), instance)) {
            twin.heard = now;
        } else if self.twins.len() < AGENTS_MAX {
            let why = Refusal::Twin { agent: name.clone() };
            self.twins.insert((name.clone(), instance), Twin { heard: now, tell_at: now });
            self.say(Word::Refused { agent: name, why });
        }
    }

    /// Another controller says that it leads.
    fn lead(&mut self, lead: Lead, now: Instant) {
        if lead.run != self.options.run || lead.instance == self.options.instance {
            return;
        }
        self.stops |= lead.stops;
        if !lead.leads {
            return;
        }
        self.rival_heard = now;
        // Of two that lead, one gives way. One that does not lead yet waits.
        if self.is_leading && lead.instance > self.options.instance
            || self.rival.is_none() && !self.is_leading
        {
            self.is_leading = false;
            self.say(Word::Watches {
                controller: lead.controller.clone(),
                host: lead.host.clone(),
            });
        }
        self.rival = Some(lead);
    }

    fn answer(&mut self, number: u64, answer: Result<Answer, NoAnswer>, now: Instant) {
        let Some(Ask { agent, instance, about, at }) = self.asks.remove(&number) else { return };
        let Some(member) = self.members.get_mut(&agent).filter(|it| it.instance == instance) else {
            return;
        };
        let answer = match answer {
            Ok(answer) => {
                member.heard = member.heard.max(at);
                answer
            }
            Err(NoAnswer::Gone) => {
                // A beat that came since says that it is there after all.
                member.is_gone = member.heard < at;
                return;
            }
            Err(NoAnswer::TimedOut) => return,
            Err(NoAnswer::Denied) => {
                let because =
                    "the server refuses questions to it with these credentials".to_owned();
                self.refused(&agent, Refusal::NotReady { because });
                return;
            }
        };
        match (about, answer) {
            (About::Hello, Answer::Hello(hello)) => self.hello(&agent, *hello),
            (About::Clock, Answer::Clock { received_ns, sent_ns }) => {
                member.clock.add(Exchange {
                    asked: at,
                    received: Instant(received_ns),
                    sent: Instant(sent_ns),
                    answered: now,
                });
                member.jumped |= member.clock.take_jump();
            }
            (About::Prepare(of), Answer::Ready | Answer::Refused(_)) if !matches!(&self.stage, Stage::Preparing(Preparing { block, .. }) if *block == of) =>
                {}
            (About::Prepare(_), Answer::Ready) => {
                if let Some(candidate) = self.candidate(&agent, instance) {
                    candidate.is_ready = true;
                }
            }
            (About::Prepare(_), Answer::Refused(refusal)) => self.refused(&agent, refusal),
            (About::Go(block), Answer::Armed | Answer::NotStarted) => {
                let is_open = self.ledger.open.as_ref().is_some_and(|(_, go)| go.block == block);
                if let Stage::Open { told, .. } = &mut self.stage
                    && is_open
                    && let Some(telling) = told.get_mut(&agent)
                {
                    telling.is_armed = true;
                }
            }
            (About::Hello | About::Clock | About::Prepare(_) | About::Go(_) | About::Other, _) => {}
        }
    }

    fn candidate(&mut self, agent: &Name, instance: Instance) -> Option<&mut Candidate> {
        let Stage::Preparing(Preparing { candidates, .. }) = &mut self.stage else { return None };
        candidates.iter_mut().find(|it| it.agent == *agent && it.instance == instance)
    }

    /// An agent has said who it is.
    fn hello(&mut self, agent: &Name, hello: crate::protocol::Hello) {
        let Some(plan) = &self.ledger.plan else { return };
        let (mixed, needed) = (plan.mixed, plan.agents_min);
        let Some(member) = self.members.get_mut(agent) else { return };
        if member.hello.is_some() {
            return;
        }
        let refusal = self.options.version.refuses(&hello.version, mixed);
        member.hello = Some(hello);
        if let Some(refusal) = refusal {
            self.refused(agent, refusal);
            return;
        }
        let joined = |member: &&Member| member.hello.is_some() && member.refused.is_none();
        let agents = self.members.values().filter(joined).count();
        self.say(Word::Joined { agent: agent.clone(), agents, needed });
    }

    fn refused(&mut self, agent: &Name, refusal: Refusal) {
        let Some(member) = self.members.get_mut(agent) else { return };
        member.refused = Some(refusal.clone());
        let instance = member.instance;
        self.say(Word::Refused { agent: agent.clone(), why: refusal.clone() });
        self.ask(agent.clone(), instance, Command::Refuse(refusal), About::Other, Instant::START);
    }

    fn chosen(&mut self, number: u32, work: Option<BlockWork>) {
        if let Stage::Between { choice, .. } = &mut self.stage
            && matches!(choice, Choice::Awaited(awaited) if *awaited == number)
        {
            let block = BlockId { number, attempt: 0 };
            *choice = work.map_or(Choice::NothingLeft, |work| Choice::Made(block, work));
        }
    }

    /// Does all that is due.
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

    /// True if `at` has come; otherwise it is woken then.
    fn due(&mut self, at: Instant, now: Instant) -> bool {
        if now < at {
            self.wake = self.wake.min(at);
        }
        now >= at
    }

    /// Folds in what is known, and goes to the stage that follows from it.
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

    /// A block has begun, by this controller's step or by another's.
    fn opened(&mut self, now: Instant) {
        let Some((_, go)) = &self.ledger.open else { return };
        let starts = go.roster.iter().map(|seat| {
            let member = self.members.get(&seat.agent);
            let member = member.filter(|member| member.instance == seat.instance);
            let clock = member.and_then(|member| member.clock.offset(now));
            // A begin that is not known is not later than one that is written now.
            let latest = now + START_AHEAD_MIN + START_AHEAD_MIN;
            clock.map_or(latest, |offset| offset.ours(Instant(seat.start_ns)) + offset.bound)
        });
        let start = starts.max().unwrap_or(now);
        let telling = Telling { at: now, is_armed: false };
        let told = go.roster.iter().map(|seat| (seat.agent.clone(), telling)).collect();
        let ends = start + go.work.lasts;
        let word =
            Word::Begins { block: go.block, agents: go.roster.len(), in_time: start.since(now) };
        self.members.values_mut().for_each(|member| member.jumped = false);
        self.stage = Stage::Open { ends, told, is_open_said: false };
        self.say(word);
    }

    fn closed_block(&mut self, block: BlockId, now: Instant) {
        let slots = self
            .writes
            .keys()
            .filter(|subject| matches!(subject, Subject::Slot(_, of, _) if *of == block));
        let slots: Vec<Subject> = slots.cloned().collect();
        for subject in slots {
            self.writes.remove(&subject);
        }
        self.reads.clear();
        if let Some(closed) = self.ledger.closed.last() {
            let ends = closed.parts().map(|(seat, slot)| (seat.agent.clone(), slot.kind()));
            let marked: Vec<_> =
                ends.filter(|(_, kind)| *kind != crate::protocol::SlotKind::Result).collect();
            let (parts, repeats) = (closed.slots.len(), self.repeat().is_some());
            self.say(Word::Over { block, marked, parts, repeats });
            self.actions.push(Action::Closed(block));
        }
        // The next block may find ready what this one did not.
        for member in self.members.values_mut() {
            if matches!(member.refused, Some(Refusal::NotReady { .. })) {
                member.refused = None;
            }
        }
        self.stage = Stage::Between { since: now, choice: Choice::None };
    }

    /// The repeat that the last closed block needs, if it is marked and may have one more.
    fn repeat(&self) -> Option<(BlockId, BlockWork)> {
        let (closed, plan) = (self.ledger.closed.last()?, self.ledger.plan.as_ref()?);
        let BlockId { number, attempt } = closed.go.block;
        let repeats = closed.is_marked() && attempt < plan.repeats && !self.stops;
        repeats.then(|| (BlockId { number, attempt: attempt + 1 }, closed.go.work.clone()))
    }

    fn take_the_lead(&mut self, now: Instant) {
        if !self.is_connected || matches!(self.stage, Stage::Opening | Stage::Over { .. }) {
            return;
        }
        if !self.is_leading {
            let is_new = self.options.plan.is_some() && self.rival.is_none();
            let alone = self.rival_heard + LEAD_SILENT;
            if !is_new && !self.due(alone, now) {
                if self.stops && self.due(self.lead_at, now) {
                    self.say_who_leads(now);
                }
                return;
            }
            self.is_leading = true;
            self.lead_at = now;
            let before = self.rival.take().map(|rival| rival.controller);
            self.say(Word::Leads { before });
        }
        if self.due(self.lead_at, now) {
            self.say_who_leads(now);
        }
    }

    fn say_who_leads(&mut self, now: Instant) {
        self.lead_at = now + LEAD_EVERY;
        self.wake = self.wake.min(self.lead_at);
        let Options { controller, instance, host, run, .. } = &self.options;
        self.actions.push(Action::Lead(Lead {
            run: run.clone(),
            controller: controller.clone(),
            instance: *instance,
            host: host.clone(),
            leads: self.is_leading,
            stops: self.stops,
        }));
    }

    /// Asks members who they are and what their clocks say, and notices the silent ones.
    fn watch_members(&mut self, now: Instant) {
        if !self.is_connected || self.ledger.plan.is_none() {
            return;
        }
        let open = self.ledger.open.as_ref().map(|(_, go)| Arc::clone(go));
        let others = open.as_ref().map_or(0, |go| go.roster.len().saturating_sub(1));
        let mut asks = Vec::new();
        let mut words = Vec::new();
        let mut wake = Instant::NEVER;
        for (name, member) in &mut self.members {
            let has_seat = |go: &Arc<Go>| {
                go.roster.iter().any(|seat| seat.agent == *name && seat.instance == member.instance)
            };
            let block = open.as_ref().filter(|go| has_seat(go)).map(|go| go.block);
            words.extend(member.missed(block, others, now));
            if member.is_silent(now) {
                continue;
            }
            wake = wake.min(member.heard + LOST);
            let about = if member.hello.is_none() { About::Hello } else { About::Clock };
            let (at, every) = match about {
                About::Hello => (&mut member.hello_at, ASK_AGAIN),
                About::Clock | About::Go(_) | About::Other | About::Prepare(_) => {
                    (&mut member.clock_at, CLOCK_EVERY)
                }
            };
            if now >= *at {
                *at = now + every;
                asks.push((name.clone(), member.instance, about));
            }
            wake = wake.min(*at);
        }
        self.wake = self.wake.min(wake);
        words.into_iter().for_each(|word| self.say(word));
        for (agent, instance, about) in asks {
            let command = if about == About::Hello { Command::Hello } else { Command::Clock };
            self.ask(agent, instance, command, about, now);
        }
        self.twins.retain(|_, twin| now.since(twin.heard) < LOST);
        let mut told = Vec::new();
        for ((agent, instance), twin) in &mut self.twins {
            if now >= twin.tell_at {
                twin.tell_at = now + TOLD_EVERY;
                told.push((agent.clone(), *instance));
            }
            self.wake = self.wake.min(twin.tell_at);
        }
        for (agent, instance) in told {
            let refusal = Command::Refuse(Refusal::Twin { agent: agent.clone() });
            self.ask(agent, instance, refusal, About::Other, now);
        }
    }

    /// Goes on with the run, as its leader.
    fn decide(&mut self, now: Instant) {
        let next = Subject::Step(self.options.run.clone(), self.ledger.next);
        if self.writes.contains_key(&next) || self.ledger.awaits_slots() {
            return;
        }
        match &self.stage {
            Stage::Opening | Stage::Over { .. } => {}
            Stage::Between { .. } | Stage::Preparing(_) if self.stops => self.end(Why::Stopped),
            Stage::Between { .. } => self.between(now),
            Stage::Preparing(_) => self.preparing(now),
            Stage::Open { .. } => self.open(now),
        }
    }

    fn between(&mut self, now: Instant) {
        let Stage::Between { since, choice } = &self.stage else { return };
        let (since, made) = (*since, choice.clone());
        let (block, work) = match made {
            Choice::None => {
                let choice = if let Some((block, work)) = self.repeat() {
                    Choice::Made(block, work)
                } else {
                    let last = self.ledger.closed.last();
                    let number = last.map_or(0, |closed| closed.go.block.number + 1);
                    self.actions.push(Action::Choose(number));
                    Choice::Awaited(number)
                };
                self.stage = Stage::Between { since, choice };
                if !matches!(self.stage, Stage::Between { choice: Choice::Made(..), .. }) {
                    return;
                }
                return self.between(now);
            }
            Choice::Awaited(_) => return,
            Choice::NothingLeft => return self.end(Why::Completed),
            Choice::Made(block, work) => (block, work),
        };
        let candidates = self.candidates(now);
        if self.is_enough(&candidates) {
            self.stage =
                Stage::Preparing(Preparing { block, work, since: now, candidates, is_said: false });
            return self.preparing(now);
        }
        if self.due(since + self.options.gather_max, now) {
            self.end_without(&candidates);
        }
    }

    /// Those that can take part, each with its part.
    fn candidates(&self, now: Instant) -> Vec<Candidate> {
        let present: Vec<(&Name, &Member, &crate::protocol::Hello)> = self
            .members
            .iter()
            .filter(|(_, member)| member.takes_part(now))
            .filter_map(|(name, member)| Some((name, member, member.hello.as_ref()?)))
            .collect();
        let mut candidates = Vec::new();
        for kind in [Kind::Load, Kind::Probe, Kind::Watch] {
            let of_kind = || present.iter().filter(|(_, _, hello)| hello.kind == kind);
            let weights: Vec<_> = of_kind().map(|(_, _, hello)| hello.weight).collect();
            for (index, (name, member, _)) in (0..).zip(of_kind()) {
                candidates.push(Candidate {
                    agent: (*name).clone(),
                    instance: member.instance,
                    kind,
                    part: Part { index, weights: weights.clone() },
                    ask_at: now,
                    is_ready: false,
                });
            }
        }
        candidates.sort_by(|one, other| one.agent.cmp(&other.agent));
        candidates
    }

    fn is_enough(&self, candidates: &[Candidate]) -> bool {
        let load = candidates.iter().filter(|candidate| candidate.kind == Kind::Load).count();
        let needed = self.ledger.plan.as_ref().map_or(1, |plan| plan.agents_min.max(1));
        load >= needed as usize
    }

    fn preparing(&mut self, now: Instant) {
        let Stage::Preparing(Preparing { block, work, since, mut candidates, mut is_said }) =
            std::mem::replace(&mut self.stage, Stage::Between { since: now, choice: Choice::None })
        else {
            return;
        };
        if self.due(since + PREPARE_MAX, now) {
            let late: Vec<Name> =
                candidates.iter().filter(|it| !it.is_ready).map(|it| it.agent.clone()).collect();
            for agent in late {
                let because = format!("it was not ready within {PREPARE_MAX}");
                self.refused(&agent, Refusal::NotReady { because });
            }
        }
        // The parts of the others are larger without one of them: all get ready anew.
        let stays = |candidate: &Candidate| {
            let member = self.members.get(&candidate.agent);
            member.is_some_and(|it| {
                it.instance == candidate.instance && it.refused.is_none() && !it.is_silent(now)
            })
        };
        if !candidates.iter().all(stays) {
            let choice = Choice::Made(block, work);
            self.stage = Stage::Between { since: now, choice };
            let left = self.candidates(now);
            let refused = |member: &Member| member.refused.is_some();
            if !self.is_enough(&left) && self.members.values().any(refused) {
                return self.end_without(&left);
            }
            return self.between(now);
        }
        let mut asks = Vec::new();
        for candidate in candidates.iter_mut().filter(|candidate| !candidate.is_ready) {
            if now >= candidate.ask_at {
                candidate.ask_at = now + ASK_AGAIN;
                asks.push((
                    candidate.agent.clone(),
                    candidate.instance,
                    candidate.kind,
                    candidate.part.clone(),
                ));
            }
            self.wake = self.wake.min(candidate.ask_at);
        }
        for (agent, instance, kind, part) in asks {
            let run = self.options.run.clone();
            let command = Command::Prepare { run, block, work: work.clone(), kind, part };
            self.ask(agent, instance, command, About::Prepare(block), now);
        }
        let waits = |candidate: &&Candidate| {
            !candidate.is_ready || self.offset(&candidate.agent, now).is_none()
        };
        let waiting: Vec<Name> =
            candidates.iter().filter(waits).map(|it| it.agent.clone()).collect();
        if waiting.is_empty() {
            self.begin(block, work.clone(), &candidates, now);
        } else if !is_said && self.due(since + WAITING_SAID, now) {
            is_said = true;
            self.say(Word::Waiting { block, agents: waiting });
        }
        self.stage = Stage::Preparing(Preparing { block, work, since, candidates, is_said });
    }

    fn offset(&self, agent: &Name, now: Instant) -> Option<crate::clock::Offset> {
        self.members.get(agent)?.clock.offset(now)
    }

    /// Writes that a block begins.
    fn begin(&mut self, block: BlockId, work: BlockWork, candidates: &[Candidate], now: Instant) {
        let offsets: Vec<_> =
            candidates.iter().filter_map(|it| Some((it, self.offset(&it.agent, now)?))).collect();
        let round_trip =
            offsets.iter().map(|(_, offset)| offset.round_trip).max().unwrap_or(Nanos::ZERO);
        let ahead =
            START_AHEAD_MIN.max(Nanos(round_trip.0.saturating_mul(START_AHEAD_ROUND_TRIPS)));
        let start = now + ahead;
        let seat = |(candidate, offset): &(&Candidate, crate::clock::Offset)| Seat {
            agent: candidate.agent.clone(),
            instance: candidate.instance,
            kind: candidate.kind,
            part: candidate.part.clone(),
            start_ns: offset.theirs(start).0,
            bound: offset.bound,
        };
        let roster: Vec<Seat> = offsets.iter().map(seat).collect();
        for seat in roster.iter().filter(|seat| seat.bound > CLOCK_BOUND_MAX) {
            self.say(Word::ClockBound { agent: seat.agent.clone(), bound: Some(seat.bound) });
        }
        self.step(Step::Go(Go { block, work, roster }));
    }

    /// Looks after the block that is underway.
    fn open(&mut self, now: Instant) {
        let Some((number, go)) = self.ledger.open.clone() else { return };
        let undecided: BTreeSet<Name> =
            self.ledger.undecided().map(|seat| seat.agent.clone()).collect();
        if undecided.is_empty() {
            return self.close(&go);
        }
        let run = self.options.run.clone();
        let Stage::Open { ends, told, is_open_said } = &mut self.stage else { return };
        let (over, says_open) = (*ends + GRACE, now >= *ends && !*is_open_said);
        *is_open_said |= says_open;
        let ends = *ends;
        let mut asks = Vec::new();
        for seat in go.roster.iter().filter(|seat| undecided.contains(&seat.agent)) {
            let Some(telling) = told.get_mut(&seat.agent) else { continue };
            if now >= telling.at && (self.stops || !telling.is_armed) {
                telling.at = now + ASK_AGAIN;
                asks.push((seat.agent.clone(), seat.instance, telling.is_armed));
            }
            if self.stops || !telling.is_armed {
                self.wake = self.wake.min(telling.at);
            }
        }
        for (agent, instance, is_armed) in asks {
            let run = run.clone();
            let (command, about) = match is_armed || self.stops {
                true => (Command::Stop { run }, About::Other),
                false => {
                    let go = Arc::clone(&go);
                    (Command::Go { run, step: number, go }, About::Go(go_block(&self.ledger)))
                }
            };
            self.ask(agent, instance, command, about, now);
        }
        if says_open {
            let agents = undecided.iter().cloned().collect();
            self.say(Word::Open { block: go.block, agents, left: over.since(now) });
        }
        if !self.due(over, now) {
            let _ = self.due(ends, now);
            return;
        }
        for agent in undecided {
            let subject = Subject::Slot(run.clone(), go.block, agent.clone());
            if self.writes.contains_key(&subject) {
                continue;
            }
            let member = self.members.get(&agent);
            let silent = member.map(|member| now.since(member.heard));
            let lost = Slot::Lost { by: self.options.controller.clone(), silent };
            let entry = Entry::Slot(Arc::new(lost));
            self.writes.insert(subject.clone(), Write::new(subject, entry));
        }
    }

    /// Writes that a block is over.
    fn close(&mut self, go: &Go) {
        let decided = |seat: &Seat| {
            let slot = Arc::clone(self.ledger.slot(go.block, &seat.agent)?);
            let jumped = self
                .members
                .get(&seat.agent)
                .is_some_and(|member| member.instance == seat.instance && member.jumped);
            Some(Decided {
                agent: seat.agent.clone(),
                kind: slot.kind(),
                digest: digest(&Entry::Slot(slot)),
                doubts: jumped.then_some(Doubt::ClockJumped).into_iter().collect(),
            })
        };
        let slots = go.roster.iter().filter_map(decided).collect();
        self.step(Step::Close(Close { block: go.block, slots }));
    }

    fn end_without(&mut self, candidates: &[Candidate]) {
        let ready = candidates.iter().filter(|candidate| candidate.kind == Kind::Load).count();
        let needed = self.ledger.plan.as_ref().map_or(1, |plan| plan.agents_min.max(1));
        let refused = |(name, member): (&Name, &Member)| {
            member.refused.as_ref().map(|refusal| format!("{name}: {refusal}"))
        };
        let silent = "the others were not heard of".to_owned();
        let because = self.members.iter().find_map(refused).unwrap_or(silent);
        self.end(Why::TooFewAgents {
            ready: u32::try_from(ready).unwrap_or(u32::MAX),
            needed,
            because,
        });
    }

    fn end(&mut self, why: Why) {
        self.step(Step::End(End { why }));
    }

    /// Writes the next step. What becomes of the run is read from the log, whoever wrote it there.
    fn step(&mut self, step: Step) {
        let subject = Subject::Step(self.options.run.clone(), self.ledger.next);
        let entry = Entry::Step(Arc::new(step));
        self.writes.insert(subject.clone(), Write::new(subject, entry));
    }

    fn poll_writes(&mut self, now: Instant) {
        let next = self.ledger.next;
        // Steps that another one was faster with.
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

    /// Reads the slots that a step of another controller names and this one has not seen; and the plan, if it is not
    /// this one that brings it.
    fn read_missing(&mut self, now: Instant) {
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
        let number = self.asked;
        self.asked += 1;
        self.asks.insert(number, Ask { agent: agent.clone(), instance, about, at: now });
        let timeout = ASK_MAX;
        self.actions.push(Action::Ask { number, agent, instance, command, timeout });
    }

    fn say(&mut self, word: Word) {
        self.actions.push(Action::Say(word));
    }
}

/// The block that is underway.
fn go_block(ledger: &Ledger) -> BlockId {
    let open = ledger.open.as_ref().map(|(_, go)| go.block);
    open.unwrap_or(BlockId { number: u32::MAX, attempt: 0 })
}

/// A question waits for its answer this long.
const ASK_MAX: Nanos = Nanos::from_millis(400);
/// It is asked again after this time.
const ASK_AGAIN: Nanos = Nanos::from_millis(500);
/// Something that is not in the log yet is read again after this time.
const READ_AGAIN: Nanos = Nanos::from_secs(1);
/// Agents that are waited for are named after this time.
const WAITING_SAID: Nanos = Nanos::from_secs(3);
/// The time in which agents are told that a run is over.
const ENDING: Nanos = Nanos::from_millis(500);
