//! The same game over every transport, with complete machines at the other end.

use super::{
    available, event, joined, line, logged_in, opening, options, response, searching, text,
    transport,
};
use crate::bayeux::{HANDSHAKEN, SUBSCRIBED, bodies, comet, first, second};
use crate::script::{Step, describe, play};
use crate::tls::world;
use std::sync::Arc;
use units::Random;
use wire::game::{Bot, Packing};
use wire::styx::load_test::{LoadRequest, LoadResponse};
use wire::styx::packets::{GameTransport, NotifyLeave};
use wire::styx::{Limits, Packet, frames};
use wire::tls::Tls;
use wire::websocket::{self, WebSocket, handshake};
use wire::{Connection, Event, Input, Kind, Message, Protocol};

#[test]
fn a_game_is_played_over_every_transport() {
    let secured = "secured, opening Awaited";
    for seed in 0..30 {
        let tls = |inner| Tls::client(&world::client(&world::client_options()), inner).into();
        let tls_server =
            |inner| Tls::server(&world::server(&world::server_options()), inner).into();
        check(Packing::Binary, styx(), styx(), seed, &[]);
        check(Packing::Binary, tls(styx()), tls_server(styx()), seed, &[secured]);
        check(Packing::Json, web_client(), web_server(), seed, &[]);
        check(Packing::Json, tls(web_client()), tls_server(web_server()), seed, &[secured]);
    }
}

/// A bot plays three events, with another player's answer before each of its own.
fn check(packing: Packing, client: Connection, server: Connection, seed: u64, before: &[&str]) {
    let mut table = Table::new(packing, client, server, seed);
    table.settle();
    let mut expected: Vec<_> = before.iter().map(|event| (*event).to_owned()).collect();
    for packet in [logged_in(), searching(), available()] {
        expected.push(line("Notice", &table.packed(packet)));
    }
    expected.push("open".to_owned());
    for seq in 1..=3 {
        let event = LoadRequest { delay: 1, ..LoadRequest::default() }.pack();
        let message = Message { kind: Kind::Binary, payload: &event };
        table.bot.send(message, &mut table.to_server).expect("the script is proper");
        table.settle();
        expected.push(line("Delivery", &response(8, seq).pack()));
        expected.push(line("Binary", &response(7, seq).pack()));
    }
    assert_eq!(table.events, expected);

    let growth = |seq: i32, is_sent: bool| {
        let gamedata = if is_sent {
            LoadRequest { pid: 7, tableid: 21, seq, delay: 1, resend: false }.pack().to_vec()
        } else {
            response(7, seq).pack().to_vec()
        };
        let payload_len = gamedata.len();
        let packet =
            GameTransport { tableid: 21, pid: 7, gamedata: gamedata.into(), attributes: vec![] };
        i64::try_from(table.packed(packet.into()).len() - payload_len)
            .expect("the script is proper")
    };
    let layers = table.bot.layers();
    assert_eq!(layers.encoding_sent, (1..=3).map(|seq| growth(seq, true)).sum::<i64>());
    assert_eq!(layers.encoding_received, (1..=3).map(|seq| 2 * growth(seq, false)).sum::<i64>());

    table.bot.close(&mut table.to_server);
    table.settle();
    assert!(table.has_logged_out);
}

fn styx() -> Connection {
    frames(Limits::default()).into()
}

fn web_client() -> Connection {
    let request = handshake::Request {
        host: "h".to_owned(),
        target: "/socket".to_owned(),
        subprotocols: Vec::new(),
        headers: Vec::new(),
        deflate: None,
    };
    WebSocket::client(Arc::new(request), websocket::Limits::default(), 1).into()
}

fn web_server() -> Connection {
    WebSocket::server(websocket::Limits::default()).into()
}

/// A bot, and a server with one table at the other end.
struct Table {
    bot: Connection,
    events: Vec<String>,
    has_logged_out: bool,
    packing: Packing,
    random: Random,
    server: Connection,
    to_bot: Vec<u8>,
    to_server: Vec<u8>,
}

impl Table {
    fn new(packing: Packing, client: Connection, mut server: Connection, seed: u64) -> Self {
        let mut bot: Connection = Bot::new(client, options(packing)).into();
        let (mut to_bot, mut to_server) = (Vec::new(), Vec::new());
        bot.open(&mut to_server);
        server.open(&mut to_bot);
        let (events, random) = (Vec::new(), Random::new(seed));
        Self { bot, events, has_logged_out: false, packing, random, server, to_bot, to_server }
    }

    /// Delivers everything in pieces, until neither side has more to send.
    fn settle(&mut self) {
        while !(self.to_bot.is_empty() && self.to_server.is_empty()) {
            let mut piece = take_piece(&mut self.to_server, &mut self.random);
            let mut input = Input::new(&mut piece);
            let mut said = Vec::new();
            while let Some(event) =
                self.server.receive(&mut input, &mut self.to_bot).expect("the script is proper")
            {
                if let Event::Message(message) = event {
                    said.push(message.payload.to_vec());
                }
            }
            said.iter().for_each(|packet| self.serve(packet));
            let mut piece = take_piece(&mut self.to_bot, &mut self.random);
            let mut input = Input::new(&mut piece);
            while let Some(event) =
                self.bot.receive(&mut input, &mut self.to_server).expect("the script is proper")
            {
                if !matches!(event, Event::Closed(_)) {
                    self.events.push(describe(&event));
                }
            }
        }
    }

