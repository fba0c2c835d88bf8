//! The blocks of a run, as its leader decides them: chosen, prepared, begun, watched, closed.
//!
//! Start reading at [`Controller::decide`].

use super::Controller;
use super::contract::Action;
use super::member::Member;
use super::questions::{ASK_AGAIN, About};
use super::stage::{Candidate, Choice, Preparing, Stage, Telling};
use crate::Word;
use crate::clock::{Offset, drift};
use crate::protocol::limits::{
    CLOCK_BOUND_MAX, GRACE, PREPARE_MAX, START_AHEAD_MIN, START_AHEAD_ROUND_TRIPS,
};
use crate::protocol::{
    BlockId, BlockWork, Close, Command, Decided, Doubt, End, Entry, Go, Hello, Kind, Name, Part,
    Refusal, Seat, Slot, SlotKind, Step, Subject, Why, digest,
};
use crate::write::Write;
use spec::Stop;
use std::collections::BTreeSet;
use std::sync::Arc;
use units::{Instant, Nanos};

impl Controller {
    /// Continues the run, as its leader.
    pub(super) fn decide(&mut self, now: Instant) {
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

    /// Takes the answer to [`Action::Choose`]: the work of the next block; `None` if nothing is left to do.
    pub(super) fn chosen(&mut self, number: u32, work: Option<BlockWork>) {
        if let Stage::Between { choice, .. } = &mut self.stage
            && matches!(choice, Choice::Awaited(awaited) if *awaited == number)
        {
            let block = BlockId { number, attempt: 0 };
            *choice = work.map_or(Choice::NothingLeft, |work| Choice::Made(block, work));
        }
    }

    /// Chooses the next block, and begins to prepare it once enough agents are present.
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
        // A member that beats but has not said its task yet may be a watch, which the first block should include.
        let mut members = self.members.values();
        let is_asked = members.any(|it| it.hello.is_none() && !it.is_silent(now));
        if self.is_enough(&candidates) && (!is_asked || self.due(since + HELLO_MAX, now)) {
            self.stage =
                Stage::Preparing(Preparing { block, work, since: now, candidates, is_said: false });
            return self.preparing(now);
        }
        if self.due(since + self.options.gather_max, now) {
            self.end_without(&candidates);
        }
    }

