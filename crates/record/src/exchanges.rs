//! The messages of a conversation by kind, and unasked messages by rule: while they are counted, and in a record.

use crate::{Counts, Summary};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::{Histogram, Merge};

/// The messages of one kind that a conversation has; together those of all kinds are the messages of the block.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Exchange {
    /// The name of the kind, as the conversation has it.
    pub name: String,
    /// True if it is never answered: its messages are ok once they are sent, and have no time.
    #[serde(default)]
    pub no_reply: bool,
    /// Its messages of the measured window by their end. Unsent messages have no kind: `planned` is `sent`, and
    /// `unsent` is zero.
    pub counts: Counts,
    /// Time from handing the first byte of a message to the kernel until its whole reply was decoded; right replies
    /// only.
    pub service: Option<Summary>,
    /// Open loop: from the instant at which a message was due until its whole reply was decoded. Messages that failed,
    /// were refused or timed out count with at least the reply timeout.
    pub response: Option<Summary>,
    /// Time from due (in a closed loop from sent) until the answer that says no was decoded.
    pub refused: Option<Summary>,
    /// Replies that come in parts; `null` where they come at once.
    #[serde(default)]
    pub parts: Option<Parts>,
}

/// The parts of replies that are streams of events.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Parts {
    /// The number of parts of all replies, the first ones among them, the marks of their ends not.
    pub count: u64,
    /// Time from due (in a closed loop from sent) until the first part was decoded.
    pub first: Option<Summary>,
    /// Time from one part to the next of the same reply.
    pub between: Option<Summary>,
    /// Parts a second of one stream, from its first part to its last: one by the mean of [`Parts::between`]. `null`
    /// where no stream had two.
    #[serde(default)]
    pub per_s: Option<f64>,
    /// The number of times that a stream broke off and was asked for again by `Last-Event-ID`. It belongs to no error
    /// unless the stream failed all the same.
    #[serde(default)]
    pub resumed: u64,
}

/// Messages that came unasked in the measured window and match one rule of the conversation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PushCount {
    /// The name of the rule.
    pub name: String,
    /// The number of messages.
    pub count: u64,
    /// The sum of their payloads.
    pub payload_bytes: u64,
    /// Time from the instant at which the message that caused it was due until it was decoded, for those that carry
    /// that instant; both on the clock of this process. `null` for the deliveries of rooms, whose times are the
    /// response times of the block.
    pub delivery: Option<Summary>,
}

/// The ways in which the ids of replies were found, from the cheapest on; from the first message to the last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IdsFound {
    /// Ids found by the bytes around them, which were learnt from the first replies.
    pub learnt: u64,
    /// Ids found by looking through the message, or between two texts.
    pub scanned: u64,
    /// The same, where names or texts with escapes had to be unescaped first.
    pub parsed: u64,
}

/// The messages of one kind while they are counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ExchangeOutcome {
    /// The name of the kind.
    pub name: String,
    /// True if it is never answered.
    pub no_reply: bool,
    /// Messages of the measurement, without what is known at its end.
    pub counts: Counts,
    /// Time from sent to the right reply.
    #[serde(with = "crate::serde_forms::histogram")]
    pub service: Histogram,
    /// The samples of [`Exchange::response`]; empty in a closed loop.
    #[serde(with = "crate::serde_forms::histogram")]
    pub response: Histogram,
    /// The samples of [`Exchange::refused`].
    #[serde(with = "crate::serde_forms::histogram")]
    pub refused: Histogram,
    /// The number of parts.
    pub parts: u64,
    /// The samples of [`Parts::first`].
    #[serde(with = "crate::serde_forms::histogram")]
    pub first_part: Histogram,
    /// The samples of [`Parts::between`].
    #[serde(with = "crate::serde_forms::histogram")]
    pub between_parts: Histogram,
    /// The count of [`Parts::resumed`].
    pub resumed: u64,
}

/// Messages that match one rule while they are counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PushOutcome {
    /// The name of the rule.
    pub name: String,
    /// The number of messages.
    pub count: u64,
    /// The sum of their payloads.
    pub payload_bytes: u64,
    /// The samples of [`PushCount::delivery`].
    #[serde(with = "crate::serde_forms::histogram")]
    pub delivery: Histogram,
}

impl ExchangeOutcome {
    /// The same in the form of a record.
    pub fn summary(&self) -> Exchange {
        let counts = self.counts;
        let between = Summary::of(&self.between_parts);
        Exchange {
            name: self.name.clone(),
            no_reply: self.no_reply,
            counts: Counts { planned: counts.sent, in_flight_at_end: counts.in_flight(), ..counts },
            service: Summary::of(&self.service),
            response: Summary::of(&self.response),
            refused: Summary::of(&self.refused),
            parts: (self.parts > 0).then(|| Parts {
                count: self.parts,
                first: Summary::of(&self.first_part),
                per_s: between.as_ref().and_then(Summary::per_s),
                between,
                resumed: self.resumed,
            }),
        }
    }
}

impl PushOutcome {
    /// The same in the form of a record.
    pub fn summary(&self) -> PushCount {
        PushCount {
            name: self.name.clone(),
            count: self.count,
            payload_bytes: self.payload_bytes,
            delivery: Summary::of(&self.delivery),
        }
    }
}

/// Takes over the other name if there is none yet.
fn merge_names(name: &mut String, other: &str) {
    if name.as_str() < other {
        other.clone_into(name);
    }
}

impl Merge for ExchangeOutcome {
    fn merge(&mut self, other: &Self) {
        let Self {
            name,
            no_reply,
            counts,
            service,
            response,
            refused,
            parts,
            first_part,
            between_parts,
            resumed,
        } = other;
        merge_names(&mut self.name, name);
        self.no_reply |= no_reply;
        self.counts.merge(counts);
        self.service.merge(service);
        self.response.merge(response);
        self.refused.merge(refused);
        self.parts.merge(parts);
        self.first_part.merge(first_part);
        self.between_parts.merge(between_parts);
        self.resumed.merge(resumed);
    }
}

impl Merge for PushOutcome {
    fn merge(&mut self, other: &Self) {
        let Self { name, count, payload_bytes, delivery } = other;
        merge_names(&mut self.name, name);
        self.count.merge(count);
        self.payload_bytes.merge(payload_bytes);
        self.delivery.merge(delivery);
    }
}
