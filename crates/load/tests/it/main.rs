//! Payloads, schedules and their division among workers, from outside.
#![expect(clippy::unwrap_used, reason = "a test that meets what it does not expect ends there")]

mod cut;
mod pace;
mod payload;
mod schedule;
mod split;
