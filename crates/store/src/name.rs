//! The record that a user means by a name.

use crate::StoreError;
use record::Entry;

/// The reason why a name does not identify a record.
#[derive(Debug, thiserror::Error)]
pub enum NameError {
    /// Several records have an id that begins like that.
    #[error("{count} records begin with `{name}`: {ids}; write more of it")]
    Ambiguous {
        /// The name.
        name: String,
        /// The number of them.
        count: usize,
        /// Some of them.
        ids: String,
    },
    /// No baseline has this name, and no record has an id that begins with it.
    #[error(
        "the history has no record and no baseline `{name}`; `wirebench history` lists what it has"
    )]
    None {
        /// The name.
        name: String,
    },
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The record that `name` means; `all` are those that are a baseline of that name or whose id begins with it.
pub(crate) fn found(name: &str, all: Vec<Entry>) -> Result<Entry, NameError> {
    let is_baseline = |entry: &&Entry| entry.baselines.iter().any(|baseline| baseline == name);
    if let Some(entry) = all.iter().find(is_baseline) {
        return Ok(entry.clone());
    }
    let count = all.len();
    if count > 1 {
        let ids = all.iter().take(NAMED_MAX).map(|entry| entry.id.as_str());
        let ids = ids.collect::<Vec<_>>().join(", ");
        return Err(NameError::Ambiguous { name: name.to_owned(), count, ids });
    }
    all.into_iter().next().ok_or_else(|| NameError::None { name: name.to_owned() })
}

/// The maximum number of ids that an error names.
const NAMED_MAX: usize = 5;
