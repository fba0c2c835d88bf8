//! The properties of a network: delays, the pieces in which bytes arrive, cuts of connections.

use units::Nanos;

/// The properties of the network. The default is a fast one without faults.
#[derive(Clone, Debug)]
pub struct Conditions {
    /// The delay from one end to the other, at least 1 ns: a connection is established after two of these.
    pub delay: Nanos,
    /// The maximum of the random time added to the delay. Bytes of a connection keep their order all the same.
    pub jitter: Nanos,
    /// The pieces in which bytes arrive.
    pub split: Split,
    /// The connections that are cut.
    pub cuts: Cuts,
    /// The number of bytes that the kernels at both ends buffer for each direction of a connection, at least 1; what
    /// exceeds it stays with the sending engine.
    pub buffer_len_max: usize,
    /// The most connections that may wait to be accepted at a listener; more are refused.
    pub backlog: usize,
}

impl Default for Conditions {
    fn default() -> Self {
        Self {
            delay: Nanos::from_micros(10),
            jitter: Nanos::ZERO,
            split: Split::Never,
            cuts: Cuts::Never,
            buffer_len_max: 256 << 10,
            backlog: 4096,
        }
    }
}

/// The pieces in which bytes arrive. Each piece is received separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// Bytes that were sent at once are one piece, as far as the buffers have room: each piece costs a slowed process
    /// ([`Sim::slow_down`](super::Sim::slow_down)) time, however many have piled up.
    AsSent,
    /// Everything that has arrived is received at once, however it was sent.
    Never,
    /// Each byte is a piece.
    ByteByByte,
    /// Pieces have random lengths.
    Random {
        /// The longest, at least 1.
        chunk_len_max: usize,
    },
}

/// The connections that are cut. A cut resets both ends at once, and what is on its way is lost.
#[derive(Clone, Debug)]
pub enum Cuts {
    /// No cuts.
    Never,
    /// Some are cut, at a random time.
    Random {
        /// The probability that a connection is cut, from 0 to 1.
        probability: f64,
        /// The longest time from the making of a connection to its cut.
        within: Nanos,
    },
    /// Cuts at these instants.
    Scheduled(Vec<Cut>),
}

/// One connection to cut.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    /// Its number: all connections of the network are counted from 0, in the order in which they were started.
    pub connection: u64,
    /// The time from the making of the connection to the cut.
    pub after: Nanos,
}
