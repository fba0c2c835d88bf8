//! Bots that are let in, and play.

use super::{
    arrives, available, binary, event, frame, joined, json, line, logged_in, opening, options,
    packed, response, says, searching, seated, sent, text, transport,
};
use crate::script::{Step, play};
use wire::game::{Bot, Options, Packing, Seat};
use wire::styx::packets::{ForcedLogout, GameTransport, NotifyJoin, Ping, TableChat, TableRemoved};
use wire::styx::{Limits, Packet, frames};
use wire::{Connection, Layers};

#[test]
fn a_bot_logs_in_finds_a_seat_and_sits_down() {
    let told = play(&binary, &seated([]));
    assert_eq!(
        told.events,
        [
            line("Notice", &packed(logged_in())),
            line("Notice", &packed(searching())),
            line("Notice", &packed(available())),
            "open".to_owned(),
        ]
    );
    assert_eq!(
        sent(&told.first),
        [
            r#"{"user":"Bot_7","password":"7","operatorid":3,"credentials":"","classId":10}"#,
            r#"{"seq":1,"gameid":1,"address":"/","params":[],"classId":170}"#,
            r#"{"tableid":21,"seat":2,"params":[],"classId":30}"#,
        ]
    );
    assert_eq!(told.layers, Layers::default());
}

#[test]
fn the_first_bytes_are_those_of_the_reference() {
    let bot = || -> Connection {
        let options = Options { player: 1, operator: 0, ..options(Packing::Binary) };
        Bot::new(frames(Limits::default()).into(), options).into()
    };
    let hex: String = play(&bot, &[]).first.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, "000000170a0005426f745f310001310000000000000000");
}

#[test]
fn a_bot_may_be_told_its_table_and_listen_to_the_lobby() {
    let bot = || -> Connection {
        let seat = Seat::Table(21);
        let options = Options { lobby: true, seat, ..options(Packing::Binary) };
        Bot::new(frames(Limits::default()).into(), options).into()
    };
    let removed = Packet::from(TableRemoved { tableid: 5 });
    let told = play(&bot, &[arrives(logged_in()), arrives(removed.clone()), arrives(joined())]);
    assert_eq!(
        told.events,
        [line("Notice", &packed(logged_in())), line("Notice", &packed(removed)), "open".to_owned()]
    );
    assert_eq!(
        sent(&told.first)[1..],
        [
            r#"{"type":0,"gameid":1,"address":"/","classId":145}"#,
            r#"{"tableid":21,"seat":-1,"params":[],"classId":30}"#,
        ]
    );
}

#[test]
fn events_are_numbered_and_answers_awaited_in_that_order() {
    let joins = NotifyJoin { tableid: 21, pid: 8, nick: "Bot_8".into(), seat: 3 };
    let chatter = GameTransport { gamedata: b"hello"[..].into(), ..GameTransport::default() };
    let told = play(
        &binary,
        &seated([
            event(0, false),
            event(250, true),
            arrives(joins.clone()),
            arrives(transport(response(8, 900))),
            arrives(transport(response(7, 1))),
            arrives(chatter.clone()),
            arrives(transport(response(7, 2))),
            event(0, false),
            arrives(transport(response(7, 3))),
        ]),
    );
    assert_eq!(
        told.events[4..],
        [
            line("Notice", &packed(joins)),
            line("Delivery", &response(8, 900).pack()),
            line("Binary", &response(7, 1).pack()),
            line("Notice", &packed(chatter)),
            line("Binary", &response(7, 2).pack()),
            line("Binary", &response(7, 3).pack()),
        ]
    );
    let transports: Vec<_> = sent(&told.first).split_off(3);
    // Length and class id, player 7, table 21, and then sequence number, delay, resend.
    assert_eq!(
        transports,
        [
            r#"{"tableid":21,"pid":7,"gamedata":"AAAAFgEAAAAHAAAAFQAAAAEAAAAAAA==","attributes":[],"classId":100}"#,
            r#"{"tableid":21,"pid":7,"gamedata":"AAAAFgEAAAAHAAAAFQAAAAIAAAD6AQ==","attributes":[],"classId":100}"#,
            r#"{"tableid":21,"pid":7,"gamedata":"AAAAFgEAAAAHAAAAFQAAAAMAAAAAAA==","attributes":[],"classId":100}"#,
        ]
    );
    // A packet around game data has a class id, two numbers and two lengths; the length of a frame is framing.
    let layers = Layers { encoding_sent: 3 * 17, encoding_received: 4 * 17, ..Layers::default() };
    assert_eq!(told.layers, layers);
}

