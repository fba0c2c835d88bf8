//! Merging of parts: the counts of workers on many machines become those that one machine would have.
//!
//! Only values that add up exactly are merged: counts, histograms, errors by class, seconds. A part counts entirely or
//! not at all: one that is not trusted is left out, and listed beside the block with its own numbers. Trust depends
//! only on the slot and on the step that closed the block, so all controllers leave out the same parts.

use crate::clock::drift;
use crate::ledger::Closed;
use crate::protocol::{Doubt, Go, Kind, PartResult, Seat, Slot, SlotKind, limits};
use flate2::Compression;
use flate2::read::{ZlibDecoder, ZlibEncoder};
use record::{AgentPart, Block, Histogram, Merge as _, Outcome, PartEnd, Watched};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::Read as _;
use units::Nanos;

/// Encodes an outcome, or what a watch saw, for the bus.
pub fn pack<T: Serialize>(counted: &T) -> Vec<u8> {
    let json = serde_json::to_vec(counted).expect("its keys are texts and numbers");
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
pub fn unpack<T: DeserializeOwned>(packed: &[u8]) -> Result<T, UnpackError> {
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

/// The reason why bytes are not a part.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnpackError {
    /// They are something else.
    #[error("not a part of this version: {0}")]
    Other(String),
    /// They inflate beyond the limit.
    #[error("{packed} bytes inflate to more than {max}")]
    TooLarge {
        /// Their number.
        packed: usize,
        /// The limit.
        max: u64,
    },
}

/// A block, merged from its parts.
#[derive(Clone, Debug, PartialEq)]
pub struct Together {
    /// The sum of the parts of the load that count.
    pub outcome: Outcome,
    /// The largest share of the measurement for which one of their workers was busy.
    pub busiest_worker: Option<f64>,
    /// Every part, in the order of names.
    pub agents: Vec<AgentPart>,
    /// The server, as it was seen on its machine; or the reason why it was not.
    pub watched: Result<Watched, String>,
    /// The replies that the server sent in the measured window to all parts, including those that do not count; `None`
    /// if some part is unknown.
    pub replies: Option<u64>,
}

impl Together {
    /// Merges the parts of `closed`. Leaves out those that are not trusted, provided that the others have at least half
    /// of the load. Otherwise everything measured counts: the block is invalid in any case, and its numbers show why.
    pub fn of(closed: &Closed) -> Self {
        let doubts_of = |seat: &Seat| {
            let mut decided =
                closed.close.slots.iter().filter(|decided| decided.agent == seat.agent);
            decided.next().map_or_else(Vec::new, |decided| decided.doubts.clone())
        };
        let (mut load, mut watches, mut agents) = (Vec::new(), Vec::new(), Vec::new());
        for (seat, slot) in closed.parts() {
            let part = part(seat, slot, &doubts_of(seat));
            agents.push(match seat.kind {
                Kind::Load | Kind::Probe => {
                    let (part, counted) = read(part, slot, measured);
                    load.push((part.clone(), counted));
                    part
                }
                Kind::Watch => {
                    let (part, watched) = read(part, slot, looked);
                    watches.push((part.clone(), watched));
                    part
                }
            });
        }
        if lacks_publishers(&load) {
            let others = load.iter_mut().map(|(part, _)| part).chain(&mut agents);
            for part in others.filter(|part| part.counts()) {
                part.doubts.push(NO_PUBLISHERS.to_owned());
            }
        }
        let takes_all = record::takes_all(load.iter().map(|(part, _)| part));
        let mut outcome = Outcome::default();
        let mut busiest_worker: Option<f64> = None;
        for (part, counted) in &load {
            let counts = part.counts() || takes_all && part.task.is_load();
            if let Some(counted) = counted.as_ref().filter(|_| counts) {
                outcome.merge(counted);
                busiest_worker =
                    busiest_worker.into_iter().chain(part.busiest_worker_fraction).reduce(f64::max);
            }
        }
        let clock_bound = outcome.deliveries.as_mut().and_then(|it| it.clock_bound.as_mut());
        clock_bound.into_iter().for_each(|bound| *bound = apart(&closed.go));
        let replies = |(part, counted): &(AgentPart, Option<Outcome>)| {
            let counted = counted.as_ref().filter(|_| part.end == PartEnd::Measured)?;
            Some(counted.traffic.replies)
        };
        let replies = load.iter().map(replies).sum();
        Self { outcome, busiest_worker, agents, watched: watched(watches), replies }
    }
}

/// True if machines share rooms, and the part that publishes does not count: the others derive from its schedule what
/// their receivers are owed, and do not know how much of it was sent.
fn lacks_publishers(load: &[(AgentPart, Option<Outcome>)]) -> bool {
    let shares =
        |counted: &Outcome| counted.deliveries.as_ref().is_some_and(|it| it.clock_bound.is_some());
    let publishes = |part: &AgentPart| part.counts() && part.planned > Some(0);
    load.iter().filter_map(|(_, counted)| counted.as_ref()).any(shares)
        && !load.iter().any(|(part, _)| publishes(part))
}

/// The most by which the clocks of two agents differ until the end of a block: each is known within a bound at the
/// begin, and drifts from then on.
fn apart(go: &Go) -> Nanos {
    let seats = go.roster.iter().filter(|seat| seat.kind.is_load());
    let mut bounds: Vec<Nanos> = seats.map(|seat| seat.bound + drift(go.work.lasts)).collect();
    bounds.sort_unstable();
    bounds.into_iter().rev().take(2).fold(Nanos::ZERO, |sum, bound| sum + bound)
}

/// The views of all watches together. It is unknown if one of them is missing, or if its clock is in doubt: then the
/// window that it watched is not that of the load.
fn watched(watches: Vec<(AgentPart, Option<Watched>)>) -> Result<Watched, String> {
    let mut together: Option<Watched> = None;
    for (part, watched) in watches {
        let name = &part.agent;
        let Some(watched) = watched.filter(|_| part.is_trusted()) else {
            let mut reason = match part.end {
                PartEnd::Measured | PartEnd::Stopped => "stopped before the end".to_owned(),
                PartEnd::NotStarted => "did not begin".to_owned(),
                PartEnd::Lost => "was lost".to_owned(),
            };
            if !part.doubts.is_empty() {
                reason = format!("is not trusted: {}", part.doubts.join("; "));
            }
            return Err(format!("{name}, which watched the server, {reason}"));
        };
        together = Some(match together {
            Some(others) => others.with(watched),
            None => watched,
        });
    }
    together.ok_or_else(|| NOT_WATCHED.to_owned())
}

/// A part, before its measurements are read.
fn part(seat: &Seat, slot: &Slot, doubts: &[Doubt]) -> AgentPart {
    let end = match slot.kind() {
        SlotKind::Result => PartEnd::Measured,
        SlotKind::Aborted => PartEnd::Stopped,
        SlotKind::NotStarted => PartEnd::NotStarted,
        SlotKind::Lost => PartEnd::Lost,
    };
    AgentPart {
        agent: seat.agent.to_string(),
        task: seat.kind,
        version: seat.version.clone(),
        end,
        clock_bound_ns: Some(seat.bound.0),
        doubts: doubts.iter().map(|doubt| in_words(*doubt).to_owned()).collect(),
        ..AgentPart::default()
    }
}

/// The part with its measurements, which `of` adds.
fn read<T: DeserializeOwned>(
    part: AgentPart,
    slot: &Slot,
    of: fn(AgentPart, &PartResult, &T) -> AgentPart,
) -> (AgentPart, Option<T>) {
    let Some(result) = slot.part() else { return (part, None) };
    match unpack(&result.packed) {
        Ok(counted) => (of(began(part, result), result, &counted), Some(counted)),
        Err(error) => {
            let doubts =
                [part.doubts, vec![format!("its result cannot be read: {error}")]].concat();
            (AgentPart { doubts, ..part }, None)
        }
    }
}

/// The part with its late begin, and the doubt that follows from it.
fn began(mut part: AgentPart, PartResult { late, .. }: &PartResult) -> AgentPart {
    part.late_ns = Some(late.0);
    if *late > limits::LATE_MAX {
        part.doubts.push(format!("it began {late} late"));
    }
    part
}

/// The part of a watch has no numbers of its own.
fn looked(part: AgentPart, _: &PartResult, _: &Watched) -> AgentPart {
    part
}

/// The part with its numbers, and the doubts that follow from them: its agent had no CPU time left, or it stalled or
/// sent late for so long that a run of this part alone would be invalid. What would merely degrade such a run is not a
/// doubt: the part counts, and the verdict of the block weighs its stalls and lags.
fn measured(part: AgentPart, result: &PartResult, outcome: &Outcome) -> AgentPart {
    let quantile = |times: &Histogram, q| times.quantile(q).ok().map(|time| time.0);
    let times = outcome.traffic.times();
    let health = &result.health;
    let mut doubts = part.doubts.clone();
    if outcome.traffic.open_loop.is_some()
        && let Some(busy) = health.busiest_worker.filter(|busy| *busy >= BUSY_MAX)
    {
        doubts.push(format!("one of its workers was busy {:.0} % of the time", busy * 100.0));
    }
    if health.throttled > 0 {
        doubts.push(format!("its control group was throttled (periods: {})", health.throttled));
    }
    doubts.extend(record::generator_faults(&Block::of(outcome), health.timer_floor));
    AgentPart {
        planned: Some(result.planned),
        sent: Some(result.sent),
        ok: Some(outcome.measured.ok),
        delivered: outcome.deliveries.as_ref().map(|deliveries| deliveries.counts.delivered),
        p50_ns: quantile(times, 0.5),
        p99_ns: quantile(times, 0.99),
        busiest_worker_fraction: health.busiest_worker,
        send_lag_p99_ns: health.send_lag_p99.map(|lag: Nanos| lag.0),
        stalls: health.stalls,
        throttled_periods: health.throttled,
        retransmitted_segments: health.retransmits,
        doubts,
        ..part
    }
}

fn in_words(doubt: Doubt) -> &'static str {
    match doubt {
        Doubt::ClockJumped => "its clock jumped: its machine or its process was probably suspended",
        Doubt::ClockUnknown => "its clock is not known: no exchange with it was answered",
    }
}

