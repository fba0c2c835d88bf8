//! The connections of a worker: their states and deadlines, and how many may be opened.

use crate::in_flight::{Flight, InFlight};
use crate::recorder::Recorder;
use crate::stream::Sampled;
use engine::ConnectionId;
use load::{Lifetime, Pace, Stop, Timeouts, Workload};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::num::NonZeroU32;
use units::{Instant, Nanos, Rate};
use wire::{Opening, Secured};

/// All connections of a worker, from the connect to the close, and the number still to be started.
#[derive(Debug)]
pub(crate) struct Connections {
    /// The connections, each at the index of its id.
    slots: Vec<Option<Connection>>,
    /// The index of the connection at each place of the pace.
    by_place: Vec<u32>,
    /// Connections that return later, over a new connection of the engine, because their streams broke off; keyed by
    /// the instant and their place.
    returning: BTreeMap<(Instant, u32), Connection>,
    /// Connections that exist, and those of them that are not open yet.
    live: u32,
    opening: u32,
    live_max: NonZeroU32,
    /// Connections, or short-lived clients, still to be started.
    pub(crate) to_start: u64,
    /// Connections to start as replacements of ended ones.
    to_reopen: u32,
    rate: Option<Rate>,
    /// The first start other than of a session: the connect rate counts from there.
    first_start: Option<Instant>,
    /// The earliest instant for the next connect; pushed back after a failed one.
    not_before: Instant,
    timeouts: Timeouts,
    /// No deadline passes, or is looked at, before this instant.
    deadlines_from: Instant,
    /// The instants at which connections send their next heartbeats, if their conversations have any.
    beats: BinaryHeap<Reverse<(Instant, ConnectionId)>>,
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) id: ConnectionId,
    /// Its place in the pace, and its number among those of all workers.
    pub(crate) place: u32,
    pub(crate) number: u32,
    pub(crate) machine: wire::Connection,
    pub(crate) state: State,
    /// Its source address, as an index into the target's list.
    pub(crate) source: u16,
    /// True once a reply has come.
    pub(crate) replied: bool,
    /// True while it is being opened again to resume a stream that broke off.
    pub(crate) resumes: bool,
    /// True once a redirect arrived: the connection that replaces this one does not resume a stream.
    pub(crate) is_redirected: bool,
    /// The start of the current state.
    pub(crate) since: Instant,
    /// The start of the connect.
    pub(crate) began: Instant,
    pub(crate) in_flight: InFlight,
    /// Replies received in this phase.
    pub(crate) replies: u64,
    /// Set if its segments are counted, as a sample for other connections.
    pub(crate) sampled: Option<Box<Sampled>>,
}

/// The stage of a connection, by what it awaits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    AwaitConnect,
    /// The exchanges before a conversation are under way.
    AwaitBefore,
    AwaitTls,
    AwaitHandshake,
    /// Messages flow.
    Open,
    /// Our proper end was sent.
    AwaitClose,
    /// Its machine refused to send a message: the next look at deadlines cuts it off.
    Unfit,
}

impl Connections {
    pub(crate) fn new(workload: &Workload) -> Self {
        let is_scheduled = !matches!(workload.arrival, load::Arrival::Closed { .. });
        Self {
            slots: Vec::new(),
            returning: BTreeMap::new(),
            by_place: vec![0; workload.connections.get() as usize],
            live: 0,
            opening: 0,
            live_max: workload.connections,
            to_start: match (workload.lifetime, workload.phases.stop) {
                (Lifetime::Long, _) => workload.connections.get().into(),
                (Lifetime::RoundTrips(_), _) if is_scheduled => 0, // Sessions begin when they are due.
                (Lifetime::RoundTrips(_), Stop::Clients(clients)) => clients.get(),
                (Lifetime::RoundTrips(_), Stop::After(_) | Stop::Messages(_)) => u64::MAX,
            },
            to_reopen: 0,
            rate: workload.connect_rate,
            first_start: None,
            not_before: Instant::START,
            timeouts: workload.timeouts,
            deadlines_from: Instant::START,
            beats: BinaryHeap::new(),
        }
    }

    /// Schedules a heartbeat of a connection at `due`.
    pub(crate) fn beat_at(&mut self, due: Instant, id: ConnectionId) {
        self.beats.push(Reverse((due, id)));
    }

    /// Takes a heartbeat that is due by `now`.
    pub(crate) fn take_beat(&mut self, now: Instant) -> Option<(Instant, ConnectionId)> {
        self.beats.peek().filter(|Reverse((due, _))| *due <= now)?;
        self.beats.pop().map(|Reverse(beat)| beat)
    }

