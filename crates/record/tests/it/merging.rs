//! Results merge in any order and any grouping, and an empty one changes nothing.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use record::{
    Cause, Connections, Counts, DeliveryCounts, DeliveryEnds, DeliveryOutcome, DeliverySums,
    ErrorClass, ExchangeOutcome, Handshakes, Identity, IdsFound, LastReplies, Merge, OpenLoopTimes,
    Origin, Outcome, PhaseTimes, PushOutcome, Pushed, Second, Segments, Sessions, Split, Stall,
    Stalls, StreamLayers, Tally, TlsParameters, Traffic, Whole,
};
use stats::Histogram;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use units::{Instant, Nanos, Random};

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 12,
        rng_seed: RngSeed::Fixed(7),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn outcomes_merge_in_any_order(seeds in any::<[u64; 3]>()) {
        check(seeds.map(|seed| outcome(&mut Random::new(seed))))?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 500,
        rng_seed: RngSeed::Fixed(7),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn their_parts_do_too(seeds in any::<[u64; 3]>()) {
        check(seeds.map(|seed| stalls(&mut Random::new(seed))))?;
        check(seeds.map(|seed| last_replies(&mut Random::new(seed))))?;
        check(seeds.map(|seed| errors(&mut Random::new(seed))))?;
        check(seeds.map(|seed| handshakes(&mut Random::new(seed))))?;
        check(seeds.map(|seed| series(&mut Random::new(seed))))?;
        check(seeds.map(|seed| maybe(&mut Random::new(seed), layers)))?;
        check(seeds.map(|seed| maybe(&mut Random::new(seed), counts)))?;
    }
}

/// Checks that (a + b) + c = a + (b + c), a + b = b + a, and a + nothing = a.
fn check<T: Merge + Clone + Debug + PartialEq>([a, b, c]: [T; 3]) -> Result<(), TestCaseError> {
    let plus = |one: &T, other: &T| T::merged([one, other]);
    prop_assert!(plus(&plus(&a, &b), &c) == plus(&a, &plus(&b, &c)), "{a:?} {b:?} {c:?}");
    prop_assert!(plus(&a, &b) == plus(&b, &a), "{a:?} {b:?}");
    let mut same = a.clone();
    same.merge(&T::default());
    prop_assert!(same == a, "{a:?} {same:?}");
    Ok(())
}

fn delivery_sums(random: &mut Random) -> DeliverySums {
    DeliverySums {
        messages: count(random),
        first: Nanos(count(random)),
        last: Nanos(count(random)),
    }
}

fn outcome(random: &mut Random) -> Outcome {
    Outcome {
        planned: count(random),
        measured: counts(random),
        warm_up: counts(random),
        unanswered: Nanos(count(random)),
        traffic: Traffic {
            counts: counts(random),
            replies: count(random),
            round_trip_sum: Nanos(count(random)),
            bytes_sent: count(random),
            bytes_received: count(random),
            round_trips: times(random),
            open_loop: maybe(random, |random| OpenLoopTimes {
                response: times(random),
                lag: times(random),
                own_share: times(random),
                true_delay: times(random),
            }),
        },
        series: series(random),
        connections: Connections {
            asked: count(random),
            started: count(random),
            opened: count(random),
            failed: count(random),
            lost: count(random),
            reconnects: count(random),
        },
        clients_served: count(random),
        times: PhaseTimes {
            before: times(random),
            connect: times(random),
            tls_full: times(random),
            tls_resumed: times(random),
            handshake: times(random),
            first_reply: times(random),
            life: times(random),
            close: times(random),
        },
        refused: times(random),
        exchanges: exchanges(random),
        pushes: pushes(random),
        deliveries: maybe(random, |random| DeliveryOutcome {
            counts: DeliveryCounts {
                published: count(random),
                owed: count(random),
                delivered: count(random),
                lost: count(random),
                cut: count(random),
                in_flight_at_end: count(random),
                duplicate: count(random),
                reordered: count(random),
                early: count(random),
                foreign: count(random),
                incomplete: count(random),
                slow: ends(random),
                away: ends(random),
                edge: ends(random),
                absences: count(random),
                torn_off: count(random),
                recovered: count(random),
                attempts: count(random),
                restored: count(random),
                caught_up: count(random),
                unacknowledged: count(random),
            },
            first: times(random),
            median: times(random),
            last: times(random),
            spread: times(random),
            replayed: times(random),
            returned: times(random),
            recovered: times(random),
            missed: (0..random.below(4)).map(|_| count(random)).collect(),
            seconds: (0..random.below(4)).map(|_| delivery_sums(random)).collect(),
            clock_bound: maybe(random, |random| Nanos(count(random))),
        }),
        ids_found: maybe(random, |random| IdsFound {
            learnt: count(random),
            scanned: count(random),
            parsed: count(random),
        }),
        tls: handshakes(random),
        layers: layers(random),
        requests: count(random),
        segments: maybe(random, |random| Segments {
            sent: count(random),
            received: count(random),
            connections_sampled: count(random),
            connections: count(random),
        }),
        errors: errors(random),
        identity: maybe(random, |random| Identity {
            lost: count(random),
            duplicate: count(random),
            reordered: count(random),
            corrupted: count(random),
        }),
        stalls: stalls(random),
        looked: Nanos(count(random)),
        replies_each: (0..random.below(5)).map(|_| (random.below(4) as u64, 1)).collect(),
        pushed: Pushed {
            deliveries: count(random),
            notices: count(random),
            unexpected: count(random),
            payload_bytes: count(random),
            whole: Whole {
                events: count(random),
                replies: count(random),
                deliveries: count(random),
            },
        },
        last_replies: last_replies(random),
        sessions: maybe(random, |random| Sessions {
            planned: count(random),
            started: count(random),
            completed: count(random),
        }),
        window: maybe(random, |random| (Instant(count(random)), Instant(count(random)))),
    }
}

