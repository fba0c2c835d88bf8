//! Protocols as state machines, a module for each, all behind one contract.
//!
//! Start reading at [`contract`]: what goes into a machine and what it returns. [`Connection`] is the sum of all of
//! them, so that the main path dispatches with one `match`.
//!
//! Left out: sockets, clocks, threads and all other I/O (crate `engine`), and what a message means (crate `drive`).

pub mod bayeux;
pub mod broker;
mod connection;
pub mod contract;
pub mod conversation;
mod decimal;
pub mod discovery;
pub mod envelope;
mod excerpt;
pub mod framed;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzz;
pub mod game;
pub mod greeted;
pub mod http1;
pub mod lines;
mod misuse;
pub mod mqtt;
pub mod over_http;
mod pieces;
pub mod raw;
pub mod socketio;
pub mod sockjs;
pub mod sse;
mod stack;
pub mod styx;
pub mod tls;
#[cfg(any(test, feature = "fuzzing"))]
mod transcript;
pub mod web;
pub mod websocket;

pub use connection::Connection;
pub use contract::{
    Answer, Closed, Event, First, InPlace, Input, Kind, Layers, Message, MisuseError, Opening,
    Part, PeerError, Protocol, Push, Pushed, Response, Second, Secured, Side, Socket, TwoSockets,
    Verdict,
};
pub use excerpt::Excerpt;
pub use stack::{ClientOptions, Role, ServerOptions, Stack, StackError, stack};
