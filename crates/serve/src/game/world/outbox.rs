//! The receiver of a world's answers.

use super::slab::Key;
use wire::styx::packets::Packet;

/// The world's name of a connection. An id is never used twice: a later connection in the same place has another
/// generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub(super) Key);

impl SessionId {
    /// Its place among the connections that are open now: a small number, so that it can index a `Vec`. A place is
    /// re-used once its session is gone.
    pub const fn index(self) -> usize {
        self.0.index as usize
    }
}

/// Takes the packets that the world sends.
///
/// A session that the implementation no longer knows is not an error: packets for it are dropped.
pub trait Outbox {
    /// Sends a packet to one session.
    fn send(&mut self, to: SessionId, packet: &Packet<'_>);

    /// Sends the same packet to several sessions, none of them twice; the list may be empty.
    fn broadcast(&mut self, to: &[SessionId], packet: &Packet<'_>);

    /// Ends a session once everything sent to it before has left. The world has forgotten the session: it ignores its
    /// input, and [`World::gone`](super::World::gone) need not be called.
    fn close(&mut self, session: SessionId);
}
