//! The embedded servers from outside, on a simulated network.
#![expect(clippy::unwrap_used, reason = "a test that meets what it does not expect ends there")]

mod answers;
mod asking;
mod ends;
mod errors;
mod game;
mod game_world;
mod memory;
mod oracle;
mod patience;
mod relay;
mod relay_ending;
mod relay_feeds;
mod relay_over_http;
mod relay_socketio;
mod secure;
mod world;
