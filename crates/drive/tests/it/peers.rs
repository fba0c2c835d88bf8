//! The other ends: the embedded server under observation, and servers that do what a test says.

use crate::world::{PAYLOAD_LEN, Speech};
use engine::sim::Sim;
use engine::{Accepting, Address, Completion, ConnectionError, ConnectionId, Engine, Node, Step};
use serve::{Behaviour, Oracle, Server, Totals};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use units::{Instant, Nanos};
use wire::{Connection, Event, Input, Message, Protocol, ServerOptions};

/// The embedded server, and what it saw of its connections.
pub(crate) struct Watched {
    server: Server,
    census: Census,
}

/// The connections that a server saw: their number, and the instants at which they arrived.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Census {
    open: BTreeMap<ConnectionId, u64>,
    /// The most at the same time.
    pub(crate) open_max: usize,
    pub(crate) accepted: Vec<Instant>,
    /// Their ids, in the same order.
    pub(crate) ids: Vec<ConnectionId>,
    /// The number of bytes received on each, in the order in which they ended.
    pub(crate) bytes: Vec<u64>,
}

impl Watched {
    pub(crate) fn new(speech: Speech) -> Self {
        Self::of(Server::new(speech.server(None), Arc::default()))
    }

    pub(crate) fn of(server: Server) -> Self {
        Self { server, census: Census::default() }
    }

    pub(crate) fn totals(&self) -> Totals {
        self.server.totals()
    }

    /// The census so far; connections that are open count as ended now.
    pub(crate) fn census(mut self) -> Census {
        self.census.bytes.extend(std::mem::take(&mut self.census.open).into_values());
        self.census
    }
}

impl Node<Sim> for Watched {
    fn step(&mut self, engine: &mut Sim) -> Step {
        self.server.step(&mut Watching { engine, census: &mut self.census })
    }
}

impl Census {
    /// An engine that writes down what its process sees.
    pub(crate) fn watch<'a>(&'a mut self, engine: &'a mut Sim) -> Watching<'a> {
        Watching { engine, census: self }
    }
}

/// An engine that takes notes.
pub(crate) struct Watching<'a> {
    engine: &'a mut Sim,
    census: &'a mut Census,
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
        let completion = self.engine.complete(rx)?;
        match completion {
            Completion::Accepted(id) => {
                self.census.open.insert(id, 0);
                self.census.open_max = self.census.open_max.max(self.census.open.len());
                self.census.accepted.push(self.engine.now());
                self.census.ids.push(id);
            }
            Completion::Received { connection, len } => {
                *self.census.open.entry(connection).or_default() += len as u64;
            }
            Completion::Ended(id) | Completion::Failed(id, _) => {
                self.census.bytes.extend(self.census.open.remove(&id));
            }
            Completion::Connected(_) => {}
        }
        Some(completion)
    }
}

impl Accepting for Watching<'_> {
    fn listener(&self, connection: ConnectionId) -> usize {
        self.engine.listener(connection)
    }

    fn hold_back(&mut self, on: bool) {
        self.engine.hold_back(on);
    }
}

/// An oracle for messages of `len` bytes.
pub(crate) fn oracle(speech: Speech, behaviour: Behaviour, len: usize) -> Oracle {
    let takes_requests = behaviour.stream.is_some();
    let message_len = NonZeroUsize::new(len);
    let options = ServerOptions { message_len, takes_requests, ..ServerOptions::default() };
    Oracle::new(speech.server_with(options), behaviour, Arc::default()).unwrap()
}

/// An echo without framing that notes each message: the instant at which it arrived, the number of its connection in
/// order of arrival, and its bytes.
#[derive(Default)]
pub(crate) struct Noting {
    numbers: BTreeMap<ConnectionId, usize>,
    pub(crate) came: Vec<(Instant, usize, [u8; PAYLOAD_LEN])>,
}

impl Node<Sim> for Noting {
    fn step(&mut self, engine: &mut Sim) -> Step {
        let Self { numbers, came } = self;
        let mut on = Scripted(|engine: &mut Sim, id, heard: Heard<'_>| match heard {
            Heard::Accepted => {
                numbers.insert(id, numbers.len());
            }
            Heard::Bytes(bytes) => {
                for message in bytes.chunks(PAYLOAD_LEN) {
                    came.push((engine.now(), numbers[&id], message.try_into().unwrap()));
                }
                engine.send(id, bytes);
            }
        });
        on.step(engine)
    }
}

