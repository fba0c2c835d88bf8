//! One line of a sweep: its searches, and the results of every load.

use super::loads::Sweep;
use crate::plan::Plan;
use crate::results::Kept;
use crate::setup::SetUp;
use load::Arrival;
use record::Block;
use spec::Objective;
use stats::Histogram;
use stats::knee::{Interval, Next, Range, Search, Trial};
use std::collections::BTreeMap;
use units::Nanos;

/// A line and its searches.
pub(super) struct Line<'a> {
    sweep: Sweep<'a>,
    index: usize,
    knee: Search,
    /// The search for the capacity, which begins when the knee is known.
    capacity: Option<Search>,
    /// The result of each load.
    loads: BTreeMap<u64, AtOneLoad>,
    /// The reason why the line cannot be measured, or no longer: its server does not answer.
    failed: Option<String>,
    /// The reason why no larger load is offered, if the machine does not allow it.
    limited: Option<String>,
    /// The reason why the search ended early.
    stopped: Option<String>,
}

/// The blocks of one load that did not fail, with the sums of their messages.
#[derive(Clone, Debug, Default)]
struct AtOneLoad {
    /// The index of its step in the plan.
    workload: usize,
    /// For each block: true if the load was kept, and true if the objective was met too.
    blocks: Vec<(bool, bool)>,
    /// The number of blocks whose load was not kept because of the generator.
    generator_bound: usize,
    /// Replies that were due; in rooms a reply is a delivery.
    due: f64,
    /// The most due replies that may be lost at the edges of blocks.
    edges: f64,
    /// Replies within the measurement.
    replies: f64,
    /// Replies that were due and failed, or never came.
    unanswered: f64,
    /// The number of responses, and of responses that were not below the objective.
    responses: [f64; 2],
}

/// The load and workload of the next block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub(super) load: u64,
    pub(super) workload: usize,
}

impl<'a> Line<'a> {
    /// The lines of the sweep; `plan` has their first steps.
    pub(super) fn all(sweep: Sweep<'a>, plan: &Plan, set_up: &SetUp) -> Vec<Self> {
        let failed = |index: usize| set_up.ready[index].as_ref().err().cloned();
        (0..plan.measurements.len()).map(|index| Self::new(sweep, index, failed(index))).collect()
    }

    fn new(sweep: Sweep<'a>, index: usize, failed: Option<String>) -> Self {
        let first = AtOneLoad { workload: index, ..AtOneLoad::default() };
        Self {
            sweep,
            index,
            knee: Search::new(sweep.range(), sweep.axis.repeats),
            capacity: None,
            loads: [(sweep.axis.from, first)].into(),
            failed,
            limited: None,
            stopped: None,
        }
    }

    /// The load to measure next; `None` if everything is known, or nothing more can be measured.
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

    /// Takes the result of a block at `load`; `each` is the number of replies per message.
    pub(super) fn learn(&mut self, load: u64, each: f64, kept: &Kept) {
        if let Some(reason) = &kept.block.failed {
            self.failed =
                Some(format!("the server failed at {load}{}: {reason}", self.sweep.axis.of.unit()));
            return;
        }
        let slo = self.sweep.axis.slo;
        let block = &kept.block;
        let is_kept = is_kept(block, each);
        let responses = slo.map_or([0.0; 2], |slo| responses(slo, kept));
        let meets = is_kept && slo.is_none_or(|slo| is_met(slo, responses));
        let known = self.loads.entry(load).or_default();
        known.blocks.push((is_kept, meets));
        known.generator_bound += usize::from(!is_kept && generator_share(block).is_some());
        known.due += due(block, each);
        known.edges += EDGES * each;
        known.replies += replies(block);
        known.unanswered += unanswered(block, each);
        let [all, late] = &mut known.responses;
        (*all, *late) = (*all + responses[0], *late + responses[1]);
        let carried = float(load) * achieved_fraction(block, each) / KEPT_MIN;
        self.knee.add(Trial { load, is_kept, carried });
        if let Some(capacity) = &mut self.capacity {
            capacity.add(within(load, meets));
        }
        self.failed = self.loss();
    }

