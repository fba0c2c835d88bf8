//! A server, a client that follows a script, and the network between them.

use engine::sim::{Conditions, Network, Outcome, Party, Sim};
use engine::{Address, Completion, ConnectionError, ConnectionId, Engine, Node, Step};
use serve::{Behaviour, Oracle, Patience, Server, Totals};
use spec::{Endpoint, Protocol};
use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use units::{Instant, Nanos};
use wire::{ClientOptions, Connection, Role, ServerOptions, Stack, tls};

/// The server's process and the client's.
pub(crate) struct World {
    pub(crate) network: Network,
    pub(crate) client: Sim,
    pub(crate) server: Sim,
    pub(crate) serving: Watched,
    pub(crate) stop: Arc<AtomicBool>,
}

impl World {
    pub(crate) fn new(speaks: Speaks, conditions: Conditions) -> Self {
        Self::of(conditions, |stop| Serving::Echo(Server::new(speaks.stack(None), stop).into()))
    }

    /// A world whose server has `bytes` of memory for incomplete messages.
    pub(crate) fn with_memory(speaks: Speaks, bytes: usize) -> Self {
        Self::of(calm(), |stop| {
            let server = Server::new(speaks.stack(None), stop).with_memory_max(bytes);
            Serving::Echo(server.into())
        })
    }

    /// The same with an oracle that delays nothing.
    pub(crate) fn oracle_with_memory(speaks: Speaks, bytes: usize) -> Self {
        Self::of(calm(), |stop| {
            let oracle = Oracle::new(speaks.stack(None), Behaviour::default(), stop).unwrap();
            Serving::Oracle(oracle.with_memory_max(bytes).into())
        })
    }

    pub(crate) fn secure(speaks: Speaks, tls: tls::Server, conditions: Conditions) -> Self {
        Self::of(conditions, |stop| {
            Serving::Echo(Server::new(speaks.stack(Some(tls)), stop).into())
        })
    }

    pub(crate) fn patient(speaks: Speaks, patience: Patience, conditions: Conditions) -> Self {
        Self::of(conditions, |stop| {
            Serving::Echo(Server::new(speaks.stack(None), stop).patient(patience).into())
        })
    }

    pub(crate) fn oracle(speaks: Speaks, behaviour: Behaviour) -> Self {
        Self::oracle_with(speaks, None, behaviour)
    }

    pub(crate) fn oracle_with(
        speaks: Speaks,
        tls: Option<tls::Server>,
        behaviour: Behaviour,
    ) -> Self {
        Self::of(calm(), |stop| {
            Serving::Oracle(Oracle::new(speaks.stack(tls), behaviour, stop).unwrap().into())
        })
    }

    /// A world with an echo server that works for `work` on each message.
    pub(crate) fn working(speaks: Speaks, work: Nanos) -> Self {
        Self::of(calm(), |stop| {
            Serving::Echo(Server::new(speaks.stack(None), stop).working(work).into())
        })
    }

    fn of(conditions: Conditions, serving: impl FnOnce(Arc<AtomicBool>) -> Serving) -> Self {
        let mut network = Network::new(7, conditions);
        let (client, mut server) = (network.engine(), network.engine());
        assert_eq!(server.listen(&address()), Ok(address()));
        let stop = Arc::new(AtomicBool::new(false));
        let serving = Watched { server: serving(Arc::clone(&stop)), steps: 0, closed: Vec::new() };
        Self { network, client, server, serving, stop }
    }

    /// Lets a client say `lines`, one after the other on one connection, and returns all that it hears.
    pub(crate) fn talk(&mut self, lines: &[&[u8]]) -> Heard {
        let mut client = Talking::new(lines);
        let until = Instant(self.network.now().0 + TALK_MAX.0);
        let outcome = self.run(&mut client, until);
        assert_eq!(outcome, Outcome::Done, "the server does not end: {:?}", client.heard);
        client.heard
    }

    pub(crate) fn run(&mut self, client: &mut dyn Node<Sim>, until: Instant) -> Outcome {
        let mut parties = [
            Party::awaited(&mut self.client, client),
            Party::background(&mut self.server, &mut self.serving),
        ];
        self.network.run(&mut parties, until)
    }

    /// Lets the server run alone until `until`.
    pub(crate) fn run_alone(&mut self, until: Instant) {
        let mut parties = [Party::awaited(&mut self.server, &mut self.serving)];
        assert_eq!(self.network.run(&mut parties, until), Outcome::TimeUp);
    }

