//! The streams of events with which a connection is answered: one goes on, and requests that come meanwhile wait.

use crate::behaviour::EventStream;
use units::Nanos;

/// The streams of one connection.
#[derive(Debug, Default)]
pub(super) struct Streaming {
    /// Requests without an end of their streams: the one whose stream goes on, and those that wait.
    asked: u64,
    /// Events of the stream that were sent.
    sent: u32,
}

/// The piece of a stream whose turn has come.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// One event.
    pub(super) bytes: Vec<u8>,
    /// True if the stream ends behind it.
    pub(super) is_end: bool,
    /// The number of the event that comes next, of this stream or, after its end, of the next one.
    pub(super) next: Option<u32>,
}

impl Streaming {
    /// Adds a request; true if its stream begins now.
    pub(super) fn ask(&mut self) -> bool {
        self.asked += 1;
        self.asked == 1
    }

    /// Takes the next event, which was kept so long.
    pub(super) fn step(&mut self, stream: EventStream, kept: Nanos) -> Step {
        let number = self.sent;
        if number < stream.events.get() {
            self.sent += 1;
            let bytes = format!("data: {{\"event\":{number},\"kept_ns\":{}}}\n\n", kept.0);
            return Step { bytes: bytes.into_bytes(), is_end: false, next: Some(self.sent) };
        }
        self.sent = 0;
        self.asked = self.asked.saturating_sub(1);
        let next = (self.asked > 0).then_some(0);
        Step { bytes: b"data: [DONE]\n\n".to_vec(), is_end: true, next }
    }
}
