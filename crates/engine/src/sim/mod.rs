//! The engine of a simulated network: seeded, with a virtual clock, on one thread.
//!
//! A [`Network`] has one clock and any number of processes, each with an engine ([`Sim`]) of its own. Code written
//! against [`Engine`](crate::Engine) runs on it unchanged. Time passes only between steps, and jumps to the next event.
//! The same seed, conditions and nodes give the same run, bit for bit.
//!
//! Start reading at [`Network::run`]. `kernel` simulates the services of the system and the wire, `connection` has the
//! state of one connection, and `conditions` the configurable properties of the network.
//!
//! Left out: bandwidth, packet loss (TCP hides it; [`Conditions::jitter`] imitates what remains visible), client ports,
//! and files: an address is just a key, and a Unix path without a listener refuses connections.

mod conditions;
mod connection;
mod engine;
mod kernel;
mod network;

pub use conditions::{Conditions, Cut, Cuts, Split};
pub use engine::Sim;
pub use network::{Network, Outcome, Party};
