//! The engine of a simulated network: seeded, with a virtual clock, on one thread.
//!
//! A [`Network`] has one clock and any number of processes, each with an engine ([`Sim`]) of its own. Whatever is
//! written against [`Engine`](crate::Engine) runs on it unchanged; time passes only between steps, and straight to the
//! next thing that happens. The same seed, conditions and nodes give the same run, bit for bit.
//!
//! Start reading at [`Network::run`]. `kernel` has what the system does for the processes and what the wire does to
//! bytes, `connection` the state of one connection, `conditions` what may be asked of the network.
//!
//! Left out: bandwidth, loss of packets (TCP hides it; [`Conditions::jitter`] shows what remains), ports of clients and
//! files: an address is just a key, and a Unix path that nobody listens at refuses.

mod conditions;
mod connection;
mod engine;
mod kernel;
mod network;

pub use conditions::{Conditions, Cut, Cuts, Split};
pub use engine::Sim;
pub use network::{Network, Outcome, Party};
