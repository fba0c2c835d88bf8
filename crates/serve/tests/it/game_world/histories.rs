//! Random histories: the world against a model that looks at everything each time.

use super::stage::{Stage, event, login, response};
use proptest::prelude::*;
use serve::game::world::{Counters, Options, SessionId};
use std::collections::BTreeMap;
use units::{Instant, Nanos, Random};
use wire::styx::load_test::LoadRequest;
use wire::styx::packets::*;

/// Something that happens. Players are 0 to 7, tables 1 to 3.
#[derive(Clone, Debug)]
enum Act {
    Login(i32),
    Break(i32),
    Logout(i32, bool),
    Join(i32, i32, i8),
    Find(i32),
    Leave(i32, i32),
    Event(i32, i32),
    Pass(u64),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let (player, table) = (0..8, 1..4);
    let act = prop_oneof![
        6 => player.clone().prop_map(Act::Login),
        2 => player.clone().prop_map(Act::Break),
        1 => (player.clone(), any::<bool>()).prop_map(|(player, leaves)| Act::Logout(player, leaves)),
        8 => (player.clone(), table.clone(), -1..3_i8)
            .prop_map(|(player, table, seat)| Act::Join(player, table, seat)),
        3 => player.clone().prop_map(Act::Find),
        2 => (player.clone(), table.clone()).prop_map(|(player, table)| Act::Leave(player, table)),
        9 => (player, table).prop_map(|(player, table)| Act::Event(player, table)),
        3 => (0..4_000_u64).prop_map(Act::Pass),
    ];
    prop::collection::vec(act, 1..120)
}

/// The state of a seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum On {
    Nobody,
    Kept { pid: i32, until: Instant },
    Player(i32),
}

/// The same rules, without an index, a heap or a list that is kept up to date.
#[derive(Default)]
struct Model {
    online: BTreeMap<i32, SessionId>,
    away_until: BTreeMap<i32, Instant>,
    seats: BTreeMap<i32, Vec<On>>,
    events: u64,
    deliveries: u64,
}

impl Model {
    fn sits(&self, pid: i32, table: i32) -> bool {
        self.seats[&table].contains(&On::Player(pid))
    }

    fn each_seat(&mut self, change: impl Fn(On) -> On) {
        for seat in self.seats.values_mut().flatten() {
            *seat = change(*seat);
        }
    }

    fn drop_kept(&mut self, of: i32) {
        self.each_seat(|on| match on {
            On::Kept { pid, .. } if pid == of => On::Nobody,
            On::Nobody | On::Kept { .. } | On::Player(_) => on,
        });
    }

    fn stand_up(&mut self, of: i32) {
        self.each_seat(|on| if on == On::Player(of) { On::Nobody } else { on });
    }

    fn break_off(&mut self, pid: i32, until: Instant) {
        self.online.remove(&pid);
        self.drop_kept(pid);
        if (1..4).any(|table| self.sits(pid, table)) {
            self.away_until.insert(pid, until);
        }
    }

    fn pass(&mut self, now: Instant) {
        let late: Vec<i32> =
            self.away_until.iter().filter(|(_, at)| **at <= now).map(|(pid, _)| *pid).collect();
        for pid in late {
            self.away_until.remove(&pid);
            self.stand_up(pid);
        }
        self.each_seat(|on| match on {
            On::Kept { until, .. } if until <= now => On::Nobody,
            On::Nobody | On::Kept { .. } | On::Player(_) => on,
        });
    }

    fn join(&mut self, pid: i32, table: i32, wish: i8) {
        if self.sits(pid, table) {
            return;
        }
        let is_mine = |on: &On| matches!(on, On::Kept { pid: owner, .. } if *owner == pid);
        let seats = &self.seats[&table];
        let seat = if wish == -1 {
            let free = || seats.iter().position(|on| *on == On::Nobody);
            seats.iter().position(is_mine).or_else(free)
        } else {
            let seat = usize::try_from(wish).unwrap();
            seats.get(seat).filter(|on| **on == On::Nobody || is_mine(on)).map(|_| seat)
        };
        let Some(seat) = seat else { return };
        if seats.iter().any(is_mine) {
            self.drop_kept(pid);
        }
        self.seats.get_mut(&table).unwrap()[seat] = On::Player(pid);
    }

