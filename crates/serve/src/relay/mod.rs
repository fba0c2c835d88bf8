//! The relay: what one client publishes in a room goes to all clients in that room.
//!
//! [`Relay`] is one node on one engine. `words` has the messages of clients, `hub` the members of each room. Members
//! are connections over WebSocket, plain or with the frames of SockJS, and sessions of Socket.IO (`socketio`,
//! `upgrade`); if the stack takes requests, also sessions of SockJS and Socket.IO over HTTP (`over_http`, `sessions`),
//! streams of events, parts or chunks, and long polls (`plain`). Messages that are published together are delivered
//! together (`delivering`), encoded once for all receivers of the same form (`batch`), unless a layer (TLS,
//! compression) has a state of its own for each connection. What a receiver does not read waits up to a limit; beyond
//! that the receiver is dropped, so that it costs the others nothing. In a relay with known faults, each delivery waits
//! for its turn (`late`, `faulty`). Messages published at brokers arrive through `feeds` and `links`. A relay that is
//! asked to stop sends its clients away (`ending`).
//!
//! Left out: storage. A client that joins late has missed what was published before.
//!
//! Start reading at [`Relay::step`](engine::Node::step).

mod batch;
mod delivering;
mod ending;
mod faulty;
mod feeds;
mod hub;
mod late;
mod links;
mod over_http;
mod plain;
mod recovery;
mod sessions;
mod socketio;
mod upgrade;
mod words;

pub use late::Fault;
pub use links::{Feed, FeedTotals};

use crate::Handshakes;
use crate::peers::{Heard, Patience, Peers, RX_LEN, STOP_POLL, TX_LEN, flush, hear};
use batch::{Batch, Forms, Speaks, json_of};
use engine::{Completion, ConnectionId, Engine, Node, Step};
use hub::{Hub, Seat, Who};
use late::Line;
use links::Feeds;
use recovery::Recovery;
use sessions::{Given, Sessions};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use units::{Bytes, Instant, Nanos, Random};
use wire::sockjs::server::{framed_texts, message_frame};
use wire::web::Spoken;
use wire::{Input, Kind, Message, Protocol, Stack};
use words::Said;

/// A relay on some engine.
#[derive(Debug)]
pub struct Relay {
    stack: Stack,
    peers: Peers<Member>,
    hub: Hub,
    sessions: Sessions,
    feeds: Feeds,
    recovery: Recovery,
    queue_max: usize,
    fate: Option<Fate>,
    /// The members to check, each at an instant at which a delivery to it may have its turn; earliest on top.
    looks: BinaryHeap<Reverse<(Instant, Who)>>,
    stop: Arc<AtomicBool>,
    ending: Ending,
    totals: Totals,
    rx: Box<[u8]>,
    tx: Vec<u8>,
    /// The message that was received last.
    heard: Vec<u8>,
    /// The messages to deliver next.
    batch: Batch,
    /// The messages that were delivered last, as encoded.
    forms: Forms,
    /// The bytes being written to one client over HTTP.
    piece: Vec<u8>,
    /// The source of the random numbers that clients of SockJS request, and of names.
    entropy: Random,
    /// Receivers to drop once a message has been written to all.
    slow: Vec<Who>,
}

/// The relay's state of a connection.
#[derive(Debug, Default)]
struct Member {
    /// Its seats in rooms, if it is a WebSocket or a stream without a session.
    seats: Vec<Seat>,
    speaks: Speaks,
    /// The session that it receives for: its request waits for an answer, its response goes on, or it is, or is about
    /// to become, the WebSocket of the session.
    session: Option<u32>,
    /// The session of Socket.IO that it posts to, while the body is incomplete.
    posts_to: Option<u32>,
    /// The origin of the page that made its last request, if a browser named it.
    origin: Option<Box<str>>,
    /// The deliveries that wait for it, over WebSocket or in one response, if the relay has faults.
    line: Option<Box<Line>>,
}

/// The stage of a relay's end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Ending {
    /// No end was requested.
    #[default]
    NotAsked,
    /// The end was requested at this instant, and what had arrived by then is being read.
    Reads(Instant),
    /// The end was requested at this instant. Nothing new is accepted, and clients are sent away.
    SendsAway(Instant),
}

