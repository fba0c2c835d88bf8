//! A game server on a simulated network, and what its clients hear.

use engine::sim::{Conditions, Network, Outcome, Party, Sim};
use engine::{Address, Completion, ConnectionError, ConnectionId, Engine, Node, Step};
use serde_json::Value;
use serve::game::{Front, GameServer, Options, Totals};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use units::{Instant, Nanos};
use wire::styx::Packet;

/// The server's process, a process for its clients, and one that never reads.
pub(crate) struct Stage {
    network: Network,
    pub(crate) client: Sim,
    pub(crate) sleeper: Sim,
    pub(crate) engine: Sim,
    server: GameServer,
    pub(crate) fronts: Vec<(Sim, Front)>,
    /// The totals of the fronts that were ended.
    ended: Totals,
    /// The number of places among which connections take turns.
    turns: usize,
    connections: usize,
    ears: Ears,
}

impl Stage {
    pub(crate) fn new(options: Options) -> Self {
        Self::with(options, Conditions::default())
    }

    /// The same with all connections over a front.
    fn behind_a_front(options: Options) -> Self {
        let own = [4123, 8080].map(|port| front(0, port));
        let mut stage = Self::listening_at(own, options.clone(), Conditions::default());
        stage.add_front([binary(), web()], options);
        stage
    }

    /// Checks a property of a server with and without a front.
    pub(crate) fn each_kind(check: impl Fn(fn(Options) -> Self)) {
        for new in [Self::new, Self::behind_a_front] {
            check(new);
        }
    }

    pub(crate) fn with(options: Options, conditions: Conditions) -> Self {
        Self::listening_at([binary(), web()], options, conditions)
    }

    fn listening_at(doors: [Address; 2], options: Options, conditions: Conditions) -> Self {
        let mut network = Network::new(5, conditions);
        let (client, sleeper) = (network.engine(), network.engine());
        let mut engine = network.engine();
        let world = Address::Unix("/world".into());
        for address in doors.into_iter().chain([world]) {
            assert_eq!(engine.listen(&address), Ok(address));
        }
        let server = GameServer::new(options, Arc::new(AtomicBool::new(false)));
        let (fronts, ended, ears) = (Vec::new(), Totals::default(), Ears::default());
        Self {
            network,
            client,
            sleeper,
            engine,
            server,
            fronts,
            ended,
            turns: 1,
            connections: 0,
            ears,
        }
    }

    /// The same with `count` fronts, which listen at addresses of their own: those of the web are consecutive, and so
    /// are the others.
    pub(crate) fn with_fronts(options: Options, conditions: Conditions, count: u8) -> Self {
        let mut stage = Self::with(options.clone(), conditions);
        stage.turns = 1 + usize::from(count);
        for number in 1..=count {
            stage.add_front([4123, 8080].map(|port| front(number, port)), options.clone());
        }
        stage
    }

    fn add_front(&mut self, doors: [Address; 2], options: Options) {
        let mut engine = self.network.engine();
        for address in doors {
            assert_eq!(engine.listen(&address), Ok(address));
        }
        let (world, stop) = (Address::Unix("/world".into()), Arc::new(AtomicBool::new(false)));
        self.fronts.push((engine, Front::new(options, world, stop)));
    }

    /// Ends a front, as the end of its thread does.
    pub(crate) fn end_front(&mut self, index: usize) {
        let (_, front) = self.fronts.remove(index);
        self.ended = self.ended.and(&front.totals());
    }

    /// Connects to `address` or to its counterpart at a front, in turn.
    pub(crate) fn connect_somewhere(&mut self, address: &Address) -> ConnectionId {
        let turn = self.connections % self.turns;
        self.connections += 1;
        match (turn, address) {
            (0, _) | (_, Address::Unix(_)) => self.connect(address),
            (turn, Address::Tcp(tcp)) => {
                let number = u8::try_from(turn).unwrap();
                self.connect(&front(number, tcp.port()))
            }
        }
    }

    pub(crate) fn connect(&mut self, address: &Address) -> ConnectionId {
        let id = self.client.connect(address, None);
        self.pass(ms(1));
        id
    }

    /// Says `bytes`, and gives the server time to answer.
    pub(crate) fn say(&mut self, id: ConnectionId, bytes: &[u8]) {
        self.client.send(id, bytes);
        self.pass(ms(1));
    }

    /// Lets `time` pass.
    pub(crate) fn pass(&mut self, time: Nanos) {
        let until = self.now() + time;
        let mut parties = vec![
            Party::background(&mut self.engine, &mut self.server),
            Party::background(&mut self.client, &mut self.ears),
        ];
        for (engine, front) in &mut self.fronts {
            parties.push(Party::background(engine, front));
        }
        assert_eq!(self.network.run(&mut parties, until), Outcome::TimeUp);
    }

    /// Takes what was heard on a connection.
    pub(crate) fn hear(&mut self, id: ConnectionId) -> Vec<u8> {
        self.ears.of(id).bytes.split_off(0)
    }

