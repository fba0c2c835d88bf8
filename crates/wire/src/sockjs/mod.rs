//! SockJS (the sockjs-protocol suite, 0.3.3): frames `o`, `h`, `a["message", …]` and
//! `c[code, "reason"]` from the server, arrays of messages to it.
//!
//! [`SockJs`] reads the frames ([`Frames`]), over a connection that carries them as text messages: WebSocket, or
//! [`OverHttp`](crate::over_http::OverHttp), which fetches them by one of the transports that browsers fall back to.
//! [`session()`] has the addresses and requests of a session. [`server`] reads those requests and writes those
//! responses; the caller manages the sessions.
//!
//! The raw endpoint of a service (`/echo/websocket`) has none of this: it is plain WebSocket.
//!
//! Over WebSocket a server's half is these frames as well: a connection knows if it was opened at the address of a
//! session ([`Connection::spoken`](crate::Connection::spoken)), and then its owner sends and receives frames
//! ([`server::message_frame`], [`server::framed_texts`]).
//!
//! Left out: cookies, and the page for `iframe`s.

mod frames;
#[cfg(any(test, feature = "fuzzing"))]
mod fuzz;
pub mod server;
mod session;

pub use frames::{Frames, MESSAGES_MAX, SockJs};
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use fuzz::{fuzz_sockjs, fuzz_sockjs_http};
pub(crate) use session::is_websocket_of_session;
pub use session::{session, websocket_target};
