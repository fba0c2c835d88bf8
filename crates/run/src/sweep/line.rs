//! One line of a sweep: its searches, and what every load came to.

use super::Sweep;
use crate::plan::Plan;
use crate::results::Kept;
use crate::setup::SetUp;
use load::Arrival;
use record::Block;
use spec::Objective;
use stats::knee::{Interval, Next, Range, Search};
use std::collections::BTreeMap;
use units::Nanos;

/// A line and its searches.
pub(super) struct Line<'a> {
    sweep: Sweep<'a>,
    index: usize,
    knee: Search,
    /// Begins when the knee is known.
    capacity: Option<Search>,
    /// The result of each load.
    loads: BTreeMap<u64, AtOneLoad>,
    /// Why it cannot be measured, or no longer: its server does not answer.
    failed: Option<String>,
    /// Why no more is offered than was, if something of the machine forbids it.
    limited: Option<String>,
    /// Why the search ended before its end.
    stopped: Option<String>,
}

/// The blocks of one load.
#[derive(Clone, Debug, Default)]
struct AtOneLoad {
    /// The index of its step in the plan.
    workload: usize,
    /// For each block whether it was kept, and whether the objective was met too.
    blocks: Vec<(bool, bool)>,
    /// In how many blocks it was not kept because of the generator.
    generator_bound: usize,
}

/// The load and workload of the next block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub(super) load: u64,
    pub(super) workload: usize,
}

impl<'a> Line<'a> {
    /// The lines of the sweep, whose first steps are the plan.
    pub(super) fn all(sweep: Sweep<'a>, plan: &Plan, set_up: &SetUp) -> Vec<Self> {
        let line = |index: usize| {
            let first = AtOneLoad { workload: index, ..AtOneLoad::default() };
            Self {
                sweep,
                index,
                knee: Search::new(sweep.range(), sweep.axis.repeats),
                capacity: None,
                loads: [(sweep.axis.from, first)].into(),
                failed: set_up.ready[index].as_ref().err().cloned(),
                limited: None,
                stopped: None,
            }
        };
        (0..plan.measurements.len()).map(line).collect()
    }

    /// The load that is to be measured next; `None` if all is known, or nothing more can be.
    pub(super) fn next(&mut self) -> Option<u64> {
        if self.failed.is_some() || self.stopped.is_some() {
            return None;
        }
        if let Next::Measure(load) = self.knee.next() {
            return Some(load);
        }
        self.sweep.axis.slo?;
        if self.capacity.is_none() {
            self.capacity = Some(self.search_of_capacity());
        }
        match self.capacity.as_ref()?.next() {
            Next::Measure(load) => Some(load),
            Next::Done => None,
        }
    }

    /// Takes what a block at this load came to.
    pub(super) fn learn(&mut self, load: u64, kept: &Kept) {
        if let Some(reason) = &kept.block.failed {
            self.failed =
                Some(format!("the server failed at {load}{}: {reason}", self.sweep.axis.of.unit()));
            return;
        }
        let is_kept = is_kept(&kept.block);
        let meets = is_kept && self.sweep.axis.slo.is_none_or(|slo| is_met(slo, kept));
        let known = self.loads.entry(load).or_default();
        known.blocks.push((is_kept, meets));
        known.generator_bound += usize::from(!is_kept && generator_share(&kept.block).is_some());
        self.knee.add(load, is_kept);
        if let Some(capacity) = &mut self.capacity {
            capacity.add(load, meets);
        }
    }

    /// The step of this load in the plan is now this.
    pub(super) fn know(&mut self, load: u64, workload: usize) {
        self.loads.insert(load, AtOneLoad { workload, ..AtOneLoad::default() });
    }

    /// From this load on the machine forbids it.
    pub(super) fn limit(&mut self, load: u64, reason: String) {
        self.knee.limit(load);
        if let Some(capacity) = &mut self.capacity {
            capacity.limit(load);
        }
        self.limited = Some(reason);
    }

    /// Ends the search as far as it is.
    pub(super) fn stop(&mut self, reason: String) {
        self.stopped = Some(reason);
    }

