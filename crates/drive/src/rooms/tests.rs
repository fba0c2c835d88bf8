//! The counts of rooms against a model that remembers every single message and delivery.

use super::*;
use record::{DeliveryCounts, DeliveryEnds, Merge as _};
use spec::Conduct;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use units::Random;
use wire::socketio::Ticket;

#[test]
fn a_message_is_delivered_to_its_first_its_median_and_its_last_receiver() {
    let mut rooms = proved(1, 1, 4);
    rooms.published(0, Instant(1000), Instant(1000), Class::Measured);
    let header = header(0, 1, 1000);
    for (place, at) in [(3, 1010), (1, 1013), (4, 1020), (2, 1050)] {
        assert!(rooms.received(place, Some(header), Instant(at)).is_some());
    }
    assert_eq!(rooms.owed, 0);
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
        rooms.published(0, Instant(due), Instant(due), Class::Measured);
    }
    rooms.published(0, Instant::START, Instant(2500), Class::Uncounted);
    rooms.received(1, Some(header(0, 3, 0)), Instant(3000));
    let mut given_up = Vec::new();
    rooms.give_up(Instant::START, Instant(9000), Nanos(500), |due| given_up.push(due));
    let DeliveryCounts { owed, delivered, lost, in_flight_at_end, incomplete, .. } =
        rooms.finish().counts;
    assert_eq!((owed, delivered, lost, in_flight_at_end, incomplete), (4, 0, 2, 2, 2));
    assert_eq!(given_up, [Instant(1000), Instant(2000)], "what is in flight is not given up");
}

#[test]
fn messages_are_kept_by_the_second_in_which_they_were_due_with_their_first_and_last_receiver() {
    let mut rooms = proved(1, 1, 2);
    let at = |time| Instant(ms(time));
    // The window begins at 500 ms. The third message arrives in the second after its own.
    for (sequence, due, received) in
        [(1, 600, [610, 630]), (2, 1400, [1430, 1470]), (3, 3400, [3600, 3700])]
    {
        rooms.published(0, at(due), at(due), Class::Measured);
        for (place, received) in [1, 2].into_iter().zip(received) {
            rooms.received(place, Some(header(0, sequence, ms(due))), at(received));
        }
    }
    // One receiver never gets the fourth, and none the fifth; what is not measured is not counted.
    for due in [4500, 4600] {
        rooms.published(0, at(due), at(due), Class::Measured);
    }
    rooms.published(0, at(4700), at(4700), Class::Uncounted);
    rooms.received(1, Some(header(0, 4, ms(4500))), at(4520));
    for _ in 0..2 {
        rooms.give_up(at(500), at(5600), Nanos(ms(400)), |_| ());
    }
    let outcome = rooms.finish();
    let summary = outcome.summary();
    let seconds = summary.seconds.iter().map(|second| {
        let in_ms = |mean: Option<f64>| mean.map(|mean| mean / 1e6);
        (second.messages, in_ms(second.first_mean_ns), in_ms(second.last_mean_ns))
    });
    let expected = [
        (2, Some(20.0), Some(50.0)),
        (0, None, None),
        (1, Some(200.0), Some(300.0)),
        (0, None, None),
        (2, Some(510.0), Some(1050.0)),
    ];
    assert_eq!(seconds.collect::<Vec<_>>(), expected);
    assert_eq!((outcome.counts.incomplete, outcome.first.count(), outcome.last.count()), (2, 5, 5));
}

