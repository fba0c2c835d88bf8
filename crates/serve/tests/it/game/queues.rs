//! Players who do not read: dropped at the limit, and nobody waits for them.

use super::bots::{Player, Way, play, seat};
use super::stage::{Stage, binary, framed, ms, web};
use engine::Engine;
use engine::sim::Conditions;
use serve::game::Options;
use units::Bytes;
use wire::styx::packets::{JoinRequest, LoginRequest};

#[test]
fn a_player_who_does_not_read_is_dropped_at_the_limit() {
    // Little room in the kernels, so that what is unsent is unsent here.
    let conditions = Conditions { buffer_len_max: 4 << 10, ..Conditions::default() };
    let options = Options { queue_max: Bytes(64 << 10), ..Options::default() };
    let mut stage = Stage::with(options, conditions);
    let login = LoginRequest { user: "slow".into(), password: "9".into(), ..Default::default() };
    let join = JoinRequest { tableid: 1, seat: -1, params: Vec::new() };
    let slow = stage.sleeper.connect(&binary(), None);
    for packet in [login.into(), join.into()] {
        stage.sleeper.send(slow, &framed(&packet));
        stage.pass(ms(1));
    }
    let mut players: Vec<Player> =
        (1..=4).map(|player| Player::new(&mut stage, Way::Binary, player, 1)).collect();
    seat(&mut stage, &mut players);

    let before = (64 << 10) / (RESPONSE_LEN * 4) - 10;
    play(&mut stage, &mut players, before);
    assert_eq!(stage.totals().slow, 0);
    play(&mut stage, &mut players, 60);
    let totals = stage.totals();
    assert_eq!((totals.slow, totals.world.players, totals.world.away), (1, 4, 1));
    let total: u64 = players.iter().map(|player| player.deliveries).sum();
    assert_eq!(total, 4 * 3 * (before + 60));
}

/// A response in its frame: length, class, table, player, a length and its 18 bytes, no attributes.
const RESPONSE_LEN: u64 = 4 + 1 + 4 + 4 + 4 + 18 + 4;

#[test]
fn a_comet_client_who_does_not_fetch_its_news_is_dropped_at_the_limit() {
    Stage::each_kind(|new| {
        let options = Options { queue_max: Bytes(64 << 10), ..Options::default() };
        let mut stage = new(options);
        let (id, client) = super::comet::shake_hands(&mut stage);
        for packet in [
            r#"{"user":"slow","password":"9","classId":10}"#,
            r#"{"tableid":1,"seat":-1,"classId":30}"#,
        ] {
            let publish = format!(
                r#"[{{"channel":"/service/client","clientId":"{client}","data":{packet}}}]"#
            );
            assert_eq!(stage.ask(id, &publish)[0]["data"]["status"], 0);
        }
        let mut players: Vec<Player> =
            (1..=4).map(|player| Player::new(&mut stage, Way::Binary, player, 1)).collect();
        seat(&mut stage, &mut players);
        play(&mut stage, &mut players, 100);
        assert_eq!(stage.totals().slow, 0);
        play(&mut stage, &mut players, 100);
        let totals = stage.totals();
        assert_eq!((totals.slow, totals.lost_clients, totals.world.away), (1, 0, 1));
        let connect = format!(r#"[{{"channel":"/meta/connect","clientId":"{client}"}}]"#);
        assert_eq!(stage.ask(id, &connect)[0]["error"], "402::Unknown client");
    });
}

#[test]
fn a_comet_client_who_does_not_read_its_answers_is_dropped_at_the_limit() {
    Stage::each_kind(|new| {
        let mut stage = new(Options { queue_max: Bytes(64 << 10), ..Options::default() });
        let (id, client) = super::comet::shake_hands(&mut stage);
        for packet in [
            r#"{"user":"slow","password":"9","classId":10}"#,
            r#"{"tableid":1,"seat":-1,"classId":30}"#,
        ] {
            let publish = format!(
                r#"[{{"channel":"/service/client","clientId":"{client}","data":{packet}}}]"#
            );
            assert_eq!(stage.ask(id, &publish)[0]["data"]["status"], 0);
        }
        // Connects in a row, each of which ends the previous one: more than 64 KiB beyond what the kernels take.
        let connect = format!(r#"[{{"channel":"/meta/connect","clientId":"{client}"}}]"#);
        let len = connect.len();
        let request =
            format!("POST /cometd HTTP/1.1\r\nHost: h\r\nContent-Length: {len}\r\n\r\n{connect}");
        let deaf = stage.sleeper.connect(&web(), None);
        for _ in 0..50 {
            stage.sleeper.send(deaf, request.repeat(50).as_bytes()); // HTTP takes 64 at once.
            stage.pass(ms(1));
        }
        assert_eq!((stage.totals().requests, stage.totals().slow), (2_503, 0));
        let mut players = vec![Player::new(&mut stage, Way::Binary, 1, 1)];
        seat(&mut stage, &mut players); // News for everybody at the table.
        let totals = stage.totals();
        assert_eq!((totals.slow, totals.lost_clients, totals.world.away), (1, 0, 1));
    });
}
