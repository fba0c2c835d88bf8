//! Finds the message that a reply answers, and checks that the reply is what it must be.
//!
//! In a closed loop, and wherever messages carry no header, replies arrive in the order of their messages. A header
//! names the connection and the message, so that lost, duplicate and reordered replies are recognized.

use crate::in_flight::{Flight, InFlight, Named};
use crate::recorder::{Failure, Recorder};
use crate::text::{Words, excerpt};
use load::{Expect, Header, Mismatch, TrueDelay, Workload};
use record::{Cause, ErrorClass, Said};
use units::Instant;
use wire::{Kind, Message, Verdict};

/// Compares a reply with its message, and records the result.
pub(crate) struct Check<'a> {
    pub(crate) workload: &'a Workload,
    pub(crate) recorder: &'a mut Recorder,
    /// The instant at which the whole reply had been decoded.
    pub(crate) received: Instant,
}

/// Takes a reply of a conversation, which names its message by number. Returns that message if the reply ended it.
pub(crate) fn numbered(
    in_flight: &mut InFlight,
    recorder: &mut Recorder,
    answer: wire::Answer<'_>,
    received: Instant,
) -> Option<Flight> {
    recorder.stream.received(answer.payload.len());
    let (flight, is_reordered) = match in_flight.take_numbered(answer.sequence) {
        Named::First(flight) => (flight, false),
        Named::Reordered(flight) => (flight, true),
        Named::Duplicate => {
            recorder.identity(received, |identity| &mut identity.duplicate);
            return None;
        }
        Named::Late => return None,
        Named::Unknown => {
            recorder.unexpected(answer.payload);
            return None;
        }
    };
    if is_reordered {
        recorder.identity(flight.due, |identity| &mut identity.reordered);
    }
    let said = || excerpt(answer.payload);
    match answer.verdict {
        Verdict::Good => recorder.reply(flight, received),
        Verdict::Refused => {
            recorder.refused(flight, received, || format!("refused: \"{}\"", said()));
        }
        Verdict::Wrong(why) => {
            recorder.failed(flight, Failure::Error, received);
            recorder.tally(ErrorClass::WrongReply, || format!("{why}: \"{}\"", said()));
        }
    }
    Some(flight)
}

/// The result of taking a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// This message has ended, well or not.
    Ended(Flight),
    /// No message has ended: it was answered before, or given up.
    Nothing,
    /// There is no awaited message that it could answer.
    Unasked,
}

impl Check<'_> {
    /// Takes a reply on the connection with this number: by its header if messages have one, else by its order.
    #[inline]
    pub(crate) fn answer(
        self,
        in_flight: &mut InFlight,
        has_header: bool,
        connection: u32,
        reply: Message<'_>,
    ) -> Answer {
        if has_header {
            self.named(in_flight, connection, reply)
        } else {
            self.in_order(in_flight, reply)
        }
    }

    /// Takes the reply to the oldest message.
    #[inline]
    fn in_order(self, in_flight: &mut InFlight, reply: Message<'_>) -> Answer {
        let Some((sequence, flight)) = in_flight.take_oldest() else { return Answer::Unasked };
        let Workload { expect, content, .. } = self.workload;
        let is_right = expect.check(content, sequence, reply.payload, reply.kind == Kind::Text);
        self.write_down(flight, reply, is_right)
    }

    /// Takes the reply to the message that its header names, on the connection with this number.
    #[inline(never)]
    fn named(self, in_flight: &mut InFlight, connection: u32, reply: Message<'_>) -> Answer {
        let Workload { expect, content, .. } = self.workload;
        let header = Header::read(reply.payload, content.is_text())
            .filter(|header| header.connection == connection);
        let due = header.map_or(Instant::NEVER, |header| Instant(header.due.0));
        let named =
            header.map_or(Named::Unknown, |header| in_flight.take_named(header.sequence, due));
        let sequence = header.map_or(0, |header| header.sequence);
        let is_right =
            expect.check_body(content, sequence, reply.payload, reply.kind == Kind::Text);
        if is_right.is_err() && named != Named::Unknown {
            self.recorder.identity(due, |identity| &mut identity.corrupted);
        }
        match named {
            Named::First(flight) => self.write_down(flight, reply, is_right),
            Named::Reordered(flight) => {
                if is_right.is_ok() {
                    self.recorder.identity(due, |identity| &mut identity.reordered);
                }
                self.write_down(flight, reply, is_right)
            }
            Named::Duplicate if is_right.is_ok() => {
                self.recorder.identity(due, |identity| &mut identity.duplicate);
                Answer::Nothing
            }
            Named::Duplicate | Named::Late => Answer::Nothing,
            Named::Unknown => {
                let Some((_, flight)) = in_flight.take_oldest() else { return Answer::Unasked };
                self.recorder.identity(flight.due, |identity| &mut identity.corrupted);
                self.wrong(flight, || "its header does not match any message".to_owned(), reply);
                Answer::Ended(flight)
            }
        }
    }

    #[inline]
    fn write_down(
        self,
        flight: Flight,
        reply: Message<'_>,
        is_right: Result<(), Mismatch>,
    ) -> Answer {
        match is_right {
            Ok(()) => {
                self.recorder.reply(flight, self.received);
                if matches!(self.workload.expect, Expect::Oracle) {
                    self.true_delay(flight, reply);
                }
            }
            Err(mismatch) => self.wrong(flight, || mismatch.to_string(), reply),
        }
        Answer::Ended(flight)
    }

    fn true_delay(self, flight: Flight, reply: Message<'_>) {
        let is_text = self.workload.content.is_text();
        if let Some(TrueDelay(delay)) = TrueDelay::read(reply.payload, is_text) {
            self.recorder.true_delay(flight, delay);
        }
    }

    #[cold]
    fn wrong(self, flight: Flight, why: impl FnOnce() -> String, reply: Message<'_>) {
        self.recorder.failed(flight, Failure::Error, self.received);
        self.recorder.tally(ErrorClass::WrongReply, || Words {
            text: format!("{}: \"{}\"", why(), excerpt(reply.payload)),
            cause: Cause::Said(Said::new(reply.payload)),
        });
    }
}
