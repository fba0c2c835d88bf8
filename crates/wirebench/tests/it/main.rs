//! The program as its callers see it: real processes, their streams, their exit codes and the files they leave.
#![expect(clippy::unwrap_used, reason = "a test that meets what it does not expect ends there")]

mod bad_input;
mod certs;
mod doctor;
mod ending;
mod game_serving;
mod harness;
mod ladder;
mod open_loop;
mod peers;
mod running;
mod selftest;
mod serving;
mod settings;
mod show;
mod signals;
mod sweeping;
mod third_party;
mod tls;
mod usage;
