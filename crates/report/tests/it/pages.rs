//! Pages of records in a terminal.

use expect_test::Expect;
use record::RunRecord;
use report::{Depth, Style};

/// The page with all details, as a pipe gets it.
pub(crate) fn details(record: &RunRecord) -> String {
    report::terminal(record, Depth::Details, &Style::default())
}

/// Compares that page with the expected one.
pub(crate) fn check(record: &RunRecord, expected: &Expect) {
    expected.assert_eq(&details(record));
}
