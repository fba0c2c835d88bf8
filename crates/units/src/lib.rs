//! Quantities with units, and the seeded random numbers that every pure crate shares.
//!
//! A bare integer never crosses a function boundary as a time, a rate or a size: it is a [`Nanos`], an
//! [`Instant`], a [`Rate`] or [`Bytes`]. Each parses what people type (`250ms`, `2000/s`, `64KiB`) by
//! [`std::str::FromStr`] and is displayed for people by [`std::fmt::Display`]. In files and records it is a text, too.
//!
//! Left out: clocks (an [`Instant`] is a number that `engine` read) and calendars.

mod bytes;
mod count;
mod parse;
mod random;
mod rate;
mod share;
mod show;
mod text;
mod time;

pub use bytes::Bytes;
pub use count::Count;
pub use parse::ParseError;
pub use random::Random;
pub use rate::Rate;
pub use share::Share;
pub use time::{Instant, Nanos};
