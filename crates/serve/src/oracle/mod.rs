//! A server whose delays and faults are known: an oracle to hold a generator's numbers against.
//!
//! `server` has the node, and is where to start reading; `line` the replies that wait and when each one's turn comes;
//! `lot` what is drawn for each message; `json_rpc` the answers of one that speaks that.

mod json_rpc;
mod line;
mod lot;
mod server;

pub use server::Oracle;
