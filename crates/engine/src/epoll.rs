//! The engine of this machine: epoll, edge-triggered, on the calling thread.
//!
//! A connection is registered once, for reading, and again only when the kernel does not take all that is sent. An edge
//! reports a change, and a read that does not fill the buffer shows that nothing is left, so a message costs one
//! `recv`, one `send` and its share of one `epoll_pwait2`, whose time-out has nanoseconds. A distant wake-up is left to
//! a timer that stays set until it fires, so most waits have no time-out to set and cancel.
//!
//! Left out: threads. Each worker has an engine of its own.

use crate::clock::{self, Clock};
use crate::contract::UNSENT_LEN_MAX;
use crate::stamps::Stamps;
use crate::{
    Accepting, Address, Completion, ConnectionError, ConnectionId, Engine, Metered, Segments,
    Sharing, socket,
};
use rustix::event::Timespec;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};
use std::collections::VecDeque;
use std::net::IpAddr;
use units::{Instant, Nanos};

/// An engine over the sockets of this machine.
pub struct Epoll {
    clock: Clock,
    epoll: OwnedFd,
    timer: OwnedFd,
    /// The instant at which the timer will fire; [`Instant::START`] if it is not set.
    timer_at: Instant,
    listeners: Vec<OwnedFd>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// The time for which a wait polls without sleeping before it sleeps.
    busy_poll: Nanos,
    /// Receives bytes with their stamps; `None` if stamps are not wanted.
    stamps: Option<Stamps>,
    /// The events of the last wait, and the number of those already processed.
    ready: Vec<epoll::Event>,
    next: usize,
    /// Connections that may have more to read without another edge: those to visit in this turn, and those to visit
    /// after the next wait. Each gets one visit per turn, so that a flood on one cannot starve the others.
    unread: VecDeque<ConnectionId>,
    unread_later: VecDeque<ConnectionId>,
    /// True if nothing is received on accepted connections; and those of them that may have something to read.
    holds_back: bool,
    held_back: VecDeque<ConnectionId>,
    /// The outcomes of connection attempts that succeeded or failed at once.
    decided: VecDeque<(ConnectionId, Result<(), ConnectionError>)>,
    /// True if the last connection attempt was not successful at once, or there was none yet: possibly nothing listens
    /// at the next target.
    in_doubt: bool,
    /// The instant at which to accept again, after that failed for lack of a resource, most likely open files; a close
    /// makes room earlier.
    full_until: Option<Instant>,
    /// The total length of all buffers of unsent bytes.
    kept: usize,
    /// Spare buffers, from connections that no longer have unsent bytes.
    #[expect(clippy::vec_box, reason = "a box moves from here to a slot and back, no allocation")]
    spare: Vec<Box<Unsent>>,
}

struct Slot {
    generation: u32,
    socket: Option<OwnedFd>,
    connecting: bool,
    incoming: Incoming,
    /// The listener that accepted this connection.
    listener: u16,
    /// True if it is registered for writability too: because it was connecting, or once it had unsent bytes.
    watches_writable: bool,
    /// True if it is in one of the `unread` queues, or held back.
    queued: bool,
    /// True if we made the connection: then receiving pauses only on request.
    is_ours: bool,
    /// True if nothing is received, on request ([`Engine::pause`]).
    pauses: bool,
    shutdown: bool,
    /// The error if writing failed, kept because the kernel reports it only once. Reported once everything that had
    /// arrived before is read.
    broken: Option<Errno>,
    /// The bytes that the kernel did not take. Boxed, because most connections never have any.
    unsent: Option<Box<Unsent>>,
}

#[derive(Default)]
struct Unsent {
    bytes: Vec<u8>,
    /// The number of those bytes that have been written since.
    written: usize,
}

/// The known state of the peer's sending side.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Incoming {
    Open,
    /// An end or an error follows the data that has arrived.
    Ending,
    /// The end has been reported.
    Ended,
}

