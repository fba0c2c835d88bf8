//! The bot's side of the conversation up to its seat: logging in, finding a seat, sitting down.

use super::error::PeerError;
use super::options::{Options, Packing, Seat};
use crate::contract::{Closed, Kind, Message, MisuseError, Protocol};
use crate::excerpt::Excerpt;
use crate::styx::Packet;
use crate::styx::packets::{
    FilteredJoinResponseStatus, FilteredJoinTableRequest, ForcedLogout, JoinRequest,
    JoinResponseStatus, LobbySubscribe, LobbyType, LoginRequest, LoginResponse, ResponseStatus,
};
use std::borrow::Cow;

/// The connection inside, and the state of the conversation on it.
#[derive(Debug)]
pub(super) struct Player<C> {
    pub(super) inner: C,
    pub(super) options: Options,
    /// The last packet that was sent; its memory is reused.
    packed: Vec<u8>,
    pub(super) state: State,
    /// The table at which the bot sits, or is to sit.
    pub(super) table: i32,
}

/// The next thing that is awaited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    AwaitConnection,
    AwaitLogin,
    AwaitTable,
    AwaitSeat,
    Seated,
    /// The bot has ended, and awaits the end of the connection inside.
    AwaitClose,
    Over,
}

/// The meaning of a packet without game data.
pub(super) enum Heard {
    Closed(Closed<'static>),
    Notice,
    Ping,
    Seated,
}

impl<C: Protocol> Player<C> {
    pub(super) fn new(inner: C, options: Options) -> Self {
        Self { inner, options, packed: Vec::new(), state: State::AwaitConnection, table: 0 }
    }

    /// Sends `packet` and returns its length.
    #[inline]
    pub(super) fn say<'p>(
        &mut self,
        packet: impl Into<Packet<'p>>,
        tx: &mut Vec<u8>,
    ) -> Result<usize, MisuseError> {
        self.packed.clear();
        let (packet, out) = (packet.into(), &mut self.packed);
        let kind = match self.options.packing {
            Packing::Binary => {
                packet.encode(out);
                Kind::Binary
            }
            Packing::Json => {
                packet.write_json(out);
                Kind::Text
            }
        };
        self.inner.send(Message { kind, payload: &self.packed }, tx)?;
        Ok(self.packed.len())
    }

    /// Logs in, on a connection that was just opened.
    pub(super) fn log_in(&mut self, tx: &mut Vec<u8>) -> Result<(), PeerError> {
        self.state = State::AwaitLogin;
        let Options { player, operator, .. } = self.options;
        let login = LoginRequest {
            user: format!("Bot_{player}").into(),
            password: player.to_string().into(),
            operatorid: operator,
            credentials: Cow::Borrowed(&[]),
        };
        self.answer(login, tx)
    }

    /// Answers a packet that has no game data, and returns its meaning.
    pub(super) fn hear(
        &mut self,
        packet: &Packet<'_>,
        tx: &mut Vec<u8>,
    ) -> Result<Heard, PeerError> {
        match (self.state, packet) {
            (_, Packet::Ping(ping)) => {
                self.answer(ping.clone(), tx)?;
                return Ok(Heard::Ping);
            }
            (_, Packet::ForcedLogout(logout)) => {
                self.state = State::Over;
                return Ok(Heard::Closed(forced(logout)));
            }
            (_, Packet::Bad(bad)) => {
                return Err(PeerError::BadPacket { cmd: bad.cmd, error: bad.error });
            }
            (State::AwaitLogin, Packet::LoginResponse(response)) => {
                self.logged_in(response, tx)?;
            }
            (State::AwaitTable, Packet::FilteredJoinTableResponse(response)) => {
                let status = match response.status {
                    FilteredJoinResponseStatus::Failed => FAILED,
                    FilteredJoinResponseStatus::Denied => DENIED,
                    FilteredJoinResponseStatus::Ok
                    | FilteredJoinResponseStatus::Seating
                    | FilteredJoinResponseStatus::WaitList => return Ok(Heard::Notice),
                };
                return Err(refused(packet, status, 0, ""));
            }
            (State::AwaitTable, Packet::FilteredJoinTableAvailable(available)) => {
                self.sit_down(available.tableid, available.seat, tx)?;
            }
            (State::AwaitSeat, Packet::JoinResponse(response)) => {
                let status = match response.status {
                    JoinResponseStatus::Ok => {
                        self.state = State::Seated;
                        return Ok(Heard::Seated);
                    }
                    JoinResponseStatus::Failed => FAILED,
                    JoinResponseStatus::Denied => DENIED,
                };
                return Err(refused(packet, status, response.code, ""));
            }
            _ => {}
        }
        Ok(Heard::Notice)
    }

    /// Asks for a seat.
    fn logged_in(
        &mut self,
        response: &LoginResponse<'_>,
        tx: &mut Vec<u8>,
    ) -> Result<(), PeerError> {
        let status = match response.status {
            ResponseStatus::Ok => OK,
            ResponseStatus::Failed => FAILED,
            ResponseStatus::Denied => DENIED,
        };
        if status != OK {
            let packet = Packet::LoginResponse(response.clone());
            return Err(refused(&packet, status, response.code, &response.message));
        }
        if self.options.lobby {
            let kind = LobbyType::Regular;
            self.answer(LobbySubscribe { kind, gameid: GAME, address: ROOT.into() }, tx)?;
        }
        match self.options.seat {
            Seat::Any => {
                self.state = State::AwaitTable;
                let (address, params) = (ROOT.into(), Vec::new());
                let request = FilteredJoinTableRequest { seq: 1, gameid: GAME, address, params };
                self.answer(request, tx)
            }
            Seat::Table(table) => self.sit_down(table, ANY_SEAT, tx),
        }
    }

    fn sit_down(&mut self, table: i32, seat: i8, tx: &mut Vec<u8>) -> Result<(), PeerError> {
        self.state = State::AwaitSeat;
        self.table = table;
        self.answer(JoinRequest { tableid: table, seat, params: Vec::new() }, tx)
    }

    fn answer<'p>(
        &mut self,
        packet: impl Into<Packet<'p>>,
        tx: &mut Vec<u8>,
    ) -> Result<(), PeerError> {
        self.say(packet, tx).map(drop).map_err(PeerError::Mute)
    }
}

fn refused(packet: &Packet<'_>, status: &'static str, code: i32, said: &str) -> PeerError {
    PeerError::Refused { packet: packet.name(), status, code, said: Excerpt::new(said.as_bytes()) }
}

/// The message of a forced logout, or a description of its code if it has none.
fn forced(logout: &ForcedLogout<'_>) -> Closed<'static> {
    let reason = match (&*logout.message, logout.code) {
        ("", 0) => "idle for too long".into(),
        ("", 1) => "logged in elsewhere".into(),
        ("", 2) => "kicked".into(),
        (message, _) => message.to_owned().into(),
    };
    Closed { code: logout.code.try_into().ok(), reason }
}

const OK: &str = "OK";
const FAILED: &str = "FAILED";
const DENIED: &str = "DENIED";

/// The game whose tables are asked for; there is only one.
const GAME: i32 = 1;

/// The address of the whole lobby.
const ROOT: &str = "/";

/// Leaves the choice of a seat to the server.
const ANY_SEAT: i8 = -1;
