//! Fronts in further threads, here processes of the same network; `conservation` counts what passes through them.

use super::bots::{Player, Way, drive, play, seat};
use super::stage::{Stage, binary, classes, framed, front, ms};
use engine::Engine;
use engine::sim::Conditions;
use serve::game::{Options, Silence};
use units::{Bytes, Nanos};
use wire::styx::packets::{JoinRequest, LoginRequest, Packet, TableChat};

#[test]
fn who_logs_in_over_one_front_is_forced_out_of_the_other() {
    let mut stage = Stage::with_fronts(Options::default(), Conditions::default(), 2);
    let [first, second] = [1, 2].map(|number| stage.connect(&front(number, 4123)));
    for id in [first, second] {
        stage.say_packet(id, &login("7"));
        stage.pass(ms(1));
    }
    assert_eq!(classes(&stage.hear_packets(first)), [11, 14]);
    assert_eq!(classes(&stage.hear_packets(second)), [11]);
    assert_eq!((stage.end(first), stage.end(second)), (Some(Ok(())), None));
    stage.pass(ms(6_000)); // The first lingers.
    let world = stage.totals().world;
    assert_eq!((world.connections, world.players, world.logged_in_remotely), (1, 1, 1));

    // The place of the first is used again, and nothing gets mixed up.
    let third = stage.connect(&front(1, 4123));
    stage.say_packet(third, &login("8"));
    stage.pass(ms(1));
    assert_eq!(classes(&stage.hear_packets(third)), [11]);
    assert_eq!((stage.hear_packets(second).len(), stage.totals().world.players), (0, 2));
}

#[test]
fn the_players_of_a_front_that_ends_are_away_and_the_others_play_on() {
    let mut stage = Stage::with_fronts(Options::default(), Conditions::default(), 2);
    // One each over the server and both fronts; a Comet client takes two turns, the first of them for its news.
    let mut players: Vec<Player> = [Way::Binary, Way::Binary, Way::WebSocket, Way::Comet]
        .into_iter()
        .zip(1..)
        .map(|(way, player)| Player::new(&mut stage, way, player, 1))
        .collect();
    seat(&mut stage, &mut players);
    play(&mut stage, &mut players, 5);
    let world = stage.totals().world;
    assert_eq!((world.players, world.events, world.deliveries), (4, 20, 80));

    stage.end_front(1);
    stage.pass(ms(1));
    let world = stage.totals().world;
    assert_eq!((world.players, world.away, world.seated), (3, 1, 4));
    players.remove(2);
    play(&mut stage, &mut players, 5);
    let world = stage.totals().world;
    assert_eq!((world.events, world.deliveries), (35, 80 + 3 * 15));

    // The second connection of the Comet client is over the other front, the first over this server.
    stage.end_front(0);
    stage.pass(ms(1));
    assert_eq!((stage.totals().world.players, stage.totals().world.away), (2, 2));
}

#[test]
fn a_player_who_does_not_read_is_dropped_by_the_front() {
    let conditions = Conditions { buffer_len_max: 4 << 10, ..Conditions::default() };
    let options = Options { queue_max: Bytes(64 << 10), ..Options::default() };
    let mut stage = Stage::with_fronts(options, conditions, 2);
    let join = JoinRequest { tableid: 1, seat: -1, params: Vec::new() };
    let slow = stage.sleeper.connect(&front(1, 4123), None);
    for packet in [login("9"), join.into()] {
        stage.sleeper.send(slow, &framed(&packet));
        stage.pass(ms(1));
    }
    let mut players: Vec<Player> =
        (1..=4).map(|player| Player::new(&mut stage, Way::Binary, player, 1)).collect();
    seat(&mut stage, &mut players);
    play(&mut stage, &mut players, 410); // 4 responses of 39 bytes each: not 64 KiB yet.
    assert_eq!(stage.totals().slow, 0);
    play(&mut stage, &mut players, 60);
    let totals = stage.totals();
    assert_eq!((totals.slow, totals.world.players, totals.world.away), (1, 4, 1));
    assert_eq!(stage.fronts[0].1.totals().slow, 1, "it was this one");
    let total: u64 = players.iter().map(|player| player.deliveries).sum();
    assert_eq!(total, 4 * 3 * 470);
    stage.pass(ms(100));
    assert_eq!(stage.known_totals(), stage.totals());
}

