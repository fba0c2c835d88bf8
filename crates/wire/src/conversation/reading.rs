//! The response being read, where responses are streams of events.

use super::call::{Call, Role};
use super::response::Judged;
use super::rules::Heard;
use crate::contract::{Input, Response, Verdict};
use crate::http1::{self, RetryAfter};
use crate::sse::{self, Parser};
use units::Nanos;

/// A response that has begun.
#[derive(Debug)]
pub(super) struct Reading {
    status: u16,
    /// The bytes of a stream that are not all parsed yet; of a refusal, the beginning of the body.
    held: Vec<u8>,
    /// The number of those that are parsed.
    at: usize,
    /// True once the whole response has arrived.
    is_ended: bool,
    /// The parser of the stream's events; `None` if the response is not a stream.
    parser: Option<Parser>,
    /// The time at which the server wants to be asked again, if it refuses with this status.
    retry_after: Option<RetryAfter>,
    /// The place that a redirect points to.
    location: Option<Box<[u8]>>,
    /// True if the connection ends with the response.
    is_last: bool,
    /// The answer, where it waits for the end of the response.
    waiting: Option<Verdict>,
    is_answered: bool,
    /// The number of events so far, starting with the first that counts.
    events: u64,
    /// The number of connections made to resume the stream.
    resumed: u32,
    /// True while a stream that broke off is requested again: no response has arrived yet.
    is_asked_again: bool,
    /// True once the owner has been told that the response ended before the stream.
    is_told_short: bool,
}

/// Something found in a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The event that ends the stream, or refuses.
    Answer(Verdict),
    /// The end of the response.
    End(Verdict),
    /// An event of the stream.
    Part { first: bool },
    /// The end of a response with another status.
    Status,
}

impl Reading {
    /// A response whose first part is `response`.
    pub(super) fn new(response: &Response<'_>, event_len_max: usize) -> Self {
        let is_stream = (200..300).contains(&response.status)
            && response.field("content-type").is_none_or(sse::is_type);
        Self {
            status: response.status,
            held: Vec::new(),
            at: 0,
            is_ended: false,
            parser: is_stream.then(|| Parser::new(sse::Limits { event_len_max })),
            retry_after: RetryAfter::of_response(response),
            location: response.location().map(Into::into),
            is_last: !http1::persists(response.head),
            waiting: None,
            is_answered: false,
            events: 0,
            resumed: 0,
            is_asked_again: false,
            is_told_short: false,
        }
    }

    /// A response whose first part is `response`, and which resumes the stream of this one.
    pub(super) fn resumed(&self, response: &Response<'_>, event_len_max: usize) -> Self {
        let new = Self::new(response, event_len_max);
        let parser = new.parser.is_some().then_some(self.parser.as_ref());
        let parser = parser.flatten().map(Parser::resumed);
        Self { parser, events: self.events, resumed: self.resumed, ..new }
    }

    /// True while a stream that broke off is requested again: no response has arrived yet.
    pub(super) fn is_asked_again(&self) -> bool {
        self.is_asked_again
    }

    /// Resumes the stream after its connection has ended within it, if it can be; returns the time to wait before that.
    pub(super) fn resume(&mut self, call: &Call) -> Option<Nanos> {
        let wait = self.can_resume(call)?;
        self.resumed += 1;
        self.is_asked_again = true;
        self.held = Vec::new();
        self.at = 0;
        Some(wait)
    }

    /// The time to wait before the stream is requested again, if it can be resumed.
    fn can_resume(&self, call: &Call) -> Option<Nanos> {
        let parser = self.parser.as_ref()?;
        let resume = call.resume().filter(|resume| self.resumed < resume.times)?;
        // With 204 a server says that nothing follows.
        let is_over = self.is_answered || self.waiting.is_some() || self.status == 204;
        let is_over = is_over || parser.last_id().is_empty();
        let wait = || {
            let retry = parser.retry_ms().map(|ms| Nanos(ms.saturating_mul(1_000_000)));
            retry.unwrap_or(resume.wait)
        };
        (!is_over).then(wait)
    }

    /// True, once, if the response has ended before its stream, which can be resumed.
    pub(super) fn is_first_told_short(&mut self, call: &Call) -> bool {
        self.is_cut_short(call) && !std::mem::replace(&mut self.is_told_short, true)
    }

    fn is_cut_short(&self, call: &Call) -> bool {
        let needs_last = call.events.as_ref().is_some_and(|events| events.needs_last);
        let is_amid = self.parser.as_ref().is_some_and(Parser::is_amid);
        self.is_ended && (needs_last || is_amid) && self.can_resume(call).is_some()
    }

    /// The id of the last event that had one.
    pub(super) fn last_id(&self) -> &[u8] {
        self.parser.as_ref().map_or(b"", Parser::last_id)
    }

