//! Clients that speak SockJS or Socket.IO over HTTP, or poll plainly: the part of the relay for requests.

use super::Relay;
use super::ending::GO_AWAY;
use super::hub::Who;
use super::sessions::{Due, Given, Receiver};
use engine::{ConnectionId, Engine};
use units::Instant;
use wire::socketio::server::CLOSE;
use wire::sockjs::server::{self, Asked, Request, STREAM_LEN_MAX, Sender};
use wire::{Connection, Kind, MisuseError, socketio};

impl Relay {
    /// Handles the request that was received last. Returns false if its connection cannot go on.
    pub(super) fn request<E: Engine>(&mut self, engine: &mut E, id: ConnectionId) -> bool {
        if self.session_of(id).is_some() {
            // Its answer would be taken for that to the waiting request.
            return false;
        }
        let request = std::mem::take(&mut self.heard);
        let read = Request::read(&request);
        self.post_is_over(id);
        if let Some(peer) = self.peers.find(id)
            && peer.state.origin.as_deref() != read.origin
        {
            peer.state.origin = read.origin.map(Box::from);
        }
        let is_fine = match read.asked {
            _ if self.is_ending() && !self.receives_for_known(&read) => {
                self.refuse_request(engine, id, "503 Service Unavailable", ENDING)
            }
            Asked::Info => {
                let entropy = self.entropy.next_u32();
                self.write(engine, id, |machine, origin, tx| {
                    server::info(machine, entropy, origin, tx)
                })
            }
            Asked::Iframe => {
                self.write(engine, id, |machine, _origin, tx| server::iframe(machine, read.tag, tx))
            }
            Asked::Preflight { method } => self.write(engine, id, |machine, origin, tx| {
                server::permit(machine, method, read.headers, origin, tx)
            }),
            Asked::Wrong { status, words } => self.refuse_request(engine, id, status, words),
            Asked::Receive { session, receiver } => self.receive(engine, id, session, receiver),
            Asked::Post { session, body, sender } => self.post(engine, id, session, sender, body),
            Asked::Nothing => match socketio::server::Asked::read(&read) {
                Some(asked) => self.engine_io(engine, id, asked, &read),
                None => self.plain(engine, id, &read),
            },
        };
        self.heard = request;
        is_fine
    }

    /// Handles a request for the frames of a session.
    fn receive<E: Engine>(
        &mut self,
        engine: &mut E,
        id: ConnectionId,
        name: &str,
        way: server::Receiver<'_>,
    ) -> bool {
        let has_begun =
            self.write(engine, id, |machine, origin, tx| server::begin(machine, way, origin, tx));
        if !has_begun {
            return false;
        }
        if self.sessions.is_closed(name, engine.now()) {
            return self.say_last(engine, id, way, GO_AWAY);
        }
        let known = self.sessions.named(name);
        let number = known.unwrap_or_else(|| self.sessions.begin(name, engine.now()));
        let Some(session) = self.sessions.find(number) else { return false };
        if session.receiver.is_some() {
            return self.say_last(engine, id, way, TAKEN);
        }
        self.attach(engine, id, number, way);
        if known.is_none() {
            self.say(engine, number, "o");
        }
        true
    }

    /// Ends a response that has begun with its only frame. Returns false if its connection takes nothing more.
    fn say_last<E: Engine>(
        &mut self,
        engine: &mut E,
        id: ConnectionId,
        way: server::Receiver<'_>,
        frame: &str,
    ) -> bool {
        self.write(engine, id, |machine, origin, tx| {
            server::frame(machine, way, frame, origin, tx)?;
            if way.transport.is_poll() { Ok(()) } else { server::end(machine, tx) }
        })
    }

