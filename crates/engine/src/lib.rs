//! Moves bytes and keeps time: the only crate with a clock, a socket or `unsafe`.
//!
//! Start reading at [`Engine`]: callers submit operations and take completions. [`epoll`] implements it on this
//! machine, [`sim`] in memory with a virtual clock, and code written against the interface runs unchanged on both. A
//! [`Node`] runs on an engine: it is stepped whenever something may have happened, and never blocks.
//!
//! Left out: the meaning of the bytes (crate `wire`), and when to send what (crates `load` and `drive`).
#![expect(
    unsafe_code,
    reason = "some system interfaces that rustix does not offer: see `clock`, `process` and `socket`"
)]

pub mod clock;
mod contract;
pub mod epoll;
mod kernel;
pub mod process;
pub mod sim;
mod socket;
mod stamps;
pub mod thread;

pub use contract::{
    Accepting, Address, Completion, ConnectionError, ConnectionId, Engine, Metered, Node, Segments,
    Step, UNSENT_LEN_MAX, run,
};
pub use socket::{Sharing, free_port};
