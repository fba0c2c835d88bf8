//! The delays and faults of an oracle server: plain data, and its text form.
//!
//! Start reading at [`Behaviour`]. [`FromStr`] reads each part from a text, and it is displayed in the same form.
//!
//! Left out: the server that behaves like this, [`Oracle`](crate::Oracle).

use spec::Carries;
use std::fmt;
use std::num::{NonZeroU32, NonZeroU64};
use std::str::FromStr;
use units::{Bytes, Nanos, ParseError, Rate, Share};
use wire::Stack;

/// The behaviour of a server. The default is an echo without delays and faults.
///
/// The replies of a connection keep the order of its messages, unless they are reordered on purpose: a reply that is
/// ready before the reply to an earlier message waits for that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Behaviour {
    /// Time from the decoding of a message until its reply is ready.
    pub delay: Delay,
    /// Times in which the server stands still, like a stopped process: it reads nothing and answers nothing. Replies
    /// that become ready meanwhile leave at the end.
    pub stalls: Vec<Stall>,
    /// The highest rate at which replies leave. Reply number k of a busy period leaves no earlier than k / rate after
    /// its first, computed from k. A busy period ends when no reply is ready at its turn, and begins anew after a
    /// stall.
    pub cap: Option<Rate>,
    /// The time for which each reply keeps the processor busy before it leaves.
    pub work: Nanos,
    /// The memory that each reply leaks until the server ends.
    pub leak: Bytes,
    /// Messages that are never answered. They have no other faults.
    pub drop: Share,
    /// Messages that are answered twice: the copy leaves right after its reply, whatever the cap is.
    pub duplicate: Share,
    /// Replies that the next reply of their connection overtakes; they leave right after it. Of consecutive ones, only
    /// the first is held back; one that nothing overtakes within 2 s leaves then, and does not count.
    pub reorder: Share,
    /// The language of messages, which decides what the reply to one is.
    pub speaks: Speech,
    /// The stream of events that answers a request instead of its message.
    pub stream: Option<EventStream>,
    /// Requests that are answered with an error, if the server speaks a language that has errors.
    pub refuse: Share,
    /// Replies that are followed by a notification that contains the id of the request; likewise.
    pub push: Share,
    /// Replies that are preceded by a request of the server with the id of the client's; likewise.
    pub ask: Share,
    /// Replies with one bit flipped: the bit of value 1 in the last byte, or in the last byte before the true delay if
    /// the message ends with that. A text stays UTF-8; a message without bytes stays intact.
    pub corrupt: Share,
    /// The number of replies after which the server ends a connection properly; later messages on it are not answered.
    pub close_after: Option<NonZeroU64>,
    /// The seed of all lots and random delays, which are drawn for each message in the order of decoding.
    pub seed: u64,
}

impl Behaviour {
    /// The longest time that a reply, or a delivery of a relay, waits to be overtaken.
    pub(crate) const HELD_BACK_MAX: Nanos = Nanos::from_secs(2);
}

/// The language that a server speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Speech {
    /// Each message comes back as it is.
    #[default]
    Echo,
    /// JSON-RPC 2.0: the method `echo` returns its parameters, any other is an error.
    JsonRpc,
}

/// A stream of events (`text/event-stream`), as servers of language models send it.
///
/// The head is sent at once, each event at an instant that follows from its number, and `[DONE]` with the end of the
/// response one gap after the last event.
///
/// Event k has the id k and the data `{"event":k,"kept_ns":N}`: N is the true time from the decoded request to the
/// instant at which the event was handed over, so `kept_ns` less `first + k * gap` is how late it was. A request that
/// arrives during the stream of an earlier one counts as decoded when that stream has ended. A request with
/// `Last-Event-ID: k` is answered with the events from k + 1 on, and `first` is the time to the first of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventStream {
    /// The number of events, without `[DONE]`.
    pub events: NonZeroU32,
    /// Time from the decoded request to the first event.
    pub first: Nanos,
    /// Time from each event to the next.
    pub gap: Nanos,
    /// The number of events of one response after which the server ends the connection, in the middle of the response.
    pub break_after: Option<NonZeroU32>,
    /// The time before a reconnect that each response asks for (`retry`), in whole milliseconds.
    pub retry: Option<Nanos>,
}

