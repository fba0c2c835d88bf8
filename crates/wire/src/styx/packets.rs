//! The packets, each written once: class id, name, and fields in wire order.
//!
//! The types, [`Packet`], both packings and [`Definition::firebase`](super::Definition::firebase) are made of this one
//! table. Fields are named as on the wire, except for Rust's spelling (`leave_tables` is `leaveTables` there) and
//! `kind`, which is `type` there.

use super::field::{DecodeError, Field, Reader, Seed, Struct, Type, unexpected};
use super::json::{self, JsonError, Key, ObjectWriter};
use super::table::{enums, packets, wire_name};
use super::value;
use serde::de::{Error, IgnoredAny, MapAccess};
use std::borrow::Cow;

/// Text: at most [`TEXT_LEN_MAX`](super::TEXT_LEN_MAX) bytes.
pub type Text<'a> = Cow<'a, str>;

/// Bytes: Base64 in JSON.
pub type Bytes<'a> = Cow<'a, [u8]>;

enums! {
    /// The outcome of a request.
    ResponseStatus { Ok = "OK", Failed = "FAILED", Denied = "DENIED" }

    /// The outcome of a [`JoinRequest`].
    JoinResponseStatus { Ok = "OK", Failed = "FAILED", Denied = "DENIED" }

    /// The outcome of a [`WatchRequest`].
    WatchResponseStatus {
        Ok = "OK",
        Failed = "FAILED",
        Denied = "DENIED",
        DeniedAlreadySeated = "DENIED_ALREADY_SEATED",
    }

    /// The outcome of a [`FilteredJoinTableRequest`].
    FilteredJoinResponseStatus {
        Ok = "OK",
        Failed = "FAILED",
        Denied = "DENIED",
        Seating = "SEATING",
        WaitList = "WAIT_LIST",
    }

    /// The kinds of things that a part of the lobby can list.
    LobbyType { Regular = "REGULAR", Mtt = "MTT" }

    /// The type of a [`Param`]'s value; its `kind` is the ordinal of one of these.
    ParameterType { String = "STRING", Int = "INT", Date = "DATE" }

    /// The comparison of a [`ParamFilter`]; its `op` is the ordinal of one of these.
    ParameterFilter {
        Equals = "EQUALS",
        GreaterThan = "GREATER_THAN",
        SmallerThan = "SMALLER_THAN",
        EqualOrGreaterThan = "EQUALS_OR_GREATER_THAN",
        EqualOrSmallerThan = "EQUALS_OR_SMALLER_THAN",
    }

    /// The state of a player at a table.
    PlayerStatus {
        Connected = "CONNECTED",
        WaitingRejoin = "WAITING_REJOIN",
        Disconnected = "DISCONNECTED",
        Leaving = "LEAVING",
        TableLocal = "TABLE_LOCAL",
        Reservation = "RESERVATION",
    }
}