    /// Makes a connection the receiver of a session, and sends it at once what waits.
    pub(super) fn attach<E: Engine>(
        &mut self,
        engine: &mut E,
        id: ConnectionId,
        number: u32,
        way: server::Receiver<'_>,
    ) {
        let Some(session) = self.sessions.find(number) else { return };
        let server::Receiver { transport, callback } = way;
        session.receiver = Some(Receiver { id, transport, callback: callback.into() });
        session.streamed_len = 0;
        session.since = engine.now();
        let has_waiting = session.waiting_len() > 0;
        if let Some(peer) = self.peers.find(id) {
            peer.state.session = Some(number);
        }
        if has_waiting {
            self.say_waiting(engine, number);
        }
    }

    /// Handles a post of messages to a session.
    fn post<E: Engine>(
        &mut self,
        engine: &mut E,
        id: ConnectionId,
        name: &str,
        sender: Sender,
        body: &[u8],
    ) -> bool {
        let Some(number) = self.sessions.named(name) else {
            return self.refuse_request(engine, id, "404 Not Found", UNKNOWN);
        };
        let texts = match sender.texts(body) {
            Ok(texts) => texts,
            Err(words) => return self.refuse_request(engine, id, ERROR, words),
        };
        let is_fine = self
            .write(engine, id, |machine, origin, tx| server::accept(machine, sender, origin, tx));
        for text in texts {
            self.hear(engine, Who::session(number), Kind::Text, text.as_bytes());
        }
        is_fine
    }

    /// Gives a session a message, as the member `who`: text as JSON or unchanged, bytes as an attachment. Returns false
    /// if it has not received for so long that too much waits: then it must end.
    pub(super) fn give<E: Engine>(
        &mut self,
        engine: &mut E,
        who: Who,
        number: u32,
        given: Given<'_>,
    ) -> bool {
        let namespace = self.sessions.namespace(who).to_owned();
        let Some(session) = self.sessions.find(number) else { return true };
        session.add(&namespace, given);
        self.hand_out(engine, number)
    }

    /// Sends what waits for a session, if a connection receives for it. Returns false as [`give`](Self::give) does.
    pub(super) fn hand_out<E: Engine>(&mut self, engine: &mut E, number: u32) -> bool {
        let Some(session) = self.sessions.find(number) else { return true };
        let receiver = session.receiver.as_ref().map(|receiver| receiver.id);
        let len = session.waiting_len();
        match receiver {
            Some(_) => self.say_waiting(engine, number),
            None if len > self.queue_max => return false,
            None => {}
        }
        receiver.is_none_or(|id| engine.unsent(id) <= self.queue_max)
    }

    fn say_waiting<E: Engine>(&mut self, engine: &mut E, number: u32) {
        let Some(session) = self.sessions.find(number) else { return };
        let frame = session.take_frame();
        self.say(engine, number, &frame);
    }

    /// Sends a frame to the receiver of a session: it is the entire answer to a poll, and may be the last frame of a
    /// stream.
    pub(super) fn say<E: Engine>(&mut self, engine: &mut E, number: u32, frame: &str) {
        self.say_or_beat(engine, number, Some(frame));
    }

    /// Sends a frame like [`say`](Self::say); without a frame, a sign of life: the frame `h`, or the end of a poll
    /// without a message.
    pub(super) fn say_or_beat<E: Engine>(
        &mut self,
        engine: &mut E,
        number: u32,
        frame: Option<&str>,
    ) {
        let now = engine.now();
        let Some(session) = self.sessions.find(number) else { return };
        let Some(receiver) = session.receiver.clone() else { return };
        session.since = now;
        let (id, is_poll) = (receiver.id, receiver.transport.is_poll());
        let tag = session.plain.is_some().then(|| session.name.clone());
        let mut len = 0;
        self.write(engine, id, |machine, origin, tx| {
            if let Some(tag) = tag {
                return server::answer_poll(machine, &tag, frame, origin, tx);
            }
            len = server::frame(machine, receiver.way(), frame.unwrap_or("h"), origin, tx)?;
            Ok(())
        });
        let Some(session) = self.sessions.find(number) else { return };
        session.streamed_len += len;
        if !is_poll && session.streamed_len < STREAM_LEN_MAX {
            return;
        }
        session.receiver = None;
        if let Some(peer) = self.peers.find(id) {
            peer.state.session = None;
        }
        if !is_poll {
            self.write(engine, id, |machine, _origin, tx| server::end(machine, tx));
        }
    }

