//! An agent as a controller sees it: its process, its last beat, its clock.

use crate::Word;
use crate::clock::OffsetClock;
use crate::protocol::limits::{LATE_MAX, LOST, SUSPECT};
use crate::protocol::{Beat, BlockId, Hello, Instance, Phase, Refusal};
use units::{Instant, Nanos};

/// The process that owns a name.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) instance: Instance,
    pub(super) heard: Instant,
    pub(super) beat: Beat,
    pub(super) hello: Option<Hello>,
    pub(super) refused: Option<Refusal>,
    pub(super) clock: OffsetClock,
    pub(super) clock_at: Instant,
    pub(super) hello_at: Instant,
    /// The clock has jumped since the open block began.
    pub(super) jumped: bool,
    /// The user was told that it sends late, in the open block.
    pub(super) is_late: bool,
    /// Nothing listens for questions to the process.
    pub(super) is_gone: bool,
    /// True once the user was told that it is silent or gone.
    is_missed: bool,
}

impl Member {
    pub(super) fn new(beat: Beat, now: Instant) -> Self {
        Self {
            instance: beat.instance,
            heard: now,
            beat,
            hello: None,
            refused: None,
            clock: OffsetClock::default(),
            clock_at: now,
            hello_at: now,
            jumped: false,
            is_late: false,
            is_gone: false,
            is_missed: false,
        }
    }

    /// Takes a beat of its process; returns a word if it had been missed.
    pub(super) fn beats(&mut self, beat: Beat, now: Instant) -> Option<Word> {
        let silent = now.since(self.heard);
        let was_missed = std::mem::replace(&mut self.is_missed, false);
        (self.heard, self.is_gone) = (now, false);
        let agent = beat.agent.clone();
        self.beat = beat;
        was_missed.then_some(Word::Back { agent, silent, is_new: false })
    }

    /// Announces once in a block that the agent sends late.
    pub(super) fn sends_late(&mut self) -> Option<Word> {
        let lag = self.beat.health.last_lag_p50.filter(|lag| *lag > LATE_MAX)?;
        let is_known = std::mem::replace(&mut self.is_late, true);
        (!is_known).then(|| Word::SendsLate { agent: self.beat.agent.clone(), lag })
    }

    /// True if it may be asked to take part.
    pub(super) fn takes_part(&self, now: Instant) -> bool {
        self.hello.is_some()
            && self.refused.is_none()
            && !self.is_gone
            && self.beat.phase != Phase::Leaving
            && now.since(self.heard) < SUSPECT
    }

    /// True if it has been silent for so long that it counts as lost.
    pub(super) fn is_silent(&self, now: Instant) -> bool {
        self.is_gone || now.since(self.heard) >= LOST
    }

    /// Announces once that the agent is missed; `others` is the number of other agents in the block.
    pub(super) fn missed(
        &mut self,
        block: Option<BlockId>,
        others: usize,
        now: Instant,
    ) -> Option<Word> {
        let is_leaving = self.beat.phase == Phase::Leaving;
        if self.is_missed || !self.is_silent(now) || is_leaving {
            return None;
        }
        self.is_missed = true;
        let agent = self.beat.agent.clone();
        if self.is_gone {
            return Some(Word::Gone { agent, block });
        }
        let (silent, sent_per_s) = (now.since(self.heard), self.beat.health.sent_per_s);
        Some(Word::Silent { agent, silent, block, sent_per_s, others })
    }

    /// Forgives its silence until now, which the bus or this controller caused.
    pub(super) fn excuse(&mut self, now: Instant) {
        if !self.is_missed {
            self.heard = now;
        }
    }
}

/// A second process with the same name.
#[derive(Debug)]
pub(super) struct Twin {
    pub(super) heard: Instant,
    /// The instant of the next reminder that it takes no part.
    pub(super) tell_at: Instant,
}

/// The time after which a process that cannot take part is told again.
pub(super) const TOLD_EVERY: Nanos = Nanos::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{Health, Kind};

    #[test]
    fn an_agent_that_sends_late_is_named_once_in_a_block() {
        let beat = |lag: Option<u64>| Beat {
            agent: "a0".parse().unwrap(),
            instance: Instance(1),
            kind: Kind::Load,
            number: 0,
            phase: Phase::Running,
            block: None,
            spooled: 0,
            health: Health { last_lag_p50: lag.map(Nanos::from_millis), ..Health::default() },
        };
        let mut member = Member::new(beat(None), Instant::START);
        let said = |member: &mut Member, lag| {
            assert_eq!(member.beats(beat(lag), Instant::START), None);
            member.sends_late().map(|word| word.to_string())
        };
        assert_eq!(said(&mut member, None), None);
        assert_eq!(said(&mut member, Some(10)), None, "as late as a begin may be");
        let words = "a0 sends late: in the last second, half of its messages were sent more than 45 ms after they \
                     were due; does its machine have a free core?";
        assert_eq!(said(&mut member, Some(45)).as_deref(), Some(words));
        assert_eq!(said(&mut member, Some(50)), None);
        member.is_late = false;
        assert!(said(&mut member, Some(50)).is_some(), "in the next block");
    }
}
