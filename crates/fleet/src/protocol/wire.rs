//! Messages as bytes, within their limits.

use super::entry::Entry;
use super::limits;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::Digest as _;
use spec::Sha256;
use units::Bytes;

/// A message as JSON.
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
/// It is larger than `max`, or not such a message.
pub fn decode<T: DeserializeOwned>(bytes: &[u8], max: Bytes) -> Result<T, DecodeError> {
    let size = Bytes(bytes.len() as u64);
    if size > max {
        return Err(DecodeError::TooLarge { size, max });
    }
    serde_json::from_slice(bytes).map_err(|error| DecodeError::Other(error.to_string()))
}

/// The digest of an entry: equal entries of two processes have the same, byte for byte.
pub fn digest(entry: &Entry) -> Sha256 {
    let bytes = serde_json::to_vec(entry).expect("entries have no keys but texts");
    Sha256(sha2::Sha256::digest(&bytes).into())
}

impl Entry {
    /// The largest that an entry of its kind may be.
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
    /// It has something that JSON has not.
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

/// The reason why bytes are no message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// They are something else.
    #[error("not a message of this version: {0}")]
    Other(String),
    /// They are too many.
    #[error("message of {size}, at most {max} are allowed")]
    TooLarge {
        /// Their size.
        size: Bytes,
        /// The limit.
        max: Bytes,
    },
}
