//! Input that no client should send: each gets the protocol's own answer, and a player beside it plays on undisturbed.

use super::bots::{Player, Way, play, seat};
use super::stage::{Stage, binary, classes, frame_of, framed, ms, web};
use crate::world::{SWITCHED, frame};
use engine::{ConnectionId, Engine};
use serde_json::{Value, json};
use serve::game::Options;
use serve::game::world;
use units::Nanos;
use wire::styx::Packet;
use wire::styx::packets::{GameTransport, JoinRequest, LoginRequest};

/// The fate of a client that sent something bad.
#[derive(Debug)]
enum Answer {
    /// BadPacket with this command and error.
    Bad { cmd: i8, error: i8 },
    /// A packet of this class with this status and code.
    Status(u64, u64, u64),
    /// The end of its connection, without an answer.
    Close,
}

#[test]
fn binary_clients_are_told_or_closed_and_nobody_else_notices() {
    Stage::each_kind(|new| {
        let too_long = [0, 0, 0x80, 1, 100];
        let join = |tableid| framed(&JoinRequest { tableid, seat: -1, params: Vec::new() }.into());
        let event = |gamedata: &'static [u8]| {
            let event =
                GameTransport { tableid: 1, gamedata: gamedata.into(), ..Default::default() };
            framed(&event.into())
        };
        #[rustfmt::skip]
    let table: Vec<(&str, bool, Vec<u8>, Answer)> = vec![
        // what, logged in, bytes, answer
        ("a length that is too short",    true,  vec![0, 0, 0, 4],                Answer::Close),
        ("a length that is too long",     true,  too_long.to_vec(),               Answer::Close),
        ("text",                          true,  b"GET / HTTP/1.1\r\n\r\n".to_vec(), Answer::Close),
        ("an unknown class",              true,  frame_of(&[99]),                   Answer::Bad { cmd: 99, error: -4 }),
        ("a packet that ends too early",  true,  frame_of(&[30, 0, 0]),             Answer::Bad { cmd: 30, error: -4 }),
        ("bytes after a packet",          true,  frame_of(&[7, 0, 0, 0, 1, 9]),     Answer::Bad { cmd: 7, error: -4 }),
        ("an unknown enum value",         true,  frame_of(&[145, 9, 0, 0, 0, 0, 0, 1, b'/']), Answer::Bad { cmd: -111, error: -4 }),
        ("a list that is missing",        true,  frame_of(&[211, 0x7f, 0xff, 0xff, 0xff]), Answer::Bad { cmd: -45, error: -4 }),
        ("text that is not UTF-8",        false, frame_of(&[10, 0, 1, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]), Answer::Bad { cmd: 10, error: -4 }),
        ("an event that is not one",      true,  event(b"no event at all"),       Answer::Bad { cmd: 100, error: -2 }),
        ("an event before the login",     false, event(&[0; 22]),                 Answer::Bad { cmd: 100, error: -3 }),
        ("a join before the login",       false, join(1),                         Answer::Bad { cmd: 30, error: -3 }),
        ("a join of a missing table",     true,  join(999_999),                   Answer::Status(31, 2, 1)),
        ("a join of a full table",        true,  join(2),                         Answer::Status(31, 2, 2)),
        ("what only servers send",        true,  frame_of(&[147, 0, 0, 0, 1]),      Answer::Bad { cmd: -109, error: -5 }),
    ];
        let mut stage = new(Options::default());
        let mut others = [
            Player::new(&mut stage, Way::Binary, 1, 1),
            Player::new(&mut stage, Way::WebSocket, 2, 1),
            Player::new(&mut stage, Way::Comet, 3, 1),
        ];
        seat(&mut stage, &mut others);
        let mut at_table_2: Vec<Player> =
            (11..=15).map(|player| Player::new(&mut stage, Way::Binary, player, 2)).collect();
        seat(&mut stage, &mut at_table_2);
        let undisturbed = time_of_rounds(&mut stage, &mut others);

        let bad_count = table.iter().filter(|row| matches!(row.3, Answer::Bad { .. })).count();
        for (number, (what, logs_in, bytes, answer)) in table.into_iter().enumerate() {
            let id = stage.connect(&binary());
            if logs_in {
                stage.say_packet(id, &login(100 + i32::try_from(number).unwrap()).into());
                assert_eq!(classes(&stage.hear_packets(id)), [11], "{what}");
            }
            stage.say(id, &bytes);
            let heard = stage.hear_packets(id);
            check(what, &answer, &heard);
            match answer {
                Answer::Close => assert_eq!(stage.end(id), Some(Ok(())), "{what}"),
                Answer::Bad { .. } | Answer::Status(..) => {
                    assert_eq!(stage.end(id), None, "{what}");
                    stage.say_packet(id, &Packet::SystemInfoRequest(Default::default()));
                    let last = if logs_in { 19 } else { 3 };
                    assert_eq!(classes(&stage.hear_packets(id)), [last], "{what}: it goes on");
                }
            }
            assert_eq!(time_of_rounds(&mut stage, &mut others), undisturbed, "{what}");
        }
        let totals = stage.totals();
        // Plus the three that asked for the system before they were logged in.
        assert_eq!(totals.world.bad_packets, bad_count as u64 + 3);
        assert_eq!((totals.broken, totals.world.forced_logouts), (3, 0));
    });
}

