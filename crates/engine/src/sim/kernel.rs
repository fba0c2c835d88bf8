//! The simulated kernel: the system's services to the processes, and the wire that carries the bytes.

use super::conditions::{Conditions, Cuts, Split};
use super::connection::{Connection, Inbox, Place, Side, Stage};
use crate::{Address, Completion, ConnectionError, ConnectionId};
use std::collections::{BTreeMap, VecDeque};
use units::{Instant, Nanos, Random};

/// All processes, their connections, and the events to come.
pub(super) struct Kernel {
    now: Instant,
    wire: Wire,
    processes: Vec<Process>,
    listeners: Vec<Listener>,
    /// The connections by their number, counted from 0.
    connections: BTreeMap<u64, Connection>,
    connection_count: u64,
}

/// The events on their way, and the conditions that shape them.
struct Wire {
    conditions: Conditions,
    random: Random,
    /// The events by instant; at the same instant, in the order in which they were scheduled.
    events: BTreeMap<(Instant, u64), Event>,
    event_count: u64,
}

enum Event {
    /// A connection request arrives at its target address.
    Requested(u64),
    /// The answer arrives at the client.
    Made(u64),
    Refused(u64),
    /// Bytes or their end arrive.
    Arrived(Place),
    /// The news arrives that the peer has received some bytes.
    Room(Place),
    Reset(Place),
    Cut(u64),
}

#[derive(Default)]
struct Process {
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Connections with something to report to the process.
    ready: VecDeque<Ready>,
    /// The time that a completion costs, and the instant until which the completions taken keep the process busy.
    cost: Nanos,
    busy_until: Instant,
    /// The instant at which the last bytes of the newest receive had arrived.
    arrived: Option<Instant>,
    /// True if it receives nothing on connections that it accepted.
    holds_back: bool,
    /// The time by which its sleeps end late.
    oversleep: Nanos,
    /// The periods in which it does not run, as start and end, ordered by their start.
    freezes: Vec<(Instant, Instant)>,
}

struct Slot {
    generation: u32,
    place: Option<Place>,
}

enum Ready {
    /// A connection waits to be accepted.
    Waiting(u64),
    News(Place),
}

struct Listener {
    address: Address,
    process: usize,
    waiting: usize,
}

/// Time and processes.
impl Kernel {
    pub(super) fn new(seed: u64, conditions: Conditions) -> Self {
        Self {
            now: Instant::START,
            wire: Wire {
                conditions,
                random: Random::new(seed),
                events: BTreeMap::new(),
                event_count: 0,
            },
            processes: Vec::new(),
            listeners: Vec::new(),
            connections: BTreeMap::new(),
            connection_count: 0,
        }
    }

    /// Lets time pass until `to`, and processes all events until then.
    pub(super) fn advance(&mut self, to: Instant) {
        while let Some(event) = self.wire.events.first_entry()
            && event.key().0 <= to
        {
            let ((at, _), event) = event.remove_entry();
            self.now = at;
            self.happen(event);
        }
        self.now = self.now.max(to);
    }

    pub(super) fn start_process(&mut self) -> usize {
        self.processes.push(Process::default());
        self.processes.len() - 1
    }

    pub(super) fn end_process(&mut self, process: usize) {
        self.listeners.retain(|listener| listener.process != process);
        for ready in std::mem::take(&mut self.processes[process].ready) {
            if let Ready::Waiting(connection) = ready {
                self.reset(Place::client(connection), self.now);
                self.release(Place::server(connection));
            }
        }
        let slots = &self.processes[process].slots;
        let open: Vec<Place> = slots.iter().filter_map(|slot| slot.place).collect();
        for place in open {
            self.close_end(place, self.now);
        }
    }

    pub(super) fn freeze(&mut self, process: usize, from: Instant, until: Instant) {
        let freezes = &mut self.processes[process].freezes;
        freezes.push((from, until));
        freezes.sort_unstable();
    }

    pub(super) fn slow_down(&mut self, process: usize, cost: Nanos) {
        self.processes[process].cost = cost;
    }

    pub(super) fn compute(&mut self, process: usize, time: Nanos) {
        self.processes[process].busy_until = self.now_in(process) + time;
    }

    pub(super) fn oversleep(&mut self, process: usize, by: Nanos) {
        self.processes[process].oversleep = by;
    }

