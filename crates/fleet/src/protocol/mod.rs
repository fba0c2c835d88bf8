//! The messages between controllers and agents, their subjects and their limits.
//!
//! There are two kinds of messages, which are kept apart:
//!
//! - **entries of the log** ([`Entry`]): the plan, the numbered steps of the controllers, and one slot for each part of
//!   each block. Every subject of the log can be written only once. Everything that a record claims comes from here;
//! - **everything else** is sent once and may be lost, duplicated or late: beats ([`Beat`]), live totals ([`Live`]),
//!   the controller's questions ([`Command`]) and their answers ([`Answer`]), and the announcement of a leader
//!   ([`Lead`]). No claim depends on any of it.
//!
//! All questions go from a controller to an agent. An agent never asks: it sends beats, and the leader of a run hears
//! them and asks for its identity ([`Command::Hello`]). An agent that was started before the controller, or outlives
//! it, thus needs no other way to join.
//!
//! A message is JSON. [`encode`] and [`decode`] enforce the limits ([`limits`]) in both directions.

mod command;
mod entry;
mod health;
pub mod limits;
mod names;
mod packed;
mod version;
mod wire;

pub use command::{Answer, Beat, Command, Hello, Lead, Live, Phase};
pub use entry::{
    BlockWork, Close, Decided, Doubt, End, Entry, Go, Kind, NotStarted, Part, PartResult, Plan,
    Seat, Slot, SlotKind, Step, Why,
};
pub use health::Health;
pub use names::{BlockId, Instance, Name, NameError, Subject};
pub use version::{Refusal, Version};
pub use wire::{DecodeError, EncodeError, decode, digest, encode};