    /// Describes a loss that does not depend on the load, if there is one: a server that is merely at its limit would
    /// lose a smaller share at a quarter of the load.
    fn loss(&self) -> Option<String> {
        let not_kept = || self.loads.iter().filter(|(_, at)| at.due > 0.0 && !at.is_kept());
        let is_same = |(less, at): (&u64, &AtOneLoad), (more, above): (&u64, &AtOneLoad)| {
            let times = float(*more) / float(*less);
            let is_failure = at.unanswered >= (at.due - at.replies) / 2.0;
            times >= LOSS_FROM && is_failure && at.share() < above.share() * times.sqrt()
        };
        let (less, more) = not_kept()
            .find_map(|one| Some((one, not_kept().find(|other| is_same(one, *other))?)))?;
        let up_to = self.loads.range(..=more.0).flat_map(|(_, at)| &at.blocks);
        let more_kept = up_to.map(|(is_kept, _)| if *is_kept { 1 } else { -1 }).sum::<i64>();
        if more_kept >= 0 {
            return None; // A load was kept: the loss came with more load, or with other programs on the machine.
        }
        let missing = (1.0 - less.1.share()) * 100.0;
        let unit = self.sweep.axis.of.unit();
        Some(format!(
            "{missing:.1} % of the messages fail at {}{unit} and at {}{unit} alike: the failure does not depend on \
             the load, so there is no knee",
            less.0, more.0
        ))
    }

    /// Sets the step of `load` in the plan.
    pub(super) fn know(&mut self, load: u64, workload: usize) {
        self.loads.insert(load, AtOneLoad { workload, ..AtOneLoad::default() });
    }

    /// Notes that the machine forbids this load and all above it.
    pub(super) fn limit(&mut self, load: u64, reason: String) {
        self.knee.limit(load);
        if let Some(capacity) = &mut self.capacity {
            capacity.limit(load);
        }
        self.limited = Some(reason);
    }

    /// Ends the search where it stands.
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

    /// The measured loads in ascending order, with their steps in the plan.
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

    /// The interval of the knee, in units of load, if the server caused what is missing above it.
    pub(super) fn knee(&self) -> Option<Interval> {
        self.knee
            .interval()
            .filter(|found| self.failed.is_none() && !self.is_generator_bound(found))
    }

    /// The largest load at which enough messages were answered, over all its blocks together.
    pub(super) fn largest_carried(&self) -> Option<u64> {
        let kept = self.loads.iter().rev().find(|(_, at)| at.due > 0.0 && at.is_kept());
        kept.map(|(load, _)| *load)
    }

    /// The smallest load that was not kept; at or above the knee, if one was found.
    pub(super) fn beyond(&self) -> Option<u64> {
        let from = self.knee.interval().map_or(0.0, |found| found.low);
        let not_kept = self.loads.iter().filter(|(_, at)| at.due > 0.0 && !at.is_kept());
        not_kept.map(|(load, _)| *load).find(|load| float(*load) >= from)
    }

    /// Messages per second for each unit of load; in rooms, deliveries.
    pub(super) fn per_s(&self) -> f64 {
        self.sweep.axis.per_s(&self.sweep.experiment.workloads[self.index])
    }

    /// The number of blocks in which a load was kept, and of those that also met the objective.
    pub(super) fn agreed(&self, load: u64) -> [usize; 2] {
        let blocks = self.loads.get(&load).map_or(&[][..], |at| &at.blocks);
        let count = |of: fn(&(bool, bool)) -> bool| blocks.iter().filter(|block| of(block)).count();
        [count(|(is_kept, _)| *is_kept), count(|(_, meets)| *meets)]
    }