    /// Notes that the process was stepped and wants to be woken at `wake`. Returns when it is woken, if nothing happens
    /// before.
    pub(super) fn stepped(&mut self, process: usize, wake: Instant) -> Instant {
        if self.is_to_run(process, wake) {
            self.processes[process].busy_until = self.now + SPIN;
            return wake;
        }
        if wake <= self.now_in(process) { wake } else { wake + self.processes[process].oversleep }
    }

    pub(super) fn now(&self) -> Instant {
        self.now
    }

    /// The instant now as the process sees it: after the work that keeps it busy.
    pub(super) fn now_in(&self, process: usize) -> Instant {
        self.now.max(self.processes[process].busy_until)
    }

    /// The instant of the next event; [`Instant::NEVER`] if there is none.
    pub(super) fn next_event(&self) -> Instant {
        self.wire.events.first_key_value().map_or(Instant::NEVER, |((at, _), _)| *at)
    }

    pub(super) fn is_to_run(&self, process: usize, wake: Instant) -> bool {
        self.runs_at(process, wake) <= self.now
    }

    /// The next instant at which the process runs, as things stand, if it wants to be woken at `wake`.
    pub(super) fn runs_at(&self, process: usize, wake: Instant) -> Instant {
        let wake = if self.processes[process].ready.is_empty() { wake } else { self.now };
        let unfrozen = wake.max(self.now_in(process));
        let freezes = self.processes[process].freezes.iter();
        freezes.fold(unfrozen, |at, (from, until)| if *from <= at { at.max(*until) } else { at })
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Requested(connection) => self.request(connection),
            Event::Made(connection) => self.make(connection),
            Event::Refused(connection) => {
                self.break_off(Place::client(connection), ConnectionError::Refused);
            }
            Event::Arrived(place) => self.tell(place),
            Event::Room(place) => {
                let Some(connection) = self.connections.get_mut(&place.connection) else { return };
                connection.both(place.side).0.room_expected = false;
                self.transmit(place, self.now);
                self.tell(place);
            }
            Event::Reset(place) => self.break_off(place, ConnectionError::Reset),
            Event::Cut(connection) => {
                self.break_off(Place::client(connection), ConnectionError::Reset);
                self.break_off(Place::server(connection), ConnectionError::Reset);
            }
        }
    }
}

/// Making connections.
impl Kernel {
    pub(super) fn listen(
        &mut self,
        process: usize,
        wanted: &Address,
    ) -> Result<Address, ConnectionError> {
        let address = self.choose_port(wanted)?;
        if self.listener(&address).is_some() {
            return Err(ConnectionError::AddressInUse);
        }
        self.listeners.push(Listener { address: address.clone(), process, waiting: 0 });
        Ok(address)
    }

    pub(super) fn connect(&mut self, process: usize, target: &Address) -> ConnectionId {
        let number = self.connection_count;
        self.connection_count += 1;
        let id = self.processes[process].reserve(Place::client(number));
        self.connections.insert(number, Connection::new(target.clone(), process, id));
        let arrives = self.wire.arrival(self.now_in(process));
        self.wire.schedule(arrives, Event::Requested(number));
        id
    }

    /// Returns `wanted`, with a free port if its port is 0.
    fn choose_port(&mut self, wanted: &Address) -> Result<Address, ConnectionError> {
        let Address::Tcp(mut address) = *wanted else { return Ok(wanted.clone()) };
        if address.port() != 0 {
            return Ok(wanted.clone());
        }
        for port in PORT_MIN..=u16::MAX {
            address.set_port(port);
            if self.listener(&Address::Tcp(address)).is_none() {
                return Ok(Address::Tcp(address));
            }
        }
        Err(ConnectionError::AddressInUse)
    }

    /// The index of the listener of `process` that accepted the connection, or would have.
    pub(super) fn listener_of(&self, process: usize, id: ConnectionId) -> usize {
        let place = self.place(process, id).filter(|place| place.side == Side::Server);
        let target = place.and_then(|place| Some(&self.connections.get(&place.connection)?.target));
        let mut ours = self.listeners.iter().filter(|listener| listener.process == process);
        ours.position(|listener| Some(&listener.address) == target).unwrap_or(0)
    }

    fn listener(&mut self, address: &Address) -> Option<&mut Listener> {
        self.listeners.iter_mut().find(|listener| listener.address == *address)
    }