    pub(super) fn name(&self) -> &'a str {
        &self.sweep.experiment.workloads[self.index].name
    }

    pub(super) fn index(&self) -> usize {
        self.index
    }

    /// The step of this load in the plan.
    pub(super) fn workload(&self, load: u64) -> Option<usize> {
        Some(self.loads.get(&load)?.workload)
    }

    /// Loads in ascending order, with their steps in the plan, that were measured.
    pub(super) fn measured(&self) -> impl Iterator<Item = Asked> {
        let measured = self.loads.iter().filter(|(_, known)| !known.blocks.is_empty());
        measured.map(|(load, known)| Asked { load: *load, workload: known.workload })
    }

    pub(super) fn largest_known(&self) -> u64 {
        self.loads.keys().next_back().copied().unwrap_or(0)
    }

    pub(super) fn failed(&self) -> Option<&str> {
        self.failed.as_deref()
    }

    pub(super) fn stopped(&self) -> Option<&str> {
        self.stopped.as_deref()
    }

    pub(super) fn limited(&self) -> Option<&str> {
        self.limited.as_deref()
    }

    pub(super) fn knee(&self) -> Interval {
        self.knee.interval()
    }

    /// Between which loads the capacity lies, and whether its lower end was confirmed; `None` if it was not looked for,
    /// or no load met the objective.
    pub(super) fn capacity(&self) -> Option<(u64, Option<u64>, bool)> {
        self.sweep.axis.slo?;
        let early;
        let search = match &self.capacity {
            Some(search) => search,
            None => {
                early = self.search_of_capacity();
                &early
            }
        };
        let Interval { low, high } = search.interval();
        Some((low?, high, search.is_confirmed(low?)))
    }

    /// True if the load was not kept because of the generator rather than the server.
    pub(super) fn is_generator_bound(&self, load: u64) -> bool {
        self.loads.get(&load).is_some_and(|known| {
            let not_kept = known.blocks.iter().filter(|(is_kept, _)| !is_kept).count();
            known.generator_bound * 2 > not_kept
        })
    }

    /// A search below the knee that knows all that was measured.
    fn search_of_capacity(&self) -> Search {
        let to = self.knee.interval().high.unwrap_or_else(|| self.largest_measured());
        let mut search = Search::new(Range { to, ..self.sweep.range() }, self.sweep.axis.repeats);
        for (load, known) in self.loads.iter().filter(|(load, _)| **load <= to) {
            known.blocks.iter().for_each(|(_, meets)| search.add(*load, *meets));
        }
        search
    }

    fn largest_measured(&self) -> u64 {
        self.measured().last().map_or(self.sweep.axis.from, |asked| asked.load)
    }
}

/// True if the responses of a block meet the objective; of a closed loop, which has none, never.
fn is_met(slo: Objective, kept: &Kept) -> bool {
    let Some(times) = kept.headline.response().filter(|times| !times.is_empty()) else {
        return false;
    };
    // The share that is not below is known of any number of samples; a percentile needs many.
    let not_below = float(times.count_between(slo.below, Nanos::MAX));
    not_below <= (1.0 - slo.quantile) * float(times.count())
}

/// True if 99 % of what was due was answered in the time in which it was due. A message at either edge of the window
/// may be answered on the other side of it.
pub(super) fn is_kept(block: &Block) -> bool {
    let due = float(block.counts.planned);
    due > 0.0 && due - replies(block) <= (0.01 * due).max(EDGES)
}

/// Of what was due, the share that was answered in the measured window; 0 if nothing was due.
pub(super) fn achieved_fraction(block: &Block) -> f64 {
    let due = float(block.counts.planned);
    if due > 0.0 { replies(block) / due } else { 0.0 }
}

fn replies(block: &Block) -> f64 {
    block.messages_per_s * Nanos(block.measured_ns).as_secs_f64()
}

/// The share of a core that the busiest worker used, if that was all it could and the server had some to spare: what
/// was not achieved then says nothing of the server.
pub(super) fn generator_share(block: &Block) -> Option<f64> {
    let cpu = &block.cpu;
    let busy = cpu.busiest_worker_fraction.or(cpu.generator_cores_used)?;
    let has_slack = cpu.server_cores_used.is_none_or(|server| server < BUSY_MIN && server < busy);
    (busy >= BUSY_MIN && has_slack).then_some(busy)
}

/// Messages a second of a step, and from how many connections.
pub(super) fn offered(arrival: &Arrival, connections: u32) -> (f64, u64) {
    let per_s = match arrival {
        Arrival::Open { schedule, .. } | Arrival::Sessions { schedule, .. } => {
            schedule.rate.per_second()
        }
        Arrival::Think { think } if *think > Nanos::ZERO => {
            f64::from(connections) / think.as_secs_f64()
        }
        Arrival::Closed { .. } | Arrival::Think { .. } => 0.0,
    };
    (per_s, connections.into())
}

#[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
pub(super) fn float(count: u64) -> f64 {
    count as f64
}

/// From this share of a core on nothing is to spare.
pub(super) const BUSY_MIN: f64 = 0.9;
/// Messages of a block that may be lost to its edges.
const EDGES: f64 = 2.0;
