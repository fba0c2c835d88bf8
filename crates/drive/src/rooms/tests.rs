//! The counts of rooms against a model that remembers every message and every delivery by itself.

use super::*;
use record::DeliveryCounts;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use units::Random;

#[test]
fn a_message_is_delivered_to_its_first_its_median_and_its_last_receiver() {
    let mut rooms = proved(1, 1, 4);
    rooms.published(0, Instant(1000), Class::Measured);
    let header = header(0, 1, 1000);
    for (place, at) in [(3, 1010), (1, 1013), (4, 1020), (2, 1050)] {
        assert!(rooms.received(place, Some(header), Instant(at)).is_some());
    }
    assert_eq!(rooms.owed(), 0);
    let outcome = rooms.finish();
    let one = |times: &record::Histogram| (times.count(), times.max());
    assert_eq!(one(&outcome.first), (1, Some(Nanos(10))));
    assert_eq!(one(&outcome.median), (1, Some(Nanos(13))));
    assert_eq!(one(&outcome.last), (1, Some(Nanos(50))));
    assert_eq!(one(&outcome.spread), (1, Some(Nanos(40))));
    let all = DeliveryCounts { published: 1, owed: 4, delivered: 4, ..DeliveryCounts::default() };
    assert_eq!(outcome.counts, all);
}

#[test]
fn a_tail_that_was_dropped_is_known_by_a_message_behind_it() {
    let mut rooms = proved(1, 1, 2);
    for due in [1000, 2000] {
        rooms.published(0, Instant(due), Class::Measured);
    }
    rooms.published(0, Instant::START, Class::Uncounted);
    rooms.received(1, Some(header(0, 3, 0)), Instant(3000));
    let mut given_up = Vec::new();
    rooms.give_up(Instant(9000), Nanos(500), |due| given_up.push(due));
    let DeliveryCounts { owed, delivered, lost, in_flight_at_end, incomplete, .. } =
        rooms.finish().counts;
    assert_eq!((owed, delivered, lost, in_flight_at_end, incomplete), (4, 0, 2, 2, 2));
    assert_eq!(given_up, [Instant(1000), Instant(2000)], "what is in flight is not given up");
}

#[test]
fn what_was_not_published_to_the_room_is_foreign() {
    let mut rooms = proved(2, 1, 1);
    rooms.published(0, Instant(1000), Class::Measured);
    let right = header(0, 1, 1000);
    let wrong = [
        None,
        Some(Header { connection: 1, ..right }),
        Some(Header { connection: 2, ..right }),
        Some(Header { connection: 4, ..right }),
        Some(Header { sequence: 2, ..right }),
        Some(Header { due: Nanos(1001), ..right }),
    ];
    for header in wrong {
        assert_eq!(rooms.received(2, header, Instant(2000)), None, "{header:?}");
    }
    assert_eq!(rooms.received(3, Some(right), Instant(2000)), None, "that is the other room");
    assert!(rooms.received(2, Some(right), Instant(2000)).is_some());
    assert_eq!(rooms.received(0, Some(right), Instant(2000)), None, "a publisher may hear itself");
    assert_eq!(rooms.finish().counts.foreign, 7);
}

/// Receivers come, go, hear late, twice and not at all; publishers take the place of others.
#[test]
fn the_sums_are_those_of_a_model_that_remembers_everything() {
    for seed in 0..300 {
        let mut world = World::new(seed);
        for _ in 0..400 {
            world.act();
        }
        let (rooms, model) = world.end();
        let counts = rooms.finish().counts;
        assert_eq!(counts.check(), Ok(()), "seed {seed}");
        assert_eq!(counts, model, "seed {seed}");
    }
}