impl Epoll {
    /// An engine whose instants are those of `clock`.
    ///
    /// # Errors
    ///
    /// The system cannot open more files, or has no `epoll_pwait2` (Linux before 5.11, or a sandbox).
    pub fn new(clock: Clock) -> Result<Self, ConnectionError> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let mut nothing = Vec::with_capacity(1);
        epoll::wait(&epoll, rustix::buffer::spare_capacity(&mut nothing), Some(&timespec(0)))
            .map_err(|error| match error {
                // Old sandboxes forbid system calls that they do not know.
                Errno::NOSYS | Errno::PERM => ConnectionError::NoEpollPwait2,
                other => other.into(),
            })?;
        let timer = timerfd_create(
            TimerfdClockId::Monotonic,
            TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC,
        )?;
        epoll::add(&epoll, &timer, EventData::new_u64(TIMER), EventFlags::IN | EventFlags::ET)?;
        Ok(Self {
            clock,
            epoll,
            timer,
            timer_at: Instant::START,
            listeners: Vec::new(),
            slots: Vec::new(),
            free: Vec::new(),
            busy_poll: Nanos::ZERO,
            stamps: None,
            ready: Vec::with_capacity(READY_MAX),
            next: 0,
            unread: VecDeque::new(),
            unread_later: VecDeque::new(),
            holds_back: false,
            held_back: VecDeque::new(),
            decided: VecDeque::new(),
            in_doubt: true,
            full_until: None,
            kept: 0,
            spare: Vec::new(),
        })
    }

    /// Like [`Engine::listen`], but for an address that several engines share: the system chooses the engine that
    /// accepts each connection at random, about evenly.
    ///
    /// # Errors
    ///
    /// As [`Engine::listen`].
    pub fn listen_shared(
        &mut self,
        address: &Address,
        sharing: Sharing,
    ) -> Result<Address, ConnectionError> {
        let (socket, got) = socket::listen(address, sharing)?;
        epoll::add(&self.epoll, &socket, listener_token(self.listeners.len()), EventFlags::IN)?;
        self.listeners.push(socket);
        Ok(got)
    }

    /// Makes every wait that follows completions poll for more for up to `length` before it sleeps. Costs us CPU time,
    /// and saves a peer on this machine the CPU time of waking us.
    pub fn set_busy_poll(&mut self, length: Nanos) {
        self.busy_poll = length;
    }

    /// Has the kernel stamp what arrives on TCP connections made from now on, for [`Metered::arrived`], which is then
    /// accurate to within a microsecond, and `None` right after the wall clock was set. Receiving costs a little more:
    /// a system call that does more, and a reading of the wall clock for each stamp requested. Switched off, the
    /// default, it costs nothing.
    pub fn set_receive_stamps(&mut self, on: bool) {
        self.stamps = on.then(|| Stamps::new(self.clock));
    }

    /// Polls without sleeping for the requested time, until `until` at the latest. Returns true if something happened.
    fn poll_busily(&mut self, until: Instant) -> bool {
        let end = until.min(self.now() + self.busy_poll);
        while self.now() < end {
            if self.poll(Some(timespec(0))) {
                return true;
            }
        }
        false
    }

    /// Asks the kernel for events, waiting up to `timeout`. Returns true if there are any.
    fn poll(&mut self, timeout: Option<Timespec>) -> bool {
        let buffer = rustix::buffer::spare_capacity(&mut self.ready);
        match epoll::wait(&self.epoll, buffer, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => !self.ready.is_empty(),
            Err(error) => unreachable!("epoll_pwait2 on our own descriptor and buffer: {error}"),
        }
    }

    fn reserve(&mut self) -> ConnectionId {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::EMPTY);
            u32::try_from(self.slots.len() - 1).expect("open files are far fewer than 2^32")
        });
        ConnectionId::new(index, self.slots[index as usize].generation)
    }

    /// Puts `socket` into the reserved slot and registers it.
    fn install(
        &mut self,
        id: ConnectionId,
        socket: OwnedFd,
        connecting: bool,
    ) -> Result<(), Errno> {
        let interest = if connecting { READABLE.union(EventFlags::OUT) } else { READABLE };
        epoll::add(&self.epoll, &socket, EventData::new_u64(token(id)), interest)?;
        if self.stamps.is_some() {
            socket::ask_for_stamps(&socket);
        }
        let slot = &mut self.slots[id.index()];
        slot.socket = Some(socket);
        slot.connecting = connecting;
        slot.watches_writable = connecting;
        Ok(())
    }

    fn accept(&mut self, listener: usize) -> Option<Completion> {
        let socket = loop {
            match socket::accept(&self.listeners[listener]) {
                Ok(socket) => break socket,
                // A connection that was cut before we accepted it; there may be more.
                Err(Errno::CONNABORTED | Errno::INTR) => {}
                Err(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => {
                    self.full_until = Some(self.now() + ACCEPT_AGAIN_AFTER);
                    self.listen_for(EventFlags::empty());
                    return None;
                }
                Err(_) => return None,
            }
        };
        let id = self.reserve();
        match self.install(id, socket, false) {
            Ok(()) => {
                self.slots[id.index()].listener = u16::try_from(listener).unwrap_or(u16::MAX);
                Some(Completion::Accepted(id))
            }
            Err(_) => {
                self.close(id);
                None
            }
        }
    }

    /// Returns the time-out of a wait until `until`; `None` if the timer ends it in time.
    fn timeout(&mut self, until: Instant) -> Option<Timespec> {
        let is_set = self.timer_at != Instant::START;
        if until == Instant::NEVER || is_set && self.timer_at <= until {
            return None;
        }
        let left = until.since(self.now());
        if left >= FAR_OFF {
            let at = Itimerspec {
                it_interval: timespec(0),
                it_value: timespec(self.clock.monotonic(until)),
            };
            if timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &at).is_ok() {
                self.timer_at = until;
                return None;
            }
        }
        Some(timespec(left.0))
    }

    /// Listens again if it is time to. Returns the instant until which to wait: `until`, or when to listen again if
    /// that is earlier.
    fn accept_again(&mut self, until: Instant) -> Instant {
        match self.full_until {
            Some(again) if self.now() < again => until.min(again),
            Some(_) => {
                self.full_until = None;
                self.listen_for(EventFlags::IN);
                until
            }
            None => until,
        }
    }

    /// Sets the events to report for listeners. They are level-triggered: what is not accepted now is reported again.
    fn listen_for(&self, interest: EventFlags) {
        for (index, listener) in self.listeners.iter().enumerate() {
            let changed = epoll::modify(&self.epoll, listener, listener_token(index), interest);
            debug_assert_eq!(changed, Ok(()), "a listener is registered as long as it lives");
        }
    }

    /// Processes one event; `None` if it does not concern the caller.
    fn work_off(&mut self, event: epoll::Event, rx: &mut [u8]) -> Option<Completion> {
        let token = event.data.u64();
        if token == TIMER {
            self.timer_at = Instant::START;
            return None;
        }
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
        if slot.incoming == Incoming::Open && flags.intersects(ENDS) {
            slot.incoming = Incoming::Ending;
        }
        if slot.connecting {
            return self.connected(id, flags);
        }
        if flags.intersects(WRITABLE) && slot.unsent.is_some() {
            self.flush(id);
        }
        if flags.intersects(EventFlags::IN | ENDS) { self.receive(id, rx) } else { None }
    }

    fn connected(&mut self, id: ConnectionId, flags: EventFlags) -> Option<Completion> {
        let slot = &mut self.slots[id.index()];
        let socket = slot.socket.as_ref().expect("a connecting slot holds its socket");
        if flags.intersects(EventFlags::ERR | EventFlags::HUP)
            && let Some(error) = slot.broken.or_else(|| socket::outcome(socket).err())
        {
            return Some(self.fail(id, error));
        }
        if !flags.intersects(EventFlags::OUT) {
            return None;
        }
        slot.connecting = false;
        // These edges will not come again: handles what was submitted meanwhile, and what a peer sent at once.
        self.flush(id);
        if flags.intersects(EventFlags::IN | ENDS) {
            self.visit_later(id);
        }
        Some(Completion::Connected(id))
    }

    /// Has the connection read after the next wait.
    fn visit_later(&mut self, id: ConnectionId) {
        if !std::mem::replace(&mut self.slots[id.index()].queued, true) {
            self.unread_later.push_back(id);
        }
    }

    /// Reads once. A connection that has ended may still fail.
    #[inline]
    fn receive(&mut self, id: ConnectionId, rx: &mut [u8]) -> Option<Completion> {
        let slot = &mut self.slots[id.index()];
        if slot.is_paused() {
            return None; // Read later: once we can write again, or the pause ends.
        }
        if self.holds_back && !slot.is_ours {
            if !std::mem::replace(&mut slot.queued, true) {
                self.held_back.push_back(id);
            }
            return None;
        }
        if slot.incoming == Incoming::Ended {
            let broken = slot.broken.or_else(|| socket::outcome(slot.socket.as_ref()?).err());
            return broken.map(|error| self.fail(id, error));
        }
        let socket = slot.socket.as_ref()?;
        let received = match &mut self.stamps {
            None => socket::receive(socket, rx),
            Some(stamps) => stamps.receive(socket, rx),
        };
        match received {
            Ok(0) => match slot.broken {
                Some(error) => Some(self.fail(id, error)),
                None => {
                    slot.incoming = Incoming::Ended;
                    Some(Completion::Ended(id))
                }
            },
            Ok(len) => {
                if len == rx.len() || slot.incoming == Incoming::Ending || slot.broken.is_some() {
                    self.visit_later(id);
                }
                Some(Completion::Received { connection: id, len })
            }
            Err(Errno::AGAIN) => slot.broken.map(|error| self.fail(id, error)),
            Err(Errno::INTR) => {
                self.visit_later(id);
                None
            }
            Err(error) => Some(self.fail(id, error)),
        }
    }

    /// Writes the unsent bytes, followed by the end if that was requested.
    fn flush(&mut self, id: ConnectionId) {
        let slot = &mut self.slots[id.index()];
        let Some(socket) = &slot.socket else { return };
        let mut left = 0;
        if let Some(unsent) = &mut slot.unsent {
            match socket::send_all(socket, &unsent.bytes[unsent.written..]) {
                Ok(len) => unsent.written += len,
                Err(error) => return self.break_off(id, error),
            }
            self.kept -= unsent.let_go();
            left = unsent.bytes.len() - unsent.written;
        }
        if left == 0 && slot.shutdown {
            socket::shutdown(socket);
        }
        if left == 0 {
            self.forget_unsent(id);
        }
    }

    /// Keeps `bytes` until the kernel takes them.
    fn keep(&mut self, id: ConnectionId, bytes: &[u8]) {
        let slot = &mut self.slots[id.index()];
        let unsent = slot.unsent.get_or_insert_with(|| self.spare.pop().unwrap_or_default());
        unsent.bytes.extend_from_slice(bytes);
        self.kept += bytes.len();
        if !std::mem::replace(&mut slot.watches_writable, true)
            && let Some(socket) = &slot.socket
        {
            let interest = READABLE.union(EventFlags::OUT);
            let changed =
                epoll::modify(&self.epoll, socket, EventData::new_u64(token(id)), interest);
            debug_assert_eq!(changed, Ok(()), "a socket is registered as long as it lives");
        }
    }

    /// Notes that writing failed: what is still to be read is reported first, then the error.
    fn break_off(&mut self, id: ConnectionId, error: Errno) {
        self.slots[id.index()].broken = Some(error);
        self.forget_unsent(id);
        self.visit_later(id);
    }

    /// Drops the unsent bytes of a connection, and keeps their buffer as a spare.
    fn forget_unsent(&mut self, id: ConnectionId) {
        let Some(mut unsent) = self.slots[id.index()].unsent.take() else { return };
        self.kept -= unsent.bytes.len();
        if self.spare.len() < SPARE_COUNT_MAX && unsent.bytes.capacity() <= SPARE_LEN_MAX {
            unsent.bytes.clear();
            unsent.written = 0;
            self.spare.push(unsent);
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
        self.listen_shared(address, Sharing::Alone)
    }

    fn connect(&mut self, address: &Address, from: Option<IpAddr>) -> ConnectionId {
        let id = self.reserve();
        let begun = socket::connect(address, from, self.in_doubt).and_then(|(socket, is_there)| {
            self.install(id, socket, !is_there)?;
            self.slots[id.index()].is_ours = true;
            Ok(is_there)
        });
        self.in_doubt = begun != Ok(true);
        match begun {
            Ok(true) => self.decided.push_back((id, Ok(()))),
            Ok(false) => {}
            Err(error) => self.decided.push_back((id, Err(error.into()))),
        }
        id
    }

    #[inline]
    fn send(&mut self, connection: ConnectionId, bytes: &[u8]) {
        let slot = &self.slots[connection.index()];
        if slot.generation != connection.generation() || slot.shutdown || slot.broken.is_some() {
            return;
        }
        if slot.unsent.is_some() {
            return self.keep(connection, bytes);
        }
        let Some(socket) = &slot.socket else { return };
        match socket::send_all(socket, bytes) {
            Ok(len) if len == bytes.len() => {}
            Ok(len) => self.keep(connection, &bytes[len..]),
            Err(error) => self.break_off(connection, error),
        }
    }

    fn unsent(&self, connection: ConnectionId) -> usize {
        let slot = &self.slots[connection.index()];
        if slot.generation == connection.generation() { slot.unsent_len() } else { 0 }
    }

    fn kept(&self) -> usize {
        self.kept
    }

    fn pause(&mut self, connection: ConnectionId, on: bool) {
        let slot = &mut self.slots[connection.index()];
        if slot.generation == connection.generation() && slot.pauses != on {
            slot.pauses = on;
            self.visit_later(connection);
        }
    }

    fn shutdown(&mut self, connection: ConnectionId) {
        let slot = &mut self.slots[connection.index()];
        if slot.generation != connection.generation() {
            return;
        }
        slot.shutdown = true;
        // While connecting, this waits until the connection is established: the kernel would abandon the attempt.
        if !slot.connecting && slot.unsent.is_none() {
            self.flush(connection);
        }
    }

    fn close(&mut self, connection: ConnectionId) {
        let slot = &mut self.slots[connection.index()];
        if slot.generation != connection.generation() {
            return;
        }
        let next = Slot { generation: (slot.generation + 1) & GENERATION, ..Slot::EMPTY };
        self.forget_unsent(connection);
        self.slots[connection.index()] = next;
        self.free.push(u32::try_from(connection.index()).expect("it came from a u32"));
        if self.full_until.take().is_some() {
            self.listen_for(EventFlags::IN);
        }
    }

    fn wait(&mut self, until: Instant) {
        if self.next < self.ready.len() {
            return; // Not all events were taken, and no edge is reported twice.
        }
        let until = self.accept_again(until);
        let was_busy = !self.ready.is_empty();
        self.ready.clear();
        self.next = 0;
        self.unread.append(&mut self.unread_later);
        if !self.unread.is_empty() || !self.decided.is_empty() {
            self.poll(Some(timespec(0)));
        } else if !(was_busy && self.busy_poll > Nanos::ZERO && self.poll_busily(until)) {
            let timeout = self.timeout(until);
            self.poll(timeout);
        }
    }

    fn stand_still(&mut self, until: Instant) {
        clock::sleep(until.since(self.now()));
    }

    fn compute(&mut self, time: Nanos) {
        if time == Nanos::ZERO {
            return;
        }
        let until = self.now() + time;
        while self.now() < until {
            std::hint::spin_loop();
        }
    }

    #[inline]
    fn complete(&mut self, rx: &mut [u8]) -> Option<Completion> {
        // First, so that no byte of a connection is reported before the connection itself.
        while let Some((id, outcome)) = self.decided.pop_front() {
            if self.slots[id.index()].generation != id.generation() {
                continue;
            }
            return Some(match outcome {
                Ok(()) => Completion::Connected(id),
                Err(error) => {
                    self.close(id);
                    Completion::Failed(id, error)
                }
            });
        }
        while let Some(event) = self.ready.get(self.next).copied() {
            self.next += 1;
            let completion = self.work_off(event, rx);
            if completion.is_some() {
                return completion;
            }
        }
        while let Some(id) = self.unread.pop_front() {
            let slot = &mut self.slots[id.index()];
            if slot.generation != id.generation() {
                continue;
            }
            slot.queued = false;
            if slot.connecting {
                continue; // Whether it fails or connects, its event leads back here.
            }
            let completion = self.receive(id, rx);
            if completion.is_some() {
                return completion;
            }
        }
        None
    }
}

