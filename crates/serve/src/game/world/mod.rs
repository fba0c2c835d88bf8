//! The game server without its sockets: players, a lobby, tables with seats, and the load-test game.
//!
//! A [`World`] takes packets, breaks of connections and the passing of time, and puts its answers into an [`Outbox`].
//! It has no socket, clock or thread. No packet causes a search through all players or all tables: waiting is a heap of
//! deadlines, an index finds free seats, and the lobby's subscribers are told of each changed table once per period.
//! `docs/GAME.md` describes packet by packet what happens, and which of that is our choice.
//!
//! Start reading at [`World::packet`]; `load_test` handles almost all packets of a measurement.
//!
//! Left out: bytes, transports and queues ([`crate::game`]); the packets themselves ([`wire::styx::packets`]).

mod arrivals;
mod counters;
mod deadlines;
mod dispatch;
mod load_test;
mod lobby;
mod lobby_news;
mod options;
mod outbox;
mod players;
mod refusal;
mod seating;
mod session;
mod slab;
mod tables;
mod talk;

pub use counters::Counters;
pub use dispatch::World;
pub use options::{Flood, Options};
pub use outbox::{Outbox, SessionId};
pub use refusal::{Denial, Refusal};
