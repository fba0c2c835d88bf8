//! Clients that speak Socket.IO: requests of Engine.IO polling, and packets in them or over WebSocket.

use super::Relay;
use super::batch::{Speaks, Texts};
use super::hub::Who;
use super::recovery::{Lost, Recovered};
use super::sessions::{Announced, Heart, Names, SocketIo};
use engine::{ConnectionId, Engine};
use units::Instant;
use wire::Kind;
use wire::socketio::server::{
    Asked, CLOSE, CONNECT_TIMEOUT, Fault, NAMESPACE_LEN_MAX, NOOP, PAYLOAD_LEN_MAX, PING, POLL,
    Packet, Said, acknowledged, add, connected, new_sid, no_namespace, opening, packets, refuse,
};
use wire::sockjs::server::{self, Receiver, Request};

impl Relay {
    /// Handles an Engine.IO request. Returns false if its connection cannot go on.
    pub(super) fn engine_io<E: Engine>(
        &mut self,
        engine: &mut E,
        id: ConnectionId,
        asked: Asked<'_>,
        request: &Request<'_>,
    ) -> bool {
        match asked {
            Asked::Open => self.open_session(engine, id, POLL),
            Asked::Poll { sid } => self.poll(engine, id, sid),
            Asked::Post { sid } => self.post_packets(engine, id, sid, request.body),
            Asked::Preflight => self.write(engine, id, |machine, origin, tx| {
                server::permit(machine, "GET, POST", request.headers, origin, tx)
            }),
            Asked::Wrong(fault) => self.refuse_by(engine, id, fault),
        }
    }

    /// Begins a session: answers its request with the opening packet alone, or sends that first over WebSocket.
    pub(super) fn open_session<E: Engine>(
        &mut self,
        engine: &mut E,
        id: ConnectionId,
        way: Receiver<'static>,
    ) -> bool {
        let (sid, now) = (new_sid(&mut self.entropy), engine.now());
        let number = self.sessions.begin(&sid, now);
        if let Some(session) = self.sessions.find(number) {
            let heart = Heart::Beats(now);
            let joins_by = now + CONNECT_TIMEOUT;
            session.socketio =
                Some(SocketIo { joins_by, heart, posting: None, upgrade: None, announced: None });
            session.spaces[0].is_connected = false;
            add(&opening(&sid, way.transport), &mut session.waiting);
        }
        self.attach(engine, id, number, way);
        true
    }

    /// Handles a poll for the packets of a session. A second concurrent poll closes the session. During an upgrade,
    /// polls are answered at once, so that the client can stop polling.
    fn poll<E: Engine>(&mut self, engine: &mut E, id: ConnectionId, sid: &str) -> bool {
        let number = match self.session_that_polls(sid) {
            Ok(number) => number,
            Err(fault) => return self.refuse_by(engine, id, fault),
        };
        if self.sessions.find(number).is_some_and(|session| session.receiver.is_some()) {
            self.close_session(engine, number, CLOSE);
            return self.refuse_by(engine, id, Fault::BadRequest);
        }
        self.attach(engine, id, number, POLL);
        let upgrade = self.sessions.find(number).and_then(|session| session.upgrade());
        if upgrade.is_some_and(|upgrade| upgrade.is_probed) {
            self.say(engine, number, NOOP); // No effect if packets answered the poll.
        }
        true
    }

    /// Notes that a connection has begun to post to a session, so that another post before its end is noticed, which
    /// closes the session.
    pub(super) fn begin_post<E: Engine>(&mut self, engine: &mut E, id: ConnectionId) {
        let Some(peer) = self.peers.find(id).filter(|peer| peer.state.posts_to.is_none()) else {
            return;
        };
        let Some(head) = peer.machine.begun() else { return };
        let read = Request::read(head);
        let Some(Asked::Post { sid }) = Asked::read(&read) else { return };
        let sid = sid.to_owned();
        // An error of the request is reported once the request is complete.
        let Ok(number) = self.session_that_polls(&sid) else { return };
        if self.close_overlapped(engine, id, number) {
            return;
        }
        let Some(session) = self.sessions.find(number) else { return };
        let Some(state) = &mut session.socketio else { return };
        state.posting = Some(id);
        if let Some(peer) = self.peers.find(id) {
            peer.state.posts_to = Some(number);
        }
    }

