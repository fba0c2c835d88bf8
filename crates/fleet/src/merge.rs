//! Parts put together: the counts of workers on many machines become those that one machine would have.
//!
//! Only values that add up exactly are put together: counts, histograms, errors by class, seconds. A part counts as a
//! whole or not at all: one that is not trusted is left out, and stands beside the block with its own numbers.

use crate::ledger::Closed;
use crate::protocol::{Doubt, PartResult, Seat, Slot, SlotKind, limits};
use flate2::Compression;
use flate2::read::{ZlibDecoder, ZlibEncoder};
use record::{AgentPart, Histogram, Merge as _, Outcome, PartEnd};
use std::io::Read as _;
use units::Nanos;

/// The form in which the counts of workers travel.
pub fn pack(outcome: &Outcome) -> Vec<u8> {
    let json = serde_json::to_vec(outcome).expect("its keys are texts and numbers");
    let mut packed = Vec::new();
    let read = ZlibEncoder::new(&json[..], Compression::default()).read_to_end(&mut packed);
    read.expect("memory can be read");
    packed
}

/// Reads what [`pack`] wrote.
///
/// # Errors
///
/// The bytes are something else; or they inflate beyond [`limits::INFLATED_MAX`]; or beyond 1 MiB and to more than
/// [`limits::INFLATION_MAX`] times their number.
pub fn unpack(packed: &[u8]) -> Result<Outcome, UnpackError> {
    let grown = (packed.len() as u64).saturating_mul(limits::INFLATION_MAX);
    let max = limits::INFLATED_MAX.0.min(grown.max(SMALL));
    let mut json = Vec::new();
    let mut inflated = ZlibDecoder::new(packed).take(max + 1);
    inflated.read_to_end(&mut json).map_err(|error| UnpackError::Other(error.to_string()))?;
    if json.len() as u64 > max {
        return Err(UnpackError::TooLarge { packed: packed.len(), max });
    }
    serde_json::from_slice(&json).map_err(|error| UnpackError::Other(error.to_string()))
}

/// The reason why bytes are no part.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnpackError {
    /// They are something else.
    #[error("not a part of this version: {0}")]
    Other(String),
    /// They inflate to too many.
    #[error("{packed} bytes inflate to more than {max}")]
    TooLarge {
        /// Their number.
        packed: usize,
        /// The limit.
        max: u64,
    },
}

/// A block, put together.
#[derive(Clone, Debug, PartialEq)]
pub struct Together {
    /// The sum of the parts that count.
    pub outcome: Outcome,
    /// The largest share of the measurement that one worker of them was busy.
    pub busiest_worker: Option<f64>,
    /// Every part, in the order of names.
    pub agents: Vec<AgentPart>,
}

impl Together {
    /// The parts of `closed`. If less than half of the load is trusted, all that was measured counts: such a block is
    /// invalid in any case, and its numbers may show why.
    pub fn of(closed: &Closed) -> Self {
        let doubts_of = |seat: &Seat| {
            let mut decided =
                closed.close.slots.iter().filter(|decided| decided.agent == seat.agent);
            decided.next().map_or_else(Vec::new, |decided| decided.doubts.clone())
        };
        let parts = closed.parts().map(|(seat, slot)| part(seat, slot, &doubts_of(seat)));
        let parts: Vec<(AgentPart, Option<Outcome>)> = parts.collect();
        let planned = |parts: &mut dyn Iterator<Item = &AgentPart>| -> u64 {
            parts.filter_map(|part| part.planned).sum()
        };
        let all = planned(&mut parts.iter().map(|(part, _)| part));
        let trusted = planned(&mut parts.iter().map(|(part, _)| part).filter(|part| part.counts()));
        let takes_all = trusted.saturating_mul(2) < all;
        let mut outcome = Outcome::default();
        let mut busiest_worker: Option<f64> = None;
        for (part, counted) in &parts {
            if let Some(counted) = counted.as_ref().filter(|_| takes_all || part.counts()) {
                outcome.merge(counted);
                busiest_worker =
                    busiest_worker.into_iter().chain(part.busiest_worker_fraction).reduce(f64::max);
            }
        }
        Self { outcome, busiest_worker, agents: parts.into_iter().map(|(part, _)| part).collect() }
    }
}

/// A part, and what it counted.
fn part(seat: &Seat, slot: &Slot, doubts: &[Doubt]) -> (AgentPart, Option<Outcome>) {
    let end = match slot.kind() {
        SlotKind::Result => PartEnd::Measured,
        SlotKind::Aborted => PartEnd::Stopped,
        SlotKind::NotStarted => PartEnd::NotStarted,
        SlotKind::Lost => PartEnd::Lost,
    };
    let agent = AgentPart {
        agent: seat.agent.to_string(),
        end,
        clock_bound_ns: Some(seat.bound.0),
        doubts: doubts.iter().map(|doubt| in_words(*doubt).to_owned()).collect(),
        ..AgentPart::default()
    };
    let Some(result) = slot.part() else { return (agent, None) };
    match unpack(&result.packed) {
        Ok(outcome) => (measured(agent, result, &outcome), Some(outcome)),
        Err(error) => {
            let doubts =
                [agent.doubts, vec![format!("its result cannot be read: {error}")]].concat();
            (AgentPart { doubts, ..agent }, None)
        }
    }
}

