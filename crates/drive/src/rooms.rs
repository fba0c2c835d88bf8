//! The rooms of a worker: what was published, which receivers are owed it, and which have it.
//!
//! Each message is identified by its publisher and its number ([`Header`]), and each receiver keeps track of the
//! messages of its room that it has ([`Seen`]), so that lost, duplicate and reordered deliveries are recognized. A
//! receiver is owed messages once its subscription is proved, that is, once any message of its room has reached it.
//! Before the traffic, and again after the last message of the measurement, each publisher sends messages that are
//! counted nowhere ([`Class::Uncounted`]): the former prove all subscriptions, the latter show what is lost at the very
//! end.
//!
//! Machines of a fleet may share rooms ([`RoomShare::is_divided`]): then one of them publishes. The others know from
//! its schedule what their receivers are owed (module `shared`), each message from the instant at which it is due.
//!
//! A receiver that leaves and comes back keeps its place and the messages it has. The messages of its room are then
//! divided by its state when they were sent ([`Presence`]): present, away, or at the edge between the two. A receiver
//! that its server may restore when it comes back is owed everything as if it had stayed, until the server turns out
//! not to restore it ([`Gone`]).
//!
//! Start reading at [`Rooms::published`] and [`Rooms::received`]. Left out: sockets, and when to send.

mod shared;

use load::{Header, RoomShare, Workload};
use record::DeliveryOutcome;
use shared::{Clock, Elsewhere, Published};
use smallvec::{SmallVec, smallvec};
use units::{Instant, Nanos};
use wire::socketio::Ticket;

/// All rooms of a worker.
#[derive(Debug)]
pub(crate) struct Rooms {
    share: RoomShare,
    rooms: Vec<Room>,
    places: Vec<Place>,
    outcome: DeliveryOutcome,
    /// Deliveries of the measurement that are owed to present receivers and have not arrived.
    owed: u64,
    /// The number of open receivers whose subscription is not proved.
    unproved: u32,
    /// Receivers that were present before and are connecting again, or are not proved again.
    returning: u32,
    /// The instant at which all receivers were torn off, or their server or a part of it was killed; `None` again once
    /// the measurement is over.
    storm_at: Option<Instant>,
    /// The instant by which the killed part of the server was gone: a message that was due before then proves no
    /// recovery.
    cut_off_at: Option<Instant>,
    /// Converts due instants between our clock and headers.
    clock: Clock,
    /// The messages that another machine publishes in these rooms; `None` if we publish them.
    elsewhere: Option<Elsewhere>,
    /// End marks that each publisher has still to send, for receivers on other machines.
    marks: u32,
}

#[derive(Debug, Default)]
struct Room {
    /// The streams: one for each publisher, and one for each that replaced another.
    streams: Vec<Stream>,
    /// The number of messages published in it.
    published: u32,
    /// Receivers whose subscription is proved: those that read, and the slow ones.
    present: u32,
    slow: u32,
    /// Receivers that were proved before: those that are gone, and those that are coming back.
    away: u32,
    returning: u32,
}

/// The messages of one publisher.
#[derive(Debug)]
struct Stream {
    /// The number of its connection.
    publisher: u32,
    publications: Vec<Publication>,
}

/// A message that was published.
#[derive(Clone, Copy, Debug)]
struct Publication {
    due: Instant,
    /// The instant at which it was handed over.
    sent: Instant,
    class: Class,
    /// Its number among those of the room.
    number: u32,
    /// The number of receivers that it is owed to, and of those that have it.
    owed: u32,
    delivered: u32,
    /// The time from its due instant to the first delivery, and to the latest.
    first: Nanos,
    latest: Nanos,
}

/// The counts that a message belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// The counts of the measurement.
    Measured,
    /// Not counted: the message is of the warm-up, or proves subscriptions.
    Uncounted,
}

/// The state of a place, whatever connection has it.
#[derive(Debug, Default)]
struct Place {
    /// The number of connections that have had it.
    joins: u32,
    /// The streams of those connections, if they publish.
    streams: Vec<u32>,
    /// The receiver, once its connection has been open for the first time.
    receiver: Option<Receiver>,
}

#[derive(Debug, Default)]
struct Receiver {
    is_open: bool,
    /// Its presence by turns, each from a message number of its room on; empty before the first proof.
    turns: Turns,
    /// Its state for each stream of the room; empty before the first proof. Most rooms have one publisher, whose state
    /// is stored inline.
    seen: SmallVec<[Seen; 1]>,
    /// The instant at which it is to come back; `None` while it is present.
    back_at: Option<Instant>,
    /// The instant at which it was proved for the last time.
    proved_at: Instant,
    /// True from the instant at which all receivers were torn off, or their server was killed, until this one is proved
    /// again. If only a part of the server was killed, until a message reaches it that was due after that part was
    /// gone.
    is_torn_off: bool,
    /// `Some` while it is gone and may be restored.
    gone: Option<Box<Gone>>,
}

