//! The game server: what it does ([`world`]), and later what carries it.

pub mod world;
