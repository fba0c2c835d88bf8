//! Getting an agent ready for a part: it reads the plan, and has the part prepared.

use super::contract::{Action, Task};
use super::{Agent, Asked, Stage, State};
use crate::Word;
use crate::bus::Read;
use crate::protocol::limits::PREPARE_MAX;
use crate::protocol::{Answer, BlockId, Entry, Name, Plan, Refusal, Subject};
use std::sync::Arc;
use units::{Instant, Nanos};

impl Agent {
    /// Takes a command to prepare, which the controller repeats until the answer is "ready" or a refusal.
    pub(super) fn prepare(&mut self, wanted: Asked, now: Instant) -> Answer {
        if self.leaves.is_some() {
            return not_ready("it was told to end");
        }
        let slot = Subject::Slot(wanted.run.clone(), wanted.block, self.hello.agent.clone());
        if self.offers.slot(&slot).is_some() {
            return not_ready("it has a result of this block already");
        }
        match &mut self.state {
            State::Preparing { task, stage, asked } if **task == wanted => {
                *asked = now;
                return match stage {
                    Stage::AwaitPlan | Stage::PlanAgain(_) | Stage::AwaitReady => Answer::Preparing,
                    Stage::Ready => Answer::Ready,
                    Stage::Refused(refusal) => Answer::Refused(refusal.clone()),
                };
            }
            State::Preparing { task, asked, .. } => {
                if task.run != wanted.run && now.since(*asked) < FORGOTTEN {
                    return Answer::Refused(Refusal::Busy { run: task.run.clone() });
                }
                let block = task.block;
                self.actions.push(Action::Discard(block));
            }
            State::Begun { run, .. } | State::Spooling { subject: Subject::Slot(run, ..), .. } => {
                return match *run == wanted.run {
                    true => Answer::Preparing,
                    false => Answer::Refused(Refusal::Busy { run: run.clone() }),
                };
            }
            State::Idle | State::Spooling { .. } | State::Gone => {}
        }
        self.forget_other_runs(&wanted.run);
        let stage = match &self.plan {
            Some((run, plan)) if *run == wanted.run => {
                self.actions.push(prepare(&wanted, plan));
                Stage::AwaitReady
            }
            Some(_) | None => {
                self.actions.push(Action::Read(Subject::Plan(wanted.run.clone())));
                Stage::AwaitPlan
            }
        };
        self.state = State::Preparing { task: Box::new(wanted), stage, asked: now };
        Answer::Preparing
    }

    /// Takes the end of reading the plan of run `of`, and goes on to prepare with it.
    pub(super) fn plan_read(&mut self, of: &Name, subject: &Subject, read: &Read, now: Instant) {
        let State::Preparing { task, stage, .. } = &mut self.state else { return };
        if task.run != *of || !matches!(stage, Stage::AwaitPlan) {
            return;
        }
        *stage = match read {
            Read::Found(Entry::Plan(plan)) => {
                self.plan = Some((of.clone(), Arc::clone(plan)));
                self.actions.push(prepare(task, plan));
                Stage::AwaitReady
            }
            Read::Found(Entry::Step(_) | Entry::Slot(_)) => Stage::Refused(Refusal::Plan {
                because: format!("{subject} contains something else"),
            }),
            Read::Unreadable(because) => Stage::Refused(Refusal::Plan { because: because.clone() }),
            Read::Denied => {
                self.actions.push(Action::Say(Word::Denied(subject.clone())));
                let because = format!("the server does not let it read {subject}");
                Stage::Refused(Refusal::Plan { because })
            }
            Read::Nothing | Read::TimedOut => Stage::PlanAgain(now + PLAN_AGAIN),
        };
    }

    /// Takes the end of [`Action::Prepare`].
    pub(super) fn prepared(&mut self, of: BlockId, result: Result<(), Refusal>) {
        if let State::Preparing { task, stage, .. } = &mut self.state
            && task.block == of
            && matches!(stage, Stage::AwaitReady)
        {
            *stage = result.map_or_else(Stage::Refused, |()| Stage::Ready);
        }
    }

    /// Reads the plan again, and discards a part that nobody has asked for recently.
    pub(super) fn prepare_again(&mut self, now: Instant) {
        let State::Preparing { task, stage, asked } = &mut self.state else { return };
        let forgotten = *asked + PREPARE_MAX;
        if now >= forgotten {
            self.discard();
            return;
        }
        self.wake = self.wake.min(forgotten);
        if let Stage::PlanAgain(at) = *stage {
            if now >= at {
                self.actions.push(Action::Read(Subject::Plan(task.run.clone())));
                *stage = Stage::AwaitPlan;
            } else {
                self.wake = self.wake.min(at);
            }
        }
    }

    /// Marks the run before this one as ended.
    fn forget_other_runs(&mut self, run: &Name) {
        if let Some((of, _)) = &self.plan
            && of != run
        {
            self.ended = Some(of.clone());
        }
    }

    /// Discards what is prepared.
    pub(super) fn discard(&mut self) {
        if let State::Preparing { task, .. } = &self.state {
            self.actions.push(Action::Discard(task.block));
            self.state = State::Idle;
        }
    }
}

fn prepare(asked: &Asked, plan: &Arc<Plan>) -> Action {
    let Asked { run, block, work, kind, part } = asked.clone();
    Action::Prepare(Box::new(Task { run, plan: Arc::clone(plan), block, work, kind, part }))
}

fn not_ready(because: &str) -> Answer {
    Answer::Refused(Refusal::NotReady { because: because.to_owned() })
}

/// The time after which a plan that is not there yet is read again.
const PLAN_AGAIN: Nanos = Nanos::from_millis(500);
/// The time after which a run that has stopped asking makes way for another.
const FORGOTTEN: Nanos = Nanos::from_secs(5);