/// A receiver that has left a room.
#[derive(Debug)]
struct Gone {
    /// The ticket with which its server may restore it when it comes back. Until that is decided, it counts as present.
    ticket: Option<Ticket>,
    /// The number of the first message that may have been on its way to it when it left.
    edge: u32,
    /// Its presence since then, unless it is restored.
    turns: Turns,
}

/// The turns of a receiver, in order. Most receivers have one.
type Turns = SmallVec<[Turn; 2]>;

#[derive(Clone, Copy, Debug)]
struct Turn {
    /// The number in the room of the first message that was sent in it.
    from: u32,
    presence: Presence,
}

/// The state of a receiver when a message was sent to its room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// Its subscription was proved, and it stayed.
    Present,
    /// It had connected again and was not proved, or it left within [`GUARD`] after the message was sent; or the
    /// message waited in the server when we killed that, however long it had waited.
    Edge,
    /// It was gone.
    Away,
}

/// The reason why a receiver leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leaving {
    /// We let it go.
    Planned,
    /// Its connection was cut, or closed by its peer.
    Unplanned,
    /// We killed its server, at that instant.
    Killed(Instant),
}

/// The messages of one stream that one receiver has.
#[derive(Debug)]
struct Seen {
    /// The first that it is owed.
    from: u32,
    /// The first missing message, once a later one has arrived; until then the next message. The receiver has all from
    /// `from` up to, not including, this one.
    gap: u32,
    /// A bit for each message from `gap` on; empty while messages arrive in order.
    bits: Vec<u64>,
    /// The highest number that has arrived, and the highest order, each plus one.
    next: u32,
    order: u64,
}

/// A delivery that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Delivered {
    pub(crate) due: Instant,
    pub(crate) class: Class,
}

impl Rooms {
    pub(crate) fn new(share: RoomShare, connections: u32) -> Self {
        Self {
            share,
            rooms: (0..share.count()).map(|_| Room::default()).collect(),
            places: (0..connections).map(|_| Place::default()).collect(),
            outcome: DeliveryOutcome::default(),
            owed: 0,
            unproved: 0,
            returning: 0,
            storm_at: None,
            cut_off_at: None,
            clock: Clock::new(share.is_divided()),
            elsewhere: None,
            marks: if share.is_divided() && !share.publishers().is_empty() { MARKS } else { 0 },
        }
    }

    /// Adapts the rooms to `workload` on one of several machines; `awaits_others` until all begin.
    pub(crate) fn on_one_of(mut self, workload: &Workload, awaits_others: bool) -> Self {
        self.clock.awaits_others = awaits_others;
        self.elsewhere = Elsewhere::of(workload);
        if self.elsewhere.is_some() {
            for room in &mut self.rooms {
                // Connections that replace lost ones have other numbers.
                let streams = (0..self.share.all().publishers.get())
                    .map(|publisher| Stream { publisher, publications: Vec::new() });
                room.streams = streams.collect();
            }
        }
        self
    }

    /// Sets the instant at which all machines begin, by our own clock.
    pub(crate) fn begin(&mut self, begin: Instant, workload: &Workload) {
        (self.clock.begin, self.clock.awaits_others) = (begin, false);
        self.elsewhere.iter_mut().for_each(|elsewhere| elsewhere.begin(begin, workload));
    }

    /// Notes that the publishers have sent an end mark.
    pub(crate) fn marked(&mut self) {
        self.marks = self.marks.saturating_sub(1);
    }

    /// Publishes the messages of other machines that are due by `now`, so that they are owed.
    pub(crate) fn note(&mut self, now: Instant) {
        while let Some(next) = self.elsewhere.as_mut().and_then(|elsewhere| elsewhere.take(now)) {
            let Published { due, publisher, is_measured } = next;
            let class = if is_measured { Class::Measured } else { Class::Uncounted };
            let count = self.share.count();
            self.publish(publisher % count, publisher / count, due, due, class);
        }
    }

    /// Begins a connection at a place. Returns its number among all.
    pub(crate) fn join(&mut self, place: u32) -> u32 {
        let Place { joins, streams, receiver } = &mut self.places[place as usize];
        let all = self.share.all().connections().get();
        let number = self.share.number(place).wrapping_add(all.wrapping_mul(*joins));
        *joins += 1;
        if self.share.publishes(place) {
            let room = &mut self.rooms[self.share.room(place) as usize];
            streams.push(index(room.streams.len()));
            room.streams.push(Stream { publisher: number, publications: Vec::new() });
        }
        if let Some(receiver) = receiver
            && receiver.presence() == Some(Presence::Away)
        {
            let room = &mut self.rooms[self.share.room(place) as usize];
            if receiver.gone.is_none() {
                room.away -= 1;
                room.returning += 1;
            }
            self.returning += 1;
            self.outcome.counts.attempts += 1;
            receiver.turn(room.published, Presence::Edge);
        }
        number
    }