/// The faults that a relay makes on purpose.
struct Fate(Box<Faults>);

/// Returns the faults of the next delivery of the given published data.
type Faults = dyn FnMut(&[u8]) -> Fault + Send;

impl fmt::Debug for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fate")
    }
}

/// The totals of a relay since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Connections accepted.
    pub connections: u64,
    /// Connections whose peer broke the protocol, or took up too much memory.
    pub broken: u64,
    /// Connections that were closed because their peers took longer than the relay's [`Patience`].
    pub timed_out: u64,
    /// Messages published.
    pub published: u64,
    /// Deliveries of these messages, each to one receiver.
    pub delivered: u64,
    /// Missed messages that clients of Socket.IO got once they were back, in addition to those deliveries.
    pub recovered: u64,
    /// Deliveries among these that were dropped on purpose.
    pub dropped: u64,
    /// Copies that were sent in addition on purpose.
    pub duplicated: u64,
    /// Deliveries that were sent after a later one on purpose.
    pub reordered: u64,
    /// Messages that were answered with an error.
    pub refused: u64,
    /// Receivers that were dropped because they did not read.
    pub slow: u64,
    /// Bytes of the transport's stream that arrived.
    pub bytes_received: u64,
    /// Bytes of the transport's stream that were submitted.
    pub bytes_sent: u64,
    /// The connections to brokers.
    pub feeds: FeedTotals,
    /// TLS handshakes.
    pub handshakes: Handshakes,
}

impl Relay {
    /// The default limit on the bytes that may wait for a receiver.
    pub const QUEUE_MAX: Bytes = Bytes(1 << 20);

    /// A relay of `stack` that runs until `stop` is set, which it checks ten times a second; it then sends its clients
    /// away and ends.
    pub fn new(stack: Stack, stop: Arc<AtomicBool>) -> Self {
        Self {
            stack,
            peers: Peers::new(Patience::HANDSHAKES),
            hub: Hub::default(),
            sessions: Sessions::default(),
            feeds: Feeds::default(),
            recovery: Recovery::default(),
            queue_max: usize::try_from(Self::QUEUE_MAX.0).unwrap_or(usize::MAX),
            fate: None,
            looks: BinaryHeap::new(),
            stop,
            ending: Ending::default(),
            totals: Totals::default(),
            rx: vec![0; RX_LEN].into_boxed_slice(),
            tx: Vec::with_capacity(TX_LEN),
            heard: Vec::new(),
            batch: Batch::default(),
            forms: Forms::default(),
            piece: Vec::new(),
            entropy: Random::new(0),
            slow: Vec::new(),
        }
    }

    /// Drops receivers for which more than `bytes` bytes wait.
    #[must_use]
    pub fn with_queue_max(self, bytes: usize) -> Self {
        Self { queue_max: bytes, ..self }
    }

    /// Draws the names of sessions, and the ids by which clients come back, from `seed`. A relay that replaces another
    /// needs a different seed: otherwise clients of the old relay may take it for the one that they know.
    #[must_use]
    pub fn with_names_from(self, seed: u64) -> Self {
        Self { entropy: Random::new(seed), ..self }
    }

    /// Lets clients of Socket.IO that lost their connection come back within `time`, to their rooms and to what they
    /// have missed there.
    #[must_use]
    pub fn with_recovery(self, time: Nanos) -> Self {
        Self { recovery: Recovery::over(time), ..self }
    }

    /// Delivers each message to each receiver with the faults that `faults` returns for the published data: a relay
    /// with known faults. `faults` is called in the order in which the receivers of a room have joined it, unless one
    /// leaves.
    #[must_use]
    pub fn with_faults(self, faults: impl FnMut(&[u8]) -> Fault + Send + 'static) -> Self {
        Self { fate: Some(Fate(Box::new(faults))), ..self }
    }

