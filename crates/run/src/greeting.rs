//! Servers that speak first: the number of messages that they send before an echo run can begin.
//!
//! Greetings are listened for only where no option describes the messages, and only on protocols that other servers
//! speak. What arrives within [`SILENCE`] after a connection opened is a greeting: a message on WebSocket and lines; on
//! a byte stream, which has no message boundaries, a complete line. With bytes after the last line feed, a run cannot
//! begin.
//!
//! Left out: the meaning of greetings (`wire::discovery`), and their place on each connection (`wire::greeted`).

use crate::advice::{FirstError, next_of_finding};
use crate::plan::{Measurement, Peer};
use load::Expect;
use record::{Cause, Tally};
use spec::{Carries, Endpoint};
use units::Nanos;
use wire::discovery::{Finding, Manner};

/// The greetings of a server, as far as they are known.
#[derive(Debug)]
pub(crate) struct Greetings {
    /// The number of greetings known so far; `None` where they are not listened for.
    known: Option<u32>,
    is_stream: bool,
    /// The description of the server that sends these greetings.
    pub(crate) finding: Option<Finding>,
}

impl Greetings {
    /// No greetings so far, for a server at `url`.
    pub(crate) fn of(url: &Endpoint, measurement: &Measurement) -> Self {
        let is_listened_for = url.protocol.has_other_servers()
            && matches!(measurement.peer, Peer::Given(_))
            && measurement.client.is_none()
            && measurement.workload.requests.is_none()
            && measurement.workload.expect == Expect::Echo
            && measurement.spec.message.is_usual(url.scheme());
        let is_stream = url.facts().carries == Carries::Bytes;
        Self { known: is_listened_for.then_some(0), is_stream, finding: None }
    }

    /// The number of greetings that each connection of the run begins with.
    pub(crate) fn count(&self) -> Option<u32> {
        self.known.filter(|count| *count > 0)
    }

    /// The number of greetings that a first connection begins with, while more are listened for.
    pub(crate) fn listened_for(&self) -> Option<u32> {
        self.known
    }

    /// The time to listen for greetings before the first message.
    pub(crate) fn silence(&self) -> Nanos {
        self.known.map_or(Nanos::ZERO, |_| SILENCE)
    }

    /// The number of greetings that arrived before the first message, if they made a connection fail and a run can
    /// begin with them.
    pub(crate) fn heard(&self, error: FirstError<'_>) -> Option<u32> {
        let (Some(known), Some((_, Tally { cause: Cause::Unasked(said), .. }))) =
            (self.known, error)
        else {
            return None;
        };
        let more = match (self.is_stream, said.whole()) {
            (false, _) => 1,
            (true, Some(lines)) if lines.ends_with(b"\n") => {
                lines.split_inclusive(|byte| *byte == b'\n').count()
            }
            (true, _) => return None,
        };
        u32::try_from(more).ok().map(|more| known + more).filter(|all| *all <= GREETINGS_MAX)
    }

    /// Lets each connection begin with `count` greetings.
    pub(crate) fn expect(&mut self, count: u32) {
        self.known = Some(count);
    }

    /// Describes the greetings followed by the first `answer`.
    pub(crate) fn before(&self, answer: String) -> String {
        let Some(count) = self.count() else { return answer };
        let greeting = if self.is_stream { "line" } else { "message" };
        let greetings = if count == 1 { "" } else { "s" };
        format!(
            "greets, then echoes: {count} {greeting}{greetings} unasked on each connection, then {answer}"
        )
    }

    /// Advice about a server that greets, but does not echo after that.
    pub(crate) fn advice(&self, url: &Endpoint) -> String {
        self.finding.as_ref().map_or_else(String::new, |finding| next_of_finding(url, finding))
    }
}

/// True if the greeting belongs to no known protocol, so that an echo may be asked for after it.
pub(crate) fn is_of_nobody(finding: &Finding) -> bool {
    finding.manner == Manner::Greets && finding.conversation.is_none()
}

/// The time given to a server to speak first.
const SILENCE: Nanos = Nanos::from_millis(300);

/// The most greetings that a run begins with.
const GREETINGS_MAX: u32 = 4;
