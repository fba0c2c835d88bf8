//! SockJS and Socket.IO, against a small server half of each that a test controls.

use crate::world::{Play, ROUND_TRIP, Speech, always, ms};
use engine::sim::{Conditions, Sim, Split};
use engine::{Completion, ConnectionId, Engine, Node, Step};
use load::{Content, PayloadKind};
use record::ErrorClass;
use spec::Endpoint;
use std::collections::{BTreeMap, BTreeSet};
use units::Instant;
use wire::websocket::{Limits, WebSocket};
use wire::{Event, Input, Kind, Message, Protocol};

#[test]
fn messages_in_texts_are_answered_and_counted_exactly() {
    for dialect in Dialect::ALL {
        for (connections, in_flight) in [(1, 1), (7, 4)] {
            for split in [Split::Never, Split::ByteByByte, Split::Random { chunk_len_max: 20 }] {
                let mut play = play(dialect).connections(connections).messages(200);
                play = play.in_flight(in_flight, None);
                let delay = play.conditions.delay;
                play.conditions = Conditions { delay, split, ..Conditions::default() };
                let mut server = Enveloped::new(dialect);
                let played = play.against(&mut server);
                played.assert_all_ok(200);
                assert_eq!(played.notes.round_trips, always(ROUND_TRIP, 200), "{dialect:?}");
                assert_eq!(server.messages, 200);
            }
        }
    }
}

#[test]
fn what_messages_grew_by_is_encoding() {
    for (dialect, sent, received) in [(Dialect::SockJs, 4, 5), (Dialect::SocketIo, 16, 16)] {
        let mut play = play(dialect).messages(100);
        play.workload.content = Content::exactly(b"Ping", true);
        let layers = play.against(&mut Enveloped::new(dialect)).outcome.layers;
        assert_eq!(
            (layers.sent.payload_bytes, layers.received.payload_bytes),
            (400, 400),
            "{dialect:?}"
        );
        assert_eq!(
            (layers.sent.encoding_bytes, layers.received.encoding_bytes),
            (100 * sent, 100 * received)
        );
        // The rest: WebSocket headers, with a mask on what we send.
        assert_eq!(
            (layers.sent.framing_bytes, layers.received.framing_bytes),
            (600, 200),
            "{dialect:?}"
        );
    }
}

#[test]
fn binary_messages_follow_the_events_that_announce_them() {
    for split in [Split::Never, Split::ByteByByte, Split::Random { chunk_len_max: 20 }] {
        let mut play = play(Dialect::SocketIo).connections(3).messages(100).in_flight(4, None);
        let delay = play.conditions.delay;
        play.conditions = Conditions { delay, split, ..Conditions::default() };
        play.workload.content = Content::exactly(b"Pi\xff", false);
        let mut server = Enveloped::new(Dialect::SocketIo);
        let played = play.against(&mut server);
        played.assert_all_ok(100);
        assert_eq!(server.messages, 100);
        let layers = played.outcome.layers;
        let event = ATTACHED.len() as i64;
        for sums in [layers.sent, layers.received] {
            assert_eq!((sums.payload_bytes, sums.encoding_bytes), (300, 100 * event));
        }
    }
}

#[test]
fn text_that_must_be_escaped_comes_back_as_it_was() {
    for dialect in Dialect::ALL {
        let mut play = play(dialect).messages(20);
        let text = "\u{0}\u{1f}\"\\/\n\u{2028}é😀".repeat(1000);
        play.workload.content = Content::exactly(text.as_bytes(), true);
        play.against(&mut Enveloped::new(dialect)).assert_all_ok(20);
        let play = play.clone().varied(PayloadKind::Json);
        play.against(&mut Enveloped::new(dialect)).assert_all_ok(20);
    }
}

#[test]
fn short_lived_clients_open_a_session_each() {
    for dialect in Dialect::ALL {
        let play = play(dialect).connections(3).clients(10, 5);
        let mut server = Enveloped::new(dialect);
        let played = play.against(&mut server);
        played.assert_all_ok(50);
        assert_eq!(played.outcome.clients_served, 10);
        assert_eq!(server.targets.len(), if dialect == Dialect::SockJs { 10 } else { 1 });
        let farewells = if dialect == Dialect::SocketIo { 10 } else { 0 };
        assert_eq!(server.farewells, farewells);
    }
}

#[test]
fn what_the_server_says_unasked_is_no_reply() {
    for dialect in Dialect::ALL {
        let mut server = Enveloped::new(dialect);
        server.chatters = true;
        let played = play(dialect).messages(100).against(&mut server);
        played.assert_all_ok(100);
        assert_eq!(server.answered_pings, if dialect == Dialect::SocketIo { 100 } else { 0 });
    }
}

#[test]
fn an_end_of_the_protocol_is_named_with_its_words() {
    for (dialect, end, said) in [
        (
            Dialect::SockJs,
            r#"c[3000,"Go away!"]"#,
            "closed by the server with code 3000: \"Go away!\"",
        ),
        (Dialect::SocketIo, "41", "closed by the server"),
    ] {
        let mut server = Enveloped::new(dialect);
        server.ends = Some((7, end));
        let played = play(dialect).messages(20).against(&mut server);
        assert_eq!(played.errors()[0], (ErrorClass::ClosedByPeer, 1, said), "{dialect:?}");
        assert_eq!(played.outcome.connections.lost, 1, "{dialect:?}");
    }
}

#[test]
fn a_server_that_does_not_greet_is_given_up() {
    for dialect in Dialect::ALL {
        let mut server = Enveloped::new(dialect);
        server.is_mute = true;
        let played = play(dialect).messages(1).duration(ms(500)).against(&mut server);
        let (class, ..) = played.errors()[0];
        assert_eq!(class, ErrorClass::HandshakeTimedOut, "{dialect:?}");
        assert_eq!(played.outcome.connections.opened, 0);
    }
}