    /// The largest load whose messages, over all its blocks together, met the objective, with the interval from the
    /// search; `None` without an objective, for a failed line, or if no load met it.
    pub(super) fn capacity(&self) -> Option<Within> {
        let slo = self.sweep.axis.slo.filter(|_| self.failed.is_none())?;
        let early;
        let search = match &self.capacity {
            Some(search) => search,
            None => {
                early = self.search_of_capacity();
                &early
            }
        };
        let loads: Vec<(u64, bool)> = self
            .loads
            .iter()
            .filter(|(_, at)| at.due > 0.0)
            .map(|(load, at)| (*load, at.is_kept() && is_met(slo, at.responses)))
            .collect();
        let found = search.interval();
        let high = found.map_or(f64::INFINITY, |found| found.high);
        let most = |(load, meets): &&(u64, bool)| *meets && float(*load) <= high;
        let (load, _) = *loads.iter().rfind(most)?;
        let agrees = loads.iter().all(|(other, meets)| *meets == (*other <= load));
        let missed = loads.iter().find(|(other, meets)| *other > load && !meets);
        let missed = missed.map(|(other, _)| float(*other));
        Some(Within {
            load,
            low: found.map_or(f64::INFINITY, |found| found.low).min(float(load)),
            high: missed.map(|missed| found.map_or(missed, |found| found.high.max(missed))),
            is_confirmed: agrees && found.is_none_or(|found| found.is_confirmed),
        })
    }

    /// True if the generator, rather than the server, is to blame for most blocks that were not kept at and above the
    /// knee.
    fn is_generator_bound(&self, knee: &Interval) -> bool {
        let above = self.loads.range(rounded(knee.low)..).map(|(_, at)| at);
        let (bound, not_kept) = above.fold((0, 0), |(bound, not_kept), at| {
            let kept = at.blocks.iter().filter(|(is_kept, _)| *is_kept).count();
            (bound + at.generator_bound, not_kept + at.blocks.len() - kept)
        });
        bound * 2 > not_kept
    }

    /// A search below the knee that includes everything measured so far.
    fn search_of_capacity(&self) -> Search {
        let to = self.knee.interval().map(|knee| rounded(knee.high).max(1));
        let to = to.unwrap_or_else(|| self.largest_measured());
        let mut search = Search::new(Range { to, ..self.sweep.range() }, self.sweep.axis.repeats);
        for (load, known) in &self.loads {
            known.blocks.iter().for_each(|(_, meets)| search.add(within(*load, *meets)));
        }
        search
    }

    fn largest_measured(&self) -> u64 {
        self.measured().last().map_or(self.sweep.axis.from, |asked| asked.load)
    }
}

impl AtOneLoad {
    /// True if 99 % of all due replies arrived in time.
    fn is_kept(&self) -> bool {
        is_enough(self.due, self.replies, self.edges)
    }

    /// The share of all due replies that arrived in time.
    fn share(&self) -> f64 {
        self.replies / self.due.max(1.0)
    }
}

/// The capacity of a line, in units of load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Within {
    /// The largest load that met the objective.
    pub(super) load: u64,
    pub(super) low: f64,
    pub(super) high: Option<f64>,
    pub(super) is_confirmed: bool,
}

/// The trial of a load that met the objective, or did not; the part of the load that would have met it is unknown.
fn within(load: u64, meets: bool) -> Trial {
    Trial { load, is_kept: meets, carried: 0.0 }
}

/// The number of responses of a block, and of those not below the objective. A closed loop has none.
fn responses(slo: Objective, kept: &Kept) -> [f64; 2] {
    // The share not below the objective is known for any number of samples; a percentile needs many.
    let late = |times: &Histogram| float(times.count_between(slo.below, Nanos::MAX));
    kept.headline.response().map_or([0.0; 2], |times| [float(times.count()), late(times)])
}

/// True if few enough responses were not below the objective for it to be met.
fn is_met(slo: Objective, [all, late]: [f64; 2]) -> bool {
    all > 0.0 && late <= (1.0 - slo.quantile) * all
}

/// True if 99 % of what was due was answered within the window in which it was due; `each` is the number of replies per
/// message. A message at either edge of the window may be answered on the other side of it.
pub(super) fn is_kept(block: &Block, each: f64) -> bool {
    is_enough(due(block, each), replies(block), EDGES * each)
}

