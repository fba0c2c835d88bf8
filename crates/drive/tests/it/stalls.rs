//! Our own loop stands still: the stall is found, is blamed on nobody else, and causes no burst.

use crate::peers::{Noting, Watched};
use crate::world::{Play, Played, ROUND_TRIP, Speech, TIME_MAX, World, always, ms};
use engine::sim::Outcome as Ended;
use record::{Counts, Outcome, Stall};
use stats::Histogram;
use std::collections::BTreeMap;
use units::{Instant, Nanos};

#[test]
fn a_generator_that_stands_still_is_found_and_not_blamed_on_the_server() {
    for speech in Speech::ALL {
        let (played, _) = frozen(speech, Play::new(speech).connections(50).rate("1000/s"), SECOND);
        played.assert_all_ok(5000);
        let stalls = &played.outcome.stalls;
        // It should have gone on when the next message was due.
        let [Stall { at_ns, duration_ns, affected }] = stalls.first[..] else {
            panic!("{stalls:?}")
        };
        assert_eq!((at_ns, at_ns + duration_ns), (2_001_000_000, 3_000_500_000), "{speech:?}");
        assert_eq!((stalls.count, stalls.total_ns), (1, duration_ns));
        // A thousand were due in the gap, and two were in flight when it began.
        assert_eq!((stalls.affected, affected), (1002, 1002), "{speech:?}");
        // Replies to what was sent before the stall are read late; what is sent after it is answered as usual.
        let slow = over(&played.notes.round_trips, ms(3));
        assert_eq!(slow, 2, "{speech:?}");
        if speech != Speech::Http {
            // All that was due in the gap was sent one gap late.
            assert_eq!(over(&played.notes.response, ms(900)), 1002);
            assert_eq!(over(&played.notes.lag, ms(3)), 1000);
        }
    }
}

#[test]
fn what_was_due_in_a_gap_is_never_sent_in_a_burst() {
    for poisson in [false, true] {
        for length in [20, 300, 1000] {
            let play = Play::new(Speech::Raw).connections(50).rate("1000/s");
            let play = if poisson { play.poisson() } else { play };
            let (played, server) = frozen(Speech::Raw, play, ms(length));
            let Counts { sent, ok, .. } = played.outcome.measured;
            assert_eq!((sent, played.outcome.planned), (ok, ok));
            assert_eq!(server.came.len() as u64, sent);
            let mut per_10_ms = BTreeMap::<u64, u32>::new();
            for (at, ..) in &server.came {
                *per_10_ms.entry(at.0 / 10_000_000).or_default() += 1;
            }
            let most = if poisson { 50 } else { 21 };
            let worst = per_10_ms.values().max();
            assert!(worst.is_some_and(|worst| *worst <= most), "{length} {poisson} {worst:?}");
        }
    }
}

#[test]
fn gaps_that_follow_on_one_another_are_replayed_one_after_the_other() {
    let play = Play::new(Speech::Raw).connections(50).rate("1000/s").duration(ms(5000));
    let mut world = World::new(&play.reply_timeout(ms(10_000)).drain(ms(5000)));
    for (from, until) in [(1000, 1500), (1700, 2100), (2150, 2160)] {
        let instant = |millis: u64| Instant(millis * 1_000_000 + 500_000);
        world.client.freeze(instant(from), instant(until));
    }
    let mut server = Noting::default();
    assert_eq!(world.run(&mut server, TIME_MAX), Ended::Done);
    let played = world.finish();
    played.assert_all_ok(5000);
    let stalls = &played.outcome.stalls;
    assert_eq!(stalls.count, 3);
    // Each millisecond of the gaps has a message, which is counted once even if several gaps held it.
    let gaps = stalls.total_ns / 1_000_000;
    assert!((gaps..=gaps + 9).contains(&stalls.affected), "{stalls:?}");
    assert!(stalls.first.iter().map(|stall| stall.affected).sum::<u64>() > stalls.affected);
    let mut per_10_ms = BTreeMap::<u64, u32>::new();
    for (at, ..) in &server.came {
        *per_10_ms.entry(at.0 / 10_000_000).or_default() += 1;
    }
    let worst = per_10_ms.values().max();
    assert!(worst.is_some_and(|worst| *worst <= 21), "{worst:?}");
    // A gap of 500 ms, of which 200 ms are replayed before the next one; after that one at a time.
    let longest = played.notes.lag.max().unwrap();
    assert!(longest > ms(690) && longest < ms(920), "{longest}");
}

#[test]
fn what_a_gap_leaves_over_at_the_end_is_sent_in_the_drain() {
    let play = Play::new(Speech::Raw).connections(5).rate("1000/s").duration(ms(2000));
    for (drain, late) in [(ms(2000), 0), (ms(100), 400)] {
        let mut world = World::new(&play.clone().drain(drain));
        world.client.freeze(Instant(1_500_500_000), Instant(2_000_500_000));
        assert_eq!(world.run(&mut Watched::new(Speech::Raw), TIME_MAX), Ended::Done);
        let played = world.finish();
        let Counts { sent, ok, unsent, .. } = played.outcome.measured;
        assert_eq!((played.outcome.planned, sent + unsent), (2000, 2000));
        assert!(unsent.abs_diff(late) <= 3 && sent - ok <= 2, "{unsent} {late}");
    }
}

