//! The engines from outside.

mod contract;

mod kinds;
mod process;