impl Accepting for Epoll {
    fn listener(&self, connection: ConnectionId) -> usize {
        let slot = &self.slots[connection.index()];
        if slot.generation == connection.generation() { slot.listener.into() } else { 0 }
    }

    fn hold_back(&mut self, on: bool) {
        self.holds_back = on;
        if !on {
            self.unread_later.append(&mut self.held_back);
        }
    }
}

impl Metered for Epoll {
    #[inline]
    fn arrived(&mut self, now: Instant) -> Option<Instant> {
        self.stamps.as_mut()?.arrived(now)
    }

    fn segments(&self, connection: ConnectionId) -> Option<Segments> {
        let slot = self.slots.get(connection.index())?;
        let socket = slot.socket.as_ref()?;
        if slot.generation == connection.generation() { socket::segments(socket) } else { None }
    }
}

impl Slot {
    const EMPTY: Self = Self {
        generation: 0,
        socket: None,
        connecting: false,
        incoming: Incoming::Open,
        listener: 0,
        watches_writable: false,
        queued: false,
        is_ours: false,
        pauses: false,
        shutdown: false,
        broken: None,
        unsent: None,
    };

    /// True if nothing is received: on request, or because too much is unsent to receive more that needs answers.
    fn is_paused(&self) -> bool {
        self.pauses || !self.is_ours && self.unsent_len() > UNSENT_LEN_MAX
    }

