//! The rooms of a worker: what was published, who is owed it, and who has it.
//!
//! Each message is known by its publisher and its number ([`Header`]), so that each receiver has a bit for each message
//! of its room, and a delivery that is lost, comes twice or overtakes another is known as such. A receiver is owed
//! messages from when its subscription is proved: when any message of its room has reached it. Before the traffic, and
//! again when the last message of the measurement was sent, each publisher sends messages that are counted nowhere
//! ([`Class::Uncounted`]): the former prove all subscriptions, the latter show what is lost at the very end.
//!
//! Start reading at [`Rooms::published`] and [`Rooms::received`]. Left out: sockets and times to send.

use load::{Header, RoomShare};
use record::DeliveryOutcome;
use units::{Instant, Nanos};

/// All rooms of a worker.
#[derive(Debug)]
pub(crate) struct Rooms {
    share: RoomShare,
    rooms: Vec<Room>,
    places: Vec<Place>,
    outcome: DeliveryOutcome,
    /// Deliveries of the measurement that are owed and have not come.
    owed: u64,
    /// Open receivers whose subscription is not proved.
    unproved: u32,
}

#[derive(Debug, Default)]
struct Room {
    /// One for each publisher, and for each that took the place of another.
    streams: Vec<Stream>,
    /// Receivers whose subscription is proved.
    present: u32,
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
    class: Class,
    /// Receivers that it was owed to, and those of them that have it.
    owed: u32,
    delivered: u32,
    /// From due to its first receiver.
    first: Nanos,
}

/// The counts that a message belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// Those of the measurement.
    Measured,
    /// None: it is of the warm-up, or proves subscriptions.
    Uncounted,
}

/// A place, with what is known of it, whatever connection has it.
#[derive(Debug, Default)]
struct Place {
    /// Connections that have had it.
    joins: u32,
    /// The streams of those, where they publish.
    streams: Vec<u32>,
    /// The connection that has it, where it receives and is open.
    receiver: Option<Receiver>,
}

#[derive(Debug, Default)]
struct Receiver {
    is_proved: bool,
    /// For each stream of the room what has come of it; none before the proof.
    seen: Vec<Seen>,
}

