//! The relay, judged by what its clients hear.

use engine::sim::{Conditions, Network, Outcome, Party, Sim};
use engine::{Address, Completion, ConnectionId, Engine, Node, Step};
use serve::Relay;
use serve::relay::Totals;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use units::Instant;
use wire::{ClientOptions, Event, Input, Kind, Message, Opening, Protocol, Role, ServerOptions};

#[test]
fn what_is_published_goes_to_all_who_are_in_the_room() {
    let heard = talk(&[
        &["join a", "join b", "join a"],
        &["join b"],
        &["publish a id=17\nx\ny", "publish b\nz", "publish c id=18\n"],
    ]);
    assert_eq!(heard[0], ["joined a", "joined b", "joined a", "message a\nx\ny", "message b\nz"]);
    assert_eq!(heard[1], ["joined b", "message b\nz"]);
    assert_eq!(heard[2], ["published id=17 receivers=1", "published id=18 receivers=0"]);
}

#[test]
fn a_publisher_may_be_in_its_room_and_what_makes_no_sense_is_refused() {
    let heard = talk(&[&["join a", "publish a id=1\nx", "leave a", "publish a"]]);
    assert_eq!(heard[0][..3], ["joined a", "message a\nx", "published id=1 receivers=1"]);
    assert_eq!(heard[0].len(), 5);
    assert!(heard[0][3].starts_with("error a message must begin with"), "{}", heard[0][3]);
    assert!(
        heard[0][4].starts_with("error `publish ROOM` must be followed by a line end"),
        "{}",
        heard[0][4]
    );
}