packets! {
    /// The version of a client; bots send it now and then to keep a connection alive.
    0 Version { game: i32, operatorid: i32, protocol: i32 }

    /// The version of a game that a client has.
    1 GameVersion<'a> { game: i32, operatorid: i32, version: Text<'a> }

    /// Refuses a packet; `cmd` is its class id.
    3 Bad { cmd: i8, error: i8 }

    /// A parameter. `value` is text after its 16-bit length, or an `i32`, depending on `kind` ([`ParameterType`]).
    5 Param<'a> { key: Text<'a>, kind as "type": i8, value: Bytes<'a> }

    /// Compares a parameter with another one; `op` is the comparison ([`ParameterFilter`]).
    6 ParamFilter<'a> { param: Param<'a>, op: i8 }

    /// Asks for a sign of life; the client sends the same packet back.
    7 Ping { id: i32 }

    /// A name and a value that travel with a [`GameTransport`].
    8 Attribute<'a> { name: Text<'a>, value: Text<'a> }

    /// Logs a player in.
    10 LoginRequest<'a> {
        user: Text<'a>,
        password: Text<'a>,
        operatorid: i32,
        credentials: Bytes<'a>,
    }

    /// Answers a [`LoginRequest`] with its outcome and the player's id.
    11 LoginResponse<'a> {
        screenname: Text<'a>,
        pid: i32,
        status: ResponseStatus,
        code: i32,
        message: Text<'a>,
        credentials: Bytes<'a>,
    }

    /// Logs the player out.
    12 Logout { leave_tables as "leaveTables": bool }

    /// A player's name and details.
    13 PlayerInfo<'a> { pid: i32, nick: Text<'a>, details: Vec<Param<'a>> }

    /// The server ends the session. `code` is 0 after too long a silence, 1 when the player logged in elsewhere, 2 when
    /// kicked.
    14 ForcedLogout<'a> { code: i32, message: Text<'a> }

    /// A seat and the player on it.
    15 SeatInfo<'a> { tableid: i32, seat: i8, status: PlayerStatus, player: PlayerInfo<'a> }

    /// Asks for the name of a player.
    16 PlayerQueryRequest { pid: i32 }

    /// Answers a [`PlayerQueryRequest`].
    17 PlayerQueryResponse<'a> { pid: i32, nick: Text<'a>, status: ResponseStatus, data: Bytes<'a> }

    /// Asks for the number of players.
    18 SystemInfoRequest {}

    /// Answers a [`SystemInfoRequest`].
    19 SystemInfoResponse<'a> { players: i32, params: Vec<Param<'a>> }

    /// Takes a seat.
    30 JoinRequest<'a> { tableid: i32, seat: i8, params: Vec<Param<'a>> }

    /// Answers a [`JoinRequest`].
    31 JoinResponse { tableid: i32, seat: i8, status: JoinResponseStatus, code: i32 }

    /// Watches a table.
    32 WatchRequest { tableid: i32 }

    /// Answers a [`WatchRequest`].
    33 WatchResponse { tableid: i32, status: WatchResponseStatus }

    /// Stops watching a table.
    34 UnwatchRequest { tableid: i32 }

    /// Answers an [`UnwatchRequest`].
    35 UnwatchResponse { tableid: i32, status: ResponseStatus }

    /// Leaves a table.
    36 LeaveRequest { tableid: i32 }

    /// Answers a [`LeaveRequest`].
    37 LeaveResponse { tableid: i32, status: ResponseStatus, code: i32 }

    /// Asks for the players at a table.
    38 TableQueryRequest { tableid: i32 }

    /// Answers a [`TableQueryRequest`].
    39 TableQueryResponse<'a> { tableid: i32, status: ResponseStatus, seats: Vec<SeatInfo<'a>> }

    /// Creates a table.
    40 CreateTableRequest<'a> {
        seq: i32,
        gameid: i32,
        seats: i8,
        params: Vec<Param<'a>>,
        invitees: Vec<i32>,
    }

    /// Answers a [`CreateTableRequest`].
    41 CreateTableResponse {
        seq: i32,
        tableid: i32,
        seat: i8,
        status: ResponseStatus,
        code: i32,
    }

    /// Invites players to a table.
    42 InvitePlayersRequest { tableid: i32, invitees: Vec<i32> }

    /// Notifies the player of an invitation.
    43 NotifyInvited<'a> { inviter: i32, screenname: Text<'a>, tableid: i32, seat: i8 }

    /// Reports that somebody took a seat.
    60 NotifyJoin<'a> { tableid: i32, pid: i32, nick: Text<'a>, seat: i8 }

    /// Reports that somebody left a seat.
    61 NotifyLeave { tableid: i32, pid: i32 }

    /// Notifies a player who logs in again of a seat that was kept. `mttid` is -1 outside of tournaments.
    62 NotifySeated<'a> { tableid: i32, seat: i8, mttid: i32, snapshot: TableSnapshot<'a> }

    /// Notifies a player who logs in again of a table that is still watched.
    63 NotifyWatching { tableid: i32 }

    /// A chat message at a table.
    80 TableChat<'a> { tableid: i32, pid: i32, message: Text<'a> }

    /// Carries the messages between a game and its players.
    100 GameTransport<'a> {
        tableid: i32,
        pid: i32,
        gamedata: Bytes<'a>,
        attributes: Vec<Attribute<'a>>,
    }

    /// The state of a table in the lobby.
    143 TableSnapshot<'a> {
        tableid: i32,
        address: Text<'a>,
        name: Text<'a>,
        capacity: i16,
        seated: i16,
        params: Vec<Param<'a>>,
    }

    /// The changes of a table.
    144 TableUpdate<'a> {
        tableid: i32,
        seated: i16,
        params: Vec<Param<'a>>,
        removed_params as "removedParams": Vec<Text<'a>>,
    }

    /// Subscribes to a part of the lobby: first all of it is sent, then its changes.
    145 LobbySubscribe<'a> { kind as "type": LobbyType, gameid: i32, address: Text<'a> }

    /// Ends a [`LobbySubscribe`].
    146 LobbyUnsubscribe<'a> { kind as "type": LobbyType, gameid: i32, address: Text<'a> }

    /// Reports that a table is gone.
    147 TableRemoved { tableid: i32 }

    /// The state of a tournament in the lobby.
    148 TournamentSnapshot<'a> { mttid: i32, address: Text<'a>, params: Vec<Param<'a>> }

    /// Several tables.
    153 TableSnapshotList<'a> { snapshots: Vec<TableSnapshot<'a>> }

    /// The changes of several tables.
    154 TableUpdateList<'a> { updates: Vec<TableUpdate<'a>> }

    /// Several tournaments.
    155 TournamentSnapshotList<'a> { snapshots: Vec<TournamentSnapshot<'a>> }

    /// Looks for a table with these parameters and a free seat.
    170 FilteredJoinTableRequest<'a> {
        seq: i32,
        gameid: i32,
        address: Text<'a>,
        params: Vec<ParamFilter<'a>>,
    }

    /// Answers a [`FilteredJoinTableRequest`].
    171 FilteredJoinTableResponse<'a> {
        seq: i32,
        gameid: i32,
        address: Text<'a>,
        status: FilteredJoinResponseStatus,
    }

    /// Ends a [`FilteredJoinTableRequest`].
    172 FilteredJoinTableCancelRequest { seq: i32 }

    /// Answers a [`FilteredJoinTableCancelRequest`].
    173 FilteredJoinTableCancelResponse { seq: i32, status: ResponseStatus }

    /// Reports that a seat was found.
    174 FilteredJoinTableAvailable { seq: i32, tableid: i32, seat: i8 }
}

/// A struct: its name, its class id, and its fields with their types.
type StructTable = (&'static str, u8, &'static [(&'static str, Type)]);