/// Small numbers collide, large ones reach the end of the range.
fn count(random: &mut Random) -> u64 {
    match random.below(4) {
        0 => random.next_u64(),
        _ => random.below(10) as u64,
    }
}

fn maybe<T>(random: &mut Random, of: impl Fn(&mut Random) -> T) -> Option<T> {
    (random.below(3) > 0).then(|| of(random))
}

fn times(random: &mut Random) -> Histogram {
    let mut times = Histogram::new();
    (0..random.below(20)).for_each(|_| times.record(Nanos(count(random))));
    times
}

fn counts(random: &mut Random) -> Counts {
    Counts {
        planned: count(random),
        sent: count(random),
        unsent: count(random),
        ok: count(random),
        error: count(random),
        refused: count(random),
        timed_out: count(random),
        in_flight_at_end: count(random),
        redirects: count(random),
    }
}

fn series(random: &mut Random) -> BTreeMap<Origin, BTreeSet<Second>> {
    let second = |random: &mut Random| Second {
        at_ns: random.below(3) as u64,
        sent: random.below(2) as u64,
        ..Second::default()
    };
    [Origin(0), Origin(1), Origin(2)]
        .into_iter()
        .take(random.below(3))
        .map(|origin| (origin, (0..random.below(4)).map(|_| second(random)).collect()))
        .collect()
}

fn exchanges(random: &mut Random) -> BTreeMap<u16, ExchangeOutcome> {
    let exchange = |random: &mut Random, name: &str| ExchangeOutcome {
        name: name.to_owned(),
        no_reply: name == "say",
        counts: counts(random),
        service: times(random),
        response: times(random),
        refused: times(random),
        parts: count(random),
        first_part: times(random),
        between_parts: times(random),
        resumed: count(random),
    };
    let names = ["ask", "say"];
    (0..).zip(names).take(random.below(3)).map(|(at, name)| (at, exchange(random, name))).collect()
}

fn pushes(random: &mut Random) -> BTreeMap<u16, PushOutcome> {
    let push = |random: &mut Random| PushOutcome {
        name: "said".to_owned(),
        count: count(random),
        payload_bytes: count(random),
        delivery: times(random),
    };
    (0..).take(random.below(3)).map(|at| (at, push(random))).collect()
}

fn handshakes(random: &mut Random) -> BTreeMap<TlsParameters, Handshakes> {
    let suites = ["A", "B", "C"];
    (0..random.below(4))
        .map(|_| {
            let suite = suites[random.below(suites.len())].to_owned();
            let handshakes = Handshakes { full: count(random), resumed: count(random) };
            (TlsParameters { suite, ..TlsParameters::default() }, handshakes)
        })
        .collect()
}

fn layers(random: &mut Random) -> StreamLayers {
    let split = |random: &mut Random| Split {
        payload_bytes: count(random),
        encoding_bytes: count(random).cast_signed(),
        framing_bytes: count(random),
        tls_bytes: count(random),
        tcp_ip_estimated_bytes: maybe(random, count),
    };
    StreamLayers { sent: split(random), received: split(random) }
}

fn errors(random: &mut Random) -> BTreeMap<ErrorClass, Tally> {
    let classes = [ErrorClass::Cut, ErrorClass::Tls, ErrorClass::WrongReply];
    let texts = ["cut", "broken", "wrong"];
    (0..random.below(4))
        .map(|_| {
            let example = texts[random.below(texts.len())].to_owned();
            let count = count(random).max(1);
            (classes[random.below(classes.len())], Tally { count, example, cause: Cause::Unknown })
        })
        .collect()
}

fn stalls(random: &mut Random) -> Stalls {
    let mut first: Vec<Stall> = (0..random.below(Stalls::KEPT_MAX))
        .map(|_| Stall {
            at_ns: random.below(50) as u64,
            duration_ns: random.below(3) as u64,
            affected: random.below(3) as u64,
        })
        .collect();
    first.sort_unstable();
    Stalls {
        count: count(random),
        longest_ns: count(random),
        total_ns: count(random),
        affected: count(random),
        first,
    }
}

fn last_replies(random: &mut Random) -> LastReplies {
    let instant = |random: &mut Random| Instant(random.below(500) as u64);
    LastReplies::of((0..random.below(900)).map(|_| (instant(random), instant(random))))
}

fn ends(random: &mut Random) -> DeliveryEnds {
    DeliveryEnds {
        owed: count(random),
        delivered: count(random),
        lost: count(random),
        cut: count(random),
        in_flight_at_end: count(random),
    }
}
