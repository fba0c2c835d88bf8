//! The node: bytes become packets, packets go to the world, and the world's mail becomes bytes.
//!
//! The path of an event: one read, one decode, one call of the world, which adds mail for everybody at the table. When
//! everything that has arrived (or [`BATCH_LEN`] reads) is processed, the mail goes out with one write for each
//! receiver.

use super::comet::Clients;
use super::doors::Machines;
use super::fronts::Fronts;
use super::mail::Mail;
use super::options::{Options, Packing as Spoken};
use super::outgoing::Outgoing;
use super::sessions::{Link, Packing, Place, Route, Sessions};
use super::totals::Totals;
use super::world::{SessionId, World};
use crate::peers::{Heard, Patience, Peers, RX_LEN, STOP_POLL, TX_LEN, hear};
use engine::{Accepting, Completion, ConnectionId, Engine, Node, Step};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use units::{Instant, Nanos};
use wire::styx::{Packet, json_packets};
use wire::{Input, Kind, Message};

/// A game server on some engine.
///
/// The engine must listen on the addresses of [`Options::doors`], in their order; and, to let in
/// [`Front`](super::Front)s, on one more address that only they can reach.
#[derive(Debug)]
pub struct GameServer {
    pub(super) options: Options,
    machines: Machines,
    stop: Arc<AtomicBool>,
    /// The instant at which the node is done even without a request to stop.
    pause_at: Instant,
    pub(super) world: World,
    pub(super) peers: Peers<Link>,
    pub(super) sessions: Sessions,
    pub(super) clients: Clients,
    pub(super) fronts: Fronts,
    pub(super) mail: Mail,
    pub(super) totals: Totals,
    /// The next instant at which to look for silent connections and lost clients.
    sweep_at: Instant,
    /// Sessions whose connection broke while mail was written; the world is told afterwards.
    pub(super) lost: Vec<SessionId>,
    pub(super) rx: Box<[u8]>,
    pub(super) tx: Vec<u8>,
    /// The request of a Comet client; a copy, because the machine that holds the request also answers it.
    pub(super) body: Vec<u8>,
    /// The answer to it.
    pub(super) answer: Vec<u8>,
}

impl GameServer {
    /// A server that runs until `stop` is set, which it checks ten times a second.
    pub fn new(options: Options, stop: Arc<AtomicBool>) -> Self {
        Self {
            machines: Machines::new(options.message_max),
            stop,
            pause_at: Instant::NEVER,
            world: World::new(options.world),
            peers: Peers::new(Patience::HANDSHAKES),
            sessions: Sessions::default(),
            clients: Clients::new(options.seed),
            fronts: Fronts::default(),
            mail: Mail::default(),
            totals: Totals::default(),
            sweep_at: Instant::START,
            lost: Vec::new(),
            rx: vec![0; RX_LEN].into_boxed_slice(),
            tx: Vec::with_capacity(TX_LEN),
            body: Vec::new(),
            answer: Vec::new(),
            options,
        }
    }

    /// Ends connections with large incomplete messages, or much that their players do not read, while all connections
    /// together hold more than `bytes` bytes.
    #[must_use]
    pub fn with_memory_max(mut self, bytes: usize) -> Self {
        self.peers.set_memory_max(bytes);
        self
    }

    /// Makes the node pause at an instant; run it again to go on.
    pub fn pause_at(&mut self, at: Instant) {
        self.pause_at = at;
    }

    /// The totals of this thread; of its fronts, only what their players made the world do.
    pub fn totals(&self) -> Totals {
        let (handshakes, world) = (self.peers.handshakes(), self.world.counters());
        Totals { handshakes, world, ..self.totals }
    }
}

impl<E: Accepting> Node<E> for GameServer {
    fn step(&mut self, engine: &mut E) -> Step {
        let mut reads = 0_u32;
        while let Some(completion) = engine.complete(&mut self.rx) {
            match completion {
                Completion::Received { connection, len } => {
                    match self.fronts.find(connection) {
                        None => self.received(engine, connection, len),
                        Some(front) => self.front_said(engine, front, len),
                    }
                    reads += 1;
                    if reads.is_multiple_of(BATCH_LEN) {
                        self.post(engine);
                    }
                }
                Completion::Accepted(id) => self.accept(engine, id),
                Completion::Ended(id) => {
                    let now = engine.now();
                    match self.fronts.find(id) {
                        None => {
                            self.let_go(id, now);
                            self.peers.ended(engine, id);
                        }
                        Some(front) => self.front_left(engine, front, now),
                    }
                }
                Completion::Failed(id, _) => {
                    let now = engine.now();
                    match self.fronts.find(id) {
                        None => {
                            self.let_go(id, now);
                            self.peers.forget(id);
                        }
                        Some(front) => self.front_left(engine, front, now),
                    }
                }
                Completion::Connected(id) => engine.close(id), // A server never connects.
            }
        }
        let now = engine.now();
        if now >= self.world.next_deadline() {
            self.world
                .tick(now, &mut Outgoing { mail: &mut self.mail, sessions: &mut self.sessions });
        }
        if now >= self.sweep_at {
            self.sweep(engine, now);
            self.sweep_at = now + SWEEP_EVERY;
        }
        self.post(engine);
        self.peers.close_late(engine, now);
        if self.stop.load(Ordering::Relaxed) || now >= self.pause_at {
            return Step::Done;
        }
        let next = self.world.next_deadline().min(self.sweep_at).min(self.pause_at);
        Step::Wait(next.min(now + STOP_POLL))
    }
}