/// The same for the sums over several blocks, which may lose `edges` replies at their edges.
fn is_enough(due: f64, replies: f64, edges: f64) -> bool {
    due > 0.0 && due - replies <= ((1.0 - KEPT_MIN) * due).max(edges)
}

/// The replies that were due in a block.
pub(super) fn due(block: &Block, each: f64) -> f64 {
    float(block.counts.planned) * each
}

/// The due replies that never arrived, or were failures; in rooms also those to receivers that were not present.
fn unanswered(block: &Block, each: f64) -> f64 {
    match &block.deliveries {
        Some(deliveries) => (due(block, each) - float(deliveries.counts.delivered)).max(0.0),
        None => float(block.counts.failed() + block.counts.in_flight_at_end),
    }
}

/// The share of what was due that was answered in the measured window; 0 if nothing was due.
pub(super) fn achieved_fraction(block: &Block, each: f64) -> f64 {
    let due = due(block, each);
    if due > 0.0 { replies(block) / due } else { 0.0 }
}

pub(super) fn replies(block: &Block) -> f64 {
    block.messages_per_s * Nanos(block.measured_ns).as_secs_f64()
}

/// The share of a core that the busiest worker used, if it was at its limit and the server had capacity to spare: what
/// was not achieved then says nothing about the server.
pub(super) fn generator_share(block: &Block) -> Option<f64> {
    let cpu = &block.cpu;
    let busy = cpu.busiest_worker_fraction.or(cpu.generator_cores_used)?;
    let has_slack = cpu.server_cores_used.is_none_or(|server| server < BUSY_MIN && server < busy);
    (busy >= BUSY_MIN && has_slack).then_some(busy)
}

/// The messages per second of a step, and the number of its connections.
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

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "loads below 2^53; saturates"
)]
fn rounded(load: f64) -> u64 {
    load.round() as u64
}

