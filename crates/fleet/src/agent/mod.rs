//! The agent: takes its part of each block, at its instant, and gets the result into the log.

mod contract;

pub use contract::{Action, Event, Measured, Options, Task};