    /// The end of a connection, if it ended.
    pub(crate) fn end(&mut self, id: ConnectionId) -> Option<Result<(), ConnectionError>> {
        self.ears.of(id).end
    }

    pub(crate) fn now(&self) -> Instant {
        self.network.now()
    }

    pub(crate) fn totals(&self) -> Totals {
        let fronts = self.fronts.iter().map(|(_, front)| front.totals());
        fronts.fold(self.server.totals().and(&self.ended), |totals, front| totals.and(&front))
    }

    /// The server's own view of the totals.
    pub(crate) fn known_totals(&self) -> Totals {
        self.server.totals_with_fronts()
    }

    /// Sends a packet in a Styx frame.
    pub(crate) fn say_packet(&mut self, id: ConnectionId, packet: &Packet<'_>) {
        self.say(id, &framed(packet));
    }

    /// The packets heard in Styx frames, each as JSON.
    pub(crate) fn hear_packets(&mut self, id: ConnectionId) -> Vec<Value> {
        let bytes = self.hear(id);
        let mut rest = &bytes[..];
        let mut packets = Vec::new();
        while let Some(header) = rest.first_chunk::<4>() {
            let len = u32::from_be_bytes(*header) as usize;
            let mut json = Vec::new();
            Packet::decode(&rest[4..len]).unwrap().write_json(&mut json);
            packets.push(serde_json::from_slice(&json).unwrap());
            rest = &rest[len..];
        }
        packets
    }

    /// Posts a body to the Comet server over a connection.
    pub(crate) fn post(&mut self, id: ConnectionId, body: &str) {
        let len = body.len();
        let head = format!("POST /cometd HTTP/1.1\r\nHost: h\r\nContent-Length: {len}\r\n\r\n");
        self.say(id, format!("{head}{body}").as_bytes());
    }

    /// The bodies of all responses that were heard, which are JSON.
    pub(crate) fn hear_bodies(&mut self, id: ConnectionId) -> Vec<Value> {
        let text = String::from_utf8(self.hear(id)).unwrap();
        let mut rest = &text[..];
        let mut bodies = Vec::new();
        while let Some((head, after)) = rest.split_once("\r\n\r\n") {
            assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
            let len = head.split("Content-Length: ").nth(1).unwrap();
            let len: usize = len.split("\r\n").next().unwrap().parse().unwrap();
            bodies.push(serde_json::from_str(&after[..len]).unwrap());
            rest = &after[len..];
        }
        bodies
    }

    /// Posts `body`, and returns the one response.
    pub(crate) fn ask(&mut self, id: ConnectionId, body: &str) -> Value {
        self.post(id, body);
        let mut bodies = self.hear_bodies(id);
        assert_eq!(bodies.len(), 1, "{bodies:?}");
        bodies.remove(0)
    }
}

/// The input of each connection, at the index of its id.
#[derive(Default)]
struct Ears(Vec<Heard>);

#[derive(Clone, Default)]
struct Heard {
    bytes: Vec<u8>,
    end: Option<Result<(), ConnectionError>>,
}

impl Ears {
    fn of(&mut self, id: ConnectionId) -> &mut Heard {
        if self.0.len() <= id.index() {
            self.0.resize(id.index() + 1, Heard::default());
        }
        &mut self.0[id.index()]
    }
}

impl Node<Sim> for Ears {
    fn step(&mut self, engine: &mut Sim) -> Step {
        let mut rx = vec![0; 1 << 16];
        while let Some(completion) = engine.complete(&mut rx) {
            match completion {
                Completion::Received { connection, len } => {
                    self.of(connection).bytes.extend_from_slice(&rx[..len]);
                }
                Completion::Ended(id) => self.of(id).end = Some(Ok(())),
                Completion::Failed(id, error) => self.of(id).end = Some(Err(error)),
                Completion::Accepted(_) | Completion::Connected(_) => {}
            }
        }
        Step::Wait(Instant::NEVER)
    }
}

/// A packet in a Styx frame.
pub(crate) fn framed(packet: &Packet<'_>) -> Vec<u8> {
    let mut payload = Vec::new();
    packet.encode(&mut payload);
    frame_of(&payload)
}

/// A Styx frame.
pub(crate) fn frame_of(payload: &[u8]) -> Vec<u8> {
    let len = u32::try_from(4 + payload.len()).unwrap();
    [&len.to_be_bytes()[..], payload].concat()
}

/// The classes of packets, in order.
pub(crate) fn classes(packets: &[Value]) -> Vec<u64> {
    packets.iter().map(|packet| packet["classId"].as_u64().unwrap()).collect()
}

pub(crate) fn binary() -> Address {
    Address::Tcp(([10, 0, 0, 1], 4123).into())
}

pub(crate) fn web() -> Address {
    Address::Tcp(([10, 0, 0, 1], 8080).into())
}

/// The address of a front, counted from 1.
pub(crate) fn front(number: u8, port: u16) -> Address {
    Address::Tcp(([10, 0, 1, number], port).into())
}

pub(crate) fn ms(millis: u64) -> Nanos {
    Nanos::from_millis(millis)
}