    /// Takes in the bytes of the body that have arrived; in a stream, all earlier ones have been parsed.
    pub(super) fn extend(&mut self, response: &Response<'_>) {
        if self.parser.is_some() {
            self.held.extend_from_slice(response.body);
        } else {
            let room = KEPT_LEN_MAX.saturating_sub(self.held.len());
            self.held.extend_from_slice(&response.body[..response.body.len().min(room)]);
        }
        self.is_ended |= response.is_last;
    }

    /// The next find for a request with this id; `None` if more bytes are needed, or nothing is left.
    ///
    /// # Errors
    ///
    /// An event is longer than the limit.
    pub(super) fn next(&mut self, call: &Call, id: u32) -> Result<Option<Found>, sse::PeerError> {
        if let Some(parser) = &mut self.parser {
            loop {
                let mut input = Input::new(&mut self.held[self.at..]);
                let Some(event) = parser.next(&mut input)? else { break };
                let left = input.len();
                let heard = Heard { bytes: event.data, status: Some(self.status) };
                let role = call.events.as_ref().and_then(|events| events.role(heard, id));
                self.at = self.held.len() - left;
                let found = match role {
                    _ if self.is_answered || self.waiting.is_some() => continue,
                    Some(Role::First) => Found::Part { first: self.events == 0 },
                    Some(Role::Each) if self.events > 0 => Found::Part { first: false },
                    Some(Role::Last) => Found::Answer(verdict(self.events)),
                    Some(Role::Refused) => Found::Answer(Verdict::Refused),
                    Some(Role::Each) | None => continue,
                };
                match found {
                    Found::Part { .. } => self.events += 1,
                    // The answer waits for the end of the response and of the connection, however the bytes are cut.
                    Found::Answer(verdict) if self.is_last => {
                        self.waiting = Some(verdict);
                        continue;
                    }
                    Found::Answer(_) | Found::End(_) | Found::Status => self.is_answered = true,
                }
                return Ok(Some(found));
            }
            self.held.clear();
            self.held.shrink_to(KEPT_LEN_MAX);
            self.at = 0;
        }
        if self.is_cut_short(call) {
            return Ok(None);
        }
        if !self.is_ended || std::mem::replace(&mut self.is_answered, true) {
            return Ok(None);
        }
        Ok(Some(self.end(call, id)))
    }

    /// The find for the end of a response that nothing has answered before.
    fn end(&self, call: &Call, id: u32) -> Found {
        if let Some(verdict) = self.waiting {
            return Found::End(verdict);
        }
        if let Some(parser) = &self.parser {
            let needs_last = call.events.as_ref().is_some_and(|events| events.needs_last);
            return Found::End(match needs_last {
                true => Verdict::Wrong("the stream ended without the event that `last` describes"),
                false if parser.is_amid() => Verdict::Wrong("the stream ended within an event"),
                false => verdict(self.events),
            });
        }
        let response = Response {
            status: self.status,
            head: b"",
            body: &self.held,
            is_first: true,
            ends_chunk: false,
            is_last: true,
        };
        match call.awaits.judge(&response, id) {
            _ if self.resumed > 0 => Found::End(Verdict::Wrong(NOT_RESUMED)),
            Judged::Refused => Found::End(Verdict::Refused),
            Judged::Status => Found::Status,
            Judged::Expected | Judged::Body => Found::End(Verdict::Wrong(
                "the response is not an event stream (text/event-stream)",
            )),
        }
    }

    /// True if the whole response has arrived, and everything in it was found.
    pub(super) fn is_whole(&self) -> bool {
        self.is_ended && self.is_answered
    }

    /// The number of events of a stream that has not ended; `None` for anything else.
    pub(super) fn broken_off(&self) -> Option<u64> {
        (self.parser.is_some() && (!self.is_ended || self.is_asked_again)).then_some(self.events)
    }

    /// The status with which the server refuses, and the time at which it wants to be asked again.
    pub(super) fn refusal(&self) -> (u16, Option<RetryAfter>) {
        (self.status, self.retry_after)
    }

    /// The bytes of a find.
    pub(super) fn payload(&self, found: Found) -> &[u8] {
        match (found, &self.parser, &self.location) {
            (Found::Part { .. } | Found::Answer(_), Some(parser), _) => parser.event().data,
            (Found::Status, _, Some(location)) => location,
            (Found::End(_), Some(_), _) => b"",
            (Found::Part { .. } | Found::Answer(_) | Found::End(_) | Found::Status, ..) => {
                &self.held
            }
        }
    }
}

/// The verdict on a stream that has ended properly after this many events.
const fn verdict(events: u64) -> Verdict {
    match events {
        0 => Verdict::Wrong("the stream ended without an event that `first` describes"),
        _ => Verdict::Good,
    }
}

/// The reason given when a stream broke off and the server does not resume it.
const NOT_RESUMED: &str =
    "the stream broke off, and the server does not resume it by Last-Event-ID";

/// The most bytes kept of the body of a refusal, and the most memory kept between two parts of a stream.
const KEPT_LEN_MAX: usize = 4096;