#[test]
fn json_may_come_one_by_one_or_in_arrays() {
    let [first, second, third, fourth] = opening().map(text);
    let answers: Vec<_> =
        [response(8, 5), response(7, 1), response(7, 2)].map(transport).map(text).into();
    let told = play(
        &json,
        &[
            says(&first),
            says("[]"),
            says(&format!(" [ {second} , {third} ] ")),
            says(&fourth),
            event(0, false),
            event(0, false),
            says(&format!("[{},{}]", answers[0], answers[1])),
            says(&answers[2].replace("\"attributes\":[],", "\"later\":{},")),
        ],
    );
    assert_eq!(
        told.events,
        [
            line("Notice", first.as_bytes()),
            line("Notice", second.as_bytes()),
            line("Notice", third.as_bytes()),
            "open".to_owned(),
            line("Delivery", &response(8, 5).pack()),
            line("Binary", &response(7, 1).pack()),
            line("Binary", &response(7, 2).pack()),
        ]
    );
    let packed_len: usize = answers.iter().map(String::len).sum();
    let layers = Layers {
        encoding_sent: 2 * (98 - 22),
        encoding_received: i64::try_from(packed_len).unwrap() - 5 - 3 * 18,
        ..Layers::default()
    };
    assert_eq!(told.layers, layers);
}

#[test]
fn empty_bytes_may_be_an_empty_array() {
    let transport = r#"{"tableid":21,"pid":8,"gamedata":[],"classId":100}"#;
    let told = play(&json, &[says(transport)]);
    assert_eq!(told.events, [line("Notice", transport.as_bytes())]);
}

#[test]
fn pings_are_answered_at_any_time() {
    let ping = Packet::from(Ping { id: 5 });
    let told = play(&binary, &[arrives(ping.clone()), arrives(logged_in()), arrives(ping.clone())]);
    let pinged = line("ping", &packed(ping.clone()));
    assert_eq!(told.events, [pinged.clone(), line("Notice", &packed(logged_in())), pinged]);
    let (login, search) = (
        r#"{"user":"Bot_7","password":"7","operatorid":3,"credentials":"","classId":10}"#,
        r#"{"seq":1,"gameid":1,"address":"/","params":[],"classId":170}"#,
    );
    assert_eq!(sent(&told.first), [login, &text(ping.clone()), search, &text(ping)]);
}

#[test]
fn a_forced_logout_is_the_end_of_the_conversation() {
    let cases = [
        (
            1,
            "You have logged in from another place",
            "closed Some(1) \"You have logged in from another place\"",
        ),
        (0, "", "closed Some(0) \"idle for too long\""),
        (1, "", "closed Some(1) \"logged in elsewhere\""),
        (2, "", "closed Some(2) \"kicked\""),
        (-1, "", "closed None \"\""),
    ];
    for (code, message, closed) in cases {
        let logout = ForcedLogout { code, message: message.into() };
        let late = TableChat::default();
        let steps = [arrives(logout), arrives(late), event(0, false), Step::Close, Step::End];
        let told = play(&binary, &seated(steps));
        let after = [
            closed,
            "not sent: the connection is not open",
            "closing, answered: false",
            "end: closed None \"\"",
        ];
        assert_eq!(told.events[4..], after);
        assert_eq!(sent(&told.first).len(), 3, "nothing is said after it");
    }
}

#[test]
fn a_bot_that_is_closed_logs_out_and_leaves_its_table() {
    let late = frame(transport(response(7, 1)));
    let told = play(&binary, &seated([event(0, false), Step::Close, Step::First(late)]));
    assert_eq!(told.events[4..], ["closing, answered: false"]);
    assert_eq!(sent(&told.first)[4..], [r#"{"leaveTables":true,"classId":12}"#]);
}

#[test]
fn only_events_are_sent_and_only_while_seated() {
    let told = play(&binary, &[event(0, false)]);
    assert_eq!(told.events, ["not sent: the connection is not open"]);
    let told = play(&binary, &seated([Step::Send(vec![0; 22]), Step::Send(Vec::new())]));
    let malformed = "not sent: the message is not a LoadRequest";
    assert_eq!(told.events[4..], [malformed, malformed]);
    assert_eq!(sent(&told.first).len(), 3);
}

#[test]
fn the_end_of_the_connection_is_one_of_the_bot_once_it_sits() {
    let cases = [
        (0, "end: error: the connection ended before LoginResponse"),
        (1, "end: error: the connection ended before FilteredJoinTableAvailable"),
        (3, "end: error: the connection ended before JoinResponse"),
        (4, "end: closed None \"\""),
    ];
    for (packets, end) in cases {
        let steps = opening().into_iter().take(packets).map(arrives).chain([Step::End]);
        let told = play(&binary, &steps.collect::<Vec<_>>());
        assert_eq!(told.events.last().unwrap(), end);
    }
    let told = play(&binary, &seated([Step::First(vec![0, 0, 0, 9, 7]), Step::End]));
    assert!(told.events.last().unwrap().starts_with("end: error: "), "{:?}", told.events);
}
