//! Texts over HTTP requests and responses, the client's half: one connection asks for them, another posts.
//!
//! [`OverHttp`] is the machine. [`Session`] has its requests, and the form that texts have in the bodies of responses,
//! where `cutter` finds them. SockJS ([`crate::sockjs::session`]) and Socket.IO ([`crate::socketio::session`]) give it
//! sessions, each with its layer of frames on top; streams of server-sent events ([`Session::of_events`]), of parts
//! ([`Session::of_parts`]) and of chunks ([`Session::of_chunks`]), and plain polls ([`Session::of_polls`]) are sessions
//! that post nothing.
//!
//! Left out: the meaning of the texts, and reconnects.

mod binary;
mod cutter;
mod error;
mod machine;
mod parts;
mod session;

pub(crate) use binary::{binary_packet, bytes_in, is_binary};
pub(crate) use cutter::Cutter;
pub use error::PeerError;
pub use machine::{Limits, OverHttp};
pub use session::Session;
pub(crate) use session::{Body, Form, Post, SEPARATOR, head_of};
