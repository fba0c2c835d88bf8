//! Counters of TCP over all connections of this network namespace: retransmissions and the like, which cause latency.

/// Counters of the kernel since the machine started; `None` for one that this kernel does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpCounters {
    /// Segments sent again (`RetransSegs`).
    pub retransmitted_segments: Option<u64>,
    /// Retransmission time-outs (`TCPTimeouts`): each cost its connection 200 ms or more.
    pub timeouts: Option<u64>,
    /// Connections not accepted because the listener's queue was full (`ListenOverflows`): a larger backlog or a server
    /// that accepts faster would help.
    pub listen_overflows: Option<u64>,
    /// Connections not accepted for any reason (`ListenDrops`), overflows included.
    pub listen_drops: Option<u64>,
    /// Connects that failed (`AttemptFails`).
    pub failed_connects: Option<u64>,
    /// Acknowledgements that waited for something to travel with until the kernel's timer sent them (`DelayedACKs`).
    pub delayed_acks: Option<u64>,
    /// SYNs sent again (`TCPSynRetrans`): each cost its connect 1 s or more.
    pub retransmitted_syns: Option<u64>,
    /// Connections ended by a reset (`EstabResets`).
    pub resets: Option<u64>,
}

impl TcpCounters {
    /// The difference since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        let less = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
        Self {
            retransmitted_segments: less(
                self.retransmitted_segments,
                earlier.retransmitted_segments,
            ),
            timeouts: less(self.timeouts, earlier.timeouts),
            listen_overflows: less(self.listen_overflows, earlier.listen_overflows),
            listen_drops: less(self.listen_drops, earlier.listen_drops),
            failed_connects: less(self.failed_connects, earlier.failed_connects),
            delayed_acks: less(self.delayed_acks, earlier.delayed_acks),
            retransmitted_syns: less(self.retransmitted_syns, earlier.retransmitted_syns),
            resets: less(self.resets, earlier.resets),
        }
    }
}
