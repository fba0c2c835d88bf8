//! What a client says of a block, read strictly.

use stats::Histogram;
use units::Nanos;

/// An instant that a client tells while it happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Its window has ended.
    Measured,
    /// Its window begins.
    Measuring,
}

/// What a client says of a block. Times are by its own clock; a kind of which it says nothing is empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// How long its window was.
    pub wall: Nanos,
    /// CPU time of its process in the window, user and system.
    pub cpu: Option<Nanos>,
    /// Round trips of the window.
    pub ok: u64,
    /// How many went wrong, by kind, and its words for that.
    pub errors: Vec<(u64, String)>,
    /// From just before a message is sent until its reply is there and compared; `ok` of them.
    pub round_trips: Histogram,
    /// At a rate: from when it was due.
    pub responses: Option<Histogram>,
    /// Short-lived: from before the connect until the last reply.
    pub lives: Histogram,
    /// Resolving the server's name.
    pub resolve: Histogram,
    /// The connect of TCP.
    pub connect: Histogram,
    /// The handshake of TLS.
    pub tls: Histogram,
    /// The opening handshake of the protocol.
    pub handshake: Histogram,
    /// All of these together, where it does not know them apart.
    pub open: Histogram,
    /// Until the end was answered.
    pub close: Histogram,
    /// What google-benchmark printed.
    pub google_benchmark: Option<record::GoogleBenchmark>,
}
