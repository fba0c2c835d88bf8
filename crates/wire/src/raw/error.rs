//! The ways in which a peer can break a stream without framing.

/// The ways in which a peer can break a protocol that has almost no rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PeerError {
    /// The connection ended inside a reply.
    #[error("the connection ended after {len} of {expected} bytes of a reply")]
    ReplyCutOff {
        /// The bytes that arrived.
        len: usize,
        /// The length of a reply.
        expected: usize,
    },
}
