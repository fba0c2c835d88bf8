//! The counters of a game server, beside those of its world.

use super::world;
use crate::Handshakes;

/// The counters of a game server since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Connections accepted.
    pub connections: u64,
    /// Sessions that began, by their route.
    pub sessions: SessionCounts,
    /// Connections whose peer broke the protocol below the packets: framing, HTTP, WebSocket, TLS.
    pub broken: u64,
    /// Players that were dropped because too much was unsent for them.
    pub slow: u64,
    /// Connections that were silent for too long.
    pub silent: u64,
    /// Comet clients that did not come back.
    pub lost_clients: u64,
    /// Packets that were written, one for each receiver.
    pub packets_sent: u64,
    /// Requests of HTTP.
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
        Self {
            connections: self.connections + front.connections,
            sessions: SessionCounts {
                binary: self.sessions.binary + front.sessions.binary,
                websocket: self.sessions.websocket + front.sessions.websocket,
                comet: self.sessions.comet + front.sessions.comet,
            },
            broken: self.broken + front.broken,
            slow: self.slow + front.slow,
            silent: self.silent + front.silent,
            lost_clients: self.lost_clients + front.lost_clients,
            packets_sent: self.packets_sent + front.packets_sent,
            requests: self.requests + front.requests,
            bytes_received: self.bytes_received + front.bytes_received,
            bytes_sent: self.bytes_sent + front.bytes_sent,
            handshakes: Handshakes {
                full: self.handshakes.full + front.handshakes.full,
                resumed: self.handshakes.resumed + front.handshakes.resumed,
                failed: self.handshakes.failed + front.handshakes.failed,
            },
            world: self.world,
        }
    }
}

/// Sessions by their route.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionCounts {
    /// Over Styx.
    pub binary: u64,
    /// Over WebSocket.
    pub websocket: u64,
    /// Over Bayeux.
    pub comet: u64,
}
