//! The rooms of a worker, and the numbers of its connections among all connections.

use crate::Stripe;
use spec::Rooms;
use spec::rooms::Part;
use std::num::NonZeroU32;

/// All rooms, or those of one of several workers, which do not divide rooms. On one of several machines that share the
/// rooms, each room has only a part of its receivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoomShare {
    rooms: Rooms,
    held: Held,
    /// The connections of this worker among those of its machine.
    stripe: Stripe,
}

/// The connections of each room that a machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Held {
    /// Publishers: all of them, or none.
    publishers: u32,
    /// The number of receivers, and of those of other machines before them.
    receivers: NonZeroU32,
    before: u32,
}

impl RoomShare {
    /// All of `rooms`.
    pub const fn whole(rooms: Rooms) -> Self {
        let Rooms { publishers, receivers, .. } = rooms;
        let held = Held { publishers: publishers.get(), receivers, before: 0 };
        Self { rooms, held, stripe: Stripe::whole(rooms.connections()) }
    }

    /// The share of a machine in every room: `receivers` of its receivers, after the `before` receivers of other
    /// machines; and all publishers or none.
    pub(crate) fn divided(self, publishes: bool, before: u32, receivers: NonZeroU32) -> Self {
        let publishers = if publishes { self.rooms.publishers.get() } else { 0 };
        let all = self.rooms.count.saturating_mul(receivers.saturating_add(publishers));
        let held = Held { publishers, receivers, before };
        Self { held, stripe: Stripe::whole(all), ..self }
    }

    /// Every `parts`th room, from room `index` on.
    ///
    /// # Panics
    ///
    /// If `parts` does not divide the number of rooms.
    #[must_use]
    pub fn part(self, index: u32, parts: NonZeroU32) -> Self {
        assert!(self.count().is_multiple_of(parts.get()), "each has equally many rooms");
        Self { stripe: self.stripe.part(index, parts), ..self }
    }

    /// The rooms of all workers.
    pub const fn all(self) -> Rooms {
        self.rooms
    }

    /// True if other machines have receivers of the same rooms.
    pub const fn is_divided(self) -> bool {
        self.held.receivers.get() != self.rooms.receivers.get()
    }

    /// The number of our receivers in each room.
    pub const fn receivers_each(self) -> NonZeroU32 {
        self.held.receivers
    }

    /// The number of our rooms.
    #[inline]
    pub const fn count(self) -> u32 {
        self.stripe.connections() / (self.held.publishers + self.held.receivers.get())
    }

    /// The number of our connections.
    pub const fn connections(self) -> u32 {
        self.stripe.connections()
    }

    /// The number, among all connections, of the one at one of our places.
    pub fn number(self, place: u32) -> u32 {
        let number = self.stripe.number(place);
        if self.publishes(place) { number } else { number + self.left_out() }
    }

    /// The place of the connection with this number, which may have replaced an earlier one; `None` if it is not ours.
    pub fn place(self, number: u32) -> Option<u32> {
        let number = number % self.rooms.connections();
        let own = self.rooms.count.get() * self.held.publishers;
        let number = match self.rooms.part_of(number) {
            Part::Publisher => Some(number).filter(|number| *number < own),
            Part::Receiver => number.checked_sub(self.left_out()).filter(|number| *number >= own),
        };
        self.stripe.place(number?)
    }

    /// The index, among our rooms, of the room of the connection at one of our places.
    #[inline]
    pub const fn room(self, place: u32) -> u32 {
        place % self.count()
    }

    /// The publisher with this number, on any machine, which may have replaced an earlier one: the index of its room
    /// among ours, and its index among the publishers of that room. `None` for a receiver, and in a room that is not
    /// ours.
    pub fn publisher(self, number: u32) -> Option<(u32, u32)> {
        let number = number % self.rooms.connections();
        if self.rooms.part_of(number) == Part::Receiver {
            return None;
        }
        let room = self.stripe.place(self.rooms.room_of(number))?;
        Some((room, number / self.rooms.count))
    }

    /// Our places whose connections publish.
    pub const fn publishers(self) -> std::ops::Range<u32> {
        0..self.count() * self.held.publishers
    }

    /// True if the connection at one of our places publishes.
    pub const fn publishes(self, place: u32) -> bool {
        place < self.publishers().end
    }

    /// Our places whose connections receive, but read nothing during the measurement: the last ones of each room.
    #[inline]
    pub fn slow(self) -> std::ops::Range<u32> {
        let Held { receivers, before, .. } = self.held;
        let reading = self.rooms.receivers.get() - self.rooms.conduct.slow;
        let slow = (before + receivers.get()).saturating_sub(reading.max(before));
        let all = self.stripe.connections();
        all - self.count() * slow..all
    }

    /// The count of numbers between our publishers and our receivers that belong to connections of others.
    const fn left_out(self) -> u32 {
        let Held { publishers, before, .. } = self.held;
        (self.rooms.publishers.get() - publishers + before) * self.rooms.count.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spec::Conduct;

    #[test]
    fn the_shares_of_all_workers_are_the_rooms() {
        let [count, publishers, receivers] = [6, 2, 3].map(|it| NonZeroU32::new(it).unwrap());
        let conduct = Conduct { slow: 1, ..Conduct::default() };
        let rooms = Rooms { count, publishers, receivers, conduct };
        for parts in [1, 2, 3, 6].map(|it| NonZeroU32::new(it).unwrap()) {
            let mut numbers = Vec::new();
            for index in 0..parts.get() {
                let share = RoomShare::whole(rooms).part(index, parts);
                assert_eq!(share.count(), 6 / parts.get());
                let slow: Vec<u32> = share.slow().map(|place| share.room(place)).collect();
                assert!(slow.into_iter().eq(0..share.count()), "one in each room");
                for place in 0..share.count() * 5 {
                    let number = share.number(place);
                    assert_eq!(share.place(number), Some(place));
                    assert_eq!(share.place(number + 2 * rooms.connections().get()), Some(place));
                    assert_eq!(share.publishes(place), rooms.part_of(number) == Part::Publisher);
                    let first_of_room = share.number(share.room(place));
                    assert_eq!(rooms.room_of(first_of_room), rooms.room_of(number));
                    numbers.push(number);
                }
            }
            numbers.sort_unstable();
            assert!(numbers.into_iter().eq(0..30), "{parts} workers");
        }
    }

    #[test]
    fn the_connections_of_other_workers_are_not_ours() {
        let [count, one] = [2, 1].map(|it| NonZeroU32::new(it).unwrap());
        let conduct = Conduct::default();
        let rooms = Rooms { count, publishers: one, receivers: one, conduct };
        let share = RoomShare::whole(rooms).part(1, count);
        assert_eq!([0, 1, 2, 3].map(|number| share.place(number)), [None, Some(0), None, Some(1)]);
    }
}
