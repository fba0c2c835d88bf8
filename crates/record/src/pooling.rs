//! Pools blocks: one number for each question, made from all rounds together ([`stats::Pooled`]).
//!
//! Every block counts. One that failed, or got no reply, counts as its planned time without replies, and its messages
//! as having waited for the time-out of replies; so it lowers the throughput and raises percentiles, and nothing
//! vanishes. Only a block that an interruption ended before its measurement is left out.
//!
//! Everything is computed from plan and blocks alone, so that old records yield the same numbers as new ones.

use crate::{
    Added, Block, Comparison, Estimate, PerMetric, Plan, Summary, Workload, WorkloadResult,
};
use spec::{Layer, Load, Metric, Stop};
use stats::{Histogram, Part, Pooled};
use std::collections::BTreeMap;
use units::Nanos;

/// The numbers of workload `index` of `plan`, each from all its blocks; `None` where they do not have it.
pub fn pooled(plan: &Plan, blocks: &[Block], index: usize) -> PerMetric<Pooled> {
    let Some(workload) = plan.workloads.get(index) else { return PerMetric::default() };
    let rounds = Rounds::of(workload, blocks, index);
    let [p50, p90, p99] = rounds.percentiles();
    let mut pooled = PerMetric {
        messages_per_s: rounds
            .quotient(|block| Some(Part { of: replies(block), by: workload.seconds(block) })),
        generator_cpu_us_per_message: rounds.each(|block| block.cpu.generator_us_per_message),
        server_cpu_us_per_message: rounds.each(|block| block.cpu.server_us_per_message),
        wire_bytes_per_message: rounds.each(|block| {
            Some(block.wire.sent_bytes_per_message? + block.wire.received_bytes_per_message?)
        }),
        ..PerMetric::default()
    };
    if workload.spec.load.is_closed() {
        (pooled.round_trip_p50_ns, pooled.round_trip_p90_ns, pooled.round_trip_p99_ns) =
            (p50, p90, p99);
    } else {
        (pooled.response_p50_ns, pooled.response_p90_ns, pooled.response_p99_ns) = (p50, p90, p99);
    }
    pooled
}

/// The results of all workloads of `plan` that have a block.
pub fn results(plan: &Plan, blocks: &[Block]) -> Vec<WorkloadResult> {
    let all: Vec<PerMetric<Pooled>> =
        (0..plan.workloads.len()).map(|index| pooled(plan, blocks, index)).collect();
    let of = |index: usize| {
        let workload = &plan.workloads[index];
        let mine = || blocks.iter().filter(|block| block.workload == index);
        let blocks_failed = mine().filter(|block| block.failed.is_some()).count();
        let times = merged(workload, mine());
        let is_closed = workload.spec.load.is_closed();
        let (round_trip, response) = if is_closed { (times, None) } else { (None, times) };
        let base = plan.base_of(index).map(|base| &all[base]);
        WorkloadResult {
            workload: index,
            blocks: mine().count() - blocks_failed,
            blocks_failed,
            pooled: all[index].map(|number| Some(Estimate::of(number))),
            round_trip,
            response,
            to_baseline: base
                .map(|base| all[index].zip(base, |one, base| Comparison::of(&one.over(base)))),
        }
    };
    (0..plan.workloads.len()).map(of).collect()
}

/// The cost of each layer of `plan`, where both of its workloads were measured.
pub fn added(plan: &Plan, blocks: &[Block]) -> Vec<Added> {
    plan.layers.iter().filter_map(|layer| one_added(plan, blocks, layer)).collect()
}

fn one_added(plan: &Plan, blocks: &[Block], layer: &Layer) -> Option<Added> {
    let both = [layer.workload, layer.base];
    let [with, without] = both.map(|index| pooled(plan, blocks, index));
    let less = |of: &dyn Fn(&PerMetric<Pooled>) -> Option<Pooled>| {
        Some(Estimate::of(&of(&with)?.less(&of(&without)?)))
    };
    let bytes = |of: fn(&Block) -> Option<f64>| {
        let [with, without] =
            both.map(|index| Rounds::of(plan.workloads.get(index)?, blocks, index).each(of));
        Some(with?.value() - without?.value())
    };
    let added = Added {
        workload: layer.workload,
        base: layer.base,
        layer: layer.name.clone(),
        round_trip_p50_ns: less(&|all| all.round_trip_p50_ns.clone()),
        cpu_us_per_message: less(&cpu_of_both),
        sent_bytes_per_message: bytes(|block| block.wire.sent_bytes_per_message),
        received_bytes_per_message: bytes(|block| block.wire.received_bytes_per_message),
    };
    let is_known = added.round_trip_p50_ns.is_some()
        || added.cpu_us_per_message.is_some()
        || added.sent_bytes_per_message.is_some()
        || added.received_bytes_per_message.is_some();
    is_known.then_some(added)
}