/// The reason why nothing is known about the server if no watch took part.
const NOT_WATCHED: &str = "nobody watches the server on its machine: start `wirebench watch --join FILE --port PORT` there";

const NO_PUBLISHERS: &str =
    "the agent that publishes is missing, so it is not known how much of its schedule was sent";

/// The size in bytes up to which a part may inflate by any factor.
const SMALL: u64 = 1 << 20;

/// A worker of an open loop that is busier than this delays what it sends.
const BUSY_MAX: f64 = 0.9;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{
        BlockId, BlockWork, Close, Decided, Entry, Health, Instance, Name, digest,
    };
    use proptest::prelude::*;
    use record::{
        Counts, DeliveryCounts, DeliveryOutcome, ErrorClass, Handshakes, OpenLoopTimes, Origin,
        Second, Stalls, Tally, TlsParameters, Traffic,
    };
    use std::num::NonZeroU32;
    use std::sync::Arc;
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
                let read: Outcome = unpack(&pack(&outcome)).unwrap();
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
        assert!(matches!(unpack::<Outcome>(b"no part"), Err(UnpackError::Other(_))));
        let mut packed = Vec::new();
        ZlibEncoder::new(&vec![b' '; 2 << 20][..], Compression::best())
            .read_to_end(&mut packed)
            .unwrap();
        assert!(matches!(unpack::<Outcome>(&packed), Err(UnpackError::TooLarge { .. })));
        for cut in 0..8 {
            let whole = pack(&outcome(0, &[1, 2, 3]));
            assert!(unpack::<Outcome>(&whole[..whole.len() * cut / 8]).is_err());
        }
    }

    /// A seat: the name, the task, the content of the slot, and the doubts about it.
    type Taken<'a> = (&'a str, Kind, Option<Vec<u8>>, &'a [Doubt]);

    /// A block of these seats.
    fn closed(parts: &[Taken<'_>]) -> Closed {
        let name = |text: &str| -> Name { text.parse().unwrap() };
        let block = BlockId { number: 0, attempt: 0 };
        let seat = |(agent, kind, ..): &Taken<'_>| Seat {
            agent: name(agent),
            instance: Instance(1),
            kind: *kind,
            part: spec::Part { index: 0, weights: vec![NonZeroU32::MIN] },
            start_ns: 0,
            bound: Nanos(64),
            version: (*kind == Kind::Probe).then(|| "0.2.0".to_owned()),
        };
        let slot = |packed: &Option<Vec<u8>>| match packed {
            Some(packed) => Slot::Result(PartResult {
                instance: Instance(1),
                late: Nanos::ZERO,
                health: Health::default(),
                planned: unpack::<Outcome>(packed).map_or(0, |outcome| outcome.planned),
                sent: 0,
                packed: packed.clone().into(),
            }),
            None => Slot::Lost { by: name("c"), silent: None },
        };
        let slots: Vec<Slot> = parts.iter().map(|(_, _, packed, _)| slot(packed)).collect();
        let decided = parts.iter().zip(&slots).map(|((agent, _, _, doubts), slot)| Decided {
            agent: name(agent),
            kind: slot.kind(),
            digest: digest(&Entry::Slot(Arc::new(slot.clone()))),
            doubts: doubts.to_vec(),
        });
        let close = Close { block, slots: decided.collect() };
        let roster = parts.iter().map(seat).collect();
        let work = BlockWork { workload: 0, round: 0, load: None, lasts: Nanos(1) };
        let go = Arc::new(Go { block, work, roster });
        Closed { go, close, slots: slots.into_iter().map(Arc::new).collect() }
    }

    #[test]
    fn what_a_watch_saw_is_no_part_of_the_load_and_one_that_is_lost_costs_nothing_else() {
        let heavy = || Some(pack(&outcome(0, &[1, 2, 3])));
        let watched = Watched { cpu_ns: Some(9), ..Watched::default() };
        let saw = || Some(pack(&watched));
        let load = ("a0", Kind::Load, heavy(), &[][..]);
        let watch = |packed| ("w0", Kind::Watch, packed, &[][..]);
        let whole = closed(&[load.clone(), watch(saw())]);
        let together = Together::of(&whole);
        assert_eq!((together.watched, together.replies), (Ok(watched.clone()), Some(3)));
        assert_eq!((together.outcome.planned, whole.is_marked()), (3, false));
        assert_eq!(together.agents[1].task, Kind::Watch);

        let lost = closed(&[load.clone(), watch(None)]);
        let together = Together::of(&lost);
        let reason = "w0, which watched the server, was lost";
        assert_eq!((together.watched, together.replies), (Err(reason.to_owned()), Some(3)));
        assert!(!lost.is_marked(), "the load is whole");

        let jumped = ("w0", Kind::Watch, saw(), &[Doubt::ClockJumped][..]);
        let reason = Together::of(&closed(&[load.clone(), jumped])).watched.unwrap_err();
        assert!(
            reason.starts_with("w0, which watched the server, is not trusted: its clock jumped")
        );

        let of_two = Together::of(&closed(&[watch(saw()), ("w1", Kind::Watch, saw(), &[])]));
        assert_eq!(of_two.watched.unwrap().cpu_ns, Some(18));
        let missing = closed(&[load.clone(), ("a1", Kind::Load, None, &[]), watch(saw())]);
        assert_eq!(Together::of(&missing).replies, None, "what a1 was answered is not known");
        assert!(missing.is_marked());
        let nobody = Together::of(&closed(&[load])).watched.unwrap_err();
        assert!(nobody.contains("`wirebench watch --join FILE --port PORT`"), "{nobody}");
    }

    #[test]
    fn a_part_that_stood_still_or_sent_late_is_left_out_as_long_as_half_of_the_load_is_trusted() {
        let good = |origin| outcome(origin, &[1_000_000; 2000]);
        let stood = |origin, affected| {
            let (count, longest_ns) = (1, 300_000_000);
            let first = Vec::new();
            let stalls = Stalls { count, longest_ns, total_ns: longest_ns, affected, first };
            Outcome { stalls, ..good(origin) }
        };
        let late = |origin, lag| {
            let (mut response, mut lags) = (Histogram::new(), Histogram::new());
            response.record_all(Nanos(1_000_000), 2000);
            lags.record_all(Nanos(lag), 2000);
            let open_loop = Some(OpenLoopTimes { response, lag: lags, ..OpenLoopTimes::default() });
            let traffic = Traffic { open_loop, ..good(origin).traffic };
            Outcome { traffic, ..good(origin) }
        };
        let names = ["a0", "a1", "a2", "a3"];
        let together = |outcomes: &[Outcome]| {
            let seat = |(name, outcome): (&&'static str, &Outcome)| {
                (*name, Kind::Load, Some(pack(outcome)), &[][..])
            };
            let parts: Vec<Taken<'_>> = names.iter().zip(outcomes).map(seat).collect();
            Together::of(&closed(&parts))
        };
        let doubts = |together: &Together| -> Vec<usize> {
            together.agents.iter().map(|part| part.doubts.len()).collect()
        };
        // One message in a hundred is too few for a doubt, and so is a lag of half of a response time.
        let some = together(&[stood(0, 19), good(1), good(2)]);
        assert_eq!((doubts(&some), some.outcome.planned), (vec![0, 0, 0], 6000));
        assert_eq!(some.outcome.stalls.affected, 19, "the verdict of the block weighs it");
        let half = together(&[late(0, 500_000), late(1, 1000)]);
        assert_eq!((doubts(&half), half.outcome.planned), (vec![0, 0], 4000));

        let one = together(&[stood(0, 20), good(1), good(2)]);
        assert_eq!((doubts(&one), one.outcome.planned), (vec![1, 0, 0], 4000));
        assert_eq!(one.outcome, Outcome::merged(&[good(2), good(1)]));
        let words = "it stood still: 1 gap, the longest 300 ms";
        assert!(one.agents[0].doubts[0].starts_with(words), "{:?}", one.agents[0]);
        assert_eq!((one.agents[0].planned, one.replies), (Some(2000), Some(6000)));
        let two = together(&[late(0, 600_000), good(1), stood(2, 20), good(3)]);
        assert_eq!((doubts(&two), two.outcome.planned), (vec![1, 0, 1, 0], 4000));
        assert!(two.agents[0].doubts[0].starts_with("it sent late: "), "{:?}", two.agents[0]);

        let most = together(&[stood(0, 20), late(1, 600_000), good(2)]);
        assert_eq!((doubts(&most), most.outcome.planned), (vec![1, 1, 0], 6000));
        let all = together(&[stood(0, 2000), stood(1, 20)]);
        assert_eq!((all.outcome.planned, all.outcome.stalls.affected), (4000, 2020));
    }

    #[test]
    fn of_parts_that_planned_no_message_those_that_are_not_trusted_are_left_out() {
        let idle = |origin| {
            let mut idle = Outcome { planned: 0, ..outcome(origin, &[]) };
            idle.connections.opened = 1;
            pack(&idle)
        };
        let jumped = &[Doubt::ClockJumped][..];
        let together = |doubts: [&'static [Doubt]; 3]| {
            let names = ["a0", "a1", "a2"];
            let seats = (0..).zip(names.iter().zip(doubts));
            let parts: Vec<Taken<'_>> = seats
                .map(|(origin, (name, doubts))| (*name, Kind::Load, Some(idle(origin)), doubts))
                .collect();
            Together::of(&closed(&parts))
        };
        let opened = |together: &Together| together.outcome.connections.opened;
        assert_eq!(opened(&together([&[], &[], &[]])), 3);
        assert_eq!(opened(&together([jumped, &[], jumped])), 1);
        let none = together([jumped, jumped, jumped]);
        assert_eq!((opened(&none), none.replies), (0, Some(0)));
    }

    #[test]
    fn a_lag_that_the_timers_of_its_machine_explain_is_no_doubt() {
        let (mut response, mut lag) = (Histogram::new(), Histogram::new());
        response.record_all(Nanos(100_000), 2000);
        lag.record_all(Nanos(60_000), 2000);
        let open_loop = Some(OpenLoopTimes { response, lag, ..OpenLoopTimes::default() });
        let traffic = Traffic { open_loop, ..Traffic::default() };
        let outcome = Outcome { traffic, ..Outcome::default() };
        let with = |timer_floor: Option<u64>| {
            let timer_floor = timer_floor.map(|floor| record::TimerFloor {
                asked_ns: 1_000_000,
                overshoot_p50_ns: floor,
                overshoot_p99_ns: floor,
            });
            let result = PartResult {
                instance: Instance(1),
                late: Nanos::ZERO,
                health: Health { timer_floor, ..Health::default() },
                planned: 2000,
                sent: 2000,
                packed: Vec::new().into(),
            };
            measured(AgentPart::default(), &result, &outcome).doubts.len()
        };
        assert_eq!((with(None), with(Some(5_900)), with(Some(6_100))), (1, 1, 0));
    }

    #[test]
    fn machines_that_share_rooms_say_how_far_their_clocks_are_apart_and_need_the_one_that_publishes()
     {
        let shares = |origin, planned, delivered| {
            let counts = DeliveryCounts { owed: delivered, delivered, ..DeliveryCounts::default() };
            let clock_bound = Some(Nanos::ZERO);
            let deliveries =
                Some(DeliveryOutcome { counts, clock_bound, ..DeliveryOutcome::default() });
            Some(pack(&Outcome { planned, deliveries, ..outcome(origin, &[1]) }))
        };
        let publisher = ("a0", Kind::Load, shares(0, 1, 5), &[][..]);
        let receiver = ("a1", Kind::Load, shares(1, 0, 7), &[][..]);
        let mut both = closed(&[publisher, receiver.clone()]);
        let together = Together::of(&both);
        let deliveries = together.outcome.deliveries.unwrap();
        assert_eq!((deliveries.counts.owed, deliveries.clock_bound), (12, Some(Nanos(128))));
        let delivered: Vec<_> = together.agents.iter().map(|part| part.delivered).collect();
        assert_eq!(delivered, [Some(5), Some(7)]);
        // Two clocks that drift by 50 millionths for ten seconds.
        let go = Arc::get_mut(&mut both.go).unwrap();
        go.work.lasts = Nanos::from_secs(10);
        assert_eq!(apart(go), Nanos(128) + Nanos::from_millis(1));

        let lost = Together::of(&closed(&[("a0", Kind::Load, None, &[]), receiver]));
        assert_eq!(lost.outcome, Outcome::default());
        assert_eq!(lost.agents[1].doubts, [NO_PUBLISHERS]);
    }

    #[test]
    fn a_prober_is_answered_too_and_its_times_and_version_are_kept() {
        let heavy = ("a0", Kind::Load, Some(pack(&outcome(0, &[1, 2, 3]))), &[][..]);
        let light = ("p0", Kind::Probe, Some(pack(&outcome(1, &[9]))), &[][..]);
        let together = Together::of(&closed(&[heavy, light]));
        assert_eq!((together.outcome.measured.ok, together.replies), (3, Some(4)));
        let versions: Vec<_> = together.agents.iter().map(|part| part.version.as_deref()).collect();
        assert_eq!(versions, [None, Some("0.2.0")]);
    }
}
