//! The rooms of a worker, and the numbers of its connections among all.

use crate::Stripe;
use spec::Rooms;
use std::num::NonZeroU32;

/// All rooms, or those of one of several workers, each of which has whole rooms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoomShare {
    rooms: Rooms,
    stripe: Stripe,
}

impl RoomShare {
    /// All of `rooms`.
    pub const fn whole(rooms: Rooms) -> Self {
        Self { rooms, stripe: Stripe::whole(rooms.connections()) }
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

    /// The number of rooms that are ours.
    pub const fn count(self) -> u32 {
        let each = self.rooms.publishers.get() + self.rooms.receivers.get();
        self.stripe.connections() / each
    }

    /// The number among all that the connection at one of our places has.
    pub fn number(self, place: u32) -> u32 {
        self.stripe.number(place)
    }

    /// The place of the connection with this number, or of the one whose place it took; `None` if it is not ours.
    pub fn place(self, number: u32) -> Option<u32> {
        self.stripe.place(number % self.rooms.connections())
    }

    /// The index among our rooms of that of the connection at one of our places.
    pub const fn room(self, place: u32) -> u32 {
        place % self.count()
    }

    /// True if the connection at one of our places publishes.
    pub const fn publishes(self, place: u32) -> bool {
        place < self.count() * self.rooms.publishers.get()
    }

    /// Our places whose connections receive and read nothing while it is measured: the last ones of each room.
    pub const fn slow(self) -> std::ops::Range<u32> {
        let all = self.stripe.connections();
        all - self.count() * self.rooms.conduct.slow..all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spec::Conduct;
    use spec::rooms::Part;

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
