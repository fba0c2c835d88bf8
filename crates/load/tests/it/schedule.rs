//! The instants at which messages are due: exact where the spacing is exact, and a Poisson process where it is Poisson.

use load::{Arrivals, Due, Schedule, Spacing};
use stats::{Mean, anderson_darling};
use std::num::NonZeroU32;
use units::{Nanos, Random, Rate};

#[test]
fn a_warm_up_that_rises_has_half_the_messages_but_for_bots_with_phases() {
    let five = Nanos::from_secs(5);
    let ramped = Schedule { ramps_up: true, ..uniform("2000/s", 10) };
    let ramp = ramped.after_warm_up(five);
    assert_eq!(ramp.count_before(five), 5000);
    assert_eq!(ramp.count_before(Nanos::from_secs(6)), 7000);
    assert_eq!(uniform("2000/s", 10).after_warm_up(five).count_before(five), 10_000);
    let bots = Schedule { spacing: Spacing::Phases, ..ramped };
    assert_eq!(bots.after_warm_up(five).count_before(five), 10_000);
}

#[test]
fn uniform_parts_are_together_the_whole_for_any_number_of_connections_and_workers() {
    for connections in 1..=40 {
        for workers in 1..=connections {
            let whole = uniform("7/3s", connections);
            let cycles = 3 * connections as usize + 5;
            let expected: Vec<Due> = take(&whole, 0).take(cycles).collect();
            let end = expected.last().unwrap().at;
            let mut found: Vec<Due> = (0..workers)
                .flat_map(|worker| {
                    let part = whole.part(worker, number(workers));
                    take(&part, 0)
                        .take_while(|due| due.at <= end)
                        .map(move |due| Due {
                            connection: part.stripe.number(due.connection),
                            ..due
                        })
                        .collect::<Vec<Due>>()
                })
                .collect();
            found.sort_by_key(|due| due.at);
            assert_eq!(found, expected, "{connections} connections, {workers} workers");
        }
    }
}

#[test]
fn the_parts_of_a_rate_that_changes_are_together_the_whole() {
    for (profile, count) in PROFILES {
        for (connections, workers) in [(1, 1), (7, 3), (40, 9)] {
            let whole =
                Schedule::new(profile.parse().unwrap(), Spacing::Uniform, number(connections));
            let until = Nanos::from_secs(10);
            let expected: Vec<Due> = take(&whole, 0).take_while(|due| due.at < until).collect();
            assert_eq!(expected.len() as u64, count, "{profile}");
            assert_eq!(whole.count_before(until), count, "{profile}");
            let mut found = Vec::new();
            for worker in 0..workers {
                let part = whole.part(worker, number(workers));
                let own = take(&part, 0).take_while(|due| due.at < until);
                found.extend(
                    own.map(|due| Due { connection: part.stripe.number(due.connection), ..due }),
                );
            }
            let index = |due: &Due| (due.at, due.connection);
            found.sort_by_key(index);
            let mut expected = expected;
            expected.sort_by_key(index);
            assert_eq!(found, expected, "{profile}, {connections} connections, {workers} workers");
        }
    }
}

#[test]
fn bots_have_one_message_in_each_cycle_while_the_rate_changes() {
    for (profile, count) in PROFILES {
        let whole = Schedule::new(profile.parse().unwrap(), Spacing::Phases, number(40));
        let mut each = [0_u64; 40];
        for worker in 0..9 {
            let part = whole.part(worker, number(9));
            let mut last = Nanos::ZERO;
            for due in take(&part, worker.into()).take_while(|due| due.at < Nanos::from_secs(10)) {
                assert!(last <= due.at, "{profile}");
                last = due.at;
                each[part.stripe.number(due.connection) as usize] += 1;
            }
        }
        // Where a cycle is cut by the end of the ten seconds, some have had their turn in it.
        assert!(each.iter().all(|own| own.abs_diff(count / 40) <= 1), "{profile}: {each:?}");
    }
}

/// Rates that change, and the number of messages that are due in the first ten seconds.
const PROFILES: [(&str, u64); 5] = [
    ("100/s..1000/s over 4s, 1k/s for 4s, 1000/s..0/s over 2s", 2200 + 4000 + 1000),
    ("50/s for 5s, 5k/s for 100ms, 50/s", 250 + 500 + 245),
    ("0/s for 3s, 7/3s", 17),
    ("0/s..4001/s over 9s", 18_005),
    ("999983/s for 1ms, 30/min..60/min over 10s", 1000 + 8),
];

