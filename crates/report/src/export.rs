//! A record for programs: as JSON, and as HdrHistogram's interval log (`.hlog`) and percentile table (`.hgrm`).
//!
//! The last two have the distributions that results are made of: response times of open loops, round trips of closed
//! ones, and whole lives of short-lived clients. Failed blocks do not count here either.

use crate::date;
use crate::escape::{escape, is_plain};
use crate::row::{self, Row};
use record::RunRecord;
use stats::{DecodeError, Histogram, LogInterval, interval_log};
use std::fmt::Write as _;
use units::{Instant, Nanos};

/// `record` as JSON. What [`escape`] would change in its texts is written as `\u…`, so it means the same to a program
/// and nothing to a terminal.
pub fn json(record: &RunRecord) -> String {
    let json = record.to_json();
    let mut safe = String::with_capacity(json.len());
    for letter in json.chars() {
        // Line ends occur only between texts: within them they are escaped already.
        if letter == '\n' || is_plain(letter) {
            safe.push(letter);
            continue;
        }
        for unit in letter.encode_utf16(&mut [0; 2]) {
            write!(safe, "\\u{unit:04x}").expect("writing to memory does not fail");
        }
    }
    safe
}

/// The blocks of `record` as an HdrHistogram interval log, version 1.3, with histograms in compressed V2.
///
/// An interval for each block with a distribution, in the order of the record, tagged with the escaped name of its
/// workload. It spans the measured window; values are nanoseconds.
///
/// # Errors
///
/// [`ExportError::StartedAt`] and [`ExportError::Damaged`] for a record that was changed by hand,
/// [`ExportError::NoDistribution`] if nothing was measured.
pub fn hlog(record: &RunRecord) -> Result<String, ExportError> {
    let began = date::since_1970(&record.started_at)
        .ok_or_else(|| ExportError::StartedAt { text: escape(&record.started_at) })?;
    let mut log = interval_log(began, []);
    let head_len = log.len();
    for (index, block) in record.blocks.iter().enumerate() {
        let Some(row) = row::row(record, block.workload) else { continue };
        let Some(times) = row.times(block).filter(|_| block.failed.is_none()) else { continue };
        let damaged = |error| ExportError::Damaged { whose: format!("block {index}"), error };
        let interval = LogInterval {
            start: Instant(block.started_at_ns),
            length: Nanos(block.measured_ns),
            tag: &escape(row.name()),
            histogram: &times.histogram().map_err(damaged)?,
        };
        // A log of its own, without the header, so that there is only one histogram in memory at a time: each takes 264
        // KiB.
        log.push_str(&interval_log(began, [interval])[head_len..]);
    }
    if log.len() == head_len { Err(ExportError::NoDistribution) } else { Ok(log) }
}

/// All blocks of one workload of `record`, merged, as HdrHistogram's percentile table; values are microseconds.
///
/// `name` may be left out if there is no other workload.
///
/// # Errors
///
/// [`ExportError::ManyWorkloads`] and [`ExportError::NoSuchWorkload`] if `name` does not select one,
/// [`ExportError::NoDistribution`] if nothing was measured for it, [`ExportError::Damaged`] for a record that was
/// changed by hand.
pub fn hgrm(record: &RunRecord, name: Option<&str>) -> Result<String, ExportError> {
    let row = row_of(record, name)?;
    let result = record.results.iter().find(|result| result.workload == row.index);
    let times = result.and_then(|result| row.merged(result)).ok_or(ExportError::NoDistribution)?;
    let whose = || escape(row.name());
    let histogram: Histogram =
        times.histogram().map_err(|error| ExportError::Damaged { whose: whose(), error })?;
    if histogram.is_empty() { Err(ExportError::NoDistribution) } else { Ok(histogram.to_hgrm()) }
}

/// The reason why a record cannot be written in another format. Texts of the record are escaped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// A distribution cannot be read: the record was changed by hand.
    #[error("the distribution of {whose} is damaged: {error}")]
    Damaged {
        /// The block or the workload that it belongs to.
        whose: String,
        /// The error of its decoding.
        error: DecodeError,
    },
    /// There are several workloads, and none was named.
    #[error("a percentile table is for one workload; choose one of {choices}")]
    ManyWorkloads {
        /// Their names.
        choices: String,
    },
    /// Nothing was measured.
    #[error("there is no distribution to write: no reply was measured")]
    NoDistribution,
    /// No workload has this name.
    #[error("there is no workload `{name}`; choose one of {choices}")]
    NoSuchWorkload {
        /// The name.
        name: String,
        /// The names that can be chosen.
        choices: String,
    },
    /// The record does not say when it began: it was changed by hand.
    #[error("`started_at` is `{text}`, not a time in UTC such as 2026-01-01T00:00:00Z")]
    StartedAt {
        /// The text of `started_at`.
        text: String,
    },
}

/// The row that `name` means.
fn row_of<'a>(record: &'a RunRecord, name: Option<&str>) -> Result<Row<'a>, ExportError> {
    let choices = || {
        let names: Vec<String> = row::all(record).map(|row| escape(row.name())).collect();
        names.join(", ")
    };
    match (name, row::count(record)) {
        (_, 0) => Err(ExportError::NoDistribution),
        (None, 1) => row::row(record, 0).ok_or(ExportError::NoDistribution),
        (None, _) => Err(ExportError::ManyWorkloads { choices: choices() }),
        (Some(name), _) => row::all(record)
            .find(|row| row.name() == name)
            .ok_or_else(|| ExportError::NoSuchWorkload { name: escape(name), choices: choices() }),
    }
}