impl EventStream {
    /// Returns the time from the decoded request to the event that follows `before` others in the same response.
    pub fn due(&self, before: u32) -> Nanos {
        Nanos(self.first.0.saturating_add(self.gap.0.saturating_mul(before.into())))
    }
}

/// The time for which a message is kept.
///
/// Read as `none`, `fixed:1ms`, `exponential:1ms` (the mean) or `bimodal:1ms,50ms@10%` (the usual delay, the other
/// delay, and the share of the other).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Delay {
    /// No delay.
    #[default]
    None,
    /// Always the same time.
    Fixed(Nanos),
    /// A random time with an exponential distribution.
    Exponential {
        /// The mean.
        mean: Nanos,
    },
    /// One of two times.
    Bimodal {
        /// The delay of most messages.
        usual: Nanos,
        /// The delay of the rest.
        other: Nanos,
        /// The share that has the other delay.
        share: Share,
    },
}

/// A time in which the server stands still. Read as `2s@5s`: 2 s, beginning at 5 s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// The length of a stall.
    pub length: Nanos,
    /// The start, counted from the decoding of the very first message: a server may wait long for its first client.
    pub after: Nanos,
}

impl Default for Behaviour {
    fn default() -> Self {
        Self {
            delay: Delay::None,
            stalls: Vec::new(),
            cap: None,
            work: Nanos::ZERO,
            leak: Bytes(0),
            drop: Share::NONE,
            duplicate: Share::NONE,
            reorder: Share::NONE,
            speaks: Speech::Echo,
            stream: None,
            refuse: Share::NONE,
            push: Share::NONE,
            ask: Share::NONE,
            corrupt: Share::NONE,
            close_after: None,
            seed: Self::SEED,
        }
    }
}

impl Behaviour {
    /// The default seed. Its first message has no fault whose share is below 80 %: a run checks with this message that
    /// the server answers at all, and must not fail by chance.
    pub const SEED: u64 = 31;

    /// Checks that the behaviour is possible over a protocol.
    ///
    /// # Errors
    ///
    /// The first part that the protocol cannot do.
    pub fn check(&self, stack: &Stack) -> Result<(), MisfitError> {
        let takes_requests = stack.facts().carries == Carries::Requests;
        if self.stream.is_some() && !takes_requests {
            Err(MisfitError::StreamWithoutRequests)
        } else if self.stream.is_some() && self.is_about_replies() {
            Err(MisfitError::StreamOfReplies)
        } else if takes_requests && self.duplicate > Share::NONE {
            Err(MisfitError::HttpDuplicate)
        } else if takes_requests && self.reorder > Share::NONE {
            Err(MisfitError::HttpReorder)
        } else if takes_requests && (self.push > Share::NONE || self.ask > Share::NONE) {
            Err(MisfitError::HttpUnasked)
        } else if !stack.is_cut() {
            Err(MisfitError::RawLength)
        } else {
            Ok(())
        }
    }

    /// True if a part of it is about single replies, which a stream does not have.
    fn is_about_replies(&self) -> bool {
        self.delay != Delay::None
            || self.speaks != Speech::Echo
            || self.corrupt > Share::NONE
            || self.close_after.is_some()
    }
}

/// The reasons why a behaviour is not possible over a transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MisfitError {
    /// HTTP/1.1 has exactly one response for each request.
    #[error(
        "HTTP/1.1 has one response for each request, so none can be duplicated; leave duplicates out, or use ws"
    )]
    HttpDuplicate,
    /// HTTP/1.1 distinguishes responses by their order.
    #[error(
        "HTTP/1.1 matches responses by order, so they cannot be reordered; leave reordering out, or use ws"
    )]
    HttpReorder,
    /// An HTTP/1.1 server sends nothing unasked.
    #[error(
        "an HTTP/1.1 server cannot send unrequested messages; leave out pushes and server requests, or use ws"
    )]
    HttpUnasked,
    /// Without framing, the length of messages must be known.
    #[error("without framing, the length of a message must be given")]
    RawLength,
    /// A stream of events has no single reply.
    #[error(
        "an event stream has its own timing and no single reply; leave out the delay, the language, corruption and \
         closing after a number of replies"
    )]
    StreamOfReplies,
    /// A stream of events is the answer to an HTTP request.
    #[error("an event stream can only answer an HTTP request; use http or https")]
    StreamWithoutRequests,
}