    /// Notes that the connection at a place is open, without being restored.
    pub(crate) fn opened(&mut self, place: u32) {
        if self.share.publishes(place) {
            return;
        }
        let receiver = self.places[place as usize].receiver.get_or_insert_default();
        receiver.is_open = true;
        self.unproved += 1;
        if let Some(gone) = receiver.gone.take() {
            let room = &mut self.rooms[self.share.room(place) as usize];
            let is_slow = self.share.slow().contains(&place);
            receiver.was_away(*gone, room, is_slow, &mut self.outcome, &mut self.owed);
        }
    }

    /// Notes that the connection at a place is open at `now`, and that its server has restored the receiver: it has
    /// missed nothing.
    pub(crate) fn restored(&mut self, place: u32, now: Instant) {
        match &mut self.places[place as usize].receiver {
            Some(receiver) if receiver.gone.is_some() => {
                (receiver.gone, receiver.is_open) = (None, true);
                self.returning -= 1;
                self.outcome.counts.restored += 1;
                receiver.is_back(now, &mut self.outcome);
                if self.cut_off_at.is_none() {
                    receiver.has_recovered(now, self.storm_at, &mut self.outcome);
                }
            }
            Some(_) | None => self.opened(place),
        }
    }

    /// The ticket with which the receiver at a place comes back, if its server may restore it.
    pub(crate) fn ticket(&self, place: u32) -> Option<&Ticket> {
        self.places[place as usize].receiver.as_ref()?.gone.as_ref()?.ticket.as_ref()
    }

    /// Notes that the receiver at a place is to come back at `at`.
    pub(crate) fn comes_back(&mut self, place: u32, at: Instant) {
        if let Some(receiver) = &mut self.places[place as usize].receiver {
            receiver.back_at.get_or_insert(at);
        }
    }

    /// Notes that all receivers are torn off at `now`, up to which they have stayed.
    pub(crate) fn storm(&mut self, now: Instant) {
        self.storm_at = Some(now);
        let receivers = self.places.iter_mut().filter_map(|at| at.receiver.as_mut());
        let is_there =
            |it: &&mut Receiver| it.presence() == Some(Presence::Present) && it.proved_at <= now;
        for receiver in receivers.filter(is_there) {
            receiver.is_torn_off = true;
            self.outcome.counts.torn_off += 1;
        }
    }

    /// Notes that a part of the server was killed at `killed` and gone by `gone`: receivers stay, and recover with the
    /// first message that was due from then on. Does nothing if that is known.
    pub(crate) fn cut_off(&mut self, killed: Instant, gone: Instant) {
        if self.cut_off_at.is_some() {
            return;
        }
        self.storm(killed);
        self.cut_off_at = Some(gone);
        if self.clock.is_over {
            self.storm_at = None; // Too late to recover in time.
        }
    }

    /// Counts a receiver that leaves as planned.
    pub(crate) fn absent(&mut self) {
        self.outcome.counts.absences += 1;
    }

    /// Counts `count` messages of the measurement that the killed server had not answered.
    pub(crate) fn unacknowledged(&mut self, count: u64) {
        self.outcome.counts.unacknowledged += count;
    }

    /// Ends the measurement: receivers that are not back by now do not recover in it.
    pub(crate) fn measured(&mut self) {
        self.storm_at = None;
        self.clock.is_over = true;
    }

    /// Notes that the connection at a place is gone at `now`: nothing arrives there until the receiver is back, with
    /// `ticket` if it has one.
    pub(crate) fn left(&mut self, place: u32, now: Instant, why: Leaving, ticket: Option<Ticket>) {
        self.note(now);
        let Self {
            rooms, places, share, outcome, owed, unproved, returning, storm_at, clock, ..
        } = self;
        let at = &mut places[place as usize];
        let Some(receiver) = &mut at.receiver else { return };
        let room = &mut rooms[share.room(place) as usize];
        let was_open = std::mem::take(&mut receiver.is_open);
        match receiver.presence() {
            None => {
                *unproved -= u32::from(was_open);
                at.receiver = None;
            }
            Some(Presence::Away) => {}
            Some(Presence::Edge) => {
                *unproved -= u32::from(was_open);
                *returning -= 1;
                if let Some(Gone { ticket: Some(known), .. }) = receiver.gone.as_deref_mut() {
                    // What has arrived meanwhile must not be sent again.
                    if let Some(ticket) = ticket.filter(|it| it.is_of_client_of(known)) {
                        *known = ticket;
                    }
                } else {
                    room.returning -= 1;
                    room.away += 1;
                }
                receiver.turn(room.published, Presence::Away);
            }
            Some(Presence::Present) => {
                if let Leaving::Killed(at) = why
                    && receiver.proved_at <= at
                {
                    if !clock.is_over {
                        storm_at.get_or_insert(at);
                    }
                    receiver.is_torn_off = true;
                    outcome.counts.torn_off += 1;
                }
                let edge = receiver.under_way(room, why, now);
                let turns = smallvec![Turn { from: room.published, presence: Presence::Away }];
                let gone = Gone { ticket, edge, turns };
                if gone.ticket.is_some() {
                    receiver.gone = Some(Box::new(gone));
                } else {
                    let is_slow = share.slow().contains(&place);
                    receiver.was_away(gone, room, is_slow, outcome, owed);
                }
            }
        }
    }