#[test]
fn poisson_arrivals_of_a_rate_that_changes_are_a_process_of_that_rate() {
    let profile = "20/s..200/s over 10s, 5/s for 20s, 200/s..20/s over 10s, 30/s";
    // Arrivals due on average before an instant: on that axis the gaps are exponential with a mean of one.
    let expected = |at: Nanos| {
        let at = at.as_secs_f64();
        let ramp = |from: f64, change: f64, since: f64| {
            let since = since.clamp(0.0, 10.0);
            from * since + change * since * since / 20.0
        };
        ramp(20.0, 180.0, at)
            + 5.0 * (at - 10.0).clamp(0.0, 20.0)
            + ramp(200.0, -180.0, at - 30.0)
            + 30.0 * (at - 40.0).max(0.0)
    };
    rejected_at_most_four_times(
        |seed| {
            let schedule = Schedule::new(profile.parse().unwrap(), Spacing::Poisson, number(12));
            let mut before = 0.0;
            let dues = take(&schedule, seed).take(2500).map(|due| expected(due.at));
            dues.map(|due| due - std::mem::replace(&mut before, due)).collect()
        },
        Mean::Known(1.0),
    );
}

#[test]
fn a_part_can_be_divided_again() {
    let mut random = Random::new(1);
    for _ in 0..200 {
        let connections = 1 + u32::try_from(random.below(1000)).unwrap();
        let whole = uniform("1/s", connections).stripe;
        let workers = 1 + u32::try_from(random.below(connections as usize)).unwrap();
        let mut numbers = Vec::new();
        for worker in 0..workers {
            let part = whole.part(worker, number(workers));
            let halves = part.connections().min(2);
            for half in 0..halves {
                let half = part.part(half, number(halves));
                numbers.extend((0..half.connections()).map(|connection| half.number(connection)));
            }
        }
        numbers.sort_unstable();
        assert_eq!(numbers, (0..connections).collect::<Vec<u32>>(), "{workers} workers");
    }
}

#[test]
fn each_bot_has_one_message_in_each_interval_and_a_phase_of_its_own() {
    let interval = Nanos::from_secs(1);
    for bots in [1, 3, 7, 1000, 10_007] {
        let schedule = Schedule::new(
            Rate::new(number(bots), interval).unwrap().into(),
            Spacing::Uniform,
            number(bots),
        );
        let mut phases = vec![Vec::new(); bots as usize];
        for due in take(&schedule, 0).take_while(|due| due.at < Nanos(3 * interval.0)) {
            phases[due.connection as usize].push(due.at.0);
        }
        let first: Vec<u64> = phases.iter().map(|phases| phases[0]).collect();
        for (bot, phases) in phases.iter().enumerate() {
            let expected = [0, 1, 2].map(|cycle| cycle * interval.0 + first[bot]);
            assert_eq!(phases[..], expected, "bot {bot} of {bots}");
        }
        // The time between one phase and the next is the same, to the nanosecond that cannot be divided.
        let step = interval.0 / u64::from(bots);
        for pair in first.windows(2) {
            assert!((step..=step + 1).contains(&(pair[1] - pair[0])), "{pair:?} of {bots}");
        }
        assert!(interval.0 - first[bots as usize - 1] <= step + 1, "the last before the next");
    }
}

#[test]
fn as_many_messages_are_due_by_any_time_as_the_rate_says() {
    for rate in ["7/3s", "999983/s", "1/s", "1/90s", "1000/s", "12345/67ms"] {
        let rate: Rate = rate.parse().unwrap();
        let (per, count) = (u128::from(rate.per().0), u128::from(rate.count().get()));
        let mut arrivals = Schedule::new(rate.into(), Spacing::Uniform, number(13)).arrivals(0);
        let mut before = 0;
        while arrivals.next_due().at <= Nanos::from_secs(60) {
            let at = arrivals.next_due().at.0;
            // Before that instant `before` of them are due, before the next nanosecond one more. In between only time
            // goes on. Multiplied by `per`, so that all numbers are whole.
            for (due_count, time) in [(before, at), (before + 1, at + 1)] {
                let wanted = u128::from(time) * count;
                assert!((u128::from(due_count) * per).abs_diff(wanted) <= per, "{rate}: {before}");
            }
            arrivals.advance();
            before += 1;
            if before == 50_000 {
                before += arrivals.skip_before(Nanos::from_millis(59_950));
            }
        }
        assert!(before >= count_in_a_minute(rate), "{rate}: {before}");
    }
}