    /// Handles a connection that is gone: the session that it received for ends, and what was on its way is lost. If it
    /// only tried to become the session's WebSocket, the session goes on polling.
    pub(super) fn receiver_is_gone<E: Engine>(&mut self, engine: &mut E, id: ConnectionId) {
        let Some(number) = self.session_of(id) else { return };
        let upgrade = self.sessions.find(number).and_then(|session| session.upgrade());
        if upgrade.is_some_and(|upgrade| upgrade.id == id) {
            self.end_upgrade(number);
        } else {
            self.note_loss(number, engine.now());
            self.end_session(engine, number);
        }
    }

    /// Ends a session: it leaves all its rooms, and an upgrade ends with it. Returns the connection that received for
    /// it.
    pub(super) fn end_session<E: Engine>(
        &mut self,
        engine: &mut E,
        number: u32,
    ) -> Option<ConnectionId> {
        // While the session still exists: when it leaves a seat, the member that moves there may be itself, in another
        // namespace.
        while let Some(seat) = self.sessions.find(number)?.take_seat() {
            self.vacate(seat);
        }
        let session = self.sessions.end(number)?;
        if let Some(upgrade) = session.upgrade() {
            self.close_socket(engine, upgrade.id);
        }
        let id = session.receiver?.id;
        if let Some(peer) = self.peers.find(id) {
            peer.state.session = None;
        }
        Some(id)
    }

    /// Ends sessions without a receiver, and sends the others signs of life.
    pub(super) fn keep_sessions<E: Engine>(&mut self, engine: &mut E, now: Instant) {
        for due in self.sessions.due(now) {
            match due {
                Due::End(number) => {
                    self.note_loss(number, now);
                    self.close_session(engine, number, CLOSE);
                }
                Due::Heartbeat(number) => self.beat(engine, number),
                Due::Upgrade(number) => self.give_up_upgrade(engine, number),
            }
        }
    }

    pub(super) fn session_of(&mut self, id: ConnectionId) -> Option<u32> {
        self.peers.find(id)?.state.session
    }

    /// Refuses a request with a status and words.
    pub(super) fn refuse_request<E: Engine>(
        &mut self,
        engine: &mut E,
        id: ConnectionId,
        status: &str,
        words: &str,
    ) -> bool {
        self.totals.refused += 1;
        self.write(engine, id, |machine, origin, tx| {
            server::say(machine, status, words, origin, tx)
        })
    }

    /// Writes to a connection; `write` gets the origin of the page that made its last request. Returns false if the
    /// connection takes nothing more.
    pub(super) fn write<E: Engine>(
        &mut self,
        engine: &mut E,
        id: ConnectionId,
        write: impl FnOnce(&mut Connection, Option<&str>, &mut Vec<u8>) -> Result<(), MisuseError>,
    ) -> bool {
        let Some(peer) = self.peers.find(id).filter(|peer| !peer.over) else { return false };
        self.piece.clear();
        let origin = peer.state.origin.as_deref();
        let is_written = write(&mut peer.machine, origin, &mut self.piece).is_ok();
        engine.send(id, &self.piece);
        self.totals.bytes_sent += self.piece.len() as u64;
        is_written
    }
}

/// The frame for a second receiver of a session.
const TAKEN: &str = "c[2010,\"Another connection still open\"]";

/// The status that sockjs-node uses for its own errors.
const ERROR: &str = "500 Internal Server Error";

/// The words for requests while the relay is ending.
const ENDING: &str = "the relay is shutting down\n";

/// The words for requests to sessions that do not exist.
const UNKNOWN: &str = "unknown session; the first request that receives messages creates it\n";