    fn request(&mut self, number: u64) {
        let Some(connection) = self.connections.get_mut(&number) else { return };
        let answered = self.wire.arrival(self.now);
        let backlog = self.wire.conditions.backlog;
        let listener =
            self.listeners.iter_mut().find(|listener| listener.address == connection.target);
        let Some(listener) = listener.filter(|listener| listener.waiting < backlog) else {
            return self.wire.schedule(answered, Event::Refused(number));
        };
        listener.waiting += 1;
        let (server, client) = connection.both(Side::Server);
        server.process = listener.process;
        server.stage = Stage::Open;
        client.inbox.last_arrival = answered;
        self.processes[listener.process].ready.push_back(Ready::Waiting(number));
        self.wire.schedule(answered, Event::Made(number));
    }

    fn make(&mut self, number: u64) {
        let place = Place::client(number);
        let Some(connection) = self.connections.get_mut(&number) else { return };
        let (client, _) = connection.both(place.side);
        if client.stage != Stage::Making {
            return; // It was closed meanwhile.
        }
        client.stage = Stage::Open;
        client.just_made = true;
        for after in self.wire.cuts_after(number) {
            self.wire.schedule(self.now + after, Event::Cut(number));
        }
        self.transmit(place, self.now);
        self.tell(place);
    }

    fn accept(&mut self, number: u64) -> Option<Completion> {
        let place = Place::server(number);
        let connection = self.connections.get_mut(&number)?;
        let target = connection.target.clone();
        let (server, _) = connection.both(place.side);
        let id = self.processes[server.process].reserve(place);
        server.id = Some(id);
        self.listener(&target)?.waiting -= 1;
        self.tell(place);
        Some(Completion::Accepted(id))
    }
}

/// The operations that processes ask for on a connection.
impl Kernel {
    pub(super) fn send(&mut self, process: usize, id: ConnectionId, bytes: &[u8]) {
        let Some(place) = self.place(process, id) else { return };
        let Some(connection) = self.connections.get_mut(&place.connection) else { return };
        let (end, _) = connection.both(place.side);
        if !end.shutdown && end.broken.is_none() {
            end.unsent.extend(bytes);
            self.transmit(place, self.now_in(process));
        }
    }

    pub(super) fn unsent(&self, process: usize, id: ConnectionId) -> usize {
        let place = self.place(process, id);
        let end =
            place.and_then(|place| Some(self.connections.get(&place.connection)?.end(place.side)));
        end.map_or(0, |end| end.unsent.len())
    }

    pub(super) fn kept(&self, process: usize) -> usize {
        let places = self.processes[process].slots.iter().filter_map(|slot| slot.place);
        let ends = places.filter_map(|it| Some(self.connections.get(&it.connection)?.end(it.side)));
        ends.map(|end| end.unsent.len()).sum()
    }

    pub(super) fn pause(&mut self, process: usize, id: ConnectionId, on: bool) {
        let Some(place) = self.place(process, id) else { return };
        let Some(connection) = self.connections.get_mut(&place.connection) else { return };
        connection.both(place.side).0.pauses = on;
        self.tell(place);
    }

    pub(super) fn shutdown(&mut self, process: usize, id: ConnectionId) {
        let Some(place) = self.place(process, id) else { return };
        let Some(connection) = self.connections.get_mut(&place.connection) else { return };
        connection.both(place.side).0.shutdown = true;
        self.transmit(place, self.now_in(process));
    }

    pub(super) fn close(&mut self, process: usize, id: ConnectionId) {
        if let Some(place) = self.place(process, id) {
            self.close_end(place, self.now_in(process));
        }
    }

    pub(super) fn hold_back(&mut self, process: usize, on: bool) {
        self.processes[process].holds_back = on;
        if !on {
            let slots = self.processes[process].slots.iter();
            let open: Vec<Place> = slots.filter_map(|slot| slot.place).collect();
            for place in open {
                self.tell(place);
            }
        }
    }

    pub(super) fn complete(&mut self, process: usize, rx: &mut [u8]) -> Option<Completion> {
        debug_assert!(!rx.is_empty(), "bytes need a place to go");
        loop {
            let completion = match self.processes[process].ready.pop_front()? {
                Ready::Waiting(connection) => self.accept(connection),
                Ready::News(place) => self.look(place, rx),
            };
            if completion.is_some() {
                self.compute(process, self.processes[process].cost);
                return completion;
            }
        }
    }

