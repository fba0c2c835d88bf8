//! The open loop in numbers: messages are due by the schedule, and measured from due, whatever becomes of them.

use crate::peers::{Answering, Noting, Once, Then, Watched, oracle};
use crate::world::{
    ORACLE_LEN, Play, Played, ROUND_TRIP, Speech, TIME_MAX, World, always, ms, worker,
};
use drive::Phase;
use engine::Address;
use engine::sim::{Cut, Cuts, Outcome as Ended, Party};
use load::Header;
use record::{Connections, Counts, ErrorClass};
use serve::Behaviour;
use stats::Stall;
use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::sync::Arc;
use units::{Instant, Nanos, Rate};

#[test]
fn every_message_is_sent_when_it_is_due_and_answered_after_a_round_trip() {
    for speech in Speech::ALL {
        let play = Play::new(speech).connections(4).rate("1000/s").duration(ms(2000));
        let (poisson, own) = (play.clone().poisson(), play.clone().own());
        for play in [play, poisson, own] {
            let played = play.against(&mut Watched::new(speech));
            let Counts { sent, .. } = played.outcome.measured;
            played.assert_all_ok(sent);
            assert_eq!(played.notes.round_trips, always(ROUND_TRIP, sent));
            if speech != Speech::Http {
                assert_eq!(played.notes.response, always(ROUND_TRIP, sent), "{speech:?}");
                assert_eq!(played.notes.lag, always(Nanos::ZERO, sent));
            }
        }
    }
}

