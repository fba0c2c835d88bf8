//! Tables and their seats, and an index of the tables with free seats.

use super::options::Options;
use super::outbox::SessionId;
use super::players::{Place, Players};
use super::slab::Key;
use std::collections::BTreeSet;
use std::ops::{Range, RangeInclusive};
use units::Instant;

/// A table.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// True if the table exists: a made table is removed when it is empty.
    pub(super) exists: bool,
    pub(super) seats: Box<[Seat]>,
    /// Seats that are not free.
    pub(super) taken: u8,
    /// Seats with a player.
    pub(super) seated: u8,
    pub(super) watchers: Vec<Key>,
    /// The sessions that receive the table's events: those of connected sitters first, then those of watchers.
    pub(super) audience: Vec<SessionId>,
    /// The number of sitters in the audience.
    pub(super) listening: usize,
    /// True if the subscribers of the lobby have been sent the complete table.
    pub(super) is_known: bool,
    /// True if the subscribers of the lobby must be told of a change of the table.
    pub(super) is_changed: bool,
}

/// A seat.
#[derive(Clone, Debug, Default)]
pub(super) enum Seat {
    #[default]
    Free,
    /// Kept free for a player.
    Reserved(Key),
    Taken(Sitter),
}

/// The player on a seat, and the state of that player's game.
#[derive(Clone, Debug)]
pub(super) struct Sitter {
    pub(super) player: Key,
    /// A number that no earlier sitter on this seat had.
    pub(super) ticket: u32,
    /// The number of the last event.
    pub(super) sequence: Option<i32>,
    /// The instant at which all events so far are carried out.
    pub(super) busy_until: Instant,
    /// The number of events that wait for their time.
    pub(super) waiting: u16,
}

/// All tables: those from the start, then room for those that players make.
#[derive(Debug)]
pub(super) struct Tables {
    tables: Vec<Table>,
    /// The number of tables that exist from the start.
    standing: u32,
    /// The most places for tables that players make.
    made_max: u32,
    made: u32,
    seated: u32,
    reserved: u32,
    /// Places of made tables that may be re-used.
    free: Vec<u32>,
    /// The tables from the start by their number of seats that are not free.
    open: Vec<BTreeSet<u32>>,
}

impl Tables {
    pub(super) fn new(options: &Options) -> Self {
        let standing = options.tables.min(Options::TABLES_MAX);
        let seats = options.seats.clamp(1, Options::SEATS_MAX);
        let mut open = vec![BTreeSet::new(); usize::from(seats)];
        open[0].extend(0..standing);
        let tables = (0..standing).map(|_| Table { is_known: true, ..Table::with_seats(seats) });
        Self {
            tables: tables.collect(),
            standing,
            made_max: options.made_tables_max.min(Options::TABLES_MAX),
            made: 0,
            seated: 0,
            reserved: 0,
            free: Vec::new(),
            open,
        }
    }

    /// The index of the table with this id, if there is one.
    #[inline]
    pub(super) fn find(&self, tableid: i32) -> Option<u32> {
        let index = u32::try_from(tableid).ok()?.checked_sub(1)?;
        self.get(index).map(|_| index)
    }

    #[inline]
    pub(super) fn get(&self, index: u32) -> Option<&Table> {
        self.tables.get(index as usize).filter(|table| table.exists)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, index: u32) -> Option<&mut Table> {
        self.tables.get_mut(index as usize).filter(|table| table.exists)
    }

    /// The table at a place, or what remains of a removed one.
    pub(super) fn at_mut(&mut self, index: u32) -> &mut Table {
        &mut self.tables[index as usize]
    }

    /// Makes a table; `None` if there are too many.
    pub(super) fn make(&mut self, seats: u8) -> Option<u32> {
        let index = match self.free.pop() {
            Some(index) => index,
            None if self.end() - self.standing >= self.made_max => return None,
            None => {
                self.tables.push(Table::default());
                self.end() - 1
            }
        };
        self.made += 1;
        self.tables[index as usize] = Table::with_seats(seats);
        Some(index)
    }

    /// Removes a made table; its place may be re-used once [`Tables::release`] is called.
    pub(super) fn remove(&mut self, index: u32) {
        let table = self.at_mut(index);
        *table = Table { is_changed: table.is_changed, ..Table::default() };
        self.made -= 1;
    }