    pub(super) fn arrived(&self, process: usize) -> Option<Instant> {
        self.processes[process].arrived
    }

    fn place(&self, process: usize, id: ConnectionId) -> Option<Place> {
        let slot = &self.processes[process].slots[id.index()];
        slot.place.filter(|_| slot.generation == id.generation())
    }

    /// Takes the first thing to report at `place`.
    fn look(&mut self, place: Place, rx: &mut [u8]) -> Option<Completion> {
        let connection = self.connections.get_mut(&place.connection)?;
        let (end, peer) = connection.both(place.side);
        let id = end.id?;
        end.queued = false;
        if std::mem::take(&mut end.just_made) {
            self.tell(place);
            return Some(Completion::Connected(id));
        }
        if end.is_paused(place.side) || self.processes[end.process].holds(place.side) {
            return None;
        }
        let len = end.inbox.read(self.now, self.wire.conditions.split, rx);
        if len > 0 {
            self.processes[end.process].arrived = Some(end.inbox.last_read_arrival);
            if !peer.unsent.is_empty() && !std::mem::replace(&mut peer.room_expected, true) {
                self.wire.schedule(self.wire.after_delay(self.now), Event::Room(place.peer()));
            }
            self.tell(place);
            return Some(Completion::Received { connection: id, len });
        }
        if let Some(error) = end.broken {
            self.release(place);
            return Some(Completion::Failed(id, error));
        }
        let has_ended = end.inbox.has_ended(self.now) && !std::mem::replace(&mut end.ended, true);
        has_ended.then_some(Completion::Ended(id))
    }
}

/// Events in the life of a connection.
impl Kernel {
    /// Puts on the wire as many unsent bytes as the buffers take, followed by the end if that was requested.
    fn transmit(&mut self, place: Place, departs: Instant) {
        let Some(connection) = self.connections.get_mut(&place.connection) else { return };
        let (end, peer) = connection.both(place.side);
        if end.stage != Stage::Open || end.broken.is_some() {
            return;
        }
        if peer.stage == Stage::Closed {
            if !end.unsent.is_empty() {
                end.unsent.clear();
                let answered = self.wire.arrival(self.wire.after_delay(departs));
                self.wire.schedule(answered, Event::Reset(place));
            }
            return;
        }
        let room = self.wire.conditions.buffer_len_max.max(1).saturating_sub(peer.inbox.len());
        let mut left = room.min(end.unsent.len());
        while left > 0 {
            let len = self.wire.piece_len(left);
            let arrives = self.wire.arrival(departs).max(peer.inbox.last_arrival);
            if peer.inbox.push(&mut end.unsent, len, arrives) {
                self.wire.schedule(arrives, Event::Arrived(place.peer()));
            }
            left -= len;
        }
        if end.shutdown && end.unsent.is_empty() && peer.inbox.end.is_none() {
            let arrives = self.wire.arrival(departs).max(peer.inbox.last_arrival);
            peer.inbox.last_arrival = arrives;
            peer.inbox.end = Some(arrives);
            self.wire.schedule(arrives, Event::Arrived(place.peer()));
        }
    }

    /// Queues `place` for its process if there is something to report.
    fn tell(&mut self, place: Place) {
        let Some(connection) = self.connections.get_mut(&place.connection) else { return };
        let (end, _) = connection.both(place.side);
        let is_paused = end.is_paused(place.side) || self.processes[end.process].holds(place.side);
        if end.id.is_some() && !end.queued && !is_paused && end.has_news(self.now) {
            end.queued = true;
            self.processes[end.process].ready.push_back(Ready::News(place));
        }
    }

    /// Breaks the connection for the end at `place`.
    fn break_off(&mut self, place: Place, error: ConnectionError) {
        let Some(connection) = self.connections.get_mut(&place.connection) else { return };
        let (end, _) = connection.both(place.side);
        if end.stage == Stage::Closed {
            return;
        }
        end.broken.get_or_insert(error);
        end.unsent.clear();
        end.inbox.lose_what_is_under_way(self.now);
        self.tell(place);
    }

