//! The pace of a worker: which connection sends next, and when that was due, with exact numbers.

use load::{
    Arrival, Batch, Content, Expect, Lifetime, Next, Pace, Phases, Pick, Schedule, Spacing, Stop,
    Taken, Timeouts, Workload,
};
use std::num::{NonZeroU32, NonZeroU64};
use units::{Bytes, Instant, Nanos};

#[test]
fn in_a_closed_loop_a_reply_makes_the_next_message_due() {
    let mut pace = begun(closed(2, None), 2, Stop::After(ms(1000)));
    assert_eq!(sends(&mut pace), [untimed(0, 2), untimed(1, 2)]);
    assert_eq!(pace.replied(1, 1, at(5)), Next::Send(untimed(1, 1)));
    assert_eq!(pace.replied(0, 2, at(6)), Next::Send(untimed(0, 2)));
    assert_eq!((pace.in_flight(), pace.wake_at()), (4, Instant::NEVER));
    pace.drain(at(1000));
    assert_eq!(pace.replied(0, 2, at(1001)), Next::Others, "nothing is sent in the drain");
    assert!(!pace.is_idle());
    assert_eq!(pace.replied(1, 2, at(1002)), Next::Others);
    assert!(pace.is_idle());
}

#[test]
fn connections_take_turns_of_32_replies_where_few_messages_are_in_flight() {
    let mut pace = begun(closed(1, Some(1)), 3, Stop::After(ms(1000)));
    assert_eq!(sends(&mut pace), [untimed(0, 1)]);
    for turn in [0, 1, 2, 0] {
        for _ in 1..32 {
            assert_eq!(pace.replied(turn, 1, at(1)), Next::Send(untimed(turn, 1)));
        }
        assert_eq!(pace.replied(turn, 1, at(1)), Next::Others);
        assert_eq!(sends(&mut pace), [untimed((turn + 1) % 3, 1)]);
    }
}

#[test]
fn the_quota_of_a_closed_loop_is_sent_and_no_more() {
    let mut pace = begun(closed(2, None), 2, messages(5));
    assert_eq!(sends(&mut pace), [untimed(0, 2), untimed(1, 2)]);
    assert_eq!(pace.replied(0, 2, at(1)), Next::Send(untimed(0, 1)), "one is left of five");
    assert!(!pace.has_quota());
    assert_eq!(pace.replied(1, 2, at(2)), Next::Others);
    pace.take_back(0, 1);
    assert!(pace.has_quota(), "it was not sent after all");
}

#[test]
fn a_short_lived_client_is_served_when_all_its_messages_have_replies() {
    let each = Lifetime::RoundTrips(number(3));
    let mut pace = Pace::new(&workload(closed(2, None), 1, each, Stop::After(ms(1000))), true);
    pace.measure(at(0), at(1000));
    pace.start(at(0));
    let place = pace.join(at(0));
    assert_eq!(pace.opened(place, ms(2), at(2)), Next::Send(untimed(place, 2)));
    assert_eq!(pace.replied(place, 1, at(3)), Next::Send(untimed(place, 1)), "the third");
    assert_eq!(pace.replied(place, 1, at(4)), Next::Others);
    assert!(!pace.is_served(place));
    assert_eq!(pace.replied(place, 1, at(5)), Next::Served { session: None });
    assert_eq!(pace.left(place), None);
    assert_eq!(pace.join(at(6)), place, "the next client has its place");
}

#[test]
fn a_message_of_an_open_loop_waits_for_any_connection_and_keeps_its_due_time() {
    let mut pace = begun(open("1000/s", Pick::Any, 10), 2, Stop::After(ms(1000)));
    assert_eq!(due(&mut pace, at(2)), [Taken::Waits; 3]);
    assert_eq!(pace.take(at(2)), None);
    assert_eq!(sends(&mut pace), [timed(0, 0), timed(1, 1), timed(0, 2)], "in turns");
    assert_eq!(pace.wake_at(), at(3));
    assert_eq!(pace.replied(0, 2, at(2)), Next::Others, "the schedule alone makes messages due");
    assert_eq!(pace.in_flight(), 1);
}

