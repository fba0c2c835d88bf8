//! The presence of agents: their beats, their answers and clocks, and those that are silent or refused.

use super::Controller;
use super::contract::{Action, NoAnswer};
use super::member::{Member, TOLD_EVERY, Twin};
use super::questions::{ASK_AGAIN, About, Question};
use super::stage::{Candidate, Preparing, Stage};
use crate::Word;
use crate::clock::Exchange;
use crate::protocol::limits::{AGENTS_MAX, CLOCK_EVERY, CLOCK_EVERY_IN_BLOCK, LOST};
use crate::protocol::{Answer, Beat, Command, Go, Hello, Instance, Name, Phase, Refusal};
use std::sync::Arc;
use units::Instant;

impl Controller {
    /// Takes a beat: of a known process, of a new one that replaces it, or of a second one with its name.
    pub(super) fn beat(&mut self, beat: Beat, now: Instant) {
        let name = beat.agent.clone();
        let Some(member) = self.members.get_mut(&name) else {
            if self.members.len() < AGENTS_MAX {
                self.members.insert(name, Member::new(beat, now));
            }
            return;
        };
        if member.instance == beat.instance {
            let words = [member.beats(beat, now), member.sends_late()];
            self.actions.extend(words.into_iter().flatten().map(Action::Say));
            return;
        }
        if member.is_silent(now) || member.beat.phase == Phase::Leaving {
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

    /// Takes the answer to a question, or the reason why there is none.
    pub(super) fn answer(&mut self, number: u64, answer: Result<Answer, NoAnswer>, now: Instant) {
        let Some(Question { agent, instance, about, at }) = self.questions.take(number) else {
            return;
        };
        let Some(member) = self.members.get_mut(&agent).filter(|it| it.instance == instance) else {
            return;
        };
        let answer = match answer {
            Ok(answer) => {
                member.heard = member.heard.max(at);
                answer
            }
            Err(NoAnswer::Gone) => {
                // A beat after the question shows that the process exists after all.
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

    /// The candidate for a block that is this process.
    fn candidate(&mut self, agent: &Name, instance: Instance) -> Option<&mut Candidate> {
        let Stage::Preparing(Preparing { candidates, .. }) = &mut self.stage else { return None };
        candidates.iter_mut().find(|it| it.agent == *agent && it.instance == instance)
    }

    /// Takes the first answer of an agent: it joins, or its version is refused.
    fn hello(&mut self, agent: &Name, hello: Hello) {
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
        let joined = |member: &&Member| {
            let sends = member.hello.as_ref().is_some_and(|hello| hello.kind.is_load());
            sends && member.refused.is_none()
        };
        let agents = self.members.values().filter(joined).count();
        self.say(Word::Joined { agent: agent.clone(), agents, needed });
    }

    /// Leaves an agent out, and tells the agent and the user why.
    pub(super) fn refused(&mut self, agent: &Name, refusal: Refusal) {
        let Some(member) = self.members.get_mut(agent) else { return };
        member.refused = Some(refusal.clone());
        let instance = member.instance;
        self.say(Word::Refused { agent: agent.clone(), why: refusal.clone() });
        self.ask(agent.clone(), instance, Command::Refuse(refusal), About::Other, Instant::START);
    }

    /// Asks members who they are and what their clocks say, and notices the silent ones.
    pub(super) fn watch_members(&mut self, now: Instant) {
        if !self.is_connected || self.ledger.plan.is_none() {
            return;
        }
        let open = self.ledger.open.as_ref().map(|(_, go)| Arc::clone(go));
        let others = open.as_ref().map_or(0, |go| go.roster.len().saturating_sub(1));
        let mut ends = Instant::NEVER;
        if let Stage::Open { ends: of_block, .. } = self.stage
            && now < of_block
        {
            ends = of_block;
        }
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
            let (at, again) = match about {
                About::Hello => (&mut member.hello_at, now + ASK_AGAIN),
                About::Clock | About::Go(_) | About::Other | About::Prepare(_) => {
                    let in_block = ends.min(now + CLOCK_EVERY_IN_BLOCK);
                    let again = if block.is_some() { in_block } else { now + CLOCK_EVERY };
                    (&mut member.clock_at, again)
                }
            };
            if now >= *at {
                *at = again;
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
}
