//! The numbers of a whole screen while a run goes on, from the ticks of the feed: those of the last moment
//! ([`LiveView`]), and those of each measurement so far.

use crate::feed::{Cores, Tick};
use crate::heat::Heat;
use crate::live::LiveView;
use drive::Phase;
use record::{Counts, Live, Merge};
use stats::Histogram;
use std::collections::BTreeMap;
use std::sync::Arc;

/// All that a screen shows of the traffic of a run.
#[derive(Clone, Debug, Default)]
pub struct Board {
    view: LiveView,
    heat: Heat,
    measured: BTreeMap<Arc<str>, Measured>,
    cores: Cores,
}

/// The messages of a measurement so far, those of warm-ups left out.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// Their ends.
    pub counts: Counts,
    /// Response times in an open loop, otherwise round trips.
    pub times: Histogram,
}

impl Board {
    /// Takes a tick, and answers with the numbers of the moment.
    pub fn add<'a>(&mut self, tick: &'a Tick) -> Live<'a> {
        self.heat.add(tick);
        if matches!(tick.phase, Phase::Measure | Phase::Drain) {
            let measured = self.measured.entry(Arc::clone(&tick.name)).or_default();
            measured.counts.merge(&tick.traffic.counts);
            measured.times.add(tick.traffic.times());
        }
        self.cores = tick.cores;
        self.view.add(tick)
    }

    /// Latency over time, across all blocks.
    pub fn heat(&self) -> &Heat {
        &self.heat
    }

    /// The messages of a measurement so far; `None` before the first of them.
    pub fn measured(&self, name: &str) -> Option<&Measured> {
        self.measured.get(name)
    }

    /// The cores that were busy in the last tenth of a second.
    pub fn cores(&self) -> Cores {
        self.cores
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Traffic;
    use units::{Instant, Nanos};

    #[test]
    fn a_measurement_is_added_up_over_its_blocks_without_warm_ups() {
        let mut board = Board::default();
        let block = |block, name: &str, phase, us: u64| {
            let mut traffic = Traffic::default();
            traffic.counts.ok = 1;
            traffic.round_trips.record(Nanos(us * 1_000));
            let start = Instant::START;
            let (name, end) = (name.into(), start + Nanos::from_millis(100));
            let cores = Cores::default();
            Tick { name, block: (block, 3), phase, start, end, due_per_s: None, traffic, cores }
        };
        board.add(&block(0, "tcp", Phase::WarmUp, 900));
        assert!(board.measured("tcp").is_none());
        for (at, name, us) in [(0, "tcp", 10), (1, "ws", 20), (2, "tcp", 30)] {
            board.add(&block(at, name, Phase::Measure, us));
        }
        let tcp = board.measured("tcp").unwrap();
        assert_eq!((tcp.counts.ok, tcp.times.count()), (2, 2));
        assert_eq!(board.measured("ws").unwrap().times.count(), 1);
    }
}
