//! The engines from outside.
#![expect(
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test that meets what it does not expect ends there"
)]

mod contract;
mod epoll;
mod kinds;
mod process;
mod refused;
mod sim;
