//! Deliveries: what became of each message that was published in a room, at each of its receivers.
//!
//! The times of single deliveries are the response times of a block ([`OpenLoop::response`](crate::OpenLoop)); here are
//! the counts, whose sums close exactly, and the times of messages as wholes.

use crate::Summary;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::{Histogram, Merge};

/// Deliveries by their end.
///
/// A message is owed to every receiver of its room whose subscription was proved when the message was handed to the
/// kernel: a message of the room had reached it. Those of the warm-up, and those that prove subscriptions, are not
/// counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeliveryCounts {
    /// Messages that were published: handed to the kernel.
    pub published: u64,
    /// Deliveries that are owed: for each of these messages the receivers that its room had then.
    pub owed: u64,
    /// That came, each counted once.
    pub delivered: u64,
    /// That did not come although a later message of the same publisher came to the same receiver.
    pub lost: u64,
    /// That had not come when the connection of their receiver ended.
    pub cut: u64,
    /// That had not come when the drain was over, and no later message of the same publisher either.
    pub in_flight_at_end: u64,
    /// That came once more.
    pub duplicate: u64,
    /// That came after a later message of the same publisher.
    pub reordered: u64,
    /// That came and were not owed: their receiver was proved after they had been sent.
    pub early: u64,
    /// That came from another room, or from no message that was ever sent; whenever they came.
    pub foreign: u64,
    /// Messages of which a delivery that was owed did not come.
    pub incomplete: u64,
}

impl DeliveryCounts {
    /// Deliveries that were owed and did not come.
    pub const fn missing(&self) -> u64 {
        self.lost.saturating_add(self.cut).saturating_add(self.in_flight_at_end)
    }

    /// That nothing was lost from sight: owed = delivered + lost + cut + in flight at the end.
    ///
    /// # Errors
    ///
    /// The identity does not hold.
    pub fn check(&self) -> Result<(), DeliveryError> {
        let parts = [self.delivered, self.lost, self.cut, self.in_flight_at_end];
        let sum = parts.iter().try_fold(0_u64, |sum, part| sum.checked_add(*part));
        if sum == Some(self.owed) { Ok(()) } else { Err(DeliveryError(*self)) }
    }
}

/// Deliveries that are owed have no end, or some have two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "owed {} is not delivered {} + lost {} + cut {} + in flight at the end {}",
    .0.owed, .0.delivered, .0.lost, .0.cut, .0.in_flight_at_end
)]
pub struct DeliveryError(DeliveryCounts);

/// Deliveries while they are counted.
///
/// A room belongs to one worker, so the receivers of a message are counted at one place, and what workers leave behind
/// adds up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeliveryOutcome {
    /// The deliveries.
    pub counts: DeliveryCounts,
    /// As [`Deliveries::first`].
    #[serde(with = "crate::sent::histogram")]
    pub first: Histogram,
    /// As [`Deliveries::median`].
    #[serde(with = "crate::sent::histogram")]
    pub median: Histogram,
    /// As [`Deliveries::last`].
    #[serde(with = "crate::sent::histogram")]
    pub last: Histogram,
    /// As [`Deliveries::spread`].
    #[serde(with = "crate::sent::histogram")]
    pub spread: Histogram,
}

/// Deliveries of a block.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Deliveries {
    /// The deliveries by their end.
    pub counts: DeliveryCounts,
    /// From the instant at which a message was due until its first receiver had it. Where none ever had it, and
    /// likewise below, until it was given up, and the time-out of replies at least.
    pub first: Option<Summary>,
    /// Until half of its receivers had it.
    pub median: Option<Summary>,
    /// Until its last receiver had it.
    pub last: Option<Summary>,
    /// From the first receiver to the last, of messages that all receivers had.
    pub spread: Option<Summary>,
}

impl DeliveryOutcome {
    /// The same as a record has it.
    pub fn summary(&self) -> Deliveries {
        let Self { counts, first, median, last, spread } = self;
        Deliveries {
            counts: *counts,
            first: Summary::of(first),
            median: Summary::of(median),
            last: Summary::of(last),
            spread: Summary::of(spread),
        }
    }
}

impl Merge for DeliveryOutcome {
    fn merge(&mut self, other: &Self) {
        let Self { counts, first, median, last, spread } = other;
        self.counts.merge(counts);
        self.first.merge(first);
        self.median.merge(median);
        self.last.merge(last);
        self.spread.merge(spread);
    }
}

impl Merge for DeliveryCounts {
    fn merge(&mut self, other: &Self) {
        let Self {
            published,
            owed,
            delivered,
            lost,
            cut,
            in_flight_at_end,
            duplicate,
            reordered,
            early,
            foreign,
            incomplete,
        } = other;
        self.published.merge(published);
        self.owed.merge(owed);
        self.delivered.merge(delivered);
        self.lost.merge(lost);
        self.cut.merge(cut);
        self.in_flight_at_end.merge(in_flight_at_end);
        self.duplicate.merge(duplicate);
        self.reordered.merge(reordered);
        self.early.merge(early);
        self.foreign.merge(foreign);
        self.incomplete.merge(incomplete);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_delivery_that_is_owed_has_one_end() {
        let all = DeliveryCounts {
            owed: 20,
            delivered: 14,
            lost: 3,
            cut: 2,
            in_flight_at_end: 1,
            ..DeliveryCounts::default()
        };
        assert_eq!(all.check(), Ok(()));
        assert_eq!(all.missing(), 6);
        for wrong in [
            DeliveryCounts { owed: 21, ..all },
            DeliveryCounts { delivered: 15, ..all },
            DeliveryCounts { lost: u64::MAX, ..all },
        ] {
            let error = wrong.check().unwrap_err().to_string();
            assert!(error.contains(&format!("owed {} is not", wrong.owed)), "{error}");
        }
    }
}
