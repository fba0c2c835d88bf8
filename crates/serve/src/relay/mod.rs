//! The relay: what one client publishes in a room goes to all clients in that room.
//!
//! [`Relay`] is one node on one engine. `words` has what is spoken, `hub` who is in which room: connections over
//! WebSocket, as it is or with the frames of SockJS, sessions of Socket.IO (`socketio`, `upgrade`), and where the
//! stack takes requests also sessions over HTTP of SockJS and of Socket.IO (`over_http`, `sessions`), streams of
//! events, of parts and of chunks, and long polls (`plain`). A message is encoded once for all who get it in the same
//! form, where no layer (TLS, compression) has a state of its own for each connection. What a receiver does not read
//! waits for it up to a limit; beyond that the receiver is dropped, so that it costs no other one anything. A relay
//! whose faults are known lets each delivery wait for its turn (`late`, `faulty`). What is published at brokers comes
//! from there (`feeds`, `links`). One that is asked to stop sends clients away (`ending`).
//!
//! Left out: anything that is kept: who comes late has missed what was published before.
//!
//! Start reading at [`Relay::step`](engine::Node::step).

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
use engine::{Completion, ConnectionId, Engine, Node, Step};
use hub::{Hub, Seat, Who};
use late::{Line, Words};
use links::Feeds;
use recovery::Recovery;
use sessions::{Given, Sessions};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use units::{Bytes, Instant, Nanos, Random};
use wire::socketio::server::{attachment, binary_message, message as message_packet};
use wire::sockjs::server::{self, Stream, framed_texts, message_frame, write_text};
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
    /// The members to look at, each at an instant at which a delivery to it may have its turn; earliest on top.
    looks: BinaryHeap<Reverse<(Instant, Who)>>,
    stop: Arc<AtomicBool>,
    ending: Ending,
    totals: Totals,
    rx: Box<[u8]>,
    tx: Vec<u8>,
    /// The message that was heard last, and the one that is delivered.
    heard: Vec<u8>,
    delivery: Vec<u8>,
    /// The same as it is written.
    forms: Forms,
    /// The bytes that are written to one client over HTTP.
    piece: Vec<u8>,
    /// Gives clients of SockJS the numbers that they ask for.
    entropy: Random,
    /// Receivers that are dropped once a message has been written to all.
    slow: Vec<Who>,
}

/// The part that a connection has.
#[derive(Debug, Default)]
struct Member {
    /// The rooms that it is in, over WebSocket without a session.
    seats: Vec<Seat>,
    speaks: Speaks,
    /// The session that it receives for: a request waits for its answer, a response goes on, or it is the WebSocket of
    /// the session, or tries to become that.
    session: Option<u32>,
    /// The session of Socket.IO that it posts to, while the body has not come whole.
    posts_to: Option<u32>,
    /// The origin of the page that its last request came from, where a browser named it.
    origin: Option<Box<str>>,
    /// The deliveries that wait for it, over WebSocket or in one response, where the relay has faults.
    line: Option<Box<Line>>,
}

/// The things that the messages of a connection are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Speaks {
    /// Requests of HTTP.
    #[default]
    Requests,
    /// Messages of WebSocket.
    Messages,
    /// Frames of SockJS in messages of WebSocket.
    Frames,
    /// None: it hears the messages of a room in one response.
    Stream(Stream),
    /// Packets of Socket.IO in messages of WebSocket; those of a session that polls are in its answers.
    Packets,
    /// None: its requests are answered by one message each.
    Polls,
}

/// The end of a relay, as far as it has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Ending {
    /// Nobody has asked for it.
    #[default]
    NotAsked,
    /// It was asked for at this instant, and what had arrived by then is read.
    Reads(Instant),
    /// It was asked for at this instant. Nothing new is taken, and clients are sent away.
    SendsAway(Instant),
}

/// A delivery as connections get it, written when the first one gets it that speaks so; empty before.
#[derive(Debug, Default)]
struct Forms {
    message: Vec<u8>,
    frame: Vec<u8>,
    event: Vec<u8>,
    part: Vec<u8>,
    chunk: Vec<u8>,
    packet: Vec<u8>,
    /// The namespace that the packet is one of, as it stands there.
    namespace: String,
}

impl Forms {
    /// The form for connections that speak so.
    fn of(&mut self, speaks: Speaks) -> &mut Vec<u8> {
        match speaks {
            Speaks::Messages | Speaks::Polls | Speaks::Requests => &mut self.message,
            Speaks::Frames => &mut self.frame,
            Speaks::Stream(Stream::Events) => &mut self.event,
            Speaks::Stream(Stream::Parts) => &mut self.part,
            Speaks::Stream(Stream::Chunks) => &mut self.chunk,
            Speaks::Packets => &mut self.packet,
        }
    }

