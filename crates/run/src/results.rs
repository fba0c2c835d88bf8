//! Blocks with the distribution by which sweeps judge them.

use crate::plan::Place;
use record::{Block, Summary};
use spec::Load;
use stats::Histogram;

/// The block of one workload in one round, with the distribution by which it is judged.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) block: Block,
    pub(crate) headline: Headline,
}

impl Kept {
    /// A block under `load`; `None` if its distributions cannot be read. A block of an open loop is judged by response
    /// times; a block of short-lived clients by their lives.
    pub(crate) fn of(load: &Load, block: Block) -> Option<Self> {
        let times = match load {
            Load::Bots { .. }
            | Load::Open { .. }
            | Load::Publish { .. }
            | Load::Sessions { .. } => {
                block.open_loop.as_ref().and_then(|times| times.response.as_ref())
            }
            Load::Closed { .. } | Load::ClosedBots { .. } => block.round_trip.as_ref(),
            Load::Clients { .. } => block.phases.life.as_ref(),
        };
        let times = times.map_or_else(|| Ok(Histogram::new()), Summary::histogram).ok()?;
        let headline =
            if load.is_closed() { Headline::RoundTrip } else { Headline::Response(times) };
        Some(Self { block, headline })
    }

    /// The place of the block in the plan.
    pub(crate) fn place(&self) -> Place {
        Place { workload: self.block.workload, round: self.block.round }
    }
}

/// The time of a message that tables show.
#[derive(Debug)]
pub(crate) enum Headline {
    /// Closed loop: the round trip; for short-lived clients their whole life.
    RoundTrip,
    /// Open loop.
    Response(Histogram),
}

impl Headline {
    pub(crate) fn response(&self) -> Option<&Histogram> {
        match self {
            Self::Response(times) => Some(times),
            Self::RoundTrip => None,
        }
    }
}

/// The distribution of the messages of all blocks: one distribution, no averages of percentiles.
pub(crate) fn merged<'a>(blocks: impl Iterator<Item = &'a Histogram>) -> Option<Summary> {
    let mut merged = Histogram::new();
    blocks.for_each(|times| merged.add(times));
    Summary::of(&merged)
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Nanos;

    #[test]
    fn percentiles_of_all_blocks_are_those_of_all_messages() {
        // One message in fifty is slow, and all of these are in one block.
        let block = |ms, count| {
            let mut times = Histogram::new();
            (0..count).for_each(|_| times.record(Nanos::from_millis(ms)));
            times
        };
        let all = merged([block(1, 49_000), block(100, 1_000)].iter()).unwrap();
        assert_eq!(all.count, 50_000);
        let near =
            |found: Option<u64>, ms: u64| found.unwrap().abs_diff(ms * 1_000_000) <= ms * 1_000;
        assert!(near(all.p50_ns, 1) && near(all.p90_ns, 1), "{all:?}");
        assert!(near(all.p99_ns, 100), "the average of both p99 is 50.5 ms: {:?}", all.p99_ns);
    }
}
