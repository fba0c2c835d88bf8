//! The brokers by their names.

use std::fmt;

/// The supported brokers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broker {
    /// NATS.
    Nats,
    /// Redis.
    Redis,
}

impl fmt::Display for Broker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nats => "NATS",
            Self::Redis => "Redis",
        })
    }
}