    /// The instant of the next heartbeat; [`Instant::NEVER`] without one.
    pub(crate) fn next_beat(&self) -> Instant {
        self.beats.peek().map_or(Instant::NEVER, |Reverse((due, _))| *due)
    }

    /// Adds a connection that is being opened.
    pub(crate) fn insert(&mut self, connection: Connection) {
        let index = connection.id.index();
        if self.slots.len() <= index {
            self.slots.resize_with(index + 1, || None);
        }
        self.by_place[connection.place as usize] =
            u32::try_from(index).expect("the index of a connection is a u32");
        self.slots[index] = Some(connection);
        self.live += 1;
        self.opening += 1;
    }

    /// Forgets a connection.
    pub(crate) fn remove(&mut self, id: ConnectionId) -> Option<Connection> {
        self.find(id)?;
        let connection = self.slots[id.index()].take()?;
        self.opening -= u32::from(connection.is_opening());
        self.live -= 1;
        Some(connection)
    }

    /// Keeps a connection that returns at `due`. Until then it counts as live, but [`Connections::find`] does not find
    /// it.
    pub(crate) fn keep(&mut self, connection: Connection, due: Instant) {
        self.returning.insert((due, connection.place), connection);
        self.live += 1;
    }

    /// Takes the next connection that returns by `now`.
    pub(crate) fn take_returning(&mut self, now: Instant) -> Option<Connection> {
        let first = self.returning.first_entry().filter(|first| first.key().0 <= now)?;
        self.live -= 1;
        Some(first.remove())
    }

    /// The instant at which the next connection returns; [`Instant::NEVER`] without one.
    pub(crate) fn next_return(&self) -> Instant {
        self.returning.first_key_value().map_or(Instant::NEVER, |((due, _), _)| *due)
    }

    /// The connection with this id, if it still exists; another may have its index by now.
    #[inline]
    pub(crate) fn find(&mut self, id: ConnectionId) -> Option<&mut Connection> {
        self.slots.get_mut(id.index())?.as_mut().filter(|connection| connection.id == id)
    }

