//! The division of a workload among workers: together, the parts miss nothing and repeat nothing.

use load::{
    Arrival, Content, Due, Expect, Lifetime, Phases, Pick, Schedule, Spacing, Stop, Timeouts,
    Workload,
};
use std::collections::HashSet;
use std::num::NonZeroU32;
use units::{Bytes, Nanos, Random};

#[test]
fn what_is_counted_adds_up_exactly_whatever_the_arrival() {
    let mut random = Random::new(3);
    let mut draw = |max: u32| number(1 + u32::try_from(random.below(max as usize)).unwrap());
    for round in 0..3000 {
        let (connections, workers, bound) = (draw(300), draw(20), draw(50));
        let stop = match round % 3 {
            0 => Stop::After(Nanos::from_secs(1)),
            1 => Stop::Clients(draw(60).into()),
            _ => Stop::Messages(draw(60).into()),
        };
        let schedule = Schedule::new("7/3s".parse().unwrap(), Spacing::Uniform, connections);
        for arrival in [
            Arrival::Closed { in_flight: bound, in_flight_max: None },
            Arrival::Closed { in_flight: NonZeroU32::MIN, in_flight_max: Some(bound) },
            Arrival::Open { schedule: schedule.clone(), pick: Pick::Own, in_flight_max: bound },
            Arrival::Sessions { schedule, think: Nanos::from_secs(1) },
        ] {
            let whole = workload(connections, arrival.clone(), stop);
            let parts = whole.split(workers);
            assert!(!parts.is_empty() && parts.len() <= workers.get() as usize);
            let all = Totals::of(&[whole]);
            assert_eq!(Totals::of(&parts), all, "{connections} {workers} {arrival:?} {stop:?}");
            for part in &parts {
                has_the_connections_of_its_schedule(part);
            }
        }
    }
}

#[test]
fn the_messages_of_all_workers_are_those_of_the_whole() {
    for (connections, workers, bound) in [(10, 3, 7), (10, 8, 3), (1, 4, 100), (64, 2, 1000)] {
        let schedule =
            Schedule::new("999983/s".parse().unwrap(), Spacing::Uniform, number(connections));
        for arrival in [
            Arrival::Open {
                schedule: schedule.clone(),
                pick: Pick::Any,
                in_flight_max: number(bound),
            },
            Arrival::Sessions { schedule, think: Nanos::ZERO },
        ] {
            let stop = Stop::After(Nanos::from_secs(1));
            let whole = workload(number(connections), arrival, stop);
            let mut found: Vec<Due> = whole.split(number(workers)).iter().flat_map(dues).collect();
            found.sort_by_key(|due| due.at);
            assert_eq!(found, dues(&whole), "{connections} connections, {workers} workers");
        }
    }
}

#[test]
fn no_two_workers_of_a_poisson_process_have_the_same_arrivals() {
    let schedule = Schedule::new("1000/s".parse().unwrap(), Spacing::Poisson, number(64));
    let arrival = Arrival::Open { schedule, pick: Pick::Any, in_flight_max: number(64) };
    let parts = workload(number(64), arrival, Stop::After(Nanos::from_secs(1))).split(number(64));
    let first: HashSet<Nanos> =
        parts.iter().map(|part| arrivals_of(part).arrivals(part.seed).next_due().at).collect();
    assert_eq!(first.len(), 64);
}

#[test]
fn messages_carry_headers_where_replies_are_echoes_that_have_room_for_them() {
    let schedule = Schedule::new("1/s".parse().unwrap(), Spacing::Uniform, number(1));
    let one = number(1);
    let closed = Arrival::Closed { in_flight: one, in_flight_max: None };
    let open = Arrival::Open { schedule: schedule.clone(), pick: Pick::Any, in_flight_max: one };
    let sessions = Arrival::Sessions { schedule, think: Nanos::ZERO };
    let exactly = Expect::Exactly(b"Pong".as_slice().into());
    let table = [
        (&open, Expect::Echo, 16, true),
        (&open, Expect::Oracle, 24, true),
        (&sessions, Expect::Echo, 16, true),
        (&open, Expect::Echo, 15, false),
        (&closed, Expect::Echo, 64, false),
        (&open, Expect::Anything, 64, false),
        (&open, exactly, 64, false),
    ];
    for (arrival, expect, size, carries) in table {
        let arrival = arrival.clone();
        let content = Content::binary(Bytes(size), 7);
        let stop = Stop::After(Nanos::from_secs(1));
        let workload = Workload { expect, content, ..workload(one, arrival, stop) };
        assert_eq!(workload.carries_headers(), carries, "{workload:?}");
    }
}

/// The sum of all parts.
#[derive(Debug, Default, PartialEq)]
struct Totals {
    connections: u32,
    in_flight_max: u32,
    stop: u64,
    scheduled: u32,
}

impl Totals {
    fn of(parts: &[Workload]) -> Self {
        let mut totals = Self::default();
        for part in parts {
            totals.connections += part.connections.get();
            totals.stop += match part.phases.stop {
                Stop::After(_) => 0,
                Stop::Clients(count) | Stop::Messages(count) => count.get(),
            };
            let (in_flight_max, scheduled) = match &part.arrival {
                Arrival::Closed { in_flight_max, .. } => {
                    (in_flight_max.map_or(0, NonZeroU32::get), 0)
                }
                Arrival::Open { schedule, in_flight_max, .. } => {
                    (in_flight_max.get(), schedule.stripe.connections())
                }
                Arrival::Sessions { schedule, .. } => (0, schedule.stripe.connections()),
                Arrival::Think { .. } => (0, 0),
            };
            totals.in_flight_max += in_flight_max;
            totals.scheduled += scheduled;
        }
        totals
    }
}

fn has_the_connections_of_its_schedule(part: &Workload) {
    if let Arrival::Open { schedule, .. } | Arrival::Sessions { schedule, .. } = &part.arrival {
        assert_eq!(schedule.stripe.connections(), part.connections.get());
    }
}

/// Messages due in the first 10 ms, each with the number of its connection among all.
fn dues(part: &Workload) -> Vec<Due> {
    let schedule = arrivals_of(part);
    let mut arrivals = schedule.arrivals(part.seed);
    let mut dues = Vec::new();
    while arrivals.next_due().at < Nanos::from_millis(10) {
        let Due { at, connection } = arrivals.next_due();
        dues.push(Due { at, connection: schedule.stripe.number(connection) });
        arrivals.advance();
    }
    dues
}

fn arrivals_of(part: &Workload) -> &Schedule {
    match &part.arrival {
        Arrival::Open { schedule, .. } | Arrival::Sessions { schedule, .. } => schedule,
        Arrival::Closed { .. } | Arrival::Think { .. } => panic!("a closed loop has no schedule"),
    }
}

fn workload(connections: NonZeroU32, arrival: Arrival, stop: Stop) -> Workload {
    let second = Nanos::from_secs(1);
    Workload {
        connections,
        rooms: None,
        connect_rate: None,
        lifetime: Lifetime::Long,
        closing: load::Closing::Complete,
        arrival,
        content: Content::binary(Bytes(64), 7),
        expect: Expect::Echo,
        requests: None,
        phases: Phases { warm_up: Nanos::ZERO, stop, drain: second },
        timeouts: Timeouts::all(second),
        last_replies: false,
        seed: 7,
    }
}

fn number(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).unwrap()
}
