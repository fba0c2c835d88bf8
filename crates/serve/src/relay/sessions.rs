//! Sessions of SockJS over HTTP, of Socket.IO and of plain polls: the messages that wait for each, and the connection
//! that receives for it.

use super::hub::{Seat, Who};
use super::late::Line;
use engine::ConnectionId;
use spec::Transport;
use std::collections::{HashMap, VecDeque};
use units::{Instant, Nanos};
use wire::Kind;
use wire::socketio::server::{self, PING_EVERY, PING_TIMEOUT, Packet, UPGRADE_TIMEOUT};
use wire::sockjs::server::{self as sockjs, message_frame};

/// All sessions that have not ended.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    by_name: HashMap<Box<str>, u32>,
    all: Vec<Option<Session>>,
    /// The names of SockJS sessions that the relay has closed, each with the instant of the close.
    closed: HashMap<Box<str>, Instant>,
    /// Places without a session, to be re-used.
    vacant: Vec<u32>,
    /// The instant of the next check of what is due.
    look_at: Instant,
}

/// A session, from the first request that receives for it until it ends.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) name: Box<str>,
    /// The namespaces that it is or was in, the default one first.
    pub(super) spaces: Vec<Space>,
    /// The connection whose request waits for an answer, whose response goes on, or which is its WebSocket.
    pub(super) receiver: Option<Receiver>,
    /// `None`: it speaks SockJS, or polls plainly.
    pub(super) socketio: Option<SocketIo>,
    /// The waiting messages, each of which answers a plain poll; `None`: it speaks SockJS or Socket.IO.
    pub(super) plain: Option<Messages>,
    /// The waiting messages for the next SockJS frame, as JSON separated by commas; or the waiting packets.
    pub(super) waiting: String,
    /// The number of bytes of the response so far.
    pub(super) streamed_len: usize,
    /// The instant of its last frame, or at which a connection began to receive.
    pub(super) since: Instant,
}

/// Messages that are each a response.
#[derive(Debug, Default)]
pub(super) struct Messages {
    all: VecDeque<Box<str>>,
    /// The memory that they take, in bytes.
    len: usize,
}

impl Messages {
    fn add(&mut self, message: &str) {
        self.len += memory_of(message);
        self.all.push_back(message.into());
    }

    fn take(&mut self) -> Option<Box<str>> {
        let first = self.all.pop_front()?;
        self.len -= memory_of(&first);
        Some(first)
    }
}

const fn memory_of(message: &str) -> usize {
    size_of::<Box<str>>() + message.len()
}

/// The state of a session of Socket.IO.
#[derive(Debug)]
pub(super) struct SocketIo {
    /// The instant by which the client must join its first namespace; [`Instant::NEVER`] once it has.
    pub(super) joins_by: Instant,
    pub(super) heart: Heart,
    /// The connection of a post whose body is incomplete.
    pub(super) posting: Option<ConnectionId>,
    /// `None`: it stays with its transport.
    pub(super) upgrade: Option<Upgrade>,
    /// The packet whose attachments are awaited.
    pub(super) announced: Option<Box<Announced>>,
}

/// A packet with outstanding attachments.
#[derive(Debug)]
pub(super) struct Announced {
    /// The index of its namespace.
    pub(super) index: u32,
    pub(super) packet: Packet,
    pub(super) attachments: usize,
}

/// A namespace of Socket.IO in a session; sessions of SockJS and of long polls are in the default one.
#[derive(Debug)]
pub(super) struct Space {
    /// Its name as written in packets, with its leading slash and a trailing comma; empty for the default one.
    pub(super) name: Box<str>,
    /// True from when the client joins it until it leaves.
    pub(super) is_connected: bool,
    pub(super) seats: Vec<Seat>,
    /// The deliveries that wait for it there, if the relay has faults.
    pub(super) line: Option<Box<Line>>,
    /// The names of its client there, if that may come back.
    pub(super) names: Option<Box<Names>>,
}

/// The names of a client that may come back to a namespace.
#[derive(Debug)]
pub(super) struct Names {
    pub(super) sid: Box<str>,
    pub(super) pid: Box<str>,
}

/// The upgrade of a polling session, from the opening of its WebSocket on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Upgrade {
    /// The WebSocket.
    pub(super) id: ConnectionId,
    pub(super) since: Instant,
    /// True once the client has probed it: from then on polls are answered at once.
    pub(super) is_probed: bool,
}

/// The heartbeat of a session of Socket.IO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heart {
    /// The last pong arrived, or the session began, at this instant.
    Beats(Instant),
    /// A ping sent at this instant is not answered yet.
    AwaitPong(Instant),
}

