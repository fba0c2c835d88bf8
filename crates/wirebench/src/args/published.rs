//! The `[published]` table of an experiment: what others published of the same one.

use record::{Claim, Published, PublishedRow};
use serde::Deserialize;

/// The table, as labs and sweeps have it in their files.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PublishedTable {
    source: String,
    #[serde(default)]
    notes: Vec<String>,
    #[serde(default, rename = "row")]
    rows: Vec<PublishedRow>,
    #[serde(default, rename = "claim")]
    claims: Vec<Claim>,
}

impl From<PublishedTable> for Published {
    fn from(table: PublishedTable) -> Self {
        let PublishedTable { source, notes, rows, claims } = table;
        Self { source, rows, notes, claims }
    }
}