#[test]
fn text_that_is_no_packet_is_answered_over_websocket_and_over_comet() {
    Stage::each_kind(|new| {
        #[rustfmt::skip]
    let table = [
        ("{",                                                              0,   -4),
        ("[1,",                                                            0,   -4),
        ("nothing like JSON",                                              0,   -4),
        (r#"{"tableid":1}"#,                                               0,   -4),
        (r#"{"classId":99}"#,                                              99,  -4),
        (r#"{"classId":300}"#,                                             0,   -4),
        (r#"{"tableid":"one","seat":0,"params":[],"classId":30}"#,         30,  -4),
        (r#"{"tableid":99999999999,"seat":0,"params":[],"classId":30}"#,   30,  -4),
        (r#"{"tableid":1,"pid":1,"gamedata":"%%%","attributes":[],"classId":100}"#, 100, -4),
        (r#"{"tableid":1,"pid":1,"gamedata":[1,2],"attributes":[],"classId":100}"#, 100, -4),
        (r#"{"tableid":1,"pid":1,"gamedata":[],"attributes":[],"classId":100}"#,    100, -3),
    ];
        let mut stage = new(Options::default());
        let mut others = [Player::new(&mut stage, Way::Binary, 1, 1)];
        seat(&mut stage, &mut others);
        let undisturbed = time_of_rounds(&mut stage, &mut others);
        let socket = websocket(&mut stage);
        let (connection, client) = super::comet::shake_hands(&mut stage);
        for (text, cmd, error) in table {
            let expected = json!({"cmd": cmd, "error": error, "classId": 3});
            stage.say(socket, &frame(0x81, text.as_bytes()));
            assert_eq!(texts(&stage.hear(socket)), std::slice::from_ref(&expected), "{text}");
            if serde_json::from_str::<Value>(text).is_ok() {
                let body = format!(
                    r#"[{{"channel":"/service/client","clientId":"{client}","id":"7","data":{text}}}]"#
                );
                let answer = stage.ask(connection, &body);
                assert_eq!(
                    answer[0],
                    json!({"channel": "/service/client", "data": expected}),
                    "{text}"
                );
                assert_eq!(answer[1]["successful"], json!(true), "{text}");
            }
            assert_eq!(time_of_rounds(&mut stage, &mut others), undisturbed, "{text}");
        }
        // This protocol has no binary messages.
        stage.say(socket, &frame(0x82, &[7, 0, 0, 0, 1]));
        assert_eq!(texts(&stage.hear(socket)), [json!({"cmd": 0, "error": -4, "classId": 3})]);
        // Nor does it allow frames and messages that are too long.
        stage.say(socket, &frame(0x81, &[b' '; 40_000]));
        assert_eq!(stage.hear(socket)[..4], [0x88, 2, 0x03, 0xf1]);
        assert_eq!(stage.end(socket), Some(Ok(())));
        assert_eq!(stage.totals().broken, 1);
        assert_eq!(time_of_rounds(&mut stage, &mut others), undisturbed);
    });
}

#[test]
fn a_flood_is_ended_and_a_player_beside_plays_on() {
    Stage::each_kind(|new| {
        let flood = world::Flood {
            packets_per_s: 1_000.try_into().unwrap(),
            burst: 100.try_into().unwrap(),
        };
        let world = world::Options { flood: Some(flood), ..world::Options::default() };
        let mut stage = new(Options { world, ..Options::default() });
        let mut others = [Player::new(&mut stage, Way::Binary, 1, 1)];
        seat(&mut stage, &mut others);
        let undisturbed = time_of_rounds(&mut stage, &mut others);
        let id = stage.connect(&binary());
        stage.say_packet(id, &login(9).into());
        stage.hear(id);
        let ping = framed(&wire::styx::packets::Ping { id: 1 }.into());
        stage.client.send(id, &ping.repeat(5_000));
        assert_eq!(time_of_rounds(&mut stage, &mut others), undisturbed);
        let heard = stage.hear_packets(id);
        assert_eq!(classes(&heard), [14], "a forced logout");
        assert_eq!((heard[0]["code"].as_u64(), stage.end(id)), (Some(2), Some(Ok(()))));
        let totals = stage.totals();
        assert_eq!((totals.world.floods, totals.world.players), (1, 1));
        assert_eq!(time_of_rounds(&mut stage, &mut others), undisturbed);
    });
}

fn check(what: &str, answer: &Answer, heard: &[Value]) {
    match answer {
        Answer::Bad { cmd, error } => {
            assert_eq!(heard, [json!({"cmd": cmd, "error": error, "classId": 3})], "{what}");
        }
        Answer::Status(class_id, status, code) => {
            let [heard] = heard else { panic!("{what}: {heard:?}") };
            let found = ["classId", "status", "code"].map(|name| heard[name].as_u64().unwrap());
            assert_eq!(found, [*class_id, *status, *code], "{what}");
        }
        Answer::Close => assert_eq!(heard, [] as [Value; 0], "{what}"),
    }
}

/// Virtual time that ten rounds of all players take.
#[track_caller]
fn time_of_rounds(stage: &mut Stage, players: &mut [Player]) -> Nanos {
    let before = stage.now();
    play(stage, players, 10);
    let time = stage.now().since(before);
    assert!(time <= ms(30), "{time:?}");
    time
}

fn login(player: i32) -> LoginRequest<'static> {
    LoginRequest {
        user: "somebody".into(),
        password: player.to_string().into(),
        ..LoginRequest::default()
    }
}

/// A connection that speaks WebSocket.
fn websocket(stage: &mut Stage) -> ConnectionId {
    let id = stage.connect(&web());
    stage.say(
        id,
        b"GET /socket HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
        Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
    );
    assert_eq!(stage.hear(id), SWITCHED);
    id
}

/// The short text messages that were heard.
fn texts(bytes: &[u8]) -> Vec<Value> {
    let mut rest = bytes;
    let mut texts = Vec::new();
    while let [0x81, len, after @ ..] = rest {
        let (text, after) = after.split_at((*len).into());
        texts.push(serde_json::from_slice(text).unwrap());
        rest = after;
    }
    assert_eq!(rest, b"");
    texts
}