/// Connections.
impl GameServer {
    fn accept<E: Accepting>(&mut self, engine: &E, id: ConnectionId) {
        let now = engine.now();
        let Some(door) = self.options.doors.get(engine.listener(id)) else {
            return self.let_in(id);
        };
        self.totals.connections += 1;
        let (speaks, is_secure) = (door.speaks, door.tls.is_some());
        self.peers.accept_with(id, self.machines.machine(door), is_secure, now);
        self.link(Place::Here(id), Link::New { since: now });
        if speaks == Spoken::Binary && !is_secure {
            self.begin(id, Packing::Binary, now);
        }
    }

    /// Begins a session of a connection.
    fn begin(&mut self, id: ConnectionId, packing: Packing, now: Instant) {
        let session = self.world.connect(now);
        self.sessions.insert(session, Route::Connection(id, packing));
        self.link(Place::Here(id), Link::Session(session, packing));
        let count = match packing {
            Packing::Binary => &mut self.totals.sessions.binary,
            Packing::Json => &mut self.totals.sessions.websocket,
        };
        *count += 1;
    }

    pub(super) fn link(&mut self, at: Place, link: Link) {
        match at {
            Place::Here(id) => {
                if let Some(peer) = self.peers.find(id) {
                    peer.state = link;
                }
            }
            Place::Front(front, guest) => self.fronts.link(front, guest, link),
        }
    }

    /// The use of a connection; [`Link::Done`] if it is gone.
    pub(super) fn link_of(&mut self, at: Place) -> Link {
        match at {
            Place::Here(id) => self.peers.find(id).map(|peer| peer.state),
            Place::Front(front, guest) => self.fronts.link_of(front, guest),
        }
        .unwrap_or_default()
    }

    /// Ends a finished connection once everything is written.
    pub(super) fn finish<E: Engine>(&mut self, engine: &mut E, id: ConnectionId, now: Instant) {
        self.let_go(id, now);
        if let Some(peer) = self.peers.find(id) {
            peer.over = true;
        }
        self.peers.linger(engine, id);
    }

    /// Releases a connection whose peer is gone, or is about to be: its player or clients have left.
    fn let_go(&mut self, id: ConnectionId, now: Instant) {
        if let Some(peer) = self.peers.find(id) {
            let link = std::mem::replace(&mut peer.state, Link::Done);
            self.leave(Place::Here(id), link, now);
        }
    }

    /// Notes that the player or client that used a connection, for `link`, has left.
    pub(super) fn leave(&mut self, at: Place, link: Link, now: Instant) {
        match link {
            Link::Session(session, _) => self.lose(session, now),
            Link::Http { held_for: Some(client), .. } => {
                if let Some(client) = self.clients.get(client)
                    && client.held.as_ref().is_some_and(|held| held.at == at)
                {
                    client.held = None;
                    client.away_since = now;
                }
            }
            Link::New { .. } | Link::Http { held_for: None, .. } | Link::Done => {}
        }
    }

    /// Tells the world that a session is gone.
    pub(super) fn lose(&mut self, session: SessionId, now: Instant) {
        self.sessions.remove(session);
        self.world.gone(
            session,
            now,
            &mut Outgoing { mail: &mut self.mail, sessions: &mut self.sessions },
        );
    }

    /// Ends silent connections and lost clients, and answers connects that were held long enough.
    fn sweep<E: Accepting>(&mut self, engine: &mut E, now: Instant) {
        let silence = self.options.silence;
        let silent: Vec<ConnectionId> = self
            .peers
            .all()
            .filter(|peer| match peer.state {
                Link::New { since } => since + silence.first_max <= now,
                Link::Http { heard_at, held_for: None } => heard_at + silence.next_max <= now,
                Link::Http { held_for: Some(_), .. } | Link::Session(..) | Link::Done => false,
            })
            .map(|peer| peer.id)
            .collect();
        for id in silent {
            self.totals.silent += 1;
            self.peers.close(engine, id);
        }
        for index in 0..self.clients.len().1 {
            let Some(client) = self.clients.get(index) else { continue };
            match &client.held {
                Some(held) if held.until <= now => self.answer_held(engine, index),
                None if client.away_since + self.options.away_max <= now => {
                    if let Some(session) = self.end_client(index) {
                        self.totals.lost_clients += 1;
                        self.lose(session, now);
                    }
                }
                Some(_) | None => {}
            }
        }
    }
}