/// The reasons why a text is not a part of a [`Behaviour`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BehaviourError {
    /// A bimodal delay does not have two times and a share.
    #[error("`{text}` needs two delays and a share; write it like `bimodal:1ms,50ms@10%`")]
    BimodalIncomplete {
        /// The text that was given.
        text: String,
    },
    /// The kind of delay is unknown.
    #[error(
        "`{text}` is not a delay; use none, fixed:1ms, exponential:1ms or bimodal:1ms,50ms@10%{near}"
    )]
    DelayUnknown {
        /// The text that was given.
        text: String,
        /// A suggestion, as the second half of a sentence.
        near: String,
    },
    /// A delay has no time.
    #[error("`{text}` needs a time, as in `{text}:1ms`")]
    DelayWithoutLength {
        /// The text that was given.
        text: String,
    },
    /// A time or a share cannot be read.
    #[error(transparent)]
    Quantity(#[from] ParseError),
    /// A stall has no length.
    #[error("`{text}` is a stall of length 0; write it like `2s@5s`")]
    StallOfNoTime {
        /// The text that was given.
        text: String,
    },
    /// A stall has no beginning.
    #[error("`{text}` has no start; `{text}@5s` starts 5 s after the first message")]
    StallWithoutTime {
        /// The text that was given.
        text: String,
    },
}

impl FromStr for Delay {
    type Err = BehaviourError;

    fn from_str(text: &str) -> Result<Self, BehaviourError> {
        let (kind, length) = match text.split_once(':') {
            Some((kind, length)) => (kind, Some(length)),
            None => (text, None),
        };
        let incomplete = || BehaviourError::BimodalIncomplete { text: text.to_owned() };
        match (kind, length) {
            ("none", None) => Ok(Self::None),
            ("fixed", Some(length)) => Ok(Self::Fixed(length.parse()?)),
            ("exponential", Some(mean)) => Ok(Self::Exponential { mean: mean.parse()? }),
            ("bimodal", Some(lengths)) => {
                let (usual, other) = lengths.split_once(',').ok_or_else(incomplete)?;
                let (other, share) = other.split_once('@').ok_or_else(incomplete)?;
                let share = share.parse()?;
                Ok(Self::Bimodal { usual: usual.parse()?, other: other.parse()?, share })
            }
            ("bimodal", None) => Err(incomplete()),
            ("fixed" | "exponential", None) => {
                Err(BehaviourError::DelayWithoutLength { text: text.to_owned() })
            }
            (unknown, _) => {
                Err(BehaviourError::DelayUnknown { text: text.to_owned(), near: near(unknown) })
            }
        }
    }
}

/// Suggests the kind of delay that `unknown` may mean, by its first letter, which differs for each kind. A time alone
/// means a fixed delay.
fn near(unknown: &str) -> String {
    if unknown.parse::<Nanos>().is_ok() {
        return format!("; did you mean `fixed:{unknown}`?");
    }
    let first = unknown.chars().next().map(|letter| letter.to_ascii_lowercase());
    let near = ["none", "fixed", "exponential", "bimodal"]
        .into_iter()
        .find(|kind| first.is_some() && kind.chars().next() == first);
    near.map_or_else(String::new, |kind| format!("; did you mean `{kind}`?"))
}

impl fmt::Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Fixed(length) => write!(f, "fixed:{}", exactly(*length)),
            Self::Exponential { mean } => write!(f, "exponential:{}", exactly(*mean)),
            Self::Bimodal { usual, other, share } => {
                write!(f, "bimodal:{},{}@{share}", exactly(*usual), exactly(*other))
            }
        }
    }
}

