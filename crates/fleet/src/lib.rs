//! Many machines, one exact record: an experiment is cut into parts, which agents run and a controller merges.
//!
//! [`controller`] and [`agent`] are state machines without I/O: `handle(event, now)` returns actions, and `deadline()`
//! says when they want to be woken. The only state that matters is a log in which each subject can be written once
//! ([`protocol`]): steps of controllers, and slots with the results of parts. A record is thus a fold over that log,
//! the same for every controller that reads it, whatever crashed and restarted in the meantime.
//!
//! These, with [`protocol`], [`clock`] and [`merge`], have no connection, file, clock or thread. The feature `nats`
//! brings their drivers: [`agent_driver`] for an agent and [`controller_driver`] for a controller, on the bus of
//! [`nats`]. Crate `run` does all the measuring, as everywhere.
//!
//! Start reading at [`protocol`], then the contracts in [`controller`] and [`agent`].

pub mod agent;
#[cfg(feature = "nats")]
pub mod agent_driver;
pub mod bus;
pub mod clock;
pub mod controller;
#[cfg(feature = "nats")]
pub mod controller_driver;
#[cfg(feature = "nats")]
pub mod join;
#[cfg(feature = "nats")]
pub mod keys;
mod ledger;
#[cfg(feature = "nats")]
mod live;
pub mod merge;
#[cfg(feature = "nats")]
pub mod nats;
pub mod protocol;
#[cfg(feature = "nats")]
mod raw_times;
#[cfg(feature = "nats")]
pub mod spool;
#[cfg(feature = "nats")]
pub mod target;
mod words;
mod write;

pub use words::Word;