    /// Closes a session that a connection posts to before the post of another has ended, and cuts that other
    /// connection. Returns false if there is no other post.
    fn close_overlapped<E: Engine>(
        &mut self,
        engine: &mut E,
        id: ConnectionId,
        number: u32,
    ) -> bool {
        let state = self.sessions.find(number).and_then(|session| session.socketio.as_mut());
        let other = state.and_then(|state| state.posting.take()).filter(|it| *it != id);
        let is_amid = |it: &ConnectionId| {
            self.peers.find(*it).is_some_and(|peer| peer.state.posts_to == Some(number))
        };
        let Some(other) = other.filter(is_amid) else { return false };
        self.close_session(engine, number, CLOSE);
        self.leave_all(engine, other);
        self.peers.close(engine, other);
        true
    }

    /// Handles a connection that is gone: if its post was incomplete, the session ends, unless that has gone over to
    /// WebSocket.
    pub(super) fn post_is_torn<E: Engine>(&mut self, engine: &mut E, id: ConnectionId) {
        if let Some(number) = self.post_is_over(id)
            && self.socket_of(number).is_none()
        {
            self.note_loss(number, engine.now());
            self.close_session(engine, number, CLOSE);
        }
    }

    /// Ends the post of a connection, whether or not it is accepted. Returns the Socket.IO session that it was noted to
    /// post to.
    pub(super) fn post_is_over(&mut self, id: ConnectionId) -> Option<u32> {
        let number = self.peers.find(id)?.state.posts_to.take()?;
        let state = self.sessions.find(number)?.socketio.as_mut()?;
        state.posting.take_if(|it| *it == id).map(|_| number)
    }

    /// Handles a post of packets to a session.
    fn post_packets<E: Engine>(
        &mut self,
        engine: &mut E,
        id: ConnectionId,
        sid: &str,
        body: &[u8],
    ) -> bool {
        let number = match self.session_that_polls(sid) {
            Ok(number) => number,
            Err(fault) => return self.refuse_by(engine, id, fault),
        };
        if self.close_overlapped(engine, id, number) {
            return self.refuse_by(engine, id, Fault::BadRequest);
        }
        if body.len() > PAYLOAD_LEN_MAX {
            return self.refuse_request(engine, id, "413 Payload Too Large", "");
        }
        let Some(packets) = packets(body) else {
            self.close_session(engine, number, CLOSE);
            return self.refuse_by(engine, id, Fault::BadRequest);
        };
        let is_fine = self.write(engine, id, |machine, origin, tx| {
            server::say(machine, "200 OK", "ok", origin, tx)
        });
        for said in packets {
            if !self.understand_packet(engine, number, said) {
                break;
            }
        }
        is_fine
    }