    /// Notes that the connection at a place handed over its next message at `sent`, which was due at `due`.
    pub(crate) fn published(&mut self, place: u32, due: Instant, sent: Instant, class: Class) {
        let Some(stream) = self.places[place as usize].streams.last() else { return };
        self.publish(self.share.room(place), *stream, due, sent, class);
        self.outcome.counts.published += u64::from(class == Class::Measured);
    }

    /// Adds a message that is published in a room, and owes it to the receivers that are present.
    fn publish(&mut self, room: u32, stream: u32, due: Instant, sent: Instant, class: Class) {
        let room = &mut self.rooms[room as usize];
        let owed = room.present;
        let publication = Publication {
            due,
            sent,
            class,
            number: room.published,
            owed,
            delivered: 0,
            first: Nanos::ZERO,
            latest: Nanos::ZERO,
        };
        room.streams[stream as usize].publications.push(publication);
        room.published += 1;
        if class == Class::Measured {
            let counts = &mut self.outcome.counts;
            counts.owed += u64::from(owed);
            counts.slow.owed += u64::from(room.slow);
            counts.edge.owed += u64::from(room.returning);
            counts.away.owed += u64::from(room.away);
            self.owed += u64::from(owed) + u64::from(room.slow);
        }
    }

    /// Takes a message that arrived on the connection at a place at `received`, with its `header` if that could be
    /// read. Returns the delivery if it counts: the message was owed to a receiver that was present and reads, and
    /// arrived for the first time.
    pub(crate) fn received(
        &mut self,
        place: u32,
        header: Option<Header>,
        received: Instant,
    ) -> Option<Delivered> {
        let own = self.share.room(place);
        let found = header.and_then(|header| self.find(own, header, received));
        let receiver = self.places[place as usize].receiver.as_ref()?;
        let Some(Found { stream, message, order }) = found else {
            // Before the common start, other machines may probe the server.
            let is_foreign = !self.clock.awaits_others
                && !header.is_some_and(|header| self.is_call_of_before(own, header));
            self.outcome.counts.foreign += u64::from(is_foreign);
            return None;
        };
        let has_not_recovered = receiver.is_open && receiver.is_torn_off;
        if receiver.is_open && receiver.presence() != Some(Presence::Present) {
            self.prove(place, received);
        }
        if has_not_recovered && let Some(header) = header {
            self.recovers(place, header.due, received);
        }
        let sequence = match message {
            Found::CALL => return None,
            Found::END => {
                self.ends(place, own, stream, order);
                return None;
            }
            sequence => sequence,
        };
        let Self { rooms, places, share, outcome, owed, .. } = self;
        let receiver = places[place as usize].receiver.as_mut()?;
        let room = &mut rooms[own as usize];
        let publication = &mut room.streams[stream as usize].publications[sequence as usize];
        let counts = &mut outcome.counts;
        let is_measured = u64::from(publication.class == Class::Measured);
        let is_overtaken = match receiver.take(stream, sequence, order) {
            Taken::Early => {
                counts.early += is_measured;
                return None;
            }
            Taken::Again => {
                counts.duplicate += is_measured;
                return None;
            }
            Taken::First { is_overtaken } => is_overtaken,
        };
        let (presence, is_current) = receiver.presence_at(publication.number);
        match presence {
            Presence::Present => {
                counts.reordered += is_measured * u64::from(is_overtaken);
                *owed -= is_measured * u64::from(is_current);
                if share.slow().contains(&place) {
                    counts.slow.delivered += is_measured;
                    return None;
                }
                counts.delivered += is_measured;
                // It was kept for a receiver that is coming back: the server has yet to say that it is restored.
                let is_caught_up = !receiver.is_open;
                counts.caught_up += is_measured * u64::from(is_caught_up);
                if is_measured > 0 {
                    publication.delivered(received, outcome);
                    if is_caught_up {
                        outcome.replayed.record(received.since(publication.due));
                    }
                }
                Some(Delivered { due: publication.due, class: publication.class })
            }
            Presence::Edge => {
                counts.edge.delivered += is_measured;
                None
            }
            Presence::Away => {
                counts.away.delivered += is_measured;
                if is_measured > 0 {
                    outcome.replayed.record(received.since(publication.due));
                }
                None
            }
        }
    }

    /// Proves an open receiver, which a message has reached at `now`: from the next message on, it is owed everything.
    #[cold]
    fn prove(&mut self, place: u32, now: Instant) {
        let Self { rooms, places, share, outcome, unproved, returning, .. } = self;
        let Some(receiver) = &mut places[place as usize].receiver else { return };
        let room = &mut rooms[share.room(place) as usize];
        if receiver.turns.is_empty() {
            let seen = |stream: &Stream| Seen::from(index(stream.publications.len()));
            receiver.seen = room.streams.iter().map(seen).collect();
        } else {
            *returning -= 1;
            room.returning -= 1;
        }
        receiver.turn(room.published, Presence::Present);
        *room.present(share.slow().contains(&place)) += 1;
        *unproved -= 1;
        receiver.is_back(now, outcome);
    }