/// A message in the form for a session.
#[derive(Clone, Copy, Debug)]
pub(super) struct Given<'a> {
    pub(super) kind: Kind,
    pub(super) json: &'a str,
    /// The offset that follows it over Socket.IO.
    pub(super) offset: Option<u64>,
}

impl Space {
    fn new(name: &str) -> Self {
        let (seats, line, names) = (Vec::new(), None, None);
        Self { name: name.into(), is_connected: true, seats, line, names }
    }
}

impl Session {
    /// The number of rooms that it is in, each counted once per namespace.
    pub(super) fn rooms(&self) -> usize {
        self.spaces.iter().map(|space| space.seats.len()).sum()
    }

    /// Takes a seat to leave, in any namespace.
    pub(super) fn take_seat(&mut self) -> Option<Seat> {
        self.spaces.iter_mut().find_map(|space| space.seats.pop())
    }

    /// The index of a namespace, if the client is in it.
    pub(super) fn index_of(&self, namespace: &str) -> Option<u32> {
        let is_it = |space: &Space| space.is_connected && *space.name == *namespace;
        u32::try_from(self.spaces.iter().position(is_it)?).ok()
    }

    /// Joins its client to a namespace. Returns false if there would be too many.
    pub(super) fn enter(&mut self, namespace: &str) -> bool {
        if let Some(known) = self.spaces.iter_mut().find(|space| *space.name == *namespace) {
            known.is_connected = true;
            return true;
        }
        let may_enter = self.spaces.len() <= SPACES_MAX;
        if may_enter {
            self.spaces.push(Space::new(namespace));
        }
        may_enter
    }

    /// Adds a message to those that wait. A text is given as JSON or, for a plain poll, unchanged; bytes are given as
    /// an attachment of Socket.IO. Over Socket.IO, either belongs to `namespace`.
    pub(super) fn add(&mut self, namespace: &str, given: Given<'_>) {
        let Given { kind, json, offset } = given;
        if let Some(messages) = &mut self.plain {
            messages.add(json);
            return;
        }
        if self.socketio.is_some() {
            if kind == Kind::Text {
                server::add(&server::message(namespace, json, offset), &mut self.waiting);
            } else {
                server::add(&server::binary_message(namespace, offset), &mut self.waiting);
                server::add(json, &mut self.waiting);
            }
            return;
        }
        if !self.waiting.is_empty() {
            self.waiting.push(',');
        }
        self.waiting.push_str(json);
    }

    /// The number of waiting bytes.
    pub(super) fn waiting_len(&self) -> usize {
        self.plain.as_ref().map_or(self.waiting.len(), |messages| messages.len)
    }

    /// Takes everything that waits as one frame; for plain polls, the first message only.
    pub(super) fn take_frame(&mut self) -> String {
        if let Some(messages) = &mut self.plain {
            return messages.take().unwrap_or_default().into();
        }
        if self.socketio.is_some() {
            return std::mem::take(&mut self.waiting);
        }
        let frame = message_frame(&self.waiting);
        self.waiting.clear();
        self.waiting.shrink_to(WAITING_LEN_KEPT_MAX);
        frame
    }

    /// Its WebSocket, if it has one.
    pub(super) fn socket(&self) -> Option<ConnectionId> {
        self.receiver.as_ref().filter(|receiver| receiver.is_socket()).map(|receiver| receiver.id)
    }

    /// The upgrade in progress, if there is one.
    pub(super) fn upgrade(&self) -> Option<Upgrade> {
        self.socketio.as_ref()?.upgrade
    }

    /// The action that is due for it at `now`.
    fn due(&self, number: u32, now: Instant) -> Option<Due> {
        let quiet = now.since(self.since);
        if let Some(upgrade) = self.upgrade()
            && now.since(upgrade.since) >= UPGRADE_TIMEOUT
        {
            return Some(Due::Upgrade(number));
        }
        if self.socketio.as_ref().is_some_and(|it| it.joins_by <= now) {
            return Some(Due::End(number));
        }
        match (self.socketio.as_ref().map(|it| it.heart), &self.receiver) {
            (Some(Heart::Beats(at)), _) if now.since(at) >= PING_EVERY => {
                Some(Due::Heartbeat(number))
            }
            (Some(Heart::AwaitPong(at)), _) if now.since(at) >= PING_TIMEOUT => {
                Some(Due::End(number))
            }
            (None, Some(_)) if quiet >= HEARTBEAT_EVERY => Some(Due::Heartbeat(number)),
            (None, None) if quiet >= DISCONNECT_DELAY => Some(Due::End(number)),
            (Some(_) | None, _) => None,
        }
    }
}