    fn unsent_len(&self) -> usize {
        self.unsent.as_ref().map_or(0, |unsent| unsent.bytes.len() - unsent.written)
    }
}

impl Unsent {
    /// Drops the written bytes once they are most of the buffer: otherwise they would stay until nothing is unsent.
    /// Returns their number.
    fn let_go(&mut self) -> usize {
        let written = self.written;
        if written <= self.bytes.len() / 2 || written == self.bytes.len() {
            return 0;
        }
        self.bytes.drain(..written);
        self.bytes.shrink_to(SPARE_LEN_MAX.max(2 * self.bytes.len()));
        self.written = 0;
        written
    }
}

/// The events that every connection is registered for.
const READABLE: EventFlags = EventFlags::IN.union(EventFlags::RDHUP).union(EventFlags::ET);

/// The events after which only the remaining data and the end, or an error, can be read.
const ENDS: EventFlags = EventFlags::RDHUP.union(EventFlags::HUP).union(EventFlags::ERR);

/// The events after which writing goes on, or fails.
const WRITABLE: EventFlags = EventFlags::OUT.union(EventFlags::HUP).union(EventFlags::ERR);

/// The pause before accepting again after running out of open files: other threads of this process may have closed some
/// by then.
const ACCEPT_AGAIN_AFTER: Nanos = Nanos::from_millis(10);