    /// Lets an open receiver recover at `now`, when a message that was due at `due` has reached it, unless a part of
    /// the server was killed and the message may have come through the old one.
    #[cold]
    fn recovers(&mut self, place: u32, due: Nanos, now: Instant) {
        if self.cut_off_at.is_none_or(|gone| self.clock.read(due) >= gone)
            && let Some(receiver) = &mut self.places[place as usize].receiver
        {
            receiver.has_recovered(now, self.storm_at, &mut self.outcome);
        }
    }

    /// The message that a header names, in room `own`; `None` if there is none.
    fn find(&mut self, own: u32, header: Header, received: Instant) -> Option<Found> {
        if self.elsewhere.is_some() {
            return self.find_elsewhere(own, header, received);
        }
        let streams = &self.rooms[own as usize].streams;
        let is_first = streams.first().is_some_and(|it| it.publisher == header.connection);
        let stream = match is_first {
            true => 0, // Most rooms have one publisher.
            false => stream_of(self.share, &self.places, header, own)?,
        };
        let Stream { publisher, publications } = &streams[stream as usize];
        let publication = publications.get(header.sequence as usize)?;
        let is_it =
            *publisher == header.connection && publication.due == self.clock.read(header.due);
        let message = header.sequence;
        is_it.then_some(Found { stream, message, order: message.into() })
    }

    /// True if a header is that of an uncounted message, sent by a publisher of room `own` in the previous block, whose
    /// drain the message outlasted in the server or in the program that publishes.
    fn is_call_of_before(&self, own: u32, header: Header) -> bool {
        let publisher = self.share.publisher(header.connection);
        header.due == Clock::CALL && publisher.is_some_and(|(room, _)| room == own)
    }

    /// The message of another machine that a header names, in room `own`; `None` if there is none.
    fn find_elsewhere(&mut self, own: u32, header: Header, received: Instant) -> Option<Found> {
        let (_, stream) =
            self.share.publisher(header.connection).filter(|(room, _)| *room == own)?;
        let message = match header.due {
            Clock::CALL => Found::CALL,
            Clock::END => {
                self.note(received + AHEAD);
                Found::END
            }
            due => {
                let due = self.clock.read(due);
                self.note(received.max(due.min(received + AHEAD)));
                let stream = &self.rooms[own as usize].streams[stream as usize];
                index(stream.publications.binary_search_by_key(&due, |it| it.due).ok()?)
            }
        };
        let heard_at = &mut self.elsewhere.as_mut()?.heard_at;
        *heard_at = received.min(*heard_at);
        // A message that was held back by a stall is sent after one that was due later.
        let turn = header.connection / self.share.all().connections();
        let order = u64::from(turn) << 32 | u64::from(header.sequence);
        Some(Found { stream, message, order })
    }

    /// Ends a stream for the receiver at a place, which an end mark has reached: all that is missing of the stream is
    /// lost.
    #[cold]
    fn ends(&mut self, place: u32, own: u32, stream: u32, order: u64) {
        let next = self.rooms[own as usize].streams[stream as usize].publications.len();
        let Some(receiver) = &mut self.places[place as usize].receiver else { return };
        let seen = receiver.seen_of(stream);
        (seen.next, seen.order) = (index(next), seen.order.max(order + 1));
    }

    /// The due instant of one of our messages, as written in its header.
    pub(crate) fn written(&self, due: Instant) -> Nanos {
        self.clock.written(due)
    }