#[test]
fn what_the_workers_leave_behind_adds_up_in_any_order() {
    let outcomes: Vec<DeliveryOutcome> = (0..3)
        .map(|seed| {
            let mut world = World::new(seed);
            (0..200).for_each(|_| world.act());
            world.end().0.finish()
        })
        .collect();
    let merged = |order: [usize; 3]| {
        let mut all = DeliveryOutcome::default();
        order.iter().for_each(|index| record::Merge::merge(&mut all, &outcomes[*index]));
        all
    };
    let all = merged([0, 1, 2]);
    let mut right = outcomes[1].clone();
    record::Merge::merge(&mut right, &outcomes[2]);
    let mut grouped = outcomes[0].clone();
    record::Merge::merge(&mut grouped, &right);
    assert_eq!(all, grouped);
    assert_eq!(all, merged([2, 0, 1]));
    assert_eq!(all.counts.check(), Ok(()));
}

/// Rooms with a publisher each, whose receivers come and go.
struct World {
    rooms: Rooms,
    random: Random,
    now: u64,
    /// The numbers of the connections at all places.
    numbers: Vec<u32>,
    /// By publisher and number.
    sent: BTreeMap<(u32, u32), Sent>,
    next: BTreeMap<u32, u32>,
    /// The proved receivers by their places, and the messages that they have.
    proved: BTreeMap<u32, BTreeSet<(u32, u32)>>,
    /// The open receivers that are not.
    open: BTreeSet<u32>,
    model: DeliveryCounts,
}

/// A message that was published.
struct Sent {
    due: u64,
    is_measured: bool,
    /// The places that it is owed to, without those of receivers that have gone.
    owed: BTreeSet<u32>,
    /// Deliveries that were owed and have not come.
    missing: usize,
}

const ROOMS: u32 = 2;
const RECEIVERS: u32 = 3;

impl World {
    fn new(seed: u64) -> Self {
        let (rooms, numbers) = joined(ROOMS, 1, RECEIVERS);
        Self {
            rooms,
            random: Random::new(seed),
            now: 1000,
            numbers,
            sent: BTreeMap::new(),
            next: BTreeMap::new(),
            proved: BTreeMap::new(),
            open: (ROOMS..ROOMS * (1 + RECEIVERS)).collect(),
            model: DeliveryCounts::default(),
        }
    }

    fn act(&mut self) {
        self.now += 1 + self.random.below(50) as u64;
        match self.random.below(20) {
            0 => self.publisher_changes(),
            1 => self.receiver_changes(),
            2..8 => self.publish(),
            _ => self.deliver(),
        }
    }

    fn publish(&mut self) {
        let place = self.pick(ROOMS);
        let publisher = self.numbers[place as usize];
        let is_measured = self.random.below(4) > 0;
        let class = if is_measured { Class::Measured } else { Class::Uncounted };
        self.rooms.published(place, Instant(self.now), class);
        let next = self.next.entry(publisher).or_default();
        let owed: BTreeSet<u32> =
            self.proved.keys().copied().filter(|receiver| receiver % ROOMS == place).collect();
        if is_measured {
            self.model.published += 1;
            self.model.owed += owed.len() as u64;
        }
        let (due, missing) = (self.now, owed.len());
        self.sent.insert((publisher, *next), Sent { due, is_measured, owed, missing });
        *next += 1;
    }

    fn deliver(&mut self) {
        let place = ROOMS + self.pick(ROOMS * RECEIVERS);
        let known: Vec<(u32, u32)> = self.sent.keys().copied().collect();
        if known.is_empty() {
            return;
        }
        let key = known[self.random.below(known.len())];
        let sent = self.sent.get_mut(&key).unwrap();
        let header = header(key.0, key.1, sent.due);
        let delivered = self.rooms.received(place, Some(header), Instant(self.now)).is_some();
        let is_open = self.open.contains(&place) || self.proved.contains_key(&place);
        if !is_open {
            return assert!(!delivered, "it is gone");
        }
        if key.0 % ROOMS != place % ROOMS {
            self.model.foreign += 1;
            return assert!(!delivered, "it is of another room");
        }
        let counts = u64::from(sent.is_measured);
        if self.open.remove(&place) {
            self.proved.insert(place, BTreeSet::new());
        }
        let has = self.proved.get_mut(&place).unwrap();
        if !sent.owed.contains(&place) {
            self.model.early += counts;
            return assert!(!delivered, "nobody owed it");
        }
        if !has.insert(key) {
            self.model.duplicate += counts;
            return assert!(!delivered, "it came before");
        }
        assert!(delivered);
        sent.missing -= 1;
        self.model.delivered += counts;
        let is_overtaken = has.range((key.0, key.1 + 1)..=(key.0, u32::MAX)).next().is_some();
        self.model.reordered += counts * u64::from(is_overtaken);
    }

