//! The world: its parts, and the handler of each packet.

use super::counters::Counters;
use super::deadlines::{Deadline, Deadlines};
use super::lobby::Lobby;
use super::options::Options;
use super::outbox::{Outbox, SessionId};
use super::players::Players;
use super::refusal::{IDLE_TIMEOUT, KICKED, Refusal};
use super::session::{Session, Silence};
use super::slab::{Key, Slab};
use super::tables::Tables;
use units::Instant;
use wire::styx::packets::{Bad, Packet, Ping};

/// A game server without its sockets.
///
/// Time never runs backwards: an instant before the last one counts as the last one. The cost of a packet depends on
/// the number of players and tables only by a logarithm, and on the players at the table that it is about.
#[derive(Debug)]
pub struct World {
    pub(super) options: Options,
    pub(super) now: Instant,
    pub(super) sessions: Slab<Session>,
    pub(super) players: Players,
    pub(super) tables: Tables,
    pub(super) lobby: Lobby,
    pub(super) deadlines: Deadlines,
    pub(super) counters: Counters,
    /// The number of sitters so far.
    pub(super) tickets: u32,
}

/// The sender of a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sender {
    pub(super) session: SessionId,
    pub(super) player: Key,
}

impl World {
    /// A world with its tables and no players.
    pub fn new(options: Options) -> Self {
        Self {
            now: Instant::START,
            sessions: Slab::new(),
            players: Players::new(),
            tables: Tables::new(&options),
            lobby: Lobby::new(),
            deadlines: Deadlines::new(),
            counters: Counters::default(),
            tickets: 0,
            options,
        }
    }

    /// Adds a new connection.
    pub fn connect(&mut self, now: Instant) -> SessionId {
        self.advance(now);
        let session = SessionId(self.sessions.insert(Session::new(self.now)));
        let first_look = self.options.login_max.min(self.options.quiet_max);
        self.deadlines.push(self.now + first_look, Deadline::Session(session));
        session
    }

    /// Handles a packet. A packet from a session that is gone is ignored.
    pub fn packet(
        &mut self,
        from: SessionId,
        packet: &Packet<'_>,
        now: Instant,
        out: &mut impl Outbox,
    ) {
        self.advance(now);
        let Some(player) = self.hear(from, out) else { return };
        let answered = match player {
            Some(player) => self.answer(Sender { session: from, player }, packet, out),
            None => self.answer_stranger(from, packet, out),
        };
        if let Err(refusal) = answered {
            self.refuse(from, packet.class_id(), refusal, out);
        }
    }

    /// Handles a frame that is not a packet of the protocol; `class_id` is its first byte, or 0 if it is empty.
    pub fn malformed(
        &mut self,
        from: SessionId,
        class_id: u8,
        now: Instant,
        out: &mut impl Outbox,
    ) {
        self.advance(now);
        if self.hear(from, out).is_some() {
            self.refuse(from, class_id, Refusal::Malformed, out);
        }
    }

    /// Handles the end of a connection without a logout: the player, if seated, is away from now on. Harmless if the
    /// session is gone already.
    pub fn gone(&mut self, session: SessionId, now: Instant, out: &mut impl Outbox) {
        self.advance(now);
        if let Some(player) = self.forget(session) {
            self.break_off(player, out);
        }
    }

    /// Carries out everything that is due. Harmless when called early.
    pub fn tick(&mut self, now: Instant, out: &mut impl Outbox) {
        self.advance(now);
        while let Some((at, deadline)) = self.deadlines.pop(self.now) {
            match deadline {
                Deadline::Session(session) => self.look_after(session, out),
                Deadline::Player(player) => self.wake_player(player, at, out),
                Deadline::Event(event) => self.delay_over(event, out),
            }
        }
        if self.lobby.due <= self.now {
            self.tell_lobby(out);
        }
    }

    /// The next instant at which [`World::tick`] must be called; [`Instant::NEVER`] if only packets can change
    /// anything.
    pub fn next_deadline(&self) -> Instant {
        self.deadlines.next().min(self.lobby.due)
    }

    /// The current state in numbers, and the counts of events so far.
    pub fn counters(&self) -> Counters {
        let (seated, reserved) = self.tables.seats();
        Counters {
            connections: self.sessions.len() as u64,
            players: self.players.len() as u64 - self.counters.away,
            tables: self.tables.count().into(),
            seated: seated.into(),
            reserved: reserved.into(),
            lobby_subscriptions: self.lobby.subscriptions() as u64,
            ..self.counters
        }
    }

    fn advance(&mut self, now: Instant) {
        self.now = self.now.max(now);
    }

    /// Counts a packet, and ends a flood. Returns the player, if one is logged in; `None` if the packet must not be
    /// answered.
    #[inline]
    fn hear(&mut self, from: SessionId, out: &mut impl Outbox) -> Option<Option<Key>> {
        let session = self.sessions.get_mut(from.0)?;
        self.counters.packets += 1;
        session.heard = self.now;
        let player = session.player;
        if self.options.flood.is_some_and(|flood| !session.allows(flood, self.now)) {
            self.counters.floods += 1;
            self.force_out(from, KICKED, "too many packets", out);
            return None;
        }
        Some(player)
    }