    /// Handles a packet. Returns false if its session has ended.
    pub(super) fn understand_packet<E: Engine>(
        &mut self,
        engine: &mut E,
        number: u32,
        said: Said,
    ) -> bool {
        let now = engine.now();
        let Some(session) = self.sessions.find(number) else { return false };
        let Some(state) = &mut session.socketio else { return false };
        match said {
            Said::Pong => state.heart = Heart::Beats(now),
            Said::Nothing => {}
            Said::Close => {
                // Only the connection ends: a client that leaves a namespace for good says so before.
                self.note_loss(number, now);
                self.close_session(engine, number, NOOP);
                return false;
            }
            Said::Attachment(bytes) => {
                let Some(announced) = &mut state.announced else {
                    return self.break_off(engine, number);
                };
                announced.attachments -= 1;
                if let Some(it) = state.announced.take_if(|it| it.attachments == 0) {
                    let Announced { index, packet, .. } = *it;
                    return self.understand_inside(engine, (number, index), packet, &bytes);
                }
            }
            Said::Inside { .. } if state.announced.is_some() => {
                return self.break_off(engine, number);
            }
            Said::Inside { namespace, packet: Packet::Connect, .. } => {
                return self.join_namespace(engine, number, &namespace, None);
            }
            Said::Inside { namespace, packet: Packet::Return { pid, offset }, .. } => {
                let recovered = self.recovery.take(&pid, &namespace, offset, now);
                return self.join_namespace(
                    engine,
                    number,
                    &namespace,
                    recovered.map(|it| (pid, it)),
                );
            }
            Said::Inside { packet: Packet::Acknowledged, attachments: 0, .. } => {}
            Said::Inside { namespace, packet, attachments } => {
                let Some(index) = session.index_of(&namespace) else {
                    return self.break_off(engine, number);
                };
                if attachments == 0 {
                    return self.understand_inside(engine, (number, index), packet, &[]);
                }
                if let Some(state) = &mut session.socketio {
                    state.announced = Some(Box::new(Announced { index, packet, attachments }));
                }
            }
        }
        true
    }

    /// Ends a session whose client broke the protocol. Returns false: the session has ended.
    pub(super) fn break_off<E: Engine>(&mut self, engine: &mut E, number: u32) -> bool {
        self.totals.broken += 1;
        self.close_session(engine, number, CLOSE);
        false
    }

    /// Handles a packet for a session in the namespace with this index, once all attachments have arrived; `attachment`
    /// is the last of them. Returns false if the session has ended.
    fn understand_inside<E: Engine>(
        &mut self,
        engine: &mut E,
        (number, index): (u32, u32),
        packet: Packet,
        attachment: &[u8],
    ) -> bool {
        let who = Who::Session(number, index);
        let ack = match packet {
            Packet::Acknowledged | Packet::Connect | Packet::Return { .. } => None,
            Packet::Disconnect => {
                self.leave_namespace(number, index);
                None
            }
            Packet::Binary { ack } => {
                self.hear(engine, who, Kind::Binary, attachment);
                ack
            }
            Packet::Message { text, ack } => {
                self.hear(engine, who, Kind::Text, text.as_bytes());
                ack
            }
            Packet::OtherEvent { ack } => {
                self.refuse(engine, who, NO_MESSAGE);
                ack
            }
        };
        ack.is_none_or(|ack| {
            let packet = acknowledged(self.sessions.namespace(who), ack);
            self.tell(engine, number, &packet)
        })
    }

    /// Joins a client to a namespace, whose name may be any, or brings it back there by an id. Returns false if its
    /// session has ended.
    fn join_namespace<E: Engine>(
        &mut self,
        engine: &mut E,
        number: u32,
        namespace: &str,
        recovered: Option<(String, Recovered)>,
    ) -> bool {
        let Some(session) = self.sessions.find(number) else { return false };
        if namespace.len() > NAMESPACE_LEN_MAX + ",".len() || !session.enter(namespace) {
            return self.tell(engine, number, &no_namespace(namespace));
        }
        if let Some(state) = &mut session.socketio {
            state.joins_by = Instant::NEVER;
        }
        let sid = match (&recovered, namespace) {
            (Some((_, recovered)), _) => recovered.lost.sid.clone(),
            (None, "") => session.name.clone(),
            (None, _) => new_sid(&mut self.entropy).into(),
        };
        if !self.recovery.is_on() {
            return self.tell(engine, number, &connected(namespace, &sid, None));
        }
        let pid = match recovered {
            Some((pid, recovered)) => {
                self.recover(number, namespace, recovered);
                pid.into()
            }
            None => new_sid(&mut self.entropy).into_boxed_str(),
        };
        let packet = connected(namespace, &sid, Some(&pid));
        if let Some(session) = self.sessions.find(number)
            && let Some(index) = session.index_of(namespace)
            && let Some(space) = session.spaces.get_mut(index as usize)
        {
            space.names = Some(Box::new(Names { sid, pid }));
        }
        self.tell(engine, number, &packet)
    }