/// The messages of one stream that one receiver has.
#[derive(Debug)]
struct Seen {
    /// The first that it is owed.
    from: u32,
    /// A bit for each from there on.
    bits: Vec<u64>,
    /// The number after that of the latest that has come.
    next: u32,
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
        }
    }

    /// A connection begins at a place. Returns its number among all.
    pub(crate) fn join(&mut self, place: u32) -> u32 {
        let Place { joins, streams, .. } = &mut self.places[place as usize];
        let all = self.share.all().connections().get();
        let number = self.share.number(place).wrapping_add(all.wrapping_mul(*joins));
        *joins += 1;
        if self.share.publishes(place) {
            let room = &mut self.rooms[self.share.room(place) as usize];
            streams.push(index(room.streams.len()));
            room.streams.push(Stream { publisher: number, publications: Vec::new() });
        }
        number
    }

    /// The connection at a place is open.
    pub(crate) fn opened(&mut self, place: u32) {
        if !self.share.publishes(place) {
            self.places[place as usize].receiver = Some(Receiver::default());
            self.unproved += 1;
        }
    }

    /// The connection at a place is gone: nothing comes to it any more.
    /// Calls `each` for each delivery that it is owed and will not get, with the instant at which its message was due.
    pub(crate) fn left(&mut self, place: u32, mut each: impl FnMut(Instant)) {
        let Some(receiver) = self.places[place as usize].receiver.take() else { return };
        if !receiver.is_proved {
            self.unproved -= 1;
            return;
        }
        let Self { rooms, outcome, owed, share, .. } = self;
        let room = &mut rooms[share.room(place) as usize];
        room.present -= 1;
        receiver.missing(room, |publication, _| {
            outcome.counts.cut += 1;
            *owed -= 1;
            each(publication.due);
        });
    }

    /// The connection at a place has handed over its next message, which was due at `due`.
    pub(crate) fn published(&mut self, place: u32, due: Instant, class: Class) {
        let Some(stream) = self.places[place as usize].streams.last() else { return };
        let room = &mut self.rooms[self.share.room(place) as usize];
        let owed = room.present;
        let publication = Publication { due, class, owed, delivered: 0, first: Nanos::ZERO };
        room.streams[*stream as usize].publications.push(publication);
        if class == Class::Measured {
            self.outcome.counts.published += 1;
            self.outcome.counts.owed += u64::from(owed);
            self.owed += u64::from(owed);
        }
    }

    /// A message came to the connection at a place at `received`; `header` is what it carries, if that can be read.
    /// Returns the delivery, if it is one that is owed and comes for the first time.
    pub(crate) fn received(
        &mut self,
        place: u32,
        header: Option<Header>,
        received: Instant,
    ) -> Option<Delivered> {
        let Self { rooms, places, share, outcome, owed, unproved } = self;
        let own = share.room(place);
        let stream = header.and_then(|header| stream_of(*share, places, header, own));
        let receiver = places[place as usize].receiver.as_mut()?;
        let room = &mut rooms[own as usize];
        let found = stream.zip(header).and_then(|(stream, header)| {
            let Stream { publisher, publications } = room.streams.get_mut(stream as usize)?;
            let publication = publications.get_mut(header.sequence as usize)?;
            let is_it = *publisher == header.connection && publication.due.0 == header.due.0;
            is_it.then_some((stream, header.sequence))
        });
        let Some((stream, sequence)) = found else {
            outcome.counts.foreign += 1;
            return None;
        };
        if !receiver.is_proved {
            receiver.prove(room);
            *unproved -= 1;
        }
        let publication = &mut room.streams[stream as usize].publications[sequence as usize];
        let counts = &mut outcome.counts;
        let is_measured = u64::from(publication.class == Class::Measured);
        match receiver.take(stream, sequence) {
            Taken::Early => counts.early += is_measured,
            Taken::Again => counts.duplicate += is_measured,
            Taken::First { is_overtaken } => {
                counts.reordered += is_measured * u64::from(is_overtaken);
                counts.delivered += is_measured;
                *owed -= is_measured;
                if is_measured > 0 {
                    publication.delivered(received, outcome);
                }
                return Some(Delivered { due: publication.due, class: publication.class });
            }
        }
        None
    }

    /// Deliveries of the measurement that are owed and have not come.
    pub(crate) fn owed(&self) -> u64 {
        self.owed
    }

    /// Open receivers whose subscription is not proved.
    pub(crate) fn unproved(&self) -> u32 {
        self.unproved
    }

    /// True if the connection at a place is a receiver whose subscription is not proved.
    pub(crate) fn is_unproved(&self, place: u32) -> bool {
        self.places[place as usize].receiver.as_ref().is_some_and(|receiver| !receiver.is_proved)
    }

    /// True if the connection at a place publishes.
    pub(crate) fn publishes(&self, place: u32) -> bool {
        self.share.publishes(place)
    }

    /// The places of all publishers.
    pub(crate) fn publishers(&self) -> std::ops::Range<u32> {
        0..self.share.count() * self.share.all().publishers.get()
    }

    /// It is `now`, and nothing is waited for any more. Calls `each` for a delivery that is lost, with the instant at
    /// which its message was due. A message that is missing somewhere has taken `least` at least.
    pub(crate) fn give_up(&mut self, now: Instant, least: Nanos, mut each: impl FnMut(Instant)) {
        let Self { rooms, places, share, outcome, owed, .. } = self;
        for (place, at) in (0..).zip(places) {
            // Nothing is owed to it any more, whenever it goes.
            let receiver = at.receiver.take().filter(|receiver| receiver.is_proved);
            let Some(receiver) = receiver else { continue };
            let room = &mut rooms[share.room(place) as usize];
            receiver.missing(room, |publication, is_overtaken| {
                if is_overtaken {
                    outcome.counts.lost += 1;
                    each(publication.due);
                } else {
                    outcome.counts.in_flight_at_end += 1;
                }
            });
        }
        *owed = 0;
        let all = rooms.iter().flat_map(|room| &room.streams).flat_map(|it| &it.publications);
        let is_short = |it: &&Publication| it.class == Class::Measured && it.delivered < it.owed;
        for publication in all.filter(is_short) {
            let until = now.since(publication.due).max(least);
            outcome.counts.incomplete += 1;
            outcome.last.record(until);
            if publication.delivered < publication.half() {
                outcome.median.record(until);
            }
            if publication.delivered == 0 {
                outcome.first.record(until);
            }
        }
    }

    /// All that was counted.
    pub(crate) fn finish(self) -> DeliveryOutcome {
        self.outcome
    }
}