    /// The agents that can take part now, each with its part; sorted by name.
    fn candidates(&self, now: Instant) -> Vec<Candidate> {
        let present: Vec<(&Name, &Member, &Hello)> = self
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

    /// True if a block can begin with these candidates.
    fn is_enough(&self, candidates: &[Candidate]) -> bool {
        let load = candidates.iter().filter(|candidate| candidate.kind == Kind::Load).count();
        let needed = self.ledger.plan.as_ref().map_or(1, |plan| plan.agents_min.max(1));
        load >= needed as usize
    }

    /// Asks all candidates to get ready, and begins once they are. Starts over without one that is refused or lost.
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
        // Without one of them the parts of the others are larger: all must get ready again.
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

    /// The clock of an agent relative to this one; `None` if it is not known well enough yet.
    fn offset(&self, agent: &Name, now: Instant) -> Option<Offset> {
        self.members.get(agent)?.clock.offset(now)
    }

    /// Writes the begin of a block, with its instant by each agent's own clock.
    fn begin(&mut self, block: BlockId, work: BlockWork, candidates: &[Candidate], now: Instant) {
        let offsets: Vec<_> =
            candidates.iter().filter_map(|it| Some((it, self.offset(&it.agent, now)?))).collect();
        let round_trip =
            offsets.iter().map(|(_, offset)| offset.round_trip).max().unwrap_or(Nanos::ZERO);
        let ahead =
            START_AHEAD_MIN.max(Nanos(round_trip.0.saturating_mul(START_AHEAD_ROUND_TRIPS)));
        let start = now + ahead;
        let other_version = |agent: &Name| {
            let version = &self.members.get(agent)?.hello.as_ref()?.version;
            let is_same = self.options.version.is_same_program(version);
            (!is_same).then(|| version.to_string())
        };
        let seat = |(candidate, offset): &(&Candidate, Offset)| Seat {
            agent: candidate.agent.clone(),
            instance: candidate.instance,
            kind: candidate.kind,
            part: candidate.part.clone(),
            start_ns: offset.theirs(start).0,
            bound: offset.bound + drift(ahead),
            version: other_version(&candidate.agent),
        };
        let roster: Vec<Seat> = offsets.iter().map(seat).collect();
        for seat in roster.iter().filter(|seat| seat.bound > CLOCK_BOUND_MAX) {
            self.say(Word::ClockBound { agent: seat.agent.clone(), bound: Some(seat.bound) });
        }
        self.step(Step::Go(Go { block, work, roster }));
    }

    /// Switches to a block that has begun, by this controller's step or by another's.
    pub(super) fn opened(&mut self, now: Instant) {
        let Some((_, go)) = &self.ledger.open else { return };
        let starts = go.roster.iter().map(|seat| {
            let member = self.members.get(&seat.agent);
            let member = member.filter(|member| member.instance == seat.instance);
            let clock = member.and_then(|member| member.clock.offset(now));
            // An unknown begin is not later than one that would be written now.
            let latest = now + START_AHEAD_MIN + START_AHEAD_MIN;
            clock.map_or(latest, |offset| offset.ours(Instant(seat.start_ns)) + offset.bound)
        });
        let start = starts.max().unwrap_or(now);
        let telling = Telling { at: now, is_armed: false };
        let told = go.roster.iter().map(|seat| (seat.agent.clone(), telling)).collect();
        let ends = start + go.work.lasts;
        let word =
            Word::Begins { block: go.block, agents: go.roster.len(), in_time: start.since(now) };
        for member in self.members.values_mut() {
            (member.jumped, member.is_late) = (false, false);
        }
        self.stage = Stage::Open { ends, told, is_open_said: false };
        self.say(word);
    }

    /// Tells the agents about the open block, and writes undecided slots as lost once the grace is over.
    fn open(&mut self, now: Instant) {
        let Some((number, go)) = self.ledger.open.clone() else { return };
        let undecided: BTreeSet<Name> =
            self.ledger.undecided().map(|seat| seat.agent.clone()).collect();
        if undecided.is_empty() {
            return self.close(&go);
        }
        let run = self.options.run.clone();
        let goes_on = self.ends_by_count(&go)
            && undecided.iter().any(|agent| self.is_at_work(agent, &run, go.block, now));
        let Stage::Open { ends, told, is_open_said } = &mut self.stage else { return };
        if self.stops {
            // Agents that hear of it stop now; the others get no more time.
            *ends = (*ends).min(now);
        }
        if now >= *ends && goes_on && !self.stops {
            // The end is unknown: the grace begins once no agent is at work.
            (*ends, *is_open_said) = (now + AT_WORK_AGAIN, false);
        }
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
                    let about = About::Go(go.block);
                    (Command::Go { run, step: number, go: Arc::clone(&go) }, about)
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

    /// True if the load of a block ends after a number of messages or clients, so that [`BlockWork::lasts`] is a guess.
    fn ends_by_count(&self, go: &Go) -> bool {
        let plan = self.ledger.plan.as_ref();
        let workload = plan.and_then(|plan| plan.experiment.workloads.get(go.work.workload));
        workload.is_some_and(|it| !matches!(it.phases.stop, Stop::After(_)))
    }

    /// True if an agent is not silent, and reports that it is busy with that block.
    fn is_at_work(&self, agent: &Name, run: &Name, block: BlockId, now: Instant) -> bool {
        let member = self.members.get(agent).filter(|member| !member.is_silent(now));
        let busy_with = member.and_then(|member| member.beat.block.as_ref());
        busy_with.is_some_and(|(of, number)| of == run && *number == block)
    }

    /// Writes the end of a block, whose slots are all decided.
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

    /// Continues after a block that was closed.
    pub(super) fn closed_block(&mut self, block: BlockId, now: Instant) {
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
            let marked: Vec<_> = ends.filter(|(_, kind)| *kind != SlotKind::Result).collect();
            let (parts, repeats) = (closed.slots.len(), self.repeat().is_some());
            self.say(Word::Over { block, marked, parts, repeats });
            self.actions.push(Action::Closed(block));
        }
        // An agent that was not ready for this block may be ready for the next one.
        for member in self.members.values_mut() {
            if matches!(member.refused, Some(Refusal::NotReady { .. })) {
                member.refused = None;
            }
        }
        self.stage = Stage::Between { since: now, choice: Choice::None };
    }

    /// The repeat of the last closed block, if it is marked and has attempts left.
    fn repeat(&self) -> Option<(BlockId, BlockWork)> {
        let (closed, plan) = (self.ledger.closed.last()?, self.ledger.plan.as_ref()?);
        let BlockId { number, attempt } = closed.go.block;
        let repeats = closed.is_marked() && attempt < plan.repeats && !self.stops;
        repeats.then(|| (BlockId { number, attempt: attempt + 1 }, closed.go.work.clone()))
    }

    /// Ends the run for lack of agents, and gives the reason why one is missing.
    fn end_without(&mut self, candidates: &[Candidate]) {
        let ready = candidates.iter().filter(|candidate| candidate.kind == Kind::Load).count();
        let needed = self.ledger.plan.as_ref().map_or(1, |plan| plan.agents_min.max(1));
        let refused = |(name, member): (&Name, &Member)| {
            member.refused.as_ref().map(|refusal| format!("{name}: {refusal}"))
        };
        let silent = "nothing was heard from the others".to_owned();
        let because = self.members.iter().find_map(refused).unwrap_or(silent);
        self.end(Why::TooFewAgents {
            ready: u32::try_from(ready).unwrap_or(u32::MAX),
            needed,
            because,
        });
    }

    /// Writes the end of the run.
    fn end(&mut self, why: Why) {
        self.step(Step::End(End { why }));
    }

    /// Writes the next step. The state of the run follows from the log, whoever wrote to it.
    fn step(&mut self, step: Step) {
        let subject = Subject::Step(self.options.run.clone(), self.ledger.next);
        let entry = Entry::Step(Arc::new(step));
        self.writes.insert(subject.clone(), Write::new(subject, entry));
    }
}

/// Time between two checks for agents that are still at work, where the end of a load is not known.
const AT_WORK_AGAIN: Nanos = Nanos::from_secs(1);
/// The longest wait for the task of a member that beats, once there are enough agents.
const HELLO_MAX: Nanos = Nanos::from_secs(1);
/// The time after which the agents that are waited for are named.
const WAITING_SAID: Nanos = Nanos::from_secs(3);
