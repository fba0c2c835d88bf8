//! The program as its callers see it: real processes, their streams, their exit codes and the files they leave.
#![expect(clippy::unwrap_used, reason = "a test that meets what it does not expect ends there")]

mod ending;
mod harness;
mod running;
mod serving;
mod settings;
mod usage;
