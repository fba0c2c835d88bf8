//! The engine of this machine: epoll, edge-triggered, on the calling thread.
//!
//! A connection is registered once, for everything, and never touched again until it is closed. An edge says that
//! something changed; a read that fills less than the buffer says that nothing is left, so that a message costs one
//! `recv`, one `send` and its share of one `epoll_pwait2`, whose time-out has nanoseconds.
//!
//! Left out: threads. Every worker has an engine of its own.

use crate::clock::Clock;
use crate::contract::UNSENT_LEN_MAX;
use crate::{Address, Completion, ConnectionError, ConnectionId, Engine, socket};
use rustix::event::Timespec;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::collections::VecDeque;
use std::net::IpAddr;
use units::Instant;

/// An engine over the sockets of this machine.
#[derive(Debug)]
pub struct Epoll {
    clock: Clock,
    epoll: OwnedFd,
    listeners: Vec<OwnedFd>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// What the last wait brought, and how far it has been worked off.
    ready: Vec<epoll::Event>,
    next: usize,
    /// Connections where more may be there to read and no edge will say so: those to visit in this turn, and those to
    /// visit after the next wait. One visit a turn, so that a flood on one cannot starve the others.
    unread: VecDeque<ConnectionId>,
    unread_later: VecDeque<ConnectionId>,
    /// Connection attempts that failed at once.
    failed: VecDeque<(ConnectionId, ConnectionError)>,
    /// There were no open files left to accept with; a close makes room again.
    full: bool,
}

#[derive(Debug)]
struct Slot {
    generation: u32,
    socket: Option<OwnedFd>,
    connecting: bool,
    /// An end or an error waits behind the data that is there.
    ending: bool,
    /// Receiving pauses while too much is unsent; data that arrives meanwhile is remembered here.
    paused: Paused,
    shutdown: bool,
    /// What the kernel did not take. Boxed, because most connections never have any.
    unsent: Option<Box<Unsent>>,
}

#[derive(Debug, Default)]
struct Unsent {
    bytes: Vec<u8>,
    /// How many of them have been written since.
    written: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Paused {
    No,
    Yes,
    WithData,
}

impl Epoll {
    /// An engine whose instants are those of `clock`.
    ///
    /// # Errors
    ///
    /// The system has no more open files, or no epoll.
    pub fn new(clock: Clock) -> Result<Self, ConnectionError> {
        Ok(Self {
            clock,
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            listeners: Vec::new(),
            slots: Vec::new(),
            free: Vec::new(),
            ready: Vec::with_capacity(READY_MAX),
            next: 0,
            unread: VecDeque::new(),
            unread_later: VecDeque::new(),
            full: false,
            failed: VecDeque::new(),
        })
    }

