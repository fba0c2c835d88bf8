//! The streams of events that answer the requests of a connection: one runs, and requests that arrive meanwhile wait.

use crate::behaviour::EventStream;
use std::collections::VecDeque;
use units::Nanos;

/// The streams of one connection.
#[derive(Debug, Default)]
pub(super) struct Streaming {
    /// The first event of each requested stream: first that of the running stream, then those of the waiting ones.
    asked: VecDeque<u32>,
    /// The number of events of the stream that were sent in this response.
    sent: u32,
}

/// The next piece of a stream, whose turn has come.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// One event.
    pub(super) bytes: Vec<u8>,
    pub(super) then: Then,
}

/// The step that follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// The next event, which follows this many in the same response.
    Event(u32),
    /// The end of the response; true if the response to another request begins after it.
    End { goes_on: bool },
    /// The end of the connection.
    BreakOff,
}

impl Streaming {
    /// Adds a request, with all its bytes in `request`. Returns true if its stream begins now.
    pub(super) fn ask(&mut self, request: &[u8]) -> bool {
        self.asked.push_back(last_event_id(request).map_or(0, |last| last.saturating_add(1)));
        self.asked.len() == 1
    }

    /// Returns the bytes that begin the body of a response.
    pub(super) fn begin(stream: EventStream) -> Vec<u8> {
        let retry = stream.retry.map(|retry| format!("retry: {}\n\n", retry.0 / 1_000_000));
        retry.unwrap_or_default().into_bytes()
    }

    /// Takes the next event, which was kept for `kept`.
    pub(super) fn step(&mut self, stream: EventStream, kept: Nanos) -> Step {
        let first = self.asked.front().copied().unwrap_or(0);
        let number = first.saturating_add(self.sent);
        if number < stream.events.get() {
            self.sent += 1;
            let breaks = stream.break_after.is_some_and(|after| self.sent == after.get());
            let kept = kept.0;
            let bytes =
                format!("id: {number}\ndata: {{\"event\":{number},\"kept_ns\":{kept}}}\n\n");
            let then = if breaks { Then::BreakOff } else { Then::Event(self.sent) };
            return Step { bytes: bytes.into_bytes(), then };
        }
        self.sent = 0;
        self.asked.pop_front();
        let goes_on = !self.asked.is_empty();
        Step { bytes: b"data: [DONE]\n\n".to_vec(), then: Then::End { goes_on } }
    }
}

/// Returns the number in the field `Last-Event-ID` of a request.
fn last_event_id(request: &[u8]) -> Option<u32> {
    let head = request.split(|byte| *byte == b'\n');
    let mut fields = head.take_while(|line| !matches!(*line, b"" | b"\r"));
    let value = fields.find_map(|line| {
        let (name, value) = line.split_at_checked(NAME.len())?;
        name.eq_ignore_ascii_case(NAME).then_some(value)
    })?;
    std::str::from_utf8(value).ok()?.trim().parse().ok()
}

const NAME: &[u8] = b"last-event-id:";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_event_to_go_on_behind_is_that_of_the_head() {
        #[rustfmt::skip]
        let table = [
            ("GET / HTTP/1.1\r\nHost: h\r\n\r\n",                            None),
            ("GET / HTTP/1.1\r\nLast-Event-ID: 7\r\nHost: h\r\n\r\n",        Some(7)),
            ("GET / HTTP/1.1\nlast-event-id:7\n\n",                          Some(7)),
            ("GET / HTTP/1.1\r\nLast-Event-ID: x\r\n\r\n",                   None),
            ("POST / HTTP/1.1\r\nHost: h\r\n\r\nLast-Event-ID: 7\r\n\r\n",   None),
        ];
        for (request, expected) in table {
            assert_eq!(last_event_id(request.as_bytes()), expected, "{request:?}");
        }
    }
}