#[test]
fn skipping_comes_to_where_going_on_one_by_one_does() {
    let mut random = Random::new(2);
    for spacing in [Spacing::Uniform, Spacing::Phases, Spacing::Poisson] {
        for _ in 0..300 {
            let connections = 1 + u32::try_from(random.below(12)).unwrap();
            let workers = 1 + u32::try_from(random.below(connections as usize)).unwrap();
            let worker = u32::try_from(random.below(workers as usize)).unwrap();
            let (rate, profile) = [
                ("7/3s", "7/3s"),
                ("999983/s", "999983/s"),
                ("1/s", "1/s"),
                ("1/s", "2/s..1/s over 3s, 0/s for 2s, 1/s..3/s over 2s, 1/s"),
                ("999983/s", "0/s for 20ns, 7/s..999983/s over 1ms, 999983/s..0/s over 5ms"),
            ][random.below(5)];
            let rate: Rate = rate.parse().unwrap();
            let schedule = Schedule::new(profile.parse().unwrap(), spacing, number(connections));
            let mut skipping = schedule.part(worker, number(workers)).arrivals(7);
            let mut walking = skipping.clone();
            let mut at = Nanos::ZERO;
            for _ in 0..10 {
                at = Nanos(at.0 + random.next_u64() % (2 * rate.per().0));
                if rate.count().get() > 7 {
                    at = Nanos(at.0 / 1000); // A few hundred, not a million.
                }
                let mut walked = 0;
                while walking.next_due().at < at {
                    walking.advance();
                    walked += 1;
                }
                assert_eq!(skipping.skip_before(at), walked, "{schedule:?} {at:#}");
                assert_eq!(skipping.next_due(), walking.next_due(), "{schedule:?} {at:#}");
                skipping.advance();
                walking.advance();
            }
        }
    }
}

#[test]
fn bots_keep_the_phase_that_the_seed_gave_them() {
    let schedule = Schedule { spacing: Spacing::Phases, ..uniform("1000/10s", 1000) };
    for workers in [1, 3] {
        let mut heard: Vec<Vec<u64>> = vec![Vec::new(); 1000];
        for worker in 0..workers {
            let part = schedule.part(worker, number(workers));
            let mut arrivals = part.arrivals(7 + u64::from(worker));
            while arrivals.next_due().at < Nanos::from_secs(30) {
                let Due { at, connection } = arrivals.next_due();
                heard[part.stripe.number(connection) as usize].push(at.0);
                arrivals.advance();
            }
        }
        let cycle = Nanos::from_secs(10).0;
        for times in &heard {
            assert!(times[0] < cycle, "{times:?}");
            assert_eq!(*times, [times[0], times[0] + cycle, times[0] + 2 * cycle]);
        }
        // By chance: half of them in the first half, within five standard deviations; and never two seeds alike.
        let early = heard.iter().filter(|times| times[0] < cycle / 2).count();
        assert!(early.abs_diff(500) < 80, "{early}");
        let spread = heard.iter().map(|times| times[0]).collect::<std::collections::BTreeSet<_>>();
        assert!(spread.len() > 990, "{}", spread.len());
    }
    let firsts = |seed| schedule.arrivals(seed).next_due();
    assert_eq!(firsts(7), firsts(7));
    assert_ne!(firsts(7), firsts(8));
}

#[test]
fn rates_of_billions_are_counted_at_once() {
    let mut arrivals = uniform("4G/s", 1000).arrivals(7);
    assert_eq!(arrivals.skip_before(Nanos::from_secs(60)), 240_000_000_000);
    assert_eq!(arrivals.next_due(), Due { at: Nanos::from_secs(60), connection: 0 });
    let parts = (0..7).map(|worker| {
        let mut arrivals = uniform("4G/ns", 1000).part(worker, number(7)).arrivals(7);
        arrivals.skip_before(Nanos(3))
    });
    assert_eq!(parts.sum::<u64>(), 12_000_000_000);
}

