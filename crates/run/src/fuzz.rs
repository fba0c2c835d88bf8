//! Properties that hold for any input: fuzz targets (`cargo xtask fuzz`), whose corpora the tests replay.

use crate::recovered;
use record::RunRecord;

/// A corpus in `fuzz/corpus`, and the check for each of its inputs.
pub type Target = (&'static str, fn(&[u8]));

/// The targets of this crate.
pub const TARGETS: &[Target] = &[("journal", journal)];

/// A journal: the record recovered from it can be read back.
fn journal(bytes: &[u8]) {
    let Ok(record) = recovered(bytes) else { return };
    let json = record.to_json();
    let read = RunRecord::from_json(&json).unwrap_or_else(|error| panic!("{error}: {json}"));
    assert_eq!(read.to_json(), json);
}

#[cfg(test)]
#[path = "../../../fuzz/replay.rs"]
mod replay;