    /// The connection at a place of the pace.
    #[inline]
    pub(crate) fn at(&mut self, place: u32) -> Option<&mut Connection> {
        let index = *self.by_place.get(place as usize)?;
        self.slots.get_mut(index as usize)?.as_mut().filter(|it| it.place == place)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Connection> {
        self.slots.iter().flatten().chain(self.returning.values())
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Connection> {
        self.slots.iter_mut().flatten().chain(self.returning.values_mut())
    }

    /// Counts a connection that was being opened as open for messages.
    pub(crate) fn opened(&mut self) {
        self.opening -= 1;
    }

    /// Delays the next connect a little after a failure at `now`, so that a dead server is not flooded.
    pub(crate) fn failed(&mut self, now: Instant) {
        self.not_before = now + PAUSE_AFTER_FAILURE;
    }

    /// Has one more connection replace one that ended.
    pub(crate) fn reopen(&mut self) {
        self.to_reopen += 1;
    }

    /// The instant at which the next connection may be started, with `started` started before it; [`Instant::NEVER`]
    /// while none may. Before the traffic, each connection that lives through all phases is opened once: the traffic
    /// does not wait for one that keeps failing. After that, `pace` decides how many are wanted.
    pub(crate) fn next_start(&self, before_traffic: bool, pace: &Pace, started: u64) -> Instant {
        let is_wanted = match before_traffic {
            true => self.to_start > 0,
            false => (self.to_start > 0 || self.to_reopen > 0) && pace.wants_connections(),
        };
        if !is_wanted || self.live >= self.live_max.get() || self.opening >= OPENING_MAX {
            return Instant::NEVER;
        }
        match (self.rate, self.first_start) {
            (Some(rate), Some(first)) => (first + rate.due(started)).max(self.not_before),
            _ => self.not_before,
        }
    }

    /// Notes that the next connection is started at `now`. Returns true if it replaces one that ended.
    pub(crate) fn take_start(&mut self, now: Instant) -> bool {
        self.first_start.get_or_insert(now);
        let reopens = self.to_start == 0;
        if reopens {
            self.to_reopen -= 1;
        } else {
            self.to_start -= 1;
        }
        reopens
    }

    /// Returns the connections whose deadline has passed by `now`. If messages have due times (`is_timed`), many are in
    /// flight and some deadline is always near: then all connections are checked only every [`DEADLINES_EVERY`], not
    /// for each deadline.
    pub(crate) fn late(&mut self, now: Instant, is_timed: bool) -> Vec<ConnectionId> {
        let mut late = Vec::new();
        if now < self.deadlines_from {
            return late;
        }
        let timeouts = self.timeouts;
        // No deadline that arises from now on is nearer, except those of messages next in line after given-up ones.
        let mut nearest =
            now + timeouts.connect.min(timeouts.handshake).min(timeouts.reply).min(timeouts.close);
        for connection in self.slots.iter().flatten() {
            let deadline = connection.deadline(&timeouts);
            if deadline <= now {
                late.push(connection.id);
            } else {
                nearest = nearest.min(deadline);
            }
        }
        if !late.is_empty() {
            nearest = now;
        }
        let not_before = if is_timed { now + DEADLINES_EVERY } else { now };
        self.deadlines_from = nearest.max(not_before);
        late
    }

    /// Has the next look check all deadlines, because one has passed that was not expected.
    pub(crate) fn look_at_deadlines(&mut self) {
        self.deadlines_from = Instant::START;
    }

    /// The instant before which no deadline passes, or none is checked.
    pub(crate) fn deadlines_from(&self) -> Instant {
        self.deadlines_from
    }

    /// Connections that exist.
    pub(crate) fn live(&self) -> u32 {
        self.live
    }

    /// Connections that are not open yet.
    pub(crate) fn opening(&self) -> u32 {
        self.opening
    }

    /// True if no connection exists, and none is to be started.
    pub(crate) fn none_left(&self) -> bool {
        self.live == 0 && self.to_start == 0 && self.to_reopen == 0
    }
}

impl Connection {
    /// Records that the TLS handshake is complete. Returns true if messages may be sent at once.
    pub(crate) fn be_secured(
        &mut self,
        secured: Secured,
        now: Instant,
        recorder: &mut Recorder,
    ) -> bool {
        recorder.secured(secured.facts, self.began, now.since(self.since));
        self.since = now;
        match secured.opening {
            Opening::Done => true,
            Opening::Awaited => {
                self.state = State::AwaitHandshake;
                false
            }
        }
    }

    /// Records the times of the reply to `flight`, decoded at `received`; `arrived` is the instant at which the kernel
    /// had its last byte, if known.
    #[inline]
    pub(crate) fn replied(
        &mut self,
        recorder: &mut Recorder,
        flight: Flight,
        received: Instant,
        arrived: Option<Instant>,
    ) {
        if !std::mem::replace(&mut self.replied, true)
            && let Some(times) = recorder.times(self.began)
        {
            times.first_reply.record(received.since(flight.sent));
        }
        if let Some(arrived) = arrived {
            recorder.own_share(flight, received.since(arrived));
        }
    }

    /// Records that the oldest message in flight met a redirect, which is followed.
    pub(crate) fn redirected(&mut self, recorder: &mut Recorder) {
        self.is_redirected = true;
        self.in_flight.oldest().into_iter().for_each(|flight| recorder.redirected(flight));
    }

    /// True until it is open for messages.
    pub(crate) fn is_opening(&self) -> bool {
        match self.state {
            State::AwaitConnect | State::AwaitBefore | State::AwaitTls | State::AwaitHandshake => {
                true
            }
            State::Open | State::AwaitClose | State::Unfit => false,
        }
    }

    /// The instant at which its oldest message is given up; [`Instant::NEVER`] if none is in flight.
    pub(crate) fn reply_deadline(&self, timeouts: &Timeouts) -> Instant {
        self.in_flight.oldest().map_or(Instant::NEVER, |flight| flight.sent + timeouts.reply)
    }

    /// The instant at which its peer is given up unless something happens; [`Instant::NEVER`] if nothing is awaited.
    fn deadline(&self, timeouts: &Timeouts) -> Instant {
        let of_reply = || self.reply_deadline(timeouts);
        match self.state {
            State::AwaitConnect => (self.since + timeouts.connect).min(of_reply()),
            State::AwaitBefore | State::AwaitTls | State::AwaitHandshake => {
                (self.since + timeouts.handshake).min(of_reply())
            }
            State::Open => of_reply(),
            State::AwaitClose => self.since + timeouts.close,
            State::Unfit => Instant::START,
        }
    }
}

/// The most connections that a worker opens at the same time: fewer than any backlog has room for.
pub const OPENING_MAX: u32 = 256;

/// The time without a connect after a connection failed.
const PAUSE_AFTER_FAILURE: Nanos = Nanos::from_millis(10);

/// The least time between two looks at the deadlines of all connections of an open loop.
const DEADLINES_EVERY: Nanos = Nanos::from_millis(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_connection_takes_352_bytes_at_most() {
        let index = size_of::<u32>();
        // The slot and the index in this module; in the pace, its member and its entry among the vacant places.
        let ours = size_of::<Option<Connection>>() + index + Pace::MEMBER_SIZE + index;
        assert!(ours <= 352, "{ours} bytes");
    }
}