    /// Ends connections with large incomplete messages, or much that their peers do not read, while all connections
    /// together hold more than `bytes` bytes.
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

impl<E: Engine> Node<E> for Relay {
    fn step(&mut self, engine: &mut E) -> Step {
        let mut has_heard = false;
        while let Some(completion) = engine.complete(&mut self.rx) {
            has_heard = true;
            if !self.feeds.is_empty() && self.heard_of_feed(engine, completion) {
                continue;
            }
            match completion {
                Completion::Received { connection, len } => self.received(engine, connection, len),
                Completion::Accepted(id) => {
                    self.peers.accept(id, &self.stack, engine.now());
                    self.totals.connections += 1;
                }
                Completion::Ended(id) => {
                    self.leave_all(engine, id);
                    self.peers.ended(engine, id);
                }
                Completion::Failed(id, _) => {
                    self.leave_all(engine, id);
                    self.peers.forget(id);
                }
                Completion::Connected(id) => engine.close(id), // Only feeds are connected to.
            }
        }
        let now = engine.now();
        for id in self.peers.take_late(engine, now) {
            self.leave_all(engine, id);
            self.peers.close(engine, id);
        }
        self.keep_sessions(engine, now);
        self.hand_over_late(engine, now);
        self.keep_feeds(engine, now);
        if self.stop.load(Ordering::Relaxed) {
            return self.end(engine, has_heard);
        }
        Step::Wait(self.next_look().min(now + STOP_POLL))
    }
}

impl Relay {
    /// Handles all messages in the bytes that arrived.
    fn received<E: Engine>(&mut self, engine: &mut E, id: ConnectionId, len: usize) {
        self.totals.bytes_received += len as u64;
        let mut rx = std::mem::take(&mut self.rx);
        let mut input = Input::new(&mut rx[..len]);
        if let Some(peer) = self.peers.find(id) {
            peer.held = peer.held.saturating_add(len);
        }
        let (mut secured, mut is_progress, mut is_over) = (None, false, false);
        while !is_over {
            let Some(peer) = self.peers.find(id).filter(|peer| !peer.over) else { break };
            match hear(&mut peer.machine, &mut peer.held, &mut input, &mut self.tx) {
                None => break,
                Some(Heard::Message(Message { kind, payload })) => {
                    is_progress = true;
                    self.heard.clear();
                    self.heard.extend_from_slice(payload);
                    let speaks = peer.state.speaks;
                    if !self.understand(engine, id, speaks, kind) {
                        self.totals.broken += 1;
                        is_over = true;
                    }
                }
                Some(Heard::Closed) => is_over = true,
                Some(Heard::Secured { is_resumed }) => secured = Some(is_resumed),
                Some(Heard::Open) => {
                    let spoken = peer.machine.spoken();
                    self.opened(engine, id, spoken);
                    is_progress = true;
                }
                Some(Heard::Nothing) => {}
                Some(Heard::Broken) => {
                    self.totals.broken += 1;
                    is_over = true;
                }
            }
        }
        self.rx = rx;
        if is_over {
            // What it has published is no longer delivered to itself.
            flush(engine, id, &mut self.tx, &mut self.totals.bytes_sent);
            self.leave_all(engine, id);
            if let Some(peer) = self.peers.find(id) {
                peer.over = true;
            }
        }
        self.deliver(engine);
        flush(engine, id, &mut self.tx, &mut self.totals.bytes_sent);
        self.heard.shrink_to(TX_LEN);
        self.batch.shrink_to(TX_LEN);
        self.forms.shrink_to(TX_LEN);
        self.piece.shrink_to(TX_LEN);
        if let Some(is_resumed) = secured {
            self.peers.secured(id, is_resumed);
        }
        self.peers.was_read(id, engine.now(), is_progress);
        if is_over {
            if self.peers.find(id).is_some() {
                self.peers.linger(engine, id);
            }
        } else if self.peers.holds_too_much(engine, id, 0) {
            self.totals.broken += 1;
            self.leave_all(engine, id);
            self.peers.close(engine, id);
        } else {
            self.begin_post(engine, id);
        }
    }