    fn reserve(&mut self) -> ConnectionId {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::EMPTY);
            u32::try_from(self.slots.len() - 1).expect("open files are far fewer than 2^32")
        });
        ConnectionId::new(index, self.slots[index as usize].generation)
    }

    /// Puts `socket` into the reserved slot and registers it for everything that will ever happen to it.
    fn install(
        &mut self,
        id: ConnectionId,
        socket: OwnedFd,
        connecting: bool,
    ) -> Result<(), Errno> {
        let interest = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        epoll::add(&self.epoll, &socket, EventData::new_u64(token(id)), interest)?;
        let slot = &mut self.slots[id.index()];
        slot.socket = Some(socket);
        slot.connecting = connecting;
        Ok(())
    }

    fn accept(&mut self, listener: usize) -> Option<Completion> {
        let socket = loop {
            match socket::accept(&self.listeners[listener]) {
                Ok(socket) => break socket,
                // A connection that was cut before we came to it; there may be others behind it.
                Err(Errno::CONNABORTED | Errno::INTR) => {}
                Err(Errno::MFILE | Errno::NFILE) => {
                    self.full = true;
                    self.listen_for(EventFlags::empty());
                    return None;
                }
                Err(_) => return None,
            }
        };
        let id = self.reserve();
        match self.install(id, socket, false) {
            Ok(()) => Some(Completion::Accepted(id)),
            Err(_) => {
                self.close(id);
                None
            }
        }
    }

    /// What to be told about the listeners. They are level-triggered: what is not accepted now is told again.
    fn listen_for(&self, interest: EventFlags) {
        for (index, listener) in self.listeners.iter().enumerate() {
            let changed = epoll::modify(&self.epoll, listener, listener_token(index), interest);
            debug_assert_eq!(changed, Ok(()), "a listener is registered as long as it lives");
        }
    }

    /// Works one event off; `None` if it was of no consequence to the caller.
    fn work_off(&mut self, event: epoll::Event, rx: &mut [u8]) -> Option<Completion> {
        let token = event.data.u64();
        if let Some(listener) = listener_of(token) {
            let accepted = self.accept(listener);
            if accepted.is_some() {
                self.next -= 1; // There may be more.
            }
            return accepted;
        }
        let (id, flags) = (connection_of(token), event.flags);
        let slot = &mut self.slots[id.index()];
        if slot.generation != id.generation() {
            return None; // Closed while the event was waiting.
        }
        slot.ending |= flags.intersects(ENDS);
        if slot.connecting {
            if flags.intersects(EventFlags::IN) {
                self.unread_later.push_back(id); // The peer spoke at once; the edge is used up.
            }
            return self.connected(id, flags);
        }
        if flags.intersects(EventFlags::OUT)
            && slot.unsent.is_some()
            && let Err(error) = self.flush(id)
        {
            return Some(self.fail(id, error));
        }
        if flags.intersects(EventFlags::IN | ENDS) { self.receive(id, rx) } else { None }
    }

    fn connected(&mut self, id: ConnectionId, flags: EventFlags) -> Option<Completion> {
        let slot = &mut self.slots[id.index()];
        let socket = slot.socket.as_ref().expect("a connecting slot holds its socket");
        if flags.intersects(EventFlags::ERR | EventFlags::HUP)
            && let Err(error) = socket::outcome(socket)
        {
            return Some(self.fail(id, error));
        }
        if !flags.intersects(EventFlags::OUT) {
            return None;
        }
        slot.connecting = false;
        Some(Completion::Connected(id))
    }

    /// Reads once.
    #[inline]
    fn receive(&mut self, id: ConnectionId, rx: &mut [u8]) -> Option<Completion> {
        let slot = &mut self.slots[id.index()];
        if slot.paused != Paused::No {
            slot.paused = Paused::WithData;
            return None;
        }
        let socket = slot.socket.as_ref()?;
        match socket::receive(socket, rx) {
            Ok(0) => Some(Completion::Ended(id)),
            Ok(len) => {
                if len == rx.len() || slot.ending {
                    self.unread_later.push_back(id);
                }
                Some(Completion::Received { connection: id, len })
            }
            Err(Errno::AGAIN) => None,
            Err(Errno::INTR) => {
                self.unread_later.push_back(id);
                None
            }
            Err(error) => Some(self.fail(id, error)),
        }
    }

    /// Writes what is kept. Resumes receiving when little enough is left.
    fn flush(&mut self, id: ConnectionId) -> Result<(), Errno> {
        let slot = &mut self.slots[id.index()];
        let (Some(socket), Some(unsent)) = (&slot.socket, &mut slot.unsent) else { return Ok(()) };
        while unsent.written < unsent.bytes.len() {
            match socket::send(socket, &unsent.bytes[unsent.written..]) {
                Ok(len) => unsent.written += len,
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
        let left = unsent.bytes.len() - unsent.written;
        if left == 0 {
            slot.unsent = None;
            if slot.shutdown {
                socket::shutdown(socket);
            }
        }
        if left <= UNSENT_LEN_MAX {
            if slot.paused == Paused::WithData {
                self.unread_later.push_back(id);
            }
            slot.paused = Paused::No;
        }
        Ok(())
    }

    /// Keeps `bytes` until the kernel takes them.
    fn keep(&mut self, id: ConnectionId, bytes: &[u8]) {
        let slot = &mut self.slots[id.index()];
        let unsent = slot.unsent.get_or_insert_with(Box::default);
        unsent.bytes.extend_from_slice(bytes);
        if unsent.bytes.len() - unsent.written > UNSENT_LEN_MAX && slot.paused == Paused::No {
            slot.paused = Paused::Yes;
        }
    }

    fn fail(&mut self, id: ConnectionId, error: Errno) -> Completion {
        self.close(id);
        Completion::Failed(id, error.into())
    }
}

impl Engine for Epoll {
    #[inline]
    fn now(&self) -> Instant {
        self.clock.now()
    }

    fn listen(&mut self, address: &Address) -> Result<Address, ConnectionError> {
        let (socket, got) = socket::listen(address)?;
        epoll::add(&self.epoll, &socket, listener_token(self.listeners.len()), EventFlags::IN)?;
        self.listeners.push(socket);
        Ok(got)
    }

    fn connect(&mut self, address: &Address, from: Option<IpAddr>) -> ConnectionId {
        let id = self.reserve();
        // A connection that is there at once (Unix sockets) shows as writable, like one that took its time.
        let result =
            socket::connect(address, from).and_then(|(socket, _)| self.install(id, socket, true));
        if let Err(error) = result {
            self.failed.push_back((id, error.into()));
        }
        id
    }

    #[inline]
    fn send(&mut self, connection: ConnectionId, bytes: &[u8]) {
        let slot = &self.slots[connection.index()];
        if slot.generation != connection.generation() || slot.shutdown {
            return;
        }
        if slot.unsent.is_some() {
            return self.keep(connection, bytes);
        }
        let Some(socket) = &slot.socket else { return };
        match socket::send(socket, bytes) {
            Ok(len) if len == bytes.len() => {}
            Ok(len) => self.keep(connection, &bytes[len..]),
            Err(Errno::AGAIN | Errno::INTR) => self.keep(connection, bytes),
            // The connection is gone; the same error comes with the next receive, where it is reported.
            Err(_) => {}
        }
    }

    fn shutdown(&mut self, connection: ConnectionId) {
        let slot = &mut self.slots[connection.index()];
        if slot.generation != connection.generation() {
            return;
        }
        slot.shutdown = true;
        if let (Some(socket), None) = (&slot.socket, &slot.unsent) {
            socket::shutdown(socket);
        }
    }

    fn close(&mut self, connection: ConnectionId) {
        let slot = &mut self.slots[connection.index()];
        if slot.generation != connection.generation() {
            return;
        }
        *slot = Slot { generation: (slot.generation + 1) & GENERATION, ..Slot::EMPTY };
        self.free.push(u32::try_from(connection.index()).expect("it came from a u32"));
        if self.full {
            self.full = false;
            self.listen_for(EventFlags::IN);
        }
    }

    fn wait(&mut self, until: Instant) {
        self.ready.clear();
        self.next = 0;
        self.unread.append(&mut self.unread_later);
        let timeout = if self.unread.is_empty() && self.failed.is_empty() {
            (until != Instant::NEVER).then(|| timespec(until.since(self.now()).0))
        } else {
            Some(timespec(0))
        };
        let buffer = rustix::buffer::spare_capacity(&mut self.ready);
        match epoll::wait(&self.epoll, buffer, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => unreachable!("epoll_pwait2 on our own descriptor and buffer: {error}"),
        }
    }

    #[inline]
    fn complete(&mut self, rx: &mut [u8]) -> Option<Completion> {
        while let Some(event) = self.ready.get(self.next).copied() {
            self.next += 1;
            let completion = self.work_off(event, rx);
            if completion.is_some() {
                return completion;
            }
        }
        while let Some((id, error)) = self.failed.pop_front() {
            if self.slots[id.index()].generation == id.generation() {
                self.close(id);
                return Some(Completion::Failed(id, error));
            }
        }
        while let Some(id) = self.unread.pop_front() {
            let slot = &self.slots[id.index()];
            if slot.generation == id.generation() && !slot.connecting {
                let completion = self.receive(id, rx);
                if completion.is_some() {
                    return completion;
                }
            }
        }
        None
    }
}

impl Slot {
    const EMPTY: Self = Self {
        generation: 0,
        socket: None,
        connecting: false,
        ending: false,
        paused: Paused::No,
        shutdown: false,
        unsent: None,
    };
}

/// The events after which nothing but the rest of the data and the end, or an error, is to be read.
const ENDS: EventFlags = EventFlags::RDHUP.union(EventFlags::HUP).union(EventFlags::ERR);

/// How many events one wait brings at most.
const READY_MAX: usize = 1024;

/// Marks the token of a listener.
const LISTENER: u64 = 1 << 63;

fn token(id: ConnectionId) -> u64 {
    u64::from(id.generation()) << 32 | id.index() as u64
}

fn listener_token(index: usize) -> EventData {
    EventData::new_u64(LISTENER | index as u64)
}

/// Generations are told apart by 31 bits, so that bit 63 is free for [`LISTENER`].
const GENERATION: u32 = u32::MAX >> 1;

fn listener_of(token: u64) -> Option<usize> {
    usize::try_from(token & !LISTENER).ok().filter(|_| token & LISTENER != 0)
}

#[expect(clippy::cast_possible_truncation, reason = "the two halves of the token")]
fn connection_of(token: u64) -> ConnectionId {
    ConnectionId::new(token as u32, (token >> 32) as u32)
}

fn timespec(nanos: u64) -> Timespec {
    let (secs, nanos) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
    Timespec {
        tv_sec: i64::try_from(secs).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(nanos).unwrap_or(0),
    }
}
