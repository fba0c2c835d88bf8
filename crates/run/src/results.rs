//! From blocks to what they come to: medians with their intervals, and ratios to the baseline.

use crate::block::{Collected, Measured};
use crate::plan::{Measurement, Plan};
use load::{Arrival, Lifetime};
use record::{Block, Comparison, Estimate, PerMetric, Summary, WorkloadResult};
use stats::{Bootstrap, Histogram, Pair, Sides, holm, mann_whitney};

/// The block of one workload in one round, with the distribution that it is judged by.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) block: Block,
    pub(crate) headline: Headline,
}

/// What a message's time is in tables.
#[derive(Debug)]
pub(crate) enum Headline {
    /// Closed loop: the round trip; for short-lived clients their whole life.
    RoundTrip(Histogram),
    /// Open loop.
    Response(Histogram),
}

impl Headline {
    /// That of a block.
    pub(crate) fn of(measurement: &Measurement, measured: &Measured) -> Self {
        let Collected { round_trips, open_loop, .. } = &measured.collected;
        match (measurement.workload.arrival, measurement.workload.lifetime) {
            (Arrival::Open { .. } | Arrival::Sessions { .. }, _) => {
                Self::Response(open_loop.response.clone())
            }
            (Arrival::Closed { .. }, Lifetime::Long) => Self::RoundTrip(round_trips.clone()),
            (Arrival::Closed { .. }, Lifetime::RoundTrips(_)) => {
                let mut lives = Histogram::new();
                measured.outcomes.iter().for_each(|outcome| lives.add(&outcome.times.life));
                Self::RoundTrip(lives)
            }
        }
    }

    fn round_trip(&self) -> Option<&Histogram> {
        match self {
            Self::RoundTrip(times) => Some(times),
            Self::Response(_) => None,
        }
    }

    fn response(&self) -> Option<&Histogram> {
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

    /// Where it belongs among the results.
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

/// What all blocks come to, for each measurement of the plan.
pub(crate) fn results(plan: &Plan, kept: &[Kept]) -> Vec<WorkloadResult> {
    let mut results: Vec<WorkloadResult> =
        (0..plan.measurements.len()).map(|workload| one(plan, kept, workload)).collect();
    if let Some(baseline) = plan.baseline {
        for workload in (0..results.len()).filter(|workload| *workload != baseline) {
            results[workload].to_baseline = compare(plan, kept, workload, baseline);
        }
        correct(&mut results);
    }
    results
}

fn one(plan: &Plan, kept: &[Kept], workload: usize) -> WorkloadResult {
    let blocks: Vec<&Kept> = kept.iter().filter(|kept| kept.block.workload == workload).collect();
    let good: Vec<&Kept> =
        blocks.iter().copied().filter(|kept| kept.block.failed.is_none()).collect();
    let mut medians = PerMetric::default();
    for metric in METRICS {
        let values: Vec<f64> = good.iter().filter_map(|kept| metric.of(kept)).collect();
        *metric.place(&mut medians) = estimate(plan, &values);
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

/// What the messages of all blocks come to: one distribution, no averages of percentiles.
fn merged<'a>(blocks: impl Iterator<Item = &'a Histogram>) -> Option<Summary> {
    let mut merged = Histogram::new();
    blocks.for_each(|times| merged.add(times));
    Summary::of(&merged)
}

/// The median, with its interval where there are enough blocks for one.
fn estimate(plan: &Plan, values: &[f64]) -> Option<Estimate> {
    if let Ok(estimate) = Bootstrap::new(plan.seed).median(values) {
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
            comparison(plan, &pairs(kept, metric, workload, baseline));
    }
    Some(comparisons)
}

/// The rounds in which both have the number.
fn pairs(kept: &[Kept], metric: Metric, workload: usize, baseline: usize) -> Vec<Pair> {
    let number = |kept: &Kept| metric.of(kept).filter(|_| kept.block.failed.is_none());
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
