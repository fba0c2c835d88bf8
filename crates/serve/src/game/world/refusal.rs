//! Codes on the wire: for refused packets, and for denied requests.

/// The reason why a packet is answered with BadPacket: its field `error`. The protocol defines -1; the others are ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i8)]
pub enum Refusal {
    /// There is no such table, lobby address or channel.
    NotThere = -1,
    /// The player does not sit at the table, nor watch it where that is enough.
    NotAtTable = -2,
    /// Nobody is logged in on this connection yet.
    NotLoggedIn = -3,
    /// The bytes are not a packet of the protocol, or the data inside are not the game's.
    Malformed = -4,
    /// A packet that only servers send, or that this server does not handle.
    NotServed = -5,
    /// A limit is exceeded: of bytes, of waiting events, of invitations or of subscriptions.
    TooMuch = -6,
}

/// The reason why a request for a seat or a table is denied: the field `code` with the status DENIED. The codes are our
/// choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Denial {
    /// There is no such table.
    NoSuchTable = 1,
    /// No seat is free.
    TableFull = 2,
    /// The seat is taken by another player, or reserved for one.
    SeatTaken = 3,
    /// The player already sits there.
    SeatedAlready = 4,
    /// The player already sits at or watches the most tables allowed.
    TooManyTables = 5,
    /// The table has no seat of that number.
    NoSuchSeat = 6,
    /// The player does not sit there.
    NotSeated = 7,
    /// The most tables allowed have been made, or the size of the table is not allowed.
    NoMoreTables = 8,
}

/// Code of ForcedLogout for a player who was silent for too long; this code and those below are the protocol's.
pub(super) const IDLE_TIMEOUT: i32 = 0;

/// Code of ForcedLogout for a player who logged in on another connection.
pub(super) const LOGGED_IN_REMOTELY: i32 = 1;

/// Code of ForcedLogout for a player who was kicked, e.g. for a flood.
pub(super) const KICKED: i32 = 2;
