//! A front: a node that does everything for its connections except the world, which runs in another thread.
//!
//! It accepts connections, speaks TLS, Styx, WebSocket and HTTP, and packs and unpacks. Over one connection it sends
//! the world's thread binary packets and the bodies of Comet clients, and receives answers and packets, each packet
//! once with all its receivers at this front. Start reading at [`Front::step`](engine::Node::step); `link` has the
//! messages.
//!
//! Left out: sessions, clients of Bayeux and everything else that needs the world.

use super::doors::Machines;
use super::link::{self, Down, Guest, Up};
use super::options::{Options, Packing as Spoken};
use super::server::{BATCH_LEN, MAIL_LEN_MAX, SWEEP_EVERY, class_id_of};
use super::sessions::Packing;
use super::totals::Totals;
use crate::peers::{Heard, Patience, Peer, Peers, RX_LEN, STOP_POLL, TX_LEN, flush, hear};
use engine::{Accepting, Address, Completion, ConnectionId, Node, Step, UNSENT_LEN_MAX};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use units::{Instant, Nanos};
use wire::framed::Framed;
use wire::styx::{Packet, json_packets};
use wire::{Event, Input, Kind, Message, Protocol};

/// A front of a [`GameServer`](super::GameServer), on an engine of its own.
///
/// The engine must listen on addresses of the kinds of [`Options::doors`], in their order, and on no other.
#[derive(Debug)]
pub struct Front {
    options: Options,
    machines: Machines,
    stop: Arc<AtomicBool>,
    /// The address on which the world's thread accepts fronts.
    world: Address,
    link: Option<ConnectionId>,
    machine: Framed,
    /// The frames that wait to be sent to the world.
    up: Vec<u8>,
    /// True while the link is full: nothing is received from players.
    holds_back: bool,
    peers: Peers<Seat>,
    letters: Letters,
    totals: Totals,
    /// The totals last reported to the world, and the instant of the next report.
    told: Totals,
    tell_at: Instant,
    sweep_at: Instant,
    rx: Box<[u8]>,
    tx: Vec<u8>,
}

/// A connection of a player.
#[derive(Debug, Default)]
struct Seat {
    is: Is,
    /// The bytes that wait to be written.
    pending: Vec<u8>,
    /// True if the connection ends after these bytes.
    ends: bool,
}

/// The use of a connection.
#[derive(Clone, Copy, Debug, Default)]
enum Is {
    /// A connection that has sent nothing yet.
    New { since: Instant },
    /// A session.
    Session(Packing),
    /// A connection for requests of Comet clients; `asked` is the number of requests without an answer.
    Http { heard_at: Instant, asked: u32 },
    /// A connection without further use.
    #[default]
    Done,
}

/// The packets from the world that are not written yet.
#[derive(Debug, Default)]
struct Letters {
    /// The connections with pending bytes.
    waiting: Vec<ConnectionId>,
    len: usize,
    /// Spare buffers for pending bytes.
    spare: Vec<Vec<u8>>,
    /// The packet that is being delivered, as JSON; empty unless a receiver needs it.
    json: Vec<u8>,
}

impl Front {
    /// A front that runs until `stop` is set, which it checks ten times a second, or the world is gone. The options of
    /// the world have no effect here.
    pub fn new(options: Options, world: Address, stop: Arc<AtomicBool>) -> Self {
        Self {
            machines: Machines::new(options.message_max),
            stop,
            world,
            link: None,
            machine: link::machine(),
            up: Vec::with_capacity(TX_LEN),
            holds_back: false,
            peers: Peers::new(Patience::HANDSHAKES),
            letters: Letters::default(),
            totals: Totals::default(),
            told: Totals::default(),
            tell_at: Instant::START,
            sweep_at: Instant::START,
            rx: vec![0; RX_LEN].into_boxed_slice(),
            tx: Vec::with_capacity(TX_LEN),
            options,
        }
    }

    /// Ends connections with large incomplete messages, or much that their players do not read, while all connections
    /// of this front together hold more than `bytes` bytes.
    #[must_use]
    pub fn with_memory_max(mut self, bytes: usize) -> Self {
        self.peers.set_memory_max(bytes);
        self
    }

    /// The totals of this front, without the world's counters.
    pub fn totals(&self) -> Totals {
        Totals { handshakes: self.peers.handshakes(), ..self.totals }
    }
}

