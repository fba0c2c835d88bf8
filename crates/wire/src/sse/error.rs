//! The ways in which a stream of events can break.

/// A stream that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PeerError {
    /// An event is longer than [`super::Limits::event_len_max`].
    #[error("event of more than {max} bytes")]
    OverLimit {
        /// The limit.
        max: usize,
    },
}
