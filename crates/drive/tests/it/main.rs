//! The main path from outside: a worker against the embedded servers and against peers that misbehave.
#![expect(clippy::unwrap_used, reason = "a test that meets what it does not expect ends there")]

mod allocation;
mod campaign;
mod clients;
mod closed_loop;
mod conversations;
mod enveloped;
mod faults;
mod game;
mod identity;
mod layers;
mod logins;
mod memory;
mod open_loop;
mod peers;
mod punctual;
mod redirects;
mod restarts;
mod restored;
mod rooms;
mod secure;
mod segments;
mod sessions;
mod stalls;
mod stop;
mod transports;
mod variety;
mod world;
