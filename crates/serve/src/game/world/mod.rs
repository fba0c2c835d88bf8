//! The game server without its sockets: players, a lobby, tables with seats, and the load-test game.
//!
//! A [`World`] is given packets, breaks of connections and the passing of time, and answers into an [`Outbox`]. It
//! holds no socket, clock or thread. Nothing that a packet causes looks at all players or all tables: waiting is a heap
//! of deadlines, free seats are found in an index, and the lobby is told of each changed table once in a period.
//! `docs/GAME.md` says packet by packet what happens, and what of that was our choice.
//!
//! Start reading at [`World::packet`]; `load_test` is the path of almost all packets of a measurement.
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
