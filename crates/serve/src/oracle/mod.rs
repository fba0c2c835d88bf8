//! A server whose delays and faults are known: an oracle to hold a generator's numbers against.
//!
//! `server` has the node, and is where to start reading; `line` the replies that wait and when each one's turn comes;
//! `lot` what is drawn for each message; `json_rpc` the answers of one that speaks that,
//! `streaming` the events of a connection whose requests are answered by streams.

mod json_rpc;
mod line;
mod lot;
mod server;
mod streaming;

pub(crate) use lot::{Lot, Lots};
pub use server::Oracle;