    /// Puts a client that has come back into its rooms again, and queues what it has missed.
    fn recover(&mut self, number: u32, namespace: &str, recovered: Recovered) {
        let Some(index) = self.sessions.find(number).and_then(|it| it.index_of(namespace)) else {
            return;
        };
        for room in &recovered.lost.rooms {
            // Rooms beyond the limit are left out.
            let _joined: Result<_, _> = self.join(Who::Session(number, index), room);
        }
        let Some(session) = self.sessions.find(number) else { return };
        for words in &recovered.missed {
            if let Some(given) = Texts::of(words).for_session(Speaks::Packets) {
                session.add(namespace, given);
                self.totals.recovered += 1;
            }
        }
    }

    /// Notes that the connection of a session is lost: its client may come back.
    pub(super) fn note_loss(&mut self, number: u32, now: Instant) {
        let Some(session) = self.sessions.find(number) else { return };
        for space in session.spaces.iter_mut().filter(|space| space.is_connected) {
            let Some(names) = space.names.take() else { continue };
            let Names { sid, pid } = *names;
            let rooms = space.seats.iter().map(|seat| self.hub.name(*seat).into()).collect();
            let lost = Lost { namespace: space.name.clone(), sid, rooms, at: now };
            self.recovery.lose(pid, lost);
        }
    }

    /// Removes a client from a namespace, and from all rooms that it has joined there; drops its waiting deliveries.
    fn leave_namespace(&mut self, number: u32, index: u32) {
        let Some(space) = self.sessions.space(number, index) else { return };
        (space.is_connected, space.line) = (false, None);
        for seat in std::mem::take(&mut space.seats) {
            self.vacate(seat);
        }
    }

    /// Gives a session a packet. Returns false if the session has ended, because it has not received for so long that
    /// too much waits.
    fn tell<E: Engine>(&mut self, engine: &mut E, number: u32, packet: &str) -> bool {
        let Some(session) = self.sessions.find(number) else { return false };
        add(packet, &mut session.waiting);
        let is_fine = self.hand_out(engine, number);
        if !is_fine {
            self.slow.push(Who::session(number));
            self.drop_slow(engine);
        }
        is_fine
    }

    /// Sends a session a sign of life, which a client of Socket.IO answers.
    pub(super) fn beat<E: Engine>(&mut self, engine: &mut E, number: u32) {
        let now = engine.now();
        let Some(session) = self.sessions.find(number) else { return };
        match &mut session.socketio {
            Some(state) => {
                state.heart = Heart::AwaitPong(now);
                self.tell(engine, number, PING);
            }
            None => self.say_or_beat(engine, number, None),
        }
    }

    /// Ends a session: answers the waiting poll, if there is one, with `last`, and closes its WebSocket.
    pub(super) fn close_session<E: Engine>(&mut self, engine: &mut E, number: u32, last: &str) {
        let socket = self.socket_of(number);
        if socket.is_none() {
            self.say(engine, number, last);
        }
        self.end_session(engine, number);
        if let Some(id) = socket {
            self.close_socket(engine, id);
        }
    }

    /// The session with this name, for requests; a session over WebSocket takes none.
    fn session_that_polls(&mut self, sid: &str) -> Result<u32, Fault> {
        let number = self.session_of_socketio(sid).ok_or(Fault::UnknownSession)?;
        match self.socket_of(number) {
            Some(_) => Err(Fault::BadRequest),
            None => Ok(number),
        }
    }

    pub(super) fn session_of_socketio(&mut self, sid: &str) -> Option<u32> {
        let number = self.sessions.named(sid)?;
        self.sessions.find(number)?.socketio.is_some().then_some(number)
    }

    fn refuse_by<E: Engine>(&mut self, engine: &mut E, id: ConnectionId, fault: Fault) -> bool {
        self.totals.refused += 1;
        self.write(engine, id, |machine, origin, tx| refuse(machine, fault, origin, tx))
    }
}

/// The words for events other than messages.
const NO_MESSAGE: &str =
    "a message must be an event named `message` with exactly one text or one attachment";