fn measured(agent: AgentPart, result: &PartResult, outcome: &Outcome) -> AgentPart {
    let quantile = |times: &Histogram, q| times.quantile(q).ok().map(|time| time.0);
    let times = outcome.traffic.times();
    let PartResult { late, health, .. } = result;
    let mut doubts = agent.doubts.clone();
    if *late > limits::LATE_MAX {
        doubts.push(format!("it began {late} late"));
    }
    if outcome.traffic.open_loop.is_some()
        && let Some(busy) = health.busiest_worker.filter(|busy| *busy >= BUSY_MAX)
    {
        doubts.push(format!("a worker of it was busy for {:.0} % of the time", busy * 100.0));
    }
    if health.throttled > 0 {
        doubts.push(format!("its control group was throttled in {} periods", health.throttled));
    }
    AgentPart {
        planned: Some(result.planned),
        sent: Some(result.sent),
        ok: Some(outcome.measured.ok),
        p50_ns: quantile(times, 0.5),
        p99_ns: quantile(times, 0.99),
        late_ns: Some(late.0),
        busiest_worker_fraction: health.busiest_worker,
        send_lag_p99_ns: health.send_lag_p99.map(|lag: Nanos| lag.0),
        stalls: health.stalls,
        throttled_periods: health.throttled,
        retransmitted_segments: health.retransmits,
        doubts,
        ..agent
    }
}

fn in_words(doubt: Doubt) -> &'static str {
    match doubt {
        Doubt::ClockJumped => "its clock jumped: its machine or its process had stood still",
        Doubt::ClockUnknown => "its clock is not known: no exchange with it was answered",
    }
}

/// The number of bytes up to which a part may inflate any number of times.
const SMALL: u64 = 1 << 20;

/// A worker of an open loop that is busier than this delays what it sends.
const BUSY_MAX: f64 = 0.9;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use record::{Counts, ErrorClass, Handshakes, Origin, Second, Tally, TlsParameters, Traffic};
    use units::Instant;

    fn outcome(origin: u32, times: &[u64]) -> Outcome {
        let mut round_trips = Histogram::new();
        times.iter().for_each(|time| round_trips.record(Nanos(*time)));
        let count = times.len() as u64;
        let counts = Counts { sent: count, ok: count, ..Counts::default() };
        let second = Second { sent: count, ok: count, ..Second::default() };
        let class = if origin == 0 { ErrorClass::Cut } else { ErrorClass::Tls };
        Outcome {
            planned: count,
            measured: counts,
            traffic: Traffic {
                counts,
                replies: count,
                round_trip_sum: Nanos(times.iter().sum()),
                round_trips,
                ..Traffic::default()
            },
            series: [(Origin(origin), [second].into())].into(),
            tls: [(TlsParameters::default(), Handshakes { full: count, resumed: 1 })].into(),
            errors: [(
                class,
                Tally { count: 1, example: "it was cut".to_owned(), ..Tally::default() },
            )]
            .into(),
            replies_each: [(count, 1)].into(),
            window: Some((Instant(7), Instant(1_000_000_007 + count))),
            ..Outcome::default()
        }
    }

    proptest! {
        #[test]
        fn parts_that_travelled_merge_to_what_all_samples_give_in_any_order(
            parts in prop::collection::vec(prop::collection::vec(1..4_000_000_000_000_u64, 0..60), 1..6),
        ) {
            let travelled = |(index, times): (usize, &Vec<u64>)| {
                let outcome = outcome(u32::try_from(index).unwrap(), times);
                let read = unpack(&pack(&outcome)).unwrap();
                assert_eq!(read, outcome);
                read
            };
            let read: Vec<Outcome> = parts.iter().enumerate().map(travelled).collect();
            let merged = Outcome::merged(&read);
            let backwards = Outcome::merged(read.iter().rev());
            prop_assert_eq!(&merged, &backwards);
            let mut raw = Histogram::new();
            parts.iter().flatten().for_each(|time| raw.record(Nanos(*time)));
            prop_assert_eq!(merged.traffic.round_trips, raw);
            prop_assert_eq!(merged.planned, parts.iter().map(|part| part.len() as u64).sum::<u64>());
        }
    }

    #[test]
    fn bytes_that_are_no_part_or_inflate_without_end_are_refused() {
        assert!(matches!(unpack(b"no part"), Err(UnpackError::Other(_))));
        let mut packed = Vec::new();
        ZlibEncoder::new(&vec![b' '; 2 << 20][..], Compression::best())
            .read_to_end(&mut packed)
            .unwrap();
        assert!(matches!(unpack(&packed), Err(UnpackError::TooLarge { .. })));
        for cut in 0..8 {
            let whole = pack(&outcome(0, &[1, 2, 3]));
            assert!(unpack(&whole[..whole.len() * cut / 8]).is_err());
        }
    }
}