/// The protocol of the envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dialect {
    SockJs,
    SocketIo,
}

impl Dialect {
    const ALL: [Self; 2] = [Self::SockJs, Self::SocketIo];

    fn endpoint(self) -> Endpoint {
        let url = match self {
            Self::SockJs => "sockjs://server.example/echo",
            Self::SocketIo => "socketio://server.example",
        };
        url.parse().unwrap()
    }
}

fn play(dialect: Dialect) -> Play {
    let mut play = Play::new(Speech::WebSocketText);
    play.endpoint = dialect.endpoint();
    play
}

/// An echo server of a text protocol, over the WebSocket machine.
struct Enveloped {
    dialect: Dialect,
    machines: BTreeMap<ConnectionId, WebSocket>,
    /// The paths that were asked for.
    targets: BTreeSet<String>,
    messages: u64,
    farewells: u64,
    answered_pings: u64,
    /// Says something before each answer.
    chatters: bool,
    /// Says nothing at all.
    is_mute: bool,
    /// The number of messages after which it sends this text instead of an answer, once.
    ends: Option<(u64, &'static str)>,
}

/// The event of Socket.IO that announces a binary message.
const ATTACHED: &str = r#"451-["message",{"_placeholder":true,"num":0}]"#;

impl Enveloped {
    fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            machines: BTreeMap::new(),
            targets: BTreeSet::new(),
            messages: 0,
            farewells: 0,
            answered_pings: 0,
            chatters: false,
            is_mute: false,
            ends: None,
        }
    }

    fn received(&mut self, engine: &mut Sim, id: ConnectionId, bytes: &mut [u8]) {
        let (mut input, mut tx) = (Input::new(bytes), Vec::new());
        loop {
            let machine = self.machines.get_mut(&id).unwrap();
            let texts = match machine.receive(&mut input, &mut tx) {
                Ok(Some(Event::Open)) => self.greeting(),
                Ok(Some(Event::Message(Message { kind: Kind::Text, payload }))) => {
                    let text = str::from_utf8(payload).unwrap().to_owned();
                    self.answers(&text)
                }
                Ok(Some(Event::Message(Message { kind: Kind::Binary, payload }))) => {
                    self.messages += 1;
                    let payload = payload.to_vec();
                    let event = Message { kind: Kind::Text, payload: ATTACHED.as_bytes() };
                    machine.send(event, &mut tx).unwrap();
                    let echo = Message { kind: Kind::Binary, payload: &payload };
                    machine.send(echo, &mut tx).unwrap();
                    Vec::new()
                }
                Ok(Some(Event::Closed(_))) => Vec::new(),
                Ok(None) => break,
                other => panic!("{other:?}"),
            };
            let machine = self.machines.get_mut(&id).unwrap();
            for text in texts {
                let message = Message { kind: Kind::Text, payload: text.as_bytes() };
                machine.send(message, &mut tx).unwrap();
            }
        }
        engine.send(id, &tx);
    }

    fn greeting(&self) -> Vec<String> {
        match self.dialect {
            _ if self.is_mute => Vec::new(),
            Dialect::SockJs => vec!["o".to_owned()],
            Dialect::SocketIo => vec![r#"0{"sid":"a","pingInterval":25000}"#.to_owned()],
        }
    }

    fn answers(&mut self, text: &str) -> Vec<String> {
        match (self.dialect, text) {
            (Dialect::SocketIo, "40") => return vec![r#"40{"sid":"b"}"#.to_owned()],
            (Dialect::SocketIo, "41") => {
                self.farewells += 1;
                return Vec::new();
            }
            (Dialect::SocketIo, "3hello") => {
                self.answered_pings += 1;
                return Vec::new();
            }
            (Dialect::SocketIo, ATTACHED) => return Vec::new(),
            (Dialect::SocketIo, _) => assert!(text.starts_with(r#"42["message",""#), "{text}"),
            (Dialect::SockJs, _) => assert!(text.starts_with("[\""), "{text}"),
        }
        self.messages += 1;
        if let Some((_, end)) = self.ends.take_if(|(count, _)| *count == self.messages) {
            return vec![end.to_owned()];
        }
        let chat = match (self.chatters, self.dialect) {
            (false, _) => &[][..],
            (true, Dialect::SockJs) => &["h", "a[]"],
            (true, Dialect::SocketIo) => &["2hello", r#"42["news",{"a":1}]"#, "6"],
        };
        let answer = match self.dialect {
            Dialect::SockJs => format!("a{text}"),
            Dialect::SocketIo => text.to_owned(),
        };
        chat.iter().map(|text| (*text).to_owned()).chain([answer]).collect()
    }
}

impl Node<Sim> for Enveloped {
    fn step(&mut self, engine: &mut Sim) -> Step {
        let mut rx = [0; 4096];
        while let Some(completion) = engine.complete(&mut rx) {
            match completion {
                Completion::Accepted(id) => {
                    self.machines.insert(id, WebSocket::server(Limits::default()));
                }
                Completion::Received { connection, len } => {
                    // A request line that came in one piece.
                    let target =
                        str::from_utf8(&rx[..len]).ok().and_then(|head| head.split(' ').nth(1));
                    if let Some(target) = target.filter(|_| rx.starts_with(b"GET ")) {
                        self.targets.insert(target.to_owned());
                    }
                    self.received(engine, connection, &mut rx[..len]);
                }
                Completion::Ended(id) => engine.close(id),
                Completion::Connected(_) | Completion::Failed(..) => {}
            }
        }
        Step::Wait(Instant::NEVER)
    }
}
