//! The other end: the embedded servers. Each answers every message with the same message.
//!
//! One [`Server`] is a node on an engine, like the generator's worker: the same engine, the same protocol machines in
//! the other role. All messages found in one read are answered with one write. Start reading at
//! [`Server::step`](engine::Node::step).
//!
//! Left out: processes and signals (crate `run` starts servers as child processes, the binary ends them).

use engine::{Completion, ConnectionId, Engine, Node, Step};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use units::{Instant, Nanos};
use wire::{Connection, Event, Input, Message, Protocol, framed, http1, raw, websocket};

/// What a server speaks, and within which limits.
#[derive(Clone, Debug)]
pub enum Speaks {
    /// Messages with a 32-bit length before them.
    Framed(framed::Limits),
    /// HTTP/1.1: the body of every request comes back as the body of its response.
    Http(http1::Limits),
    /// Bytes without framing: whatever arrives comes back.
    Raw,
    /// WebSocket.
    WebSocket(Arc<websocket::handshake::ServerOptions>, websocket::Limits),
}

/// What a server has done, from its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Connections accepted.
    pub connections: u64,
    /// Connections whose peer broke the protocol.
    pub broken: u64,
    /// Messages answered; without framing, reads.
    pub messages: u64,
    /// Bytes of the transport's stream that arrived.
    pub bytes_received: u64,
    /// Bytes of the transport's stream that were submitted.
    pub bytes_sent: u64,
}

/// A server on some engine.
#[derive(Debug)]
pub struct Server {
    speaks: Speaks,
    stop: Arc<AtomicBool>,
    /// At the index of their id.
    connections: Vec<Option<Peer>>,
    /// Connections that we ended and their peers did not; earliest first.
    lingering: VecDeque<Lingering>,
    totals: Totals,
    rx: Box<[u8]>,
    tx: Vec<u8>,
    /// The message that is being answered: its answer is written by the machine that may still hold it.
    message: Vec<u8>,
}

#[derive(Debug)]
struct Peer {
    id: ConnectionId,
    machine: Connection,
    /// We have ended it; what still arrives is dropped.
    over: bool,
}

/// A connection that is closed at an instant if its peer does not end it before, or has read meanwhile.
#[derive(Clone, Copy, Debug)]
struct Lingering {
    id: ConnectionId,
    until: Instant,
    unsent: usize,
}

impl Server {
    /// A server that runs until `stop` is set; it looks ten times a second.
    pub fn new(speaks: Speaks, stop: Arc<AtomicBool>) -> Self {
        Self {
            speaks,
            stop,
            connections: Vec::new(),
            lingering: VecDeque::new(),
            totals: Totals::default(),
            rx: vec![0; RX_LEN].into_boxed_slice(),
            tx: Vec::with_capacity(TX_LEN),
            message: Vec::new(),
        }
    }

    /// What it has done so far.
    pub fn totals(&self) -> Totals {
        self.totals
    }
}

impl<E: Engine> Node<E> for Server {
    fn step(&mut self, engine: &mut E) -> Step {
        while let Some(completion) = engine.complete(&mut self.rx) {
            match completion {
                Completion::Received { connection, len } => self.received(engine, connection, len),
                Completion::Accepted(id) => self.accepted(id),
                Completion::Ended(id) => self.ended(engine, id),
                Completion::Failed(id, _) => self.connections[id.index()] = None,
                Completion::Connected(id) => engine.close(id), // We connect nowhere.
            }
        }
        let now = engine.now();
        while let Some(late) = self.lingering.front().copied()
            && late.until <= now
        {
            self.lingering.pop_front();
            if engine.unsent(late.id) < late.unsent {
                self.linger(engine, late.id); // It is slow, but it reads.
            } else {
                self.close(engine, late.id);
            }
        }
        if self.stop.load(Ordering::Relaxed) { Step::Done } else { Step::Wait(now + STOP_POLL) }
    }
}

impl Server {
    fn accepted(&mut self, id: ConnectionId) {
        let machine = match &self.speaks {
            Speaks::Framed(limits) => framed::Framed::new(*limits).into(),
            Speaks::Http(limits) => http1::Http1::server(*limits).into(),
            Speaks::Raw => raw::Raw::server().into(),
            Speaks::WebSocket(options, limits) => {
                websocket::WebSocket::server_with(Arc::clone(options), *limits).into()
            }
        };
        if self.connections.len() <= id.index() {
            self.connections.resize_with(id.index() + 1, || None);
        }
        self.connections[id.index()] = Some(Peer { id, machine, over: false });
        self.totals.connections += 1;
    }

    /// Answers all messages in what arrived, with one write.
    fn received<E: Engine>(&mut self, engine: &mut E, id: ConnectionId, len: usize) {
        self.totals.bytes_received += len as u64;
        let Some(peer) = &mut self.connections[id.index()] else { return };
        if peer.over {
            return;
        }
        let mut input = Input::new(&mut self.rx[..len]);
        loop {
            match peer.machine.receive(&mut input, &mut self.tx) {
                Ok(None) => break,
                Ok(Some(Event::Message(message))) => {
                    let kind = message.kind;
                    self.message.clear();
                    self.message.extend_from_slice(message.payload);
                    let answer = Message { kind, payload: &self.message };
                    if peer.machine.send(answer, &mut self.tx).is_ok() {
                        self.totals.messages += 1;
                    }
                }
                Ok(Some(Event::Closed(_))) => {
                    peer.over = true;
                    break;
                }
                Ok(Some(Event::Open | Event::Ping(_) | Event::Pong(_) | Event::Refused { .. })) => {
                }
                Err(_) => {
                    self.totals.broken += 1;
                    peer.over = true;
                    break;
                }
            }
            if self.tx.len() >= TX_LEN {
                self.totals.bytes_sent += self.tx.len() as u64;
                engine.send(id, &self.tx);
                self.tx.clear();
            }
        }
        self.totals.bytes_sent += self.tx.len() as u64;
        let over = peer.over;
        if !self.tx.is_empty() {
            engine.send(id, &self.tx);
            self.tx.clear();
        }
        self.tx.shrink_to(TX_LEN);
        self.message.shrink_to(TX_LEN);
        if over {
            self.linger(engine, id);
        }
    }

    /// The peer will send no more: close once everything is written.
    fn ended<E: Engine>(&mut self, engine: &mut E, id: ConnectionId) {
        if engine.unsent(id) == 0 {
            self.close(engine, id);
        } else {
            self.linger(engine, id);
        }
    }

    /// Ends our side. Closing at once, with bytes of the peer unread, would make the kernel cut the connection before
    /// the peer has read our last words.
    fn linger<E: Engine>(&mut self, engine: &mut E, id: ConnectionId) {
        engine.shutdown(id);
        let (until, unsent) = (engine.now() + LINGER, engine.unsent(id));
        self.lingering.push_back(Lingering { id, until, unsent });
    }

    fn close<E: Engine>(&mut self, engine: &mut E, id: ConnectionId) {
        if let Some(slot) = self.connections.get_mut(id.index())
            && slot.as_ref().is_some_and(|peer| peer.id == id)
        {
            *slot = None;
            engine.close(id);
        }
    }
}

/// How much is read at once.
const RX_LEN: usize = 64 * 1024;

/// How many bytes of answers are gathered before they are written, and how much of a buffer is kept for later.
const TX_LEN: usize = 256 * 1024;

/// How long a connection that we ended may take to be ended by its peer, or to read more of what is unsent.
const LINGER: Nanos = Nanos::from_secs(5);

/// How often the wish to stop is looked at.
const STOP_POLL: Nanos = Nanos::from_millis(100);
