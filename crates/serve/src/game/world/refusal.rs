//! Codes on the wire: for packets that are refused, and for requests that are denied.

/// The reason why a packet is answered with BadPacket: its field `error`. The protocol defines -1; the rest is ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i8)]
pub enum Refusal {
    /// There is no such table, lobby address or channel.
    NotThere = -1,
    /// The player neither sits at the table nor, where that would do, watches it.
    NotAtTable = -2,
    /// Nobody is logged in on this connection yet.
    NotLoggedIn = -3,
    /// The bytes are no packet of the protocol, or the data inside are not the game's.
    Malformed = -4,
    /// A packet that only servers send, or one that this server has no use for.
    NotServed = -5,
    /// A limit is exceeded, in bytes or in things that wait or are subscribed to.
    TooMuch = -6,
}

/// The reason why a request for a seat or a table is denied: the field `code` beside the status DENIED. We chose the
/// codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Denial {
    /// There is no such table.
    NoSuchTable = 1,
    /// No seat is free.
    TableFull = 2,
    /// The seat is another player's, or kept for one.
    SeatTaken = 3,
    /// The player sits there already.
    SeatedAlready = 4,
    /// The player sits at or watches the largest number of tables.
    TooManyTables = 5,
    /// The table has no seat of that number.
    NoSuchSeat = 6,
    /// The player does not sit there.
    NotSeated = 7,
    /// The largest number of tables has been made, or no table may have that size.
    NoMoreTables = 8,
}

/// Code of ForcedLogout for a player who was silent for too long; this and those below are the protocol's.
pub(super) const IDLE_TIMEOUT: i32 = 0;

/// Code of ForcedLogout for a player who logged in on another connection.
pub(super) const LOGGED_IN_REMOTELY: i32 = 1;

/// Code of ForcedLogout for a player who was kicked, e.g. for a flood.
pub(super) const KICKED: i32 = 2;
