//! Seats: finding, reserving, taking and leaving them; watching; making tables.

use super::dispatch::{Sender, World};
use super::lobby::Address;
use super::options::Options;
use super::outbox::Outbox;
use super::players::{Place, Reservation};
use super::refusal::Denial;
use super::slab::Key;
use super::tables::{Seat, Sitter, table_id};
use std::borrow::Cow;
use std::ops::RangeInclusive;
use units::Instant;
use wire::styx::packets::{
    CreateTableRequest, CreateTableResponse, FilteredJoinResponseStatus,
    FilteredJoinTableAvailable, FilteredJoinTableCancelRequest, FilteredJoinTableCancelResponse,
    FilteredJoinTableRequest, FilteredJoinTableResponse, JoinRequest, JoinResponse,
    JoinResponseStatus, LeaveRequest, LeaveResponse, NotifyJoin, NotifyLeave, ParamFilter,
    ParameterFilter, ParameterType, ResponseStatus, TableRemoved, UnwatchRequest, UnwatchResponse,
    WatchRequest, WatchResponse, WatchResponseStatus,
};

impl World {
    /// Gives a player a seat, or denies it.
    pub(super) fn join(&mut self, from: Sender, request: &JoinRequest<'_>, out: &mut impl Outbox) {
        let JoinRequest { tableid, seat: wish, .. } = *request;
        let granted = self.seat_for(from.player, tableid, wish);
        let response = match granted {
            Ok(place) => JoinResponse {
                tableid,
                seat: place.seat.cast_signed(),
                status: JoinResponseStatus::Ok,
                code: 0,
            },
            Err(denial) => {
                self.counters.joins_denied += 1;
                let status = JoinResponseStatus::Denied;
                JoinResponse { tableid, seat: wish, status, code: denial as i32 }
            }
        };
        out.send(from.session, &response.into());
        if let Ok(place) = granted {
            self.sit(from.player, place, out);
        }
    }

    /// Takes a player from a table.
    pub(super) fn leave(&mut self, from: Sender, request: &LeaveRequest, out: &mut impl Outbox) {
        let tableid = request.tableid;
        let left = match self.tables.find(tableid) {
            None => Err(Denial::NoSuchTable),
            Some(table) if self.vacate(from.player, table, out) => Ok(()),
            Some(_) => Err(Denial::NotSeated),
        };
        let (status, code) = match left {
            Ok(()) => (ResponseStatus::Ok, 0),
            Err(denial) => (ResponseStatus::Denied, denial as i32),
        };
        out.send(from.session, &LeaveResponse { tableid, status, code }.into());
    }

    /// Makes a player a watcher of a table.
    pub(super) fn watch(&mut self, from: Sender, request: &WatchRequest, out: &mut impl Outbox) {
        let status = self.try_watch(from.player, request.tableid);
        out.send(from.session, &WatchResponse { tableid: request.tableid, status }.into());
    }

    /// Ends [`World::watch`].
    pub(super) fn unwatch(
        &mut self,
        from: Sender,
        request: &UnwatchRequest,
        out: &mut impl Outbox,
    ) {
        let tableid = request.tableid;
        let watched =
            self.tables.find(tableid).is_some_and(|table| self.unlist(from.player, table));
        let status = if watched { ResponseStatus::Ok } else { ResponseStatus::Denied };
        out.send(from.session, &UnwatchResponse { tableid, status }.into());
    }

    /// Finds a free seat and reserves it for the player who asks: at the fullest suitable table, so that tables fill up
    /// one after another.
    pub(super) fn find_seat(
        &mut self,
        from: Sender,
        request: &FilteredJoinTableRequest<'_>,
        out: &mut impl Outbox,
    ) {
        self.release_reservation(from.player);
        let found = self.reserve(from.player, request);
        let status = match found {
            Some(_) => FilteredJoinResponseStatus::Ok,
            None => FilteredJoinResponseStatus::Denied,
        };
        let FilteredJoinTableRequest { seq, gameid, .. } = *request;
        let address = Cow::Borrowed(&*request.address);
        out.send(from.session, &FilteredJoinTableResponse { seq, gameid, address, status }.into());
        match found {
            None => self.counters.joins_denied += 1,
            Some(Place { table, seat }) => {
                let (tableid, seat) = (table_id(table), seat.cast_signed());
                out.send(from.session, &FilteredJoinTableAvailable { seq, tableid, seat }.into());
            }
        }
    }

    /// Gives up the seat that is reserved for a request.
    pub(super) fn cancel(
        &mut self,
        from: Sender,
        request: &FilteredJoinTableCancelRequest,
        out: &mut impl Outbox,
    ) {
        let seq = request.seq;
        let kept = self.players.get(from.player).and_then(|player| player.reservation);
        let status = if kept.is_some_and(|kept| kept.seq == seq) {
            self.release_reservation(from.player);
            ResponseStatus::Ok
        } else {
            ResponseStatus::Denied
        };
        out.send(from.session, &FilteredJoinTableCancelResponse { seq, status }.into());
    }

