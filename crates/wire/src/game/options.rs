//! Who a bot is, and what it does before it plays.

/// Who a bot is, and what it does before it plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Its player id, which is its password too; its name is `Bot_` and this.
    pub player: i32,
    /// How packets are packed on the connection inside.
    pub packing: Packing,
    /// The operator that it logs in with.
    pub operator: i32,
    /// Whether it subscribes to the whole lobby.
    pub lobby: bool,
    /// Where it sits down.
    pub seat: Seat,
}

/// How packets are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// A class id and fields: for [`crate::styx::Styx`].
    Binary,
    /// An object, or an array of them: for WebSocket and Comet.
    Json,
}

/// Where a bot sits down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seat {
    /// Wherever the server finds a free seat.
    Any,
    /// On any free seat of this table.
    Table(i32),
}
