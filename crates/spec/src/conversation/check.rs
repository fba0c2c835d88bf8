//! The check of a conversation: it finds what cannot be sent, what can never match, and what matches twice.
//!
//! It works on plain data, so that a conversation from a record is checked like one from a file. A fault names the part
//! and, where it is known, the key; the reader of files turns them into a line and a column.
//!
//! Start reading at [`Conversation::check`].

mod messages;
mod requests;
mod transport;
mod unasked;

pub use transport::WRITTEN_FIELDS;

use super::{Before, Conversation, Fault, Fill, Mix, Part, Step, Template};

impl Conversation {
    /// The maximum number of parts of one kind: requests, pushes, steps, values, header fields.
    pub const PARTS_MAX: usize = 256;

    /// Refuses a conversation that cannot be carried out.
    ///
    /// # Errors
    ///
    /// Its first fault.
    pub fn check(&self) -> Result<(), Fault> {
        let mut checker = Checker { conversation: self, known: Vec::new(), part: Part::Top };
        checker.check_counts()?;
        checker.check_values()?;
        checker.check_transport()?;
        for (index, step) in self.open.iter().enumerate() {
            checker.part = Part::Open(index);
            checker.check_step(step)?;
        }
        for (index, request) in self.requests.iter().enumerate() {
            checker.part = Part::Request(index);
            checker.check_request(request)?;
        }
        checker.check_unasked()?;
        checker.part = Part::Close;
        self.close.iter().try_for_each(|step| checker.check_step(step))?;
        checker.part = Part::Publishers;
        self.publishers.iter().try_for_each(|publishers| checker.check_publishers(publishers))
    }
}

/// A check in progress: the part that it has reached, and the names of the values that are filled or taken before it.
struct Checker<'c> {
    conversation: &'c Conversation,
    known: Vec<&'c str>,
    part: Part,
}

/// Holes that a template may have besides those for values and the connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Holes {
    /// None.
    Plain,
    /// The id.
    Id,
    /// The id and the instant.
    All,
}

impl<'c> Checker<'c> {
    fn fault(&self, key: &'static str, message: impl Into<String>) -> Fault {
        Fault { part: self.part, key, text: String::new(), message: message.into() }
    }

    fn check_counts(&self) -> Result<(), Fault> {
        let all = self.conversation;
        let counts = [
            ("subprotocols", all.subprotocols.len()),
            ("headers", all.headers.len()),
            ("vars", all.vars.len()),
            ("before", all.before.len()),
            ("open", all.open.len()),
            ("request", all.requests.len()),
            ("push", all.pushes.len()),
            ("answer", all.answers.len()),
        ];
        if let Some((key, count)) =
            counts.into_iter().find(|(_, count)| *count > Conversation::PARTS_MAX)
        {
            let max = Conversation::PARTS_MAX;
            return Err(self.fault(key, format!("there are {count}; at most {max} are possible")));
        }
        // Conversations that only receive need publishers, which `check_transport` requires.
        let is_sent = all.publishers.is_some() || all.speaks.only_receives();
        if all.requests.is_empty() && !is_sent {
            return Err(self.fault(
                "request",
                "nothing is sent; a conversation needs a `[request.NAME]`, whose replies are timed",
            ));
        }
        let weights: Vec<u32> = all.requests.iter().map(|request| request.weight).collect();
        if let Some(index) = weights.iter().position(|weight| *weight == 0) {
            let message = "a weight of 0 sends nothing; leave the request out, or say 1 or more";
            let fault = self.fault("weight", message);
            return Err(Fault { part: Part::Request(index), ..fault });
        }
        let (turn, max) = (Mix::turn_len(&weights), Mix::TURN_MAX);
        if turn > max {
            let message = format!(
                "the weights repeat after {turn} messages only; at most {max} are possible; use smaller weights"
            );
            return Err(Fault { part: Part::Request(0), ..self.fault("weight", message) });
        }
        Ok(())
    }

    /// Checks values, exchanges before the connection, path, header fields and subprotocols, in the order in which they
    /// are filled.
    fn check_values(&mut self) -> Result<(), Fault> {
        let all = self.conversation;
        for (index, var) in all.vars.iter().enumerate() {
            self.part = Part::Var(index);
            self.check_name(&var.name, "")?;
            match &var.fill {
                Fill::Template(template) => self.check_template("", template, Holes::Plain)?,
                Fill::Pick(values) if values.is_empty() => {
                    return Err(self.fault("", "a list of no values has none to pick"));
                }
                Fill::Pick(_) | Fill::Column { .. } | Fill::Secret { .. } => {}
            }
            self.known.push(&var.name);
        }
        for (index, before) in all.before.iter().enumerate() {
            self.part = Part::Before(index);
            self.check_before(before)?;
        }
        self.part = Part::Top;
        if let Some(path) = &all.path {
            self.check_template("path", path, Holes::Plain)?;
        }
        for (index, field) in all.headers.iter().enumerate() {
            self.part = Part::Field(index);
            self.check_template("", &field.value, Holes::Plain)?;
        }
        self.part = Part::Top;
        all.subprotocols.iter().try_for_each(|template| self.check_subprotocol(template))
    }

    /// Refuses publishers that are not kept apart from receivers, or whose own conversation has a fault.
    fn check_publishers(&self, publishers: &Conversation) -> Result<(), Fault> {
        if !self.conversation.requests.is_empty() {
            return Err(self.fault(
                "",
                "send all requests, so a `[request.NAME]` beside them is never sent; put it into \
                 `[publishers.request.NAME]`",
            ));
        }
        if publishers.publishers.is_some() {
            return Err(self.fault("", "have publishers of their own; leave those out"));
        }
        if !publishers.pushes.is_empty() {
            return Err(
                self.fault("", "have a `push`, and it is receivers that are timed; put it there")
            );
        }
        publishers.check().map_err(|fault| self.fault("", format!("cannot publish: {fault}")))
    }

    fn check_before(&mut self, before: &'c Before) -> Result<(), Fault> {
        self.check_http(&before.request, Holes::Plain)?;
        if let Some(expect) = &before.expect {
            self.check_matcher("expect", expect, true, None)?;
        }
        self.take(&before.take, true)
    }

    fn check_step(&mut self, step: &'c Step) -> Result<(), Fault> {
        if let Some(send) = &step.send {
            self.check_template("send", send, Holes::Id)?;
        }
        if step.send.is_none() && step.expect.is_none() {
            return Err(self.fault("", "a step needs `send`, `expect`, or both"));
        }
        if step.expect.is_none() {
            let idle = [("refused", step.refused.is_some()), ("take", !step.take.is_empty())];
            if let Some((key, _)) = idle.into_iter().find(|(_, is_there)| *is_there) {
                return Err(self.fault(key, "nothing is awaited here; say `expect` too"));
            }
        }
        let send = step.send.as_ref();
        for (key, matcher) in [("expect", &step.expect), ("refused", &step.refused)] {
            if let Some(matcher) = matcher {
                self.check_matcher(key, matcher, false, Some(send.is_some_and(Template::has_id)))?;
            }
        }
        self.check_apart(step.expect.as_ref(), "expect", step.refused.as_ref())?;
        self.take(&step.take, false)
    }
}
