//! An agent as a controller sees it: its process, its last beat, its clock.

use crate::Word;
use crate::clock::OffsetClock;
use crate::protocol::limits::{LOST, SUSPECT};
use crate::protocol::{Beat, BlockId, Hello, Instance, Phase, Refusal};
use units::{Instant, Nanos};

/// The process that has a name.
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
    /// Nobody answers for the process.
    pub(super) is_gone: bool,
    /// True once people were told that it is silent or gone.
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
            is_gone: false,
            is_missed: false,
        }
    }

    /// Takes a beat of its process; a word if it had been missed.
    pub(super) fn beats(&mut self, beat: Beat, now: Instant) -> Option<Word> {
        let silent = now.since(self.heard);
        let was_missed = std::mem::replace(&mut self.is_missed, false);
        (self.heard, self.is_gone) = (now, false);
        let agent = beat.agent.clone();
        self.beat = beat;
        was_missed.then_some(Word::Back { agent, silent, is_new: false })
    }

    /// True if it may be asked to take part.
    pub(super) fn takes_part(&self, now: Instant) -> bool {
        self.hello.is_some()
            && self.refused.is_none()
            && !self.is_gone
            && self.beat.phase != Phase::Leaving
            && now.since(self.heard) < SUSPECT
    }

    /// True if nothing was heard of it for so long that it counts as lost.
    pub(super) fn is_silent(&self, now: Instant) -> bool {
        self.is_gone || now.since(self.heard) >= LOST
    }

    /// Announces once that the agent is missed; `others` take part in the same block.
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

    /// Forgives the silence until now, for which the bus or this controller was the reason.
    pub(super) fn excuse(&mut self, now: Instant) {
        if !self.is_missed {
            self.heard = now;
        }
    }
}

/// A second process of a name.
#[derive(Debug)]
pub(super) struct Twin {
    pub(super) heard: Instant,
    /// It is told again then that it takes no part.
    pub(super) tell_at: Instant,
}

/// The time after which a process that cannot take part is told again.
pub(super) const TOLD_EVERY: Nanos = Nanos::from_secs(1);
