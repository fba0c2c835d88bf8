//! Players coming and going: login, break, return, logout, and being forced out.

use super::deadlines::Deadline;
use super::dispatch::{Sender, World};
use super::outbox::{Outbox, SessionId};
use super::refusal::LOGGED_IN_REMOTELY;
use super::slab::Key;
use super::tables::table_id;
use std::borrow::Cow;
use units::Instant;
use wire::styx::packets::{
    ForcedLogout, LoginRequest, LoginResponse, Logout, NotifySeated, NotifyWatching, ResponseStatus,
};

impl World {
    /// Logs a player in: the password is the player's id.
    pub(super) fn login(
        &mut self,
        from: SessionId,
        request: &LoginRequest<'_>,
        out: &mut impl Outbox,
    ) {
        let pid = match self.credentials(request) {
            Ok(pid) => pid,
            Err((status, code, message)) => {
                self.counters.logins_refused += 1;
                return out.send(from, &refused(request, status, code, message).into());
            }
        };
        let old = self.players.find(pid);
        let key = old.unwrap_or_else(|| self.players.insert(pid, &request.user));
        if old.is_some() {
            self.take_over(key, &request.user, out);
        }
        if let (Some(player), Some(session)) =
            (self.players.get_mut(key), self.sessions.get_mut(from.0))
        {
            player.session = Some(from);
            session.player = Some(key);
        }
        self.counters.logins += 1;
        let response = LoginResponse {
            screenname: Cow::Borrowed(&request.user),
            pid,
            status: ResponseStatus::Ok,
            ..LoginResponse::default()
        };
        out.send(from, &response.into());
        self.give_back(key, from, out);
    }

    /// Refuses to log in a player on a session that already has one.
    pub(super) fn login_again(
        &mut self,
        from: Sender,
        request: &LoginRequest<'_>,
        out: &mut impl Outbox,
    ) {
        self.counters.logins_refused += 1;
        let message = "a player is already logged in on this connection";
        let response = refused(request, ResponseStatus::Denied, LOGGED_IN_ALREADY, message);
        out.send(from.session, &response.into());
    }

    /// Ends a session as its player wishes.
    pub(super) fn logout(&mut self, from: Sender, logout: &Logout, out: &mut impl Outbox) {
        out.close(from.session);
        self.forget(from.session);
        if logout.leave_tables {
            self.remove_player(from.player, out);
        } else {
            self.break_off(from.player, out);
        }
    }

    /// Tells a session why it is ended, ends it, and takes its player out of the world.
    pub(super) fn force_out(
        &mut self,
        session: SessionId,
        code: i32,
        message: &str,
        out: &mut impl Outbox,
    ) {
        out.send(session, &ForcedLogout { code, message: Cow::Borrowed(message) }.into());
        out.close(session);
        if let Some(player) = self.forget(session) {
            self.counters.forced_logouts += 1;
            self.remove_player(player, out);
        }
    }

    /// Forgets a session and its subscriptions. Returns the player who was logged in on it.
    pub(super) fn forget(&mut self, id: SessionId) -> Option<Key> {
        let session = self.sessions.remove(id.0)?;
        for address in session.subscriptions {
            self.lobby.unsubscribe(address, id);
        }
        session.player
    }

    /// Keeps the seats of a player whose connection broke, for a time.
    pub(super) fn break_off(&mut self, key: Key, out: &mut impl Outbox) {
        self.release_reservation(key);
        let away_until = self.now + self.options.away_max;
        let Some(player) = self.players.get_mut(key) else { return };
        if player.places.is_empty() {
            return self.remove_player(key, out);
        }
        player.session = None;
        player.away_until = away_until;
        self.counters.away += 1;
        self.set_alarm(key, away_until);
        self.refresh_audiences(key);
    }

    /// Makes sure that a player is checked at `at` at the latest.
    pub(super) fn set_alarm(&mut self, key: Key, at: Instant) {
        let Some(player) = self.players.get_mut(key) else { return };
        if at < player.alarm {
            player.alarm = at;
            self.deadlines.push(at, Deadline::Player(key));
        }
    }

