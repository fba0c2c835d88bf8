//! Many machines, one exact record: an experiment is cut into parts, which agents run and a controller puts together.
//!
//! [`controller`] and [`agent`] are state machines without I/O: `handle(event, now)` answers with actions, and
//! `deadline()` says when they want to be woken. Their only memory that counts is a log in which each subject can be
//! written once ([`protocol`]): steps of controllers, and slots with the results of parts. So a record is a fold over
//! that log, the same for every controller that reads it, whatever died and came back in the meantime.
//!
//! Left out: connections, files, clocks and threads, which are the driver's.
//!
//! Start reading at [`protocol`], then the contracts in [`controller`] and [`agent`].

pub mod agent;
pub mod bus;
pub mod clock;
pub mod controller;
mod ledger;
pub mod protocol;
mod words;
mod write;

pub use words::Word;