    pub(crate) fn totals(&self) -> Totals {
        match &self.serving.server {
            Serving::Echo(server) => server.totals(),
            Serving::Oracle(server) => server.totals(),
        }
    }

    pub(crate) fn ask_to_stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// The messages that a client received, and the end of its connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Heard {
    pub(crate) bytes: Vec<u8>,
    pub(crate) end: Option<Result<(), ConnectionError>>,
}

impl Heard {
    /// Returns everything that was heard, and checks that the end was proper.
    #[track_caller]
    pub(crate) fn properly_ended(self) -> Vec<u8> {
        assert_eq!(self.end, Some(Ok(())), "{:?}", self.bytes.escape_ascii().to_string());
        self.bytes
    }

    #[track_caller]
    pub(crate) fn text(self) -> String {
        String::from_utf8(self.properly_ended()).unwrap()
    }
}

/// A client that says its next line whenever it hears something, ends its side after the last one if asked to, and
/// listens until the server ends.
pub(crate) struct Talking<'a> {
    lines: Vec<&'a [u8]>,
    connection: Option<ConnectionId>,
    pub(crate) heard: Heard,
    /// True if it ends its side after the last line.
    pub(crate) ends: bool,
    /// True if it goes on listening, without closing, when the server has ended.
    pub(crate) stays: bool,
    pub(crate) heard_end_at: Option<Instant>,
}

impl<'a> Talking<'a> {
    pub(crate) fn new(lines: &[&'a [u8]]) -> Self {
        let mut lines = lines.to_vec();
        lines.reverse();
        Self {
            lines,
            connection: None,
            heard: Heard::default(),
            ends: false,
            stays: false,
            heard_end_at: None,
        }
    }

    fn say(&mut self, engine: &mut Sim, id: ConnectionId) {
        if let Some(line) = self.lines.pop() {
            engine.send(id, line);
            if self.ends && self.lines.is_empty() {
                engine.shutdown(id);
            }
        }
    }
}

impl Node<Sim> for Talking<'_> {
    fn step(&mut self, engine: &mut Sim) -> Step {
        if self.connection.is_none() {
            let id = engine.connect(&address(), None);
            self.connection = Some(id);
            self.say(engine, id);
        }
        let mut rx = vec![0; 1 << 16];
        while let Some(completion) = engine.complete(&mut rx) {
            match completion {
                Completion::Received { connection, len } => {
                    self.heard.bytes.extend_from_slice(&rx[..len]);
                    self.say(engine, connection);
                }
                Completion::Ended(id) => {
                    self.heard.end = Some(Ok(()));
                    self.heard_end_at = Some(engine.now());
                    if !self.stays {
                        engine.close(id);
                    }
                }
                Completion::Failed(_, error) => self.heard.end = Some(Err(error)),
                Completion::Accepted(_) | Completion::Connected(_) => {}
            }
        }
        if self.heard.end.is_some() && !self.stays {
            Step::Done
        } else {
            Step::Wait(Instant::NEVER)
        }
    }
}

/// The server, how often it was stepped, and when it closed its connections.
pub(crate) struct Watched {
    server: Serving,
    /// The number of its steps.
    pub(crate) steps: u64,
    pub(crate) closed: Vec<Instant>,
}

impl Node<Sim> for Watched {
    fn step(&mut self, engine: &mut Sim) -> Step {
        self.steps += 1;
        let mut watching = Watching { engine, closed: &mut self.closed };
        match &mut self.server {
            Serving::Echo(server) => server.step(&mut watching),
            Serving::Oracle(server) => server.step(&mut watching),
        }
    }
}

/// Either server.
enum Serving {
    Echo(Box<Server>),
    Oracle(Box<Oracle>),
}

struct Watching<'a> {
    engine: &'a mut Sim,
    closed: &'a mut Vec<Instant>,
}

