//! The other end: the embedded servers. Each answers every message with the same message, or with a fixed one.
//!
//! A [`Server`] is a node on an engine, like the generator's worker: the same engine, and the same protocol machines in
//! the other role. It answers all messages found in one read with one write. An [`Oracle`] is a server with known
//! delays and faults, against which a generator's measurements can be checked. A [`Relay`] sends what one connection
//! publishes to others. Each serves the [`Stack`] that it is given; [`certificates`] makes what a stack inside TLS
//! needs. Start reading at [`Server::step`](engine::Node::step).
//!
//! Left out: processes and signals (crate `run` starts servers as child processes, the binary ends them).

mod behaviour;
pub mod certificates;
pub mod game;
mod on_sockets;
mod oracle;
mod peers;
pub mod relay;

pub use behaviour::{Behaviour, BehaviourError, Delay, EventStream, MisfitError, Speech, Stall};
pub use oracle::Oracle;
pub use peers::{Handshakes, Patience};
pub use relay::Relay;

use engine::{Completion, ConnectionId, Engine, Node, Step};
use peers::{Heard, Peers, RX_LEN, STOP_POLL, TX_LEN, flush, hear};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use units::Nanos;
use wire::{Input, Message, Protocol, Stack};

/// The totals of a server since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Connections accepted.
    pub connections: u64,
    /// Connections whose peer broke the protocol, or took up too much memory.
    pub broken: u64,
    /// Connections that were closed because their peers took longer than the server's [`Patience`].
    pub timed_out: u64,
    /// Messages answered; without framing, reads.
    pub messages: u64,
    /// Bytes of the transport's stream that arrived.
    pub bytes_received: u64,
    /// Bytes of the transport's stream that were submitted.
    pub bytes_sent: u64,
    /// TLS handshakes.
    pub handshakes: Handshakes,
    /// The faults that an [`Oracle`] made on purpose.
    pub faults: Faults,
}

/// The faults that an [`Oracle`] made on purpose, each counted when it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Messages that were not answered, and will not be.
    pub dropped: u64,
    /// Replies that were sent a second time.
    pub duplicated: u64,
    /// Replies that left after the reply to a later message.
    pub reordered: u64,
    /// Requests that were answered with an error, on purpose or because there is no such method.
    pub refused: u64,
    /// Notifications that followed replies.
    pub pushed: u64,
    /// Requests that the server itself made.
    pub asked: u64,
    /// Replies with a wrong bit.
    pub corrupted: u64,
    /// Connections that were ended after their replies.
    pub closed: u64,
    /// Streams that were broken off together with their connections.
    pub broken_off: u64,
    /// Bytes that replies leaked.
    pub leaked_bytes: u64,
}

/// A server on some engine.
#[derive(Debug)]
pub struct Server {
    stack: Stack,
    peers: Peers<()>,
    stop: Arc<AtomicBool>,
    totals: Totals,
    rx: Box<[u8]>,
    tx: Vec<u8>,
    /// A copy of the message that is being answered, since the machine that holds it also writes the answer.
    message: Vec<u8>,
    /// The answer to every message; `None` for an echo.
    reply: Option<Box<[u8]>>,
    /// The time that it keeps the processor busy for each message.
    work: Nanos,
}

impl Server {
    /// A server of `stack` that runs until `stop` is set, which it checks ten times a second.
    pub fn new(stack: Stack, stop: Arc<AtomicBool>) -> Self {
        Self {
            stack,
            peers: Peers::new(Patience::default()),
            stop,
            totals: Totals::default(),
            rx: vec![0; RX_LEN].into_boxed_slice(),
            tx: Vec::with_capacity(TX_LEN),
            message: Vec::new(),
            reply: None,
            work: Nanos::ZERO,
        }
    }

    /// Answers every message with `reply`, as a message of the same kind. Without framing that is one reply for each
    /// [`wire::ServerOptions::message_len`].
    #[must_use]
    pub fn replying(self, reply: impl Into<Box<[u8]>>) -> Self {
        Self { reply: Some(reply.into()), ..self }
    }

    /// Keeps the processor busy for `work` before each answer to a message; without framing, to what one read brought.
    #[must_use]
    pub fn working(self, work: Nanos) -> Self {
        Self { work, ..self }
    }

    /// Ends connections with large incomplete messages, or large answers that their peers do not read, while all
    /// connections together hold more than `bytes` bytes.
    #[must_use]
    pub fn with_memory_max(mut self, bytes: usize) -> Self {
        self.peers.set_memory_max(bytes);
        self
    }

    /// Closes peers that take longer than `patience`.
    #[must_use]
    pub fn patient(mut self, patience: Patience) -> Self {
        self.peers.set_patience(patience);
        self
    }

    /// The totals so far.
    pub fn totals(&self) -> Totals {
        let (handshakes, timed_out) = (self.peers.handshakes(), self.peers.timed_out());
        Totals { handshakes, timed_out, ..self.totals }
    }
}

impl<E: Engine> Node<E> for Server {
    fn step(&mut self, engine: &mut E) -> Step {
        while let Some(completion) = engine.complete(&mut self.rx) {
            match completion {
                Completion::Received { connection, len } => self.received(engine, connection, len),
                Completion::Accepted(id) => {
                    self.peers.accept(id, &self.stack, engine.now());
                    self.totals.connections += 1;
                }
                Completion::Ended(id) => self.peers.ended(engine, id),
                Completion::Failed(id, _) => self.peers.forget(id),
                Completion::Connected(id) => engine.close(id), // A server never connects.
            }
        }
        let now = engine.now();
        self.peers.close_late(engine, now);
        if self.stop.load(Ordering::Relaxed) { Step::Done } else { Step::Wait(now + STOP_POLL) }
    }
}

impl Server {
    /// Answers all messages in the bytes that arrived, with one write.
    fn received<E: Engine>(&mut self, engine: &mut E, id: ConnectionId, len: usize) {
        self.totals.bytes_received += len as u64;
        let Some(peer) = self.peers.find(id) else { return };
        if peer.over {
            return;
        }
        let mut input = Input::new(&mut self.rx[..len]);
        let (mut secured, mut is_progress) = (None, false);
        peer.held = peer.held.saturating_add(len);
        loop {
            match hear(&mut peer.machine, &mut peer.held, &mut input, &mut self.tx) {
                None => break,
                Some(Heard::Message(message)) => {
                    is_progress = true;
                    let kind = message.kind;
                    let payload = if let Some(reply) = &self.reply {
                        reply
                    } else {
                        self.message.clear();
                        self.message.extend_from_slice(message.payload);
                        &self.message[..]
                    };
                    let answer = Message { kind, payload };
                    engine.compute(self.work);
                    if peer.machine.send(answer, &mut self.tx).is_ok() {
                        self.totals.messages += 1;
                    }
                }
                Some(Heard::Closed) => {
                    peer.over = true;
                    break;
                }
                Some(Heard::Secured { is_resumed }) => secured = Some(is_resumed),
                Some(Heard::Open) => is_progress = true,
                Some(Heard::Nothing) => {}
                Some(Heard::Broken) => {
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
        let over = peer.over;
        flush(engine, id, &mut self.tx, &mut self.totals.bytes_sent);
        self.message.shrink_to(TX_LEN);
        if let Some(is_resumed) = secured {
            self.peers.secured(id, is_resumed);
        }
        self.peers.was_read(id, engine.now(), is_progress);
        if over {
            self.peers.linger(engine, id);
        } else if self.peers.holds_too_much(engine, id, 0) {
            self.totals.broken += 1;
            self.peers.close(engine, id);
        }
    }
}