    /// Converts the due instant of a message to our own clock; its header stays as it is.
    pub(crate) fn by_our_clock<'a>(&self, pushed: wire::Pushed<'a>) -> wire::Pushed<'a> {
        let sent = pushed.sent.map(|due| Nanos(self.clock.read(due).0));
        wire::Pushed { sent, ..pushed }
    }

    /// True if receivers on other machines need messages from us to prove their subscriptions.
    pub(crate) fn calls_others(&self) -> bool {
        self.marks > 0
    }

    /// The instant from which on receivers are expected to be proved: that of the first message of a publisher
    /// elsewhere.
    pub(crate) fn proved_from(&self) -> Instant {
        self.elsewhere.as_ref().map_or(Instant::START, |elsewhere| elsewhere.heard_at)
    }

    /// The number of open receivers whose subscription is not proved.
    pub(crate) fn unproved(&self) -> u32 {
        self.unproved
    }

    /// True once nothing is missing, no receiver is on its way back, and all end marks for receivers elsewhere are
    /// sent.
    pub(crate) fn is_complete(&self) -> bool {
        self.owed == 0 && self.returning == 0 && self.marks == 0
    }

    /// True if the connection at a place is a receiver whose subscription is not proved.
    pub(crate) fn is_unproved(&self, place: u32) -> bool {
        let receiver = self.places[place as usize].receiver.as_ref();
        receiver.is_some_and(|it| it.is_open && it.presence() != Some(Presence::Present))
    }

    /// True if the connection at a place is a receiver whose subscription is proved.
    pub(crate) fn is_present(&self, place: u32) -> bool {
        let receiver = self.places[place as usize].receiver.as_ref();
        receiver.is_some_and(|it| it.presence() == Some(Presence::Present))
    }

    /// True if the connection at a place belongs to a receiver that always reads.
    pub(crate) fn is_read(&self, place: u32) -> bool {
        !self.publishes(place) && !self.share.slow().contains(&place)
    }

    /// The places of all receivers.
    pub(crate) fn receivers(&self) -> std::ops::Range<u32> {
        self.publishers().end..index(self.places.len())
    }

    /// The places of receivers that read nothing during the measurement.
    pub(crate) fn slow(&self) -> std::ops::Range<u32> {
        self.share.slow()
    }

    /// True if the connection at a place publishes.
    pub(crate) fn publishes(&self, place: u32) -> bool {
        self.share.publishes(place)
    }

    /// The places of all publishers.
    pub(crate) fn publishers(&self) -> std::ops::Range<u32> {
        self.share.publishers()
    }

    /// Gives up at `now` all that is missing; the measured window began at `begin`. Calls `each` for every delivery
    /// that is lost or cut off, with the instant at which its message was due. A message that is missing somewhere
    /// counts as having taken at least `least`. What was given up before is not counted again.
    pub(crate) fn give_up(
        &mut self,
        begin: Instant,
        now: Instant,
        least: Nanos,
        mut each: impl FnMut(Instant),
    ) {
        self.note(now);
        let Self { rooms, places, share, outcome, owed, .. } = self;
        for (place, at) in (0..).zip(places) {
            // From here on it is owed nothing, whenever it leaves.
            let Some(mut receiver) = at.receiver.take() else { continue };
            let is_slow = share.slow().contains(&place);
            let room = &mut rooms[share.room(place) as usize];
            if let Some(gone) = receiver.gone.take() {
                receiver.was_away(*gone, room, is_slow, outcome, owed);
            }
            let last = receiver.turns.last().map_or(0, |turn| turn.from);
            receiver.missing(room, |publication, presence, is_overtaken| {
                let is_gone = publication.number < last;
                if !is_slow {
                    outcome.missed_at(publication.due.since(begin));
                }
                let counts = &mut outcome.counts;
                match presence {
                    Presence::Away => counts.away.lost += 1,
                    Presence::Edge => counts.edge.lost += 1,
                    Presence::Present if is_slow && is_gone => counts.slow.cut += 1,
                    Presence::Present if is_slow && is_overtaken => counts.slow.lost += 1,
                    Presence::Present if is_slow => counts.slow.in_flight_at_end += 1,
                    Presence::Present if is_gone || is_overtaken => {
                        let end = if is_gone { &mut counts.cut } else { &mut counts.lost };
                        *end += 1;
                        each(publication.due);
                    }
                    Presence::Present => counts.in_flight_at_end += 1,
                }
            });
        }
        *owed = 0;
        let streams = rooms.iter_mut().flat_map(|room| &mut room.streams);
        let all = streams.flat_map(|stream| &mut stream.publications);
        for publication in all.filter(|it| it.class == Class::Measured && it.owed > 0) {
            // It is counted now: a later call must not count it again.
            publication.class = Class::Uncounted;
            let until = now.since(publication.due).max(least);
            let (mut first, mut last) = (publication.first, publication.latest);
            if publication.delivered < publication.owed {
                outcome.counts.incomplete += 1;
                outcome.last.record(until);
                last = until;
                if publication.delivered < publication.half() {
                    outcome.median.record(until);
                }
            }
            if publication.delivered == 0 {
                outcome.first.record(until);
                first = until;
            }
            outcome.message_at(publication.due.since(begin), first, last);
        }
    }

    /// Returns everything that was counted.
    pub(crate) fn finish(self) -> DeliveryOutcome {
        let clock_bound = self.share.is_divided().then_some(Nanos::ZERO);
        DeliveryOutcome { clock_bound, ..self.outcome }
    }
}

impl Room {
    /// The number of receivers whose subscription is proved, of the slow ones or the others.
    fn present(&mut self, is_slow: bool) -> &mut u32 {
        if is_slow { &mut self.slow } else { &mut self.present }
    }
}

impl Publication {
    /// Half the number of receivers that it is owed to, rounded up.
    fn half(&self) -> u32 {
        self.owed.div_ceil(2)
    }

    /// Notes that one more receiver has it.
    fn delivered(&mut self, received: Instant, outcome: &mut DeliveryOutcome) {
        let after = received.since(self.due);
        self.delivered += 1;
        self.latest = after;
        if self.delivered == 1 {
            self.first = after;
            outcome.first.record(after);
        }
        if self.delivered == self.half() {
            outcome.median.record(after);
        }
        if self.delivered == self.owed {
            outcome.last.record(after);
            outcome.spread.record(Nanos(after.0 - self.first.0));
        }
    }

