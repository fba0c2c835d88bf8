//! Numbers shown while a run goes on. They are in no record: the code that measures and the code that displays share
//! these types, and neither knows the other.

use units::Nanos;

/// The numbers of the last tenth of a second; for an open loop, of the last second.
#[derive(Clone, Copy, Debug)]
pub struct Live<'a> {
    /// The name of the measurement.
    pub name: &'a str,
    /// The index of the block, from 0, and the number of blocks.
    pub block: (usize, usize),
    /// `connect`, `warm-up`, `measure`, `drain` or `close`.
    pub phase: &'a str,
    /// Time since the run began.
    pub elapsed: Nanos,
    /// Replies a second.
    pub messages_per_s: f64,
    /// The median round trip (open loop: response time); `None` if there were too few replies.
    pub p50: Option<Nanos>,
    /// The 99th percentile of the same; `None` if there were too few replies.
    pub p99: Option<Nanos>,
    /// Messages that failed or timed out since the block began.
    pub failed: u64,
    /// Numbers that only an open loop has, while messages are due.
    pub open_loop: Option<LiveOpenLoop>,
}

/// Numbers that only an open loop has; times and rates are those of about the last second.
#[derive(Clone, Copy, Debug)]
pub struct LiveOpenLoop {
    /// Messages that are due each second.
    pub due_per_s: f64,
    /// Messages that are sent each second.
    pub sent_per_s: f64,
    /// The 99th percentile of the send lag; `None` if too few were sent.
    pub lag_p99: Option<Nanos>,
    /// Messages of this phase that were due and not sent, because too many were outstanding.
    pub unsent: u64,
    /// Messages of this phase that wait for their reply.
    pub in_flight: u64,
}
