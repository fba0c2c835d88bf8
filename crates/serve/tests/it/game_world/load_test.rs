//! The load-test game: sequence, delay, and who hears what.

use super::stage::{Stage, bad, event, response};
use serve::game::world::Options;
use units::Nanos;
use wire::styx::load_test::{LoadRequest, LoadResponse};
use wire::styx::packets::*;

fn stage() -> Stage {
    Stage::new(Options { tables: 3, seats: 3, ..Options::default() })
}

fn number(seq: i32) -> LoadRequest {
    LoadRequest { seq, ..LoadRequest::default() }
}

fn delayed(seq: i32, delay: i32) -> LoadRequest {
    LoadRequest { delay, ..number(seq) }
}

#[test]
fn everybody_at_the_table_hears_every_event_under_its_true_sender() {
    let mut stage = stage();
    let (one, two, elsewhere) = (stage.seated(1, 1), stage.seated(2, 1), stage.seated(3, 2));
    let lied = LoadRequest { pid: 3, tableid: 2, ..number(1) };
    stage.say(one, GameTransport { pid: 3, ..event(1, lied) });
    for listener in [one, two] {
        assert_eq!(stage.hear(listener), [response(1, 1, 1)]);
    }
    assert_eq!(stage.hear(elsewhere), []);
    let counters = stage.world.counters();
    assert_eq!((counters.events, counters.deliveries, counters.watched), (1, 2, 0));
}

#[test]
fn an_event_that_is_none_is_answered_with_bad_packet() {
    let mut stage = stage();
    let one = stage.seated(1, 1);
    for (tableid, error) in [(0, -1), (4, -1), (-1, -1), (i32::MAX, -1), (2, -2)] {
        stage.ask(one, event(tableid, number(1)), [bad(100, error)]);
    }
    let response = LoadResponse::default().pack().to_vec();
    for gamedata in [vec![], vec![0; 22], response, number(1).pack()[..21].to_vec()] {
        let transport =
            GameTransport { tableid: 1, gamedata: gamedata.into(), ..Default::default() };
        stage.ask(one, transport, [bad(100, -4)]);
    }
    let counters = stage.world.counters();
    assert_eq!((counters.events, counters.bad_packets), (0, 9));
}

/// The number of an event, and whether it is resent.
type Number = (i32, bool);

#[test]
fn numbers_must_follow_one_another() {
    #[rustfmt::skip]
    let table: [(&[Number], u64, u64); 8] = [
        // numbers, and whether resent                    errors, resent
        (&[(1, false), (2, false), (3, false)],                0, 0),
        (&[(7, false), (8, false)],                            0, 0), // whatever is first
        (&[(1, false), (3, false), (4, false)],                1, 0),
        (&[(1, false), (1, false), (2, false)],                0, 0), // 1 begins anew
        (&[(1, false), (2, false), (2, false)],                1, 0),
        (&[(1, false), (2, false), (2, true), (3, false)],     0, 1),
        (&[(1, false), (2, false), (1, true), (2, false)],     0, 0), // 1 begins anew
        (&[(i32::MAX, false), (i32::MIN, false)],              0, 0), // the next after the last
    ];
    for row @ (numbers, errors, resent) in table {
        let mut stage = stage();
        let one = stage.seated(1, 1);
        for &(seq, resend) in numbers {
            stage.say(one, event(1, LoadRequest { resend, ..number(seq) }));
        }
        let counters = stage.world.counters();
        assert_eq!((counters.sequence_errors, counters.resent), (errors, resent), "{row:?}");
        assert_eq!(stage.hear(one).len(), numbers.len(), "each is answered all the same: {row:?}");
    }
}

#[test]
fn each_player_and_each_sitting_has_its_own_numbers() {
    let mut stage = stage();
    let (one, two) = (stage.seated(1, 1), stage.seated(2, 1));
    for (from, seq) in [(one, 1), (two, 1), (two, 2), (one, 2), (one, 3)] {
        stage.say(from, event(1, number(seq)));
    }
    stage.say(one, LeaveRequest { tableid: 1 });
    stage.say(one, JoinRequest { tableid: 1, seat: -1, params: Vec::new() });
    stage.say(one, event(1, number(9)));
    assert_eq!(stage.world.counters().sequence_errors, 0);
}

#[test]
fn a_delay_keeps_its_own_player_waiting_and_nobody_else() {
    let mut stage = stage();
    let (slow, quick) = (stage.seated(1, 1), stage.seated(2, 1));
    stage.say(slow, event(1, delayed(1, 100)));
    stage.say(slow, event(1, delayed(2, 50)));
    stage.say(slow, event(1, number(3)));
    stage.say(quick, event(1, number(1)));
    assert_eq!(stage.hear(slow), [response(1, 2, 1)]);
    stage.pass(Nanos::from_millis(99));
    assert_eq!(stage.hear(slow), []);
    stage.pass(Nanos::from_millis(1));
    assert_eq!(stage.hear(slow), [response(1, 1, 1)]);
    stage.pass(Nanos::from_millis(50));
    assert_eq!(stage.hear(slow), [response(1, 1, 2), response(1, 1, 3)]);
    stage.say(slow, event(1, number(4)));
    assert_eq!(stage.hear(slow), [response(1, 1, 4)], "nothing waits any more");
    assert_eq!(stage.world.counters().sequence_errors, 0);
}

#[test]
fn delays_are_held_to_their_limits() {
    let mut stage = stage();
    let one = stage.seated(1, 1);
    stage.say(one, event(1, delayed(1, i32::MAX)));
    stage.say(one, event(1, delayed(2, i32::MIN)));
    for seq in 3..=64 {
        stage.say(one, event(1, number(seq)));
    }
    stage.ask(one, event(1, number(65)), [bad(100, -6)]);
    stage.pass(Nanos::from_millis(30_000));
    stage.say(one, Ping::default());
    assert_eq!(stage.world.counters().events, 0);
    stage.pass(Nanos::from_millis(30_000));
    assert_eq!(stage.world.counters().events, 64);
}

#[test]
fn a_delayed_event_goes_with_its_player() {
    let mut stage = stage();
    let one = stage.seated(1, 1);
    stage.say(one, event(1, delayed(1, 100)));
    stage.say(one, LeaveRequest { tableid: 1 });
    stage.say(one, JoinRequest { tableid: 1, seat: 0, params: Vec::new() });
    stage.hear(one);
    stage.pass(Nanos::from_millis(100));
    assert_eq!(stage.hear(one), [], "another sitting on the same seat");
    let counters = stage.world.counters();
    assert_eq!((counters.events, counters.events_dropped), (0, 1));
}
