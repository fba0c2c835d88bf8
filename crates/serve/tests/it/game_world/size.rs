//! Many players and many tables.

use super::stage::{Stage, event, login};
use serve::game::world::{Options, Outbox, SessionId, World};
use units::{Instant, Nanos};
use wire::styx::load_test::LoadRequest;
use wire::styx::packets::*;

/// Counts what is sent.
#[derive(Default)]
struct Count {
    sent: u64,
    available: Option<(i32, i8)>,
}

impl Outbox for Count {
    fn send(&mut self, _: SessionId, packet: &Packet<'_>) {
        self.sent += 1;
        if let Packet::FilteredJoinTableAvailable(found) = packet {
            self.available = Some((found.tableid, found.seat));
        }
    }

    fn broadcast(&mut self, to: &[SessionId], _: &Packet<'_>) {
        self.sent += to.len() as u64;
    }

    fn close(&mut self, _: SessionId) {}
}

#[test]
fn twenty_thousand_players_find_seats_and_play() {
    let mut world = World::new(Options { tables: 20_000, seats: 5, ..Options::default() });
    let (mut out, now) = (Count::default(), Instant::START);
    let find = FilteredJoinTableRequest { address: "/".into(), ..Default::default() }.into();
    let mut seats = Vec::new();
    for pid in 0..20_000 {
        let session = world.connect(now);
        world.packet(session, &login(pid).into(), now, &mut out);
        world.packet(session, &find, now, &mut out);
        let (tableid, seat) = out.available.take().unwrap();
        let join = JoinRequest { tableid, seat, params: Vec::new() };
        world.packet(session, &join.into(), now, &mut out);
        seats.push((session, tableid));
    }
    assert_eq!(seats.last().unwrap().1, 4_000, "tables fill up one after the other");
    world.tick(now + Nanos::from_secs(1), &mut out);
    let before = out.sent;
    for seq in 1..=5 {
        for &(session, tableid) in &seats {
            let request = LoadRequest { seq, ..LoadRequest::default() };
            world.packet(session, &event(tableid, request).into(), now, &mut out);
        }
    }
    let counters = world.counters();
    assert_eq!((counters.seated, counters.players, counters.joins_denied), (20_000, 20_000, 0));
    assert_eq!((counters.events, counters.deliveries), (100_000, 500_000));
    assert_eq!((out.sent - before, counters.sequence_errors), (500_000, 0));
}

#[test]
fn a_tenth_of_them_may_follow_the_lobby() {
    let mut stage = Stage::new(Options { tables: 400, seats: 5, ..Options::default() });
    let lobby = LobbySubscribe { address: "/".into(), ..Default::default() };
    for pid in 0..2_000 {
        let session = stage.seated(pid, 1 + pid / 5);
        if pid % 10 == 0 {
            stage.say(session, lobby.clone());
        }
    }
    stage.pass(Nanos::from_secs(1));
    assert_eq!(stage.world.counters().lobby_snapshots, 200 * 400);
    let before = stage.world.counters().lobby_updates;
    stage.mail.sent.clear();
    let one = stage.connect();
    stage.say(one, login(0));
    stage.say(one, LeaveRequest { tableid: 1 });
    stage.say(one, JoinRequest { tableid: 1, seat: -1, params: Vec::new() });
    stage.pass(Nanos::from_secs(1));
    assert_eq!(stage.world.counters().lobby_updates - before, 199, "player 0 subscribed elsewhere");
}
