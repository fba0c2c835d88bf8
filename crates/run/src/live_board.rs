//! The numbers for a screen during a run, from the ticks of the feed: those of the last moment ([`LiveView`]), and
//! those of each measurement so far ([`Measured`]).

use crate::feed::{Cores, Tick};
use crate::latency_over_time::Heat;
use crate::live::LiveView;
use drive::Phase;
use record::{Live, Traffic};
use std::collections::BTreeMap;
use std::sync::Arc;

/// All that a screen shows of the traffic of a run.
#[derive(Clone, Debug, Default)]
pub struct Board {
    view: LiveView,
    heat: Heat,
    measured: Measured,
    cores: Cores,
}

/// The traffic of each measurement so far, over all its blocks, without warm-ups; only the part that is shown
/// ([`Traffic::add_shown`]).
#[derive(Clone, Debug, Default)]
pub struct Measured {
    by_name: BTreeMap<Arc<str>, Traffic>,
}

impl Measured {
    /// Adds a tick. Ticks of the drain count too: what is answered in it was due before.
    pub fn add(&mut self, tick: &Tick) {
        if matches!(tick.phase, Phase::Measure | Phase::Drain) {
            self.by_name.entry(Arc::clone(&tick.name)).or_default().add_shown(&tick.traffic);
        }
    }

    /// The traffic of a measurement; `None` before its first tick.
    pub fn get(&self, name: &str) -> Option<&Traffic> {
        self.by_name.get(name)
    }

    /// All measurements, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Traffic)> {
        self.by_name.iter().map(|(name, traffic)| (&**name, traffic))
    }
}

impl Board {
    /// Adds a tick, and returns the current numbers.
    pub fn add<'a>(&mut self, tick: &'a Tick) -> Live<'a> {
        self.heat.add(tick);
        self.measured.add(tick);
        self.cores = tick.cores;
        self.view.add(tick)
    }

    /// Latency over time, across all blocks.
    pub fn heat(&self) -> &Heat {
        &self.heat
    }

    /// The traffic of each measurement so far.
    pub fn measured(&self) -> &Measured {
        &self.measured
    }

    /// The cores that were busy in the last fifth of a second.
    pub fn cores(&self) -> Cores {
        self.cores
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
            Tick {
                name,
                block: (block, 3),
                phase,
                start,
                end,
                due_per_s: None,
                has_rate: false,
                traffic,
                cores,
            }
        };
        board.add(&block(0, "tcp", Phase::WarmUp, 900));
        assert!(board.measured().get("tcp").is_none());
        for (at, name, us) in [(0, "tcp", 10), (1, "ws", 20), (2, "tcp", 30)] {
            board.add(&block(at, name, Phase::Measure, us));
        }
        let [(_, tcp), (_, ws)] = board.measured().iter().collect::<Vec<_>>()[..] else { panic!() };
        assert_eq!((tcp.counts.ok, tcp.times().count()), (2, 2));
        assert_eq!((ws.counts.ok, ws.times().count()), (1, 1));
    }
}
