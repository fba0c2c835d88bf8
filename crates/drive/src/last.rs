//! The last replies of a worker, for the mean that the published test of bots shows.

use units::Instant;

/// When the last right replies were decoded and their messages sent: [`LastReplies::KEPT`] at most.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LastReplies {
    /// Sent and received; the oldest is at `oldest` once the ring is full.
    ring: Vec<(Instant, Instant)>,
    oldest: usize,
}

/// What the last replies of all workers took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastMean {
    /// The whole milliseconds that the clock went on from sent to received, added up and divided by the number of
    /// replies without a rest: a difference of two readings of a clock of milliseconds, as the published test has it.
    pub whole_ms: u64,
    /// The mean of the times themselves, in whole nanoseconds.
    pub ns: u64,
}

impl LastReplies {
    /// How many there are at most.
    pub const KEPT: usize = 1000;

    /// With the memory for all of them.
    pub(crate) fn with_room() -> Self {
        Self { ring: Vec::with_capacity(Self::KEPT), oldest: 0 }
    }

    #[inline]
    pub(crate) fn record(&mut self, sent: Instant, received: Instant) {
        if self.ring.len() < Self::KEPT {
            self.ring.push((sent, received));
        } else {
            self.ring[self.oldest] = (sent, received);
            self.oldest = (self.oldest + 1) % Self::KEPT;
        }
    }

    /// The mean of the last [`LastReplies::KEPT`] of all workers, by the instant of their decoding; `None` if there is
    /// no reply.
    pub fn mean<'a>(of_workers: impl Iterator<Item = &'a Self>) -> Option<LastMean> {
        let mut all: Vec<(Instant, Instant)> =
            of_workers.flat_map(|last| &last.ring).copied().collect();
        all.sort_unstable_by_key(|(_, received)| std::cmp::Reverse(*received));
        all.truncate(Self::KEPT);
        let count = u64::try_from(all.len()).ok().filter(|count| *count > 0)?;
        let whole = |(sent, received): &(Instant, Instant)| {
            (received.0 / NANOS_PER_MS).saturating_sub(sent.0 / NANOS_PER_MS)
        };
        let took = |(sent, received): &(Instant, Instant)| u128::from(received.since(*sent).0);
        let sum: u128 = all.iter().map(took).sum();
        Some(LastMean {
            whole_ms: all.iter().map(whole).sum::<u64>() / count,
            ns: u64::try_from(sum / u128::from(count)).unwrap_or(u64::MAX),
        })
    }
}

const NANOS_PER_MS: u64 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn last(replies: impl Iterator<Item = (u64, u64)>) -> LastReplies {
        let mut last = LastReplies::with_room();
        replies.for_each(|(sent, received)| last.record(Instant(sent), Instant(received)));
        last
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
            assert_eq!(LastReplies::mean([&last].into_iter()), expected, "{replies:?}");
        }
    }

    #[test]
    fn of_all_workers_the_last_thousand_by_the_time_of_their_decoding_count() {
        let early = last((0..5000).map(|at| (at * 10, at * 10 + 7)));
        let late = last((0..600).map(|at| (100_000 + at, 100_000 + at + 2)));
        assert_eq!(early.ring.len(), LastReplies::KEPT);
        let mean = LastReplies::mean([&early, &late].into_iter()).unwrap();
        assert_eq!(mean.ns, (600 * 2 + 400 * 7) / 1000);
        let alone = LastReplies::mean([&early].into_iter()).unwrap();
        assert_eq!(alone.ns, 7);
    }
}
