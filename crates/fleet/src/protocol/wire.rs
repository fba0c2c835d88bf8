//! Messages as bytes, within their limits.

use super::entry::Entry;
use super::limits;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::Digest as _;
use spec::Sha256;
use units::Bytes;

/// Encodes a message as JSON.
///
/// # Errors
///
/// It is larger than `max`.
pub fn encode<T: Serialize>(message: &T, max: Bytes) -> Result<Vec<u8>, EncodeError> {
    let bytes = serde_json::to_vec(message).map_err(|error| EncodeError::No(error.to_string()))?;
    let size = Bytes(bytes.len() as u64);
    if size > max { Err(EncodeError::TooLarge { size, max }) } else { Ok(bytes) }
}

/// Reads a message.
///
/// # Errors
///
/// It is larger than `max`, or not a message of type `T`.
pub fn decode<T: DeserializeOwned>(bytes: &[u8], max: Bytes) -> Result<T, DecodeError> {
    let size = Bytes(bytes.len() as u64);
    if size > max {
        return Err(DecodeError::TooLarge { size, max });
    }
    serde_json::from_slice(bytes).map_err(|error| DecodeError::Other(error.to_string()))
}

/// The digest of an entry: equal entries in two processes have the same digest.
pub fn digest(entry: &Entry) -> Sha256 {
    let bytes = serde_json::to_vec(entry).expect("entries have no keys but texts");
    Sha256(sha2::Sha256::digest(&bytes).into())
}

impl Entry {
    /// The largest size of an entry of its kind.
    pub const fn size_max(&self) -> Bytes {
        match self {
            Self::Plan(_) => limits::PLAN_MAX,
            Self::Step(_) => limits::STEP_MAX,
            Self::Slot(_) => limits::SLOT_MAX,
        }
    }
}

/// The reason why a message cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// It contains something that JSON cannot express.
    #[error("message cannot be written: {0}")]
    No(String),
    /// It is too large.
    #[error("message of {size}, at most {max} are allowed")]
    TooLarge {
        /// Its size.
        size: Bytes,
        /// The limit.
        max: Bytes,
    },
}

/// The reason why bytes are not a message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// They are something else.
    #[error("not a message of this version: {0}")]
    Other(String),
    /// There are too many of them.
    #[error("message of {size}, at most {max} are allowed")]
    TooLarge {
        /// Their size.
        size: Bytes,
        /// The limit.
        max: Bytes,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{BlockId, BlockWork, Command, Go, Instance, Kind, Seat, Step};
    use std::num::NonZeroU32;
    use std::sync::Arc;
    use units::Nanos;

    #[test]
    fn the_begin_of_a_block_on_the_most_agents_fits_into_a_step_and_into_a_command() {
        let weights = vec![NonZeroU32::new(1000).unwrap(); limits::AGENTS_MAX];
        let seat = |index: usize| Seat {
            agent: format!("{index:032}").parse().unwrap(),
            instance: Instance(u64::MAX),
            kind: Kind::Load,
            part: spec::Part { index: u32::try_from(index).unwrap(), weights: weights.clone() },
            start_ns: u64::MAX,
            bound: Nanos::MAX,
            version: Some("1.2.3 (commit 0123456789abcdef0123456789abcdef01234567)".repeat(2)),
        };
        let roster = (0..limits::AGENTS_MAX).map(seat).collect();
        let work = BlockWork { workload: 0, round: 0, load: None, lasts: Nanos::MAX };
        let go = Go { block: BlockId { number: 0, attempt: 0 }, work, roster };
        let entry = Entry::Step(Arc::new(Step::Go(go.clone())));
        assert_eq!(encode(&entry, entry.size_max()).err(), None);
        let command =
            Command::Go { run: "r".repeat(32).parse().unwrap(), step: 1, go: Arc::new(go) };
        assert_eq!(encode(&command, limits::COMMAND_MAX).err(), None);
    }
}
