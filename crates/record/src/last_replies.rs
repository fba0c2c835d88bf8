//! The last replies of a block, for comparison with a published test of bots.

use serde::{Deserialize, Serialize};
use stats::Merge;
use std::cmp::Reverse;
use units::Instant;

/// The right replies that were decoded last: [`LastReplies::KEPT`] at most, the newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastReplies {
    /// Received and sent.
    #[serde(with = "crate::serde_forms::instants")]
    replies: Vec<(Instant, Instant)>,
}

/// The mean time of the last replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastMean {
    /// The whole milliseconds by which the clock advanced from sent to received, summed over the replies, divided by
    /// their number and rounded down. Each is the difference of two readings of a millisecond clock, as in the
    /// published test.
    pub whole_ms: u64,
    /// The mean of the times themselves, in whole nanoseconds.
    pub ns: u64,
}

impl LastReplies {
    /// The largest number that is kept.
    pub const KEPT: usize = 1000;

    /// Keeps the last of the replies that were sent and received at these instants.
    pub fn of(sent_and_received: impl IntoIterator<Item = (Instant, Instant)>) -> Self {
        let replies = sent_and_received.into_iter().map(|(sent, received)| (received, sent));
        let mut last = Self { replies: replies.collect() };
        last.cut();
        last
    }

    /// Their mean; `None` if there is no reply.
    pub fn mean(&self) -> Option<LastMean> {
        let count = u64::try_from(self.replies.len()).ok().filter(|count| *count > 0)?;
        let whole = |(received, sent): &(Instant, Instant)| {
            (received.0 / NANOS_PER_MS).saturating_sub(sent.0 / NANOS_PER_MS)
        };
        let took = |(received, sent): &(Instant, Instant)| u128::from(received.since(*sent).0);
        let sum: u128 = self.replies.iter().map(took).sum();
        Some(LastMean {
            whole_ms: self.replies.iter().map(whole).sum::<u64>() / count,
            ns: u64::try_from(sum / u128::from(count)).unwrap_or(u64::MAX),
        })
    }

    /// Makes the instants count from `at`.
    pub(crate) fn count_from(&mut self, at: Instant) {
        for (received, sent) in &mut self.replies {
            *received = Instant(received.0.saturating_sub(at.0));
            *sent = Instant(sent.0.saturating_sub(at.0));
        }
    }

    fn cut(&mut self) {
        self.replies.sort_unstable_by_key(|reply| Reverse(*reply));
        self.replies.truncate(Self::KEPT);
    }
}

/// Keeps the last replies of both.
impl Merge for LastReplies {
    fn merge(&mut self, other: &Self) {
        self.replies.extend(&other.replies);
        self.cut();
    }
}

const NANOS_PER_MS: u64 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn last(replies: impl Iterator<Item = (u64, u64)>) -> LastReplies {
        LastReplies::of(replies.map(|(sent, received)| (Instant(sent), Instant(received))))
    }

    #[test]
    fn whole_milliseconds_are_those_of_the_clock_and_not_of_the_time() {
        #[rustfmt::skip]
        let table = [
            (vec![],                                       None),
            (vec![(0, 999_999)],                           Some(LastMean { whole_ms: 0, ns: 999_999 })),
            (vec![(999_999, 1_000_000)],                   Some(LastMean { whole_ms: 1, ns: 1 })),
            (vec![(0, 2_000_000), (0, 1_000_001)],         Some(LastMean { whole_ms: 1, ns: 1_500_000 })),
        ];
        for (replies, expected) in table {
            let last = last(replies.iter().copied());
            assert_eq!(last.mean(), expected, "{replies:?}");
        }
    }

    #[test]
    fn of_all_workers_the_last_thousand_by_the_time_of_their_decoding_count() {
        let early = last((0..5000).map(|at| (at * 10, at * 10 + 7)));
        let late = last((0..600).map(|at| (100_000 + at, 100_000 + at + 2)));
        assert_eq!(early.replies.len(), LastReplies::KEPT);
        let mean = LastReplies::merged([&early, &late]).mean().unwrap();
        assert_eq!(mean.ns, (600 * 2 + 400 * 7) / 1000);
        assert_eq!(early.mean().unwrap().ns, 7);
    }
}
