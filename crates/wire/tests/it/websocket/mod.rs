//! WebSocket from outside: what a peer may send, what it gets back, and that another implementation agrees.
//!
//! Left out: what a head of the opening handshake must say, and what can only be seen from inside (the modules' own
//! tests).

pub(crate) mod allocation;
mod cases;
mod deflate;
mod inflated;
mod limits;
mod opening;
mod peer;
mod sending;
mod tungstenite;
mod utf8;