impl FromStr for Stall {
    type Err = BehaviourError;

    fn from_str(text: &str) -> Result<Self, BehaviourError> {
        let Some((length, after)) = text.split_once('@') else {
            text.parse::<Nanos>()?;
            return Err(BehaviourError::StallWithoutTime { text: text.to_owned() });
        };
        let stall = Self { length: length.parse()?, after: after.parse()? };
        if stall.length == Nanos::ZERO {
            return Err(BehaviourError::StallOfNoTime { text: text.to_owned() });
        }
        Ok(stall)
    }
}

impl fmt::Display for Stall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", exactly(self.length), exactly(self.after))
    }
}

/// Writes the time in a form that can be read again.
fn exactly(time: Nanos) -> String {
    format!("{time:#}").replace(' ', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: FromStr<Err = BehaviourError> + fmt::Display>(
        text: &str,
        expected: Result<&str, &str>,
    ) {
        let read = text.parse::<T>();
        let shown = read.map(|value| value.to_string()).map_err(|error| error.to_string());
        assert_eq!(shown, expected.map(str::to_owned).map_err(str::to_owned), "{text}");
    }

    #[test]
    fn delays_are_read_and_shown() {
        #[rustfmt::skip]
        let table = [
            ("none",                          Ok("none")),
            ("fixed:1ms",                     Ok("fixed:1ms")),
            ("fixed:1500us",                  Ok("fixed:1.5ms")),
            ("exponential:0.25ms",            Ok("exponential:250us")),
            ("bimodal:1ms,50ms@10%",          Ok("bimodal:1ms,50ms@10%")),
            ("bimodal:0ms,1m30s@0.5%",        Ok("bimodal:0ns,1m30s@0.5%")),
            ("bimodal:1ms,50ms",              Err("`bimodal:1ms,50ms` needs two delays and a share; write it like `bimodal:1ms,50ms@10%`")),
            ("bimodal:1ms@10%",               Err("`bimodal:1ms@10%` needs two delays and a share; write it like `bimodal:1ms,50ms@10%`")),
            ("bimodal",                       Err("`bimodal` needs two delays and a share; write it like `bimodal:1ms,50ms@10%`")),
            ("bimodal:1ms,50ms@110%",         Err("`110%` is more than all; at most 100% are possible")),
            ("fixed",                         Err("`fixed` needs a time, as in `fixed:1ms`")),
            ("fixed:1",                       Err("`1` has no unit; did you mean `1s`?")),
            ("fixed:-1ms",                    Err("`-1ms` is negative")),
            ("fixed:",                        Err("`` is empty; try `250ms`")),
            ("Exp:1ms",                       Err("`Exp:1ms` is not a delay; use none, fixed:1ms, exponential:1ms or bimodal:1ms,50ms@10%; did you mean `exponential`?")),
            ("1ms",                           Err("`1ms` is not a delay; use none, fixed:1ms, exponential:1ms or bimodal:1ms,50ms@10%; did you mean `fixed:1ms`?")),
            ("",                              Err("`` is not a delay; use none, fixed:1ms, exponential:1ms or bimodal:1ms,50ms@10%")),
        ];
        for (text, expected) in table {
            check::<Delay>(text, expected);
        }
    }

    #[test]
    fn stalls_are_read_and_shown() {
        #[rustfmt::skip]
        let table = [
            ("2s@5s",      Ok("2s@5s")),
            ("1500ms@0s",  Ok("1.5s@0ns")),
            ("2s",         Err("`2s` has no start; `2s@5s` starts 5 s after the first message")),
            ("2@5s",       Err("`2` has no unit; did you mean `2s`?")),
            ("2s@",        Err("`` is empty; try `250ms`")),
            ("0s@5s",      Err("`0s@5s` is a stall of length 0; write it like `2s@5s`")),
            ("long",       Err("`long` does not start with a digit; try `250ms`")),
        ];
        for (text, expected) in table {
            check::<Stall>(text, expected);
        }
    }
}