    /// Checks if a player has been away, or a seat been reserved, for too long.
    pub(super) fn wake_player(&mut self, key: Key, at: Instant, out: &mut impl Outbox) {
        let now = self.now;
        let Some(player) = self.players.get_mut(key) else { return };
        if player.alarm != at {
            return;
        }
        player.alarm = Instant::NEVER;
        let is_away = player.session.is_none();
        let away_until = if is_away { player.away_until } else { Instant::NEVER };
        let reserved_until = player.reservation.map_or(Instant::NEVER, |kept| kept.until);
        if away_until <= now {
            self.counters.not_back += 1;
            return self.remove_player(key, out);
        }
        if reserved_until <= now {
            self.release_reservation(key);
            self.set_alarm(key, away_until);
        } else {
            self.set_alarm(key, away_until.min(reserved_until));
        }
    }

    /// Reads the player's id from a request.
    fn credentials(
        &self,
        request: &LoginRequest<'_>,
    ) -> Result<i32, (ResponseStatus, i32, &'static str)> {
        let Ok(pid) = request.password.parse::<i32>() else {
            let message = "Password must be an integer";
            return Err((ResponseStatus::Failed, NOT_AN_INTEGER, message));
        };
        if request.user.len() > USER_LEN_MAX {
            return Err((
                ResponseStatus::Denied,
                NAME_TOO_LONG,
                "the name is longer than 64 bytes",
            ));
        }
        let is_full = self.players.len() >= self.options.players_max as usize;
        if is_full && self.players.find(pid).is_none() {
            return Err((ResponseStatus::Denied, SERVER_FULL, "the server is full"));
        }
        Ok(pid)
    }

    /// Takes a player from another session, or from being away.
    fn take_over(&mut self, key: Key, user: &str, out: &mut impl Outbox) {
        let Some(player) = self.players.get_mut(key) else { return };
        player.nick = user.into();
        match player.session.take() {
            None => self.counters.away -= 1,
            Some(old) => {
                let message = Cow::Borrowed("You have logged in from another place");
                out.send(old, &ForcedLogout { code: LOGGED_IN_REMOTELY, message }.into());
                out.close(old);
                self.forget(old);
                self.counters.forced_logouts += 1;
                self.counters.logged_in_remotely += 1;
            }
        }
    }

    /// Tells a player who came back about their seats and the tables that they watch.
    fn give_back(&mut self, key: Key, to: SessionId, out: &mut impl Outbox) {
        let Some(player) = self.players.get(key) else { return };
        if player.places.is_empty() && player.watching.is_empty() {
            return;
        }
        self.counters.reconnects += 1;
        for place in &player.places {
            let Some(snapshot) = self.snapshot(place.table) else { continue };
            let seat = place.seat.cast_signed();
            let tableid = table_id(place.table);
            out.send(to, &NotifySeated { tableid, seat, mttid: NO_TOURNAMENT, snapshot }.into());
        }
        for &table in &player.watching {
            out.send(to, &NotifyWatching { tableid: table_id(table) }.into());
        }
        self.refresh_audiences(key);
    }

    /// Takes a player out of the world, with all seats.
    fn remove_player(&mut self, key: Key, out: &mut impl Outbox) {
        self.release_reservation(key);
        let Some(player) = self.players.get_mut(key) else { return };
        if player.session.take().is_none() {
            self.counters.away -= 1;
        }
        let places = player.places.clone();
        for table in std::mem::take(&mut player.watching) {
            self.stop_watching(key, table);
        }
        for place in places {
            self.vacate(key, place.table, out);
        }
        self.players.remove(key);
    }

    /// Updates the audiences of a player's tables.
    fn refresh_audiences(&mut self, key: Key) {
        let Some(player) = self.players.get(key) else { return };
        let places = player.places.iter().map(|place| place.table);
        for table in places.chain(player.watching.iter().copied()) {
            if let Some(table) = self.tables.get_mut(table) {
                table.refresh_audience(&self.players);
            }
        }
    }
}

fn refused<'a>(
    request: &'a LoginRequest<'_>,
    status: ResponseStatus,
    code: i32,
    message: &'a str,
) -> LoginResponse<'a> {
    LoginResponse {
        screenname: Cow::Borrowed(&request.user),
        status,
        code,
        message: Cow::Borrowed(message),
        ..LoginResponse::default()
    }
}

/// Codes of LoginResponse, chosen by us.
const NOT_AN_INTEGER: i32 = 1;
const NAME_TOO_LONG: i32 = 2;
const SERVER_FULL: i32 = 3;
const LOGGED_IN_ALREADY: i32 = 4;

/// The longest name of a player, in bytes.
const USER_LEN_MAX: usize = 64;

/// The number that means no tournament.
const NO_TOURNAMENT: i32 = -1;
