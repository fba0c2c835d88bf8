//! What is to be done, with every default resolved: printable, storable, repeatable.

use crate::Url;
use crate::url::Scheme;
use load::Workload;
use std::net::IpAddr;
use std::num::NonZeroU32;
use units::{Bytes, Nanos, Random};

/// Measurements, and in which order their blocks run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What is measured. One for a single run, one for each rung of a ladder.
    pub measurements: Vec<Measurement>,
    /// How many blocks each of them gets. In every round each measurement runs one block.
    pub rounds: u32,
    /// In which order the blocks of a round run.
    pub order: Order,
    /// The measurement (its index) that all others are compared with.
    pub baseline: Option<usize>,
    /// Determines the order of blocks, and whatever else is random.
    pub seed: u64,
    /// Whether addresses that are neither loopback nor private may be loaded.
    pub public_allowed: bool,
}

impl Plan {
    /// Which measurement each block of each round runs: every round has each once.
    pub fn blocks(&self) -> Vec<Vec<usize>> {
        let mut random = Random::new(self.seed);
        (0..self.rounds)
            .map(|_| {
                let mut round: Vec<usize> = (0..self.measurements.len()).collect();
                match self.order {
                    Order::AsListed => {}
                    Order::Shuffled => random.shuffle(&mut round),
                }
                round
            })
            .collect()
    }
}

/// In which order the blocks of a round run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// That of the measurements: steps, each of which may depend on what the one before it left behind.
    AsListed,
    /// Random and determined by the seed, anew in every round, so that no drift of the machine favours any of them.
    Shuffled,
}

/// One thing to measure.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// How it is called in tables, e.g. `ws-text`; the URL for a server of the user's.
    pub name: String,
    /// Who answers.
    pub peer: Peer,
    /// What is said besides the messages.
    pub speech: Speech,
    /// The whole load, before it is divided among threads.
    pub workload: Workload,
    /// Where the payload came from, in words: `random`, `--payload "Ping"`, `--payload @FILE`.
    pub content_source: String,
    /// How many threads generate it at most.
    pub threads: NonZeroU32,
    /// The source addresses that connections take turns with; none: the system chooses, and on loopback we spread by
    /// ourselves when the ports of one address would run out.
    pub sources: Vec<IpAddr>,
    /// How long a worker looks for replies again and again before it sleeps; zero: not at all.
    pub busy_poll: Nanos,
    /// How long to wait for a name to be resolved.
    pub resolve_timeout: Nanos,
}

/// Who answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Peer {
    /// One of our own servers, started for the run as a child process.
    Embedded(Scheme),
    /// Whoever listens there.
    Given(Url),
}

/// What a protocol lets a client say besides its messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Speech {
    /// HTTP: the method of each request; methods without a body (`GET`, `HEAD`) send none.
    pub method: String,
    /// HTTP and WebSocket: more header fields, by name and value.
    pub headers: Vec<(String, String)>,
    /// WebSocket: the subprotocols to offer.
    pub subprotocols: Vec<String>,
    /// The longest reply that is accepted.
    pub reply_max: Bytes,
}

impl Default for Speech {
    fn default() -> Self {
        Self {
            method: "POST".to_owned(),
            headers: Vec::new(),
            subprotocols: Vec::new(),
            reply_max: Bytes(16 << 20),
        }
    }
}