#[test]
fn a_stalled_server_shows_in_the_response_times_of_all_who_came_meanwhile() {
    // The formula of METHOD, with a server that works off its backlog in no time.
    let law = Stall {
        rate: "1000/s".parse().unwrap(),
        measured: ms(20_000),
        stopped: ms(2000),
        drain_rate: "100M/s".parse().unwrap(),
    };
    for speech in Speech::ALL {
        let mut play = Play::new(speech).connections(100).rate("1000/s");
        play.conditions.delay = Nanos::from_micros(10);
        let played = stalled_server(speech, play);
        played.assert_all_ok(20_000);
        assert_eq!(played.notes.response.count(), law.count());
        for q in [0.95, 0.99, 0.999] {
            near(played.notes.response.quantile(q).unwrap(), law.quantile(q), ms(3));
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a test")]
        let mean = Nanos(played.notes.response.mean_ns().unwrap() as u64);
        near(mean, law.mean(), ms(1));
        assert_eq!(played.notes.lag.max(), Some(Nanos(0)), "we were not late: {speech:?}");
        assert_eq!(played.outcome.stalls.count, 0);
    }
}

#[test]
fn a_closed_loop_hardly_sees_a_stalled_server() {
    let closed = stalled_server(Speech::Framed, Play::new(Speech::Framed).connections(10));
    let p99 = closed.notes.round_trips.quantile(0.99).unwrap();
    assert!(p99 < ms(10), "one message in flight on each connection waits, and no other: {p99}");
}

/// Runs for 20 s, with the server standing still from 5 s to 7 s.
fn stalled_server(speech: Speech, play: Play) -> Played {
    let play = play.duration(ms(20_000)).reply_timeout(ms(10_000));
    let mut world = World::new(&play);
    world.server.freeze(Instant(5_000_000_000), Instant(7_000_000_000));
    assert_eq!(world.run(&mut Watched::new(speech), TIME_MAX), Ended::Done);
    world.finish()
}

#[test]
fn what_is_more_than_may_be_outstanding_is_counted_as_unsent() {
    for speech in Speech::ALL {
        let play = Play::new(speech).connections(3).rate("1000/s").outstanding_max(50);
        let play = play.duration(ms(2000)).reply_timeout(ms(10_000));
        let mut world = World::new(&play);
        world.server.freeze(Instant(1_000_500_000), Instant(1_500_500_000));
        assert_eq!(world.run(&mut Watched::new(speech), TIME_MAX), Ended::Done);
        let played = world.finish();
        let Counts { sent, ok, unsent, .. } = played.outcome.measured;
        // The first reply is missing when the freeze begins; 500 messages are due during it, and 50 are outstanding at
        // its end.
        assert_eq!((played.outcome.planned, sent, ok), (2000, 2000 - unsent, sent));
        assert!((449..=453).contains(&unsent), "{speech:?} {unsent}");
        assert_eq!(played.errors(), []);
    }
}

#[test]
fn a_rate_far_above_what_anybody_can_carry_ends_on_time_with_everything_counted() {
    for (rate, planned) in [("20k/s", 20_000), ("1G/s", 1_000_000_000)] {
        for own in [false, true] {
            let play = Play::new(Speech::Framed).connections(4).rate(rate).outstanding_max(100);
            let play = if own { play.own() } else { play };
            let play = play.duration(ms(1000)).reply_timeout(ms(200)).drain(ms(300));
            let mut world = World::new(&play);
            world.server.slow_down(ms(1));
            assert_eq!(world.run(&mut Watched::new(Speech::Framed), TIME_MAX), Ended::Done);
            let played = world.finish();
            assert_eq!(played.outcome.planned, planned);
            let counts = played.outcome.measured;
            assert!(counts.ok >= 700 && counts.unsent > planned / 5, "{counts:?}");
            assert!(played.ended <= Instant(1_350_000_000), "{:?}", played.ended);
        }
    }
}

#[test]
fn known_delays_are_measured_exactly_whatever_the_spacing() {
    for speech in Speech::ALL {
        for spacing in [Play::poisson, |play: Play| play] {
            let play = spacing(Play::new(speech).connections(50).rate("500/s")).asks_for_delay();
            let delay = "fixed:3ms".parse().unwrap();
            let behaviour = Behaviour { delay, ..Behaviour::default() };
            let mut server = oracle(speech, behaviour, ORACLE_LEN);
            let played = play.duration(ms(4000)).against(&mut server);
            let sent = played.outcome.measured.sent;
            played.assert_all_ok(sent);
            assert!((1800..2200).contains(&sent), "{sent}");
            let expected = always(ms(3 + 2), sent);
            assert_eq!(played.notes.response, expected, "{speech:?}");
            assert_eq!(played.notes.round_trips, expected, "service time");
            assert_eq!(played.notes.true_delay, always(ms(3), sent));
            assert_eq!(played.notes.own_share, always(Nanos::ZERO, sent), "decoded at once");
        }
    }
}

#[test]
fn messages_due_in_the_warm_up_do_not_count_though_they_are_answered_after_it() {
    for speech in Speech::ALL {
        // The server stands still over the end of the warm-up: what was due in it is answered in the measurement.
        let play = Play::new(speech).connections(40).rate("100/s").warm_up(ms(1000));
        let play = play.duration(ms(1000)).reply_timeout(ms(5000));
        let mut world = World::new(&play);
        world.server.freeze(Instant(800_500_000), Instant(1_300_500_000));
        assert_eq!(world.run(&mut Watched::new(speech), TIME_MAX), Ended::Done);
        let played = world.finish();
        played.assert_all_ok(100);
        let warm_up = Counts { sent: 100, ok: 100, ..Counts::default() };
        assert_eq!(played.outcome.warm_up, warm_up);
        let longest = played.notes.response.max().unwrap();
        // The connections are open after 2 or 4 ms, so the measurement begins right after the first second.
        assert!(longest < ms(310), "{speech:?} {longest}");
        let (begin, end) = played.outcome.window.unwrap();
        assert_eq!(end.since(begin), ms(1000));
    }
}

#[test]
fn messages_due_in_the_warm_up_do_not_count_though_they_are_sent_after_it() {
    // One request at a time: while the server stands still over the end of the warm-up, the others wait.
    let play = Play::new(Speech::Http).rate("100/s").warm_up(ms(1000)).duration(ms(1000));
    let mut world = World::new(&play.reply_timeout(ms(5000)));
    world.server.freeze(Instant(800_500_000), Instant(1_300_500_000));
    assert_eq!(world.run(&mut Watched::new(Speech::Http), TIME_MAX), Ended::Done);
    let played = world.finish();
    played.assert_all_ok(100);
    let warm_up = Counts { sent: 100, ok: 100, ..Counts::default() };
    assert_eq!(played.outcome.warm_up, warm_up);
}

#[test]
fn the_connect_is_inside_no_response_time_of_a_connection_that_stays() {
    for speech in Speech::ALL {
        let mut play = Play::new(speech).connections(4).rate("100/s").duration(ms(1000));
        // However slow connecting is.
        play.workload.connect_rate = Some("10/s".parse().unwrap());
        let played = play.against(&mut Watched::new(speech));
        played.assert_all_ok(100);
        assert_eq!(played.notes.response, always(ROUND_TRIP, 100));
        assert_eq!(played.outcome.times.connect, always(ROUND_TRIP, 4));
    }
}

#[test]
fn what_failed_or_timed_out_has_a_response_time_of_the_time_out_at_least() {
    // Of 100 messages the 10th to the 19th are answered wrongly, and the 30th to the 39th not at all.
    let mut server = Answering::new(Speech::WebSocket, |number, mut echo: Vec<u8>| {
        match number {
            10..20 => *echo.last_mut().unwrap() ^= 1,
            30..40 => echo.clear(),
            _ => {}
        }
        (echo, Then::GoOn)
    });
    let play = Play::new(Speech::WebSocket).payload(40).connections(5).rate("100/s");
    let played = play.duration(ms(1000)).reply_timeout(ms(250)).against(&mut server);
    let expected =
        Counts { sent: 100, ok: 80, error: 10, timed_out: 10, unsent: 0, ..Counts::default() };
    assert_eq!(played.outcome.measured, expected);
    let mut response = always(ROUND_TRIP, 80);
    response.add(&always(ms(250), 20));
    // The worker looks for late messages every 10 ms.
    assert_eq!(played.notes.response.count(), response.count());
    assert!(played.notes.response.quantile(0.9).unwrap() >= ms(249));
    assert!(played.notes.response.max().unwrap() <= ms(262));
    assert_eq!(played.notes.round_trips, always(ROUND_TRIP, 80), "only replies have service times");
    assert_eq!(played.notes.lag, always(Nanos::ZERO, 100));
}

#[test]
fn what_is_in_flight_at_the_end_is_in_no_distribution() {
    let play = Play::new(Speech::Framed).connections(5).rate("100/s").duration(ms(1000));
    let mut world = World::new(&play.reply_timeout(ms(10_000)).drain(ms(100)));
    world.server.freeze(Instant(503_500_000), TIME_MAX);
    assert_eq!(world.run(&mut Watched::new(Speech::Framed), TIME_MAX), Ended::Done);
    let played = world.finish();
    let counts = played.outcome.measured;
    assert_eq!((counts.sent, counts.in_flight(), counts.unsent), (100, 49, 0));
    assert_eq!(played.notes.response, always(ROUND_TRIP, 51));
    assert_eq!(played.ended, Instant(1_102_000_000), "2 ms to connect, 1 s, and the drain");
}

#[test]
fn what_was_sent_follows_the_rate_for_a_minute() {
    for rate in ["777/s", "1000/7s"] {
        let play = Play::new(Speech::Framed).connections(3).rate(rate).duration(ms(60_000));
        let mut world = World::new(&play);
        let later = Instant(120_000_000_000);
        assert_eq!(world.run(&mut Watched::new(Speech::Framed), later), Ended::Done);
        let played = world.finish();
        let (begin, _) = played.outcome.window.unwrap();
        let rate: Rate = rate.parse().unwrap();
        let mut sent = 0;
        for interval in played.notes.intervals.iter().filter(|kept| kept.phase == Phase::Measure) {
            sent += interval.counts.sent;
            #[expect(clippy::cast_precision_loss, reason = "they are few")]
            let ahead = sent as f64 - rate.per_second() * interval.end.since(begin).as_secs_f64();
            assert!(ahead.abs() <= 1.0, "{ahead} after {sent}");
        }
        assert_eq!(played.outcome.planned, sent);
    }
}

#[test]
fn no_two_bots_share_a_phase_and_each_keeps_its_own() {
    // 40 bots, each once a second.
    let play = Play::new(Speech::Raw).connections(40).rate("40/s").own().duration(ms(5000));
    let mut server = Noting::default();
    play.against(&mut server).assert_all_ok(200);
    let mut phases = vec![BTreeSet::new(); 40];
    let first = server.came[0].0;
    for (at, bot, _) in &server.came {
        phases[*bot].insert(at.since(first).0 % 1_000_000_000 / 1_000_000);
    }
    let phases: BTreeSet<_> = phases.into_iter().collect();
    let expected = (0..40).map(|bot| BTreeSet::from([bot * 25])).collect();
    assert_eq!(phases, expected, "one for each bot, 25 ms apart");
}

#[test]
fn workers_together_keep_the_rate() {
    let play = Play::new(Speech::Raw).connections(7).rate("1000/s").own().duration(ms(1000));
    let parts = play.workload.split(NonZeroU32::new(3).unwrap());
    let part = |index: usize| Play { workload: parts[index].clone(), ..play.clone() };
    let mut world = World::of_workers(&part(0), 3);
    let mut others = [1, 2].map(|index| worker(&part(index), &world.control));
    let mut engines = [world.network.engine(), world.network.engine()];
    let mut server = Noting::default();
    let [first, second] = &mut others;
    let [first_engine, second_engine] = &mut engines;
    let mut parties = [
        Party::awaited(&mut world.client, &mut world.worker),
        Party::awaited(first_engine, first),
        Party::awaited(second_engine, second),
        Party::background(&mut world.server, &mut server),
    ];
    assert_eq!(world.network.run(&mut parties, TIME_MAX), Ended::Done);
    let all = others.map(|other| {
        let (outcome, notes) = other.finish();
        Played::new(outcome, notes, true)
    });
    let played = world.finish();
    let planned: u64 = all.iter().chain([&played]).map(|played| played.outcome.planned).sum();
    assert_eq!(planned, 1000);
    assert!(all.iter().all(|other| other.outcome.window == played.outcome.window));
    let gaps: Vec<u64> = server.came.windows(2).map(|pair| pair[1].0.since(pair[0].0).0).collect();
    assert_eq!(gaps, [1_000_000; 999], "one a millisecond, whoever sends it");
}

#[test]
fn a_worker_that_hears_late_of_the_start_keeps_to_the_schedule_of_all() {
    let play = Play::new(Speech::Raw).connections(2).rate("1000/s").own().duration(ms(1000));
    let parts = play.workload.split(NonZeroU32::new(2).unwrap());
    let part = |index: usize| Play { workload: parts[index].clone(), ..play.clone() };
    let mut world = World::of_workers(&part(0), 2);
    let mut other = worker(&part(1), &world.control);
    let mut engine = world.network.engine();
    // Both are ready after 2 ms, and begin 2 ms later.
    engine.freeze(Instant(2_500_000), Instant(7_500_000));
    let mut server = Noting::default();
    let mut parties = [
        Party::awaited(&mut world.client, &mut world.worker),
        Party::awaited(&mut engine, &mut other),
        Party::background(&mut world.server, &mut server),
    ];
    assert_eq!(world.network.run(&mut parties, TIME_MAX), Ended::Done);
    let (outcome, notes) = other.finish();
    let other = Played::new(outcome, notes, true);
    assert_eq!(other.outcome.window, world.finish().outcome.window);
    other.assert_all_ok(500);
    near(other.notes.lag.max().unwrap(), Nanos::from_micros(2500), Nanos::from_micros(10));
}

#[test]
fn connections_take_turns() {
    for speech in [Speech::Framed, Speech::Http] {
        let mut server = Watched::new(speech);
        let play = Play::new(speech).connections(7).rate("700/s").warm_up(ms(500));
        let played = play.duration(ms(1000)).against(&mut server);
        played.assert_all_ok(700);
        // The last reply of the warm-up arrives a round trip into the measurement, and one misses its end.
        assert_eq!(played.outcome.replies_each, [(100, 7)].into());
    }
}

#[test]
fn http_carries_one_request_at_a_time_and_that_wait_is_not_our_lag() {
    // The server takes 10 ms for each, on two connections: 200 a second, and 300 are due.
    let delay = "fixed:8ms".parse().unwrap();
    let mut server = oracle(Speech::Http, Behaviour { delay, ..Behaviour::default() }, 40);
    let play = Play::new(Speech::Http).payload(40).connections(2).rate("300/s");
    let played = play.duration(ms(1000)).drain(ms(2000)).against(&mut server);
    played.assert_all_ok(300);
    assert_eq!(played.notes.round_trips, always(ms(10), 300), "the service time is unchanged");
    assert_eq!(played.notes.lag, always(Nanos::ZERO, 300));
    // The last is due after 1 s, and answered after 1.5 s.
    near(played.notes.response.max().unwrap(), ms(500), ms(12));
}

#[test]
fn a_connection_that_is_lost_is_opened_again_and_what_waits_for_it_is_sent_late() {
    for own in [false, true] {
        let cut = Cut { connection: 0, after: Nanos::from_micros(500_500) };
        let mut play = Play::new(Speech::Raw).connections(1).rate("1000/s").duration(ms(1000));
        play.conditions.cuts = Cuts::Scheduled(vec![cut]);
        let play = if own { play.own() } else { play };
        let mut server = Noting::default();
        let played = play.against(&mut server);
        let Counts { sent, ok, error, .. } = played.outcome.measured;
        // The messages of one round trip are in flight; the others wait for 10 ms and a connect.
        assert_eq!((sent, ok, error), (1000, 998, 2));
        assert_eq!(played.errors(), [(ErrorClass::Cut, 1, "connection reset by peer")]);
        let Connections { started, opened, lost, reconnects, .. } = played.outcome.connections;
        assert_eq!((started, opened, lost, reconnects), (2, 2, 1, 1));
        let due: Vec<_> = server.came.iter().map(|(_, _, bytes)| header(bytes).due).collect();
        assert!(due.is_sorted(), "in the order of due");
        assert_eq!(played.notes.lag, always(Nanos::ZERO, 1000), "none of it is our lag");
        let over = |length| played.notes.response.quantile(0.98).unwrap() > length;
        assert!(over(ROUND_TRIP) && !over(ms(20)));
        assert!(played.outcome.replies_each.is_empty(), "no connection lived throughout");
    }
}

#[test]
fn what_waits_at_the_end_is_sent_in_the_drain_and_what_cannot_be_is_unsent() {
    for drain in [ms(500), ms(90)] {
        // No connection from 0.9 s on; those that try again get no answer before 1.1 s.
        let cut = Cut { connection: 0, after: Nanos::from_micros(900_500) };
        let mut play = Play::new(Speech::Raw).connections(1).rate("100/s").duration(ms(1000));
        play.conditions.cuts = Cuts::Scheduled(vec![cut]);
        play.workload.connect_rate = Some("1/1100ms".parse().unwrap());
        let played = play.drain(drain).against(&mut Noting::default());
        let Counts { sent, ok, unsent, error, .. } = played.outcome.measured;
        let late = if drain > ms(100) { 9 } else { 0 };
        // One was under way when the connection was cut.
        assert_eq!((sent, ok, error, unsent), (91 + late, 90 + late, 1, 9 - late));
        assert_eq!(played.outcome.planned, 100);
    }
}

#[test]
fn exactly_so_many_messages_are_due_as_were_asked_for() {
    for speech in Speech::ALL {
        for warm_up in [ms(0), ms(100)] {
            let play = Play::new(speech).connections(3).rate("1000/s").warm_up(warm_up);
            let played = play.messages(123).against(&mut Watched::new(speech));
            played.assert_all_ok(123);
            let (begin, end) = played.outcome.window.unwrap();
            assert_eq!(end.since(begin), ms(123), "until one more would be due");
        }
    }
}

#[test]
fn a_number_of_messages_beyond_what_may_be_outstanding_is_counted_out() {
    let play = Play::new(Speech::Framed).connections(3).rate("1G/s").outstanding_max(10);
    let played = play.messages(5000).against(&mut Watched::new(Speech::Framed));
    let Counts { sent, ok, unsent, .. } = played.outcome.measured;
    assert_eq!((played.outcome.planned, sent, ok, unsent), (5000, 10, 10, 4990));
}

#[test]
fn nobody_there_ends_at_once() {
    let nobody = Address::Tcp(([10, 0, 0, 2], 80).into());
    for (play, planned) in [
        (Play::new(Speech::Framed).rate("1000/s").messages(10), 10),
        (Play::new(Speech::Framed).rate("1000/s").warm_up(ms(10)).duration(ms(1000)), 0),
    ] {
        let play = Play { target: nobody.clone(), ..play };
        let played = play.against(&mut Watched::new(Speech::Framed));
        let unsent = Counts { unsent: planned, ..Counts::default() };
        assert_eq!((played.outcome.planned, played.outcome.measured), (planned, unsent));
        assert_eq!(played.ended, Instant::START + ROUND_TRIP);
    }
}

#[test]
fn a_stop_leaves_nothing_out_of_the_count() {
    for messages in [None, Some(5000)] {
        for warm_up in [ms(0), ms(1500)] {
            let play = Play::new(Speech::Framed).connections(3).rate("1000/s").warm_up(warm_up);
            let play = match messages {
                Some(messages) => play.messages(messages),
                None => play.duration(ms(5000)),
            };
            let mut world = World::new(&play.reply_timeout(ms(10_000)));
            world.server.freeze(Instant(1_000_500_000), TIME_MAX);
            let mut stopping = world.network.engine();
            let control = Arc::clone(&world.control);
            let mut stopper = Once { at: Instant(1_234_560_000), deed: move || control.stop() };
            let mut server = Watched::new(Speech::Framed);
            let mut parties = [
                Party::awaited(&mut world.client, &mut world.worker),
                Party::background(&mut world.server, &mut server),
                Party::background(&mut stopping, &mut stopper),
            ];
            assert_eq!(world.network.run(&mut parties, TIME_MAX), Ended::Done);
            let played = world.finish();
            let Counts { sent, unsent, .. } = played.outcome.measured;
            let is_measured = warm_up == ms(0);
            let window = played.outcome.window.map_or(Nanos::ZERO, length);
            assert_eq!(sent, if is_measured { window.0.div_ceil(1_000_000) } else { 0 });
            assert_eq!(unsent, messages.map_or(0, |messages| messages - sent));
            assert_eq!(played.outcome.window.is_some(), is_measured);
        }
    }
}

fn length((begin, end): (Instant, Instant)) -> Nanos {
    end.since(begin)
}

/// Reads the header of a message.
fn header(bytes: &[u8]) -> Header {
    Header::read(bytes, false).unwrap()
}

#[track_caller]
fn near(got: Nanos, expected: Nanos, within: Nanos) {
    assert!(got.0.abs_diff(expected.0) <= within.0, "{got} is not near {expected}");
}