    /// Makes a table, seats its maker and invites others.
    pub(super) fn make_table(
        &mut self,
        from: Sender,
        request: &CreateTableRequest<'_>,
        out: &mut impl Outbox,
    ) {
        let seq = request.seq;
        let made = self.try_make(from.player, request);
        let response = match made {
            Ok(table) => CreateTableResponse {
                seq,
                tableid: table_id(table),
                seat: 0,
                status: ResponseStatus::Ok,
                code: 0,
            },
            Err(denial) => {
                self.counters.joins_denied += 1;
                let (status, code) = (ResponseStatus::Denied, denial as i32);
                CreateTableResponse { seq, tableid: NO_TABLE, seat: ANY_SEAT, status, code }
            }
        };
        out.send(from.session, &response.into());
        if let Ok(table) = made {
            self.sit(from.player, Place { table, seat: 0 }, out);
            self.tell_invited(from.player, table, &request.invitees, out);
        }
    }

    /// Takes a player's seat away and tells the table. Returns true if there was a seat.
    pub(super) fn vacate(&mut self, key: Key, table: u32, out: &mut impl Outbox) -> bool {
        let Some(player) = self.players.get_mut(key) else { return false };
        let Some(seat) = player.seat_at(table) else { return false };
        let pid = player.pid;
        player.places.retain(|place| place.table != table);
        self.tables.set_seat(Place { table, seat }, Seat::Free);
        self.counters.leaves += 1;
        self.mark_changed(table);
        let Some(here) = self.tables.get_mut(table) else { return true };
        here.refresh_audience(&self.players);
        out.broadcast(&here.audience, &NotifyLeave { tableid: table_id(table), pid }.into());
        if here.seated == 0 && table >= self.tables.standing() {
            self.remove_table(table, out);
        }
        true
    }

    /// Gives up the seat that is reserved for a player, if there is one.
    pub(super) fn release_reservation(&mut self, key: Key) {
        let Some(player) = self.players.get_mut(key) else { return };
        if let Some(kept) = player.reservation.take() {
            self.tables.set_seat(kept.place, Seat::Free);
        }
    }

    /// Takes a player from the watchers of a table; the caller changes the player's own list.
    pub(super) fn stop_watching(&mut self, key: Key, table: u32) {
        if let Some(here) = self.tables.get_mut(table) {
            here.watchers.retain(|&watcher| watcher != key);
            here.refresh_audience(&self.players);
        }
    }

    /// The seat that a player gets for this request.
    fn seat_for(&self, key: Key, tableid: i32, wish: i8) -> Result<Place, Denial> {
        let index = self.tables.find(tableid).ok_or(Denial::NoSuchTable)?;
        let table = self.tables.get(index).ok_or(Denial::NoSuchTable)?;
        let player = self.players.get(key).ok_or(Denial::NoSuchTable)?;
        if player.seat_at(index).is_some() {
            return Err(Denial::SeatedAlready);
        }
        if player.has_enough_tables() && !player.watching.contains(&index) {
            return Err(Denial::TooManyTables);
        }
        let kept = player.reservation.map(|kept| kept.place).filter(|place| place.table == index);
        let seat = if wish == ANY_SEAT {
            let kept = kept.map(|place| place.seat);
            kept.or_else(|| table.free_seat()).ok_or(Denial::TableFull)?
        } else {
            let seat = u8::try_from(wish).map_err(|_| Denial::NoSuchSeat)?;
            match table.seats.get(usize::from(seat)).ok_or(Denial::NoSuchSeat)? {
                Seat::Free => seat,
                Seat::Reserved(owner) if *owner == key => seat,
                Seat::Reserved(_) | Seat::Taken(_) => return Err(Denial::SeatTaken),
            }
        };
        Ok(Place { table: index, seat })
    }

    /// Seats a player on a free seat, and tells the table.
    fn sit(&mut self, key: Key, place: Place, out: &mut impl Outbox) {
        let kept = self.players.get(key).and_then(|player| player.reservation);
        if kept.is_some_and(|kept| kept.place.table == place.table) {
            self.release_reservation(key);
        }
        self.unlist(key, place.table);
        self.tickets = self.tickets.wrapping_add(1);
        let sitter = Sitter {
            player: key,
            ticket: self.tickets,
            sequence: None,
            busy_until: Instant::START,
            waiting: 0,
        };
        self.tables.set_seat(place, Seat::Taken(sitter));
        self.mark_changed(place.table);
        self.counters.joins += 1;
        let Some(player) = self.players.get_mut(key) else { return };
        player.places.push(place);
        let (pid, nick) = (player.pid, player.nick.clone());
        let Some(table) = self.tables.get_mut(place.table) else { return };
        let (tableid, seat) = (table_id(place.table), place.seat.cast_signed());
        let notice = NotifyJoin { tableid, pid, nick: Cow::Borrowed(&nick), seat };
        out.broadcast(&table.audience, &notice.into());
        table.refresh_audience(&self.players);
    }

