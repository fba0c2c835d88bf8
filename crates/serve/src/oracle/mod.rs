//! A server with known delays and faults: an oracle to check a generator's numbers against.
//!
//! Start reading at `server`, which has the node. `line` has the waiting replies and their turns, `lot` what is drawn
//! for each message, `json_rpc` the answers of an oracle that speaks JSON-RPC, `streaming` the events of a connection
//! whose requests are answered with streams.

mod json_rpc;
mod line;
mod lot;
mod server;
mod streaming;

pub(crate) use lot::{Lot, Lots};
pub use server::Oracle;