#[test]
fn a_gap_over_the_end_of_the_measurement_leaves_nothing_out() {
    let play = Play::new(Speech::Framed).connections(5).rate("1000/s").duration(ms(2000));
    let mut world = World::new(&play.drain(ms(3000)));
    world.client.freeze(Instant(1_500_500_000), Instant(2_700_500_000));
    assert_eq!(world.run(&mut Watched::new(Speech::Framed), TIME_MAX), Ended::Done);
    let played = world.finish();
    assert_eq!(played.outcome.planned, 2000);
    assert_eq!(played.outcome.measured.ok, 2000);
    let (begin, end) = played.outcome.window.unwrap();
    assert_eq!(end.since(begin), ms(2000));
}

#[test]
fn a_gap_over_the_end_of_the_warm_up_moves_nothing_from_one_to_the_other() {
    for max in [20, 100_000] {
        let play = Play::new(Speech::Framed).connections(5).rate("7k/s").outstanding_max(max);
        let mut world = World::new(&play.warm_up(ms(1000)).duration(ms(1000)).drain(ms(3000)));
        world.client.freeze(Instant(900_500_000), Instant(1_100_500_000));
        assert_eq!(world.run(&mut Watched::new(Speech::Framed), TIME_MAX), Ended::Done);
        let Outcome { window, planned, measured, warm_up, stalls, .. } = world.finish().outcome;
        let begin = Instant::START + ROUND_TRIP + ms(1000);
        assert_eq!(window, Some((begin, begin + ms(1000))), "as the schedule has it");
        assert_eq!((planned, warm_up.sent + warm_up.unsent), (7000, 7000), "{max}");
        assert_eq!(measured.unsent > 0, max == 20);
        assert_eq!(stalls.count, 1);
    }
}

#[test]
fn a_gap_in_the_warm_up_is_no_stall_of_the_measurement() {
    let play = Play::new(Speech::Framed).connections(5).rate("1000/s").warm_up(ms(1000));
    let mut world = World::new(&play.duration(ms(1000)));
    world.client.freeze(Instant(500_500_000), Instant(700_500_000));
    assert_eq!(world.run(&mut Watched::new(Speech::Framed), TIME_MAX), Ended::Done);
    let played = world.finish();
    assert_eq!(played.outcome.stalls.count, 0);
    assert_eq!(played.outcome.warm_up, Counts { sent: 1000, ok: 1000, ..Counts::default() });
    played.assert_all_ok(1000);
}

#[test]
fn what_is_shorter_than_a_stall_is_none_and_is_sent_at_once() {
    let play = Play::new(Speech::Framed).connections(5).rate("1000/s").duration(ms(1000));
    let mut world = World::new(&play);
    world.client.freeze(Instant(500_500_000), Instant(505_500_000));
    assert_eq!(world.run(&mut Watched::new(Speech::Framed), TIME_MAX), Ended::Done);
    let played = world.finish();
    played.assert_all_ok(1000);
    assert_eq!(played.outcome.stalls.count, 0);
    let late = played.notes.lag.max().unwrap();
    assert!(late > ms(4) && late < ms(5), "{late}");

    // A machine whose timers are that coarse.
    let mut world = World::new(&play);
    world.worker = worker(&world, &play).with_stall_min(ms(600));
    world.client.freeze(Instant(300_500_000), Instant(800_500_000));
    assert_eq!(world.run(&mut Watched::new(Speech::Framed), TIME_MAX), Ended::Done);
    assert_eq!(world.finish().outcome.stalls.count, 0);
}

#[test]
fn a_closed_loop_knows_its_gaps_too() {
    let play = Play::new(Speech::Framed).connections(3).duration(ms(2000));
    let mut world = World::new(&play.reply_timeout(ms(10_000)));
    world.client.freeze(Instant(500_500_000), Instant(1_500_500_000));
    assert_eq!(world.run(&mut Watched::new(Speech::Framed), TIME_MAX), Ended::Done);
    let stalls = world.finish().outcome.stalls;
    // It should have gone on within a tenth of a second.
    assert_eq!((stalls.count, stalls.affected), (1, 3));
    assert!(stalls.total_ns >= ms(900).0 && stalls.total_ns <= ms(1000).0, "{stalls:?}");
}

#[test]
fn a_slow_server_is_no_stall_of_ours() {
    let play = Play::new(Speech::Framed).connections(3).rate("1000/s").duration(ms(2000));
    let mut world = World::new(&play);
    world.server.slow_down(ms(20));
    world.server.freeze(Instant(1_000_000_000), Instant(1_200_000_000));
    assert_eq!(world.run(&mut Watched::new(Speech::Framed), TIME_MAX), Ended::Done);
    let played = world.finish();
    assert_eq!(played.outcome.stalls.count, 0);
    assert_eq!(played.notes.lag, always(Nanos::ZERO, 2000));
    assert!(played.notes.response.min().unwrap() >= ROUND_TRIP);
}

/// Five seconds of `play`, with the worker standing still for `length` from 2.0005 s on.
fn frozen(speech: Speech, play: Play, length: Nanos) -> (Played, Noting) {
    let play = play.duration(ms(5000)).reply_timeout(ms(10_000)).drain(ms(3000));
    let mut world = World::new(&play);
    let from = Instant(2_000_500_000);
    world.client.freeze(from, from + length);
    let mut noting = Noting::default();
    let ended = if speech == Speech::Raw {
        world.run(&mut noting, TIME_MAX)
    } else {
        world.run(&mut Watched::new(speech), TIME_MAX)
    };
    assert_eq!(ended, Ended::Done);
    (world.finish(), noting)
}

/// The number of recorded times that are longer than `length`.
fn over(times: &Histogram, length: Nanos) -> u64 {
    times.count_between(length, Histogram::MAX)
}

const SECOND: Nanos = Nanos::from_secs(1);

fn worker(world: &World, play: &Play) -> drive::Worker<crate::world::Notes> {
    crate::world::worker(play, &world.control)
}
