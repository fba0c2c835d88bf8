//! Servers on sockets.
//!
//! A node is generic over its engine, and would be compiled where it is run. Its loop is compiled here instead, once
//! and for speed, however the crate that starts it is compiled.

use crate::game::{Front, GameServer};
use crate::{Oracle, Relay, Server};
use engine::epoll::Epoll;

macro_rules! on_sockets {
    ($($server:ty),*) => {
        $(impl $server {
            /// Serves on sockets until it is done.
            pub fn run(&mut self, engine: &mut Epoll) {
                engine::run(engine, self);
            }
        })*
    };
}

on_sockets!(Front, GameServer, Oracle, Relay, Server);
