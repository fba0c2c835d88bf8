//! The part of the relay for deliveries with known faults. Each copy is encoded separately, in the order in which
//! copies are handed over, because each changes the state of a layer (TLS, compression).

use super::batch::{Speaks, Texts};
use super::hub::Who;
use super::late::{Fault, Line, Turn, Words};
use super::{Fate, Relay};
use crate::behaviour::Behaviour;
use crate::oracle::{Lot, Lots};
use engine::Engine;
use std::cmp::Reverse;
use std::sync::Arc;
use units::Instant;
use wire::Kind;

impl Relay {
    /// Applies to deliveries what `behaviour` has for replies: its delays, drops, duplicates and reordering. Its other
    /// parts have no effect here.
    #[must_use]
    pub fn with_behaviour(self, behaviour: Behaviour) -> Self {
        let mut lots = Lots::new(behaviour);
        self.with_faults(move |_| {
            let Lot { delay, drop, duplicate, reorder, .. } = lots.draw();
            let copies = if drop { 0 } else { 1 + usize::from(duplicate) };
            Fault { copies, delay, is_overtaken: reorder }
        })
    }

    /// Queues the delivery of `data` to a member until its turn, unless it is to be dropped. Returns false for a member
    /// that cannot receive it.
    pub(super) fn let_wait(
        &mut self,
        who: Who,
        speaks: Speaks,
        words: &Arc<Words>,
        data: &[u8],
        now: Instant,
    ) -> bool {
        let can_have = match speaks {
            Speaks::Messages => true,
            Speaks::Packets if words.kind == Kind::Binary => true,
            Speaks::Frames | Speaks::Packets | Speaks::Requests => {
                str::from_utf8(&words.bytes).is_ok()
            }
            Speaks::Stream(stream) => {
                Texts::of(words).published().is_some_and(|text| stream.takes(text))
            }
            Speaks::Polls => Texts::of(words).published().is_some(),
        };
        let Some(Fate(fault)) = self.fate.as_mut().filter(|_| can_have) else { return false };
        let fault = fault(data);
        self.totals.dropped += u64::from(fault.copies == 0);
        self.totals.duplicated += (fault.copies as u64).saturating_sub(1);
        if fault.copies > 0
            && let Some(line) = self.line(who)
        {
            match line.join(words, fault, now) {
                Some(turn) => self.looks.push(Reverse((turn, who))),
                None => self.slow.push(who),
            }
        }
        true
    }

    /// Hands over the deliveries whose turns have come.
    pub(super) fn hand_over_late<E: Engine>(&mut self, engine: &mut E, now: Instant) {
        while let Some(Reverse((at, who))) = self.looks.peek().copied()
            && at <= now
        {
            self.looks.pop();
            let Some(line) = self.line(who) else { continue };
            let turns = line.take(now);
            if let Some(until) = line.held_until() {
                self.looks.push(Reverse((until, who)));
            }
            let mut is_slow = false;
            for Turn { delivery, was_overtaken } in turns {
                self.totals.reordered += u64::from(was_overtaken);
                for _ in 0..delivery.copies {
                    is_slow |= !self.send_alone(engine, who, &delivery.words);
                }
            }
            if is_slow {
                self.slow.push(who);
            }
            self.drop_slow(engine);
        }
    }

    /// The next instant at which a delivery may have its turn.
    pub(super) fn next_look(&self) -> Instant {
        self.looks.peek().map_or(Instant::NEVER, |Reverse((at, _))| *at)
    }

    /// Sends a copy of a message to one member. Returns false for a member that does not read.
    fn send_alone<E: Engine>(&mut self, engine: &mut E, who: Who, words: &Words) -> bool {
        let Some(speaks) = self.speaks(who) else { return true };
        let mut forms = std::mem::take(&mut self.forms);
        forms.clear();
        let is_reading = self.hand_over(engine, (who, speaks), &mut [Texts::of(words)], &mut forms);
        self.forms = forms;
        is_reading
    }

    /// The deliveries that wait for a member, unless it is gone.
    fn line(&mut self, who: Who) -> Option<&mut Line> {
        let line = match who {
            Who::Session(number, index) => &mut self.sessions.space(number, index)?.line,
            Who::Socket(id) => &mut self.peers.find(id)?.state.line,
        };
        Some(&mut **line.get_or_insert_default())
    }
}
