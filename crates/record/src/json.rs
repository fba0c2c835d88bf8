//! The record as JSON: written, read back, and described by a schema.

use crate::{RunRecord, SCHEMA_VERSION, upgrade};
use serde::Deserialize;
use serde_json::Value;

impl RunRecord {
    /// Reads a record of this version of the format or an older one; unknown fields are ignored.
    ///
    /// # Errors
    ///
    /// [`ReadError::Newer`] for a newer version; [`ReadError::Invalid`] for text that is not JSON, is cut off, or is
    /// not a record; [`ReadError::NoSuchWorkload`] for a record that points outside its plan, and
    /// [`ReadError::NoSuchPart`] outside its sweep.
    pub fn from_json(json: &str) -> Result<Self, ReadError> {
        // The version first: a newer record need not have the shape of ours.
        let Versioned { schema_version } = serde_json::from_str(json)?;
        if schema_version > SCHEMA_VERSION {
            return Err(ReadError::Newer { version: schema_version });
        }
        let record: Self = match schema_version {
            SCHEMA_VERSION => serde_json::from_str(json)?,
            _ => {
                let mut old: Value = serde_json::from_str(json)?;
                upgrade::upgrade(&mut old);
                // Back to text: deserializing from values would make the compiler generate every reader a second time.
                serde_json::from_str(&old.to_string())?
            }
        };
        let mut record = Self { schema_version: SCHEMA_VERSION, ..record };
        record.check_indexes()?;
        let Old { results, against } = serde_json::from_str(json)?;
        if results.iter().any(|result| result.medians.is_some()) {
            upgrade::pool(&mut record);
        }
        if let Some(spec) = &mut record.spec {
            spec.strict |= against.is_some_and(|old| old.is_strict);
        }
        Ok(record)
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

    /// Checks that all indexes of workloads point into the plan, and those of steps into their sweep, as in every
    /// record that was read.
    ///
    /// # Errors
    ///
    /// [`ReadError::NoSuchWorkload`] or [`ReadError::NoSuchPart`] for the first that does not.
    pub fn check_indexes(&self) -> Result<(), ReadError> {
        let count = self.plan.workloads.len();
        let blocks = self.blocks.iter().map(|block| block.workload);
        let results = self.results.iter().map(|result| result.workload);
        let layers = self.plan.layers.iter().flat_map(|layer| [layer.workload, layer.base]);
        let added = self.added.iter().flat_map(|added| [added.workload, added.base]);
        let steps = self.sweep.iter().flat_map(|sweep| &sweep.steps).map(|step| step.workload);
        let mut all = self
            .plan
            .rounds
            .iter()
            .flatten()
            .copied()
            .chain(self.plan.baseline)
            .chain(blocks)
            .chain(results)
            .chain(layers)
            .chain(added)
            .chain(steps);
        match all.find(|index| *index >= count) {
            Some(index) => Err(ReadError::NoSuchWorkload { index, count }),
            None => self.check_steps(),
        }
    }

    /// Checks that the steps of a sweep belong to existing lines and point to existing blocks.
    fn check_steps(&self) -> Result<(), ReadError> {
        let check = |what, index, count| match index < count {
            true => Ok(()),
            false => Err(ReadError::NoSuchPart { what, index, count }),
        };
        for (sweep, step) in
            self.sweep.iter().flat_map(|sweep| sweep.steps.iter().map(move |step| (sweep, step)))
        {
            check("line", step.line, sweep.lines.len())?;
            step.blocks.iter().try_for_each(|block| check("block", *block, self.blocks.len()))?;
        }
        Ok(())
    }
}

/// The JSON schema of the record, as published in `docs/record.schema.json`.
pub fn schema() -> String {
    let schema = schemars::schema_for!(RunRecord);
    let mut json = serde_json::to_string_pretty(&schema).expect("a schema is JSON");
    json.push('\n');
    json
}

/// The reason why a text is not a record that can be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is not JSON, is cut off, or is not a record; the message says where.
    #[error("not a record: {0}")]
    Invalid(#[from] serde_json::Error),
    /// Something in it belongs to a workload that its plan does not have.
    #[error("workload {index} is named, but the plan has {count} (counted from 0)")]
    NoSuchWorkload {
        /// The index it names.
        index: usize,
        /// The number of workloads.
        count: usize,
    },
    /// A step of a sweep belongs to a line, or names a block, that does not exist.
    #[error("{what} {index} is named, but the record has {count} (counted from 0)")]
    NoSuchPart {
        /// The missing part.
        what: &'static str,
        /// The index it names.
        index: usize,
        /// The number of parts.
        count: usize,
    },
    /// It was written by a newer program, in a format that may mean something else.
    #[error(
        "the record has schema version {version}, but this program reads up to {SCHEMA_VERSION}: use a newer one"
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

#[derive(Deserialize)]
struct Old {
    results: Vec<OldResult>,
    against: Option<OldAgainst>,
}

/// A field that is now part of the spec.
#[derive(Deserialize)]
struct OldAgainst {
    #[serde(default)]
    is_strict: bool,
}

/// The field that tells old results from current ones.
#[derive(Deserialize)]
struct OldResult {
    medians: Option<serde::de::IgnoredAny>,
}