#[test]
fn without_pipelining_a_message_waits_until_a_connection_is_free() {
    let load = workload(open("1000/s", Pick::Any, 10), 1, Lifetime::Long, Stop::After(ms(1000)));
    let mut pace = opened(Pace::new(&load, false), 1);
    assert_eq!(due(&mut pace, at(1)), [Taken::Waits; 2]);
    assert_eq!(sends(&mut pace), [timed(0, 0)]);
    assert_eq!(pace.waits(), 1);
    assert_eq!(pace.replied(0, 1, at(7)), Next::Others);
    let waited = Batch { possible: at(7), ..timed(0, 1) };
    assert_eq!(sends(&mut pace), [waited], "the wait until 7 ms is not our lag");
}

#[test]
fn beyond_the_bound_messages_are_unsent_and_counted_once() {
    let mut pace = begun(open("10k/s", Pick::Any, 3), 1, Stop::After(ms(1000)));
    let unsent = |from: u64, count| Taken::Unsent { due: Instant(from), count, gap: None };
    // The fourth is due at 0.3 ms. They are counted by the millisecond.
    let waits = Taken::Waits;
    let expected = [waits, waits, waits, unsent(300_000, 10), unsent(1_300_000, 8)];
    assert_eq!(due(&mut pace, at(2)), expected);
    assert!(pace.is_full());
    assert_eq!(sends(&mut pace).len(), 3);
    assert_eq!(pace.replied(0, 1, at(2)), Next::Others);
    assert_eq!(due(&mut pace, Instant(2_100_000)), [waits]);
}

#[test]
fn a_bot_sends_its_own_messages_whoever_else_is_free() {
    let mut pace = begun(open("1000/s", Pick::Own, 10), 3, Stop::After(ms(1000)));
    pace.left(1);
    assert_eq!(due(&mut pace, at(2)), [Taken::Waits; 3]);
    assert_eq!(sends(&mut pace), [timed(0, 0), timed(2, 2)]);
    let place = pace.join(at(3));
    assert_eq!(place, 1, "the next connection is the same bot");
    assert_eq!(pace.opened(place, ms(2), at(5)), Next::Others);
    let late = Batch { possible: at(5), ..timed(1, 1) };
    assert_eq!(sends(&mut pace), [late], "it had no connection, which is not our lag");
}

#[test]
fn a_session_begins_when_it_is_due_and_thinks_after_each_reply() {
    let schedule = schedule("100/s", 2);
    let arrival = Arrival::Sessions { schedule, think: ms(40) };
    let each = Lifetime::RoundTrips(number(2));
    let mut pace = Pace::new(&workload(arrival, 2, each, Stop::After(ms(1000))), true);
    pace.measure(at(0), at(1000));
    pace.start(at(0));

    let session = |ms, begins| Taken::Session { due: at(ms), begins };
    assert_eq!(pace.take(at(0)), Some(session(0, true)));
    let first = pace.join(at(0));
    assert_eq!((pace.waits(), pace.take(at(9))), (1, None), "its first message waits");
    assert_eq!(pace.take(at(10)), Some(session(10, true)));
    let second = pace.join(at(10));
    assert_eq!(pace.take(at(20)), Some(session(20, false)), "there is room for two");

    let batch = Batch { possible: at(4), ..timed(first, 0) };
    assert_eq!(pace.opened(first, ms(4), at(4)), Next::Send(batch));
    assert_eq!(pace.replied(first, 1, at(6)), Next::Thinks(at(46)));
    assert_eq!(pace.left(second), Some(at(10)), "its first message is unsent");
    assert_eq!(pace.join(at(30)), second);
    let expected = [session(30, false), session(40, false), Taken::Send(timed(first, 46))];
    assert_eq!(due(&mut pace, at(46)), expected);
    assert_eq!(pace.replied(first, 1, at(48)), Next::Served { session: Some(at(0)) });
}