/// A server without a protocol: the closure hears of everything and does what it likes.
pub(crate) struct Scripted<F>(pub(crate) F);

/// An event on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard<'a> {
    Accepted,
    Bytes(&'a [u8]),
}

impl<F: FnMut(&mut Sim, ConnectionId, Heard<'_>)> Node<Sim> for Scripted<F> {
    fn step(&mut self, engine: &mut Sim) -> Step {
        let mut rx = [0; 4096];
        while let Some(completion) = engine.complete(&mut rx) {
            match completion {
                Completion::Accepted(id) => self.0(engine, id, Heard::Accepted),
                Completion::Received { connection, len } => {
                    self.0(engine, connection, Heard::Bytes(&rx[..len]));
                }
                Completion::Ended(id) => engine.close(id),
                Completion::Connected(_) | Completion::Failed(..) => {}
            }
        }
        Step::Wait(Instant::NEVER)
    }
}

/// A server that speaks its protocol except for the answers: `answer` gets the number of the message (from 0, over all
/// connections) and the right answer as bytes of the stream, and returns what is sent.
pub(crate) struct Answering<F> {
    speech: Speech,
    machines: BTreeMap<ConnectionId, Connection>,
    number: u64,
    answer: F,
    /// True if a close is not answered.
    pub(crate) is_mute: bool,
    pub(crate) bytes_received: u64,
}

/// The server's action after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    GoOn,
    /// The server ends its side.
    End,
}

impl<F> Answering<F> {
    pub(crate) fn new(speech: Speech, answer: F) -> Self {
        Self {
            speech,
            machines: BTreeMap::new(),
            number: 0,
            answer,
            is_mute: false,
            bytes_received: 0,
        }
    }
}

impl<F: FnMut(u64, Vec<u8>) -> (Vec<u8>, Then)> Node<Sim> for Answering<F> {
    fn step(&mut self, engine: &mut Sim) -> Step {
        let mut rx = [0; 4096];
        while let Some(completion) = engine.complete(&mut rx) {
            match completion {
                Completion::Accepted(id) => {
                    self.machines.insert(id, server(self.speech));
                }
                Completion::Received { connection, len } => {
                    self.received(engine, connection, &mut rx[..len]);
                }
                Completion::Ended(id) => engine.close(id),
                Completion::Connected(_) | Completion::Failed(..) => {}
            }
        }
        Step::Wait(Instant::NEVER)
    }
}

impl<F: FnMut(u64, Vec<u8>) -> (Vec<u8>, Then)> Answering<F> {
    fn received(&mut self, engine: &mut Sim, id: ConnectionId, bytes: &mut [u8]) {
        self.bytes_received += bytes.len() as u64;
        let machine = self.machines.get_mut(&id).unwrap();
        let (mut input, mut tx) = (Input::new(bytes), Vec::new());
        loop {
            match machine.receive(&mut input, &mut tx) {
                Ok(Some(Event::Message(Message { kind, payload }))) => {
                    let payload = payload.to_vec();
                    machine.send(Message { kind, payload: &payload }, &mut tx).unwrap();
                    let (bytes, then) = (self.answer)(self.number, std::mem::take(&mut tx));
                    self.number += 1;
                    engine.send(id, &bytes);
                    if then == Then::End {
                        engine.shutdown(id);
                    }
                }
                Ok(Some(Event::Closed(_))) if self.is_mute => return,
                Ok(Some(Event::Open | Event::Closed(_))) => {
                    engine.send(id, &std::mem::take(&mut tx))
                }
                Ok(Some(
                    Event::Ping(_)
                    | Event::Pong(_)
                    | Event::Answer(_)
                    | Event::Part(_)
                    | Event::Pushed(_)
                    | Event::Redirected
                    | Event::Refused { .. }
                    | Event::Response(_)
                    | Event::Secured(_),
                )) => {}
                Ok(None) | Err(_) => return,
            }
        }
    }
}

fn server(speech: Speech) -> Connection {
    speech.server(None).connection(0, 0)
}

/// A process that does something once, at an instant.
pub(crate) struct Once<F> {
    pub(crate) at: Instant,
    pub(crate) deed: F,
}

impl<F: FnMut()> Node<Sim> for Once<F> {
    fn step(&mut self, engine: &mut Sim) -> Step {
        if engine.now() < self.at {
            return Step::Wait(self.at);
        }
        (self.deed)();
        Step::Done
    }
}
