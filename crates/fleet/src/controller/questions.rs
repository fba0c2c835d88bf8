//! Questions to agents' processes, each kept until it is answered or times out.

use super::contract::Action;
use crate::protocol::{BlockId, Command, Instance, Name};
use std::collections::BTreeMap;
use units::{Instant, Nanos};

/// The questions that wait for an answer, by number.
#[derive(Debug, Default)]
pub(super) struct Questions {
    waiting: BTreeMap<u64, Question>,
    next: u64,
}

/// A question that waits for its answer.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) agent: Name,
    pub(super) instance: Instance,
    pub(super) about: About,
    /// The instant at which it was asked.
    pub(super) at: Instant,
}

/// The topics of questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum About {
    Clock,
    Go(BlockId),
    Hello,
    Other,
    Prepare(BlockId),
}

impl Questions {
    /// The action that asks a process. Its answer arrives as [`super::Event::Answer`].
    pub(super) fn ask(
        &mut self,
        agent: Name,
        instance: Instance,
        command: Command,
        about: About,
        now: Instant,
    ) -> Action {
        let number = self.next;
        self.next += 1;
        self.waiting.insert(number, Question { agent: agent.clone(), instance, about, at: now });
        Action::Ask { number, agent, instance, command, timeout: ASK_MAX }
    }

    /// Removes and returns the question of this number.
    pub(super) fn take(&mut self, number: u64) -> Option<Question> {
        self.waiting.remove(&number)
    }
}

/// The longest wait for an answer.
const ASK_MAX: Nanos = Nanos::from_millis(400);
/// The time after which a question is asked again.
pub(super) const ASK_AGAIN: Nanos = Nanos::from_millis(500);