/// The most spare buffers to keep for further connections with unsent bytes, and the largest capacity of one.
const SPARE_COUNT_MAX: usize = 16;
const SPARE_LEN_MAX: usize = 4 * UNSENT_LEN_MAX;

/// The most events per wait.
const READY_MAX: usize = 1024;

/// Marks the token of a listener.
const LISTENER: u64 = 1 << 63;

/// The token of the timer: no listener has this index.
const TIMER: u64 = u64::MAX;

/// The least distance of a wake-up that is left to the timer: setting the timer costs as much as about ten time-outs.
const FAR_OFF: Nanos = Nanos::from_millis(5);

fn token(id: ConnectionId) -> u64 {
    u64::from(id.generation()) << 32 | id.index() as u64
}

fn listener_token(index: usize) -> EventData {
    EventData::new_u64(LISTENER | index as u64)
}

/// The 31 bits of a generation, which leave bit 63 of a token free for [`LISTENER`].
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_not_kept_though_something_always_is() {
        let folder = tempfile::tempdir().unwrap();
        let address = Address::Unix(folder.path().join("socket"));
        let mut server = Epoll::new(Clock::start()).unwrap();
        server.listen(&address).unwrap();
        let mut client = Epoll::new(Clock::start()).unwrap();
        client.connect(&address, None);
        server.wait(Instant::NEVER);
        let Some(Completion::Accepted(here)) = server.complete(&mut [0]) else { panic!("accepts") };

        let mut rx = vec![0; 1 << 16];
        for _ in 0..100 {
            while server.unsent(here) < UNSENT_LEN_MAX {
                server.send(here, &[7; 1 << 16]);
            }
            client.wait(Instant::START);
            while client.complete(&mut rx).is_some() {}
            server.wait(Instant::START);
            while server.complete(&mut rx).is_some() {}
            let unsent = server.slots[here.index()].unsent.as_ref().expect("much is unsent");
            assert_eq!(server.kept(), unsent.bytes.len());
            assert!(unsent.bytes.len() <= 4 * UNSENT_LEN_MAX, "{}", unsent.bytes.len());
        }
    }
}