    /// Handles a WebSocket that is open; its address has decided what is spoken.
    fn opened<E: Engine>(&mut self, engine: &mut E, id: ConnectionId, spoken: Spoken) {
        let Some(peer) = self.peers.find(id) else { return };
        match spoken {
            Spoken::Messages => peer.state.speaks = Speaks::Messages,
            Spoken::Frames => {
                peer.state.speaks = Speaks::Frames;
                let opening = Message { kind: Kind::Text, payload: b"o" };
                let _sent: Result<_, _> = peer.machine.send(opening, &mut self.tx);
            }
            Spoken::Packets(entry) => {
                peer.state.speaks = Speaks::Packets;
                flush(engine, id, &mut self.tx, &mut self.totals.bytes_sent);
                self.enter(engine, id, &entry);
            }
        }
    }

    /// Handles the message that was received last. Returns false if its connection cannot go on.
    fn understand<E: Engine>(
        &mut self,
        engine: &mut E,
        id: ConnectionId,
        speaks: Speaks,
        kind: Kind,
    ) -> bool {
        if matches!(speaks, Speaks::Requests | Speaks::Packets) {
            flush(engine, id, &mut self.tx, &mut self.totals.bytes_sent);
        }
        if speaks == Speaks::Requests {
            return self.request(engine, id);
        }
        let heard = std::mem::take(&mut self.heard);
        let is_fine = match speaks {
            Speaks::Frames => {
                let texts = framed_texts(&heard);
                let is_fine = texts.is_ok();
                for text in texts.into_iter().flatten() {
                    self.hear(engine, Who::Socket(id), Kind::Text, text.as_bytes());
                }
                is_fine
            }
            Speaks::Messages => {
                self.hear(engine, Who::Socket(id), kind, &heard);
                true
            }
            Speaks::Packets => {
                self.packet(engine, id, kind, &heard);
                true
            }
            // Nothing can be answered after an answer that does not end.
            Speaks::Requests | Speaks::Stream(_) | Speaks::Polls => false,
        };
        self.heard = heard;
        is_fine
    }

    /// Handles a message.
    fn hear<E: Engine>(&mut self, engine: &mut E, who: Who, kind: Kind, heard: &[u8]) {
        let said = Said::read(heard);
        if let (Ok(Said::Publish { room, id: number, data }), Who::Socket(id)) = (&said, who) {
            self.gather(engine, (Some(id), *number), room, (kind, &heard[*data..]));
            return;
        }
        self.deliver(engine); // Before the member joins another room or is told anything else.
        match said {
            Ok(Said::Join { room }) => match self.join(who, room) {
                Ok(()) => self.answer(engine, who, &[b"joined ", room]),
                Err(reason) => self.refuse(engine, who, reason),
            },
            Ok(Said::Publish { room, id: number, data }) => {
                let receivers = self.publish(engine, room, kind, &heard[data..]);
                if let Some(number) = number {
                    self.acknowledge(engine, who, number, receivers);
                }
            }
            Err(reason) => self.refuse(engine, who, reason),
        }
    }

    fn join(&mut self, who: Who, room: &[u8]) -> Result<(), &'static str> {
        let Self { hub, peers, sessions, .. } = self;
        let Some(seats) = seats(peers, sessions, who) else { return Ok(()) };
        if seats.iter().any(|seat| hub.is_in(*seat, room)) {
            return Ok(());
        }
        let own = seats.len();
        let count = match who {
            Who::Session(number, _) => sessions.find(number).map_or(own, |session| session.rooms()),
            Who::Socket(_) => own,
        };
        if count >= ROOMS_EACH_MAX {
            return Err("a connection or session may join at most 1024 rooms");
        }
        let index = u32::try_from(own).expect("ROOMS_EACH_MAX fits");
        let seat = hub.join(room, who, index);
        if let Some(seats) = self::seats(peers, sessions, who) {
            seats.push(seat);
        }
        Ok(())
    }

