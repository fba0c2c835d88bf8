//! Bayeux 1.0 over HTTP long-polling, as CometD speaks it: a way to push messages to clients that have only HTTP.
//!
//! [`message`] has the messages of both roles; the server's half lives with the game server (crate `serve`).
//!
//! Left out: other channels than [`message::SERVICE`], cookies, the JSONP and WebSocket transports of Bayeux, and waiting
//! before a client asks again, which takes a clock.

pub mod message;
