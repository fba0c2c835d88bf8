//! Bayeux 1.0 over HTTP long-polling, as CometD speaks it: a way to push messages to clients that have only HTTP.
//!
//! [`Comet`] is the client; start reading there. [`message`] has the messages of both roles; the server's half lives
//! with the game server (crate `serve`).
//!
//! Left out: channels other than [`message::SERVICE`], cookies, the JSONP and WebSocket transports of Bayeux, and
//! waiting before the next connect, which needs a clock.

mod comet;
mod error;
#[cfg(any(test, feature = "fuzzing"))]
mod fuzz;
pub mod message;

pub use comet::{Comet, Limits};
pub use error::{PeerError, Which};
#[cfg(any(test, feature = "fuzzing"))]
pub use fuzz::{fuzz_bayeux_batch, fuzz_bayeux_session};
