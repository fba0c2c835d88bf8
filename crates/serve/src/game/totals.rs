//! The counters of a game server, in addition to those of its world.

use super::world;
use crate::peers::Handshakes;

/// The counters of a game server since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Connections accepted.
    pub connections: u64,
    /// Sessions that began, by their route.
    pub sessions: SessionCounts,
    /// Connections whose peer broke the protocol below the packets: framing, HTTP, WebSocket, TLS.
    pub broken: u64,
    /// Players that were dropped because too much was unsent to them.
    pub slow: u64,
    /// Connections that were silent for too long.
    pub silent: u64,
    /// Comet clients that did not come back.
    pub lost_clients: u64,
    /// Packets written, counted once for each receiver.
    pub packets_sent: u64,
    /// HTTP requests.
    pub requests: u64,
    /// Bytes of the transport's stream that arrived.
    pub bytes_received: u64,
    /// Bytes of the transport's stream that were submitted.
    pub bytes_sent: u64,
    /// TLS handshakes.
    pub handshakes: Handshakes,
    /// The counters of the world.
    pub world: world::Counters,
}

impl Totals {
    /// The sum of these and those of a front of the same server.
    #[must_use]
    pub fn and(&self, front: &Self) -> Self {
        let (mut sum, mut front) = (*self, *front);
        sum.counts().into_iter().zip(front.counts()).for_each(|(sum, count)| *sum += *count);
        sum
    }

    /// All counters except those of the world, in the order in which a front reports them.
    pub(super) fn counts(&mut self) -> [&mut u64; Self::COUNTS] {
        [
            &mut self.connections,
            &mut self.sessions.binary,
            &mut self.sessions.websocket,
            &mut self.sessions.comet,
            &mut self.broken,
            &mut self.slow,
            &mut self.silent,
            &mut self.lost_clients,
            &mut self.packets_sent,
            &mut self.requests,
            &mut self.bytes_received,
            &mut self.bytes_sent,
            &mut self.handshakes.full,
            &mut self.handshakes.resumed,
            &mut self.handshakes.failed,
        ]
    }

    /// The number of counters that a front reports.
    pub(super) const COUNTS: usize = 15;
}

/// Sessions by their route.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionCounts {
    /// Sessions over Styx.
    pub binary: u64,
    /// Sessions over WebSocket.
    pub websocket: u64,
    /// Sessions over Bayeux.
    pub comet: u64,
}
