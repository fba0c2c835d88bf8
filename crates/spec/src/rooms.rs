//! Rooms: what is published in one goes to its receivers.
//!
//! Every connection belongs to one room, by its number alone, so that both ends of the program and all workers agree
//! without asking each other. Left out: what rooms are called, which is up to a conversation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;

/// Rooms that are all alike, and the connections in them.
///
/// Connections are numbered through all rooms: number `n` is in room `n % count`. The publishers of all rooms come
/// first, the receivers behind them. A connection that takes the place of a lost one has the number of that one plus
/// [`Rooms::connections`], so that it is in the same room, has the same part, and is told from the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rooms {
    /// Rooms.
    pub count: NonZeroU32,
    /// Connections of each room that publish; they take turns.
    pub publishers: NonZeroU32,
    /// Connections of each room that receive.
    pub receivers: NonZeroU32,
}

/// The part that a connection has in its room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// It publishes.
    Publisher,
    /// It receives.
    Receiver,
}

impl Rooms {
    /// The most connections that all rooms may have together.
    pub const CONNECTIONS_MAX: u32 = 1 << 24;

    /// The connections of all rooms; [`u32::MAX`] if there are more.
    pub const fn connections(self) -> NonZeroU32 {
        self.count.saturating_mul(self.publishers.saturating_add(self.receivers.get()))
    }

    /// The publishers of all rooms.
    pub const fn all_publishers(self) -> NonZeroU32 {
        self.count.saturating_mul(self.publishers)
    }

    /// The room of a connection.
    pub const fn room_of(self, connection: u32) -> u32 {
        connection % self.count.get()
    }

    /// The part of a connection.
    pub const fn part_of(self, connection: u32) -> Part {
        match connection % self.connections().get() < self.all_publishers().get() {
            true => Part::Publisher,
            false => Part::Receiver,
        }
    }

    /// The most workers that rooms can be divided among, at most `workers`: each has whole rooms, and all have equally
    /// many.
    pub fn workers(self, workers: NonZeroU32) -> NonZeroU32 {
        let is_even = |parts: &u32| self.count.get().is_multiple_of(*parts);
        let most = (1..=workers.min(self.count).get()).rev().find(is_even);
        most.and_then(NonZeroU32::new).unwrap_or(NonZeroU32::MIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rooms(count: u32, publishers: u32, receivers: u32) -> Rooms {
        let [count, publishers, receivers] =
            [count, publishers, receivers].map(|number| NonZeroU32::new(number).unwrap());
        Rooms { count, publishers, receivers }
    }

    #[test]
    fn each_room_has_its_publishers_and_its_receivers() {
        let rooms = rooms(3, 2, 5);
        let all = rooms.connections().get();
        assert_eq!(all, 21);
        for room in 0..3 {
            let of_room = (0..all).filter(|number| rooms.room_of(*number) == room);
            let (publish, receive): (Vec<u32>, Vec<u32>) =
                of_room.partition(|number| rooms.part_of(*number) == Part::Publisher);
            assert_eq!((publish.len(), receive.len()), (2, 5), "room {room}");
        }
    }

    #[test]
    fn whoever_takes_the_place_of_a_connection_has_its_room_and_its_part() {
        let rooms = rooms(3, 2, 5);
        let all = rooms.connections().get();
        for number in 0..all {
            assert_eq!(rooms.room_of(number + 7 * all), rooms.room_of(number));
            assert_eq!(rooms.part_of(number + 7 * all), rooms.part_of(number));
        }
    }

    #[test]
    fn workers_have_whole_rooms_and_equally_many() {
        #[rustfmt::skip]
        let table = [
            // rooms, workers, of which work
            (1,       4,       1),
            (4,       4,       4),
            (6,       4,       3),
            (7,       4,       1),
            (100,     3,       2),
            (2,       1,       1),
        ];
        for row @ (count, workers, expected) in table {
            let most = rooms(count, 1, 1).workers(NonZeroU32::new(workers).unwrap());
            assert_eq!(most.get(), expected, "{row:?}");
        }
    }
}
