//! A bot of the load-test game: a layer above the connection that carries Styx packets.
//!
//! [`Bot`] logs in, finds a seat and plays; start reading there. Packets are [`crate::styx::packets`], binary or JSON.
//! The bot sends [`LoadRequest`](crate::styx::load_test::LoadRequest)s and receives
//! [`LoadResponse`](crate::styx::load_test::LoadResponse)s.
//!
//! Left out: when an event is sent (crates `load` and `drive`), taking a seat again after a connection broke, chat, and
//! every other game.

mod bot;
mod bots;
mod error;
#[cfg(any(test, feature = "fuzzing"))]
mod fuzz;
mod options;
mod player;

pub use bot::Bot;
pub use bots::Bots;
pub use error::PeerError;
#[cfg(any(test, feature = "fuzzing"))]
pub use fuzz::{fuzz_game_binary, fuzz_game_json};
pub use options::{Options, Packing, Seat};
