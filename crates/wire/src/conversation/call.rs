//! Kinds of HTTP requests, made ready: what is written, and what is awaited.

use super::request::Request;
use super::response::Awaits;
use super::rules::{Heard, Hits, Rules};
use super::{CompileError, learnt::Learnt, template};
use spec::conversation::{Field, HttpRequest, Reply, Resume};

/// A kind of HTTP request.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) request: Request,
    pub(super) awaits: Awaits,
    /// The events of its response, where that is a stream.
    pub(super) events: Option<Events>,
}

/// The rules for the events of a stream.
#[derive(Debug)]
pub(super) struct Events {
    rules: Rules<Role>,
    /// True if the end of the response does not end a stream: the event that does must come before.
    pub(super) needs_last: bool,
    /// The way in which a stream that breaks off is resumed, if it is.
    pub(super) resume: Option<Resume>,
}

/// The part that a message plays in the reply to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// The first event of a stream, with which it begins.
    First,
    /// An event of a stream.
    Each,
    /// The end of a stream, or the only message of a reply.
    Last,
    Refused,
}

impl Call {
    /// Makes `http`, the HTTP request of `request`, ready; all requests have the fields `common`, and `names` are those
    /// of the values.
    ///
    /// # Errors
    ///
    /// It names a value that nothing gives, or there are too many conditions.
    pub(super) fn new(
        http: &HttpRequest,
        request: &spec::conversation::Request,
        common: &[Field],
        names: &[String],
    ) -> Result<Self, CompileError> {
        let mut made = Request::new(http, common, names)?;
        let refused = request.refused.as_ref();
        let (reply, events) = match &request.reply {
            Reply::Match(reply) => (Some(reply), None),
            Reply::Order | Reply::Nothing => (None, None),
            Reply::Stream { first, each, last, may_end, resume } => {
                made = made.with_field("Accept", template::Compiled::text("text/event-stream"));
                let mut rules = Rules::default();
                let ends = [(last.as_ref(), Role::Last), (refused, Role::Refused)];
                let events = [(Some(first), Role::First), (Some(each), Role::Each)];
                for (matcher, role) in ends.into_iter().chain(events) {
                    matcher.map_or(Ok(()), |matcher| rules.add(matcher, role))?;
                }
                let needs_last = last.is_some() && !may_end;
                (None, Some(Events { rules, needs_last, resume: *resume }))
            }
        };
        Ok(Self { request: made, awaits: Awaits::new(reply, refused)?, events })
    }
}

impl Call {
    /// The way in which a stream that breaks off is resumed, if it is.
    pub(super) fn resume(&self) -> Option<Resume> {
        self.events.as_ref().and_then(|events| events.resume)
    }
}

impl Events {
    /// The part that an event plays in the stream that answers the request with this id.
    pub(super) fn role(&self, heard: Heard<'_>, id: u32) -> Option<Role> {
        self.rules.decide(heard, &mut Learnt::never(), &mut Hits::default(), |role, found| {
            found.is_none_or(|found| found == u64::from(id)).then_some(*role)
        })
    }
}
