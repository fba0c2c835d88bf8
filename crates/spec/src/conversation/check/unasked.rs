//! Rules for messages that arrive unasked, and the heartbeat.

use super::{Checker, Holes};
use crate::conversation::{
    AnswerRule, Every, Extent, Fault, Matcher, Offset, Part, Place, PushRule, Request, Send,
    overlap,
};

impl Checker<'_> {
    /// Checks pushes, answers and the heartbeat.
    pub(super) fn check_unasked(&mut self) -> Result<(), Fault> {
        let all = self.conversation;
        for (index, PushRule { when, sent, header, .. }) in all.pushes.iter().enumerate() {
            self.part = Part::Push(index);
            self.check_matcher("when", when, false, None)?;
            self.check_free(when)?;
            let rules = all.pushes[..index].iter();
            let reached = rules.map(|rule| ("push", &rule.name, &rule.when));
            let answers = all.answers.iter().map(|rule| ("answer", &rule.name, &rule.when));
            self.check_reached(when, answers.chain(reached))?;
            let stamps = |request: &Request| match &request.send {
                Send::Message(template) => template.has_now(),
                Send::Http(_) => false,
            };
            if sent.is_some() && !all.of_publishers().requests.iter().any(stamps) {
                return Err(self.fault(
                    "sent",
                    "is the place of a `${now}`, and no request sends one; put `${now}` into the request that is \
                     delivered",
                ));
            }
            if header.is_some() && !all.of_publishers().requests.iter().any(Request::has_header) {
                return Err(self.fault(
                    "header",
                    "is the place of a `${header}`, and no request sends one; put `${header}` into the request that \
                     is delivered",
                ));
            }
            if let Some(Place::Text { before, after }) = header
                && before.is_empty()
                && after.is_empty()
            {
                return Err(self.fault("header", "is a hole without a text beside it"));
            }
            if let Some(Place::Bytes(place)) = sent {
                self.form("sent", *place)?;
            }
            if let Some(Place::Bytes(Offset { at, extent: Extent::Number(_) })) = header {
                let message = format!("is 32 digits of text, not a number; say `@{at}`");
                return Err(self.fault("header", message));
            }
        }
        for (index, AnswerRule { when, take, send, .. }) in all.answers.iter().enumerate() {
            self.part = Part::Answer(index);
            self.check_matcher("when", when, false, None)?;
            if when.conditions.is_empty() {
                return Err(self.fault("when", "matches every message; say which is answered"));
            }
            self.check_free(when)?;
            let rules = all.answers[..index].iter();
            self.check_reached(when, rules.map(|rule| ("answer", &rule.name, &rule.when)))?;
            let known = self.known.len();
            self.take(take, false)?;
            self.check_template("send", send, Holes::Plain)?;
            self.known.truncate(known);
        }
        if let Some(beat) = &all.beat {
            self.part = Part::Beat;
            match &beat.every {
                Every::Time(units::Nanos::ZERO) => {
                    return Err(self.fault("every", "of 0s is too short; use a longer time"));
                }
                Every::Time(_) => {}
                Every::Millis(name) => self.check_known("every", name)?,
            }
            self.check_template("send", &beat.send, Holes::Plain)?;
        }
        Ok(())
    }

    /// Refuses a rule for unasked messages that would also take all replies to a request.
    fn check_free(&self, when: &Matcher) -> Result<(), Fault> {
        for request in &self.conversation.requests {
            if request.matchers().any(|reply| overlap::implies(reply, when)) {
                let name = &request.name;
                return Err(self.fault(
                    "when",
                    format!(
                        "matches the replies to `{name}` too; say what tells them apart, as in lacks = \"$.id\""
                    ),
                ));
            }
        }
        Ok(())
    }

    /// Refuses a rule that never applies because an earlier one takes all of its messages.
    fn check_reached<'r>(
        &self,
        when: &Matcher,
        earlier: impl Iterator<Item = (&'static str, &'r String, &'r Matcher)>,
    ) -> Result<(), Fault> {
        for (kind, name, before) in earlier {
            if overlap::implies(when, before) {
                return Err(self.fault(
                    "when",
                    format!(
                        "never applies: `[{kind}.{name}]`, which comes first, matches all of its messages"
                    ),
                ));
            }
        }
        Ok(())
    }
}