impl Publication {
    /// The number of receivers that are half of those that it is owed to, rounded up.
    fn half(&self) -> u32 {
        self.owed.div_ceil(2)
    }

    /// One more receiver has it.
    fn delivered(&mut self, received: Instant, outcome: &mut DeliveryOutcome) {
        let after = received.since(self.due);
        self.delivered += 1;
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
}

/// The relation of a message to a receiver that it came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taken {
    /// It was sent before the receiver was proved.
    Early,
    Again,
    First {
        /// True if a later one of the same publisher came before it.
        is_overtaken: bool,
    },
}

impl Receiver {
    /// The subscription is proved: from the next message of each publisher on it is owed all.
    fn prove(&mut self, room: &mut Room) {
        self.is_proved = true;
        room.present += 1;
        let seen = |stream: &Stream| Seen::from(index(stream.publications.len()));
        self.seen = room.streams.iter().map(seen).collect();
    }

    fn take(&mut self, stream: u32, sequence: u32) -> Taken {
        while self.seen.len() <= stream as usize {
            self.seen.push(Seen::from(0)); // Of a publisher that came later.
        }
        self.seen[stream as usize].take(sequence)
    }

    /// Calls `each` for each message of the measurement that it is owed and has not, and says if a later one of the
    /// same publisher has come.
    fn missing(&self, room: &mut Room, mut each: impl FnMut(&mut Publication, bool)) {
        let none = Seen::from(0);
        for (index, stream) in room.streams.iter_mut().enumerate() {
            let seen = self.seen.get(index).unwrap_or(&none);
            let mut sequence = seen.from;
            while let Some(publication) = stream.publications.get_mut(sequence as usize) {
                if seen.has_word(sequence) {
                    sequence += WORD;
                    continue;
                }
                if publication.class == Class::Measured && seen.lacks(sequence) {
                    each(publication, sequence < seen.next);
                }
                sequence += 1;
            }
        }
    }
}

impl Seen {
    const fn from(from: u32) -> Self {
        Self { from, bits: Vec::new(), next: 0 }
    }

    fn take(&mut self, sequence: u32) -> Taken {
        let Some(bit) = sequence.checked_sub(self.from) else { return Taken::Early };
        let (word, bit) = ((bit / WORD) as usize, 1 << (bit % WORD));
        if self.bits.len() <= word {
            self.bits.resize(word + 1, 0);
        }
        if self.bits[word] & bit != 0 {
            return Taken::Again;
        }
        self.bits[word] |= bit;
        let is_overtaken = sequence < self.next;
        self.next = self.next.max(sequence + 1);
        Taken::First { is_overtaken }
    }

    /// True if a word of messages begins with this one, and all of them have come.
    fn has_word(&self, sequence: u32) -> bool {
        let bit = sequence - self.from;
        bit.is_multiple_of(WORD) && self.bits.get((bit / WORD) as usize) == Some(&u64::MAX)
    }

    /// True if the message is owed and has not come.
    fn lacks(&self, sequence: u32) -> bool {
        sequence.checked_sub(self.from).is_some_and(|bit| {
            let word = self.bits.get((bit / WORD) as usize).copied().unwrap_or(0);
            word & 1 << (bit % WORD) == 0
        })
    }
}

/// The stream that a header names, as an index into those of room `own`; `None` if there is no such publisher there.
fn stream_of(share: RoomShare, places: &[Place], header: Header, own: u32) -> Option<u32> {
    let place = share.place(header.connection)?;
    let turn = header.connection / share.all().connections().get();
    let streams = &places[place as usize].streams;
    (share.room(place) == own).then(|| streams.get(turn as usize).copied()).flatten()
}

fn index(len: usize) -> u32 {
    u32::try_from(len).expect("publishers and their messages are numbered by a u32")
}

/// The bits of a word.
const WORD: u32 = u64::BITS;

#[cfg(test)]
mod tests;