    fn refuse(&mut self, to: SessionId, class_id: u8, refusal: Refusal, out: &mut impl Outbox) {
        self.counters.bad_packets += 1;
        let cmd = class_id.cast_signed();
        out.send(to, &Bad { cmd, error: refusal as i8 }.into());
    }

    /// Answers a connection on which nobody is logged in.
    fn answer_stranger(
        &mut self,
        from: SessionId,
        packet: &Packet<'_>,
        out: &mut impl Outbox,
    ) -> Result<(), Refusal> {
        #[expect(clippy::wildcard_enum_match_arm, reason = "whatever it is, it comes too early")]
        match packet {
            Packet::LoginRequest(request) => self.login(from, request, out),
            Packet::Version(_) | Packet::GameVersion(_) | Packet::Ping(_) => {}
            _ => return Err(Refusal::NotLoggedIn),
        }
        Ok(())
    }

    /// Answers a player.
    fn answer(
        &mut self,
        from: Sender,
        packet: &Packet<'_>,
        out: &mut impl Outbox,
    ) -> Result<(), Refusal> {
        match packet {
            Packet::GameTransport(transport) => return self.event(from, transport, out),
            Packet::TableChat(chat) => return self.chat(from, chat, out),
            Packet::InvitePlayersRequest(request) => return self.invite(from, request, out),
            Packet::LobbySubscribe(request) => return self.subscribe(from, request, out),
            Packet::JoinRequest(request) => self.join(from, request, out),
            Packet::LeaveRequest(request) => self.leave(from, request, out),
            Packet::WatchRequest(request) => self.watch(from, request, out),
            Packet::UnwatchRequest(request) => self.unwatch(from, request, out),
            Packet::FilteredJoinTableRequest(request) => self.find_seat(from, request, out),
            Packet::FilteredJoinTableCancelRequest(request) => self.cancel(from, request, out),
            Packet::CreateTableRequest(request) => self.make_table(from, request, out),
            Packet::TableQueryRequest(request) => self.query_table(from, request, out),
            Packet::PlayerQueryRequest(request) => self.query_player(from, request, out),
            Packet::SystemInfoRequest(_) => self.query_system(from, out),
            Packet::LobbyUnsubscribe(request) => self.unsubscribe(from, request),
            Packet::LoginRequest(request) => self.login_again(from, request, out),
            Packet::Logout(logout) => self.logout(from, logout, out),
            Packet::Version(_) | Packet::GameVersion(_) | Packet::Ping(_) => {}
            Packet::Bad(_)
            | Packet::Param(_)
            | Packet::ParamFilter(_)
            | Packet::Attribute(_)
            | Packet::LoginResponse(_)
            | Packet::PlayerInfo(_)
            | Packet::ForcedLogout(_)
            | Packet::SeatInfo(_)
            | Packet::PlayerQueryResponse(_)
            | Packet::SystemInfoResponse(_)
            | Packet::JoinResponse(_)
            | Packet::WatchResponse(_)
            | Packet::UnwatchResponse(_)
            | Packet::LeaveResponse(_)
            | Packet::TableQueryResponse(_)
            | Packet::CreateTableResponse(_)
            | Packet::NotifyInvited(_)
            | Packet::NotifyJoin(_)
            | Packet::NotifyLeave(_)
            | Packet::NotifySeated(_)
            | Packet::NotifyWatching(_)
            | Packet::TableSnapshot(_)
            | Packet::TableUpdate(_)
            | Packet::TableRemoved(_)
            | Packet::TournamentSnapshot(_)
            | Packet::TableSnapshotList(_)
            | Packet::TableUpdateList(_)
            | Packet::TournamentSnapshotList(_)
            | Packet::FilteredJoinTableResponse(_)
            | Packet::FilteredJoinTableCancelResponse(_)
            | Packet::FilteredJoinTableAvailable(_) => return Err(Refusal::NotServed),
        }
        Ok(())
    }

    /// Checks how long a connection has been silent.
    fn look_after(&mut self, id: SessionId, out: &mut impl Outbox) {
        let Some(session) = self.sessions.get_mut(id.0) else { return };
        let look_again = match session.silence(&self.options, self.now) {
            Silence::End => {
                self.counters.idle += 1;
                return self.force_out(id, IDLE_TIMEOUT, "silent for too long", out);
            }
            Silence::Ping { look_again } => {
                session.pinged = self.now;
                self.counters.pings += 1;
                let number = i32::try_from(self.counters.pings & 0x7fff_ffff);
                out.send(id, &Ping { id: number.unwrap_or_default() }.into());
                look_again
            }
            Silence::LookAgain(at) => at,
        };
        self.deadlines.push(look_again, Deadline::Session(id));
    }
}
