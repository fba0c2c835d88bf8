//! SockJS (the sockjs-protocol suite, 0.3.3): frames `o`, `h`, `a["message", …]` and
//! `c[code, "reason"]` from the server, arrays of messages to it.
//!
//! [`SockJs`] understands the frames ([`Frames`]), over a connection that carries them as text messages: WebSocket, or
//! [`OverHttp`], which fetches them by one of the transports that browsers fall back to. `session` has the addresses
//! and requests of a session, `cutter` finds frames in the bodies of responses. [`server`] reads those requests and
//! writes those responses; sessions belong to whoever serves them.
//!
//! The raw endpoint of a service (`/echo/websocket`) has none of this: it is plain WebSocket.
//!
//! Over WebSocket a server's half is these frames as well: a connection knows if it was opened at the address of a
//! session ([`Connection::is_sockjs_session`](crate::Connection::is_sockjs_session)), and what its owner then says and
//! hears are frames ([`server::message_frame`], [`server::framed_texts`]).
//!
//! Left out: the transports `htmlfile` and `jsonp`, cookies, and the page for `iframe`s.

mod cutter;
mod error;
mod frames;
#[cfg(any(test, feature = "fuzzing"))]
mod fuzz;
mod over_http;
pub mod server;
mod session;

pub use error::PeerError;
pub use frames::{Frames, MESSAGES_MAX, SockJs};
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use fuzz::{fuzz_sockjs, fuzz_sockjs_http};
pub use over_http::{Limits, OverHttp};
pub(crate) use session::is_websocket_of_session;
pub use session::{Session, websocket_target};
