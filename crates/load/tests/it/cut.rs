//! The parts of machines: together they make up the workload, and each is divided again among its workers.

use load::{
    Arrival, Content, CutError, Due, Expect, Lifetime, Phases, Pick, RoomShare, Schedule, Spacing,
    Stop, Timeouts, Workload,
};
use spec::{Conduct, Part, Rooms};
use std::num::NonZeroU32;
use units::{Bytes, Nanos, Random};

#[test]
fn the_arrivals_of_all_workers_of_all_machines_are_those_of_the_whole() {
    let profiles = ["7/3s", "999983/s", "0/s..4001/s over 9s", "50/s for 5s, 5k/s for 100ms, 50/s"];
    let mut random = Random::new(20);
    for round in 0..400 {
        let weights = weights(&mut random);
        let connections = 60 + random.next_u32() % 100;
        let pick = if round % 2 == 0 { Pick::Any } else { Pick::Own };
        let whole = open(profiles[round % 4], connections, pick);
        let expected: Vec<Nanos> = dues(&whole).map(|due| due.at).take(300).collect();
        let end = *expected.last().unwrap();
        let mut found: Vec<Nanos> = parts(&whole, &weights)
            .flat_map(|part| part.split(number(1 + random.next_u32() % 3)))
            .flat_map(|part| {
                dues(&part).map(|due| due.at).take_while(|at| *at <= end).collect::<Vec<_>>()
            })
            .collect();
        found.sort_unstable();
        assert_eq!(found[..expected.len()], expected, "{weights:?} {connections} {pick:?}");
        assert!(
            found[expected.len()..].iter().all(|at| *at == end),
            "{weights:?} {connections} {pick:?}"
        );
    }
}

#[test]
fn equal_machines_take_turns_with_arrivals_and_a_bot_keeps_its_own() {
    let whole = open("10/s", 9, Pick::Any);
    let second: Vec<u64> = parts(&whole, &[1, 1, 1])
        .nth(1)
        .map(|part| dues(&part).map(|due| due.at.0 / 1_000_000).take(4).collect())
        .unwrap();
    assert_eq!(second, [100, 400, 700, 1000], "arrival k goes to machine k mod 3");
    // Ten bots: the first machine of two has the even ones, each of which has its turn in each cycle of 1 s.
    let bots = open("10/s", 10, Pick::Own);
    let first: Vec<Due> =
        parts(&bots, &[1, 1]).next().map(|part| dues(&part).take(6).collect()).unwrap();
    let expected = [(0, 0), (200, 1), (400, 2), (600, 3), (800, 4), (1000, 0)];
    let expected = expected.map(|(at, connection)| Due { at: Nanos::from_millis(at), connection });
    assert_eq!(first, expected);
}

#[test]
fn whatever_is_counted_adds_up() {
    let mut random = Random::new(4);
    for round in 0..1000 {
        let weights = weights(&mut random);
        let (connections, bound) =
            (60 + random.next_u32() % 100, number(60 + random.next_u32() % 40));
        let stop = match round % 3 {
            0 => Stop::After(Nanos::from_secs(1)),
            1 => Stop::Clients(number(60 + random.next_u32() % 1000).into()),
            _ => Stop::Messages(number(60 + random.next_u32() % 1000).into()),
        };
        let whole = Workload {
            phases: Phases { stop, ..open("7/s", connections, Pick::Own).phases },
            ..match round % 2 {
                0 => open("7/s", connections, Pick::Any),
                _ => Workload {
                    arrival: Arrival::Closed {
                        in_flight: NonZeroU32::MIN,
                        in_flight_max: Some(bound),
                    },
                    ..open("7/s", connections, Pick::Any)
                },
            }
        };
        let parts: Vec<Workload> = parts(&whole, &weights).collect();
        let counts = |of: &dyn Fn(&Workload) -> u64| parts.iter().map(of).sum::<u64>();
        assert_eq!(counts(&|part| part.connections.get().into()), u64::from(connections));
        assert_eq!(counts(&in_flight), in_flight(&whole));
        assert_eq!(
            counts(&stopped_after),
            if matches!(stop, Stop::After(_)) { 0 } else { stopped_after(&whole) }
        );
        let mut seeds: Vec<u64> = parts.iter().map(|part| part.seed).collect();
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), parts.len(), "no two machines draw the same numbers");
    }
}

#[test]
fn poisson_parts_have_their_shares_of_the_rate() {
    let mut whole = open("1000/s", 40, Pick::Any);
    if let Arrival::Open { schedule, .. } = &mut whole.arrival {
        schedule.spacing = Spacing::Poisson;
    }
    let until = Nanos::from_secs(100);
    let counts: Vec<usize> = parts(&whole, &[3, 1])
        .map(|part| dues(&part).take_while(|due| due.at < until).count())
        .collect();
    // Three standard deviations of 75 000 and 25 000.
    assert!(counts[0].abs_diff(75_000) < 822 && counts[1].abs_diff(25_000) < 475, "{counts:?}");
}