/// Looks up a metric among the numbers of one workload that have an interval; `None` if the workload does not have it.
///
/// Percentiles are those of response times where the workload has a schedule.
pub fn figure<T>(numbers: &PerMetric<T>, metric: Metric) -> Option<&T> {
    match metric {
        Metric::P50 => numbers.response_p50_ns.as_ref().or(numbers.round_trip_p50_ns.as_ref()),
        Metric::P90 => numbers.response_p90_ns.as_ref().or(numbers.round_trip_p90_ns.as_ref()),
        Metric::P99 => numbers.response_p99_ns.as_ref().or(numbers.round_trip_p99_ns.as_ref()),
        Metric::MessagesPerS => numbers.messages_per_s.as_ref(),
        Metric::CpuPerMessage => numbers.server_cpu_us_per_message.as_ref(),
        Metric::GeneratorCpuPerMessage => numbers.generator_cpu_us_per_message.as_ref(),
        Metric::BytesPerMessage => numbers.wire_bytes_per_message.as_ref(),
        Metric::P999
        | Metric::ErrorRate
        | Metric::RefusedRate
        | Metric::AchievedOfOffered
        | Metric::MemoryPerConnection
        | Metric::Recovery
        | Metric::ServerCpu => None,
    }
}

/// The mean recovery time of the blocks; `None` if one of them has none.
pub fn recovery(plan: &Plan, blocks: &[Block], index: usize) -> Option<Pooled> {
    let workload = plan.workloads.get(index)?;
    let rounds = Rounds::of(workload, blocks, index);
    let of_block = |block: &Block| block.deliveries.as_ref()?.recovery().ok();
    if !rounds.blocks.iter().flatten().all(|block| of_block(block).is_some()) {
        return None;
    }
    rounds.quotient(|block| {
        #[expect(clippy::cast_precision_loss, reason = "a time within a block")]
        Some(Part { of: of_block(block)?.0 as f64, by: 1.0 })
    })
}

/// Memory of the server at the end of blocks, shared pages in proportion where that is known, divided by the
/// connections of the workload.
pub(crate) fn memory_per_connection(plan: &Plan, blocks: &[Block], index: usize) -> Option<Pooled> {
    let workload = plan.workloads.get(index)?;
    let connections = f64::from(workload.spec.load.connections().get());
    Rounds::of(workload, blocks, index).quotient(|block| {
        let memory = block.memory.as_ref()?;
        let bytes = memory.server_pss_bytes.or(memory.server_rss_bytes)?;
        #[expect(clippy::cast_precision_loss, reason = "memory of a process")]
        Some(Part { of: bytes as f64, by: connections })
    })
}

/// CPU time of the server as a share of that of the CPUs that it may run on: those of its own machine if it was watched
/// there, else those that it is bound to, else all `cpus_allowed`.
pub(crate) fn server_cpu(
    plan: &Plan,
    blocks: &[Block],
    index: usize,
    cpus_allowed: usize,
) -> Option<Pooled> {
    let workload = plan.workloads.get(index)?;
    let bound = workload.pinning.server_cpus.len();
    #[expect(clippy::cast_precision_loss, reason = "a number of CPUs")]
    let cpus = if bound == 0 { cpus_allowed } else { bound } as f64;
    Rounds::of(workload, blocks, index).quotient(|block| {
        let seconds = Nanos(block.measured_ns).as_secs_f64();
        let there = block.server_machine.as_ref().and_then(|machine| machine.cpus_allowed);
        let cpus = there.map_or(cpus, f64::from);
        Some(Part { of: block.cpu.server_cores_used? * seconds, by: cpus * seconds })
    })
}

/// CPU time of generator and server together for each reply.
pub fn cpu_of_both(numbers: &PerMetric<Pooled>) -> Option<Pooled> {
    let generator = numbers.generator_cpu_us_per_message.as_ref()?;
    Some(generator.plus(numbers.server_cpu_us_per_message.as_ref()?))
}

/// The times of all messages of all blocks as one distribution, those of failed blocks included.
fn merged<'a>(workload: &Workload, blocks: impl Iterator<Item = &'a Block>) -> Option<Summary> {
    let mut all = Histogram::new();
    blocks.filter_map(|block| times(workload, block)).for_each(|times| all.add(&times));
    Summary::of(&all)
}

/// The blocks of a workload, one for each round that any workload has a block in.
struct Rounds<'a> {
    workload: &'a Workload,
    blocks: Vec<Option<&'a Block>>,
}

impl<'a> Rounds<'a> {
    fn of(workload: &'a Workload, blocks: &'a [Block], index: usize) -> Self {
        let mut rounds: BTreeMap<usize, Option<&Block>> =
            blocks.iter().map(|block| (block.round, None)).collect();
        for block in blocks.iter().filter(|block| block.workload == index && is_there(block)) {
            rounds.insert(block.round, Some(block));
        }
        Self { workload, blocks: rounds.into_values().collect() }
    }

