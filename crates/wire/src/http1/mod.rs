//! HTTP/1.1 as an echo protocol (RFC 9110, RFC 9112): one message is the body of a request, and comes back as the body
//! of the response.
//!
//! [`Http1`] is the machine of either role; the client's half is in `client`, the server's in `server`. Both read heads
//! with `head`, take from `fields` what these say about the body and the connection, and let `reader` put the body
//! together, with `chunked` where it has no length. `websocket::handshake` shares `head`. `exchanges` is a client whose
//! owner writes every request and is handed status, head and body of every response; it shares `responses` with
//! `client`.
//!
//! A server at a [`Site`] treats only what is posted to one path as messages, and lets pages from anywhere post.
//!
//! Left out: content codings, ranges, caches, cookies, `CONNECT` and upgrades (the WebSocket handshake is a machine of
//! its own, [`crate::web`] chooses between the two), and the `Date` field, which needs a clock.

mod chunked;
mod client;
mod error;
mod exchanges;
mod fields;
mod following;
pub(crate) mod grammar;
pub(crate) mod head;
mod limits;
mod machine;
mod maker;
mod percent;
mod reader;
pub(crate) mod redirect;
pub(crate) mod request;
mod responses;
mod retry_after;
mod server;
pub(crate) mod site;
#[cfg(test)]
mod tests;

pub use error::{ChunkPart, PeerError};
pub(crate) use following::Followed;
pub use following::Following;
pub use head::HeadError;
pub use limits::Limits;
pub use machine::Http1;
pub use maker::Maker;
pub(crate) use percent::append_percent_encoded;
pub use percent::percent_decoded;
pub use redirect::RedirectError;
pub use request::{InvalidRequest, Request, RequestParts};
pub use responses::Delivery;
pub(crate) use responses::persists;
pub use retry_after::RetryAfter;
pub use server::StreamPiece;
pub use site::Site;
