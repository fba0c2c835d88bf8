//! WebSocket (RFC 6455), both roles, with compression of messages (RFC 7692).
//!
//! [`WebSocket`] is the machine: the opening handshake, then messages both ways, pings answered, and the closing
//! handshake. It accepts nothing that the RFC forbids, and nothing above its [`Limits`].
//!
//! Start reading at `machine`, which says what each frame means. `frame` has the bit layout, `mask` the XOR, `held` the
//! incomplete parts, `close` the codes, `utf8` the checks of text, [`handshake`] the HTTP part, [`deflate`] the
//! compression.
//!
//! Left out: extensions other than permessage-deflate, and fragmenting what is sent: a message is one frame.

mod close;
mod close_codes;
pub mod deflate;
mod error;
mod extensions;
mod frame;
#[cfg(any(test, feature = "fuzzing"))]
mod fuzz;
pub mod handshake;
mod held;
mod limits;
mod machine;
mod mask;
mod opening;
mod utf8;

pub use error::PeerError;
#[cfg(any(test, feature = "fuzzing"))]
pub use fuzz::{fuzz_websocket, fuzz_websocket_deflate};
pub use limits::Limits;
pub use machine::WebSocket;