    /// Notes that a receiver that does not have it is no longer owed it.
    fn not_owed(&mut self, outcome: &mut DeliveryOutcome) {
        let half = self.half();
        self.owed -= 1;
        if self.delivered == 0 {
            return;
        }
        if self.delivered < half && self.delivered == self.half() {
            outcome.median.record(self.latest);
        }
        if self.delivered == self.owed {
            outcome.last.record(self.latest);
            outcome.spread.record(Nanos(self.latest.0 - self.first.0));
        }
    }
}

/// The message that a header names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Found {
    stream: u32,
    /// Its number in the stream, or one of those below.
    message: u32,
    /// Its place in the order in which its publisher sent messages; larger is later.
    order: u64,
}

impl Found {
    /// An unscheduled message of another machine.
    const CALL: u32 = u32::MAX;
    /// An end mark: an unscheduled message after the last scheduled one.
    const END: u32 = u32::MAX - 1;
}

/// The relation of a message to the receiver that it reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taken {
    /// It was sent before the receiver was proved.
    Early,
    Again,
    First {
        /// True if a later one of the same publisher arrived before it.
        is_overtaken: bool,
    },
}

impl Receiver {
    /// Its presence now; `None` before its first proof.
    fn presence(&self) -> Option<Presence> {
        let turns = self.gone.as_ref().map_or(&self.turns, |gone| &gone.turns);
        turns.last().map(|turn| turn.presence)
    }

    /// Sets the presence from message number `from` on.
    fn turn(&mut self, from: u32, presence: Presence) {
        let turns = self.gone.as_mut().map_or(&mut self.turns, |gone| &mut gone.turns);
        while turns.last().is_some_and(|turn| turn.from >= from) {
            turns.pop(); // Nothing was sent in it.
        }
        turns.push(Turn { from, presence });
    }

    /// Its presence when the message with this number was sent, and true if it has not changed since.
    fn presence_at(&self, number: u32) -> (Presence, bool) {
        let turn = turn_at(&self.turns, number);
        let presence = self.turns.get(turn).map_or(Presence::Away, |turn| turn.presence);
        (presence, turn + 1 == self.turns.len())
    }

    /// Notes that it was not restored: what was sent since it left, and has not arrived, is owed according to its
    /// presence at that time.
    fn was_away(
        &mut self,
        gone: Gone,
        room: &mut Room,
        is_slow: bool,
        outcome: &mut DeliveryOutcome,
        owed: &mut u64,
    ) {
        let Gone { edge: edge_from, turns, .. } = gone;
        let since = self.turns.last().map_or(0, |turn| turn.from);
        let left = turns.first().map_or(room.published, |turn| turn.from);
        let mut edge = left;
        self.missing(room, |publication, _, _| {
            let number = publication.number;
            if number < since {
                return; // From an earlier turn.
            }
            *owed -= 1;
            if number < left.min(edge_from) {
                return; // It is cut off.
            }
            let counts = &mut outcome.counts;
            let of_present = if is_slow { &mut counts.slow.owed } else { &mut counts.owed };
            *of_present -= 1;
            let turn = turns.get(turn_at(&turns, number)).filter(|_| number >= left);
            match turn.map(|turn| turn.presence) {
                Some(Presence::Away) => counts.away.owed += 1,
                Some(Presence::Edge | Presence::Present) | None => counts.edge.owed += 1,
            }
            edge = edge.min(number);
            if !is_slow {
                publication.not_owed(outcome);
            }
        });
        *room.present(is_slow) -= 1;
        self.turn(edge, Presence::Edge);
        for Turn { from, presence } in turns {
            self.turn(from, presence);
        }
        match self.presence() {
            Some(Presence::Away) => room.away += 1,
            Some(Presence::Edge | Presence::Present) | None => room.returning += 1,
        }
    }

    /// Notes that it is back at `now`, proved or restored.
    fn is_back(&mut self, now: Instant, outcome: &mut DeliveryOutcome) {
        self.proved_at = now;
        let back_at = self.back_at.take();
        back_at.into_iter().for_each(|at| outcome.returned.record(now.since(at)));
    }

    /// Notes that it has recovered at `now`, if it had been torn off or cut off.
    fn has_recovered(
        &mut self,
        now: Instant,
        storm_at: Option<Instant>,
        outcome: &mut DeliveryOutcome,
    ) {
        if std::mem::take(&mut self.is_torn_off)
            && let Some(storm_at) = storm_at
        {
            outcome.counts.recovered += 1;
            outcome.recovered.record(now.since(storm_at));
        }
    }

    fn take(&mut self, stream: u32, sequence: u32, order: u64) -> Taken {
        self.seen_of(stream).take(sequence, order)
    }