#[test]
fn a_session_that_is_lost_while_it_thinks_leaves_its_next_message_unsent() {
    let arrival = Arrival::Sessions { schedule: schedule("1/s", 1), think: ms(40) };
    let each = Lifetime::RoundTrips(number(9));
    let mut pace = Pace::new(&workload(arrival, 1, each, Stop::After(ms(1000))), true);
    pace.measure(at(0), at(1000));
    pace.start(at(0));
    pace.take(at(0));
    let place = pace.join(at(0));
    pace.opened(place, ms(1), at(1));
    assert_eq!(pace.replied(place, 1, at(2)), Next::Thinks(at(42)));
    assert_eq!(pace.left(place), None);
    assert_eq!(
        pace.join(at(10)),
        place,
        "its place has a new connection, which is another session"
    );
    let unsent = Taken::Unsent { due: at(42), count: 1, gap: None };
    assert_eq!(due(&mut pace, at(50)), [unsent]);
}

#[test]
fn bots_that_think_begin_at_phases_of_their_own_and_wait_for_each_reply() {
    let arrival = || Arrival::Think { think: ms(100) };
    let mut pace = begun(arrival(), 3, Stop::After(ms(1000)));
    assert_eq!(sends(&mut pace), []);
    let first = due(&mut pace, at(100));
    let instants = |taken: &[Taken]| -> Vec<(u32, Instant)> {
        let instant = |one: &Taken| {
            let Taken::Send(batch) = one else { panic!("{one:?}") };
            (batch.place, batch.due.unwrap())
        };
        taken.iter().map(instant).collect()
    };
    let mut places: Vec<u32> = instants(&first).iter().map(|(place, _)| *place).collect();
    places.sort_unstable();
    assert_eq!(places, [0, 1, 2]);
    assert!(instants(&first).is_sorted_by_key(|(_, due)| *due));
    assert_eq!(due(&mut begun(arrival(), 3, Stop::After(ms(1000))), at(100)), first, "by the seed");
    assert_eq!(pace.replied(1, 1, at(130)), Next::Thinks(at(230)));
    assert_eq!(due(&mut pace, at(999)), [Taken::Send(timed(1, 230))], "the others wait");
    let mut unsent = 0;
    pace.stop(|_, count| unsent += count);
    assert_eq!(unsent, 0, "no schedule wanted more");
}

#[test]
fn bots_that_think_owe_nothing_that_was_held_back_for_a_stall_at_the_end() {
    for stop in [Stop::After(ms(1000)), messages(9)] {
        let mut pace = begun(Arrival::Think { think: ms(100) }, 3, stop);
        pace.stalled(at(0), at(100));
        assert_eq!(due(&mut pace, at(100)), [Taken::Held(at(100)); 3]);
        let mut unsent = 0;
        pace.stop(|_, count| unsent += count);
        assert_eq!(unsent, 0);
    }
}

#[test]
fn what_was_due_in_a_gap_is_sent_one_gap_later_at_the_pace_of_the_schedule() {
    let mut pace = begun(open("1000/s", Pick::Any, 1000), 1, Stop::After(ms(1000)));
    assert_eq!(due(&mut pace, at(9)).len(), 10);
    pace.stalled(at(9), at(12));
    // Those of 10 and 11 ms were due in the gap.
    let held = Taken::Held(at(12));
    assert_eq!(due(&mut pace, at(12)), [held, held, Taken::Waits]);
    assert_eq!(due(&mut pace, at(13)), [Taken::Waits; 2], "one of the gap, one of now");
    assert_eq!(due(&mut pace, at(14)), [Taken::Waits; 2]);
    assert_eq!(due(&mut pace, at(15)), [Taken::Waits]);
    let sent: Vec<u64> =
        sends(&mut pace).iter().map(|batch| batch.due.unwrap().0 / 1_000_000).collect();
    assert_eq!(sent, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 10, 13, 11, 14, 15]);
}

#[test]
fn the_end_counts_everything_that_was_due_and_not_sent() {
    let mut pace = begun(open("1000/s", Pick::Any, 1000), 1, Stop::After(ms(1000)));
    assert_eq!(due(&mut pace, at(99)).len(), 100);
    for _ in 0..30 {
        pace.next_send();
    }
    pace.drain(at(1000));
    let mut unsent = 0;
    pace.stop(|_, count| unsent += count);
    assert_eq!(unsent, 970, "70 wait, and 900 were never looked at");
    assert_eq!((pace.take(at(2000)), pace.wake_at()), (None, Instant::NEVER));
}