/// A connection that receives for a session.
#[derive(Clone, Debug)]
pub(super) struct Receiver {
    pub(super) id: ConnectionId,
    pub(super) transport: Transport,
    /// The callback function of scripts; empty for other transports.
    pub(super) callback: Box<str>,
}

impl Receiver {
    pub(super) fn way(&self) -> sockjs::Receiver<'_> {
        sockjs::Receiver { transport: self.transport, callback: &self.callback }
    }

    fn is_socket(&self) -> bool {
        self.transport == server::SOCKET.transport
    }
}

/// An action that is due for a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// Ends it: its receiver left long ago, has not answered a ping, or has not joined a namespace.
    End(u32),
    /// Sends a sign of life: its receiver has got nothing for long.
    Heartbeat(u32),
    /// Gives up its upgrade, which was not completed in time.
    Upgrade(u32),
}

impl Sessions {
    /// The session of this name.
    pub(super) fn named(&self, name: &str) -> Option<u32> {
        self.by_name.get(name).copied()
    }

    /// Begins a session. Returns its number.
    pub(super) fn begin(&mut self, name: &str, now: Instant) -> u32 {
        let session = Session {
            name: name.into(),
            spaces: vec![Space::new("")],
            receiver: None,
            socketio: None,
            plain: None,
            waiting: String::new(),
            streamed_len: 0,
            since: now,
        };
        let number = self.vacant.pop().unwrap_or_else(|| {
            self.all.push(None);
            u32::try_from(self.all.len() - 1).expect("there are fewer sessions than 2^32")
        });
        self.all[number as usize] = Some(session);
        self.by_name.insert(name.into(), number);
        number
    }

    /// Ends a session that has left its seats.
    pub(super) fn end(&mut self, number: u32) -> Option<Session> {
        let session = self.all.get_mut(number as usize)?.take()?;
        self.by_name.remove(&session.name);
        self.vacant.push(number);
        Some(session)
    }

    /// Notes that the relay closes a session: a SockJS client is told so whenever it asks in the next seconds.
    pub(super) fn close(&mut self, number: u32, now: Instant) {
        if let Some(session) = self.find(number)
            && session.socketio.is_none()
            && session.plain.is_none()
        {
            let name = session.name.clone();
            self.closed.insert(name, now);
        }
    }

    /// True for the name of a session that the relay closed less than [`DISCONNECT_DELAY`] ago.
    pub(super) fn is_closed(&self, name: &str, now: Instant) -> bool {
        self.closed.get(name).is_some_and(|since| now.since(*since) < DISCONNECT_DELAY)
    }

    /// The session, unless it has ended.
    pub(super) fn find(&mut self, number: u32) -> Option<&mut Session> {
        self.all.get_mut(number as usize)?.as_mut()
    }

    /// A namespace of a session, unless the session has ended.
    pub(super) fn space(&mut self, number: u32, index: u32) -> Option<&mut Space> {
        self.find(number)?.spaces.get_mut(index as usize)
    }

    /// The namespace of a member, as written in packets; empty for the default one, or none.
    pub(super) fn namespace(&mut self, who: Who) -> &str {
        let Who::Session(number, index) = who else { return "" };
        self.space(number, index).map_or("", |space| &space.name)
    }

    /// The numbers of all sessions.
    pub(super) fn numbers(&self) -> Vec<u32> {
        let all = (0..).zip(&self.all);
        all.filter(|(_, session)| session.is_some()).map(|(number, _)| number).collect()
    }

    /// Returns the actions that are due at `now`; checks once a second.
    pub(super) fn due(&mut self, now: Instant) -> Vec<Due> {
        if now < self.look_at || (self.by_name.is_empty() && self.closed.is_empty()) {
            return Vec::new();
        }
        self.look_at = now + LOOK_EVERY;
        self.closed.retain(|_, since| now.since(*since) < DISCONNECT_DELAY);
        let all = (0..).zip(&self.all);
        all.filter_map(|(number, session)| session.as_ref()?.due(number, now)).collect()
    }
}

/// The most namespaces of a session, now or earlier, besides the default one.
const SPACES_MAX: usize = 64;

/// The time between two checks of all sessions.
const LOOK_EVERY: Nanos = Nanos::from_secs(1);

/// The most memory that a session keeps for later messages, in bytes.
const WAITING_LEN_KEPT_MAX: usize = 256;

/// The time from the departure of the last receiver to the end of a session without Socket.IO, as in sockjs-node.
const DISCONNECT_DELAY: Nanos = Nanos::from_secs(5);

/// The time without a frame after which a receiver without Socket.IO gets a sign of life, as in sockjs-node.
const HEARTBEAT_EVERY: Nanos = Nanos::from_secs(25);
