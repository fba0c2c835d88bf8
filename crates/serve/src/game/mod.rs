//! The game server: binary Styx, WebSocket and Comet for one world of players and tables.
//!
//! [`world`] is the game without sockets, [`GameServer`] the node that carries it. A connection belongs to one of the
//! addresses that the engine listens at, and that says what is spoken on it ([`Door`]); at a web address, its first
//! request does. Start reading at [`GameServer::step`](engine::Node::step); `mail` has how a packet is packed once for
//! everybody at a table, `posting` how it is written, `sessions` how each is reached, `comet` and `requests` the
//! clients of Bayeux.
//!
//! **Queues.** What the kernel does not take is kept for each connection. A player for whom more than
//! [`Options::queue_max`] is kept is dropped as if the connection had broken, and nobody waits for a slow one; for a
//! Comet client the same holds of what waits for its next connect.
//!
//! Left out: processes, signals and printing (crate `wirebench`).

mod comet;
mod mail;
mod options;
mod posting;
mod requests;
mod server;
mod sessions;
mod totals;
pub mod world;

pub use options::{Door, Options, Packing, Silence};
pub use server::{COMET_PATH, GameServer, SOCKET_PATH};
pub use totals::{SessionCounts, Totals};