#[test]
fn a_front_whose_link_is_full_stops_reading_and_loses_nothing() {
    let options = Options {
        world: serve::game::world::Options { flood: None, ..Default::default() },
        ..Options::default()
    };
    let mut stage = Stage::with_fronts(options, Conditions::default(), 1);
    let id = stage.connect(&front(1, 4123));
    let from = stage.now();
    stage.engine.freeze(from, from + ms(2_000)); // Nobody takes what the front sends.
    // Refused: nobody is logged in.
    let refused = TableChat { tableid: 1, pid: 1, message: "x".repeat(1000).into() };
    let refused = framed(&refused.into());
    let count = (8 << 20) / refused.len();
    stage.client.send(id, &refused.repeat(count));
    stage.pass(ms(1_000));
    let unsent = stage.client.unsent(id);
    assert!(unsent > 4 << 20, "{unsent} of 8 MiB are still with the player");
    stage.pass(ms(3_000));
    assert_eq!(stage.client.unsent(id), 0);
    let world = stage.totals().world;
    assert_eq!((world.packets, world.bad_packets), (count as u64, count as u64));
    assert_eq!(stage.hear_packets(id).len(), count);
}

#[test]
fn who_gets_more_over_a_front_that_does_not_keep_up_is_dropped() {
    let options = Options { queue_max: Bytes(1 << 10), ..Options::default() };
    let mut stage = Stage::with_fronts(options, Conditions::default(), 1);
    let ids = [binary(), front(1, 4123), front(1, 4123)].map(|address| stage.connect(&address));
    for (id, (player, table)) in ids.into_iter().zip([("1", 1), ("2", 1), ("3", 2)]) {
        stage.say_packet(id, &login(player));
        let join = JoinRequest { tableid: table, seat: -1, params: Vec::new() };
        stage.say_packet(id, &join.into());
    }
    let from = stage.now();
    stage.fronts[0].0.freeze(from, from + ms(3_000));
    let chat = TableChat { tableid: 1, pid: 1, message: "x".repeat(1000).into() };
    let chat = framed(&chat.into());
    // 256 KiB may wait for the front, and its kernel holds as much.
    let most = (512 << 10) / (chat.len() + 13);
    for said in [most - 10, 50] {
        assert_eq!(stage.totals().slow, 0);
        for _ in 0..said {
            stage.say(ids[0], &chat);
        }
    }
    let totals = stage.totals();
    assert_eq!((totals.slow, totals.world.players, totals.world.away), (1, 2, 1));
    stage.pass(ms(3_000));
    let ends = ids.map(|id| stage.end(id));
    assert_eq!(ends, [None, Some(Ok(())), None], "nobody else is dropped");
    let heard = ids.map(|id| stage.hear_packets(id).len());
    assert!(heard[1] >= most - 10 && heard[1] < heard[0] && heard[2] == 2, "{heard:?}");
}

#[test]
fn a_front_closes_who_says_nothing_but_no_connect_that_is_held() {
    let silence = Silence { next_max: Nanos::from_secs(5), ..Options::default().silence };
    let options = Options { silence, ..Options::default() };
    let mut stage = Stage::with_fronts(options, Conditions::default(), 1);
    let silent = stage.connect(&front(1, 8080));
    let mut players = vec![Player::new(&mut stage, Way::Comet, 1, 1)];
    seat(&mut stage, &mut players);
    stage.pass(ms(10_500));
    assert_eq!(stage.end(silent), Some(Ok(())));
    let totals = stage.totals();
    assert_eq!((totals.silent, totals.world.players), (2, 1), "and the connection for publishing");
    drive(&mut stage, &mut players, |_| true);
    assert_eq!(players[0].ended, None);
}

fn login(player: &str) -> Packet<'_> {
    LoginRequest { user: "a".into(), password: player.into(), ..Default::default() }.into()
}
