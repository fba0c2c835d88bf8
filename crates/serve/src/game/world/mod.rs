//! What the game server does, without sockets: players, a lobby, tables with seats, and the load-test game.
//!
//! Left out: bytes, transports and queues ([`crate::game`]); the packets themselves ([`wire::styx::packets`]).

mod counters;
mod options;
mod outbox;
mod refusal;
#[allow(dead_code, reason = "the world itself follows")]
mod slab;

pub use counters::Counters;
pub use options::{Flood, Options};
pub use outbox::{Outbox, SessionId};
pub use refusal::{Denial, Refusal};