    fn quotient(&self, part: impl Fn(&Block) -> Option<Part>) -> Option<Pooled> {
        let parts: Vec<Option<Part>> = self.blocks.iter().map(|block| part((*block)?)).collect();
        Pooled::quotient(&parts)
    }

    /// A number that blocks have per reply; a block without replies contributes nothing.
    fn each(&self, of: impl Fn(&Block) -> Option<f64>) -> Option<Pooled> {
        self.quotient(|block| match replies(block) {
            replies if replies > 0.0 => Some(Part { of: of(block)? * replies, by: replies }),
            _ => Some(Part::default()),
        })
    }

    fn percentiles(&self) -> [Option<Pooled>; 3] {
        let times: Vec<Option<Histogram>> =
            self.blocks.iter().map(|block| times(self.workload, (*block)?)).collect();
        Pooled::quantiles(&times.iter().map(Option::as_ref).collect::<Vec<_>>(), [0.5, 0.9, 0.99])
    }
}

/// False for a block that an interruption ended before its measurement began.
fn is_there(block: &Block) -> bool {
    block.failed.is_some() || block.measured_ns > 0 || block.connections.failed > 0
}

/// The times of the messages of a block: the record's and, if it failed or got no right reply, the time-out of replies
/// for all others. `None` if they are not known.
fn times(workload: &Workload, block: &Block) -> Option<Histogram> {
    let summary = workload.times(block);
    let mut times = summary.map(|summary| summary.histogram().ok()).unwrap_or_default();
    let is_silent = block.failed.is_some() || (block.counts.ok == 0 && is_there(block));
    // The plans of some old records lack it.
    let time_out = Some(workload.spec.timeouts.reply).filter(|time_out| *time_out > Nanos::ZERO);
    if let Some(time_out) = time_out.filter(|_| is_silent) {
        let times = times.get_or_insert_default();
        let unanswered = block.counts.planned.max(workload.in_flight_all()).min(UNANSWERED_MAX);
        let missing = unanswered.saturating_sub(times.count());
        times.record_all(time_out, missing);
    }
    times
}

/// More messages than any block has: a record edited by hand may claim more than can be added up.
const UNANSWERED_MAX: u64 = 1 << 40;

/// Replies in the measured window.
pub(crate) fn replies(block: &Block) -> f64 {
    block.messages_per_s * Nanos(block.measured_ns).as_secs_f64()
}

impl Workload {
    /// The length of the measured window of a block in seconds; for a failed block at least the planned length. It is 0
    /// for a block that an interruption ended before its measurement.
    pub fn seconds(&self, block: &Block) -> f64 {
        let asked = match self.spec.phases.stop {
            Stop::After(asked) => asked,
            // A failed block waited for the first reply.
            Stop::Messages(_) | Stop::Clients(_) => self.spec.timeouts.reply,
        };
        let measured = Nanos(block.measured_ns);
        let is_whole = block.failed.is_none() && measured > Nanos::ZERO;
        match is_there(block) {
            true if is_whole => measured,
            true => measured.max(asked),
            false => Nanos::ZERO,
        }
        .as_secs_f64()
    }

    /// The times that results are made of: response times of open loops, round trips of closed ones, and the lives of
    /// short-lived clients.
    pub fn times<'a>(&self, block: &'a Block) -> Option<&'a Summary> {
        let is_clients = matches!(self.spec.load, Load::Clients { .. });
        let life = block.phases.life.as_ref().filter(|_| is_clients);
        life.or_else(|| block.times())
    }

    /// Messages in flight on all connections together.
    pub fn in_flight_all(&self) -> u64 {
        let load = &self.spec.load;
        let all = u64::from(load.connections().get()) * u64::from(load.in_flight().get());
        load.in_flight_max().map_or(all, |max| all.min(max.get().into()))
    }
}

impl Estimate {
    /// A number with its interval, where there is one.
    pub fn of(number: &Pooled) -> Self {
        let interval = number.interval();
        Self {
            value: number.value(),
            low: interval.map(|(low, _)| low),
            high: interval.map(|(_, high)| high),
        }
    }
}

impl Comparison {
    /// A ratio with its interval, where there is one; `None` if there is no ratio.
    pub fn of(ratio: &Pooled) -> Option<Self> {
        let Estimate { value, low, high } = Estimate::of(ratio);
        value.is_finite().then(|| Self {
            ratio: value,
            low,
            high,
            smallest_detectable_fraction: ratio.smallest_detectable(),
            moved_most_fraction: Some(ratio.moved_most()).filter(|moved| moved.is_finite()),
        })
    }
}