#[test]
fn poisson_arrivals_of_billions_keep_their_rate() {
    for (rate, per_ns) in [("4G/ns", 4e9), ("1G/s", 1.0), ("3/ns", 3.0)] {
        let schedule = Schedule { spacing: Spacing::Poisson, ..uniform(rate, 3) };
        let mut arrivals = schedule.arrivals(7);
        for _ in 0..100_000 {
            arrivals.advance();
        }
        // Ten standard deviations, and the nanosecond that is cut off.
        let expected = 1e5 / per_ns;
        let found = Nanos(arrivals.next_due().at.0).as_secs_f64() * 1e9;
        assert!(
            (found - expected).abs() <= 1.0 + expected * 10.0 / 1e5_f64.sqrt(),
            "{rate} {found}"
        );
    }
}

#[test]
fn nothing_overflows_at_the_end_of_time() {
    let slowest = Rate::new(NonZeroU32::MIN, Nanos::MAX).unwrap();
    let fastest = Rate::new(NonZeroU32::MAX, Nanos(1)).unwrap();
    for rate in [slowest, fastest] {
        for connections in [1, 3, u32::MAX] {
            for spacing in [Spacing::Uniform, Spacing::Poisson] {
                let whole = Schedule::new(rate.into(), spacing, number(connections));
                let part = whole.part(connections / 2, number(connections));
                for schedule in [whole, part] {
                    let mut arrivals = schedule.arrivals(u64::MAX);
                    if spacing == Spacing::Uniform || rate == slowest {
                        arrivals.skip_before(Nanos::MAX);
                    }
                    for _ in 0..10 {
                        let before = arrivals.next_due();
                        arrivals.advance();
                        assert!(before.at <= arrivals.next_due().at, "{schedule:?}");
                    }
                }
            }
        }
    }
    let mut last = Schedule::new(slowest.into(), Spacing::Uniform, number(1)).arrivals(0);
    assert_eq!([last.skip_before(Nanos::MAX), last.skip_before(Nanos::MAX)], [1, 0]);
    assert_eq!(last.next_due().at, Nanos::MAX);
}

#[test]
fn poisson_arrivals_are_independent_of_each_other() {
    rejected_at_most_four_times(|seed| gaps(poisson(12), seed, 500), Mean::Known(GAP));
    rejected_at_most_four_times(|seed| gaps(poisson(12), seed, 500), Mean::Estimated);
}

#[test]
fn the_parts_of_a_poisson_process_are_together_one() {
    // 12 connections, 5 workers: shares of 3/12, 3/12 and three times 2/12.
    rejected_at_most_four_times(
        |seed| {
            let mut dues: Vec<u64> = (0..5)
                .flat_map(|worker| {
                    let part = poisson(12).part(worker, number(5));
                    let seed = seed.wrapping_add(u64::from(worker) << 32);
                    take(&part, seed).take(400).map(|due| due.at.0).collect::<Vec<u64>>()
                })
                .collect();
            dues.sort_unstable();
            gaps_between(dues.into_iter().take(500)) // Long before any part ends.
        },
        Mean::Known(GAP),
    );
}

#[test]
fn the_poisson_arrivals_of_a_connection_are_a_process_too() {
    rejected_at_most_four_times(
        |seed| {
            let own = take(&poisson(12), seed).filter(|due| due.connection == 5);
            gaps_between(own.take(300).map(|due| due.at.0))
        },
        Mean::Known(12.0 * GAP),
    );
}

#[test]
fn when_a_message_is_due_depends_on_the_seed_alone() {
    let at = |connections, seed| -> Vec<Nanos> {
        take(&poisson(connections), seed).take(1000).map(|due| due.at).collect()
    };
    assert_eq!(at(12, 7), at(12, 7));
    assert_eq!(at(12, 7), at(1, 7));
    assert_ne!(at(12, 7), at(12, 8));
    // This very schedule, so that a seed in an old record still means the same.
    let first: Vec<u64> = at(12, 7)[..4].iter().map(|at| at.0).collect();
    assert_eq!(first, [2_052_592_446, 3_605_590_810, 4_625_424_425, 6_612_657_541]);
    assert_eq!(take(&uniform("7/3s", 5), 1).nth(99), take(&uniform("7/3s", 5), 2).nth(99));
}

/// The number of messages in a minute, rounded down.
fn count_in_a_minute(rate: Rate) -> u64 {
    60_000_000_000 * u64::from(rate.count().get()) / rate.per().0
}