#[test]
fn what_was_not_published_to_the_room_is_foreign() {
    let mut rooms = proved(2, 1, 1);
    rooms.published(0, Instant(1000), Instant(1000), Class::Measured);
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

#[test]
fn an_uncounted_message_that_outlasts_its_block_is_not_foreign_in_the_next() {
    let mut rooms = proved(2, 1, 1);
    rooms.published(0, Instant(1000), Instant(1000), Class::Measured);
    let outlasted = header(0, 12, 0);
    assert_eq!(rooms.received(2, Some(outlasted), Instant(900)), None);
    // A publisher that had connected again has a number above those of all first connections.
    assert_eq!(rooms.received(2, Some(header(4, 3, 0)), Instant(900)), None);
    assert_eq!(rooms.outcome.counts.foreign, 0);
    assert_eq!(rooms.received(3, Some(outlasted), Instant(900)), None, "that is the other room");
    assert_eq!(rooms.received(2, Some(header(2, 12, 0)), Instant(900)), None, "a receiver");
    assert!(rooms.received(2, Some(header(0, 1, 1000)), Instant(2000)).is_some());
    assert_eq!(rooms.finish().counts.foreign, 2);
}

/// Receivers come and go, and get messages late, twice or not at all; publishers replace others.
#[test]
fn the_sums_are_those_of_a_model_that_remembers_everything() {
    let mut all = DeliveryCounts::default();
    for seed in 0..300 {
        let mut world = World::new(seed);
        for _ in 0..400 {
            world.act();
        }
        let (rooms, model) = world.end();
        let outcome = rooms.finish();
        let counts = outcome.counts;
        let of_seconds =
            |of: fn(&record::DeliverySums) -> u64| outcome.seconds.iter().map(of).sum::<u64>();
        #[expect(clippy::cast_precision_loss, reason = "compared with three digits")]
        let mean = |sum: u64| sum as f64 / outcome.last.count() as f64;
        assert_eq!(of_seconds(|it| it.messages), outcome.last.count(), "seed {seed}");
        for (sum, times) in [
            (of_seconds(|it| it.first.0), &outcome.first),
            (of_seconds(|it| it.last.0), &outcome.last),
        ] {
            // Histograms have three digits.
            let known = times.mean_ns().unwrap();
            assert!((mean(sum) / known - 1.0).abs() < 0.002, "seed {seed}: {} {known}", mean(sum));
        }
        assert_eq!(counts.check(), Ok(()), "seed {seed}");
        assert_eq!(counts, model, "seed {seed}");
        all.merge(&counts);
    }
    for ends in [all.present(), all.slow] {
        let DeliveryEnds { delivered, lost, cut, in_flight_at_end, .. } = ends;
        assert!(
            [delivered, lost, cut, in_flight_at_end].iter().all(|count| *count > 0),
            "{ends:?}"
        );
    }
    for ends in [all.away, all.edge] {
        assert!(ends.delivered > 0 && ends.lost > 0, "{ends:?}");
    }
    assert!(all.restored > 0 && all.caught_up > 0, "{all:?}");
}

#[test]
fn a_message_whose_receiver_leaves_is_complete_with_those_that_stay() {
    let mut rooms = proved(1, 1, 4);
    rooms.published(0, Instant(1000), Instant(1000), Class::Measured);
    for (place, at) in [(3, 1010), (1, 1013), (2, 1050)] {
        rooms.received(place, Some(header(0, 1, 1000)), Instant(at));
    }
    rooms.left(4, Instant(2000), Leaving::Planned, None);
    assert!(rooms.is_complete());
    let outcome = rooms.finish();
    let one = |times: &record::Histogram| (times.count(), times.max());
    assert_eq!(one(&outcome.median), (1, Some(Nanos(13))));
    assert_eq!(one(&outcome.last), (1, Some(Nanos(50))));
    assert_eq!(one(&outcome.spread), (1, Some(Nanos(40))));
    assert_eq!((outcome.counts.owed, outcome.counts.edge.owed), (3, 1));
}

#[test]
fn what_comes_from_when_it_was_away_is_replayed_and_its_return_is_timed() {
    let mut rooms = proved(1, 1, 1);
    let at = Instant;
    rooms.storm(at(ms(400)));
    rooms.left(1, at(ms(400)), Leaving::Planned, None);
    rooms.published(0, at(ms(500)), at(ms(500)), Class::Measured);
    rooms.comes_back(1, at(ms(700)));
    rooms.join(1);
    rooms.opened(1);
    assert!(!rooms.is_complete(), "it is on its way back");
    assert_eq!(rooms.received(1, Some(header(0, 1, ms(500))), at(ms(900))), None);
    assert!(rooms.is_complete());
    let outcome = rooms.finish();
    let one = |times: &record::Histogram| (times.count(), times.max().map(|it| it.0 / 1_000_000));
    assert_eq!(one(&outcome.replayed), (1, Some(400)));
    assert_eq!(one(&outcome.returned), (1, Some(200)));
    assert_eq!(one(&outcome.recovered), (1, Some(500)));
    let counts = outcome.counts;
    assert_eq!((counts.away.owed, counts.away.delivered, counts.whole()), (1, 1, 1));
    assert_eq!((counts.torn_off, counts.recovered, counts.attempts, counts.owed), (1, 1, 1, 0));
}

#[test]
fn who_was_there_when_a_part_was_killed_recovers_with_what_was_due_once_it_was_gone() {
    let mut rooms = proved(1, 1, 3);
    let at = |time| Instant(ms(time));
    // The second leaves before, and the third hears nothing until the measurement is over.
    rooms.left(2, at(350), Leaving::Planned, None);
    for due in [390, 410, 430] {
        rooms.published(0, at(due), at(due), Class::Measured);
    }
    rooms.cut_off(at(400), at(420));
    rooms.cut_off(at(400), at(500)); // Looked at again: it is known.
    rooms.join(2);
    rooms.opened(2);
    rooms.received(2, Some(header(0, 3, ms(430))), at(440));
    for (sequence, due, recovered) in [(1, 390, 0), (2, 410, 0), (3, 430, 1)] {
        rooms.received(1, Some(header(0, sequence, ms(due))), at(450));
        assert_eq!(rooms.outcome.counts.recovered, recovered, "due at {due} ms");
    }
    rooms.measured();
    rooms.received(3, Some(header(0, 3, ms(430))), at(460));
    let outcome = rooms.finish();
    assert_eq!((outcome.counts.torn_off, outcome.counts.recovered), (2, 1), "in time");
    let times = &outcome.recovered;
    let longest = times.max().map(|it| it.0 / 1_000_000);
    assert_eq!((times.count(), longest), (1, Some(50)), "from the kill");
}

#[test]
fn a_part_whose_end_is_heard_of_once_the_measurement_is_over_lets_nobody_recover() {
    let mut rooms = proved(1, 1, 1);
    rooms.measured();
    rooms.cut_off(Instant(ms(400)), Instant(ms(420)));
    rooms.published(0, Instant(ms(430)), Instant(ms(430)), Class::Measured);
    rooms.received(1, Some(header(0, 1, ms(430))), Instant(ms(440)));
    let counts = rooms.finish().counts;
    assert_eq!((counts.torn_off, counts.recovered, counts.delivered), (1, 0, 1));
}

#[test]
fn a_receiver_that_is_restored_is_owed_all_and_one_that_is_not_was_away() {
    let mut rooms = proved(1, 1, 2);
    let at = Instant;
    rooms.storm(at(ms(400)));
    for place in [1, 2] {
        rooms.left(place, at(ms(400)), Leaving::Planned, Some(Ticket::new("p", b"7")));
        assert!(!rooms.is_present(place));
    }
    rooms.published(0, at(ms(500)), at(ms(500)), Class::Measured);
    for place in [1, 2] {
        rooms.comes_back(place, at(ms(700)));
        rooms.join(place);
        assert_eq!(rooms.ticket(place), Some(&Ticket::new("p", b"7")));
    }
    assert!(rooms.received(1, Some(header(0, 1, ms(500))), at(ms(900))).is_some(), "it is owed");
    // That connection is lost too: the next one goes on after what arrived over it, unless it was another client's.
    for (pid, offset) in [("p", "8"), ("q", "9")] {
        rooms.left(1, at(ms(950)), Leaving::Unplanned, Some(Ticket::new(pid, offset.as_bytes())));
        rooms.join(1);
        assert_eq!(rooms.ticket(1), Some(&Ticket::new("p", b"8")));
    }
    rooms.restored(1, at(ms(1000)));
    assert_eq!((rooms.ticket(1), rooms.is_present(1), rooms.unproved()), (None, true, 0));
    assert!(!rooms.is_complete(), "the other one may be restored");
    rooms.opened(2);
    assert_eq!((rooms.ticket(2), rooms.is_present(2), rooms.unproved()), (None, false, 1));
    rooms.published(0, Instant::START, at(ms(1100)), Class::Uncounted);
    rooms.received(2, Some(header(0, 2, 0)), at(ms(1200)));
    assert!(rooms.is_complete());
    rooms.give_up(Instant::START, at(ms(2000)), Nanos::ZERO, |_| panic!("nothing is given up"));
    let outcome = rooms.finish();
    let one = |times: &record::Histogram| (times.count(), times.max().map(|it| it.0 / 1_000_000));
    assert_eq!(one(&outcome.replayed), (1, Some(400)));
    assert_eq!([&outcome.first, &outcome.last].map(one), [(1, Some(400)); 2]);
    assert_eq!((one(&outcome.returned), one(&outcome.recovered)), ((2, Some(500)), (2, Some(800))));
    let expected = DeliveryCounts {
        published: 1,
        owed: 1,
        delivered: 1,
        away: DeliveryEnds { owed: 1, lost: 1, ..DeliveryEnds::default() },
        torn_off: 2,
        recovered: 2,
        attempts: 4,
        restored: 1,
        caught_up: 1,
        ..DeliveryCounts::default()
    };
    assert_eq!(outcome.counts, expected);
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

/// Rooms with a publisher each, whose receivers come and go; one in each is slow.
struct World {
    rooms: Rooms,
    random: Random,
    now: u64,
    /// The numbers of the connections at all places.
    numbers: Vec<u32>,
    /// By publisher and number.
    sent: BTreeMap<(u32, u32), Sent>,
    next: BTreeMap<u32, u32>,
    /// By place.
    receivers: BTreeMap<u32, Known>,
    model: DeliveryCounts,
}

/// A message that was published.
struct Sent {
    at: u64,
    is_measured: bool,
    /// By the place of each receiver that it is owed to, in whatever presence.
    owed: BTreeMap<u32, Owed>,
}

/// A message that is owed to a receiver, whether it has arrived or not.
struct Owed {
    presence: Presence,
    /// The number of the receiver's presence in which it was sent.
    turn: u32,
    /// True while it is not decided whether the receiver is restored: if so, it counts as present.
    is_open: bool,
    has: bool,
}

/// The model's state of a receiver.
#[derive(Default)]
struct Known {
    is_connected: bool,
    is_open: bool,
    /// `None` before its first proof.
    presence: Option<Presence>,
    turn: u32,
    /// Its server was killed, and it has not been proved since.
    is_torn_off: bool,
    /// It is gone, and may be restored.
    has_ticket: bool,
    has: BTreeSet<(u32, u32)>,
}

const ROOMS: u32 = 2;
const RECEIVERS: u32 = 4;

impl World {
    fn new(seed: u64) -> Self {
        let (rooms, numbers) = joined(ROOMS, 1, RECEIVERS, 1);
        let open = || Known { is_connected: true, is_open: true, ..Known::default() };
        Self {
            rooms,
            random: Random::new(seed),
            now: 1_000_000_000,
            numbers,
            sent: BTreeMap::new(),
            next: BTreeMap::new(),
            receivers: (ROOMS..ROOMS * (1 + RECEIVERS)).map(|place| (place, open())).collect(),
            model: DeliveryCounts::default(),
        }
    }

    fn act(&mut self) {
        self.now += ms(1 + self.random.below(50) as u64);
        match self.random.below(20) {
            0 => self.publisher_changes(),
            1..3 => self.receiver_changes(),
            3..9 => self.publish(),
            _ => self.deliver(),
        }
    }

    fn publish(&mut self) {
        let place = self.pick(ROOMS);
        let publisher = self.numbers[place as usize];
        let is_measured = self.random.below(4) > 0;
        let class = if is_measured { Class::Measured } else { Class::Uncounted };
        self.rooms.published(place, Instant(self.now), Instant(self.now), class);
        let next = self.next.entry(publisher).or_default();
        let of_room = self.receivers.iter().filter(|(receiver, _)| **receiver % ROOMS == place);
        let owed = of_room.filter_map(|(receiver, known)| {
            let (presence, turn, is_open) = (known.presence?, known.turn, known.has_ticket);
            Some((*receiver, Owed { presence, turn, is_open, has: false }))
        });
        let sent = Sent { at: self.now, is_measured, owed: owed.collect() };
        self.model.published += u64::from(is_measured);
        self.sent.insert((publisher, *next), sent);
        *next += 1;
    }

    fn deliver(&mut self) {
        let place = ROOMS + self.pick(ROOMS * RECEIVERS);
        let keys: Vec<(u32, u32)> = self.sent.keys().copied().collect();
        let known = self.receivers.get_mut(&place).unwrap();
        // A server that restores a receiver first sends what that has missed.
        if keys.is_empty() || !(known.is_open || known.is_connected && known.has_ticket) {
            return;
        }
        let key = keys[self.random.below(keys.len())];
        let sent = self.sent.get_mut(&key).unwrap();
        let header = header(key.0, key.1, sent.at);
        let delivered = self.rooms.received(place, Some(header), Instant(self.now)).is_some();
        if key.0 % ROOMS != place % ROOMS {
            self.model.foreign += 1;
            return assert!(!delivered, "it is of another room");
        }
        let counts = u64::from(sent.is_measured);
        if known.is_open && known.presence != Some(Presence::Present) {
            (known.presence, known.turn) = (Some(Presence::Present), known.turn + 1);
            self.model.recovered += u64::from(std::mem::take(&mut known.is_torn_off));
        }
        let Some(owed) = sent.owed.get_mut(&place) else {
            self.model.early += counts;
            return assert!(!delivered, "nobody owed it");
        };
        if std::mem::replace(&mut owed.has, true) {
            self.model.duplicate += counts;
            return assert!(!delivered, "it came before");
        }
        if owed.is_open {
            (owed.presence, owed.is_open) = (Presence::Present, false);
        }
        let is_caught_up = !known.is_open && owed.presence == Presence::Present && !is_slow(place);
        self.model.caught_up += counts * u64::from(is_caught_up);
        let is_overtaken = known.has.range((key.0, key.1 + 1)..=(key.0, u32::MAX)).next().is_some();
        known.has.insert(key);
        let is_present = owed.presence == Presence::Present;
        self.model.reordered += counts * u64::from(is_overtaken && is_present);
        // For messages that do not count, the result does not matter.
        assert!(!sent.is_measured || delivered == (is_present && !is_slow(place)));
    }

    /// A receiver leaves, comes back, or tries to.
    fn receiver_changes(&mut self) {
        let place = ROOMS + self.pick(ROOMS * RECEIVERS);
        let known = self.receivers.get_mut(&place).unwrap();
        if !known.is_connected {
            known.is_connected = true;
            if known.presence.is_some() {
                known.presence = Some(Presence::Edge);
                self.model.attempts += 1;
            }
            self.numbers[place as usize] = self.rooms.join(place);
            return;
        }
        if !known.is_open && self.random.below(2) == 0 {
            known.is_open = true;
            if self.random.below(2) == 0 {
                self.rooms.opened(place);
                known.has_ticket = false;
                return self.decide(place, None);
            }
            self.rooms.restored(place, Instant(self.now));
            if std::mem::take(&mut known.has_ticket) {
                known.presence = Some(Presence::Present);
                self.model.restored += 1;
                self.model.recovered += u64::from(std::mem::take(&mut known.is_torn_off));
                let turn = known.turn;
                self.decide(place, Some(turn));
            }
            return;
        }
        let why = match self.random.below(4) {
            _ if is_slow(place) => Leaving::Unplanned,
            0 | 1 => Leaving::Planned,
            2 => Leaving::Killed(Instant(self.now)),
            _ => Leaving::Unplanned,
        };
        let ticket = (self.random.below(2) == 0).then(|| Ticket::new("pid", b"offset"));
        let has_ticket = ticket.is_some();
        self.rooms.left(place, Instant(self.now), why, ticket);
        (known.is_connected, known.is_open) = (false, false);
        if known.presence == Some(Presence::Present) {
            let is_missing = |sent: &Sent| {
                let owed = sent.owed.get(&place).filter(|owed| !owed.has);
                owed.is_some_and(|it| it.presence == Presence::Present && it.turn == known.turn)
            };
            let is_overtaken = |(publisher, sequence): (u32, u32)| {
                let later = (publisher, sequence + 1)..=(publisher, u32::MAX);
                known.has.range(later).next().is_some()
            };
            let on_its_way =
                self.sent.iter().filter(|(key, it)| it.is_measured && !is_overtaken(**key));
            let on_its_way = on_its_way.filter(|(_, it)| is_missing(it)).map(|(_, it)| it.at);
            let edge_from = match why {
                Leaving::Planned => (self.now + 1).saturating_sub(ms(250)),
                Leaving::Killed(_) => on_its_way.min().unwrap_or(u64::MAX),
                Leaving::Unplanned => u64::MAX,
            };
            for sent in self.sent.values_mut().filter(|it| it.at >= edge_from && is_missing(it)) {
                let owed = sent.owed.get_mut(&place);
                owed.into_iter().for_each(|owed| {
                    (owed.presence, owed.is_open) = (Presence::Edge, has_ticket);
                });
            }
            known.has_ticket = has_ticket;
            if matches!(why, Leaving::Killed(_)) {
                self.model.torn_off += 1;
                known.is_torn_off = true;
            }
        }
        known.presence = known.presence.map(|_| Presence::Away);
    }

    /// Decides whether a receiver is restored: if so, it was present in this turn wherever that was still open.
    fn decide(&mut self, place: u32, restored: Option<u32>) {
        let owed = self.sent.values_mut().filter_map(|sent| sent.owed.get_mut(&place));
        for owed in owed {
            if std::mem::take(&mut owed.is_open)
                && let Some(turn) = restored
            {
                (owed.presence, owed.turn) = (Presence::Present, turn);
            }
        }
    }

    fn publisher_changes(&mut self) {
        let place = self.pick(ROOMS);
        self.rooms.left(place, Instant(self.now), Leaving::Unplanned, None);
        self.numbers[place as usize] = self.rooms.join(place);
        self.rooms.opened(place);
    }

    /// Gives up what is missing. Returns the rooms, and the counts expected in the end.
    fn end(mut self) -> (Rooms, DeliveryCounts) {
        let (mut awaited, mut unproved) = (0, 0);
        for ((publisher, sequence), sent) in self.sent.iter().filter(|(_, sent)| sent.is_measured) {
            let mut is_short = false;
            for (place, owed) in &sent.owed {
                let known = &self.receivers[place];
                let later = (*publisher, sequence + 1)..=(*publisher, u32::MAX);
                let is_overtaken = known.has.range(later).next().is_some();
                let is_current =
                    known.presence == Some(Presence::Present) && known.turn == owed.turn;
                let is_present = owed.presence == Presence::Present;
                let is_in_turn =
                    owed.is_open || known.has_ticket && known.turn == owed.turn && is_present;
                awaited += u64::from((is_present && is_current || is_in_turn) && !owed.has);
                let mut present = self.model.present();
                let ends = match owed.presence {
                    Presence::Present if is_slow(*place) => &mut self.model.slow,
                    Presence::Present => &mut present,
                    Presence::Away => &mut self.model.away,
                    Presence::Edge => &mut self.model.edge,
                };
                ends.owed += 1;
                let end = if owed.has {
                    &mut ends.delivered
                } else if is_present && !is_current {
                    &mut ends.cut
                } else if is_present && !is_overtaken {
                    &mut ends.in_flight_at_end
                } else {
                    &mut ends.lost
                };
                *end += 1;
                is_short |= is_present && !is_slow(*place) && !owed.has;
                let DeliveryEnds { owed, delivered, lost, cut, in_flight_at_end } = present;
                self.model =
                    DeliveryCounts { owed, delivered, lost, cut, in_flight_at_end, ..self.model };
            }
            self.model.incomplete += u64::from(is_short);
        }
        for known in self.receivers.values().filter(|known| known.is_open) {
            unproved += u32::from(known.presence != Some(Presence::Present));
        }
        assert_eq!((self.rooms.owed, self.rooms.unproved()), (awaited, unproved));
        let mut given_up = 0;
        self.rooms.give_up(Instant::START, Instant(self.now), Nanos::ZERO, |_| given_up += 1);
        assert_eq!(given_up, self.model.lost + self.model.cut);
        (self.rooms, self.model)
    }

    fn pick(&mut self, below: u32) -> u32 {
        u32::try_from(self.random.below(below as usize)).unwrap()
    }
}

/// True for the last receiver of each room.
fn is_slow(place: u32) -> bool {
    place >= ROOMS * RECEIVERS
}

fn ms(count: u64) -> u64 {
    Nanos::from_millis(count).0
}

fn header(connection: u32, sequence: u32, due: u64) -> Header {
    Header { connection, sequence, due: Nanos(due) }
}

/// Rooms whose connections are all open, and the numbers of those connections.
fn joined(count: u32, publishers: u32, receivers: u32, slow: u32) -> (Rooms, Vec<u32>) {
    let [count, publishers, receivers] =
        [count, publishers, receivers].map(|number| NonZeroU32::new(number).unwrap());
    let conduct = Conduct { slow, ..Conduct::default() };
    let all = spec::Rooms { count, publishers, receivers, conduct };
    let connections = all.connections().get();
    let mut rooms = Rooms::new(RoomShare::whole(all), connections);
    let numbers = (0..connections).map(|place| rooms.join(place)).collect();
    (0..connections).for_each(|place| rooms.opened(place));
    (rooms, numbers)
}

/// Rooms with all connections open, in which a first message of each publisher has reached all of its receivers.
fn proved(count: u32, publishers: u32, receivers: u32) -> Rooms {
    let (mut rooms, numbers) = joined(count, publishers, receivers, 0);
    for place in rooms.publishers() {
        rooms.published(place, Instant::START, Instant(400), Class::Uncounted);
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
