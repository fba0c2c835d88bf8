//! What a game server is made of.

use super::world;
use units::{Bytes, Nanos};
use wire::tls;

/// What a game server is made of, and how patient it is.
#[derive(Clone, Debug)]
pub struct Options {
    /// What is inside.
    pub world: world::Options,
    /// What is spoken at each address, in the order in which the engine was told to listen there.
    pub doors: Vec<Door>,
    /// A player for whom more than so much is unsent is dropped, as if the connection had broken.
    pub queue_max: Bytes,
    /// The longest frame, text or body that is read; the same for all three.
    pub message_max: Bytes,
    /// How long a connection may take until its first request, and one of HTTP between two of them.
    pub silence: Silence,
    /// How long a connect of a Comet client is held.
    pub hold_max: Nanos,
    /// How long a Comet client may leave us without a connect.
    pub away_max: Nanos,
    /// What the ids of Comet clients are made from.
    pub seed: u64,
}

/// What is spoken at an address.
#[derive(Clone, Debug)]
pub struct Door {
    /// What is spoken.
    pub speaks: Packing,
    /// Inside TLS, if given.
    pub tls: Option<tls::Server>,
}

/// How players speak at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// Styx, binary.
    Binary,
    /// JSON: over WebSocket at `/socket`, over Bayeux at `/cometd`.
    Web,
}

/// How long a connection may be silent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Silence {
    /// From the accept to the first request.
    pub first_max: Nanos,
    /// From one request of HTTP to the next, while none is held; for players, the world has limits of its own.
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
