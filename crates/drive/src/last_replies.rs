//! The ring of the last replies of a worker, for workloads that ask for it.

use record::LastReplies;
use units::Instant;

/// Sent and received instants of the last right replies: [`LastReplies::KEPT`] at most.
#[derive(Debug)]
pub(crate) struct LastRing {
    replies: Vec<(Instant, Instant)>,
    /// The index of the oldest reply once the ring is full.
    oldest: usize,
}

impl LastRing {
    /// An empty ring, with memory for all the replies that it keeps.
    pub(crate) fn new() -> Self {
        Self { replies: Vec::with_capacity(LastReplies::KEPT), oldest: 0 }
    }

    /// Keeps a reply; replaces the oldest once the ring is full.
    #[inline]
    pub(crate) fn record(&mut self, sent: Instant, received: Instant) {
        if self.replies.len() < LastReplies::KEPT {
            self.replies.push((sent, received));
        } else {
            self.replies[self.oldest] = (sent, received);
            self.oldest = (self.oldest + 1) % LastReplies::KEPT;
        }
    }

    /// The replies that it keeps.
    pub(crate) fn finish(self) -> LastReplies {
        LastReplies::of(self.replies)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_ring_drops_the_oldest() {
        let reply = |at: u64| (Instant(at), Instant(at + 7));
        let mut ring = LastRing::new();
        (0..2500).map(reply).for_each(|(sent, received)| ring.record(sent, received));
        let last_thousand = LastReplies::of((1500..2500).map(reply));
        assert_eq!(ring.finish(), last_thousand);
    }
}