    fn find(&mut self, pid: i32, until: Instant) -> Option<(i32, i8)> {
        self.drop_kept(pid);
        let taken = |table: i32| self.seats[&table].iter().filter(|on| **on != On::Nobody).count();
        let has_room = |table: &i32| taken(*table) < 2 && !self.sits(pid, *table);
        let table = (1..4).filter(has_room).max_by_key(|table| (taken(*table), -table))?;
        let seats = self.seats.get_mut(&table).unwrap();
        let seat = seats.iter().position(|on| *on == On::Nobody)?;
        seats[seat] = On::Kept { pid, until };
        Some((table, i8::try_from(seat).unwrap()))
    }
}

fn count(model: &Model, of: impl Fn(&On) -> bool) -> u64 {
    model.seats.values().flatten().filter(|on| of(on)).count() as u64
}

fn play(acts: Vec<Act>) {
    let hour = Nanos::from_secs(3_600);
    let mut stage = Stage::new(Options {
        tables: 3,
        seats: 2,
        away_max: Nanos::from_secs(5),
        reservation_max: Nanos::from_secs(3),
        login_max: hour,
        quiet_max: hour,
        idle_max: hour,
        ..Options::default()
    });
    let mut model = Model::default();
    model.seats.extend((1..4).map(|table| (table, vec![On::Nobody; 2])));
    let mut sequence = 0;
    for act in acts {
        stage.mail.sent.clear();
        let of = |pid| model.online.get(pid).copied();
        match &act {
            Act::Login(pid) => {
                let session = stage.connect();
                stage.say(session, login(*pid));
                model.online.insert(*pid, session);
                model.away_until.remove(pid);
            }
            Act::Pass(millis) => {
                stage.pass(Nanos::from_millis(*millis));
                model.pass(stage.now);
            }
            Act::Break(pid) => {
                let Some(session) = of(pid) else { continue };
                stage.gone(session);
                model.break_off(*pid, stage.now + Nanos::from_secs(5));
            }
            Act::Logout(pid, leave_tables) => {
                let Some(session) = of(pid) else { continue };
                stage.say(session, Logout { leave_tables: *leave_tables });
                if *leave_tables {
                    model.stand_up(*pid);
                }
                model.break_off(*pid, stage.now + Nanos::from_secs(5));
            }
            Act::Join(pid, table, seat) => {
                let Some(session) = of(pid) else { continue };
                stage.say(session, JoinRequest { tableid: *table, seat: *seat, params: vec![] });
                model.join(*pid, *table, *seat);
            }
            Act::Find(pid) => {
                let Some(session) = of(pid) else { continue };
                let request =
                    FilteredJoinTableRequest { address: "/".into(), ..Default::default() };
                stage.say(session, request);
                let expected = model.find(*pid, stage.now + Nanos::from_secs(3));
                let heard = stage.hear(session);
                let found = match heard[..] {
                    [_, Packet::FilteredJoinTableAvailable(ref found)] => {
                        Some((found.tableid, found.seat))
                    }
                    _ => None,
                };
                assert_eq!(found, expected, "{heard:?}");
            }
            Act::Leave(pid, table) => {
                let Some(session) = of(pid) else { continue };
                stage.say(session, LeaveRequest { tableid: *table });
                for seat in model.seats.get_mut(table).unwrap() {
                    if *seat == On::Player(*pid) {
                        *seat = On::Nobody;
                    }
                }
            }
            Act::Event(pid, table) => {
                let Some(session) = of(pid) else { continue };
                sequence += 1;
                let request = LoadRequest { seq: sequence, ..LoadRequest::default() };
                stage.say(session, event(*table, request));
                if !model.sits(*pid, *table) {
                    continue;
                }
                model.events += 1;
                for seat in &model.seats[table] {
                    let On::Player(sitter) = seat else { continue };
                    let Some(session) = model.online.get(sitter) else { continue };
                    model.deliveries += 1;
                    assert_eq!(stage.hear(*session), [response(*table, *pid, sequence)]);
                }
                assert!(stage.mail.sent.is_empty(), "nobody else hears of it");
            }
        }
        let counters = stage.world.counters();
        let expected = (
            count(&model, |on| matches!(on, On::Player(_))),
            count(&model, |on| matches!(on, On::Kept { .. })),
            model.online.len() as u64,
            model.away_until.len() as u64,
            (model.events, model.deliveries),
        );
        let Counters { seated, reserved, players, away, events, deliveries, .. } = counters;
        assert_eq!((seated, reserved, players, away, (events, deliveries)), expected, "{act:?}");
        assert_eq!(counters.joins - counters.leaves, seated);
    }
}