    /// Closes the end at `place`. The peer sees the end of what was sent, and a reset if bytes to this end stay
    /// unreceived.
    fn close_end(&mut self, place: Place, departs: Instant) {
        let Some(connection) = self.connections.get_mut(&place.connection) else { return };
        let (end, _) = connection.both(place.side);
        if end.broken.is_none() {
            end.unsent.clear();
            end.shutdown = true;
            let given_up = (end.stage == Stage::Making).then_some(departs);
            let missed = end.inbox.first_arrival();
            if missed.is_none_or(|arrival| arrival > self.now) {
                self.transmit(place, departs);
            }
            if let Some(cause) = missed.or(given_up) {
                self.reset(place.peer(), cause.max(departs));
            }
        }
        self.release(place);
    }

    /// Sends a reset to the end at `place`, which departs from its peer after everything on its way.
    fn reset(&mut self, place: Place, departs: Instant) {
        let Some(connection) = self.connections.get_mut(&place.connection) else { return };
        let (end, _) = connection.both(place.side);
        let arrives = self.wire.arrival(departs).max(end.inbox.last_arrival);
        self.wire.schedule(arrives, Event::Reset(place));
    }

    /// Frees the resources of the end at `place`.
    fn release(&mut self, place: Place) {
        let Some(connection) = self.connections.get_mut(&place.connection) else { return };
        let (end, _) = connection.both(place.side);
        if let Some(id) = end.id.take() {
            self.processes[end.process].release(id);
        }
        end.stage = Stage::Closed;
        end.unsent = VecDeque::new();
        end.inbox = Inbox::default();
        if connection.is_over() {
            self.connections.remove(&place.connection);
        }
    }
}

impl Wire {
    fn schedule(&mut self, at: Instant, event: Event) {
        self.events.insert((at, self.event_count), event);
        self.event_count += 1;
    }

    /// The instant at which something that departs at `departs` arrives.
    fn arrival(&mut self, departs: Instant) -> Instant {
        let jitter = usize::try_from(self.conditions.jitter.0).unwrap_or(usize::MAX - 1);
        let late = if jitter == 0 { 0 } else { self.random.below(jitter + 1) };
        self.after_delay(departs) + Nanos(late as u64)
    }

    fn after_delay(&self, departs: Instant) -> Instant {
        departs + self.conditions.delay.max(Nanos(1))
    }

    /// The length of the first piece of `left` bytes.
    fn piece_len(&mut self, left: usize) -> usize {
        match self.conditions.split {
            Split::AsSent | Split::Never => left,
            Split::ByteByByte => 1,
            Split::Random { chunk_len_max } => {
                left.min(1 + self.random.below(chunk_len_max.max(1)))
            }
        }
    }

    /// The times from the making of a connection to its cuts; empty if it is not cut.
    fn cuts_after(&mut self, number: u64) -> Vec<Nanos> {
        match &self.conditions.cuts {
            Cuts::Never => Vec::new(),
            Cuts::Random { probability, within } => {
                let within = usize::try_from(within.0).unwrap_or(usize::MAX - 1);
                let is_cut = self.random.unit_f64() < *probability;
                let after = Nanos(self.random.below(within + 1) as u64);
                if is_cut { vec![after] } else { Vec::new() }
            }
            Cuts::Scheduled(cuts) => {
                let mine = cuts.iter().filter(|cut| cut.connection == number);
                mine.map(|cut| cut.after).collect()
            }
        }
    }
}

impl Process {
    /// True if the process does not receive what arrives on this side of a connection.
    fn holds(&self, side: Side) -> bool {
        self.holds_back && side == Side::Server
    }

    fn reserve(&mut self, place: Place) -> ConnectionId {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot { generation: 0, place: None });
            u32::try_from(self.slots.len() - 1).expect("connections are far fewer than 2^32")
        });
        let slot = &mut self.slots[index as usize];
        slot.place = Some(place);
        ConnectionId::new(index, slot.generation)
    }

    fn release(&mut self, id: ConnectionId) {
        let slot = &mut self.slots[id.index()];
        slot.place = None;
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(u32::try_from(id.index()).expect("it came from a u32"));
    }
}

/// The time after which a process that wants to be stepped again at once is stepped.
const SPIN: Nanos = Nanos::from_micros(1);

/// The first port that is tried for a listener that does not ask for one.
const PORT_MIN: u16 = 49_152;
