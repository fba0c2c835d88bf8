//! The record as JSON: written, read back, and described by a schema.

use crate::{RunRecord, SCHEMA_VERSION};
use serde::Deserialize;

impl RunRecord {
    /// Reads a record of this version of the format or an older one; fields that are not known are ignored.
    ///
    /// # Errors
    ///
    /// [`ReadError::Newer`] for a newer version; [`ReadError::Invalid`] for what is not JSON, is cut off, or is not a
    /// record.
    pub fn from_json(json: &str) -> Result<Self, ReadError> {
        // The version first: a newer record need not have the shape of ours.
        let Versioned { schema_version } = serde_json::from_str(json)?;
        if schema_version > SCHEMA_VERSION {
            return Err(ReadError::Newer { version: schema_version });
        }
        Ok(serde_json::from_str(json)?)
    }

    /// The record as JSON for people and programs, with a newline at the end.
    ///
    /// A number that is not finite, which no measurement should give, is written as `null`.
    pub fn to_json(&self) -> String {
        let mut json =
            serde_json::to_string_pretty(self).expect("all keys of the record are texts");
        json.push('\n');
        json
    }
}

/// The JSON schema of the record, as published in `docs/record.schema.json`.
pub fn schema() -> String {
    let schema = schemars::schema_for!(RunRecord);
    let mut json = serde_json::to_string_pretty(&schema).expect("a schema is JSON");
    json.push('\n');
    json
}

/// Why a text is not a record that can be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is not JSON, is cut off, or is not a record; the message says where.
    #[error("not a record: {0}")]
    Invalid(#[from] serde_json::Error),
    /// It was written by a newer program, in a format that may mean something else.
    #[error(
        "record of schema version {version}, this program reads up to {SCHEMA_VERSION}; use a newer one"
    )]
    Newer {
        /// The version it names.
        version: u32,
    },
}

#[derive(Deserialize)]
struct Versioned {
    schema_version: u32,
}
