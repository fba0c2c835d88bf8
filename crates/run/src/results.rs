//! From blocks to what they come to: medians with their intervals, and ratios to the baseline.

use crate::plan::Place;
use record::{Added, Block, Comparison, Estimate, Layer, PerMetric, Plan, Summary, WorkloadResult};
use spec::Load;
use stats::{Bootstrap, Histogram, Pair, Sides, holm, mann_whitney};

/// The block of one workload in one round, with the distribution that it is judged by.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) block: Block,
    pub(crate) headline: Headline,
}

impl Kept {
    /// A block under `load`; `None` if its distributions cannot be read. One of an open loop is judged by response
    /// times, one of short-lived clients by their lives.
    pub(crate) fn of(load: &Load, block: Block) -> Option<Self> {
        let times = match load {
            Load::Bots { .. } | Load::Open { .. } | Load::Sessions { .. } => {
                block.open_loop.as_ref().and_then(|times| times.response.as_ref())
            }
            Load::Closed { .. } | Load::ClosedBots { .. } => block.round_trip.as_ref(),
            Load::Clients { .. } => block.phases.life.as_ref(),
        };
        let times = times.map_or_else(|| Ok(Histogram::new()), Summary::histogram).ok()?;
        let headline =
            if load.is_closed() { Headline::RoundTrip(times) } else { Headline::Response(times) };
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
    RoundTrip(Histogram),
    /// Open loop.
    Response(Histogram),
}

impl Headline {
    fn round_trip(&self) -> Option<&Histogram> {
        match self {
            Self::RoundTrip(times) => Some(times),
            Self::Response(_) => None,
        }
    }

    pub(crate) fn response(&self) -> Option<&Histogram> {
        match self {
            Self::Response(times) => Some(times),
            Self::RoundTrip(_) => None,
        }
    }
}

/// A number of a block.
#[derive(Clone, Copy, Debug)]
enum Metric {
    MessagesPerSecond,
    RoundTripP50,
    RoundTripP90,
    RoundTripP99,
    ResponseP50,
    ResponseP90,
    ResponseP99,
    GeneratorCpu,
    ServerCpu,
    WireBytes,
}

const METRICS: [Metric; 10] = [
    Metric::MessagesPerSecond,
    Metric::RoundTripP50,
    Metric::RoundTripP90,
    Metric::RoundTripP99,
    Metric::ResponseP50,
    Metric::ResponseP90,
    Metric::ResponseP99,
    Metric::GeneratorCpu,
    Metric::ServerCpu,
    Metric::WireBytes,
];

impl Metric {
    /// The number of one block; `None` where it is not known.
    fn of(self, kept: &Kept) -> Option<f64> {
        let Kept { block, headline } = kept;
        match self {
            // A signal may have ended it before its window began, or a busy machine its window before a message.
            Self::MessagesPerSecond => (block.counts.sent > 0).then_some(block.messages_per_s),
            Self::RoundTripP50 => time(headline.round_trip()?, 0.5),
            Self::RoundTripP90 => time(headline.round_trip()?, 0.9),
            Self::RoundTripP99 => time(headline.round_trip()?, 0.99),
            Self::ResponseP50 => time(headline.response()?, 0.5),
            Self::ResponseP90 => time(headline.response()?, 0.9),
            Self::ResponseP99 => time(headline.response()?, 0.99),
            Self::GeneratorCpu => block.cpu.generator_us_per_message,
            Self::ServerCpu => block.cpu.server_us_per_message,
            Self::WireBytes => {
                Some(block.wire.sent_bytes_per_message? + block.wire.received_bytes_per_message?)
            }
        }
    }