impl Engine for Watching<'_> {
    fn now(&self) -> Instant {
        self.engine.now()
    }

    fn listen(&mut self, address: &Address) -> Result<Address, ConnectionError> {
        self.engine.listen(address)
    }

    fn connect(&mut self, address: &Address, from: Option<IpAddr>) -> ConnectionId {
        self.engine.connect(address, from)
    }

    fn send(&mut self, connection: ConnectionId, bytes: &[u8]) {
        self.engine.send(connection, bytes);
    }

    fn unsent(&self, connection: ConnectionId) -> usize {
        self.engine.unsent(connection)
    }

    fn kept(&self) -> usize {
        self.engine.kept()
    }

    fn pause(&mut self, connection: ConnectionId, on: bool) {
        self.engine.pause(connection, on);
    }

    fn shutdown(&mut self, connection: ConnectionId) {
        self.engine.shutdown(connection);
    }

    fn close(&mut self, connection: ConnectionId) {
        self.closed.push(self.engine.now());
        self.engine.close(connection);
    }

    fn wait(&mut self, until: Instant) {
        self.engine.wait(until);
    }

    fn stand_still(&mut self, until: Instant) {
        self.engine.stand_still(until);
    }

    fn compute(&mut self, time: Nanos) {
        self.engine.compute(time);
    }

    fn complete(&mut self, rx: &mut [u8]) -> Option<Completion> {
        self.engine.complete(rx)
    }
}

/// A protocol and what its server accepts.
#[derive(Clone, Debug)]
pub(crate) struct Speaks {
    pub(crate) url: &'static str,
    pub(crate) options: ServerOptions,
}

impl Speaks {
    fn of(url: &'static str) -> Self {
        Self { url, options: ServerOptions::default() }
    }

    pub(crate) fn endpoint(&self) -> Endpoint {
        self.url.parse().unwrap()
    }

    pub(crate) fn protocol(&self) -> Protocol {
        self.endpoint().protocol
    }

    /// The server's end, inside TLS if `tls` is given.
    pub(crate) fn stack(self, tls: Option<tls::Server>) -> Stack {
        let endpoint = Endpoint { tls: tls.is_some(), ..self.endpoint() };
        wire::stack(&endpoint, Role::Server(&ServerOptions { tls, ..self.options })).unwrap()
    }

    /// The client's end of a connection, for replies of `reply_len` bytes.
    pub(crate) fn client(&self, reply_len: usize) -> Connection {
        let options = ClientOptions { reply_len, ..ClientOptions::default() };
        wire::stack(&self.endpoint(), Role::Client(&options)).unwrap().connection(7, 0)
    }
}

pub(crate) fn framed() -> Speaks {
    Speaks::of("tcp-framed://localhost:9")
}

pub(crate) fn raw() -> Speaks {
    Speaks::of("tcp://localhost:9")
}

pub(crate) fn raw_messages(len: usize) -> Speaks {
    let mut speaks = raw();
    speaks.options.message_len = NonZeroUsize::new(len);
    speaks
}

pub(crate) fn http() -> Speaks {
    Speaks::of("http://localhost")
}

pub(crate) fn lines() -> Speaks {
    Speaks::of("lines://localhost:9")
}

pub(crate) fn styx() -> Speaks {
    Speaks::of("styx://localhost:9")
}

pub(crate) fn websocket() -> Speaks {
    Speaks::of("ws://localhost")
}

/// A frame masked with the key 0, which leaves its payload as it is; `first` is its first byte.
pub(crate) fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![first];
    match payload.len() {
        len @ ..126 => frame.push(0x80 | u8::try_from(len).unwrap()),
        len @ 126..65_536 => {
            frame.push(0x80 | 126);
            frame.extend_from_slice(&u16::try_from(len).unwrap().to_be_bytes());
        }
        len => {
            frame.push(0x80 | 127);
            frame.extend_from_slice(&(len as u64).to_be_bytes());
        }
    }
    frame.extend_from_slice(&[0; 4]);
    frame.extend_from_slice(payload);
    frame
}

/// The opening handshake of RFC 6455 §1.3, and the answer to it.
pub(crate) const HANDSHAKE: &[u8] = b"GET /chat HTTP/1.1\r\nHost: server.example.com\r\nUpgrade: websocket\r\n\
    Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
pub(crate) const SWITCHED: &[u8] =
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
    Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";

/// Conditions in which everything takes a millisecond.
pub(crate) fn calm() -> Conditions {
    Conditions { delay: ms(1), ..Conditions::default() }
}

pub(crate) fn address() -> Address {
    Address::Tcp(([10, 0, 0, 1], 80).into())
}

pub(crate) fn ms(millis: u64) -> Nanos {
    Nanos::from_millis(millis)
}

/// The longest that a conversation takes.
const TALK_MAX: Nanos = Nanos::from_secs(60);
