//! The options of a game server.

use super::world;
use units::{Bytes, Nanos};
use wire::tls;

/// The options of a game server.
#[derive(Clone, Debug)]
pub struct Options {
    /// The world inside.
    pub world: world::Options,
    /// The doors, in the order in which the engine was told to listen on their addresses.
    pub doors: Vec<Door>,
    /// The most bytes that may be unsent for a player; with more, the player is dropped as if the connection had
    /// broken.
    pub queue_max: Bytes,
    /// The longest frame, text or body to accept; one limit for all three.
    pub message_max: Bytes,
    /// The longest time until the first request of a connection, and between two requests of an HTTP connection.
    pub silence: Silence,
    /// The time for which a connect of a Comet client is held.
    pub hold_max: Nanos,
    /// The longest time that a Comet client may be without a connect.
    pub away_max: Nanos,
    /// The seed of the ids of Comet clients.
    pub seed: u64,
}

/// The protocol of an address.
#[derive(Clone, Debug)]
pub struct Door {
    /// The protocol.
    pub speaks: Packing,
    /// The TLS around it, if any.
    pub tls: Option<tls::Server>,
}

/// The protocols of players.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// Styx, binary.
    Binary,
    /// JSON: over WebSocket at `/socket`, over Bayeux at `/cometd`.
    Web,
}

/// The longest silences allowed to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Silence {
    /// Time from the accept to the first request.
    pub first_max: Nanos,
    /// Time from one HTTP request to the next, while none is held; for players, the world has limits of its own.
    pub next_max: Nanos,
}

impl Default for Options {
    /// Returns one address of each kind, without TLS. Times are those of the original where known, except for
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