/// Checks 100 seeds: a true Poisson process exceeds four rejections at 1 % in four of a thousand such sets.
fn rejected_at_most_four_times(gaps: impl Fn(u64) -> Vec<f64>, mean: Mean) {
    let rejected =
        (0..100).filter(|seed| anderson_darling(&gaps(*seed), mean).unwrap().rejects()).count();
    assert!(rejected <= 4, "{rejected} of 100 seeds, {mean:?}");
}

fn gaps(schedule: Schedule, seed: u64, count: usize) -> Vec<f64> {
    gaps_between(take(&schedule, seed).take(count).map(|due| due.at.0))
}

/// The gaps in nanoseconds, the first one from the start of the schedule.
fn gaps_between(dues: impl Iterator<Item = u64>) -> Vec<f64> {
    let mut before = 0;
    dues.map(|due| Nanos(due - std::mem::replace(&mut before, due)).as_secs_f64() * 1e9).collect()
}

/// One message a second: rounding to nanoseconds makes no gap zero.
fn poisson(connections: u32) -> Schedule {
    Schedule { spacing: Spacing::Poisson, ..uniform("1/s", connections) }
}

const GAP: f64 = 1e9;

fn uniform(rate: &str, connections: u32) -> Schedule {
    Schedule::new(rate.parse().unwrap(), Spacing::Uniform, number(connections))
}

fn take(schedule: &Schedule, seed: u64) -> impl Iterator<Item = Due> + use<> {
    let mut arrivals = schedule.arrivals(seed);
    std::iter::from_fn(move || {
        let due = arrivals.next_due();
        arrivals.advance();
        Some(due)
    })
}

fn number(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).unwrap()
}

#[test]
fn a_rate_that_is_changed_holds_from_an_instant_on_and_moves_nothing_before_it() {
    let connections = NonZeroU32::new(4).unwrap();
    let second = Nanos::from_secs(1);
    for spacing in [Spacing::Uniform, Spacing::Poisson, Spacing::Phases] {
        let schedule =
            Schedule::new("100/s".parse::<spec::Profile>().unwrap(), spacing, connections);
        let instants = |arrivals: &mut Arrivals, until: Nanos| {
            let mut all = Vec::new();
            while arrivals.next_due().at < until {
                all.push(arrivals.next_due().at);
                arrivals.advance();
            }
            all
        };
        let mut plain = schedule.arrivals(7);
        let before = instants(&mut plain, second);
        let mut changed = schedule.arrivals(7);
        // The unit of 100/s is too coarse for 1001/s.
        assert!(changed.change(second, "1001/s".parse().unwrap()));
        assert_eq!(instants(&mut changed, second), before, "{spacing:?}");
        let after = instants(&mut changed, Nanos::from_secs(2)).len();
        match spacing {
            Spacing::Uniform => assert_eq!(after, 1001),
            // With phases, a cycle more or less.
            Spacing::Phases => assert!((997..=1005).contains(&after), "{after}"),
            Spacing::Poisson => assert!((850..1150).contains(&after), "{after}"),
        }
        // Back to 100/s, a tenth of a second too late: the hundred messages already taken in that time stand, so that
        // the next is due a second after the change.
        assert!(changed.change(Nanos::from_millis(1900), "100/s".parse().unwrap()));
        let late = instants(&mut changed, Nanos::from_secs(4));
        assert!(late.is_sorted() && (80..140).contains(&late.len()), "{}", late.len());
        assert!(late[0] > Nanos::from_millis(2600), "{spacing:?} {}", late[0]);
    }
}

#[test]
fn the_parts_of_a_schedule_whose_rate_is_changed_are_together_the_whole() {
    let connections = NonZeroU32::new(3).unwrap();
    let schedule = Schedule::new("300/s".parse().unwrap(), Spacing::Uniform, connections);
    let due = |mut arrivals: Arrivals| {
        assert!(arrivals.change(Nanos::from_millis(500), "700/s".parse().unwrap()));
        let mut all = Vec::new();
        while arrivals.next_due().at < Nanos::from_secs(1) {
            all.push(arrivals.next_due().at);
            arrivals.advance();
        }
        all
    };
    let parts = NonZeroU32::new(2).unwrap();
    let mut both: Vec<Nanos> =
        (0..2).flat_map(|index| due(schedule.part(index, parts).arrivals(1))).collect();
    both.sort();
    assert_eq!(both, due(schedule.arrivals(1)));
    assert_eq!(both.len(), 150 + 350);
}