    /// Makes the place of a removed table available again.
    pub(super) fn release(&mut self, index: u32) {
        self.free.push(index);
    }

    /// Changes the state of a seat.
    pub(super) fn set_seat(&mut self, place: Place, seat: Seat) {
        let Some(table) = self.tables.get_mut(place.table as usize) else { return };
        let Some(old) = table.seats.get_mut(usize::from(place.seat)) else { return };
        let before = table.taken;
        let (was, will) = (old.counts(), seat.counts());
        table.taken = table.taken - (was.0 + was.1) + (will.0 + will.1);
        table.seated = table.seated - was.0 + will.0;
        self.seated = self.seated - u32::from(was.0) + u32::from(will.0);
        self.reserved = self.reserved - u32::from(was.1) + u32::from(will.1);
        *old = seat;
        let after = table.taken;
        if place.table < self.standing && before != after {
            if let Some(open) = self.open.get_mut(usize::from(before)) {
                open.remove(&place.table);
            }
            if let Some(open) = self.open.get_mut(usize::from(after)) {
                open.insert(place.table);
            }
        }
    }

    /// Finds the fullest table of a range that has a free seat and a number of taken seats within `taken`; the first
    /// such table for which `not` is false.
    pub(super) fn fullest(
        &self,
        range: Range<u32>,
        taken: &RangeInclusive<i32>,
        not: impl Fn(u32) -> bool,
    ) -> Option<u32> {
        let allowed = |count: usize| i32::try_from(count).is_ok_and(|count| taken.contains(&count));
        (0..self.open.len())
            .rev()
            .filter(|&count| allowed(count))
            .find_map(|count| self.open[count].range(range.clone()).find(|&&index| !not(index)))
            .copied()
    }

    /// The index of the first table that was made by a player.
    pub(super) const fn standing(&self) -> u32 {
        self.standing
    }

    /// The number of places.
    pub(super) fn end(&self) -> u32 {
        u32::try_from(self.tables.len()).expect("two times TABLES_MAX fits")
    }

    /// Seats at each table from the start.
    pub(super) fn standing_seats(&self) -> u8 {
        u8::try_from(self.open.len()).expect("SEATS_MAX is below")
    }

    /// The number of tables.
    pub(super) const fn count(&self) -> u32 {
        self.standing + self.made
    }

    /// The numbers of seats with a player, and of reserved seats.
    pub(super) const fn seats(&self) -> (u32, u32) {
        (self.seated, self.reserved)
    }
}

impl Table {
    fn with_seats(seats: u8) -> Self {
        let seats = vec![Seat::Free; usize::from(seats)].into_boxed_slice();
        Self { exists: true, seats, ..Self::default() }
    }

    /// A free seat.
    pub(super) fn free_seat(&self) -> Option<u8> {
        let index = self.seats.iter().position(Seat::is_free)?;
        u8::try_from(index).ok()
    }

    /// The sitter on a seat.
    #[inline]
    pub(super) fn sitter_mut(&mut self, seat: u8) -> Option<&mut Sitter> {
        match self.seats.get_mut(usize::from(seat)) {
            Some(Seat::Taken(sitter)) => Some(sitter),
            Some(Seat::Free | Seat::Reserved(_)) | None => None,
        }
    }

    /// Updates the sessions that receive the table's events: those of connected players.
    pub(super) fn refresh_audience(&mut self, players: &Players) {
        let session_of = |key| players.get(key).and_then(|player| player.session);
        let sitters = self.seats.iter().filter_map(|seat| match seat {
            Seat::Taken(sitter) => Some(sitter.player),
            Seat::Free | Seat::Reserved(_) => None,
        });
        self.audience.clear();
        self.audience.extend(sitters.filter_map(session_of));
        self.listening = self.audience.len();
        self.audience.extend(self.watchers.iter().copied().filter_map(session_of));
    }
}

impl Seat {
    const fn is_free(&self) -> bool {
        matches!(self, Self::Free)
    }

    /// The numbers of players and of reservations on the seat: 0 or 1 each.
    const fn counts(&self) -> (u8, u8) {
        match self {
            Self::Free => (0, 0),
            Self::Reserved(_) => (0, 1),
            Self::Taken(_) => (1, 0),
        }
    }
}

/// The id of the table at a place.
#[inline]
pub(super) fn table_id(index: u32) -> i32 {
    i32::try_from(index + 1).expect("two times TABLES_MAX fits")
}
