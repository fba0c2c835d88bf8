//! Why a packet is refused, and why a wish is denied: the codes that go onto the wire.

/// Why a packet is answered with BadPacket: what stands in its field `error`. The protocol knows -1; the rest is ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i8)]
pub enum Refusal {
    /// There is no such table, lobby address or channel.
    NotThere = -1,
    /// The player does not sit at the table, or does not even watch it.
    NotAtTable = -2,
    /// Nobody is logged in on this connection yet.
    NotLoggedIn = -3,
    /// The bytes are no packet of the protocol, or those inside it are none of the game.
    Malformed = -4,
    /// A packet that only servers send, or one that this server has no use for.
    NotServed = -5,
    /// Longer than a limit, or one too many of what may wait or be subscribed to.
    TooMuch = -6,
}

/// Why a wish for a seat or a table is denied: what stands in the field `code` beside the status DENIED. All ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Denial {
    /// There is no such table.
    NoSuchTable = 1,
    /// No seat is free.
    TableFull = 2,
    /// That seat is another player's, or kept for one.
    SeatTaken = 3,
    /// The player sits there already.
    SeatedAlready = 4,
    /// The player sits at or watches as many tables as one may.
    TooManyTables = 5,
    /// The table has no seat of that number.
    NoSuchSeat = 6,
    /// The player does not sit there.
    NotSeated = 7,
    /// As many tables have been made as there may be, or one of that size may not be.
    NoMoreTables = 8,
}
