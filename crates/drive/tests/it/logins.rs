//! Conversations that log in over HTTP before they connect.

use crate::conversations;
use crate::world::{Play, ROUND_TRIP, Speech, always};
use engine::sim::Sim;
use engine::{Completion, ConnectionId, Engine, Node, Step};
use record::{Counts, ErrorClass};
use spec::Conversation;
use std::collections::BTreeMap;
use units::{Instant, Nanos};
use wire::{Connection, Event, Input, Message, Protocol};

#[test]
fn each_connection_logs_in_and_then_connects() {
    for clients in [None, Some(6)] {
        let mut server = Gate::new(Answer::Token);
        let play = match clients {
            None => talk().connections(5).messages(100),
            Some(clients) => talk().connections(2).clients(clients, 3),
        };
        let played = play.against(&mut server);
        let (count, messages) = clients.map_or((5, 100), |clients| (clients, clients * 3));
        let counts = Counts { sent: messages, ok: messages, ..Counts::default() };
        assert_eq!(played.outcome.measured, counts, "{:?}", played.errors());
        assert_eq!((server.logins, server.upgrades), (count, count));
        assert_eq!(server.accepted, 2 * count, "each has two connections, one after the other");
        assert!(server.ended_first, "the login's connection is closed before the other opens");
        let (connections, times) = (played.outcome.connections, &played.outcome.times);
        assert_eq!((connections.started, connections.opened, connections.lost), (count, count, 0));
        // A connect and two exchanges; then a connect, and an upgrade.
        assert_eq!(times.before, always(Nanos(3 * ROUND_TRIP.0), count));
        assert_eq!(times.connect, always(ROUND_TRIP, count));
        assert_eq!(times.handshake, always(ROUND_TRIP, count));
        assert!(played.outcome.errors.is_empty(), "{:?}", played.errors());
    }
}

#[test]
fn a_login_that_fails_is_an_error_of_opening() {
    let step = "exchange 1 of 2 before the connection, POST /login: ";
    #[rustfmt::skip]
    let table = [
        (Answer::Status(401), ErrorClass::Protocol,          "HTTP status 401, expected the status 2xx: \"no entry\""),
        (Answer::Status(403), ErrorClass::Protocol,          "HTTP status 403, expected the status 2xx: \"no entry\""),
        (Answer::Status(429), ErrorClass::Protocol,          "HTTP status 429, expected the status 2xx: \"no entry\""),
        (Answer::End,         ErrorClass::Protocol,          "the connection ended"),
        (Answer::Nothing,     ErrorClass::HandshakeTimedOut, "the exchanges before the connection did not complete within 200 ms"),
    ];
    for (answer, class, expected) in table {
        let mut server = Gate::new(answer);
        let played = talk().connections(3).messages(30).against(&mut server);
        let (outcome, tally) = (&played.outcome, &played.outcome.errors[&class]);
        assert_eq!((outcome.measured.sent, outcome.connections.failed), (0, 3), "{answer:?}");
        let example = tally.example.strip_prefix(step).unwrap_or(&tally.example);
        assert!(example.contains(expected), "{}", tally.example);
        assert_eq!((tally.count, server.upgrades), (3, 0));
        assert_eq!(outcome.times.before.count(), 0);
    }
}

fn talk() -> Play {
    conversations::talk(Speech::WebSocketText, Conversation::read("gate", FILE).unwrap())
}

const FILE: &str = r#"
    speaks = "ws"
    path = "/?token=${token}"
    [[before]]
    http = "POST /login"
    body = '{"user":"bot${client}"}'
    take = { first = "$.token" }
    [[before]]
    http = "POST /room?token=${first}"
    take = { token = "$.token" }
    [request.ask]
    send = '${id}'
    reply = { id = '=${id}' }
"#;

/// A WebSocket server that admits each client that has logged in, once.
struct Gate {
    answer: Answer,
    sockets: BTreeMap<ConnectionId, Option<Connection>>,
    /// Tokens that admit a client, each with the connection that it was given on.
    tokens: BTreeMap<String, ConnectionId>,
    accepted: u64,
    logins: u64,
    upgrades: u64,
    /// True while no client came back before the connection of its login had ended.
    ended_first: bool,
}

#[derive(Clone, Copy, Debug)]
enum Answer {
    End,
    Nothing,
    Status(u16),
    Token,
}

impl Gate {
    fn new(answer: Answer) -> Self {
        Self {
            answer,
            sockets: BTreeMap::new(),
            tokens: BTreeMap::new(),
            accepted: 0,
            logins: 0,
            upgrades: 0,
            ended_first: true,
        }
    }

    /// Answers a request that is not an upgrade.
    fn answer(&mut self, engine: &mut Sim, id: ConnectionId, request: &str) {
        let (status, body) = match self.answer {
            Answer::End => return engine.shutdown(id),
            Answer::Nothing => return,
            Answer::Status(status) => (status, "no entry".to_owned()),
            Answer::Token => {
                let token = if request.starts_with("POST /login ") {
                    self.logins += 1;
                    format!("first{}", self.logins)
                } else {
                    let used = request.split("token=").nth(1).unwrap().split(' ').next().unwrap();
                    assert!(self.tokens.remove(used).is_some(), "{request}");
                    format!("room-of-{used}")
                };
                self.tokens.insert(token.clone(), id);
                (200, format!("{{\"token\":\"{token}\"}}"))
            }
        };
        let len = body.len();
        let response = format!("HTTP/1.1 {status} -\r\nContent-Length: {len}\r\n\r\n{body}");
        engine.send(id, response.as_bytes());
    }

    fn received(&mut self, engine: &mut Sim, id: ConnectionId, bytes: &mut [u8]) {
        let text = String::from_utf8_lossy(bytes).into_owned();
        if text.starts_with("POST ") {
            return self.answer(engine, id, &text);
        }
        if text.starts_with("GET ") {
            let token = text.strip_prefix("GET /?token=").unwrap().split(' ').next().unwrap();
            let login = self.tokens.remove(token).unwrap_or_else(|| panic!("{text}"));
            self.ended_first &= !self.sockets.contains_key(&login);
            self.upgrades += 1;
            let server = Speech::WebSocketText.server(None).connection(0, 0);
            self.sockets.insert(id, Some(server));
        }
        let machine = self.sockets.get_mut(&id).unwrap().as_mut().unwrap();
        let (mut input, mut tx) = (Input::new(bytes), Vec::new());
        while let Ok(Some(event)) = machine.receive(&mut input, &mut tx) {
            if let Event::Message(Message { kind, payload }) = event {
                let reply = [b"=", payload].concat();
                machine.send(Message { kind, payload: &reply }, &mut tx).unwrap();
            }
        }
        engine.send(id, &tx);
    }
}

impl Node<Sim> for Gate {
    fn step(&mut self, engine: &mut Sim) -> Step {
        let mut rx = [0; 4096];
        while let Some(completion) = engine.complete(&mut rx) {
            match completion {
                Completion::Accepted(id) => {
                    self.sockets.insert(id, None);
                    self.accepted += 1;
                }
                Completion::Received { connection, len } => {
                    self.received(engine, connection, &mut rx[..len]);
                }
                Completion::Ended(id) => {
                    engine.close(id);
                    self.sockets.remove(&id);
                }
                Completion::Connected(_) | Completion::Failed(..) => {}
            }
        }
        Step::Wait(Instant::NEVER)
    }
}