#[test]
fn bots_with_phases_have_one_message_in_each_interval_on_every_machine() {
    let mut whole = open("40/s", 40, Pick::Own);
    if let Arrival::Open { schedule, .. } = &mut whole.arrival {
        schedule.spacing = Spacing::Phases;
    }
    for part in parts(&whole, &[2, 1, 1]) {
        let bots = part.connections.get() as usize;
        for second in 0..3_u64 {
            let is_in = |due: &Due| due.at.0 / 1_000_000_000 == second;
            let mut sent: Vec<u32> =
                dues(&part).take(4 * bots).filter(is_in).map(|due| due.connection).collect();
            sent.sort_unstable();
            assert_eq!(sent, (0..part.connections.get()).collect::<Vec<_>>());
        }
    }
}

#[test]
fn machines_that_share_rooms_have_each_connection_once_and_know_what_all_publish() {
    let mut random = Random::new(17);
    for _ in 0..200 {
        let [count, publishers] = [5, 3].map(|most| 1 + random.next_u32() % most);
        let receivers = 60 + random.next_u32() % 40;
        let weights = loop {
            let weights = weights(&mut random);
            let is_even = weights.iter().all(|weight| *weight == weights[0]);
            if weights.len() > 1 && !(is_even && (count as usize).is_multiple_of(weights.len())) {
                break weights;
            }
        };
        let whole = in_rooms(count, publishers, receivers);
        let rooms = whole.rooms.unwrap().all();
        let published = |workload: &Workload| -> Vec<(Nanos, u32)> {
            let Arrival::Open { schedule, .. } = &workload.arrival else { unreachable!() };
            let dues = dues(workload).take_while(|due| due.at < Nanos::from_secs(1));
            dues.map(|due| (due.at, schedule.stripe.number(due.connection))).collect()
        };
        let expected = published(&whole);
        let (mut numbers, mut senders, mut owed) = (Vec::new(), 0, 0);
        for part in parts(&whole, &weights) {
            let mut known = Vec::new();
            for worker in part.split(number(1 + random.next_u32() % 3)) {
                let share = worker.rooms.unwrap();
                assert!(share.is_divided());
                assert_eq!(share.connections(), worker.connections.get());
                for place in 0..share.connections() {
                    assert_eq!(share.place(share.number(place)), Some(place));
                    let first = share.number(share.publishers().end + share.room(place));
                    assert_eq!(rooms.room_of(share.number(place)), rooms.room_of(first));
                    numbers.push(share.number(place));
                }
                senders += share.publishers().len();
                let each = share.connections() - share.publishers().end;
                for (at, publisher) in published(&worker) {
                    let (room, _) = share.publisher(publisher).expect("the room is ours");
                    assert_eq!(each % share.count(), 0);
                    assert!(room < share.count());
                    owed += u64::from(each / share.count());
                    known.push((at, publisher));
                }
            }
            known.sort_unstable_by_key(|(at, _)| *at);
            assert_eq!(known, expected, "{weights:?}");
        }
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..rooms.connections().get()), "{weights:?}");
        assert_eq!(senders, rooms.all_publishers().get() as usize);
        assert_eq!(owed, expected.len() as u64 * u64::from(receivers));
    }
}

#[test]
fn rooms_stay_whole_where_machines_can_have_equally_many() {
    let whole = in_rooms(6, 1, 4);
    for part in parts(&whole, &[2, 2, 2]) {
        let share = part.rooms.unwrap();
        assert_eq!((share.count(), share.connections(), share.is_divided()), (2, 10, false));
    }
}

#[test]
fn rooms_that_machines_cannot_share_are_refused_with_the_next_thing_to_do() {
    let mut whole = in_rooms(1, 1, 9);
    let Arrival::Open { schedule, .. } = &mut whole.arrival else { unreachable!() };
    schedule.spacing = Spacing::Poisson;
    let words = cut(&whole, 0, &[1, 1]).unwrap_err().to_string();
    assert_eq!(
        words,
        "2 agents divide the receivers of each room, and only one of them knows random instants; use a multiple of 2 \
         rooms on agents of one weight, or uniform spacing"
    );
    let whole = Workload {
        phases: Phases { stop: Stop::Messages(number(9).into()), ..in_rooms(1, 1, 9).phases },
        ..in_rooms(1, 1, 9)
    };
    let words = cut(&whole, 0, &[1, 1]).unwrap_err().to_string();
    assert!(words.ends_with("or a duration"), "{words}");
    let error = cut(&in_rooms(1, 1, 2), 2, &[1, 1, 1]).unwrap_err();
    let what = "receivers of each room";
    assert_eq!(error, CutError::TooFew { what, total: 2, parts: 3 });
}