/// Input.
impl GameServer {
    fn received<E: Accepting>(&mut self, engine: &mut E, id: ConnectionId, len: usize) {
        self.totals.bytes_received += len as u64;
        let now = engine.now();
        if let Some(peer) = self.peers.find(id) {
            peer.held = peer.held.saturating_add(len);
        }
        let mut taken = 0;
        // Another turn after each HTTP request, whose answer needs the entire server.
        while let Some(read) = self.read(id, taken, len, now) {
            taken = len - read.left;
            self.send_own(engine, id);
            match read.then {
                Then::Nothing => break,
                Then::Post => self.post(engine),
                Then::Begin => self.begin(id, Packing::Json, now),
                Then::Secured { is_resumed } => {
                    self.peers.secured(id, is_resumed);
                    let door = self.options.doors.get(engine.listener(id));
                    if door.is_some_and(|door| door.speaks == Spoken::Binary) {
                        self.begin(id, Packing::Binary, now);
                    }
                }
                Then::Request => self.request(engine, Place::Here(id), now),
                Then::End => return self.finish(engine, id, now),
            }
        }
        if self.peers.holds_too_much(engine, id, 0) {
            self.totals.broken += 1;
            self.let_go(id, now);
            self.peers.close(engine, id);
        }
    }

    /// Processes `rx` from `taken` to `len`, up to the first input that concerns more than the world.
    fn read(&mut self, id: ConnectionId, taken: usize, len: usize, now: Instant) -> Option<Read> {
        let peer = self.peers.find(id)?;
        if peer.over {
            return None;
        }
        let mut input = Input::new(&mut self.rx[taken..len]);
        let mut out = Outgoing { mail: &mut self.mail, sessions: &mut self.sessions };
        let then = loop {
            if out.mail.len() > MAIL_LEN_MAX {
                break Then::Post;
            }
            match hear(&mut peer.machine, &mut peer.held, &mut input, &mut self.tx) {
                None => break Then::Nothing,
                Some(Heard::Message(Message { kind, payload })) => match peer.state {
                    Link::Session(session, Packing::Binary) => {
                        take_binary(&mut self.world, session, payload, now, &mut out);
                    }
                    Link::Session(session, Packing::Json) if kind == Kind::Text => {
                        take_text(&mut self.world, session, payload, now, &mut out);
                    }
                    Link::Session(session, Packing::Json) => {
                        self.world.malformed(session, 0, now, &mut out);
                    }
                    Link::New { .. } | Link::Http { .. } => {
                        self.body.clear();
                        self.body.extend_from_slice(payload);
                        break Then::Request;
                    }
                    Link::Done => {}
                },
                Some(Heard::Open) => break Then::Begin,
                Some(Heard::Secured { is_resumed }) => break Then::Secured { is_resumed },
                Some(Heard::Closed) => break Then::End,
                Some(Heard::Nothing) => {}
                Some(Heard::Broken) => {
                    self.totals.broken += 1;
                    break Then::End;
                }
            }
        };
        Some(Read { left: input.len(), then })
    }
}

/// The result of reading some input.
struct Read {
    /// The number of bytes that are not processed yet.
    left: usize,
    then: Then,
}

/// The next step before more input is processed.
enum Then {
    /// Nothing: all input is processed.
    Nothing,
    /// Sends the mail, because there is much of it.
    Post,
    /// Begins a session over WebSocket.
    Begin,
    /// Notes that TLS is established.
    Secured { is_resumed: bool },
    /// Answers the request in `body`.
    Request,
    /// Ends the connection.
    End,
}

/// Passes a packet to the world, or reports that the bytes are not a packet.
#[inline]
pub(super) fn take_binary(
    world: &mut World,
    session: SessionId,
    payload: &[u8],
    now: Instant,
    out: &mut Outgoing<'_>,
) {
    match Packet::decode(payload) {
        Ok(packet) => world.packet(session, &packet, now, out),
        Err(_) => world.malformed(session, payload.first().copied().unwrap_or(0), now, out),
    }
}

/// Passes the packets of a text to the world: one, or an array of them.
pub(super) fn take_text(
    world: &mut World,
    session: SessionId,
    text: &[u8],
    now: Instant,
    out: &mut Outgoing<'_>,
) {
    let Ok(packets) = json_packets(text) else {
        return world.malformed(session, 0, now, out);
    };
    for json in packets {
        match Packet::read_json(json) {
            Ok(packet) => world.packet(session, &packet, now, out),
            Err(_) => world.malformed(session, class_id_of(json), now, out),
        }
    }
}

/// The class id of a broken packet; 0 if it names none.
#[cold]
pub(super) fn class_id_of(json: &[u8]) -> u8 {
    let meant: Option<serde_json::Value> = serde_json::from_slice(json).ok();
    let class_id = meant.as_ref().and_then(|meant| meant.get("classId")?.as_u64());
    class_id.and_then(|class_id| u8::try_from(class_id).ok()).unwrap_or(0)
}

/// The number of reads processed before the mail goes out: enough that a table's events share a write, few enough that
/// none waits for long.
pub(super) const BATCH_LEN: u32 = 64;

/// The most bytes of mail that wait before they are sent.
pub(super) const MAIL_LEN_MAX: u32 = 256 << 10;

/// The time between two searches for silent connections, lost clients and connects that were held long enough.
pub(super) const SWEEP_EVERY: Nanos = Nanos::from_millis(500);