#[test]
fn a_quota_ends_the_measurement_when_one_more_would_be_due() {
    let mut pace = begun(open("1000/s", Pick::Any, 1000), 1, messages(5));
    assert_eq!(pace.end(), at(1000));
    assert_eq!(due(&mut pace, at(100)).len(), 5);
    assert_eq!(pace.end(), at(5));
}

#[test]
fn a_rate_that_changes_begins_after_a_warm_up_at_its_first_rate() {
    let arrival = open("100/s for 1s, 1000/s", Pick::Any, 10_000);
    let mut load = workload(arrival, 1, Lifetime::Long, Stop::After(ms(2000)));
    load.phases.warm_up = ms(500);
    let mut pace = opened(Pace::new(&load, true), 1);
    pace.warm_up(at(500));
    assert_eq!(due(&mut pace, at(500)).len(), 50);
    pace.measure(at(500), at(2500));
    assert_eq!(due(&mut pace, at(1499)).len(), 100);
    assert_eq!(due(&mut pace, at(2499)).len(), 1000);
}

/// A pace whose connections are open, and whose measurement has begun at 0.
fn begun(arrival: Arrival, connections: u32, stop: Stop) -> Pace {
    let load = workload(arrival, connections, Lifetime::Long, stop);
    opened(Pace::new(&load, true), connections)
}

fn opened(mut pace: Pace, connections: u32) -> Pace {
    for expected in 0..connections {
        let place = pace.join(at(0));
        assert_eq!(place, expected);
        assert_eq!(pace.opened(place, Nanos::ZERO, at(0)), Next::Others, "there is no traffic yet");
    }
    pace.measure(at(0), at(1000));
    pace.start(at(0));
    pace
}

fn sends(pace: &mut Pace) -> Vec<Batch> {
    std::iter::from_fn(|| pace.next_send()).collect()
}

fn due(pace: &mut Pace, now: Instant) -> Vec<Taken> {
    std::iter::from_fn(|| pace.take(now)).collect()
}

fn untimed(place: u32, count: u32) -> Batch {
    Batch { place, count, due: None, possible: Instant::NEVER }
}

fn timed(place: u32, millis: u64) -> Batch {
    Batch { place, count: 1, due: Some(at(millis)), possible: at(millis) }
}

fn closed(in_flight: u32, max: Option<u32>) -> Arrival {
    Arrival::Closed { in_flight: number(in_flight), in_flight_max: max.map(number) }
}

fn open(rate: &str, pick: Pick, in_flight_max: u32) -> Arrival {
    let connections = if pick == Pick::Own { 3 } else { 1 };
    let schedule = schedule(rate, connections);
    Arrival::Open { schedule, pick, in_flight_max: number(in_flight_max) }
}

fn schedule(rate: &str, connections: u32) -> Schedule {
    Schedule::new(rate.parse().unwrap(), Spacing::Uniform, number(connections))
}

fn workload(arrival: Arrival, connections: u32, lifetime: Lifetime, stop: Stop) -> Workload {
    Workload {
        connections: number(connections),
        rooms: None,
        connect_rate: None,
        lifetime,
        closing: load::Closing::Complete,
        arrival,
        content: Content::binary(Bytes(64), 7),
        expect: Expect::Echo,
        requests: None,
        phases: Phases { warm_up: Nanos::ZERO, stop, drain: ms(1000) },
        timeouts: Timeouts::all(ms(1000)),
        last_replies: false,
        seed: 7,
    }
}

fn messages(count: u64) -> Stop {
    Stop::Messages(NonZeroU64::new(count).unwrap())
}

fn at(millis: u64) -> Instant {
    Instant::START + ms(millis)
}

fn ms(millis: u64) -> Nanos {
    Nanos::from_millis(millis)
}

fn number(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).unwrap()
}
