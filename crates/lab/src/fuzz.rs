//! Properties that hold for any input: fuzz targets (`cargo xtask fuzz`), whose corpora the tests replay.

use crate::Manifest;
use crate::client_report::{Reader, ResultLimits, Step};
use crate::receivers_report;
use std::path::Path;

/// A corpus in `fuzz/corpus`, and the check of each of its inputs.
pub type Target = (&'static str, fn(&[u8]));

/// The targets of this crate.
pub const TARGETS: &[Target] = &[
    ("client_report", client_report),
    ("manifest", manifest),
    ("receivers_report", receivers_report),
];

/// The manifest of a subject: it is read, or every fault has a place in the file.
fn manifest(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let Err(faults) = Manifest::parse("fuzz", Path::new("subject.toml"), text) else { return };
    assert!(!faults.is_empty());
    for fault in faults {
        let line = text.split('\n').nth(fault.line - 1).unwrap_or_else(|| panic!("{fault}"));
        assert!(fault.column <= line.chars().count() + 1, "{fault}");
        assert!(!fault.what.contains('\n'), "{fault}");
    }
}

/// The report of a client on a block: it is read to its end, or a line has a fault.
fn client_report(bytes: &[u8]) {
    let mut reader = Reader::new(ResultLimits::default());
    for line in bytes.split(|byte| *byte == b'\n') {
        match reader.take(line) {
            Ok(Step::Done(report)) => {
                assert_eq!(report.round_trips.count(), report.ok);
                return;
            }
            Ok(Step::Moment(_) | Step::More) => {}
            Ok(Step::Unsupported(why)) => return assert!(!why.contains(char::is_control)),
            Err(error) => return assert!(!error.to_string().contains(char::is_control), "{error}"),
        }
    }
}

/// The report of a client on its receivers: it is read to its end, or a line has a fault.
fn receivers_report(bytes: &[u8]) {
    use receivers_report::{Reader, Step};
    let mut reader = Reader::awaiting_report(ResultLimits::default());
    for line in bytes.split(|byte| *byte == b'\n') {
        match reader.take(line) {
            Ok(Step::Done(received)) => {
                let is_plain =
                    |it: &receivers_report::Receiver| !it.transport.contains(char::is_control);
                return assert!(received.receivers.iter().all(is_plain));
            }
            Ok(Step::Asks | Step::More) => {}
            Ok(Step::Unsupported(why)) => return assert!(!why.contains(char::is_control)),
            Err(error) => return assert!(!error.to_string().contains(char::is_control), "{error}"),
        }
    }
}

#[cfg(test)]
#[path = "../../../fuzz/replay.rs"]
mod replay;
