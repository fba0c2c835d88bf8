//! The game server: binary Styx, WebSocket and Comet for one world of players and tables.
//!
//! [`world`] is the game without sockets, [`GameServer`] the node that carries it. A connection belongs to one of the
//! addresses that the engine listens at, and that says what is spoken on it ([`Door`]); at a web address, its first
//! request does. Start reading at [`GameServer::step`](engine::Node::step); `mail` has how a packet is packed once for
//! everybody at a table, `posting` how it is written, `sessions` how each is reached, `comet` and `requests` the
//! clients of Bayeux.
//!
//! **Queues.** Bytes that the kernel does not take are kept for each connection. A player for whom more than
//! [`Options::queue_max`] is kept is dropped as if the connection had broken, and nobody waits for a slow one; for a
//! Comet client the same holds of what waits for its next connect.
//!
//! **Threads.** There is one world, in one thread. Further threads can take connections off it: each has an engine of
//! its own, and a [`Front`] that does all but the world, to which packets travel over an ordinary connection. `link`
//! has what is said on it, `visits` the world's end. A front for which too much is unsent loses the players to whom
//! more would go; one that cannot get rid of what its players send stops reading.
//!
//! Left out: processes, threads, signals and printing (crate `wirebench`).

mod comet;
mod doors;
mod front;
mod fronts;
mod link;
mod mail;
mod options;
mod outgoing;
mod posting;
mod requests;
mod server;
mod sessions;
mod totals;
mod visits;
pub mod world;

pub use doors::{COMET_PATH, SOCKET_PATH};
pub use front::Front;
pub use options::{Door, Options, Packing, Silence};
pub use server::GameServer;
pub use totals::{SessionCounts, Totals};