    fn seen_of(&mut self, stream: u32) -> &mut Seen {
        while self.seen.len() <= stream as usize {
            self.seen.push(Seen::from(0)); // A publisher that joined later.
        }
        &mut self.seen[stream as usize]
    }

    /// The number of the first message of its last turn that may have been on its way to it when it left at `now`.
    fn under_way(&self, room: &mut Room, why: Leaving, now: Instant) -> u32 {
        let mut from = u32::MAX;
        if why == Leaving::Unplanned {
            return from;
        }
        let since = self.turns.last().map_or(0, |turn| turn.from);
        self.missing(room, |publication, _, is_overtaken| {
            let is_under_way = match why {
                Leaving::Planned => publication.sent + GUARD > now,
                // Whatever waited for it in the server is gone.
                Leaving::Killed(_) => !is_overtaken,
                Leaving::Unplanned => false,
            };
            if is_under_way && publication.number >= since {
                from = from.min(publication.number);
            }
        });
        from
    }

    /// Calls `each` for each message of the measurement that it does not have, with its presence when the message was
    /// sent, and true if a later one of the same publisher has arrived.
    fn missing(&self, room: &mut Room, mut each: impl FnMut(&mut Publication, Presence, bool)) {
        if self.turns.is_empty() {
            return;
        }
        let none = Seen::from(0);
        for (index, stream) in room.streams.iter_mut().enumerate() {
            let seen = self.seen.get(index).unwrap_or(&none);
            let mut sequence = seen.gap; // It has all before this one, or is not owed them.
            while let Some(publication) = stream.publications.get_mut(sequence as usize) {
                if seen.has_word(sequence) {
                    sequence += WORD;
                    continue;
                }
                if publication.class == Class::Measured && seen.lacks(sequence) {
                    let (presence, _) = self.presence_at(publication.number);
                    each(publication, presence, sequence < seen.next);
                }
                sequence += 1;
            }
        }
    }
}

impl Seen {
    const fn from(from: u32) -> Self {
        Self { from, gap: from, bits: Vec::new(), next: 0, order: 0 }
    }

    fn take(&mut self, sequence: u32, order: u64) -> Taken {
        if sequence < self.from {
            return Taken::Early;
        }
        if sequence == self.gap && self.bits.is_empty() {
            self.gap += 1;
        } else if !self.take_bit(sequence) {
            return Taken::Again;
        }
        let is_overtaken = order < self.order;
        self.next = self.next.max(sequence + 1);
        self.order = self.order.max(order + 1);
        Taken::First { is_overtaken }
    }

    /// Takes an owed message that is not simply the next one. Returns false if it has arrived before.
    fn take_bit(&mut self, sequence: u32) -> bool {
        let Some(bit) = sequence.checked_sub(self.gap) else { return false };
        let (word, bit) = ((bit / WORD) as usize, 1 << (bit % WORD));
        if self.bits.len() <= word {
            self.bits.resize(word + 1, 0);
        }
        let is_new = self.bits[word] & bit == 0;
        self.bits[word] |= bit;
        is_new
    }

    /// True if a word of messages begins with this one, and all of them have arrived. `sequence` is not before the gap.
    fn has_word(&self, sequence: u32) -> bool {
        let bit = sequence - self.gap;
        bit.is_multiple_of(WORD) && self.bits.get((bit / WORD) as usize) == Some(&u64::MAX)
    }

    /// True if the message is owed and has not arrived.
    fn lacks(&self, sequence: u32) -> bool {
        sequence.checked_sub(self.gap).is_some_and(|bit| {
            let word = self.bits.get((bit / WORD) as usize).copied().unwrap_or(0);
            word & 1 << (bit % WORD) == 0
        })
    }
}

/// The stream that a header names, as an index into those of room `own`; `None` if that publisher is not in the room.
fn stream_of(share: RoomShare, places: &[Place], header: Header, own: u32) -> Option<u32> {
    let place = share.place(header.connection)?;
    let turn = header.connection / share.all().connections().get();
    let streams = &places[place as usize].streams;
    (share.room(place) == own).then(|| streams.get(turn as usize).copied()).flatten()
}

/// The index of the turn in which the message with this number was sent.
fn turn_at(turns: &[Turn], number: u32) -> usize {
    turns.partition_point(|turn| turn.from <= number).saturating_sub(1)
}

fn index(len: usize) -> u32 {
    u32::try_from(len).expect("publishers and their messages are numbered by a u32")
}

/// The time for which a message counts as on its way: one handed over this long before its receiver left, or less, may
/// not have arrived.
const GUARD: Nanos = Nanos::from_millis(250);

/// The number of end marks: messages after the last scheduled one from which receivers on other machines know what is
/// lost. A few, because they may be lost as well.
const MARKS: u32 = 5;

/// The most that a publisher's clock may be ahead of ours; more than any fleet starts with.
const AHEAD: Nanos = Nanos::from_millis(100);

/// The bits of a word.
const WORD: u32 = u64::BITS;

#[cfg(test)]
mod tests;
