//! Pings, silence and floods, in virtual time.

use super::stage::{Stage, event, login, response};
use serve::game::world::{Flood, Options};
use std::num::NonZeroU32;
use units::{Instant, Nanos};
use wire::styx::load_test::LoadRequest;
use wire::styx::packets::*;

fn stage() -> Stage {
    Stage::new(Options { tables: 10, seats: 5, ..Options::default() })
}

#[test]
fn nobody_and_nothing_needs_no_deadline() {
    let mut stage = stage();
    assert_eq!(stage.world.next_deadline(), Instant::NEVER);
    let one = stage.seated(1, 1);
    stage.say(one, Logout { leave_tables: true });
    stage.pass(Nanos::from_secs(100));
    assert_eq!(stage.world.next_deadline(), Instant::NEVER);
}

#[test]
fn a_quiet_player_is_pinged_and_a_silent_one_forced_out() {
    let mut stage = stage();
    let (silent, answering) = (stage.seated(1, 1), stage.seated(2, 1));
    stage.pass(Nanos::from_secs(20));
    for session in [silent, answering] {
        assert!(matches!(stage.hear(session)[..], [Packet::Ping(_)]));
    }
    stage.say(answering, Ping { id: 1 });
    stage.pass(Nanos::from_millis(19_999));
    assert_eq!((stage.hear(silent), stage.hear(answering)), (vec![], vec![]));
    stage.pass(Nanos::from_millis(1));
    assert!(matches!(stage.hear(answering)[..], [Packet::Ping(_)]));
    stage.say(answering, Ping { id: 3 });
    stage.pass(Nanos::from_secs(20));
    let message = "silent for too long".into();
    assert_eq!(stage.hear(silent), [ForcedLogout { code: 0, message }.into()]);
    assert_eq!(stage.mail.closed, [silent]);
    let heard = stage.hear(answering);
    assert!(heard.contains(&NotifyLeave { tableid: 1, pid: 1 }.into()), "{heard:?}");
    let counters = stage.world.counters();
    assert_eq!((counters.idle, counters.forced_logouts, counters.seated), (1, 1, 1));
}

#[test]
fn whoever_plays_is_not_pinged() {
    let mut stage = stage();
    let one = stage.seated(1, 1);
    for seq in 1..=300 {
        stage.say(one, event(1, LoadRequest { seq, ..LoadRequest::default() }));
        stage.pass(Nanos::from_secs(1));
    }
    let counters = stage.world.counters();
    assert_eq!((counters.pings, counters.events, counters.idle), (0, 300, 0));
}

#[test]
fn a_connection_without_a_login_is_ended_however_much_it_says() {
    let mut stage = stage();
    let one = stage.connect();
    for _ in 0..9 {
        stage.pass(Nanos::from_secs(1));
        stage.say(one, Version::default());
    }
    assert_eq!(stage.mail.closed, []);
    stage.pass(Nanos::from_secs(1));
    assert_eq!((&stage.mail.closed[..], stage.world.counters().idle), (&[one][..], 1));
    assert_eq!(stage.world.counters().forced_logouts, 0, "there was no player");
}

#[test]
fn a_flood_is_ended_and_no_other_player_notices() {
    let ten = NonZeroU32::new(10).unwrap();
    let flood = Some(Flood { packets_per_s: ten, burst: ten });
    let mut stage = Stage::new(Options { tables: 10, seats: 5, flood, ..Options::default() });
    let (healthy, flooder, neighbour) =
        (stage.seated(1, 1), stage.seated(2, 2), stage.seated(3, 2));
    // Five packets a second are below the limit, however long they last.
    for seq in 1..=100 {
        stage.pass(Nanos::from_millis(200));
        stage.say(healthy, event(1, LoadRequest { seq, ..LoadRequest::default() }));
        assert_eq!(stage.hear(healthy), [response(1, 1, seq)], "at once");
        if seq == 50 {
            for seq in 1..=10_000 {
                stage.say(flooder, event(2, LoadRequest { seq, ..LoadRequest::default() }));
            }
        }
        // Both others are silent except for the flood.
        stage.say(neighbour, Ping::default());
    }
    let heard = stage.hear(flooder);
    let message = "too many packets".into();
    assert_eq!(heard.last(), Some(&ForcedLogout { code: 2, message }.into()));
    assert_eq!(heard.len(), 10 + 1, "as many events as the burst allows, and the end");
    assert_eq!(stage.hear(neighbour).len(), 10 + 1, "the same events, and NotifyLeave");
    let counters = stage.world.counters();
    assert_eq!((counters.floods, counters.forced_logouts), (1, 1));
    assert_eq!((counters.seated, counters.events), (2, 110));
    assert_eq!(stage.mail.closed, [flooder]);
}

#[test]
fn a_flood_of_bad_packets_or_before_login_is_a_flood_too() {
    let ten = NonZeroU32::new(10).unwrap();
    let flood = Some(Flood { packets_per_s: ten, burst: ten });
    let mut stage = Stage::new(Options { flood, ..Options::default() });
    let one = stage.connect();
    for _ in 0..20 {
        stage.world.malformed(one, 1, stage.now, &mut stage.mail);
    }
    assert_eq!(stage.hear(one).len(), 11);
    assert_eq!((stage.world.counters().floods, stage.world.counters().bad_packets), (1, 10));
    let unlimited = Options { flood: None, ..Options::default() };
    let mut stage = Stage::new(unlimited);
    let one = stage.connect();
    for _ in 0..50_000 {
        stage.world.malformed(one, 1, stage.now, &mut stage.mail);
    }
    stage.say(one, login(1));
    assert_eq!(stage.world.counters().players, 1);
}