impl<E: Accepting> Node<E> for Front {
    fn step(&mut self, engine: &mut E) -> Step {
        let link = *self.link.get_or_insert_with(|| engine.connect(&self.world, None));
        let mut reads = 0_u32;
        while let Some(completion) = engine.complete(&mut self.rx) {
            match completion {
                Completion::Received { connection, len } if connection == link => {
                    if !self.world_said(engine, len) {
                        return Step::Done;
                    }
                }
                Completion::Received { connection, len } => {
                    self.received(engine, connection, len);
                    reads += 1;
                    if reads.is_multiple_of(BATCH_LEN) || self.up.len() > UP_LEN_MAX {
                        self.speak(engine, link);
                    }
                }
                Completion::Accepted(id) => self.accept(engine, id),
                Completion::Ended(id) | Completion::Failed(id, _) if id == link => {
                    return Step::Done;
                }
                Completion::Ended(id) => {
                    self.let_go(id);
                    self.peers.ended(engine, id);
                }
                Completion::Failed(id, _) => {
                    self.let_go(id);
                    self.peers.forget(id);
                }
                Completion::Connected(_) => {}
            }
        }
        let now = engine.now();
        if now >= self.sweep_at {
            self.sweep(engine, now);
            self.sweep_at = now + SWEEP_EVERY;
        }
        self.peers.close_late(engine, now);
        if now >= self.tell_at {
            self.tell();
            self.tell_at = now + STOP_POLL;
        }
        self.speak(engine, link);
        if self.stop.load(Ordering::Relaxed) {
            return Step::Done;
        }
        let pause = if self.holds_back { HOLD_POLL } else { STOP_POLL };
        Step::Wait(self.sweep_at.min(self.tell_at).min(now + pause))
    }
}

/// Input from players.
impl Front {
    fn accept<E: Accepting>(&mut self, engine: &mut E, id: ConnectionId) {
        let Some(door) = self.options.doors.get(engine.listener(id)) else {
            return engine.close(id);
        };
        self.totals.connections += 1;
        let now = engine.now();
        self.peers.accept_with(id, self.machines.machine(door), door.tls.is_some(), now);
        let begins = door.speaks == Spoken::Binary && door.tls.is_none();
        if let Some(peer) = self.peers.find(id) {
            peer.state.is = Is::New { since: now };
        }
        if begins {
            self.begin(id, Packing::Binary);
        }
    }

    /// Begins a session of a connection.
    fn begin(&mut self, id: ConnectionId, packing: Packing) {
        let Some(peer) = self.peers.find(id) else { return };
        peer.state.is = Is::Session(packing);
        let count = match packing {
            Packing::Binary => &mut self.totals.sessions.binary,
            Packing::Json => &mut self.totals.sessions.websocket,
        };
        *count += 1;
        Up::Begin(id).write(&mut self.up);
    }

    fn received<E: Accepting>(&mut self, engine: &mut E, id: ConnectionId, len: usize) {
        self.totals.bytes_received += len as u64;
        let now = engine.now();
        if let Some(peer) = self.peers.find(id) {
            peer.held = peer.held.saturating_add(len);
        }
        let mut left = len;
        while let Some((still, then)) = self.read(id, len - left, len, now) {
            left = still;
            self.send_own(engine, id);
            match then {
                Then::Nothing => break,
                Then::Begin => self.begin(id, Packing::Json),
                Then::Secured { is_resumed } => {
                    self.peers.secured(id, is_resumed);
                    let door = self.options.doors.get(engine.listener(id));
                    if door.is_some_and(|door| door.speaks == Spoken::Binary) {
                        self.begin(id, Packing::Binary);
                    }
                }
                Then::End => {
                    self.let_go(id);
                    if let Some(peer) = self.peers.find(id) {
                        peer.over = true;
                    }
                    return self.peers.linger(engine, id);
                }
            }
        }
        if self.peers.holds_too_much(engine, id, 0) {
            self.totals.broken += 1;
            self.let_go(id);
            self.peers.close(engine, id);
        }
    }

