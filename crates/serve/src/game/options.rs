//! The options of a game server.

use super::world;
use units::{Bytes, Nanos};
use wire::tls;

/// The options of a game server.
#[derive(Clone, Debug)]
pub struct Options {
    /// The world inside.
    pub world: world::Options,
    /// The doors, in the order in which the engine was told to listen at their addresses.
    pub doors: Vec<Door>,
    /// Most bytes that may be unsent for a player, who else is dropped as if the connection had broken.
    pub queue_max: Bytes,
    /// The longest frame, text or body that is read; one limit for all three.
    pub message_max: Bytes,
    /// Longest time until the first request of a connection, and between two requests of one that speaks HTTP.
    pub silence: Silence,
    /// Time for which a connect of a Comet client is held.
    pub hold_max: Nanos,
    /// Longest time that a Comet client may be without a connect.
    pub away_max: Nanos,
    /// The seed of the ids of Comet clients.
    pub seed: u64,
}

/// The protocol that is spoken at an address.
#[derive(Clone, Debug)]
pub struct Door {
    /// The protocol.
    pub speaks: Packing,
    /// The TLS around it, if any.
    pub tls: Option<tls::Server>,
}

/// The protocols that players speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// Styx, binary.
    Binary,
    /// JSON: over WebSocket at `/socket`, over Bayeux at `/cometd`.
    Web,
}

/// The longest silences that a connection may keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Silence {
    /// Time from the accept to the first request.
    pub first_max: Nanos,
    /// Time from one request of HTTP to the next, while none is held; for players, the world has limits of its own.
    pub next_max: Nanos,
}

impl Default for Options {
    /// One address of each kind, without TLS; times as the original has them where they are known, but for
    /// [`Options::away_max`]: twice the original's 5 s.
    fn default() -> Self {
        let door = |speaks| Door { speaks, tls: None };
        Self {
            world: world::Options::default(),
            doors: vec![door(Packing::Binary), door(Packing::Web)],
            queue_max: Bytes(256 << 10),
            message_max: Bytes(32 << 10),
            silence: Silence { first_max: Nanos::from_secs(10), next_max: Nanos::from_secs(300) },
            hold_max: Nanos::from_secs(30),
            away_max: Nanos::from_secs(10),
            seed: 0,
        }
    }
}