/// The share of a core from which nothing is left to spare.
pub(super) const BUSY_MIN: f64 = 0.9;
/// The share of what is due that must be achieved.
const KEPT_MIN: f64 = 0.99;
/// The smallest ratio of two loads that shows that a loss does not depend on the load.
const LOSS_FROM: f64 = 3.5;
/// Messages of a block that may be lost at its edges.
const EDGES: f64 = 2.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Headline;
    use record::Counts;
    use spec::{Axis, AxisOf, Experiment};
    use units::Random;

    /// The number of responses out of 1000 in a block that are late by the objective; the others are in time.
    type Late = u64;

    /// The capacity of a line with these blocks, in the order in which they were measured, each at a load that was
    /// kept; and for each load the late share of all its messages.
    fn capacity(blocks: &[(u64, Late)]) -> (Option<Within>, BTreeMap<u64, f64>) {
        let axis = axis();
        let experiment = Experiment::default();
        let mut line = Line::new(Sweep { experiment: &experiment, axis: &axis }, 0, None);
        let mut late: BTreeMap<u64, Vec<Late>> = BTreeMap::new();
        for (load, late_here) in blocks {
            line.loads.entry(*load).or_default();
            line.learn(*load, 1.0, &block(*load, *late_here));
            late.entry(*load).or_default().push(*late_here);
        }
        let share = |late: &Vec<Late>| {
            float(late.iter().sum::<u64>()) / (1000.0 * float(late.len() as u64))
        };
        (line.capacity(), late.iter().map(|(load, late)| (*load, share(late))).collect())
    }

    fn axis() -> Axis {
        Axis {
            of: AxisOf::Rate,
            from: 1000,
            to: 16_000,
            factor: 2.0,
            repeats: 1,
            every: Nanos::from_secs(1),
            bots_max: None,
            in_flight_max: None,
            slo: Some("p99 < 5ms".parse().expect("an objective")),
            budget: Nanos::from_secs(60),
            preset: None,
        }
    }

    /// A block of one second at a load, with every message answered.
    fn block(load: u64, late: Late) -> Kept {
        let mut block = Block::empty(0, 0, 0, "not looked at");
        block.measured_ns = 1_000_000_000;
        block.messages_per_s = float(load);
        block.counts = Counts { planned: load, sent: load, ok: load, ..Counts::default() };
        let mut times = Histogram::new();
        times.record_all(Nanos::from_millis(1), 1000 - late);
        times.record_all(Nanos::from_micros(6500), late);
        Kept { block, headline: Headline::Response(times) }
    }

    #[test]
    fn a_load_whose_messages_missed_the_objective_is_never_the_answer() {
        // At 3957/s two of three blocks met the objective, but all messages together did not. At 4000/s two blocks
        // missed it, but all messages together met it.
        let blocks = [(3957, 0), (3957, 0), (3957, 60), (4000, 12), (4000, 12), (4000, 3)];
        let (found, late) = capacity(&blocks);
        assert!(late[&3957] > 0.01 && late[&4000] < 0.01, "{late:?}");
        let found = found.expect("4000/s kept it");
        assert_eq!((found.load, found.is_confirmed), (4000, false), "{found:?}");
    }

    #[test]
    fn the_largest_carried_load_is_one_of_all_its_messages() {
        let carried = |blocks: &[(u64, u64)]| {
            let (axis, experiment) = (axis(), Experiment::default());
            let mut line = Line::new(Sweep { experiment: &experiment, axis: &axis }, 0, None);
            for (load, ok) in blocks {
                let mut kept = block(*load, 0);
                kept.block.counts.ok = *ok;
                kept.block.messages_per_s = float(*ok);
                line.learn(*load, 1.0, &kept);
            }
            line.largest_carried()
        };
        assert_eq!(carried(&[(1000, 1000), (2000, 2000), (4000, 3000)]), Some(2000));
        assert_eq!(carried(&[(1000, 900)]), None);
        // Two of three blocks kept the load, but a tenth of all its messages is missing.
        assert_eq!(carried(&[(1000, 1000), (2000, 2000), (2000, 2000), (2000, 1400)]), Some(1000));
    }

    #[test]
    fn in_rooms_each_message_is_due_to_each_receiver() {
        let mut kept = block(100, 0);
        // Some receivers were dropped, and were owed less from then on.
        let counts = record::DeliveryCounts {
            published: 100,
            owed: 900,
            delivered: 900,
            ..Default::default()
        };
        kept.block.deliveries = Some(record::Deliveries { counts, ..Default::default() });
        for (per_s, is_it, fraction) in
            [(1000.0, true, 1.0), (980.0, true, 0.98), (979.0, false, 0.979), (900.0, false, 0.9)]
        {
            kept.block.messages_per_s = per_s;
            assert_eq!(is_kept(&kept.block, 10.0), is_it, "{per_s}");
            assert!((achieved_fraction(&kept.block, 10.0) - fraction).abs() < 1e-9, "{per_s}");
        }
        assert!((unanswered(&kept.block, 10.0) - 100.0).abs() < 1e-9);
    }

    #[test]
    fn the_answer_agrees_with_the_pooled_numbers_of_every_table() {
        for seed in 0..500 {
            let mut random = Random::new(seed);
            let loads = [1000, 2000, 3957, 4000, 8000];
            let blocks: Vec<(u64, Late)> =
                (0..12).map(|_| (loads[random.below(5)], random.below(25) as Late)).collect();
            let (found, late) = capacity(&blocks);
            let kept = |load: &u64| late[load] <= 0.01;
            let Some(found) = found else {
                assert!(
                    !late.keys().any(kept) || late.keys().any(|load| !kept(load)),
                    "{blocks:?}"
                );
                continue;
            };
            assert!(kept(&found.load), "seed {seed}: {found:?} of {late:?}");
            let agrees = late.keys().all(|load| kept(load) == (*load <= found.load));
            assert!(agrees || !found.is_confirmed, "seed {seed}: {found:?} of {late:?}");
            let missed = late.keys().find(|load| **load > found.load && !kept(load));
            assert_eq!(found.high.is_some(), missed.is_some(), "seed {seed}: {found:?}");
        }
    }
}