#[test]
fn skipping_comes_to_where_going_on_one_by_one_does() {
    let mut random = Random::new(9);
    for pick in [Pick::Any, Pick::Own] {
        for part in
            parts(&open("7/3s", 11, pick), &[3, 2, 1]).flat_map(|part| part.split(number(2)))
        {
            let at = Nanos(random.below(100_000_000_000) as u64);
            let Arrival::Open { schedule, .. } = &part.arrival else { unreachable!() };
            let mut skipped = schedule.arrivals(0);
            let count = skipped.skip_before(at);
            let expected = dues(&part).take_while(|due| due.at < at).count();
            assert_eq!(count, expected as u64, "{pick:?} {at}");
            assert_eq!(Some(skipped.next_due()), dues(&part).nth(expected));
        }
    }
}

#[test]
fn parts_with_nothing_to_do_are_refused_with_the_number() {
    let error = |connections, weights: &[u32]| {
        cut(&open("7/s", connections, Pick::Any), 2, weights).unwrap_err()
    };
    let what = "connections";
    assert_eq!(error(2, &[1, 1, 1]), CutError::TooFew { what, total: 2, parts: 3 });
    let words = error(2, &[1, 1, 1]).to_string();
    assert_eq!(
        words,
        "2 connections are too few for 3 agents: one of them would have none; use more, or fewer agents"
    );
}

fn weights(random: &mut Random) -> Vec<u32> {
    (0..=random.below(5)).map(|_| 1 + random.next_u32() % 4).collect()
}

/// Every part, in order.
fn parts<'a>(whole: &'a Workload, weights: &'a [u32]) -> impl Iterator<Item = Workload> + use<'a> {
    (0..).zip(weights).map(move |(index, _)| cut(whole, index, weights).unwrap())
}

fn cut(whole: &Workload, index: u32, weights: &[u32]) -> Result<Workload, CutError> {
    let weights = weights.iter().copied().map(number).collect();
    whole.cut(&Part { index, weights })
}

fn dues(part: &Workload) -> impl Iterator<Item = Due> + use<> {
    let Arrival::Open { schedule, .. } = &part.arrival else { unreachable!() };
    let mut arrivals = schedule.arrivals(part.seed);
    std::iter::repeat_with(move || {
        let due = arrivals.next_due();
        arrivals.advance();
        due
    })
}

fn in_flight(part: &Workload) -> u64 {
    match &part.arrival {
        Arrival::Open { in_flight_max, .. } => in_flight_max.get().into(),
        Arrival::Closed { in_flight_max, .. } => in_flight_max.map_or(0, |max| max.get().into()),
        Arrival::Sessions { .. } | Arrival::Think { .. } => 0,
    }
}

fn stopped_after(part: &Workload) -> u64 {
    match part.phases.stop {
        Stop::After(_) => 0,
        Stop::Clients(count) | Stop::Messages(count) => count.get(),
    }
}

fn open(rate: &str, connections: u32, pick: Pick) -> Workload {
    let schedule = Schedule::new(rate.parse().unwrap(), Spacing::Uniform, number(connections));
    Workload {
        connections: number(connections),
        rooms: None,
        connect_rate: None,
        lifetime: Lifetime::Long,
        closing: load::Closing::Complete,
        arrival: Arrival::Open { schedule, pick, in_flight_max: number(1000) },
        content: Content::binary(Bytes(64), 7),
        expect: Expect::Echo,
        requests: None,
        phases: Phases {
            warm_up: Nanos::ZERO,
            stop: Stop::After(Nanos::from_secs(1)),
            drain: Nanos::from_secs(1),
        },
        timeouts: Timeouts::all(Nanos::from_secs(1)),
        last_replies: false,
        seed: 7,
    }
}

/// Rooms in which messages are due at 997/s in all.
fn in_rooms(count: u32, publishers: u32, receivers: u32) -> Workload {
    let [count, publishers, receivers] = [count, publishers, receivers].map(number);
    let rooms = Rooms { count, publishers, receivers, conduct: Conduct::default() };
    let Arrival::Open { schedule, in_flight_max, .. } =
        open("997/s", rooms.all_publishers().get(), Pick::Own).arrival
    else {
        unreachable!()
    };
    Workload {
        rooms: Some(RoomShare::whole(rooms)),
        arrival: Arrival::Open { schedule, pick: Pick::Own, in_flight_max },
        ..open("7/s", rooms.connections().get(), Pick::Own)
    }
}

fn number(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).unwrap()
}