    /// The field of the metric among the results.
    fn place<T>(self, results: &mut PerMetric<T>) -> &mut Option<T> {
        match self {
            Self::MessagesPerSecond => &mut results.messages_per_s,
            Self::RoundTripP50 => &mut results.round_trip_p50_ns,
            Self::RoundTripP90 => &mut results.round_trip_p90_ns,
            Self::RoundTripP99 => &mut results.round_trip_p99_ns,
            Self::ResponseP50 => &mut results.response_p50_ns,
            Self::ResponseP90 => &mut results.response_p90_ns,
            Self::ResponseP99 => &mut results.response_p99_ns,
            Self::GeneratorCpu => &mut results.generator_cpu_us_per_message,
            Self::ServerCpu => &mut results.server_cpu_us_per_message,
            Self::WireBytes => &mut results.wire_bytes_per_message,
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "times below 2^53 ns, which is 104 days")]
fn time(times: &Histogram, q: f64) -> Option<f64> {
    times.quantile(q).ok().map(|time| time.0 as f64)
}

/// The results of all blocks, for each measurement of the plan.
pub(crate) fn results(plan: &Plan, kept: &[Kept]) -> Vec<WorkloadResult> {
    let mut results: Vec<WorkloadResult> =
        (0..plan.workloads.len()).map(|workload| one(plan, kept, workload)).collect();
    for (workload, planned) in plan.workloads.iter().enumerate() {
        let baseline = planned.spec.baseline.or(plan.baseline);
        if let Some(baseline) = baseline.filter(|baseline| *baseline != workload) {
            results[workload].to_baseline = compare(plan, kept, workload, baseline);
        }
    }
    correct(&mut results);
    results
}

/// The cost of each layer of the plan, where its two measurements share a round.
pub(crate) fn added(plan: &Plan, kept: &[Kept]) -> Vec<Added> {
    plan.layers.iter().filter_map(|layer| one_added(plan, kept, layer)).collect()
}

fn one_added(plan: &Plan, kept: &[Kept], layer: &Layer) -> Option<Added> {
    let (workload, base) = (layer.workload, layer.base);
    let pairs = |number: &dyn Fn(&Kept) -> Option<f64>| pairs(kept, number, workload, base);
    let bytes =
        |number: fn(&Block) -> Option<f64>| mean_difference(&pairs(&|kept| number(&kept.block)));
    let round_trip = difference(plan, &pairs(&|kept| Metric::RoundTripP50.of(kept)));
    let cpu = difference(
        plan,
        &pairs(&|kept| Some(Metric::GeneratorCpu.of(kept)? + Metric::ServerCpu.of(kept)?)),
    );
    let sent = bytes(|block| block.wire.sent_bytes_per_message);
    let received = bytes(|block| block.wire.received_bytes_per_message);
    let is_known = round_trip.is_some() || cpu.is_some() || sent.is_some() || received.is_some();
    is_known.then(|| Added {
        workload,
        base,
        layer: layer.name.clone(),
        round_trip_p50_ns: round_trip,
        cpu_us_per_message: cpu,
        sent_bytes_per_message: sent,
        received_bytes_per_message: received,
    })
}

/// The difference of the medians, with its interval where there are enough rounds for one.
fn difference(plan: &Plan, pairs: &[Pair]) -> Option<Estimate> {
    if let Ok(stats::Estimate { value, low, high }) = Bootstrap::new(plan.seed).difference(pairs) {
        return Some(Estimate { value, low: Some(low), high: Some(high) });
    }
    let median = |of: fn(&Pair) -> f64| stats::median(&pairs.iter().map(of).collect::<Vec<f64>>());
    let value = median(|pair| pair.subject).ok()? - median(|pair| pair.baseline).ok()?;
    Some(Estimate { value, low: None, high: None })
}

/// The difference of the means; `None` of nothing.
#[expect(clippy::cast_precision_loss, reason = "a number of rounds")]
fn mean_difference(pairs: &[Pair]) -> Option<f64> {
    let sum: f64 = pairs.iter().map(|pair| pair.subject - pair.baseline).sum();
    (!pairs.is_empty()).then(|| sum / pairs.len() as f64)
}

fn one(plan: &Plan, kept: &[Kept], workload: usize) -> WorkloadResult {
    let blocks: Vec<&Kept> = kept.iter().filter(|kept| kept.block.workload == workload).collect();
    let good: Vec<&Kept> =
        blocks.iter().copied().filter(|kept| kept.block.failed.is_none()).collect();
    let mut medians = PerMetric::default();
    for metric in METRICS {
        let values: Vec<f64> = good.iter().filter_map(|kept| metric.of(kept)).collect();
        *metric.place(&mut medians) = estimate(plan.seed, &values);
    }
    WorkloadResult {
        workload,
        blocks: good.len(),
        blocks_failed: blocks.len() - good.len(),
        medians,
        round_trip: merged(good.iter().filter_map(|kept| kept.headline.round_trip())),
        response: merged(good.iter().filter_map(|kept| kept.headline.response())),
        to_baseline: None,
    }
}

/// The distribution of the messages of all blocks: one distribution, no averages of percentiles.
pub(crate) fn merged<'a>(blocks: impl Iterator<Item = &'a Histogram>) -> Option<Summary> {
    let mut merged = Histogram::new();
    blocks.for_each(|times| merged.add(times));
    Summary::of(&merged)
}

/// The median, with its interval where there are enough blocks for one.
pub(crate) fn estimate(seed: u64, values: &[f64]) -> Option<Estimate> {
    if let Ok(estimate) = Bootstrap::new(seed).median(values) {
        return Some(Estimate {
            value: estimate.value,
            low: Some(estimate.low),
            high: Some(estimate.high),
        });
    }
    let value = stats::median(values).ok()?;
    Some(Estimate { value, low: None, high: None })
}

fn compare(
    plan: &Plan,
    kept: &[Kept],
    workload: usize,
    baseline: usize,
) -> Option<PerMetric<Comparison>> {
    let mut comparisons = PerMetric::default();
    for metric in METRICS {
        *metric.place(&mut comparisons) =
            comparison(plan, &pairs(kept, &|kept| metric.of(kept), workload, baseline));
    }
    Some(comparisons)
}

/// The rounds in which both have the number.
fn pairs(
    kept: &[Kept],
    number: &dyn Fn(&Kept) -> Option<f64>,
    workload: usize,
    baseline: usize,
) -> Vec<Pair> {
    let number = |kept: &Kept| number(kept).filter(|_| kept.block.failed.is_none());
    let of = |workload: usize| kept.iter().filter(move |kept| kept.block.workload == workload);
    of(workload)
        .filter_map(|subject| {
            let same_round = of(baseline).find(|base| base.block.round == subject.block.round)?;
            Some(Pair { subject: number(subject)?, baseline: number(same_round)? })
        })
        .collect()
}

fn comparison(plan: &Plan, pairs: &[Pair]) -> Option<Comparison> {
    let subject: Vec<f64> = pairs.iter().map(|pair| pair.subject).collect();
    let baseline: Vec<f64> = pairs.iter().map(|pair| pair.baseline).collect();
    let sides = Sides { subject: &subject, baseline: &baseline };
    let (ratio, low, high) = match Bootstrap::new(plan.seed).ratio(pairs) {
        Ok(ratio) => (ratio.value, Some(ratio.low), Some(ratio.high)),
        Err(_) => (stats::median(&subject).ok()? / stats::median(&baseline).ok()?, None, None),
    };
    ratio.is_finite().then(|| Comparison {
        ratio,
        low,
        high,
        shift: stats::hodges_lehmann(sides).unwrap_or(0.0),
        p_value: mann_whitney(sides).ok().map(|test| test.p_value),
        p_value_holm: None,
        smallest_detectable_fraction: stats::smallest_detectable(pairs).ok(),
    })
}

/// Corrects the p values of each metric for the number of comparisons made with it (Holm).
fn correct(results: &mut [WorkloadResult]) {
    for metric in METRICS {
        let mut compared: Vec<&mut Comparison> = results
            .iter_mut()
            .filter_map(|result| metric.place(result.to_baseline.as_mut()?).as_mut())
            .filter(|comparison| comparison.p_value.is_some())
            .collect();
        let p_values: Vec<f64> =
            compared.iter().filter_map(|comparison| comparison.p_value).collect();
        for (comparison, corrected) in compared.iter_mut().zip(holm(&p_values)) {
            comparison.p_value_holm = Some(corrected);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block_record;
    use units::{Instant, Nanos};

    #[test]
    fn what_a_layer_adds_is_the_difference_in_the_rounds_that_both_have() {
        let plan = plan(&[(1, 0, "TLS")]);
        // The machine is slower from round to round, by more than the layer adds.
        let both = |round| {
            let slower = 50 * u32::try_from(round).unwrap();
            [kept(0, round, 100 + slower, 64.0), kept(1, round, 112 + slower, 86.5)]
        };
        let mut all: Vec<Kept> = (0..8).flat_map(both).collect();
        let [added] = &added(&plan, &all)[..] else { panic!("one layer") };
        assert_eq!((added.workload, added.base, &added.layer[..]), (1, 0, "TLS"));
        let near = |found: Option<Estimate>, expected: f64, tolerance: f64| {
            let Estimate { value, low, high } = found.unwrap();
            [Some(value), low, high]
                .into_iter()
                .all(|value| (value.unwrap() - expected).abs() <= tolerance)
        };
        // A histogram has three digits.
        assert!(near(added.round_trip_p50_ns, 12_000.0, 1000.0), "{added:?}");
        // Half of the round trip at either end.
        assert!(near(added.cpu_us_per_message, 12.0, 1e-9), "{added:?}");
        assert_eq!(added.sent_bytes_per_message, Some(22.5));
        assert_eq!(added.received_bytes_per_message, Some(45.0));

        // A block that failed takes its round along, and five rounds give no interval.
        all.retain(|kept| kept.block.round < 6);
        all[10].block.failed = Some("connection refused".to_owned());
        let added = super::added(&plan, &all).remove(0);
        let cpu = added.cpu_us_per_message.unwrap();
        assert!((cpu.value - 12.0).abs() < 1e-9 && cpu.low.is_none(), "{cpu:?}");
        // The server of one is not ours to look into.
        all.iter_mut()
            .filter(|kept| kept.block.workload == 0)
            .for_each(|kept| kept.block.cpu.server_us_per_message = None);
        let added = super::added(&plan, &all).remove(0);
        assert_eq!(added.cpu_us_per_message, None);
        assert!(added.round_trip_p50_ns.is_some());
    }

    #[test]
    fn layers_whose_measurements_share_no_round_add_nothing() {
        let plan = plan(&[(1, 0, "TLS"), (2, 0, "framing")]);
        let all = [kept(0, 0, 100, 64.0), kept(2, 0, 110, 70.0), kept(1, 1, 112, 86.0)];
        let layers: Vec<String> = added(&plan, &all).into_iter().map(|added| added.layer).collect();
        assert_eq!(layers, ["framing"]);
    }

    fn plan(layers: &[(usize, usize, &str)]) -> Plan {
        let layers = layers.iter().map(|(workload, base, name)| Layer {
            workload: *workload,
            base: *base,
            name: (*name).to_owned(),
        });
        let (workloads, rounds) = (Vec::new(), Vec::new());
        Plan { workloads, rounds, baseline: Some(0), layers: layers.collect(), seed: 7 }
    }

    /// A block whose round trips all took so long, half of it on the CPUs of either end; twice the bytes came back.
    fn kept(workload: usize, round: usize, micros: u32, sent: f64) -> Kept {
        let place = Place { workload, round };
        let mut block = block_record::failed(place, Instant::START, String::new());
        block.failed = None;
        block.cpu.generator_us_per_message = Some(f64::from(micros) / 2.0);
        block.cpu.server_us_per_message = Some(f64::from(micros) / 2.0);
        block.wire.sent_bytes_per_message = Some(sent);
        block.wire.received_bytes_per_message = Some(2.0 * sent);
        let mut times = Histogram::new();
        (0..100).for_each(|_| times.record(Nanos::from_micros(micros.into())));
        Kept { block, headline: Headline::RoundTrip(times) }
    }

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