    fn reserve(&mut self, key: Key, request: &FilteredJoinTableRequest<'_>) -> Option<Place> {
        let address = Address::parse(&request.address, &self.tables)?;
        let player = self.players.get(key)?;
        if player.has_enough_tables() {
            return None;
        }
        let taken = taken_wanted(&request.params, self.tables.standing_seats())?;
        let range = address.tables(&self.tables);
        let table = self.tables.fullest(range, &taken, |index| player.seat_at(index).is_some())?;
        let seat = self.tables.get(table)?.free_seat()?;
        let place = Place { table, seat };
        self.tables.set_seat(place, Seat::Reserved(key));
        let until = self.now + self.options.reservation_max;
        let player = self.players.get_mut(key)?;
        player.reservation = Some(Reservation { seq: request.seq, place, until });
        self.set_alarm(key, until);
        Some(place)
    }

    fn try_watch(&mut self, key: Key, tableid: i32) -> WatchResponseStatus {
        let Some(index) = self.tables.find(tableid) else { return WatchResponseStatus::Denied };
        let (Some(table), Some(player)) = (self.tables.get_mut(index), self.players.get_mut(key))
        else {
            return WatchResponseStatus::Denied;
        };
        if player.seat_at(index).is_some() {
            return WatchResponseStatus::DeniedAlreadySeated;
        }
        if player.watching.contains(&index) {
            return WatchResponseStatus::Ok;
        }
        if player.has_enough_tables() || table.watchers.len() >= WATCHERS_MAX {
            return WatchResponseStatus::Denied;
        }
        player.watching.push(index);
        table.watchers.push(key);
        table.refresh_audience(&self.players);
        WatchResponseStatus::Ok
    }

    /// Makes a player stop watching a table. Returns true if it was watched.
    fn unlist(&mut self, key: Key, table: u32) -> bool {
        let Some(player) = self.players.get_mut(key) else { return false };
        let watching = player.watching.len();
        player.watching.retain(|&watched| watched != table);
        if player.watching.len() == watching {
            return false;
        }
        self.stop_watching(key, table);
        true
    }

    fn try_make(&mut self, key: Key, request: &CreateTableRequest<'_>) -> Result<u32, Denial> {
        let player = self.players.get(key).ok_or(Denial::NoMoreTables)?;
        if player.has_enough_tables() {
            return Err(Denial::TooManyTables);
        }
        let seats = u8::try_from(request.seats).unwrap_or_default();
        if !(1..=Options::SEATS_MAX).contains(&seats) {
            return Err(Denial::NoMoreTables);
        }
        let table = self.tables.make(seats).ok_or(Denial::NoMoreTables)?;
        self.counters.tables_made += 1;
        Ok(table)
    }

    /// Removes a made table that its last player has left.
    fn remove_table(&mut self, index: u32, out: &mut impl Outbox) {
        let Some(table) = self.tables.get_mut(index) else { return };
        out.broadcast(&table.audience, &TableRemoved { tableid: table_id(index) }.into());
        for watcher in std::mem::take(&mut table.watchers) {
            if let Some(player) = self.players.get_mut(watcher) {
                player.watching.retain(|&watched| watched != index);
            }
        }
        self.tables.remove(index);
    }
}

/// The numbers of taken seats that pass these filters; `None` if no table can.
fn taken_wanted(filters: &[ParamFilter<'_>], seats: u8) -> Option<RangeInclusive<i32>> {
    let mut wanted = 0..=i32::from(seats);
    for ParamFilter { param, op } in filters {
        let op = ParameterFilter::from_ordinal(u8::try_from(*op).ok()?)?;
        if u8::try_from(param.kind).ok()? != ParameterType::Int.ordinal() {
            return None;
        }
        let value = i32::from_be_bytes(param.value.as_ref().try_into().ok()?);
        let passing = match op {
            ParameterFilter::Equals => value..=value,
            ParameterFilter::GreaterThan => value.checked_add(1)?..=i32::MAX,
            ParameterFilter::SmallerThan => i32::MIN..=value.checked_sub(1)?,
            ParameterFilter::EqualOrGreaterThan => value..=i32::MAX,
            ParameterFilter::EqualOrSmallerThan => i32::MIN..=value,
        };
        match &*param.key {
            SEATED => {
                wanted = *wanted.start().max(passing.start())..=*wanted.end().min(passing.end());
            }
            CAPACITY if passing.contains(&i32::from(seats)) => {}
            _ => return None,
        }
    }
    Some(wanted)
}

/// The properties of tables that filters may name: the number of seats that are not free, and of all seats.
const SEATED: &str = "_SEATED";
const CAPACITY: &str = "_CAPACITY";

/// Means any seat in a request, and none in an answer.
pub(super) const ANY_SEAT: i8 = -1;

/// Means no table.
const NO_TABLE: i32 = -1;

/// The most players that may watch a table.
const WATCHERS_MAX: usize = 64;