    /// Calls `each` with every form.
    fn for_each(&mut self, each: impl Fn(&mut Vec<u8>)) {
        let Self { message, frame, event, part, chunk, packet, namespace: _ } = self;
        [message, frame, event, part, chunk, packet].into_iter().for_each(each);
    }
}

/// The faults that a relay makes on purpose.
struct Fate(Box<Faults>);

/// Gives the faults of the next delivery of what was published.
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
    /// Connections whose peer broke the protocol, or held more memory than there is for it.
    pub broken: u64,
    /// Connections that were closed because their peers took longer than the relay's [`Patience`].
    pub timed_out: u64,
    /// Messages that were published.
    pub published: u64,
    /// Deliveries of them, each to one receiver.
    pub delivered: u64,
    /// Messages that clients of Socket.IO got which had missed them, once they were back; besides those deliveries.
    pub recovered: u64,
    /// Deliveries among them that were left out on purpose.
    pub dropped: u64,
    /// Copies that were sent besides them on purpose.
    pub duplicated: u64,
    /// Deliveries that came behind a later one on purpose.
    pub reordered: u64,
    /// Messages that were answered by an error.
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
    /// The bytes that may wait for a receiver, unless another limit is given.
    pub const QUEUE_MAX: Bytes = Bytes(1 << 20);

    /// A relay of `stack` that runs until `stop` is set, at which it looks ten times a second, and its clients are sent
    /// away.
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
            delivery: Vec::new(),
            forms: Forms::default(),
            piece: Vec::new(),
            entropy: Random::new(0),
            slow: Vec::new(),
        }
    }

    /// Drops receivers for which more than so many bytes wait.
    #[must_use]
    pub fn with_queue_max(self, bytes: usize) -> Self {
        Self { queue_max: bytes, ..self }
    }

    /// Draws the names of its sessions, and the ids by which clients come back, from `seed`. A relay that takes the
    /// place of another needs a seed of its own: else clients of that may take it for the one that they know.
    #[must_use]
    pub fn with_names_from(self, seed: u64) -> Self {
        Self { entropy: Random::new(seed), ..self }
    }

    /// Lets clients of Socket.IO whose connection is lost come back for so long, to their rooms and to what they have
    /// missed there.
    #[must_use]
    pub fn with_recovery(self, time: Nanos) -> Self {
        Self { recovery: Recovery::over(time), ..self }
    }

    /// Delivers each message to each receiver with the faults that `faults` gives, which is told what was published: a
    /// relay whose faults are known. It is asked in the order in which the receivers of a room have joined it, as long
    /// as none leaves.
    #[must_use]
    pub fn with_faults(self, faults: impl FnMut(&[u8]) -> Fault + Send + 'static) -> Self {
        Self { fate: Some(Fate(Box::new(faults))), ..self }
    }

    /// Ends connections with much that has not come whole, or that their peers do not read, while all together hold
    /// more than so many bytes.
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
                Completion::Connected(id) => engine.close(id), // We connect nowhere.
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
    /// Does what all messages in the bytes that arrived ask for.
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
        flush(engine, id, &mut self.tx, &mut self.totals.bytes_sent);
        self.heard.shrink_to(TX_LEN);
        self.delivery.shrink_to(TX_LEN);
        self.forms.for_each(|form| form.shrink_to(TX_LEN));
        self.piece.shrink_to(TX_LEN);
        if let Some(is_resumed) = secured {
            self.peers.secured(id, is_resumed);
        }
        self.peers.was_read(id, engine.now(), is_progress);
        if is_over {
            self.leave_all(engine, id);
            if let Some(peer) = self.peers.find(id) {
                peer.over = true;
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

    /// A WebSocket is open, and its address says what is spoken.
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

    /// Does what the message that was heard last asks for; `false` if its connection cannot go on.
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
            // Nothing can be answered behind an answer that does not end.
            Speaks::Requests | Speaks::Stream(_) | Speaks::Polls => false,
        };
        self.heard = heard;
        is_fine
    }

    /// Does what a message asks for.
    fn hear<E: Engine>(&mut self, engine: &mut E, who: Who, kind: Kind, heard: &[u8]) {
        match Said::read(heard) {
            Ok(Said::Join { room }) => match self.join(who, room) {
                Ok(()) => self.answer(engine, who, &[b"joined ", room]),
                Err(reason) => self.refuse(engine, who, reason),
            },
            Ok(Said::Publish { room, id: number, data }) => {
                if let Who::Socket(id) = who {
                    // Its answers come before its deliveries.
                    flush(engine, id, &mut self.tx, &mut self.totals.bytes_sent);
                }
                let receivers = self.publish(engine, room, kind, &heard[data..]);
                if let Some(number) = number {
                    let receivers = receivers.to_string();
                    let words: [&[u8]; 4] =
                        [b"published id=", number, b" receivers=", receivers.as_bytes()];
                    self.answer(engine, who, &words);
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
            return Err("a connection or session is in at most 1024 rooms");
        }
        let index = u32::try_from(own).expect("ROOMS_EACH_MAX fits");
        let seat = hub.join(room, who, index);
        if let Some(seats) = self::seats(peers, sessions, who) {
            seats.push(seat);
        }
        Ok(())
    }

    /// Sends `data` to all who are in a room. Returns their number.
    fn publish<E: Engine>(
        &mut self,
        engine: &mut E,
        room: &[u8],
        kind: Kind,
        data: &[u8],
    ) -> usize {
        self.totals.published += 1;
        let number = self.hub.find(room);
        if number.is_none() && !self.recovery.is_on() {
            return 0;
        }
        let mut delivery = std::mem::take(&mut self.delivery);
        delivery.clear();
        for part in [b"message ", room, b"\n", data] {
            delivery.extend_from_slice(part);
        }
        let message = Message { kind, payload: &delivery };
        let offset = self.recovery.next_offset();
        let kept = (self.fate.is_some() || self.recovery.is_on()).then(|| {
            (engine.now(), Arc::new(Words { kind, bytes: delivery.as_slice().into(), offset }))
        });
        if let Some((now, words)) = &kept {
            self.recovery.keep(room, words, *now);
        }
        let Some(number) = number else {
            self.delivery = delivery;
            return 0;
        };
        let late = kept.filter(|_| self.fate.is_some());
        self.forms.for_each(Vec::clear);
        let mut texts = Texts::new(kind, &delivery, offset);
        let mut seat = Seat { room: number, member: 0 };
        let mut receivers = 0;
        while let Some(who) = self.hub.member(seat) {
            let Some(speaks) = self.speaks(who) else {
                self.vacate(seat);
                continue;
            };
            seat.member += 1;
            if let Some((now, words)) = &late {
                receivers += usize::from(self.let_wait(who, speaks, words, data, *now));
                continue;
            }
            if !self.encode(who, speaks, message, &mut texts) {
                continue;
            }
            receivers += 1;
            if !self.hand_over(engine, who, speaks, &mut texts) {
                self.slow.push(who);
            }
        }
        self.delivery = delivery;
        self.totals.delivered += receivers as u64;
        self.drop_slow(engine);
        if let Some((now, _)) = late {
            self.hand_over_late(engine, now);
        }
        receivers
    }

    /// The things that a member's messages are; `None` if it is gone.
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

    /// The connection that a member gets forms by; `None` for a session whose requests are answered.
    fn connection_of(&mut self, who: Who) -> Option<ConnectionId> {
        match who {
            Who::Session(number, _) => self.socket_of(number),
            Who::Socket(id) => Some(id),
        }
    }

    /// The WebSocket of a session, if it has one.
    fn socket_of(&mut self, number: u32) -> Option<ConnectionId> {
        self.sessions.find(number)?.socket()
    }

    /// Writes a message in the form that a member gets it in, unless it is written so already. Returns false for a
    /// member that cannot have it.
    fn encode(
        &mut self,
        who: Who,
        speaks: Speaks,
        message: Message<'_>,
        texts: &mut Texts<'_>,
    ) -> bool {
        let Some(to) = self.connection_of(who) else { return texts.for_session(speaks).is_some() };
        let Self { forms, peers, sessions, stack, .. } = self;
        let namespace = sessions.namespace(who);
        if speaks == Speaks::Packets && forms.namespace != namespace {
            forms.packet.clear();
            namespace.clone_into(&mut forms.namespace);
        }
        let form = forms.of(speaks);
        if !form.is_empty() && !stack.has_layers() {
            return true;
        }
        form.clear();
        let Some(peer) = peers.find(to) else { return false };
        let written = match speaks {
            Speaks::Messages | Speaks::Polls | Speaks::Requests => peer.machine.send(message, form),
            Speaks::Packets if message.kind == Kind::Binary => {
                let event = binary_message(namespace, texts.offset);
                let event = Message { kind: Kind::Text, payload: event.as_bytes() };
                peer.machine.send(event, form).and_then(|()| peer.machine.send(message, form))
            }
            Speaks::Frames | Speaks::Packets => {
                let offset = texts.offset;
                let Some(json) = texts.json() else { return false };
                let is_packet = speaks == Speaks::Packets;
                let text = match is_packet {
                    true => message_packet(namespace, json, offset),
                    false => message_frame(json),
                };
                let text = Message { kind: Kind::Text, payload: text.as_bytes() };
                peer.machine.send(text, form)
            }
            Speaks::Stream(stream) => {
                let Some(text) = texts.published() else { return false };
                server::append(&mut peer.machine, stream, text, form)
            }
        };
        written.is_ok()
    }

    /// Sends the message that was written last to a member, or its text to a session whose requests are answered; false
    /// for one that does not read.
    fn hand_over<E: Engine>(
        &mut self,
        engine: &mut E,
        who: Who,
        speaks: Speaks,
        texts: &mut Texts<'_>,
    ) -> bool {
        let to = match (self.connection_of(who), who) {
            (Some(to), _) | (None, Who::Socket(to)) => to,
            (None, Who::Session(number, _)) => {
                let given = texts.for_session(speaks);
                return given.is_none_or(|given| self.give(engine, who, number, given));
            }
        };
        let form = self.forms.of(speaks);
        engine.send(to, form);
        self.totals.bytes_sent += form.len() as u64;
        engine.unsent(to) <= self.queue_max
    }

    /// Drops the receivers that do not read.
    fn drop_slow<E: Engine>(&mut self, engine: &mut E) {
        while let Some(who) = self.slow.pop() {
            let is_gone = match who {
                Who::Session(number, _) => self.sessions.find(number).is_none(),
                Who::Socket(id) => self.peers.find(id).is_none(),
            };
            if is_gone {
                continue; // A session is slow in each of its namespaces.
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

    /// Sends words to a member; to one over WebSocket at the latest when all of its bytes have been taken in.
    fn answer<E: Engine>(&mut self, engine: &mut E, who: Who, words: &[&[u8]]) {
        let mut words = words.concat();
        let id = match who {
            Who::Socket(id) => id,
            Who::Session(number, _) => {
                // The name of its room may be none that JSON can hold.
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
        // A machine that takes no message is one whose end has begun.
        let _sent: Result<_, _> =
            peer.machine.send(Message { kind: Kind::Text, payload: &words }, &mut self.tx);
        if self.tx.len() >= TX_LEN {
            flush(engine, id, &mut self.tx, &mut self.totals.bytes_sent);
        }
    }

    /// A connection is gone: it leaves all its rooms, and the session ends that it received for or was posting to.
    fn leave_all<E: Engine>(&mut self, engine: &mut E, id: ConnectionId) {
        self.receiver_is_gone(engine, id);
        self.post_is_torn(engine, id);
        let Some(peer) = self.peers.find(id) else { return };
        for seat in std::mem::take(&mut peer.state.seats) {
            self.vacate(seat);
        }
    }

    /// Nobody is at a seat any more: another member of its room moves there.
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

/// A message as JSON; `None` if it is not text.
fn json_of(message: &[u8]) -> Option<String> {
    let mut json = String::with_capacity(message.len() + 16);
    write_text(str::from_utf8(message).ok()?, &mut json);
    Some(json)
}

/// The texts that members get of a delivery `message ROOM`, a line end, and what was published; each is made once.
#[derive(Debug)]
struct Texts<'a> {
    kind: Kind,
    delivery: &'a [u8],
    /// The offset that clients of Socket.IO get it with, where they may come back.
    offset: Option<u64>,
    /// All of it as an attachment of Socket.IO.
    attachment: Option<String>,
    /// All of it as JSON; `None` inside if it is not text.
    json: Option<Option<String>>,
    /// The text that was published; `None` inside if it is none.
    published: Option<Option<&'a str>>,
}

impl<'a> Texts<'a> {
    const fn new(kind: Kind, delivery: &'a [u8], offset: Option<u64>) -> Self {
        Self { kind, delivery, offset, attachment: None, json: None, published: None }
    }

    fn of(words: &'a Words) -> Self {
        Self::new(words.kind, &words.bytes, words.offset)
    }

    fn json(&mut self) -> Option<&str> {
        self.json.get_or_insert_with(|| json_of(self.delivery)).as_deref()
    }

    fn published(&mut self) -> Option<&'a str> {
        let delivery = self.delivery;
        *self.published.get_or_insert_with(|| {
            let line = delivery.iter().position(|byte| *byte == b'\n')?;
            str::from_utf8(&delivery[line + 1..]).ok()
        })
    }

    /// The form in which a session is given it whose requests are answered.
    fn for_session(&mut self, speaks: Speaks) -> Option<Given<'_>> {
        let offset = self.offset;
        Some(match (speaks, self.kind) {
            (Speaks::Polls, _) => Given { kind: Kind::Text, json: self.published()?, offset },
            (Speaks::Packets, Kind::Binary) => {
                let json = self.attachment.get_or_insert_with(|| attachment(self.delivery));
                Given { kind: Kind::Binary, json, offset }
            }
            (_, _) => Given { kind: Kind::Text, json: self.json()?, offset },
        })
    }
}

/// The most rooms that a connection is in, or a session in all its namespaces together.
const ROOMS_EACH_MAX: usize = 1024;