    fn receiver_changes(&mut self) {
        let place = ROOMS + self.pick(ROOMS * RECEIVERS);
        let mut cut = 0;
        self.rooms.left(place, |_| cut += 1);
        let has = self.proved.remove(&place);
        let missing = has.map_or(0, |has| self.take_missing(place, &has, |_| true));
        self.sent.values_mut().for_each(|sent| sent.owed.retain(|owed| *owed != place));
        assert_eq!(cut, missing);
        self.model.cut += missing;
        self.numbers[place as usize] = self.rooms.join(place);
        self.rooms.opened(place);
        self.open.insert(place);
    }

    fn publisher_changes(&mut self) {
        let place = self.pick(ROOMS);
        self.rooms.left(place, |_| panic!("nothing is owed to it"));
        self.numbers[place as usize] = self.rooms.join(place);
        self.rooms.opened(place);
    }

    /// The number of messages that a receiver is owed and has not, and that `is_asked` for; nobody owes them any more.
    fn take_missing(
        &mut self,
        place: u32,
        has: &BTreeSet<(u32, u32)>,
        is_asked: impl Fn((u32, u32)) -> bool,
    ) -> u64 {
        let mut count = 0;
        for (key, sent) in &mut self.sent {
            if !has.contains(key) && is_asked(*key) && sent.owed.remove(&place) {
                count += u64::from(sent.is_measured);
            }
        }
        count
    }

    /// Gives up what is missing, and says what is to be counted in the end.
    fn end(mut self) -> (Rooms, DeliveryCounts) {
        let is_short = |sent: &&Sent| sent.is_measured && sent.missing > 0;
        self.model.incomplete = self.sent.values().filter(is_short).count() as u64;
        for (place, has) in self.proved.clone() {
            let is_overtaken = |key: (u32, u32)| {
                has.range((key.0, key.1 + 1)..=(key.0, u32::MAX)).next().is_some()
            };
            self.model.lost += self.take_missing(place, &has, is_overtaken);
            self.model.in_flight_at_end += self.take_missing(place, &has, |_| true);
        }
        let mut lost = 0;
        self.rooms.give_up(Instant(self.now), Nanos::ZERO, |_| lost += 1);
        assert_eq!(lost, self.model.lost);
        (self.rooms, self.model)
    }

    fn pick(&mut self, below: u32) -> u32 {
        u32::try_from(self.random.below(below as usize)).unwrap()
    }
}

fn header(connection: u32, sequence: u32, due: u64) -> Header {
    Header { connection, sequence, due: Nanos(due) }
}

/// Rooms whose connections are all open, and the numbers of those.
fn joined(count: u32, publishers: u32, receivers: u32) -> (Rooms, Vec<u32>) {
    let [count, publishers, receivers] =
        [count, publishers, receivers].map(|number| NonZeroU32::new(number).unwrap());
    let all = spec::Rooms { count, publishers, receivers };
    let connections = all.connections().get();
    let mut rooms = Rooms::new(RoomShare::whole(all), connections);
    let numbers = (0..connections).map(|place| rooms.join(place)).collect();
    (0..connections).for_each(|place| rooms.opened(place));
    (rooms, numbers)
}

/// The same, and a first message of each publisher has reached all of its receivers.
fn proved(count: u32, publishers: u32, receivers: u32) -> Rooms {
    let (mut rooms, numbers) = joined(count, publishers, receivers);
    for place in rooms.publishers() {
        rooms.published(place, Instant::START, Class::Uncounted);
        for receiver in count * publishers..count * (publishers + receivers) {
            if receiver % count == place % count {
                let header = header(numbers[place as usize], 0, 0);
                rooms.received(receiver, Some(header), Instant(500));
            }
        }
    }
    assert_eq!(rooms.unproved(), 0);
    rooms
}
