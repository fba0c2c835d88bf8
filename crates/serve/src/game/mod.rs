//! The game server: one world of players and tables over binary Styx, WebSocket and Comet.
//!
//! [`world`] is the game without sockets, [`GameServer`] the node that runs it. The address that accepted a connection
//! decides its protocol ([`Door`]); at a web address, the first request does. Start reading at
//! [`GameServer::step`](engine::Node::step). `mail` packs a packet once for everybody at a table, `posting` writes it,
//! `sessions` has the route to each session, `comet` and `requests` serve the clients of Bayeux.
//!
//! **Queues.** Bytes that the kernel does not take are kept for each connection. A player for whom more than
//! [`Options::queue_max`] is kept is dropped as if the connection had broken, so that nobody waits for a slow player;
//! for a Comet client, the packets that wait for its next connect count likewise.
//!
//! **Threads.** There is one world, in one thread. Further threads can take over its connections: each has its own
//! engine and a [`Front`], which does everything except the world and exchanges packets with it over an ordinary
//! connection. `link` has the messages on that connection, `visits` the world's end of it. If too much is unsent to a
//! front, the players to whom more would go are dropped; a front that cannot pass on what its players send stops
//! reading.
//!
//! Left out: processes, threads, signals and output (crate `wirebench`).

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
