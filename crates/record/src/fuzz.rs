//! Properties that hold for any input: fuzz targets (`cargo xtask fuzz`), whose corpora the tests replay.

use crate::{Importer, RunRecord, google_benchmark, imported, judge};

/// A corpus in `fuzz/corpus`, and the check of each of its inputs.
pub type Target = (&'static str, fn(&[u8]));

/// The targets of this crate.
pub const TARGETS: &[Target] = &[("google_benchmark", google_benchmark), ("record", record)];

/// A record of any version: it reads back unchanged after it is written, and can be judged.
fn record(bytes: &[u8]) {
    let Ok(json) = str::from_utf8(bytes) else { return };
    let Ok(record) = RunRecord::from_json(json) else { return };
    check_written(&record);
    let _verdict = judge(&record);
}

/// The output of google-benchmark: it and its record read back unchanged after they are written.
fn google_benchmark(bytes: &[u8]) {
    let Ok(json) = str::from_utf8(bytes) else { return };
    let Ok(file) = google_benchmark::read(json) else { return };
    assert_eq!(google_benchmark::read(&file.to_json()).as_ref(), Ok(&file));
    if let Ok(record) = imported(&file, Importer::default()) {
        check_written(&record);
    }
}

/// Checks that a written record reads back unchanged.
fn check_written(record: &RunRecord) {
    let json = record.to_json();
    let read = RunRecord::from_json(&json).unwrap_or_else(|error| panic!("{error}: {json}"));
    assert_eq!(read.to_json(), json);
}

#[cfg(test)]
#[path = "../../../fuzz/replay.rs"]
mod replay;
