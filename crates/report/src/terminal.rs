//! Which page a record ends with: by what was asked.

use crate::page::Style;
use record::{Kind, RunRecord};

/// The page that a run of this kind ends with, for a terminal.
pub fn terminal(record: &RunRecord, style: &Style) -> String {
    match record.kind {
        Kind::Ladder => crate::ladder(record, style),
        Kind::Sweep => crate::sweep(record, style),
        Kind::Imported | Kind::Lab => crate::lab(record, style),
        Kind::Run | Kind::Other => crate::run(record, style),
    }
}