    /// The form of a member's messages; `None` if it is gone.
    fn speaks(&mut self, who: Who) -> Option<Speaks> {
        match who {
            Who::Session(number, _) => match self.sessions.find(number)? {
                session if session.socketio.is_some() => Some(Speaks::Packets),
                session if session.plain.is_some() => Some(Speaks::Polls),
                _ => Some(Speaks::Requests),
            },
            Who::Socket(id) => {
                self.peers.find(id).filter(|peer| !peer.over).map(|peer| peer.state.speaks)
            }
        }
    }

    /// The WebSocket of a session, if it has one.
    fn socket_of(&mut self, number: u32) -> Option<ConnectionId> {
        self.sessions.find(number)?.socket()
    }

    /// Drops the receivers that do not read.
    fn drop_slow<E: Engine>(&mut self, engine: &mut E) {
        while let Some(who) = self.slow.pop() {
            let is_gone = match who {
                Who::Session(number, _) => self.sessions.find(number).is_none(),
                Who::Socket(id) => self.peers.find(id).is_none(),
            };
            if is_gone {
                continue; // A session may be listed for each of its namespaces.
            }
            let connection = match who {
                Who::Session(number, _) => {
                    self.sessions.close(number, engine.now());
                    self.end_session(engine, number)
                }
                Who::Socket(id) => {
                    self.leave_all(engine, id);
                    Some(id)
                }
            };
            if let Some(id) = connection {
                self.peers.close(engine, id);
            }
            self.totals.slow += 1;
        }
    }

    fn refuse<E: Engine>(&mut self, engine: &mut E, who: Who, reason: &str) {
        self.totals.refused += 1;
        self.answer(engine, who, &[b"error ", reason.as_bytes()]);
    }

    /// Sends words to a member; to a WebSocket, once all bytes received from it are handled at the latest.
    fn answer<E: Engine>(&mut self, engine: &mut E, who: Who, words: &[&[u8]]) {
        let mut words = words.concat();
        let id = match who {
            Who::Socket(id) => id,
            Who::Session(number, _) => {
                // The name of its room may not be valid in JSON.
                let offset = self.recovery.offset();
                if let Some(json) = json_of(&words)
                    && !self.give(
                        engine,
                        who,
                        number,
                        Given { kind: Kind::Text, json: &json, offset },
                    )
                {
                    self.slow.push(who);
                    self.drop_slow(engine);
                }
                return;
            }
        };
        let Some(peer) = self.peers.find(id).filter(|peer| !peer.over) else { return };
        if peer.state.speaks == Speaks::Frames {
            let Some(json) = json_of(&words) else { return };
            words = message_frame(&json).into_bytes();
        }
        // If the machine takes no message, its end has begun.
        let _sent: Result<_, _> =
            peer.machine.send(Message { kind: Kind::Text, payload: &words }, &mut self.tx);
        if self.tx.len() >= TX_LEN {
            flush(engine, id, &mut self.tx, &mut self.totals.bytes_sent);
        }
    }

    /// Handles a connection that is gone: it leaves all its rooms, and the session that it received for or was posting
    /// to ends.
    fn leave_all<E: Engine>(&mut self, engine: &mut E, id: ConnectionId) {
        self.receiver_is_gone(engine, id);
        self.post_is_torn(engine, id);
        let Some(peer) = self.peers.find(id) else { return };
        for seat in std::mem::take(&mut peer.state.seats) {
            self.vacate(seat);
        }
    }

    /// Vacates a seat: another member of its room moves there.
    fn vacate(&mut self, seat: Seat) {
        if let Some((moved, index)) = self.hub.leave(seat)
            && let Some(seats) = seats(&mut self.peers, &mut self.sessions, moved)
            && let Some(own) = seats.get_mut(index as usize)
        {
            *own = seat;
        }
    }
}

/// The seats of a member, unless it is gone.
fn seats<'a>(
    peers: &'a mut Peers<Member>,
    sessions: &'a mut Sessions,
    who: Who,
) -> Option<&'a mut Vec<Seat>> {
    match who {
        Who::Session(number, index) => Some(&mut sessions.space(number, index)?.seats),
        Who::Socket(id) => Some(&mut peers.find(id)?.state.seats),
    }
}

/// The most rooms of a connection, or of a session in all its namespaces together.
const ROOMS_EACH_MAX: usize = 1024;
