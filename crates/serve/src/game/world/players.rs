//! Players, logged in or away.

use super::outbox::SessionId;
use super::slab::{Key, Slab};
use std::collections::HashMap;
use units::Instant;

/// A player who is logged in, or away.
#[derive(Debug)]
pub(super) struct Player {
    pub(super) pid: i32,
    pub(super) nick: Box<str>,
    /// `None` while away.
    pub(super) session: Option<SessionId>,
    /// While away: the instant until which seats are kept.
    pub(super) away_until: Instant,
    /// The earliest deadline of this player in the heap.
    pub(super) alarm: Instant,
    pub(super) reservation: Option<Reservation>,
    pub(super) places: Vec<Place>,
    /// Tables that are watched.
    pub(super) watching: Vec<u32>,
}

impl Player {
    /// The seat at `table`.
    #[inline]
    pub(super) fn seat_at(&self, table: u32) -> Option<u8> {
        self.places.iter().find(|place| place.table == table).map(|place| place.seat)
    }

    /// True if the player may not sit at or watch one more table.
    pub(super) const fn has_enough_tables(&self) -> bool {
        self.places.len() + self.watching.len() >= TABLES_PER_PLAYER_MAX
    }
}

/// The seat of a player.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) table: u32,
    pub(super) seat: u8,
}

/// A seat that is kept for a player.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reservation {
    /// The number of the request that asked for it.
    pub(super) seq: i32,
    pub(super) place: Place,
    pub(super) until: Instant,
}

/// All players, by key and by id.
#[derive(Debug)]
pub(super) struct Players {
    slab: Slab<Player>,
    keys: HashMap<i32, Key>,
}

impl Players {
    pub(super) fn new() -> Self {
        Self { slab: Slab::new(), keys: HashMap::new() }
    }

    pub(super) fn insert(&mut self, pid: i32, nick: &str) -> Key {
        let key = self.slab.insert(Player {
            pid,
            nick: nick.into(),
            session: None,
            away_until: Instant::NEVER,
            alarm: Instant::NEVER,
            reservation: None,
            places: Vec::new(),
            watching: Vec::new(),
        });
        self.keys.insert(pid, key);
        key
    }

    pub(super) fn remove(&mut self, key: Key) {
        if let Some(player) = self.slab.remove(key) {
            self.keys.remove(&player.pid);
        }
    }

    pub(super) fn find(&self, pid: i32) -> Option<Key> {
        self.keys.get(&pid).copied()
    }

    #[inline]
    pub(super) fn get(&self, key: Key) -> Option<&Player> {
        self.slab.get(key)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, key: Key) -> Option<&mut Player> {
        self.slab.get_mut(key)
    }

    pub(super) const fn len(&self) -> usize {
        self.slab.len()
    }
}

/// The most tables that a player may sit at and watch together.
const TABLES_PER_PLAYER_MAX: usize = 8;

#[cfg(test)]
mod tests {
    use super::{Place, Player};
    use crate::game::world::session::Session;
    use crate::game::world::tables::{Seat, Table};
    use std::mem::size_of;

    #[test]
    fn a_seated_player_takes_less_than_a_kibibyte() {
        // Alone at a table: with a list of four tables (the first table makes room for that many), a list of as many
        // listeners, the longest name, and the entries in the map, the index and the heap.
        let lists = 4 * size_of::<Place>() + 4 * 8;
        let index = 2 * (4 + 8 + 1) + 2 * 4 + 2 * 48;
        let own =
            size_of::<Session>() + size_of::<Player>() + size_of::<Seat>() + size_of::<Table>();
        // Each `Vec` may have twice the room that it needs.
        assert!(2 * own + lists + index + 64 <= 1024, "{own} + {lists} + {index}");
    }
}
