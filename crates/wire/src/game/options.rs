//! A bot's identity, and the steps that it takes before it plays.

/// A bot's identity, and the steps that it takes before it plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Its player id, which is its password too; its name is `Bot_` and this id.
    pub player: i32,
    /// The form of packets on the connection inside.
    pub packing: Packing,
    /// The operator that it logs in with.
    pub operator: i32,
    /// True if the bot subscribes to the whole lobby.
    pub lobby: bool,
    /// The seat that it asks for.
    pub seat: Seat,
}

/// The forms in which packets are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// A class id and fields: for [`crate::styx::frames`].
    Binary,
    /// An object, or an array of them: for WebSocket and Comet.
    Json,
}

/// The seat that a bot asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seat {
    /// Any free seat that the server finds.
    Any,
    /// Any free seat of this table.
    Table(i32),
}
