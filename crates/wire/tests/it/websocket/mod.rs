//! WebSocket from outside: what a peer may send, what it is told, and that another implementation agrees.
//!
//! Left out: the opening handshake on its own, and what can only be seen from inside (the modules' own tests).

mod cases;
mod limits;
mod peer;
mod tungstenite;
mod utf8;
