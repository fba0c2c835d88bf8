//! The receiver of a world's answers.

use super::slab::Key;
use wire::styx::packets::Packet;

/// A connection as the world knows it. An id is never used twice: a later connection in the same place has another
/// generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub(super) Key);

impl SessionId {
    /// Its place among the connections that are open now: small numbers, so that it may index a `Vec`. A place is used
    /// again once its session is gone.
    pub const fn index(self) -> usize {
        self.0.index as usize
    }
}

/// Takes the packets that the world sends.
///
/// A session that the receiver no longer knows is not an error: what is for it is let go.
pub trait Outbox {
    /// Sends a packet to one session.
    fn send(&mut self, to: SessionId, packet: &Packet<'_>);

    /// Sends the same packet to each of some sessions, none of them twice; there may be none.
    fn broadcast(&mut self, to: &[SessionId], packet: &Packet<'_>);

    /// Ends a session once everything that was sent to it before has left. The world has forgotten it: its input is
    /// ignored, and [`World::gone`](super::World::gone) need not be called.
    fn close(&mut self, session: SessionId);
}