    /// Processes `rx` from `taken` to `len`, up to the first input that needs more than a frame to the world. Returns
    /// the number of bytes left, and the next step.
    fn read(
        &mut self,
        id: ConnectionId,
        taken: usize,
        len: usize,
        now: Instant,
    ) -> Option<(usize, Then)> {
        let peer = self.peers.find(id).filter(|peer| !peer.over)?;
        let mut input = Input::new(&mut self.rx[taken..len]);
        let then = loop {
            match hear(&mut peer.machine, &mut peer.held, &mut input, &mut self.tx) {
                None => break Then::Nothing,
                Some(Heard::Message(Message { kind, payload })) => match &mut peer.state.is {
                    Is::Session(Packing::Binary) => Up::Packet(id, payload).write(&mut self.up),
                    Is::Session(Packing::Json) if kind == Kind::Text => {
                        pass_text(id, payload, &mut self.up);
                    }
                    Is::Session(Packing::Json) => Up::Malformed(id, 0).write(&mut self.up),
                    is @ (Is::New { .. } | Is::Http { .. }) => {
                        let asked = if let Is::Http { asked, .. } = is { *asked } else { 0 };
                        *is = Is::Http { heard_at: now, asked: asked + 1 };
                        Up::Post(id, payload).write(&mut self.up);
                    }
                    Is::Done => {}
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
        Some((input.len(), then))
    }

    /// Writes the bytes that the machine of a connection wants to send.
    fn send_own<E: Accepting>(&mut self, engine: &mut E, id: ConnectionId) {
        flush(engine, id, &mut self.tx, &mut self.totals.bytes_sent);
    }

    /// Releases a connection whose peer is gone, or is about to be, and tells the world if that knew the connection.
    fn let_go(&mut self, id: ConnectionId) {
        if let Some(peer) = self.peers.find(id) {
            leave(id, &mut peer.state, &mut self.up);
        }
    }

    /// Ends connections that have been silent for too long.
    fn sweep<E: Accepting>(&mut self, engine: &mut E, now: Instant) {
        let silence = self.options.silence;
        let silent: Vec<ConnectionId> = self
            .peers
            .all()
            .filter(|peer| match peer.state.is {
                Is::New { since } => since + silence.first_max <= now,
                Is::Http { heard_at, asked: 0 } => heard_at + silence.next_max <= now,
                Is::Http { .. } | Is::Session(_) | Is::Done => false,
            })
            .map(|peer| peer.id)
            .collect();
        for id in silent {
            self.totals.silent += 1;
            self.let_go(id);
            self.peers.close(engine, id);
        }
    }
}

/// The next step before more input is processed.
enum Then {
    /// Nothing: all input is processed.
    Nothing,
    /// Begins a session over WebSocket.
    Begin,
    /// Notes that TLS is established.
    Secured { is_resumed: bool },
    /// Ends the connection.
    End,
}

/// Messages from and to the world.
impl Front {
    /// Processes the frames of the world in `rx`. Returns false if a frame is malformed.
    fn world_said<E: Accepting>(&mut self, engine: &mut E, len: usize) -> bool {
        let now = engine.now();
        let mut left = len;
        loop {
            let mut input = Input::new(&mut self.rx[len - left..len]);
            let is_all = loop {
                if self.letters.len > MAIL_LEN_MAX as usize {
                    break false;
                }
                let frame = match self.machine.receive(&mut input, &mut self.tx) {
                    Ok(None) => break true,
                    Ok(Some(Event::Message(Message { payload, .. }))) => payload,
                    Ok(Some(_)) | Err(_) => return false,
                };
                match Down::read(frame) {
                    Some(Down::Packet(guests, packet)) => {
                        let count = self.letters.deliver(&mut self.peers, guests.iter(), packet);
                        self.totals.packets_sent += count;
                    }
                    Some(Down::Answer(guest, body)) => {
                        if let Some(peer) = self.peers.find(guest) {
                            self.letters.answer(peer, body, now, &mut self.up);
                        }
                    }
                    Some(Down::Close(guest)) => {
                        if let Some(peer) = self.peers.find(guest) {
                            self.letters.close(peer);
                        }
                    }
                    Some(Down::Drop(guest)) => self.peers.close(engine, guest),
                    None => return false,
                }
            };
            left = input.len();
            self.post(engine);
            if is_all {
                return true;
            }
        }
    }

    /// Writes all pending bytes, with one write for each connection.
    fn post<E: Accepting>(&mut self, engine: &mut E) {
        let mut waiting = std::mem::take(&mut self.letters.waiting);
        for id in waiting.drain(..) {
            let Some(peer) = self.peers.find(id) else { continue };
            let pending = std::mem::take(&mut peer.state.pending);
            let (is, ends) = (peer.state.is, peer.state.ends);
            self.totals.bytes_sent += pending.len() as u64;
            engine.send(id, &pending);
            self.letters.put_by(pending);
            if ends {
                peer.over = true;
                self.peers.linger(engine, id);
            } else if engine.unsent(id) as u64 > self.options.queue_max.0
                || self.peers.holds_too_much(engine, id, 0)
            {
                match is {
                    Is::Session(_) => {
                        self.totals.slow += 1;
                        self.let_go(id);
                        self.peers.close(engine, id);
                    }
                    Is::Http { .. } => Up::Late(id).write(&mut self.up), // The world knows its session.
                    Is::New { .. } | Is::Done => {}
                }
            }
        }
        self.letters.waiting = waiting;
        self.letters.len = 0;
    }

    /// Sends the frames that wait for the world. Those that the kernel does not take are kept; while there are many,
    /// nothing is received from players.
    fn speak<E: Accepting>(&mut self, engine: &mut E, link: ConnectionId) {
        if !self.up.is_empty() {
            engine.send(link, &self.up);
            self.up.clear();
            self.up.shrink_to(TX_LEN);
        }
        let is_full = engine.unsent(link) > UNSENT_LEN_MAX;
        if is_full != self.holds_back {
            self.holds_back = is_full;
            engine.hold_back(is_full);
        }
    }

    /// Reports the totals of this front to the world.
    fn tell(&mut self) {
        let totals = self.totals();
        if totals != self.told {
            self.told = totals;
            Up::Totals(Box::new(totals)).write(&mut self.up);
        }
    }
}

impl Letters {
    /// Packs a packet for each of its receivers. Returns their number.
    fn deliver(
        &mut self,
        peers: &mut Peers<Seat>,
        guests: impl Iterator<Item = Guest>,
        packet: &[u8],
    ) -> u64 {
        let mut count = 0;
        self.json.clear();
        for guest in guests {
            let Some(peer) = peers.find(guest) else { continue };
            let Is::Session(packing) = peer.state.is else { continue };
            self.note(peer);
            let message = match packing {
                Packing::Binary => Message { kind: Kind::Binary, payload: packet },
                Packing::Json => {
                    if self.json.is_empty()
                        && let Ok(packet) = Packet::decode(packet)
                    {
                        packet.write_json(&mut self.json);
                    }
                    Message { kind: Kind::Text, payload: &self.json }
                }
            };
            let pending = &mut peer.state.pending;
            let before = pending.len();
            count += u64::from(peer.machine.send(message, pending).is_ok());
            self.len += pending.len() - before;
        }
        count
    }

    /// Packs the answer to the oldest request without one.
    fn answer(&mut self, peer: &mut Peer<Seat>, body: &[u8], now: Instant, up: &mut Vec<u8>) {
        let Is::Http { asked, .. } = peer.state.is else { return };
        peer.state.is = Is::Http { heard_at: now, asked: asked.saturating_sub(1) };
        self.note(peer);
        let pending = &mut peer.state.pending;
        let before = pending.len();
        // A connection that closed meanwhile no longer waits for an answer.
        peer.machine.send(Message { kind: Kind::Text, payload: body }, pending).ok();
        // Checked here: no further input would show that this was the last answer on its connection.
        let last = peer.machine.receive(&mut Input::new(&mut []), pending);
        self.len += pending.len() - before;
        if matches!(last, Ok(Some(Event::Closed(_)))) {
            peer.state.ends = true;
            leave(peer.id, &mut peer.state, up);
        }
    }

    /// Ends a session after the pending bytes.
    fn close(&mut self, peer: &mut Peer<Seat>) {
        self.note(peer);
        peer.state.is = Is::Done;
        peer.state.ends = true;
        peer.machine.close(&mut peer.state.pending);
    }

    fn note(&mut self, peer: &mut Peer<Seat>) {
        if peer.state.pending.is_empty() && !peer.state.ends {
            peer.state.pending = self.spare.pop().unwrap_or_default();
            self.waiting.push(peer.id);
        }
    }

    /// Keeps a buffer for later.
    fn put_by(&mut self, mut pending: Vec<u8>) {
        if self.spare.len() < SPARE_COUNT_MAX && pending.capacity() <= TX_LEN {
            pending.clear();
            self.spare.push(pending);
        }
    }
}

/// Notes that the player of a connection has left, and tells the world if that knew the player.
fn leave(id: ConnectionId, seat: &mut Seat, up: &mut Vec<u8>) {
    match std::mem::take(&mut seat.is) {
        Is::Session(_) | Is::Http { .. } => Up::Gone(id).write(up),
        Is::New { .. } | Is::Done => {}
    }
}

/// Passes on the packets of a text: one, or an array of them.
fn pass_text(from: Guest, text: &[u8], up: &mut Vec<u8>) {
    let Ok(packets) = json_packets(text) else { return Up::Malformed(from, 0).write(up) };
    for json in packets {
        match Packet::read_json(json) {
            Ok(packet) => link::pack_up(from, &packet, up),
            Err(_) => Up::Malformed(from, class_id_of(json)).write(up),
        }
    }
}

/// The most bytes that wait for the world before they are sent.
const UP_LEN_MAX: usize = 64 << 10;

/// The time between two checks of a full link.
const HOLD_POLL: Nanos = Nanos::from_millis(1);

/// The most spare buffers to keep.
const SPARE_COUNT_MAX: usize = 256;
