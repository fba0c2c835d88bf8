//! Bots over each transport, as the generator runs them.

use super::stage::{Stage, binary, ms, web};
use engine::{ConnectionId, Engine};
use std::sync::Arc;
use wire::bayeux::{self, Comet};
use wire::game::{Bot, Options, Packing, Seat};
use wire::http1::{self, Http1, Request, RequestParts};
use wire::styx::{self, load_test::LoadRequest};
use wire::websocket::{self, WebSocket, handshake};
use wire::{Connection, Event, Input, Kind, Message, Protocol, Push, TwoSockets};

/// A bot, and what it has heard.
pub(crate) struct Player {
    bot: Bot<Connection>,
    first: ConnectionId,
    second: Option<ConnectionId>,
    pub(crate) is_seated: bool,
    pub(crate) sent: u64,
    pub(crate) replies: u64,
    /// Responses to events of others.
    pub(crate) deliveries: u64,
    pub(crate) ended: Option<String>,
}

/// The protocols that a bot plays over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Binary,
    WebSocket,
    Comet,
}

impl Player {
    /// A bot that logs in and sits down at a table once it is driven.
    pub(crate) fn new(stage: &mut Stage, way: Way, player: i32, table: i32) -> Self {
        let (inner, packing): (Connection, _) = match way {
            Way::Binary => (styx::frames(styx::Limits::default()).into(), Packing::Binary),
            Way::WebSocket => {
                let request = handshake::Request {
                    host: "h".to_owned(),
                    target: "/socket".to_owned(),
                    subprotocols: Vec::new(),
                    headers: Vec::new(),
                    deflate: None,
                };
                let limits = websocket::Limits::default();
                let seed = player.unsigned_abs().into();
                (WebSocket::client(Arc::new(request), limits, seed).into(), Packing::Json)
            }
            Way::Comet => {
                let comet = Comet::new(http(), http(), bayeux::Limits::default());
                (Connection::Comet(Box::new(comet)), Packing::Json)
            }
        };
        let options =
            Options { player, packing, operator: 0, lobby: false, seat: Seat::Table(table) };
        let address = if way == Way::Binary { binary() } else { web() };
        let first = stage.connect_somewhere(&address);
        let second = (way == Way::Comet).then(|| stage.connect_somewhere(&address));
        let mut bot = Bot::new(inner, options);
        let mut tx = Vec::new();
        bot.open(&mut tx);
        let mut player = Self {
            bot,
            first,
            second,
            is_seated: false,
            sent: 0,
            replies: 0,
            deliveries: 0,
            ended: None,
        };
        player.speak(stage, &tx);
        player
    }

    /// Sends an event.
    pub(crate) fn play(&mut self, stage: &mut Stage) {
        let event = LoadRequest { pid: 0, tableid: 0, seq: 0, delay: 0, resend: false }.pack();
        let mut tx = Vec::new();
        self.bot.send(Message { kind: Kind::Binary, payload: &event }, &mut tx).unwrap();
        self.sent += 1;
        self.speak(stage, &tx);
    }

    /// Parses what has arrived.
    pub(crate) fn listen(&mut self, stage: &mut Stage) {
        let mut tx = Vec::new();
        for (connection, is_second) in [(Some(self.first), false), (self.second, true)] {
            let Some(connection) = connection else { continue };
            let mut heard = stage.hear(connection);
            let mut input = Input::new(&mut heard);
            while self.ended.is_none() {
                let understood = if is_second {
                    self.bot.receive_second(&mut input, &mut tx)
                } else {
                    self.bot.receive(&mut input, &mut tx)
                };
                match understood {
                    Ok(None) => break,
                    Ok(Some(Event::Open)) => self.is_seated = true,
                    Ok(Some(Event::Message(_))) => self.replies += 1,
                    Ok(Some(Event::Pushed(pushed))) => {
                        self.deliveries += u64::from(pushed.kind == Push::Delivery);
                    }
                    Ok(Some(Event::Closed(closed))) => {
                        self.ended = Some(format!("{:?} {}", closed.code, closed.reason));
                    }
                    Ok(Some(_)) => {}
                    Err(error) => self.ended = Some(error.to_string()),
                }
            }
        }
        self.speak(stage, &tx);
    }

    fn speak(&mut self, stage: &mut Stage, tx: &[u8]) {
        if !tx.is_empty() {
            stage.client.send(self.first, tx);
        }
        let second = self.bot.take_second();
        if let Some(connection) = self.second
            && !second.is_empty()
        {
            stage.client.send(connection, &second);
        }
    }
}

/// Lets all players listen and answer, millisecond by millisecond, until `done`.
#[track_caller]
pub(crate) fn drive(stage: &mut Stage, players: &mut [Player], done: impl Fn(&[Player]) -> bool) {
    for _ in 0..TURNS_MAX {
        stage.pass(ms(1));
        for player in players.iter_mut() {
            player.listen(stage);
        }
        if done(players) {
            return;
        }
    }
    let ends: Vec<_> = players.iter().map(|player| (&player.ended, player.replies)).collect();
    panic!("it does not end: {ends:?}");
}

/// Seats all players.
#[track_caller]
pub(crate) fn seat(stage: &mut Stage, players: &mut [Player]) {
    drive(stage, players, |players| players.iter().all(|player| player.is_seated));
}

/// Lets all players play `rounds` rounds, each after the replies to the previous one.
#[track_caller]
pub(crate) fn play(stage: &mut Stage, players: &mut [Player], rounds: u64) {
    for _ in 0..rounds {
        for player in players.iter_mut() {
            player.play(stage);
        }
        drive(stage, players, |players| players.iter().all(|player| player.replies == player.sent));
    }
}

fn http() -> Connection {
    let request = Request::new(&RequestParts {
        method: "POST".to_owned(),
        target: "/cometd".to_owned(),
        host: "h".to_owned(),
        headers: Vec::new(),
    });
    Http1::client(Arc::new(request.unwrap()), http1::Limits::default()).into()
}

/// The longest that anything takes, in milliseconds.
const TURNS_MAX: u32 = 2_000;
