//! The controller of a run: gathers agents, begins blocks, and decides what became of each part.

mod contract;

pub use contract::{Action, Event, NoAnswer, Options};
