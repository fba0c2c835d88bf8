//! Rooms: what is published in one goes to its receivers.
//!
//! Every connection belongs to one room, determined by its number alone, so that both ends of the program and all
//! workers agree without communicating. Left out: the names of rooms, which are up to a conversation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;
use units::Nanos;

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
    /// The receivers that do not just stay and read.
    #[serde(default, skip_serializing_if = "Conduct::is_steady")]
    pub conduct: Conduct,
}

/// The ways in which receivers do something other than stay and read, from the begin of the measurement on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Conduct {
    /// Receivers of each room that read nothing until the measurement is over.
    #[serde(skip_serializing_if = "is_none")]
    pub slow: u32,
    /// The times at which each receiver leaves and comes back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub away: Option<Away>,
    /// Time from the begin of the measurement to the instant at which the connections of all receivers are torn off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storm: Option<Nanos>,
    /// Time from the begin of the measurement to the instant at which the server, or the part of it that a workload
    /// names (`restart_of`), is killed, to be started again at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart: Option<Nanos>,
}

impl Conduct {
    /// True if all receivers stay and read.
    pub fn is_steady(&self) -> bool {
        *self == Self::default()
    }
}

/// Absences of a receiver: one in each period, at a random instant of it that differs between receivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Away {
    /// The period.
    pub every: Nanos,
    /// The time until it comes back; shorter than the period.
    pub time: Nanos,
}

impl fmt::Display for Away {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exact = |time: Nanos| format!("{time:#}").replace(' ', "");
        write!(f, "every {} for {}", exact(self.every), exact(self.time))
    }
}

impl FromStr for Away {
    type Err = String;

    /// Reads `every 15s for 2s`.
    fn from_str(text: &str) -> Result<Self, String> {
        let problem = |what: String| format!("{what}; absences are as in `every 15s for 2s`");
        let words: Vec<&str> = text.split_whitespace().collect();
        let ["every", every, "for", time] = words[..] else {
            return Err(problem(format!("`{text}` is not a period and a time")));
        };
        let nanos = |text: &str| {
            text.parse::<Nanos>().map_err(|error: units::ParseError| problem(error.to_string()))
        };
        let away = Self { every: nanos(every)?, time: nanos(time)? };
        if away.time == Nanos::ZERO {
            return Err(problem("receivers cannot be away for 0s".to_owned()));
        }
        if away.time >= away.every {
            return Err(problem(format!("{time} away is not shorter than the period of {every}")));
        }
        Ok(away)
    }
}

crate::text::as_text!(Away, "the absences of each receiver", "every 15s for 2s");

fn is_none(count: &u32) -> bool {
    *count == 0
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
    #[inline]
    pub const fn connections(self) -> NonZeroU32 {
        self.count.saturating_mul(self.publishers.saturating_add(self.receivers.get()))
    }

    /// The publishers of all rooms.
    #[inline]
    pub const fn all_publishers(self) -> NonZeroU32 {
        self.count.saturating_mul(self.publishers)
    }

    /// The room of a connection.
    #[inline]
    pub const fn room_of(self, connection: u32) -> u32 {
        connection % self.count.get()
    }

    /// The part of a connection.
    #[inline]
    pub const fn part_of(self, connection: u32) -> Part {
        match connection % self.connections().get() < self.all_publishers().get() {
            true => Part::Publisher,
            false => Part::Receiver,
        }
    }

    /// The largest number of workers, at most `workers`, that can have equally many rooms without sharing one.
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
        Rooms { count, publishers, receivers, conduct: Conduct::default() }
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
    fn absences_are_a_period_and_a_shorter_time() {
        for text in ["every 15s for 2s", "every 500ms for 20ms"] {
            assert_eq!(text.parse::<Away>().unwrap().to_string(), text);
        }
        #[rustfmt::skip]
        let table = [
            ("2s",               "`2s` is not a period and a time; absences are as in `every 15s for 2s`"),
            ("every 2s for 0s",  "receivers cannot be away for 0s"),
            ("every 2s for 2s",  "2s away is not shorter than the period of 2s"),
            ("every 2 for 1s",   "`2`"),
        ];
        for (text, problem) in table {
            let error = text.parse::<Away>().unwrap_err();
            assert!(error.contains(problem), "{error}");
        }
    }

    #[test]
    fn workers_have_whole_rooms_and_equally_many() {
        #[rustfmt::skip]
        let table = [
            // rooms, workers, those that get rooms
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