    fn serve(&mut self, packet: &[u8]) {
        let packet = match self.packing {
            Packing::Binary => Packet::decode(packet).expect("the script is proper"),
            Packing::Json => Packet::read_json(packet).expect("the script is proper"),
        };
        #[expect(clippy::wildcard_enum_match_arm, reason = "a bot says only these")]
        let answers = match packet {
            Packet::LoginRequest(login) if login.password == "7" => vec![logged_in()],
            Packet::FilteredJoinTableRequest(_) => vec![searching(), available()],
            Packet::JoinRequest(join) if (join.tableid, join.seat) == (21, 2) => vec![joined()],
            Packet::GameTransport(event) => {
                let response = LoadResponse::from(
                    &LoadRequest::unpack(&event.gamedata).expect("the script is proper"),
                );
                vec![transport(LoadResponse { pid: 8, ..response }), transport(response)]
            }
            Packet::Logout(logout) => {
                self.has_logged_out = logout.leave_tables;
                Vec::new()
            }
            other => panic!("{other:?}"),
        };
        for answer in answers {
            let payload = &self.packed(answer);
            let kind = match self.packing {
                Packing::Binary => Kind::Binary,
                Packing::Json => Kind::Text,
            };
            self.server
                .send(Message { kind, payload }, &mut self.to_bot)
                .expect("the script is proper");
        }
    }

    fn packed(&self, packet: Packet<'_>) -> Vec<u8> {
        match self.packing {
            Packing::Binary => super::packed(packet),
            Packing::Json => text(packet).into_bytes(),
        }
    }
}

/// Takes some of what was sent.
fn take_piece(sent: &mut Vec<u8>, random: &mut Random) -> Vec<u8> {
    let len = if random.below(3) == 0 { sent.len() } else { 1 + random.below(40) };
    sent.drain(..len.min(sent.len())).collect()
}

#[test]
fn a_game_is_played_over_comet() {
    let bot = || -> Connection { Bot::new(comet(), options(Packing::Json)).into() };
    let news = |packets: &[Packet<'_>]| {
        let deliveries: Vec<_> = packets
            .iter()
            .map(|packet| {
                format!(r#"{{"channel":"/service/client","data":{}}}"#, text(packet.clone()))
            })
            .collect();
        format!(r#"[{},{{"channel":"/meta/connect","successful":true}}]"#, deliveries.join(","))
    };
    let published = r#"[{"channel":"/service/client","successful":true}]"#;
    let leaves = Packet::from(NotifyLeave { tableid: 21, pid: 9 });
    let steps = [
        first(HANDSHAKEN),
        first(SUBSCRIBED),
        first(&news(&[logged_in()])),
        second(published),
        first(&news(&[searching(), available()])),
        second(published),
        second(&news(&[joined()])),
        event(0, false),
        event(0, false),
        first(&news(&[transport(response(7, 1)), leaves.clone(), transport(response(8, 4))])),
        second(published),
        second(&news(&[transport(response(7, 2))])),
        Step::Close,
        Step::End,
    ];
    let told = play(&bot, &steps);
    let [first, second, third, _] = opening().map(|packet| line("Notice", text(packet).as_bytes()));
    assert_eq!(
        told.events,
        [
            first,
            second,
            third,
            "open".to_owned(),
            line("Binary", &response(7, 1).pack()),
            line("Notice", text(leaves).as_bytes()),
            line("Delivery", &response(8, 4).pack()),
            line("Binary", &response(7, 2).pack()),
            "closing, answered: false".to_owned(),
            "end: closed None \"\"".to_owned(),
        ]
    );
    let said = bodies(&told.second);
    assert_eq!(said.len(), 7);
    assert!(said[0].contains(r#""password":"7""#) && said[1].contains(r#""classId":170}"#));
    assert!(said[2].contains(r#""classId":30}"#));
    assert!(said[3].contains("AAAAFgEAAAAHAAAAFQAAAAEAAAAAAA=="), "event 1: {}", said[3]);
    assert!(said[4].contains("AAAAFgEAAAAHAAAAFQAAAAIAAAAAAA=="), "event 2: {}", said[4]);
    assert!(said[5].contains(r#"{"leaveTables":true,"classId":12}"#));
    assert!(said[6].contains("/meta/disconnect"));
    let lens = [response(7, 1), response(8, 4), response(7, 2)].map(|it| text(transport(it)).len());
    let received = lens.iter().sum::<usize>() - 3 * 18;
    assert_eq!(told.layers.encoding_received, i64::try_from(received).unwrap());
    assert_eq!(told.layers.encoding_sent, 2 * (98 - 22));
}

#[test]
fn http_that_refuses_ends_the_bot() {
    let bot = || -> Connection { Bot::new(comet(), options(Packing::Json)).into() };
    let not_found = b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno".to_vec();
    let told = play(&bot, &[Step::First(not_found)]);
    assert_eq!(told.events, [r#"error: HTTP status 404: "no""#]);
    let told = play(&bot, &[first(HANDSHAKEN), first("oops")]);
    assert_eq!(
        told.events,
        [r#"error: not a batch of Bayeux messages: expected value at line 1 column 1: "oops""#]
    );
}
