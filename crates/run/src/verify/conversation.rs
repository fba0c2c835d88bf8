//! One connection to a server, and the exchange on it, one message at a time.

use crate::by_hand::{ByHand, News};
use crate::reach::Context;
use drive::Target;
use std::collections::VecDeque;
use units::Nanos;
use wire::{Closed, Event, Excerpt, Kind, Message, Opening, Secured};

/// An open connection. It is closed when dropped.
pub(crate) struct Conversation<'a> {
    connection: ByHand,
    context: Context<'a>,
    /// The longest wait for an event.
    patience: Nanos,
    heard: VecDeque<Heard>,
}

/// An event from the server.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// It ended the conversation.
    Closed(String),
    /// A message.
    Message(Kind, Vec<u8>),
    /// The opening handshake is complete.
    Open,
    /// A pong.
    Pong(Vec<u8>),
    /// It refused a message, with this text.
    Refused(String),
}

impl<'a> Conversation<'a> {
    /// Connects, and completes the opening handshake.
    ///
    /// # Errors
    ///
    /// The fault.
    pub(crate) fn open(target: &Target, context: Context<'a>) -> Result<Self, String> {
        let machine = target.stack.connection(SEED, 0);
        let connection = ByHand::connect(&target.address, machine, context.clock)
            .map_err(|error| error.to_string())?;
        Self::over(connection, PATIENCE, context)
    }

    /// Completes the opening handshake over `connection`; here and later, waits at most `patience`.
    ///
    /// # Errors
    ///
    /// The fault.
    pub(crate) fn over(
        connection: ByHand,
        patience: Nanos,
        context: Context<'a>,
    ) -> Result<Self, String> {
        let mut open = Self { connection, context, patience, heard: VecDeque::new() };
        let heard = open.hear("the opening handshake")?;
        if heard == Heard::Open { Ok(open) } else { Err(heard.instead_of("the opening handshake")) }
    }

    /// Sends a message.
    ///
    /// # Errors
    ///
    /// The protocol does not allow it.
    pub(crate) fn say(&mut self, kind: Kind, payload: &[u8]) -> Result<(), String> {
        self.connection.send(Message { kind, payload }).map_err(|error| error.to_string())
    }

    /// Sends a ping.
    ///
    /// # Errors
    ///
    /// The protocol does not allow it.
    pub(crate) fn ping(&mut self, payload: &[u8]) -> Result<(), String> {
        self.connection.ping(payload).map_err(|error| error.to_string())
    }

    /// Starts closing; true if the server has to answer.
    pub(crate) fn close(&mut self) -> bool {
        self.connection.close()
    }

    /// The next event from the server; `awaited` describes the expected one.
    ///
    /// # Errors
    ///
    /// It breaks the protocol, cuts the connection, or sends nothing within the longest wait.
    pub(crate) fn hear(&mut self, awaited: &str) -> Result<Heard, String> {
        let (until, patience) = (self.connection.now() + self.patience, self.patience);
        loop {
            if let Some(heard) = self.heard.pop_front() {
                return Ok(heard);
            }
            if self.take(awaited)? {
                continue;
            }
            self.context.check().map_err(|error| error.to_string())?;
            let now = self.connection.now();
            if now >= until {
                return Err(format!("{awaited} did not come within {patience}"));
            }
            self.connection.wait(until.min(now + INTERRUPT_POLL));
        }
    }

    /// Sends a message and returns the kind and the bytes of its reply.
    ///
    /// # Errors
    ///
    /// As [`Self::say`] and [`Self::hear`]; or something else arrived.
    pub(crate) fn ask(&mut self, kind: Kind, payload: &[u8]) -> Result<(Kind, Vec<u8>), String> {
        self.say(kind, payload)?;
        let heard = self.hear("the reply")?;
        if let Heard::Message(kind, payload) = heard {
            return Ok((kind, payload));
        }
        Err(heard.instead_of("the reply"))
    }

    /// Handles the next event; false if there was none.
    fn take(&mut self, awaited: &str) -> Result<bool, String> {
        let (heard, mut fault) = (&mut self.heard, None);
        let has_happened = self.connection.take(&mut |news| match news {
            News::Connected(Opening::Done) => heard.push_back(Heard::Open),
            News::Connected(Opening::Awaited) => {}
            News::Event(event) => heard.extend(Heard::of(&event)),
            News::Ended(event) => match Heard::of(&event) {
                Some(last) => heard.push_back(last),
                None => {
                    fault = Some(format!("the server ended the connection, expected {awaited}"));
                }
            },
            News::Broken(error) => fault = Some(error),
            News::Cut(error) => fault = Some(format!("{error} while waiting for {awaited}")),
        });
        fault.map_or(Ok(has_happened), Err)
    }
}

impl Heard {
    /// Converts an event; `None` for one that needs no attention.
    fn of(event: &Event<'_>) -> Option<Self> {
        match event {
            Event::Closed(closed) => Some(Self::Closed(closed_text(closed))),
            Event::Message(message) => Some(Self::Message(message.kind, message.payload.to_vec())),
            Event::Open => Some(Self::Open),
            Event::Secured(Secured { opening: Opening::Done, .. }) => Some(Self::Open),
            Event::Pong(payload) => Some(Self::Pong(payload.to_vec())),
            Event::Refused { code, body, retry_after } => {
                let later = retry_after.map_or_else(String::new, |after| format!(", {after}"));
                Some(Self::Refused(format!("status {code}{later}: {}", Excerpt::new(body))))
            }
            Event::Ping(_)
            | Event::Answer(_)
            | Event::Part(_)
            | Event::Pushed(_)
            | Event::Redirected
            | Event::Response(_)
            | Event::Secured(_) => None,
        }
    }

    /// The error that it arrived instead of `awaited`.
    pub(crate) fn instead_of(&self, awaited: &str) -> String {
        let came = match self {
            Self::Closed(words) | Self::Refused(words) => words.clone(),
            Self::Message(kind, payload) => {
                let said = Excerpt::new(payload);
                format!("a {} message of {} B, {said},", kind_text(*kind), payload.len())
            }
            Self::Open => "a second opening handshake".to_owned(),
            Self::Pong(payload) => format!("a pong with {}", Excerpt::new(payload)),
        };
        format!("{came} instead of {awaited}")
    }
}

/// The name of the kind in a sentence.
pub(crate) const fn kind_text(kind: Kind) -> &'static str {
    match kind {
        Kind::Binary => "binary",
        Kind::Text => "text",
    }
}

fn closed_text(closed: &Closed<'_>) -> String {
    let reason = Excerpt::new(closed.reason.as_bytes());
    match closed.code {
        Some(code) => format!("the end of the conversation with code {code} and {reason}"),
        None => "the end of the conversation".to_owned(),
    }
}

/// The longest wait for an event from a server that is being verified.
const PATIENCE: Nanos = Nanos::from_secs(10);

/// Time between two checks for a signal.
const INTERRUPT_POLL: Nanos = Nanos::from_millis(100);

/// The seed of mask keys.
const SEED: u64 = 1;
