//! TLS from outside: both of our ends in memory, and peers that break its rules.

mod arithmetic;
mod broken;
mod closing;
mod conversations;
mod ends;
mod memory;
mod options;
mod refusals;
mod splits;
mod unverified;
pub(crate) mod world;
