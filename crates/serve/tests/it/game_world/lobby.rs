//! The news that lobby subscribers get, and their timing.

use super::stage::{Stage, bad};
use serve::game::world::{Options, SessionId};
use std::collections::BTreeMap;
use units::Nanos;
use wire::styx::packets::*;

fn stage(tables: u32) -> Stage {
    Stage::new(Options { tables, seats: 2, ..Options::default() })
}

fn subscribe(address: &str) -> LobbySubscribe<'_> {
    LobbySubscribe { kind: LobbyType::Regular, gameid: 1, address: address.into() }
}

const PERIOD: Nanos = Nanos::from_millis(250);

/// The tables as a subscriber knows them, and how many packets that took.
#[derive(Default)]
struct Known {
    seated: BTreeMap<i32, i16>,
    packets: usize,
}

impl Known {
    /// Takes in what a subscriber was told; an update of a table that it does not know is a fault.
    fn listen(&mut self, stage: &mut Stage, session: SessionId) {
        for packet in stage.hear(session) {
            self.packets += 1;
            #[expect(
                clippy::wildcard_enum_match_arm,
                reason = "whatever else it is, it is not counted"
            )]
            match packet {
                Packet::TableSnapshotList(list) => {
                    let tables = list.snapshots.iter().map(|table| (table.tableid, table.seated));
                    self.seated.extend(tables);
                }
                Packet::TableUpdateList(list) => {
                    for update in list.updates {
                        *self.seated.get_mut(&update.tableid).unwrap() = update.seated;
                    }
                }
                Packet::TableRemoved(table) => drop(self.seated.remove(&table.tableid)),
                _ => self.packets -= 1,
            }
        }
    }
}

#[test]
fn a_subscriber_is_told_all_tables_and_then_each_change_once_in_a_period() {
    let mut stage = stage(3);
    stage.seated(9, 2);
    stage.pass(PERIOD);
    let subscriber = stage.player(1);
    let snapshot = |tableid: i32, seated| TableSnapshot {
        tableid,
        address: "/load/0".into(),
        name: format!("Table {tableid}").into(),
        capacity: 2,
        seated,
        params: Vec::new(),
    };
    let all = TableSnapshotList { snapshots: vec![snapshot(1, 0), snapshot(2, 1), snapshot(3, 0)] };
    stage.ask(subscriber, subscribe("/"), [all.into()]);
    stage.ask(subscriber, subscribe("/"), []);

    let other = stage.seated(2, 3);
    stage.say(other, LeaveRequest { tableid: 3 });
    stage.say(other, JoinRequest { tableid: 3, seat: -1, params: Vec::new() });
    stage.say(other, JoinRequest { tableid: 1, seat: -1, params: Vec::new() });
    stage.pass(Nanos::from_millis(249));
    assert_eq!(stage.hear(subscriber), []);
    stage.pass(Nanos::from_millis(1));
    let update = |tableid, seated| TableUpdate { tableid, seated, ..TableUpdate::default() };
    let list = TableUpdateList { updates: vec![update(1, 1), update(3, 1)] };
    assert_eq!(stage.hear(subscriber), [list.into()]);
    stage.pass(PERIOD);
    assert_eq!(stage.hear(subscriber), []);

    let end = LobbyUnsubscribe { address: "/".into(), ..Default::default() };
    stage.ask(subscriber, end, []);
    stage.say(other, LeaveRequest { tableid: 3 });
    stage.pass(PERIOD);
    assert_eq!(stage.hear(subscriber), []);
    let counters = stage.world.counters();
    assert_eq!((counters.lobby_snapshots, counters.lobby_updates), (3, 2));
    assert_eq!(counters.lobby_subscriptions, 0);
}

#[test]
fn an_address_is_a_part_of_the_tree() {
    let mut stage = stage(250);
    let subscriber = stage.player(1);
    let table = [("/load/0", 100), ("/load/2/", 50), ("/load", 250), ("/made", 0), ("", 250)];
    for (address, tables) in table {
        let mut known = Known::default();
        stage.say(subscriber, subscribe(address));
        stage.pass(PERIOD);
        known.listen(&mut stage, subscriber);
        assert_eq!(known.seated.len(), tables, "{address}");
        let address = address.into();
        stage.say(subscriber, LobbyUnsubscribe { address, ..Default::default() });
    }
    for address in ["/load/3", "/load/-1", "/load/x", "/poker", "load", "/load/99999999999"] {
        stage.ask(subscriber, subscribe(address), [bad(145, -1)]);
    }
    let tournaments = LobbySubscribe { kind: LobbyType::Mtt, gameid: 1, address: "/".into() };
    stage.ask(subscriber, tournaments, [TournamentSnapshotList::default().into()]);
}

#[test]
fn a_session_may_subscribe_to_so_many_parts() {
    let mut stage = stage(1_000);
    let subscriber = stage.player(1);
    for number in 0..8 {
        stage.say(subscriber, subscribe(&format!("/load/{number}")));
    }
    stage.hear(subscriber);
    stage.ask(subscriber, subscribe("/load/8"), [bad(145, -6)]);
    assert_eq!(stage.world.counters().lobby_subscriptions, 8);
    stage.gone(subscriber);
    assert_eq!(stage.world.counters().lobby_subscriptions, 0);
}

#[test]
fn a_large_lobby_is_told_bit_by_bit_and_stays_right_meanwhile() {
    let mut stage = stage(20_000);
    let subscriber = stage.player(1);
    let mover = stage.player(2);
    stage.say(subscriber, subscribe("/"));
    let mut known = Known::default();
    known.listen(&mut stage, subscriber);
    assert_eq!((known.seated.len(), known.packets), (100, 1));
    // Somebody sits down ahead of the listing, behind it, and across it, while it is being sent.
    for step in 0..22 {
        for tableid in [step * 1_000 % 20_000 + 50, 19_999 - step, 1 + step] {
            stage.say(mover, JoinRequest { tableid, seat: -1, params: Vec::new() });
            if step % 2 == 1 {
                stage.say(mover, LeaveRequest { tableid });
            }
        }
        stage.pass(PERIOD);
        let before = known.seated.len();
        known.listen(&mut stage, subscriber);
        assert!(known.seated.len() - before <= 1_000);
    }
    assert_eq!(known.seated.len(), 20_000);
    let wrong = known.seated.values().filter(|&&seated| seated != 0).count();
    assert_eq!(wrong as u64, stage.world.counters().seated);
}

#[test]
fn tables_that_are_made_come_and_go() {
    let mut stage = stage(1);
    let (subscriber, newcomer, maker) = (stage.player(1), stage.player(2), stage.player(3));
    stage.say(subscriber, subscribe("/"));
    stage.hear(subscriber);
    let make = CreateTableRequest { seats: 4, ..Default::default() };
    stage.say(maker, make.clone());
    stage.say(newcomer, subscribe("/made"));
    stage.pass(PERIOD);
    let mut known = Known::default();
    known.listen(&mut stage, subscriber);
    assert_eq!(known.seated, BTreeMap::from([(2, 1)]));
    stage.say(maker, LeaveRequest { tableid: 2 });
    // Gone before anybody was told of it.
    stage.say(maker, make);
    stage.say(maker, LeaveRequest { tableid: 3 });
    stage.pass(PERIOD);
    known.listen(&mut stage, subscriber);
    let mut of_newcomer = Known::default();
    of_newcomer.listen(&mut stage, newcomer);
    assert_eq!((known.seated.len(), of_newcomer.seated.len()), (0, 0));
    assert!(of_newcomer.packets >= 2);
}