proptest! {
    #[test]
    fn a_world_does_what_a_model_that_looks_at_everything_does(acts in acts()) {
        play(acts);
    }
}

/// A packet of any class, with small numbers in the fields that name things.
fn any_packet(random: &mut Random) -> Vec<u8> {
    let small = |random: &mut Random| i64::from(random.next_u32() % 9) - 2;
    let gamedata =
        ["", "AAAAFgEAAAABAAAAAQAAAAEAAAAAAA==", "AAAAFgEAAAABAAAAAQAAAAEAAABAAA==", "AAAA"];
    let address = ["/", "/load", "/load/0", "/made", "/x"];
    let [tableid, seq, pid, seats, number] = [(); 5].map(|()| small(random));
    let seat = [-1, -1, -1, number][random.below(4)];
    let (gamedata, address) = (gamedata[random.below(4)], address[random.below(5)]);
    let leaves = random.below(2) == 0;
    let class_id = [
        10,
        10,
        12,
        30,
        30,
        32,
        36,
        40,
        42,
        80,
        100,
        100,
        100,
        145,
        146,
        170,
        172,
        random.below(256),
    ][random.below(18)];
    format!(
        r#"{{"tableid":{tableid},"seat":{seat},"seq":{seq},"pid":{pid},"seats":{seats},"code":{number},
        "user":"u","password":"{pid}","gamedata":"{gamedata}","address":"{address}","message":"hello",
        "invitees":[1,2,3],"leaveTables":{leaves},"attributes":[],"params":[],"classId":{class_id}}}"#
    )
    .into_bytes()
}

#[test]
fn whatever_is_said_nothing_panics_and_the_counts_hold() {
    let (mut understood, mut events, mut made, mut reconnects) = (0, 0, 0, 0);
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let mut stage = Stage::new(Options { tables: 3, seats: 2, ..Options::default() });
        let mut sessions: Vec<SessionId> = (0..6).map(|_| stage.connect()).collect();
        for _ in 0..1_000 {
            let which = random.below(sessions.len());
            let text = any_packet(&mut random);
            if let Ok(packet) = Packet::read_json(&text) {
                understood += 1;
                stage.say(sessions[which], packet);
            }
            match random.below(60) {
                0 => stage.gone(sessions[which]),
                1 => stage.pass(Nanos::from_millis(u64::from(random.next_u32() % 4_000))),
                2..=5 => sessions[which] = stage.connect(),
                _ => {}
            }
            stage.mail.sent.clear();
        }
        stage.pass(Nanos::from_secs(300));
        let counters = stage.world.counters();
        assert_eq!((counters.players, counters.away, counters.seated), (0, 0, 0), "seed {seed}");
        assert_eq!((counters.tables, counters.reserved, counters.connections), (3, 0, 0));
        assert_eq!(counters.joins, counters.leaves);
        events += counters.events;
        made += counters.tables_made;
        reconnects += counters.reconnects;
    }
    assert!(understood > 30_000, "{understood}");
    assert!(events > 40 && made > 40 && reconnects > 40, "{events} {made} {reconnects}");
}