#[test]
fn what_is_published_in_a_room_at_once_is_delivered_at_once_and_then_acknowledged() {
    let all = ["join a", "join b", "publish a id=1\nx", "publish a\ny", "publish a id=2\nz"];
    let (heard, totals) = talk_at(&[
        (SESSION, &[r#"["join a"]"#]),
        (
            "ws://relay.example",
            &[&all[..], &["publish b id=3\nx", "join c", "publish c id=4\n"]].concat(),
        ),
    ]);
    let deliveries = ["message a\nx", "message a\ny", "message a\nz"];
    let frames = deliveries.map(|it| format!("a[\"{}\"]", it.replace('\n', "\\n")));
    assert_eq!(heard[0][2..], frames);
    let acknowledged = ["published id=1 receivers=2", "published id=2 receivers=2"];
    assert_eq!(heard[1][..2], ["joined a", "joined b"]);
    assert_eq!(heard[1][2..7], [&deliveries[..], &acknowledged].concat());
    let others = ["message b\nx", "published id=3 receivers=1", "joined c", "message c\n"];
    assert_eq!(heard[1][7..], [&others[..], &["published id=4 receivers=1"]].concat());
    assert_eq!((totals.published, totals.delivered, totals.refused), (5, 8, 0));
}

#[test]
fn who_publishes_and_goes_hears_nothing_more_and_its_room_does() {
    let (heard, totals) = talk_at(&[
        ("ws://relay.example", &["join a"]),
        (SESSION, &[r#"["join a"]"#, r#"["publish a\nx","publish a\ny"]"#, "no JSON"]),
    ]);
    assert_eq!(heard[0], ["joined a", "message a\nx", "message a\ny"]);
    assert_eq!(heard[1], ["o", r#"a["joined a"]"#]);
    assert_eq!((totals.published, totals.delivered, totals.broken), (2, 2, 1));
}

#[test]
fn a_connection_is_in_so_many_rooms_and_no_more() {
    let all: Vec<String> = (0..1025).map(|room| format!("join {room}")).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let heard = talk(&[&all, &["publish 7\nx", "publish 1024 id=1\n"]]);
    assert_eq!(heard[0][1024], "error a connection or session may join at most 1024 rooms");
    assert_eq!(heard[0][1025], "message 7\nx");
    assert_eq!(heard[1], ["published id=1 receivers=0"]);
}

#[test]
fn frames_of_sockjs_and_plain_messages_meet_in_a_room() {
    let (heard, totals) = talk_at(&[
        (SESSION, &[r#"["join a","join b"]"#, r#""join c""#, "", "[]"]),
        ("ws://relay.example/rooms/websocket", &["join a"]),
        ("sockjs://relay.example/rooms", &["join a", "publish a id=1\nx\"y", "publish c\nz"]),
    ]);
    let delivery = r#"a["message a\nx\"y"]"#;
    let joined = [r#"a["joined a"]"#, r#"a["joined b"]"#, r#"a["joined c"]"#];
    let deliveries = [delivery, r#"a["message c\nz"]"#];
    let frames = [&["o"][..], &joined, &deliveries].concat();
    assert_eq!(heard[0], frames);
    assert_eq!(heard[1], ["joined a", "message a\nx\"y"]);
    assert_eq!(heard[2], ["joined a", "message a\nx\"y", "published id=1 receivers=3"]);
    assert_eq!((totals.published, totals.delivered, totals.broken), (2, 4, 0));
}

#[test]
fn a_frame_that_is_no_json_ends_its_connection_and_no_other() {
    for broken in [r#"["join a""#, "join a", "[1]"] {
        let (heard, totals) = talk_at(&[
            (SESSION, &[r#"["join a"]"#, broken, r#"["join b"]"#]),
            ("ws://relay.example/", &["publish a id=1\nx", "publish b id=2\nx"]),
        ]);
        assert_eq!(heard[0], ["o", r#"a["joined a"]"#], "{broken}");
        let nobody = ["published id=1 receivers=0", "published id=2 receivers=0"];
        assert_eq!(heard[1], nobody, "{broken}");
        assert_eq!(totals.broken, 1, "{broken}");
    }
}

/// The address of a SockJS session for a client that sees its frames.
const SESSION: &str = "ws://relay.example/rooms/000/abc/websocket";

/// Lets clients speak, one after the other, and returns what each of them hears.
fn talk(clients: &[&[&str]]) -> Vec<Vec<String>> {
    let clients: Vec<_> = clients.iter().map(|said| ("ws://relay.example", *said)).collect();
    talk_at(&clients).0
}

/// The same with an address for each, and the totals of the relay.
fn talk_at(clients: &[(&str, &[&str])]) -> (Vec<Vec<String>>, Totals) {
    let url: spec::Endpoint = "ws://relay.example".parse().unwrap();
    let options = ServerOptions { takes_requests: true, ..ServerOptions::default() };
    let server = wire::stack(&url, Role::Server(&options)).unwrap();
    let machine = |url: &str| {
        let options = ClientOptions::default();
        let stack = wire::stack(&url.parse().unwrap(), Role::Client(&options)).unwrap();
        stack.connection(1, 0)
    };
    let address = Address::Tcp(([10, 0, 0, 1], 80).into());
    let mut network = Network::new(7, Conditions::default());
    let (mut one, mut other) = (network.engine(), network.engine());
    other.listen(&address).unwrap();
    let said = clients.iter().map(|(_, all)| all.iter().map(|it| (*it).to_owned()).collect());
    let mut people = People {
        ids: Vec::new(),
        machines: clients.iter().map(|(url, _)| machine(url)).collect(),
        said: said.collect(),
        open: 0,
        heard: vec![Vec::new(); clients.len()],
        rx: vec![0; 1 << 16],
        address,
    };
    let mut relay = Relay::new(server, Arc::new(AtomicBool::new(false)));
    let mut parties =
        [Party::background(&mut one, &mut people), Party::background(&mut other, &mut relay)];
    let ended = network.run(&mut parties, Instant(1_000_000_000));
    assert_eq!(ended, Outcome::TimeUp);
    (people.heard, relay.totals())
}

/// The clients: each speaks when all before it have heard something.
struct People {
    address: Address,
    ids: Vec<ConnectionId>,
    machines: Vec<wire::Connection>,
    said: Vec<Vec<String>>,
    /// The number of clients that are open.
    open: usize,
    heard: Vec<Vec<String>>,
    rx: Vec<u8>,
}

impl Node<Sim> for People {
    fn step(&mut self, engine: &mut Sim) -> Step {
        if self.ids.is_empty() {
            self.ids = self.machines.iter().map(|_| engine.connect(&self.address, None)).collect();
        }
        while let Some(completion) = engine.complete(&mut self.rx) {
            let mut tx = Vec::new();
            match completion {
                Completion::Connected(id) => {
                    let place = self.place(id);
                    let opening = self.machines[place].open(&mut tx);
                    assert_eq!(opening, Opening::Awaited);
                    engine.send(id, &tx);
                }
                Completion::Received { connection, len } => self.received(connection, len),
                Completion::Accepted(_) | Completion::Ended(_) | Completion::Failed(..) => {}
            }
        }
        self.speak(engine);
        Step::Wait(Instant::NEVER)
    }
}

impl People {
    fn place(&self, id: ConnectionId) -> usize {
        self.ids.iter().position(|known| *known == id).unwrap()
    }

    fn received(&mut self, id: ConnectionId, len: usize) {
        let place = self.place(id);
        let (mut input, mut tx) = (Input::new(&mut self.rx[..len]), Vec::new());
        while let Some(event) = self.machines[place].receive(&mut input, &mut tx).unwrap() {
            match event {
                Event::Open => self.open += 1,
                Event::Message(Message { kind, payload }) => {
                    assert_eq!(kind, Kind::Text);
                    self.heard[place].push(String::from_utf8(payload.to_vec()).unwrap());
                }
                Event::Answer(_)
                | Event::Closed(_)
                | Event::Part(_)
                | Event::Ping(_)
                | Event::Pong(_)
                | Event::Pushed(_)
                | Event::Redirected
                | Event::Refused { .. }
                | Event::Response(_)
                | Event::Secured(_) => panic!("{event:?}"),
            }
        }
    }

    /// Once all are open, lets the next one speak when all before it have heard something.
    fn speak(&mut self, engine: &mut Sim) {
        if self.open < self.machines.len() {
            return;
        }
        let Some(next) = self.said.iter().position(|all| !all.is_empty()) else { return };
        let joined = |place: usize| !self.heard[place].is_empty();
        if !(0..next).all(joined) {
            return;
        }
        let mut tx = Vec::new();
        for text in std::mem::take(&mut self.said[next]) {
            let message = Message { kind: Kind::Text, payload: text.as_bytes() };
            self.machines[next].send(message, &mut tx).unwrap();
        }
        engine.send(self.ids[next], &tx);
    }
}
